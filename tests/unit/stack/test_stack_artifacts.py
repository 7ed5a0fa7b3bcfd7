"""Artifacts: fetched once, verified, continued."""

import hashlib
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from lab.engines import ENGINES
from lab.errors import StackError
from lab.stack.artifacts import (
    MAVEN_CENTRAL,
    Artifact,
    ArtifactCache,
    read_lock,
    version_key,
)
from tests.unit.stack.repository_server import Repository, artifact_of, served

JAR = "org/example/broker/1.0/broker-1.0.jar"
OTHER_JAR = "org/example/worker/1.0/worker-1.0.jar"


def content_of(size_bytes: int, seed: bytes = b"broker") -> bytes:
    """Bytes that no part of repeats another."""
    blocks = (hashlib.sha256(seed + number.to_bytes(4, "big")).digest() for number in range(size_bytes // 32 + 1))
    return b"".join(blocks)[:size_bytes]


@pytest.fixture
def repository() -> Iterator[Repository]:
    """An empty repository."""
    with served(Repository()) as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path, repository: Repository) -> ArtifactCache:
    """An empty cache before that repository."""
    return ArtifactCache(tmp_path / "cache", repository=repository.url)


def test_a_fetched_artifact_has_the_pinned_content(repository: Repository, cache: ArtifactCache) -> None:
    """What lies in the cache is what the pin says."""
    jar = repository.add(JAR, content_of(10_007))
    assert [content_of(10_007)] == [path.read_bytes() for path in cache.fetch([jar])]


def test_files_come_in_the_order_in_which_they_were_asked_for(repository: Repository, cache: ArtifactCache) -> None:
    """A class path is made from the answer, although the largest file is fetched first."""
    small, large = repository.add(JAR, content_of(101)), repository.add(OTHER_JAR, content_of(10_007))
    assert (cache.file(small), cache.file(large)) == cache.fetch([small, large])


def test_an_artifact_that_is_there_is_not_asked_for_again(repository: Repository, cache: ArtifactCache) -> None:
    """A warm cache works offline."""
    jar = repository.add(JAR, content_of(101))
    cache.fetch([jar])
    cache.fetch([jar])
    assert repository.requests == [(JAR, None)]


def test_only_what_is_missing_is_asked_for(repository: Repository, cache: ArtifactCache) -> None:
    """One new artifact costs one request."""
    jar, other = repository.add(JAR, content_of(101)), repository.add(OTHER_JAR, content_of(103))
    cache.fetch([jar])
    assert (other,) == cache.missing([jar, other])
    cache.fetch([jar, other])
    assert repository.requests == [(JAR, None), (OTHER_JAR, None)]


def test_another_content_than_the_pinned_one_is_refused(repository: Repository, cache: ArtifactCache) -> None:
    """A mirror is trusted no more than its content is."""
    jar = artifact_of(JAR, content_of(101))
    repository.files[JAR] = content_of(101, b"tampered")
    with pytest.raises(StackError) as refusal:
        cache.fetch([jar])
    assert (
        f"{repository.url}/{JAR}: got SHA-256 {hashlib.sha256(content_of(101, b'tampered')).hexdigest()}, expected "
        f"{jar.sha256}; the file was deleted: try again, or name another mirror in SLUICE_MAVEN_REPOSITORY"
    ) == str(refusal.value)


def test_a_refused_file_is_thrown_away(repository: Repository, cache: ArtifactCache) -> None:
    """The next attempt starts from nothing and may succeed."""
    jar = artifact_of(JAR, content_of(101))
    repository.files[JAR] = content_of(101, b"tampered")
    with pytest.raises(StackError):
        cache.fetch([jar])
    repository.files[JAR] = content_of(101)
    assert [content_of(101)] == [path.read_bytes() for path in cache.fetch([jar])]
    assert repository.requests == [(JAR, None), (JAR, None)]


def test_a_partial_file_is_continued(repository: Repository, cache: ArtifactCache) -> None:
    """What an earlier attempt fetched is not fetched again."""
    jar = repository.add(JAR, content_of(10_007))
    leave_partial(cache.file(jar), content_of(10_007)[:4_001])
    (file,) = cache.fetch([jar])
    assert content_of(10_007) == file.read_bytes()
    assert repository.requests == [(JAR, "bytes=4001-")]


def leave_partial(jar_path: Path, content: bytes) -> None:
    """Leave behind what an interrupted fetch leaves."""
    jar_path.parent.mkdir(parents=True)
    jar_path.with_name(jar_path.name + ".part").write_bytes(content)


def test_a_mirror_without_ranges_sends_the_whole_file_anew(repository: Repository, cache: ArtifactCache) -> None:
    """A partial file is replaced when the server does not continue it."""
    repository.honours_range = False
    jar = repository.add(JAR, content_of(10_007))
    leave_partial(cache.file(jar), content_of(10_007)[:4_001])
    (file,) = cache.fetch([jar])
    assert content_of(10_007) == file.read_bytes()


def test_a_partial_file_that_is_complete_is_only_verified(repository: Repository, cache: ArtifactCache) -> None:
    """A command that was killed between the last byte and the renaming costs no request."""
    jar = repository.add(JAR, content_of(101))
    leave_partial(cache.file(jar), content_of(101))
    seen: list[tuple[int, int]] = []
    cache.fetch([jar], lambda present, needed: seen.append((present, needed)))
    assert repository.requests == []
    assert seen[-1] == (101, 101)


def test_a_missing_artifact_is_one_sentence(repository: Repository, cache: ArtifactCache) -> None:
    """The message has the address, the status and both remedies."""
    with pytest.raises(StackError) as refusal:
        cache.fetch([artifact_of(JAR, content_of(101))])
    assert (
        f"{repository.url}/{JAR}: cannot be fetched (status 404); check the network, or set SLUICE_MAVEN_REPOSITORY to "
        "a mirror of Maven Central; what was fetched so far is kept"
    ) == str(refusal.value)


def test_a_repository_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    """Without network there is the same advice."""
    with served(Repository()) as gone:
        url = gone.url
    with pytest.raises(StackError) as refusal:
        ArtifactCache(tmp_path, repository=url).fetch([artifact_of(JAR, content_of(101))])
    assert (
        f"{url}/{JAR}: cannot be fetched ([Errno 111] Connection refused); check the network, or set "
        "SLUICE_MAVEN_REPOSITORY to a mirror of Maven Central; what was fetched so far is kept"
    ) == str(refusal.value)


def test_a_failing_artifact_cancels_the_rest(repository: Repository, cache: ArtifactCache) -> None:
    """Nobody waits for a gigabyte before hearing that one jar cannot be had."""
    paths = [f"org/example/large/{number}/large.jar" for number in range(3)]
    large = [repository.add(path, content_of(4_000_037, path.encode())) for path in paths]
    repository.slow.update(paths)
    absent = artifact_of(JAR, content_of(101))
    with pytest.raises(StackError, match=r"broker-1\.0\.jar: cannot be fetched \(status 404\)"):
        cache.fetch([*large, absent])
    assert (*large, absent) == cache.missing([*large, absent])


def test_what_a_cancelled_fetch_has_got_so_far_is_continued(repository: Repository, cache: ArtifactCache) -> None:
    """The second attempt asks for the rest only."""
    path = "org/example/large/1/large.jar"
    large = repository.add(path, content_of(4_000_037))
    repository.slow.add(path)
    repository.may_refuse.clear()
    with pytest.raises(StackError):
        cache.fetch([large, artifact_of(JAR, content_of(101))], lambda _present, _needed: repository.may_refuse.set())
    (file,) = cache.fetch([large])
    assert content_of(4_000_037) == file.read_bytes()
    assert repository.requests[-1][0] == path
    assert repository.requests[-1][1] is not None


def test_progress_grows_to_the_needed_bytes(repository: Repository, cache: ArtifactCache) -> None:
    """It never goes back, and ends with everything present."""
    jars = [repository.add(f"{number}/{JAR}", content_of(100_003 + number)) for number in range(7)]
    seen: list[tuple[int, int]] = []
    cache.fetch(jars, lambda present, needed: seen.append((present, needed)))
    needed_bytes = sum(jar.size_bytes for jar in jars)
    assert sorted(seen) == seen
    assert (needed_bytes, needed_bytes) == seen[-1]


def test_progress_counts_only_what_is_missing(repository: Repository, cache: ArtifactCache) -> None:
    """A bar that starts at half would promise the wrong time."""
    jar, other = repository.add(JAR, content_of(101)), repository.add(OTHER_JAR, content_of(103))
    cache.fetch([jar])
    seen: list[tuple[int, int]] = []
    cache.fetch([jar, other], lambda present, needed: seen.append((present, needed)))
    assert seen == [(103, 103)]


def test_progress_counts_what_a_partial_file_holds(repository: Repository, cache: ArtifactCache) -> None:
    """A continued download begins where it stopped."""
    jar = repository.add(JAR, content_of(10_007))
    leave_partial(cache.file(jar), content_of(10_007)[:4_001])
    seen: list[tuple[int, int]] = []
    cache.fetch([jar], lambda present, needed: seen.append((present, needed)))
    assert seen[0][0] > 4_001
    assert seen[-1] == (10_007, 10_007)


def test_progress_counts_an_artifact_of_two_sets_once(repository: Repository, cache: ArtifactCache) -> None:
    """A bar would never reach its end."""
    jar = repository.add(JAR, content_of(101))
    seen: list[tuple[int, int]] = []
    assert cache.fetch([jar, jar], lambda present, needed: seen.append((present, needed))) == (cache.file(jar),) * 2
    assert seen == [(101, 101)]


def test_the_repository_is_the_one_that_the_environment_names(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mirror is chosen without touching a file; a slash at its end does not matter."""
    monkeypatch.setenv("SLUICE_MAVEN_REPOSITORY", repository.url + "/")
    ArtifactCache(tmp_path).fetch([repository.add(JAR, content_of(101))])
    assert repository.requests == [(JAR, None)]


def test_the_repository_is_maven_central_unless_the_environment_names_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty variable counts as none."""
    monkeypatch.setenv("SLUICE_MAVEN_REPOSITORY", "")
    assert ArtifactCache(tmp_path)._repository == MAVEN_CENTRAL


class DiskUsage(NamedTuple):
    """What the system says of a disk."""

    total: int
    used: int
    free: int


def test_a_full_disk_is_noticed_before_anything_is_fetched(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Room is needed for the archive, for its content and for the data."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: DiskUsage(total=10**9, used=10**9, free=2 * 10**8))
    huge = artifact_of(JAR, content_of(101)).model_copy(update={"size_bytes": 10**8})
    with pytest.raises(StackError) as refusal:
        ArtifactCache(tmp_path, repository=repository.url).fetch([huge])
    assert (
        f"{tmp_path}: 0.2 GB free, 0.3 GB needed for the servers; make room or set SLUICE_CACHE to a folder on another "
        "disk"
    ) == str(refusal.value)
    assert repository.requests == []


def test_a_cache_that_cannot_be_made_is_one_sentence(repository: Repository, tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "cache"
    with pytest.raises(StackError) as refusal:
        ArtifactCache(folder, repository=repository.url).fetch([repository.add(JAR, content_of(101))])
    assert (
        f"{folder}: the cache cannot be made (Not a directory); set SLUICE_CACHE to a folder that can be written"
    ) == str(refusal.value)


# --- servers that are not what they should be -----------------------------------------------------------------------


def test_no_byte_beyond_the_pinned_size_is_stored(repository: Repository, cache: ArtifactCache) -> None:
    """However much a server sends: this one does not end by itself."""
    jar = artifact_of(JAR, content_of(10_007))
    repository.files[JAR] = content_of(100_003, b"another")
    repository.endless.add(JAR)
    stored: list[int] = []
    with pytest.raises(StackError, match=r"broker-1\.0\.jar: got more, expected 10,007 bytes; the file was deleted"):
        cache.fetch([jar], lambda present, _needed: stored.append(present))
    assert max(stored, default=0) <= 10_007
    assert [path.suffix for path in cache.file(jar).parent.iterdir()] == [".lock"]


@pytest.mark.parametrize("place", ["ftp://127.0.0.1/broker.jar", "file:///etc/passwd"])
def test_a_redirection_to_another_protocol_is_not_followed(
    repository: Repository, cache: ArtifactCache, place: str
) -> None:
    """Nothing is read that is not of a web server."""
    repository.redirects[JAR] = place
    with pytest.raises(StackError, match=r"cannot be fetched \(.*protocol"):
        cache.fetch([artifact_of(JAR, content_of(101))])


def test_a_redirection_out_of_an_encrypted_repository_is_not_followed(tmp_path: Path) -> None:
    """Nobody on the way learns what is fetched."""
    encrypted = ArtifactCache(tmp_path, repository="https://mirror.example")
    with pytest.raises(httpx.UnsupportedProtocol, match="redirected to http:, expected https:"):
        encrypted._refuse_plain_text(httpx.Request("GET", "http://mirror.example/broker.jar"))
    encrypted._refuse_plain_text(httpx.Request("GET", "https://elsewhere.example/broker.jar"))


def test_a_server_that_sends_next_to_nothing_is_given_up(repository: Repository, tmp_path: Path) -> None:
    """What has come so far is kept for another attempt."""
    path = "org/example/large/1/large.jar"
    large = repository.add(path, content_of(400_009))
    minutes = count(0, 600)
    slow = ArtifactCache(tmp_path, repository=repository.url, clock=lambda: float(next(minutes)))
    with pytest.raises(StackError, match=r"large\.jar: cannot be fetched \([\d,]+ bytes in 600 s, expected 1,000/s\)"):
        slow.fetch([large])
    assert 0 < slow.file(large).with_name("large.jar.part").stat().st_size < 400_009


def test_a_slow_server_that_goes_on_is_waited_for(repository: Repository, tmp_path: Path) -> None:
    """Hours do not matter, as long as there is something in each minute."""
    large = repository.add(JAR, content_of(400_009))
    seconds = count(0, 2)
    slow = ArtifactCache(tmp_path, repository=repository.url, clock=lambda: float(next(seconds)))
    assert [path.stat().st_size for path in slow.fetch([large])] == [400_009]


def test_a_mirror_s_password_is_in_no_message(repository: Repository, tmp_path: Path) -> None:
    """It may stand in its address."""
    address = repository.url.replace("//", "//me:hunter2@")
    with pytest.raises(StackError) as refusal:
        ArtifactCache(tmp_path, repository=address).fetch([artifact_of(JAR, content_of(101))])
    assert f"{repository.url}/{JAR}: cannot be fetched" in str(refusal.value)


# --- the lock file --------------------------------------------------------------------------------------------------


def test_the_lock_file_pins_every_set_that_servers_are_made_of() -> None:
    """All of them can be fetched without asking anybody what they are."""
    lock = read_lock()
    releases = [release for engine in ENGINES for release in lock.releases(engine)]
    (older_connect,) = (name for name in lock.sets if name.startswith("connect-"))
    others = {"kafka", older_connect, "jolokia", "plugin", "compiler", "maven"}
    assert {*others, *(release.set_name for release in releases)} == lock.sets.keys()
    for release in releases:
        paths = [artifact.path for artifact in lock.sets[release.set_name]]
        assert paths == [release.engine.distribution_path(release.version)]


@pytest.mark.parametrize("digests", [{}, {"sha256": 64 * "0", "sha512": 128 * "0"}], ids=["none", "two"])
def test_an_artifact_has_one_digest(digests: dict[str, str]) -> None:
    """Without any, whatever a repository sends would pass."""
    with pytest.raises(ValueError, match="got no or two digests"):
        Artifact(path=JAR, size_bytes=1, **digests)  # type: ignore[arg-type]


def test_no_two_artifacts_of_the_lock_file_share_path_or_hash() -> None:
    """The cache addresses them by hash, the class path by name; two sets may hold the very same one."""
    artifacts = {artifact for members in read_lock().sets.values() for artifact in members}
    assert len(artifacts) == len({artifact.path for artifact in artifacts})
    assert len(artifacts) == len({artifact.sha256 for artifact in artifacts})
    assert all(len(members) == len(set(members)) for members in read_lock().sets.values())


def test_a_version_is_compared_by_its_numbers() -> None:
    """Part by part."""
    assert version_key("8.19.21") == (8, 19, 21)
