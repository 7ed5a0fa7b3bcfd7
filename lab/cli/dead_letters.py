"""`sluice dead-letters`: shows rejected documents and the reasons, and sends them again once the mapping is fixed."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.markup import escape

from lab.analysis.folder import read_profile, read_record
from lab.analysis.text import quantity
from lab.cli import complete
from lab.cli.options import RUNS, RunArgument, RunsOption, TargetFileOption, TargetOption
from lab.cli.produce import pair
from lab.cli.publish import from_environment
from lab.clients.target import topics_of
from lab.console import console, table_of
from lab.endpoints import Endpoints
from lab.errors import ProfileError, VerificationError
from lab.records.run import Run
from lab.records.verification import DeadLetterGroup
from lab.replay.dead_letters import DeadLetterTopic, Letter, Place, each_once, groups_of
from lab.replay.mapping import update_mapping
from lab.replay.replay import Replay, TopicReplay, replay_config
from lab.run.folder import find_run
from lab.run.load.connector import sink_access
from lab.stack.local import LocalStack
from lab.targets import TargetName
from lab.targets.choose import servers_of

TOPIC_SETTING = "errors.deadletterqueue.topic.name"
SUFFIX = "-dead-letters"

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def dead_letters() -> None:
    """Show rejected documents, and send them again."""


@app.command()
def show(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN|TOPIC",
            help="Run (`latest`, a run id, a profile, a folder) or topic.",
            autocompletion=complete.runs,
        ),
    ] = "latest",
    *,
    documents: Annotated[int, typer.Option(min=0, help="Show this many, with full reason and content.")] = 0,
    everything: Annotated[bool, typer.Option("--all", help="Include those already sent again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    target: TargetOption = TargetName.LOCAL,
    target_file: TargetFileOption = None,
    runs: RunsOption = RUNS,
) -> None:
    """Show dead letters by status and reason, with the first records of each."""
    endpoints = servers_of(target, target_file).endpoints()
    letters = topic_of(source, runs, endpoints)
    shown: list[Letter] = []
    content: list[Letter] = []
    sent_again: set[Place] = set()
    for letter in each_once(letters.letters()):
        if letter.sent_again:
            # One that was refused again is another letter of the same record.
            sent_again.add(letter.origin)
        if everything or not letter.sent_again:
            content += [letter] if len(content) < documents else []
            shown.append(letter.without_content())
    groups = groups_of(shown)
    if as_json:
        summary: dict[str, object] = {
            "topic": letters.topic,
            "records": len(shown),
            "sent_again": len(sent_again),
            "groups": [group.model_dump() for group in groups],
        }
        typer.echo(orjson.dumps(summary | ({"documents": list(map(letter_json, content))} if documents else {})))
        return
    counts = f"{quantity(len(shown), 'dead letter')}; {quantity(len(sent_again), 'record')} sent again"
    console.print(f"{letters.topic}: {counts}", soft_wrap=True)
    if groups:
        print_groups(groups)
    for letter in content:
        print_letter(letter)


@app.command()
def replay(
    run: RunArgument = "latest",
    *,
    again: Annotated[bool, typer.Option("--again", help="Include those already sent again.")] = False,
    mapping: Annotated[
        bool, typer.Option("--update-mapping", help="First apply the profile's mapping file to the run's index.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Connector setting that overrides the run's."),
    ] = None,
    secrets: Annotated[
        list[str] | None,
        typer.Option("--set-env", metavar="NAME=VARIABLE", help="Likewise, from an environment variable: for secrets."),
    ] = None,
    target: TargetOption = TargetName.LOCAL,
    target_file: TargetFileOption = None,
    runs: RunsOption = RUNS,
) -> None:
    """Send the dead letters of a run through the sink again, each once; exit status 0 if all are accepted."""
    folder = find_run(runs, run)
    recorded = read_record(folder / "run.json")
    source = source_topic(recorded)
    if other := {"command", "pipeline"} & set(recorded.environment.connector):
        raise ProfileError(f"run {recorded.run_id}: its sink was a {other.pop()}, which keeps no dead letters")
    overrides = given_settings(settings or [], secrets or [])
    # Of servers elsewhere nobody can be kept out.
    with nullcontext() if target is TargetName.REMOTE else LocalStack().exclusively():
        endpoints = servers_of(target, target_file).endpoints()
        connector = recorded.environment.connector
        config = replay_config(connector, {**sink_access(connector, endpoints.access), **overrides})
        letters = topic_of_run(recorded, config, endpoints)
        if mapping:
            name = mapping_name(folder)
            update_mapping(recorded, name, endpoints)
            console.print(f"index {recorded.index}: mapping updated from mappings/{name}.json", soft_wrap=True)
        outcome = TopicReplay(endpoints, letters, config, source).run(again=again)
    print_outcome(outcome)


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


def mapping_name(folder: Path) -> str:
    """The mapping of a run's profile.

    Raises:
        ProfileError: The folder does not say.
    """
    name = (read_profile(folder / "profile.json") or {}).get("mapping")
    if not isinstance(name, str):
        raise ProfileError(f"{folder / 'profile.json'}: names no mapping; run the profile again")
    return name


def source_topic(run: Run) -> str:
    """The topic that a run has drained.

    Raises:
        ProfileError: It drained none, or several.
    """
    if run.topic is None:
        raise ProfileError(f"run {run.run_id}: sent its documents without Kafka, so there are no dead letters")
    if "," in run.topic:
        topics = run.topic.replace(",", ", ")
        raise ProfileError(
            f"run {run.run_id}: filled several indices, expected one; its dead letters, from {topics}, can be shown, "
            "but not sent again"
        )
    return run.topic


def topic_of(source: str, runs: Path, endpoints: Endpoints) -> DeadLetterTopic:
    """The dead-letter topic of a run, or the one of that name."""
    try:
        run = read_record(find_run(runs, source) / "run.json")
    except ProfileError as error:
        for name in (source, source + SUFFIX):
            topic = DeadLetterTopic(topics_of(endpoints), name)
            if name.endswith(SUFFIX) and topic.exists():
                return topic
        raise ProfileError(f"{error}; nor is there a dead-letter topic of that name") from error
    return topic_of_run(run, run.environment.connector, endpoints)


def topic_of_run(run: Run, config: Mapping[str, object], endpoints: Endpoints) -> DeadLetterTopic:
    """The dead-letter topic of a run, which its connector's configuration may name.

    Raises:
        ProfileError: It is not on these servers.
    """
    name = str(config.get(TOPIC_SETTING) or source_topic(run) + SUFFIX)
    topic = DeadLetterTopic(topics_of(endpoints), name)
    if not topic.exists():
        raise ProfileError(
            f"run {run.run_id}: its topic {name} is gone: the run used other servers, or a later run of its profile "
            "removed it; run it again"
        )
    return topic


def print_groups(groups: Sequence[DeadLetterGroup]) -> None:
    """One row for each status and reason; what all records have in common, their topic, stands above."""
    topics = {place.rpartition("-")[0] for group in groups for place in group.first}
    topic = topics.pop() if len(topics) == 1 else ""
    if topic:
        console.print(f"[dim]records as partition@offset of {escape(topic)}[/dim]", soft_wrap=True)
    rows = (
        (
            str(group.status or "–"),
            escape(": ".join(filter(None, (group.type, group.cause)))),
            f"{group.records:,}",
            escape("\n".join(place.removeprefix(f"{topic}-") for place in group.first)),
        )
        for group in groups
    )
    console.print(table_of(rows, "status", "reason", "records", "first of them", right=("records",)))


def letter_json(letter: Letter) -> dict[str, object]:
    """A dead letter for a program: the document as JSON if it is, otherwise as text."""
    try:
        document: object = orjson.loads(letter.value or b"null")
    except orjson.JSONDecodeError:
        document = (letter.value or b"").decode(errors="replace")
    return {
        "at": str(letter.refused_at),
        "first_refused_at": str(letter.origin),
        "reason": letter.reason,
        "key": None if letter.key is None else letter.key.decode(errors="replace"),
        "document": document,
        "sent_again": letter.sent_again,
    }


def print_letter(letter: Letter) -> None:
    """A dead letter for a reader."""
    console.print(f"\n[bold]{escape(letter.reason)}[/bold]", soft_wrap=True)
    if letter.origin != letter.refused_at:
        console.print(f"[dim]first rejected at {escape(str(letter.origin))}[/dim]", soft_wrap=True)
    console.print((letter.value or b"(a tombstone)").decode(errors="replace"), markup=False, soft_wrap=True)


def print_outcome(outcome: Replay) -> None:
    """What became of the letters.

    Raises:
        VerificationError: Not all of them were accepted.
    """
    total = outcome.sent + outcome.earlier
    if not total:
        console.print("nothing to replay: there are no dead letters, or all were sent again before")
        return
    if outcome.earlier:
        console.print(f"{quantity(outcome.earlier, 'record')} of an earlier replay had not been read yet")
    outcomes = ", ".join(f"{records:,} {name}" for name, records in outcome.outcomes.items() if records)
    console.print(f"{quantity(outcome.sent, 'dead letter')} sent again: {outcomes}")
    if outcome.refused:
        print_groups(outcome.refused)
    if outcome.accepted != total:
        raise VerificationError(
            f"{quantity(total - outcome.accepted, 'dead letter')} of {total:,} not accepted; fix the mapping as the "
            "reasons say, and replay again"
        )
