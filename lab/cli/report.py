"""`sluice report`: draw the report of a run or of a suite again, from its folder alone."""

from typing import Annotated, Literal

import typer

from lab.analysis.page.report import write_report
from lab.analysis.result import analyse, write_result
from lab.analysis.suite.report import write_suite_report
from lab.analysis.suite.result import analyse_suite
from lab.cli.options import RUNS, RunsOption
from lab.cli.rally import write_summary
from lab.cli.run import show_result
from lab.cli.suite import print_result
from lab.display import print_report
from lab.run.folder import find_run
from lab.suite.folder import find_suite, is_suite


def report(
    run: Annotated[
        str,
        typer.Argument(help="Run (`latest`, a run id, a profile, a folder) or suite (its name, a folder)."),
    ] = "latest",
    words: Annotated[
        Literal["rally"] | None,
        typer.Option("--as", help="Write the figures of a run under Rally's names instead, as CSV and Markdown."),
    ] = None,
    runs: RunsOption = RUNS,
) -> None:
    """Draw the report of a run or of a suite again. No server is needed."""
    if words == "rally":
        write_summary(analyse(find_run(runs, run)))
        return
    if is_suite(runs, run):
        suite = find_suite(runs, run).path
        print_result(analyse_suite(suite))
        print_report(write_suite_report(suite))
        return
    analysis = analyse(find_run(runs, run))
    write_result(analysis)
    show_result(analysis.result, write_report(analysis))
