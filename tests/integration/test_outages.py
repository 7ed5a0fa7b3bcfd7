"""Servers killed in the middle of a drain: the run goes on when they are back, and nothing is lost."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from lab.records.result import Result
from tests.integration.conftest import Sluice

BOOKS = 60_013
INDEXED_BEFORE_A_KILL = {"kafka": 6_000, "elasticsearch-1": 24_000, "connect": 6_000}
"""Documents on primary shards; an Elasticsearch that was killed counts from 0 again, and therefore is the last."""
RECORDS_PER_S = 10_007
"""A drain at full speed might be over before the kill."""
PATIENCE_S = 120


def indexed_so_far(runs: Path) -> int:
    """Documents on primary shards, by the newest sample of the run under way."""
    try:
        lines = next(runs.rglob("samples.ndjson")).read_bytes().splitlines()
        samples = [orjson.loads(line) for line in lines]
    except (StopIteration, orjson.JSONDecodeError):
        return 0
    counts = [sample["elasticsearch"]["primaries"]["index_total"] for sample in samples if sample.get("elasticsearch")]
    return counts[-1] if counts else 0


@pytest.fixture
def runs(sluice: Sluice, tmp_path: Path) -> Iterator[Path]:
    """A folder for one run, and servers that are whole again afterwards."""
    yield tmp_path
    for name in ("kafka", "connect", "elasticsearch-1"):
        if name not in sluice.stack.process_ids():
            sluice.stack.restart(name)


def wait_until_indexed(documents: int, runs: Path, command: subprocess.Popen[str]) -> None:
    """Return in the middle of the drain, with at least so many documents indexed."""
    deadline = time.monotonic() + PATIENCE_S
    while (indexed := indexed_so_far(runs)) < documents and time.monotonic() < deadline:
        assert command.poll() is None, command.stdout.read() if command.stdout else ""
        time.sleep(0.1)
    assert documents <= indexed < BOOKS


@pytest.mark.parametrize(
    "servers", [pytest.param(("kafka", "elasticsearch-1"), marks=pytest.mark.long), ("connect",)], ids=", ".join
)
def test_servers_killed_in_the_middle_of_a_drain_cost_no_document(
    sluice: Sluice, runs: Path, servers: tuple[str, ...]
) -> None:
    """After each kill -9 and restart the run ends verified: every document once, none lost, none altered."""
    slow = f"sink.config={{batch.size: 500, max.documents.per.second: {RECORDS_PER_S}}}"
    command = sluice.start(
        "run", "quickstart", "--documents", str(BOOKS), "--runs", str(runs), "--set", slow
    )  # fmt: skip
    for server in servers:
        wait_until_indexed(INDEXED_BEFORE_A_KILL[server], runs, command)
        os.kill(sluice.stack.process_ids()[server], signal.SIGKILL)
        time.sleep(1)
        restarted = sluice("restart", server)
        assert (restarted.status, restarted.errors) == (0, "")

    output, _ = command.communicate(timeout=300)
    assert command.returncode == 0, output
    result = Result.model_validate_json((runs / "latest" / "result.json").read_bytes())
    assert result.status == "verified"
    assert (result.documents.delivered, result.documents.indexed, result.documents.missing) == (BOOKS, BOOKS, 0)
    assert "server_restarted" in {warning.kind.value for warning in result.warnings}
    assert result.verification.ledger is not None
    outcomes = {check.law: check.outcome for check in result.verification.ledger.checks}
    assert (outcomes["balance"], outcomes["totals"]) == ("holds", "holds")
    # The worker's counters have died with it; those of a worker that lived on cover the whole run.
    if "connect" in servers:
        assert result.verification.ledger.covers == "since a task's last start"
        assert {outcomes[law] for law in ("topic", "index", "dead letters")} == {"not checked"}
