"""Reading `/proc`."""

import os
import resource
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from types import SimpleNamespace

import psutil
import pytest

from lab.monitor import processes
from lab.monitor.processes import (
    MAJOR_FAULTS_FIELD,
    MachineReader,
    ProcessReader,
    busy_and_all_cpu_s,
    cpu_s_in,
    programs_and_all_cpu_s,
    stat_fields,
    stolen_and_all_cpu_s,
    usable_cores,
    waiting_and_all_cpu_s,
)
from tests.unit.messages import MakeMessage

NO_SUCH_PID = 4_194_304 + 1  # beyond the largest pid that Linux gives


def used_s() -> float:
    """CPU seconds of this process, as exact as the kernel counts them."""
    return round(sum(os.times()[:2]), 2)


def test_a_process_is_read() -> None:
    """Its CPU time, memory and page faults are what the operating system says of it elsewhere."""
    before, own = used_s(), psutil.Process()
    resident, faults = own.memory_info().rss, resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    read, lost = ProcessReader(lambda: {"kafka": os.getpid()}).read()
    assert lost == {}
    assert read["kafka"].pid == os.getpid()
    assert before <= read["kafka"].cpu_s <= used_s()
    assert read["kafka"].rss_bytes == pytest.approx(resident, rel=0.02)
    assert read["kafka"].major_page_faults >= faults


def test_a_process_that_is_gone_is_lost_and_its_neighbour_is_not(message: MakeMessage) -> None:
    """A killed server leaves the others' figures alone."""
    read, lost = ProcessReader(lambda: {"kafka": NO_SUCH_PID, "connect": os.getpid()}).read()
    assert list(read) == ["connect"]
    assert lost == {"kafka": message("NoSuchProcess", pid=NO_SUCH_PID)}


def test_a_restarted_server_is_read_by_its_new_pid() -> None:
    """The list of processes is asked at every tick."""
    pids = iter([NO_SUCH_PID, os.getpid()])
    reader = ProcessReader(lambda: {"kafka": next(pids)})
    assert list(reader.read()[0]) == []
    assert list(reader.read()[0]) == ["kafka"]


def test_what_a_pipeline_leaves_to_other_processes_is_its_own_use() -> None:
    """A shell that only starts the program would otherwise look as if it had cost nothing."""
    burn = "sum(number * number for number in range(3_000_000)); print(flush=True); input()"
    script = f"{sys.executable} -c 'sum(number * number for number in range(1_000_000))'; {sys.executable} -c '{burn}'"
    with subprocess.Popen(
        ["sh", "-c", f"{script}; true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        listed = {"sink": shell.pid, "kafka": shell.pid}
        read, lost = ProcessReader(lambda: listed).read()
        shell.communicate("\n")

    assert lost == {}
    assert read["sink"].pid == read["kafka"].pid
    assert read["sink"].cpu_s > read["kafka"].cpu_s + 0.05
    assert read["sink"].rss_bytes > read["kafka"].rss_bytes


def test_major_faults_are_found_behind_a_command_with_parentheses() -> None:
    """A process may call itself anything."""
    stat = b"4711 (java) x) S 1 4711 4711 0 -1 4194304 523 0 17 0 101 103 0 0 20 0 61 0 12345 0 0"
    assert stat_fields(stat)[MAJOR_FAULTS_FIELD] == b"17"


def test_machine_cpu_is_the_busy_share_between_two_readings() -> None:
    """Of 8 core-seconds 6 were worked: 75 %."""
    readings = iter([(100.0, 400.0), (106.0, 408.0), (106.0, 408.0)])
    machine = MachineReader(lambda: next(readings))
    assert [machine.read(), machine.read(), machine.read()] == [None, 75.0, None]


def test_the_machine_says_how_long_it_waited_for_disks() -> None:
    """Seconds since its start, part of all that it has had."""
    waited_s, all_s = waiting_and_all_cpu_s()
    assert 0 <= waited_s < all_s


Core = namedtuple("Core", ["user", "idle", "iowait", "guest"])


def test_only_the_cores_that_may_be_used_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of three cores, full: 100 % of what the run has, though a third of the machine."""
    cores = iter([[Core(0, 0, 0, 0)] * 3, [Core(0, 10, 0, 0), Core(10, 0, 0, 5), Core(0, 10, 0, 0)]])
    monkeypatch.setattr(processes, "limiting_group", lambda: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {1})
    monkeypatch.setattr(psutil, "cpu_times", lambda **_: next(cores))
    machine = MachineReader(busy_and_all_cpu_s)
    assert [machine.read(), machine.read()] == [None, 100.0]
    assert usable_cores() == 1


Virtual = namedtuple("Virtual", ["user", "nice", "system", "idle", "iowait", "softirq", "steal"])


def test_stolen_time_is_no_programs_and_left_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10 s the hypervisor took 3 s and interrupts 1 s; programs had 4 s, and nobody could have had more than 2 s."""
    monkeypatch.setattr(processes, "limiting_group", lambda: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    monkeypatch.setattr(psutil, "cpu_times", lambda **_: [Virtual(1, 1, 2, 1, 1, 1, 3)])
    assert stolen_and_all_cpu_s() == (3, 10)
    assert programs_and_all_cpu_s() == (4, 10)
    assert busy_and_all_cpu_s() == (8, 10)


def test_a_state_that_the_kernel_does_not_count_took_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels before 2.6.11 have no steal."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    monkeypatch.setattr(psutil, "cpu_times", lambda **_: [Core(1, 2, 3, 1)])
    assert cpu_s_in("steal") == (0, 6)


@pytest.mark.parametrize("busy", [busy_and_all_cpu_s, programs_and_all_cpu_s])
def test_under_a_quota_the_group_is_the_machine(
    busy: Callable[[], tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group that works 2 s in 4 s is full at half a core, however idle or busy its neighbours are."""
    used_s, now_s = iter([10.0, 12.0]), iter([100.0, 104.0])
    group = SimpleNamespace(quota_cores=lambda: 0.5, cpu_s=lambda: next(used_s))
    monkeypatch.setattr(processes, "limiting_group", lambda: group)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    monkeypatch.setattr(processes.time, "monotonic", lambda: next(now_s))
    machine = MachineReader(busy)
    assert [machine.read(), machine.read()] == [None, 100.0]
    assert usable_cores() == 0.5
