"""The pages: as a site without a dead link, and a tutorial that shows what its commands say."""

import json
import re
import subprocess
import sys
from pathlib import Path

from lab.cli.init import mapping_lines
from lab.init.files import key_text
from lab.init.mapping import mapping_of
from lab.init.sample import read_sample
from lab.stack.places import ROOT

TUTORIAL = (ROOT / "docs/tutorial.md").read_text("utf-8")


def test_the_site_has_every_page_and_no_dead_link(tmp_path: Path) -> None:
    """Built strictly: a link to a page, a file or a heading that does not exist is a warning, and fails."""
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", "docs/mkdocs.yml")

    done = subprocess.run([*command, "--site-dir", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    searched = json.loads((tmp_path / "search/search_index.json").read_text("utf-8"))["docs"]
    assert {"", "docs/tutorial/", "docs/glossary/#checks", "connect/#settings"} <= {
        page["location"] for page in searched
    }


def test_the_tutorials_file_gives_the_proposals_that_it_shows(tmp_path: Path) -> None:
    """Its first command, for fewer documents, makes a file of which `init` says what the page says."""
    (script,) = re.findall(r"^```sh\n(python3 .*?)```", TUTORIAL, re.MULTILINE | re.DOTALL)
    small = script.replace("300_000", "20_011").replace("250_000", "20_001").replace("python3", sys.executable, 1)

    subprocess.run(["sh", "-ec", small], cwd=tmp_path, check=True)

    read = read_sample(str(tmp_path / "orders.ndjson"), 20_000, None)
    shown = " ".join(TUTORIAL.split())
    for line in (key_text(read), *mapping_lines(mapping_of(read.root))):
        assert line in shown
