"""`sluice dead-letters`: shows, exports and discards rejected documents, and sends them again."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import orjson
import typer

from lab.analysis.folder import read_profile, read_record
from lab.analysis.text import quantity
from lab.cli import complete
from lab.cli.dead_letters_display import print_groups, print_letter, print_outcome
from lab.cli.options import RUNS, RunsOption, ServerOptions, with_groups
from lab.cli.produce import pair
from lab.cli.publish import from_environment
from lab.clients.kafka import Place
from lab.clients.target import topics_of
from lab.console import console
from lab.endpoints import Endpoints
from lab.errors import ProfileError
from lab.records.run import Run
from lab.replay.connectors import QUEUE, beside, configs_of, connector_of_queue, queue_of, unfinished_topics
from lab.replay.dead_letters import (
    DISCARDED,
    FIRST_NAMED,
    WAITING,
    Choice,
    DeadLetterTopic,
    Letter,
    each_once,
    groups_of,
    kind_of,
)
from lab.replay.export import document_line, exported, letter_json, letter_line, new_file
from lab.replay.mapping import update_mapping
from lab.replay.replay import Replay, Route, TopicReplay, connector_for_replay, mark_letters, replay_config, sum_of
from lab.replay.source_lines import RecordOfFile, SourceFile, source_of
from lab.run.folder import find_run
from lab.run.load.connector import sink_access
from lab.stack.local import LocalStack
from lab.targets import TargetName
from lab.targets.choose import servers_of
from producers.dataset import DatasetError

SUFFIX = "-dead-letters"
NO_LINES = "lines of a file are known for runs of a file only"

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN|TOPIC",
        help="Run (`latest`, a run id, a profile, a folder), or topic: of dead letters, or one that a connector reads.",
        autocompletion=complete.runs,
    ),
]

app = typer.Typer(no_args_is_help=True, add_completion=False)


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions:
    """Dead letters that are meant."""

    statuses: Annotated[
        list[int] | None, typer.Option("--status", metavar="N", help="Only letters of this HTTP status.")
    ] = None
    reasons: Annotated[
        list[str] | None,
        typer.Option(
            "--reason", metavar="TEXT", help="Only letters whose reason, as `show` prints it, holds this text."
        ),
    ] = None
    places: Annotated[
        list[str] | None, typer.Option("--place", metavar="TOPIC-P@O", help="Only the letter of this record.")
    ] = None

    @property
    def choice(self) -> Choice:
        """The choice; raises ProfileError if a place has another form."""
        parsed = {text: Place.parsed(text) for text in self.places or []}
        if wrong := next((text for text, place in parsed.items() if place is None), None):
            raise ProfileError(f"--place: got {wrong}, expected TOPIC-PARTITION@OFFSET, such as books-0@17")
        return Choice(tuple(self.statuses or ()), tuple(self.reasons or ()), tuple(filter(None, parsed.values())))


@dataclass(frozen=True)
class Source:
    """Where a command finds dead letters.

    Attributes:
        run: The run whose letters they are, and its folder; `None` for those of a topic.
        file: The file that their records came from, if it is known.
    """

    letters: DeadLetterTopic
    run: tuple[Run, Path] | None = None
    file: SourceFile | None = None


@app.callback()
def dead_letters() -> None:
    """Show, export, discard and replay rejected documents."""


@app.command()
@with_groups
def show(
    source: SourceArgument = "latest",
    *,
    documents: Annotated[int, typer.Option(min=0, help="Show this many, with full reason and content.")] = 0,
    values: Annotated[bool, typer.Option("--values", help="Show a value that failed for each reason.")] = False,
    wanted: ChoiceOptions,
    everything: Annotated[bool, typer.Option("--all", help="Include those sent again or discarded.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    on: ServerOptions,
    runs: RunsOption = RUNS,
) -> None:
    """Show dead letters by status, reason and field, with the first records of each."""
    choice = wanted.choice
    found = source_named(source, runs, servers_of(on.target, on.target_file).endpoints())
    shown: list[Letter] = []
    content: list[Letter] = []
    sent_again: set[RecordOfFile] = set()
    discarded = 0
    kinds: dict[object, int] = {}
    for letter in each_once(found.letters.letters()):
        discarded += letter.discarded
        if letter.sent_again:
            # One that was refused again is another letter of the same record.
            sent_again.add(RecordOfFile.of(letter))
        if (everything or letter.is_waiting) and choice.takes(letter):
            content += [letter] if len(content) < documents else []
            kind = kind_of(letter)
            kinds[kind] = kinds.get(kind, 0) + 1
            shown.append(letter if kinds[kind] <= FIRST_NAMED else letter.without_content())
    lines = lines_of(found.file, map(RecordOfFile.of, [letter for letter in shown if letter.value] + content))
    groups = groups_of(shown, lines, values=values)
    if as_json:
        summary: dict[str, object] = {
            "topic": found.letters.topic,
            "records": len(shown),
            "sent_again": len(sent_again),
            "discarded": discarded,
            "groups": [group.model_dump() for group in groups],
        }
        listed = [letter_json(letter, lines.get(letter.origin)) for letter in content]
        typer.echo(orjson.dumps(summary | ({"documents": listed} if documents else {})))
        return
    counts = f"{quantity(len(shown), 'dead letter')}; {quantity(len(sent_again), 'record')} sent again"
    console.print(f"{found.letters.topic}: {counts}{f'; {discarded:,} discarded' * bool(discarded)}", soft_wrap=True)
    if groups:
        print_groups(groups)
        if found.file is None:
            console.print(f"[dim]{NO_LINES}[/dim]", soft_wrap=True)
    for letter in content:
        print_letter(letter, lines.get(letter.origin))


@app.command()
@with_groups
def export(
    source: SourceArgument = "latest",
    *,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="New file; `-`: standard output.")],
    documents_only: Annotated[
        bool, typer.Option("--documents-only", help="Write the documents alone, one per line, to correct and send.")
    ] = False,
    wanted: ChoiceOptions,
    everything: Annotated[bool, typer.Option("--all", help="Include those sent again or discarded.")] = False,
    on: ServerOptions,
    runs: RunsOption = RUNS,
) -> None:
    """Write dead letters into a file, a JSON object per line: place, line, reason, field, value, key and document."""
    choice = wanted.choice
    found = source_named(source, runs, servers_of(on.target, on.target_file).endpoints())

    def chosen() -> Iterable[Letter]:
        letters = found.letters.letters()
        return exported(letters, choice, everything=everything, documents_only=documents_only)

    if found.file is None and not documents_only:
        typer.echo(NO_LINES, err=True)
    count = 0
    with new_file(output) as file:
        lines = {} if documents_only else lines_of(found.file, map(RecordOfFile.of, chosen()))
        for letter in chosen():
            written = document_line(letter) if documents_only else letter_line(letter, lines.get(letter.origin))
            count += bool(file.write(written))
    typer.echo(f"{output}: {quantity(count, 'document' if documents_only else 'dead letter')}", err=output == "-")


@app.command()
@with_groups
def discard(
    source: SourceArgument = "latest",
    *,
    wanted: ChoiceOptions,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what was discarded.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    on: ServerOptions,
    runs: RunsOption = RUNS,
) -> None:
    """Mark dead letters as not to be sent again; they stay in their topic."""
    choice = wanted.choice
    if choice.is_everything is not everything:
        raise ProfileError("discard: expected either --all or a choice by --reason, --status or --place")
    if not (yes or sys.stdin.isatty()):
        raise ProfileError("discard: cannot ask here, since nobody is at a terminal; add --yes")
    with servers_kept(on.target):
        endpoints = servers_of(on.target, on.target_file).endpoints()
        letters = source_named(source, runs, endpoints).letters
        found = each_once(letters.letters(content=False))
        chosen = [each for each in found if choice.takes(each) and (each.discarded if undo else each.is_waiting)]
        if not chosen:
            console.print(f"{letters.topic}: no such dead letters", soft_wrap=True)
            return
        print_groups(groups_of(chosen))
        count = quantity(len(chosen), "dead letter")
        if not yes and not typer.confirm(f"{'Take back' if undo else 'Discard'} {count}?"):
            return
        mark_letters(endpoints, letters, chosen, WAITING if undo else DISCARDED)
    console.print(f"{count} {'to be sent again' if undo else 'discarded; take them back with --undo'}")


@app.command()
@with_groups
def replay(
    source: SourceArgument = "latest",
    *,
    wanted: ChoiceOptions,
    again: Annotated[bool, typer.Option("--again", help="Include those already sent again.")] = False,
    mapping: Annotated[
        bool, typer.Option("--update-mapping", help="First apply the profile's mapping file to the run's index.")
    ] = False,
    connector: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of a topic: the worker's connector; default: the one with this queue."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Connector setting that overrides the run's."),
    ] = None,
    secrets: Annotated[
        list[str] | None,
        typer.Option("--set-env", metavar="NAME=VARIABLE", help="Likewise, from an environment variable: for secrets."),
    ] = None,
    on: ServerOptions,
    runs: RunsOption = RUNS,
) -> None:
    """Send dead letters through the sink again, each once; exit status 0 if all are accepted."""
    choice = wanted.choice
    overrides = given_settings(settings or [], secrets or [])
    with servers_kept(on.target):
        endpoints = servers_of(on.target, on.target_file).endpoints()
        found = source_named(source, runs, endpoints, overrides)
        if found.run is None:
            if mapping:
                raise ProfileError("--update-mapping: got a topic, expected a run, whose profile names a mapping")
            outcome = replay_beside(found.letters, endpoints, connector, overrides, choice=choice, again=again)
        else:
            if connector is not None:
                raise ProfileError(f"--connector: got run {found.run[0].run_id}, expected a topic")
            routes = routes_of_run(found.run[0], endpoints, overrides)
            if mapping:
                name = mapping_name(found.run[1])
                update_mapping(found.run[0], name, endpoints)
                names = found.run[0].index.replace(",", ", ")
                console.print(f"index {names}: mapping updated from mappings/{name}.json", soft_wrap=True)
            outcome = replayed_by(routes, found.letters, endpoints, choice=choice, again=again)
    print_outcome(outcome)


def servers_kept(target: TargetName) -> AbstractContextManager[object]:
    """Keep other commands from this machine's servers; of servers elsewhere nobody can be kept out."""
    return nullcontext() if target is TargetName.REMOTE else LocalStack().exclusively()


def given_settings(settings: Sequence[str], secrets: Sequence[str]) -> dict[str, str]:
    """The connector's settings of the command line.

    Args:
        settings: `NAME=VALUE`.
        secrets: `NAME=VARIABLE`: the value is that of an environment variable.

    Raises:
        ProfileError: One has another form, or its variable is not set.
    """
    variables = dict(pair(text, "--set-env") for text in secrets)
    return {
        **dict(pair(text, "--set") for text in settings),
        **{name: from_environment("--set-env", variable) for name, variable in variables.items()},
    }


def routes_of_run(run: Run, endpoints: Endpoints, overrides: Mapping[str, str]) -> dict[str | None, Route]:
    """Way of a run's letters into its index, by topic: that topic, and a connector with the run's configuration.

    Where all letters are of one topic, it is not named, so that one offset marks all that were sent.

    Raises:
        ProfileError: Its sink keeps no dead letters, or a secret is missing.
    """
    if other := {"command", "pipeline"} & set(run.environment.connector):
        raise ProfileError(f"run {run.run_id}: its sink was a {other.pop()}, which keeps no dead letters")
    recorded = run.environment.connector
    config = replay_config(recorded, {**sink_access(recorded, endpoints.access), **overrides})
    config = connector_for_replay(config, endpoints)
    topics = source_topics(run)
    return {topic if len(topics) > 1 else None: Route({**config, "topics": topic}, topic) for topic in topics}


def replay_beside(
    letters: DeadLetterTopic,
    endpoints: Endpoints,
    connector: str | None,
    overrides: Mapping[str, str],
    *,
    choice: Choice,
    again: bool,
) -> Replay:
    """Send letters of a running connector's queue again, beside the connector; those of one source after the other."""
    config = {**connector_of_queue(configs_of(endpoints), letters.topic, connector), **overrides}
    sources = {letter.origin.topic for letter in letters.to_send(choice, again=again, content=False)}
    unfinished = unfinished_topics(topics_of(endpoints).names(), letters.topic)
    routes: dict[str | None, Route] = {
        each: beside(config, letters.topic, each, unfinished.get(each)) for each in sorted(sources | unfinished.keys())
    }
    return replayed_by(routes, letters, endpoints, choice=choice, again=again)


def replayed_by(
    routes: Mapping[str | None, Route], letters: DeadLetterTopic, endpoints: Endpoints, *, choice: Choice, again: bool
) -> Replay:
    """Send letters again by the route of their source topic; those of one source after the other."""
    return sum_of(
        TopicReplay(endpoints, letters, route, replace(choice, topic=each)).run(again=again)
        for each, route in routes.items()
    )


def mapping_name(folder: Path) -> str:
    """The mapping of a run's profile; raises ProfileError if the folder does not say."""
    name = (read_profile(folder / "profile.json") or {}).get("mapping")
    if not isinstance(name, str):
        raise ProfileError(f"{folder / 'profile.json'}: names no mapping; run the profile again")
    return name


def source_topics(run: Run) -> list[str]:
    """The topics that a run has drained.

    Raises:
        ProfileError: It drained none.
    """
    if run.topic is None:
        raise ProfileError(f"run {run.run_id}: sent its documents without Kafka, so there are no dead letters")
    return run.topic.split(",")


def source_named(name: str, runs: Path, endpoints: Endpoints, overrides: Mapping[str, str] | None = None) -> Source:
    """The dead letters of a run, or of a topic: of dead letters, or one that a connector with a queue reads.

    Raises:
        ProfileError: There is neither such a run nor such a topic.
    """
    try:
        folder = find_run(runs, name)
    except ProfileError as error:
        if topic := dead_letter_topic(name, endpoints):
            return Source(DeadLetterTopic(topics_of(endpoints), topic))
        raise ProfileError(f"{error}; nor is there a dead-letter topic of that name") from error
    run = read_record(folder / "run.json")
    letters = topic_of_run(run, {**run.environment.connector, **(overrides or {})}, endpoints)
    return Source(letters, (run, folder), source_of(folder))


def dead_letter_topic(name: str, endpoints: Endpoints) -> str | None:
    """The dead-letter topic that a topic is, or that goes with it; `None` where there is no such topic."""
    there = topics_of(endpoints).names()
    for candidate in (name, name + SUFFIX):
        if candidate.endswith(SUFFIX) and candidate in there:
            return candidate
    if name not in there:
        return None
    return queue_of(configs_of(endpoints), name) or name


def topic_of_run(run: Run, config: Mapping[str, object], endpoints: Endpoints) -> DeadLetterTopic:
    """The dead-letter topic of a run, which its connector's configuration may name.

    Raises:
        ProfileError: It is not on these servers.
    """
    name = str(config.get(QUEUE) or source_topics(run)[0] + SUFFIX)
    topic = DeadLetterTopic(topics_of(endpoints), name)
    if not topic.exists():
        raise ProfileError(
            f"run {run.run_id}: its topic {name} is gone: the run used other servers, or a later run of its profile "
            "removed it; run it again"
        )
    return topic


def lines_of(file: SourceFile | None, records: Iterable[RecordOfFile]) -> Mapping[Place, str]:
    """`file:line` of records by their place; those that are not found in the file, or have none, are left out."""
    try:
        return file.lines_of(records) if file else {}
    except DatasetError as error:
        typer.echo(f"{error}; records are named by their place in the topic", err=True)
        return {}
