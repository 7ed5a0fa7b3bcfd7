"""The doctor: what is there, what is missing, and the command that fixes it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from lab.cli import doctor as doctor_module
from lab.cli.containers import first_line_of
from lab.cli.doctor import Finding, artifacts, disk, docker, doctor, java, memory, plugin, ports, python
from lab.engines import ENGINES, Release
from lab.stack import runtimes
from lab.stack.artifacts import read_lock
from lab.stack.jdk import Jdk
from tests.unit.messages import MakeMessage


def found(check: Callable[[], Iterator[Finding]]) -> dict[str, tuple[str, str]]:
    """What a check finds, by what it looks at."""
    return {finding.what: (finding.verdict, finding.sentence) for finding in check()}


def jdks_are(monkeypatch: pytest.MonkeyPatch, *features: int) -> None:
    """The machine has these JDKs."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(runtimes, "this_machine", lambda: "Linux-x86_64")
    have = tuple(Jdk(Path(f"/jdk-{feature}"), feature, f"{feature}.0.1") for feature in features)
    monkeypatch.setattr(doctor_module, "find_jdks", lambda: have)


def on_17(release: Release) -> tuple[str, str]:
    """What is found of a release that runs on the machine's JDK 17."""
    return "good", f"runs on JDK 17 (it takes {release.java})"


def on_the_path(monkeypatch: pytest.MonkeyPatch, *programs: str) -> None:
    """The machine has these programs."""
    monkeypatch.setattr(doctor_module.shutil, "which", lambda name: f"/usr/bin/{name}" if name in programs else None)


def test_one_jdk_runs_what_it_can_run(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """Every other version gets a runtime that is fetched."""
    jdks_are(monkeypatch, 17)
    findings = found(java)
    assert (
        findings.items()
        >= {
            "JDK": ("good", "17.0.1 in /jdk-17"),
            "Kafka": ("good", message("JDK 17", "17 to 26")),
            "Elasticsearch 7.17.7": ("good", message("JDK 17", "11 to 17")),
            "Elasticsearch 9.0.0": ("good", message("Java 21", "21 to 24")),
            "OpenSearch 3.8.0": ("optional", message("JDK 21 to 25", "openjdk-21-jdk-headless")),
        }.items()
    )
    releases = [release for engine in ENGINES for release in read_lock().releases(engine)]
    assert list(findings) == ["JDK", "Kafka", *map(str, releases)]
    assert {str(release) for release in releases if findings[str(release)] == on_17(release)} == {
        str(release) for release in releases if 17 in release.java.features
    }


def test_a_java_home_without_a_jdk_is_found(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """The servers would refuse to start with it."""
    jdks_are(monkeypatch, 17)
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    assert found(java)["JAVA_HOME"] == ("bad", message("/nonexistent", "bin/javac"))


def test_without_a_jdk_everything_runs_on_runtimes(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """Python suffices, except for one that no run needs."""
    jdks_are(monkeypatch)
    findings = found(java)
    releases = [release for engine in ENGINES for release in read_lock().releases(engine)]
    needing = [str(release) for release in releases if release.java.needs_jdk]
    assert {findings.pop(release)[0] for release in needing} == {"optional"}
    assert {verdict for verdict, _ in findings.values()} == {"good"}
    assert findings["Kafka"][1] == message(25, 17, 26)
    assert findings["Elasticsearch 8.19.21"][1] == message(25, 17)


def test_a_machine_without_runtimes_needs_a_jdk(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """Kafka and one search engine must run; each lack has its command."""
    jdks_are(monkeypatch)
    monkeypatch.setattr(runtimes, "this_machine", lambda: "Linux-s390x")
    findings = found(java)
    assert findings["Kafka"] == ("bad", message(17, 26, "openjdk-17-jdk-headless"))
    assert findings["Elasticsearch 9.5.3"] == ("optional", message(21, 26, "openjdk-21-jdk-headless"))
    assert [what for what, (verdict, _) in findings.items() if verdict == "bad"] == ["Kafka"]


def test_python_is_the_one_that_runs_this() -> None:
    """It is good, or this would not run."""
    assert found(python)["Python"][0] == "good"


@pytest.mark.parametrize(("built", "sentence"), [(True, "built"), (False, "is built by the first run")])
def test_the_plugin_is_no_lack(monkeypatch: pytest.MonkeyPatch, built: bool, sentence: str) -> None:  # noqa: FBT001
    """It is built without Maven and without a JDK."""
    monkeypatch.setattr(doctor_module, "is_built", lambda _: built)
    assert found(plugin) == {"sink plugin": ("good", sentence)}


@dataclass
class Memory:
    """What the system says of its memory."""

    available: int


@pytest.mark.parametrize(
    ("available_mb", "verdict", "remedy"), [(3460, "good", ""), (3459, "bad", "; free some memory")]
)
def test_memory_is_enough_for_the_default_servers(
    monkeypatch: pytest.MonkeyPatch, available_mb: int, verdict: str, remedy: str
) -> None:
    """To the megabyte."""
    monkeypatch.setattr(doctor_module.psutil, "virtual_memory", lambda: Memory(available_mb * 2**20))
    sentence = f"{available_mb:,} MB available, 3,460 MB needed for one Elasticsearch node, Kafka and Connect"
    assert found(memory) == {"memory": (verdict, sentence + remedy)}


class DiskUsage(NamedTuple):
    """What the system says of a disk."""

    total: int
    used: int
    free: int


def test_a_full_disk_is_told_with_the_variable_that_names_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, message: MakeMessage
) -> None:
    """Cache and state may lie on different disks; neither need exist yet."""
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(doctor_module.shutil, "disk_usage", lambda _: DiskUsage(10**10, 8 * 10**9, 2 * 10**9))
    assert found(disk) == {
        f"disk ({what})": ("bad", message("2 GB", tmp_path / what, f"SLUICE_{what.upper()}"))
        for what in ("cache", "state")
    }


def test_what_is_still_to_be_fetched_is_said_in_megabytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache is no lack."""
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    ((verdict, sentence),) = found(artifacts).values()
    assert verdict == "good"
    assert sentence.endswith(" MB still to be fetched")


def test_a_runtime_that_is_not_fetched_does_not_work_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The servers may be there while their Java is not."""
    jdks_are(monkeypatch)
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path))
    monkeypatch.setattr(doctor_module.ArtifactCache, "missing", lambda *_: [])
    assert found(artifacts)["servers"][1].endswith("Java 25 still to be fetched")
    (tmp_path / "java" / runtimes.RUNTIMES[25].version).mkdir(parents=True)
    assert found(artifacts)["servers"][1].endswith("work offline")


def test_ports_are_never_missing() -> None:
    """By default any free port is taken."""
    findings = found(ports)
    assert findings.keys() == {"port 9200", "port 9092", "port 8083", "port 5601"}
    assert {verdict for verdict, _ in findings.values()} <= {"good", "optional"}


def test_docker_is_optional(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """Only the containers need it."""
    on_the_path(monkeypatch)
    assert found(docker) == {"Docker": ("optional", message("docker compose up", "docker.io"))}


def test_docker_that_does_not_run_is_told_how_to_start_it(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Engine and Compose have a finding each."""
    on_the_path(monkeypatch, "docker")
    monkeypatch.setattr(doctor_module, "first_line_of", lambda *words: "2.40.3" if "compose" in words else None)
    assert found(docker) == {
        "Docker engine": ("optional", message("systemctl start docker")),
        "Docker Compose": ("good", "2.40.3"),
    }


def test_what_a_command_says_is_its_first_line() -> None:
    """`None` if it fails, says nothing or is not there."""
    assert first_line_of("printf", "one\ntwo\n") == "one"
    assert first_line_of("true") is None
    assert first_line_of("false") is None
    assert first_line_of("no-such-program") is None


@pytest.mark.parametrize(("verdict", "status"), [("good", 0), ("optional", 0), ("bad", 3)])
def test_the_exit_status_says_whether_sluice_can_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verdict: str, status: int
) -> None:
    """What is optional is not missing."""
    finding = Finding("thing", verdict, "so [and] so")  # type: ignore[arg-type]
    monkeypatch.setattr(doctor_module, "CHECKS", (lambda: iter([finding]),))
    assert doctor() == status
    assert "so [and] so" in capsys.readouterr().out
