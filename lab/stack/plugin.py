"""Connect plugins: our sink, released or built from `connect/` when its sources have changed, and other people's."""

import hashlib
import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from lab.errors import StackError
from lab.stack.artifacts import Artifact, ArtifactCache, locked
from lab.stack.jdk import Jdk

PLUGIN_PATH = "SLUICE_PLUGIN_PATH"
"""Environment variable: folders that hold plugin folders, separated as in `PATH`; every worker of ours gets them."""


def given_plugin_folders(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The folders that the environment names."""
    return tuple(Path(name).absolute() for name in environment.get(PLUGIN_PATH, "").split(os.pathsep) if name)


def folders_fingerprint(folders: Iterable[Path]) -> str:
    """A hash of the names, sizes and times of the plugins in these folders; empty without folders."""
    jars = [
        f"{path}\0{path.stat().st_size}\0{path.stat().st_mtime_ns}"
        for folder in folders
        for path in sorted(folder.glob("**/*.jar"))
    ]
    return hashlib.sha256("\0".join(jars).encode()).hexdigest()[:16] if jars else ""


def holds_class(folders: Iterable[Path], name: str) -> bool:
    """Whether a plugin in one of these folders has the Java class of this name."""
    entry = name.replace(".", "/") + ".class"
    return any(has_entry(path, entry) for folder in folders for path in folder.glob("**/*.jar"))


def has_entry(jar: Path, entry: str) -> bool:
    """Whether the archive can be read and holds the entry."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return entry in archive.NameToInfo
    except (OSError, zipfile.BadZipFile):
        return False


def source_fingerprint(project: Path) -> str:
    """A hash of what the plugin is made of; tests are not."""
    digest = hashlib.sha256()
    folders = (project / "src" / "main", project / "etc")
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file())
    for path in (project / "pom.xml", *files):
        digest.update(str(path.relative_to(project)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def plugin_folder(project: Path) -> Path:
    """The folder for Connect's `plugin.path` that holds what users get."""
    return project / "target" / "plugin"


def lab_plugin_folder(project: Path) -> Path:
    """The folder for Connect's `plugin.path` with the connector that drops everything, which only the lab needs."""
    return project / "target" / "lab-plugin"


def plugin_path(project: Path) -> tuple[Path, ...]:
    """The folders that the lab's own workers find our plugins in."""
    return plugin_folder(project), lab_plugin_folder(project)


def is_built(project: Path) -> bool:
    """Whether the plugin that lies there was built from the sources that lie there, if any do."""
    stamp = stamp_file(project)
    return stamp.is_file() and (is_released(project) or stamp.read_text("utf-8") == source_fingerprint(project))


def is_released(project: Path) -> bool:
    """Whether there are no sources: the plugin came with an installed package."""
    return not (project / "pom.xml").is_file()


def released_plugin(project: Path) -> str:
    """The fingerprint of the sources that the plugin of an installed package was built from.

    Raises:
        StackError: The package holds none.
    """
    if not is_built(project):
        raise StackError(f"{project}: got no sink plugin and no sources of one; install Sluice from a release's wheel")
    return stamp_file(project).read_text("utf-8")


def stamp_file(project: Path) -> Path:
    """Holds the fingerprint of the sources that the plugin was built from."""
    return project / "target" / "plugin.built-from"


def find_maven(cache: ArtifactCache, maven: Artifact) -> Path:
    """The machine's Maven, or else one that is fetched and unpacked."""
    if installed := shutil.which("mvn"):
        return Path(installed)
    cache.fetch((maven,))
    return cache.unpacked(maven) / "bin" / "mvn"


def build_plugin(project: Path, mvn: Path, jdk: Jdk) -> str:
    """Build the plugin unless it is up to date.

    Returns:
        The fingerprint of its sources.

    Raises:
        StackError: Maven failed; with its last lines.
    """
    with locked(project / "target" / ".build.lock"):
        made_from = source_fingerprint(project)
        if not is_built(project):
            run_maven(project, mvn, jdk)
            stamp_file(project).write_text(made_from, "utf-8")
    return made_from


def run_maven(project: Path, mvn: Path, jdk: Jdk) -> None:
    """`mvn package` without the tests, from empty plugin folders."""
    stamp_file(project).unlink(missing_ok=True)
    for folder in plugin_path(project):
        shutil.rmtree(folder, ignore_errors=True)
    command = [str(mvn), "-B", "-q", "-f", str(project / "pom.xml"), "package", "-Dmaven.test.skip=true"]
    environment = {**os.environ, "JAVA_HOME": str(jdk.home)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        lines = tuple(line for line in (done.stdout + done.stderr).splitlines() if line.strip())
        raise StackError(
            f"{project}: the sink plugin could not be built (mvn package ended with exit status {done.returncode}); "
            "the first build needs the network",
            lines[-12:],
        )
    for folder in plugin_path(project):
        if not any(folder.glob("*/*.jar")):
            raise StackError(f"{project}: mvn package built no plugin in {folder}")
