"""`sluice trace`: the story of one document, from its records to where it is now."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.markup import escape

from lab.analysis.text import bytes_text, quantity
from lab.audit.index import Index, Pace
from lab.audit.pipeline import Wishes, find_pipeline, find_rule
from lab.audit.topic import Topic
from lab.audit.trace import Scene, Step, Story
from lab.cli.audit import (
    PATIENCE_S,
    ConnectorOption,
    FromOption,
    GroupOption,
    IdOption,
    LettersOption,
    RateOption,
    ToOption,
    print_line,
)
from lab.cli.options import JsonOption, ServerOptions, with_groups
from lab.clients.target import cluster_of, topics_of, worker_of
from lab.console import console, print_json, shown, table_of
from lab.targets.choose import read_endpoints

SHOWN = 12
HEADER_CHARACTERS = 40


@with_groups
def trace(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of the records, or id of the document.")],
    *,
    topic: Annotated[str, typer.Option("--topic", help="Topic.")],
    index: Annotated[str, typer.Option("--index", help="Index, alias, pattern or data stream.")],
    begin: FromOption = None,
    end: ToOption = None,
    rate: RateOption = None,
    connector: ConnectorOption = None,
    group: GroupOption = None,
    dead_letters: LettersOption = None,
    id_rule: IdOption = "auto",
    as_json: JsonOption = False,
    on: ServerOptions,
) -> None:
    """Tell the story of one document: its records, what became of each, and where it is now."""
    endpoints = read_endpoints(on.target, on.target_file)
    with closing(cluster_of(endpoints, PATIENCE_S)) as cluster, closing(worker_of(endpoints, PATIENCE_S)) as worker:
        kafka = topics_of(endpoints)
        traced, searched = Topic(kafka, topic, Pace(rate)), Index(cluster, index, Pace(rate))
        indices = list(searched.backing)
        wishes = Wishes(connector, group, dead_letters)
        pipeline = find_pipeline(wishes, topic, kafka, worker if endpoints.connect_url else None)
        inside = traced.range(begin, end)
        committed = kafka.committed_offsets(topic, pipeline.group) if pipeline.group else {}
        rule, of_ids = find_rule(id_rule, traced.sample(inside, committed), searched, pipeline)
        story = Scene(traced, searched, inside, rule, pipeline, committed).story(key)
        notes = [of_ids, *filter(None, (pipeline.doubt, *searched.restrictions()))]
    if as_json:
        print_json(described(story, notes))
        return
    for note in notes:
        print_line(note, style="dim")
    partitions = ", ".join(map(str, sorted(story.searched)))
    print_line(f"{quantity(len(story.steps), 'record')} of {key} in {topic}, partition {partitions}")
    if story.steps:
        rows = ([escape(cell) for cell in row_of(step)] for step in story.steps[-SHOWN:])
        console.print(table_of(rows, "record", "written", "value", "headers", "what happened"))
    for line in (*now(story, indices), *story.failures):
        print_line(line)
    print_line(story.explained(), style="bold")


def row_of(step: Step) -> tuple[str, ...]:
    """A record for a reader."""
    record = step.record
    written = datetime.fromtimestamp(record.timestamp_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    value = "tombstone" if record.value is None else bytes_text(len(record.value))
    texts = [(name, (value or b"").decode(errors="replace")[:HEADER_CHARACTERS]) for name, value in record.headers]
    headers = [shown(f"{name}={text}") for name, text in texts]
    place = f"{record.place.partition}@{record.place.offset}"
    return place, written, value, "\n".join(headers), fate_text(step)


def fate_text(step: Step) -> str:
    """Outcome of a record, as far as its group and its queue tell."""
    if step.letter:
        return f"dead letter {step.letter.at}"
    if step.committed is None:
        return "no group known"
    return "not committed" if step.row.is_open else "committed"


def now(story: Story, indices: list[str]) -> Iterator[str]:
    """Places of the document now: a line for each index that may hold it."""
    stored = {each.index: each for each in story.stored}
    for name in indices[-SHOWN:]:
        each = stored.get(name)
        yield f"now in {name}: " + (f"version {each.version}, seq_no {each.seq_no}" if each else "not there")


def described(story: Story, notes: Sequence[str]) -> dict[str, Any]:
    """The story for a program, and a sentence about its ids and each restriction."""
    steps = [
        {
            "place": str(step.record.place),
            "timestamp_ms": step.record.timestamp_ms,
            "id": step.id,
            "tombstone": step.row.is_tombstone,
            "headers": {name: (value or b"").decode(errors="replace") for name, value in step.record.headers},
            "committed": None if step.committed is None else not step.row.is_open,
            "dead_letter": {"at": str(step.letter.at), "reason": step.letter.reason} if step.letter else None,
        }
        for step in story.steps
    ]
    return {
        "key": story.key,
        "ids": notes[0],
        "notes": notes[1:],
        "partitions": story.searched,
        "records": steps,
        "stored": [asdict(each) for each in story.stored],
        "failure_store": story.failures,
        "explained": story.explained(),
    }
