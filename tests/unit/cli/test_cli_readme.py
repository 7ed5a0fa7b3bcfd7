"""What README and pages say of commands and options."""

import re
import shlex

import pytest
from typer.testing import CliRunner

from lab.cli.app import app
from lab.stack.places import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("experiments/*/README.md"))]


def commands() -> list[str]:
    """The `./sluice` commands in the code blocks of the pages, each once."""
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.partition(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return list(dict.fromkeys(line for line in lines if line.startswith("./sluice")))


@pytest.mark.parametrize("command", commands())
def test_every_command_of_a_page_is_one_that_exists(command: str) -> None:
    """Its options are known: with --help appended it explains itself. Those that run are run by the other tests."""
    words = shlex.split(command)[1:]

    done = CliRunner().invoke(app, [*words, "--help"])

    assert (done.exit_code, "Usage" in done.output) == (0, True), done.output
