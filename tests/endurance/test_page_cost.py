"""What the live page costs: its own CPU, and whether a run's figures know that somebody watches."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest
from playwright.sync_api import Browser, sync_playwright

from lab.analysis.figures.definitions import value_of
from lab.analysis.folder import read_run
from lab.analysis.statistics.effects import effect, verdict_text
from lab.records.suite import MetricKey
from tests.endurance.footprint import Command, running
from tests.endurance.say import say
from tests.integration.conftest import Sluice
from tests.integration.live_page import ADDRESS, chromium

PROFILE = "quickstart"
WARM_UP_RUNS = 3
MOST_OF_A_CORE = 0.01
FIGURES = (
    MetricKey(name="indexing_rate_docs_per_s", scope="primaries"),
    MetricKey(name="cpu_s_per_million_docs", scope="elasticsearch"),
)
READ_EVERY_S = 0.2
READY_WITHIN_S = 60
FOR_S = 600


@dataclass(frozen=True)
class Watched:
    """A run that somebody watched, or nobody.

    Attributes:
        page: CPU of the page's process over the load, as a share of one core; 0 where there was none.
        command: The same of the command's own process, which samples and shows progress.
        values: The figures that are compared, in their order.
    """

    page: float
    command: float
    values: tuple[float | None, ...]


class CpuTime:
    """CPU time of a process, read again and again until the process ends."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._at_s: list[float] = []
        self._cpu_s: list[float] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(psutil.Error):
            while True:
                times = self._process.cpu_times()
                self._at_s.append(time.time())
                self._cpu_s.append(times.user + times.system)
                time.sleep(READ_EVERY_S)

    def share_of_core(self, from_s: float, to_s: float) -> float:
        """Of one core, between two instants; the process has ended."""
        self._thread.join()
        first, last = np.interp([from_s, to_s], self._at_s, self._cpu_s)
        return float((last - first) / (to_s - from_s))


def address_of(command: Command) -> str:
    """The page's, as the command has printed it."""
    deadline = time.monotonic() + READY_WITHIN_S
    while not (cells := ADDRESS.search(command.text())):
        assert time.monotonic() < deadline, command.text()
        assert not command.has_ended, command.text()
        time.sleep(READ_EVERY_S)
    return cells.group(1)


@contextlib.contextmanager
def elsewhere(address: str) -> Iterator[None]:
    """A browser on another machine: what it reads, and nothing of what it draws."""

    def read() -> None:
        events = f"{address.partition('/#')[0]}/api/events"
        with (
            contextlib.suppress(httpx.HTTPError),
            httpx.stream("GET", events, trust_env=False, timeout=FOR_S) as answer,
        ):
            for _ in answer.iter_raw():
                pass

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    yield
    thread.join(READY_WITHIN_S)


@contextlib.contextmanager
def here(browser: Browser, address: str) -> Iterator[None]:
    """Chromium with the page open, on the machine that is measured."""
    context = browser.new_context()
    context.new_page().goto(address)
    try:
        yield
    finally:
        context.close()


def watched(sluice: Sluice, output: Path, how: str, browser: Browser) -> Watched:
    """One run, watched as its name says."""
    words = ("run", PROFILE, "--runs", str(sluice.runs), "--no-page" if how == "nobody" else "--page")
    with running(sluice, output, *words) as command, contextlib.ExitStack() as leaving:
        own = CpuTime(psutil.Process(command.pid))
        page = None
        if how != "nobody":
            address = address_of(command)
            (process,) = [each for each in psutil.Process(command.pid).children() if "lab.page" in each.cmdline()]
            page = CpuTime(process)
            leaving.enter_context(elsewhere(address) if how == "elsewhere" else here(browser, address))
        while not command.has_ended:
            time.sleep(READ_EVERY_S)
        assert command.stop() == 0, command.text()
    load = next(phase for phase in read_run(sluice.latest()).run.phases if phase.name == "load")
    times = (load.started_s, load.ended_s)
    return Watched(
        page=0.0 if page is None else page.share_of_core(*times),
        command=own.share_of_core(*times),
        values=tuple(value_of(sluice.result().metrics, figure.name, figure.scope) for figure in FIGURES),
    )


def compared(how: str, runs: Sequence[Watched], nobody: Sequence[Watched]) -> Iterator[str]:
    """What the page took, and what it did to each figure."""
    page, command = (np.mean([getattr(run, name) for run in runs]) for name in ("page", "command"))
    yield f"{how}: the page {page:.2%} of a core, the command {command:.2%}"
    for place, figure in enumerate(FIGURES):
        pairs = [(own.values[place], other.values[place]) for own, other in zip(runs, nobody, strict=True)]
        change = effect(how, "nobody", figure, pairs)
        text = verdict_text(change.verdict, change.ratio, change.low, change.high)
        yield f"{how}: {figure.name}: {text}, {len(change.ratios)} blocks"


@pytest.mark.timeout(0)
def test_the_page_costs_next_to_nothing(page_blocks: int, own_sluice: Sluice, report: Path) -> None:
    """At most 1 % of a core with one browser; blocks of the same drain, watched by nobody and by a browser."""
    begun = own_sluice("up")
    assert begun.status == 0, begun.errors
    ways = ["nobody", "elsewhere", "here"]
    draw = np.random.default_rng(1)
    done: dict[str, list[Watched]] = {way: [] for way in ways}
    with sync_playwright() as playwright, chromium(playwright) as browser:
        for number in range(WARM_UP_RUNS):
            watched(own_sluice, report / f"warm-up-{number}.txt", "nobody", browser)
        for block in range(page_blocks):
            for way in draw.permutation(ways):
                run = watched(own_sluice, report / f"{block}-{way}.txt", str(way), browser)
                done[str(way)].append(run)
                say(f"block {block + 1} of {page_blocks}: {way}: {run}")
    lines = [line for way in ways[1:] for line in compared(way, done[way], done["nobody"])]
    (report / "page-cost.txt").write_text("\n".join(lines) + "\n", "utf-8")
    say("\n".join(lines))
    assert max(np.mean([run.page for run in done[way]]) for way in ways) <= MOST_OF_A_CORE
