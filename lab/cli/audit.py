"""`sluice audit`: which records of a topic are in an index, for pipelines of any maker."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.markup import escape

from lab.analysis.text import duration, quantity
from lab.audit.audit import Audit, Outcome, Plan, Steps, refuse_another
from lab.audit.findings import Findings, finding_file, repair, summary_of, write_summary
from lab.audit.ids import IdRule, rule_called
from lab.audit.index import Index, Pace
from lab.audit.judge import Fate, Kind
from lab.audit.pipeline import Pipeline, Wishes, find_pipeline, find_rule
from lab.audit.store import Store
from lab.audit.topic import Range, Topic
from lab.cli.options import OUTPUT, JsonOption, ServerOptions, partitions_in, with_groups
from lab.clients.kafka import KafkaTopics
from lab.clients.target import cluster_of, topics_of, worker_of
from lab.console import console, print_json, shown, table_of
from lab.display import LiveLines
from lab.errors import ProfileError
from lab.stack.places import state_dir
from lab.targets.choose import read_endpoints

PATIENCE_S = 20.0
SHOWN = 5
DIFFERS = 1
"""Exit status of an audit that found a difference."""
PIPELINE = "Pipeline"
ALWAYS = (Fate.DOCUMENT, Fate.MISSING)


class Content(StrEnum):
    """Documents whose contents are compared."""

    NONE = "none"
    SAMPLE = "sample"
    ALL = "all"


FromOption = Annotated[
    str | None, typer.Option("--from", metavar="TIME|OFFSET", help="Begin here; default: the earliest record.")
]
ToOption = Annotated[
    str | None, typer.Option("--to", metavar="TIME|OFFSET", help="End before this; default: the present end.")
]
RateOption = Annotated[float | None, typer.Option("--rate", min=1, metavar="N", help="Read at most N/s on each side.")]
GroupOption = Annotated[
    str | None,
    typer.Option("--group", help="Consumer group, or `none`; default: the one of the topic.", rich_help_panel=PIPELINE),
]
ConnectorOption = Annotated[
    str | None,
    typer.Option("--connector", metavar="NAME", help="Kafka Connect's name of it.", rich_help_panel=PIPELINE),
]
LettersOption = Annotated[
    str | None,
    typer.Option(
        "--dead-letters", metavar="TOPIC", help="Dead-letter queue; default: the connector's.", rich_help_panel=PIPELINE
    ),
]
IdOption = Annotated[
    str,
    typer.Option(
        "--id",
        metavar="RULE",
        help="Ids: auto, key, json-key, binary-key, key:FIELDS, offset, field:PATH, header:NAME, content.",
        rich_help_panel=PIPELINE,
    ),
]


@with_groups
def audit(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Topic.")],
    index: Annotated[str, typer.Argument(metavar="INDEX", help="Index, alias, pattern or data stream.")],
    *,
    begin: FromOption = None,
    end: ToOption = None,
    partitions: Annotated[str | None, typer.Option(metavar="0,3", help="Only these partitions; default: all.")] = None,
    content: Annotated[Content, typer.Option(help="Documents whose contents are compared.")] = Content.SAMPLE,
    ignore_field: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="Field that is not compared, such as one a pipeline adds.")
    ] = None,
    rate: RateOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an audit was broken off.")] = False,
    repair_topic: Annotated[
        str | None, typer.Option("--repair", metavar="TOPIC", help="Write what is missing or stale into this topic.")
    ] = None,
    connector: ConnectorOption = None,
    group: GroupOption = None,
    dead_letters: LettersOption = None,
    deletes: Annotated[
        bool | None, typer.Option("--deletes/--no-deletes", help="Tombstones delete.", rich_help_panel=PIPELINE)
    ] = None,
    id_rule: IdOption = "auto",
    shared: Annotated[
        bool, typer.Option("--shared", help="Others feed the index, too.", rich_help_panel=PIPELINE)
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Folder for the result as files.", rich_help_panel=OUTPUT),
    ] = None,
    as_json: JsonOption = False,
    on: ServerOptions,
) -> None:
    """Check that all records of a topic are in an index; exit status 0 if they are, 1 if something differs."""
    endpoints = read_endpoints(on.target, on.target_file)
    wishes = Wishes(connector, group, dead_letters, deletes, id_rule, shared)
    with closing(cluster_of(endpoints, PATIENCE_S)) as cluster, closing(worker_of(endpoints, PATIENCE_S)) as worker:
        kafka = topics_of(endpoints)
        audited = Topic(kafka, topic, Pace(rate))
        options = [index, begin, end, partitions, content, ignore_field, asdict(wishes), endpoints.elasticsearch_urls]
        name = hashlib.sha256(orjson.dumps([topic, index, endpoints.kafka_bootstrap])).hexdigest()[:16]
        with Store(state_dir() / "audits" / f"{name}.duckdb", orjson.dumps(options).decode(), resume=resume) as store:
            topic_id = store.kept("topic", audited.identity)
            refuse_another(audited, topic_id)
            inside = kept_range(store, lambda: audited.range(begin, end, partitions_in(partitions)))
            pipeline = find_pipeline(wishes, topic, kafka, worker if endpoints.connect_url else None)
            if repair_topic:
                refuse_target(kafka, topic, repair_topic, pipeline)
            committed = kafka.committed_offsets(topic, pipeline.group) if pipeline.group else {}
            searched = Index(cluster, index, Pace(rate))
            indices = len(searched.backing)
            rule, of_ids = kept_rule(
                store, lambda: find_rule(id_rule, audited.sample(inside, committed), searched, pipeline)
            )
            plan = Plan(audited, searched, kafka, inside, rule, pipeline, content.value, ignore_field or (), topic_id)
            print_line(f"{topic} → {index}: {of_ids}")
            with finding_file(output) as file, steps_shown() as on_step:
                findings = Findings(topic, file, keeps_places=repair_topic is not None)
                outcome = Audit(plan, store, findings.add, on_step).run()
            store.finish()
    about = {
        "topic": topic,
        "index": index,
        "ids": of_ids,
        "group": pipeline.group,
        "dead_letters": pipeline.dead_letters,
        "from": inside.first,
        "to": inside.last,
    }
    summary = summary_of(outcome, findings, about)
    if output:
        write_summary(output, summary)
    if as_json:
        print_json(summary)
    else:
        print_outcome(outcome, findings, (*pipeline_notes(pipeline), *outcome.notes), indices)
    if repair_topic and findings.places:
        settings = {**endpoints.access.kafka, "bootstrap.servers": endpoints.kafka_bootstrap}
        console.print(
            f"{quantity(repair(audited, findings.places, repair_topic, settings), 'record')} → {repair_topic}"
        )
    if outcome.findings:
        raise typer.Exit(DIFFERS)


def refuse_target(kafka: KafkaTopics, topic: str, into: str, pipeline: Pipeline) -> None:
    """Raise ProfileError for a topic that a repair must not write into, or that does not exist.

    A connector that reads it would store the records at once, under ids and versions of the topic of the repair.
    """
    if into == topic:
        raise ProfileError(f"--repair: got the audited topic {topic}, expected another one")
    if into not in kafka.names():
        raise ProfileError(f"--repair: topic {into} does not exist; create it first")
    if into == pipeline.dead_letters:
        raise ProfileError(f"--repair: got the dead-letter queue {into}, expected another topic")
    if pipeline.reads(into) or (pipeline.group and any(kafka.committed_offsets(into, pipeline.group).values())):
        raise ProfileError(f"--repair: got {into}, which the audited pipeline reads, expected another topic")


@contextmanager
def steps_shown() -> Iterator[Steps]:
    """A line that shows the progress on a terminal, and each step once elsewhere."""
    shown: dict[str, Any] = {}
    lines = LiveLines(transient=True)
    with lines if console.is_terminal else nullcontext():

        def on_step(what: str, done: int, total: int) -> None:
            if what not in shown:
                if not console.is_terminal:
                    console.print(f"{what}: {total:,}")
                shown[what] = lines.add_task(what, total=total, detail="")
            lines.update(shown[what], completed=done, total=total, detail=f"{done:,} of {total:,}")

        yield on_step


def kept_range(store: Store, find: Callable[[], Range]) -> Range:
    """The range of an audit; of a resumed one that with which it began."""

    def text() -> str:
        inside = find()
        return orjson.dumps([inside.whole, inside.first, inside.last], option=orjson.OPT_NON_STR_KEYS).decode()

    whole, *offsets = orjson.loads(store.kept("range", text))
    first, last = ({int(each): offset for each, offset in side.items()} for side in offsets)
    return Range(first, last, whole)


def kept_rule(store: Store, find: Callable[[], tuple[IdRule, str]]) -> tuple[IdRule, str]:
    """The rule of ids and the sentence about it; of a resumed audit those with which it began."""

    def found() -> str:
        rule, text = find()
        return orjson.dumps([rule.name, text]).decode()

    name, text = orjson.loads(store.kept("rule", found))
    return rule_called(name), text


def print_outcome(outcome: Outcome, findings: Findings, notes: Iterable[str], indices: int) -> None:
    """The result on one screen: the balance, each kind with its first findings, and the verdict last."""
    for note in notes:
        print_line(note, style="dim")
    parts = " + ".join(
        f"{fate.value} {outcome.fates[fate]:,}" for fate in Fate if outcome.fates[fate] or fate in ALWAYS
    )
    print_line(f"{quantity(outcome.records, 'record')} = {parts}")
    of = f" in {indices} indices" if indices > 1 else ""
    alien = f", {outcome.foreign:,} without a record in this range (others' or older)" if outcome.foreign else ""
    compared = f"contents of {outcome.compared:,} compared" if outcome.compared else "contents not compared"
    print_line(f"{quantity(outcome.documents, 'document')}{of}{alien}; {compared}")
    rows = (
        (each["kind"], each["place"] or each["index"], each["id"], each["detail"])
        for kind in Kind
        for each in findings.first[kind][:SHOWN]
    )
    if outcome.findings:
        console.print(
            table_of(([escape(shown(cell)) for cell in row] for row in rows), "kind", "where", "id", "detail")
        )
    print_line(verdict(outcome), style="bold")


def print_line(text: str, style: str | None = None) -> None:
    """Print a sentence, which a terminal breaks between words."""
    console.print(shown(text), markup=False, style=style, soft_wrap=not console.is_terminal)


def pipeline_notes(pipeline: Pipeline) -> Iterator[str]:
    """Sentences about the pipeline."""
    if pipeline.group:
        letters = (
            f"; dead letters: {pipeline.dead_letters}" if pipeline.dead_letters else "; no dead-letter queue known"
        )
        yield f"consumer group: {pipeline.group}{letters}"
    if pipeline.is_upsert:
        yield "the connector merges records into documents (upsert): contents and versions are not compared"


def verdict(outcome: Outcome) -> str:
    """The result in one sentence."""
    if outcome.findings:
        kinds = ", ".join(f"{number:,} {kind.value}" for kind, number in sorted(outcome.findings.items()) if number)
        return f"the index differs from the topic: {kinds}"
    left = []
    if number := outcome.fates[Fate.DEAD_LETTER]:
        left.append(f"{number:,} in the dead-letter queue")
    if number := outcome.fates[Fate.IGNORED]:
        left.append(f"{quantity(number, 'tombstone')} deleted nothing")
    if number := outcome.fates[Fate.IN_FLIGHT]:
        age_s = datetime.now(UTC).timestamp() - (outcome.oldest_in_flight_ms or 0) / 1000
        left.append(f"{number:,} not committed yet (the oldest written {duration(round(age_s))} ago)")
    if left:
        return f"all other records are in the index; {' and '.join(left)}"
    return "every record of the range is in the index" if outcome.records else "the range has no record"
