"""Nodes of Elasticsearch, or of another engine, as server specifications."""

import contextlib
import os
import pwd
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from lab.engines import DEFAULT, Engine, Release
from lab.errors import StackError
from lab.stack.jdk import Jdk, extra_jvm_options
from lab.stack.kafka import fingerprint, write_if_changed
from lab.stack.modules import entitlement_options, with_present_modules
from lab.stack.ports import LOOPBACK
from lab.stack.server import ServerSpec

WATERMARKS = {
    # Percentages of a large, fairly full disk would stop an index of a few hundred megabytes.
    "cluster.routing.allocation.disk.watermark.low": "2gb",
    "cluster.routing.allocation.disk.watermark.high": "1gb",
    "cluster.routing.allocation.disk.watermark.flood_stage": "500mb",
}

LAUNCHER_OPTIONS = "-XX:TieredStopAtLevel=1"
"""For the short-lived launcher only; the server is left as Elastic ships it. No class-data archive: the server patches
`java.base`, which turns that off, and a word of the launcher's JVM about its archive on its standard output would be
taken for the launch descriptor that 9.5 sends through it."""


def unprivileged_user() -> int | None:
    """The user id that Elasticsearch runs as: `None` (our own) unless we are root, which it refuses to run as.

    Under `sudo` it is the user who called; otherwise `nobody`.
    """
    if os.geteuid() != 0:
        return None
    caller = int(os.environ.get("SUDO_UID", "0"))
    if caller:
        return caller
    try:
        return pwd.getpwnam("nobody").pw_uid
    except KeyError as error:
        raise StackError(
            "Elasticsearch refuses to run as root, and this machine has no user `nobody`; run sluice as another user"
        ) from error


def give_to(user: int | None, folder: Path) -> None:
    """Make everything below `folder` the user's."""
    if user is None:
        return
    for parent, _folders, files in os.walk(folder):
        for path in (Path(parent), *(Path(parent) / file for file in files)):
            # A node of another shape may still be running on this folder, and removes files of its own.
            with contextlib.suppress(FileNotFoundError):
                os.chown(path, user, user)


def node_name(number: int) -> str:
    """The name of the n-th node, from 1."""
    return f"elasticsearch-{number}"


def repositories(folder: Path) -> Path:
    """The folder that all nodes beside that of this node may keep snapshots in."""
    return folder.parent / "repositories"


def node_settings(
    home: Path,
    number: int,
    ports: Mapping[str, int],
    first_transport_port: int,
    folder: Path,
    *,
    engine: Engine = DEFAULT.engine,
) -> dict[str, object]:
    """The settings file of one node.

    The first node is the only master; it is configured the same whether it stays alone or not, so that data nodes can
    join and leave without its restart.
    """
    master = engine.master_role
    settings: dict[str, object] = {
        "cluster.name": "sluice",
        "node.name": node_name(number),
        "node.roles": [master, "data", "ingest"] if number == 1 else ["data"],
        "network.host": LOOPBACK,
        "http.port": ports["http"],
        "transport.port": ports["transport"],
        "discovery.seed_hosts": [f"{LOOPBACK}:{first_transport_port}"],
        "path.data": str(folder / "data"),
        "path.logs": str(folder / "logs"),
        "path.repo": str(repositories(folder)),
        "action.destructive_requires_name": True,
        **WATERMARKS,
    }
    if number == 1:
        settings[f"cluster.initial_{master}_nodes"] = [node_name(1)]
    present = (setting for place, setting in engine.switched_off.items() if (home / place).is_dir())
    return settings | dict(present)


def node_spec(
    release: Release,
    *,
    number: int,
    home: Path,
    folder: Path,
    jdk: Jdk,
    heap_mb: int,
    ports: Mapping[str, int],
    first_transport_port: int,
    user: int | None,
    extra_settings: Mapping[str, object] | None = None,
) -> ServerSpec:
    """The n-th node of a cluster, its configuration, data and logs below `folder`.

    Args:
        home: The unpacked distribution.
        ports: `http` and `transport`.
        first_transport_port: Where the first node, the master, is found.
        user: Who it runs as; `None` for ourselves.
        extra_settings: Further settings of the node; they win over ours, such as the disk watermarks.
    """
    engine = release.engine
    ours = node_settings(home, number, ports, first_transport_port, folder, engine=engine)
    settings = ours | dict(extra_settings or {})
    config = write_config(f"{engine.name}.yml", settings, home=home, folder=folder, jdk=jdk, user=user)
    jvm_options = " ".join((f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", *extra_jvm_options()))
    launcher = {engine.launcher_variable: launcher_options(folder)} if engine.launcher_variable else {}
    return ServerSpec(
        kind="elasticsearch",  # of every engine: ready when the same request is answered
        name=node_name(number),
        product=engine.recorded,
        version=release.version,
        java_version=jdk.version,
        command=(str(home / "bin" / engine.name), "-d", "-p", str(folder / "pid")),
        environment={
            f"{engine.variables}_JAVA_HOME": str(jdk.home),
            f"{engine.variables}_PATH_CONF": str(config),
            f"{engine.variables}_TMPDIR": str(folder / "tmp"),
            f"{engine.variables}_JAVA_OPTS": jvm_options,
            **launcher,
            **path_with_ps(folder),
        },
        ports=dict(ports),
        run_as=user,
        log_file=folder / f"{engine.name}.out",
        server_log=folder / "logs" / "sluice.log",
        pid_file=folder / "pid",
        shape=fingerprint(home, engine.name, release.version, jdk.home, jvm_options, settings),
    )


def write_config(
    file_name: str, settings: Mapping[str, object], *, home: Path, folder: Path, jdk: Jdk, user: int | None
) -> Path:
    """The folder of a node's configuration, written below `folder` beside its data and logs; all of it the user's."""
    config = folder / "config"
    if not config.is_dir():
        partial = folder / "config.part"
        shutil.rmtree(partial, ignore_errors=True)
        # With the secrets of a keystore for TLS that it does not use, a node refuses to start:
        # `SSLService.validateServerConfiguration` of elastic/elasticsearch.
        shutil.copytree(home / "config", partial, ignore=shutil.ignore_patterns("*.keystore"))
        partial.rename(config)
    options = (home / "config" / "jvm.options").read_text("utf-8")
    # Each time: it may be another Java than before.
    usable = with_present_modules(with_own_folders(options, folder), jdk)
    write_if_changed(config / "jvm.options", usable + entitlement_options(home, jdk, folder / "modules"))
    write_if_changed(config / file_name, yaml.safe_dump(settings, sort_keys=False))
    for name in ("data", "logs", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    give_to(user, folder)
    # All nodes share it, so that it is beside their folders.
    repositories(folder).mkdir(exist_ok=True)
    give_to(user, repositories(folder))
    return config


def path_with_ps(folder: Path) -> dict[str, str]:
    """The path on which start scripts find a `ps`: small containers have none, and get a stand-in below `folder`.

    Those of Elasticsearch 7 and OpenSearch ask `ps -p PID` whether the node lives.
    """
    if shutil.which("ps"):
        return {}
    script = folder / "bin" / "ps"
    write_if_changed(script, '#!/bin/sh\nkill -0 "$2"\n')
    script.chmod(0o755)
    return {"PATH": f"{os.environ['PATH']}{os.pathsep}{script.parent}"}


def launcher_options(folder: Path) -> str:
    """The options of the launcher's JVM, which leaves an empty temporary folder at each start: below `folder`."""
    temporary = folder / "tmp"
    # The start script splits its options at spaces and knows no quotes.
    return LAUNCHER_OPTIONS if " " in str(temporary) else f"{LAUNCHER_OPTIONS} -Djava.io.tmpdir={temporary}"


def with_own_folders(jvm_options: str, folder: Path) -> str:
    """The JVM options with their logs and heap dumps below `folder`, not in the distribution, which all nodes share."""
    return re.sub(
        r"(?<=[=:])(logs|data)(?=/|$|:)", lambda match: str(folder / match[1]), jvm_options, flags=re.MULTILINE
    )


def vector_instructions(log: Path) -> tuple[str, ...] | None:
    """What a node says of vector instructions since its last start; `None` if its log does not go back to it."""
    try:
        _, start, last_start = log.read_text("utf-8", errors="replace").rpartition("JVM arguments [")
    except OSError:
        return None
    if not start:
        # The log was begun anew since.
        return None
    uses = ["native library"] if "Using native vector library" in last_start else []
    if match := re.search(r"Java vector incubator API enabled; uses preferredBitSize=(\d+)", last_start):
        uses.append(f"Panama, {match[1]} bits")
    return tuple(uses)


def check_readable(user: int | None, folders: Sequence[Path]) -> None:
    """Raise StackError if a folder lies below one that the unprivileged user may not enter."""
    if user is None:
        return
    for folder in folders:
        for parent in (folder, *folder.parents):
            if parent.exists() and not parent.stat().st_mode & 0o001 and parent.stat().st_uid != user:
                raise StackError(
                    f"{folder}: Elasticsearch refuses to run as root, and the user it runs as cannot open {parent}; "
                    "move it below folders that everyone may open (SLUICE_CACHE and SLUICE_STATE move ours), or run as "
                    "another user"
                )
