"""Commands that the page runs for a browser: real processes, started and stopped."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
import tempfile
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
from tests.unit.messages import MakeMessage
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


def test_one_command_runs_at_a_time(
    running: RunningCommand, program: Callable[[str], None], message: MakeMessage
) -> None:
    """The second is refused while the first works, and not after."""
    program(WAITS)
    running.begin(("run", "quickstart"))
    with pytest.raises(BusyError) as refusal:
        running.begin(("run", "quickstart"))
    assert str(refusal.value) == message("./sluice run")
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
        told.append(asyncio.run(answer_of(starter, ("compare",))))
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


def test_who_asks_a_page_that_has_ended_does_not_wait_for_ever(message: MakeMessage) -> None:
    """Its process would not end either."""
    starter = Starter()
    starter.end()
    starter.serve()
    with pytest.raises(StackError) as error:
        starter(lambda: 7)
    assert str(error.value) == message()


def test_a_run_of_another_terminal_is_stopped_by_pid_and_start(
    running: RunningCommand, program: Callable[[str], None], message: MakeMessage
) -> None:
    """Not whoever has its pid by now."""
    program(WAITS)
    running.begin(("run", "quickstart"))
    wait_until(lambda: view(running)["said"] == ["begun"])
    assert running._process is not None
    pid = running._process.pid
    with pytest.raises(StackError) as refusal:
        stop_run(progress(identity=replace(identity_of(pid), start_ticks=7)))
    assert str(refusal.value) == message(pid=pid)
    assert running.is_running
    stop_run(progress(identity=identity_of(pid)))
    wait_until(lambda: not running.is_running)


def test_a_command_that_cannot_be_started_leaves_what_is_told_of_the_one_before(
    running: RunningCommand, program: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, or no memory for a process; the next one starts."""
    program(REFUSED)
    running.begin(("run", "quickstart"))
    wait_until(lambda: not running.is_running)
    before = view(running)
    for name in ("output_file", "sluice"):
        with monkeypatch.context() as full:
            full.setattr(commands, name, no_space)
            with pytest.raises(OSError, match="No space left"):
                running.begin(("suite", "a-a"))
        assert view(running) == before
    running.begin(("suite", "a-a"))
    assert view(running)["command"] == "./sluice suite a-a"


def no_space(*_: object) -> Any:
    """A disk that is full."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_a_command_says_is_on_no_disk(
    running: RunningCommand, program: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where temporary files would lie."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    program(REFUSED)
    running.begin(("run", "quickstart"))
    wait_until(lambda: view(running)["said"] == ["sluice: no such profile"])


@pytest.mark.parametrize("is_begun", [True, False])
def test_a_short_command_ends_when_nobody_waits_for_it(program: Callable[[str], None], *, is_begun: bool) -> None:
    """Also where it is only begun afterwards; it leaves no process behind."""
    program(WAITS)
    processes: list[subprocess.Popen[bytes]] = []
    may_begin, has_begun = threading.Event(), threading.Event()

    def start(begin: Callable[[], Any]) -> Any:
        assert may_begin.wait(WITHIN_S)
        processes.append(begin())
        has_begun.set()
        return processes[0]

    async def leave() -> None:
        waiting = asyncio.create_task(answer_of(start, ("compare",)))
        await asyncio.sleep(0)
        if is_begun:
            may_begin.set()
            await asyncio.to_thread(has_begun.wait, WITHIN_S)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        may_begin.set()
        await asyncio.to_thread(has_begun.wait, WITHIN_S)

    asyncio.run(leave())
    wait_until(lambda: processes[0].poll() is not None)
    assert processes[0].returncode == -signal.SIGKILL


def test_a_short_command_that_takes_too_long_is_given_up(program: Callable[[str], None], message: MakeMessage) -> None:
    """With a sentence that says how long it had: several share a minute."""
    program(WAITS)
    with pytest.raises(StackError) as error:
        asyncio.run(answer_of(lambda start: start(), ("compare",), within_s=0.3))
    assert str(error.value) == message("./sluice compare", "0.3 s")


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
