"""Ports: taken from the system, remembered, and checked before a server is told to use them."""

import json
import socket
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil

from lab.errors import StackError
from lab.files import write_whole

LOOPBACK = "127.0.0.1"
HIGHEST = 65_535


def allot_ports(
    names: tuple[str, ...], remembered_in: Path, *, requested: Mapping[str, int], in_use: Mapping[str, int]
) -> dict[str, int]:
    """A port for each name: the one asked for, else the one it has or had before if that is free, else any free one.

    The answer is remembered in `remembered_in` for the next time.

    Args:
        names: `server.purpose` for each port.
        requested: Ports that a user wants, by name.
        in_use: Ports that our own running servers hold, by name.

    Raises:
        StackError: A port that was asked for is taken, asked for twice or no port.
    """
    remembered = read_ports(remembered_in)
    allotted: dict[str, int] = {}
    with ExitStack() as held:
        # Those that are fixed come first, so that none of the others is given their ports.
        for name in sorted(names, key=lambda name: name not in requested and name not in in_use):
            if name in in_use and requested.get(name, in_use[name]) == in_use[name]:
                allotted[name] = in_use[name]
            elif name in requested:
                allotted[name] = hold_requested(held, name, requested[name], allotted)
            else:
                preferred = remembered.get(name, 0)
                # A server that is still starting does not listen yet.
                try:
                    allotted[name] = hold(held, name, 0 if preferred in in_use.values() else preferred)
                except (StackError, OverflowError):
                    allotted[name] = hold(held, name, 0)
    remembered_in.parent.mkdir(parents=True, exist_ok=True)
    write_whole(remembered_in, json.dumps({**remembered, **allotted}, indent=1) + "\n")
    return allotted


def read_ports(path: Path) -> dict[str, int]:
    """The ports that were allotted before; none if the file is not there or not readable."""
    try:
        return {str(name): int(port) for name, port in json.loads(path.read_text("utf-8")).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def hold_requested(held: ExitStack, name: str, port: int, allotted: Mapping[str, int]) -> int:
    """Hold a port that was asked for; raises StackError if the port is not available."""
    if not 1 <= port <= HIGHEST:
        raise StackError(f"port {port}: requested for {name}, expected 1 to {HIGHEST}")
    for other, other_port in allotted.items():
        if other_port == port:
            raise StackError(f"port {port}: requested for {name}, but in use by {other}; choose another")
    return hold(held, name, port)


def hold(held: ExitStack, name: str, port: int) -> int:
    """Listen on the port until `held` ends, so that no two servers are given the same one."""
    listener = held.enter_context(socket.socket())
    # A server would bind it that way too: connections of an earlier server that linger in TIME_WAIT do not matter.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        # Without this, the option above lets a second socket bind it.
        listener.listen()
    except PermissionError as error:
        raise StackError(
            f"port {port}: requested for {name}, but this user may not listen there; choose one from 1024 on"
        ) from error
    except OSError as error:
        raise StackError(
            f"port {port}: requested for {name}, but in use by {owner_of(port)}; free the port or choose another"
        ) from error
    return int(listener.getsockname()[1])


def owner_of(port: int) -> str:
    """Who listens on a port, as far as the system tells us."""
    with suppress(psutil.Error):
        for connection in psutil.net_connections("tcp"):
            if connection.laddr and connection.laddr.port == port and connection.pid:
                return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
    return "another process"


def accepts_connections(port: int) -> bool:
    """Whether something listens on the port."""
    with socket.socket() as client:
        client.settimeout(0.5)
        return client.connect_ex((LOOPBACK, port)) == 0
