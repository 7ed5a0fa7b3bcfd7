"""`sluice label`: labels and note of a run or suite, changed after it has ended."""

from typing import Annotated

import typer
from rich.markup import escape

from lab.analysis.folder import read_record
from lab.analysis.suite.folder import read_suite
from lab.analysis.suite.report import write_suite_report
from lab.analysis.suite.result import analyse_suite
from lab.cli.options import RUNS, RunArgument, RunsOption, marks_of, parsed_labels
from lab.console import console
from lab.records.marks import Marks, marks_text
from lab.run.folder import RunFolder, find_run
from lab.suite.folder import find_suite, is_suite
from lab.targets.servers import conclude


def label(
    run: RunArgument,
    labels: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="Labels to set; NAME= removes one.")
    ] = None,
    *,
    note: Annotated[str | None, typer.Option("--note", help="Another note; empty: none.")] = None,
    runs: RunsOption = RUNS,
) -> None:
    """Set labels and note of a run or suite that has ended; its report is drawn again."""
    changed = parsed_labels(labels or ())
    if is_suite(runs, run):
        suite = find_suite(runs, run)
        # An error, such as that no run has ended, comes before the change.
        plan = read_suite(suite.path).plan
        marks = with_changes(plan.labels, plan.note, changed, note)
        suite.write_plan(plan.model_copy(update=vars(marks)))
        analyse_suite(suite.path)
        write_suite_report(suite.path)
        path = suite.path
    else:
        path = find_run(runs, run)
        record = read_record(path / "run.json")
        marks = with_changes(record.labels, record.note, changed, note)
        folder = RunFolder(path, record.run_id)
        folder.write("run.json", record.model_copy(update=vars(marks)))
        conclude(folder)
    console.print(f"{path.name}: {escape(marks_text(marks.labels, marks.note) or 'no labels')}", soft_wrap=True)


def with_changes(labels: dict[str, str], note: str, changed: dict[str, str], other: str | None) -> Marks:
    """Labels and note after a change; a label without a value goes."""
    checked = marks_of((), other)
    every = {name: value for name, value in {**labels, **changed}.items() if value}
    return Marks(every, note if other is None else checked.note)
