"""What Kibana and Metricbeat are told in containers, held against what their versions accept; neither runs here.

The citations, with file and line, are in docs/compose-assumptions.md.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.stack.places import ROOT

COMPOSE = ROOT / "compose"
VERSIONS = ("7.17", "8.19", "9.x")
REFUSED: dict[str, tuple[dict[str, object], ...]] = {
    # With `allowChangingOptInStatus: false`, `optIn` may only be true; in 8.19 and 9.x it is a plain boolean.
    "7.17": ({"telemetry.optIn": False, "telemetry.allowChangingOptInStatus": False},),
    "8.19": (),
    "9.x": (),
}
"""Settings that a version refuses together, and then does not start."""
OF_THE_IMAGE = {
    "server.host": "0.0.0.0",  # noqa: S104 - a container's
    "server.shutdownTimeout": "5s",
}
"""What the official image's own kibana.yml sets for the server, the same in 7.17, 8.19 and 9.x."""


def main_settings() -> dict[str, object]:
    """The file that Kibana reads in every mode."""
    written = yaml.safe_load((COMPOSE / "kibana.yaml").read_text())["configs"]["kibana"]["content"]
    return dict(yaml.safe_load(written.replace("$$", "$")))


def secret_settings() -> dict[str, object]:
    """What the first container of the secured mode writes for Kibana."""
    script = (COMPOSE / "secure" / "make-secrets.sh").read_text()
    _, _, rest = script.partition("<<KIBANA\n")
    return dict(yaml.safe_load(rest.partition("\nKIBANA\n")[0]))


def secured(service: str) -> dict[str, Any]:
    """What the secured mode changes of a service."""
    return dict(yaml.safe_load((COMPOSE / "secure.yaml").read_text())["services"][service])


@pytest.mark.parametrize("version", VERSIONS)
def test_no_version_refuses_what_kibana_is_told(version: str) -> None:
    """Or it would not start."""
    told = {**main_settings(), **secret_settings()}
    assert [refused for refused in REFUSED[version] if refused.items() <= told.items()] == []


def test_nothing_is_sent_to_the_vendor() -> None:
    """Usage data is off."""
    assert main_settings()["telemetry.optIn"] is False


def test_our_file_keeps_what_the_image_s_own_sets() -> None:
    """Ours is mounted over it."""
    told = main_settings()
    assert {name: told.get(name) for name in OF_THE_IMAGE} == OF_THE_IMAGE


def test_a_node_s_cpu_is_shown_without_a_quota() -> None:
    """Of a container without one, Kibana would show none: and by default ours have none."""
    node = yaml.safe_load((COMPOSE / "elasticsearch.yaml").read_text())["services"]["elasticsearch"]
    assert node["cpus"] == "${ELASTICSEARCH_CPUS:-0}"
    assert main_settings()["monitoring.ui.container.elasticsearch.enabled"] is False


def test_no_setting_is_in_both_files_of_the_secured_mode() -> None:
    """The later file would win, and one of the two be forgotten."""
    assert not main_settings().keys() & secret_settings().keys()


def test_the_secured_kibana_reads_both_files_and_the_node_options_of_its_image() -> None:
    """`KBN_PATH_CONF` would move `node.options` as well, which the image has beside kibana.yml."""
    kibana = secured("kibana")
    assert kibana["command"] == [
        "/usr/local/bin/kibana-docker",
        "--config=/usr/share/kibana/config/kibana.yml",
        "--config=/secrets/kibana/kibana.yml",
    ]
    assert "KBN_PATH_CONF" not in kibana["environment"]
    (written,) = yaml.safe_load((COMPOSE / "monitoring.yaml").read_text())["services"]["kibana"]["configs"]
    assert written == {"source": "kibana", "target": "/usr/share/kibana/config/kibana.yml"}


def stub(folder: Path, name: str, script: str) -> dict[str, str]:
    """The environment of a process that finds this script under that name."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def check(service: str, environment: dict[str, str], secrets: Path) -> subprocess.CompletedProcess[str]:
    """The health check of a secured service, as its container would run it."""
    _, *command = secured(service)["healthcheck"]["test"]
    words = [word.replace("$$", "$").replace("/secrets/", f"{secrets}/") for word in command]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=10)


@pytest.mark.parametrize(
    ("status", "healthy"),
    [("200", True), ("401", True), ("503", False), ("302", False), ("000", False)],
    ids=["8.9 or newer is ready", "7.17 is ready", "starts", "another server", "nobody answers"],
)
def test_a_secured_kibana_is_healthy_once_it_is_ready(tmp_path: Path, status: str, healthy: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    """By the status of an answer to somebody without a password."""
    answer = stub(tmp_path, "curl", f"printf {status}")
    assert (check("kibana", answer, tmp_path).returncode == 0) is healthy


def test_the_secured_metricbeat_s_health_check_knows_its_password(tmp_path: Path) -> None:
    """It is a process of its own: what the container's first process has exported does not reach it."""
    (tmp_path / "metricbeat.password").write_text("c0ffee")
    environment = stub(tmp_path, "metricbeat", 'echo "$OBSERVER_PASSWORD $*"')
    ran = check("metricbeat", environment, tmp_path)
    assert ran.stdout == "c0ffee test output --strict.perms=false\n"
