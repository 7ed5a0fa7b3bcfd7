"""Adds a version of a search engine: `python -m tools.add_version opensearch 3.8.0`.

Locks the server's archive by its SHA-256, unpacks it, and writes the index settings that it registers into the engine's
catalogue. A JDK reads them from the server's jars; no server is started.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from lab.engines import ENGINES, Engine, Release, parsed_version
from lab.engines.engine import IndexSettings
from lab.engines.java import NEWEST_KNOWN, JavaRange
from lab.stack.artifacts import LOCK_FILE, ArtifactCache, ArtifactLock, read_lock
from lab.stack.jdk import choose_jdk, find_jdks
from lab.stack.places import cache_dir
from tools.lock_artifacts import pinned, write_lock

READER = Path(__file__).with_name("IndexSettings.java")
JAVA = JavaRange(21, NEWEST_KNOWN)
"""For the reader, which loads classes of every server; none of them runs."""
OF_THE_SERVER = {"PrivateIndex", "InternalIndex", "IndexSettingDeprecatedInV7AndRemovedInV8"}
"""Properties of settings that no request that creates an index may have."""


def locked(release: Release, lock: ArtifactLock) -> ArtifactLock:
    """The lock with the release's archive, as the repository sends it today."""
    artifact = pinned(release.engine.distribution_path(release.version))
    return lock.model_copy(update={"sets": {**lock.sets, release.set_name: (artifact,)}})


def registered_settings(engine: Engine, home: Path) -> set[str]:
    """The index settings of an unpacked server that a request may set, without `index.`; a group ends in a dot."""
    libraries, modules = sorted(home.glob("lib/*.jar")), sorted(home.glob("modules/*/*.jar"))
    java = choose_jdk(find_jdks(), JAVA, "reading the index settings")
    command = [
        str(java.java),
        "-cp",
        ":".join(map(str, (*libraries, *modules))),
        str(READER),
        engine.maven_group,
        *(str(jar) for jar in modules if jar.name.startswith((engine.name, "x-pack"))),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(names_in(done.stdout))


def names_in(output: str) -> Iterable[str]:
    """The names of the settings that a request may set, from what the reader printed."""
    for key, properties in re.findall(r"^index\.(\S+)\t\[(.*)\]$", output, re.MULTILINE):
        if OF_THE_SERVER.isdisjoint(properties.split(", ")):
            yield key.removesuffix("*")


def extended(settings: IndexSettings, version: str, names: set[str]) -> IndexSettings:
    """The catalogue with another version, which has the settings of these names."""
    versions = tuple(sorted({*settings.read_from, version}, key=parsed_version))

    def has(name: str, other: str) -> bool:
        if other == version:
            return name in names
        first, last = map(parsed_version, settings.known.get(name, ("0.0", "0.0")))
        return first <= parsed_version(other) <= last

    having = {name: [other for other in versions if has(name, other)] for name in sorted({*settings.known, *names})}
    return IndexSettings(versions, {name: (others[0], others[-1]) for name, others in having.items() if others})


def catalogue_text(settings: IndexSettings) -> str:
    """The file of a catalogue: a line for each setting, which changes only when a version brings or drops it."""
    newest = settings.read_from[-1]
    entries = {name: [first] if last == newest else [first, last] for name, (first, last) in settings.known.items()}
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(versions)}" for name, versions in entries.items())
    return f'{{\n  "read_from": {json.dumps(settings.read_from)},\n  "settings": {{\n{lines}\n  }}\n}}\n'


def main() -> None:
    """Lock, fetch, read, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=[engine.name for engine in ENGINES])
    parser.add_argument("version")
    asked = parser.parse_args()
    engine = next(engine for engine in ENGINES if engine.name == asked.engine)
    release, lock = Release(engine, asked.version), read_lock()
    if release.set_name not in lock.sets:
        lock = locked(release, lock)
    (archive,) = lock.sets[release.set_name]
    cache = ArtifactCache(cache_dir())
    cache.fetch((archive,))
    names = registered_settings(engine, cache.unpacked(archive))
    settings = extended(engine.index_settings, release.version, names)
    engine.settings_file.write_text(catalogue_text(settings), "utf-8")
    write_lock(lock)
    sys.stdout.write(f"{release}: {len(names)} index settings; {LOCK_FILE} and {engine.settings_file} are written\n")


if __name__ == "__main__":
    main()
