"""A pipeline as a child process: started, watched, stopped with all that it has started."""

import sys
import time
from pathlib import Path

import psutil
import pytest

from lab.errors import ProfileError, StackError
from lab.program import Program
from lab.run.load.command import filled_command
from tests.unit.messages import MakeMessage

VALUES = {"topic": "sluice-books-1", "group": "connect-sluice-books-1"}
PATIENCE_S = 30.0


def pipeline(folder: Path, *command: str, **environment: str) -> Program:
    """A command that logs into the folder."""
    return Program(
        command,
        log=folder / "sink.log",
        folder=folder,
        environment=environment,
        name=f"sink.command: {command[0]}",
        clock=lambda: 1009.0,
    )


def logged(folder: Path, text: str) -> str:
    """The log, once it holds the text."""
    deadline = time.monotonic() + PATIENCE_S
    while text not in (log := (folder / "sink.log").read_text()) and time.monotonic() < deadline:
        pass
    return log


def ended(sink: Program) -> None:
    """Look until the command is seen to have ended."""
    deadline = time.monotonic() + PATIENCE_S
    while sink.ended_s is None and time.monotonic() < deadline:
        sink.check()


def test_placeholders_are_filled_in() -> None:
    """Two dollar signs are one."""
    words = ["pipe", "--from=${topic}", "$group", "$$HOME"]
    assert filled_command(words, VALUES) == ["pipe", "--from=sluice-books-1", "connect-sluice-books-1", "$HOME"]


def test_an_unknown_placeholder_names_those_that_there_are(message: MakeMessage) -> None:
    """Nothing has been started."""
    with pytest.raises(ProfileError) as caught:
        filled_command(["${topick}"], VALUES)
    assert str(caught.value) == message("sink.command")


def test_a_dollar_sign_that_begins_no_placeholder_is_told_by_its_word(message: MakeMessage) -> None:
    """As in a line for a shell; the word itself may hold a password."""
    with pytest.raises(ProfileError) as caught:
        filled_command(["sh", "exec $@ hunter5"], VALUES)
    assert str(caught.value) == message("sink.command", 2, "$$")


def test_it_runs_in_its_folder_with_its_environment_and_ends_by_itself(tmp_path: Path) -> None:
    """An end without an error is an end, and when it was seen is kept."""
    sink = pipeline(tmp_path, "sh", "-c", "pwd; echo $MARK", MARK="found-by-this")
    sink.start()
    ended(sink)
    assert (sink.ended_s, (tmp_path / "sink.log").read_text()) == (1009.0, f"{tmp_path}\nfound-by-this\n")
    sink.stop()


def test_a_program_that_is_not_there_is_one_sentence(tmp_path: Path, message: MakeMessage) -> None:
    """Its name and the system's words."""
    with pytest.raises(StackError) as caught:
        pipeline(tmp_path, "no-such-pipeline").start()
    assert str(caught.value) == message("sink.command")


def test_a_command_that_fails_is_reported_with_what_it_said_last(tmp_path: Path, message: MakeMessage) -> None:
    """The run ends there: what it would have measured is not a pipeline."""
    sink = pipeline(tmp_path, "sh", "-c", "echo no broker; exit 7")
    sink.start()
    with pytest.raises(StackError) as caught:
        ended(sink)
    assert str(caught.value) == message("sink.command", 7, f"{tmp_path}/sink.log")
    assert caught.value.log_lines == ("no broker",)
    sink.stop()


def test_whatever_it_has_started_is_stopped_with_it(tmp_path: Path) -> None:
    """Also what does not listen to a request to end."""
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(997)"
    sink = pipeline(tmp_path, "sh", "-c", f'{sys.executable} -c "{stubborn}"; true')
    shell = psutil.Process(sink.start())
    logged(tmp_path, "up")
    (below,) = shell.children()

    sink.stop(grace_s=0.3)

    assert not below.is_running() or below.status() == psutil.STATUS_ZOMBIE
    assert not psutil.pid_exists(shell.pid) or shell.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("ending", ["wait", "exit 4"])
def test_what_has_left_its_session_is_stopped_with_it(tmp_path: Path, ending: str) -> None:
    """Also when its parent has ended long before."""
    sink = pipeline(tmp_path, "sh", "-c", f"setsid sh -c 'echo $$; exec sleep 997' & {ending}")
    sink.start()
    outside = psutil.Process(int(logged(tmp_path, "\n")))

    sink.stop()

    assert not outside.is_running() or outside.status() == psutil.STATUS_ZOMBIE


def test_what_another_program_has_started_goes_on(tmp_path: Path) -> None:
    """Each stops its own."""
    one, other = (pipeline(tmp_path, "sleep", "997") for _ in "ab")
    one.start()
    left = psutil.Process(other.start())
    one.stop()
    assert left.is_running()
    other.stop()


def test_stopping_what_was_never_started_does_nothing(tmp_path: Path) -> None:
    """A run may end before its load."""
    pipeline(tmp_path, "cat").stop()
    assert list(tmp_path.iterdir()) == []
