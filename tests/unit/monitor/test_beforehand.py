"""A look at the machine before a measurement: other programs, and the busiest of them."""

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from lab.cli.beforehand import others_text
from lab.monitor.beforehand import Others, Program, look
from tests.unit.messages import MakeMessage


class Programs:
    """Says, look by look, what other programs have used of the cores."""

    def __init__(self, *percents: float | None) -> None:
        self.percents = list(percents)

    def read(self, _: object) -> float | None:
        """The next one."""
        return self.percents.pop(0)


def a_process(pid: int, name: str, cpu_s: float) -> Any:
    """A process that has used so much."""
    times = SimpleNamespace(user=cpu_s - 1, system=1.0)
    return SimpleNamespace(pid=pid, name=lambda: name, cpu_times=lambda: times)


def gone() -> Any:
    """A process that has ended between the list and the look at it."""

    def ended() -> None:
        raise psutil.NoSuchProcess(7)

    return SimpleNamespace(pid=7, name=lambda: "gone", cpu_times=ended)


def looked(programs: Programs, *lists: list[Any]) -> Others | None:
    """A look of 2 s that takes none."""
    listed: Iterator[list[Any]] = iter(lists)
    return look(2.0, programs=programs, listed=lambda: iter(next(listed)), sleep=lambda _: None)  # type: ignore[arg-type]


def test_the_busiest_program_is_that_with_the_most_cpu_meanwhile() -> None:
    """Not the one that has used most before, nor one that came or went, nor this process."""
    before = [a_process(11, "java", 1000.0), a_process(13, "build", 5.0), a_process(os.getpid(), "sluice", 1.0), gone()]
    after = [
        a_process(11, "java", 1000.2),
        a_process(13, "build", 6.5),
        a_process(os.getpid(), "sluice", 9.0),
        a_process(17, "new", 1.9),
    ]
    assert looked(Programs(None, 62.0), before, after) == Others(62.0, Program("build", 13, 0.75))


def test_a_look_that_tells_nothing_says_nothing() -> None:
    """Where no time has passed, or no program is seen from here."""
    assert looked(Programs(None, None), [], []) is None
    assert looked(Programs(None, 31.0), [], []) == Others(31.0, None)


@pytest.mark.parametrize(
    ("seen", "facts"),
    [
        (None, ()),
        (Others(10.0, Program("java", 11, 0.2)), ()),
        (Others(62.0, Program("java", 11, 1.2)), (62, "java", 11, 1.2, "--duets", "to stop java")),
        (Others(62.0, Program("java", 11, 0.05)), (62, "--duets")),
        (Others(62.0, None), (62, "--duets")),
    ],
    ids=["nothing seen", "as much as a run may lose", "one program", "many small ones", "none that is seen"],
)
def test_other_programs_are_told_where_they_take_more_than_a_run_may_lose(
    seen: Others | None, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """With what helps."""
    assert others_text(seen, ("--duets", "more --minutes")) == (message(*facts) if facts else "")
