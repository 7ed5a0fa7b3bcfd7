"""A run that waits still looks after its servers."""

import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import StackError
from lab.records import PhaseName
from lab.run.phases import WatchedProgress
from tests.unit.clients.test_clients_elasticsearch import gone


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
