"""What a suite warns of, so that nobody believes a comparison that is none."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from lab.analysis.suite.result import analyse_suite
from lab.records.run import Run, RunWarning, WarningKind
from tests.unit.analysis.suite.suite_folders import AGAIN, Rung, SuiteTruth, small, suite_folder
from tests.unit.analysis.synthetic import Truth
from tests.unit.messages import MakeMessage


def warned(folder: Path, truth: SuiteTruth) -> dict[WarningKind, RunWarning]:
    """The warnings of a suite, by kind."""
    result = analyse_suite(suite_folder(folder, truth))
    kinds = [warning.kind for warning in result.warnings]
    assert len(kinds) == len(set(kinds))
    return {warning.kind: warning for warning in result.warnings}


def idle_elasticsearch(truth: Truth) -> Truth:
    """A run in which records waited for the sink."""
    return replace(truth, machine_cpu_percent=41.0, write_active=0)


def with_other_cpu(made: Run) -> Run:
    """The same run on another machine."""
    environment = made.environment.model_copy(update={"cpu_model": "Another CPU", "memory_bytes": 8_000_000_000})
    return made.model_copy(update={"environment": environment})


def test_a_sound_suite_warns_of_nothing(tmp_path: Path) -> None:
    """Silence must mean something."""
    assert warned(tmp_path, small()) == {}


def test_variants_at_the_pace_of_the_driver_are_told_and_that_they_are_no_comparison(
    tmp_path: Path, message: MakeMessage
) -> None:
    """The third shows what Elasticsearch can do."""
    driven = Rung(change=idle_elasticsearch)
    rungs = {
        "aladin/control": replace(driven, against=None),
        "aladin/static": driven,
        "aladin/flat": Rung(),
    }
    warnings = warned(tmp_path, small(rungs=rungs))
    assert set(warnings) == {WarningKind.DRIVER_LIMITED}
    warning = warnings[WarningKind.DRIVER_LIMITED]
    assert warning.seen == message("6 of 9", "control 3, static 3", "41 % of 2 cores busy")
    assert "`same`" in warning.remedy


@pytest.mark.parametrize(("again", "is_lost"), [("verified", False), ("void", True)])
def test_a_run_that_was_repeated_well_is_lost_to_no_comparison(tmp_path: Path, again: str, *, is_lost: bool) -> None:
    """It was said that comparisons drop its block, and asked for the whole suite again."""
    failing = {(2, "aladin/static"): ("void", again)}
    remedy = warned(tmp_path, small(failing=failing))[WarningKind.RUNS_FAILED].remedy
    assert ("drop the blocks" in remedy, "run the suite again" in remedy) == (is_lost, is_lost)


def test_runs_on_different_machines_are_told(tmp_path: Path, message: MakeMessage) -> None:
    """With both values, and nothing of what the machines share."""
    rungs = {"aladin/control": Rung(against=None), "aladin/static": Rung(change_run=with_other_cpu)}
    warning = warned(tmp_path, small(rungs=rungs))[WarningKind.ENVIRONMENTS_DIFFER]
    assert warning.seen.replace("\u202f", " ") == message("Another CPU", "Example CPU @ 2.80GHz", 24, 8)


def test_variants_may_differ_in_their_servers_but_the_runs_of_one_may_not(tmp_path: Path) -> None:
    """A suite that compares versions compares versions."""

    def newer(made: Run) -> Run:
        servers = tuple(server.model_copy(update={"version": "9.5.3"}) for server in made.environment.servers)
        return made.model_copy(update={"environment": made.environment.model_copy(update={"servers": servers})})

    rungs = {"aladin/control": Rung(against=None), "aladin/static": Rung(change_run=newer)}
    assert warned(tmp_path, small(rungs=rungs)) == {}


def test_a_mapping_that_was_edited_during_the_suite_is_told(tmp_path: Path) -> None:
    """Its name stays the same."""
    of_runs = itertools.chain(["beef"], itertools.repeat("f00d"))

    def edited(made: Run) -> Run:
        contents = {"mapping": next(of_runs)}
        return made.model_copy(update={"environment": made.environment.model_copy(update={"contents": contents})})

    rungs = {"aladin/control": Rung(against=None), "aladin/static": Rung(change_run=edited)}
    seen = warned(tmp_path, small(rungs=rungs))[WarningKind.ENVIRONMENTS_DIFFER].seen
    assert "aladin/static: content of mapping: beef and f00d" in seen


def test_a_control_that_differs_from_itself_is_told_on_top(tmp_path: Path, message: MakeMessage) -> None:
    """Then the method finds differences where there are none."""
    rungs = {"aladin/control": Rung(against=None), AGAIN: Rung(rate=1.25)}
    folder = suite_folder(tmp_path, small(rungs=rungs))
    result = analyse_suite(folder)
    assert result.warnings[0].kind == WarningKind.REPETITION_DIFFERS
    assert result.warnings[0].seen == message("A/A", "faster by 25 % in indexing rate")
    assert result.answer == message("A/A", "faster by 25 % in indexing rate")


def test_warnings_of_runs_are_told_once_with_their_number(tmp_path: Path, message: MakeMessage) -> None:
    """Fifteen times the same would hide the others."""

    def late(truth: Truth) -> Truth:
        return replace(truth, gc_ms_per_tick=211)

    rungs = {"aladin/control": Rung(against=None), "aladin/static": Rung(change=late)}
    assert warned(tmp_path, small(rungs=rungs))[WarningKind.MEMORY_PRESSURE].seen == message(
        "3 of 6", "static 3", "elasticsearch-1", 21.1
    )
