"""Ports: asked for, kept, remembered, free; and never the same one twice."""

import errno
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from lab.errors import StackError
from lab.stack.ports import accepts_connections, allot_ports, read_ports

NAMES = ("kafka.client", "connect.http", "elasticsearch-1.http")


@contextmanager
def taken_port() -> Iterator[int]:
    """A port that this process listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


def free_ports(count: int) -> list[int]:
    """Ports that were free just now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return [int(listener.getsockname()[1]) for listener in sockets]
    finally:
        for listener in sockets:
            listener.close()


def test_a_port_that_was_asked_for_is_given(tmp_path: Path) -> None:
    """Clients may have it written down."""
    (port,) = free_ports(1)
    allotted = allot_ports(NAMES, tmp_path / "ports.json", requested={"kafka.client": port}, in_use={})
    assert allotted["kafka.client"] == port


def test_a_port_that_was_asked_for_and_is_taken_is_one_sentence(tmp_path: Path) -> None:
    """It names the port, what it was for, and who has it."""
    with taken_port() as port, pytest.raises(StackError) as refusal:
        allot_ports(NAMES, tmp_path / "ports.json", requested={"kafka.client": port}, in_use={})
    owner = f"process {os.getpid()} ({psutil.Process().name()})"
    assert f"port {port}: requested for kafka.client, but in use by {owner}; free the port or choose another" == str(
        refusal.value
    )


def test_nothing_is_remembered_when_a_port_is_refused(tmp_path: Path) -> None:
    """A refusal changes nothing."""
    with taken_port() as port, pytest.raises(StackError):
        allot_ports(NAMES, tmp_path / "ports.json", requested={"elasticsearch-1.http": port}, in_use={})
    assert not (tmp_path / "ports.json").exists()


@pytest.mark.parametrize("port", [-1, 65_536, 70_001])
def test_a_number_that_is_no_port_is_one_sentence(tmp_path: Path, port: int) -> None:
    """Ports have 16 bits."""
    with pytest.raises(StackError) as refusal:
        allot_ports(NAMES, tmp_path / "ports.json", requested={"kafka.client": port}, in_use={})
    assert f"port {port}: requested for kafka.client, expected 1 to 65535" == str(refusal.value)


def test_one_port_asked_for_twice_is_one_sentence(tmp_path: Path) -> None:
    """Two servers cannot share it."""
    (port,) = free_ports(1)
    with pytest.raises(StackError) as refusal:
        allot_ports(NAMES, tmp_path / "ports.json", requested=dict.fromkeys(NAMES[:2], port), in_use={})
    assert f"port {port}: requested for connect.http, but in use by kafka.client; choose another" == str(refusal.value)


def test_a_remembered_port_is_given_again(tmp_path: Path) -> None:
    """Servers come back where they were."""
    first = allot_ports(NAMES, tmp_path / "ports.json", requested={}, in_use={})
    assert first == allot_ports(NAMES, tmp_path / "ports.json", requested={}, in_use={})


def test_a_remembered_port_that_is_taken_is_replaced(tmp_path: Path) -> None:
    """Nobody asked for it, so another one will do."""
    with taken_port() as port:
        (tmp_path / "ports.json").write_text(json.dumps({"kafka.client": port}))
        allotted = allot_ports(NAMES, tmp_path / "ports.json", requested={}, in_use={})
    assert port not in allotted.values()
    assert allotted == read_ports(tmp_path / "ports.json")


def test_a_port_that_our_running_server_holds_is_kept(tmp_path: Path) -> None:
    """It is taken, but by the very server that it is for."""
    with taken_port() as port:
        allotted = allot_ports(NAMES, tmp_path / "ports.json", requested={}, in_use={"kafka.client": port})
    assert allotted["kafka.client"] == port


def test_a_running_server_moves_to_a_port_that_is_asked_for(tmp_path: Path) -> None:
    """What is asked for wins over what is in use."""
    (wanted,) = free_ports(1)
    with taken_port() as port:
        allotted = allot_ports(
            NAMES, tmp_path / "ports.json", requested={"kafka.client": wanted}, in_use={"kafka.client": port}
        )
    assert allotted["kafka.client"] == wanted


def test_no_two_names_get_the_same_port(tmp_path: Path) -> None:
    """Not even when a file of old remembers one port for all of them."""
    (port,) = free_ports(1)
    names = tuple(f"elasticsearch-{number}.http" for number in range(1, 14))
    (tmp_path / "ports.json").write_text(json.dumps(dict.fromkeys(names, port)))
    allotted = allot_ports(names, tmp_path / "ports.json", requested={}, in_use={})
    assert len(names) == len(set(allotted.values()))


def test_a_port_in_use_is_not_remembered_for_another(tmp_path: Path) -> None:
    """A server that starts may not listen yet; its port is its own all the same."""
    (port,) = free_ports(1)
    (tmp_path / "ports.json").write_text(json.dumps({"kafka.client": port}))
    allotted = allot_ports(NAMES, tmp_path / "ports.json", requested={}, in_use={"elasticsearch-1.http": port})
    assert allotted["elasticsearch-1.http"] == port
    assert allotted["kafka.client"] != port


def test_a_port_that_is_asked_for_is_not_given_to_another_that_remembers_it(tmp_path: Path) -> None:
    """The order of the names does not matter."""
    (port,) = free_ports(1)
    (tmp_path / "ports.json").write_text(json.dumps({"kafka.client": port}))
    allotted = allot_ports(NAMES, tmp_path / "ports.json", requested={"elasticsearch-1.http": port}, in_use={})
    assert allotted["elasticsearch-1.http"] == port
    assert allotted["kafka.client"] != port


@pytest.mark.parametrize("text", [None, "", "no JSON", "[7]", '{"kafka.client": "seven"}'])
def test_a_file_of_ports_that_cannot_be_read_is_as_good_as_none(tmp_path: Path, text: str | None) -> None:
    """It only saves the trouble of finding new ports."""
    if text is not None:
        (tmp_path / "ports.json").write_text(text)
    assert read_ports(tmp_path / "ports.json") == {}


def test_ports_of_servers_that_are_not_wanted_now_are_still_remembered(tmp_path: Path) -> None:
    """The second node finds its port again after a run with one."""
    both = allot_ports((*NAMES, "elasticsearch-2.http"), tmp_path / "ports.json", requested={}, in_use={})
    allot_ports(NAMES, tmp_path / "ports.json", requested={}, in_use={})
    assert both == read_ports(tmp_path / "ports.json")


def test_a_port_accepts_connections_while_somebody_listens() -> None:
    """And no longer."""
    with taken_port() as port:
        assert accepts_connections(port)
    assert not accepts_connections(port)


def test_a_port_that_this_user_may_not_have_is_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user asks for port 80."""

    def refuse(_listener: socket.socket, _address: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(StackError) as failure:
        allot_ports(("kafka",), requested={"kafka": 80}, in_use={}, remembered_in=tmp_path / "ports.json")
    assert str(failure.value) == (
        "port 80: requested for kafka, but this user may not listen there; choose one from 1024 on"
    )
