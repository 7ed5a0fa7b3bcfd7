"""`sluice page`, and when other commands serve it."""

from types import SimpleNamespace

import pytest

from lab.cli import page
from lab.cli.page import PASSWORD, is_here, is_wanted, known_address, page_password
from lab.errors import ProfileError
from tests.unit.messages import MakeMessage


@pytest.mark.parametrize(
    ("option", "terminal", "ci", "wanted"),
    [
        (None, True, "", True),
        (None, False, "", False),
        (None, True, "true", False),
        (None, False, "true", False),
        (True, False, "true", True),
        (False, True, "", False),
    ],
)
def test_a_page_is_served_where_a_person_sees_its_address(
    monkeypatch: pytest.MonkeyPatch, *, option: bool | None, terminal: bool, ci: str, wanted: bool
) -> None:
    """A script is spared the process; the option decides where it is given."""
    monkeypatch.setattr(page, "console", SimpleNamespace(is_terminal=terminal))
    monkeypatch.setenv("CI", ci)
    assert is_wanted(option) == wanted


@pytest.mark.parametrize(
    ("address", "here"),
    [("127.0.0.1", True), ("127.0.0.7", True), ("::1", True), ("localhost", True), ("192.168.1.7", False)],
)
def test_an_address_that_others_can_reach_is_known(address: str, *, here: bool) -> None:
    """It needs a password."""
    assert is_here(known_address(address)) == here


@pytest.mark.parametrize("address", ["example.org", "0.0.0.0", "::"])  # noqa: S104
def test_what_no_browser_can_call_is_no_address(address: str) -> None:
    """A name might lead anywhere; all addresses at once are none that a request could name."""
    with pytest.raises(ProfileError) as refusal:
        known_address(address)
    expected = f"--bind: got {address}, expected an address of this machine, such as 192.168.1.7 or 127.0.0.1"
    assert str(refusal.value) == expected


def test_an_address_is_written_as_browsers_write_it() -> None:
    """A request names it in small letters, and as short as it can be."""
    assert known_address("2001:DB8:0::1") == "2001:db8::1"


def test_a_password_comes_from_the_environment_and_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page starts does not get to see it."""
    monkeypatch.setenv(PASSWORD, "correct horse")
    assert page_password("192.168.1.7") == "correct horse"
    assert PASSWORD not in page.os.environ


@pytest.mark.parametrize(
    ("typed", "facts"),
    [
        (["short", "short"], ("--bind 192.168.1.7", 5, 12)),
        (
            ["correct horse", "correct house"],
            ("--bind 192.168.1.7",),
        ),
    ],
)
def test_a_password_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, typed: list[str], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Too short, or mistyped."""
    monkeypatch.delenv(PASSWORD, raising=False)
    monkeypatch.setattr(page.sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(page.getpass, "getpass", lambda _prompt: typed.pop(0))
    with pytest.raises(ProfileError) as refusal:
        page_password("192.168.1.7")
    assert str(refusal.value) == message(*facts)


def test_without_a_terminal_the_password_must_be_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Nobody is there to be asked."""
    monkeypatch.delenv(PASSWORD, raising=False)
    monkeypatch.setattr(page.sys, "stdin", SimpleNamespace(isatty=lambda: False))
    with pytest.raises(ProfileError) as refusal:
        page_password("192.168.1.7")
    assert str(refusal.value) == message("--bind 192.168.1.7", PASSWORD)
