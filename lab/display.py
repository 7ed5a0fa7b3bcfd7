"""Display of a command while it works."""

import contextlib
import os
import termios
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TaskID
from rich.text import Text

from lab.analysis.text import count, duration, number
from lab.console import console
from lab.records.run import PhaseName, RunWarning
from lab.stack.local import StackProgress

REFRESHES_PER_S = 4
"""Each takes a millisecond from the servers under test."""
BAR_CELLS = 24
BAR_FROM_COLUMNS = 100


class StepLine(ProgressColumn):
    """A step in one line: how far, how long still, how fast; of a step that is done, how long it took.

    What does not fit into the terminal is left out: half a figure would be a wrong one.

    Args:
        unit: What is counted, behind a rate.
    """

    def __init__(self, unit: str = "") -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """The line."""
        line = Text(task.description)
        if task.finished:
            return line.append(f"  took {_rounded(task.finished_time)}", "dim")
        if task.total and console.width >= BAR_FROM_COLUMNS:
            done = round(BAR_CELLS * task.percentage / 100)
            line.append("  " + "━" * done, "green").append("━" * (BAR_CELLS - done), "bright_black")
        for piece in self._pieces(task):
            if line.cell_len + 2 + len(piece) <= console.width - len("⠋ "):
                line.append("  " + piece, "dim" if piece.endswith("elapsed") else "")
        return line

    def _pieces(self, task: Task) -> Iterator[str]:
        """Pieces of the line, the most important first."""
        detail = task.fields.get("detail", "")
        if task.total:
            yield f"{task.percentage:.0f} %"
            if task.time_remaining is not None:
                yield f"{_rounded(task.time_remaining)} left"
            if task.speed and "/s" not in detail:
                yield f"{number(task.speed)}{self._unit}/s"
        if detail not in task.description:
            yield from detail.split(", ")
        yield f"{_rounded(task.elapsed)} elapsed"


def _rounded(seconds: float | None) -> str:
    return duration(round(seconds or 0))


class LiveLines(Progress):
    """Steps as lines that change while they work. What is typed meanwhile is not shown: it would tear them."""

    def __init__(self, unit: str = "", *, transient: bool = False) -> None:
        spinner = SpinnerColumn(finished_text="[green]✓[/green]")
        super().__init__(
            spinner, StepLine(unit), console=console, transient=transient, refresh_per_second=REFRESHES_PER_S
        )
        self._before: list[Any] | None = None

    def start(self) -> None:
        """Begin to show them."""
        if _has_terminal():
            self._before = termios.tcgetattr(0)
            without_echo = self._before[3] & ~termios.ECHO
            termios.tcsetattr(0, termios.TCSANOW, [*self._before[:3], without_echo, *self._before[4:]])
        super().start()

    def stop(self) -> None:
        """Show them no longer; the terminal is as it was."""
        if self._before is not None and _has_terminal():
            termios.tcsetattr(0, termios.TCSANOW, self._before)
        self._before = None
        if self.live.is_started:
            # One that never began would end with a blank line.
            super().stop()


def _has_terminal() -> bool:
    """Check that the terminal is ours; a background process that changes it would be stopped."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def print_warnings(warnings: Iterable[RunWarning]) -> None:
    """Show the warnings, to read before the figures."""
    for warning in warnings:
        text = f"{escape(warning.seen)}. [dim]What to do:[/dim] {escape(warning.remedy)}."
        console.print(f"[yellow]! {warning.kind.heading}:[/yellow] {text}", soft_wrap=not console.is_terminal)


def print_report(report: Path, *, open_it: bool = False) -> None:
    """Show the report's path from here; open the report in the browser if that is wanted."""
    here = Path.cwd()
    shown = report.resolve().relative_to(here) if report.resolve().is_relative_to(here) else report
    console.print(f"report: {shown}", soft_wrap=True, markup=False)
    if open_it and typer.launch(report.resolve().as_uri()):
        console.print("no browser could be started; open the file yourself")


class StackDisplay:
    """Downloads as one bar, servers as one line each with the time they took."""

    def __init__(self) -> None:
        self._fetching = LiveLines(" MB", transient=True)
        self._fetch_task: TaskID | None = None
        self._servers = LiveLines(transient=True)
        self._tasks: dict[str, TaskID] = {}
        self._live: LiveLines | None = None

    @contextlib.contextmanager
    def showing(self) -> Iterator[StackProgress]:
        """Progress object for the stack while it works."""
        try:
            yield StackProgress(fetching=self.fetching, step=self.step)
        finally:
            self._show(None)

    def _show(self, progress: LiveLines | None) -> None:
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
                console.print(f"fetching {count(needed_bytes / 1e6)} MB (once)")
            self._fetch_task = self._fetching.add_task("fetching (once)", total=needed_bytes / 1e6)
        self._show(self._fetching)
        self._fetching.update(self._fetch_task, completed=present_bytes / 1e6)

    def step(self, name: str, what: str) -> None:
        """Something happens to a server or another piece."""
        task_id = self._tasks.pop(name, None)
        took_s = next((task.elapsed for task in self._servers.tasks if task.id == task_id), None)
        if task_id is not None:
            self._servers.remove_task(task_id)
        if what in {"starting", "building", "fetching", "stopping"}:
            self._tasks[name] = self._servers.add_task(f"{name}: {what}", total=None)
            if self._fetch_task is None or self._fetching.tasks[0].finished:
                self._show(self._servers)
        elif took_s is None:
            console.print(f"{name}: {what}")
        elif took_s >= 0.1:
            console.print(f"[green]✓[/green] {name} {what} [dim]after {duration(took_s)}[/dim]")


class RunDisplay:
    """A line for each step of a run. Off a terminal, it says only what begins.

    Args:
        heading: Which run of many it is, and how far these are: then only this and the present step are shown, and
            nothing of them stays.
    """

    def __init__(self, heading: tuple[str, str] | None = None) -> None:
        self._heading = heading
        self._progress = LiveLines(transient=heading is not None)
        self._task: TaskID | None = None

    @contextlib.contextmanager
    def showing(self) -> Iterator["RunDisplay"]:
        """Show it while the run is under way."""
        if self._heading:
            self._progress.add_task(self._heading[0], total=None, detail=self._heading[1])
        with self._progress if console.is_terminal else contextlib.nullcontext():
            yield self
            self.end()

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
            if self._heading:
                self._progress.remove_task(self._task)
            self._task = None
