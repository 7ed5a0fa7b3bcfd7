"""What phases share: a clock that nobody can set, and a display that looks after the servers."""

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import StackError
from lab.monitor.sampler import SystemClock
from lab.records.run import PhaseName
from lab.run.phases import MERGE_LIMIT, PhaseClock, RunContext, WatchedProgress, wait_for_merges
from tests.unit.clients.rest_server import rest
from tests.unit.clients.test_clients_elasticsearch import gone


def test_a_clock_that_is_set_makes_no_phase_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour forward in the midst of a phase; the samples of that phase still lie within it."""
    clock, sampled = PhaseClock(), SystemClock()
    began_s = time.time()
    with clock.phase("load"):
        monkeypatch.setattr(time, "time", lambda: began_s + 3600)
        sample_s = sampled.now_s()
    (phase,) = clock.phases
    assert phase.ended_s - phase.started_s < 60
    assert phase.started_s - 1 < sample_s < phase.ended_s + 1


class Shown:
    """What a display was told last."""

    last: tuple[int, str] = (0, "")

    def begin(self, phase: PhaseName, what: str, total: int | None) -> None:
        """Begin anew."""

    def update(self, done: int, detail: str = "") -> None:
        """Keep it."""
        self.last = (done, detail)


def test_what_is_wrong_with_a_server_is_shown_in_place_of_the_rate() -> None:
    """As long as it is wrong."""
    findings = ["kafka ended", ""]
    shown = Shown()
    progress = WatchedProgress(shown, lambda: findings.pop(0))
    progress.update(7, "11/s")
    assert shown.last == (7, "kafka ended")
    progress.update(13, "11/s")
    assert shown.last == (13, "11/s")


def test_a_client_that_asks_again_ends_with_its_server() -> None:
    """Two minutes of patience are for servers that may come back."""

    def check() -> str:
        raise StackError("elasticsearch-1: ended while it was in use")

    progress = WatchedProgress(Shown(), check)
    client = ElasticsearchClient([gone().url], sleep=progress.sleep)
    with pytest.raises(StackError) as failure:
        client.count("books")
    assert str(failure.value) == "elasticsearch-1: ended while it was in use"


# --- merges that a load has left --------------------------------------------------------------------------------------


def merging(*counts: int) -> list[tuple[int, Any]]:
    """The statistics of so many merges, one answer after the other."""
    return [(200, {"_all": {"total": {"merges": {"current": count}}}}) for count in counts]


def settings_changed(target: str, stated: dict[str, object], *counts: int) -> list[object]:
    """What was set of the index while a run waited for its merges.

    Args:
        stated: The index's own settings.
        counts: Merges under way, each time they are counted.
    """
    run = cast(RunContext, SimpleNamespace(target=SimpleNamespace(name=target), progress=Shown()))
    settings = (200, {"books": {"settings": {"index.codec": "default", **stated}}})
    done = (200, {"acknowledged": True})
    first, *others = merging(*counts)
    is_ours = target != "remote"
    between = ([settings] if is_ours else []) + ([done] if is_ours and not stated else [])
    with rest(done, first, *between, *others, done) as server:
        wait_for_merges(run, ElasticsearchClient([server.url]), "books")
    return [body for method, _, body in server.requests if method == "PUT"]


def test_merges_that_a_load_has_left_write_without_a_limit() -> None:
    """And the index has its own limit again when they have ended."""
    assert settings_changed("local", {}, 2, 1, 1, 0) == [{MERGE_LIMIT: False}, {MERGE_LIMIT: None}]


def test_without_merges_nothing_is_set() -> None:
    """As after most small loads."""
    assert settings_changed("local", {}, 0) == []


@pytest.mark.parametrize(("target", "stated"), [("remote", {}), ("local", {MERGE_LIMIT: "true"})])
def test_a_limit_that_is_stated_or_of_shared_servers_stays(target: str, stated: dict[str, object]) -> None:
    """Merges are waited for all the same."""
    assert settings_changed(target, stated, 1, 1, 0) == []
