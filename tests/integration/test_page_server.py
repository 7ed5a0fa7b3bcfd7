"""The live page on a real run: started from the page, and what a browser is told from its start to its end."""

import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import httpx
import orjson
import pytest

from lab.analysis.figures.latency import indexing_latency_series
from lab.analysis.figures.rates import indexing_rate_series
from lab.analysis.folder import read_run
from lab.stack.shape import StackShape
from tests.integration.conftest import COMMAND_TIMEOUT_S, Sluice

BOOKS, RATE = 15_011, 1_001
"""For longer than the page looks back, at a rate that also busy servers keep up with: then the limit is that rate."""
CHOICE = {
    "kind": "run",
    "name": "quickstart",
    "settings": [f"dataset.documents={BOOKS}", "load.mode=stream", f"load.rate_docs_per_s={RATE}"],
}
SOON_S = 1.5


@dataclass(frozen=True)
class Event:
    """One event, with the instant at which it was read."""

    name: str
    facts: dict[str, Any]
    at_s: float


@dataclass
class Browser:
    """Reads all events of a page until it ends, in a thread of its own.

    Attributes:
        address: As the command prints it.
    """

    address: str
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.origin, _, self.token = self.address.partition("/#token=")
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self) -> None:
        """Keep each event as it comes."""
        with httpx.stream("GET", f"{self.origin}/api/events", trust_env=False, timeout=COMMAND_TIMEOUT_S) as response:
            name = ""
            for line in response.iter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    self.events.append(Event(name, orjson.loads(line.removeprefix("data: ")), time.time()))

    def post(self, path: str, body: object = None) -> httpx.Response:
        """Have the page do something."""
        headers = {"Origin": self.origin, "X-Sluice-Token": self.token}
        return httpx.post(self.origin + path, json=body, headers=headers, trust_env=False, timeout=60)

    def wait_for(self, matches: Callable[[Event], bool]) -> Event:
        """Wait for the first event that matches."""
        ends_s = time.monotonic() + COMMAND_TIMEOUT_S
        while time.monotonic() < ends_s:
            if found := next(filter(matches, list(self.events)), None):
                return found
            time.sleep(0.1)
        raise AssertionError([event.name for event in self.events])


def state_in(event: Event) -> dict[str, Any] | None:
    """The state of the run in an event: a whole `now` comes in place of points when anything else has changed, too."""
    run = event.facts["run"] if event.name == "now" else event.facts if event.name == "points" else None
    return run["state"] if run else None


def is_reported(event: Event) -> bool:
    """Whether the run has ended and its report is drawn."""
    state = state_in(event)
    return bool(state and state["ended"] and state["report"])


def address_in(process: subprocess.Popen[str]) -> str:
    """The page's address, as the command prints it."""
    assert process.stdout is not None
    return next(line.removeprefix("page: ").strip() for line in process.stdout if line.startswith("page: "))


@pytest.fixture(scope="module")
def sluice(sluice: Sluice, tmp_path_factory: pytest.TempPathFactory) -> Sluice:
    """The launcher with a folder of runs that no other test writes into: a page begins with the last run of it."""
    return Sluice(sluice.state, tmp_path_factory.mktemp("page") / "runs")


@pytest.fixture(scope="module")
def watched(sluice: Sluice) -> list[Event]:
    """All that a browser was told of a stream that it has started."""
    sluice.stack.ensure(StackShape(), kept=True)
    page = sluice.start("page", "--runs", str(sluice.runs))
    browser = Browser(address_in(page))
    browser.wait_for(lambda event: event.name == "now")
    started = browser.post("/api/start", CHOICE)
    assert (started.status_code, started.json()["started"]) == (200, True)
    assert browser.post("/api/start", CHOICE).status_code == 409
    browser.wait_for(is_reported)
    page.send_signal(signal.SIGINT)
    browser.thread.join(60)
    output, _ = page.communicate(timeout=60)
    assert (page.returncode, output.splitlines()[-1]) == (0, "stopped")
    return browser.events


def of_run(watched: list[Event], sluice: Sluice) -> list[Event]:
    """What was told of the run, sample by sample."""
    return [event for event in watched if event.name == "points" and event.facts["run"] == sluice.latest().name]


def test_a_run_is_watched_from_start_to_end(watched: list[Event], sluice: Sluice) -> None:
    """Each phase comes, then the verdict and the report; at last the page says that it was stopped."""
    begun = next(event.facts["run"] for event in watched if event.name == "now" and event.facts["run"])
    states = [state for event in watched if (state := state_in(event))]
    assert (watched[0].name, watched[-1].name) == ("now", "end")
    assert watched[-1].facts == {"reason": "the page was stopped"}
    assert (begun["profile"], begun["load"], begun["target_rate"]) == ("quickstart", "stream", RATE)
    assert {"load", "verify"} <= {state["phase"] for state in states}
    last = states[-1]
    assert (last["ended"], last["alive"]) == ("verified", False)
    assert last["report"] == f"/runs/quickstart/{sluice.latest().name}/report.html"
    assert any(state["limit"] for state in states)


def test_points_come_soon_and_are_the_reports(watched: list[Event], sluice: Sluice) -> None:
    """Within 1.5 s of their sample, as a rule, on a machine that tests share; each has the values of the report."""
    events = of_run(watched, sluice)
    late_s = [event.at_s - point["at_s"] for event in events for point in event.facts["points"]]
    assert len(late_s) > BOOKS / RATE / 2
    assert median(late_s) < SOON_S
    seen = read_run(sluice.latest()).samples
    series = zip(
        seen[1:], indexing_rate_series(seen, "primaries"), indexing_latency_series(seen, "primaries"), strict=True
    )
    expected = {sample.at_s: (rate.value, latency.value) for sample, rate, latency in series}
    whole = [event.facts["run"] for event in watched if event.name == "now" and event.facts["run"]]
    shown = [*(point for event in events for point in event.facts["points"]), *whole[-1]["points"]]
    points = {point["at_s"]: point for point in shown}
    shared = points.keys() & expected.keys()
    assert len(shared) > len(expected) - 3
    assert {at: (points[at]["indexing_rate_docs_per_s"], points[at]["indexing_latency_ms"]) for at in shared} == {
        at: expected[at] for at in shared
    }


def test_the_pipeline_is_seen_stage_by_stage(watched: list[Event]) -> None:
    """Partitions, the task that runs, bulk requests, the node."""
    pictures = [state["pipeline"] for event in watched if (state := state_in(event))]
    full = [picture for picture in pictures if picture and picture["tasks"] and picture["bulk"]]
    assert full
    last = full[-1]
    assert [partition["id"] for partition in last["topic"]["partitions"]] == ["0"]
    assert [(task["id"], task["state"]) for task in last["tasks"]] == [(0, "RUNNING")]
    assert last["bulk"]["requests"] > 0
    assert [node["name"] for node in last["nodes"]] == ["elasticsearch-1"]
    assert last["nodes"][0]["segments"] >= 1


def test_latencies_end_to_end_are_told_of_a_stream(watched: list[Event], sluice: Sluice) -> None:
    """Of all records so far."""
    points = [point for event in of_run(watched, sluice) for point in event.facts["points"]]
    known = [point["end_to_end_latency_ms_p99"] for point in points if point["end_to_end_latency_ms_p99"]]
    assert known
    assert min(known) > 0
