"""What `sluice audit` and `sluice trace` print."""

import pytest

from lab.cli.audit import print_line
from lab.console import shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("책 [a] é\u202f1", "책 [a] é\u202f1"),
        ("\x1b[31mred\x1b]0;title\x07", r"\x1b[31mred\x1b]0;title\x07"),
        ("a\nb\rc\x9b2J", r"a\nb\rc\x9b2J"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
    ],
)
def test_ids_and_headers_of_others_do_not_control_the_terminal(
    capsys: pytest.CaptureFixture[str], text: str, expected: str
) -> None:
    """Rich lets escape sequences through."""
    assert shown(text) == expected
    print_line(text)
    assert capsys.readouterr().out == f"{expected}\n"
