"""The worker that runs a connector."""

import socket
import time
from collections.abc import Mapping
from typing import Any

import pytest

from lab.clients.connect import ConnectWorker, failed
from lab.endpoints import Access, HttpAccess, basic
from lab.errors import ProfileError, StackError
from tests.unit.clients.rest_server import Rest, Time, rest
from tests.unit.messages import MakeMessage

SINK = {"connection.url": "https://es.internal:9200", "connection.api.key": "aWQ6a2V5", "read.timeout.ms": "7000"}
ACCESS = Access(connect=HttpAccess(basic("lab", "hunter5")), sink=SINK, secrets=frozenset({"aWQ6a2V5", "hunter5"}))


def worker(server: Rest, time: Time | None = None, patience_s: float = 7.0) -> ConnectWorker:
    """A worker's API, asked at most for these seconds."""
    time = time or Time()
    return ConnectWorker(server.url + "/", patience_s=patience_s, sleep=time.sleep, clock=time.clock)


def status(*tasks: str, connector: str = "RUNNING", trace: str = "") -> Mapping[str, Any]:
    """The status of a connector with tasks in these states."""
    return {
        "name": "books",
        "connector": {"state": connector, "trace": trace},
        "tasks": [{"id": number, "state": state, "trace": trace} for number, state in enumerate(tasks)],
    }


def test_a_connector_is_made_with_its_configuration() -> None:
    """In one request, which serves for a new one and for a changed one."""
    with rest((201, {})) as server:
        worker(server).create("books", {"tasks.max": "3"})
    assert server.requests == [("PUT", "/connectors/books/config", {"tasks.max": "3"})]


def test_a_configuration_is_read_and_there_is_none_of_no_connector() -> None:
    """404 is an answer."""
    with rest((200, {"name": "books", "config": {"tasks.max": "3"}}), (404, {"message": "no"})) as server:
        worker = ConnectWorker(server.url)
        assert (worker.config("books"), worker.config("shops")) == ({"tasks.max": "3"}, None)


def test_a_worker_that_rebalances_is_asked_again() -> None:
    """409 says nothing of the configuration."""
    time = Time()
    with rest((409, {"message": "rebalancing"}), (409, {"message": "rebalancing"}), (201, {})) as server:
        worker(server, time).create("books", {})
    assert len(server.requests) == 3
    assert time.naps == [0.5, 0.5]


def test_a_worker_that_only_ever_rebalances_is_given_up(message: MakeMessage) -> None:
    """With its words."""
    with rest((409, {"message": "rebalancing"})) as server, pytest.raises(StackError) as failure:
        worker(server).create("books", {})
    assert str(failure.value) == message("connector books", 409)


def test_a_connector_that_is_still_being_made_is_removed_once_it_is_there() -> None:
    """Ctrl-C broke off the request that makes it, and the worker goes on with that."""
    time = Time()
    with rest((404, {}), (404, {}), (204, {})) as server:
        worker(server, time).delete("books", made_within_s=5.0)
    assert [method for method, *_ in server.requests] == ["DELETE"] * 3


def test_one_that_never_comes_is_waited_for_no_longer_than_said() -> None:
    """The request may not have reached the worker."""
    time = Time()
    with rest((404, {})) as server:
        worker(server, time).delete("books", made_within_s=5.0)
    assert 4.9 < sum(time.naps) < 5.2


def test_a_worker_says_whose_creation_was_not_answered() -> None:
    """Until it is, even with a refusal."""
    with rest((201, {}), (400, {"message": "no"})) as server:
        answered = worker(server)
        answered.create("books", {})
        with pytest.raises(ProfileError):
            answered.create("films", {})
    assert answered.unanswered is None
    cut = worker(server, patience_s=0.1)
    with pytest.raises(StackError):
        cut.create("books", {})
    assert cut.unanswered == "books"


def test_a_refused_configuration_is_the_profiles_fault(message: MakeMessage) -> None:
    """The worker's words are in the sentence, and it is asked once."""
    answer = {"error_code": 400, "message": "batch.size: got 0, expected at least 1"}
    with rest((400, answer)) as server, pytest.raises(ProfileError) as refusal:
        worker(server).create("books", {})
    assert str(refusal.value) == message("sink.config", "batch.size", 0, 1)
    assert len(server.requests) == 1


def test_a_worker_that_does_not_answer_is_given_up(message: MakeMessage) -> None:
    """After its restart has been waited for."""
    time = Time()
    with rest((200, [])) as server:
        pass
    with pytest.raises(StackError) as failure:
        worker(server, time).connectors()
    assert str(failure.value) == message(111, url=server.url)
    assert 7 <= sum(time.naps) <= 8


def test_a_connector_that_is_not_there_is_removed_already() -> None:
    """Removing is done when it is gone."""
    with rest((404, {"message": "not found"})) as server:
        worker(server).delete("books")
    assert server.requests == [("DELETE", "/connectors/books", None)]


def test_a_connector_that_cannot_be_removed_is_one_sentence(message: MakeMessage) -> None:
    """A server's error without JSON is shown as it is."""
    with rest((500, "out of order")) as server, pytest.raises(StackError) as failure:
        worker(server).delete("books")
    assert str(failure.value) == message("connector books")


def test_only_running_tasks_are_counted() -> None:
    """One that is being assigned does nothing yet."""
    with rest((200, status("RUNNING", "UNASSIGNED", "RUNNING"))) as server:
        assert worker(server).running_tasks("books") == 2


def test_a_connector_that_is_not_known_yet_has_no_tasks() -> None:
    """The worker tells its status a moment after it has made it."""
    with rest((404, {"message": "no status"})) as server:
        assert worker(server).running_tasks("books") == 0


TRACE = (
    "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask\n"
    "\tat org.apache.kafka.connect.runtime.WorkerSinkTask.deliver(WorkerSinkTask.java:1)\n"
    "Caused by: io.sluice.connect.BulkException: gave up after 5 retries\n"
    "\tat io.sluice.connect.Bulk.send(Bulk.java:7)\n"
    "\t... 11 more\n"
    "Caused by: java.net.ConnectException: Connection refused\n"
    "\tat java.base/sun.nio.ch.Net.pollConnect(Native Method)\n"
)


def test_a_failed_task_is_one_sentence_with_its_innermost_cause(message: MakeMessage) -> None:
    """The chain of causes comes with it, without the frames."""
    with rest((200, status("RUNNING", "FAILED", trace=TRACE))) as server, pytest.raises(StackError) as failure:
        worker(server).running_tasks("books")
    assert str(failure.value) == message("connector books", 1, "java.net.ConnectException")
    assert failure.value.log_lines == (
        "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask",
        "Caused by: io.sluice.connect.BulkException: gave up after 5 retries",
        "Caused by: java.net.ConnectException: Connection refused",
    )


def test_a_failed_connector_is_one_sentence(message: MakeMessage) -> None:
    """It has no tasks then."""
    answer = status(connector="FAILED", trace="java.lang.NoClassDefFoundError: io/sluice/Sink\n")
    with rest((200, answer)) as server, pytest.raises(StackError) as failure:
        worker(server).running_tasks("books")
    assert str(failure.value) == message("connector books", "java.lang.NoClassDefFoundError", "io/sluice/Sink")


def test_a_failure_without_a_trace_has_no_cause(message: MakeMessage) -> None:
    """Missing is not invented."""
    failure = failed("connector books", "")
    assert str(failure) == message("connector books")
    assert failure.log_lines == ()


@pytest.mark.parametrize(("code", "answer"), [(500, {"message": "timed out"}), (503, "starting")])
def test_a_status_that_cannot_be_had_is_one_sentence(code: int, answer: object, message: MakeMessage) -> None:
    """An error answer has no tasks in it."""
    with rest((code, answer)) as server, pytest.raises(StackError) as failure:
        worker(server).running_tasks("books")
    words = answer["message"] if isinstance(answer, dict) else answer
    assert str(failure.value) == message("connector books", code, words)


def test_a_list_of_connectors_that_cannot_be_had_is_one_sentence(message: MakeMessage) -> None:
    """An error answer must not be taken for two connectors named `error_code` and `message`."""
    with rest((500, {"error_code": 500, "message": "timed out"})) as server, pytest.raises(StackError) as failure:
        worker(server).connectors()
    assert str(failure.value) == message(500, url=server.url)


def test_a_connector_is_waited_for_until_a_task_runs() -> None:
    """It is asked ten times a second."""
    time = Time()
    answers = [(404, {}), (200, status("UNASSIGNED")), (200, status("RUNNING"))]
    with rest(*answers) as server:
        worker(server, time).wait_until_running("books")
    assert time.naps == [0.1, 0.1]


def test_a_connector_without_a_running_task_is_given_up(message: MakeMessage) -> None:
    """After a minute."""
    with rest((200, status("UNASSIGNED"))) as server, pytest.raises(StackError) as failure:
        worker(server).wait_until_running("books", timeout_s=3)
    assert str(failure.value) == message("connector books", 3)


def test_a_configuration_is_judged_whole_before_anything_is_made(message: MakeMessage) -> None:
    """Every reason has its line."""
    configs = [
        {"value": {"name": "batch.size", "errors": ["batch.size: got 0, expected at least 1"]}},
        {"value": {"name": "linger.ms", "errors": []}},
        {"value": {"name": "index.name", "errors": ["index.name: missing", "index.name: unknown"]}},
    ]
    with rest((200, {"configs": configs})) as server, pytest.raises(ProfileError) as refusal:
        worker(server).validate({"connector.class": "Sink"})
    assert str(refusal.value) == message("sink.config: batch.size", 0, 1, "index.name")
    assert server.requests == [("PUT", "/connector-plugins/Sink/config/validate", {"connector.class": "Sink"})]


def test_a_configuration_in_order_is_not_refused() -> None:
    """Nothing happens."""
    with rest((200, {"configs": [{"value": {"name": "batch.size", "errors": []}}]})) as server:
        worker(server).validate({"connector.class": "Sink"})


def test_keys_that_the_connector_does_not_have_are_told() -> None:
    """Those of its converters, transforms and clients are theirs; an older worker does not list them."""
    configs = [{"value": {"name": name, "errors": []}} for name in ("connector.class", "batch.size", "value.converter")]
    given = {
        "connector.class": "Sink",
        "batch.size": "7",
        "batchsize": "7",
        "value.converter": "Json",
        "value.converter.schemas.enable": "false",
        "transforms.drop.type": "Filter",
        "consumer.override.fetch.min.bytes": "7",
        "linger": "5",
    }
    with rest((200, {"configs": configs})) as server:
        assert worker(server).validate(given) == ("batchsize", "linger")


# --- secrets --------------------------------------------------------------------------------------------------------


def test_a_worker_is_told_who_asks() -> None:
    """By the header of every request."""
    headers: list[dict[str, str]] = []
    with rest((200, []), on_headers=headers.append) as server:
        ConnectWorker(server.url, access=ACCESS).connectors()
    assert [found.get("Authorization") for found in headers] == [basic("lab", "hunter5")]


def test_what_a_worker_repeats_of_a_secret_is_hidden() -> None:
    """In its judgement of a configuration, in its messages, and in the trace of a task."""
    told = {"configs": [{"value": {"errors": ["Invalid value aWQ6a2V5 for configuration connection.api.key"]}}]}
    failed_task = {
        "connector": {"state": "RUNNING"},
        "tasks": [{"id": 0, "state": "FAILED", "trace": "ConnectException: bad key\nCaused by: no key aWQ6a2V5"}],
    }
    said = []
    with rest((200, told), (400, {"message": "got aWQ6a2V5"}), (200, failed_task)) as server:
        worker = ConnectWorker(server.url, access=ACCESS)
        for ask in (
            lambda: worker.validate({"connector.class": "Sink"}),
            lambda: worker.create("sluice-books", {}),
            lambda: worker.running_tasks("sluice-books"),
        ):
            with pytest.raises((ProfileError, StackError)) as error:
                ask()
            said += [str(error.value), *getattr(error.value, "log_lines", ())]
    assert not [line for line in said if "aWQ6a2V5" in line]
    assert sum("(hidden)" in line for line in said) == 4


def test_who_waits_for_a_worker_only_shortly_waits_so_for_one_answer_too(message: MakeMessage) -> None:
    """A run's goodbye cannot be interrupted, and a worker that hangs takes connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as hung:
        began_s = time.monotonic()
        url = f"http://127.0.0.1:{hung.getsockname()[1]}"
        with pytest.raises(StackError) as error:
            ConnectWorker(url, patience_s=0.2).connectors()
        assert str(error.value) == message(url=url)
    assert time.monotonic() - began_s < 30
