"""The servers of one checkout: made what they shall be, found again, never left behind."""

import dataclasses
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from lab.errors import StackError
from lab.stack import local, readiness, server
from lab.stack.artifacts import ArtifactLock, read_lock
from lab.stack.jdk import Jdk
from lab.stack.local import (
    Endpoints,
    LocalStack,
    StackProgress,
    StackShape,
    StackState,
    choose_elasticsearch_jdk,
    kafka_version,
    port_names,
    ports_of,
    with_present_archive,
)
from lab.stack.server import ServerSpec
from tests.unit.stack.repository_server import artifact_of
from tests.unit.stack.trivial_servers import has_begun, shell, spec_of, started, wait_until

NAMES = ("elasticsearch-1", "kafka", "connect")
ALL = StackShape()


@dataclasses.dataclass
class Wanted:
    """What the stack is told that its servers shall be."""

    folder: Path
    specs: dict[str, ServerSpec] = dataclasses.field(default_factory=dict)
    unready: set[str] = dataclasses.field(default_factory=set)
    refusal: StackError | None = None

    def change(self, name: str, **changes: object) -> None:
        """Another specification for one server."""
        self.specs[name] = self.specs[name].model_copy(update=changes)

    def answer(self, *_: object, **__: object) -> tuple[ServerSpec, ...]:
        """The specifications, or the refusal."""
        if self.refusal:
            raise self.refusal
        return tuple(self.specs.values())


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wanted:
    """Three trivial servers, ready as soon as they are started."""
    made = Wanted(tmp_path, {name: spec_of(tmp_path, name) for name in NAMES})
    monkeypatch.setattr(readiness, "POLL_S", 0.002)
    monkeypatch.setattr(
        readiness, "is_ready", lambda entry: entry.spec.name not in made.unready and has_begun(entry.pid)
    )
    return made


@pytest.fixture
def stack(marker: Path, tmp_path: Path, wanted: Wanted, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalStack]:
    """A stack of these servers."""
    made = LocalStack(marker, tmp_path / "cache", tmp_path / "project")
    monkeypatch.setattr(made, "_specs", wanted.answer)
    yield made
    made.stop()


def pids(stack: LocalStack) -> dict[str, int]:
    """The running servers."""
    return {entry.spec.name: entry.pid for entry in stack.servers()}


def strays(stack: LocalStack) -> list[int]:
    """Every process on the machine that belongs to the stack."""
    return [process.pid for process in server.marked_processes(stack.folder)]


def owned_by(stack: LocalStack, owner_pid: int, *, kept: bool) -> None:
    """Write the state as another command would have written it."""
    state = stack.state()
    assert state is not None
    stack._write(state.model_copy(update={"owner_pid": owner_pid, "kept": kept}))


# --- ensure ---------------------------------------------------------------------------------------------------------


def test_servers_run_and_are_written_down(stack: LocalStack) -> None:
    """Each with its pid; nothing else runs."""
    stack.ensure(ALL, kept=True)
    assert pids(stack).keys() == set(NAMES)
    assert sorted(pids(stack).values()) == sorted(strays(stack))
    assert stack.process_ids() == pids(stack)


def test_endpoints_are_those_of_the_specifications(stack: LocalStack, wanted: Wanted) -> None:
    """Nodes in the order of their numbers."""
    wanted.specs = {"elasticsearch-2": spec_of(wanted.folder, "elasticsearch-2", ports={"http": 9137}), **wanted.specs}
    wanted.change("elasticsearch-1", ports={"http": 9127})
    assert stack.ensure(ALL, kept=False) == Endpoints(
        kafka_bootstrap="127.0.0.1:1",
        connect_url="http://127.0.0.1:2",
        elasticsearch_urls=("http://127.0.0.1:9127", "http://127.0.0.1:9137"),
        metrics_url="http://127.0.0.1:3/jolokia",
    )


def test_a_server_that_fits_stays(stack: LocalStack) -> None:
    """The second call starts nothing."""
    stack.ensure(ALL, kept=True)
    before = pids(stack)
    stack.ensure(ALL, kept=True)
    assert pids(stack) == before


def test_a_server_of_another_shape_is_started_anew(stack: LocalStack, wanted: Wanted) -> None:
    """And it alone."""
    stack.ensure(ALL, kept=True)
    before = pids(stack)
    wanted.change("kafka", shape="second")
    stack.ensure(ALL, kept=True)
    changed = {name for name in NAMES if pids(stack)[name] != before[name]}
    assert changed == {"kafka"}
    assert not psutil.pid_exists(before["kafka"])


def test_a_server_that_is_not_wanted_any_more_is_stopped(stack: LocalStack, wanted: Wanted) -> None:
    """A second node goes when one is asked for."""
    wanted.specs["elasticsearch-2"] = spec_of(wanted.folder, "elasticsearch-2")
    stack.ensure(ALL, kept=True)
    before = pids(stack)
    del wanted.specs["elasticsearch-2"]
    stack.ensure(ALL, kept=True)
    del before["elasticsearch-2"]
    assert pids(stack) == before
    assert sorted(strays(stack)) == sorted(before.values())


def test_a_server_that_has_died_is_started_again(stack: LocalStack) -> None:
    """The others stay."""
    stack.ensure(ALL, kept=True)
    before = pids(stack)
    os.kill(before["kafka"], signal.SIGKILL)
    wait_until(lambda: "kafka" not in pids(stack))
    stack.ensure(ALL, kept=True)
    assert {name for name in NAMES if pids(stack)[name] != before[name]} == {"kafka"}


def test_servers_that_up_started_keep_on_surviving(stack: LocalStack) -> None:
    """A run on them does not make them its own."""
    stack.ensure(ALL, kept=True)
    stack.ensure(ALL, kept=False)
    state = stack.state()
    assert state is not None
    assert state.kept


def test_a_server_that_dies_while_starting_leaves_nothing_running(stack: LocalStack, wanted: Wanted) -> None:
    """Neither it nor its neighbours, and no state file."""
    wanted.change("connect", command=shell("echo plugin path is empty; exit 7"))
    wanted.unready.add("connect")
    with pytest.raises(StackError):
        stack.ensure(ALL, kept=True)
    assert strays(stack) == []
    assert stack.state() is None


def test_the_error_of_a_server_that_dies_while_starting_has_its_last_lines(stack: LocalStack, wanted: Wanted) -> None:
    """They are read before anything is cleared away."""
    wanted.change("connect", command=shell("echo plugin path is empty; exit 7"))
    wanted.unready.add("connect")
    with pytest.raises(StackError) as failure:
        stack.ensure(ALL, kept=True)
    log = wanted.specs["connect"].log_file
    assert str(failure.value) == f"connect: ended with exit status 7 while starting; its log is {log}"
    assert failure.value.log_lines == ("plugin path is empty",)


def test_an_interruption_while_starting_leaves_nothing_running(stack: LocalStack) -> None:
    """Ctrl-C may come between any two servers."""

    def interrupt(name: str, _what: str) -> None:
        if name == "connect":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stack.ensure(ALL, kept=True, progress=StackProgress(step=interrupt))
    assert strays(stack) == []


def test_a_refusal_leaves_running_servers_as_they_are(stack: LocalStack, wanted: Wanted) -> None:
    """Nothing was started, so nothing is stopped: a mistyped version must not cost the servers of `up`."""
    stack.ensure(ALL, kept=True)
    before = pids(stack)
    wanted.refusal = StackError("Elasticsearch 8.1.1: not among the versions that can be had: 8.19.21")
    with pytest.raises(StackError):
        stack.ensure(ALL, kept=True)
    assert pids(stack) == before


def test_each_server_tells_what_happens_to_it(stack: LocalStack, wanted: Wanted) -> None:
    """For the display: what is kept says nothing."""
    stack.ensure(ALL, kept=True)
    wanted.change("kafka", shape="second")
    told: list[tuple[str, str]] = []
    stack.ensure(ALL, kept=True, progress=StackProgress(step=lambda name, what: told.append((name, what))))
    assert told == [("kafka", "stopping"), ("kafka", "starting"), ("kafka", "ready")]


# --- leftovers ------------------------------------------------------------------------------------------------------


def test_servers_of_a_run_that_was_killed_are_stopped(stack: LocalStack) -> None:
    """Their owner is no more, and nobody else wants them."""
    stack.ensure(ALL, kept=False)
    owned_by(stack, 1, kept=False)
    stack.remove_leftovers()
    assert strays(stack) == []
    assert stack.state() is None


def test_servers_that_up_started_are_no_leftovers(stack: LocalStack) -> None:
    """They are meant to survive their command."""
    stack.ensure(ALL, kept=True)
    owned_by(stack, 1, kept=True)
    before = pids(stack)
    stack.remove_leftovers()
    assert pids(stack) == before


def test_our_own_servers_are_no_leftovers(stack: LocalStack) -> None:
    """The run that has started them goes on."""
    stack.ensure(ALL, kept=False)
    before = pids(stack)
    stack.remove_leftovers()
    assert pids(stack) == before


def test_a_process_that_no_state_file_knows_is_stopped(stack: LocalStack, tmp_path: Path) -> None:
    """Its command was killed before it could write the pid down; what is known stays."""
    stack.ensure(ALL, kept=True)
    before = pids(stack)
    stray = started(spec_of(tmp_path, "elasticsearch-2"), stack.folder)
    stack.remove_leftovers()
    assert not stray.alive
    assert pids(stack) == before


def test_servers_of_an_unreadable_state_file_are_leftovers(stack: LocalStack) -> None:
    """They are found by their marker."""
    stack.ensure(ALL, kept=True)
    stack.state_file.write_text("{")
    stack.remove_leftovers()
    assert strays(stack) == []
    assert stack.state() is None


# --- the state file -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "{", "[]", '{"kept": true}', '{"kept": true, "owner_pid": 7, "later": 1}'])
def test_a_state_file_that_cannot_be_read_is_one_sentence(stack: LocalStack, text: str) -> None:
    """It says what to do."""
    stack.folder.mkdir()
    stack.state_file.write_text(text)
    with pytest.raises(StackError) as refusal:
        stack.state()
    assert str(refusal.value) == (
        f"{stack.state_file}: cannot be read as a state file of this version; `./sluice down` stops the servers and "
        "removes it"
    )
    assert stack.process_ids() == {}


def test_stopping_needs_no_readable_state_file(stack: LocalStack) -> None:
    """That is what the sentence promises."""
    stack.ensure(ALL, kept=True)
    stack.state_file.write_text("{")
    assert stack.stop() == 3
    assert strays(stack) == []
    assert stack.state() is None


def test_without_a_state_file_nothing_runs_here(stack: LocalStack) -> None:
    """The sentence has the command that starts servers."""
    assert stack.state() is None
    assert stack.servers() == ()
    with pytest.raises(StackError) as refusal:
        stack.endpoints()
    assert str(refusal.value) == "no servers are running here; start them with: ./sluice up"


# --- exclusively ----------------------------------------------------------------------------------------------------


def test_a_second_command_is_refused_and_told_who_is_at_work(marker: Path, tmp_path: Path) -> None:
    """Two runs on the same servers would spoil each other."""
    first, second = (LocalStack(marker, tmp_path / "cache") for _ in range(2))
    with first.exclusively(), pytest.raises(StackError) as refusal, second.exclusively():
        pass
    assert str(refusal.value) == (
        f"another sluice command (process {os.getpid()}) is using the servers of this checkout; wait for it or stop it"
    )


def test_the_servers_are_free_again_when_a_command_has_ended(marker: Path, tmp_path: Path) -> None:
    """However it ended."""
    stack = LocalStack(marker, tmp_path / "cache")
    with pytest.raises(KeyboardInterrupt), stack.exclusively():
        raise KeyboardInterrupt
    with stack.exclusively():
        assert (marker / "command.lock").read_text() == str(os.getpid())


# --- stop, restart, clean -------------------------------------------------------------------------------------------


def test_stopping_says_how_many_ran(stack: LocalStack) -> None:
    """Those that had died are not counted."""
    stack.ensure(ALL, kept=True)
    os.kill(pids(stack)["kafka"], signal.SIGKILL)
    wait_until(lambda: "kafka" not in pids(stack))
    assert stack.stop() == 2
    assert stack.stop() == 0


def test_stopping_sweeps_up_strays(stack: LocalStack, tmp_path: Path) -> None:
    """What carries our marker goes, and is counted."""
    stack.ensure(ALL, kept=True)
    started(spec_of(tmp_path, "elasticsearch-2"), stack.folder)
    assert stack.stop() == 4
    assert strays(stack) == []


def test_the_worker_is_stopped_before_what_it_depends_on(stack: LocalStack) -> None:
    """Otherwise it would fill its log with complaints."""
    stack.ensure(ALL, kept=True)
    told: list[tuple[str, str]] = []
    stack.stop(StackProgress(step=lambda name, what: told.append((name, what))))
    assert told[:2] == [("connect", "stopping"), ("connect", "stopped")]
    assert sorted(told[2:]) == sorted((name, what) for name in NAMES[:2] for what in ("stopping", "stopped"))


def test_a_server_is_restarted_as_it_was(stack: LocalStack) -> None:
    """Another process of the same specification; the others stay."""
    stack.ensure(ALL, kept=True)
    before = {entry.spec.name: entry for entry in stack.servers()}
    stack.restart("kafka")
    after = {entry.spec.name: entry for entry in stack.servers()}
    assert after["kafka"].spec == before["kafka"].spec
    assert after["kafka"].pid != before["kafka"].pid
    assert {name: after[name] for name in ("connect", "elasticsearch-1")} == {
        name: before[name] for name in ("connect", "elasticsearch-1")
    }


def test_a_server_that_was_killed_is_restarted(stack: LocalStack) -> None:
    """That is what `restart` is there for."""
    stack.ensure(ALL, kept=True)
    os.kill(pids(stack)["kafka"], signal.SIGKILL)
    wait_until(lambda: "kafka" not in pids(stack))
    stack.restart("kafka")
    assert pids(stack).keys() == set(NAMES)


def test_an_unknown_name_cannot_be_restarted(stack: LocalStack) -> None:
    """The sentence names those that there are."""
    stack.ensure(ALL, kept=True)
    with pytest.raises(StackError) as refusal:
        stack.restart("kibana")
    assert str(refusal.value).startswith("kibana: no such server here; there are: ")
    assert set(str(refusal.value).partition("there are: ")[2].split(", ")) == set(NAMES)


def test_nothing_can_be_restarted_where_nothing_runs(stack: LocalStack) -> None:
    """Not even a name that is known elsewhere."""
    with pytest.raises(StackError) as refusal:
        stack.restart("kafka")
    assert str(refusal.value) == "kafka: no such server here; there are: none"


def test_a_restarted_server_uses_the_archive_that_its_first_end_wrote(tmp_path: Path) -> None:
    """Its command said to write one."""
    archive = tmp_path / "kafka.jsa"
    spec = spec_of(tmp_path, command=("java", f"-XX:ArchiveClassesAtExit={archive}.pending", "Kafka"), archive=archive)
    assert with_present_archive(spec) == spec
    archive.write_text("classes")
    assert with_present_archive(spec).command == ("java", f"-XX:SharedArchiveFile={archive}", "Kafka")


def test_cleaning_removes_data_and_leaves_the_cache(stack: LocalStack, tmp_path: Path) -> None:
    """What was downloaded is needed again."""
    for folder in ("cache/artifacts", "cache/unpacked", "cache/class-data", "cache/python", "state/kept"):
        (tmp_path / folder).mkdir(parents=True)
    assert stack.clean() == [stack.folder]
    assert not stack.folder.exists()
    assert (tmp_path / "cache/artifacts").is_dir()


def test_cleaning_the_cache_leaves_the_python_environment(stack: LocalStack, tmp_path: Path) -> None:
    """This very code runs in it."""
    for folder in ("cache/artifacts", "cache/unpacked", "cache/python"):
        (tmp_path / folder).mkdir(parents=True)
    assert stack.clean(cache=True) == [tmp_path / "cache/artifacts", tmp_path / "cache/unpacked"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["python"]


# --- what can be asked for ------------------------------------------------------------------------------------------


def jdks(*features: int) -> Sequence[Jdk]:
    """JDKs of a machine."""
    return [Jdk(Path(f"/jdk-{feature}"), feature, f"{feature}.0.1") for feature in features]


def test_a_version_that_cannot_be_had_is_one_sentence() -> None:
    """It names those that can."""
    with pytest.raises(StackError) as refusal:
        choose_elasticsearch_jdk(StackShape(elasticsearch_version="8.1.1"), read_lock(), jdks(17))
    assert str(refusal.value) == (
        "Elasticsearch 8.1.1: not among the versions that can be had: 7.17.7, 8.17.4, 8.19.21, 9.0.0, 9.5.3"
    )


@pytest.mark.parametrize("data_nodes", [0, 5])
def test_a_number_of_nodes_that_cannot_be_had_is_one_sentence(data_nodes: int) -> None:
    """One to four."""
    with pytest.raises(StackError) as refusal:
        choose_elasticsearch_jdk(StackShape(data_nodes=data_nodes), read_lock(), jdks(17))
    assert str(refusal.value) == f"elasticsearch.data_nodes: got {data_nodes}, expected 1 to 4"


def test_each_version_runs_on_a_jdk_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three JDKs serve all five versions."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    chosen = {
        version: choose_elasticsearch_jdk(
            StackShape(elasticsearch_version=version), read_lock(), jdks(17, 21, 25)
        ).feature
        for version in ("7.17.7", "8.17.4", "8.19.21", "9.0.0", "9.5.3")
    }
    assert chosen == {"7.17.7": 17, "8.17.4": 21, "8.19.21": 25, "9.0.0": 21, "9.5.3": 25}


def test_the_memory_of_a_stack_is_that_of_all_its_jvms() -> None:
    """Heaps, and 300 MB beside each: 2 nodes of 1,009, Kafka 503, Connect 1,013."""
    shape = StackShape(data_nodes=2, elasticsearch_heap_mb=1009, kafka_heap_mb=503, connect_heap_mb=1013)
    assert shape.memory_mb == 2 * 1009 + 503 + 1013 + 4 * 300


def test_too_little_memory_is_one_sentence(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what there is, what is needed and what to change."""

    @dataclasses.dataclass
    class Memory:
        available: int = 1999 * 2**20

    monkeypatch.setattr(local.psutil, "virtual_memory", Memory)
    with pytest.raises(StackError) as refusal:
        stack._check_memory(StackShape())
    assert str(refusal.value) == (
        "memory: 1999 MB available, 3460 MB needed for 1 Elasticsearch node(s) of 1024 MB heap, Kafka, Connect; free "
        "some memory or lower elasticsearch.heap_mb or elasticsearch.data_nodes"
    )


def test_every_port_of_a_stack_belongs_to_one_server() -> None:
    """What is taken apart by server is the whole."""
    ports = {name: 9001 + number for number, name in enumerate(port_names(3))}
    owners = {name.rpartition(".")[0] for name in ports}
    assert owners == {"kafka", "connect", "elasticsearch-1", "elasticsearch-2", "elasticsearch-3"}
    assert sum(len(ports_of(owner, ports)) for owner in owners) == len(ports) == 10
    assert ports_of("kafka", ports) == {"client": 9001, "controller": 9002}


def test_asked_ports_are_those_that_clients_connect_to(marker: Path, tmp_path: Path) -> None:
    """`client` of the broker, `http` of all others."""
    stack = LocalStack(marker, tmp_path / "cache")
    first = stack._ports(ALL)
    asked = {"kafka": first["connect.metrics"], "elasticsearch-1": first["kafka.controller"]}
    (marker / "ports.json").unlink()
    ports = stack._ports(StackShape(asked_ports=asked))
    assert (ports["kafka.client"], ports["elasticsearch-1.http"]) == (asked["kafka"], asked["elasticsearch-1"])


def test_the_version_of_kafka_is_that_of_its_client() -> None:
    """It is pinned in one place."""
    client = artifact_of("org/apache/kafka/kafka-clients/4.3.1/kafka-clients-4.3.1.jar", b"client")
    other = artifact_of("org/example/other/1.0/other-1.0.jar", b"other")
    assert kafka_version(ArtifactLock(sets={"kafka": (other, client)})) == "4.3.1"


def test_the_data_of_a_run_is_gone_when_the_next_begins(stack: LocalStack) -> None:
    """That of servers that `up` started is kept."""
    for kept in (False, True):
        folder = stack._data_folder(kept=kept)
        (folder / "old").write_text("")
    assert not (stack._data_folder(kept=False) / "old").exists()
    assert (stack._data_folder(kept=True) / "old").exists()


def test_a_state_without_servers_has_none() -> None:
    """An unknown name is not there."""
    assert StackState(kept=True, owner_pid=7).server("kafka") is None
