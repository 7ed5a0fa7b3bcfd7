"""`sluice doctor`: what this machine has and lacks, each lack with the command that fixes it."""

import itertools
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

import psutil
import typer
from rich.markup import escape
from rich.table import Table

from lab import VERSION
from lab.analysis.figures.definitions import BY_NAME
from lab.cli.containers import Finding, finding, first_line_of
from lab.cli.containers import inside as inside_containers
from lab.cli.containers import outside as outside_containers
from lab.cli.options import JsonOption
from lab.console import console, print_json
from lab.engines import ENGINES, JavaRange
from lab.errors import ProfileError, StackError, refuse_without_checkout
from lab.extensions import PIPELINES, QUESTION_KINDS
from lab.stack.artifacts import ArtifactCache, read_lock
from lab.stack.groups import Bounds, ServerGroups, controllers
from lab.stack.jdk import Jdk, find_jdks, install_command, java_for_kafka, refuse_wrong_java_home
from lab.stack.places import ROOT, cache_dir, state_dir
from lab.stack.plugin import is_built, is_released, plugin_artifacts
from lab.stack.ports import accepts_connections
from lab.stack.runtimes import choose_java, is_fetched
from lab.stack.shape import StackShape
from producers.dataset import DatasetError
from producers.registry import DATASETS

NEEDED_DISK_BYTES = 5 * 10**9
MARKS = {"good": "[green]✓[/green]", "optional": "[yellow]–[/yellow]", "bad": "[red]✗[/red]"}


def doctor(
    *,
    compose: Annotated[bool, typer.Option("--compose", help="Check only what `docker compose up` needs.")] = False,
    containers: Annotated[
        bool,
        typer.Option(
            "--containers", hidden=True, help="The same from inside a container, for the service `preflight`."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Check Python, JDKs, Maven, extensions, memory, disk, ports and Docker. Exit status 3 if something is missing."""
    if compose:
        refuse_without_checkout("doctor --compose")
    checks = (outside_containers,) if compose else (inside_containers,) if containers else CHECKS
    findings = [entry for check in checks for entry in check()]
    table = Table(show_header=False, show_edge=False, box=None)
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_column(overflow="fold")
    for entry in findings:
        table.add_row(MARKS[entry.verdict], entry.what, escape(entry.sentence))
    console.print(table)
    if as_json:
        print_json(findings)
    lacking = [entry.what for entry in findings if entry.verdict == "bad"]
    if containers and lacking and os.environ.get("SLUICE_PREFLIGHT") != "warn":
        raise StackError(f"preflight: {', '.join(lacking)}: see above; set PREFLIGHT=warn in .env to continue anyway")
    return StackError.exit_status if lacking and not containers else 0


def python() -> Iterator[Finding]:
    """The interpreter that runs this."""
    yield Finding("Python", "good", f"{platform.python_version()} in {sys.prefix}")


def java() -> Iterator[Finding]:
    """The JDKs, and what each server runs on."""
    try:
        refuse_wrong_java_home()
    except ProfileError as error:
        name, _, sentence = str(error).partition(": ")
        yield Finding(name, "bad", sentence)
    jdks = find_jdks()
    for jdk in jdks:
        yield Finding("JDK", "good", f"{jdk.version} in {jdk.home}")
    yield runs_on("Kafka", java_for_kafka(), jdks, lack="bad")
    for release in itertools.chain.from_iterable(map(read_lock().releases, ENGINES)):
        yield runs_on(str(release), release.java, jdks, lack="optional")


def runs_on(name: str, needed: JavaRange, jdks: Sequence[Jdk], *, lack: Literal["bad", "optional"]) -> Finding:
    """The Java that a server gets: a JDK, or a runtime that is fetched; else the command that installs a JDK."""
    try:
        chosen = choose_java(jdks, needed, name)
    except StackError:
        return Finding(name, lack, f"needs a JDK {needed}; install one with: {install_command(needed)}")
    what = f"JDK {chosen.feature}" if isinstance(chosen, Jdk) else f"Java {chosen}, which is fetched once"
    return Finding(name, "good", f"runs on {what} (it takes {needed})")


def plugin() -> Iterator[Finding]:
    """The sink plugin, which needs neither Maven nor a JDK."""
    here = VERSION if is_released(ROOT / "connect") else "built"
    yield Finding("sink plugin", "good", here if is_built(ROOT / "connect") else "is built by the first run")


def extensions() -> Iterator[Finding]:
    """What installed packages add, and which of it cannot be used."""
    for registry in (DATASETS, PIPELINES, QUESTION_KINDS, BY_NAME):
        for name in registry.offers():
            try:
                registry[name]
            except (ProfileError, DatasetError) as error:
                yield Finding("extension", "bad", str(error))
            else:
                yield Finding("extension", "good", f"{registry.what} {name} of {registry.package(name)}")


def memory() -> Iterator[Finding]:
    """Memory for the default servers."""
    available_mb = psutil.virtual_memory().available // 2**20
    needed_mb = StackShape().memory_mb
    sentence = f"{available_mb:,} MB available, {needed_mb:,} MB needed for one Elasticsearch node, Kafka and Connect"
    yield finding("memory", sentence, "; free some memory", good=available_mb >= needed_mb)


def bounds() -> Iterator[Finding]:
    """Whether memory and disk reads of Elasticsearch servers can be bounded, which few profiles ask for."""
    groups, version = ServerGroups(state_dir()), controllers().interface.version
    for what, bound in (
        ("memory limits", Bounds(memory_limit_mb=1)),
        ("disk limits", Bounds(read_iops_limit=1)),
    ):
        lacks = [sentence.partition("expected none: ")[2] for sentence in groups.lacks(bound)]
        sentence = f"not available: {' and '.join(lacks)}" if lacks else f"available (cgroup v{version})"
        yield Finding(what, "optional" if lacks else "good", sentence)


def disk() -> Iterator[Finding]:
    """Disk space where the servers and their data go."""
    for what, folder in (("cache", cache_dir()), ("state", state_dir())):
        existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free_bytes = shutil.disk_usage(existing).free
        remedy = f"; make room or set SLUICE_{what.upper()} to a folder on another disk"
        sentence = f"{free_bytes / 1e9:.0f} GB free for {folder}"
        yield finding(f"disk ({what})", sentence, remedy, good=free_bytes >= NEEDED_DISK_BYTES)


def ports() -> Iterator[Finding]:
    """Whether the usual ports are free, for those who ask for them; by default any free port is taken."""
    for name, port in (("Elasticsearch", 9200), ("Kafka", 9092), ("Kafka Connect", 8083), ("Kibana", 5601)):
        taken = accepts_connections(port)
        what = "taken; needed only if you request this port" if taken else "free"
        yield Finding(f"port {port}", "optional" if taken else "good", f"{what} (usual for {name})")


def artifacts() -> Iterator[Finding]:
    """What would still have to be downloaded for the default servers."""
    lock = read_lock()
    needed = [
        *lock.sets["kafka"],
        *lock.sets["jolokia"],
        *lock.sets[StackShape().release.set_name],
        *(() if is_built(ROOT / "connect") else plugin_artifacts(lock)),
    ]
    missing = ArtifactCache(cache_dir()).missing(needed)
    size_mb = sum(artifact.size_bytes for artifact in missing) / 1e6
    java = [java_for_kafka(), StackShape().release.java]
    runtimes = {chosen for needed in java if isinstance(chosen := java_or_none(needed), int) and not is_fetched(chosen)}
    lacks = [*(f"Java {feature}" for feature in sorted(runtimes)), *([f"{size_mb:.0f} MB"] if missing else [])]
    of = f"{StackShape().release} and Kafka"
    yield Finding(
        "servers", "good", f"{of}: {' and '.join(lacks)} still to be fetched" if lacks else f"{of} work offline"
    )


def java_or_none(needed: JavaRange) -> Jdk | int | None:
    """The JDK or runtime that a server gets; `None` where none fits, which is told elsewhere."""
    try:
        return choose_java(find_jdks(), needed, "a server")
    except StackError:
        return None


def docker() -> Iterator[Finding]:
    """Docker, for the containers; `./sluice run` needs none."""
    if shutil.which("docker") is None:
        yield Finding(
            "Docker", "optional", "not installed; needed for `docker compose up` only: apt-get install docker.io"
        )
        return
    engine = first_line_of("docker", "version", "--format", "{{.Server.Version}}")
    compose = first_line_of("docker", "compose", "version", "--short")
    yield Finding(
        "Docker engine",
        "good" if engine else "optional",
        engine or "does not run; start it with: systemctl start docker",
    )
    yield Finding(
        "Docker Compose",
        "good" if compose else "optional",
        compose or "missing; install it: apt-get install docker-compose-v2",
    )


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    python,
    java,
    plugin,
    extensions,
    artifacts,
    memory,
    disk,
    bounds,
    ports,
    docker,
)
"""What is looked at, in the order in which it is shown."""
