"""Reads what servers in containers have used: from the kernel where it can be seen, or else from the engine."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson

from lab.monitor.control_groups import group_of, major_faults, memory_of, resident_bytes
from lab.monitor.processes import reason
from lab.records.samples import ControlGroupSample, ProcessSample


@dataclass(frozen=True, slots=True)
class Containers:
    """The containers that servers run in.

    Attributes:
        engine: Where the engine that runs them answers, as `DOCKER_HOST` gives it.
        names: Server name → container.
    """

    engine: str
    names: Mapping[str, str]


class ContainerReader:
    """Reads all containers at once: engines before 23 take up to a second for each."""

    def __init__(self, containers: Containers, *, timeout_s: float) -> None:
        self._client = engine_client(containers.engine, timeout_s)
        self._readers = {server: OneContainer(name, self._client) for server, name in containers.names.items()}
        self._pool = ThreadPoolExecutor(max(1, len(self._readers)), thread_name_prefix="container")

    def read(self) -> tuple[dict[str, ProcessSample], dict[str, ControlGroupSample], dict[str, str]]:
        """Use of the containers since they started, by server name.

        Returns:
            What all processes of each have used, the groups of those that are seen from here, and why some could not
            be read.
        """
        processes: dict[str, ProcessSample] = {}
        groups: dict[str, ControlGroupSample] = {}
        lost: dict[str, str] = {}
        futures = {server: self._pool.submit(reader.read) for server, reader in self._readers.items()}
        for server, future in futures.items():
            try:
                processes[server], group = future.result()
                groups |= {server: group} if group else {}
            except (httpx.HTTPError, OSError, LookupError, TypeError, ValueError) as error:
                lost[server] = f"container {self._readers[server].name}: {reason(error)}"
        return processes, groups, lost

    def close(self) -> None:
        """Close the connections."""
        self._pool.shutdown(wait=True)
        self._client.close()


class OneContainer:
    """One container, whose first process is kept in mind until it is gone."""

    def __init__(self, name: str, client: httpx.Client) -> None:
        self.name = name
        self._client = client
        self._process: tuple[int, str] | None = None

    def read(self) -> tuple[ProcessSample, ControlGroupSample | None]:
        """Use of the container since it started, and its control group if that is seen from here.

        Raises:
            LookupError: It does not run, or its figures are not given.
            OSError: It is just ending.
            httpx.HTTPError: The engine does not answer.
        """
        if self._process is not None and (group := group_of(*self._process)) is not None:
            return group.read(), memory_of(group)
        container = self._get("json")
        if not container["State"]["Running"]:
            raise LookupError("is not running")
        self._process = pid, _ = int(container["State"]["Pid"]), str(container["Id"])
        if (group := group_of(*self._process)) is not None:
            return group.read(), memory_of(group)
        # Without `one-shot` an engine takes a second more, for a rate that nobody here wants.
        return container_sample(pid, self._get("stats?stream=false&one-shot=true")), None

    def _get(self, path: str) -> Any:
        return orjson.loads(self._client.get(f"/containers/{self.name}/{path}").raise_for_status().content)


def engine_client(engine: str, timeout_s: float) -> httpx.Client:
    """A client of the engine at this address, as `DOCKER_HOST` gives it.

    Raises:
        ValueError: It is spoken to in a way that this client does not know.
    """
    address = urlsplit(engine)
    if address.scheme == "unix":
        transport = httpx.HTTPTransport(uds=address.path)
        return httpx.Client(transport=transport, base_url="http://engine", timeout=timeout_s, trust_env=False)
    if address.scheme == "tcp":
        return httpx.Client(base_url=f"http://{address.netloc}", timeout=timeout_s, trust_env=False)
    raise ValueError(f"{engine}: got an engine by {address.scheme or 'nothing'}, expected one by unix:// or tcp://")


def container_sample(pid: int, stats: Mapping[str, Any]) -> ProcessSample:
    """Use of all processes of a container, from the engine's statistics.

    Raises:
        LookupError: Its memory is not told.
    """
    memory = stats["memory_stats"]["stats"]
    return ProcessSample(
        pid=pid,
        cpu_s=round(stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9, 2),
        rss_bytes=resident_bytes(memory),
        major_page_faults=major_faults(memory),
        disk_read_bytes=disk_bytes(stats, "read"),
        disk_write_bytes=disk_bytes(stats, "write"),
    )


def disk_bytes(stats: Mapping[str, Any], operation: str) -> int | None:
    """Bytes read from or written to disks; `None` where the engine counts none."""
    entries = (stats.get("blkio_stats") or {}).get("io_service_bytes_recursive")
    if not entries:
        return None
    return sum(int(entry["value"]) for entry in entries if entry["op"].lower() == operation)
