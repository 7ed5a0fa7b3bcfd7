"""The sink's ledger and histograms through the JMX agent's HTTP interface."""

import socket
from typing import Any

import httpx
import pytest
from hdrh.histogram import HdrHistogram

from lab.monitor.sink import (
    LEDGER_FIELDS,
    OTHER_FIELDS,
    JolokiaError,
    SinkNotRegisteredError,
    SinkReader,
    attribute,
    merged_histogram,
    percentiles_ms,
    read_sink_histograms,
)
from lab.records.run import SinkHistograms
from tests.unit.messages import MakeMessage
from tests.unit.monitor.servers import server

LEDGER_ATTRIBUTES = [
    "RecordsRead",
    "RecordsIndexed",
    "RecordsUpdated",
    "RecordsDeleted",
    "RecordsAlreadyThere",
    "RecordsStale",
    "RecordsRedirected",
    "RecordsDroppedByPipeline",
    "RecordsDeadLettered",
    "RecordsDropped",
    "RecordsInFlight",
    "BytesAcknowledged",
    "BulkRequests",
    "BulkRequestsFailed",
    "BulkRetries",
    "ItemRetries",
    "BulkRequestsInFlight",
    "BulkServiceTimeMillisTotal",
    "BulkDocumentsTotal",
    "BulkBytesTotal",
    "TimeBlockedMillisTotal",
]


LEDGER = f"/read/sluice.connect:type=sink-task-metrics,connector=sluice-books,task=*/{','.join(LEDGER_ATTRIBUTES)}"
COMPILATION = "/read/java.lang:type=Compilation/TotalCompilationTime"
NOT_SAID = {"status": 404, "error": "javax.management.InstanceNotFoundException"}


def encoded(*values_us: int, highest_us: int = 3_600_000_000) -> str:
    """A histogram as the sink encodes it."""
    histogram = HdrHistogram(1, highest_us, 3)
    for value in values_us:
        histogram.record_value(value)
    text: bytes = histogram.encode()
    return text.decode()


def agent(beans: dict[str, Any], asked: list[str] | None = None) -> Any:
    """An agent that knows these beans."""
    return answering({"status": 200, "value": beans}, asked=asked)


def answering(of_tasks: Any, of_machine: Any = NOT_SAID, asked: list[str] | None = None) -> Any:
    """An agent that answers this about tasks, and that about the virtual machine."""

    def answer(path: str, body: bytes) -> tuple[int, Any]:
        assert body == b""
        if asked is not None:
            asked.append(path)
        return 200, of_machine if path.endswith(COMPILATION) else of_tasks

    return answer


def test_attributes_are_named_as_the_sink_names_them() -> None:
    """Both sides of the wire are held together here."""
    assert [attribute(field) for field in LEDGER_FIELDS] == LEDGER_ATTRIBUTES


def test_the_ledger_is_summed_over_tasks() -> None:
    """A connector's books are those of all its tasks."""
    asked: list[str] = []
    beans = {
        f"sluice.connect:connector=sluice-books,task={task},type=sink-task-metrics": dict.fromkeys(
            LEDGER_ATTRIBUTES, value
        )
        for task, value in enumerate([7, 11, 13])
    }
    with server(agent(beans, asked)) as url:
        sample = SinkReader(f"{url}/jolokia/", "sluice-books", timeout_s=2).read()
    assert sample.model_dump() == dict.fromkeys(OTHER_FIELDS) | {"tasks": 3} | dict.fromkeys(LEDGER_FIELDS, 31)
    assert asked == [f"/jolokia{LEDGER}", f"/jolokia{COMPILATION}"]


def test_the_workers_compiling_time_is_read_beside_the_ledger() -> None:
    """A bean of the virtual machine itself, which the same agent shows."""
    with server(worker(0, compiling_ms=7919)) as url:
        assert SinkReader(url, "sluice-books", timeout_s=2).read().jit_time_ms == 7919


@pytest.mark.parametrize("answer", [{"status": 404, "error": "javax.management…"}, {"status": 200, "value": {}}])
def test_a_connector_without_tasks_is_said_to_have_none(answer: dict[str, Any], message: MakeMessage) -> None:
    """The worker runs before the task does; that is no failure of the agent."""
    with (
        server(answering(answer)) as url,
        pytest.raises(SinkNotRegisteredError) as failure,
    ):
        SinkReader(url, "sluice-books", timeout_s=2).read()
    assert str(failure.value) == message("sluice-books")


def test_an_error_of_the_agent_is_passed_on(message: MakeMessage) -> None:
    """The agent answers HTTP 200 to a request that it refuses."""
    refusal = {"status": 403, "error_type": "java.lang.SecurityException", "error": "not allowed"}
    with server(answering(refusal, refusal)) as url, pytest.raises(JolokiaError) as failure:
        SinkReader(url, "sluice-books", timeout_s=2).read()
    assert str(failure.value) == message("java.lang.SecurityException")


@pytest.mark.parametrize(
    ("connector", "in_path"), [("a/b!c", "a!%2Fb!!c"), ("größe 1?", "gr%C3%B6%C3%9Fe%201%3F"), ("a.b-c_d", "a.b-c_d")]
)
def test_a_connectors_name_reaches_the_agent_as_it_is(connector: str, in_path: str) -> None:
    """Jolokia's own escape is an exclamation mark; the rest is that of URLs."""
    asked: list[str] = []
    with server(agent({"task=0": {"RecordAgeHistogram": None, "BulkServiceTimeHistogram": None}}, asked)) as url:
        read_sink_histograms(url, connector)
    assert asked[0].split(",")[1] == f"connector={in_path}"


def test_merging_conserves_counts_and_values() -> None:
    """Percentiles over all tasks come from one histogram, not from an average of percentiles."""
    merged = HdrHistogram.decode(merged_histogram([encoded(101, 1009), None, encoded(10007)]))
    assert merged.get_total_count() == 3
    assert [merged.get_count_at_value(value) for value in (101, 1009, 10007)] == [1, 1, 1]


def test_histograms_of_different_ranges_merge_into_the_widest() -> None:
    """A task that saw a slow record has a wider histogram than one that did not."""
    merged = HdrHistogram.decode(merged_histogram([encoded(101, highest_us=2000), encoded(2_000_003)]))
    assert merged.get_total_count() == 2
    assert merged.values_are_equivalent(merged.get_max_value(), 2_000_003)


def test_nothing_to_merge_is_none() -> None:
    """No histogram is not an empty one."""
    assert merged_histogram([None, None]) is None


def test_the_sinks_histograms_are_read_over_all_tasks() -> None:
    """Both histograms come in one request."""
    beans = {
        str(task): {"RecordAgeHistogram": encoded(value), "BulkServiceTimeHistogram": encoded(value, value)}
        for task, value in enumerate([101, 103])
    }
    with server(agent(beans)) as url:
        histograms = read_sink_histograms(url, "sluice-books")
    counts = [
        HdrHistogram.decode(text).get_total_count() for text in (histograms.record_age, histograms.bulk_service_time)
    ]
    assert counts == [2, 4]


def test_a_connector_without_tasks_has_no_histograms() -> None:
    """The end of a run is no place to fail for want of a percentile."""
    with server(answering({"status": 404})) as url:
        assert read_sink_histograms(url, "sluice-books") == SinkHistograms(record_age=None, bulk_service_time=None)


def test_ages_are_read_at_every_fifth_reading_and_only_of_a_stream() -> None:
    """To encode them holds a task up; of a drain they are the time in the topic."""
    asked: list[str] = []
    ages = encoded(*(1000 * (number + 1) for number in range(100)))
    bean = {**dict.fromkeys(LEDGER_ATTRIBUTES, 7), "RecordAgeHistogram": ages}
    name = "sluice.connect:connector=sluice-books,task=0,type=sink-task-metrics"
    with server(agent({name: bean}, asked)) as url:
        of_stream = SinkReader(url, "sluice-books", timeout_s=2, reads_ages=True)
        for _ in range(6):
            of_stream.read()
        SinkReader(url, "sluice-books", timeout_s=2).read()
    ledgers = [path for path in asked if not path.endswith(COMPILATION)]
    assert ["RecordAgeHistogram" in path for path in ledgers] == [
        True,
        *[False] * 4,
        True,
        False,
    ]


def test_ages_are_those_of_all_tasks_together() -> None:
    """Of 1 … 100 ms and 101 … 200 ms the median is 100 ms, and p99 198 ms, to three digits."""
    low, high = (encoded(*(1000 * (number + first) for number in range(100))) for first in (1, 101))
    assert percentiles_ms([low, high]) == pytest.approx((100.0, 198.0), rel=1e-3)
    assert percentiles_ms([None, encoded()]) == (None, None)


def worker(*tasks: int, compiling_ms: int = 0) -> Any:
    """The agent of a worker that runs these tasks; each has the value 7 for all that is asked."""
    beans = {f"task={task}": dict.fromkeys(LEDGER_ATTRIBUTES, 7) for task in tasks}
    of_tasks = {"status": 200, "value": beans} if beans else {"status": 404}
    return answering(of_tasks, {"status": 200, "value": compiling_ms})


def test_the_tasks_are_those_of_all_workers_that_answer() -> None:
    """A worker without tasks counts as none, and so does one that is down: its tasks are gone."""
    with server(worker(0)) as gone:
        pass
    with server(worker(0, 2, compiling_ms=11)) as one, server(worker(1, compiling_ms=13)) as other:
        sample = SinkReader(f"{one},{other}/", "sluice-books", timeout_s=2).read()
        assert (sample.tasks, sample.records_read, sample.jit_time_ms) == (3, 21, 24)
        left = SinkReader(f"{gone},{other}", "sluice-books", timeout_s=2).read()
        assert (left.tasks, left.records_read, left.jit_time_ms) == (1, 7, 13)
    with server(worker()) as idle, pytest.raises(SinkNotRegisteredError):
        SinkReader(f"{gone},{idle}", "sluice-books", timeout_s=2).read()
    with pytest.raises(httpx.ConnectError):
        SinkReader(f"{gone},{gone}", "sluice-books", timeout_s=2).read()


def test_counts_without_the_tasks_of_a_worker_that_does_not_answer_once_are_no_reading() -> None:
    """They would seem to fall, as of a task that began again, and to grow once it answers; or the task moves."""
    tasks = [0, 2]

    def answer(path: str, body: bytes) -> tuple[int, Any]:
        shown: tuple[int, Any] = worker(*tasks)(path, body)
        return shown

    with server(answer) as one:
        with server(worker(1)) as other:
            reader = SinkReader(f"{one},{other}", "sluice-books", timeout_s=2)
            assert reader.read().tasks == 3
        with pytest.raises(LookupError):
            reader.read()
        tasks.append(1)
        assert reader.read().tasks == 3


def test_counts_without_a_worker_that_is_there_and_does_not_answer_are_no_reading() -> None:
    """Nor are the first ones: it may have tasks that are not known yet, which would seem to have done all at once."""
    with server(worker(0)) as one, server(lambda _path, _body: (503, {})) as refusing:
        with pytest.raises(httpx.HTTPStatusError):
            SinkReader(f"{one},{refusing}", "sluice-books", timeout_s=2).read()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            reader = SinkReader(f"{one},http://127.0.0.1:{silent.getsockname()[1]}", "sluice-books", timeout_s=0.2)
            with pytest.raises(httpx.ReadTimeout):
                reader.read()


def test_a_task_that_two_workers_show_counts_once() -> None:
    """As while it moves from one to the other."""
    with server(worker(0, 1)) as one, server(worker(1)) as other:
        sample = SinkReader(f"{one},{other}", "sluice-books", timeout_s=2).read()
    assert (sample.tasks, sample.records_read) == (2, 14)


@pytest.mark.parametrize("answer", [[], [{"status": 200, "value": {}}], None, "no"])
def test_an_answer_of_another_shape_is_a_failure_of_the_agent(answer: Any) -> None:
    """As of a proxy that answers for it."""
    with server(lambda _path, _body: (200, answer)) as url, pytest.raises(JolokiaError):
        SinkReader(url, "sluice-books", timeout_s=2).read()


def test_what_the_machine_does_not_say_costs_no_ledger() -> None:
    """Its compiling time is not known then."""
    beans = {"task=0": dict.fromkeys(LEDGER_ATTRIBUTES, 7)}
    with server(answering({"status": 200, "value": beans}, {"status": 403})) as url:
        sample = SinkReader(url, "sluice-books", timeout_s=2).read()
    assert (sample.records_read, sample.jit_time_ms) == (7, None)
