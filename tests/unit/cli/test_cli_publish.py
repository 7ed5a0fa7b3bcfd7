"""What `publish` refuses before it asks any server."""

from pathlib import Path

import pytest

from lab.cli import publish
from lab.endpoints import HttpAccess, api_key, basic
from lab.errors import ProfileError
from tests.unit.messages import MakeMessage


@pytest.mark.parametrize(
    ("address", "facts"),
    [
        ("localhost:9200", ("--to", "localhost:9200", "http://localhost:9200")),
        ("ftp://localhost", ("--to", "ftp://localhost", "http://localhost:9200")),
        ("http://[::1", ("--to", "http://[::1", "http://localhost:9200")),
        (
            "https://elastic:horse@localhost:9200",
            ("--to", "--user", "--password-env"),
        ),
    ],
)
def test_an_address_is_an_address_without_a_password(
    address: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """A password in it would stand in the shell's history, and must not be repeated in the sentence."""
    with pytest.raises(ProfileError) as refusal:
        publish.server_url(address, "--to")
    assert str(refusal.value) == message(*facts)


@pytest.mark.parametrize(
    ("given", "facts"),
    [
        (
            ("KEY", "elastic", None),
            ("--api-key-env", "--user", "--password-env"),
        ),
        ((None, "elastic", None), ("--user", "--password-env")),
        ((None, None, "PASSWORD"), ("--user", "--password-env")),
        (
            ("SLUICE_TEST_NO_SUCH", None, None),
            ("--api-key-env: SLUICE_TEST_NO_SUCH",),
        ),
    ],
)
def test_one_whole_way_to_authenticate_is_expected(
    given: tuple[str | None, str | None, str | None], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Half a way, two ways, or a variable that is not there are refused."""
    with pytest.raises(ProfileError) as refusal:
        publish.access_of(*given, None)
    assert str(refusal.value) == message(*facts)


def test_secrets_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the names that were given."""
    monkeypatch.setenv("SLUICE_TEST_KEY", "a2V5")
    monkeypatch.setenv("SLUICE_TEST_PASSWORD", "correct horse")
    assert publish.access_of("SLUICE_TEST_KEY", None, None, None) == HttpAccess(api_key("a2V5"))
    user = publish.access_of(None, "elastic", "SLUICE_TEST_PASSWORD", None)
    assert user == HttpAccess(basic("elastic", "correct horse"))


def test_an_authority_is_a_file_of_certificates(tmp_path: Path) -> None:
    """One that is not there, and one that holds something else, are refused."""
    text = tmp_path / "ca.pem"
    text.write_text("no certificate")
    for file in (tmp_path / "missing.pem", text):
        with pytest.raises(ProfileError, match=rf"^--ca: {file}: got .*, expected certificates as PEM$"):
            publish.access_of(None, None, None, file)
