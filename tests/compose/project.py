"""The pipeline in containers, as a user calls it: one Compose project on stand-ins and on free ports."""

import hashlib
import json
import re
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from lab.stack.places import ROOT
from tests.compose.engine import Engine
from tests.compose.machine import finished, last_lines

PORTS = (
    *("KAFKA_PORT", "KAFKA_2_PORT", "KAFKA_3_PORT", "CONNECT_PORT", "CONNECT_2_PORT", "JOLOKIA_PORT", "JOLOKIA_2_PORT"),
    *("ELASTICSEARCH_PORT", "ELASTICSEARCH_2_PORT", "ELASTICSEARCH_3_PORT", "OBSERVER_PORT", "KIBANA_PORT"),
)
COMMAND_TIMEOUT_S = 420
WAIT_S = 180


class ComposeError(AssertionError):
    """A Compose command failed; with its last lines and those of the containers that are not well."""


@dataclass(frozen=True)
class Project:
    """One project of this checkout.

    Attributes:
        settings: What its user would write into `.env`.
        root: The checkout.
    """

    engine: Engine
    name: str
    settings: dict[str, str] = field(default_factory=dict)
    root: Path = ROOT

    def called(
        self, *arguments: str, settings: Mapping[str, str] | None = None, timeout_s: float = COMMAND_TIMEOUT_S
    ) -> subprocess.CompletedProcess[str]:
        """`docker compose …` at the root of the checkout, whatever comes of it."""
        environment = {**self.engine.environment, **self.settings, **(settings or {})}
        return finished(
            "docker", "compose", "--project-name", self.name, *arguments,
            environment=environment,
            folder=self.root,
            timeout_s=timeout_s,
        )  # fmt: skip

    def __call__(
        self,
        *arguments: str,
        settings: Mapping[str, str] | None = None,
        timeout_s: float = COMMAND_TIMEOUT_S,
    ) -> str:
        """What `docker compose …` printed.

        Raises:
            ComposeError: It failed.
        """
        done = self.called(*arguments, settings=settings, timeout_s=timeout_s)
        if done.returncode:
            raise ComposeError(f"docker compose {' '.join(arguments)}: {last_lines(done.stderr, 12)}\n{self.ailing()}")
        return done.stdout

    def containers(self, *, stopped: bool = True) -> Sequence[Mapping[str, object]]:
        """The project's containers, as `docker compose ps` tells of them."""
        done = self.called("ps", *(("--all",) if stopped else ()), "--format", "json")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def states(self) -> dict[str, str]:
        """Service → what its container is: its health where it has a check, otherwise its state and exit status."""
        return {
            str(one["Service"]): str(one["Health"] or f"{one['State']} {one['ExitCode']}") for one in self.containers()
        }

    def ailing(self) -> str:
        """The last words of every container that is not well."""
        ill = [name for name, state in self.states().items() if state not in {"healthy", "running 0", "exited 0"}]
        return "\n".join(f"--- {name}\n{self.called('logs', '--tail', '15', name).stdout}" for name in ill)

    def container(self, service: str) -> str:
        """The id of a service's container, running or not."""
        return next(str(one["ID"]) for one in self.containers() if one["Service"] == service)

    def verified(self, settings: Mapping[str, str]) -> int:
        """Documents that were sent, as the check says that has found all of them."""
        said = self("run", "--rm", "verify", settings=settings)
        found = re.search(r"([\d,]+) documents sent, .*: verified", said.replace("\n", " "))
        assert found is not None, said
        return int(found[1].replace(",", ""))

    def remove(self) -> None:
        """Leave nothing of it behind."""
        self.called("--profile", "tools", "down", "--volumes", "--remove-orphans", "--timeout", "5")

    def left(self, kind: str) -> list[str]:
        """The containers, networks or volumes of this project that the engine has."""
        label = f"label=com.docker.compose.project={self.name}"
        every = ("--all",) if kind == "container" else ()
        return self.engine.docker(kind, "ls", *every, "--quiet", "--filter", label).stdout.split()

    def unnamed_volumes(self) -> list[str]:
        """Volumes of the containers that Compose has not named: no command of Compose's ever removes them."""
        mounts = '{{range .Mounts}}{{if eq .Type "volume"}}{{println .Name}}{{end}}{{end}}'
        names = self.engine.docker("inspect", "--format", mounts, *self.left("container")).stdout.split()
        return sorted({name for name in names if not name.startswith(f"{self.name}_")})

    def memory_mb(self) -> dict[str, float]:
        """Service → memory of its container in megabytes (10⁶ bytes), as the engine counts it: no page cache."""
        ids = {str(one["ID"])[:12]: str(one["Service"]) for one in self.containers(stopped=False)}
        lines = self.engine.docker(
            "stats", "--no-stream", "--format", "{{.ID}} {{.MemUsage}}", *ids
        ).stdout.splitlines()
        used = (line.split() for line in lines)
        return {ids[name[:12]]: megabytes(memory) for name, memory, *_ in used}


def megabytes(memory: str) -> float:
    """Docker's own way of writing a size, such as `1.5GiB`, in 10⁶ bytes."""
    units = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}
    unit = next(unit for unit in units if memory.endswith(unit))
    return float(memory.removesuffix(unit)) * units[unit] / 1e6


def checkout_name() -> str:
    """The name of this checkout's test project: no two checkouts share containers or images."""
    return f"sluice-test-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"


def own_images() -> dict[str, str]:
    """Names for the images that Compose builds, this checkout's own."""
    return {"LAB_IMAGE": f"{checkout_name()}/lab", "CONNECT_IMAGE": f"{checkout_name()}/connect"}


def documents(cluster: httpx.Client, index: str) -> int:
    """Documents that searches of an index see; 0 while there is none."""
    answer = cluster.get(f"/{index}/_count")
    return int(answer.json()["count"]) if answer.status_code == httpx.codes.OK else 0


def wait_until(reached: Callable[[], bool]) -> None:
    """Look once a second, until it is so or too late."""
    until_s = time.monotonic() + WAIT_S
    while not reached():
        assert time.monotonic() < until_s, f"not within {WAIT_S} s"
        time.sleep(1)


def free_ports() -> dict[str, str]:
    """A free port for everything that the project publishes."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in PORTS]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return {name: str(each.getsockname()[1]) for name, each in zip(PORTS, sockets, strict=True)}
