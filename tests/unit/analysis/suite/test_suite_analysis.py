"""What a suite says, from a folder whose every effect is known."""

import json
from pathlib import Path

import pytest

from lab.analysis.suite.agreement import Agreement, agreement
from lab.analysis.suite.comparisons import effect_on, is_detected
from lab.analysis.suite.figures import value_asked
from lab.analysis.suite.result import analyse_suite
from lab.errors import ProfileError
from lab.records import Metric
from lab.records.suite import Effect, MetricAsked, SuiteResult, VariantMetric, Verdict
from tests.unit.analysis.suite.suite_folders import (
    AGAIN,
    CPU,
    ENTITIES,
    LATENCY,
    RATE,
    SOURCE,
    Rung,
    small,
    suite_folder,
)


def analysed(folder: Path, **changes: object) -> SuiteResult:
    """What a small suite says."""
    return analyse_suite(suite_folder(folder, small(**changes)))


def figure(result: SuiteResult, variant: str, asked: MetricAsked = RATE) -> VariantMetric:
    """One metric of one variant."""
    return next(
        found
        for found in result.figures
        if (found.variant, found.name, found.scope) == (variant, asked.name, asked.scope)
    )


def ratio(result: SuiteResult, pair: tuple[str, str], asked: MetricAsked = RATE) -> float | None:
    """The ratio of two variants, to three digits."""
    found = effect_on(result.effects, pair, asked)
    assert found is not None
    return None if found.ratio is None else round(found.ratio, 3)


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> SuiteResult:
    """The suite without noise, analysed once."""
    return analysed(tmp_path_factory.mktemp("exact"), published="aladin-indexing")


def test_figures_are_those_of_the_runs(exact: SuiteResult) -> None:
    """One value for each block, with its unit."""
    found = figure(exact, "aladin/static")
    assert [round(value or 0) for value in found.values] == [6255, 6255, 6255]
    assert (round(found.median or 0), round(found.low or 0), round(found.high or 0)) == (6255, 6255, 6255)
    assert found.unit == "docs/s"
    assert figure(exact, "aladin/static", CPU).unit == "CPU-s"


def test_the_effect_that_is_put_in_comes_out(exact: SuiteResult) -> None:
    """Each against what its plan compares it with."""
    assert ratio(exact, ("aladin/static", "aladin/control"), RATE) == 1.25
    assert ratio(exact, ("aladin/static", "aladin/control"), LATENCY) == 0.5
    assert ratio(exact, (AGAIN, "aladin/control"), RATE) == 1


TWO_CONTROLS = {
    "aladin/control": Rung(against=None),
    AGAIN: Rung(rate=1.44),
    "aladin/static": Rung(rate=1.5),
    "aladin/flat": Rung(against="aladin/static", rate=3.0),
}


def test_what_is_compared_with_a_control_that_ran_twice_is_compared_with_both_runs(tmp_path: Path) -> None:
    """Their geometric mean scatters less than one run does; what has another reference keeps it."""
    result = analysed(tmp_path, rungs=TWO_CONTROLS)
    assert ratio(result, ("aladin/static", "aladin/control")) == 1.25
    assert ratio(result, ("aladin/flat", "aladin/static")) == 2.0
    assert ratio(result, (AGAIN, "aladin/control")) == 1.44


def test_one_run_of_the_control_is_reference_enough(tmp_path: Path) -> None:
    """A block is not given up where one of both failed."""
    result = analysed(tmp_path, rungs=TWO_CONTROLS, failing={(2, AGAIN): ("void", "void")})
    found = effect_on(result.effects, ("aladin/static", "aladin/control"), RATE)
    assert found is not None
    assert [round(value, 3) for value in found.ratios] == [1.25, 1.5, 1.25]
    assert found.dropped_blocks == 0


def test_the_check_of_the_method_comes_first(exact: SuiteResult) -> None:
    """Whoever reads on must know first whether the control differs from itself."""
    assert (exact.effects[0].variant, exact.effects[0].against) == (AGAIN, "aladin/control")
    assert exact.conclusions[0].startswith("`control (again)` against `control` (A/A: the same profile twice): ")


def test_a_document_model_is_compared_per_entity_and_per_mb_as_well(exact: SuiteResult) -> None:
    """Three times the documents of the same books are no faster indexing of books."""
    pair = ("aladin/flat", "aladin/static")
    assert [ratio(exact, pair, asked) for asked in (RATE, ENTITIES, SOURCE)] == [3.0, 1.0, 1.171]
    assert exact.conclusions[-1].endswith(
        " An entity (book) is 3 documents here and 1 there: counting alone makes the rate per document 3.00 times, and"
        " what one document takes 0.33 times; what remains of the rate is 1.00 per entity (book)"
        " (no difference detectable) and 1.17 per MB (faster)."
    )


def test_units_that_do_not_depend_on_documents_are_compared_without_being_asked_for(tmp_path: Path) -> None:
    """A suite that compares rates only would hide what is counting."""
    result = analysed(tmp_path, metrics=(RATE,))
    assert ratio(result, ("aladin/flat", "aladin/static"), ENTITIES) == 1.0
    assert "per entity (book)" in result.answer


def test_the_answer_is_two_sentences_from_the_effects(tmp_path: Path) -> None:
    """What differs, then how far that can be believed and what remains of it."""
    result = analysed(tmp_path, noise=0.004, seed=11)
    first, second = result.answer.split(". ")[:2]
    assert first.startswith("At 3 repeats, 2 of 2 comparisons show a difference in indexing rate: `flat` ")
    assert second.startswith("The control against itself (A/A) shows none, as it must: ")
    assert "counted per entity (book) instead of per document, `flat` is " in second


def test_no_difference_is_an_answer(tmp_path: Path) -> None:
    """With what would have been seen."""
    rungs = {"aladin/control": Rung(against=None), AGAIN: Rung(), "aladin/static": Rung()}
    result = analysed(tmp_path, rungs=rungs, noise=0.01)
    assert result.answer.startswith(
        "No difference in indexing rate is detectable in the one comparison at 3 repeats. The control against itself"
        " (A/A) shows none, as it must: "
    )
    assert "would have shown" in result.answer


def test_warm_up_drains_and_superseded_attempts_never_count(tmp_path: Path) -> None:
    """The first attempt ran at a tenth of the rate; of the warm-up drain not even a folder is left."""
    result = analysed(tmp_path, failing={(2, "aladin/static"): ("void", "verified")})
    assert [round(value or 0) for value in figure(result, "aladin/static").values] == [6255, 6255, 6255]
    assert result.complete


@pytest.mark.parametrize("status", ["void", "broken"])
def test_a_run_that_failed_twice_is_a_block_less(tmp_path: Path, status: str) -> None:
    """Its figures are not known, which is not zero; both comparisons that need it drop the block."""
    result = analysed(tmp_path, failing={(2, "aladin/static"): (status, status)})
    assert [None if value is None else round(value) for value in figure(result, "aladin/static").values] == [
        6255,
        None,
        6255,
    ]
    dropped = {(found.variant, found.dropped_blocks) for found in result.effects if found.metric == RATE.name}
    assert dropped == {(AGAIN, 0), ("aladin/static", 1), ("aladin/flat", 1)}
    assert result.complete
    (warning,) = [warning for warning in result.warnings if warning.kind == "runs_failed"]
    assert warning.seen == "attempts not verified: static 2; 1 of 12 planned runs have no figures for it"


def test_a_suite_under_way_says_what_it_has(tmp_path: Path) -> None:
    """An interrupted one can be looked at before it is resumed."""
    result = analysed(tmp_path, after=1)
    assert not result.complete
    assert result.repeats == "1 of 3 repeats"
    assert [None if value is None else round(value) for value in figure(result, "aladin/static").values] == [
        6255,
        None,
        None,
    ]
    assert result.answer.startswith("There are too few verified runs to compare anything.")


def test_the_result_is_written_beside_the_plan(tmp_path: Path) -> None:
    """For programs, and for the report, which is drawn from it."""
    result = analysed(tmp_path)
    assert SuiteResult.model_validate_json((tmp_path / "suite.json").read_bytes()) == result
    assert json.loads((tmp_path / "suite.json").read_text("utf-8"))["answer"] == result.answer


def test_a_scope_of_several_nodes_is_their_sum() -> None:
    """CPU of a cluster is that of all its nodes; what one of them did not tell is not known for the whole."""
    seen = (
        Metric(name=CPU.name, value=31.0, unit="CPU-s", scope="elasticsearch-1"),
        Metric(name=CPU.name, value=7.0, unit="CPU-s", scope="elasticsearch-2"),
        Metric(name=CPU.name, value=3.0, unit="CPU-s", scope="connect"),
    )
    assert value_asked(seen, CPU) == 38.0
    assert value_asked(seen, MetricAsked(name=CPU.name, scope="connect")) == 3.0
    assert value_asked(seen, MetricAsked(name=CPU.name, scope="kafka")) is None
    assert value_asked((*seen[1:], seen[0].model_copy(update={"value": None})), CPU) is None


# --- published figures ----------------------------------------------------------------------------------------------


def test_published_steps_stand_beside_ours(exact: SuiteResult) -> None:
    """Where the source holds both values, whether it compares them or not; what did not run says so."""
    steps = {(step.variant, step.against, step.metric): step for step in exact.published}
    static = steps["aladin/static", "aladin/control", RATE.name]
    assert (round(static.published_ratio, 3), static.agreement) == (1.055, "same direction")
    assert steps["aladin/nodes-3", "aladin/primaries-2", RATE.name].agreement == "not measured"
    assert steps["aladin/flat", "aladin/static", RATE.name].note == (
        "The source does not compare these two; the quotient is that of its values."
    )


def test_a_comparison_that_only_the_source_draws_is_drawn_too(exact: SuiteResult) -> None:
    """The plan holds flat against static; the source's overall gain is flat against the control."""
    assert ratio(exact, ("aladin/flat", "aladin/control"), RATE) == 3.75
    steps = {(step.variant, step.against, step.metric): step for step in exact.published}
    assert steps["aladin/flat", "aladin/control", RATE.name].agreement == "same direction"


def one_effect(ratio: float | None, low: float, high: float, verdict: Verdict) -> Effect:
    """An effect."""
    return Effect(
        variant="a",
        against="b",
        metric=RATE.name,
        scope=RATE.scope,
        ratios=(),
        dropped_blocks=0,
        ratio=ratio,
        low=low,
        high=high,
        verdict=verdict,
        smallest_detectable=None,
        repeats_for_5_percent=None,
    )


@pytest.mark.parametrize(
    ("published", "found", "expected"),
    [
        (1.06, one_effect(1.2, 1.1, 1.3, "faster"), "same direction"),
        (0.9, one_effect(0.8, 0.7, 0.9, "slower"), "same direction"),
        (1.06, one_effect(0.8, 0.7, 0.9, "slower"), "opposite"),
        (1.06, one_effect(1.2, 0.9, 1.5, "no difference detectable"), "not detectable"),
        (1.06, one_effect(1.2, 1.2, 1.2, "too few runs"), "not detectable"),
        (1.06, one_effect(None, 1.2, 1.2, "too few runs"), "not measured"),
        (1.06, None, "not measured"),
    ],
)
def test_agreement_needs_a_difference_of_ours(published: float, found: Effect | None, expected: Agreement) -> None:
    """A published gain that we cannot detect is neither confirmed nor refuted."""
    assert agreement(published, found) == expected


def test_a_verdict_that_its_interval_contradicts_is_none() -> None:
    """Whoever writes both must agree with himself; a reader sees the interval."""
    assert not is_detected(one_effect(1.1, 0.9, 1.3, "faster"))


# --- refusals -------------------------------------------------------------------------------------------------------


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    """In one sentence, with what was expected."""
    with pytest.raises(ProfileError) as caught:
        analyse_suite(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/plan.json: cannot be read: No such file or directory; expected a suite's folder, such as"
        " runs/suites/aladin-indexing/<suite-id>"
    )


def test_a_verified_run_whose_result_is_gone_is_refused(tmp_path: Path) -> None:
    """A figure less would change every effect without a word."""
    folder = suite_folder(tmp_path, small())
    gone = next((folder / "runs").glob("2-1-aladin-static")) / "result.json"
    gone.unlink()
    with pytest.raises(ProfileError) as caught:
        analyse_suite(folder)
    assert str(caught.value) == (
        f"{gone}: cannot be read: No such file or directory; expected the result of a verified run"
    )
