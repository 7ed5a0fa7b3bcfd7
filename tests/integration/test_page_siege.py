"""The page under more requests than it can answer: who looks at it waits for none of them. No server is needed."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from lab.analysis.result import analyse, write_result
from lab.page import hub, server
from lab.page.serve import END_WITHIN_S
from tests.integration.bare_page import BarePage, bare_page, wait_until
from tests.unit.analysis.synthetic import Truth, run, samples, written

GONE = 42
SOON_S = 2.0
"""Of a style sheet, on a machine that tests share; before, it took up to 34 s."""
FOR_S = 3.0
BETWEEN_LOOKS_S = 0.02
"""So short that none of a long wait is overlooked, and so long that looking is not what keeps the page busy."""
RUNS = [f"aladin/static/20270115-09000{number}" for number in range(1, 7)]
SUITE = {"kind": "suite", "name": "events-queries", "settings": []}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarePage]:
    """The page of six runs that have ended."""
    runs = tmp_path_factory.mktemp("siege") / "runs"
    for name in RUNS:
        write_result(analyse(written(runs / name, run(Truth()), samples(Truth()))))
    with bare_page(runs) as served:
        yield served


def worst_s(page: BarePage) -> float:
    """The longest that a style sheet or the state took for a while."""
    worst, ends_s = 0.0, time.monotonic() + FOR_S
    while time.monotonic() < ends_s:
        worst = max(worst, page.taken_s("/static/page.css"), page.taken_s("/api/now"))
        time.sleep(BETWEEN_LOOKS_S)
    return worst


def children(page: BarePage) -> list[psutil.Process]:
    """Processes that the page has started."""
    return psutil.Process(page.process.pid).children()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/compare", {"runs": RUNS}),
        ("/api/check", SUITE),
        ("/api/suites/events-queries", None),
        ("/api/profiles", None),
        ("/api/history?q=aladin", None),
    ],
)
def test_clients_that_have_gone_keep_nobody_waiting(page: BarePage, path: str, body: object) -> None:
    """Even with the token; and what they have asked for is not worked at any more."""
    for _ in range(GONE):
        with page.connected() as connection:
            connection.sendall(page.request(path, body))
    assert worst_s(page) < SOON_S
    wait_until(lambda: not children(page))


def test_clients_that_wait_are_few_and_the_others_are_told(page: BarePage) -> None:
    """One comparison is made at a time, one waits, and the rest is refused at once."""
    with ExitStack() as open_ones:
        asked = [open_ones.enter_context(page.connected()) for _ in range(12)]
        for connection in asked:
            connection.sendall(page.request("/api/compare", {"runs": RUNS[:2]}))
        assert len(children(page)) <= 1
        assert worst_s(page) < SOON_S
        statuses = sorted(int(connection.recv(12).split(b" ")[1]) for connection in asked)
    assert statuses == [200] * 2 + [429] * 10


@pytest.mark.parametrize("path", ["/api/compare", "/api/check", "/api/start", "/api/stop"])
def test_without_the_token_nothing_costs_or_changes_anything(page: BarePage, path: str) -> None:
    """Whatever the body."""
    status, answer = page.ask(path, {"runs": RUNS}, token="")
    assert (status, answer["error"].partition(":")[0]) == (403, "X-Sluice-Token")
    assert children(page) == []


@pytest.mark.parametrize("path", ["/api/profiles", "/api/profiles/quickstart", "/api/suites", "/api/suites/a-a"])
def test_what_takes_a_second_to_list_needs_the_token(page: BarePage, path: str) -> None:
    """A suite of a hundred variants is read whole."""
    assert page.ask(path, token="")[0] == 403
    assert page.ask(path)[0] == 200


def test_connections_that_say_nothing_lock_nobody_out(page: BarePage) -> None:
    """More of them than the process may have files; the longest silent one makes room."""
    before = psutil.Process(page.process.pid).num_fds()
    with ExitStack() as open_ones:
        for _ in range(1100):
            connection = open_ones.enter_context(page.connected())
            with suppress(ConnectionError):  # as it may have been closed already
                connection.sendall(b"GET / HTTP/1.1\r\nHo")
        assert page.taken_s("/static/page.css") < SOON_S
        assert psutil.Process(page.process.pid).num_fds() < before + 2 * server.MOST_CONNECTIONS
    assert page.taken_s("/static/page.css") < SOON_S


def test_who_never_finishes_a_request_is_not_waited_for(page: BarePage) -> None:
    """Nothing at all, a head without an end, a body that does not come: closed, closed, and answered."""
    with page.connected() as silent, page.connected() as endless, page.connected() as slow:
        endless.sendall(b"GET / HTTP/1.1\r\nHost: a")
        slow.sendall(page.request("/api/check", SUITE)[:-5])
        for connection in (silent, endless, slow):
            connection.settimeout(3 * server.SILENT_FOR_S)
        assert closed(silent)
        assert closed(endless)
        assert slow.recv(12) == b"HTTP/1.1 400"


def closed(connection: socket.socket) -> bool:
    """Whether the other end closes it without a word."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_browsers_that_watch_are_as_many_as_may(page: BarePage) -> None:
    """One that comes when all places are taken is told; one that leaves makes room."""
    request = page.request("/api/events", token="")
    with ExitStack() as open_ones:
        watching = [open_ones.enter_context(page.connected()) for _ in range(hub.MOST_BROWSERS + 7)]
        for connection in watching:
            connection.sendall(request)
        statuses = sorted(connection.recv(12) for connection in watching)
        assert statuses == [b"HTTP/1.1 200"] * hub.MOST_BROWSERS + [b"HTTP/1.1 503"] * 7
        assert page.taken_s("/api/now") < SOON_S
    wait_until(lambda: watches(page))


def watches(page: BarePage) -> bool:
    """Whether there is room for one more browser."""
    with page.connected() as connection:
        connection.sendall(page.request("/api/events"))
        return connection.recv(12) == b"HTTP/1.1 200"


def test_a_long_question_is_refused(page: BarePage) -> None:
    """Before a row is looked at."""
    assert page.ask(f"/api/history?q={'a+' * 4000}")[0] == 400
    assert page.ask(f"/api/profiles/{'a' * 4000}")[0] == 400
    assert page.ask("/api/history?limit=501")[0] == 400


def test_a_page_ends_soon_whatever_it_works_at(tmp_path: Path) -> None:
    """With all that it has started."""
    for name in RUNS[:2]:
        write_result(analyse(written(tmp_path / name, run(Truth()), samples(Truth()))))
    with bare_page(tmp_path) as page, page.connected() as connection:
        connection.sendall(page.request("/api/compare", {"runs": RUNS[:2]}))
        wait_until(lambda: children(page) != [])
        started = children(page)
        page.process.terminate()
        assert page.process.wait(END_WITHIN_S + server.LONGEST_GOODBYE_S) == 0
    assert psutil.wait_procs(started, timeout=SOON_S)[1] == []
