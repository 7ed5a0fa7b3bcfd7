"""Summaries in Rally's words on a terminal: one written of a run, and two beside each other."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich.markup import escape

from lab.analysis.rally.beside import Beside, beside
from lab.analysis.rally.of_run import rally_lines
from lab.analysis.rally.summary import SUFFIXES, Line, csv_text, markdown_text, read_summary
from lab.analysis.result import RunAnalysis, analyse
from lab.analysis.text import UNKNOWN, count
from lab.console import console, table_of
from lab.errors import ProfileError
from lab.files import write_whole
from lab.run.folder import find_run

FILES = "rally.csv", "rally.md"


def write_summary(analysis: RunAnalysis) -> None:
    """Write a run in Rally's words into its folder, as CSV and as Markdown, and say where.

    Raises:
        ProfileError: The run is not verified.
    """
    lines = _verified_lines(analysis)
    for name, text in zip(FILES, (csv_text(lines), markdown_text(lines)), strict=True):
        path = analysis.folder.path / name
        write_whole(path, text)
        console.print(f"{len(lines)} rows: {escape(str(path))}", soft_wrap=True)


def is_summary(name: str) -> bool:
    """Whether a name is of a file that a summary may be in, and of no run."""
    return Path(name).suffix.lower() in SUFFIXES and not Path(name).is_dir()


def lay_beside(runs: Path, first: str, second: str) -> None:
    """Show two summaries beside each other; a run stands for its own in Rally's words.

    Raises:
        ProfileError: One cannot be read, or no row of them may be compared.
    """
    of_rally = sum(map(is_summary, (first, second)))
    rows = beside(_lines(runs, first), _lines(runs, second), of_rally=of_rally)
    compared = [row for row in rows if row.refused is None]
    if not compared:
        raise ProfileError(f"{first} and {second}: no row of the two measured the same task; expected one at least")
    refused = [row for row in rows if row.refused]
    console.print(f"[bold]{escape(first)}[/bold] and [bold]{escape(second)}[/bold]", soft_wrap=True)
    shown = [row for row in rows if not row.refused and not row.note]
    console.print(table_of(_by_task(shown), "task, metric", "first", "second", "change", right=_RIGHT))
    repeated = sum(bool(row.note) for row in rows)
    if repeated:
        console.print(f"{count(repeated)} latencies equal the service time on both sides: left out")
    console.print("no verdict: one race of each has no spread to tell a difference from chance")
    if refused:
        console.print(f"\n[yellow]![/yellow] not compared: {count(len(refused))} rows")
        console.print(table_of(map(_refused_cells, refused), "row", "why not"))


_RIGHT = ("first", "second", "change")


def _lines(runs: Path, name: str) -> Sequence[Line]:
    return read_summary(Path(name)) if is_summary(name) else _verified_lines(analyse(find_run(runs, name)))


def _verified_lines(analysis: RunAnalysis) -> Sequence[Line]:
    """Rally's reports have no place to say that documents are missing."""
    if analysis.result.status != "verified":
        raise ProfileError(f"{analysis.folder.path}: the run is not verified, expected one that is; see its report")
    return rally_lines(analysis)


def _by_task(rows: Sequence[Beside]) -> Iterator[tuple[str, ...]]:
    """Each task, then its rows."""
    for task, its in groupby(rows, key=lambda row: row.task):
        yield f"[bold]{escape(task or 'whole cluster')}[/bold]", "", "", ""
        yield from map(_cells, its)


def _cells(row: Beside) -> tuple[str, ...]:
    change = UNKNOWN if row.change is None else f"{100 * row.change:+.0f} %"
    first, second = (UNKNOWN if value is None else f"{value:.6g}" for value in (row.first, row.second))
    return f"  {row.metric}{f', {row.unit}' if row.unit else ''}", first, second, change


def _refused_cells(row: Beside) -> tuple[str, ...]:
    return f"{row.metric}{f', {row.task}' if row.task else ''}", row.refused or ""
