"""Single nodes of any engine, beside the session's own servers."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from lab.engines import Release
from lab.stack import server
from lab.stack.artifacts import ArtifactCache, read_lock
from lab.stack.elasticsearch import node_spec, unprivileged_user
from lab.stack.jdk import Jdk, find_jdks
from lab.stack.places import cache_dir
from lab.stack.ports import LOOPBACK, allot_ports
from lab.stack.readiness import wait_until_ready
from lab.stack.runtimes import choose_java, java_runtime
from lab.stack.server import ServerSpec

HEAP_MB = 384


def java_for(wanted: Release) -> Jdk:
    """A JDK of this machine, or else a runtime that is fetched.

    Raises:
        StackError: The server runs on none of them.
    """
    java = choose_java(find_jdks(), wanted.java, str(wanted))
    return java if isinstance(java, Jdk) else java_runtime(java, cache_dir())


def spec_of(wanted: Release, folder: Path, settings: Mapping[str, object] | None = None) -> ServerSpec:
    """The node with a small heap, all of its files below `folder`; fetches what is not there yet."""
    jdk = java_for(wanted)
    cache = ArtifactCache(cache_dir())
    (archive,) = read_lock().sets[wanted.set_name]
    cache.fetch((archive,))
    home = cache.unpacked(archive)
    ports = allot_ports(("http", "transport"), folder / "ports.json", requested={}, in_use={})
    user, node = unprivileged_user(), folder / "node"
    return node_spec(
        wanted,
        number=1,
        home=home,
        folder=node,
        jdk=jdk,
        heap_mb=HEAP_MB,
        ports=ports,
        first_transport_port=ports["transport"],
        user=user,
        extra_settings=settings,
    )


@contextlib.contextmanager
def servers_folder() -> Iterator[Path]:
    """A folder of servers' files, which Elasticsearch's unprivileged user may not have below pytest's own."""
    made = Path(tempfile.mkdtemp(prefix="sluice-test-"))
    made.chmod(0o755)
    try:
        yield made
    finally:
        server.stop_processes(server.marked_processes(made))
        shutil.rmtree(made, ignore_errors=True)


@contextlib.contextmanager
def running(spec: ServerSpec, marker: Path) -> Iterator[str]:
    """The URL of a node that runs until it is left.

    Args:
        marker: What its processes carry, so that whoever made the folder finds them.
    """
    launched = server.start(spec, marker)
    known = [launched]
    try:
        wait_until_ready(launched, known.append)
        yield f"http://{LOOPBACK}:{spec.ports['http']}"
    finally:
        server.stop(known[-1:])
