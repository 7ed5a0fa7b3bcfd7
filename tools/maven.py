"""Maven on the plugin's project: for its own tests, and for releases."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lab.errors import StackError
from lab.stack.artifacts import ArtifactCache, read_lock
from lab.stack.jdk import Jdk, choose_jdk, find_jdks, java_for_kafka
from lab.stack.places import cache_dir
from lab.stack.plugin_jars import QUICK_START

TIMEOUT_S = 540
LINES_SHOWN = 80


def maven(project: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
    """Run the machine's Maven, or else one that is fetched.

    Raises:
        StackError: It failed; with its last lines.
    """
    mvn = shutil.which("mvn")
    if mvn is None:
        cache, (fetched,) = ArtifactCache(cache_dir()), read_lock().sets["maven"]
        cache.fetch((fetched,))
        mvn = str(cache.unpacked(fetched) / "bin" / "mvn")
    done = subprocess.run(
        [mvn, "-B", "--no-transfer-progress", "-f", str(project / "pom.xml"), *arguments],
        # Maven and what it compiles with are over before code that is compiled for speed would pay.
        env={
            "JDK_JAVA_OPTIONS": " ".join(QUICK_START),
            **os.environ,
            "JAVA_HOME": str(jdk().home),
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        last_lines = "\n".join(done.stdout.splitlines()[-LINES_SHOWN:])
        raise StackError(f"{project}: mvn {' '.join(arguments)} failed:\n{last_lines}")


def jdk() -> Jdk:
    """The development kit that Maven runs on."""
    return choose_jdk(find_jdks(), java_for_kafka(), "Maven")
