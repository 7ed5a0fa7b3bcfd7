"""Which comparisons of a suite under way ask for more blocks."""

from pathlib import Path

from lab.analysis.suite.folder import read_plan
from lab.analysis.suite.result import comparisons_too_wide
from tests.unit.analysis.suite.suite_folders import AGAIN, RATE, Rung, SuiteTruth, suite_folder

CHECK = {"aladin/control": Rung(against=None), AGAIN: Rung()}
LARGE, SMALL = ("aladin/static", "aladin/control"), ("aladin/flat", "aladin/control")


def too_wide(folder: Path, truth: SuiteTruth, precision: float) -> tuple[tuple[str, str], ...]:
    """What is left open of a suite that is to be so precise."""
    path = suite_folder(folder, truth)
    plan = read_plan(path).model_copy(update={"repeats": None, "precision": precision})
    (path / "plan.json").write_text(plan.model_dump_json(), "utf-8")
    return comparisons_too_wide(path)


def a_truth(**others: object) -> SuiteTruth:
    """Four blocks: one variant is twice as fast, one hardly faster; runs differ by 3 %."""
    rungs = {**CHECK, "aladin/static": Rung(rate=2.0), "aladin/flat": Rung(rate=1.01)}
    return SuiteTruth(**{"rungs": rungs, "repeats": 4, "noise": 0.03, "metrics": (RATE,), **others})  # type: ignore[arg-type]


def test_what_is_clear_and_large_asks_for_no_more(tmp_path: Path) -> None:
    """An effect that is known to a quarter of itself is known well enough; the other one is not, and A/A never asks."""
    assert too_wide(tmp_path, a_truth(), 0.001) == (SMALL,)


def test_what_is_narrow_enough_asks_for_no_more(tmp_path: Path) -> None:
    """Whether it shows a difference or not."""
    assert too_wide(tmp_path, a_truth(), 0.3) == ()


def test_a_comparison_without_any_run_is_given_up(tmp_path: Path) -> None:
    """Its runs fail, and would go on failing."""
    failing = {(block, "aladin/flat"): ("void", "void") for block in range(1, 5)}
    assert too_wide(tmp_path, a_truth(failing=failing), 0.001) == ()


def test_the_check_asks_for_blocks_where_nothing_else_is_compared(tmp_path: Path) -> None:
    """As in a suite that holds the method against itself."""
    assert too_wide(tmp_path, a_truth(rungs=CHECK), 0.001) == ((AGAIN, "aladin/control"),)
