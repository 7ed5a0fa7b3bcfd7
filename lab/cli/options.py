"""Options and arguments that several commands share."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from lab.cli import complete
from lab.console import keep_output_for_json
from lab.errors import ProfileError
from lab.records.marks import Marks, marks_text
from lab.targets import TargetName
from producers.registry import DATASETS

RUNS = Path("runs")
ALADIN = "aladin: used books as Aladin, a Korean online bookshop, lists them"
DATASET_HELP = f"Dataset: {', '.join(DATASETS.built_in)}. {ALADIN}."
PATH_HELP = (
    "Your own documents (dataset `file`): JSON, bulk format, CSV, Parquet, packed or not; a file, folder or pattern."
)
DOCUMENTS, SERVERS, OUTPUT = "Documents", "Servers", "Output"
"""Groups of options in a command's help."""
LABEL = re.compile(r"([A-Za-z][A-Za-z0-9_.-]{0,62})=(.{0,200})", re.DOTALL)
MOST_NOTE = 1000

ProfileArgument = Annotated[
    str,
    typer.Argument(
        metavar="PROFILE",
        help="Profile: a name that `sluice profiles` lists, or a YAML file.",
        autocompletion=complete.profiles,
    ),
]
RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Run: `latest`, a run id, a profile (its last run) or a folder.",
        autocompletion=complete.runs,
    ),
]
RunsOption = Annotated[Path, typer.Option("--runs", help="Folder of the runs and suites.", rich_help_panel=OUTPUT)]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        callback=keep_output_for_json,
        is_eager=True,
        help="Print the result as JSON; everything else goes to standard error.",
        rich_help_panel=OUTPUT,
    ),
]
OpenOption = Annotated[bool, typer.Option("--open", help="Open the report in the browser.", rich_help_panel=OUTPUT)]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a value of the profile; in a suite, of every profile.",
        autocompletion=complete.settings,
    ),
]
TargetFileOption = Annotated[
    Path | None,
    typer.Option(
        "--target-file",
        metavar="FILE",
        help="Addresses and credentials of your cluster; default: SLUICE_TARGET_FILE, else SLUICE_* variables.",
        rich_help_panel=SERVERS,
    ),
]
DistributionOption = Annotated[
    str | None,
    typer.Option(
        "--distribution",
        metavar="FOLDER|official",
        help="Elastic's or OpenSearch's own archive, unpacked in a folder, or fetched.",
        rich_help_panel=SERVERS,
    ),
]
DatasetOption = Annotated[str | None, typer.Option("--dataset", help=DATASET_HELP, rich_help_panel=DOCUMENTS)]
DocumentsOption = Annotated[
    int | None, typer.Option("--documents", help="How many documents.", rich_help_panel=DOCUMENTS)
]
PathOption = Annotated[str | None, typer.Option("--path", envvar="SLUICE_STREAM_PATH", help=PATH_HELP)]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key", envvar="SLUICE_STREAM_KEY", help="Field of that file that holds the key; else the line's number."
    ),
]
HeartbeatOption = Annotated[
    Path | None,
    typer.Option("--heartbeat", metavar="FILE", help="File to touch while this command works, for a health check."),
]
ApiKeyEnv = Annotated[
    str | None, typer.Option("--api-key-env", metavar="NAME", help="Environment variable that holds an API key.")
]
User = Annotated[str | None, typer.Option("--user", help="User, for basic authentication.")]
PasswordEnv = Annotated[
    str | None, typer.Option("--password-env", metavar="NAME", help="Environment variable that holds the password.")
]
Ca = Annotated[Path | None, typer.Option("--ca", metavar="FILE", help="Authority of the server's certificate, as PEM.")]
PageOption = Annotated[
    bool | None,
    typer.Option(
        "--page/--no-page",
        help="Serve the live page meanwhile; by default on a terminal, unless CI is set.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]


def parsed_labels(texts: Sequence[str]) -> dict[str, str]:
    """Labels as they are typed, by name; the last one of a name counts.

    Raises:
        ProfileError: One of them is none.
    """
    found = [LABEL.fullmatch(text) for text in texts]
    for text, parts in zip(texts, found, strict=True):
        if parts is None or not parts[2].isprintable():
            # As it is escaped in Python: a terminal or a file may not take it.
            raise ProfileError(
                f"--label: got {repr(text[:80])[1:-1]}, expected NAME=VALUE, such as branch=main: a name of"
                " letters, digits, . _ -, and a value of at most 200 printable characters"
            )
    return {parts[1]: parts[2].strip() for parts in found if parts}


def marks_of(labels: Sequence[str] | None, note: str | None) -> Marks:
    """Labels and note of a command line.

    Raises:
        ProfileError: A label is none or has no value, or the note is too long.
    """
    of_run = parsed_labels(labels or ())
    for name in (name for name, value in of_run.items() if not value):
        raise ProfileError(f"--label: got {name} without a value, expected NAME=VALUE, such as branch=main")
    line = " ".join((note or "").split())
    if len(line) > MOST_NOTE:
        raise ProfileError(f"--note: got {len(line):,} characters, expected at most {MOST_NOTE:,}")
    if wrong := next((character for character in line if not character.isprintable()), None):
        raise ProfileError(f"--note: got the character {wrong!a}, expected printable ones")
    return Marks(of_run, line)


def refuse_other_marks(marks: Marks, begun: Marks) -> None:
    """Raise ProfileError if a suite or tune that goes on is given a label or note that it was not begun with."""
    if not (marks.labels.items() <= begun.labels.items() and marks.note in {"", begun.note}):
        was = marks_text(begun.labels, begun.note) or "none"
        raise ProfileError(f"--label, --note: got others than it was begun with, expected {was}; leave them out")


# --- groups of options ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Servers that a command works on."""

    target: Annotated[
        TargetName,
        typer.Option(
            "--target",
            metavar="TARGET",
            help="local: servers on this machine; compose: this checkout's containers; remote: your own cluster.",
            rich_help_panel=SERVERS,
        ),
    ] = TargetName.LOCAL
    target_file: TargetFileOption = None


@dataclass(frozen=True, kw_only=True)
class DocumentOptions:
    """Documents of a run, as far as the command line says other than the profile."""

    dataset: DatasetOption = None
    path: Annotated[str | None, typer.Option("--path", help=PATH_HELP, rich_help_panel=DOCUMENTS)] = None
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            help="Field of that file that holds the key; else the line's number.",
            rich_help_panel=DOCUMENTS,
        ),
    ] = None
    documents: DocumentsOption = None


@dataclass(frozen=True, kw_only=True)
class MarkOptions:
    """Label and note of a result."""

    labels: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="NAME=VALUE", help="Label of the result: branch=main.", rich_help_panel=OUTPUT),
    ] = None
    note: Annotated[str | None, typer.Option("--note", help="Note of the result.", rich_help_panel=OUTPUT)] = None

    @property
    def marks(self) -> Marks:
        """As they are kept; raises ProfileError as `marks_of`."""
        return marks_of(self.labels, self.note)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where results are kept and shown.

    Attributes:
        page: Whether the live page is served meanwhile; `None` where the command line does not say.
    """

    runs: RunsOption = RUNS
    page: PageOption = None
    open_it: OpenOption = False


def with_groups(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command as Typer takes it, with the fields of each group among its parameters in the place of the group."""

    @wraps(command)
    def of_options(**given: Any) -> Any:
        return _made(command, given)

    options = list(_options_of(command))
    vars(of_options)["__signature__"] = Signature(options)
    of_options.__annotations__ = {each.name: each.annotation for each in options}
    return of_options


def _is_group(parameter: Parameter) -> bool:
    return is_dataclass(parameter.annotation)


def _options_of(taker: Callable[..., Any]) -> Iterator[Parameter]:
    for each in signature(taker, eval_str=True).parameters.values():
        yield from _options_of(each.annotation) if _is_group(each) else [each]


def _made(taker: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    parameters = signature(taker, eval_str=True).parameters
    groups = {name: _made(of.annotation, given) for name, of in parameters.items() if _is_group(of)}
    return taker(**{name: groups[name] if name in groups else given[name] for name in parameters})


def partitions_in(text: str | None) -> frozenset[int]:
    """Partitions that `--partitions` names; none where it is not given. Raises ProfileError if one is no number."""
    parts = [] if text is None else [part.strip() for part in text.split(",")]
    if wrong := [part for part in parts if not part.isdecimal()]:
        raise ProfileError(f'--partitions: got "{wrong[0]}", expected numbers such as 0,3')
    return frozenset(map(int, parts))
