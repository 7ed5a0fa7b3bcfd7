"""`sluice capture`: a slice of a real topic as a file, redacted, for runs elsewhere."""

import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Annotated, Any, Final

import typer
from pydantic import Field
from rich.markup import escape

from lab.analysis.text import duration
from lab.capture.capture import Capture, Extent
from lab.capture.redact import Action, Redaction, Rule
from lab.cli.options import JsonOption, ServerOptions, partitions_in, with_groups
from lab.clients.kafka import instant_ms
from lab.clients.target import topics_of
from lab.console import console, print_json
from lab.display import RunDisplay
from lab.errors import ProfileError
from lab.profiles.files import label_of
from lab.profiles.models import Section
from lab.profiles.problems import refusal
from lab.profiles.yaml_model import read_model
from lab.stack.places import ROOT
from lab.targets.choose import read_endpoints

WHICH, REDACTION = "Which records", "Redaction"
UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LEAST_SALT: Final = 16
"""Characters of a salt: a shorter one can be found by trying."""
READ_PER_S: Final = 20_000
TOLD_EVERY: Final = 1000


class RedactionFile(Section):
    """Rules as a YAML file states them: fields by what is done with them."""

    hash: list[str] = Field(default_factory=list, description="fields of which a keyed hash is written")
    shape: list[str] = Field(default_factory=list, description="fields of which letters and digits are exchanged")
    drop: list[str] = Field(default_factory=list, description="fields that are left out")


PathsOption = list[str] | None


@with_groups
def capture(
    topic: Annotated[str, typer.Argument(help="Topic to read; no group is used, and nothing is created.")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Slice to write, such as slice.slz.")],
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Follow the topic this long from now.", rich_help_panel=WHICH)
    ] = None,
    last: Annotated[
        str | None,
        typer.Option(metavar="10m", help="Records of the last 30s, 10m, 2h, 1d.", rich_help_panel=WHICH),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="INSTANT", help="First instant, ISO 8601, in UTC.", rich_help_panel=WHICH),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="INSTANT", help="Instant behind the last; default: now.", rich_help_panel=WHICH),
    ] = None,
    documents: Annotated[int | None, typer.Option(min=1, help="Most records.", rich_help_panel=WHICH)] = None,
    partitions: Annotated[
        str | None, typer.Option(metavar="0,3", help="Partitions; default: all.", rich_help_panel=WHICH)
    ] = None,
    rate: Annotated[
        float, typer.Option(min=1, help="Most records read per second.", rich_help_panel=WHICH)
    ] = READ_PER_S,
    hash_: Annotated[
        PathsOption,
        typer.Option("--hash", metavar="FIELD", help="Write a keyed hash: user.id, _key.", rich_help_panel=REDACTION),
    ] = None,
    shape: Annotated[
        PathsOption,
        typer.Option(
            metavar="FIELD", help="Exchange letters and digits; length and type stay.", rich_help_panel=REDACTION
        ),
    ] = None,
    drop: Annotated[
        PathsOption,
        typer.Option(metavar="FIELD", help="Leave out: card, _header.user.", rich_help_panel=REDACTION),
    ] = None,
    redact: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="YAML: lists of fields under hash, shape, drop.", rich_help_panel=REDACTION),
    ] = None,
    salt_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Variable with a salt, so that slices can be joined; else random.",
            rich_help_panel=REDACTION,
        ),
    ] = None,
    allow_unused: Annotated[
        bool, typer.Option("--allow-unused", help="Accept rules whose field never occurs.", rich_help_panel=REDACTION)
    ] = False,
    on: ServerOptions,
    as_json: JsonOption = False,
) -> None:
    """Write a slice of a topic to a file: keys, headers, times, and values, redacted by field."""
    rules = rules_of({"hash": hash_ or [], "shape": shape or [], "drop": drop or []}, redact)
    if salt_env and not rules:
        raise ProfileError("--salt-env: got a salt without rules, expected --hash, --shape or --redact beside it")
    extent = Extent(
        topic,
        partitions=partitions_in(partitions),
        most=documents,
        rate_per_s=rate,
        **times_of(minutes, last, from_, to, documents=documents),
    )
    endpoints = read_endpoints(on.target, on.target_file)
    display = RunDisplay()

    def show(records: int) -> None:
        if records % TOLD_EVERY == 0 or extent.follow_s is not None:
            display.update(records)

    reading = Capture(topics_of(endpoints), extent, Redaction(rules, secret_of(salt_env)), show)
    if not rules:
        console.print("no rules: keys, values and headers are written as they are")
    with display.showing():
        display.begin("load", f"capturing {escape(topic)}", documents)
        about = reading.write(output, allow_unused=allow_unused)
    for line in summary(about, output):
        console.print(escape(line), soft_wrap=True)
    if as_json:
        print_json(about)


def summary(about: dict[str, Any], output: Path) -> Iterator[str]:
    """What was written, in a few lines."""
    seconds = (instant_of("", about["last"]) - instant_of("", about["first"])) / 1000
    odd = ", ".join(
        f"{about[name]:,} {words}"
        for name, words in (("tombstones", "tombstones"), ("null_keys", "without a key"))
        if about[name]
    )
    ended = "interrupted: " if about["ended"] == "interrupted" else ""
    yield f"{ended}{output}: {about['records']:,} records of {duration(seconds)}{odd and f' ({odd})'}, " + (
        f"{output.stat().st_size:,} bytes"
    )
    if about["left_out"]:
        yield f"left out: {about['left_out']:,} records whose value is no JSON object, so that no rule reaches into it"
    yield f"next: ./sluice run file --path {output} --pace recorded"


def rules_of(stated: dict[Action, list[str]], file: Path | None) -> list[Rule]:
    """The rules of the command line and of a file.

    Raises:
        ProfileError: The file is wrong, a path is empty, or a field has two rules.
    """
    found = dict(stated)
    if file is not None:
        label = label_of(file, ROOT)
        if not file.is_file():
            raise ProfileError(f"--redact: {label}: no such file")
        read, _, problems = read_model(file, label, RedactionFile, what="rules")
        if read is None:
            raise refusal(problems)
        found = {action: [*paths, *getattr(read, action)] for action, paths in stated.items()}
    rules = [Rule(action, path.strip()) for action, paths in found.items() for path in paths]
    for number, rule in enumerate(rules):
        if not all(rule.path.split(".")):
            raise ProfileError(f'--{rule.action}: got "{rule.path}", expected a field, such as user.id')
        if other := next((each for each in rules[:number] if each.path == rule.path), None):
            raise ProfileError(f"{rule.path}: got rules {other.action} and {rule.action}, expected one")
    return rules


def secret_of(variable: str | None) -> bytes:
    """The key of hashes and shapes: random, and gone with this process, unless a variable holds a salt."""
    if variable is None:
        return secrets.token_bytes(32)
    salt = os.environ.get(variable, "")
    if len(salt) < LEAST_SALT:
        got = f"{len(salt)} characters" if salt else "none"
        raise ProfileError(f"--salt-env: {variable}: got {got}, expected at least {LEAST_SALT}")
    return salt.encode()


def times_of(
    minutes: float | None, last: str | None, from_: str | None, to: str | None, *, documents: int | None
) -> dict[str, Any]:
    """The times of an extent; raises ProfileError if they contradict each other, or nothing bounds the slice."""
    given = [name for name, value in (("--minutes", minutes), ("--last", last), ("--from", from_ or to)) if value]
    if len(given) > 1:
        raise ProfileError(f"{given[1]}: got it beside {given[0]}, expected one of them")
    if not given and documents is None:
        raise ProfileError("got no bound, expected --minutes, --last, --from or --documents")
    if minutes is not None:
        return {"follow_s": 60 * minutes}
    if last is not None:
        return {"from_ms": round(max(0.0, time() - seconds_in(last)) * 1000)}
    ends = {"from_ms": from_ and instant_of("--from", from_), "to_ms": to and instant_of("--to", to)}
    if from_ and to and ends["from_ms"] >= ends["to_ms"]:  # type: ignore[operator]
        raise ProfileError(f"--to: got {to}, expected an instant after {from_}")
    return ends


def seconds_in(text: str) -> float:
    """A time such as `10m` in seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    if found is None or not float(found[1]):
        raise ProfileError(f"--last: got {text}, expected a time, such as 30s, 10m, 2h or 1d")
    return float(found[1]) * UNITS_S[found[2]]


def instant_of(option: str, text: str) -> int:
    """An instant in milliseconds since the Unix epoch; raises ProfileError if it is none."""
    try:
        return instant_ms(text)
    except ValueError as error:
        raise ProfileError(f"{option}: got {text}, expected an instant, such as 2026-11-26T23:00:00Z") from error
