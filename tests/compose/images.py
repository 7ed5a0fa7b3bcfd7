"""The stand-ins for the official images: the same servers as the lab's, as their official images behave."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.stack.artifacts import LOCK_FILE, ArtifactCache, ArtifactLock, read_lock
from lab.stack.jdk import JavaRange, Jdk, choose_jdk, find_jdks, java_for_elasticsearch, java_for_kafka
from lab.stack.places import ROOT, cache_dir
from tests.compose.base_image import base_image
from tests.compose.engine import Engine, own_engine
from tests.compose.machine import needed_program, succeeded
from tests.compose.offline import maven_repository, wheels

RECIPES = Path(__file__).with_name("images")
TEST_ARTIFACTS = Path(__file__).with_name("artifacts.lock.json")
DEFAULT_ELASTICSEARCH = "8.19.21"
WANTED_FILES = 65535
"""Open files that Elasticsearch wants to be allowed before it lets a node join a cluster of several."""

NOT_IN_AN_IMAGE = shutil.ignore_patterns("jmods", "src.zip", "man", "demo", "sample", "legal")


@dataclass(frozen=True)
class Recipe:
    """How one image is made.

    Attributes:
        name: Its folder below `images/`, where its Dockerfile lies.
        version: What the official image's tag says.
        parent: The image that it begins with.
        files: What is laid beside the Dockerfile: name → file or folder of this machine.
        made_from: What tells one content of `files` from another, where the version does not.
    """

    name: str
    version: str
    parent: str
    files: Mapping[str, Path | Sequence[Path]]
    made_from: tuple[str, ...]

    def tag(self, base: str) -> str:
        """The image's name, as Compose files say it: another one for another content.

        Checkouts share an engine, and each may have recipes of its own. What the version tells is not told twice, so
        that the versions of a server are tags of one name.
        """
        recipes = (path.relative_to(RECIPES).as_posix().encode() + path.read_bytes() for path in recipe_files())
        parts = [base.encode(), *(part.encode() for part in self.made_from), *recipes]
        digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
        return f"sluice-test/{self.name}-{digest}:{self.version}"


def recipe_files() -> Iterator[Path]:
    """All Dockerfiles and what lies beside them, in a fixed order."""
    yield from sorted(path for path in RECIPES.rglob("*") if path.is_file())


class StandIns:
    """Builds stand-ins in one engine, those that are not there already."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._folder = own_engine().folder
        self._cache = ArtifactCache(cache_dir())
        self._lock: ArtifactLock = read_lock(LOCK_FILE)
        self._more: ArtifactLock = read_lock(TEST_ARTIFACTS)

    def settings(self) -> dict[str, str]:
        """What puts all of them in place of the official ones: `KAFKA_IMAGE`, `KAFKA_VERSION`, and so on."""
        images = {
            "KAFKA": self.kafka(),
            "ELASTICSEARCH": self.elasticsearch(),
            "MAVEN": self.maven(),
            "PYTHON": self.python(),
        }
        split = {name: tag.rpartition(":") for name, tag in images.items()}
        return {
            f"{name}_{part}": value
            for name, (image, _, version) in split.items()
            for part, value in (("IMAGE", image), ("VERSION", version))
            # An experiment says which Elasticsearch it wants.
            if (name, part) != ("ELASTICSEARCH", "VERSION")
        }

    def base(self) -> str:
        """A small Debian."""
        return base_image(self._engine, self._folder)

    def java(self, jdk: Jdk) -> str:
        """The base with a JDK of this machine, where the official images of Java have it."""
        return self._built(
            Recipe("java", jdk.version.replace("+", "_"), self.base(), {"java": jdk.home}, (jdk.version,))
        )

    def kafka(self) -> str:
        """In place of `apache/kafka`."""
        artifacts = (*self._lock.sets["kafka"], *self._more.sets["kafka-tools"])
        jars = self._cache.fetch(artifacts)
        version = next(jar.stem.rpartition("-")[2] for jar in jars if jar.name.startswith("kafka-clients-"))
        hashes = tuple(artifact.sha256 for artifact in artifacts)
        return self._built(Recipe("kafka", version, self.java(jdk_for(java_for_kafka())), {"libs": jars}, hashes))

    def elasticsearch(self, version: str = DEFAULT_ELASTICSEARCH) -> str:
        """In place of Elastic's image of that version."""
        (artifact,) = self._lock.sets[f"elasticsearch-{version}"]
        self._cache.fetch((artifact,))
        java = self.java(jdk_for(java_for_elasticsearch(version)))
        files = {"elasticsearch": self._cache.unpacked(artifact), "file_limit": self._file_limit()}
        made_from = tuple(file.name for file in files["file_limit"])
        return self._built(Recipe("elasticsearch", version, java, files, made_from))

    def maven(self) -> str:
        """In place of an image with Maven and a JDK; what our plugin's build needs is in it."""
        (artifact,) = self._lock.sets["maven"]
        self._cache.fetch((artifact,))
        jdk = jdk_for(java_for_kafka())
        home = self._cache.unpacked(artifact)
        dockerfile = ROOT / "compose" / "images" / "connect.Dockerfile"
        repository = maven_repository(self._folder, home, jdk, ROOT / "connect", dockerfile)
        files = {"maven": home, "repository": repository}
        version = artifact.file_name.removeprefix("apache-maven-").removesuffix("-bin.tar.gz")
        return self._built(Recipe("maven", version, self.java(jdk), files, (artifact.sha256, repository.name)))

    def python(self) -> str:
        """In place of `python:…-slim`; the packages that our lock file names are in it as wheels."""
        version = self._engine.docker(
            "run", "--rm", "--network=none", self.base(), "python3", "-c",
            "import sys; print('{}.{}'.format(*sys.version_info))",
        ).stdout.strip()  # fmt: skip
        packages = wheels(self._folder, ROOT / "requirements.lock", version)
        return self._built(Recipe("python", version, self.base(), {"wheels": packages}, (packages.name,)))

    def _file_limit(self) -> tuple[Path, ...]:
        """What has containers say that they may open as many files as Elasticsearch wants; nothing where they may."""
        allowed = self._engine.docker("run", "--rm", "--network=none", self.base(), "bash", "-c", "ulimit -Hn")
        if allowed.stdout.strip() == "unlimited" or int(allowed.stdout) >= WANTED_FILES:
            return ()
        library = self._folder / "file_limit.so"
        compiler = needed_program("gcc", package="gcc libc6-dev")
        source = RECIPES / "elasticsearch" / "file_limit.c"
        succeeded(compiler, "-O2", "-shared", "-fPIC", "-o", library, source, timeout_s=60)
        return (library,)

    def _built(self, recipe: Recipe) -> str:
        tag = recipe.tag(self.base())
        if self._engine.docker("image", "inspect", tag, check=False).returncode:
            self._build(recipe, tag)
        return tag

    def _build(self, recipe: Recipe, tag: str) -> None:
        with TemporaryDirectory(prefix="context-", dir=self._folder) as name:
            context = Path(name)
            shutil.copytree(RECIPES / recipe.name, context, dirs_exist_ok=True)
            for target, source in recipe.files.items():
                lay(source, context / target)
            base = ("--build-arg", f"BASE={recipe.parent}")
            self._engine.docker("build", "--quiet", "--network=none", *base, "--tag", tag, str(context))


def jdk_for(supported: JavaRange) -> Jdk:
    """The machine's JDK that the lab would take as well."""
    return choose_jdk(find_jdks(), supported, "the test images")


def lay(source: Path | Sequence[Path], target: Path) -> None:
    """Lay a folder, or files, into a new folder, links followed; without a copy where the file system allows it."""
    if isinstance(source, Path):
        shutil.copytree(source, target, copy_function=link, ignore=NOT_IN_AN_IMAGE, ignore_dangling_symlinks=True)
        return
    target.mkdir()
    for file in source:
        link(str(file), str(target / file.name))


def link(source: str, target: str) -> str:
    """Link a file, or copy it where it lies on another file system."""
    path = os.path.realpath(source)
    try:
        os.link(path, target)
    except OSError:
        shutil.copy2(path, target)
    return target
