"""The terminal that commands write to."""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import IO, Any, Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from lab import IS_CHECKOUT


def as_called(text: str) -> str:
    """A text that names commands as they are typed here: `./sluice` in a checkout, `sluice` where it is installed."""
    return text if IS_CHECKOUT else text.replace("./sluice", "sluice")


CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that move a terminal's cursor, colour, rename or turn its text, of which Rich lets most through."""


def shown(text: str) -> str:
    """A text of others' in which each character that would control a terminal is written as its escape."""
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


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


class WordTable(Table):
    """A table that breaks no word where its longest words fit side by side.

    Rich shrinks the widest column first, through its words.
    """

    def __init__(self) -> None:
        super().__init__(show_edge=False)
        self.lines: list[int] = []
        self.words: list[int] = []

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, its columns as wide as their longest words; outer padding goes before a word breaks."""
        spare = options.max_width - sum(self.words) - 3 * len(self.words) + 1
        if -2 <= spare < 0:
            self.pad_edge = False
            spare += 2
        if spare >= 0 and sum(self.lines) > sum(self.words) + spare:
            lacking = sorted(range(len(self.words)), key=lambda place: self.lines[place] - self.words[place])
            for done, place in enumerate(lacking):
                given = min(self.lines[place] - self.words[place], spare // (len(lacking) - done))
                self.columns[place].width = self.words[place] + given
                spare -= given
        yield from super().__rich_console__(console, options)


def longest(texts: Iterable[str], parts: Callable[[str], list[str]]) -> int:
    """Cells of the longest part of any text, without markup."""
    plain = (Text.from_markup(as_called(text)).plain for text in texts)
    return max((cell_len(part) for text in plain for part in parts(text)), default=0)


def words_of(text: str) -> list[str]:
    """Words, each first one of a line with the spaces before it."""
    return re.findall(r"^\s*\S+|\S+", text, re.MULTILINE)


def table_of(
    rows: Iterable[Sequence[str]], *columns: str, right: Collection[str] = (), whole: Collection[str] = ()
) -> Table:
    """Rows below the names of their columns; without names, rows alone.

    Args:
        right: Columns of figures.
        whole: Columns of names that fit beside the others, so that none is broken.
    """
    table, cells = WordTable(), list(rows)
    table.show_header = bool(columns)
    for column in columns:
        justify: Literal["left", "right"] = "right" if column in right else "left"
        table.add_column(column, overflow="fold", justify=justify, no_wrap=column in whole)
    for row in cells:
        table.add_row(*row)
    for place, texts in enumerate(zip(*([columns] if columns else []), *cells, strict=True)):
        is_whole = bool(columns) and columns[place] in whole
        table.lines.append(longest(texts, str.splitlines))
        table.words.append(table.lines[-1] if is_whole else longest(texts, words_of))
    return table


def by_reason(left_out: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The names that share a reason, in one text, and that reason: it is then said once."""
    names: dict[str, list[str]] = {}
    for name, reason in left_out:
        names.setdefault(reason, []).append(name)
    for reason, those in names.items():
        yield ", ".join(those), reason


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
