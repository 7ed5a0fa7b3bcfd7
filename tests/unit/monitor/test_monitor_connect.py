"""The state of a connector and of its tasks, as a worker gives it."""

from typing import Any

import httpx
import pytest

from lab.monitor.connect import MOST_CHARACTERS, ConnectorReader
from lab.records.samples import ConnectorSample, TaskSample
from tests.unit.messages import MakeMessage
from tests.unit.monitor.servers import server

TRACE = (
    "org.apache.kafka.connect.errors.ConnectException: gave up\n"
    "\tat io.sluice.connect.Task.put(Task.java:7)\n"
    "Caused by: java.net.ConnectException: Connection refused by hunter2\n"
    "\t... 11 more\n"
)


def status(*tasks: dict[str, Any]) -> dict[str, Any]:
    """A worker's answer."""
    return {"name": "sluice-books", "connector": {"state": "RUNNING", "worker_id": "127.0.0.1:8083"}, "tasks": tasks}


def read(answer: dict[str, Any], code: int = 200) -> tuple[ConnectorSample | None, list[str]]:
    """What is read of an answer, and what was asked."""
    asked: list[str] = []

    def reply(path: str, _body: bytes) -> tuple[int, Any]:
        asked.append(path)
        return code, answer

    with server(reply) as url:
        reader = ConnectorReader(
            f"{url}/", "sluice-books", timeout_s=2, hide=lambda text: text.replace("hunter2", "(hidden)")
        )
        sample = reader.read()
        reader.close()
    return sample, asked


def test_each_task_has_its_state_and_its_worker() -> None:
    """One small request."""
    sample, asked = read(status({"id": 0, "state": "RUNNING", "worker_id": "a:1"}, {"id": 1, "state": "UNASSIGNED"}))
    assert asked == ["/connectors/sluice-books/status"]
    assert sample == ConnectorSample(
        state="RUNNING",
        tasks=(
            TaskSample(id=0, state="RUNNING", worker="a:1"),
            TaskSample(id=1, state="UNASSIGNED", worker=""),
        ),
    )


def test_a_failed_task_says_what_it_came_from_without_a_secret(message: MakeMessage) -> None:
    """The innermost cause, not the frames."""
    sample, _ = read(status({"id": 0, "state": "FAILED", "worker_id": "a:1", "trace": TRACE}))
    assert sample is not None
    assert sample.tasks[0].reason == message("java.net.ConnectException")


def test_a_long_reason_is_cut() -> None:
    """A sample is written each second."""
    sample, _ = read(status({"id": 0, "state": "FAILED", "worker_id": "a:1", "trace": "x" * 10_007}))
    assert sample is not None
    assert sample.tasks[0].reason == "x" * MOST_CHARACTERS


def test_a_connector_that_is_not_there_yet_is_no_lost_reading() -> None:
    """While a topic is filled there is none."""
    assert read({"error_code": 404, "message": "No status found"}, 404)[0] is None


def test_a_worker_that_rebalances_is_a_lost_reading() -> None:
    """It answers again at the next tick."""
    with pytest.raises(httpx.HTTPStatusError) as failure:
        read({"error_code": 409, "message": "rebalance"}, 409)
    assert failure.value.response.status_code == 409


def test_the_worker_is_asked_at_every_third_reading() -> None:
    """It is a server under test."""
    asked: list[str] = []

    def reply(path: str, _body: bytes) -> tuple[int, Any]:
        asked.append(path)
        return 200, status()

    with server(reply) as url:
        reader = ConnectorReader(url, "sluice-books", timeout_s=2)
        read = [reader.read() is not None for _ in range(7)]
    assert read == [True, False, False, True, False, False, True]
    assert len(asked) == 3


def test_another_worker_of_the_group_is_asked_once_one_does_not_answer() -> None:
    """Any of them knows the state of every task."""
    with server(lambda _path, _body: (200, status())) as gone:
        pass
    with server(lambda _path, _body: (200, status())) as url:
        reader = ConnectorReader(f"{gone},{url}", "sluice-books", timeout_s=2)
        with pytest.raises(httpx.ConnectError):
            reader.read()
        assert [reader.read() is not None for _ in range(3)] == [False, False, True]
        reader.close()
