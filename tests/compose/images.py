"""The stand-ins for the official images: the same servers as the lab's, as their official images behave."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.stack.jdk import Jdk
from tests.compose.engine import Engine, own_engine
from tests.compose.machine import needed_program, succeeded
from tests.compose.materials import DEFAULT_ELASTICSEARCH, Material, Materials, jdk_of_elasticsearch, jdk_of_kafka

RECIPES = Path(__file__).with_name("images")
WANTED_FILES = 65535
"""Open files that Elasticsearch wants to be allowed before it lets a node join a cluster of several."""

NOT_IN_AN_IMAGE = shutil.ignore_patterns("jmods", "src.zip", "man", "demo", "sample", "legal")


@dataclass(frozen=True)
class Recipe:
    """How one image is made.

    Attributes:
        name: Its folder below `images/`, where its Dockerfile lies.
        parent: The image that it begins with.
    """

    name: str
    parent: str
    material: Material

    def tag(self, base: str) -> str:
        """The image's name, as Compose files say it: another one for another content.

        Checkouts share an engine, and each may have recipes of its own. What the version tells is not told twice, so
        that the versions of a server are tags of one name.
        """
        recipes = (path.relative_to(RECIPES).as_posix().encode() + path.read_bytes() for path in recipe_files())
        parts = [base.encode(), *(part.encode() for part in self.material.made_from), *recipes]
        digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
        return f"sluice-test/{self.name}-{digest}:{self.material.version}"


def recipe_files() -> Iterator[Path]:
    """All Dockerfiles and what lies beside them, in a fixed order."""
    yield from sorted(path for path in RECIPES.rglob("*") if path.is_file())


class StandIns:
    """Builds stand-ins in one engine, those that are not there already."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._folder = own_engine().folder
        self._materials = Materials(self._folder)

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
        return self._materials.base().image(self._engine)

    def java(self, jdk: Jdk) -> str:
        """The base with a JDK, where the official images of Java have it."""
        return self._built("java", self.base(), self._materials.java(jdk))

    def kafka(self) -> str:
        """In place of `apache/kafka`."""
        return self._built("kafka", self.java(jdk_of_kafka()), self._materials.kafka())

    def elasticsearch(self, version: str = DEFAULT_ELASTICSEARCH) -> str:
        """In place of Elastic's image of that version."""
        server, limit = self._materials.elasticsearch(version), self._file_limit()
        files = {**server.files, "file_limit": limit}
        material = replace(server, files=files, made_from=tuple(file.name for file in limit))
        return self._built("elasticsearch", self.java(jdk_of_elasticsearch(version)), material)

    def maven(self) -> str:
        """In place of an image with Maven and a JDK; what our plugin's build needs is in it."""
        return self._built("maven", self.java(jdk_of_kafka()), self._materials.maven())

    def python(self) -> str:
        """In place of `python:…-slim`; the packages that our lock file names are in it as wheels."""
        return self._built("python", self.base(), self._materials.python())

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

    def _built(self, name: str, parent: str, material: Material) -> str:
        recipe = Recipe(name, parent, material)
        tag = recipe.tag(self.base())
        if self._engine.docker("image", "inspect", tag, check=False).returncode:
            self._build(recipe, tag)
        return tag

    def _build(self, recipe: Recipe, tag: str) -> None:
        with TemporaryDirectory(prefix="context-", dir=self._folder) as name:
            context = Path(name)
            shutil.copytree(RECIPES / recipe.name, context, dirs_exist_ok=True)
            for target, source in recipe.material.files.items():
                lay(source, context / target)
            base = ("--build-arg", f"BASE={recipe.parent}")
            self._engine.docker("build", "--quiet", "--network=none", *base, "--tag", tag, str(context))


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
