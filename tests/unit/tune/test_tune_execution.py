"""A tune under way, on servers that do as a test says: stages, folder, what it recommends, and how it goes on."""

import json
import random
from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from math import exp, log
from pathlib import Path

import pytest

from lab.analysis.result import analyse, write_result
from lab.analysis.tune.goals import SIZE, compared_metrics, parsed_bounds, parsed_goal
from lab.analysis.tune.paste import BEST, CONNECTOR, CURL, DEV_TOOLS, INDEX, best_yaml, write_recommended
from lab.analysis.tune.report import write_tune_report
from lab.analysis.tune.result import Tuned, analyse_tune, tune_result
from lab.analysis.tune.sentences import without_gain
from lab.cli.tune import OneDataset
from lab.cli.tune_display import print_tune
from lab.errors import ProfileError
from lab.page.history import History, Question, of_tune_plan
from lab.page.tree import RunTree
from lab.profiles import Profile, load_profile
from lab.profiles.files import REPOSITORY
from lab.profiles.mapping import load_mapping
from lab.profiles.spaces import Start, candidates_of, load_space
from lab.records.result import Result
from lab.records.suite import SuitePlan, SuiteRun, Variant
from lab.records.tune import START, MixedEffect, Stage, TunePlan, TuneResult
from lab.run.folder import RunFolder
from lab.run.load.sink import connector_config
from lab.suite.folder import SuiteFolder
from lab.suite.loads import LoadSizes
from lab.suite.plan import RUN_BASE_S
from lab.tune.execution import ForgivingBench, Profiles, TuneExecution, walls_s
from lab.tune.folder import TuneFolder, find_tune, tune_at
from lab.tune.plan import BETWEEN_S, expected
from lab.tune.search import Search
from producers.dataset import Dataset
from tests.unit.analysis.synthetic import Truth, environment, run, samples, written
from tests.unit.suite.test_suite_execution import Silent

SPACE = """
question: Which of two?
knobs:
  sink.tasks:
    values: [2]
    requires: {topic.partitions: "${value}"}
  index.refresh_interval:
    values: [30s]
    note: documents become searchable later
  index.codec:
    values: [best_compression]
"""
OVERRIDDEN = 35_000
OVERRIDES = (f"dataset.documents={OVERRIDDEN}", "sink.config.batch.size=1009")
RATE, AROUND_S = 5003, 9.0
"""Of the start, in documents per second; what a run takes besides its drain."""
ANALYZER = "index.analysis.analyzer.korean_text.type"
BEGUN_S = 1_800_000_000.0
YOURS = {
    "connector": "c",
    "topic": "the-runs-topic",
    "index": "the-runs-index",
    "elasticsearch_url": "http://127.0.0.1:9",
    "elasticsearch_urls": "http://127.0.0.1:9",
    "dead_letter_topic": "the-runs-letters",
}


class Bench:
    """Servers on which settings have effects, and whose time passes with each run.

    Attributes:
        gains: A setting's dotted key → its effect on the log rate where it is set.
        refused: A setting that a server refuses.
        break_off: The user presses Ctrl-C in the run with this number.
    """

    def __init__(self, gains: Mapping[str, float], refused: str = "", break_off: int | None = None) -> None:
        self.gains = gains
        self.refused = refused
        self.break_off = break_off
        self.draw = random.Random(7)  # noqa: S311 - noise, no secret
        self.now_s = BEGUN_S
        self.profiles: dict[str, Profile] = {}
        self.ran: list[tuple[str, bool]] = []
        self.run_ids: set[str] = set()

    def add(self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset]) -> None:
        """Know other variants, too."""
        assert profiles.keys() == datasets.keys()
        self.profiles |= profiles

    def replace(self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset]) -> None:  # noqa: ARG002 - as a bench has it
        """The same, with other loads."""
        assert profiles.keys() <= self.profiles.keys()
        self.profiles |= profiles

    def prepare(self, variant: Variant) -> frozenset[Hashable]:
        """One server, for variants that it knows."""
        assert variant.name in self.profiles
        return frozenset({"elasticsearch"})

    def restart(self) -> None:
        """Nobody asks for it."""
        raise AssertionError

    def change_part(self, before: str, after: str) -> None:  # noqa: ARG002 - as a bench has it
        """Nobody asks for it."""
        raise AssertionError

    def run(
        self,
        variant: Variant,
        folder: RunFolder,
        *,
        warm_up: bool,
        short: bool,  # noqa: ARG002
        display: AbstractContextManager[object],  # noqa: ARG002
    ) -> Result:
        """A run with the rate that the variant's profile has here."""
        self.ran.append((variant.name, warm_up))
        if len(self.ran) == self.break_off:
            raise KeyboardInterrupt
        profile = self.profiles[variant.name]
        set_here = {"sink.tasks": profile.sink.tasks == 2}
        set_here |= {f"index.{key}": True for key in profile.index}
        if set_here.get(self.refused):
            raise ProfileError(f"{self.refused}: the server refuses it")
        gain = sum(by for key, by in self.gains.items() if set_here.get(key))
        self.now_s += AROUND_S + (profile.dataset.documents or 0) / RATE / exp(gain)
        truth = Truth(docs_per_tick=round(RATE * exp(gain + self.draw.gauss(0, 0.01))), ticks=7)
        made = run(truth).model_copy(update={"environment": environment_of(profile), "questions": ()})
        analysis = analyse(written(folder.path, made, samples(truth), profile.model_dump(mode="json")))
        write_result(analysis)
        return analysis.result


def environment_of(profile: Profile) -> object:
    """What a run of the profile writes down of its index and its connector."""
    config = connector_config(REPOSITORY, profile, {**YOURS, "tasks": str(profile.sink.tasks)})
    secrets = {"connection.password": "(hidden)"}
    settings = {f"index.{key}": value for key, value in profile.index.items()} | {ANALYZER: "cjk"}
    return environment().model_copy(update={"connector": {**config, **secrets}, "index_settings": settings})


class Quiet:
    """Shows nothing."""

    def stage(self, stage: Stage, plan: SuitePlan, folder: SuiteFolder) -> Silent:  # noqa: ARG002 - as a display has it
        """Show nothing."""
        return Silent()


@pytest.fixture(autouse=True)
def _no_report_of_each_stage(finished: object, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - that one has them
    """To draw them takes longer than all else."""
    monkeypatch.setattr("lab.tune.execution.write_suite_report", lambda _: None)


@pytest.fixture
def start() -> Start:
    """Nested books."""
    return Start.of("quickstart", OVERRIDES)


def a_plan(tmp_path: Path, start: Start) -> TunePlan:
    """Three candidates, 20 minutes."""
    path = tmp_path / "two.yaml"
    path.write_text(SPACE)
    goal = parsed_goal("rate")
    tried, _ = candidates_of(load_space(str(path)), start)
    return TunePlan(
        tune="quickstart",
        question="Which of two?",
        started_s=0,
        profile="quickstart",
        overrides=OVERRIDES,
        fingerprint=start.profile.fingerprint(),
        space="two",
        goal=goal,
        minutes=20,
        window_s=8,
        seed=1,
        metrics=compared_metrics(goal),
        candidates=tried,
        command=("./sluice", "tune", "quickstart"),
    )


@pytest.fixture
def plan(tmp_path: Path, start: Start) -> TunePlan:
    """Three candidates, 20 minutes."""
    return a_plan(tmp_path, start)


def execution(folder: TuneFolder, start: Start, bench: Bench) -> TuneExecution:
    """The tune of the folder on the bench."""
    plan = folder.plan()
    profiles = Profiles(plan, start, lambda profile: profile, OneDataset())
    return TuneExecution(
        folder,
        profiles,
        Search(plan.candidates, plan.goal, plan.bounds),
        bench,
        Quiet(),
        expected(35_000, None, 8.0, started=True),
        is_warm=lambda rates: len(rates) > 1,
        clock=lambda: bench.now_s,
    )


GAINS = {"sink.tasks": 0.25, "index.refresh_interval": 0.12, "index.codec": -0.1}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TuneResult, Bench]:
    """A tune that has come to its end: two settings gain, one loses."""
    path = tmp_path_factory.mktemp("tune")
    begun = Start.of("quickstart", OVERRIDES)
    folder, bench = TuneFolder.begin(path, a_plan(path, begun)), Bench(GAINS)
    execution(folder, begun, bench).execute()
    result = analyse_tune(folder.path, ended=True)
    write_recommended(folder.path, result)
    write_tune_report(folder.path)
    return folder.path, result, bench


Finished = tuple[Path, TuneResult, Bench]


def test_a_tune_confirms_the_best_that_there_is(finished: Finished) -> None:
    """By blocks of their own, of which the headline tells."""
    _, result, _ = finished
    assert (result.stages[0].stage.kind, result.stages[-1].stage.kind) == ("alone", "confirm")
    assert result.chosen == ("tasks=2", "refresh_interval=30s")
    assert (result.is_confirmed, result.recommended, result.complete) == (True, result.chosen, True)
    (by_goal,) = [e for e in result.confirmation if e.variant == "tasks=2 + refresh_interval=30s"
                  and e.metric == "indexing_rate_docs_per_s"]  # fmt: skip
    assert by_goal.low is not None
    assert by_goal.high is not None
    assert by_goal.low < exp(0.37) < by_goal.high
    assert result.headline.startswith("Confirmed: indexing rate +4")
    assert result.headline.endswith(" blocks of fresh runs. Change tasks=2 + refresh_interval=30s.")


def test_it_keeps_to_its_time(finished: Finished) -> None:
    """The confirmation included, which has a quarter of it or more."""
    _, result, bench = finished
    assert bench.now_s - BEGUN_S <= 1200
    (confirm,) = [each for each in result.stages if each.stage.kind == "confirm"]
    assert confirm.blocks >= 4


def test_what_each_setting_gives_is_told_given_the_others(finished: Finished) -> None:
    """The combination with it against the same without it, in the same blocks."""
    _, result, _ = finished
    found = {each.candidate: each for each in result.contributions}
    assert {each.given for each in found.values()} == {"the others"}
    assert found["tasks=2"].effect.ratio == pytest.approx(exp(0.25), rel=0.03)
    assert found["refresh_interval=30s"].effect.ratio == pytest.approx(exp(0.12), rel=0.03)


def test_a_setting_that_adds_nothing_shown_is_named(finished: Finished) -> None:
    """Only where it was measured given the others, and the choice as a whole is confirmed."""
    _, result, _ = finished
    assert not any("Not shown to add" in text for text in result.findings)
    gains, nothing = result.contributions
    for verdict in ("undecided", "same within 5 %"):
        effect = nothing.effect.model_copy(update={"verdict": verdict})
        (text,) = without_gain(
            [
                gains.model_copy(update={"effect": effect.model_copy(update={"verdict": "faster"})}),
                nothing.model_copy(update={"effect": effect}),
            ]
        )
        assert text == f"Not shown to add anything to the others: {nothing.candidate}. You may leave it out."
    effect = nothing.effect.model_copy(update={"verdict": "too few runs"})
    (text,) = without_gain([nothing.model_copy(update={"effect": effect})])
    assert text == f"Measured too seldom to say what they add to the others: {nothing.candidate}."


def test_a_setting_that_the_choice_never_ran_without_is_judged_by_the_mix(finished: Finished) -> None:
    """Its interval over all other combinations holds "no change": nobody knows what it adds."""
    _, result, _ = finished
    chosen = [each.model_copy(update={"given": "the start"}) for each in result.contributions]
    one, other = (each.candidate for each in chosen)
    mixed = [
        MixedEffect(candidate=one, ratio=1.2, low=1.1, high=1.3, runs=8),
        MixedEffect(candidate=other, ratio=1.1, low=0.9, high=1.3, runs=8),
    ]
    assert list(without_gain(chosen, mixed)) == [f"Measured too seldom to say what they add to the others: {other}."]
    assert list(without_gain(chosen)) == []


def test_the_recommended_profile_can_be_run(finished: Finished) -> None:
    """It is the start with what was confirmed, of the size that the user asked for."""
    path, result, _ = finished
    best = load_profile(str(path / BEST))
    expected_profile = load_profile(
        "quickstart",
        overrides=(*OVERRIDES, "sink.tasks=2", "topic.partitions=2", "index.refresh_interval=30s"),
    )
    assert best.fingerprint() == expected_profile.fingerprint()
    assert result.settings == {"sink.tasks": 2, "topic.partitions": 2, "index.refresh_interval": "30s"}


def test_settings_to_paste_are_those_that_ran(finished: Finished) -> None:
    """With placeholders for names, addresses and secrets, and nothing of the run's own."""
    path, _, bench = finished
    profile = bench.profiles["tasks=2 + refresh_interval=30s"]
    index = json.loads((path / INDEX).read_text())
    ran_with = {"analysis.analyzer.korean_text.type": "cjk", **profile.index}
    assert index == {"settings": {"index": ran_with}, "mappings": load_mapping(profile.mapping)["mappings"]}
    connector = json.loads((path / CONNECTOR).read_text())
    ran = connector_config(REPOSITORY, profile, {**YOURS, "tasks": "2"})
    own = {key for key, value in connector.items() if value.startswith("YOUR-")}
    assert {key: value for key, value in connector.items() if key not in own} == {
        key: value for key, value in ran.items() if key not in {*own, "name"}
    }
    assert connector["batch.size"] == "1009"
    assert (connector["topics"], connector["connection.password"]) == ("YOUR-TOPIC", "YOUR-SECRET")
    assert "the-runs" not in (path / CONNECTOR).read_text() + (path / DEV_TOOLS).read_text()
    remark = "# number_of_replicas is 0, as it was measured: the loss of one node loses its shards; set 1 or more\n"
    assert (path / DEV_TOOLS).read_text() == remark + "PUT YOUR-INDEX\n" + (path / INDEX).read_text()
    assert remark in (path / CURL).read_text()
    assert f"--data-binary @{INDEX}" in (path / CURL).read_text()


def test_no_secret_is_written_into_the_profile(finished: Finished) -> None:
    """What was hidden in the record is left out, and has to be given again."""
    _, result, _ = finished
    hidden = (*result.plan.overrides, "sink.config.connection.password=(hidden)")
    told = best_yaml(result.model_copy(update={"plan": result.plan.model_copy(update={"overrides": hidden})}))
    lines = [line for line in told.splitlines() if "password" in line]
    assert lines == ["# sink.config.connection.password: not written here; give it again with --set"]
    assert "batch.size" in told


def test_the_report_tells_what_was_tried_and_what_was_not(finished: Finished) -> None:
    """And where else something is to be set; each stage has its own."""
    path, result, _ = finished
    page = (path / "report.html").read_text()
    for text in ("codec=best_compression", "given the others", "PUT YOUR-INDEX", "stages/1-alone/report.html"):
        assert text in page
    assert "documents become searchable later" in " ".join(result.notes)
    assert "topic" in result.notes[-1]
    for stage in result.stages:
        assert (path / stage.folder / "report.html").is_file()
    worst = result.tried[-1]
    assert (worst.combination, worst.dropped) == (("codec=best_compression",), "worse than the start")


def test_a_tune_is_found_again_by_its_profile_or_its_folder(finished: Finished) -> None:
    """And is not taken for a run or a suite."""
    path, result, _ = finished
    runs = path.parents[2]
    assert find_tune(runs, "quickstart").path == path
    assert [found and found.path for found in (tune_at(runs, str(path)), tune_at(runs, "tunes/quickstart"))] == [
        path
    ] * 2
    assert tune_at(runs, "quickstart") is None
    assert analyse_tune(path).complete
    assert TuneResult.model_validate_json((path / "tune.json").read_bytes()).headline == result.headline


def test_the_history_of_the_page_has_it(finished: Finished) -> None:
    """One row, with what was confirmed; before it has a result, with its question. Its stages are no suites there."""
    path, result, _ = finished
    runs = path.parents[2]
    history = History(RunTree(runs))
    history.refresh()
    (row,) = [row for row in history.answer(Question())["rows"] if row["kind"] != "run"]
    name = path.relative_to(runs).as_posix()
    assert (row["kind"], row["id"], row["profile"]) == ("tune", name, "quickstart")
    assert (row["status"], row["verdict"], row["report"]) == ("complete", result.headline, f"/runs/{name}/report.html")
    begun = of_tune_plan(path / "plan.json", name)
    assert (begun["status"], begun["verdict"]) == ("unfinished", "Which of two?")


def test_later_stages_need_no_warm_up(finished: Finished) -> None:
    """Servers stay, and each candidate has run once, uncounted, before it counts."""
    _, _, bench = finished
    uncounted = [name for name, warm_up in bench.ran if warm_up]
    assert sorted(uncounted) == sorted([START, START, "tasks=2", "refresh_interval=30s", "codec=best_compression"])


def test_the_first_stage_has_fewer_blocks_where_runs_take_longer(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Than was expected before there was one; at least one is left."""
    folder = TuneFolder.begin(tmp_path, plan)
    tune = execution(folder, start, Bench(GAINS))
    stage = Stage(number=1, kind="alone", combinations=(("tasks=2",),), blocks=6)
    suite = tune.begin(stage).plan()
    assert tune.blocks_in_time(suite, LoadSizes(5000.0, times=1))["repeats"] == 6
    slow = tune.blocks_in_time(suite, LoadSizes(1000.0, times=1))
    assert (slow["repeats"], slow["order"]) == (2, suite.order[:2])
    assert tune.blocks_in_time(suite, LoadSizes(7.0, times=1))["repeats"] == 1


def test_a_bound_beyond_which_the_estimate_lies_is_not_kept(finished: Finished) -> None:
    """Even where its interval reaches back within it."""
    path, result, _ = finished
    bound = parsed_bounds(["size<=1.1x"], result.plan.goal)[0]
    tuned = Tuned.read(path)
    plan = tuned.plan.model_copy(update={"bounds": (bound,)})
    effects = [
        each.model_copy(update={"ratio": 1.14, "low": 1.05, "high": 1.24}) if each.metric == SIZE.name else each
        for each in tuned.confirmation
    ]
    beyond = replace(tuned, plan=plan)
    vars(beyond)["confirmation"] = tuple(effects)
    assert (tuned.is_confirmed, beyond.is_confirmed) == (True, False)
    assert "but size<=1.1x is not kept: +14 %" in tune_result(beyond, ended=True).headline


def test_loads_grow_where_a_candidate_is_much_faster(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """At three times the rate the first stage's drain would be over in a third of the window."""
    folder, bench = TuneFolder.begin(tmp_path, plan), Bench(GAINS | {"sink.tasks": log(3)})
    execution(folder, start, bench).execute()

    times = [stage.plan().times for _, stage in folder.stages()]
    assert (times[0], set(times[1:])) == (1, {4})
    assert bench.now_s - BEGUN_S <= 1200


def test_what_only_the_fit_has_chosen_is_reported_without_an_estimate(
    tmp_path: Path, plan: TunePlan, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without time for a stage after the mix, the confirmation may be the first run of what it confirms."""
    all_three = ("tasks=2", "refresh_interval=30s", "codec=best_compression")
    monkeypatch.setattr(Search, "together", lambda *_: None)
    monkeypatch.setattr(Search, "first_round", lambda *_: (all_three,))
    monkeypatch.setattr("lab.tune.search.SPARE", 0)
    monkeypatch.setattr("lab.tune.search.MOST_MIXED", 2)
    folder, bench = TuneFolder.begin(tmp_path, plan), Bench(GAINS | {"sink.tasks": log(3), "index.codec": 0.1})
    execution(folder, start, bench).execute()
    result = analyse_tune(folder.path, ended=True)
    write_recommended(folder.path, result)
    write_tune_report(folder.path)
    print_tune(result, {})
    assert [each.stage.kind for each in result.stages] == ["alone", "mixed", "confirm"]
    assert result.chosen not in [each.combination for each in result.tried]
    assert result.recommended == result.chosen == all_three
    assert not any("had estimated" in text for text in result.findings)


def test_times_to_come_are_those_of_larger_loads(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Only drains grow, and each variant has its own time; three times the rate needs four times the documents."""
    folder, bench = TuneFolder.begin(tmp_path, plan), Bench(GAINS | {"sink.tasks": log(3)})
    tune = execution(folder, start, bench)
    tune.bench, tune.begun_s = ForgivingBench(bench), bench.now_s
    tune.run(stage := Stage(number=1, kind="alone", combinations=(("tasks=2",),), blocks=2), tune.begin(stage))
    times = tune.times()
    fixed_s = RUN_BASE_S + BETWEEN_S
    walls_s = {START: AROUND_S + OVERRIDDEN / RATE, "tasks=2": AROUND_S + OVERRIDDEN / RATE / 3}
    assert times.runs_s == pytest.approx({name: fixed_s + 4 * (wall_s - fixed_s) for name, wall_s in walls_s.items()})


def test_a_run_that_failed_says_nothing_of_how_long_runs_take() -> None:
    """It may have waited for minutes."""
    made = [
        SuiteRun(block=block, variant="a", attempt=1, folder=None, status=status, started_s=begun_s, ended_s=ended_s)
        for block, status, begun_s, ended_s in [
            (0, "verified", 0, 10),
            (1, "verified", 12, 20),
            (1, "broken", 21, 321),
            (2, "void", 322, 330),
        ]
    ]
    assert walls_s(made) == [(made[1], 10)]


def test_an_interrupted_tune_goes_on_where_it_was(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """No run that counts is done twice, and the stage's plan stays."""
    folder = TuneFolder.begin(tmp_path, plan)
    with pytest.raises(KeyboardInterrupt):
        execution(folder, start, Bench(GAINS, break_off=9)).execute()
    ((stage, suite),) = folder.stages()
    before, order = suite.runs(), suite.plan().order
    assert analyse_tune(folder.path).headline == "Not finished: 1 stage has begun; resume it."

    execution(folder, start, Bench(GAINS)).execute()

    (again, of_it), *others = folder.stages()
    assert (again, of_it.plan().order) == (stage, order)
    assert of_it.runs()[: len(before)] == before
    cells = [(run.block, run.variant, run.turn) for run in of_it.runs() if run.block]
    assert len(set(cells)) == len(cells)
    assert others[-1][0].kind == "confirm"
    assert analyse_tune(folder.path).is_confirmed


def test_a_setting_that_a_server_refuses_ends_its_own_runs_only(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """The search goes on without it, and says why."""
    folder = TuneFolder.begin(tmp_path, plan)
    execution(folder, start, Bench(GAINS, refused="index.refresh_interval")).execute()
    result = analyse_tune(folder.path, ended=True)
    assert result.recommended == ("tasks=2",)
    assert [(each.name, each.reason) for each in result.not_tried] == [
        ("refresh_interval=30s", "its runs failed: index.refresh_interval: the server refuses it")
    ]


def test_a_combination_that_makes_no_profile_is_not_possible(plan: TunePlan, start: Start) -> None:
    """Such as one that does not fit the servers; its parts do."""

    def fitted(profile: Profile) -> Profile:
        if profile.sink.tasks > 1 and profile.index.get("refresh_interval") == "30s":
            raise ProfileError("one of them")
        return profile

    profiles = Profiles(plan, start, fitted, OneDataset())
    combinations = (("tasks=2",), ("refresh_interval=30s",), ("tasks=2", "refresh_interval=30s"))
    assert [profiles.is_possible(each) for each in combinations] == [True, True, False]


def test_where_nothing_gains_the_start_is_recommended(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Its profile is the start, and nothing was spent on a confirmation."""
    folder = TuneFolder.begin(tmp_path, plan)
    execution(folder, start, Bench(dict.fromkeys(GAINS, -0.2))).execute()
    result = analyse_tune(folder.path, ended=True)
    write_recommended(folder.path, result)
    write_tune_report(folder.path)
    assert (result.chosen, result.recommended, result.settings) == (None, (), {})
    assert result.headline == (
        "Nothing better than the start was found: no candidate seems to gain more than 1 %. Keep the start."
    )
    assert load_profile(str(folder.path / BEST)).fingerprint() == start.profile.fingerprint()


def test_a_refusal_of_the_start_ends_the_tune(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Nothing could be compared with it; the folder stays, since a stage has begun."""
    folder = TuneFolder.begin(tmp_path, plan)
    with pytest.raises(ProfileError, match="the server refuses it"):
        execution(folder, start, Bench(GAINS, refused="index.number_of_shards")).execute()
    assert not folder.removed_if_empty()
