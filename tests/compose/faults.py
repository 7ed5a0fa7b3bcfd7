"""What can happen to a container: killed, cut off from the others, paused. Each lasts as long as its `with` block.

Packets are lost, and nobody is told: the container's end of the network cable stays plugged in, and the other end is
taken out of the bridge that joins the containers. Whatever waits for an answer has to find out by itself. This needs
neither packet filter nor traffic control of the kernel, of which some machines have none; it needs root, and an engine
on this machine.
"""

import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psutil

from tests.compose.machine import find_program, succeeded
from tests.compose.project import Project

INTERFACES = Path("/sys/class/net")
IP_TIMEOUT_S = 20


@contextmanager
def killed(project: Project, service: str) -> Iterator[None]:
    """All of its processes end at once, without a word; afterwards it is started again."""
    container = project.container(service)
    project.engine.docker("kill", "--signal", "KILL", container)
    try:
        yield
    finally:
        project.engine.docker("start", container)


@contextmanager
def cut_off(project: Project, service: str) -> Iterator[None]:
    """No packet reaches it, and none of its own reaches anybody."""
    cable = cable_of(project, service)
    bridge = (INTERFACES / cable / "master").resolve().name
    set_interface(cable, "nomaster")
    try:
        yield
    finally:
        set_interface(cable, "master", bridge)


@contextmanager
def paused(project: Project, service: str) -> Iterator[None]:
    """All of its processes stand still (SIGSTOP), their connections open; afterwards they go on as if nothing were."""
    processes = processes_of(project, service)
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in reversed(processes):
            process.send_signal(signal.SIGCONT)


FAULTS: Mapping[str, Callable[[Project, str], AbstractContextManager[None]]] = {
    "cut": cut_off,
    "pause": paused,
    "kill": killed,
}


def why_not() -> str | None:
    """Why faults cannot be made on this machine; `None` if they can."""
    if os.geteuid() != 0:
        return "only root may cut a container off"
    if find_program("ip") is None:
        return "there is no program `ip` to cut a container off with; install iproute2"
    return None


def cable_of(project: Project, service: str) -> str:
    """The interface of this machine at the other end of the container's own."""
    container = project.container(service)
    inside = project.engine.docker("exec", container, "cat", "/sys/class/net/eth0/iflink").stdout.strip()
    ends = (path.parent.name for path in INTERFACES.glob("*/ifindex") if path.read_text().strip() == inside)
    return next(ends)


def set_interface(cable: str, *words: str) -> None:
    """Change an interface of this machine."""
    succeeded(shutil.which("ip") or "/sbin/ip", "link", "set", "dev", cable, *words, timeout_s=IP_TIMEOUT_S)


def processes_of(project: Project, service: str) -> list[psutil.Process]:
    """The container's first process and all that it has started, as this machine counts them."""
    pid = project.engine.docker("inspect", "--format", "{{.State.Pid}}", project.container(service)).stdout
    first = psutil.Process(int(pid))
    return [first, *first.children(recursive=True)]
