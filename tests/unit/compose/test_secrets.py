"""The script that makes the secured mode's secrets, in a folder in place of its volume."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from lab.stack.places import ROOT

SECURE = ROOT / "compose" / "secure"
LEFT_BY_AN_EARLIER_RELEASE = "telemetry.allowChangingOptInStatus: false\n"
KEY = "xpack.encryptedSavedObjects.encryptionKey"

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine")


def start(folder: Path) -> None:
    """Run the script as the first container does, but as whoever we are."""
    script = (SECURE / "make-secrets.sh").read_text().replace("/opt/sluice/secure", str(SECURE))
    owned_by_us = "chown() { :; }\n"
    subprocess.run(["bash", "-c", owned_by_us + script.replace("/secrets", str(folder))], check=True)


def handed_out(folder: Path) -> dict[str, bytes]:
    """What the services are given, by its path."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in (folder / "for").rglob("*") if file.is_file()}


def test_a_volume_of_an_earlier_release_keeps_secrets_and_gets_the_configuration_of_this_one(tmp_path: Path) -> None:
    """Kibana 7.17 does not start with what an earlier release told it."""
    start(tmp_path)
    first = handed_out(tmp_path)
    assert len(yaml.safe_load(first["for/kibana/kibana/kibana.yml"])[KEY]) == 48
    with (tmp_path / "kibana" / "kibana.yml").open("a") as file:
        file.write(LEFT_BY_AN_EARLIER_RELEASE)
    shutil.rmtree(tmp_path / "for")
    start(tmp_path)
    assert handed_out(tmp_path) == first
