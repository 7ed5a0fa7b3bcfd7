"""Several sets of servers on one machine: which run at the same time, and what that needs."""

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import psutil
import pytest

from lab.cli.run import dataset_of
from lab.errors import ProfileError
from lab.profiles import load_profile
from lab.profiles.suites import load_suite
from lab.run.load.bodies import BulkBodies
from lab.stack import local as stack_module
from lab.stack.groups import ServerGroups
from lab.stack.local import LocalStack
from lab.stack.server import STACK_MARKER
from lab.targets import local
from lab.targets.local import Local, ServerWatch
from lab.targets.servers import StartedBench
from tests.unit.messages import MakeMessage
from tests.unit.run.contexts import Recorder
from tests.unit.stack.three_servers import ALL, Wanted, kill, pids, start

QUICKSTART = load_profile("quickstart")
LARGE = load_profile("quickstart", overrides=("elasticsearch.heap_mb=2048",))

SMALL_MB, LARGE_MB = 1024 + 512 + 1024 + 900, 2048 + 512 + 1024 + 900
"""Memory of servers with one node of the default heap, and of twice that."""


@pytest.fixture
def machine(wanted: Wanted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Its free memory, `free_mb`, beside 1,009 MB of each server that runs; every set has trivial servers."""
    made = SimpleNamespace(free_mb=0)
    memory = SimpleNamespace(virtual_memory=lambda: SimpleNamespace(available=made.free_mb * 2**20))
    monkeypatch.setattr(local, "psutil", memory)
    monkeypatch.setattr(psutil.Process, "memory_info", lambda _: SimpleNamespace(rss=1009 * 2**20))
    monkeypatch.setattr(LocalStack, "_specs", wanted.answer)
    monkeypatch.setattr(stack_module, "ServerGroups", lambda folder: ServerGroups(folder, tmp_path / "cgroup"))
    return made


def test_two_sets_of_servers_need_memory_for_both(
    stack: LocalStack, machine: SimpleNamespace, message: MakeMessage
) -> None:
    """And 2 GB for all else; what runs already makes room."""
    ours = Local(stack)
    machine.free_mb = 2 * SMALL_MB + 2048
    ours.refuse_duets([QUICKSTART, QUICKSTART])
    machine.free_mb -= 1
    with pytest.raises(ProfileError) as error:
        ours.refuse_duets([QUICKSTART, QUICKSTART])
    assert str(error.value) == message("8,968", "8,967")
    start(stack)
    machine.free_mb -= 3 * 1009 - 1
    ours.refuse_duets([QUICKSTART, QUICKSTART])


def test_the_set_with_more_nodes_decides_how_much_memory_two_need(
    stack: LocalStack, machine: SimpleNamespace, message: MakeMessage
) -> None:
    """Each has the nodes of both variants."""
    two = load_profile("quickstart", overrides=("elasticsearch.data_nodes=2",))
    machine.free_mb = 2 * SMALL_MB + 2048
    with pytest.raises(ProfileError) as error:
        Local(stack).refuse_duets([two, QUICKSTART])
    assert str(error.value) == message("11,616", "8,968")


def test_different_servers_run_together_if_there_is_memory_for_all(stack: LocalStack, machine: SimpleNamespace) -> None:
    """Profiles of the same servers share them, with as many nodes as the largest needs."""
    two = load_profile("quickstart", overrides=("elasticsearch.data_nodes=2",))
    ours = Local(stack)
    machine.free_mb = SMALL_MB + 1024 + 300 + LARGE_MB + 2048
    assert ours.run_together([two, QUICKSTART, LARGE])
    machine.free_mb -= 1
    assert not ours.run_together([two, QUICKSTART, LARGE])
    assert ours.run_together([QUICKSTART, QUICKSTART, LARGE])


def test_servers_for_which_there_is_memory_stay_beside_others(stack: LocalStack, machine: SimpleNamespace) -> None:
    """What is stopped and started again comes back cold; those of `up` alone outlive the command."""
    start(stack)
    machine.free_mb = SMALL_MB + LARGE_MB + 2048 - 3 * 1009
    ours, both = Local(stack), (QUICKSTART, LARGE)
    with ours.held():
        first, second = (ours.target(profile, both) for profile in both)
        assert first.process_ids() == pids(stack)
        other = stack.beside(1)
        assert (second.child_environment, second.process_ids()) == ({STACK_MARKER: str(other.folder)}, pids(other))
        assert len({*first.process_ids().values(), *second.process_ids().values()}) == 6
        assert ours.target(LARGE, both).process_ids() == second.process_ids()
        state = other.state()
        assert state is not None
        assert not state.kept
    assert (len(pids(stack)), pids(other)) == (3, {})


def test_memory_of_all_servers_that_run_is_theirs(stack: LocalStack, machine: SimpleNamespace) -> None:
    """Of the first and of those beside them, once each."""
    machine.free_mb = SMALL_MB + LARGE_MB + 2048
    ours, both = Local(stack), (QUICKSTART, LARGE)
    for profile in both:
        ours.target(profile, both)
    machine.free_mb -= 6 * 1009
    assert ours.run_together(both)
    machine.free_mb -= 1
    assert not ours.run_together(both)


@pytest.mark.parametrize("has_memory", [True, False])
def test_servers_make_room_for_others_where_they_cannot_run_together(
    stack: LocalStack, machine: SimpleNamespace, *, has_memory: bool
) -> None:
    """For want of memory, or because nothing else is going to run on them."""
    machine.free_mb = SMALL_MB + LARGE_MB + (2048 if has_memory else 2047 - 3 * 1009)
    ours = Local(stack)
    for profile in (QUICKSTART, LARGE):
        ours.target(profile, () if has_memory else (QUICKSTART, LARGE))
        assert not stack.beside(1).folder.exists()


def test_after_a_stop_the_next_servers_are_the_first(stack: LocalStack, machine: SimpleNamespace) -> None:
    """None is taken for running, and none beside them is left."""
    machine.free_mb = SMALL_MB + LARGE_MB + 2048
    ours, both = Local(stack), (QUICKSTART, LARGE)
    with ours.held():
        for profile in both:
            ours.target(profile, both)
        ours.stop()
        assert (pids(stack), stack.beside(1).folder.exists()) == ({}, False)
        assert ours.target(LARGE, both).process_ids() == pids(stack)


@pytest.mark.usefixtures("machine")
def test_pairs_run_on_two_sets_of_servers(stack: LocalStack) -> None:
    """The second one has topics and bodies of its own; neither outlives the suite."""
    suite = load_suite("a-a")
    datasets = {variant.name: dataset_of(variant.profile) for variant in suite.variants}
    profile = suite.variants[0].profile
    closed: list[str] = []
    with Local(stack).duet_bench(suite, datasets, ()) as bench:
        first, second = (cast("StartedBench", side) for side in bench.sides)
        ran = [side.start(profile, ()).process_ids() for side in (first, second)]
        assert [ran[0], ran[1]] == [pids(stack), pids(stack.beside("second"))]
        second.inputs.bodies["books"] = cast("BulkBodies", SimpleNamespace(file=Recorder(closed, "bodies")))
        second.stop()
        assert [pids(stack), pids(stack.beside("second"))] == [ran[0], {}]
        second.start(profile, ())
    assert (pids(stack), stack.beside("second").folder.exists(), closed) == ({}, False, ["bodies.close"])


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


@pytest.mark.usefixtures("machine")
def test_no_command_restarts_servers_that_run_beside_others(stack: LocalStack) -> None:
    """All that have ended are named."""
    other = stack.beside(1)
    other.ensure(ALL, kept=False)
    for name in ("kafka", "connect"):
        kill(other, name)
    assert ServerWatch(other).check() == "kafka and connect ended"
    other.stop()
