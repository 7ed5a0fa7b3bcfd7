"""One producer process: takes a task from its standard input, sends its share, reports on its standard output."""

import gc
import json
import pickle
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import BinaryIO, Final

from confluent_kafka import KafkaException, Producer

from producers.children import Answers, end_with, serve
from producers.dataset import Dataset
from producers.delivery import ProduceError
from producers.pacing import Schedule
from producers.sending import Sending, owned_blocks, sample_every

FIRST_ANSWER_S: Final = 20.0
"""How long the broker may take to answer at all."""

DEFAULT_CLIENT_SETTINGS: Final[Mapping[str, str | int | float | bool]] = {
    "enable.idempotence": True,
    "acks": "all",
    "compression.type": "lz4",
    "linger.ms": 5,
    "message.max.bytes": 1_048_588,
    "queue.buffering.max.messages": 100_000,
    "queue.buffering.max.kbytes": 262_144,
    "partitioner": "murmur2_random",
    "delivery.timeout.ms": 300_000,
    "reconnect.backoff.max.ms": 2000,
    "log.connection.close": False,
}
"""Five minutes for a delivery outlast the restart of a broker; the partitioner is that of Kafka's Java clients."""


@dataclass(frozen=True)
class Task:
    """One process's share of the producing."""

    dataset: Dataset
    topic: str
    start: int
    stop: int
    process: int
    processes: int
    rate_docs_per_s: float | None
    client: Mapping[str, str | int | float | bool]
    pace: float | None = None


class SystemClock:
    """The machine's clock."""

    def monotonic_ns(self) -> int:
        """Nanoseconds that all processes of this machine share."""
        return time.monotonic_ns()


def connected(task: Task) -> Producer:
    """A client for which the topic is known to exist.

    Raises:
        ProduceError: A setting is wrong, no broker answers, or there is no such topic.
    """
    servers = task.client["bootstrap.servers"]
    try:
        client = Producer({**DEFAULT_CLIENT_SETTINGS, **task.client})
        topics = client.list_topics(timeout=FIRST_ANSWER_S).topics
    except KafkaException as error:
        raise ProduceError(f"{servers}: Kafka: {error.args[0].str()}") from error
    if task.topic not in topics:
        raise ProduceError(f"{task.topic}: no such topic on {servers}; create it before producing")
    return client


def send_share(task: Task, schedule: Schedule, client: Producer, answers: Answers) -> Sending:
    """Send this process's documents and wait for their outcome."""
    rate = None if task.rate_docs_per_s is None else task.rate_docs_per_s / task.processes
    sending = Sending(
        client,
        task.topic,
        schedule,
        clock=SystemClock(),
        latency_sample_every=sample_every(rate),
        report=lambda sending: answers.write("progress", **_counts(sending)),
    )
    for numbers in owned_blocks(task.dataset, (task.start, task.stop), task.process, task.processes):
        records, headers = task.dataset.records(numbers), task.dataset.headers(numbers)
        sending.send(numbers, records, headers, task.dataset.recorded_ns(numbers) if task.pace else None)
    sending.finish()
    return sending


def done(answers: Answers, sending: Sending, cpu_s: float) -> None:
    """Say what came of the sending."""
    answers.write(
        "done",
        **_counts(sending),
        source_bytes=sending.source_bytes,
        ended_ns=time.monotonic_ns(),
        cpu_s=cpu_s,
        latencies=sending.latencies.encoded() if sending.latencies.samples else "",
        latencies_clamped=sending.latencies.clamped,
        failures=[asdict(failure) for failure in sending.failures],
    )


def _counts(sending: Sending) -> dict[str, int]:
    return {
        "produced": sending.produced,
        "delivered": sending.delivered,
        "failed": sending.failed,
        "late_documents": sending.late_documents,
    }


def cpu_seconds() -> float:
    """User and system time of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def run(commands: BinaryIO, answers: Answers) -> None:
    """Take the task, get ready, wait for the start, send, report."""
    task: Task = pickle.load(commands)  # noqa: S301 - written by the process that started this one
    client = connected(task)
    next(iter(task.dataset.batches(task.start, min(task.start + 1, task.stop))), None)
    gc.collect()
    gc.freeze()
    gc.disable()  # tuples of bytes make no cycles; looking for them costs a tenth of the rate
    answers.write("ready")
    schedule = Schedule(**json.loads(commands.readline()))
    end_with(commands)
    cpu_before_s = cpu_seconds()
    sending = send_share(task, schedule, client, answers)
    done(answers, sending, cpu_seconds() - cpu_before_s)


if __name__ == "__main__":
    sys.exit(serve(run, (ProduceError, ValueError, OSError)))
