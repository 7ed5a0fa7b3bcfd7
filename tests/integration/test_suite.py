"""A suite on the real servers: interrupted, resumed, compared."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lab.records.run import Run
from lab.records.suite import SuiteResult, SuiteRun
from lab.suite.folder import find_suite
from tests.integration.conftest import Sluice

SUITE = """
question: Does a second primary shard make small drains faster?
control: one shard
variants:
  - {profile: quickstart, name: one shard}
  - {profile: quickstart, name: two shards, set: {index.number_of_shards: 2}}
set: {dataset.documents: 2003}
repeats: 2
"""
RUNS = 6
PATIENCE_S = 240


@pytest.fixture
def suite_file(tmp_path: Path) -> Path:
    """Two variants and the control once more, twice each."""
    path = tmp_path / "shards.yaml"
    path.write_text(SUITE)
    return path


def counted(sluice: Sluice) -> list[SuiteRun]:
    """The runs so far that are no warm-up drains."""
    return [run for run in find_suite(sluice.runs, "shards").runs() if not run.warm_up]


def wait_for_a_counted_run(sluice: Sluice, suite: subprocess.Popen[str]) -> None:
    """Wait until the first run that counts has ended."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        assert suite.poll() is None, suite.communicate()[0]
        if [*(sluice.runs / "suites" / "shards").glob("*/plan.json")] and counted(sluice):
            return
        time.sleep(0.2)
    pytest.fail("no counted run in time")


def test_an_interrupted_suite_is_resumed_to_its_end(sluice: Sluice, suite_file: Path) -> None:
    """No run is done twice, none is left out, and the folder says what they mean together."""
    command = ("suite", str(suite_file), "--runs", str(sluice.runs))
    suite = sluice.start(*command)
    wait_for_a_counted_run(sluice, suite)
    os.kill(suite.pid, signal.SIGINT)
    output, _ = suite.communicate(timeout=PATIENCE_S)
    assert suite.returncode == 130, output
    assert "--resume" in output
    before = counted(sluice)
    assert 0 < len({(run.block, run.variant) for run in before}) < RUNS

    done = sluice(*command, "--resume")

    assert (done.status, done.errors) == (0, "")
    after = counted(sluice)
    assert after[: len(before)] == before
    folder = find_suite(sluice.runs, "shards")
    plan = folder.plan()
    # A busy machine has some of them repeated.
    assert sorted({(run.block, run.variant) for run in after}) == sorted(
        (number, name) for number, block in enumerate(plan.order, 1) for name in block
    )
    assert {run.status for run in after} == {"verified"}
    result = SuiteResult.model_validate_json((folder.path / "suite.json").read_bytes())
    assert result.complete
    assert {(effect.variant, effect.against) for effect in result.effects} == {
        ("one shard (again)", "one shard"),
        ("two shards", "one shard"),
    }
    fillers = {
        Run.model_validate_json((folder.path / str(run.folder) / "run.json").read_bytes()).delivery.earlier_run
        for run in folder.runs()
        if run.block == plan.repeats
    }
    # Every run of the last block, after the resumption, drained what one uncounted run had filled.
    assert len(fillers) == 1
    assert None not in fillers
    assert "two shards" in (folder.path / "suite.md").read_text()
    assert str(folder.path / "report.html") in done.output


def test_a_suite_that_was_changed_is_not_resumed(sluice: Sluice, suite_file: Path) -> None:
    """Its first half would be of other runs than its second."""
    command = ("suite", str(suite_file), "--runs", str(sluice.runs))
    if not (sluice.runs / "suites" / "shards").is_dir():
        suite = sluice.start(*command)
        wait_for_a_counted_run(sluice, suite)
        os.kill(suite.pid, signal.SIGINT)
        suite.communicate(timeout=PATIENCE_S)
    suite_file.write_text(SUITE.replace("2003", "2011"))
    done = sluice(*command, "--resume")
    assert done.status == 2
    assert "cannot be resumed: the suite's variants or their profiles have changed" in done.errors


@pytest.mark.long
def test_pairs_load_at_the_same_time_on_two_sets_of_servers(sluice: Sluice, suite_file: Path) -> None:
    """The second set is gone after an interrupt, and after the suite."""
    metrics = "metrics: [cpu_s_per_million_docs/elasticsearch]"
    suite_file.write_text(SUITE.replace("repeats: 2", f"minutes: 3\n{metrics}"))
    command = ("suite", str(suite_file), "--runs", str(sluice.runs / "pairs"), "--duets")
    before = {server.pid for server in sluice.stack.servers()}
    suite = sluice.start(*command)
    deadline = time.monotonic() + PATIENCE_S
    while not (folders := [*(sluice.runs / "pairs").glob("suites/*/*/runs/*/*/run.json")]):
        assert suite.poll() is None, suite.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(suite.pid, signal.SIGINT)
    output, _ = suite.communicate(timeout=PATIENCE_S)
    assert suite.returncode == 130, output
    assert {process.pid for process in sluice.processes()} == before

    done = sluice(*command, "--resume")

    assert (done.status, done.errors) == (0, "")
    assert {process.pid for process in sluice.processes()} == before
    folder = find_suite(sluice.runs / "pairs", "shards")
    runs = [run for run in folder.runs() if run.block]
    assert {run.status for run in runs} == {"verified"}
    assert len(runs) >= 2
    assert folders[0].is_relative_to(folder.path)
    for one, other in zip(runs[::2], runs[1::2], strict=True):
        assert (one.variant, other.variant) == folder.plan().order[one.block - 1]
        both = [
            Run.model_validate_json((folder.path / str(run.folder) / "run.json").read_bytes()) for run in (one, other)
        ]
        nodes = [{server.pid for server in run.environment.servers} for run in both]
        assert nodes[0].isdisjoint(nodes[1])
        begun = [next(phase.started_s for phase in run.phases if phase.name == "load") for run in both]
        assert abs(begun[0] - begun[1]) < 1
