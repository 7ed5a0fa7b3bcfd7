"""`python -m tests.compose fetch|up|images|down`: the tests' own Docker engine and images, for work by hand."""

import os
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.compose.compose_plugin import has_compose, plugin_config
from tests.compose.engine import (
    WELL_KNOWN_SOCKET,
    Engine,
    machines_host,
    own_engine,
    prepare_client,
    with_compose,
)
from tests.compose.images import StandIns
from tests.compose.machine import EngineMissingError
from tests.compose.materials import Materials


def fetch() -> None:
    """Fetch and build what the tests need before they have an engine; the rest is quick."""
    if machines_host() is None:
        prepare_client()
    folder = own_engine().folder
    with ThreadPoolExecutor(1) as other:
        compose = None if has_compose(os.environ) else other.submit(plugin_config, folder)
        Materials(folder).fetch()
        if compose is not None:
            compose.result()


def up() -> None:
    """Start the engine, listening at the well-known place too, and leave it running."""
    prepare_client()
    own = own_engine()
    own.start(more_sockets=(WELL_KNOWN_SOCKET,))
    say("DOCKER_HOST", own.host)
    if config := with_compose(Engine(own.host)).config:
        say("DOCKER_CONFIG", config)


def images() -> None:
    """Build the images in it, and print the settings that put them in place of the official ones."""
    for name, image in StandIns(Engine(own_engine().host)).settings().items():
        say(name, image)


def down() -> None:
    """Stop the engine, and with it every container."""
    own_engine().stop()


def say(name: str, value: Path | str) -> None:
    """A line for a shell."""
    sys.stdout.write(f"export {name}={shlex.quote(str(value))}\n")
    sys.stdout.flush()


COMMANDS = {"fetch": fetch, "up": up, "images": images, "down": down}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"tests.compose: got {sys.argv[1:]}, expected one of {', '.join(COMMANDS)}")
    try:
        COMMANDS[sys.argv[1]]()
    except EngineMissingError as error:
        sys.exit(f"tests.compose: {error}")
