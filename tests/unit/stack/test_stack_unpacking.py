"""Archives: unpacked whole or not at all, and nowhere else."""

import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lab.errors import StackError
from lab.stack import artifacts
from lab.stack.artifacts import (
    ArtifactCache,
    unpack,
)
from tests.unit.stack.repository_server import Repository, served


def make_zip(path: Path, members: dict[str, tuple[int, bytes]]) -> None:
    """A zip as Elastic packs one: with Unix permissions."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, (mode, content) in members.items():
            member = zipfile.ZipInfo(name)
            kind = stat.S_IFDIR if name.endswith("/") else stat.S_IFREG
            member.external_attr = (kind | mode) << 16
            archive.writestr(member, content)


DISTRIBUTION = {
    "server-1.0/": (0o755, b""),
    "server-1.0/bin/": (0o755, b""),
    "server-1.0/bin/server": (0o755, b"#!/bin/sh\n"),
    "server-1.0/config/server.yml": (0o660, b"name: server\n"),
}


def test_a_zip_keeps_the_executable_bit(tmp_path: Path) -> None:
    """Otherwise the launcher could not be started."""
    make_zip(tmp_path / "server.zip", DISTRIBUTION)
    unpack(tmp_path / "server.zip", tmp_path / "server")
    assert stat.S_IMODE((tmp_path / "server/bin/server").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "server/config/server.yml").stat().st_mode) == 0o660


def test_the_single_top_folder_becomes_the_folder(tmp_path: Path) -> None:
    """Its version does not show up again below, and nothing else is left behind."""
    make_zip(tmp_path / "server.zip", DISTRIBUTION)
    unpack(tmp_path / "server.zip", tmp_path / "server")
    assert sorted(path.name for path in (tmp_path / "server").iterdir()) == ["bin", "config"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["server", "server.zip"]


def test_a_tar_is_unpacked_with_its_permissions(tmp_path: Path) -> None:
    """Maven comes as tar.gz."""
    with tarfile.open(tmp_path / "maven.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("apache-maven-1.0/bin/mvn")
        member.size, member.mode = 10, 0o755
        archive.addfile(member, io.BytesIO(b"#!/bin/sh\n"))
    unpack(tmp_path / "maven.tar.gz", tmp_path / "maven")
    assert os.access(tmp_path / "maven/bin/mvn", os.X_OK)


def test_a_folder_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    """An archive that breaks half-way is one sentence and leaves nothing; the next attempt succeeds."""
    make_zip(tmp_path / "server.zip", DISTRIBUTION)
    whole = (tmp_path / "server.zip").read_bytes()
    (tmp_path / "server.zip").write_bytes(whole.replace(b"name: server\n", b"name: broken\n"))
    with pytest.raises(StackError, match=r"server\.zip: cannot be unpacked \(BadZipFile: "):
        unpack(tmp_path / "server.zip", tmp_path / "server")
    assert [path.name for path in tmp_path.iterdir()] == ["server.zip"]
    (tmp_path / "server.zip").write_bytes(whole)
    unpack(tmp_path / "server.zip", tmp_path / "server")
    assert (tmp_path / "server/config/server.yml").read_text() == "name: server\n"


def test_what_a_killed_attempt_left_is_removed(tmp_path: Path) -> None:
    """It bears the number of a process that is gone; nothing else in the cache is touched."""
    make_zip(tmp_path / "server.zip", DISTRIBUTION)
    for name in ("server.4194305", "server.lock", "server-2.4194305"):
        (tmp_path / name).mkdir()
    unpack(tmp_path / "server.zip", tmp_path / "server")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "server",
        "server-2.4194305",
        "server.lock",
        "server.zip",
    ]


def test_an_archive_is_unpacked_once(tmp_path: Path) -> None:
    """The second call finds the folder of the first as it is."""
    make_zip(tmp_path / "server.zip", DISTRIBUTION)
    with served(Repository()) as repository:
        archive = repository.add("org/example/server-1.0.zip", (tmp_path / "server.zip").read_bytes())
        cache = ArtifactCache(tmp_path / "cache", repository=repository.url)
        cache.fetch([archive])
    folder = cache.unpacked(archive)
    (folder / "mark").write_text("")
    assert folder == cache.unpacked(archive)
    assert (folder / "mark").is_file()
    assert f"server-1.0-{archive.sha256[:8]}" == folder.name


def refused(archive: Path) -> str:
    """Why an archive is not unpacked; nothing of it is there."""
    before = sorted(path.name for path in archive.parent.iterdir())
    with pytest.raises(StackError) as refusal:
        unpack(archive, archive.with_name("server"))
    assert before == sorted(path.name for path in archive.parent.iterdir())
    return str(refusal.value)


def make_tar(path: Path, *members: tarfile.TarInfo) -> Path:
    """A tar of these members, files of zeros."""
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(bytes(member.size)) if member.isreg() else None)
    return path


def tar_member(name: str, size_bytes: int = 0, **attributes: Any) -> tarfile.TarInfo:
    """A member."""
    member = tarfile.TarInfo(name)
    member.size = size_bytes
    for attribute, value in attributes.items():
        setattr(member, attribute, value)
    return member


@pytest.mark.parametrize("name", ["server-1.0/../../victim", "/victim", "../victim"])
def test_a_zip_touches_nothing_outside_its_folder(tmp_path: Path, name: str) -> None:
    """Neither does it write there, nor does it change who may read what is there."""
    victim = tmp_path / "victim"
    victim.touch(mode=0o600)
    archives = tmp_path / "cache"
    archives.mkdir()
    make_zip(archives / "server.zip", DISTRIBUTION | {name: (0o777, b"")})
    assert "would lie outside" in refused(archives / "server.zip")
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["server-1.0/../../victim", "/victim"])
def test_a_tar_writes_nothing_outside_its_folder(tmp_path: Path, name: str) -> None:
    """Likewise."""
    assert "would lie outside" in refused(make_tar(tmp_path / "server.tar.gz", tar_member(name)))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_an_archive_brings_files_and_folders_only(tmp_path: Path, kind: bytes) -> None:
    """A link could lead what comes after it elsewhere."""
    link = tar_member("server-1.0/link", type=kind, linkname="server-1.0/file")
    archive = make_tar(tmp_path / "server.tar.gz", tar_member("server-1.0/file"), link)
    assert "got a link or a device" in refused(archive)


def test_a_zip_brings_no_links(tmp_path: Path) -> None:
    """It would become a file that holds the link's target."""
    with zipfile.ZipFile(tmp_path / "server.zip", "w") as archive:
        link = zipfile.ZipInfo("server-1.0/link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert "got a link or a device" in refused(tmp_path / "server.zip")


def test_a_zip_makes_no_program_that_runs_as_its_owner(tmp_path: Path) -> None:
    """Who unpacks it may be root."""
    make_zip(tmp_path / "server.zip", DISTRIBUTION | {"server-1.0/bin/server": (0o6755, b"")})
    unpack(tmp_path / "server.zip", tmp_path / "server")
    assert stat.S_IMODE((tmp_path / "server/bin/server").stat().st_mode) == 0o755


def test_an_archive_that_would_fill_the_disk_is_refused_before_it_does(tmp_path: Path) -> None:
    """A few kilobytes that hold 64 MiB."""
    with zipfile.ZipFile(tmp_path / "server.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("server-1.0/zeros", bytes(64 << 20))
    assert "too many files or bytes" in refused(tmp_path / "server.zip")
    assert "too many files or bytes" in refused(
        make_tar(tmp_path / "server.tar.gz", tar_member("server-1.0/zeros", 64 << 20))
    )


def test_an_archive_of_countless_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would use up the disk's inodes."""
    monkeypatch.setattr(artifacts, "MOST_MEMBERS", 3)
    make_zip(tmp_path / "server.zip", DISTRIBUTION)
    assert "too many files or bytes" in refused(tmp_path / "server.zip")
