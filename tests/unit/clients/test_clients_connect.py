"""The connector: its configuration from template and profile, and the worker that runs it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.clients.connect import ConnectWorker, failed
from lab.endpoints import Access, HttpAccess, basic
from lab.errors import ProfileError, StackError
from lab.profiles import Dataset, Profile, Sink
from lab.run.load.sink import connector_config
from tests.unit.clients.rest_server import Rest, Time, rest

ROOT = Path(__file__).resolve().parents[3]
VALUES = {
    "connector": "sluice-books-1",
    "topic": "books-topic",
    "index": "sluice-books",
    "elasticsearch_urls": "http://127.0.0.1:9127,http://127.0.0.1:9137",
    "dead_letter_topic": "books-dead",
    "tasks": "3",
}


def profile(connector: str = "sink", **config: Any) -> Profile:
    """A profile with these settings of its connector."""
    sink = Sink(connector=connector, config={name.replace("__", "."): value for name, value in config.items()})
    return Profile(name="books", question="?", dataset=Dataset(name="aladin"), mapping="dynamic", sink=sink)


def template(folder: Path, content: object, name: str = "sink") -> Path:
    """The folder with this template."""
    (folder / f"{name}.json").write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    return folder


# --- its configuration ----------------------------------------------------------------------------------------------


def test_placeholders_are_filled_in(tmp_path: Path) -> None:
    """Wherever they stand in a value."""
    folder = template(tmp_path, {"topics": "${topic}", "name": "${connector}-sink", "batch.size": "1009"})
    assert connector_config(folder, profile(), VALUES) == {
        "topics": "books-topic",
        "name": "sluice-books-1-sink",
        "batch.size": "1009",
    }


def test_a_dollar_sign_is_written_twice(tmp_path: Path) -> None:
    """A regular expression may need one."""
    folder = template(tmp_path, {"topics.regex": "^books$$"})
    assert connector_config(folder, profile(), VALUES) == {"topics.regex": "^books$"}


SINK = {"connection.url": "https://es.internal:9200", "connection.api.key": "aWQ6a2V5", "read.timeout.ms": "7000"}
ACCESS = Access(connect=HttpAccess(basic("lab", "hunter5")), sink=SINK, secrets=frozenset({"aWQ6a2V5", "hunter5"}))


def test_a_connector_is_told_how_to_enter_elasticsearch(tmp_path: Path) -> None:
    """The target wins over the template, and the profile over both."""
    folder = template(tmp_path, {"connection.url": "${elasticsearch_urls}", "read.timeout.ms": "60000"})
    config = connector_config(folder, profile(read__timeout__ms=11), VALUES, ACCESS)
    assert config == {**SINK, "read.timeout.ms": "11"}


def test_a_connector_that_knows_no_elasticsearch_gets_no_credentials_for_it(tmp_path: Path) -> None:
    """A worker keeps the settings of a connector where others may read them."""
    config = connector_config(template(tmp_path, {"topics": "${topic}"}), profile(), VALUES, ACCESS)
    assert config == {"topics": "books-topic", "read.timeout.ms": "7000"}


def test_the_profile_wins_over_the_template(tmp_path: Path) -> None:
    """And may add what the template does not mention."""
    folder = template(tmp_path, {"batch.size": "1009", "linger.ms": "5"})
    config = connector_config(folder, profile(batch__size=2003, max__retries=7), VALUES)
    assert config == {"batch.size": "2003", "linger.ms": "5", "max.retries": "7"}


def test_settings_are_text_as_kafka_connect_writes_it(tmp_path: Path) -> None:
    """`true`, not `True`, wherever it comes from."""
    folder = template(tmp_path, {"key.ignore": True, "batch.size": 1009})
    config = connector_config(folder, profile(schema__ignore=False), VALUES)
    assert config == {"key.ignore": "true", "batch.size": "1009", "schema.ignore": "false"}


def test_a_dollar_sign_in_a_profile_is_left_alone(tmp_path: Path) -> None:
    """Its values are verbatim."""
    config = connector_config(template(tmp_path, {}), profile(connection__password="${env:SECRET}"), VALUES)
    assert config == {"connection.password": "${env:SECRET}"}


def test_an_unknown_template_is_one_sentence(tmp_path: Path) -> None:
    """It names those that there are."""
    template(template(tmp_path, {}, "elasticsearch"), {}, "confluent")
    with pytest.raises(ProfileError) as refusal:
        connector_config(tmp_path, profile("elastic"), VALUES)
    assert str(refusal.value) == ('sink.connector: unknown connector template "elastic", did you mean `elasticsearch`?')


def test_an_unknown_placeholder_is_one_sentence(tmp_path: Path) -> None:
    """It names those that there are."""
    with pytest.raises(ProfileError) as refusal:
        connector_config(template(tmp_path, {"topics": "${topics}"}), profile(), VALUES)
    assert str(refusal.value) == (
        f"{tmp_path}/sink.json: unknown placeholder 'topics'; there are: ${{connector}}, ${{topic}}, ${{index}}, "
        "${elasticsearch_urls}, ${dead_letter_topic}, ${tasks}"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", ": got no object, expected one with connector settings"),
        (b"{", ":1: not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"", ": got an empty file, expected an object with connector settings"),
    ],
)
def test_a_template_that_is_no_object_is_one_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    """With the reader's own words at the end."""
    with pytest.raises(ProfileError) as refusal:
        connector_config(template(tmp_path, content), profile(), VALUES)
    assert str(refusal.value) == f"connect/connectors/sink.json{message}"


@pytest.mark.parametrize("path", sorted((ROOT / "connect" / "connectors").glob("*.json")), ids=lambda path: path.stem)
def test_every_template_of_the_repository_can_be_filled_in(path: Path) -> None:
    """No placeholder is left."""
    config = connector_config(path.parent, profile(path.stem), VALUES)
    assert not [value for value in config.values() if "${" in value]
    assert config["topics"] == "books-topic"
    assert config["tasks.max"] == "3"


# --- the worker -----------------------------------------------------------------------------------------------------


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


def test_a_worker_that_rebalances_is_asked_again() -> None:
    """409 says nothing of the configuration."""
    time = Time()
    with rest((409, {"message": "rebalancing"}), (409, {"message": "rebalancing"}), (201, {})) as server:
        worker(server, time).create("books", {})
    assert len(server.requests) == 3
    assert time.naps == [0.5, 0.5]


def test_a_worker_that_only_ever_rebalances_is_given_up() -> None:
    """With its words."""
    with rest((409, {"message": "rebalancing"})) as server, pytest.raises(StackError) as failure:
        worker(server).create("books", {})
    assert str(failure.value) == "connector books: cannot be made: status 409: rebalancing"


def test_a_refused_configuration_is_the_profiles_fault() -> None:
    """The worker's words are in the sentence, and it is asked once."""
    answer = {"error_code": 400, "message": "batch.size: got 0, expected at least 1"}
    with rest((400, answer)) as server, pytest.raises(ProfileError) as refusal:
        worker(server).create("books", {})
    assert str(refusal.value) == ("sink.config: the connector refuses it: batch.size: got 0, expected at least 1")
    assert len(server.requests) == 1


def test_a_worker_that_does_not_answer_is_given_up() -> None:
    """After its restart has been waited for."""
    time = Time()
    with rest((200, [])) as server:
        pass
    with pytest.raises(StackError) as failure:
        worker(server, time).connectors()
    assert (
        str(failure.value)
        == f"{server.url}: Kafka Connect does not answer (ConnectError: [Errno 111] Connection refused)"
    )
    assert 7 <= sum(time.naps) <= 8


def test_a_connector_that_is_not_there_is_removed_already() -> None:
    """Removing is done when it is gone."""
    with rest((404, {"message": "not found"})) as server:
        worker(server).delete("books")
    assert server.requests == [("DELETE", "/connectors/books", None)]


def test_a_connector_that_cannot_be_removed_is_one_sentence() -> None:
    """A server's error without JSON is shown as it is."""
    with rest((500, "out of order")) as server, pytest.raises(StackError) as failure:
        worker(server).delete("books")
    assert str(failure.value) == "connector books: cannot be removed: out of order"


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


def test_a_failed_task_is_one_sentence_with_its_innermost_cause() -> None:
    """The chain of causes comes with it, without the frames."""
    with rest((200, status("RUNNING", "FAILED", trace=TRACE))) as server, pytest.raises(StackError) as failure:
        worker(server).running_tasks("books")
    assert str(failure.value) == ("connector books, task 1: failed: java.net.ConnectException: Connection refused")
    assert failure.value.log_lines == (
        "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask",
        "Caused by: io.sluice.connect.BulkException: gave up after 5 retries",
        "Caused by: java.net.ConnectException: Connection refused",
    )


def test_a_failed_connector_is_one_sentence() -> None:
    """It has no tasks then."""
    answer = status(connector="FAILED", trace="java.lang.NoClassDefFoundError: io/sluice/Sink\n")
    with rest((200, answer)) as server, pytest.raises(StackError) as failure:
        worker(server).running_tasks("books")
    assert str(failure.value) == "connector books: failed: java.lang.NoClassDefFoundError: io/sluice/Sink"


def test_a_failure_without_a_trace_has_no_cause() -> None:
    """Missing is not invented."""
    failure = failed("connector books", "")
    assert str(failure) == "connector books: failed: no cause given"
    assert failure.log_lines == ()


@pytest.mark.parametrize(("code", "answer"), [(500, {"message": "timed out"}), (503, "starting")])
def test_a_status_that_cannot_be_had_is_one_sentence(code: int, answer: object) -> None:
    """An error answer has no tasks in it."""
    with rest((code, answer)) as server, pytest.raises(StackError) as failure:
        worker(server).running_tasks("books")
    words = answer["message"] if isinstance(answer, dict) else answer
    assert str(failure.value) == f"connector books: its status cannot be read: status {code}: {words}"


def test_a_list_of_connectors_that_cannot_be_had_is_one_sentence() -> None:
    """An error answer must not be taken for two connectors named `error_code` and `message`."""
    with rest((500, {"error_code": 500, "message": "timed out"})) as server, pytest.raises(StackError) as failure:
        worker(server).connectors()
    assert str(failure.value) == f"{server.url}: Kafka Connect cannot list its connectors: status 500: timed out"


def test_a_connector_is_waited_for_until_a_task_runs() -> None:
    """It is asked ten times a second."""
    time = Time()
    answers = [(404, {}), (200, status("UNASSIGNED")), (200, status("RUNNING"))]
    with rest(*answers) as server:
        worker(server, time).wait_until_running("books")
    assert time.naps == [0.1, 0.1]


def test_a_connector_without_a_running_task_is_given_up() -> None:
    """After a minute."""
    with rest((200, status("UNASSIGNED"))) as server, pytest.raises(StackError) as failure:
        worker(server).wait_until_running("books", timeout_s=3)
    assert str(failure.value) == "connector books: no task is running after 3 s"


def test_a_configuration_is_judged_whole_before_anything_is_made() -> None:
    """Every reason has its line."""
    configs = [
        {"value": {"name": "batch.size", "errors": ["batch.size: got 0, expected at least 1"]}},
        {"value": {"name": "linger.ms", "errors": []}},
        {"value": {"name": "index.name", "errors": ["index.name: missing", "index.name: unknown"]}},
    ]
    with rest((200, {"configs": configs})) as server, pytest.raises(ProfileError) as refusal:
        worker(server).validate({"connector.class": "Sink"})
    assert str(refusal.value) == (
        "sink.config: batch.size: got 0, expected at least 1\nsink.config: index.name: missing\n"
        "sink.config: index.name: unknown"
    )
    assert server.requests == [("PUT", "/connector-plugins/Sink/config/validate", {"connector.class": "Sink"})]


def test_a_configuration_in_order_is_not_refused() -> None:
    """Nothing happens."""
    with rest((200, {"configs": [{"value": {"name": "batch.size", "errors": []}}]})) as server:
        worker(server).validate({"connector.class": "Sink"})


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
