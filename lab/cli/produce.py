"""`sluice produce`: a dataset into any Kafka, without the rest, by one driver or by several; `gather`: their sum."""

import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Annotated

import orjson
import typer
from rich.markup import escape

from lab import VERSION
from lab.analysis.shares import gathered, read_delivery
from lab.analysis.text import clock_text, duration, figure
from lab.cli.options import DATASET_HELP, JsonOption, KeyOption, PathOption
from lab.clients.clocks import ahead_of_broker
from lab.clients.kafka import BROKERS_DEFAULT, KafkaTopics, kafka_text
from lab.console import console, print_json, table_of
from lab.display import RunDisplay
from lab.errors import ProfileError, StackError
from lab.profiles.datasets import known_dataset
from lab.records.drivers import ClockOffset, covering_offset
from lab.records.shares import DeliveryRecord
from producers.children import end_with
from producers.dataset import Dataset, DatasetError
from producers.delivery import Delivered, ProduceError, Progress, in_words
from producers.produce import WHOLE, instant
from producers.produce import produce as send
from producers.registry import make_dataset
from producers.share import Share

STANDARD_INPUT = "standard input"
ANSWER_TIMEOUT_S = 10.0
"""Short, because Sluice does not start this broker: it answers now or not at all."""


DatasetOption = Annotated[
    str | None, typer.Option(help=f"{DATASET_HELP} Default: aladin, or file where --path is given.")
]
RateOption = Annotated[
    float | None,
    typer.Option(
        metavar="DOCS_PER_S",
        help="Documents per second, over all shares, on an absolute schedule; default: as fast as possible.",
    ),
]


@dataclass(frozen=True)
class Load:
    """What is sent, as all drivers of it are told.

    Attributes:
        options: Those of the dataset.
        start_at_s: When the first document of all shares is due; `None` for at once.
    """

    topic: str
    dataset: Dataset
    options: Mapping[str, str | int | float]
    share: Share
    processes: int
    rate_docs_per_s: float | None
    start_at_s: float | None

    def record(self, delivered: Delivered, clock: ClockOffset | None) -> DeliveryRecord:
        """What is written down of its share."""
        return DeliveryRecord(
            sluice_version=VERSION,
            topic=self.topic,
            dataset={"name": self.dataset.name, "seed": self.dataset.seed, **self.options},
            content_hash=self.dataset.content_hash,
            documents=self.dataset.documents,
            share=self.share.number,
            of=self.share.of,
            processes=self.processes,
            rate_docs_per_s=self.rate_docs_per_s,
            start_at_s=self.start_at_s,
            delivered=delivered,
            clock=clock,
        )


def produce(
    topic: Annotated[str, typer.Argument(help="Topic to produce into; created if missing.")],
    *,
    bootstrap_servers: Annotated[str, typer.Option(help="Kafka brokers, `host:port`, comma-separated.")],
    dataset: DatasetOption = None,
    documents: Annotated[int | None, typer.Option(help="How many documents.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same documents.")] = 1,
    path: PathOption = None,
    key: KeyOption = None,
    rate: RateOption = None,
    processes: Annotated[int, typer.Option(min=1, help="Producer processes, of each share.")] = 1,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of a new topic.")] = 1,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="Option of the dataset, such as model=flat."),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(
            "--client", metavar="NAME=VALUE", help="Setting of Kafka's client, verbatim; secrets: --client-file."
        ),
    ] = None,
    share: Annotated[
        str | None, typer.Option(metavar="N/OF", help="Send one share of the load, such as 2/5; others send the rest.")
    ] = None,
    start_at: Annotated[
        str | None,
        typer.Option(metavar="INSTANT", help="When all shares start, ISO 8601, UTC unless it says otherwise."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write down what was delivered, for `sluice gather`.")
    ] = None,
    client_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Settings of Kafka's client: NAME=VALUE in each line, or a JSON object; -: standard input.",
        ),
    ] = None,
    clock_topic: Annotated[
        str | None,
        typer.Option(metavar="TOPIC", help="Topic with log append time: compare this clock with its broker's."),
    ] = None,
    over_ssh: Annotated[
        bool,
        typer.Option(
            "--over-ssh", hidden=True, help="Started by a run: settings in one line of standard input; end with it."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Stream a dataset, or a share of it, into a topic of any Kafka."""
    which = share_of(share, start_at)
    start_at_s = None if start_at is None else instant_of(start_at, time())
    if record is not None:
        refuse_unwritable(record)
    name = dataset or ("file" if path else "aladin")
    given = dataset_options(name, options or [], path=path, key=key)
    load = Load(
        topic,
        made_dataset(name, documents, seed, given),
        {option: value for option, value in given.items() if option != "path"},
        which,
        processes,
        rate,
        start_at_s,
    )
    settings = {
        **(settings_over_ssh() if over_ssh else client_settings(client_file)),
        **dict(pair(text, "--client") for text in client or []),
        "bootstrap.servers": bootstrap_servers,
    }
    make_topic(topic, partitions, bootstrap_servers, settings, clock_topic)
    clocks = [ahead(clock_topic, settings)]
    delivered = sent(load, settings)
    clocks.append(ahead(clock_topic, settings))
    made = load.record(delivered, covering_offset(clocks))
    console.print(table_of([*rows_of(delivered), *clock_rows([made])]))
    if record is not None:
        written(record, made)
    if as_json:
        print_json(made)
    if delivered.failed:
        raise StackError(
            f"{delivered.failed:,} of {delivered.produced:,} documents were not delivered: "
            f"{in_words(delivered.failures)}"
        )


def gather(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Delivery records, one of each share, in any order.")
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """Combine the delivery records of a load's shares. Exit status 4 if a driver could not keep its schedule."""
    records = {str(file): read_delivery(file) for file in files}
    if len(records) < len(files):
        raise ProfileError("FILE: got a file twice, expected one of each share")
    delivered = gathered(records)
    ordered = sorted(records.values(), key=lambda record: record.share)
    console.print(table_of([("shares", f"{len(records)}"), *rows_of(delivered), *clock_rows(ordered)]))
    if as_json:
        common = ordered[0].model_dump(mode="json", exclude={"share", "clock"})
        print_json(common | {"delivered": delivered, "clocks": {record.share: record.clock for record in ordered}})


# --- what is asked for ----------------------------------------------------------------------------------------------


def share_of(share: str | None, start_at: str | None) -> Share:
    """The share that this driver sends; raises ProfileError if it is none, or nothing says when the others start."""
    try:
        which = WHOLE if share is None else Share.parsed(share)
    except ValueError as error:
        raise ProfileError(f"--{error}") from error
    if which.of > 1 and start_at is None:
        raise ProfileError(
            f"--share {which}: got no --start-at, expected the instant at which all {which.of} shares start"
        )
    return which


def instant_of(text: str, now_s: float) -> float:
    """An instant to come, in seconds since the Unix epoch; raises ProfileError if it is none, or over."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        example = instant(now_s + 60)
        raise ProfileError(f"--start-at: got {text}, expected an instant such as {example}") from error
    at_s = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    if at_s <= now_s:
        raise ProfileError(f"--start-at: got {text}, expected an instant to come; now it is {instant(now_s)}")
    return at_s


def refuse_unwritable(record: Path) -> None:
    """Refuse a place for a record where no file can be made, before anything is sent.

    Raises:
        ProfileError: It is one.
    """
    if record.is_dir() or not record.parent.is_dir():
        raise ProfileError(f"--record: got {record}, expected a file in a folder that exists")


def made_dataset(name: str, documents: int | None, seed: int, options: Mapping[str, object]) -> Dataset:
    """The dataset; raises ProfileError for one that cannot be had."""
    try:
        return make_dataset(name, documents=documents, seed=seed, **options)
    except DatasetError as error:
        raise ProfileError(f"dataset: {error}") from error


def pair(text: str, option: str) -> tuple[str, str]:
    """`NAME=VALUE` taken apart."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ProfileError(f"{option} {text}: got no value, expected NAME=VALUE")
    return name, value


def dataset_options(
    dataset: str, options: list[str], *, path: str | None = None, key: str | None = None
) -> dict[str, str | int | float]:
    """The dataset's options, each as the type that the dataset declares.

    Args:
        path: That of the dataset `file`, which has an option of its own here.
        key: Likewise the field of its key.
    """
    known = known_dataset(dataset)
    declared = {name: option.type for name, option in known.options.items()} if known is not None else {}
    values: dict[str, str | int | float] = {}
    for name, text in (pair(option, "--option") for option in options):
        kind = declared.get(name, str)
        try:
            values[name] = kind(text)
        except ValueError as error:
            raise ProfileError(f"--option {name}: got {text}, expected a number") from error
    return values | {name: value for name, value in (("path", path), ("key", key)) if value}


def client_settings(file: str | None) -> dict[str, str]:
    """The settings of a file, or of the whole standard input.

    Raises:
        ProfileError: The file cannot be read, or a line is none of them; it is not shown, since it may hold a secret.
    """
    if file is None:
        return {}
    try:
        if file != "-":
            return settings_in(Path(file).read_text("utf-8"), file)
        return settings_in(sys.stdin.buffer.read().decode(), STANDARD_INPUT)
    except (OSError, UnicodeDecodeError) as error:
        where = STANDARD_INPUT if file == "-" else file
        raise ProfileError(f"--client-file: {where}: cannot be read ({type(error).__name__})") from error


def settings_over_ssh() -> dict[str, str]:
    """The settings in the first line of the standard input; this process ends with it, as the run has gone then."""
    settings = settings_in(sys.stdin.buffer.readline().decode(), STANDARD_INPUT)
    end_with(sys.stdin.buffer)
    return settings


def settings_in(text: str, where: str) -> dict[str, str]:
    """Settings as a JSON object, or as Kafka's own tools take them: one in a line, without blank lines and remarks."""
    if text.lstrip().startswith("{"):
        with contextlib.suppress(orjson.JSONDecodeError):
            return {name: kafka_text(value) for name, value in orjson.loads(text).items()}
        raise ProfileError(f"--client-file: {where}: got no JSON, expected an object of names and values")
    settings = {}
    for number, line in enumerate(text.splitlines(), start=1):
        name, equals, value = line.lstrip().rstrip("\r\n").partition("=")
        if not line.strip() or name.startswith("#"):
            continue
        if not (name.strip() and equals):
            raise ProfileError(f"--client-file: {where}:{number}: got no value, expected NAME=VALUE")
        settings[name.strip()] = value.lstrip()
    return settings


# --- what is done ---------------------------------------------------------------------------------------------------


def make_topic(
    topic: str, partitions: int, bootstrap_servers: str, settings: Mapping[str, str], clock_topic: str | None
) -> None:
    """Create the topic if it is missing; another driver may do so at the same time.

    Raises:
        ProfileError: Kafka refuses it, or there is no such topic for clocks, which none of several drivers can make.
        StackError: Kafka does not answer.
    """
    topics = KafkaTopics(bootstrap_servers, settings)
    present = topics.names(ANSWER_TIMEOUT_S)
    if clock_topic not in {None, *present}:
        raise ProfileError(
            f"--clock-topic: got {clock_topic}, expected a topic that exists, with message.timestamp.type=LogAppendTime"
        )
    if topic in present:
        return
    try:
        topics.create(topic, partitions=partitions, replication_factor=BROKERS_DEFAULT, config={})
    except ProfileError:
        if topic not in topics.names(ANSWER_TIMEOUT_S):
            raise


def ahead(clock_topic: str | None, settings: Mapping[str, str]) -> ClockOffset | None:
    """How far this clock is ahead of the broker's; `None` if nobody wants to know, or the broker does not answer."""
    return None if clock_topic is None else ahead_of_broker(clock_topic, settings)


def sent(load: Load, settings: Mapping[str, str]) -> Delivered:
    """Send the share, with its progress on the terminal.

    Raises:
        ProfileError: An argument is out of range.
        StackError: It could not be sent.
    """
    display = RunDisplay()
    if load.start_at_s is not None:
        wait = duration(max(0.0, load.start_at_s - time()))
        console.print(f"share {load.share} starts at {instant(load.start_at_s)}, in {wait}", soft_wrap=True)

    def show(progress: Progress) -> None:
        late = f"{progress.late_documents:,} late" if progress.late_documents else ""
        display.update(progress.delivered, late)

    with display.showing():
        display.begin("fill", f"producing {escape(load.dataset.name)}", load.dataset.documents // load.share.of)
        try:
            return send(
                load.dataset,
                load.topic,
                client=settings,
                processes=load.processes,
                share=load.share,
                rate_docs_per_s=load.rate_docs_per_s,
                start_at_s=load.start_at_s,
                progress=show,
            )
        except ProduceError as error:
            raise StackError(f"producer: {error}") from error
        except ValueError as error:
            raise ProfileError(str(error)) from error


def written(file: Path, record: DeliveryRecord) -> None:
    """Write a record, whole, in one line.

    Raises:
        StackError: The disk does not take it; the figures are on the terminal all the same.
    """
    try:
        file.write_text(record.model_dump_json() + "\n", "utf-8")
    except OSError as error:
        raise StackError(f"--record: {file}: cannot be written ({error.strerror})") from error


def rows_of(delivered: Delivered) -> Iterator[tuple[str, str]]:
    """What was delivered, how fast, how late."""
    duration_s = max(1e-9, delivered.last_acknowledged_s - delivered.first_intended_s)
    yield "delivered", f"{delivered.delivered:,} documents, {delivered.entities:,} entities"
    yield "delivery rate", figure(delivered.delivered / duration_s, "docs/s")
    yield "source", figure(delivered.source_bytes / duration_s / 1e6, "MB/s")
    for name, latency_ms in delivered.latency_ms.items():
        yield f"due → acknowledged {name.replace('_', '.')}", figure(latency_ms, "ms")
    yield "late", f"{delivered.late_documents:,} documents sent more than 100 ms after they were due"
    yield "CPU", figure(delivered.cpu_s, "s")


def clock_rows(records: Iterable[DeliveryRecord]) -> Iterator[tuple[str, str]]:
    """The clock of each driver; of one driver alone only if it has compared its own."""
    for record in records:
        if record.clock is not None:
            yield f"clock of {record.name}", f"{clock_text(record.clock)} the broker's"
        elif record.of > 1:
            yield f"clock of {record.name}", "not compared: see --clock-topic"
