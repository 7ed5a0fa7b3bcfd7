"""Commands that the page runs for a browser: real processes, started and stopped."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.errors import StackError
from lab.identity import identity_of
from lab.page import commands
from lab.page.commands import BusyError, RunningCommand, Starter, answer_of, refusal_in, stop_run
from tests.unit.page.run_folders import progress

WAITS = "import signal, sys; signal.signal(15, lambda *_: sys.exit(130)); print('begun', flush=True); signal.pause()"
REFUSED = "import sys; print('sluice: no such profile', file=sys.stderr); sys.exit(2)"
WITHIN_S = 20.0


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a program in Python what every command of ours is."""

    def replace(text: str) -> None:
        monkeypatch.setattr(
            commands, "sluice", lambda arguments: ([sys.executable, "-c", text, *arguments], dict(os.environ))
        )

    return replace


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningCommand]:
    """A command that does not outlive its test."""
    command = RunningCommand(lambda start: start(), tmp_path)
    yield command
    command.stop(wait=True)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return once it is so."""
    ends_s = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < ends_s
        threading.Event().wait(0.01)


def view(command: RunningCommand) -> dict[str, Any]:
    """What is told of the command."""
    seen = command.view()
    assert seen is not None
    return seen


def test_a_command_runs_until_it_is_stopped(running: RunningCommand, program: Callable[[str], None]) -> None:
    """It is asked to end as Ctrl-C would ask it, and says what it has said."""
    program(WAITS)
    assert running.view() is None
    running.begin(("run", "quickstart"))
    wait_until(lambda: view(running)["said"] == ["begun"])
    assert view(running) == {
        "command": "./sluice run quickstart",
        "running": True,
        "exit_status": None,
        "said": ["begun"],
    }
    assert running.stop()
    wait_until(lambda: not running.is_running)
    assert view(running)["exit_status"] == 130
    assert not running.stop()


def test_one_command_runs_at_a_time(running: RunningCommand, program: Callable[[str], None]) -> None:
    """The second is refused while the first works, and not after."""
    program(WAITS)
    running.begin(("run", "quickstart"))
    with pytest.raises(BusyError) as refusal:
        running.begin(("run", "quickstart"))
    assert str(refusal.value) == "./sluice run quickstart: has not ended; stop it first"
    running.stop(wait=True)
    running.begin(("suite", "a-a"))
    assert view(running)["command"] == "./sluice suite a-a"


def test_a_refusal_is_what_was_said_last(running: RunningCommand, program: Callable[[str], None]) -> None:
    """With the exit status."""
    program(REFUSED)
    running.begin(("run", "quickstart"))
    wait_until(lambda: not running.is_running)
    assert (view(running)["exit_status"], view(running)["said"]) == (2, ["sluice: no such profile"])


def test_processes_are_started_with_the_priority_of_the_thread_that_serves(program: Callable[[str], None]) -> None:
    """Not with that of a server which has made way: the figures of a run would be another's."""
    program("import os; print(os.getpriority(os.PRIO_PROCESS, 0))")
    starter, told = Starter(), []

    def work() -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + 3)
        told.append(answer_of(starter, ("compare",)))
        starter.end()

    before = os.getpriority(os.PRIO_PROCESS, 0)
    thread = threading.Thread(target=work)
    thread.start()
    starter.serve()
    thread.join(WITHIN_S)
    assert told == [(0, f"{before}\n", "")]


def test_what_cannot_be_started_is_an_error_of_whoever_asked() -> None:
    """The thread that starts goes on."""
    starter = Starter()
    thread = threading.Thread(target=starter.serve)
    thread.start()

    def fail() -> None:
        raise FileNotFoundError("no python")

    with pytest.raises(FileNotFoundError, match="no python"):
        starter(fail)
    assert starter(lambda: 7) == 7
    starter.end()
    thread.join(WITHIN_S)
    assert not thread.is_alive()


def test_a_run_of_another_terminal_is_stopped_by_pid_and_start(
    running: RunningCommand, program: Callable[[str], None]
) -> None:
    """Not whoever has its pid by now."""
    program(WAITS)
    running.begin(("run", "quickstart"))
    wait_until(lambda: view(running)["said"] == ["begun"])
    assert running._process is not None
    pid = running._process.pid
    with pytest.raises(StackError) as refusal:
        stop_run(progress(identity=replace(identity_of(pid), start_ticks=7)))
    assert str(refusal.value) == f"process {pid}: has ended"
    assert running.is_running
    stop_run(progress(identity=identity_of(pid)))
    wait_until(lambda: not running.is_running)


@pytest.mark.parametrize(
    ("errors", "sentence"),
    [
        ("  a log line\nsluice: a and b: cannot be compared\n", "a and b: cannot be compared"),
        ("sluice: first\nsecond\n", "first\nsecond"),
        ("Killed\n", "Killed"),
        ("", "the command failed without a word"),
    ],
)
def test_the_refusal_of_a_command_is_its_sentence(errors: str, sentence: str) -> None:
    """Without the name that is printed before it."""
    assert refusal_in(errors) == sentence
