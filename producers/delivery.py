"""The records of producing: how far it is, what came of it, and why a document was given up."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from producers.latency import Latencies


class ProduceError(Exception):
    """Nothing, or not everything, could be handed to Kafka: a topic or broker is missing, or a process ended early."""


@dataclass(frozen=True)
class Failure:
    """Documents that were given up for one reason.

    Attributes:
        code: Kafka's name of the error, such as `MSG_SIZE_TOO_LARGE` or `_MSG_TIMED_OUT`.
        reason: What Kafka said of the first of them.
        documents: How many.
    """

    code: str
    reason: str
    documents: int


def in_words(failures: Iterable[Failure]) -> str:
    """Why documents were given up, in one line."""
    return "; ".join(f"{failure.documents} × {failure.code}: {failure.reason}" for failure in failures)


@dataclass(frozen=True)
class Progress:
    """How far all producer processes together are.

    Attributes:
        documents: How many there are to produce.
        produced: Handed to the client so far.
        delivered: Acknowledged by Kafka so far.
        failed: Given up so far; produced - delivered - failed are under way.
        late_documents: Sent more than 100 ms after they were due.
        elapsed_s: Since the first document was due.
        delivery_rate_docs_per_s: Growth of `delivered` per second since the progress before this one.
    """

    documents: int
    produced: int
    delivered: int
    failed: int
    late_documents: int
    elapsed_s: float
    delivery_rate_docs_per_s: float


@dataclass(frozen=True)
class Delivered:
    """What all producer processes together did. produced = delivered + failed.

    Attributes:
        produced: Handed to the client: every document of the range.
        delivered: Acknowledged by Kafka.
        failed: Given up; `failures` says why.
        source_bytes: Size of the documents delivered (keys and headers not counted).
        entities: Books, or whatever the dataset counts, that the documents of the range describe.
        rate_docs_per_s: The rate that was asked for; `None` for as fast as possible, or as recorded.
        first_intended_s: When the first document was due.
        last_acknowledged_s: When Kafka had acknowledged, or the client had given up, the last one.
        late_documents: Documents sent more than 100 ms after they were due.
        latency_ms: Due → acknowledged by Kafka, percentile name (`p50`, `p90`, `p99`, `p99_9`, `max`) → ms, of a
            sample of the documents; empty when none was acknowledged.
        latency_samples: How many documents `latency_ms` rests on.
        latencies_clamped: How many of them took longer than an hour and were counted as one.
        cpu_s: CPU time of all producer processes, their start not counted.
        failures: By reason, most frequent first.
        latencies: The histogram that `latency_ms` is of, encoded; empty when none was acknowledged.
        pace: By what recorded times were divided; `None` for documents that were not due as they were recorded.
    """

    produced: int
    delivered: int
    failed: int
    source_bytes: int
    entities: int
    rate_docs_per_s: float | None
    first_intended_s: float
    last_acknowledged_s: float
    late_documents: int
    latency_ms: dict[str, float]
    latency_samples: int
    latencies_clamped: int
    cpu_s: float
    failures: tuple[Failure, ...]
    latencies: str = ""
    pace: float | None = None


def total_in_sequence(parts: Sequence[Delivered]) -> Delivered:
    """The sum of deliveries made one after the other; its rate is `None` unless all of them had the same rate."""
    rates = {part.rate_docs_per_s for part in parts}
    latencies = Latencies()
    for part in parts:
        latencies.add(part.latencies, part.latencies_clamped)
    return Delivered(
        produced=sum(part.produced for part in parts),
        delivered=sum(part.delivered for part in parts),
        failed=sum(part.failed for part in parts),
        source_bytes=sum(part.source_bytes for part in parts),
        entities=sum(part.entities for part in parts),
        rate_docs_per_s=rates.pop() if len(rates) == 1 else None,
        first_intended_s=parts[0].first_intended_s,
        last_acknowledged_s=parts[-1].last_acknowledged_s,
        late_documents=sum(part.late_documents for part in parts),
        latency_ms=latencies.percentiles_ms(),
        latency_samples=latencies.samples,
        latencies_clamped=latencies.clamped,
        cpu_s=sum(part.cpu_s for part in parts),
        failures=merged([failure for part in parts for failure in part.failures]),
        latencies=latencies.encoded(),
    )


def total_in_parallel(parts: Sequence[Delivered]) -> Delivered:
    """The sum of deliveries made at the same time, such as the shares of one load; its rate is the rate of each."""
    return replace(
        total_in_sequence(parts),
        first_intended_s=min(part.first_intended_s for part in parts),
        last_acknowledged_s=max(part.last_acknowledged_s for part in parts),
    )


def merged(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Failures by their code, most frequent first."""
    documents: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    for failure in failures:
        documents[failure.code] += failure.documents
        reasons.setdefault(failure.code, failure.reason)
    return tuple(Failure(code, reasons[code], count) for code, count in documents.most_common())
