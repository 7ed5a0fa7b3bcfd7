"""Events below the folder of all runs, for every browser that watches."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

from lab.errors import SluiceError
from lab.page.run import RunView
from lab.page.suite import SuiteView
from lab.page.tree import RunTree
from lab.page.trouble import trouble_with

LOG = logging.getLogger(__name__)
LOOK_EVERY_S = 0.5
"""So soon after it was written a sample is shown; its interval is a second."""
FIND_EVERY_S = 1.0
"""How often the newest run is looked for."""
TIME_LEFT_EVERY_S = 5.0
"""How often a suite's time left is told while a run of it lasts."""
ALIVE_EVERY_S = 10.0
COMPLAIN_EVERY_S = 60.0
MOST_WAITING = 200
"""Events that a browser may be behind; one that is further begins anew."""
MOST_BROWSERS = 32
NOW_KEPT_S = 0.25
"""So long, the whole state is the same for all who ask for it."""

Facts = dict[str, Any]
Result = TypeVar("Result")


class CrowdedError(SluiceError):
    """As many browsers watch as may."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the stream."""

    name: str
    facts: Facts

    def text(self, number: int) -> bytes:
        """As a browser reads it."""
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, self.name.encode(), orjson.dumps(self.facts))


@dataclass
class Watch:
    """Follows the newest run, and its suite; looked at from one thread.

    Attributes:
        page: What the page says of itself.
        child: What became of the command that the page started.
        since_s: Of runs that began before, none is shown; `None` where any is.
    """

    tree: RunTree
    page: Facts
    child: Callable[[], Facts | None] = lambda: None
    clock: Callable[[], float] = time.monotonic
    since_s: float | None = None
    run: RunView | None = field(default=None, init=False)
    suite: SuiteView | None = field(default=None, init=False)
    _found_s: float = field(default=float("-inf"), init=False)
    _charts: object = field(default=None, init=False)
    _alive: bool = field(default=False, init=False)
    _child: Facts | None = field(default=None, init=False)
    _shown: RunView | None = field(default=None, init=False)
    _suite_runs: bool = field(default=False, init=False)
    _suite_told_s: float = field(default=float("-inf"), init=False)
    _complained_s: float = field(default=float("-inf"), init=False)
    _faults: dict[str, str] = field(default_factory=dict, init=False)
    _trouble: str | None = field(default=None, init=False)
    _told_trouble: str | None = field(default=None, init=False)

    @property
    def suite_is_under_way(self) -> bool:
        """Check that the followed suite has not ended and its command is alive, between its runs as well."""
        return self.suite is not None and not self.suite.has_ended and self.run is not None and self.run.has_process

    def look(self) -> list[Event]:
        """Events since the last look."""
        self._tried("the folder of all runs", self._find, None)
        none: list[Event] = []
        events = [*self._tried("the run", self._of_run, none), *self._tried("the suite", self._of_suite, none)]
        shown, child = self._shown_run(), self._tried("the command", self.child, None)
        if shown is not self._shown or child != self._child or self.trouble != self._told_trouble:
            self._shown, self._child, self._told_trouble = shown, child, self.trouble
            return [Event("now", self.now())]
        return events

    @property
    def trouble(self) -> str | None:
        """Why not all is shown or can be kept, in a sentence."""
        return self._trouble or next(iter(self._faults.values()), None)

    def _tried(self, what: str, look: Callable[[], Result], otherwise: Result) -> Result:
        """Result of one look; a look that fails is reported, and hides nothing else."""
        try:
            found = look()
        except Exception as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            self._faults[what] = f"{what}: cannot be shown: {reason}"
            self._complain(what, error)
            return otherwise
        self._faults.pop(what, None)
        return found

    def _complain(self, what: str, error: Exception) -> None:
        """Write down once in a while why something is not shown."""
        if time.monotonic() - self._complained_s > COMPLAIN_EVERY_S:
            self._complained_s = time.monotonic()
            LOG.error("%s: cannot be shown", what, exc_info=error)

    def _find(self) -> None:
        """Follow the newest run."""
        now_s = self.clock()
        if now_s - self._found_s < FIND_EVERY_S:
            return
        self._found_s = now_s
        newest = self.tree.newest_run()
        self._trouble = trouble_with(self.tree.runs) or self._unreadable()
        if newest is None and not self.tree.unreadable:
            self.run = self.suite = None
        elif newest is not None and (self.run is None or self.run.folder != newest):
            self.run = RunView(newest, self._name(newest))
            self.suite = self._suite_of(newest)

    def _unreadable(self) -> str | None:
        """The first folder that is there and cannot be listed."""
        return next((f"{path}: cannot be read: {why}" for path, why in self.tree.unreadable.items()), None)

    def _shown_run(self) -> RunView | None:
        """The newest run, once it has said where it is; those of older versions never do."""
        if self.run is None or self.run.progress is None:
            return None
        is_before = self.since_s is not None and self.run.progress.started_s < self.since_s
        return None if is_before and not self.run.is_alive else self.run

    def _name(self, folder: Path) -> str:
        return folder.relative_to(self.tree.runs).as_posix()

    def _suite_of(self, run: Path) -> SuiteView | None:
        """The suite that a run is of: the one before, where it is still that."""
        folder = run.parents[2]
        if not folder.is_relative_to(self.tree.runs) or not (folder / "plan.json").is_file():
            return None
        if self.suite is not None and self.suite.folder == folder:
            return self.suite
        return SuiteView(folder, self._name(folder), self.tree.runs)

    def _of_run(self) -> list[Event]:
        run = self.run
        if run is None:
            return []
        new, changed = run.look()
        if self._shown_run() is None:
            return []
        alive, before = run.is_alive, self._alive
        self._alive = alive
        events = []
        if run.charts_key != self._charts:
            self._charts = run.charts_key
            events.append(Event("charts", {"run": run.folder.name, "charts": run.charts()}))
        if new or changed or alive != before:
            points = [point.row() for point in new]
            events.append(Event("points", {"run": run.folder.name, "points": points, "state": run.state()}))
        return events

    def _of_suite(self) -> list[Event]:
        if self.suite is None or (self.since_s is not None and self._shown_run() is None):
            return []
        has_changed, runs = self.suite.look(), self.suite_is_under_way
        is_due = runs and self.clock() - self._suite_told_s >= TIME_LEFT_EVERY_S
        if not has_changed and runs == self._suite_runs and not is_due:
            return []
        self._suite_runs, self._suite_told_s = runs, self.clock()
        view = self._view_of_suite()
        return [Event("suite", view)] if view else []

    def _view_of_suite(self) -> Facts | None:
        if self.suite is None:
            return None
        return self.suite.view(self.run.folder if self.run and self.suite_is_under_way else None)

    def now(self) -> Facts:
        """NOW of the contract, as of the last look."""
        run = self._shown_run()
        suite = self._view_of_suite if run or self.since_s is None else lambda: None
        return {
            "run": self._tried("the whole run", run.now, None) if run else None,
            "suite": self._tried("the whole suite", suite, None),
            "page": self.page,
            "child": self._child,
            "trouble": self.trouble,
            "server_s": run.now_s if run else time.time(),
        }


class Hub:
    """Hands the events of one watch to any number of browsers; looks at nothing while there is none."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._browsers: set[asyncio.Queue[Event | None]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._numbers = 0
        self._now, self._now_s = b"", float("-inf")

    def now(self) -> Facts:
        """Present state."""
        self.look()
        return self.watch.now()

    def now_as_json(self) -> bytes:
        """Present state as JSON, computed again only after some time or after an event."""
        if time.monotonic() - self._now_s >= NOW_KEPT_S:
            self._now = orjson.dumps(self.now())
            self._now_s = time.monotonic()
        return self._now

    def look(self) -> None:
        """Tell every browser what has happened since the last look."""
        for event in self.watch.look():
            self._send(event)

    def _send(self, event: Event) -> None:
        self._now_s = float("-inf")
        for waiting in self._browsers:
            is_behind = waiting.qsize() >= MOST_WAITING
            if is_behind:
                _emptied(waiting)
            waiting.put_nowait(Event("now", self.watch.now()) if is_behind else event)

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """The events for one browser, until it goes or the server ends.

        Raises:
            CrowdedError: As many watch already as may; before the first event.
        """
        if len(self._browsers) >= MOST_BROWSERS:
            raise CrowdedError(f"events: {MOST_BROWSERS} browsers watch already; close one of them")
        waiting: asyncio.Queue[Event | None] = asyncio.Queue()
        first = b"id: 0\nevent: now\ndata: %s\n\n" % self.now_as_json()
        self._browsers.add(waiting)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on())
        try:
            yield first
            while True:
                try:
                    event = await asyncio.wait_for(waiting.get(), ALIVE_EVERY_S)
                except TimeoutError:
                    yield b": alive\n\n"
                    continue
                if event is None:
                    return
                yield self._text(event)
        finally:
            self._browsers.discard(waiting)
            if not self._browsers and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    def _text(self, event: Event) -> bytes:
        self._numbers += 1
        return event.text(self._numbers)

    async def _look_on(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()

    def end(self, reason: str) -> None:
        """Tell every browser the last that there is to tell, and that the server ends on purpose."""
        self.look()
        self._send(Event("end", {"reason": reason}))
        for waiting in self._browsers:
            waiting.put_nowait(None)


def _emptied(waiting: "asyncio.Queue[Event | None]") -> None:
    while not waiting.empty():
        waiting.get_nowait()
