"""What the stand-ins are made of, fetched once by this machine's own means; no engine is needed for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.engines import DEFAULT, JavaRange, Release
from lab.stack.artifacts import LOCK_FILE, ArtifactCache, read_lock
from lab.stack.jdk import Jdk, choose_jdk, find_jdks, java_for_kafka
from lab.stack.places import ROOT, cache_dir
from tests.compose.base_image import Base, debian_python, debian_suite
from tests.compose.offline import maven_repository, wheels

TEST_ARTIFACTS = Path(__file__).with_name("artifacts.lock.json")
DOCKERFILE = ROOT / "compose" / "images" / "connect.Dockerfile"
DEFAULT_ELASTICSEARCH = DEFAULT.version


@dataclass(frozen=True)
class Material:
    """What one image is made of.

    Attributes:
        version: What the official image's tag says.
        files: Name in the image's build → file or folder of this machine.
        made_from: What tells one content of `files` from another, where the version does not.
    """

    version: str
    files: Mapping[str, Path | Sequence[Path]]
    made_from: tuple[str, ...] = ()


class Materials:
    """Fetches them below one folder, or into the lab's own cache."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cache = ArtifactCache(cache_dir())
        self._sets = read_lock(LOCK_FILE).sets
        self._more_sets = read_lock(TEST_ARTIFACTS).sets

    def base(self) -> Base:
        """A small Debian."""
        return Base(self._folder, debian_suite())

    def java(self, jdk: Jdk) -> Material:
        """A JDK of this machine."""
        return Material(jdk.version.replace("+", "_"), {"java": jdk.home})

    def kafka(self) -> Material:
        """The lab's own Kafka, and what its image has besides: command-line tools, and passwords for the worker.

        The extension for passwords is of 4.3.1: Maven Central has it of no later version (27 November 2026).
        """
        artifacts = (*self._sets["kafka"], *self._more_sets["kafka-image"])
        jars = self._cache.fetch(artifacts)
        version = next(jar.stem.rpartition("-")[2] for jar in jars if jar.name.startswith("kafka-clients-"))
        return Material(version, {"libs": jars}, tuple(artifact.sha256 for artifact in artifacts))

    def elasticsearch(self, version: str = DEFAULT_ELASTICSEARCH) -> Material:
        """The lab's own Elasticsearch."""
        (artifact,) = self._sets[Release(DEFAULT.engine, version).set_name]
        self._cache.fetch((artifact,))
        return Material(version, {"elasticsearch": self._cache.unpacked(artifact)})

    def maven(self) -> Material:
        """The lab's own Maven, and a repository with what our Dockerfile needs of it."""
        (artifact,) = self._sets["maven"]
        self._cache.fetch((artifact,))
        home = self._cache.unpacked(artifact)
        repository = maven_repository(self._folder, home, jdk_of_kafka(), ROOT / "connect", DOCKERFILE)
        version = artifact.file_name.removeprefix("apache-maven-").removesuffix("-bin.tar.gz")
        return Material(version, {"maven": home, "repository": repository}, (repository.name,))

    def python(self) -> Material:
        """The packages of our lock file as wheels, for the base's Python."""
        version = debian_python()
        packages = wheels(self._folder, ROOT / "requirements.lock", version)
        return Material(version, {"wheels": packages}, (packages.name,))


def jdk_of_kafka() -> Jdk:
    """The machine's JDK that the lab would take for Kafka and for building the plugin."""
    return jdk_for(java_for_kafka())


def jdk_of_elasticsearch(version: str) -> Jdk:
    """The machine's JDK that the lab would take for that version."""
    return jdk_for(Release(DEFAULT.engine, version).java)


def jdk_for(supported: JavaRange) -> Jdk:
    """The machine's JDK that the lab would take."""
    return choose_jdk(find_jdks(), supported, "the test images")
