"""What a race runs besides the sink: ready-made bulk requests, a sink that stores nothing, other people's pipelines."""

import os
import signal
import time

from lab.records.run import Run
from lab.records.samples import Sample
from tests.integration.conftest import Sluice
from tests.integration.test_run import metric

BOOKS = 20_011


def samples_of(sluice: Sluice) -> list[Sample]:
    """The samples of the last run."""
    return [Sample.model_validate_json(line) for line in (sluice.latest() / "samples.ndjson").open()]


def run_of(sluice: Sluice) -> Run:
    """The record of the last run."""
    return Run.model_validate_json((sluice.latest() / "run.json").read_bytes())


def test_a_direct_load_is_verified_and_measured_like_a_drain(sluice: Sluice) -> None:
    """Every book is stored as a drain would store it, by a process that is sampled, without a topic."""
    done = sluice.run("sink/direct", "--documents", str(BOOKS))

    assert (done.status, done.errors) == (0, "")
    result, record = sluice.result(), run_of(sluice)
    assert result.status == "verified"
    assert (result.documents.produced, result.documents.indexed, result.documents.missing) == (BOOKS, BOOKS, 0)
    assert (result.documents.delivered, result.documents.sampled) == (None, 1000)
    assert [phase.name for phase in result.phases] == ["prepare", "fill", "load", "settle", "verify", "collect"]
    assert (record.topic, record.delivery) == (None, None)
    assert record.direct is not None
    assert (record.direct.accepted, record.direct.refused) == (BOOKS, {})
    assert metric(result, "drain_s", "run") is not None
    assert metric(result, "bulk_size_docs_mean", "run") == BOOKS / -(-BOOKS // 2000)
    assert any("direct" in sample.processes for sample in samples_of(sluice))
    assert all("kafka" not in sample.lost for sample in samples_of(sluice))
    assert "straight to" in (sluice.latest() / "report.html").read_text()


def test_an_empty_sink_is_verified_by_what_it_has_consumed(sluice: Sluice) -> None:
    """All records are committed and counted as dropped, nothing is stored, and no indexing rate is claimed."""
    done = sluice.run("sink/empty", "--documents", str(BOOKS), "--set", "topic.partitions=3", "--set", "sink.tasks=2")

    assert (done.status, done.errors) == (0, "")
    result = sluice.result()
    assert (result.status, result.verification.expect) == ("verified", "consumed")
    assert (result.documents.delivered, result.documents.dropped, result.documents.indexed) == (BOOKS, BOOKS, 0)
    assert "indexing_rate_docs_per_s" not in {found.name for found in result.metrics}
    assert (metric(result, "cpu_s_per_million_docs", "connect") or 0) > 0
    ledger = next(sample.sink for sample in reversed(samples_of(sluice)) if sample.sink is not None)
    assert (ledger.records_read, ledger.records_dropped) == (BOOKS, BOOKS)
    assert "nothing is in the index" in (sluice.latest() / "report.html").read_text()


def test_a_direct_load_keeps_the_last_version_of_each_book(sluice: Sluice) -> None:
    """However the connections overtake each other, the later version wins, as with the sink."""
    done = sluice.run("sink/direct", "--set", "dataset={books: 5003, updates: 0.5}", "--set", "load.connections=3",
                      "--set", "load.batch_documents=101")  # fmt: skip

    assert (done.status, done.errors) == (0, "")
    documents = sluice.result().documents
    assert (documents.indexed, documents.sample_mismatches) == (5003, 0)
    assert documents.already_there == documents.produced - 5003 > 0


def test_documents_that_a_direct_load_cannot_store_void_the_run(sluice: Sluice) -> None:
    """There is no dead-letter topic to keep them: they are counted with status and type, and the run fails."""
    done = sluice.run("sink/direct", "--documents", "1009", "--set", "mapping=events.static")

    assert done.status == 4
    assert "Elasticsearch rejected 1009 documents: 400 " in done.errors
    assert sluice.result().status == "failed"


def test_a_pipeline_of_somebody_elses_drains_the_topic(sluice: Sluice) -> None:
    """It is verified like the sink, its processes are sampled, and none of them is left."""
    done = sluice.run("sink/naive-python", "--documents", "5003", "--set", "topic.partitions=3")

    assert (done.status, done.errors) == (0, "")
    result, record = sluice.result(), run_of(sluice)
    assert (result.status, result.documents.indexed, result.documents.sampled) == ("verified", 5003, 5003)
    assert (metric(result, "cpu_s_per_million_docs", "sink") or 0) > 0
    assert "naive.py" in str(record.environment.connector["command"])
    assert "drained through the pipeline" in (sluice.latest() / "report.html").read_text()
    assert not [process for process in sluice.processes() if "naive.py" in " ".join(process.cmdline())]


def test_a_pipeline_that_ends_too_early_voids_the_run(sluice: Sluice) -> None:
    """Its end is no error; what it has left in the topic is missing."""
    done = sluice.run("sink/naive-python", "--documents", "1009", "--set", "sink.command=['true']")

    assert done.status == 4
    assert "1,009 documents are missing" in done.errors


def test_the_pipeline_of_a_killed_run_is_stopped_by_the_next_command(sluice: Sluice) -> None:
    """It carries the mark of everything that a run starts."""
    waiting = "sink.command=[sleep, '997']"
    command = sluice.start(
        "run", "sink/naive-python", "--documents", "1009", "--runs", str(sluice.runs), "--set", waiting
    )
    deadline = time.monotonic() + 120
    while not (sleeping := pipelines(sluice, "sleep")) and time.monotonic() < deadline:
        assert command.poll() is None, command.stdout.read() if command.stdout else ""
        time.sleep(0.1)
    os.kill(command.pid, signal.SIGKILL)
    command.wait()
    assert sleeping == pipelines(sluice, "sleep") != []

    sluice.run("sink/direct", "--documents", "1009")

    assert pipelines(sluice, "sleep") == []


def pipelines(sluice: Sluice, program: str) -> list[int]:
    """Process ids of the session's processes that run this program."""
    return [process.pid for process in sluice.processes() if process.name() == program]
