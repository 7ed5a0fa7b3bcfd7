"""A run or a suite beside a baseline, and what is expected of their ratio."""

from pathlib import Path

import orjson
import pytest

from lab.analysis.compare import Comparison, Row, Side
from lab.analysis.result import analyse, write_result
from lab.analysis.suite.result import analyse_suite
from lab.analysis.text import NARROW_SPACE
from lab.cli.baseline import Baseline, against_baseline, baseline_of, judged, labels_of
from lab.cli.ci_files import CiFiles
from lab.cli.expectations import expectation
from lab.cli.suite import conclude
from lab.cli.suite_checks import SuiteChecks
from lab.errors import ProfileError, VerificationError
from lab.records.verification import Verification
from lab.suite.folder import SuiteFolder
from tests.unit.analysis.suite import suite_folders
from tests.unit.analysis.synthetic import Truth, run, samples, written
from tests.unit.cli.test_cli_compare import suite_folder
from tests.unit.messages import MakeMessage

PROFILE = {"dataset": {"name": "aladin", "seed": 1}}
VOID = Verification(verified=False, problems=("7 documents are missing",))


def a_run(runs: Path, name: str, labels: dict[str, str], **changes: object) -> Path:
    """A run that has ended, with its result."""
    made = run(Truth()).model_copy(update={"labels": labels, **changes})
    folder = written(runs / "books" / name, made, samples(Truth()), PROFILE)
    write_result(analyse(folder))
    return folder


def chosen(runs: Path, name: str | None, *, optional: bool = False, expect: tuple[str, ...] = ()) -> Baseline | None:
    """The baseline of a command line."""
    wanted = [expectation(text) for text in expect]
    return baseline_of(name, runs / "books", optional=optional, vary=(), expectations=wanted)


def test_the_baseline_is_the_last_verified_run_with_its_name(tmp_path: Path) -> None:
    """A void one is none, nor is one of another name."""
    for number, labels in enumerate(({"baseline": "main"}, {"baseline": "main"}, {"baseline": "other"}, {}), 1):
        a_run(tmp_path, str(number), labels)
    a_run(tmp_path, "5", {"baseline": "main"}, verification=VOID)
    baseline = chosen(tmp_path, "main")
    assert baseline is not None
    assert baseline.path == tmp_path / "books" / "2"


def test_the_baseline_may_be_a_folder(tmp_path: Path) -> None:
    """Such as one that is kept in the repository."""
    folder = a_run(tmp_path / "elsewhere", "1", {})
    baseline = chosen(tmp_path, str(folder))
    assert baseline is not None
    assert baseline.path == folder


def test_a_folder_of_a_void_run_is_no_baseline(tmp_path: Path, message: MakeMessage) -> None:
    """Its figures may be of documents that are missing."""
    folder = a_run(tmp_path, "1", {}, verification=VOID)
    with pytest.raises(ProfileError) as refused:
        chosen(tmp_path, str(folder))
    assert str(refused.value) == message("--baseline", "void", folder=folder)


def test_a_missing_baseline_is_refused_unless_it_is_optional(tmp_path: Path, message: MakeMessage) -> None:
    """Before anything is started."""
    with pytest.raises(ProfileError) as refused:
        chosen(tmp_path, "main")
    assert str(refused.value) == message("--baseline", "main", "label baseline=main", folder=tmp_path)
    assert chosen(tmp_path, "main", optional=True) == Baseline("main", None)


@pytest.mark.parametrize(
    ("optional", "expect", "facts"),
    [(True, (), ("--baseline-optional",)), (False, ("drain_s<=1.1 baseline",), ("drain_s<=1.1 baseline",))],
)
def test_what_needs_a_baseline_is_refused_without(
    tmp_path: Path, message: MakeMessage, *, optional: bool, expect: tuple[str, ...], facts: tuple[str, ...]
) -> None:
    """Without a baseline it would check nothing."""
    with pytest.raises(ProfileError) as refused:
        chosen(tmp_path, None, optional=optional, expect=expect)
    assert str(refused.value) == message(*facts)


def test_an_input_that_there_is_not_is_refused_beforehand(tmp_path: Path, message: MakeMessage) -> None:
    """With what was meant."""
    a_run(tmp_path, "1", {"baseline": "main"})
    with pytest.raises(ProfileError) as refused:
        baseline_of("main", tmp_path / "books", optional=False, vary=["kernal"], expectations=())
    assert str(refused.value) == message("--vary", "kernal", "kernel")


def test_one_run_beside_one_fails_nothing(tmp_path: Path) -> None:
    """Nothing tells what else has changed: the figures stand beside each other, and the bound is undecided."""
    first, second = (a_run(tmp_path, name, {}) for name in ("1", "2"))
    checks, table = against_baseline(Baseline("main", first), second, [expectation("indexing_rate>=0.95 baseline")])
    assert (checks.failures, list(checks.undecided)) == ({}, ["indexing_rate>=0.95 baseline"])
    assert "| Indexing rate (primaries) | 5,000/s | 5,000/s | 1.00 | – |" in table.splitlines()


def test_the_table_for_a_pull_request_names_runs_without_the_paths_of_a_machine(tmp_path: Path) -> None:
    """Nor that of a baseline that is a folder."""
    first, second = (a_run(tmp_path, name, {}) for name in ("1", "2"))
    beside = chosen(tmp_path, str(first))
    assert beside is not None
    _, table = against_baseline(beside, second, [])
    assert (str(tmp_path) in table, "2, beside 1" in table.splitlines()) == (False, True)


def test_without_a_baseline_yet_nothing_is_told(tmp_path: Path) -> None:
    """Only that there is none."""
    checks, table = against_baseline(Baseline("main", None), tmp_path, [expectation("drain_s<=1.1 baseline")])
    assert (checks.failures, list(checks.undecided)) == ({}, ["drain_s<=1.1 baseline"])
    assert "there is no baseline main yet" in table


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.96, 1.02, "held"), (0.90, 1.02, "undecided"), (0.80, 0.94, "missed"), (None, None, "undecided")],
)
def test_a_bound_is_missed_only_where_the_whole_interval_lies_beyond_it(
    low: float | None, high: float | None, expected: str
) -> None:
    """A difference that may be chance fails no job."""
    side = Side("a", {}, {}, ())
    row = Row("indexing_rate_docs_per_s", "primaries", "docs/s", 5000.0, 4900.0, ratio=0.98, low=low, high=high)
    comparison = Comparison(side, side, {}, {}, (row,))
    failure, why = judged(expectation("indexing_rate >= 0.95 baseline"), comparison)
    assert ("missed" if failure else "undecided" if why else "held") == expected


def test_an_end_near_the_bound_is_not_rounded_to_it() -> None:
    """It was said that an interval that ends at 0.950 misses 0.95."""
    side = Side("a", {}, {}, ())
    row = Row("indexing_rate_docs_per_s", "primaries", "docs/s", 5000.0, 4700.0, ratio=0.94, low=0.93, high=0.9498)
    failure, _ = judged(expectation("indexing_rate>=0.95 baseline"), Comparison(side, side, {}, {}, (row,)))
    assert failure == "indexing_rate>=0.95 baseline: the ratio was 0.940 (0.930000 to 0.949800)"


def test_a_figure_of_0_was_measured() -> None:
    """Nothing is a ratio to 0; it was said that it had not been measured in both."""
    side = Side("a", {}, {}, ())
    row = Row("bulk_retries", "run", "requests", 0.0, 4.0)
    told = judged(expectation("bulk_retries<=1.1 baseline"), Comparison(side, side, {}, {}, (row,)))
    assert told == (None, f"no ratio: it was 4{NARROW_SPACE}requests, and 0{NARROW_SPACE}requests before")


def test_a_ratio_that_is_the_same_in_every_start_has_no_spread(tmp_path: Path) -> None:
    """Such as a size; it was said that nothing tells what else has changed."""
    for name in ("a", "b"):
        suite_folder(tmp_path, name, (401, 409, 397), slim=(401, 409, 397))
    first, second = (tmp_path / "suites" / "small" / name for name in ("a", "b"))
    checks, _ = against_baseline(Baseline("main", first), second, [expectation("store_size_bytes<=1.5 baseline")])
    why = "the ratio was 1.000, and it has no interval, since it was the same in every start"
    assert list(checks.undecided.values()) == [why]


def test_a_ratio_of_other_inputs_is_undecided(tmp_path: Path) -> None:
    """By the names that `compare` has for them; another commit is what a baseline is for."""
    first = a_run(tmp_path, "1", {})
    environment = run(Truth()).environment.model_copy(update={"cpu_cores": 64, "git_commit": "abc"})
    second = a_run(tmp_path, "2", {}, environment=environment)
    checks, _ = against_baseline(Baseline("main", first), second, [expectation("indexing_rate>=0.95 baseline")])
    assert list(checks.undecided.values()) == ["inputs differ: cpu_cores"]


def test_results_that_cannot_be_read_are_no_baseline(tmp_path: Path) -> None:
    """Such as one of another version."""
    folder = a_run(tmp_path, "1", {"baseline": "main"})
    (folder / "result.json").write_bytes(orjson.dumps({"labels": {"baseline": "main"}}))
    assert chosen(tmp_path, "main", optional=True) == Baseline("main", None)


def test_a_suite_has_intervals_beside_the_control_of_both(tmp_path: Path) -> None:
    """In the second session all takes twice as long, and the variant half as long against the control as before."""
    suite_folder(tmp_path, "a", (401, 409, 397), slim=(401, 409, 397))
    suite_folder(tmp_path, "b", (802, 818, 794), slim=(398, 422, 394))
    first, second = (tmp_path / "suites" / "small" / name for name in ("a", "b"))
    wanted = [expectation(f"indexing_latency_ms {bound} baseline") for bound in ("<= 0.9", ">= 0.95")]
    checks, table = against_baseline(Baseline("main", first), second, wanted)
    assert (list(checks.failures), checks.undecided) == ([each.text for each in wanted], {})
    assert [failure is None for failure in checks.failures.values()] == [True, False]
    assert "faster by 50 %" in table


def test_two_commits_of_sluice_have_no_interval_whatever_starts_they_have(tmp_path: Path) -> None:
    """The new one slows control and variant alike, which no ratio to the control shows; more starts were asked for."""
    suite_folder(tmp_path, "a", (401, 409, 397), slim=(401, 409, 397), commit="aaa")
    suite_folder(tmp_path, "b", (802, 818, 794), slim=(802, 818, 794), commit="bbb")
    first, second = (tmp_path / "suites" / "small" / name for name in ("a", "b"))
    checks, table = against_baseline(
        Baseline("main", first), second, [expectation("indexing_latency_ms<=1.1 baseline")]
    )
    [why] = checks.undecided.values()
    assert checks.failures == {}
    assert "the ratio was 2.000" in why
    assert ["the controls differ, too (commit)" in text for text in (why, table)] == [True, True]
    assert ["--starts 3" in text for text in (why, table.rpartition("slim, beside")[2])] == [False, False]


def test_a_variant_without_enough_to_tell_is_undecided(tmp_path: Path) -> None:
    """Whether it has too few starts, or no verified run at all: an expectation that nothing judged is not met."""
    suite_folder(tmp_path, "a", (401, 409, 397), slim=(401, 409, 397))
    suite_folder(tmp_path, "b", (802, 818, 794), slim=(802, 818))
    first, second = (tmp_path / "suites" / "small" / name for name in ("a", "b"))
    wanted = [expectation("indexing_latency_ms<=1.5 baseline")]
    checks, _ = against_baseline(Baseline("main", first), second, wanted, unverified=["flat"])
    assert checks.failures == {}
    assert list(checks.undecided) == [wanted[0].text, f"{wanted[0].text} (flat)"]


def test_a_variant_that_the_baseline_lacks_is_undecided(tmp_path: Path) -> None:
    """A new one, or one that was void then: the expectation was held by others alone."""
    suite_folder(tmp_path, "a", (401, 409, 397), slim=(401, 409, 397))
    suite_folder(tmp_path, "b", (802, 818, 794), slim=(398, 422, 394))
    first, second = (tmp_path / "suites" / "small" / name for name in ("a", "b"))
    wanted = [expectation("indexing_latency_ms<=1.5 baseline")]
    checks, _ = against_baseline(Baseline("main", first), second, wanted, verified=["slim", "new"])
    assert checks.failures == {wanted[0].text: None}
    assert checks.undecided == {f"{wanted[0].text} (new)": "the baseline has no run of it"}


def test_a_suite_of_which_only_the_warm_up_is_verified_is_void(tmp_path: Path) -> None:
    """It ended with 0, and was a baseline: drains that warm servers count for nothing."""
    lost = {(block, "aladin/control"): ("void", "void") for block in (1, 2, 3)}
    folder = suite_folders.suite_folder(tmp_path / "suites" / "synthetic" / "1", suite_folders.small(failing=lost))
    with pytest.raises(VerificationError, match="no run of its control is verified"):
        conclude(SuiteFolder(folder), tmp_path, open_it=False, as_json=False)
    assert labels_of(folder) is None


def test_a_suite_is_verified_as_far_as_its_control_is(tmp_path: Path) -> None:
    """A variant may have lost all its documents, beside a check mark."""
    lost = {(block, "aladin/static"): ("void", "void") for block in (1, 2, 3)}
    folder = suite_folders.suite_folder(tmp_path / "suites" / "synthetic" / "1", suite_folders.small(failing=lost))
    summary = tmp_path / "summary.md"
    assert SuiteChecks(CiFiles(None, summary)).checked(SuiteFolder(folder), analyse_suite(folder)) == 0
    assert [line for line in summary.read_text("utf-8").splitlines() if "✓" in line] == ["- ✓ control verified"]
