"""The live page on a real run: what a browser is told from its start to its end."""

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
import pytest

from lab.analysis.figures.latency import indexing_latency_series
from lab.analysis.figures.rates import indexing_rate_series
from lab.analysis.folder import read_run
from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice

BOOKS, RATE = 20_011, 3_001
SOON_S = 1.5


@dataclass(frozen=True)
class Told:
    """One event, with the instant at which it was read."""

    name: str
    facts: dict[str, Any]
    at_s: float


def address_in(process: subprocess.Popen[str]) -> str:
    """The page's address, as the command prints it."""
    assert process.stdout is not None
    return next(line.removeprefix("page: ").strip() for line in process.stdout if line.startswith("page: "))


def events_of(address: str) -> Iterator[Told]:
    """All events until the server ends them."""
    url = address.partition("#")[0] + "api/events"
    with httpx.stream("GET", url, trust_env=False, timeout=30) as response:
        name = ""
        for line in response.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield Told(name, orjson.loads(line.removeprefix("data: ")), time.time())


@pytest.fixture(scope="module")
def watched(sluice: Sluice) -> list[Told]:
    """All that a browser was told of a stream."""
    sluice.stack.ensure(StackShape(), kept=True)
    process = sluice.start(
        "run", "quickstart", "--documents", str(BOOKS), "--rate", str(RATE), "--runs", str(sluice.runs), "--page"
    )
    told = list(events_of(address_in(process)))
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    return told


def test_a_run_is_watched_from_start_to_end(watched: list[Told], sluice: Sluice) -> None:
    """Each phase comes, then the verdict and the report; at last the page says that it ends with its command."""
    folder = sluice.latest()
    names = [event.name for event in watched]
    assert names[0] == "now"
    assert names[-1] == "end"
    begun = next(event.facts["run"] for event in watched if event.name == "now" and event.facts["run"])
    of_run = [event for event in watched if event.name == "points" and event.facts["run"] == folder.name]
    states = [event.facts["state"] for event in of_run]
    assert (begun["profile"], begun["load"], begun["target_rate"]) == ("quickstart", "stream", RATE)
    assert {"load", "verify"} <= {state["phase"] for state in states}
    assert (states[-1]["ended"], states[-1]["alive"]) == ("verified", False)
    assert states[-1]["report"] == f"/runs/quickstart/{folder.name}/report.html"
    assert any(state["limit"] for state in states)


def test_points_come_soon_and_are_the_reports(watched: list[Told], sluice: Sluice) -> None:
    """Within 1.5 s of their sample; rate and latency as the report draws them."""
    folder = sluice.latest()
    of_run = [event for event in watched if event.name == "points" and event.facts["run"] == folder.name]
    late_s = [event.at_s - point["at_s"] for event in of_run for point in event.facts["points"]]
    assert len(late_s) > BOOKS / RATE / 2
    assert max(late_s) < SOON_S
    seen = read_run(folder).samples
    series = zip(
        seen[1:], indexing_rate_series(seen, "primaries"), indexing_latency_series(seen, "primaries"), strict=True
    )
    by_sample = {sample.at_s: (rate.value, latency.value) for sample, rate, latency in series}
    shown = {point["at_s"]: point for event in of_run for point in event.facts["points"]}
    shared = sorted(shown.keys() & by_sample.keys())
    assert len(shared) > len(by_sample) - 3
    assert [(shown[at]["indexing_rate_docs_per_s"], shown[at]["indexing_latency_ms"]) for at in shared] == [
        by_sample[at] for at in shared
    ]


def test_the_pipeline_is_seen_stage_by_stage(watched: list[Told]) -> None:
    """Partitions, the task that runs, bulk requests, the node."""
    pictures = [event.facts["state"]["pipeline"] for event in watched if event.name == "points"]
    full = [picture for picture in pictures if picture and picture["tasks"] and picture["bulk"]]
    assert full
    last = full[-1]
    assert [partition["id"] for partition in last["topic"]["partitions"]] == ["0"]
    assert [(task["id"], task["state"]) for task in last["tasks"]] == [(0, "RUNNING")]
    assert last["bulk"]["requests"] > 0
    assert [node["name"] for node in last["nodes"]] == ["elasticsearch-1"]
    assert last["nodes"][0]["segments"] >= 1


def test_latencies_end_to_end_are_told_of_a_stream(watched: list[Told]) -> None:
    """Of all records so far."""
    points = [point for event in watched if event.name == "points" for point in event.facts["points"]]
    known = [point["end_to_end_latency_ms_p99"] for point in points if point["end_to_end_latency_ms_p99"]]
    assert known
    assert min(known) > 0
