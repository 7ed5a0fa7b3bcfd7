"""`sluice produce`: a dataset into any Kafka, without the rest."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.markup import escape

from lab.analysis.text import figure
from lab.clients.kafka import KafkaTopics
from lab.console import console, table_of
from lab.display import RunDisplay
from lab.errors import ProfileError, StackError
from producers.dataset import DatasetError
from producers.delivery import Delivered, ProduceError, Progress, in_words
from producers.produce import produce as send
from producers.registry import DATASETS, make_dataset

ANSWER_TIMEOUT_S = 10.0
"""A broker that somebody else keeps is there or it is not; nobody is about to start it."""


def produce(
    topic: Annotated[str, typer.Argument(help="Topic to produce into; created if missing.")],
    *,
    bootstrap_servers: Annotated[str, typer.Option(help="Kafka brokers, `host:port`, comma-separated.")],
    dataset: Annotated[str, typer.Option(help=f"Dataset: {', '.join(DATASETS)}.")] = "aladin",
    documents: Annotated[int | None, typer.Option(help="How many documents.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same documents.")] = 1,
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="DOCS_PER_S", help="Documents per second, on an absolute schedule; default: as fast as possible."
        ),
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Producer processes.")] = 1,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of a new topic.")] = 1,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="Option of the dataset, such as model=flat."),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option("--client", metavar="NAME=VALUE", help="Setting of Kafka's client, verbatim."),
    ] = None,
) -> None:
    """Stream a dataset into a topic of any Kafka."""
    try:
        made = make_dataset(dataset, documents=documents, seed=seed, **dataset_options(dataset, options or []))
    except DatasetError as error:
        raise ProfileError(f"dataset: {error}") from error
    settings = {**dict(pair(text, "--client") for text in client or []), "bootstrap.servers": bootstrap_servers}
    topics = KafkaTopics(bootstrap_servers, settings)
    if topic not in topics.names(ANSWER_TIMEOUT_S):
        topics.create(topic, partitions=partitions, replication_factor=1, config={})
    display = RunDisplay()

    def show(progress: Progress) -> None:
        late = f"{progress.late_documents:,} late" if progress.late_documents else ""
        display.update(progress.delivered, late)

    with display.showing():
        display.begin("fill", f"producing {escape(dataset)}", made.documents)
        try:
            delivered = send(made, topic, client=settings, processes=processes, rate_docs_per_s=rate, progress=show)
        except ProduceError as error:
            raise StackError(f"producer: {error}") from error
        except ValueError as error:
            raise ProfileError(str(error)) from error
    console.print(table_of(rows_of(delivered)))
    if delivered.failed:
        raise StackError(
            f"{delivered.failed:,} of {delivered.produced:,} documents were not delivered: "
            f"{in_words(delivered.failures)}"
        )


def pair(text: str, option: str) -> tuple[str, str]:
    """`NAME=VALUE` taken apart."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ProfileError(f"{option} {text}: got no value, expected NAME=VALUE")
    return name, value


def dataset_options(dataset: str, options: list[str]) -> dict[str, object]:
    """The dataset's options, each as the type that the dataset declares."""
    declared = {option.name: option.type for option in DATASETS[dataset].options} if dataset in DATASETS else {}
    values: dict[str, object] = {}
    for name, text in (pair(option, "--option") for option in options):
        kind = declared.get(name, str)
        try:
            values[name] = kind(text)
        except ValueError as error:
            raise ProfileError(f"--option {name}: got {text}, expected a number") from error
    return values


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
