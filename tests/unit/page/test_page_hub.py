"""What browsers are told, event by event, while runs are written."""

import asyncio
import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from lab.analysis.result import analyse, write_result
from lab.analysis.suite.folder import read_runs
from lab.analysis.text import duration
from lab.identity import identity_of
from lab.page import suite as suite_module
from lab.page.hub import MOST_BROWSERS, CrowdedError, Event, Hub, Watch
from lab.page.points import points_of
from lab.page.suite import SuiteView
from lab.page.tree import RunTree
from lab.suite.plan import taken_s
from tests.unit.analysis.suite.suite_folders import AGAIN, small, suite_folder
from tests.unit.analysis.synthetic import START_S, Truth, run, samples, written
from tests.unit.messages import MakeMessage
from tests.unit.page.run_folders import append, begun, goes_on

PAGE = {"command": None, "ends_with_it": False}


class Clock:
    """A clock that moves on by a second with each look at it: the newest run is looked for each time."""

    def __init__(self) -> None:
        self.time_s = 0.0

    def __call__(self) -> float:
        """Another second."""
        self.time_s += 1.0
        return self.time_s


def watch_of(runs: Path) -> Watch:
    """A watch that looks at everything each time."""
    return Watch(RunTree(runs), PAGE, clock=Clock())


def names(events: list[Event]) -> list[str]:
    """The names of events."""
    return [event.name for event in events]


def test_nothing_runs_where_nothing_has_run(tmp_path: Path) -> None:
    """Nor is the folder made."""
    watch = watch_of(tmp_path / "runs")
    assert watch.look() == []
    assert watch.now()["run"] is None
    assert not (tmp_path / "runs").exists()


def test_a_run_is_shown_whole_when_it_begins_and_then_sample_by_sample(tmp_path: Path) -> None:
    """Its points are those of all samples together."""
    seen = samples(Truth())
    folder = begun(tmp_path / "quickstart/20260101-000007")
    watch = watch_of(tmp_path)
    (first,) = watch.look()
    assert first.name == "now"
    assert (first.facts["run"]["id"], first.facts["run"]["points"]) == ("20260101-000007", [])
    told = []
    for sample in seen:
        append(folder, sample)
        events = watch.look()
        told += [row for event in events if event.name == "points" for row in event.facts["points"]]
    assert watch.run is not None
    assert told == [point.row() for point in points_of(seen, watch.run.cores)]
    assert watch.look() == []


def test_a_second_run_takes_the_place_of_the_first(tmp_path: Path) -> None:
    """With its own points only."""
    seen = samples(Truth())
    first = begun(tmp_path / "quickstart/20260101-000007")
    append(first, *seen[:7])
    watch = watch_of(tmp_path)
    watch.look()
    goes_on(first, ended="verified")
    assert names(watch.look()) == ["points"]
    second = begun(tmp_path / "aladin/static/20260101-000011")
    append(second, *seen[:3])
    (event,) = watch.look()
    assert (event.name, event.facts["run"]["folder"]) == ("now", "aladin/static/20260101-000011")
    assert [row["at_s"] for row in event.facts["run"]["points"]] == [sample.at_s for sample in seen[:3]]


def test_only_the_last_ten_minutes_are_kept(tmp_path: Path) -> None:
    """Of a run of a quarter of an hour."""
    seen = samples(Truth(ticks=907))
    append(begun(tmp_path / "quickstart/20260101-000007"), *seen)
    watch = watch_of(tmp_path)
    watch.look()
    points = watch.now()["run"]["points"]
    assert (points[0]["at_s"], points[-1]["at_s"]) == (seen[-1].at_s - 600, seen[-1].at_s)


def state_of(watch: Watch) -> dict[str, Any]:
    """The state of the run."""
    state: dict[str, Any] = watch.now()["run"]["state"]
    return state


def test_the_state_says_how_far_how_long_still_and_what_limits(tmp_path: Path) -> None:
    """11 of 101 documents are done."""
    folder = begun(tmp_path / "quickstart/20260101-000007", step_started_s=START_S)
    append(folder, *[sample for sample in samples(Truth(throttled_ms_per_tick=503)) if sample.phase == "load"])
    watch = watch_of(tmp_path)
    watch.look()
    state = state_of(watch)
    assert (state["phase"], state["step"], state["done"], state["total"]) == ("load", "indexing", 11, 101)
    assert (state["ended"], state["alive"], state["report"]) == (None, True, None)
    assert state["left_s"] == pytest.approx(7 * 90 / 11, rel=0.2)
    assert (state["limit"]["stage"], state["limit_asked_s"]) == ("merge throttling", 10.0)
    assert state["pipeline"]["slow"] == "nodes"


def test_the_time_left_is_by_the_clock_of_the_run(tmp_path: Path) -> None:
    """That of the page may have been set since the step began, here by weeks, or have gone on while all slept."""
    begun(tmp_path / "quickstart/20260101-000007", step_started_s=START_S, updated_s=START_S + 7)
    watch = watch_of(tmp_path)
    watch.look()
    assert state_of(watch)["left_s"] == pytest.approx(7 * 90 / 11)


def test_what_a_phase_has_taken_so_far_is_by_the_clock_of_the_run(tmp_path: Path) -> None:
    """Browsers take the difference of this instant and the phase's beginning."""
    folder, seen = begun(tmp_path / "quickstart/20260101-000007"), samples(Truth())
    append(folder, *seen)
    os.utime(folder / "samples.ndjson", times=(time.time() - 3600,) * 2)
    watch = watch_of(tmp_path)
    watch.look()
    assert watch.now()["server_s"] == pytest.approx(seen[-1].at_s + 3600, abs=60)


def test_a_clock_that_is_set_back_gives_a_suite_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its minutes are those of its plan at most."""
    made = small(after=2)
    folder = suite_folder(tmp_path / "suites/synthetic/20270115-080000", made)
    plan = orjson.loads((folder / "plan.json").read_bytes())
    (folder / "plan.json").write_bytes(orjson.dumps(plan | {"repeats": None, "minutes": 1000.0, "precision": 0.05}))
    view = SuiteView(folder, "synthetic", tmp_path)
    view.look()
    before = read_runs(folder)
    monkeypatch.setattr(suite_module, "time", SimpleNamespace(time=lambda: before[-1].ended_s - 3600))
    shown = view.view(folder / "runs/aladin-static/20270115-090000")
    assert shown is not None
    assert shown["left_s"] == 60 * 1000.0 - taken_s(before)


def test_a_run_that_was_killed_is_not_alive_though_its_pid_is(tmp_path: Path) -> None:
    """Another process has the number by now: it is told by its start."""
    folder = begun(tmp_path / "quickstart/20260101-000007")
    watch = watch_of(tmp_path)
    watch.look()
    assert state_of(watch)["alive"]
    goes_on(folder, identity=replace(identity_of(), start_ticks=7))
    watch.look()
    state = state_of(watch)
    assert (state["ended"], state["alive"], state["left_s"]) == (None, False, None)


@pytest.mark.parametrize("how", [{"identity": replace(identity_of(), start_ticks=7)}, {"ended": "interrupted"}])
def test_a_phase_that_a_run_broke_off_in_has_lasted_until_then(tmp_path: Path, how: dict[str, Any]) -> None:
    """That of a killed run would grow for as long as its page is open."""
    phases = [{"name": "load", "started_s": START_S, "ended_s": None}]
    folder = begun(tmp_path / "quickstart/20260101-000007", phases=phases)
    watch = watch_of(tmp_path)
    watch.look()
    assert [phase["ended_s"] for phase in state_of(watch)["phases"]] == [None]
    goes_on(folder, phases=phases, updated_s=START_S + 11, **how)
    watch.look()
    assert [phase["ended_s"] for phase in state_of(watch)["phases"]] == [START_S + 11]


@pytest.mark.parametrize("how", [{"identity": replace(identity_of(), start_ticks=7)}, {"ended": "interrupted"}])
def test_a_run_that_has_broken_off_in_its_load_is_not_limited_now(tmp_path: Path, how: dict[str, Any]) -> None:
    """Its last ten seconds may be days ago when the page is opened."""
    folder = begun(tmp_path / "quickstart/20260101-000007")
    append(folder, *[sample for sample in samples(Truth(throttled_ms_per_tick=503)) if sample.phase == "load"])
    watch = watch_of(tmp_path)
    watch.look()
    assert state_of(watch)["limit"] is not None
    goes_on(folder, **how)
    watch.look()
    state = state_of(watch)
    assert (state["limit"], state["limit_asked_s"], state["warnings"]) == (None, None, [])
    assert (state["pipeline"]["slow"], state["pipeline"]["why"]) == (None, None)


def test_the_end_of_the_process_is_told_though_nothing_was_written(tmp_path: Path) -> None:
    """As after kill -9."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        begun(tmp_path / "quickstart/20260101-000007", identity=identity_of(child.pid))
        watch = watch_of(tmp_path)
        watch.look()
        assert state_of(watch)["alive"]
        child.kill()
        child.wait()
    (event,) = watch.look()
    assert (event.name, event.facts["state"]["alive"], event.facts["state"]["ended"]) == ("points", False, None)


def test_a_report_is_linked_once_it_is_drawn(tmp_path: Path) -> None:
    """Which is after the run has ended."""
    folder = begun(tmp_path / "quickstart/20260101-000007", ended="verified")
    watch = watch_of(tmp_path)
    watch.look()
    (folder / "report.html").write_text("<html>", "utf-8")
    (event,) = watch.look()
    assert event.facts["state"]["report"] == "/runs/quickstart/20260101-000007/report.html"


def test_a_process_that_appears_gives_the_charts_another_line(tmp_path: Path) -> None:
    """They are sent again, without the points."""
    seen = samples(Truth())
    folder = begun(tmp_path / "quickstart/20260101-000007")
    append(folder, *seen[:3])
    watch = watch_of(tmp_path)
    watch.look()
    appears = seen[3].model_copy(update={"processes": {**seen[3].processes, "producer": seen[3].processes["kafka"]}})
    append(folder, appears)
    charts, points = watch.look()
    assert (charts.name, points.name) == ("charts", "points")
    assert "producer" in charts.facts["charts"]["cpu"]["usermeta"]["colours"]


def test_a_suite_shows_its_ladder_as_it_fills(tmp_path: Path) -> None:
    """Ratios and intervals of the blocks that are done; the result of no run is read twice."""
    folder = suite_folder(tmp_path / "suites/synthetic/20270115-080000", small(after=2))
    counted = begun(folder / "runs/aladin-static/20270115-090000")
    watch = watch_of(tmp_path)
    (event,) = watch.look()
    suite = event.facts["suite"]
    assert (suite["blocks_done"], suite["blocks_planned"], suite["runs_done"]) == (2, 3, 8)
    assert (suite["running"], suite["control"]) == ("aladin/static", "aladin/control")
    ladder = {variant["name"]: variant["effects"] for variant in suite["variants"]}
    assert ladder["aladin/control"] == []
    faster = ladder["aladin/static"][0]
    assert (faster["metric"], round(faster["ratio"], 2)) == ("indexing_rate_docs_per_s", 1.25)
    assert [effect["verdict"] for effect in ladder[AGAIN]][:1] == ["too few runs"]
    assert suite["left_s"] > 0

    for result in folder.glob("runs/*/result.json"):
        result.write_text("{}", "utf-8")
    (folder / "runs.ndjson").touch()
    append(counted, samples(Truth())[0])
    assert names(watch.look()) == ["charts", "points", "suite"]


def test_a_suite_is_under_way_between_its_runs_and_not_when_its_command_is_gone(tmp_path: Path) -> None:
    """It leaves no other trace than its process when it is broken off."""
    folder = suite_folder(tmp_path / "suites/synthetic/20270115-080000", small(after=2))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        own = {"identity": identity_of(child.pid), "ended": "verified"}
        begun(folder / "runs/aladin-static/20270115-090000", **own)
        watch = watch_of(tmp_path)
        (event,) = watch.look()
        assert (watch.suite_is_under_way, event.facts["suite"]["running"]) == (True, "aladin/static")
        (folder / "suite.json").write_text("{}", "utf-8")
        assert not watch.suite_is_under_way
        (folder / "suite.json").unlink()
        child.kill()
        child.wait()
    (event,) = watch.look()
    assert (event.name, event.facts["running"], watch.suite_is_under_way) == ("suite", None, False)
    assert (event.facts["under_way"], event.facts["left_s"]) == (False, None)


def test_the_page_of_a_command_shows_no_run_from_before_it(tmp_path: Path) -> None:
    """While its servers start there is none; the figures of another run would be taken for its own."""
    began_s = START_S + 50
    folder = suite_folder(tmp_path / "suites/synthetic/20270115-080000", small(after=2))
    begun(folder / "runs/aladin-static/20270115-090000", ended="verified")
    watch = Watch(RunTree(tmp_path), PAGE, clock=Clock(), since_s=began_s)
    assert watch.look() == []
    assert (watch.now()["run"], watch.now()["suite"]) == (None, None)
    begun(tmp_path / "quickstart/20270115-090100", started_s=began_s + 3)
    watch.look()
    assert watch.now()["run"]["id"] == "20270115-090100"


def test_what_came_of_a_run_is_told_when_it_has_its_result(tmp_path: Path) -> None:
    """Which is after it has ended; of a suite's run, too, which the history does not list."""
    folder = begun(tmp_path / "suites/a-a/20260101-000007/runs/control/20260101-000011", ended="verified")
    watch = watch_of(tmp_path)
    watch.look()
    assert state_of(watch)["outcome"] is None
    write_result(analyse(written(folder, run(Truth()), samples(Truth()))))
    watch.look()
    assert state_of(watch)["outcome"]["verdict"] == "limited by Elasticsearch"


async def first_events(stream: AsyncIterator[bytes], count: int) -> list[tuple[str, Any]]:
    """Name and facts of so many events."""
    events = []
    for _ in range(count):
        _, name, data = (await anext(stream)).decode().strip().split("\n")
        events.append((name.removeprefix("event: "), orjson.loads(data.removeprefix("data: "))))
    return events


def test_every_browser_is_told_everything_and_the_end(tmp_path: Path) -> None:
    """Two of them; nothing is looked at when both have gone."""
    folder = begun(tmp_path / "quickstart/20260101-000007")
    hub = Hub(watch_of(tmp_path))

    async def watched() -> list[list[tuple[str, Any]]]:
        streams = [hub.stream(), hub.stream()]
        told = [await first_events(stream, 1) for stream in streams]
        append(folder, samples(Truth())[0])
        for place, stream in enumerate(streams):
            told[place] += await first_events(stream, 2)
        assert hub._looking is not None
        hub.end("it is over")
        for place, stream in enumerate(streams):
            told[place] += await first_events(stream, 1)
            assert [piece async for piece in stream] == []
        assert hub._looking is None
        return told

    for events in asyncio.run(watched()):
        assert [name for name, _ in events] == ["now", "charts", "points", "end"]
        assert events[-1][1] == {"reason": "it is over"}


def test_one_part_that_cannot_be_shown_hides_no_other(tmp_path: Path, message: MakeMessage) -> None:
    """It is said in a sentence, once, and is over when the part can be shown again."""
    folder = begun(tmp_path / "quickstart/20260101-000007")
    broken = [True]

    def child() -> dict[str, Any] | None:
        if broken:
            raise ValueError("I/O operation on closed file")
        return None

    watch = Watch(RunTree(tmp_path), PAGE, child, clock=Clock())
    (event,) = watch.look()
    assert event.facts["run"]["id"] == folder.name
    assert event.facts["trouble"] == message("the command")
    assert watch.look() == []
    broken.clear()
    (event,) = watch.look()
    assert (event.name, event.facts["trouble"]) == ("now", None)


def test_a_folder_that_cannot_be_listed_is_said_and_has_not_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """What it held before counts."""
    begun(tmp_path / "quickstart/20260101-000007")
    watch = watch_of(tmp_path)
    watch.look()
    stat = Path.stat

    def fails(path: Path, **options: Any) -> Any:
        if path == tmp_path / "quickstart":
            raise OSError(errno.EIO, "Input/output error")
        return stat(path, **options)

    with monkeypatch.context() as failing:
        failing.setattr(Path, "stat", fails)
        (event,) = watch.look()
    assert event.facts["run"]["id"] == "20260101-000007"
    assert event.facts["trouble"] == message(tmp_path / "quickstart", "Input/output")
    (event,) = watch.look()
    assert event.facts["trouble"] is None


def test_a_run_whose_folder_was_removed_is_not_shown(tmp_path: Path) -> None:
    """The page shows what is there."""
    begun(tmp_path / "quickstart/20260101-000007")
    watch = watch_of(tmp_path)
    watch.look()
    shutil.rmtree(tmp_path / "quickstart")
    (event,) = watch.look()
    assert (event.name, event.facts["run"], event.facts["trouble"]) == ("now", None, None)


def test_the_whole_state_is_made_once_for_all_who_ask_at_the_same_time(tmp_path: Path) -> None:
    """And anew when something has happened."""
    folder = begun(tmp_path / "quickstart/20260101-000007")
    hub = Hub(watch_of(tmp_path))
    first = hub.now_as_json()
    append(folder, samples(Truth())[0])
    assert hub.now_as_json() is first
    hub.look()
    assert len(orjson.loads(hub.now_as_json())["run"]["points"]) == 1


def test_no_more_browsers_watch_than_may(tmp_path: Path) -> None:
    """One that leaves makes room."""
    hub = Hub(watch_of(tmp_path))

    async def crowd() -> None:
        streams = [hub.stream() for _ in range(MOST_BROWSERS)]
        for stream in streams:
            await anext(stream)
        with pytest.raises(CrowdedError):
            await anext(hub.stream())
        await streams[0].aclose()
        await anext(hub.stream())

    asyncio.run(crowd())


@pytest.mark.parametrize(("ended", "went"), [("broken", "wrong"), ("interrupted", "wrong"), ("verified", "well")])
def test_a_phase_in_which_a_run_broke_off_has_no_check_mark(tmp_path: Path, ended: str, went: str) -> None:
    """A run whose index was refused ended while it prepared."""
    phases = [{"name": "prepare", "started_s": START_S, "ended_s": None}]
    begun(tmp_path / "quickstart" / "20260101-000007", phases=phases, ended=ended)
    watch = watch_of(tmp_path)
    watch.look()
    (phase,) = watch.now()["run"]["state"]["phases"]
    assert phase["went"] == went


def test_the_charts_say_how_long_they_last(tmp_path: Path) -> None:
    """A run of twelve seconds has no last ten minutes, and one of five and a half has not either."""
    folder = begun(tmp_path / "quickstart" / "20260101-000007")
    seen = samples(Truth())[:13]
    append(folder, *seen)
    watch = watch_of(tmp_path)
    watch.look()
    assert watch.now()["run"]["state"]["span"] == f"The last {duration(12)}"
    append(folder, seen[-1].model_copy(update={"at_s": seen[0].at_s + 330}))
    watch.look()
    assert watch.now()["run"]["state"]["span"] == f"The last {duration(330)}"
    append(folder, seen[-1].model_copy(update={"at_s": seen[0].at_s + 598}))
    watch.look()
    assert watch.now()["run"]["state"]["span"] == "The last ten minutes"
