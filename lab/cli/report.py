"""`sluice report`: draw the report of a run, a suite or a tune again, from its folder alone."""

from typing import Annotated, Literal

import typer

from lab.analysis.report_page.report import write_report
from lab.analysis.result import analyse, write_csv, write_result
from lab.analysis.suite.report import write_suite_report
from lab.analysis.suite.result import analyse_suite
from lab.analysis.tune.result import analyse_tune
from lab.cli import complete
from lab.cli.options import RUNS, JsonOption, OpenOption, RunsOption
from lab.cli.rally import write_summary
from lab.cli.run import show_result
from lab.cli.suite_display import print_result
from lab.cli.tune import report_tune
from lab.console import console, print_json
from lab.display import print_report
from lab.run.folder import find_run
from lab.suite.folder import find_suite, is_suite
from lab.tune.folder import tune_at


def report(
    run: Annotated[
        str,
        typer.Argument(
            help="Run (`latest`, a run id, a profile, a folder), suite (its name, a folder) or tune (`tunes/PROFILE`).",
            autocompletion=complete.runs,
        ),
    ] = "latest",
    words: Annotated[
        Literal["rally", "csv"] | None,
        typer.Option(
            "--as",
            help="Write a run's figures instead: under Rally's names, or as CSV with the samples.",
        ),
    ] = None,
    runs: RunsOption = RUNS,
    *,
    open_it: OpenOption = False,
    as_json: JsonOption = False,
) -> None:
    """Draw the report of a run, a suite or a tune again. Needs no server."""
    if words == "rally":
        write_summary(analyse(find_run(runs, run)))
        return
    if words == "csv":
        for path in write_csv(analyse(find_run(runs, run))):
            console.print(f"written: {path}", soft_wrap=True, markup=False)
        return
    if tuned := tune_at(runs, run):
        report_tune(tuned.path, analyse_tune(tuned.path), open_it=open_it, as_json=as_json)
        return
    if is_suite(runs, run):
        suite = find_suite(runs, run).path
        of_suite = analyse_suite(suite)
        print_result(of_suite)
        print_report(write_suite_report(suite), open_it=open_it)
        if as_json:
            print_json(of_suite)
        return
    analysis = analyse(find_run(runs, run))
    write_result(analysis)
    write_report(analysis)
    show_result(analysis, open_it=open_it)
    if as_json:
        print_json(analysis.result)
