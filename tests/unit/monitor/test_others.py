"""What programs that are not the run's have used, told from a `/proc` of a test's own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.monitor.others import TICKS_PER_S, OtherPrograms, process_of, process_table, servers_here
from lab.records.samples import ControlGroupSample, ProcessSample

LAB, ELASTICSEARCH, CONNECT = 103, 101, 107


class Machine:
    """Two cores, and the processes that run on them.

    Attributes:
        programs_s: CPU seconds of all programs so far.
        lasted_s: Since the start.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs_s = 1009.0
        self.lasted_s = 0.0
        self.others = OtherPrograms(lambda: (self.programs_s, 2 * self.lasted_s), processes=folder, own_pid=LAB)
        self.has(LAB)

    def has(self, pid: int, cpu_s: float = 0.0, *, parent: int = 1, ended_s: float = 0.0, started: int = 17) -> None:
        """There is such a process, which has used so much, as have its children that have ended."""
        (self.folder / str(pid)).mkdir(exist_ok=True)
        own, ended = round(cpu_s * TICKS_PER_S), round(ended_s * TICKS_PER_S)
        stat = f"{pid} (java) x) S {parent} 7 7 0 -1 4194304 0 0 0 0 {own} 0 {ended} 0 20 0 61 0 {started} 0 0"
        (self.folder / str(pid) / "stat").write_text(stat)

    def has_lost(self, pid: int) -> None:
        """There is no such process any more."""
        (self.folder / str(pid) / "stat").unlink()
        (self.folder / str(pid)).rmdir()

    def work(self, programs_s: float, seconds: float = 5.0) -> None:
        """So much time passes, in which all programs use so much."""
        self.programs_s += programs_s
        self.lasted_s += seconds


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine on which Elasticsearch has run for a while."""
    made = Machine(tmp_path)
    made.has(ELASTICSEARCH, 31.0)
    made.others.read([ELASTICSEARCH])
    return made


def test_what_servers_and_this_process_used_is_not_others(machine: Machine) -> None:
    """Of the 10 s that two cores had in 5 s, programs worked 7 s, of which 5 s were ours: 20 % are left."""
    machine.work(7.0)
    machine.has(ELASTICSEARCH, 35.0)
    machine.has(LAB, 1.0)
    assert machine.others.read([ELASTICSEARCH]) == 20.0


def test_the_first_reading_says_nothing(tmp_path: Path) -> None:
    """There is nothing to take a difference of."""
    assert Machine(tmp_path).others.read([]) is None


def test_children_of_ours_are_ours(machine: Machine) -> None:
    """The direct sender is this process's, and what a server starts is the server's, at any depth."""
    machine.work(7.0)
    machine.has(109, 2.0, parent=LAB)
    machine.has(113, 3.0, parent=ELASTICSEARCH)
    machine.has(127, 2.0, parent=113)
    assert machine.others.read([ELASTICSEARCH, 109]) == 0.0


def test_a_child_that_came_and_went_between_readings_is_ours(machine: Machine) -> None:
    """Its time is with the parent that waited for it."""
    machine.work(7.0)
    machine.has(LAB, ended_s=7.0)
    assert machine.others.read([ELASTICSEARCH]) == 0.0


def test_a_child_that_ends_is_not_counted_twice(machine: Machine) -> None:
    """What a producer had used before the last reading is no use of this interval, though its parent gets all now."""
    machine.has(109, 3.0, parent=LAB)
    machine.work(3.0)
    machine.others.read([ELASTICSEARCH])
    machine.work(5.0)
    machine.has_lost(109)
    machine.has(LAB, ended_s=4.0)
    assert machine.others.read([ELASTICSEARCH]) == 40.0


def test_a_stranger_that_came_and_went_is_anothers(machine: Machine) -> None:
    """The cores have counted it, though no process shows it: a compiler that is started for each file."""
    machine.work(7.0)
    assert machine.others.read([ELASTICSEARCH]) == 70.0


def test_a_server_that_was_replaced_leaves_one_interval_unknown(machine: Machine) -> None:
    """What the old one used after the last look is lost; from the next reading on all is known again."""
    machine.work(7.0)
    machine.has(ELASTICSEARCH, 1.0, started=19)
    assert machine.others.read([ELASTICSEARCH]) is None
    machine.work(7.0)
    machine.has(ELASTICSEARCH, 5.0, started=19)
    assert machine.others.read([ELASTICSEARCH]) == 30.0


def test_a_server_that_comes_and_goes_leaves_two_intervals_unknown(machine: Machine) -> None:
    """Neither what it used before it was listed nor after the last look may count as others'."""
    machine.has(CONNECT, 11.0)
    readings = []
    for listed in ([ELASTICSEARCH, CONNECT], [ELASTICSEARCH, CONNECT], [ELASTICSEARCH], [ELASTICSEARCH]):
        machine.work(1.0)
        readings.append(machine.others.read(listed))
    assert readings == [None, 10.0, None, 10.0]


def test_a_child_that_leaves_its_parent_makes_no_others(machine: Machine) -> None:
    """All that it had ever used would else be taken for others' use of one interval."""
    machine.has(109, 3.0, parent=LAB)
    machine.others.read([ELASTICSEARCH])
    machine.work(1.0)
    machine.has(109, 3.0, parent=1)
    assert machine.others.read([ELASTICSEARCH]) is None


def test_clocks_that_differ_leave_a_value_below_zero(machine: Machine) -> None:
    """Cut off at 0, such values would make a mean of others where there are none."""
    machine.work(3.9)
    machine.has(ELASTICSEARCH, 35.0)
    assert machine.others.read([ELASTICSEARCH]) == -1.0


def test_no_time_gives_no_share(machine: Machine) -> None:
    """Two readings at one instant."""
    assert machine.others.read([ELASTICSEARCH]) is None


def test_the_fields_are_those_of_the_kernel() -> None:
    """User 101, system 103, children's 107 and 109, started at tick 12345, below 211."""
    stat = b"4711 (java) x) S 211 4711 4711 0 -1 4194304 523 0 17 0 101 103 107 109 20 0 61 0 12345 0 0"
    assert process_of(stat) == (211, 12345, 420)


def test_a_child_of_this_process_is_found_in_the_kernels_own_table() -> None:
    """With a real process, not a test's idea of one."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        table = process_table(Path("/proc"))
        child.communicate(b"\n")
    assert table[child.pid].parent == os.getpid()
    assert table[os.getpid()].cpu_ticks > 0


USED = ProcessSample(pid=131, cpu_s=1.0, rss_bytes=1, major_page_faults=0, disk_read_bytes=None, disk_write_bytes=None)
GROUP = ControlGroupSample(
    memory_limit_bytes=None,
    memory_used_bytes=1,
    page_cache_bytes=1,
    anonymous_bytes=1,
    major_page_faults=0,
    read_bytes=None,
    read_operations=None,
)


def test_servers_of_this_machine_are_known_as_processes_or_by_their_groups() -> None:
    """A container's first process is one of this machine where its control group is seen."""
    assert servers_here({"elasticsearch-1": USED, "direct": USED}, {}, {}) == [131, 131]
    assert servers_here({"direct": USED}, {"elasticsearch-1": USED}, {"elasticsearch-1": GROUP}) == [131, 131]


def test_servers_elsewhere_are_no_programs_of_this_machine() -> None:
    """Beside remote servers only senders are known, and an engine elsewhere has pids of its own."""
    assert servers_here({"direct": USED}, {}, {}) == []
    assert servers_here({}, {"elasticsearch-1": USED, "kafka": USED}, {"kafka": GROUP}) == []
