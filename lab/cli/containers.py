"""What `docker compose up` needs of a machine, as `doctor --compose` sees it and as the first container does."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lab.profiles.memory import NEEDS, least_mb, limit_mb, variables
from lab.stack.artifacts import version_key
from lab.stack.places import ROOT
from lab.stack.ports import accepts_connections

NEEDED_COMPOSE = (2, 31, 0)
"""The oldest that reads all of our files: docs/compose.md says what older ones make of them."""
NEEDED_MAPS = 262_144
"""A node of several refuses to start with fewer memory maps, unless its settings rule them out."""
SPARE_DISK_MB = 1000
ONE_SHOTS = frozenset({"preflight", "setup", "dashboards", "verify", "secrets", "access"})
"""They are gone, or sleep, before the others need their memory."""
MAX_MAPS = Path("/proc/sys/vm/max_map_count")
MEMINFO = Path("/proc/meminfo")
VOLUMES = Path("/volumes")
SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?", re.IGNORECASE)
FACTORS = {"": 1 / 2**20, "k": 1 / 2**10, "m": 1, "g": 2**10, "t": 2**20}
JAVA_SIZE = re.compile(r"(\d+)([kmgt]?)", re.IGNORECASE)
"""What follows -Xmx. Source: `parse_integer` in src/hotspot/share/utilities/parseInteger.hpp of OpenJDK 21."""

LEAST_JAVA_HEAP_MB = 2
"""Java refuses a smaller one. Source: -Xmx in the manual page of `java`."""

HEAP_OPTION = re.compile(r"(?:-Xmx|--max-old-space-size=)(\S+)")
OPTIONS = ("ES_JAVA_OPTS", "KAFKA_HEAP_OPTS", "NODE_OPTIONS")
"""Where a service is given its heap; the last of several options holds, for Java and for Node.js."""

NUMBERED = re.compile(r"-\d+$")


@dataclass(frozen=True)
class Finding:
    """One thing that was checked; `bad` keeps Sluice from working, `optional` only from one way of working."""

    what: str
    verdict: Literal["good", "optional", "bad"]
    sentence: str


def finding(what: str, sentence: str, remedy: str, *, good: bool) -> Finding:
    """A fact that is good, or bad and then followed by its remedy."""
    return Finding(what, "good" if good else "bad", sentence if good else f"{sentence}{remedy}")


def first_line_of(*command: str) -> str | None:
    """The first line of what a command prints; `None` if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip().partition("\n")[0] or None


def size_mb(text: str) -> float:
    """A size such as 768m, 2gb or a number of bytes, in MiB; raises ValueError if it is none."""
    size = SIZE.fullmatch(text.strip())
    if size is None:
        raise ValueError(f"got {text}, expected a size such as 768m or 2g")
    return float(size[1]) * FACTORS[size[2].lower()]


def memory(total_mb: float, limits_mb: Mapping[str, float]) -> Finding:
    """Whether all containers may fill the memory that they are allowed."""
    needed_mb = sum(limits_mb.values())
    return finding(
        "memory",
        f"Docker has {total_mb:,.0f} MB, the containers may take {needed_mb:,.0f} MB together",
        "; give Docker more (Docker Desktop: Settings, Resources, Memory), leave Kibana out (MONITORING=off), or give "
        f"each less (ELASTICSEARCH_HEAP=512m ELASTICSEARCH_MEMORY={limit_mb('elasticsearch', 512)}m); settings go into "
        ".env",
        good=total_mb >= needed_mb,
    )


def heap_mb(text: str) -> float:
    """A heap as Java reads one, such as 768m, in MiB.

    Raises:
        ValueError: Java, or Node.js for Kibana, would not start with it.
    """
    size = JAVA_SIZE.fullmatch(text.strip())
    if size is None:
        raise ValueError(f"got {text}, expected a whole number and a unit, such as 768m or 2g")
    found_mb = int(size[1]) * FACTORS[size[2].lower()]
    if found_mb < LEAST_JAVA_HEAP_MB:
        raise ValueError(f"got {text}, which is {found_mb:.3g} MB, expected a size such as 768m or 2g")
    return found_mb


def heaps(servers: Iterable[tuple[str, str, float]]) -> Iterator[Finding]:
    """Whether each container's limit holds its server: a finding for each that it does not, or else a single one.

    Args:
        servers: Kind of server, its heap as Compose has it, and the container's limit in MiB.
    """
    refused = [refusal for server in dict.fromkeys(servers) if (refusal := heap_refusal(*server))]
    yield from refused or [Finding("heaps", "good", "every limit holds its server's heap and what it needs beside it")]


def heap_refusal(server: str, heap: str, limit: float) -> Finding | None:
    """Why a server cannot run with this heap in this limit, with what to set; `None` where it can."""
    heap_variable, memory_variable = variables(server)
    try:
        size = heap_mb(heap)
    except ValueError as error:
        return Finding(server, "bad", f"{heap_variable}: {error}; correct it in .env")
    needed = least_mb(server, size)
    if limit >= needed:
        return None
    remedy = f"set {memory_variable}={limit_mb(server, size)}m or a smaller {heap_variable} in .env"
    return Finding(
        server,
        "bad",
        f"{memory_variable}: got {limit:,.0f} MB with a heap of {size:,.0f} MB, expected at least {needed:,} MB, or "
        f"the kernel may kill it (status 137); {remedy}",
    )


def maps(count: int | None, *, mmap: bool, nodes: int) -> Finding:
    """Whether Elasticsearch may have as many memory maps as it insists on."""
    what = "vm.max_map_count"
    if not mmap:
        return Finding(what, "good", "not needed: ELASTICSEARCH_MMAP is false")
    if nodes == 1:
        return Finding(what, "good", "not needed: a single node does not require it")
    if count is None:
        return Finding(what, "optional", "not visible from here; the container `preflight` checks it")
    if count >= NEEDED_MAPS:
        return Finding(what, "good", f"{count:,}")
    return Finding(
        what,
        "bad",
        f"got {count:,}, expected at least {NEEDED_MAPS:,}, or Elasticsearch does not start; raise it on the machine "
        f"that runs Docker: sudo sysctl -w vm.max_map_count={NEEDED_MAPS} (to keep it: a file in /etc/sysctl.d), or "
        "set ELASTICSEARCH_MMAP=false in .env",
    )


def disk(free_mb: float, watermark: str) -> Finding:
    """Whether Elasticsearch will allot shards on the disk that has Docker's volumes."""
    needed_mb = size_mb(watermark) + SPARE_DISK_MB
    return finding(
        "disk",
        f"{free_mb:,.0f} MB free for Docker's volumes",
        f", expected at least {needed_mb:,.0f}: Elasticsearch allots no shard below its low watermark ({watermark}); "
        "make room (docker system prune shows how much that gives), or lower WATERMARK_LOW in .env",
        good=free_mb >= needed_mb,
    )


def first_number(file: Path) -> int | None:
    """The first number in a file; `None` where there is no such file."""
    try:
        number = re.search(r"\d+", file.read_text("utf-8"))
    except OSError:
        return None
    return int(number[0]) if number else None


# --- from the first container ---------------------------------------------------------------------------------------


def inside(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """What the first container finds; variables describe the other containers."""
    total_kb = first_number(MEMINFO)
    if total_kb is not None:
        words, counts = environment.get("SLUICE_LIMITS", ""), environment.get("SLUICE_AT_LEAST", "")
        yield memory(total_kb / 1024, limits_of_variable(words, counts))
    yield from heaps(heaps_of_variables(environment.get("SLUICE_HEAPS", ""), environment.get("SLUICE_LIMITS", "")))
    mmap = environment.get("SLUICE_MMAP", "true") == "true"
    yield maps(first_number(MAX_MAPS), mmap=mmap, nodes=int(environment.get("SLUICE_NODES", "1")))
    if VOLUMES.is_dir():
        yield disk(shutil.disk_usage(VOLUMES).free / 2**20, environment.get("SLUICE_WATERMARK", "2gb"))


def limits_of_variable(text: str, at_least: str = "") -> dict[str, float]:
    """Container → memory that all of its kind may take, from words such as `elasticsearch=1536m*2`.

    Args:
        at_least: How many there are of a kind, whatever its word says: `elasticsearch=3 kafka=3`.
    """
    counts = {name: int(count) for name, _, count in (word.partition("=") for word in at_least.split())}
    limits = {}
    for word in text.split():
        name, _, value = word.partition("=")
        size, _, count = value.partition("*")
        limits[name] = size_mb(size) * max(int(count or 1), counts.get(name, 0))
    return limits


def heaps_of_variables(heap_words: str, limit_words: str) -> Iterator[tuple[str, str, float]]:
    """Server, heap and limit of one container, of all kinds of which there is any.

    Args:
        heap_words: Such as `kafka=384m`.
        limit_words: Such as `kafka=896m observer=1g*0`.
    """
    limits = dict(word.split("=", 1) for word in limit_words.split())
    for word in heap_words.split():
        server, _, heap = word.partition("=")
        limit, _, count = limits[server].partition("*")
        if int(count or 1):
            yield server, heap, size_mb(limit)


# --- from outside ---------------------------------------------------------------------------------------------------


def outside() -> Iterator[Finding]:
    """What the machine says; where something is missing, what needs it is not looked at."""
    engine = first_line_of("docker", "version", "--format", "{{.Server.Version}}")
    if engine is None:
        yield Finding(
            "Docker engine", "bad", "does not answer; install it (https://docs.docker.com/engine/install) or start it"
        )
        return
    yield Finding("Docker engine", "good", engine)
    compose = compose_version(first_line_of("docker", "compose", "version", "--short"))
    yield compose
    if compose.verdict == "bad":
        return
    config = compose_config()
    if isinstance(config, Finding):
        yield config
        return
    yield from against(config["services"])


def compose_version(version: str | None) -> Finding:
    """Whether Compose knows what our files say."""
    needed = ".".join(map(str, NEEDED_COMPOSE))
    good = version is not None and version_key(version)[:3] >= NEEDED_COMPOSE
    sentence = version if good and version else f"got {version}" if version else "missing"
    remedy = f", expected {needed} or newer; install or update it: https://docs.docker.com/compose/install"
    return finding("Docker Compose", sentence, remedy, good=good)


def compose_config() -> dict[str, Any] | Finding:
    """The services as Compose understands our files; what it says instead where it does not."""
    done = subprocess.run(
        ("docker", "compose", "config", "--format", "json"), cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return Finding(
            "compose.yaml",
            "bad",
            f"Compose refuses it: {reason}; is EXPERIMENT a profile that `./sluice profiles` lists?",
        )
    return dict(json.loads(done.stdout))


def against(services: Mapping[str, Any]) -> Iterator[Finding]:
    """Memory, maps, disk and ports, held against what the services ask for."""
    total = first_line_of("docker", "info", "--format", "{{.MemTotal}}")
    if total is not None:
        yield memory(int(total) / 2**20, limits_of(services))
    yield from heaps(heaps_of(services))
    mmap = services["elasticsearch"]["environment"].get("node.store.allow_mmap", "true") == "true"
    nodes = sum(int(service.get("scale", 1)) for name, service in services.items() if name.startswith("elasticsearch"))
    yield maps(first_number(MAX_MAPS), mmap=mmap, nodes=nodes)
    folder = Path(first_line_of("docker", "info", "--format", "{{.DockerRootDir}}") or "/nowhere")
    if folder.is_dir():
        watermark = services["elasticsearch"]["environment"]["cluster.routing.allocation.disk.watermark.low"]
        yield disk(shutil.disk_usage(folder).free / 2**20, watermark)
    if first_line_of("docker", "compose", "--project-directory", str(ROOT), "ps", "--quiet") is None:
        yield from ports(services)


def limits_of(services: Mapping[str, Any]) -> dict[str, float]:
    """Container → memory it may take, of those that stay."""
    return {
        name: size_mb(str(service["mem_limit"])) * int(service.get("scale", 1))
        for name, service in services.items()
        if name not in ONE_SHOTS and "mem_limit" in service
    }


def heaps_of(services: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    """Server, heap and limit of each container that runs, as the process in it is told its heap."""
    for name, service in services.items():
        options = " ".join(str(service.get("environment", {}).get(variable, "")) for variable in OPTIONS)
        server, given = NUMBERED.sub("", name), HEAP_OPTION.findall(options)
        if server in NEEDS and given and service.get("scale", 1):
            # Node.js takes a number of MB.
            yield server, f"{given[-1]}m" if server == "kibana" else given[-1], size_mb(str(service["mem_limit"]))


def ports(services: Mapping[str, Any], is_taken: Callable[[int], bool] = accepts_connections) -> Iterator[Finding]:
    """Whether the ports are free that the services are to be found at."""
    for name, service in services.items():
        for port in (int(entry["published"]) for entry in service.get("ports", ()) if service.get("scale", 1)):
            if is_taken(port):
                remedy = "stop what has it, or set another port for it in .env, see .env.example"
                yield Finding(f"port {port}", "bad", f"taken, {name} needs it; {remedy}")
            else:
                yield Finding(f"port {port}", "good", f"free for {name}")
