"""What a suite says, from a folder whose every effect is known."""

import json
from pathlib import Path

import pytest

from lab.analysis.suite.comparisons import agreement, of_pair
from lab.analysis.suite.figures import by_variant, value_in
from lab.analysis.suite.report import write_suite_report
from lab.analysis.suite.result import analyse_suite
from lab.errors import ProfileError
from lab.records.result import Metric
from lab.records.suite import Agreement, Effect, MetricKey, SuitePlan, SuiteResult, VariantMetric, Verdict
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
from tests.unit.messages import MakeMessage, Naming


def analysed(folder: Path, **changes: object) -> SuiteResult:
    """What a small suite says."""
    return analyse_suite(suite_folder(folder, small(**changes)))


def figure(result: SuiteResult, variant: str, metric: MetricKey = RATE) -> VariantMetric:
    """One metric of one variant."""
    return by_variant(result.figures, metric)[variant]


def ratio(result: SuiteResult, pair: tuple[str, str], metric: MetricKey = RATE) -> float | None:
    """The ratio of two variants, to three digits."""
    effect = of_pair(result.effects, pair, metric)
    assert effect is not None
    return None if effect.ratio is None else round(effect.ratio, 3)


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> SuiteResult:
    """The suite without noise, analysed once."""
    return analysed(tmp_path_factory.mktemp("exact"), published="aladin-indexing")


def test_figures_are_those_of_the_runs(exact: SuiteResult) -> None:
    """One value for each block, with its unit."""
    rate = figure(exact, "aladin/static")
    assert [round(value or 0) for value in rate.values] == [6255, 6255, 6255]
    assert (round(rate.median or 0), round(rate.low or 0), round(rate.high or 0)) == (6255, 6255, 6255)
    assert rate.unit == "docs/s"
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
    effect = of_pair(result.effects, ("aladin/static", "aladin/control"), RATE)
    assert effect is not None
    assert [round(value, 3) for value in effect.ratios] == [1.25, 1.5, 1.25]
    assert effect.dropped_blocks == 0


def test_the_check_of_the_method_comes_first(exact: SuiteResult) -> None:
    """Whoever reads on must know first whether the control differs from itself."""
    assert (exact.effects[0].variant, exact.effects[0].against) == (AGAIN, "aladin/control")


def test_a_document_model_is_compared_per_entity_and_per_mb_as_well(exact: SuiteResult) -> None:
    """Three times the documents of the same books are no faster indexing of books."""
    pair = ("aladin/flat", "aladin/static")
    assert [ratio(exact, pair, metric) for metric in (RATE, ENTITIES, SOURCE)] == [3.0, 1.0, 1.171]


def test_units_that_do_not_depend_on_documents_are_compared_without_being_asked_for(tmp_path: Path) -> None:
    """A suite that compares rates only would hide what is counting."""
    result = analysed(tmp_path, metrics=(RATE,))
    assert ratio(result, ("aladin/flat", "aladin/static"), ENTITIES) == 1.0
    assert "in entities indexed" in result.answer


def test_the_answer_is_a_sentence_for_each_primary_metric_and_how_far_they_can_be_believed(
    tmp_path: Path, message: MakeMessage
) -> None:
    """What differs in rate, what in cost, then what remains of it; a good A/A check is a row of the table."""
    result = analysed(tmp_path, noise=0.004, seed=11)
    rate, cost, remains = result.answer.split(". ")[:3]
    assert rate == message("3 repeats", "2 of 2", "indexing rate", "flat", "static")
    assert cost == message("3 repeats", "2 of 2", "flat", 67, "static", 20, "control")
    assert remains == message("3 documents in `flat` and 1 in `static`", "entities indexed")


def test_no_difference_is_an_answer(tmp_path: Path, message: MakeMessage) -> None:
    """With how sure it is."""
    rungs = {"aladin/control": Rung(against=None), AGAIN: Rung(), "aladin/static": Rung()}
    result = analysed(tmp_path, rungs=rungs, noise=0.01)
    assert result.answer == message("indexing rate", "3 repeats", "1 same within 5 %")


def test_a_control_that_scatters_leaves_the_method_unproven(tmp_path: Path, message: MakeMessage) -> None:
    """A wide interval that holds no change is no success of the check; nothing else is compared."""
    result = analysed(tmp_path, rungs={"aladin/control": Rung(against=None), AGAIN: Rung()}, noise=0.2)
    assert result.answer == message("indexing rate: 1 undecided", "1 same within 5 %")


def test_warm_up_drains_and_superseded_attempts_never_count(tmp_path: Path) -> None:
    """The first attempt ran at a tenth of the rate; of the warm-up drain not even a folder is left."""
    result = analysed(tmp_path, failing={(2, "aladin/static"): ("void", "verified")})
    assert [round(value or 0) for value in figure(result, "aladin/static").values] == [6255, 6255, 6255]
    assert result.complete


@pytest.mark.parametrize("status", ["void", "broken"])
def test_a_run_that_failed_twice_is_a_block_less(tmp_path: Path, status: str, message: MakeMessage) -> None:
    """Its figures are not known, which is not zero; both comparisons that need it drop the block."""
    result = analysed(tmp_path, failing={(2, "aladin/static"): (status, status)})
    assert [None if value is None else round(value) for value in figure(result, "aladin/static").values] == [
        6255,
        None,
        6255,
    ]
    dropped = {(effect.variant, effect.dropped_blocks) for effect in result.effects if effect.metric == RATE.name}
    assert dropped == {(AGAIN, 0), ("aladin/static", 1), ("aladin/flat", 1)}
    assert result.complete
    (warning,) = [warning for warning in result.warnings if warning.kind == "runs_failed"]
    assert warning.seen == message(2, 1, 12)


@pytest.mark.parametrize(("minutes", "is_complete"), [(None, False), (10, True)])
def test_a_run_whose_repetition_had_no_time_leaves_nothing_to_finish(
    tmp_path: Path, minutes: float | None, *, is_complete: bool
) -> None:
    """Of a limited time each run has ended, and none may begin; a suite with a number of blocks can be resumed."""
    folder = suite_folder(tmp_path, small(failing={(3, "aladin/static"): ("void",)}))
    path = folder / "plan.json"
    plan = SuitePlan.model_validate_json(path.read_bytes())
    path.write_text(plan.model_copy(update={"minutes": minutes}).model_dump_json(), "utf-8")
    assert analyse_suite(folder).complete == is_complete


def test_a_suite_under_way_says_what_it_has(tmp_path: Path, message: MakeMessage) -> None:
    """An interrupted one can be looked at before it is resumed."""
    result = analysed(tmp_path, after=1)
    assert not result.complete
    assert result.repeats == "1 of 3 repeats"
    assert [None if value is None else round(value) for value in figure(result, "aladin/static").values] == [
        6255,
        None,
        None,
    ]
    assert result.answer == message("Nothing", "indexing rate", "CPU per million documents (elasticsearch)")


def test_runs_to_come_are_not_lost(tmp_path: Path) -> None:
    """Four of six blocks have run, and each has both runs: that is no selection."""
    effect = of_pair(analysed(tmp_path, repeats=6, after=4).effects, ("aladin/static", "aladin/control"), RATE)
    assert effect is not None
    assert (len(effect.ratios), effect.dropped_blocks, effect.verdict) == (4, 0, "faster")


def test_the_result_is_written_beside_the_plan(tmp_path: Path) -> None:
    """For programs, and for the report, which is drawn from it."""
    result = analysed(tmp_path)
    assert SuiteResult.model_validate_json((tmp_path / "suite.json").read_bytes()) == result
    assert json.loads((tmp_path / "suite.json").read_text("utf-8"))["answer"] == result.answer


def test_a_scope_of_several_nodes_is_their_sum() -> None:
    """CPU of a cluster is that of all its nodes; what one of them did not tell is not known for the whole."""
    nodes = (
        Metric(name=CPU.name, value=31.0, unit="CPU-s", scope="elasticsearch-1"),
        Metric(name=CPU.name, value=7.0, unit="CPU-s", scope="elasticsearch-2"),
        Metric(name=CPU.name, value=3.0, unit="CPU-s", scope="connect"),
    )
    assert value_in(nodes, CPU) == 38.0
    assert value_in(nodes, MetricKey(name=CPU.name, scope="connect")) == 3.0
    assert value_in(nodes, MetricKey(name=CPU.name, scope="kafka")) is None
    assert value_in((*nodes[1:], nodes[0].model_copy(update={"value": None})), CPU) is None


# --- published figures ----------------------------------------------------------------------------------------------


def test_published_steps_stand_beside_ours(exact: SuiteResult) -> None:
    """Where the source holds both values, whether it compares them or not; what did not run says so."""
    steps = {(step.variant, step.against, step.metric): step for step in exact.published}
    static = steps["aladin/static", "aladin/control", RATE.name]
    assert (round(static.published_ratio, 3), static.agreement) == (1.055, "same direction")
    latency = steps["aladin/static", "aladin/control", LATENCY.name]
    assert (round(latency.published_low or 0, 3), round(latency.published_high or 0, 3)) == (0.538, 0.587)
    assert steps["aladin/nodes-3", "aladin/primaries-2", RATE.name].agreement == "not measured"
    assert steps["aladin/flat", "aladin/static", RATE.name].note == Naming("quotient")


def test_a_comparison_that_only_the_source_draws_is_drawn_too(exact: SuiteResult) -> None:
    """The plan holds flat against static; the source's overall gain is flat against the control."""
    assert ratio(exact, ("aladin/flat", "aladin/control"), RATE) == 3.75
    steps = {(step.variant, step.against, step.metric): step for step in exact.published}
    assert steps["aladin/flat", "aladin/control", RATE.name].agreement == "same direction"


def test_a_comparison_that_only_the_source_draws_is_judged_as_one_of_all(tmp_path: Path) -> None:
    """Two of the plan and one of the source alone, none of which differs: each at 5 %/3, A/A at 5 %."""
    rungs = {
        "aladin/control": Rung(against=None),
        AGAIN: Rung(),
        "aladin/static": Rung(),
        "aladin/flat": Rung(against="aladin/static"),
    }
    result = analysed(tmp_path, rungs=rungs, noise=0.01, published="aladin-indexing")
    levels = {(e.variant, e.against): round(1 - e.confidence, 4) for e in result.effects if e.metric == RATE.name}
    assert levels == {
        (AGAIN, "aladin/control"): 0.05,
        ("aladin/static", "aladin/control"): 0.0167,
        ("aladin/flat", "aladin/static"): 0.0167,
        ("aladin/flat", "aladin/control"): 0.0167,
    }


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
    )


@pytest.mark.parametrize(
    ("published", "effect", "expected"),
    [
        (1.06, one_effect(1.2, 1.1, 1.3, "faster"), "same direction"),
        (0.9, one_effect(0.8, 0.7, 0.9, "slower"), "same direction"),
        (1.06, one_effect(0.8, 0.7, 0.9, "slower"), "opposite"),
        (1.06, one_effect(1.2, 0.9, 1.5, "undecided"), "ours is undecided"),
        (1.06, one_effect(1.0, 0.99, 1.01, "same within 5 %"), "ours is the same"),
        (1.004, one_effect(1.2, 1.1, 1.3, "faster"), "published as no change"),
        (0.96, one_effect(1.2, 1.1, 1.3, "faster"), "published as no change"),
        (1.06, one_effect(1.2, 1.2, 1.2, "too few runs"), "ours has too few runs"),
        (1.06, one_effect(None, 1.2, 1.2, "too few runs"), "not measured"),
        (1.06, None, "not measured"),
    ],
)
def test_agreement_needs_a_difference_of_ours(published: float, effect: Effect | None, expected: Agreement) -> None:
    """A published gain that we cannot detect is neither confirmed nor refuted, and one of 0.4 % is none."""
    assert agreement(published, effect) == expected


@pytest.mark.parametrize(("rate", "expected"), [(1.0, [False]), (1.06, [True])])
def test_a_step_says_whether_our_interval_holds_the_published_ratio(
    tmp_path: Path, rate: float, expected: list[bool]
) -> None:
    """The source has 638.24 ÷ 604.83 = 1.055; ours is 1.00 or 1.06, by 1 or 2 %."""
    rungs = {"aladin/control": Rung(against=None), AGAIN: Rung(), "aladin/static": Rung(rate=rate)}
    result = analysed(tmp_path, rungs=rungs, noise=0.006, published="aladin-indexing", repeats=5)
    steps = [step for step in result.published if (step.variant, step.metric) == ("aladin/static", RATE.name)]
    assert [step.is_inside for step in steps] == expected


def test_a_result_of_version_1_is_read(tmp_path: Path) -> None:
    """Folders of older suites stay readable; their one word for two verdicts claims the weaker of both."""
    analysed(tmp_path, published="aladin-indexing")
    old = json.loads((tmp_path / "suite.json").read_text("utf-8"))
    del old["caveats"]
    old["schema_version"], old["answer"] = 1, "One sentence."
    for effect in old["effects"]:
        del effect["confidence"], effect["smallest_detectable_range"], effect["starts"]
        effect |= {"repeats_for_5_percent": 17, "verdict": "no difference detectable"}
    for step in old["published"]:
        del step["published_low"], step["published_high"], step["is_inside"]
        step["agreement"] = "not detectable"
    (tmp_path / "suite.json").write_text(json.dumps(old), "utf-8")
    assert "<p>One sentence.</p>" in write_suite_report(tmp_path).read_text("utf-8")
    text = (tmp_path / "suite.md").read_text("utf-8")
    assert "| undecided | – | 1.06 | ours is undecided |" in text


# --- refusals -------------------------------------------------------------------------------------------------------


def test_a_folder_without_a_plan_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """In one sentence, with what was expected."""
    with pytest.raises(ProfileError) as caught:
        analyse_suite(tmp_path)
    assert str(caught.value) == message(f"{tmp_path}/plan.json", "runs/suites/aladin-indexing/<suite-id")


def test_a_suite_without_a_finished_run_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """A table of dashes would look like a result."""
    folder = suite_folder(tmp_path, small(after=0))
    with pytest.raises(ProfileError) as caught:
        analyse_suite(folder)
    assert str(caught.value) == message(folder, "./sluice suite", "--repeats", 3, "--resume")


def test_a_verified_run_whose_result_is_gone_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """A figure less would change every effect without a word."""
    folder = suite_folder(tmp_path, small())
    gone = next((folder / "runs").glob("2-1-aladin-static")) / "result.json"
    gone.unlink()
    with pytest.raises(ProfileError) as caught:
        analyse_suite(folder)
    assert str(caught.value) == message(gone)
