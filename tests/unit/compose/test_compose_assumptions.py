"""The page that lists what the Compose files believe of images: that it is whole, and that a reader can follow it."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest
import yaml

from lab.stack.places import ROOT
from tests.metricbeat import settings
from tests.unit.compose.test_kibana import main_settings, secret_settings

COMPOSE = ROOT / "compose"
PAGE = (ROOT / "docs" / "compose-assumptions.md").read_text("utf-8")
NAMES = set(re.findall(r"`([^`\s]+)`", PAGE))
FILES = ("pipeline", "elasticsearch", "monitoring", "secure", "cluster")
IMAGES = re.compile(r"(kafka|connect|elasticsearch|observer|kibana|metricbeat)(-\d)?")
CITATION = re.compile(r"(?<![\w/`])([\w-]+(?:/[\w-]+)?)@([\w.]+)(?! is)")
VERSION = re.compile(r"v?\d+\.\d+(\.\d+)?|[0-9a-f]{12}|main")
LINES = re.compile(r"[\w.][\w./-]*(:\d+(-\d+)?(,\d+)*)?")


def variables() -> Iterator[str]:
    """The variables of every container that runs an image of others, or one that we built on such a one."""
    for file in FILES:
        for name, service in yaml.safe_load((COMPOSE / f"{file}.yaml").read_text())["services"].items():
            if IMAGES.fullmatch(name):
                yield from service.get("environment", {})


def test_every_setting_of_kibana_is_on_the_page() -> None:
    """In the table that says where each version of its image lists it."""
    assert (main_settings().keys() | secret_settings().keys()) - NAMES == set()


def test_every_setting_of_metricbeat_is_on_the_page() -> None:
    """By the name at the top of its file."""
    assert settings().keys() - NAMES == set()


@pytest.mark.parametrize("name", sorted({name for name in variables() if "." not in name}))
def test_every_variable_of_a_container_is_on_the_page(name: str) -> None:
    """By its name or by its beginning; those with a dot are all settings of Elasticsearch's."""
    assert any(fnmatchcase(name, known) for known in NAMES)


def test_every_citation_names_a_version_and_a_place_in_a_file() -> None:
    """A reader can open it; `main` moves, and its commit is at the head of the page."""
    citations = CITATION.findall(PAGE)
    assert len(citations) > 40
    assert [cited for cited in citations if not VERSION.fullmatch(cited[1])] == []
    places = re.findall(r"@[\w.]+ (?:`([^`]+)`)", PAGE)
    assert [place for place in places if not LINES.fullmatch(place)] == []


def test_no_cell_of_a_table_is_empty() -> None:
    """A belief without a source, or without a way to check it, is none to rest on."""
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    assert [row for row in cells if not all(row)] == []
