"""The sink plugin's folders, made without Maven and without a JDK: Eclipse's compiler runs on any Java.

Names and contents are those of `connect/pom.xml`, so that `mvn package` makes the same.
"""

import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from lab.errors import StackError
from lab.stack.jdk import Jdk

BESIDE_THE_LAB: Final = "HdrHistogram-"
"""Begins the name of the only library that the lab's connector needs."""
MANIFEST: Final = {"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\n\n"}
QUICK_START: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a JVM that ends within seconds."""
ERROR_LINES: Final = 12

Entries = Mapping[str, bytes]
"""What a jar holds: content by name."""


@dataclass(frozen=True)
class Pom:
    """What `connect/pom.xml` says of the plugin.

    Attributes:
        release: Feature release of Java that the classes are for.
        lab_name: Of the folder of the connector that drops everything, which only the lab needs.
        not_for_users: Patterns of the entries that the users' jar lacks.
        for_the_lab: Patterns of the entries that the lab's jar has.
    """

    name: str
    version: str
    release: str
    lab_name: str
    not_for_users: tuple[str, ...]
    for_the_lab: tuple[str, ...]


def read_pom(project: Path) -> Pom:
    """Read the plugin's `pom.xml`."""
    pom = pom_tree(project)
    executions = {execution.findtext("id"): execution for execution in pom.iter("execution")}
    version = pom.findtext("version", "")
    return Pom(
        name=f"{pom.findtext('artifactId')}-{version}",
        version=version,
        release=pom.findtext("properties/maven.compiler.release", ""),
        lab_name=pom.findtext("properties/discard.folder", "").replace("${project.version}", version),
        not_for_users=tuple(entry.text or "" for entry in executions["default-jar"].iter("exclude")),
        for_the_lab=tuple(entry.text or "" for entry in executions["discard-classes"].iter("include")),
    )


def pom_tree(project: Path) -> ElementTree.Element:
    """The plugin's `pom.xml`, its tags without their namespace."""
    text = (project / "pom.xml").read_text("utf-8")
    return ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", text))  # noqa: S314 - our own file


def make_plugin_folders(
    project: Path, java: Jdk, *, compiler: Path, libraries: Sequence[Path], worker: Sequence[Path]
) -> None:
    """Compile the plugin and fill both of its folders below `target/`, which must be empty.

    Args:
        compiler: The jar of Eclipse's compiler.
        libraries: The jars that go beside the plugin's own.
        worker: The jars of a Connect worker, which brings them.

    Raises:
        StackError: The sources do not compile; with the compiler's last lines.
    """
    pom = read_pom(project)
    sources = project / "src" / "main"
    # Whoever builds holds the lock: these were left behind by one that was killed.
    for left in (project / "target").glob("classes.part-*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=project / "target", prefix="classes.part-") as folder:
        classes = Path(folder)
        compile_classes(sources / "java", classes, java, compiler, (*libraries, *worker), release=pom.release)
        compiled = {**entries(classes), **filtered(entries(sources / "resources"), pom.version)}
    users = {name: content for name, content in compiled.items() if not matches(name, pom.not_for_users)}
    labs = {name: content for name, content in compiled.items() if matches(name, pom.for_the_lab)}
    labs |= entries(sources / "discard")
    beside_the_lab = [library for library in libraries if library.name.startswith(BESIDE_THE_LAB)]
    fill_folder(project / "target" / "plugin" / pom.name, f"{pom.name}.jar", users, libraries)
    fill_folder(project / "target" / "lab-plugin" / pom.lab_name, f"{pom.name}-discard.jar", labs, beside_the_lab)


def compile_classes(
    sources: Path, classes: Path, java: Jdk, compiler: Path, class_path: Iterable[Path], *, release: str
) -> None:
    """Compile a folder of sources."""
    options = (f"-{release}", "-encoding", "UTF-8", "-g", "-nowarn", "-proc:none")
    where = ("-classpath", ":".join(map(str, class_path)), "-d", str(classes), str(sources))
    command = (str(java.java), *QUICK_START, "-jar", str(compiler), *options, *where)
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        lines = tuple(line for line in (done.stdout + done.stderr).splitlines() if line.strip())
        raise StackError(f"{sources}: the sink plugin could not be compiled", lines[-ERROR_LINES:])


def entries(folder: Path) -> Entries:
    """Every file below a folder, by its path there."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def filtered(resources: Entries, version: str) -> Entries:
    """Resources with the version where they name it."""
    return {name: content.replace(b"${project.version}", version.encode()) for name, content in resources.items()}


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether an entry is one of those that patterns stand for."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def fill_folder(folder: Path, jar_name: str, content: Entries, libraries: Iterable[Path]) -> None:
    """A plugin folder: a jar, and the libraries beside it."""
    folder.mkdir(parents=True)
    write_jar(folder / jar_name, content)
    for library in libraries:
        shutil.copy(library, folder)


def write_jar(path: Path, content: Entries) -> None:
    """The same bytes for the same content: entries in order, all from 1980, where zip's time begins."""
    with zipfile.ZipFile(path, "w") as jar:
        for name, data in {**MANIFEST, **dict(sorted(content.items()))}.items():
            jar.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
