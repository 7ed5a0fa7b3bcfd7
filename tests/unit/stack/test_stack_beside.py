"""Servers that run beside others, as a suite's two versions do, belong to the same state folder."""

from pathlib import Path

import pytest

from lab.stack.groups import ServerGroups
from lab.stack.local import LocalStack
from tests.unit.stack.three_servers import ALL, Wanted, owned_by, pids, strays


@pytest.fixture
def other(stack: LocalStack, wanted: Wanted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalStack:
    """A second set of the same servers, running beside the first."""
    made = stack.beside(1)
    monkeypatch.setattr(made, "_specs", wanted.answer)
    made.groups = ServerGroups(made.folder, tmp_path / "cgroup")
    stack.ensure(ALL, kept=False)
    made.ensure(ALL, kept=False)
    return made


def test_both_run_at_the_same_time(stack: LocalStack, other: LocalStack) -> None:
    """Under the same names; to bring one of them into shape leaves the other alone."""
    before = pids(other)
    stack.ensure(ALL, kept=False)
    assert len({*pids(stack).values(), *before.values()}) == 6
    assert pids(other) == before


def test_who_stops_the_first_stops_the_others(stack: LocalStack, other: LocalStack) -> None:
    """And counts them; nothing of them is left, their data included."""
    assert stack.stop() == 6
    assert (strays(stack), strays(other), other.folder.exists()) == ([], [], False)


def test_the_others_are_stopped_alone_where_the_first_stay(stack: LocalStack, other: LocalStack) -> None:
    """As at the end of a suite on servers that `up` has started."""
    before = pids(stack)
    assert stack.stop_beside() == 3
    assert (pids(stack), strays(other)) == (before, [])


def test_those_of_a_suite_that_was_killed_are_stopped(stack: LocalStack, other: LocalStack) -> None:
    """By the next command, whatever it wants of the first ones."""
    owned_by(other, 1, kept=False)
    before = pids(stack)
    stack.remove_leftovers()
    assert (pids(stack), strays(other)) == (before, [])
