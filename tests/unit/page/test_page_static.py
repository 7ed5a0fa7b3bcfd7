"""What the browser loads: pinned, self-contained, and nothing that the page's security policy forbids."""

import hashlib
import re
from pathlib import Path

import altair as alt
import orjson
import pytest

from lab import ROOT

STATIC = ROOT / "lab" / "page" / "static"
OWN = sorted(path for path in STATIC.iterdir() if path.suffix in {".html", ".css", ".js"} and ".min." not in path.name)
LOCK = orjson.loads((STATIC / "vega.lock.json").read_bytes())

each_of_ours = pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)


def test_vegas_files_are_those_of_the_lock() -> None:
    """Byte by byte; nothing that is minified stands outside the lock."""
    found = {
        path.name: {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "size_bytes": path.stat().st_size}
        for path in STATIC.glob("*.min.js")
    }
    assert found == {name: {key: pin[key] for key in ("sha256", "size_bytes")} for name, pin in LOCK.items()}


def test_each_of_vegas_files_has_its_licence_beside_it() -> None:
    """BSD asks for it in every copy."""
    for name in LOCK:
        assert "Redistribution and use" in (STATIC / name.replace(".min.js", ".LICENSE")).read_text("utf-8")


def test_vega_lite_is_of_the_version_that_altair_writes() -> None:
    """A report's specification means the same in the browser."""
    major = LOCK["vega-lite.min.js"]["package"].rpartition("@")[2].split(".")[0]
    assert alt.SCHEMA_VERSION.split(".")[0] == f"v{major}"


@each_of_ours
def test_nothing_is_loaded_from_elsewhere(path: Path) -> None:
    """The page works offline; the only address is the name of SVG's namespace."""
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", path.read_text("utf-8")))
    assert addresses <= {"http://www.w3.org/2000/svg"}


@each_of_ours
def test_no_text_of_a_server_becomes_markup_or_code(path: Path) -> None:
    """Names of profiles and reasons of failures are shown as text; the policy `default-src 'self'` forbids the rest."""
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|javascript:"
    assert re.findall(forbidden, path.read_text("utf-8")) == []


@each_of_ours
def test_no_time_is_told_by_the_clock_of_the_browser(path: Path) -> None:
    """It may be set meanwhile, or be another machine's: the server says what time it is, and a steady clock goes on."""
    assert re.findall(r"Date\.now|new Date\(\)", path.read_text("utf-8")) == []


def test_the_page_has_no_inline_style_or_script() -> None:
    """`default-src 'self'` would leave them out without a word."""
    page = (STATIC / "index.html").read_text("utf-8")
    assert re.findall(r"\sstyle=|<style|\son\w+=|<script(?![^>]*\ssrc=)", page) == []


def test_every_element_that_the_scripts_look_for_is_there() -> None:
    """`find("…")` of a name that the page lacks would end in an error only once its view is shown."""
    scripts = "".join(path.read_text("utf-8") for path in OWN if path.suffix == ".js")
    wanted = set(re.findall(r"\bfind\(\"([^\"]+)\"\)", scripts))
    there = re.findall(r"\sid=\"([^\"]+)\"", (STATIC / "index.html").read_text("utf-8"))
    assert len(there) == len(set(there))
    assert wanted <= set(there)


def test_every_module_that_is_imported_is_there() -> None:
    """And every name that is imported is exported by it."""
    for path in OWN:
        for names, module in re.findall(
            r"import (?:\{([^}]*)\}|\* as \w+) from \"\./([^\"]+)\"", path.read_text("utf-8")
        ):
            exported = set(
                re.findall(r"export (?:async )?(?:function|const|class) (\w+)", (STATIC / module).read_text("utf-8"))
            )
            assert {name.strip() for name in names.split(",") if name.strip()} <= exported
