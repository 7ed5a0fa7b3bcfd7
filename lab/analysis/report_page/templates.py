"""The templates of all pages: Jinja2, which escapes every text that is put into them."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from lab.analysis.report_page.summary import engine
from lab.analysis.text import bytes_text, count, duration
from lab.console import as_called
from lab.endpoints import without_secrets
from lab.records.run import Environment as MachineAndSoftware


def prose(text: str) -> Markup:
    """A sentence with its `code` set as such."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped right here


def sentence(text: str) -> Markup:
    """Text with a capital letter and a full stop."""
    return prose(f"{text[:1].upper()}{text[1:].rstrip('.')}.")


def in_one_line(environment: MachineAndSoftware) -> str:
    """Machine and software, as far as two runs must share them to be compared at all."""
    kafka = [f"Kafka {server.version}" for server in environment.servers if server.name == "kafka"]
    named = environment.local_distribution
    distribution = f" ({named}{' distribution' if named == 'official' else ''})" if named else ""
    parts = (
        environment.cpu_model,
        f"{environment.cpu_cores} cores",
        bytes_text(environment.memory_bytes),
        engine(environment) + distribution,
        *(f"Java {version}" for version in sorted(set(environment.java_versions.values()))),
        *kafka,
        f"Sluice {environment.sluice_version}",
    )
    return " · ".join(parts)


def compact_json(readings: object) -> str:
    """A record as JSON for the script of the page."""
    return orjson.dumps(readings).decode()


def breakable(name: str) -> Markup:
    """A setting's name or combination that may go on in the next line after `.`, `_` or `=`, and nowhere in a word."""
    return Markup(re.sub(r"([._=])(?=\w)", r"\1<wbr>", str(escape(name))))  # noqa: S704 - escaped right here


def with_small_unit(text: str) -> Markup:
    """A figure with its unit in smaller letters; `2 min 13 s` stays as it is."""
    marked = re.sub(r"^(≈?\u202f?[\d.,]+)(/s|\u202f\D+)$", r'\1<span class="unit">\2</span>', str(escape(text)))
    return Markup(marked)  # noqa: S704 - escaped right here


def inlined(svg: str, name: str) -> Markup:
    """A chart's own SVG, for a page that holds several: its ids start with `name`, and the page sets its size.

    Screen readers skip it, since the element around it has a label.
    """
    svg = re.sub(r'id="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', r'\1 aria-hidden="true" focusable="false"', svg, count=1)
    return Markup(svg[svg.index("<svg") :])  # noqa: S704 - our own drawing, escaped by Vega


def indented_json(tree: object) -> str:
    """JSON to be read."""
    return orjson.dumps(tree, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()


def paging_text(environment: MachineAndSoftware) -> str:
    """Line on the kernel's paging and on Elasticsearch's way to open files; empty if not known."""
    paging = environment.paging
    if paging is None:
        return ""
    read_ahead = "" if paging.read_ahead_kb is None else f"{paging.disk} reads ahead up to {paging.read_ahead_kb:,} KiB"
    parts = (
        read_ahead,
        f"store type {environment.index_settings.get('index.store.type', 'fs, the default')}",
        f"{bytes_text(paging.swap_bytes)} of swap" if paging.swap_bytes else "no swap",
        f"huge pages: {paging.transparent_huge_pages}" if paging.transparent_huge_pages else "",
        "the kernel pages out what is cold (DAMON)" if paging.damon_pageout else "",
    )
    return "; ".join(filter(None, parts))


def terms_in(page: str, terms: Mapping[str, str]) -> dict[str, str]:
    """The terms that a reader of a page meets, alone or in the plural; keys of settings are none."""
    page = page.replace("<wbr>", "")
    text = re.sub(r"<(style|script|svg|pre)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    used = {term: re.search(rf"\b{re.escape(term)}(e?s)?\b", text, re.IGNORECASE) for term in terms}
    return {term: meaning for term, meaning in terms.items() if used[term]}


PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parents[1]),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=lambda value: as_called(value) if isinstance(value, str) else value,
)
"""Templates are named by their place under `lab/analysis`: `report_page/run.html`, `suite/suite.html`."""

PAGES.filters.update(
    {"command_line": shlex.join}
    | {
        function.__name__: function
        for function in (
            breakable,
            bytes_text,
            compact_json,
            count,
            duration,
            in_one_line,
            indented_json,
            inlined,
            paging_text,
            prose,
            sentence,
            with_small_unit,
            without_secrets,
        )
    }
)
