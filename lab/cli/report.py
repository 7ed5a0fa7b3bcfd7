"""`sluice report`: draw a run's report again, from its folder alone."""

from pathlib import Path
from typing import Annotated

import typer

from lab.analysis import analyse, terminal_table, write_report
from lab.cli.display import console
from lab.run import find_run


def report(
    run: Annotated[
        str, typer.Argument(help="Run: `latest`, a run id, a profile (its last run) or a folder.")
    ] = "latest",
    runs: Annotated[Path, typer.Option(help="Folder of the runs.")] = Path("runs"),
) -> None:
    """Draw the report of a run again. No server is needed."""
    folder = find_run(runs, run)
    console.print(terminal_table(analyse(folder)))
    console.print(f"report: {write_report(folder)}", soft_wrap=True)
