"""What a tune that is over recommends, says and leaves behind."""

import json
from dataclasses import replace
from html import unescape
from math import exp
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.analysis.tune.goals import SIZE, parsed_bounds
from lab.analysis.tune.paste import BEST, CONNECTOR, CURL, DEV_TOOLS, INDEX, best_yaml, write_recommended
from lab.analysis.tune.report import write_tune_report
from lab.analysis.tune.result import Tuned, analyse_tune, disturbed, tune_result, why_void
from lab.analysis.tune.sentences import OF_THE_MIX
from lab.cli.tune_display import print_tune
from lab.page.history import History, Question, of_tune_plan
from lab.page.tree import RunTree
from lab.profiles import load_profile
from lab.profiles.files import REPOSITORY
from lab.profiles.mapping import load_mapping
from lab.profiles.spaces import Start
from lab.records.suite import SuiteRun
from lab.records.tune import START, TunePlan, TuneResult
from lab.run.load.connector import connector_config
from lab.tune.folder import TuneFolder, find_tune, tune_at
from lab.tune.search import Search
from tests.unit.messages import MakeMessage
from tests.unit.suite.test_suite_execution import a_result
from tests.unit.tune.benches import (
    GAINS,
    OVERRIDES,
    YOURS,
    Bench,
    Finished,
    execution,
)

BROKEN = SuiteRun(
    block=1, variant=START, attempt=1, folder=None, status="broken", reason="no progress", started_s=0, ended_s=9
)
WARM_UP = BROKEN.model_copy(update={"block": 0, "status": "verified", "warm_up": True})

pytestmark = pytest.mark.usefixtures("no_stage_reports")


def test_a_tune_confirms_the_best_that_there_is(finished: Finished) -> None:
    """By blocks of their own, of which the headline tells."""
    _, result, _ = finished
    assert [each.stage.kind for each in result.stages] == ["mixed", "mixed", "together", "confirm"]
    assert result.chosen == ("tasks=2", "refresh_interval=30s")
    assert (result.is_confirmed, result.recommended, result.complete) == (True, result.chosen, True)
    (by_goal,) = [e for e in result.confirmation if e.variant == "tasks=2 + refresh_interval=30s"
                  and e.metric == "indexing_rate_docs_per_s"]  # fmt: skip
    assert by_goal.low is not None
    assert by_goal.high is not None
    assert by_goal.low < exp(0.37) < by_goal.high
    assert result.gain is not None
    assert result.gain.ratio == pytest.approx(by_goal.ratio, rel=0.001)
    assert result.headline.startswith("Confirmed: indexing rate +4")
    assert result.headline.endswith(" blocks of fresh runs. Change tasks=2 + refresh_interval=30s.")


def test_what_each_setting_gives_is_told_with_an_interval(finished: Finished) -> None:
    """By least squares over all runs of the mix, the best first; the terminal and the report say the same."""
    path, result, _ = finished
    names = {"tasks=2": 0.25, "refresh_interval=30s": 0.12, "codec=best_compression": -0.1}
    assert [each.candidate for each in result.mixed] == list(names)
    for each in result.mixed:
        assert each.low is not None
        assert each.high is not None
        assert each.ratio == pytest.approx(exp(names[each.candidate]), rel=0.02)
        assert each.low < each.ratio < each.high < 1.02 * each.ratio
        assert each.runs == 16
    page = (path / "report.html").read_text()
    assert OF_THE_MIX in page
    assert result.mixed[0].candidate in page


def test_the_terminal_and_the_report_say_the_same(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    """The headline and all that was found besides."""
    path, result, _ = finished
    print_tune(result, {})
    shown, page = " ".join(capsys.readouterr().out.split()), unescape((path / "report.html").read_text())
    for text in (result.headline, *result.findings, *result.notes):
        assert text in shown
        assert text in page


def test_a_choice_that_has_not_run_in_the_search_is_reported_all_the_same(
    tmp_path: Path, plan: TunePlan, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without time for combinations side by side, the confirmation may be the first run of what it confirms."""
    all_three = ("tasks=2", "refresh_interval=30s", "codec=best_compression")
    monkeypatch.setattr(Search, "together", lambda *_: None)
    monkeypatch.setattr(Search, "finalists", lambda *_: [all_three])
    folder, bench = TuneFolder.begin(tmp_path, plan), Bench(GAINS)
    tune = execution(folder, start, bench)
    tune.search = replace(tune.search, is_possible=lambda each: each != all_three)
    tune.execute()
    result = analyse_tune(folder.path, ended=True)
    write_recommended(folder.path, result)
    write_tune_report(folder.path)
    print_tune(result, {})
    assert [each.stage.kind for each in result.stages] == ["mixed", "mixed", "confirm"]
    assert result.chosen not in [each.combination for each in result.tried]
    assert result.recommended == result.chosen == all_three


def test_a_bound_beyond_which_the_estimate_lies_is_broken(finished: Finished) -> None:
    """Even where its interval reaches back within it."""
    path, result, _ = finished
    bound = parsed_bounds(["size<=1.1x"], result.plan.goal)[0]
    tuned = Tuned.read(path)
    plan = tuned.plan.model_copy(update={"bounds": (bound,)})
    assert tuned.confirmation is not None
    effects = [
        each.model_copy(update={"ratio": 1.14, "low": 1.05, "high": 1.24}) if each.metric == SIZE.name else each
        for each in tuned.confirmation.effects
    ]
    beyond = replace(tuned, plan=plan)
    vars(beyond)["confirmation"] = replace(tuned.confirmation, plan=plan, effects=effects)
    made = tune_result(beyond, ended=True)
    assert (made.is_confirmed, made.recommended) == (False, ())
    assert "but size<=1.1x is broken: +14 %" in made.headline


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


def test_no_secret_is_written_into_the_profile(finished: Finished, message: MakeMessage) -> None:
    """What was hidden in the record is left out, and has to be given again."""
    _, result, _ = finished
    hidden = (*result.plan.overrides, "sink.config.connection.password=(hidden)")
    told = best_yaml(result.model_copy(update={"plan": result.plan.model_copy(update={"overrides": hidden})}))
    lines = [line for line in told.splitlines() if "password" in line]
    assert lines == [message("sink.config.connection.password", "--set")]
    assert "batch.size" in told


def test_the_report_tells_what_was_tried_and_what_was_not(finished: Finished) -> None:
    """And where else something is to be set; each stage has its own."""
    path, result, _ = finished
    page = (path / "report.html").read_text()
    for text in ("codec=best_compression", "What each setting gives", "PUT YOUR-INDEX", "stages/1-mixed/report.html"):
        assert text in page
    assert "documents become searchable later" in " ".join(result.notes)
    assert "topic" in result.notes[-1]
    for stage in result.stages:
        assert (path / stage.folder / "report.html").is_file()
    assert len(result.tried) == 7
    assert result.tried[0].combination == ("tasks=2", "refresh_interval=30s")
    assert result.tried[-1].combination == ("codec=best_compression",)


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


def test_runs_that_others_have_disturbed_are_told(message: MakeMessage) -> None:
    """How many, and by how much; a rate of such a run is not this machine's."""
    quiet, busy, worse = (a_result(steal_percent=percent) for percent in (3.0, 36.0, 83.0))
    assert list(disturbed([quiet, busy, worse, worse])) == [message("83 %", 3, "4 runs")]
    assert list(disturbed([quiet, quiet])) == []


def test_runs_that_do_not_tell_what_others_took_are_not_counted_as_undisturbed(message: MakeMessage) -> None:
    """Two busy runs of four that have a figure at all are two of two, not two of four."""
    busy = a_result(steal_percent=52.0)
    silent = a_result().model_copy(update={"metrics": ()})
    assert list(disturbed([busy, silent, busy, silent])) == [message("52 %", 2, "2 runs", 2, "not known")]
    assert list(disturbed([silent])) == []


@pytest.mark.parametrize(
    ("screens", "runs", "reason"),
    [
        (False, (), "the time was over"),
        (False, (WARM_UP,), "the time was over"),
        (False, (WARM_UP, BROKEN), "the report of stage 1"),
        (True, (WARM_UP, BROKEN), "no run is verified"),
    ],
)
def test_a_start_that_never_ran_is_not_told_as_one_that_failed(
    runs: tuple[SuiteRun, ...], reason: str, *, screens: bool
) -> None:
    """The report of the stage would say nothing; warm-up runs do not count. A screening needs no run of the start."""
    suite = SimpleNamespace(runs=runs, counted={})
    tuned: Any = SimpleNamespace(plan=SimpleNamespace(screens=screens), stages=[SimpleNamespace(suite=suite)])

    assert reason in str(why_void(tuned))
