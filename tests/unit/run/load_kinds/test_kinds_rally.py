"""A load through Rally: in which order its steps go, what each waits for, and what is left however it ends."""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from lab.errors import StackError
from lab.records.run import RallyLoad
from lab.records.samples import Sample
from lab.run.load.drain import DrainWatch
from lab.run.load.rally import family
from lab.run.load.rally.track import CORPUS, race_command, race_file
from lab.run.load_kinds import loading_of, rally
from lab.run.load_kinds.rally import RallyLoading
from tests.unit.clients.rest_server import Time
from tests.unit.messages import MakeMessage
from tests.unit.run.contexts import DOCUMENTS, Recorder, clients, context_of
from tests.unit.run.load.test_load_drain import sample

RACE = Path(__file__).parents[2] / "analysis" / "rally" / "index-append-race.json"
LOG_LINES = ("connection refused",)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Time that a load waits through at once."""
    made = Time()
    monkeypatch.setattr(rally, "time", SimpleNamespace(monotonic=made.clock, sleep=made.sleep))
    monkeypatch.setattr(rally, "DrainWatch", partial(DrainWatch, clock=made.clock))
    return made


class Race:
    """A load through a stand-in for Rally, which runs until a test has it end.

    Attributes:
        given: What the program was made of.
        shown: What a user sees.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *overrides: str) -> None:
        self.calls: list[str] = []
        self.given: dict[str, Any] = {}
        self.shown: list[tuple[object, ...]] = []
        self.program: Any = Recorder(self.calls, "Rally", start=4099, last_lines=LOG_LINES)
        self.program.__dict__.update(ended_s=None)
        monkeypatch.setattr(rally, "Program", self.make)
        monkeypatch.setattr(rally, "esrally", lambda: "/opt/esrally")
        monkeypatch.setattr(rally, "refuse_foreign_actors", lambda: self.calls.append("no other Rally"))
        monkeypatch.setattr(rally, "wait_for_sample_after", lambda at_s, _: self.calls.append(f"sample after {at_s}"))
        context = context_of(folder, "sink/rally", *overrides, target={"child_environment": {"MARK": "7"}})
        self.load = cast("RallyLoading", loading_of(context, clients(self.calls)))
        progress = Recorder([], "", begin=self.show, update=self.show)
        self.load.run = replace(self.load.run, progress=cast("Any", progress))
        self.folder = folder / "rally"

    def make(self, command: tuple[str, ...], **given: Any) -> Any:
        """Make the program."""
        self.given = {"command": command, **given}
        return self.program

    def show(self, *what: object) -> None:
        """Show something."""
        self.shown.append(what)

    def sends(self, *counts: int) -> None:
        """Have the index tell these numbers of documents, the last one again and again."""
        told = chain(counts, repeat(counts[-1]))

        def request(method: str, path: str) -> tuple[int, Any]:
            assert (method, path.partition("?")[0]) == ("GET", f"/{self.load.run.names.index}/_stats/indexing")
            return 200, {"_all": {"primaries": {"indexing": {"index_total": next(told)}}}}

        cast("Any", self.load.clients.cluster).answers["request"] = request

    def ends(self, after_looks: int = 1) -> None:
        """Have Rally end well, at 1013.5 s; the last of these looks sees it."""
        looks = iter(range(1, after_looks))
        self.program.answers["check"] = lambda: next(looks, None) or self.program.__dict__.update(ended_s=1013.5)

    def fails(self) -> None:
        """Have Rally fail."""

        def check() -> None:
            raise StackError("Rally: ended with exit status 64", LOG_LINES)

        self.program.answers["check"] = check

    def writes_report(self) -> None:
        """Have Rally leave its report."""
        report = race_file(self.folder, self.load.run.folder.run_id)
        report.parent.mkdir(parents=True)
        shutil.copyfile(RACE, report)


@pytest.fixture
def race(tmp_path: Path, time: Time, monkeypatch: pytest.MonkeyPatch) -> Race:  # noqa: ARG001 - no real one passes
    """A race that has not begun."""
    return Race(tmp_path, monkeypatch)


def indexed(*counts: int) -> Callable[[], Sample | None]:
    """A sampler whose first sample is missing; the last one is the newest from then on."""
    samples = [None, *(sample(at_s, indexed=count) for at_s, count in enumerate(counts))]
    return lambda: samples.pop(0) if len(samples) > 1 else samples[0]


# --- fill -------------------------------------------------------------------------------------------------------------


def test_rally_is_made_to_write_into_its_folder_alone_and_to_be_found(race: Race, tmp_path: Path) -> None:
    """Its processes have the mark of the servers; a parent keeps them together."""
    folder = tmp_path / "rally"
    assert race.given.pop("clock")() > 1e9
    assert race.given == {
        "command": (sys.executable, "-P", family.__file__, str(folder / "command.json")),
        "name": "Rally",
        "log": tmp_path / "rally.log",
        "folder": folder,
        "environment": {"MARK": "7", "RALLY_HOME": str(folder), "TMPDIR": str(folder / "tmp")},
    }
    assert list(tmp_path.iterdir()) == []


def test_rally_has_everything_that_it_reads_before_it_starts(race: Race, tmp_path: Path) -> None:
    """Corpus, track, its command line, and a place for its temporary files."""
    seen: list[set[str]] = []
    race.program.answers["start"] = lambda: seen.append({path.name for path in race.folder.iterdir()}) or 4099
    race.sends(1)
    race.load.start()
    assert seen == [{"tmp", CORPUS, "track.json", "command.json"}]
    assert json.loads((race.folder / "command.json").read_text()) == race_command(
        "/opt/esrally", race.folder, tmp_path / "rally-own.csv", ("http://127.0.0.1:1",), race.load.run.folder.run_id
    )
    corpus = (race.folder / CORPUS).read_bytes().splitlines()
    assert (len(corpus), json.loads(corpus[0])["index"]["_index"]) == (2 * DOCUMENTS, race.load.run.names.index)
    assert json.loads((race.folder / "track.json").read_text())["schedule"][0]["clients"] == 2


def test_the_load_begins_with_the_first_document_that_rally_sends(race: Race, time: Time) -> None:
    """Its processes are sampled from their start on; it is looked after meanwhile, and so are the servers."""
    race.sends(0, 0, 7)
    race.load.start()
    look = ["Rally.check", "cluster.request"]
    assert race.calls == ["no other Rally", "Rally.start", *look, *look, *look]
    assert race.load.run.children == {"rally": 4099}
    assert time.naps == [0.1, 0.1]
    assert race.shown == [
        ("fill", "writing Rally's corpus", DOCUMENTS),
        (1000,),
        ("fill", "Rally prepares", None),
        (0,),
        (0,),
    ]


def test_without_rally_in_the_path_its_name_is_tried(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its program then says that there is none."""
    monkeypatch.setattr(rally, "esrally", lambda: None)
    race.sends(1)
    race.load.start()
    assert json.loads((race.folder / "command.json").read_text())[0] == "esrally"


def test_a_rally_that_sends_nothing_is_given_up(race: Race, time: Time, message: MakeMessage) -> None:
    """After five minutes, with the last lines of its log."""
    race.sends(0)
    with pytest.raises(StackError) as failure:
        race.load.start()
    assert (str(failure.value), failure.value.log_lines) == (message("Rally", 300), LOG_LINES)
    assert 300 < sum(time.naps) < 300.2


def test_a_rally_that_fails_is_not_waited_for(race: Race, time: Time) -> None:
    """In none of the phases."""
    race.fails()
    for phase in (race.load.start, lambda: race.load.follow(lambda: None), race.load.finish):
        with pytest.raises(StackError, match="exit status 64"):
            phase()
    assert time.naps == []


def test_a_rally_that_has_ended_without_a_document_is_not_asked_for_one(race: Race, time: Time) -> None:
    """Verification says what is missing."""
    race.ends()
    race.load.start()
    assert (race.calls[-1], time.naps) == ("Rally.check", [])


def test_nothing_is_started_beside_another_rally(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor written."""

    def refuse() -> None:
        raise StackError("actors run already")

    monkeypatch.setattr(rally, "refuse_foreign_actors", refuse)
    with pytest.raises(StackError, match="actors"):
        race.load.start()
    assert (race.calls, race.folder.exists()) == ([], False)


# --- load -------------------------------------------------------------------------------------------------------------


def test_the_load_is_done_when_the_index_has_every_document(race: Race, time: Time) -> None:
    """Rally's own end comes later, and is no part of it."""
    race.load.follow(indexed(500, 1000, DOCUMENTS))
    assert race.calls == ["Rally.check"] * 3
    assert race.shown == [("load", "indexing", DOCUMENTS), (0, ""), (500, ""), (1000, "500/s indexed")]
    assert time.naps == [0.1] * 3


def test_a_load_ends_with_a_rally_that_has_ended_early(race: Race, time: Time) -> None:
    """What it has sent is in the samples; verification says what is missing."""
    race.ends(after_looks=2)
    race.load.follow(indexed(500))
    assert race.calls == ["Rally.check", "Rally.check", "sample after 1013.5"]
    assert time.naps == [0.1]


@pytest.mark.parametrize(("overrides", "given_up_s"), [((), 300), (("load.timeout_s=101",), 101)])
def test_a_load_in_which_nothing_moves_is_given_up(
    tmp_path: Path, time: Time, monkeypatch: pytest.MonkeyPatch, overrides: tuple[str, ...], given_up_s: float
) -> None:
    """After five minutes, or the profile's time."""
    race = Race(tmp_path, monkeypatch, *overrides)
    with pytest.raises(StackError, match=f"{given_up_s} s: 500 of 1,009 records are indexed"):
        race.load.follow(indexed(500))
    assert given_up_s < sum(time.naps) < given_up_s + 0.3


# --- settle -----------------------------------------------------------------------------------------------------------


def test_rallys_report_is_kept_and_all_else_of_it_removed(race: Race, time: Time, tmp_path: Path) -> None:
    """Once it has ended; the record says how long it took to send anything."""
    race.sends(0, 0, 7)
    race.load.start()
    race.writes_report()
    corpus_bytes = (race.folder / CORPUS).stat().st_size
    del race.calls[:], race.shown[:], time.naps[:]
    race.ends(after_looks=3)
    race.load.finish()
    assert race.calls == ["Rally.check", "Rally.check", "Rally.check", "Rally.stop"]
    assert race.shown == [("settle", "waiting for Rally's report", None), (0,), (0,)]
    assert time.naps == [0.1, 0.1]
    assert [path.name for path in tmp_path.iterdir()] == ["race.json"]
    assert (tmp_path / "race.json").read_bytes() == RACE.read_bytes()
    assert race.load.run.children == {}
    dataset = race.load.run.dataset
    recorded = race.load.record()["rally"]
    assert recorded == RallyLoad(
        version="2.13.0",
        clients=2,
        bulk_size=race.load.section.bulk_size,
        source_bytes=sum(len(value) for _, value in dataset.records(np.arange(DOCUMENTS))),
        entities=dataset.entities(0, DOCUMENTS),
        corpus_bytes=corpus_bytes,
        prepared_s=recorded.prepared_s,
        error_percent=0.0,
    )
    assert recorded.prepared_s == pytest.approx(0.2)


def test_a_rally_that_does_not_end_is_given_up(race: Race, time: Time, message: MakeMessage) -> None:
    """After five minutes, with the last lines of its log."""
    with pytest.raises(StackError) as failure:
        race.load.finish()
    assert (str(failure.value), failure.value.log_lines) == (message("Rally", 300), LOG_LINES)
    assert 300 < sum(time.naps) < 300.2


def test_a_rally_without_a_report_breaks_the_run(race: Race, tmp_path: Path, message: MakeMessage) -> None:
    """Nothing of it runs any more; its log says why."""
    race.ends()
    with pytest.raises(StackError) as failure:
        race.load.finish()
    assert str(failure.value) == message("race.json", log=tmp_path / "rally.log")
    assert race.calls == ["Rally.check", "Rally.stop"]


# --- however the run ended --------------------------------------------------------------------------------------------


def test_what_is_left_of_rally_is_stopped_and_its_corpus_removed(race: Race) -> None:
    """With what Rally has made beside it; logs stay."""
    race.sends(1)
    race.load.start()
    for name in (f"{CORPUS}.offset", "rally.log"):
        (race.folder / name).touch()
    race.load.stop()
    assert (race.calls[-1], race.load.run.children) == ("Rally.stop", {})
    assert {path.name for path in race.folder.iterdir()} == {"tmp", "track.json", "command.json", "rally.log"}


def test_a_run_that_has_failed_before_its_load_has_nothing_to_stop(race: Race, tmp_path: Path) -> None:
    """Nor to record."""
    race.load.stop()
    assert (race.load.record()["rally"], race.load.refusals(), list(tmp_path.iterdir())) == (None, (), [])


@pytest.mark.parametrize("error_percent", [0.0, 0.003])
def test_errors_that_rally_counts_void_the_run(race: Race, error_percent: float, message: MakeMessage) -> None:
    """However few."""
    race.load.rally = cast("RallyLoad", SimpleNamespace(error_percent=error_percent))
    assert race.load.refusals() == ((message(0.003, "rally.log"),) if error_percent else ())
