"""`python -m tests.compose up|images|down`: the tests' own Docker engine and images, for work by hand."""

import shlex
import sys
from pathlib import Path

from tests.compose.engine import WELL_KNOWN_SOCKET, Engine, own_engine, prepare_client, with_compose
from tests.compose.images import StandIns
from tests.compose.machine import EngineMissingError


def up() -> None:
    """Start the engine, listening at the well-known place too, and leave it running."""
    prepare_client()
    own = own_engine()
    own.start(more_sockets=(WELL_KNOWN_SOCKET,))
    say("export", "DOCKER_HOST", own.host)
    if config := with_compose(Engine(own.host)).config:
        say("export", "DOCKER_CONFIG", config)


def images() -> None:
    """Build the images in it, and print the settings that put them in place of the official ones."""
    own = own_engine()
    for name, image in StandIns(Engine(own.host)).settings().items():
        say("export", name, image)


def down() -> None:
    """Stop the engine, and with it every container."""
    own_engine().stop()


def say(verb: str, name: str, value: Path | str) -> None:
    """A line for a shell."""
    sys.stdout.write(f"{verb} {name}={shlex.quote(str(value))}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    commands = {"up": up, "images": images, "down": down}
    try:
        commands[sys.argv[1]]()
    except EngineMissingError as error:
        sys.exit(f"tests.compose: {error}")
