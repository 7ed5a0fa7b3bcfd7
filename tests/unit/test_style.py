"""The style sheet of CONTRIBUTING.md, as far as a program can check it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.stack.places import ROOT

CLEAN_ROOMS = (
    "lab/analysis",
    "lab/audit",
    "lab/clients",
    "lab/inspect",
    "lab/mapping",
    "lab/monitor",
    "lab/page",
    "lab/prove",
    "lab/publish",
    "lab/records",
    "lab/replay",
    "lab/tune",
    "producers/datasets",
)
"""Whose docstrings follow the style sheet; others join when they are rewritten."""

OPENER = re.compile(r"(?:What|Whether|Those|How|That|Where|Which|All|Of|The same|It|They|Likewise)\b")
"""First words of a docstring that name neither a deed nor a thing."""

PHRASES = {
    "nobody": "say who acts, or that nothing happens",
    "somebody else": "the user, another program",
    "whatever": "for any, including",
    "is told": "is shown, is reported",
    "are told": "are shown, are reported",
    "goes without saying": "leave it out",
    "not un": "say it without two negations",
    "in order to": "to",
    "utilize": "use",
    "leverage": "use",
    "simply": "leave it out",
    "obviously": "leave it out",
}
"""Phrase → plain words."""

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "kibana/README.md", "mappings/README.md")),
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("experiments/*/README.md")),
]


def docstrings(file: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each docstring."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """Line number and text of each line, without code and quotations."""
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), page.read_text("utf-8"), flags=re.M | re.S)
    for number, line in enumerate(text.splitlines(), 1):
        yield number, re.sub(r"`[^`]*`|\*[^*]+\*|\([^)]*://[^)]*\)", "", line)


@pytest.mark.parametrize("room", CLEAN_ROOMS)
def test_docstrings_begin_with_a_verb_or_a_noun(room: str) -> None:
    """Of all rooms that have been rewritten."""
    files = sorted((ROOT / room).rglob("*.py"))
    assert [
        f"{file.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for file in files
        for line, text in docstrings(file)
        if OPENER.match(text)
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_plain_words(page: Path) -> None:
    """Each phrase has a plainer one; code and quotations may hold any."""
    assert [
        f"{page.relative_to(ROOT)}:{line}: {phrase}: {plain}"
        for line, text in prose(page)
        for phrase, plain in PHRASES.items()
        if re.search(rf"\b{phrase}", text, re.IGNORECASE)
    ] == []
