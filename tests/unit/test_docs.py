"""The pages: as a site without a dead link, and a tutorial that shows what its commands say."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from lab.cli.commands import COMMANDS
from lab.cli.init import mapping_lines
from lab.init.files import key_text
from lab.mapping.proposal import propose
from lab.mapping.sample import read_sample
from lab.mapping.types import Wishes
from lab.stack.places import ROOT

CONFIG = ROOT / "docs/mkdocs.yml"
TUTORIAL = (ROOT / "docs/tutorial.md").read_text("utf-8")


def build(config: Path, site: Path) -> tuple[int, list[str]]:
    """Build a site strictly; the exit status and the warnings."""
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", config, "--site-dir", site)
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, re.findall(r"^(?:WARNING|ERROR) +- +(.*)$", done.stderr, re.MULTILINE)


def test_the_site_has_every_page_and_no_dead_link(tmp_path: Path) -> None:
    """All pages are found by search, down to their sections and to each command; the theme's files are there, too."""
    assert build(CONFIG, tmp_path) == (0, [])

    links = re.findall(r'(?:href|src)="(assets/[^"]+)"', (tmp_path / "index.html").read_text("utf-8"))
    assert {Path(link).suffix for link in links} >= {".css", ".js"}
    assert [link for link in links if not (tmp_path / link).is_file()] == []
    found = {
        page["location"] for page in json.loads((tmp_path / "search/search_index.json").read_text("utf-8"))["docs"]
    }
    assert {"", "docs/tutorial/", "docs/glossary/#checks", "connect/#settings", "mappings/"} <= found
    assert {f"docs/cli/#sluice-{name}" for name in COMMANDS} <= found


def test_a_dead_link_fails_the_site(tmp_path: Path) -> None:
    """To a page, to a heading, or to a folder, which has no page."""
    config = tmp_path / "pages/docs/mkdocs.yml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG.read_text("utf-8").partition("\nnav:")[0], "utf-8")
    (config.parent.parent / "README.md").write_text("# A\n[b](b.md), [c](#c), [docs](docs/)\n", "utf-8")

    assert build(config, tmp_path / "site") == (
        1,
        [
            "Doc file 'README.md' contains a link 'b.md', but the target is not found among documentation files.",
            "Doc file 'README.md' contains an unrecognized relative link 'docs/', it was left as is.",
            "Doc file 'README.md' contains a link '#c', but there is no such anchor on this page.",
        ],
    )


def test_the_tutorials_file_gives_the_proposals_that_it_shows(tmp_path: Path) -> None:
    """Its first command, for fewer documents, makes a file of which `init` says what the page says."""
    (script,) = re.findall(r"^```sh\n(python3 .*?)```", TUTORIAL, re.MULTILINE | re.DOTALL)
    small = script.replace("600_000", "40_009").replace("500_000", "33_501").replace("python3", sys.executable, 1)

    subprocess.run(["sh", "-ec", small], cwd=tmp_path, check=True)

    read = read_sample(str(tmp_path / "orders.ndjson"), 20_000, None)
    shown = " ".join(TUTORIAL.split())
    proposal = propose(read, Wishes(key=read.key))
    for line in (f"read {read.text}", key_text(read).replace("40,009", "600,000"), *mapping_lines(proposal)):
        assert line in shown


def test_the_messages_that_troubleshooting_quotes_are_those_of_the_program() -> None:
    """A reader finds the page by the message; messages of Docker and its images are not ours."""
    ours, heading, _ = (ROOT / "docs/troubleshooting.md").read_text("utf-8").partition("\n## Docker Compose\n")
    seen = [line.split(" | ")[0] for line in ours.splitlines() if line.startswith("| ")]
    quoted = [part for cell in seen for part in re.findall(r"\*([^*]+)\*", cell)]
    source = "\n".join(file.read_text("utf-8") for file in sorted((ROOT / "lab").rglob("*.py")))
    sentences = re.sub(r'"\s*\n\s*f?"', "", source)

    assert heading
    assert len(quoted) > 20
    assert [part for part in quoted if part not in sentences] == []


def test_sentences_are_counted_and_held_by_tests_that_there_are() -> None:
    """A row is one sentence, and names its tests, if need be by their beginning."""
    told, heading, _ = (ROOT / "docs/sentences.md").read_text("utf-8").partition("\n## Gone\n")
    cells = [line.strip("|").split(" | ") for line in told.splitlines() if line.startswith("| ")]
    rows = [cells_of_row for cells_of_row in cells if cells_of_row[-1].strip() not in {"test", "---"}]
    tests = "\n".join(file.read_text("utf-8") for file in sorted((ROOT / "tests").rglob("test_*.py")))

    assert heading
    assert f"now there are {len(rows)} rows" in told
    assert [row for row in rows if not re.search(r"`test_\w+", row[-1])] == []
    assert [name for row in rows for name in re.findall(r"`(test_\w+)", row[-1]) if f"def {name}" not in tests] == []
