"""The terminal that commands write to."""

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import IO, Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lab import IS_CHECKOUT


def as_called(text: str) -> str:
    """A text that names commands as they are typed here: `./sluice` in a checkout, `sluice` where it is installed."""
    return text if IS_CHECKOUT else text.replace("./sluice", "sluice")


class PipeProofConsole(Console):
    """A console whose command goes on, and ends as it would, when whoever read its output has gone, such as `head`."""

    def render_str(self, text: str, **style: Any) -> Text:
        """Text as printed: commands are named as they are called here."""
        return super().render_str(as_called(text), **style)

    def on_broken_pipe(self) -> None:
        """Drop the rest of the output."""
        self.quiet = True
        drop_output(self.file)


console = PipeProofConsole(highlight=False)


def drop_output(file: IO[str]) -> None:
    """Have what is written to a file from here on go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, file.fileno())
    os.close(nowhere)


def print_answer(text: str) -> None:
    """Print what a program reads on the standard output; a program that has gone does not change how we end."""
    try:
        print(text, flush=True)  # noqa: T201 - an answer, not a log
    except BrokenPipeError:
        drop_output(sys.stdout)


def table_of(
    rows: Iterable[Sequence[str]], *columns: str, right: Collection[str] = (), whole: Collection[str] = ()
) -> Table:
    """Rows below the names of their columns; without names, rows alone.

    Args:
        right: Columns of figures.
        whole: Columns of names that fit beside the others, so that none is broken.
    """
    table = Table(show_edge=False, show_header=bool(columns))
    for column in columns:
        justify: Literal["left", "right"] = "right" if column in right else "left"
        table.add_column(column, overflow="fold", justify=justify, no_wrap=column in whole)
    for row in rows:
        table.add_row(*row)
    return table


def keep_output_for_json(wanted: bool) -> bool:  # noqa: FBT001 - as Typer calls it
    """Write all that is no answer to the standard error, where the answer is to be JSON; whether it is."""
    console.stderr = wanted
    return wanted


def print_json(answer: object) -> None:
    """Print records, dataclasses, numbers and texts, in lists and mappings, as JSON on the standard output."""
    # Only here: a help needs neither, and these take a quarter of a second.
    import orjson  # noqa: PLC0415
    from pydantic import BaseModel  # noqa: PLC0415

    def plain(value: object) -> object:
        return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)

    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    print_answer(orjson.dumps(answer, default=plain, option=options).decode())
