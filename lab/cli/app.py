"""The commands, and how any of them ends: a sentence and an exit status, never a traceback for what a user can fix."""

import os
import signal
import sys
import traceback
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from lab import VERSION
from lab.cli.commands import Commands
from lab.console import PipeProofConsole
from lab.errors import DISK_FULL, SluiceError, StackError, is_interrupt

INTERRUPTED = 130
DEFECT = 70
"""`EX_SOFTWARE` of BSD's sysexits.h."""
EXAMPLES = """\
[bold]Examples[/bold]

sluice run quickstart                     [dim]start, load, verify, measure, report[/dim]

sluice run quickstart --set sink.tasks=2  [dim]one setting changed[/dim]

sluice compare RUN RUN                    [dim]compare two runs by id[/dim]

sluice suite a-a --minutes 10             [dim]many runs, with intervals[/dim]

sluice COMMAND --help                     [dim]all options of a command[/dim]
"""

app = typer.Typer(
    cls=Commands,
    name="sluice",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:  # noqa: FBT001 - as Typer calls it
    """Print the version and end."""
    if wanted:
        print(f"sluice {VERSION}")  # noqa: T201 - an answer, not a log
        raise typer.Exit


@app.callback(epilog=EXAMPLES)
def sluice(
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Measure how fast Kafka Connect feeds Elasticsearch, and what each setting changes."""


def interrupt(number: int, _frame: FrameType | None) -> None:
    """Treat a request to end, or the terminal's end, like Ctrl-C: what was started is stopped on the way out."""
    raise KeyboardInterrupt(signal.Signals(number).name)


def end_by_signals() -> None:
    """Stop at SIGTERM and at the end of the terminal; what `nohup` has us ignore stays ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)


def without_proxy_for_this_machine() -> None:
    """Have HTTP clients reach this machine's servers directly, whatever proxy the downloads need."""
    excluded = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
    for name in ("no_proxy", "NO_PROXY"):
        os.environ[name] = ",".join(filter(None, (excluded, "127.0.0.1,localhost")))


def print_error(errors: Console, error: SluiceError) -> None:
    """The sentence, below the last lines of a server's log where one failed."""
    for line in error.log_lines if isinstance(error, StackError) else ():
        errors.print(f"  [dim]{escape(line)}[/dim]", soft_wrap=True)
    errors.print(f"[bold red]sluice:[/bold red] {escape(str(error))}", soft_wrap=True)


def state_expected(error: typer.TyperException) -> None:
    """Say what an option got and expects, where Typer repeats what the parser of the value says of itself."""
    # Only here: a help needs neither, and these take a quarter of a second.
    from pydantic import ValidationError  # noqa: PLC0415

    from lab.profiles.yaml_model import own_words  # noqa: PLC0415

    if isinstance(error.__cause__, ValidationError):
        error.message = own_words(error.__cause__.errors()[0]).removesuffix(".")


def outcome_of_command() -> object:
    """Run the command line; what its command returns.

    Raises:
        StackError: A file that no command looks after cannot be read or written, or the disk is full.
    """
    try:
        return app(standalone_mode=False, prog_name="sluice")
    except OSError as error:
        if error.filename is None and error.errno not in DISK_FULL:
            raise
        raise StackError(f"{error.filename or 'a file'}: {error.strerror}") from error


def main() -> int:
    """Run the command line; its exit status."""
    without_proxy_for_this_machine()
    end_by_signals()
    try:
        return status_of_command()
    except Exception:
        # Python's own exit status, 1, says of an audit that something differs.
        traceback.print_exc()
        print("sluice: this is a defect of Sluice: please report it with the lines above", file=sys.stderr)  # noqa: T201
        return DEFECT


def status_of_command() -> int:
    """Run the command; its exit status, below the sentence for each way to fail that is foreseen."""
    errors = PipeProofConsole(stderr=True, highlight=False)
    try:
        outcome = outcome_of_command()
    except typer.Exit as ending:
        return ending.exit_code
    except typer.TyperException as error:
        # A wrong option or argument: Typer's own sentence, and the exit status 2.
        state_expected(error)
        error.show()  # type: ignore[attr-defined]
        return int(error.exit_code)
    except (KeyboardInterrupt, typer.Abort, SystemError) as error:
        if isinstance(error, SystemError) and not is_interrupt(error):
            raise
        outcome = INTERRUPTED
    except SluiceError as error:
        print_error(errors, error)
        return error.exit_status
    except (BrokenPipeError, SystemExit) as ending:
        # Whoever read our output, such as `head`, has enough. The console of a help makes a SystemExit of it.
        if not any(isinstance(error, BrokenPipeError) for error in (ending, ending.__context__)):
            raise
        sys.stderr.close()
        return 0
    if outcome == INTERRUPTED:
        # Typer makes this exit status of a Ctrl-C, too.
        errors.print("sluice: interrupted; what this command had started is stopped")
    return outcome if isinstance(outcome, int) else 0
