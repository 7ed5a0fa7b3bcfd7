"""Bounds of ratios to a suite's control: missed, held and undecided where the truth is known."""

from dataclasses import replace
from pathlib import Path

import pytest

from lab.analysis.suite.result import analyse_suite
from lab.cli.expectations import expectation
from lab.cli.suite_checks import SuiteChecks, against_control, ratios_expected
from lab.errors import ExpectationError, ProfileError
from lab.records.suite import SuiteResult
from lab.suite.folder import SuiteFolder
from tests.unit.analysis.suite import suite_folders
from tests.unit.messages import MakeMessage


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A suite of five noisy blocks in which static has 1.25 times the control's rate; flat is compared with static."""
    noisy = replace(suite_folders.small(), noise=0.02, repeats=5)
    return suite_folders.suite_folder(tmp_path / "suites" / "synthetic" / "1", noisy)


@pytest.fixture
def result(folder: Path) -> SuiteResult:
    """Its result."""
    return analyse_suite(folder)


@pytest.mark.parametrize(("bound", "is_held"), [(">=0.9", True), (">=1.6", False), (">=1.25", None)])
def test_a_bound_is_held_or_missed_by_the_whole_interval(
    result: SuiteResult,
    bound: str,
    is_held: bool | None,  # noqa: FBT001
) -> None:
    """Which holds 1.25."""
    text = f"indexing_rate{bound} control"
    checks = against_control([expectation(text)], result)
    name = f"{text} (aladin/static)"
    assert (name in checks.failures, name in checks.undecided) == (is_held is not None, is_held is None)
    assert (checks.failures.get(name) is None) == (is_held is not False)


def test_a_variant_without_a_ratio_to_the_control_leaves_its_bound_undecided(
    tmp_path: Path, result: SuiteResult, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """Compared with another variant, of two blocks, without a verified run, and without noise."""
    wanted = [expectation("indexing_rate>=0.9 control")]
    name = f"{wanted[0].text} (aladin/static)"
    few = suite_folders.suite_folder(tmp_path / "few", replace(suite_folders.small(), noise=0.02, repeats=2))
    lost = {(block, "aladin/static"): ("void", "void") for block in (1, 2, 3)}
    void = suite_folders.suite_folder(tmp_path / "void", suite_folders.small(failing=lost))
    same = suite_folders.suite_folder(tmp_path / "same", suite_folders.small())
    told = [
        against_control(wanted, result).undecided[f"{wanted[0].text} (aladin/flat)"],
        *(against_control(wanted, analyse_suite(each)).undecided[name] for each in (few, void, same)),
    ]
    assert told == [message("control"), message("1.230"), message("verified"), message("1.250")]
    assert capsys.readouterr().out.count("cannot tell") == 7


def test_a_bound_that_lost_blocks_might_undo_is_undecided(result: SuiteResult, message: MakeMessage) -> None:
    """The interval of what is left leaves out 1, and the verdict is *undecided* all the same."""
    doubted = [
        effect.model_copy(update={"verdict": "undecided"}) if effect.variant == "aladin/static" else effect
        for effect in result.effects
    ]
    text = "indexing_rate>=0.9 control"
    checks = against_control([expectation(text)], result.model_copy(update={"effects": tuple(doubted)}))
    assert checks.undecided[f"{text} (aladin/static)"] == message("undo")


def test_a_suite_with_a_missed_bound_does_not_end_well(folder: Path, result: SuiteResult) -> None:
    """What is undecided fails nothing."""
    held, missed = ("indexing_rate>=0.9 control", "indexing_rate>=1.6 control")
    assert SuiteChecks(expectations=(expectation(held),)).checked(SuiteFolder(folder), result) == 0
    with pytest.raises(ExpectationError, match="aladin/static"):
        SuiteChecks(expectations=(expectation(missed),)).checked(SuiteFolder(folder), result)


def test_a_bound_without_a_ratio_or_of_a_figure_that_is_not_compared_is_refused(
    result: SuiteResult, message: MakeMessage
) -> None:
    """Before servers start."""
    with pytest.raises(ProfileError) as refused:
        ratios_expected(["cpu_s_per_million_docs<=60"])
    assert str(refused.value) == message("cpu_s_per_million_docs<=60", "control")
    with pytest.raises(ProfileError) as refused:
        ratios_expected(["cpu_s_per_million_docs<=1.1 baseline"], ("control",))
    assert str(refused.value) == message("cpu_s_per_million_docs<=1.1 baseline", "control")
    with pytest.raises(ProfileError) as refused:
        SuiteChecks(expectations=(expectation("drain_s<=1.1 control"),)).refuse_uncompared(result.plan)
    assert str(refused.value) == message("drain_s<=1.1 control", "synthetic")
