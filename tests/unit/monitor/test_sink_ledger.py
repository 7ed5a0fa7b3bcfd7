"""The sink's ledger by task and partition, through the JMX agent's HTTP interface."""

from typing import Any

import orjson
import pytest

from lab.monitor import read_sink_ledger
from lab.records.verification import Ledger, SinkLedger, TaskLedger
from tests.unit.monitor.servers import server

FIELDS = list(Ledger.model_fields)


def ledger(first: int) -> Ledger:
    """Every field has another value, counted up."""
    return Ledger(**{field: first + place for place, field in enumerate(FIELDS)})


def bean(total: Ledger, partitions: dict[str, Ledger]) -> dict[str, Any]:
    """The attributes as the sink names them; the ledger by partition is JSON in a string."""
    attributes: dict[str, Any] = {
        "RecordsRead": total.read,
        "RecordsIndexed": total.indexed,
        "RecordsUpdated": total.updated,
        "RecordsDeleted": total.deleted,
        "RecordsAlreadyThere": total.already_there,
        "RecordsStale": total.stale,
        "RecordsRedirected": total.redirected,
        "RecordsDroppedByPipeline": total.dropped_by_pipeline,
        "RecordsDeadLettered": total.dead_lettered,
        "RecordsDropped": total.dropped,
        "RecordsInFlight": total.in_flight,
    }
    parts = {name: part.model_dump() for name, part in partitions.items()}
    return attributes | {"LedgerByPartition": orjson.dumps(parts).decode()}


def test_every_task_has_its_sums_and_its_partitions() -> None:
    """Names, order and nesting are the sink's; the task's number comes out of the bean's name."""
    tasks = {
        number: TaskLedger(total=ledger(first), partitions={f"books-{number}": ledger(first + 20), "a-b-7": ledger(3)})
        for number, first in (("0", 101), ("1", 211))
    }
    beans = {
        f"sluice.connect:connector=sluice-x,task={number},type=sink-task-metrics": bean(task.total, task.partitions)
        for number, task in tasks.items()
    }
    with server(lambda _path, _body: (200, {"status": 200, "value": beans})) as url:
        assert read_sink_ledger(url, "sluice-x") == SinkLedger(tasks=tasks)


@pytest.mark.parametrize(("counts", "known"), [((7, 11), (7, 11)), ((-1, -1), (None, None)), ((), (None, None))])
def test_what_the_worker_has_not_handed_over_is_of_the_task(
    counts: tuple[int, ...], known: tuple[int | None, int | None]
) -> None:
    """-1 where the sink cannot read the worker's metrics."""
    more = dict(zip(("RecordsSkipped", "RecordsFiltered"), counts, strict=False))
    value = {"x:task=3": bean(ledger(7), {}) | more}
    with server(lambda _path, _body: (200, {"status": 200, "value": value})) as url:
        task = read_sink_ledger(url, "sluice-x").tasks["3"]
    assert (task.skipped, task.filtered) == known


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 404},
        {"status": 200, "value": {"x:task=0": {"RecordsRead": 7}}},
        {"status": 200, "value": {"x:task=0": bean(ledger(7), {}) | {"LedgerByPartition": "torn {"}}},
    ],
    ids=["no task", "another sink's bean", "no JSON"],
)
def test_a_sink_without_such_a_ledger_is_an_error_that_a_run_survives(answer: dict[str, Any]) -> None:
    """Whoever asks decides what that means."""
    with server(lambda _path, _body: (200, answer)) as url, pytest.raises((LookupError, ValueError)):
        read_sink_ledger(url, "sluice-x")
