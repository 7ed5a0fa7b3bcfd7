"""Archives of a vendor in place of the small distribution: what they hold, and how they are fetched."""

import hashlib
import io
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from lab.engines import ENGINES, Engine, Release
from lab.engines.elasticsearch import ELASTICSEARCH
from lab.engines.opensearch import OPENSEARCH
from lab.errors import ProfileError, StackError
from lab.stack import distribution
from lab.stack.artifacts import read_lock
from lab.stack.distribution import official_home, release_in
from lab.stack.jdk import Jdk
from lab.stack.shape import StackShape, fitting_java
from tests.unit.stack.repository_server import Repository, served

REMEDY = "unpack the archive yourself and name its folder: --distribution FOLDER"
ARCHIVE = "elasticsearch-9.1.7-linux-x86_64.tar.gz"


def unpacked(home: Path, *files: str) -> Path:
    """A folder with these files, all empty."""
    for name in files:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    return home


def java(home: Path, version: str) -> Jdk:
    """A Java in this folder."""
    unpacked(home, "bin/java")
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return Jdk(home, int(version.partition(".")[0]), version)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_the_release_of_an_archive_is_that_of_its_servers_jar(engine: Engine, tmp_path: Path) -> None:
    """Jars of libraries have names that begin alike."""
    jars = (f"lib/{engine.name}{part}.jar" for part in ("-core-9.9.9", "-7.3.13", "-x-content-9.9.9"))
    assert release_in(unpacked(tmp_path, f"bin/{engine.name}", *jars)) == Release(engine, "7.3.13")


@pytest.mark.parametrize(
    "files",
    [
        (),
        ("bin/elasticsearch",),
        ("lib/elasticsearch-9.1.7.jar",),
        ("bin/elasticsearch", "lib/elasticsearch-9.1.7-SNAPSHOT.jar"),
        ("bin/elasticsearch", "lib/opensearch-3.8.0.jar"),
    ],
    ids=["nothing", "no jar", "no program", "no release", "two engines"],
)
def test_a_folder_without_a_release_is_refused(files: tuple[str, ...], tmp_path: Path) -> None:
    """With what an archive has."""
    with pytest.raises(ProfileError) as refusal:
        release_in(unpacked(tmp_path, *files))
    assert str(refusal.value) == (
        f"elasticsearch.distribution: got {tmp_path}, expected a folder with bin/elasticsearch and "
        "lib/elasticsearch-VERSION.jar or bin/opensearch and lib/opensearch-VERSION.jar"
    )


def test_an_archive_runs_on_the_jdk_that_it_brings(tmp_path: Path) -> None:
    """Its version need not be locked, nor its Java be one that we would choose."""
    own = java(tmp_path / "jdk", "27.0.1")
    shape = StackShape(release=Release(ELASTICSEARCH, "9.1.7"), distribution=str(tmp_path))
    assert fitting_java(shape, read_lock(), [Jdk(Path("/jdk-21"), 21, "21.0.1")]) == own


def test_an_archive_without_a_jdk_runs_on_one_of_ours(tmp_path: Path) -> None:
    """As the small distribution does."""
    ours = Jdk(Path("/jdk-21"), 21, "21.0.1")
    shape = StackShape(release=Release(ELASTICSEARCH, "9.1.7"), distribution=str(tmp_path))
    assert fitting_java(shape, read_lock(), [ours]) == ours


def test_a_java_that_is_asked_for_takes_the_place_of_an_archives_own(tmp_path: Path) -> None:
    """Two distributions can be given the same one."""
    java(tmp_path / "jdk", "24.0.1")
    ours = Jdk(Path("/jdk-21"), 21, "21.0.1")
    shape = StackShape(
        release=Release(ELASTICSEARCH, "9.1.7"), distribution=str(tmp_path), elasticsearch_java=ours.feature
    )
    assert fitting_java(shape, read_lock(), [ours]) == ours


def test_each_distribution_has_data_of_its_own() -> None:
    """Cluster states hold what plugins have stored, which a server without them cannot read."""
    shapes = [StackShape(distribution=named) for named in (None, "/opt/a", "/opt/b")]
    folders = [shape.data_folder for shape in shapes]
    assert folders[0] == shapes[0].release.set_name
    assert len(set(folders)) == 3


# --- official ones, fetched ------------------------------------------------------------------------------------------


def tar_of(files: Mapping[str, bytes], links: Mapping[str, str]) -> bytes:
    """An archive with one top folder, as vendors build them: licences of a JDK are links to each other."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"elasticsearch-9.1.7/{name}")
            member.size, member.mode = len(text), 0o755
            archive.addfile(member, io.BytesIO(text))
        for name, target in links.items():
            member = tarfile.TarInfo(f"elasticsearch-9.1.7/{name}")
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return content.getvalue()


SERVER = {"bin/elasticsearch": b"#!/bin/sh\n", "lib/elasticsearch-9.1.7.jar": b"jar", "jdk/legal/base/LICENSE": b"GPL"}
LICENCE = {"jdk/legal/other/LICENSE": "../base/LICENSE"}


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """The vendor of Elasticsearch, without archives, for this machine."""
    monkeypatch.setattr(distribution, "this_machine", lambda: "Linux-x86_64")
    with served(Repository()) as running:
        monkeypatch.setattr(distribution, "ENGINES", (replace(ELASTICSEARCH, vendor=running.url),))
        yield running


def publish(vendor: Repository, archive: bytes, checksum: str | None = None) -> None:
    """Lay an archive and its checksum, the right one if none is given, on the vendor's server."""
    digits = checksum if checksum is not None else hashlib.sha512(archive).hexdigest()
    vendor.files[ARCHIVE] = archive
    vendor.files[f"{ARCHIVE}.sha512"] = f"{digits}  {ARCHIVE}".encode()


def fetched(cache: Path) -> Path:
    """The home of the release, fetched."""
    return official_home(Release(distribution.ENGINES[0], "9.1.7"), cache, lambda _present, _needed: None)


def test_an_official_archive_is_fetched_and_unpacked_with_its_links(vendor: Repository, tmp_path: Path) -> None:
    """As the vendor's checksum says."""
    publish(vendor, tar_of(SERVER, LICENCE))
    home = fetched(tmp_path)
    assert (home / "jdk" / "legal" / "other" / "LICENSE").read_bytes() == b"GPL"


def test_an_official_archive_that_is_here_asks_the_vendor_nothing(vendor: Repository, tmp_path: Path) -> None:
    """A warm cache works offline."""
    publish(vendor, tar_of(SERVER, LICENCE))
    home = fetched(tmp_path)
    vendor.requests.clear()
    assert (fetched(tmp_path), vendor.requests) == (home, [])


def test_an_archive_with_another_checksum_than_the_published_one_is_refused(vendor: Repository, tmp_path: Path) -> None:
    """The sentence has both."""
    archive, expected = tar_of(SERVER, LICENCE), 128 * "0"
    publish(vendor, archive, expected)
    with pytest.raises(StackError) as refusal:
        fetched(tmp_path)
    assert str(refusal.value) == (
        f"{vendor.url}/{ARCHIVE}: got SHA-512 {hashlib.sha512(archive).hexdigest()}, expected {expected}; the file was "
        f"deleted: try again, or {REMEDY}"
    )


def test_a_checksum_is_asked_for_again_until_the_archive_is_here(vendor: Repository, tmp_path: Path) -> None:
    """A wrong one that was served once is not remembered."""
    archive = tar_of(SERVER, LICENCE)
    publish(vendor, archive, 128 * "0")
    with pytest.raises(StackError):
        fetched(tmp_path)
    publish(vendor, archive)
    assert (fetched(tmp_path) / "bin" / "elasticsearch").is_file()


@pytest.mark.parametrize("checksum", ["", "<html>", 64 * "0"], ids=["nothing", "a page", "a SHA-256"])
def test_what_is_no_checksum_is_refused(checksum: str, vendor: Repository, tmp_path: Path) -> None:
    """Nothing is fetched then."""
    publish(vendor, b"archive", checksum)
    with pytest.raises(StackError, match=r"\.sha512: got .*, expected the SHA-512 of a file$"):
        fetched(tmp_path)
    assert (ARCHIVE, None) not in vendor.requests


def test_a_version_that_the_vendor_does_not_have_is_one_sentence(vendor: Repository, tmp_path: Path) -> None:
    """With the address, and what helps where there is no network."""
    with pytest.raises(StackError) as refusal:
        fetched(tmp_path)
    assert str(refusal.value) == (
        f"{vendor.url}/{ARCHIVE}: cannot be fetched (status 404); check the network, or {REMEDY}; what was fetched so "
        "far is kept"
    )


def test_an_official_archive_of_another_release_is_refused(vendor: Repository, tmp_path: Path) -> None:
    """A version is read, never assumed."""
    publish(vendor, tar_of({"bin/elasticsearch": b"", "lib/elasticsearch-9.1.6.jar": b""}, {}))
    with pytest.raises(
        StackError, match=r"got Elasticsearch 9\.1\.6, expected Elasticsearch 9\.1\.7; remove the folder"
    ):
        fetched(tmp_path)


def test_a_link_of_an_official_archive_leads_nowhere_else(vendor: Repository, tmp_path: Path) -> None:
    """Nothing of such an archive is unpacked."""
    publish(vendor, tar_of(SERVER, {"jdk/legal/other": "/etc"}))
    with pytest.raises(StackError, match="cannot be unpacked"):
        fetched(tmp_path)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_a_machine_without_an_official_archive_is_one_sentence(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With those that have one."""
    monkeypatch.setattr(distribution, "this_machine", lambda: "Linux-riscv64")
    with pytest.raises(StackError) as refusal:
        official_home(Release(engine, "9.1.7"), tmp_path, lambda _present, _needed: None)
    assert str(refusal.value).endswith(
        f": no official archive for Linux-riscv64, expected Linux-x86_64 or Linux-aarch64; {REMEDY}"
    )


def test_official_addresses_are_those_of_the_vendors_download_pages() -> None:
    """For both processors."""
    addresses = [
        f"{engine.vendor}/{path.format(version=version)}"
        for engine, version in ((ELASTICSEARCH, "9.1.7"), (OPENSEARCH, "3.8.0"))
        for path in engine.archives.values()
    ]
    assert addresses == [
        "https://artifacts.elastic.co/downloads/elasticsearch/elasticsearch-9.1.7-linux-x86_64.tar.gz",
        "https://artifacts.elastic.co/downloads/elasticsearch/elasticsearch-9.1.7-linux-aarch64.tar.gz",
        "https://artifacts.opensearch.org/releases/bundle/opensearch/3.8.0/opensearch-3.8.0-linux-x64.tar.gz",
        "https://artifacts.opensearch.org/releases/bundle/opensearch/3.8.0/opensearch-3.8.0-linux-arm64.tar.gz",
    ]
