"""Writes `artifacts.lock.json` anew: `python -m tools.lock_artifacts`, for another Kafka, Maven or plugin library.

The versions of search engines are those of the lock file; `tools.add_version` adds one.
Maven resolves what Kafka and the sink plugin need; every file is then fetched once and its SHA-256 written down.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from lab.engines import ENGINES
from lab.stack.artifacts import LOCK_FILE, MAVEN_CENTRAL, Artifact, ArtifactLock, read_lock
from lab.stack.places import ROOT
from lab.stack.plugin_jars import pom_tree

KAFKA = "4.4.0"
KAFKA_COORDINATES = (
    f"org.apache.kafka:kafka_2.13:{KAFKA}",
    f"org.apache.kafka:connect-runtime:{KAFKA}",
    f"org.apache.kafka:connect-json:{KAFKA}",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",
)
OLDER_CONNECT = "3.9.1"
OLDER_CONNECT_COORDINATES = (
    f"org.apache.kafka:connect-runtime:{OLDER_CONNECT}",
    f"org.apache.kafka:connect-json:{OLDER_CONNECT}",
    "org.slf4j:slf4j-reload4j:1.7.36",
)
"""A worker of the oldest release line that the plugin is tested with."""
MAVEN = "3.9.15"
JOLOKIA = "2.6.0"
MOST_BYTES = 1 << 30
"""No artifact of ours is larger."""
COMPILER = "3.46.100"
"""Of Eclipse, for the plugin."""


def repository_path(group: str, artifact: str, version: str, file_name: str) -> str:
    """The path of a file in a Maven repository."""
    return f"{group.replace('.', '/')}/{artifact}/{version}/{file_name}"


def plugin_coordinates(scope: str | None = None) -> list[str]:
    """The `group:artifact:version` of the plugin's dependencies of a scope; without one, they go beside its jar."""
    return [
        ":".join(dependency.findtext(part, "") for part in ("groupId", "artifactId", "version"))
        for dependency in pom_tree(ROOT / "connect").iterfind("dependencies/dependency")
        if dependency.findtext("scope") == scope
    ]


def plugin_jar_paths() -> list[str]:
    """The jars beside the plugin's, without those that the worker brings, as its `pom.xml` excludes them."""
    brought = tuple(
        f"{group.replace('.', '/')}/{artifact}/"
        for group, artifact, _ in (coordinates.split(":") for coordinates in plugin_coordinates("provided"))
    )
    return [path for path in jar_paths(plugin_coordinates()) if not path.startswith(brought)]


def jar_paths(wanted: Sequence[str]) -> list[str]:
    """The jars of these `group:artifact:version` and of all that they need, as Maven resolves them."""
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"
        for group, artifact, version in (coordinates.split(":") for coordinates in wanted)
    )
    with tempfile.TemporaryDirectory() as folder:
        pom = Path(folder) / "pom.xml"
        pom.write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>io.sluice</groupId><artifactId>servers</artifactId>"
            f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
        )
        listing = Path(folder) / "list.txt"
        subprocess.run(
            ["mvn", "-q", "-B", "-f", str(pom), "dependency:list", "-DincludeScope=runtime", f"-DoutputFile={listing}"],
            check=True,
        )
        found = re.findall(
            r"^\s+([\w.-]+):([\w.-]+):jar:(?:([\w.-]+):)?([\w.-]+):(?:compile|runtime)", listing.read_text(), re.M
        )
    return [
        repository_path(group, artifact, version, f"{artifact}-{version}{'-' + classifier if classifier else ''}.jar")
        for group, artifact, classifier, version in sorted(found)
    ]


def pinned(path: str) -> Artifact:
    """The artifact at a repository path, with the hash and size of what the repository sends today."""
    digest, size_bytes = hashlib.sha256(), 0
    with httpx.stream("GET", f"{MAVEN_CENTRAL}/{path}", headers={"Accept-Encoding": "identity"}, timeout=300) as answer:
        for chunk in answer.raise_for_status().iter_raw():
            digest.update(chunk)
            size_bytes += len(chunk)
            if size_bytes > MOST_BYTES:
                sys.exit(f"{path}: got more than {MOST_BYTES:,} bytes; raise MOST_BYTES if it is as large as that")
    return Artifact(path=path, sha256=digest.hexdigest(), size_bytes=size_bytes)


def write_lock(lock: ArtifactLock) -> None:
    """Write the lock file; the releases of engines come last, by engine, oldest first."""
    releases = [release.set_name for engine in ENGINES for release in lock.releases(engine)]
    names = [*(name for name in lock.sets if name not in releases), *releases]
    ordered = ArtifactLock(sets={name: lock.sets[name] for name in names})
    LOCK_FILE.write_text(ordered.model_dump_json(indent=1, exclude_defaults=True) + "\n", "utf-8")


def main() -> None:
    """Resolve, fetch, write."""
    lock = read_lock()
    releases = [release for engine in ENGINES for release in lock.releases(engine)]
    paths = {
        "kafka": jar_paths(KAFKA_COORDINATES),
        f"connect-{OLDER_CONNECT}": jar_paths(OLDER_CONNECT_COORDINATES),
        "jolokia": [
            repository_path("org.jolokia", "jolokia-agent-jvm", JOLOKIA, f"jolokia-agent-jvm-{JOLOKIA}-javaagent.jar")
        ],
        "plugin": plugin_jar_paths(),
        "compiler": [repository_path("org.eclipse.jdt", "ecj", COMPILER, f"ecj-{COMPILER}.jar")],
        "maven": [repository_path("org.apache.maven", "apache-maven", MAVEN, f"apache-maven-{MAVEN}-bin.tar.gz")],
    } | {release.set_name: [release.engine.distribution_path(release.version)] for release in releases}
    with ThreadPoolExecutor(6) as pool:
        sets = {name: tuple(pool.map(pinned, members)) for name, members in paths.items()}
    write_lock(ArtifactLock(sets=sets))
    sys.stdout.write(f"{LOCK_FILE}: {sum(map(len, sets.values()))} artifacts\n")


if __name__ == "__main__":
    main()
