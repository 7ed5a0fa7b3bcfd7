"""The server artifacts: pinned by SHA-256 in `artifacts.lock.json`, fetched once, verified, unpacked.

An artifact is addressed by its path in a Maven repository. The repository is Maven Central unless
`SLUICE_MAVEN_REPOSITORY` names a mirror of it; the pins make the two equally trustworthy.
"""

import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import ssl
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event, Lock
from typing import Annotated

import httpx
from pydantic import BaseModel, ConfigDict, Field

from lab.errors import StackError

MAVEN_CENTRAL = "https://repo.maven.apache.org/maven2"
LOCK_FILE = Path(__file__).with_name("artifacts.lock.json")
PARALLEL_FETCHES = 6
CHUNK_BYTES = 1 << 18

Progress = Callable[[int, int], None]
"""Called with (bytes present, bytes needed), over all artifacts of one fetch."""


class Artifact(BaseModel):
    """One file of a Maven repository and what its content must be.

    Attributes:
        path: Path below the repository's root.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size_bytes: Annotated[int, Field(gt=0)]

    @property
    def file_name(self) -> str:
        """Its name without the folders."""
        return self.path.rpartition("/")[2]


class ArtifactLock(BaseModel):
    """Every artifact that Sluice may fetch, in sets that are needed together (`kafka`, `elasticsearch-8.19.21` …)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sets: dict[str, tuple[Artifact, ...]]


def read_lock(path: Path = LOCK_FILE) -> ArtifactLock:
    """The artifacts that this version of Sluice is pinned to."""
    return ArtifactLock.model_validate_json(path.read_bytes())


def version_key(version: str) -> tuple[int, ...]:
    """A version's numbers, for comparing: `8.19.21` → (8, 19, 21), `1.8.0_402` → (1, 8, 0, 402)."""
    return tuple(map(int, re.findall(r"\d+", version)))


class ArtifactCache:
    """The folder that holds fetched artifacts by hash, and what was unpacked from them."""

    def __init__(self, folder: Path, *, repository: str | None = None) -> None:
        self._folder = folder
        self._repository = (repository or os.environ.get("SLUICE_MAVEN_REPOSITORY") or MAVEN_CENTRAL).rstrip("/")

    def file(self, artifact: Artifact) -> Path:
        """Where the artifact lies once it is fetched."""
        return self._folder / "artifacts" / artifact.sha256[:16] / artifact.file_name

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

    def _fetch_missing(self, missing: Sequence[Artifact], progress: Progress) -> None:
        needed = sum(artifact.size_bytes for artifact in missing)
        present = dict.fromkeys((artifact.sha256 for artifact in missing), 0)
        cancelled = Event()
        counting = Lock()

        def report(artifact: Artifact, size_bytes: int) -> None:
            with counting:
                present[artifact.sha256] = size_bytes
                progress(sum(present.values()), needed)

        self._check_space(needed)
        with (
            httpx.Client(verify=ssl.create_default_context(), timeout=60, follow_redirects=True) as client,
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
                raise StackError(
                    f"{self._repository}/{artifact.path}: cannot be fetched ({describe(error)}); check the network, "
                    "or set SLUICE_MAVEN_REPOSITORY to a mirror of Maven Central; what was fetched so far is kept"
                ) from error
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
        headers = (
            {"Range": f"bytes={start}-", "Accept-Encoding": "identity"} if start else {"Accept-Encoding": "identity"}
        )
        with client.stream("GET", f"{self._repository}/{artifact.path}", headers=headers) as response:
            response.raise_for_status()
            resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
            with partial.open("ab" if resumed else "wb") as file:
                size_bytes = start if resumed else 0
                for chunk in response.iter_bytes(CHUNK_BYTES):
                    if cancelled.is_set():
                        return
                    file.write(chunk)
                    size_bytes += len(chunk)
                    report(artifact, size_bytes)

    def _verify(self, artifact: Artifact, partial: Path) -> None:
        with partial.open("rb") as file:
            actual = hashlib.file_digest(file, "sha256").hexdigest()
        if actual != artifact.sha256:
            partial.unlink()
            raise StackError(
                f"{self._repository}/{artifact.path}: got SHA-256 {actual}, expected {artifact.sha256}; "
                "the file was deleted: try again, or name another mirror in SLUICE_MAVEN_REPOSITORY"
            )

    def unpacked(self, artifact: Artifact) -> Path:
        """The folder with the content of a fetched archive (its single top folder), unpacked on first use."""
        archive = self.file(artifact)
        folder = (
            self._folder
            / "unpacked"
            / f"{archive.name.removesuffix('.zip').removesuffix('.tar.gz')}-{artifact.sha256[:8]}"
        )
        if not folder.is_dir():
            with locked(folder.with_name(folder.name + ".lock")):
                if not folder.is_dir():
                    unpack(archive, folder)
        return folder


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`, which is made if need be, against other processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip or tar.gz whose content is one top folder, so that this folder's content becomes `folder`'s.

    `folder` appears only when it is complete.
    """
    # Whoever unpacks holds the folder's lock: what lies here was left behind by one that was killed.
    for left in folder.parent.glob(f"{glob.escape(folder.name)}.*[0-9]"):
        shutil.rmtree(left, ignore_errors=True)
    building = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        extract(archive, building)
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


def extract(archive: Path, folder: Path) -> None:
    """Everything that is in a zip or tar.gz, into a folder."""
    if archive.suffix != ".zip":
        with tarfile.open(archive) as content:
            content.extractall(folder, filter="data")
        return
    with zipfile.ZipFile(archive) as content:
        content.extractall(folder)  # noqa: S202 - the content is pinned by its hash
        # zipfile drops the permissions that bin/elasticsearch needs.
        for member in content.infolist():
            if mode := member.external_attr >> 16:
                (folder / member.filename).chmod(mode)


def describe(error: httpx.HTTPError) -> str:
    """What went wrong with a request, in the server's words where it gave any."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"status {error.response.status_code}"
    return str(error) or type(error).__name__
