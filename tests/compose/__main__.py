"""`python -m tests.compose up|images|down`: the tests' own Docker engine and images, for work by hand."""

import shlex
import sys
from pathlib import Path

from tests.compose.engine import (
    WELL_KNOWN_SOCKET,
    Engine,
    own_engine,
    prepare_client,
    with_compose,
)
from tests.compose.images import StandIns
from tests.compose.machine import EngineMissingError


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


COMMANDS = {"up": up, "images": images, "down": down}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"tests.compose: got {sys.argv[1:]}, expected one of {', '.join(COMMANDS)}")
    try:
        COMMANDS[sys.argv[1]]()
    except EngineMissingError as error:
        sys.exit(f"tests.compose: {error}")
