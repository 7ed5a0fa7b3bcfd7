"""What a tune that is over recommends, says and leaves behind."""

import json
from dataclasses import replace
from math import exp, log
from pathlib import Path

import pytest

from lab.analysis.tune.goals import SIZE, parsed_bounds
from lab.analysis.tune.paste import BEST, CONNECTOR, CURL, DEV_TOOLS, INDEX, best_yaml, write_recommended
from lab.analysis.tune.report import write_tune_report
from lab.analysis.tune.result import Tuned, analyse_tune, tune_result
from lab.analysis.tune.sentences import without_gain
from lab.cli.tune_display import print_tune
from lab.page.history import History, Question, of_tune_plan
from lab.page.tree import RunTree
from lab.profiles import load_profile
from lab.profiles.files import REPOSITORY
from lab.profiles.mapping import load_mapping
from lab.profiles.spaces import Start
from lab.records.tune import MixedEffect, TunePlan, TuneResult
from lab.run.load.sink import connector_config
from lab.tune.folder import TuneFolder, find_tune, tune_at
from lab.tune.search import Search
from tests.unit.tune.benches import (
    GAINS,
    OVERRIDES,
    YOURS,
    Bench,
    Finished,
    execution,
)

pytestmark = pytest.mark.usefixtures("no_stage_reports")


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
