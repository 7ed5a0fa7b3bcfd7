"""The checks by which containers know that a command of ours still works: of the age of a file that it touches."""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.stack.places import ROOT

HEARTBEAT = re.compile(r"/\w+/sluice-\w+(?= -mmin)")


def checks_of_compose() -> Iterator[Any]:
    """Those of the services, as Compose hands them to a shell."""
    for service in yaml.safe_load((ROOT / "compose" / "lab.yaml").read_text())["services"].values():
        yield service.get("healthcheck", {}).get("test", [])[-1:]


def checks_of_kubernetes() -> Iterator[Any]:
    """Those of the deployments' containers."""
    for resource in yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "base" / "lab.yaml").read_text()):
        for container in resource.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            yield container.get("livenessProbe", {}).get("exec", {}).get("command", [])[-1:]


CHECKS = [
    line.replace("$$", "$")
    for (line,) in filter(None, (*checks_of_compose(), *checks_of_kubernetes()))
    if HEARTBEAT.search(line)
]


def test_every_command_that_goes_on_for_ever_has_a_check() -> None:
    """Two producers and the watch in Compose, the watch in Kubernetes."""
    assert len(CHECKS) == 4


@pytest.mark.parametrize("line", CHECKS)
def test_a_heartbeat_that_is_old_or_missing_fails(line: str, tmp_path: Path) -> None:
    """A command that hangs does not look healthy."""
    file = tmp_path / "heartbeat"
    check = ["sh", "-c", HEARTBEAT.sub(str(file), line)]

    def passes() -> bool:
        return subprocess.run(check, capture_output=True, check=False).returncode == 0

    assert not passes()
    file.touch()
    assert passes()
    an_hour_ago_s = time.time() - 3600
    os.utime(file, (an_hour_ago_s, an_hour_ago_s))
    assert not passes()
