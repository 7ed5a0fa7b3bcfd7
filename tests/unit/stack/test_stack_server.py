"""One server process: started, recognised, stopped, by force if need be."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from lab.errors import StackError
from lab.stack import server
from lab.stack.server import ServerProcess, died, last_log_lines, marked_processes, start, stop, stop_processes
from tests.unit.stack.trivial_servers import has_begun, shell, spec_of, started, wait_until


def test_a_server_that_was_started_is_alive(tmp_path: Path, marker: Path) -> None:
    """Its record names a process that runs the command."""
    entry = started(spec_of(tmp_path), marker)
    assert entry.alive
    assert psutil.Process(entry.pid).cmdline() == ["sleep", "997"]


def test_a_server_that_was_stopped_is_gone(tmp_path: Path, marker: Path) -> None:
    """There is no zombie either."""
    entry = started(spec_of(tmp_path), marker)
    stop([entry])
    assert not entry.alive
    assert not psutil.pid_exists(entry.pid)


def test_a_server_lives_in_a_session_of_its_own(tmp_path: Path, marker: Path) -> None:
    """Ctrl-C at the terminal does not reach it; we decide when it ends."""
    entry = started(spec_of(tmp_path), marker)
    assert os.getsid(entry.pid) == entry.pid


def test_a_record_survives_being_written_down(tmp_path: Path, marker: Path) -> None:
    """Another command finds the process again from the state file alone."""
    entry = started(spec_of(tmp_path), marker)
    assert ServerProcess.model_validate_json(entry.model_dump_json()).alive


def earlier(entry: ServerProcess) -> ServerProcess:
    """A server that had the same pid and was started one tick before."""
    start_ticks = entry.identity.start_ticks
    assert start_ticks is not None
    return entry.model_copy(update={"identity": replace(entry.identity, start_ticks=start_ticks - 1)})


def test_a_process_with_the_pid_but_another_start_time_is_not_ours(tmp_path: Path, marker: Path) -> None:
    """A recycled pid belongs to a stranger."""
    entry = started(spec_of(tmp_path), marker)
    assert not earlier(entry).alive


def test_a_stranger_with_a_recycled_pid_is_not_stopped(tmp_path: Path, marker: Path) -> None:
    """Stopping a server that has ended long ago must hurt nobody."""
    entry = started(spec_of(tmp_path), marker)
    stop([earlier(entry)])
    assert entry.alive


def test_a_process_that_has_ended_is_not_alive_before_it_is_reaped(tmp_path: Path, marker: Path) -> None:
    """A zombie serves nobody."""
    entry = started(spec_of(tmp_path), marker)
    os.kill(entry.pid, signal.SIGKILL)
    wait_until(lambda: psutil.Process(entry.pid).status() == psutil.STATUS_ZOMBIE)
    assert not entry.alive
    assert server.reap(entry.pid) == -signal.SIGKILL


def test_a_process_of_somebody_else_is_not_reaped() -> None:
    """Only a parent can."""
    assert server.reap(1) is None


def ignoring_sigterm(tmp_path: Path) -> tuple[str, ...]:
    """A process that SIGTERM does not end; a file says that it has come so far."""
    return shell(f"trap '' TERM; touch {tmp_path}/deaf; exec sleep 997")


def test_a_server_that_ignores_sigterm_is_killed_after_the_grace_time(tmp_path: Path, marker: Path) -> None:
    """Nothing is left running."""
    entry = started(spec_of(tmp_path, command=ignoring_sigterm(tmp_path)), marker)
    wait_until((tmp_path / "deaf").exists)
    stop([entry], grace_s=0.3)
    assert not psutil.pid_exists(entry.pid)


def test_servers_that_hang_cost_one_grace_time(tmp_path: Path, marker: Path) -> None:
    """Not one each: four hung nodes took 80 s."""
    entries = []
    for number in range(1, 6):
        folder = tmp_path / str(number)
        folder.mkdir()
        spec = spec_of(tmp_path, f"elasticsearch-{number}", ignoring_sigterm(folder))
        entries.append(started(spec, marker).model_copy(update={"was_ready": True}))
        wait_until((folder / "deaf").exists)
    began_s = time.monotonic()
    stop(entries, grace_s=2.0)
    assert 2.0 <= time.monotonic() - began_s < 6.0
    assert not any(psutil.pid_exists(entry.pid) for entry in entries)


def test_a_child_that_ends_while_it_is_looked_at_is_reaped(tmp_path: Path, marker: Path) -> None:
    """Whoever looks for its pid afterwards finds nothing, on a busy machine, too."""
    entry = started(spec_of(tmp_path), marker)

    class Ending(psutil.Process):
        def status(self) -> str:
            self.kill()
            wait_until(lambda: psutil.Process(entry.pid).status() == psutil.STATUS_ZOMBIE)
            return super().status()

    server.wait_for_end(Ending(entry.pid), 5.0)
    assert not psutil.pid_exists(entry.pid)


def test_a_server_is_given_the_time_that_it_needs_to_end(tmp_path: Path, marker: Path) -> None:
    """Within the grace time it finishes what it is doing."""
    script = f"trap 'touch {tmp_path}/finished; exit 0' TERM; touch {tmp_path}/up; while :; do sleep 0.01; done"
    entry = started(spec_of(tmp_path, command=shell(script)), marker)
    wait_until((tmp_path / "up").exists)
    stop([entry])
    assert (tmp_path / "finished").exists()


@pytest.mark.parametrize(
    "ask", [lambda entry: stop([entry]), lambda entry: stop_processes([psutil.Process(entry.pid)])]
)
def test_a_paused_server_ends_in_order(tmp_path: Path, marker: Path, ask: Callable[[ServerProcess], None]) -> None:
    """A killed run with `load.pause` leaves such nodes: `down` waited out their grace time, and killed them."""
    script = f"trap 'touch {tmp_path}/finished; exit 0' TERM; touch {tmp_path}/up; while :; do sleep 0.01; done"
    entry = started(spec_of(tmp_path, command=shell(script)), marker).model_copy(update={"was_ready": True})
    wait_until((tmp_path / "up").exists)
    psutil.Process(entry.pid).suspend()
    ask(entry)
    assert (tmp_path / "finished").exists()


def test_servers_are_stopped_side_by_side(tmp_path: Path, marker: Path) -> None:
    """All of them have got SIGTERM before the first one has ended."""
    script = f"trap 'touch {tmp_path}/second; exit 0' TERM; touch {tmp_path}/up-2; while :; do sleep 0.01; done"
    waiting = (
        f"trap 'while [ ! -e {tmp_path}/second ]; do sleep 0.01; done; touch {tmp_path}/first; exit 0' TERM; "
        f"touch {tmp_path}/up-1; while :; do sleep 0.01; done"
    )
    entries = [
        started(spec_of(tmp_path, "kafka", shell(waiting)), marker),
        started(spec_of(tmp_path, "elasticsearch-1", shell(script)), marker),
    ]
    wait_until(lambda: (tmp_path / "up-1").exists() and (tmp_path / "up-2").exists())
    stop(entries)
    assert (tmp_path / "first").exists()


def test_a_server_that_cannot_be_started_is_one_sentence(tmp_path: Path, marker: Path) -> None:
    """Its program may have been removed since it was started last."""
    with pytest.raises(StackError) as refusal:
        start(spec_of(tmp_path, command=(f"{tmp_path}/no/java", "-version")), marker)
    assert str(refusal.value) == f"kafka: cannot be started: {tmp_path}/no/java: No such file or directory"


# --- what it inherits -----------------------------------------------------------------------------------------------


def test_a_server_inherits_nothing_that_would_change_it(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options in the user's environment would change a figure behind our back."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xint")
    monkeypatch.setenv("ES_JAVA_OPTS", "-Xmx31m")
    monkeypatch.setenv("LC_CTYPE", "ko_KR.UTF-8")
    entry = started(spec_of(tmp_path, environment={"ES_PATH_CONF": "/config"}), marker)
    wait_until(lambda: psutil.Process(entry.pid).name() == "sleep")
    environment = psutil.Process(entry.pid).environ()
    assert environment.keys() <= {
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "TZ",
        "TMPDIR",
        "LC_CTYPE",
        "ES_PATH_CONF",
        "SLUICE_STACK",
    }
    assert (environment["ES_PATH_CONF"], environment["LC_CTYPE"]) == ("/config", "ko_KR.UTF-8")


def test_options_are_those_that_matter_to_a_reader(tmp_path: Path) -> None:
    """Heap and collector; neither class path nor agents."""
    spec = spec_of(
        tmp_path,
        command=("java", "-Xmx512m", "-javaagent:agent.jar", "-cp", "a.jar", "kafka.Kafka"),
        environment={"ES_JAVA_OPTS": "-Xms1g -Xmx1g"},
    )
    assert spec.options == ("-Xmx512m", "-Xms1g", "-Xmx1g")


# --- the marker -----------------------------------------------------------------------------------------------------


def test_a_process_whose_state_was_never_written_is_found_by_its_marker(tmp_path: Path, marker: Path) -> None:
    """The command that started it was killed before it could write the pid down."""
    pid = started(spec_of(tmp_path), marker).pid
    assert [process.pid for process in marked_processes(marker)] == [pid]


def test_a_process_of_another_checkout_is_not_found(tmp_path: Path, marker: Path) -> None:
    """Each state folder has its own servers."""
    started(spec_of(tmp_path), marker)
    assert list(marked_processes(tmp_path / "another")) == []


def test_children_of_a_server_carry_its_marker(tmp_path: Path, marker: Path) -> None:
    """A launcher may have ended before what it launched."""
    entry = started(spec_of(tmp_path, command=shell("sleep 997 & sleep 991 & wait")), marker)
    wait_until(lambda: len(psutil.Process(entry.pid).children()) == 2)
    pids = {entry.pid, *(child.pid for child in psutil.Process(entry.pid).children())}
    wait_until(lambda: all(map(has_begun, pids)))
    assert {process.pid for process in marked_processes(marker)} == pids


def test_strays_are_stopped_even_if_they_ignore_sigterm(tmp_path: Path, marker: Path) -> None:
    """SIGKILL comes after the grace time."""
    entry = started(spec_of(tmp_path, command=ignoring_sigterm(tmp_path)), marker)
    wait_until((tmp_path / "deaf").exists)
    stop_processes(marked_processes(marker), grace_s=0.3)
    assert not psutil.pid_exists(entry.pid)


# --- its log --------------------------------------------------------------------------------------------------------


def write_lines(path: Path, count: int, what: str = "line") -> None:
    """A log file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{what} {number}\n" for number in range(1, count + 1)))


def test_the_last_log_lines_are_the_last_twelve(tmp_path: Path) -> None:
    """In their order."""
    spec = spec_of(tmp_path)
    write_lines(spec.log_file, 31)
    assert last_log_lines(spec) == tuple(f"line {number}" for number in range(20, 32))


def test_a_short_log_is_shown_whole(tmp_path: Path) -> None:
    """Without empty lines."""
    spec = spec_of(tmp_path)
    write_lines(spec.log_file, 2)
    assert last_log_lines(spec) == ("line 1", "line 2")


def test_a_log_that_does_not_exist_has_no_lines(tmp_path: Path) -> None:
    """The server may have ended before it wrote one."""
    assert last_log_lines(spec_of(tmp_path)) == ()


def test_the_log_that_a_server_writes_itself_comes_first(tmp_path: Path) -> None:
    """Its output has only what its launcher says."""
    spec = spec_of(tmp_path, server_log=tmp_path / "own.log")
    write_lines(spec.log_file, 3, "output")
    write_lines(tmp_path / "own.log", 3, "own")
    assert last_log_lines(spec, 2) == ("own 2", "own 3")


def test_its_output_stands_in_for_a_log_without_content(tmp_path: Path) -> None:
    """A JVM that refuses its options never opens the log."""
    spec = spec_of(tmp_path, server_log=tmp_path / "own.log")
    write_lines(spec.log_file, 3, "output")
    (tmp_path / "own.log").write_text("")
    assert last_log_lines(spec, 2) == ("output 2", "output 3")


def test_output_goes_to_the_log_and_is_appended(tmp_path: Path, marker: Path) -> None:
    """A restart does not wipe out what the first start said."""
    spec = spec_of(tmp_path, command=shell("echo said; echo complained >&2"))
    for _ in range(2):
        entry = started(spec, marker)
        wait_until(lambda entry=entry: server.reap(entry.pid) is not None)  # type: ignore[misc]
    assert last_log_lines(spec) == ("said", "complained", "said", "complained")


def test_a_server_that_died_is_one_sentence_with_its_last_lines(tmp_path: Path) -> None:
    """The exit status is in it if it is known."""
    spec = spec_of(tmp_path)
    write_lines(spec.log_file, 2)
    assert str(died(spec, 7)) == f"kafka: ended with exit status 7 while starting; its log is {spec.log_file}"
    assert str(died(spec)) == f"kafka: ended while starting; its log is {spec.log_file}"
    assert died(spec).log_lines == ("line 1", "line 2")


def test_a_server_that_died_on_a_full_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log cannot."""
    spec = spec_of(tmp_path)
    write_lines(spec.log_file, 2)
    monkeypatch.setattr(server, "FULL_BYTES", 1 << 60)
    assert str(died(spec)).endswith(f"its log is {spec.log_file}, on a disk that is full; make room")


# --- its class-data archive -----------------------------------------------------------------------------------------


def ready(entry: ServerProcess) -> ServerProcess:
    """The server once it has been ready."""
    return entry.model_copy(update={"was_ready": True})


def archiving(tmp_path: Path, *, on_term: str) -> tuple[str, ...]:
    """A server that writes half an archive at once, and does on SIGTERM what it is told."""
    return shell(
        f"printf half > {tmp_path}/classes.jsa.pending; {on_term}; touch {tmp_path}/up; while :; do sleep 0.01; done"
    )


def test_an_archive_is_kept_if_the_server_ended_by_itself(tmp_path: Path, marker: Path) -> None:
    """Then it is complete."""
    on_term = f"trap 'printf whole > {tmp_path}/classes.jsa.pending; exit 0' TERM"
    spec = spec_of(tmp_path, command=archiving(tmp_path, on_term=on_term), archive=tmp_path / "classes.jsa")
    entry = ready(started(spec, marker))
    wait_until((tmp_path / "up").exists)
    stop([entry])
    assert (tmp_path / "classes.jsa").read_text() == "whole"
    assert not (tmp_path / "classes.jsa.pending").exists()


def test_an_archive_is_thrown_away_if_the_server_had_not_been_ready(tmp_path: Path, marker: Path) -> None:
    """It would hold a part of the classes for ever."""
    on_term = f"trap 'printf whole > {tmp_path}/classes.jsa.pending; exit 0' TERM"
    spec = spec_of(tmp_path, command=archiving(tmp_path, on_term=on_term), archive=tmp_path / "classes.jsa")
    entry = started(spec, marker)
    wait_until((tmp_path / "up").exists)
    stop([entry])
    assert not (tmp_path / "classes.jsa").exists()
    assert not (tmp_path / "classes.jsa.pending").exists()


def test_an_archive_is_thrown_away_if_the_server_was_killed(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be incomplete."""
    monkeypatch.setattr(server, "ARCHIVE_GRACE_S", 0.05)
    spec = spec_of(tmp_path, command=archiving(tmp_path, on_term="trap '' TERM"), archive=tmp_path / "classes.jsa")
    entry = ready(started(spec, marker))
    wait_until((tmp_path / "up").exists)
    stop([entry], grace_s=0.3)
    assert not (tmp_path / "classes.jsa").exists()
    assert not (tmp_path / "classes.jsa.pending").exists()


def test_an_archive_of_a_server_that_had_crashed_is_not_kept(tmp_path: Path, marker: Path) -> None:
    """Nobody knows how far it came."""
    spec = spec_of(tmp_path, archive=tmp_path / "classes.jsa")
    (tmp_path / "classes.jsa.pending").write_text("half")
    entry = ready(started(spec, marker))
    os.kill(entry.pid, signal.SIGKILL)
    wait_until(lambda: not entry.alive)
    stop([entry])
    assert not (tmp_path / "classes.jsa").exists()


def test_a_process_that_vanishes_while_it_is_waited_for_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else may reap it between two looks at it."""
    process = psutil.Process()

    def vanished() -> str:
        raise psutil.NoSuchProcess(process.pid)

    monkeypatch.setattr(process, "status", vanished)
    started_s = time.monotonic()
    server.wait_for_end(process, 100.0)
    assert time.monotonic() - started_s < 10
