"""The sink plugin: built when its sources have changed, and only then, without Maven and without a JDK."""

import hashlib
import shlex
import shutil
import zipfile
from pathlib import Path

import pytest

from lab.errors import StackError
from lab.stack.artifacts import ArtifactCache, ArtifactLock, read_lock
from lab.stack.jdk import Jdk
from lab.stack.places import ROOT
from lab.stack.plugin import (
    build_plugin,
    is_built,
    is_released,
    plugin_artifacts,
    plugin_path,
    released_plugin,
    source_fingerprint,
    stamp_file,
)
from lab.stack.plugin_jars import pom_tree
from lab.stack.shape import kafka_version
from tests.unit.stack.repository_server import artifact_of
from tools.lock_artifacts import plugin_coordinates

POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <artifactId>sink</artifactId>
  <version>0.7.3</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <discard.folder>drop-${project.version}</discard.folder>
  </properties>
  <build><plugins><plugin><executions>
    <execution><id>default-jar</id><configuration><excludes><exclude>of/Drop*</exclude></excludes></configuration></execution>
    <execution><id>discard-classes</id><configuration><includes>
      <include>of/Drop*.class</include><include>of/version.properties</include>
    </includes></configuration></execution>
  </executions></plugin></plugins></build>
</project>
"""
SOURCES = {
    "pom.xml": POM,
    "src/main/java/of/Task.java": "class Task {}",
    "src/main/resources/META-INF/services/Connector": "of.Sink",
    "src/main/resources/of/version.properties": "version=${project.version}",
    "src/main/discard/META-INF/services/Connector": "of.Drop",
    "etc/example.json": "{}",
    "src/test/java/of/TaskTest.java": "class TaskTest {}",
}
LIBRARIES = ("HdrHistogram-2.2.2.jar", "client-1.0.jar")
LOCK = ArtifactLock(
    sets={
        "compiler": (artifact_of("compiler.jar", b"compiler"),),
        "plugin": tuple(artifact_of(f"org/{name}", name.encode()) for name in LIBRARIES),
        "kafka": (artifact_of("connect-api.jar", b"worker"),),
    }
)
COMPILES = """\
while [ "$1" != -d ]; do shift; done
mkdir -p $2/of
for name in Sink Drop; do echo $name > $2/of/$name.class; done
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The sources of a plugin."""
    for name, text in SOURCES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "project"


@pytest.fixture
def cache(tmp_path: Path) -> ArtifactCache:
    """What a build is made of, fetched already; there is nothing to fetch it from."""
    made = ArtifactCache(tmp_path / "cache", repository="http://127.0.0.1:9")
    for artifact in (*plugin_artifacts(LOCK), *LOCK.sets["kafka"]):
        made.file(artifact).parent.mkdir(parents=True)
        made.file(artifact).write_bytes(artifact.file_name.encode())
    return made


def java(folder: Path, script: str = COMPILES) -> Jdk:
    """A Java that does what a script says, and writes down how it is called."""
    home = folder / "java"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    (home / "bin" / "java").write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\n{script}\n')
    (home / "bin" / "java").chmod(0o755)
    return Jdk(home, 25, "25.0.2")


def calls(folder: Path) -> list[str]:
    """How Java was called."""
    return (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []


def entries(jar: Path) -> dict[str, str]:
    """What a jar holds."""
    with zipfile.ZipFile(jar) as archive:
        return {name: archive.read(name).decode().strip() for name in archive.namelist()}


@pytest.mark.parametrize(
    "source",
    ["pom.xml", "src/main/java/of/Task.java", "src/main/resources/META-INF/services/Connector", "etc/example.json"],
)
def test_the_fingerprint_changes_with_a_source(project: Path, source: str) -> None:
    """Whatever goes into the plugin counts."""
    before = source_fingerprint(project)
    (project / source).write_text("changed")
    assert source_fingerprint(project) != before


def test_the_fingerprint_changes_with_a_new_source_and_with_its_name(project: Path) -> None:
    """A file that moves makes another plugin."""
    before = source_fingerprint(project)
    (project / "src/main/java/of/Task.java").rename(project / "src/main/java/of/Moved.java")
    assert source_fingerprint(project) != before


def test_the_fingerprint_does_not_change_with_a_test(project: Path) -> None:
    """Servers need not be restarted for it."""
    before = source_fingerprint(project)
    (project / "src/test/java/of/TaskTest.java").write_text("changed")
    assert source_fingerprint(project) == before


def test_a_plugin_is_built_once(project: Path, cache: ArtifactCache, tmp_path: Path) -> None:
    """As long as its sources stay the same; then nothing is fetched either."""
    made_from = build_plugin(project, java(tmp_path), cache, LOCK)
    nothing = ArtifactCache(tmp_path / "empty", repository="http://127.0.0.1:9")
    assert build_plugin(project, java(tmp_path), nothing, LOCK) == made_from == source_fingerprint(project)
    assert len(calls(tmp_path)) == 1
    assert is_built(project)


def test_a_plugin_is_built_again_when_a_source_changes(project: Path, cache: ArtifactCache, tmp_path: Path) -> None:
    """And has another fingerprint then, which restarts the worker."""
    before = build_plugin(project, java(tmp_path), cache, LOCK)
    (project / "src/main/java/of/Task.java").write_text("class Task { int changed; }")
    assert not is_built(project)
    assert build_plugin(project, java(tmp_path), cache, LOCK) != before
    assert len(calls(tmp_path)) == 2


def test_the_compiler_takes_the_plugins_libraries_before_those_of_the_worker(
    project: Path, cache: ArtifactCache, tmp_path: Path
) -> None:
    """As the plugin's class loader does. The classes are for the release of the pom."""
    build_plugin(project, java(tmp_path), cache, LOCK)
    (call,) = map(shlex.split, calls(tmp_path))
    compiler, *class_path = (str(cache.file(each)) for each in (*plugin_artifacts(LOCK), *LOCK.sets["kafka"]))
    assert call[call.index("-jar") + 1 :][:2] == [compiler, "-17"]
    assert call[call.index("-classpath") + 1] == ":".join(class_path)
    assert call[-1] == str(project / "src/main/java")


def test_users_get_the_jar_without_the_labs_connector(project: Path, cache: ArtifactCache, tmp_path: Path) -> None:
    """With the version where a resource names it, and all libraries beside it."""
    build_plugin(project, java(tmp_path), cache, LOCK)
    (folder,) = (project / "target/plugin").iterdir()
    assert folder.name == "sink-0.7.3"
    assert {path.name for path in folder.iterdir()} == {"sink-0.7.3.jar", *LIBRARIES}
    assert entries(folder / "sink-0.7.3.jar") == {
        "META-INF/MANIFEST.MF": "Manifest-Version: 1.0",
        "META-INF/services/Connector": "of.Sink",
        "of/Sink.class": "Sink",
        "of/version.properties": "version=0.7.3",
    }


def test_the_lab_gets_its_connector_in_a_folder_of_its_own(project: Path, cache: ArtifactCache, tmp_path: Path) -> None:
    """It names itself in a services file of its own."""
    build_plugin(project, java(tmp_path), cache, LOCK)
    (folder,) = (project / "target/lab-plugin").iterdir()
    assert folder.name == "drop-0.7.3"
    assert {path.name for path in folder.iterdir()} == {"sink-0.7.3-discard.jar", "HdrHistogram-2.2.2.jar"}
    assert entries(folder / "sink-0.7.3-discard.jar") == {
        "META-INF/MANIFEST.MF": "Manifest-Version: 1.0",
        "META-INF/services/Connector": "of.Drop",
        "of/Drop.class": "Drop",
        "of/version.properties": "version=0.7.3",
    }


def test_the_same_sources_make_the_same_bytes(project: Path, cache: ArtifactCache, tmp_path: Path) -> None:
    """Whenever they are built."""
    hashes = set()
    for change in ("{}", "{ }"):
        (project / "etc/example.json").write_text(change)
        build_plugin(project, java(tmp_path), cache, LOCK)
        jar = project / "target/plugin/sink-0.7.3/sink-0.7.3.jar"
        hashes.add(hashlib.sha256(jar.read_bytes()).hexdigest())
    assert len(calls(tmp_path)) == 2
    assert len(hashes) == 1


def test_a_failed_build_is_one_sentence_with_the_last_lines(
    project: Path, cache: ArtifactCache, tmp_path: Path
) -> None:
    """The compiler says why, after much else."""
    fails = "for i in $(seq 1 31); do echo line $i; echo; done; echo 1 problem >&2; exit 7"
    with pytest.raises(StackError) as failure:
        build_plugin(project, java(tmp_path, fails), cache, LOCK)
    assert str(failure.value) == f"{project}/src/main/java: the sink plugin could not be compiled"
    assert failure.value.log_lines == (*(f"line {number}" for number in range(21, 32)), "1 problem")


def test_a_build_starts_from_empty_plugin_folders(project: Path, cache: ArtifactCache, tmp_path: Path) -> None:
    """A worker would find the plugin of an older version beside the new one."""
    for folder in plugin_path(project):
        (folder / "older").mkdir(parents=True)
    build_plugin(project, java(tmp_path), cache, LOCK)
    assert [[path.name for path in folder.iterdir()] for folder in plugin_path(project)] == [
        ["sink-0.7.3"],
        ["drop-0.7.3"],
    ]


def test_a_failed_build_leaves_no_plugin_that_counts_as_built(
    project: Path, cache: ArtifactCache, tmp_path: Path
) -> None:
    """Not even for the sources of the build before it."""
    build_plugin(project, java(tmp_path), cache, LOCK)
    source = project / "src/main/java/of/Task.java"
    source.write_text("class {}")
    with pytest.raises(StackError):
        build_plugin(project, java(tmp_path, "exit 1"), cache, LOCK)
    source.write_text(SOURCES["src/main/java/of/Task.java"])
    assert not is_built(project)


@pytest.fixture
def package(project: Path, cache: ArtifactCache, tmp_path: Path) -> Path:
    """What a wheel holds of a plugin that has been built: no sources."""
    build_plugin(project, java(tmp_path), cache, LOCK)
    made = tmp_path / "package"
    for path in (*plugin_path(project), stamp_file(project)):
        copied = made / path.relative_to(project)
        copied.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, copied)
    return made


def test_a_plugin_without_sources_is_taken_as_it_is(project: Path, package: Path) -> None:
    """An installed package needs no compiler, and its worker restarts when the plugin is another."""
    assert (is_released(package), is_built(package), is_released(project)) == (True, True, False)
    assert released_plugin(package) == source_fingerprint(project)


def test_a_package_without_a_plugin_is_one_sentence(package: Path) -> None:
    """An image of ours is one, in which no server is started."""
    shutil.rmtree(package / "target")
    assert not is_built(package)
    with pytest.raises(StackError) as failure:
        released_plugin(package)
    assert str(failure.value) == (
        f"{package}: got no sink plugin and no sources of one; install Sluice from a release's wheel"
    )


def test_the_locked_libraries_are_those_of_the_pom() -> None:
    """Each version that the pom names; what those need in turn is compared with Maven's folder on real builds."""
    locked = {artifact.path.rpartition("/")[0] for artifact in read_lock().sets["plugin"]}
    named = [coordinates.split(":") for coordinates in plugin_coordinates()]
    assert [name for _, name, _ in named] == ["httpclient5", "jackson-core", "HdrHistogram"]
    assert {f"{group.replace('.', '/')}/{name}/{version}" for group, name, version in named} <= locked
    assert pom_tree(ROOT / "connect").findtext("properties/kafka.version") == kafka_version(read_lock())
