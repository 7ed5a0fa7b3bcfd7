"""Rally as the load of a run; only where Rally is installed, which is no dependency of this project."""

import os
import signal
import time

import psutil
import pytest

from lab.analysis.rally.summary import read_summary
from lab.profiles import load_profile
from lab.run.load.rally.program import esrally, why_not_rally
from tests.integration.conftest import ROOT, Sluice
from tests.integration.test_race import run_of, samples_of
from tests.integration.test_run import metric

BOOKS = 20_011
pytestmark = [
    pytest.mark.skipif(esrally() is None, reason=why_not_rally(load_profile("sink/rally", root=ROOT)) or ""),
    pytest.mark.shape("version 7.17.7"),
]


def test_a_load_through_rally_is_verified_measured_and_laid_beside_rallys_report(sluice: Sluice) -> None:
    """Every book is stored as a direct load stores it, by processes that are sampled and of which none is left."""
    done = sluice.run("sink/rally", "--documents", str(BOOKS), "--set", "load={clients: 3, bulk_size: 997}")

    assert (done.status, done.errors) == (0, "")
    result, record, folder = sluice.result(), run_of(sluice), sluice.latest()
    assert (result.documents.produced, result.documents.indexed, result.documents.missing) == (BOOKS, BOOKS, 0)
    assert result.documents.sampled == 1000
    assert (record.via, record.topic, record.delivery, record.direct) == ("rally", None, None, None)
    assert record.rally is not None
    assert (record.rally.clients, record.rally.error_percent) == (3, 0.0)
    assert (metric(result, "cpu_s_per_million_docs", "sender") or 0) > 0
    assert any("rally" in sample.processes for sample in samples_of(sluice))
    assert rallys(sluice) == []
    assert not (folder / "rally").exists()
    own = {(line.metric, line.task): line.value for line in read_summary(folder / "rally-own.csv")}
    assert own["error rate", "index-append"] == 0.0

    assert sluice("report", str(folder), "--as", "rally").status == 0
    ours = {(line.metric, line.task): line.value for line in read_summary(folder / "rally.csv")}
    assert ours.keys() <= own.keys()


def test_documents_that_rally_cannot_store_break_the_run(sluice: Sluice) -> None:
    """Rally ends at the first error, and its last words say where its log is."""
    done = sluice.run("sink/rally", "--documents", "1009", "--set", "mapping=events.static")

    assert done.status == 3
    assert "Rally: ended with exit status 64; its log is " in done.errors
    assert rallys(sluice) == []


def test_nothing_is_left_of_rally_when_a_run_is_killed(sluice: Sluice) -> None:
    """Its actors carry the mark of everything that a run starts, wherever they have gone."""
    command = sluice.start("run", "sink/rally", "--documents", str(BOOKS), "--runs", str(sluice.runs))
    deadline = time.monotonic() + 120
    while len(rallys(sluice)) < 3 and time.monotonic() < deadline:
        assert command.poll() is None, command.stdout.read() if command.stdout else ""
        time.sleep(0.1)
    os.kill(command.pid, signal.SIGKILL)
    command.wait()

    sluice.run("sink/direct", "--elasticsearch", "7.17.7", "--documents", "1009")

    assert rallys(sluice) == []


def rallys(sluice: Sluice) -> list[psutil.Process]:
    """The session's processes that are Rally's, or the one that looks after them."""
    return [process for process in sluice.processes() if "rally" in " ".join(process.cmdline())]
