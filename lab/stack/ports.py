"""Ports: taken from the system, remembered, and checked before a server is told to use them."""

import json
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import psutil

from lab.errors import StackError

LOOPBACK = "127.0.0.1"


def allot_ports(
    names: tuple[str, ...], remembered_in: Path, *, asked: Mapping[str, int], in_use: Mapping[str, int]
) -> dict[str, int]:
    """A port for each name: the one asked for, else the one it has or had before if that is free, else any free one.

    The answer is remembered in `remembered_in` for the next time.

    Args:
        names: `server.purpose` for each port.
        asked: Ports that a user wants, by name.
        in_use: Ports that our own running servers hold, by name.

    Raises:
        StackError: A port that was asked for is taken.
    """
    remembered = read_ports(remembered_in)
    allotted: dict[str, int] = {}
    with ExitStack() as held:
        for name in names:
            if name in in_use and asked.get(name, in_use[name]) == in_use[name]:
                allotted[name] = in_use[name]
            elif name in asked:
                allotted[name] = hold(held, name, asked[name])
            else:
                allotted[name] = hold_any(held, remembered.get(name, 0))
    remembered_in.parent.mkdir(parents=True, exist_ok=True)
    remembered_in.write_text(json.dumps({**remembered, **allotted}, indent=1) + "\n")
    return allotted


def read_ports(path: Path) -> dict[str, int]:
    """The ports that were allotted before; none if the file is not there or not readable."""
    try:
        return {str(name): int(port) for name, port in json.loads(path.read_text()).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def hold(held: ExitStack, name: str, port: int) -> int:
    """Bind the port until `held` ends, so that no two servers are given the same one."""
    listener = held.enter_context(socket.socket())
    # A server would bind it that way too: connections of an earlier server that linger in TIME_WAIT do not matter.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        raise StackError(
            f"port {port}: asked for {name}, but {owner_of(port)} has it; free the port or ask for another"
        ) from error
    return int(listener.getsockname()[1])


def hold_any(held: ExitStack, preferred: int) -> int:
    """Bind the preferred port if it is free, else one that the system picks."""
    try:
        return hold(held, "a server", preferred)
    except StackError:
        return hold(held, "a server", 0)


def owner_of(port: int) -> str:
    """Who listens on a port, as far as the system tells us."""
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.laddr and connection.laddr.port == port and connection.pid:
                return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
    except psutil.Error:
        pass
    return "another process"


def accepts_connections(port: int) -> bool:
    """Whether something listens on the port."""
    with socket.socket() as client:
        client.settimeout(0.5)
        return client.connect_ex((LOOPBACK, port)) == 0
