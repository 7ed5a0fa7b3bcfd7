"""`sluice dead-letters`: what was refused and why, and sending it again once the mapping is mended."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.markup import escape
from rich.table import Table

from lab.analysis.folder import read_record
from lab.cli.produce import pair
from lab.clients.target import topics_of
from lab.console import console
from lab.endpoints import Endpoints
from lab.errors import ProfileError, StackError, VerificationError
from lab.profiles.remote import load_remote
from lab.records import DeadLetterGroup, Run
from lab.replay.dead_letters import DeadLetterTopic, Letter, groups_of
from lab.replay.replay import Replay, TopicReplay, replay_config
from lab.run.folder import find_run
from lab.run.load.sink import sink_access
from lab.stack.compose import ComposeProject
from lab.stack.local import LocalStack
from lab.targets.choose import (
    TargetFileOption,
    TargetName,
    TargetOption,
    refuse_without_remote,
    remote_file,
)
from lab.targets.containers import addresses

RUNS = Path("runs")
TOPIC_SETTING = "errors.deadletterqueue.topic.name"
SUFFIX = "-dead-letters"

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def dead_letters() -> None:
    """Show the records that were refused, and send them again."""


@app.command()
def show(
    source: Annotated[
        str, typer.Argument(metavar="RUN|TOPIC", help="Run (`latest`, a run id, a profile, a folder) or topic.")
    ] = "latest",
    *,
    documents: Annotated[int, typer.Option(min=0, help="Show so many of them, with full reason and content.")] = 0,
    everything: Annotated[bool, typer.Option("--all", help="Those that were sent again as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    target: TargetOption = TargetName.LOCAL,
    target_file: TargetFileOption = None,
    runs: Annotated[Path, typer.Option(help="Folder of the runs.")] = RUNS,
) -> None:
    """Show dead letters by status and reason, with the first records of each."""
    endpoints = reached(target, target_file)
    letters = topic_of(source, runs, endpoints)
    shown: list[Letter] = []
    content: list[Letter] = []
    sent_again = 0
    for letter in letters.letters():
        sent_again += letter.sent_again
        if everything or not letter.sent_again:
            content += [letter] if len(content) < documents else []
            shown.append(letter.without_content())
    groups = groups_of(shown)
    if as_json:
        found = {
            "topic": letters.topic,
            "records": len(shown),
            "sent_again": sent_again,
            "groups": [group.model_dump() for group in groups],
        }
        typer.echo(
            orjson.dumps(found | ({"documents": [described(letter) for letter in content]} if documents else {}))
        )
        return
    console.print(f"{letters.topic}: {count(len(shown), 'dead letter')}; {sent_again} sent again", soft_wrap=True)
    if groups:
        console.print(table_of(groups))
    for letter in content:
        print_document(letter)


@app.command()
def replay(
    run: Annotated[
        str, typer.Argument(help="Run: `latest`, a run id, a profile (its last run) or a folder.")
    ] = "latest",
    *,
    again: Annotated[bool, typer.Option("--again", help="Also those that were sent again before.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Setting of the connector in place of the run's."),
    ] = None,
    target: TargetOption = TargetName.LOCAL,
    target_file: TargetFileOption = None,
    runs: Annotated[Path, typer.Option(help="Folder of the runs.")] = RUNS,
) -> None:
    """Send the dead letters of a run through the sink again, each once; exit status 0 if all are accepted."""
    recorded = record_of(find_run(runs, run))
    source = source_topic(recorded)
    given = dict(pair(text, "--set") for text in settings or [])
    with held(target):
        endpoints = reached(target, target_file)
        connector = recorded.environment.connector
        config = replay_config(connector, {**sink_access(connector, endpoints.access), **given})
        letters = existing(config.get(TOPIC_SETTING) or source + SUFFIX, recorded.run_id, endpoints)
        outcome = TopicReplay(endpoints, letters, config, source).run(again=again)
    tell(outcome)


def reached(target: TargetName, file: Path | None) -> Endpoints:
    """Where the servers of a target are found."""
    if target is TargetName.REMOTE:
        return load_remote(remote_file(file))
    refuse_without_remote(file, target)
    if target is TargetName.COMPOSE:
        return addresses(ComposeProject().containers())
    return endpoints_of_up()


def held(target: TargetName) -> AbstractContextManager[object]:
    """This machine's servers for this command alone; of others nobody can be kept out."""
    return nullcontext() if target is TargetName.REMOTE else LocalStack().exclusively()


def endpoints_of_up() -> Endpoints:
    """Where the servers of `up` are found.

    Raises:
        StackError: There are none, or one of them has died.
    """
    stack = LocalStack()
    state = stack.state()
    if state is None or not state.kept:
        raise StackError(
            "no servers of `./sluice up` are running here, and a run on servers of its own leaves nothing to replay; "
            "start them with: ./sluice up"
        )
    dead = sorted(entry.spec.name for entry in state.servers if not entry.alive)
    if dead:
        raise StackError(f"{', '.join(dead)}: not running any more; start it again with: ./sluice restart {dead[0]}")
    return stack.endpoints()


def record_of(folder: Path) -> Run:
    """What a run has written down of itself."""
    return read_record(folder / "run.json")


def source_topic(run: Run) -> str:
    """The topic that a run has drained.

    Raises:
        ProfileError: It drained none.
    """
    if run.topic is None:
        raise ProfileError(f"run {run.run_id}: sent its documents past Kafka, so that there are no dead letters")
    return run.topic


def topic_of(source: str, runs: Path, endpoints: Endpoints) -> DeadLetterTopic:
    """The dead-letter topic of a run, or the one of that name."""
    try:
        run = record_of(find_run(runs, source))
    except ProfileError as error:
        for name in (source, source + SUFFIX):
            topic = DeadLetterTopic(topics_of(endpoints), name)
            if name.endswith(SUFFIX) and topic.exists():
                return topic
        raise ProfileError(f"{error}; nor is there a dead-letter topic of that name") from error
    name = str(run.environment.connector.get(TOPIC_SETTING) or source_topic(run) + SUFFIX)
    return existing(name, run.run_id, endpoints)


def existing(name: str, run_id: str, endpoints: Endpoints) -> DeadLetterTopic:
    """The dead-letter topic of a run.

    Raises:
        ProfileError: It is not on these servers.
    """
    topic = DeadLetterTopic(topics_of(endpoints), name)
    if not topic.exists():
        raise ProfileError(
            f"run {run_id}: its topic {name} is not on these servers: it ran on others, which took their topics with "
            "them, or a later run of its profile has removed it; run it again"
        )
    return topic


def table_of(groups: Sequence[DeadLetterGroup]) -> Table:
    """One row for each status and reason."""
    table = Table(show_edge=False)
    for column in ("status", "reason", "records", "first of them"):
        table.add_column(column, overflow="fold", justify="right" if column == "records" else "left")
    for group in groups:
        reason = ": ".join(part for part in (group.type, group.cause) if part)
        table.add_row(str(group.status or "–"), escape(reason), f"{group.records:,}", escape("\n".join(group.first)))
    return table


def described(letter: Letter) -> dict[str, object]:
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


def print_document(letter: Letter) -> None:
    """A dead letter for a reader."""
    console.print(f"\n[bold]{escape(letter.reason)}[/bold]", soft_wrap=True)
    if letter.origin != letter.refused_at:
        console.print(f"[dim]first refused at {escape(str(letter.origin))}[/dim]", soft_wrap=True)
    console.print((letter.value or b"(a tombstone)").decode(errors="replace"), markup=False, soft_wrap=True)


def tell(outcome: Replay) -> None:
    """What became of the letters.

    Raises:
        VerificationError: Not all of them were accepted.
    """
    total = outcome.sent + outcome.earlier
    if not total:
        console.print("nothing to replay: every dead letter was sent again before, or there is none")
        return
    if outcome.earlier:
        console.print(f"{count(outcome.earlier, 'record')} of an earlier replay had not been read yet")
    outcomes = ", ".join(f"{records:,} {name}" for name, records in outcome.outcomes.items() if records)
    console.print(f"{count(outcome.sent, 'dead letter')} sent again: {outcomes}")
    if outcome.refused:
        console.print(table_of(outcome.refused))
    if outcome.accepted != total:
        raise VerificationError(
            f"{count(total - outcome.accepted, 'dead letter')} of {total:,} not accepted; mend what the reasons name "
            "and replay again"
        )


def count(number: int, noun: str) -> str:
    """A number of things: `1 record`, `3 records`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
