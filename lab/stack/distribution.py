"""Distributions of a search engine that are used in place of the one on Maven Central: its vendor's archives."""

import re
from pathlib import Path
from typing import Final

from lab.engines import ENGINES, Release
from lab.errors import ProfileError, StackError
from lab.stack.artifacts import ArtifactCache, Progress
from lab.stack.runtimes import this_machine

OFFICIAL: Final = "official"
"""The archive that the vendor publishes, in place of the folder of an unpacked one."""


def folder_named(distribution: str | None) -> Path | None:
    """The folder of an unpacked archive, as an absolute path; `None` where none is named."""
    return None if distribution in {None, OFFICIAL} else Path(str(distribution)).expanduser().absolute()


def release_in(home: Path) -> Release:
    """The release of an unpacked archive, by its program and the name of its server's jar.

    Raises:
        ProfileError: The folder holds neither.
    """
    for engine in ENGINES:
        if (home / "bin" / engine.name).is_file():
            for jar in (home / "lib").glob(f"{engine.name}-*.jar"):
                if match := re.fullmatch(rf"{engine.name}-(\d+\.\d+\.\d+)\.jar", jar.name):
                    return Release(engine, match[1])
    expected = " or ".join(f"bin/{engine.name} and lib/{engine.name}-VERSION.jar" for engine in ENGINES)
    raise ProfileError(f"elasticsearch.distribution: got {home}, expected a folder with {expected}")


def official_home(release: Release, cache: Path, progress: Progress) -> Path:
    """The unpacked archive of a release that its vendor publishes, fetched once and held against the vendor's checksum.

    Raises:
        StackError: There is none for this machine, it cannot be fetched, or it is another release.
    """
    archives, remedy = release.engine.archives, "unpack the archive yourself and name its folder: --distribution FOLDER"
    path = archives.get(this_machine())
    if path is None:
        raise StackError(
            f"{release}: no official archive for {this_machine()}, expected {' or '.join(archives)}; {remedy}"
        )
    vendor = ArtifactCache(cache, repository=release.engine.vendor, remedy=remedy)
    archive = vendor.published(path.format(version=release.version))
    vendor.fetch([archive], progress)
    home = vendor.unpacked(archive)
    if (found := release_in(home)) != release:
        raise StackError(f"{home}: got {found}, expected {release}; remove the folder, and it is fetched again")
    return home
