"""Producing with several processes: starting them, letting them go at once, adding up what they report."""

import json
import pickle
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, Final

from confluent_kafka import KafkaException, Producer

from producers.children import ChildError, Children
from producers.dataset import Dataset
from producers.delivery import Delivered, Failure, ProduceError, Progress, merged
from producers.latency import Latencies
from producers.pacing import Schedule
from producers.share import Share
from producers.worker import DEFAULT_CLIENT_SETTINGS, Task

START_DELAY_NS: Final = 20_000_000
"""Between the word to start and the first due time, so that every process has heard it."""
PROGRESS_INTERVAL_S: Final = 0.2
FIRST_WORD_S: Final = 120.0
"""How long a process may take to be ready."""
COUNTS_SETTINGS: Final = ("delivery.report.only.error", "on_delivery", "dr_cb", "dr_msg_cb")
"""Client settings that would take away the acknowledgements that are counted."""

ProgressListener = Callable[[Progress], None]

WHOLE: Final = Share()
"""The share of a driver that is alone."""


def produce(
    dataset: Dataset,
    topic: str | Sequence[str],
    *,
    client: Mapping[str, str | int | float | bool],
    start: int = 0,
    stop: int | None = None,
    processes: int = 1,
    share: Share = WHOLE,
    rate_docs_per_s: float | None = None,
    pace: float | None = None,
    start_at_s: float | None = None,
    progress: ProgressListener | None = None,
) -> Delivered:
    """Send the documents [start, stop) to a topic and wait until each is acknowledged or given up.

    An exception from `progress`, or a signal's, ends all processes at once; so does the death of this one.

    Args:
        dataset: What to send.
        topic: Where to; it must exist. Of several, each gets its part (`parts_of`), through processes of its own.
        client: Settings of Kafka's client, in its own words, on top of `DEFAULT_CLIENT_SETTINGS`; with at least
            `bootstrap.servers`.
        start: Number of the first document.
        stop: Number after the last; `None` for all there are.
        processes: How many processes share the work. Documents of one key always go through one.
        share: Which of several drivers this one is; each sends its own documents of the same schedule.
        rate_docs_per_s: Over all processes and shares, on an absolute schedule; `None` for as fast as possible.
        pace: Send each document when it was recorded, in so many times less time; in place of a rate.
        start_at_s: When the first document of all is due, in seconds since the Unix epoch; `None` for at once.
        progress: Called about five times a second, in the caller's thread.

    Raises:
        ValueError: An argument is out of range.
        ProduceError: A broker or the topic is missing, a process ended early, or it was not ready at `start_at_s`.
    """
    stop = dataset.documents if stop is None else stop
    topics = [topic] if isinstance(topic, str) else list(topic)
    _check(dataset, (start, stop), processes, client)
    # Each process has one topic, and each topic as many processes.
    processes = -(-processes // len(topics)) * len(topics)
    schedule = Schedule(0, 0, start, rate_docs_per_s, pace)
    whole = processes * share.of
    tasks = [
        Task(dataset, topics[n % len(topics)], start, stop, n, whole, rate_docs_per_s, dict(client), pace)
        for n in share.processes(processes)
    ]
    documents, entities = share.size(dataset, (start, stop), processes)
    if not documents:
        raise ValueError(
            f"share {share}: has none of {stop - start:,} documents: they go round in blocks; use fewer shares"
        )
    try:
        with Children("producers.worker", "producer process", processes) as children:
            crew = _Crew(children, tasks)
            crew.await_readiness()
            schedule = _starting_soon(schedule) if start_at_s is None else _starting_at(schedule, start_at_s)
            crew.go(schedule)
            crew.follow(_Listener(progress, schedule, documents))
            return crew.delivered(schedule, entities=entities)
    except ChildError as error:
        raise ProduceError(str(error)) from error


def _check(
    dataset: Dataset, bounds: tuple[int, int], processes: int, client: Mapping[str, str | int | float | bool]
) -> None:
    if not 0 <= bounds[0] < bounds[1] <= dataset.documents:
        raise ValueError(f"documents {bounds[0]} to {bounds[1]}: the dataset has documents 0 to {dataset.documents}")
    if processes < 1:
        raise ValueError(f"processes: got {processes}, expected at least 1")
    if "bootstrap.servers" not in client:
        raise ValueError("client: bootstrap.servers is missing")
    if (refusal := client_refusal(client)) is not None:
        raise ValueError(f"client: {refusal}")


def client_refusal(client: Mapping[str, str | int | float | bool]) -> str | None:
    """Why no producer can be made with these settings, which needs no broker to find out; `None` when one can."""
    for setting in COUNTS_SETTINGS:
        if setting in client:
            return f"{setting}: cannot be set, because Sluice counts acknowledgements by it"
    try:
        Producer({**DEFAULT_CLIENT_SETTINGS, **client, "bootstrap.servers": "", "log_level": 0})
    except KafkaException as error:
        return f"rejected by Kafka's client: {error.args[0].str()}"
    except (TypeError, ValueError) as error:
        return f"rejected by Kafka's client: {error}"
    return None


def _starting_soon(schedule: Schedule) -> Schedule:
    epoch_us = (time.time_ns() + START_DELAY_NS) // 1000
    return replace(schedule, started_ns=time.monotonic_ns() + START_DELAY_NS, started_epoch_us=epoch_us)


def _starting_at(schedule: Schedule, start_at_s: float) -> Schedule:
    """The schedule from an instant that several drivers have agreed on; returns just before it.

    Raises:
        ProduceError: It is over.
    """
    remaining_ns = int(start_at_s * 1e9) - time.time_ns()
    if remaining_ns < START_DELAY_NS:
        late_s = (START_DELAY_NS - remaining_ns) / 1e9
        raise ProduceError(f"start: got {instant(start_at_s)}, ready {late_s:.1f} s after that; agree on a later one")
    time.sleep((remaining_ns - START_DELAY_NS) / 1e9)
    # The wall clock is asked again: it may have been set while we waited.
    remaining_ns = int(start_at_s * 1e9) - time.time_ns()
    started_ns = time.monotonic_ns() + remaining_ns
    return replace(schedule, started_ns=started_ns, started_epoch_us=int(start_at_s * 1e6))


def instant(at_s: float) -> str:
    """An instant as ISO 8601, in UTC."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Listener:
    """Turns the counts of all processes into progress for the caller."""

    def __init__(self, listener: ProgressListener | None, schedule: Schedule, documents: int) -> None:
        self._listener = listener
        self._started_ns = schedule.started_ns
        self._documents = documents
        self._before = (schedule.started_ns, 0)

    def tell(self, counts: Mapping[str, int], *, last: bool = False) -> None:
        """Tell the caller, unless it was told just now and this is not the last word."""
        now_ns = time.monotonic_ns()
        before_ns, delivered_before = self._before
        passed_s = (now_ns - before_ns) / 1e9
        if self._listener is None or (passed_s < PROGRESS_INTERVAL_S and not last):
            return
        self._before = (now_ns, counts["delivered"])
        self._listener(
            Progress(
                documents=self._documents,
                produced=counts["produced"],
                delivered=counts["delivered"],
                failed=counts["failed"],
                late_documents=counts["late_documents"],
                elapsed_s=max(0.0, (now_ns - self._started_ns) / 1e9),
                delivery_rate_docs_per_s=(counts["delivered"] - delivered_before) / passed_s if passed_s > 0 else 0.0,
            )
        )


class _Crew:
    """The producer processes, and what they have reported so far."""

    def __init__(self, children: Children, tasks: list[Task]) -> None:
        self._children = children
        self._tasks = tasks
        self._counts: list[Counter[str]] = [Counter() for _ in tasks]
        self._done: dict[int, dict[str, Any]] = {}

    def await_readiness(self) -> None:
        """Give each process its task and return when all of them could start.

        Raises:
            ProduceError: One of them cannot.
        """
        for number, task in enumerate(self._tasks):
            self._children.tell(number, pickle.dumps(task))
        waiting = len(self._tasks)
        deadline = time.monotonic() + FIRST_WORD_S
        while waiting:
            if self._children.answer(max(0.0, deadline - time.monotonic())) is None:
                raise ProduceError(
                    f"{waiting} of {len(self._tasks)} producer processes are not ready after {FIRST_WORD_S:.0f} s"
                )
            waiting -= 1

    def go(self, schedule: Schedule) -> None:
        """Let all processes start."""
        for number in range(len(self._tasks)):
            self._children.tell(number, json.dumps(asdict(schedule)).encode() + b"\n")

    def follow(self, listener: _Listener) -> None:
        """Pass progress on until every process is done."""
        while len(self._done) < len(self._tasks):
            if answered := self._children.answer(PROGRESS_INTERVAL_S):
                number, report = answered
                self._counts[number] = Counter({k: v for k, v in report.items() if isinstance(v, int)})
                if report["kind"] == "done":
                    self._done[number] = report
            listener.tell(self._summed())
        listener.tell(self._summed(), last=True)

    def _summed(self) -> Counter[str]:
        return sum(self._counts, Counter())

    def delivered(self, schedule: Schedule, *, entities: int) -> Delivered:
        """What all processes did."""
        latencies = Latencies()
        for report in self._done.values():
            latencies.add(report["latencies"], report["latencies_clamped"])
        counts = self._summed()
        last_ns = max(report["ended_ns"] for report in self._done.values())
        return Delivered(
            produced=counts["produced"],
            delivered=counts["delivered"],
            failed=counts["failed"],
            source_bytes=counts["source_bytes"],
            entities=entities,
            rate_docs_per_s=schedule.rate_docs_per_s,
            pace=schedule.pace,
            first_intended_s=schedule.started_epoch_us / 1e6,
            last_acknowledged_s=schedule.epoch_us(last_ns) / 1e6,
            late_documents=counts["late_documents"],
            latency_ms=latencies.percentiles_ms(),
            latency_samples=latencies.samples,
            latencies_clamped=latencies.clamped,
            cpu_s=sum(report["cpu_s"] for report in self._done.values()),
            failures=merged(Failure(**f) for report in self._done.values() for f in report["failures"]),
            latencies=latencies.encoded(),
        )
