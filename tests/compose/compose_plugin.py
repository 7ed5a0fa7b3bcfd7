"""Docker Compose: the client's plugin, built from its Go module where the client has none."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.cli.containers import NEEDED_COMPOSE
from lab.stack.artifacts import locked
from tests.compose.machine import EngineMissingError, find_program, finished, succeeded

MODULE = "github.com/docker/compose/v2"
VERSION = "v2.40.3"
BUILD_TIMEOUT_S = 900


def has_compose(environment: Mapping[str, str]) -> bool:
    """Whether the client has Compose already, one that understands our files."""
    done = finished("docker", "compose", "version", "--short", environment=environment, timeout_s=20)
    found = re.match(r"v?(\d+)\.(\d+)", done.stdout)
    return done.returncode == 0 and found is not None and (int(found[1]), int(found[2])) >= NEEDED_COMPOSE[:2]


def plugin_config(folder: Path) -> Path:
    """A configuration folder for Docker's client with the plugin in it, built on first use below `folder`.

    Raises:
        EngineMissingError: There is no Go, or the build fails.
    """
    config = folder / "client"
    plugin = folder / "plugins" / VERSION / "docker-compose"
    with locked(folder / "plugin.lock"):
        if not plugin.is_file():
            build(plugin)
    config.mkdir(exist_ok=True)
    (config / "config.json").write_text(json.dumps({"cliPluginsExtraDirs": [str(plugin.parent)]}))
    return config


def build(plugin: Path) -> None:
    """Build the plugin from the module proxy; its checksum database vouches for the sources."""
    go = find_program("go")
    if go is None:
        raise EngineMissingError(
            "docker compose: the client has no Compose plugin, and without Go none can be built; "
            "install the package docker-compose-plugin"
        )
    plugin.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "auto"}
    named = f"-s -w -X {MODULE}/internal.Version={VERSION}"
    unfinished = plugin.with_suffix(".part")
    with TemporaryDirectory(prefix="sluice-compose-plugin-") as work:
        for words in (
            ("mod", "init", "plugin"),
            ("get", f"{MODULE}/cmd@{VERSION}"),
            ("build", "-trimpath", "-ldflags", named, "-o", str(unfinished), f"{MODULE}/cmd"),
        ):
            succeeded(go, *words, environment=environment, folder=Path(work), timeout_s=BUILD_TIMEOUT_S)
    unfinished.rename(plugin)
