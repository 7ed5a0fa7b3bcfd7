"""The first hour: every command of README, guide and tutorial is in it, but for what is left out with a reason."""

import pytest

from tools.first_hour import BEFORE, LEFT_OUT, PAGES, REPLACED, ROOT, commands

TEXT = "\n".join((ROOT / page).read_text("utf-8") for page in PAGES)


def test_a_page_gives_its_commands_without_remarks() -> None:
    """A block of several lines in quotes is one command; what is no shell is none."""
    lines = "```sh\n./sluice up    # keep them\n\n./sluice down\n```\n```text\nno\n```\n"
    page = f"A\n{lines}```sh\npython3 -c '\nprint(1)\n' > a\n```\n"
    assert list(commands(page)) == ["./sluice up", "./sluice down", "python3 -c '\nprint(1)\n' > a"]


@pytest.mark.parametrize("part", REPLACED)
def test_what_is_replaced_stands_in_a_page(part: str) -> None:
    """Otherwise the page has changed, and the first hour would run something else."""
    assert part in TEXT


@pytest.mark.parametrize("part", [*LEFT_OUT, *BEFORE])
def test_what_is_left_out_or_prepared_is_a_command_of_a_page(part: str) -> None:
    """Likewise."""
    assert any(part in command for command in commands(TEXT))
