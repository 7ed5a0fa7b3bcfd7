"""A screening: its design, what it does in its time, and that what it says of each setting is so."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from lab.analysis.suite.figures import CPU_PER_DOCUMENT, figures
from lab.analysis.suite.folder import SuiteRecords
from lab.analysis.tune.goals import METRICS, compared_metrics, parsed_goal
from lab.analysis.tune.report import table_of_screening, tune_report, write_tune_report
from lab.analysis.tune.result import analyse_tune
from lab.analysis.tune.screening import group_of, rate_of, told_groups
from lab.errors import ProfileError
from lab.profiles.spaces import Start
from lab.records.suite import VariantMetric
from lab.records.tune import Candidate, Gain, MixedEffect, TunePlan
from lab.suite.durations import NoTimeError
from lab.tune.design import plackett_burman, two_level_block
from lab.tune.folder import TuneFolder
from lab.tune.plan import SCREENING_WINDOW_S
from lab.tune.screening import Screening, of_two_levels, what_it_can_tell
from lab.tune.search import Search, Times
from tests.unit.messages import MakeMessage, Naming
from tests.unit.tune.benches import BEGUN_S, Bench, Listening, execution
from tests.unit.tune.simulated import GOAL
from tests.unit.tune.worlds import KNOWN
from tests.worlds.screens import BUSY, RUN_S, WARM_UP_S, ScreenedWorld, said

NAMES = tuple("abcdefghi")


# --- the design -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factors", "runs"), [(1, 4), (3, 4), (4, 12), (11, 12), (12, 20), (19, 20), (23, 24), (31, 32), (40, 44), (67, 68)]
)
def test_a_design_has_each_setting_at_either_level_as_often_whatever_the_others_are(factors: int, runs: int) -> None:
    """Its columns are orthogonal, so that no setting's effect is in that of another one; the start is one run."""
    levels = 2 * plackett_burman(factors).astype(int) - 1
    assert np.array_equal(levels.T @ levels, runs * np.eye(factors))
    assert np.array_equal(levels.sum(axis=0), np.zeros(factors))
    assert sum((row == -1).all() for row in levels) >= 1


@pytest.mark.parametrize("factors", [4, 8, 12, 20, 30])
def test_a_design_has_no_column_that_is_the_product_of_two_others(factors: int) -> None:
    """What two settings do to each other would all be in the effect of a third; 60 % at most are."""
    levels = 2 * plackett_burman(factors).astype(int) - 1
    for one, other, third in combinations(range(factors), 3):
        assert abs((levels[:, one] * levels[:, other] * levels[:, third]).sum()) <= 0.6 * len(levels)


def test_a_block_and_its_mirror_image_keep_interactions_out_of_single_effects() -> None:
    """What two settings do to each other is the same in both, and what one does has the other sign."""
    blocks = [[[name in each for name in NAMES] for each in two_level_block(NAMES, number, 7)] for number in (0, 1)]
    levels = 2 * np.array([row for block in blocks for row in block], dtype=int) - 1
    for one in range(len(NAMES)):
        for other in range(one):
            assert not (levels.T @ (levels[:, one] * levels[:, other])).any()


def test_further_blocks_and_other_seeds_draw_other_columns() -> None:
    """So that no setting is always confounded with the same others."""
    first, third, of_seed = (set(two_level_block(NAMES, number, seed)) for number, seed in [(0, 1), (2, 1), (0, 2)])
    assert first != third
    assert first != of_seed


def test_a_design_has_no_more_columns_than_the_largest(message: MakeMessage) -> None:
    """Sixty-seven settings."""
    with pytest.raises(ProfileError) as refusal:
        plackett_burman(68)
    assert str(refusal.value) == message("--space", 68, 67)


def test_a_tune_that_is_too_short_for_all_values_begins_with_a_screening() -> None:
    """Of the first value of each knob: 13 candidates need 18 runs, and 10 minutes hold 15 beside a confirmation."""
    search = Search(KNOWN.candidates, GOAL, ())
    knobs = [values[1] for values in search.values]
    short = search.next_stage([], Times(left_s=500, budget_s=600, run_s=18))
    longer = search.next_stage([], Times(left_s=800, budget_s=900, run_s=18))
    assert short is not None
    assert longer is not None
    assert [set(block) for block in short.blocks] == [set(two_level_block(knobs, 0, search.seed))]
    assert any(len({name.partition("=")[0] for name in each}) < len(knobs) for each in longer.combinations)
    assert any(not set(each) <= set(knobs) for each in longer.combinations)


# --- levels ---------------------------------------------------------------------------------------------------------


def a_candidate(setting: str, value: object, **requires: int) -> Candidate:
    """A candidate."""
    return Candidate.model_validate(
        {"name": f"{setting}={value}", "setting": setting, "value": value, "requires": requires}
    )


VALUES = (
    a_candidate("tasks", 2, partitions=2),
    a_candidate("tasks", 4, partitions=4),
    a_candidate("batch", 5000),
    a_candidate("batch", 500),
    a_candidate("refresh", "30s"),
    a_candidate("refresh", "5s"),
    a_candidate("partitions", 4),
)
AT_START = {"tasks": 1, "batch": 2000, "refresh": "1s"}


def test_a_setting_has_the_value_that_is_farthest_from_the_start(message: MakeMessage) -> None:
    """By its factor; of words the first one. What another one moves has no effect that could be told apart."""
    kept, left = of_two_levels(VALUES, AT_START)
    assert [each.name for each in kept] == ["tasks=4", "batch=500", "refresh=30s"]
    assert {each.name: each.reason for each in left} == {
        **dict.fromkeys(("tasks=2", "batch=5000", "refresh=5s"), message("--try")),
        "partitions=4": message("tasks=4"),
    }


def test_a_value_that_the_command_line_names_is_tried(message: MakeMessage) -> None:
    """In place of the farthest; one that nobody knows is refused."""
    kept, _ = of_two_levels(VALUES, AT_START, ("batch=5000",))
    assert "batch=5000" in {each.name for each in kept}
    with pytest.raises(ProfileError) as refusal:
        of_two_levels(VALUES, AT_START, ("batch=50000",))
    assert str(refusal.value) == message("--try", "batch=50000", "batch=5000")


def test_two_values_of_one_setting_are_refused(message: MakeMessage) -> None:
    """A screening has one of each; the second was dropped without a word."""
    with pytest.raises(ProfileError) as refusal:
        of_two_levels(VALUES, AT_START, ("batch=5000", "batch=500"))
    assert str(refusal.value) == message("--try", "batch=5000", "batch=500")


@pytest.mark.parametrize(
    ("settings", "start", "kept"),
    [
        pytest.param({"a": {"b": 4}, "b": {"a": 4}}, {}, ["a"], id="each moves the other"),
        pytest.param({"c": {}, "b": {"c": 4}, "a": {"b": 4}}, {}, ["c", "a"], id="what is left out moves nothing"),
        pytest.param({"a": {"b": 2}, "b": {}}, {"b": 2}, ["a", "b"], id="what is required is there"),
        pytest.param({"a": {"b": 4}, "b": {}}, {"b": 4}, ["a"], id="the other value is too small"),
    ],
)
def test_a_setting_is_left_out_only_where_one_that_is_tried_moves_it(
    settings: Mapping[str, Mapping[str, int]], start: Mapping[str, int], kept: Sequence[str]
) -> None:
    """Both of a pair were left out, and none was told."""
    found, _ = of_two_levels([a_candidate(name, 3, **requires) for name, requires in settings.items()], start)
    assert [each.setting for each in found] == kept


# --- what is said ---------------------------------------------------------------------------------------------------


def an_effect(low: float | None, high: float | None, rate: Gain | None = None) -> MixedEffect:
    """An effect with this interval."""
    return MixedEffect(candidate="a", ratio=1.0, low=low, high=high, runs=9, rate=rate)


@pytest.mark.parametrize(
    ("low", "high", "group"),
    [
        (1.16, 1.9, "matters"),
        (1.14, 1.9, "not told"),
        (0.5, 0.84, "matters"),
        (0.5, 0.86, "not told"),
        (0.86, 1.14, "does not matter"),
        (0.86, 1.16, "not told"),
        (0.84, 1.14, "not told"),
        (None, None, "not told"),
    ],
)
def test_a_setting_is_told_where_all_of_its_interval_is_beyond_15_percent_or_within(
    low: float | None, high: float | None, group: str
) -> None:
    """An estimate alone says nothing."""
    assert group_of(an_effect(low, high)) == group


@pytest.mark.parametrize(
    ("low", "high", "is_told"),
    [(1.01, 3.0, True), (0.3, 0.99, True), (0.9, 1.1, True), (0.8, 1.3, False), (None, None, False)],
)
def test_a_rate_is_shown_where_its_interval_says_something(
    low: float | None, high: float | None, *, is_told: bool
) -> None:
    """Which way it goes, or that it is small."""
    rate = Gain(ratio=1.0, low=low, high=high)
    assert (rate_of(an_effect(1.2, 1.3, rate)) is not None) is is_told


def test_the_headline_counts_settings_in_three_groups(message: MakeMessage) -> None:
    """One that never came to a figure could not be told; runs that tell none apart say so."""
    effects = [an_effect(1.2, 1.3), an_effect(0.9, 1.1), an_effect(0.9, 1.1), an_effect(0.9, 1.3)]
    assert told_groups(effects, 5, 24) == message(5, 1, "(a)", 2, 24)
    assert told_groups([], 9, 7) == message("Not known", 7, 9)


def test_a_plan_says_what_its_runs_can_tell(message: MakeMessage) -> None:
    """By the width of intervals to expect; too few give none."""
    assert what_it_can_tell(9, 25) == message(25, 14, 15)
    assert what_it_can_tell(9, 200) == message(200, 4, 15)
    assert what_it_can_tell(9, 12) == message("only what is large", 12, 17)
    assert what_it_can_tell(3, 5) == message("too short", 5, 6)


def test_as_many_runs_as_are_said_to_tell_what_changes_nothing_do() -> None:
    """In four of five cases: within 15 % is within on either side."""
    flat = ScreenedWorld(alone=dict.fromkeys(NAMES, 1.0), drift=0.0)
    needed = int(re.findall(r"it takes (\d+) runs", what_it_can_tell(9, 25))[0])
    # Each mirrored block has the start once more.
    found = said(flat, (WARM_UP_S + RUN_S * (needed + 1.5)) / 60, 200)
    told = [found.groups[name]["does not matter"] / 200 for name in found.groups]
    assert fmean(told) >= 0.8


@pytest.mark.parametrize("between", [1.5, 2.5])
@pytest.mark.parametrize(("settings", "runs"), [(4, 12), (8, 12), (8, 14), (8, 16), (9, 14), (12, 20), (12, 24)])
def test_what_pairs_of_settings_do_to_each_other_is_in_no_other_effect(
    settings: int, runs: int, between: float
) -> None:
    """Nor before the mirror image has run, where runs hardly scatter: 30 of 100 put a setting into a wrong group."""
    names = [f"s{number}" for number in range(settings)]
    pairs = {frozenset(names[:2]): between, **({frozenset(names[2:4]): 1 / between} if settings > 4 else {})}
    world = ScreenedWorld(
        alone=dict.fromkeys(names, 1.0) | dict.fromkeys(names[:2], 1.3), pairs=pairs, noise=0.03, drift=0.03
    )
    found = said(world, (WARM_UP_S + RUN_S * (runs + 0.5)) / 60, 100)
    print(f"{found.false_matters:.2f} {found.false_does_not:.2f} {min(found.held.values()):.2f}")  # noqa: T201
    assert max(found.false_matters, found.false_does_not) <= 0.05
    assert min(found.held.values()) >= 0.93


@pytest.mark.parametrize("minutes", [8, 10, 20, 60])
def test_what_is_said_of_settings_is_so(minutes: float) -> None:
    """In 95 of 100 screenings of no setting anything false; 60 % is always found, and in an hour all of 5 % or less."""
    found = said(BUSY, minutes, 300)
    print(f"{minutes} min: {found.false_matters:.3f} {found.false_does_not:.3f}")  # noqa: T201 - the figures
    assert max(found.false_matters, found.false_does_not) <= 0.05
    assert min(found.groups[name]["matters"] for name in ("batch=1", "replicas=1")) >= 0.95 * 300
    if minutes == 60:
        assert (
            min(found.groups[name]["does not matter"] for name in ("codec=1", "in_flight=1", "flush=1")) >= 0.95 * 300
        )


@pytest.mark.parametrize("runs", [5, 6, 7, 8, 9, 11])
def test_few_runs_tell_what_is_large_and_hardly_anything_false(runs: int) -> None:
    """Each setting by itself, the others as noise: nine runs always find what makes it 2.5 times as cheap."""
    worlds = [
        replace(BUSY, noise=0.05),
        ScreenedWorld(alone=dict.fromkeys(NAMES, 1.14)),
        ScreenedWorld(alone=dict.fromkeys(NAMES, 1.1) | {NAMES[0]: 0.4}, noise=0.04),
        ScreenedWorld(alone=dict.fromkeys(NAMES, 1.1) | {NAMES[0]: 0.4, NAMES[1]: 2.0}, noise=0.04),
    ]
    minutes = (WARM_UP_S + RUN_S * (runs + 0.5)) / 60
    found = [said(world, minutes, 120) for world in worlds]
    for one in found:
        print(f"{runs} runs: {one.false_matters:.3f} {one.false_does_not:.3f}")  # noqa: T201 - the figures
    assert max(max(one.false_matters, one.false_does_not) for one in found) <= 0.05
    times = found[2].groups[f"{NAMES[0]}=1"]["matters"]
    assert (times == 0) if runs == 5 else (times >= 0.95 * 120) if runs >= 9 else times > 0


def test_what_is_said_of_recorded_runs_is_so() -> None:
    """The same with drains of 5 s, whose CPU comes out of samples as it does on real servers."""
    found = said(BUSY, 10, 40, recorded=True)
    assert max(found.false_matters, found.false_does_not) <= 0.05
    assert min(found.groups[name]["matters"] for name in ("batch=1", "replicas=1")) >= 38


def test_where_nothing_matters_nothing_is_said_to() -> None:
    """Nor that something does not where all of it does."""
    flat = ScreenedWorld(alone=dict.fromkeys(NAMES, 1.0))
    steep = ScreenedWorld(alone=dict.fromkeys(NAMES, 1.2))
    assert said(flat, 10, 300).false_matters <= 0.05
    assert said(steep, 10, 300).false_does_not <= 0.05


# --- a screening under way ------------------------------------------------------------------------------------------


@pytest.fixture
def plan(plan: TunePlan) -> TunePlan:
    """The plan of a screening of three settings in 10 minutes."""
    goal = parsed_goal("cpu")
    changes = {"goal": goal, "metrics": compared_metrics(goal), "screens": True, "minutes": 10}
    return plan.model_copy(update={**changes, "window_s": SCREENING_WINDOW_S, "start_values": {"sink.tasks": 1}})


@pytest.mark.usefixtures("no_stage_reports")
@pytest.mark.parametrize("around_s", [4.0, 9.0, 60.0])
def test_a_screening_fills_its_time_and_ends_in_it(
    tmp_path: Path, plan: TunePlan, start: Start, around_s: float
) -> None:
    """As many blocks as there is time for, and no confirmation."""
    folder, bench = TuneFolder.begin(tmp_path, plan), Bench({"sink.tasks": log(2)}, around_s=around_s)
    tune = execution(folder, start, bench)
    tune.search = Screening(plan.candidates, plan.goal, ())
    tune.execute()
    result = analyse_tune(folder.path, ended=True)
    spent_s = bench.now_s - BEGUN_S
    assert 600 - 4 * (around_s + 12) < spent_s <= 660
    assert {each.stage.kind for each in result.stages} == {"mixed"}
    assert (result.chosen, result.recommended, result.complete) == (None, (), True)


@pytest.mark.usefixtures("no_stage_reports")
def test_a_time_too_short_for_intervals_is_told_before_a_run_counts(
    tmp_path: Path, plan: TunePlan, start: Start, message: MakeMessage
) -> None:
    """Once servers are warm; what the runs tell apart is told all the same."""
    folder, progress = TuneFolder.begin(tmp_path, plan), Listening()
    tune = execution(folder, start, Bench({"sink.tasks": log(2)}, around_s=70.0), progress)
    tune.search = Screening(plan.candidates, plan.goal, ())
    tune.execute()
    assert progress.heard == [(0, message(10, 8, "a screening", "--minutes"))]
    result = analyse_tune(folder.path, ended=True)
    assert [each.candidate for each in result.mixed if group_of(each) == "matters"] == ["tasks=2"]
    named = [*(each.candidate for each in result.mixed), *(each.name for each in result.not_tried)]
    assert sorted(named) == sorted(each.name for each in plan.candidates)


@pytest.mark.usefixtures("no_stage_reports")
def test_a_time_that_tells_nothing_ends_before_a_run_counts(
    tmp_path: Path, plan: TunePlan, start: Start, message: MakeMessage
) -> None:
    """Half of a design and its mirror image tells no effects apart: 4 runs of three settings, of which 3 would fit."""
    folder, progress, bench = TuneFolder.begin(tmp_path, plan), Listening(), Bench({}, around_s=130.0)
    tune = execution(folder, start, bench, progress)
    tune.search = Screening(plan.candidates, plan.goal, ())
    with pytest.raises(NoTimeError) as error:
        tune.execute()
    assert str(error.value) == message("--minutes: 10 min hold", "a screening needs", 8)
    assert all(warm_up for _, warm_up in bench.ran)
    assert progress.heard == []


@pytest.mark.usefixtures("no_stage_reports")
def test_a_screening_reports_each_setting_with_its_group_and_its_rate(
    tmp_path: Path, plan: TunePlan, start: Start, message: MakeMessage
) -> None:
    """On one page; a setting whose runs all fail could not be told."""
    folder = TuneFolder.begin(tmp_path, plan)
    tune = execution(folder, start, Bench({"sink.tasks": log(2)}, refused="index.codec"))
    tune.search = Screening(plan.candidates, plan.goal, ())
    tune.execute()
    result = analyse_tune(folder.path, ended=True)
    page = write_tune_report(folder.path).read_text()
    rates = {each.candidate: rate_of(each) for each in result.mixed}
    assert {metric.name for metric in plan.metrics} >= {CPU_PER_DOCUMENT.name, METRICS["rate"].name}
    assert rates["tasks=2"] is not None
    assert rates["tasks=2"].ratio == pytest.approx(2, rel=0.05)
    assert [each.name for each in result.not_tried] == ["codec=best_compression"]
    assert result.headline == message(3)
    assert "1 of 3" in page
    assert not any(text in page for text in ("What to set", "drawn at random", "only the confirmation counts"))
    assert "at the start" in page


@pytest.mark.usefixtures("no_stage_reports")
def test_a_screening_without_a_run_of_the_start_tells_all_the_same(
    tmp_path: Path, plan: TunePlan, start: Start
) -> None:
    """It may be the last of its block, of which the time holds a part."""
    folder = TuneFolder.begin(tmp_path, plan)
    tune = execution(folder, start, Bench({"sink.tasks": log(2)}))
    tune.search = Screening(plan.candidates, plan.goal, ())
    tune.execute()
    runs = folder.path / "stages" / "1-mixed" / "runs.ndjson"
    kept = [line for line in runs.read_text().splitlines() if '"variant":"start"' not in line or '"block":0' in line]
    runs.write_text("".join(f"{line}\n" for line in kept))
    result = analyse_tune(folder.path, ended=True)
    assert result.environment is not None
    assert result.headline == Naming("Of 3 settings 1 cost or give more than 15 %")
    assert result.not_tried == ()


@pytest.mark.usefixtures("no_stage_reports")
def test_an_interrupted_screening_is_not_told_as_void(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Nor has its page counted any setting yet."""
    folder = TuneFolder.begin(tmp_path, plan)
    tune = execution(folder, start, Bench({}, break_off=9))
    tune.search = Screening(plan.candidates, plan.goal, ())
    with pytest.raises(KeyboardInterrupt):
        tune.execute()
    assert analyse_tune(folder.path).headline == Naming("Not finished", 1)
    assert "0 of 3" not in write_tune_report(folder.path).read_text()


@pytest.mark.usefixtures("no_stage_reports")
def test_rates_are_told_only_where_all_runs_have_one(
    tmp_path: Path, plan: TunePlan, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fastest drains are too short for a rate, and what is left would be a selection of the slow."""
    folder = TuneFolder.begin(tmp_path, plan)
    tune = execution(folder, start, Bench({"sink.tasks": log(2)}))
    tune.search = Screening(plan.candidates, plan.goal, ())
    tune.execute()
    with_rates = analyse_tune(folder.path, ended=True)
    assert any(rate_of(each) for each in with_rates.mixed)
    assert "indexing rate" in str(table_of_screening(with_rates)["head"])
    # A chart of what is not beaten would show the start as the recommended one.
    assert "not beaten" not in tune_report(folder.path, with_rates)

    def without_the_fastest(suite: SuiteRecords, **how: Any) -> tuple[VariantMetric, ...]:
        made = figures(suite, **how)
        most = max(value or 0 for each in made if each.key == METRICS["rate"].key for value in each.values)
        return tuple(
            each.model_copy(update={"values": tuple(None if value == most else value for value in each.values)})
            for each in made
        )

    monkeypatch.setattr("lab.analysis.tune.folder.figures", without_the_fastest)
    without_rates = analyse_tune(folder.path, ended=True)
    assert without_rates.mixed
    assert not any(rate_of(each) for each in without_rates.mixed)
    assert "indexing rate" not in str(table_of_screening(without_rates)["head"])
