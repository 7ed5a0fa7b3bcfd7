"""`sluice prove`: a conformance test of a pipeline from Kafka to Elasticsearch."""

import contextlib
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.markup import escape

from lab.analysis.text import duration, quantity
from lab.cli import complete
from lab.cli.options import SERVERS, JsonOption, SettingsOption
from lab.console import console, print_json, table_of
from lab.display import LiveLines
from lab.engines import ENGINES
from lab.errors import ProfileError, unwritable
from lab.extensions import PIPELINES
from lab.files import write_whole
from lab.profiles import Profile, load_profile, override, profile_names
from lab.profiles.files import REPOSITORY, names_in
from lab.profiles.mapping import TEMPLATES
from lab.profiles.problems import suggestion
from lab.prove.cases import BY_NAME, CASES, Case, is_for_pulling
from lab.prove.trial import Bench, Result, profile_for, prove
from lab.stack.local import LocalStack
from lab.targets.local import Local
from lab.targets.servers import typed_command
from producers.registry import make_dataset

BASE = "quickstart"
FOUND = 1
EXPECTED_S = 15.0
CASE = "--case"


def pipelines(incomplete: str) -> list[str]:
    """Names that the shell offers: connector templates."""
    return complete.beginning(names_in(TEMPLATES, REPOSITORY, ".json"), incomplete)


def case_names(incomplete: str) -> list[str]:
    """Names that the shell offers: cases."""
    return complete.beginning(BY_NAME, incomplete)


def prove_pipeline(
    pipeline: Annotated[
        str,
        typer.Argument(
            help="Connector template (`elasticsearch`: our sink), pipeline of an installed package, or profile.",
            autocompletion=pipelines,
        ),
    ] = "elasticsearch",
    *,
    case: Annotated[
        list[str] | None,
        typer.Option(CASE, metavar="NAME", help="Only this case; may be repeated.", autocompletion=case_names),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the records; the same seed sends the same ones.")] = 1,
    minutes: Annotated[float, typer.Option(min=0.5, help="Begin no case that would not end in this time.")] = 15.0,
    patience: Annotated[
        float, typer.Option(min=5, metavar="SECONDS", help="Time without progress after which it is stuck.")
    ] = 60.0,
    settings: SettingsOption = None,
    plugin_path: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder that holds the plugin folder of a connector of your own."),
    ] = None,
    class_name: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help="Class of that connector, if not the template's.")
    ] = None,
    elasticsearch: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Elasticsearch version.", rich_help_panel=SERVERS)
    ] = None,
    opensearch: Annotated[
        str | None, typer.Option(metavar="VERSION", help="OpenSearch version.", rich_help_panel=SERVERS)
    ] = None,
    list_cases: Annotated[bool, typer.Option("--list", help="List the cases.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FOLDER", help="Folder of logs and scorecard.json.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Put a pipeline to faults and odd records; exit status 1 if documents are lost, doubled, stale or changed."""
    if list_cases:
        console.print(table_of(((each.name, each.asks) for each in CASES), "case", "question", whole=("case",)))
        return 0
    chosen = [case_named(name) for name in case] if case else list(CASES)
    if pipeline in PIPELINES and PIPELINES[pipeline].pulls:
        chosen = for_pulling(chosen)
    stated = {
        **by_key(elasticsearch=elasticsearch, opensearch=opensearch),
        "sink.plugin_path": plugin_path and str(plugin_path),
        "sink.config": class_name and {"connector.class": class_name},
    }
    overrides = [override(name, value) for name, value in stated.items() if value is not None]
    servers = Local()
    profile = servers.fitted(profile_for(profile_of(pipeline, [*overrides, *(settings or [])])))
    folder = out or Path("runs") / "prove" / pipeline.replace("/", "-")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(f"--out: {folder}: cannot be made", error) from error
    with servers.held():
        if not servers.may_be_started_anew():
            chosen = without_kills(chosen, profile)
        dataset = make_dataset("aladin", documents=1)
        bench = Bench(profile, dataset, servers.target(profile), LocalStack(), folder, seed, patience)
        results = run_cases(bench, chosen, time.monotonic() + 60 * minutes)
    card = [asdict(result) for result in results]
    write_whole(folder / "scorecard.json", orjson.dumps(card, option=orjson.OPT_INDENT_2).decode() + "\n")
    if as_json:
        print_json(card)
    show_scorecard(typed_command(), results)
    return FOUND if any(result.judgement.findings or result.failure for result in results) else 0


def case_named(name: str) -> Case:
    """The case of a name; raises ProfileError if there is none."""
    if name not in BY_NAME:
        raise ProfileError(f'unknown case "{name}", {suggestion(name, BY_NAME, "a case of --list")}')
    return BY_NAME[name]


def without_kills(cases: Sequence[Case], profile: Profile) -> list[Case]:
    """The cases that kill none of the servers that `up` has started."""
    fatal = ("node", "worker") if profile.sink.is_connector else ("node",)
    left = [each for each in cases if each.kills not in fatal]
    if left_out := [each.name for each in cases if each not in left]:
        names = ", ".join(left_out)
        console.print(f"left out, as they kill servers, and these are those of `./sluice up`: {names}", soft_wrap=True)
    return left


def for_pulling(chosen: Sequence[Case]) -> list[Case]:
    """The cases that fit a cluster which reads the topic itself; the others are named."""
    left = [each for each in chosen if is_for_pulling(each)]
    if left_out := [each.name for each in chosen if each not in left]:
        reason = "the cluster reads the topic itself: no request to answer, no process to kill or join"
        console.print(f"not applicable ({reason}): {', '.join(left_out)}", soft_wrap=True)
    return left


def profile_of(pipeline: str, overrides: Sequence[str]) -> Profile:
    """The profile whose sink is the pipeline.

    Raises:
        ProfileError: There is no such pipeline, or a setting is wrong.
    """
    templates = names_in(TEMPLATES, REPOSITORY, ".json")
    if pipeline in PIPELINES:
        return load_profile(BASE, overrides=[override("sink.pipeline", pipeline), *overrides])
    if pipeline in templates:
        return load_profile(BASE, overrides=[override("sink.connector", pipeline), *overrides])
    if not pipeline.endswith((".yaml", ".yml")) and pipeline not in profile_names():
        known = ", ".join([*templates, *PIPELINES])
        raise ProfileError(f"PIPELINE: got {pipeline}, expected {known}, the name of a profile, or a profile's file")
    profile = load_profile(pipeline, overrides=overrides)
    if not profile.load.uses_kafka:
        raise ProfileError(f"PIPELINE: got {pipeline}, expected a profile whose load goes through Kafka")
    return profile


def run_cases(bench: Bench, cases: Sequence[Case], ends_s: float) -> list[Result]:
    """Results of the cases for which there is time, with a line for each while it runs."""
    results: list[Result] = []
    longest_s = EXPECTED_S
    for number, case in enumerate(cases, 1):
        if time.monotonic() + longest_s > ends_s:
            left = ", ".join(each.name for each in cases[number - 1 :])
            console.print(f"no time for: {left}; --minutes gives more", soft_wrap=True)
            break
        with shown_steps(f"{case.name} ({number} of {len(cases)})") as say:
            results.append(prove(replace(bench, say=say), case))
        longest_s = max(longest_s, results[-1].seconds)
        console.print(f"{case.name}: {verdict_of(results[-1])}", soft_wrap=True)
    return results


@contextlib.contextmanager
def shown_steps(title: str) -> Iterator[Callable[[str], None]]:
    """A line that shows what happens, on a terminal; the function that changes it."""
    if not console.is_terminal:
        yield lambda _: None
        return
    with LiveLines(transient=True) as lines:
        task = lines.add_task(title, total=None)
        yield lambda text: lines.update(task, detail=text)


def verdict_of(result: Result) -> str:
    """A result in a few words."""
    if result.failure:
        return f"not judged: {escape(result.failure)}"
    found = ", ".join(f"{each.kind} {each.records:,}" for each in result.judgement.findings)
    return f"[red]{found}[/red]" if found else "[green]nothing found[/green]"


def remarks_of(result: Result) -> str:
    """Notes on a result."""
    stops = [f"stopped {quantity(result.stops, 'time')}, and said so"] if result.stops else []
    unmet = ["no request met a fault"] if BY_NAME[result.case].faults and not result.faults else []
    return "; ".join([*stops, *unmet, *result.judgement.notes])


def of_one_case(command: Sequence[str], case: str) -> str:
    """The command with all that was given, for one case alone."""
    words = list(command)
    for number in reversed(range(len(words))):
        if words[number] == CASE:
            del words[number : number + 2]
        elif words[number].startswith(f"{CASE}="):
            del words[number]
    return shlex.join([*words, CASE, case])


def show_scorecard(command: Sequence[str], results: Sequence[Result]) -> None:
    """A row for each case, below them what repeats those with findings.

    Args:
        command: As it was typed, without secrets.
    """
    rows = [
        (each.case, verdict_of(each), remarks_of(each), f"{each.faults}", duration(each.seconds)) for each in results
    ]
    console.print(
        table_of(rows, "case", "found", "notes", "faults", "took", right=("faults", "took"), whole=("case", "took"))
    )
    wrong = [each for each in results if each.judgement.findings or each.failure]
    for each in wrong:
        for finding in each.judgement.findings:
            console.print(escape(f"  {each.case}: {finding.kind}: {'; '.join(finding.first)}"), soft_wrap=True)
        console.print(f"  again: {escape(of_one_case(command, each.case))}", soft_wrap=True)
    console.print(f"{quantity(len(results), 'case')}, {len(wrong)} with findings")


def by_key(**versions: str | None) -> dict[str, str | None]:
    """The versions of engines, by the key that a profile has for each."""
    return {engine.dotted_key: versions[engine.name] for engine in ENGINES}
