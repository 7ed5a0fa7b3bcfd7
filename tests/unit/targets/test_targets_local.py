"""Servers that end while a command uses them, and servers that run twice."""

import contextlib
from pathlib import Path

import pytest

from lab.engines import Release
from lab.engines.opensearch import OPENSEARCH
from lab.errors import ProfileError, StackError
from lab.profiles import load_profile
from lab.stack.local import LocalStack
from lab.targets.local import Local, ServerWatch, shape_of
from tests.unit.clients.rest_server import Time
from tests.unit.messages import MakeMessage
from tests.unit.stack.three_servers import ALL, Wanted, kill


def test_servers_that_run_are_no_word_worth(stack: LocalStack) -> None:
    """However often it is asked."""
    stack.ensure(ALL, kept=True)
    time = Time()
    watch = ServerWatch(stack, time.clock)
    for _ in range(7):
        assert watch.check() == ""
        time.sleep(11)


def test_a_server_that_has_ended_is_named_at_once_and_may_come_back(stack: LocalStack, message: MakeMessage) -> None:
    """With what to do; a server that ends later has half a minute of its own."""
    stack.ensure(ALL, kept=True)
    time = Time()
    watch = ServerWatch(stack, time.clock)
    watch.check()
    for _ in range(3):
        kill(stack, "kafka")
        time.sleep(1)
        assert watch.check() == message("kafka ended", "./sluice restart")
        time.sleep(29)
        assert watch.check() == message("kafka ended", "./sluice restart")
        stack.restart("kafka")
        time.sleep(1)
        assert watch.check() == ""


def test_a_server_that_stays_away_is_an_error_with_the_end_of_its_log(
    stack: LocalStack, wanted: Wanted, message: MakeMessage
) -> None:
    """After half a minute, not after the two that a server which does not answer is asked again."""
    stack.ensure(ALL, kept=True)
    time = Time()
    watch = ServerWatch(stack, time.clock)
    log = wanted.specs["connect"].log_file
    log.write_text("OutOfMemoryError\n")
    kill(stack, "connect")
    watch.check()
    time.sleep(31)
    with pytest.raises(StackError) as failure:
        watch.check()
    assert str(failure.value) == message("connect", log)
    assert failure.value.log_lines == ("OutOfMemoryError",)


def test_servers_that_were_stopped_are_said_to_be(stack: LocalStack, message: MakeMessage) -> None:
    """Nobody starts those again, so that there is nothing to wait for."""
    stack.ensure(ALL, kept=True)
    watch = ServerWatch(stack, Time().clock)
    stack.stop()
    with pytest.raises(StackError) as failure:
        watch.check()
    assert str(failure.value) == message()


@pytest.mark.parametrize(
    ("overrides", "facts"),
    [
        ((), ()),
        (("index.number_of_shards=2",), ()),
        (("load.via=rally",), ("Rally",)),
        (("load.mode=stream", "load.rate_docs_per_s=601"), ("drains",)),
        (("elasticsearch.version=9.5.3",), ("version",)),
        (("elasticsearch.heap_mb=512000",), ("version",)),
    ],
    ids=["the same", "another index", "Rally", "a stream", "another version", "another heap"],
)
def test_runs_at_the_same_time_are_drains_on_servers_of_one_kind(
    stack: LocalStack, overrides: tuple[str, ...], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Each set has the servers of both."""
    profiles = [load_profile("quickstart"), load_profile("quickstart", overrides=overrides)]
    with pytest.raises(ProfileError) if facts else contextlib.nullcontext() as error:
        Local(stack).refuse_duets(profiles)
    assert (error and str(error.value)) == (message(*facts) if facts else None)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An unpacked OpenSearch 3.1.4 with a JDK."""
    home = tmp_path / "opensearch"
    for name in ("bin/opensearch", "lib/opensearch-3.1.4.jar", "jdk/bin/java"):
        (home / name).parent.mkdir(parents=True)
        (home / name).touch()
    (home / "jdk" / "release").write_text('JAVA_VERSION="24.0.2"\n')
    return home


@pytest.mark.parametrize("overrides", [(), ("opensearch=3.1.4",)], ids=["nothing stated", "the same"])
def test_a_profile_runs_on_the_release_of_its_distribution(
    overrides: tuple[str, ...], stack: LocalStack, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read from the folder, whose absolute path is recorded."""
    monkeypatch.chdir(archive.parent)
    stated = load_profile("quickstart", overrides=("elasticsearch.distribution=opensearch", *overrides))
    profile = Local(stack).fitted(stated)
    assert profile.release == Release(OPENSEARCH, "3.1.4")
    assert shape_of(profile).distribution == str(archive)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("opensearch=3.8.0", "got 3.8.0, expected 3.1.4"),
        ("elasticsearch.version=8.19.21", "got Elasticsearch 8.19.21, expected OpenSearch 3.1.4"),
    ],
    ids=["version", "engine"],
)
def test_another_release_than_that_of_the_distribution_is_refused(
    override: str, message: str, stack: LocalStack, archive: Path
) -> None:
    """Before anything is started."""
    profile = load_profile("quickstart", overrides=(f"elasticsearch.distribution={archive}", override))
    with pytest.raises(ProfileError) as refusal:
        Local(stack).fitted(profile)
    assert str(refusal.value) == f"--set {override.partition('=')[0]}: {message}, which {archive} holds"


def test_a_codec_of_a_plugin_may_be_in_a_distribution(stack: LocalStack, archive: Path) -> None:
    """The small one has no plugins."""
    overrides = (f"elasticsearch.distribution={archive}", "opensearch=3.1.4", "index.codec=zstd")
    assert Local(stack).fitted(load_profile("quickstart", overrides=overrides)).index["codec"] == "zstd"


def test_two_sets_of_servers_need_memory_for_both(stack: LocalStack) -> None:
    """It is known before any is started."""
    large = load_profile("quickstart", overrides=("elasticsearch.heap_mb=512000",))
    with pytest.raises(
        ProfileError, match=r"^--duets: 1,\d{3},\d{3} MB of memory are needed, [\d,]+ MB are available$"
    ):
        Local(stack).refuse_duets([large, large])
