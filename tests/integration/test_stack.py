"""The servers' lives: started, found again, stopped, whatever becomes of the command that started them."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import psutil
import pytest

from lab.stack.jdk import JVM_OPTIONS
from lab.stack.shape import StackShape
from tests.integration.conftest import CAN_CUT_OFF, OFFLINE, Sluice

PATIENCE_S = 120
INTERRUPTED = 130


def wait_for_processes(sluice: Sluice, count: int) -> None:
    """Return when so many server processes are there."""
    deadline = time.monotonic() + PATIENCE_S
    while len(sluice.processes()) < count:
        assert time.monotonic() < deadline, "the servers did not appear"
        time.sleep(0.05)


def wait_for_output(command: subprocess.Popen[str], text: str) -> None:
    """Return when the command has printed the text."""
    assert command.stdout is not None
    for line in command.stdout:
        if text in line:
            return
    raise AssertionError(f"the command ended without printing {text}")


def still_at_work(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended within ten seconds; one that only waits for its exit status to be read has."""
    deadline = time.monotonic() + 10
    while left := [process for process in processes if is_at_work(process)]:
        if time.monotonic() > deadline:
            return left
        time.sleep(0.05)
    return []


def is_at_work(process: psutil.Process) -> bool:
    """Whether the process runs."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextlib.contextmanager
def listening() -> Iterator[int]:
    """A port that is taken, by this process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


def test_an_interrupt_while_servers_start_leaves_none_behind(own_sluice: Sluice) -> None:
    """Ctrl-C when some processes have appeared, and others have not, ends with none of them."""
    command = own_sluice.start("run", "quickstart", "--documents", "2003", "--runs", str(own_sluice.runs))
    wait_for_processes(own_sluice, 2)

    command.send_signal(signal.SIGINT)
    output, _ = command.communicate(timeout=PATIENCE_S)

    assert command.returncode == INTERRUPTED, output
    assert "Traceback" not in output
    assert own_sluice.processes() == []


def test_an_interrupt_during_the_load_leaves_nothing_behind(own_sluice: Sluice) -> None:
    """Ctrl-C in the middle of a stream stops producers and servers."""
    command = own_sluice.start(
        "run", "quickstart", "--documents", "100003", "--rate", "1000", "--runs", str(own_sluice.runs)
    )
    wait_for_output(command, "load: streaming")
    children = psutil.Process(command.pid).children(recursive=True)

    command.send_signal(signal.SIGINT)
    output, _ = command.communicate(timeout=PATIENCE_S)

    assert command.returncode == INTERRUPTED, output
    assert own_sluice.processes() == []
    assert still_at_work(children) == []


def test_down_finds_the_servers_of_a_command_that_was_killed(own_sluice: Sluice) -> None:
    """After kill -9 of the command, `down` stops every server, the producers have ended, and `clean` removes all."""
    assert own_sluice("status").status == 3
    command = own_sluice.start(
        "run", "quickstart", "--documents", "100003", "--rate", "1000", "--runs", str(own_sluice.runs)
    )
    wait_for_output(command, "load: streaming")
    children = psutil.Process(command.pid).children(recursive=True)
    os.killpg(command.pid, signal.SIGKILL)
    command.wait()
    assert own_sluice.processes() != []

    done = own_sluice("down")

    assert (done.status, done.errors, own_sluice.processes()) == (0, "", [])
    assert "3 servers stopped" in done.output
    assert still_at_work(children) == []
    assert own_sluice("down").output.strip() == "no servers were running"
    assert (own_sluice("clean").status, own_sluice.state.exists()) == (0, False)


def test_up_status_logs_and_restart_agree(sluice: Sluice) -> None:
    """What `up` has started, `status` shows as ready, `logs` can read, and a second `up` leaves alone."""
    sluice.stack.ensure(StackShape(), kept=True)
    pids = sluice.stack.process_ids()
    assert set(pids) == {"elasticsearch-1", "kafka", "connect"}

    status = sluice("status")
    assert (status.status, status.output.count(" ready ")) == (0, 3)
    for server in pids:
        logs = sluice("logs", server, "--lines", "5")
        assert (logs.status, len(logs.output.splitlines())) == (0, 5)
    assert sluice("up").output.splitlines()[-4:] == sluice.begun.output.splitlines()[-4:]
    assert sluice.stack.process_ids() == pids

    os.kill(pids["kafka"], signal.SIGKILL)
    broken = sluice("status")
    assert (broken.status, "dead" in broken.output) == (3, True)
    assert sluice("restart", "kafka").status == 0
    assert sluice("status").status == 0


def test_a_port_that_is_taken_is_one_sentence(own_sluice: Sluice) -> None:
    """It names the port, what it was for and who has it; nothing is left running."""
    with listening() as port:
        done = own_sluice("up", "--elasticsearch-port", str(port))

    assert done.status == 3
    assert done.errors == (
        f"sluice: port {port}: requested for elasticsearch-1.http, but in use by process {os.getpid()} "
        f"({psutil.Process().name()}); free the port or choose another\n"
    )
    assert own_sluice.processes() == []


def test_a_server_that_dies_while_starting_is_one_sentence_with_its_last_log_lines(
    own_sluice: Sluice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are stopped, and what the dying server said comes before the sentence."""
    monkeypatch.setenv(JVM_OPTIONS, "-XX:+NoSuchOption")

    done = own_sluice("up")

    assert done.status == 3
    assert "NoSuchOption" in done.errors
    assert re.match("sluice: (elasticsearch-1|kafka|connect): ended with exit status ", done.errors.splitlines()[-1])
    assert own_sluice.processes() == []


def test_doctor_finds_everything_that_the_tests_need_without_a_network(own_sluice: Sluice) -> None:
    """On a machine where the tests run nothing essential is missing, and nothing is left to be fetched."""
    done = own_sluice("doctor", through=OFFLINE if CAN_CUT_OFF else ())

    assert (done.status, done.errors) == (0, "")
    assert "runs on JDK" in done.output
    assert "and Kafka work offline" in " ".join(done.output.split())
