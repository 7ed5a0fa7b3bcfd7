"""Output on a terminal of 80 columns: no word is broken where it fits."""

import re
from collections import Counter
from io import StringIO

import pytest
from typer.testing import CliRunner

from lab.cli import suite
from lab.cli.app import app
from lab.cli.commands import COMMANDS
from lab.console import PipeProofConsole, console, table_of
from tests.unit.cli.test_cli_suite import Servers

FRAMES = re.compile(r"[│┃║╭╮╰╯─━┏┓┗┛┼╇┡┩╪]+")
COLUMNS, ENOUGH = 80, 600
HELPS = [f"{name} --help" for name in COMMANDS if name != "publish"]
"""Typer cuts `--no-stack-monitoring` of `publish`, which it sets in a column of its own."""
LISTS = ("profiles", "suites", "show quickstart", "show events/queries")
PLANS = (
    "suite a-a --plan",
    "suite engines --plan",
    "suite codec-search --plan",
    "race quickstart --set sink.tasks=1,2 --plan",
)


def printed(monkeypatch: pytest.MonkeyPatch, words: str, columns: int) -> Counter[str]:
    """Words that a command prints at this width."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(console, "_width", columns)
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 0, done.exception
    if columns == COLUMNS:
        assert max(map(len, done.output.splitlines())) <= COLUMNS
    return Counter(FRAMES.sub(" ", done.output).split())


@pytest.mark.parametrize("words", [*HELPS, *LISTS, *PLANS])
def test_no_word_is_broken_at_80_columns(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """The words are those of a terminal in which nothing is wrapped."""
    monkeypatch.setattr(suite, "servers_of", lambda *_: Servers())
    assert printed(monkeypatch, words, ENOUGH) - printed(monkeypatch, words, COLUMNS) == Counter()


@pytest.mark.parametrize("width", [40, 47, 60, 200])
def test_a_table_breaks_no_word_that_fits(width: int) -> None:
    """Columns of figures and names keep theirs, and a line's indentation belongs to its first word."""
    paper = PipeProofConsole(width=width, file=StringIO(), color_system=None)
    rows = [("name\n  index.codec=legacy", "some words that wrap", "1,000"), ("[dim]b[/dim]", "short", "7")]
    paper.print(table_of(rows, "variant", "against", "n", right=("n",)))
    assert isinstance(paper.file, StringIO)
    text = paper.file.getvalue()
    assert {"index.codec=legacy", "words", "against", "1,000"} <= {*FRAMES.sub(" ", text).split()}
    assert max(map(len, text.splitlines())) <= width
