"""A run on the played server tells what that did: the truth is known, and the whole program is held against it."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.integration.conftest import ROOT, Sluice, on, target_file
from tests.worlds.bench import told

DOCUMENTS = 45_007
RATE = 3_000
PACE = ("--docs-per-s", str(RATE), "--latency-ms", "3", "--ramp-s", "4", "--ramp-from", "0.2", "--noise", "0.02")


@pytest.fixture
def played() -> Iterator[str]:
    """The address of a played server, a process of its own."""
    command = [sys.executable, "-m", "tests.worlds.played", *PACE]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


@pytest.mark.usefixtures("elasticsearch")
def test_a_run_tells_what_the_server_did(sluice: Sluice, driver: Sluice, played: str, tmp_path: Path) -> None:
    """A direct load with a warm-up of 4 s, whose 2,680/s in the mean are 3,000/s once it is over."""
    there = replace(sluice.stack.endpoints(), elasticsearch_urls=(played,))
    target = target_file(tmp_path / "played.yaml", there)

    done = driver.run("quickstart", "--documents", str(DOCUMENTS), "--set", "load.via=direct", *on(target))

    assert (done.status, done.errors) == (0, "")
    truth = httpx.get(f"{played}/_truth", timeout=60).json()
    assert truth["unknown_requests"] == {}
    run = told(driver.latest(), truth)
    assert (run.result.status, run.result.documents.indexed, run.truth["documents"]) == (
        "verified",
        DOCUMENTS,
        pytest.approx(DOCUMENTS),
    )
    rate = run.value("indexing_rate_docs_per_s", "primaries")
    assert rate == pytest.approx(run.served_docs_per_s, rel=0.01)
    assert rate == pytest.approx(RATE, rel=0.05)
    assert run.value("indexing_latency_ms", "primaries") == pytest.approx(run.served_latency_ms, rel=0.02)
    assert run.value("bulk_service_time_ms_p50") == pytest.approx(run.truth["answered_ms"]["p50"], rel=0.05)
