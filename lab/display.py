"""What a command shows while it works."""

import contextlib
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from lab.records import PhaseName
from lab.stack.local import StackProgress

console = Console(highlight=False)


class StackDisplay:
    """Downloads as one bar, servers as one line each with the time they took."""

    def __init__(self) -> None:
        self._fetching = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._fetch_task: TaskID | None = None
        self._servers = Progress(
            SpinnerColumn(finished_text="[green]✓[/green]"),
            TextColumn("{task.description}"),
            TextColumn("[dim]{task.fields[what]}[/dim]"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._started: dict[str, float] = {}
        self._tasks: dict[str, TaskID] = {}
        self._live: Progress | None = None

    @contextlib.contextmanager
    def showing(self) -> Iterator[StackProgress]:
        """What to hand to the stack while it works."""
        try:
            yield StackProgress(fetching=self.fetching, step=self.step)
        finally:
            self._show(None)

    def _show(self, progress: Progress | None) -> None:
        """A terminal has one live display at a time."""
        if self._live is progress:
            return
        if self._live is not None:
            self._live.stop()
        self._live = progress
        if progress is not None and console.is_terminal:
            progress.start()

    def fetching(self, present_bytes: int, needed_bytes: int) -> None:
        """So much of the downloads is there."""
        if self._fetch_task is None:
            if not console.is_terminal:
                console.print(f"fetching {needed_bytes / 1e6:.0f} MB of servers (once)")
            self._fetch_task = self._fetching.add_task("fetching servers (once)", total=needed_bytes)
        self._show(self._fetching)
        self._fetching.update(self._fetch_task, completed=present_bytes)

    def step(self, name: str, what: str) -> None:
        """Something happens to a server or another piece."""
        if what in {"starting", "building", "stopping"}:
            self._started[name] = time.monotonic()
            if name not in self._tasks:
                self._tasks[name] = self._servers.add_task(name, what=what, total=1)
            self._servers.reset(self._tasks[name], what=what, total=1, completed=0)
            if self._fetch_task is None or self._fetching.tasks[0].finished:
                self._show(self._servers)
            return
        if name not in self._started:
            console.print(f"{name}: {what}")
            return
        took_s = time.monotonic() - self._started[name]
        if name in self._tasks:
            self._servers.update(self._tasks[name], what=what, completed=1)
        if took_s >= 0.1:
            console.print(f"[green]✓[/green] {name} {what} [dim]after {took_s:.1f} s[/dim]")


class RateColumn(ProgressColumn):
    """The mean rate of a step so far."""

    def render(self, task: Task) -> Text:
        """Units per second, or nothing where they are not counted."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:>9,.0f}/s" if speed and task.total else "", style="cyan")


class RunDisplay:
    """A bar for each step of a run: how far, how fast, how long still. Off a terminal, a line for each step."""

    def __init__(self) -> None:
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓[/green]"),
            TextColumn("{task.description:<34}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            RateColumn(),
            TimeElapsedColumn(),
            TextColumn("[dim]left[/dim]"),
            TimeRemainingColumn(),
            TextColumn("[dim]{task.fields[detail]}[/dim]"),
            console=console,
        )
        self._task: TaskID | None = None

    @contextlib.contextmanager
    def showing(self) -> Iterator["RunDisplay"]:
        """Show it while the run is under way."""
        if not console.is_terminal:
            yield self
            return
        with self._progress:
            yield self

    def begin(self, phase: PhaseName, what: str, total: int | None) -> None:
        """A step begins; the one before is done."""
        self.end()
        if not console.is_terminal:
            console.print(f"{phase}: {what}" + (f" ({total:,})" if total else ""))
        self._task = self._progress.add_task(f"{phase}: {what}", total=total, detail="")

    def update(self, done: int, detail: str = "") -> None:
        """So much of the step is done."""
        if self._task is not None:
            self._progress.update(self._task, completed=done, detail=detail)

    def end(self) -> None:
        """The last step is done."""
        if self._task is not None:
            task = self._progress.tasks[-1]
            self._progress.update(self._task, total=task.total or 1, completed=task.total or 1, detail="")
            self._task = None
