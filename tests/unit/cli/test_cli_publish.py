"""What `publish` refuses before it asks any server."""

from pathlib import Path

import pytest

from lab.cli import publish
from lab.endpoints import HttpAccess, api_key, basic
from lab.errors import ProfileError


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("localhost:9200", "--to: got localhost:9200, expected an address such as http://localhost:9200"),
        ("ftp://localhost", "--to: got ftp://localhost, expected an address such as http://localhost:9200"),
        ("http://[::1", "--to: got http://[::1, expected an address such as http://localhost:9200"),
        (
            "https://elastic:horse@localhost:9200",
            "--to: got an address with a user in it, expected --user and --password-env instead",
        ),
    ],
)
def test_an_address_is_an_address_without_a_password(address: str, sentence: str) -> None:
    """A password in it would stand in the shell's history, and must not be repeated in the sentence."""
    with pytest.raises(ProfileError) as refusal:
        publish.server_url(address, "--to")
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            ("KEY", "elastic", None),
            "--api-key-env: got --user or --password-env as well, expected one way to authenticate",
        ),
        ((None, "elastic", None), "--user, --password-env: got one of them, expected both or neither"),
        ((None, None, "PASSWORD"), "--user, --password-env: got one of them, expected both or neither"),
        (
            ("SLUICE_TEST_NO_SUCH", None, None),
            "--api-key-env: SLUICE_TEST_NO_SUCH: is not set, expected an environment variable that holds the secret",
        ),
    ],
)
def test_one_whole_way_to_authenticate_is_expected(
    given: tuple[str | None, str | None, str | None], sentence: str
) -> None:
    """Half a way, two ways, or a variable that is not there are refused."""
    with pytest.raises(ProfileError) as refusal:
        publish.access_of(*given, None)
    assert str(refusal.value) == sentence


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
