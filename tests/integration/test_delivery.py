"""Tasks that come, go, pause, stop and start again with bulk requests in flight: each record counts once."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice
from tests.integration.keyed_drain import KeyedDrain, keyed_drain

RECORDS = 9_011
KEYS = 1_009
PARTITIONS = 5
RECORDS_PER_S = 1_009
"""Of each task: a drain at full speed would be over before anything happens to it."""
HEARTBEAT_MS = 211
"""Members of a group hear of a change by the next heartbeat, which is 3 s away by default."""

EAGER = {"partition__assignment__strategy": "org.apache.kafka.clients.consumer.RangeAssignor"}
COOPERATIVE = {"partition__assignment__strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"}
CLIENT_NAMES = {EAGER["partition__assignment__strategy"]: "range"} | {
    COOPERATIVE["partition__assignment__strategy"]: "cooperative-sticky"
}


@pytest.fixture
def drain(sluice: Sluice) -> Iterator[KeyedDrain]:
    """A topic that is full."""
    endpoints = sluice.stack.ensure(StackShape(), kept=True)
    with keyed_drain(endpoints, partitions=PARTITIONS, keys=KEYS, index_settings={"number_of_shards": 2}) as made:
        made.fill(RECORDS)
        yield made


def begin(drain: KeyedDrain, *, flush_timeout_ms: int, strategy: dict[str, str] | None = None) -> None:
    """Start two tasks; return in the middle of the drain, with bulk requests in flight."""
    consumer = {f"consumer__override__{name}": value for name, value in (strategy or EAGER).items()}
    drain.connector.configure(
        tasks__max=2,
        batch__size=101,
        max__buffered__records=1009,
        max__documents__per__second=RECORDS_PER_S,
        flush__timeout__ms=flush_timeout_ms,
        consumer__override__max__poll__records=499,
        consumer__override__heartbeat__interval__ms=HEARTBEAT_MS,
        **consumer,
    )
    wait_until_under_way(drain, tasks=2, read=RECORDS // 5)


def wait_until_under_way(drain: KeyedDrain, *, tasks: int, read: int = 101) -> None:
    """Return in the middle of the drain, with bulk requests in flight.

    Args:
        read: What the tasks that run now have read by then; a task that has been started again begins with none.
    """
    connector = drain.connector

    def is_under_way() -> bool:
        # Between two bulk requests nothing is in flight: one reading that says so proves nothing.
        ledgers = connector.ledgers()
        in_flight = sum(ledger["RecordsInFlight"] for ledger in ledgers)
        return len(ledgers) == tasks and in_flight > 0 and connector.read() > read

    connector.wait_until(is_under_way, "under way")
    assert connector.lag() > 0


def another_consumer_comes_and_goes(drain: KeyedDrain, strategy: dict[str, str]) -> None:
    """Somebody joins the tasks' group, is given partitions, commits nothing and leaves."""
    (java_name,) = strategy.values()
    consumer = Consumer(
        {
            "bootstrap.servers": drain.bootstrap,
            "group.id": drain.connector.group,
            "enable.auto.commit": False,
            "partition.assignment.strategy": CLIENT_NAMES[java_name],
            "session.timeout.ms": 15_000,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "log_level": 0,
        }
    )
    try:
        consumer.subscribe([drain.name])
        deadline = time.monotonic() + 60
        while not consumer.assignment():
            assert time.monotonic() < deadline, "no partition was given to the other consumer"
            consumer.poll(0.1)
        assert drain.connector.lag() > 0
    finally:
        # One that is left to the garbage collector closes then, and may block for ever.
        consumer.close()


@pytest.mark.parametrize(
    ("strategy", "flush_timeout_ms"),
    [(EAGER, 180_000), (COOPERATIVE, 2)],
    ids=["eager, flushed", "cooperative, given back"],
)
def test_partitions_that_change_hands_lose_and_double_nothing(
    drain: KeyedDrain, strategy: dict[str, str], flush_timeout_ms: int
) -> None:
    """Whether a task that loses partitions waits for their records or gives them back to their next owner."""
    begin(drain, flush_timeout_ms=flush_timeout_ms, strategy=strategy)

    another_consumer_comes_and_goes(drain, strategy)

    drain.check_everything_arrived(tasks=2)


@pytest.mark.parametrize(
    ("strategy", "flush_timeout_ms"),
    [(EAGER, 2), (COOPERATIVE, 180_000)],
    ids=["eager, given back", "cooperative, flushed"],
)
def test_a_task_more_or_less_loses_and_doubles_nothing(
    drain: KeyedDrain, strategy: dict[str, str], flush_timeout_ms: int
) -> None:
    """The number of tasks is changed twice in the middle of the drain."""
    begin(drain, flush_timeout_ms=flush_timeout_ms, strategy=strategy)

    drain.connector.configure(tasks__max=1)
    wait_until_under_way(drain, tasks=1)
    drain.connector.configure(tasks__max=3)

    drain.check_everything_arrived(tasks=3)


def test_a_paused_connector_reads_nothing_and_goes_on_where_it_was(drain: KeyedDrain) -> None:
    """What is in flight arrives meanwhile; after the pause the rest does."""
    begin(drain, flush_timeout_ms=180_000)

    drain.connector.pause()
    drain.connector.wait_until(
        lambda: all(ledger["RecordsInFlight"] == 0 for ledger in drain.connector.ledgers()), "quiet"
    )
    read = drain.connector.read()
    assert read < RECORDS
    assert drain.connector.read() == read
    drain.connector.resume()

    drain.check_everything_arrived(tasks=2)


def test_a_restart_loses_and_doubles_nothing(drain: KeyedDrain) -> None:
    """Of one task while the other goes on, and then of the connector with its tasks."""
    begin(drain, flush_timeout_ms=2)

    drain.connector.restart(task=0)
    wait_until_under_way(drain, tasks=2)
    drain.connector.restart()

    drain.check_everything_arrived(tasks=2)


def test_a_stopped_connector_goes_on_where_it_was(drain: KeyedDrain) -> None:
    """It is stopped with bulk requests in flight, which are given back once and flushed once; resumed, it delivers."""
    begin(drain, flush_timeout_ms=2)

    drain.connector.stop()
    drain.connector.configure(flush__timeout__ms=180_000)
    drain.connector.resume()
    wait_until_under_way(drain, tasks=2)
    drain.connector.stop()
    assert drain.connector.lag() > 0
    drain.connector.resume()

    drain.check_everything_arrived(tasks=2)
