"""The sink plugin: built when its sources have changed, and only then."""

import shutil
from pathlib import Path

import pytest

from lab.errors import StackError
from lab.stack.artifacts import ArtifactCache
from lab.stack.jdk import Jdk
from lab.stack.plugin import (
    build_plugin,
    find_maven,
    is_built,
    is_released,
    plugin_path,
    released_plugin,
    source_fingerprint,
    stamp_file,
)
from tests.unit.stack.repository_server import artifact_of

JDK = Jdk(Path("/jdk-17"), 17, "17.0.15")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The sources of a plugin."""
    sources = {
        "pom.xml": "<project/>",
        "src/main/java/Task.java": "class Task {}",
        "src/main/resources/META-INF/services/Connector": "Sink",
        "etc/example.json": "{}",
        "src/test/java/TaskTest.java": "class TaskTest {}",
    }
    for name, text in sources.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "project"


def fake_mvn(folder: Path, script: str) -> Path:
    """A Maven that does what a script says, and counts how often it is called."""
    path = folder / "mvn"
    path.write_text(f"#!/bin/sh\necho called >> {folder}/calls\n{script}\n")
    path.chmod(0o755)
    return path


def good_mvn(folder: Path, project: Path) -> Path:
    """A Maven that makes a plugin."""
    return fake_mvn(folder, "\n".join(f"mkdir -p {jars}/of && touch {jars}/of/it.jar" for jars in plugin_path(project)))


def calls(folder: Path) -> int:
    """How often Maven was called."""
    return len((folder / "calls").read_text().splitlines()) if (folder / "calls").exists() else 0


@pytest.mark.parametrize(
    "source",
    ["pom.xml", "src/main/java/Task.java", "src/main/resources/META-INF/services/Connector", "etc/example.json"],
)
def test_the_fingerprint_changes_with_a_source(project: Path, source: str) -> None:
    """Whatever goes into the plugin counts."""
    before = source_fingerprint(project)
    (project / source).write_text("changed")
    assert source_fingerprint(project) != before


def test_the_fingerprint_changes_with_a_new_source_and_with_its_name(project: Path) -> None:
    """A file that moves makes another plugin."""
    before = source_fingerprint(project)
    (project / "src/main/java/Task.java").rename(project / "src/main/java/Moved.java")
    assert source_fingerprint(project) != before


def test_the_fingerprint_does_not_change_with_a_test(project: Path) -> None:
    """Servers need not be restarted for it."""
    before = source_fingerprint(project)
    (project / "src/test/java/TaskTest.java").write_text("changed")
    assert source_fingerprint(project) == before


def test_a_plugin_is_built_once(project: Path, tmp_path: Path) -> None:
    """As long as its sources stay the same."""
    mvn = good_mvn(tmp_path, project)
    assert build_plugin(project, mvn, JDK) == build_plugin(project, mvn, JDK) == source_fingerprint(project)
    assert calls(tmp_path) == 1
    assert is_built(project)


def test_a_plugin_is_built_again_when_a_source_changes(project: Path, tmp_path: Path) -> None:
    """And has another fingerprint then, which restarts the worker."""
    mvn = good_mvn(tmp_path, project)
    before = build_plugin(project, mvn, JDK)
    (project / "src/main/java/Task.java").write_text("class Task { int changed; }")
    assert not is_built(project)
    assert build_plugin(project, mvn, JDK) != before
    assert calls(tmp_path) == 2


def test_maven_runs_on_the_chosen_jdk(project: Path, tmp_path: Path) -> None:
    """Not on the one that happens to be on the path."""
    mvn = good_mvn(tmp_path, project)
    mvn.write_text(f"{mvn.read_text()}echo $JAVA_HOME > {tmp_path}/home\n")
    build_plugin(project, mvn, JDK)
    assert (tmp_path / "home").read_text() == "/jdk-17\n"


def test_a_failed_build_is_one_sentence_with_the_last_lines(project: Path, tmp_path: Path) -> None:
    """Maven says why, after much else."""
    mvn = fake_mvn(tmp_path, "for i in $(seq 1 31); do echo line $i; echo; done; echo BUILD FAILURE >&2; exit 7")
    with pytest.raises(StackError) as failure:
        build_plugin(project, mvn, JDK)
    assert str(failure.value) == (
        f"{project}: the sink plugin could not be built (mvn package ended with exit status 7); the first build needs "
        "the network"
    )
    assert failure.value.log_lines == (*(f"line {number}" for number in range(21, 32)), "BUILD FAILURE")


@pytest.mark.parametrize("lacking", ["plugin", "lab-plugin"])
def test_a_build_without_a_plugin_is_one_sentence(project: Path, tmp_path: Path, lacking: str) -> None:
    """A worker would start without it, and fail later."""
    mvn = good_mvn(tmp_path, project)
    mvn.write_text(f"{mvn.read_text()}rm -r {project}/target/{lacking}\n")
    with pytest.raises(StackError) as failure:
        build_plugin(project, mvn, JDK)
    assert str(failure.value) == f"{project}: mvn package built no plugin in {project}/target/{lacking}"


def test_a_build_starts_from_empty_plugin_folders(project: Path, tmp_path: Path) -> None:
    """A worker would find the plugin of an older version beside the new one."""
    for folder in plugin_path(project):
        (folder / "older").mkdir(parents=True)
    build_plugin(project, good_mvn(tmp_path, project), JDK)
    assert [[path.name for path in folder.iterdir()] for folder in plugin_path(project)] == [["of"], ["of"]]


def test_a_failed_build_leaves_no_plugin_that_counts_as_built(project: Path, tmp_path: Path) -> None:
    """Not even for the sources of the build before it."""
    build_plugin(project, good_mvn(tmp_path, project), JDK)
    before = (project / "pom.xml").read_text()
    (project / "pom.xml").write_text("<broken")
    with pytest.raises(StackError):
        build_plugin(project, fake_mvn(tmp_path, "exit 1"), JDK)
    (project / "pom.xml").write_text(before)
    assert not is_built(project)


def test_the_machines_own_maven_is_used_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then none is fetched."""
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/mvn")
    unreachable = ArtifactCache(tmp_path, repository="http://127.0.0.1:9")
    assert find_maven(unreachable, artifact_of("maven.tar.gz", b"maven")) == Path("/usr/bin/mvn")


@pytest.fixture
def package(project: Path, tmp_path: Path) -> Path:
    """What a wheel holds of a plugin that has been built: no sources."""
    build_plugin(project, good_mvn(tmp_path, project), JDK)
    made = tmp_path / "package"
    for path in (*plugin_path(project), stamp_file(project)):
        copied = made / path.relative_to(project)
        copied.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, copied)
    return made


def test_a_plugin_without_sources_is_taken_as_it_is(project: Path, package: Path) -> None:
    """An installed package needs neither Maven nor a compiler, and its worker restarts when the plugin is another."""
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
