"""Connect plugins: our sink, released or built from `connect/` when its sources have changed, and other people's."""

import hashlib
import os
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from lab.errors import StackError
from lab.stack.artifacts import Artifact, ArtifactCache, ArtifactLock, locked
from lab.stack.jdk import Jdk
from lab.stack.plugin_jars import make_plugin_folders

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


def plugin_artifacts(lock: ArtifactLock) -> tuple[Artifact, ...]:
    """What a build needs beside Kafka: the compiler, and the libraries of the plugin."""
    return (*lock.sets["compiler"], *lock.sets["plugin"])


def build_plugin(project: Path, java: Jdk, cache: ArtifactCache, lock: ArtifactLock) -> str:
    """Build the plugin unless it is up to date; only then is its compiler fetched.

    Returns:
        The fingerprint of its sources.

    Raises:
        StackError: What it is made of cannot be fetched, or it does not compile.
    """
    with locked(project / "target" / ".build.lock"):
        made_from = source_fingerprint(project)
        if not is_built(project):
            compiler, *libraries = cache.fetch(plugin_artifacts(lock))
            worker = cache.fetch(lock.sets["kafka"])
            stamp_file(project).unlink(missing_ok=True)
            for folder in plugin_path(project):
                shutil.rmtree(folder, ignore_errors=True)
            make_plugin_folders(project, java, compiler=compiler, libraries=libraries, worker=worker)
            stamp_file(project).write_text(made_from, "utf-8")
    return made_from
