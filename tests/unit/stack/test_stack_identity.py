"""A process is told from a later one with its number, whatever the clock does."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE

import orjson
import psutil
import pytest

from lab import identity
from lab.identity import ProcessIdentity, identity_of, is_numbered_like_us, marked, with_identity
from lab.page.serve import KeptPage
from lab.stack.local import LocalStack, StackState
from lab.stack.server import ServerProcess
from tests.unit.page.run_folders import progress
from tests.unit.stack.trivial_servers import spec_of, started

StepClock = Callable[[int], None]


@pytest.fixture
def step_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StepClock:
    """Lets psutil read what the kernel shows after the clock was set: the boot has moved, no process has."""

    def step(by_s: int) -> None:
        proc = tmp_path / f"proc{by_s}"
        proc.mkdir()
        for entry in Path("/proc").iterdir():
            if entry.name != "stat":
                (proc / entry.name).symlink_to(entry)
        lines = Path("/proc/stat").read_text().splitlines(keepends=True)
        moved = [f"btime {int(line.split()[1]) + by_s}\n" if line.startswith("btime") else line for line in lines]
        (proc / "stat").write_text("".join(moved))
        monkeypatch.setattr(psutil, "PROCFS_PATH", str(proc))

    return step


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=PIPE) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("by_s", [-3600, -2, 2, 86_400])
def test_a_process_is_the_same_after_a_step_of_the_clock(
    step_clock: StepClock, child: subprocess.Popen[bytes], by_s: int
) -> None:
    """Its start by the clock has moved."""
    known, started_s = identity_of(child.pid), psutil.Process(child.pid).create_time()
    step_clock(by_s)
    assert psutil.Process(child.pid).create_time() == pytest.approx(started_s + by_s)
    assert known.is_alive
    assert known == identity_of(child.pid)


def test_servers_page_and_run_are_found_after_a_step_of_the_clock(
    step_clock: StepClock, child: subprocess.Popen[bytes], marker: Path, tmp_path: Path
) -> None:
    """A run would stop the servers of `up` as strays, `down` leave its page, the page show a living run as dead."""
    stack = LocalStack(marker, tmp_path / "cache")
    server = started(spec_of(tmp_path), stack.folder)
    stack._write(StackState(kept=True, owner=ProcessIdentity(1), servers=(server,)))
    KeptPage(identity_of(child.pid), "http://127.0.0.1:7/#token=a", "/runs")._write(stack.folder)
    step_clock(-7)
    stack.remove_leftovers()
    assert [entry.pid for entry in stack.servers()] == [server.pid]
    page = KeptPage.find(stack.folder)
    assert page is not None
    assert page.identity.pid == child.pid
    assert progress(identity=identity_of(child.pid)).identity.is_alive


@pytest.mark.parametrize("changes", [{"start_ticks": 7}, {"boot_id": "another"}, {"start_ticks": None}])
def test_another_start_or_boot_is_another_process(changes: dict[str, object]) -> None:
    """Its number alone says nothing."""
    assert not replace(identity_of(), **changes).is_alive  # type: ignore[arg-type]


def test_a_process_that_has_ended_has_no_identity() -> None:
    """It is found by nobody, whoever gets its number."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert identity_of(ended.pid) == ProcessIdentity(ended.pid)
    assert not ProcessIdentity(os.getpid()).is_alive


def test_a_name_with_spaces_and_parentheses_does_not_shift_the_fields(tmp_path: Path) -> None:
    """A program may be called anything."""
    program = tmp_path / "a ) R 1 (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "997"]) as process:
        known = identity_of(process.pid)
        assert known.is_alive
        assert known.start_ticks is not None
        assert 0 <= known.start_ticks - (identity_of().start_ticks or 0) < 10**7
        process.kill()


def test_where_the_kernel_counts_no_boots_the_clock_tells(
    monkeypatch: pytest.MonkeyPatch, step_clock: StepClock
) -> None:
    """As on macOS; a step of the clock is then another process, as it was."""
    monkeypatch.setattr(identity, "this_boot", lambda: None)
    known = identity_of()
    assert (known.boot_id, known.start_ticks, known.is_alive) == (None, None, True)
    step_clock(-7)
    assert not known.is_alive


# --- files of older versions ------------------------------------------------------------------------------------------


def test_servers_that_an_older_version_has_started_are_found(marker: Path, tmp_path: Path) -> None:
    """Their state file has a start by the clock."""
    server = started(spec_of(tmp_path), marker)
    facts = {"spec": server.spec.model_dump(mode="json"), "pid": server.pid, "was_ready": True}
    entry = {**facts, "process_started_s": psutil.Process(server.pid).create_time()}
    marker.mkdir(exist_ok=True)
    (marker / "state.json").write_bytes(orjson.dumps({"kept": True, "owner_pid": 1, "servers": [entry]}))
    stack = LocalStack(marker, tmp_path / "cache")
    stack.remove_leftovers()
    assert [entry.pid for entry in stack.servers()] == [server.pid]
    assert stack.stop() == 1
    assert not server.alive


def test_servers_of_a_run_of_an_older_version_that_was_killed_are_stopped(marker: Path, tmp_path: Path) -> None:
    """Also where its number is ours by now."""
    server = started(spec_of(tmp_path), marker)
    facts = {"spec": server.spec.model_dump(mode="json"), "pid": server.pid, "process_started_s": 0.0}
    marker.mkdir(exist_ok=True)
    state = {"kept": False, "owner_pid": os.getpid(), "servers": [facts]}
    (marker / "state.json").write_bytes(orjson.dumps(state))
    LocalStack(marker, tmp_path / "cache").remove_leftovers()
    assert not server.alive


def test_the_page_and_the_run_of_an_older_version_are_found(child: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """By number and start."""
    own = {"pid": child.pid, "process_started_s": psutil.Process(child.pid).create_time()}
    (tmp_path / "page.json").write_bytes(orjson.dumps({**own, "address": "http://127.0.0.1:7/", "runs": "/runs"}))
    assert KeptPage.stop(tmp_path)
    child.wait()
    facts = progress().model_dump(mode="json") | own
    facts.pop("identity")
    assert not type(progress()).model_validate(facts).identity.is_alive


@pytest.mark.parametrize("facts", [None, [], {}, {"pid": 7, "identity": {}}])
def test_what_has_no_number_is_left_as_it_is(facts: object) -> None:
    """The reader refuses it, or not."""
    assert with_identity(facts) == facts


def test_a_server_is_read_as_it_was_written(tmp_path: Path) -> None:
    """With its identity."""
    server = ServerProcess(spec=spec_of(tmp_path), identity=identity_of())
    assert ServerProcess.model_validate_json(server.model_dump_json()) == server


# --- markers ----------------------------------------------------------------------------------------------------------


def test_a_process_of_a_container_carries_no_marker_of_ours(
    monkeypatch: pytest.MonkeyPatch, marker: Path, tmp_path: Path
) -> None:
    """Root sees it; the folder that it names is another one."""
    server = started(spec_of(tmp_path), marker)
    assert [value for process, value in marked("SLUICE_STACK") if process.pid == server.pid] == [str(marker)]
    monkeypatch.setattr(identity, "is_numbered_like_us", lambda pid: pid != server.pid)
    assert server.pid not in {process.pid for process, _ in marked("SLUICE_STACK")}


def test_our_children_have_numbers_like_ours(child: subprocess.Popen[bytes]) -> None:
    """They are in our PID namespace."""
    assert is_numbered_like_us(child.pid)


@pytest.mark.skipif(
    subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True, check=False).returncode != 0,
    reason="makes a PID namespace, as root may",
)
def test_a_process_of_another_pid_namespace_has_not() -> None:
    """As that of a container."""
    with subprocess.Popen(["unshare", "--pid", "--fork", "sh", "-c", "echo; read x"], stdin=PIPE, stdout=PIPE) as outer:
        assert outer.stdout is not None
        outer.stdout.readline()
        (inner,) = psutil.Process(outer.pid).children()
        assert not is_numbered_like_us(inner.pid)
        outer.communicate()


def test_a_process_is_found_that_has_the_number_of_one_that_was_seen_before() -> None:
    """The library keeps what it once saw under a number, and would not signal its successor."""
    environment = {**os.environ, "SLUICE_STACK": "here"}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=PIPE, env=environment) as server:
        (kept,) = (process for process in psutil.process_iter() if process.pid == server.pid)
        kept._ident = (server.pid, 1.0)
        (found,) = (process for process, _ in marked("SLUICE_STACK") if process.pid == server.pid)
        found.kill()
        assert server.wait(20) == -9
