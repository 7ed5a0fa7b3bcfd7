"""The machine and the software that a run ran on, and what must be known of its servers before a figure is believed."""

import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from lab import VERSION
from lab.analysis.text import quantity
from lab.endpoints import without_secrets, words_without_secrets
from lab.monitor.processes import usable_cores
from lab.profiles import Profile
from lab.records.run import Environment, RunWarning, Server, WarningKind
from lab.run.paging import paging_of
from lab.stack.places import state_dir
from producers.extensions import packages


def cpu_model() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def git_commit(root: Path) -> str | None:
    """The commit that is checked out, with `+` if files differ from it; `None` outside a checkout.

    An installed package may lie in a repository of somebody else's, such as one with a virtual environment in it.
    """
    if not (root / ".git").exists():
        return None
    try:
        commit = git(root, "rev-parse", "--short=12", "HEAD")
        changed = git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changed else "")


def git(root: Path, *arguments: str) -> str:
    """What git says."""
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def describe_environment(
    root: Path,
    *,
    target: str,
    servers: Sequence[Server],
    java_versions: Mapping[str, str],
    index_settings: Mapping[str, object],
    cluster_settings: Mapping[str, object],
    connector: Mapping[str, str],
    vector_options: Mapping[str, dict[str, object]],
    distribution: str | None,
    contents: Mapping[str, str] | None = None,
) -> Environment:
    """Everything that another run must share with this one for the two to be compared."""
    return Environment(
        sluice_version=VERSION,
        git_commit=git_commit(root),
        machine=platform.machine(),
        kernel=platform.release(),
        cpu_model=cpu_model(),
        cpu_cores=usable_cores(),
        memory_bytes=psutil.virtual_memory().total,
        python_version=platform.python_version(),
        java_versions=dict(java_versions),
        target=target,
        servers=tuple(servers),
        index_settings=dict(index_settings),
        cluster_settings=without_secrets(cluster_settings),
        connector=without_secrets(connector),
        vector_options=dict(vector_options),
        distribution=distribution,
        extensions=packages() or None,
        contents=None if contents is None else dict(contents),
        paging=None if target == "remote" else paging_of(state_dir() if target == "local" else None),
    )


def profile_without_secrets(profile: Profile) -> Profile:
    """The profile as it may be written down."""
    command = profile.sink.command and words_without_secrets(profile.sink.command)
    sink = profile.sink.model_copy(update={"config": without_secrets(profile.sink.config), "command": command})
    producer = profile.producer.model_copy(update={"client": without_secrets(profile.producer.client)})
    return profile.model_copy(update={"sink": sink, "producer": producer})


def cold_servers(target: str) -> RunWarning:
    """The servers were started for this run."""
    stay = (
        "containers running (`docker compose up --detach`)"
        if target == "compose"
        else "servers running (`./sluice up`)"
    )
    return RunWarning(
        kind=WarningKind.COLD_SERVERS,
        seen="the servers were started just before the load",
        likely_cause="a JVM that has just started still compiles its code; its first drain can take twice as long",
        remedy=f"keep {stay}, and discard the first run",
    )


def servers_elsewhere() -> RunWarning:
    """Nothing is known of the servers' processes."""
    return RunWarning(
        kind=WarningKind.SERVERS_ELSEWHERE,
        seen="CPU, memory and disk of the servers' processes are not known",
        likely_cause="they ran on other machines",
        remedy="monitor those machines themselves, or run the profile on local servers",
    )


def shards_unassigned(unassigned: int, profile: Profile) -> RunWarning:
    """Replicas that no node could hold."""
    nodes, needed = profile.elasticsearch.data_nodes, profile.number_of_replicas + 1
    return RunWarning(
        kind=WarningKind.SHARDS_UNASSIGNED,
        seen=f"{quantity(unassigned, 'shard')} had no node during the load",
        likely_cause=f"index.number_of_replicas is {needed - 1}, which needs {needed} data nodes; there are {nodes}",
        remedy="raise elasticsearch.data_nodes or lower index.number_of_replicas; an unassigned replica costs nothing",
    )


def unread_settings(names: Sequence[str]) -> RunWarning:
    """Settings that the connector does not have; their values may be secrets."""
    return RunWarning(
        kind=WarningKind.UNREAD_SETTINGS,
        seen=f"the connector has no such settings: {', '.join(names)}",
        likely_cause="a typing error, or the setting of another connector or version; Connect accepts it in silence",
        remedy="correct or remove it in `sink.config`, the connector's template or the servers' file; two values of it"
        " are no difference",
    )
