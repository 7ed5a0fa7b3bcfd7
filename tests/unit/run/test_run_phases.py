"""What phases share: a clock that nobody can set, and a display that looks after the servers."""

import time

import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import StackError
from lab.monitor.sampler import SystemClock
from lab.records.run import PhaseName
from lab.run.phases import PhaseClock, WatchedProgress
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
