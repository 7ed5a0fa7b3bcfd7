"""The few pieces of HTML that a report is made of; every text that goes in is escaped here."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import zip_longest


def paragraph(text: str, kind: str = "") -> str:
    """One paragraph."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Terms and what belongs to them."""
    lines = "".join(f"<dt>{escape(term)}</dt><dd>{prose(text)}</dd>" for term, text in rows)
    return f'<dl class="pairs">{lines}</dl>'


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int = 1, kinds: Sequence[str] = ()
) -> str:
    """A table whose columns from `numbers_from` on are set as numbers; `kinds` are the classes of its rows."""

    def cell(tag: str, place: int, text: str) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{scope}{_class('number' if place >= numbers_from else '')}>{escape(text)}</{tag}>"

    def row(tag: str, texts: Sequence[str], kind: str = "") -> str:
        return f"<tr{_class(kind)}>" + "".join(cell(tag, place, text) for place, text in enumerate(texts)) + "</tr>"

    body = "".join(row("td", texts, kind) for texts, kind in zip_longest(rows, kinds, fillvalue=""))
    return f'<div class="scroll"><table><thead>{row("th", head)}</thead><tbody>{body}</tbody></table></div>'


def preformatted(text: str) -> str:
    """Text as it was typed, or is to be typed."""
    return f"<pre><code>{escape(text)}</code></pre>"


def folded(summary: str, inner: str) -> str:
    """HTML that is shown when asked for."""
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"


def box(inner: str, kind: str = "") -> str:
    """A box around HTML, without a title."""
    return f'<div class="{f"card {kind}".strip()}">{inner}</div>'


def card(title: str, inner: str) -> str:
    """A titled box around HTML."""
    return f'<div class="card"><h3>{escape(title)}</h3>{inner}</div>'


def prose(text: str) -> str:
    """A sentence with its `code` set as such."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
