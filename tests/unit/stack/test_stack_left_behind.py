"""What another command has left: servers, a state file, a lock, data."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from lab.errors import StackError
from lab.identity import identity_of
from lab.stack.local import LocalStack, StackState
from lab.stack.server import described, owner_word, stop
from tests.unit.stack.three_servers import ALL, owned_by, pids, strays
from tests.unit.stack.trivial_servers import spec_of, started


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


def test_a_state_without_servers_has_none() -> None:
    """An unknown name is not there."""
    assert StackState(kept=True, owner=identity_of()).server("kafka") is None


def test_what_a_killed_run_on_servers_elsewhere_has_started_is_stopped(stack: LocalStack, tmp_path: Path) -> None:
    """By the next command; what belongs to a run that lives is left alone."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    us = identity_of()
    assert us.start_ticks is not None
    owners = (str(ended.pid), f"{ended.pid}.7", f"{us.pid}.{us.start_ticks - 1}", owner_word(us), str(us.pid), "later")
    left = [
        started(spec_of(tmp_path, f"elasticsearch-{number}"), Path(f"{stack.folder}#{owner}"))
        for number, owner in enumerate(owners)
    ]
    stack.remove_orphans()
    assert [entry.alive for entry in left] == [False, False, False, True, True, True]
    stop(left)


def test_a_second_command_is_refused_and_told_who_is_at_work(marker: Path, tmp_path: Path) -> None:
    """Two runs on the same servers would spoil each other."""
    first, second = (LocalStack(marker, tmp_path / "cache") for _ in range(2))
    with first.exclusively(), pytest.raises(StackError) as refusal, second.exclusively():
        pass
    assert str(refusal.value) == (
        f"another sluice command (process {os.getpid()}) is using the servers of this checkout; wait for it or stop it"
    )


def test_a_command_is_told_by_its_words() -> None:
    """A number alone says nothing; what names a secret is hidden."""
    waiting = "print('begun', flush=True); input()"
    words = [waiting, "lab.cli", "run", "books", "--set", "sink.config.password=x"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", *words], **pipes) as command:  # type: ignore[call-overload]
        command.stdout.readline()
        text = described(str(command.pid))
        command.kill()
    assert text == f"process {command.pid}: run books --set 'sink.config.password=(hidden)'"
    assert described(str(command.pid)) == f"process {command.pid}"


def test_a_number_that_the_command_before_has_left_is_not_named(marker: Path, tmp_path: Path) -> None:
    """Whoever has the servers takes the lock first, and writes its number then."""
    first, second = (LocalStack(marker, tmp_path / "cache") for _ in range(2))
    with first.exclusively():
        (marker / "command.lock").write_text(f"{os.getpid()}.7")
        with pytest.raises(StackError, match=r"\(process unknown\)"), second.exclusively():
            pass


def test_the_servers_are_free_again_when_a_command_has_ended(marker: Path, tmp_path: Path) -> None:
    """However it ended."""
    stack = LocalStack(marker, tmp_path / "cache")
    with pytest.raises(KeyboardInterrupt), stack.exclusively():
        raise KeyboardInterrupt
    with stack.exclusively():
        assert (marker / "command.lock").read_text() == owner_word(identity_of())


def test_the_data_of_a_run_is_gone_when_the_next_begins(stack: LocalStack) -> None:
    """That of servers that `up` started is kept."""
    for kept in (False, True):
        folder = stack._data_folder(kept=kept)
        (folder / "old").write_text("")
    assert not (stack._data_folder(kept=False) / "old").exists()
    assert (stack._data_folder(kept=True) / "old").exists()


def test_a_node_that_a_killed_run_has_paused_goes_on(stack: LocalStack) -> None:
    """It would take connections and answer none."""
    stack.ensure(ALL, kept=True)
    node = psutil.Process(pids(stack)["elasticsearch-1"])
    node.suspend()
    stack.remove_leftovers()
    assert node.status() != psutil.STATUS_STOPPED
