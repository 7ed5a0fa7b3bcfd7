"""Hours of updates and deletes at 70 % of the limit: nothing grows in worker or lab, and the books balance."""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import orjson
import pytest

from lab.endpoints import Endpoints
from lab.stack.jdk import JVM_OPTIONS
from lab.stack.local import LocalStack
from lab.stack.shape import StackShape
from tests.endurance.footprint import Command, JavaMachine, bytes_of, footprint, log_kb, running
from tests.endurance.say import say
from tests.endurance.slopes import Verdict
from tests.endurance.soak import MOST_LAG_S, WARM_UP, Reading, judged, most_lag_records, table_of, write_report
from tests.integration.conftest import Sluice, target_file
from tests.integration.keyed_drain import KeyedDrain, keyed_drain
from tests.integration.keyed_stream import Comparison
from tests.integration.sink_connector import SinkConnector

PROFILE = "quickstart"
LAP, LAB_RECORDS_PER_S = 20_011, 101
"""Of the lab's own stream beside the one that is soaked: the laps of an hour are updates, nearly all of them."""
KEYS, PARTITIONS, TASKS = 200_003, 3, 2
SHARE_OF_LIMIT = 0.7
DRAINS, RECORDS_PER_DRAIN = 3, 300_007
"""To find the limit: of the first ones, code is still compiled."""
TOPIC = {"retention.bytes": 512 << 20, "segment.bytes": 64 << 20}
"""Of each partition: an hour's records need not fit the disk. The sink is never so far behind."""
EVERY_S = 10.0
COLLECT_EVERY = 6
"""Readings: a full collection stops the worker for about a tenth of a second."""
DRAINED_WITHIN_S = 600
SENT_AT_LEAST = 0.98
"""Of what the rate asks for: a sender that falls behind streams less than the share of the limit that is told."""


@pytest.fixture
def endpoints(own_sluice: Sluice, monkeypatch: pytest.MonkeyPatch) -> Endpoints:
    """Servers of this test alone, whose heaps are resident from the start: what then grows is no heap touched late."""
    monkeypatch.setenv(JVM_OPTIONS, "-XX:+AlwaysPreTouch")
    return own_sluice.stack.ensure(StackShape(), kept=True)


@pytest.fixture
def drain(endpoints: Endpoints) -> Iterator[KeyedDrain]:
    """Keys that are created, updated and deleted."""
    settings = {"number_of_shards": 2}
    with keyed_drain(endpoints, partitions=PARTITIONS, keys=KEYS, index_settings=settings, topic_config=TOPIC) as made:
        made.connector.configure(tasks__max=TASKS)
        made.connector.wait_until(lambda: made.connector.states() == ["RUNNING"] * TASKS, "running")
        yield made


@dataclasses.dataclass(frozen=True)
class Lab:
    """What users leave running for hours: a stream with its page and its sampler, and a watch that sends samples.

    Attributes:
        commands: By name.
        verify: Stops them and compares what is stored with what was sent; the sentence that says so.
    """

    commands: Mapping[str, Command]
    verify: Callable[[], str]


@contextlib.contextmanager
def lab_at_work(sluice: Sluice, endpoints: Endpoints, folder: Path) -> Iterator[Lab]:
    """The lab's commands on these servers, their output in the folder."""
    there = ("--target-file", str(target_file(folder / "target.yaml", endpoints)))
    lap = ("--documents", str(LAP), *there)
    prepared = sluice("stream", "prepare", PROFILE, *lap)
    assert prepared.status == 0, prepared.errors
    stream = ("stream", "send", PROFILE, "--rate", str(LAB_RECORDS_PER_S), "--page", *lap)
    watching = ("watch", PROFILE, "--to", endpoints.elasticsearch_urls[0], *there)
    with (
        running(sluice, folder / "send.txt", *stream) as send,
        running(sluice, folder / "watch.txt", *watching) as watch,
    ):
        commands = {"stream send": send, "watch": watch}

        def verify() -> str:
            assert {name: command.stop() for name, command in commands.items()} == dict.fromkeys(commands, 0)
            verified = sluice("stream", "verify", PROFILE, *lap)
            assert verified.status == 0, verified.errors
            return verified.output.strip()

        yield Lab(commands, verify)


def settled(connector: SinkConnector) -> int:
    """Records that the running tasks have read and dealt with."""
    return sum(ledger["RecordsRead"] - ledger["RecordsInFlight"] for ledger in connector.ledgers())


def limit_records_per_s(drain: KeyedDrain) -> float:
    """What the sink takes of a topic that was filled before, once it is warm: the rate of the last of some drains."""
    connector, rate = drain.connector, 0.0
    for _ in range(DRAINS):
        connector.pause()
        drain.fill(RECORDS_PER_DRAIN)
        before = settled(connector)
        connector.resume()
        connector.wait_until(lambda before=before: settled(connector) > before, "begun")
        first, begun = settled(connector), time.monotonic()
        connector.wait_until(
            lambda before=before: settled(connector) >= before + RECORDS_PER_DRAIN, "drained", DRAINED_WITHIN_S
        )
        rate = (before + RECORDS_PER_DRAIN - first) / (time.monotonic() - begun)
        say(f"drained at {rate:,.0f} records/s")
    return rate


def share_of_limit(drain: KeyedDrain) -> tuple[int, str]:
    """The rate of the soak in records/s, and what it is of the limit, in words."""
    limit = limit_records_per_s(drain)
    return int(SHARE_OF_LIMIT * limit), f"{SHARE_OF_LIMIT:.0%} of the {limit:,.0f} records/s of a drain"


@contextlib.contextmanager
def sending(drain: KeyedDrain, records_per_s: int) -> Iterator[threading.Thread]:
    """Send at a rate until the block ends; everything is acknowledged then."""
    over = threading.Event()
    sender = threading.Thread(target=drain.stream.send_at, args=(records_per_s, over.is_set), daemon=True)
    sender.start()
    try:
        yield sender
    finally:
        over.set()
        sender.join()
    drain.stream.finish()


def figures(
    stack: LocalStack, machine: JavaMachine, drain: KeyedDrain, commands: Mapping[str, Command], *, collects: bool
) -> dict[str, float]:
    """Everything that is read at once, in the units of a `Reading`."""
    read = {f"worker: {name}": value for name, value in footprint(stack.process_ids()["connect"]).items()}
    if collects:
        read["worker: heap after collection"] = machine.heap_after_collection_mb()
    read["worker: MBeans"] = machine.mbeans()
    for name, command in commands.items():
        taken = footprint(command.pid, with_children=True) | {"log": bytes_of([command.output]) / 1000}
        read |= {f"{name}: {what}": value for what, value in taken.items()}
    read |= {f"{name}: log": kb for name, kb in log_kb(stack).items()}
    return {**read, "lag": drain.connector.lag()}


def readings_every(minutes: float, read: Callable[[int], Mapping[str, float]], file: Path) -> list[Reading]:
    """A reading every 10 s, each in the file before the next one is due: a soak that is broken off leaves those.

    Args:
        read: Takes the number of the reading.
    """
    begun, readings = time.monotonic(), []
    with file.open("wb") as lines:
        for number in range(int(60 * minutes / EVERY_S) + 1):
            time.sleep(max(0.0, begun + number * EVERY_S - time.monotonic()))
            reading = Reading(time.monotonic() - begun, read(number))
            lines.write(orjson.dumps(reading, option=orjson.OPT_APPEND_NEWLINE))
            lines.flush()
            readings.append(reading)
            if number % COLLECT_EVERY == 0:
                values = (f"{name} {value:,.0f}" for name, value in reading.figures.items())
                say(f"{reading.at_s / 60:.0f} min: {', '.join(values)}")
    return readings


@pytest.mark.timeout(0)
def test_hours_of_updates_and_deletes_make_nothing_grow(
    soak_minutes: float,
    soak_rate: int | None,
    own_sluice: Sluice,
    endpoints: Endpoints,
    drain: KeyedDrain,
    *,
    report: Path,
) -> None:
    """Heap, memory, open files, threads, MBeans, lag and logs keep their level; each key is stored as last sent."""
    machine = JavaMachine(own_sluice.stack, endpoints)
    with lab_at_work(own_sluice, endpoints, report) as lab:
        rate, of_limit = (soak_rate, "as asked for") if soak_rate else share_of_limit(drain)
        with sending(drain, rate) as sender:

            def read(number: int) -> dict[str, float]:
                assert sender.is_alive()
                assert [name for name, command in lab.commands.items() if command.has_ended] == []
                collects = number % COLLECT_EVERY == 0
                return figures(own_sluice.stack, machine, drain, lab.commands, collects=collects)

            readings = readings_every(soak_minutes, read, report / "readings.ndjson")
        drain.connector.wait_until_drained(DRAINED_WITHIN_S)
        comparison, verified = drain.compare(), lab.verify()
    machine.close()

    found = judged(readings, rate)
    most_lag = most_lag_records(found)
    sentences = [
        f"{rate:,} records/s, {of_limit}, for {soak_minutes:g} minutes,"
        f" beside the lab's own stream of {LAB_RECORDS_PER_S} documents/s",
        f"{drain.stream.produced:,} records: {dict(drain.stream.sent)}; the index against the book: {comparison}",
        f"the lab's stream: {verified}",
        f"highest lag {most_lag:,.0f} records, {most_lag / rate:.1f} s of the rate",
        f"a reading every {EVERY_S:g} s; the first {WARM_UP * soak_minutes:.3g} minutes are left out",
    ]
    table = table_of(found)
    page = write_report(report, f"A soak of {soak_minutes:g} minutes", sentences, readings, table)
    say("\n".join([*sentences, table, f"report: {page}"]))

    assert drain.stream.produced >= SENT_AT_LEAST * rate * 60 * soak_minutes
    assert comparison == Comparison(compared=comparison.compared)
    drain.check_everything_arrived(tasks=TASKS)
    assert most_lag <= MOST_LAG_S * rate
    assert [each.name for each in found if each.verdict is Verdict.GROWS] == []
