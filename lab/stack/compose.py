"""The containers of this checkout's Compose project: started, looked at and stopped by the `docker` command."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lab.errors import StackError
from lab.stack.places import ROOT

READY_WITHIN_S = 600
"""What `up` has for images that have to be built and for servers that start on a busy machine."""

EXPECTED = "expected Docker with Compose 2.31 or newer; install it, or run without --target compose"
LOG_LINES_SHOWN = 12
VANISHED = "No such container"
NODES = ("elasticsearch", "elasticsearch-2", "elasticsearch-3", "elasticsearch-4")
"""The nodes of the cluster under test; the first one holds the master."""

SERVERS = ("kafka", *NODES, "connect")
SECOND_BROKER = "kafka-2"
STREAM = ("producer", "watch")
"""Services that would use the servers while a run measures them."""

SERVICE = "com.docker.compose.service"
FAILED = re.compile(r"[Cc]ontainer (\S+) +(?:is unhealthy|exited|service \"\S+\" didn't complete)")
"""How Compose names the container that kept others from starting."""


@dataclass(frozen=True)
class Container:
    """A running container.

    Attributes:
        service: The service of the Compose file that it is of.
        pid: Its first process, as the engine counts; another one after every start.
        ports: Port in the container → port on this machine.
        memory_bytes: Its limit; `None` where it has none.
    """

    service: str
    name: str
    pid: int
    image: str
    ports: Mapping[int, int]
    memory_bytes: int | None


@dataclass(frozen=True)
class ComposeProject:
    """The project, as `docker compose` in this checkout knows it.

    Attributes:
        environment: What the command sees, such as `COMPOSE_PROJECT_NAME`, `DOCKER_HOST` and the variables of `.env`.
    """

    root: Path = ROOT
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    @cached_property
    def services(self) -> Mapping[str, Mapping[str, Any]]:
        """What the Compose files say of each service, their variables filled in; read once."""
        config: Mapping[str, Any] = json.loads(self._output("docker", "compose", "config", "--format", "json"))
        return dict(config["services"])

    @property
    def is_cluster(self) -> bool:
        """Whether there are several brokers: none of them comes up alone."""
        return bool(self.services.get(SECOND_BROKER, {"scale": 0}).get("scale", 1))

    def up(self, services: Sequence[str], variables: Mapping[str, str], on_line: Callable[[str], None]) -> None:
        """Have these services run as the variables say, and wait until they are healthy.

        What runs as they say already is left alone; what does not is made anew.

        Args:
            variables: Those of the Compose file; they win over `.env`.
            on_line: Told of what Compose says, such as the images that it fetches.

        Raises:
            StackError: One of them does not become healthy; with the last lines of its log.
        """
        status, lines = self._up(services, variables, on_line)
        if status and lines and VANISHED in lines[-1]:
            # Compose asks for a container that it has just made anew; asked again, it finds the new one.
            status, lines = self._up(services, variables, on_line)
        if status:
            self._refuse_without_compose()
            raise StackError(failure("docker compose up", status, lines), self._log_of_failed(lines))

    def _up(
        self, services: Sequence[str], variables: Mapping[str, str], on_line: Callable[[str], None]
    ) -> tuple[int, list[str]]:
        """The exit status of one `up`, and the lines that it printed."""
        lines: list[str] = []
        wait = ("--wait", "--wait-timeout", str(READY_WITHIN_S))
        command = ("docker", "compose", "--progress", "plain", "up", "--detach", *wait, *services)
        with self._started(command, variables, subprocess.STDOUT) as process:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            for line in process.stdout:
                if text := line.strip():
                    lines.append(text)
                    on_line(text)
        return process.returncode, lines

    def stop(self, services: Iterable[str]) -> None:
        """Stop these services; their containers and volumes stay."""
        if names := sorted(services):
            self._output("docker", "compose", "stop", *names)

    def containers(self) -> dict[str, Container]:
        """The running containers, by service."""
        ids = self._output("docker", "compose", "ps", "--quiet", "--status", "running").split()
        if not ids:
            return {}
        containers = map(container_of, json.loads(self._output("docker", "inspect", *ids)))
        return {container.service: container for container in containers}

    def engine(self) -> str:
        """Where the engine answers, as `DOCKER_HOST` gives it.

        Raises:
            StackError: It is on another machine, where no port of a container is reached.
        """
        host = self._output("docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}").strip()
        if not host.startswith(("unix://", "tcp://")):
            raise StackError(f"docker: got an engine at {host}, expected one on this machine (unix:// or tcp://)")
        return host

    def _log_of_failed(self, lines: Sequence[str]) -> tuple[str, ...]:
        """The last lines of the container that kept others from starting, or else of what Compose printed."""
        failed = next((match for line in lines if (match := FAILED.search(line))), None)
        if failed is None:
            return tuple(lines[-LOG_LINES_SHOWN:])
        with self._started(("docker", "logs", "--tail", str(LOG_LINES_SHOWN), failed[1]), {}, subprocess.STDOUT) as log:
            return tuple(log.communicate()[0].splitlines())

    def _output(self, *command: str) -> str:
        """What a command prints."""
        with self._started(command, {}, subprocess.PIPE) as process:
            output, errors = process.communicate()
        if process.returncode:
            if command[1] == "compose":
                self._refuse_without_compose()
            name = " ".join(word for word in command[:3] if not word.startswith("-"))
            lines = [line.strip() for line in errors.splitlines() if line.strip()]
            raise StackError(failure(name, process.returncode, lines), tuple(lines[-LOG_LINES_SHOWN:]))
        return output

    def _refuse_without_compose(self) -> None:
        """Tell the lack of Compose from its failures: the engine's own program takes its options for wrong ones."""
        with self._started(("docker", "compose", "version"), {}, subprocess.STDOUT) as process:
            process.communicate()
        if process.returncode:
            raise StackError(f"docker: has no `docker compose`, {EXPECTED}")

    def _started(self, command: Sequence[str], variables: Mapping[str, str], errors: int) -> subprocess.Popen[str]:
        try:
            return subprocess.Popen(
                command,
                cwd=self.root,
                env={**self.environment, **variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise StackError(f"docker: cannot be run ({error.strerror}), {EXPECTED}") from error


def failure(command: str, status: int, lines: Sequence[str]) -> str:
    """Why a command failed: the last line that it printed."""
    return f"{command}: {lines[-1] if lines else f'ended with exit status {status}'}"


def container_of(inspected: Mapping[str, Any]) -> Container:
    """A container out of what `docker inspect` says of it."""
    published = inspected["NetworkSettings"]["Ports"] or {}
    return Container(
        service=str(inspected["Config"]["Labels"][SERVICE]),
        name=str(inspected["Name"]).removeprefix("/"),
        pid=int(inspected["State"]["Pid"]),
        image=str(inspected["Config"]["Image"]),
        ports={
            int(inside.partition("/")[0]): int(ports[0]["HostPort"]) for inside, ports in published.items() if ports
        },
        memory_bytes=int(inspected["HostConfig"]["Memory"]) or None,
    )
