"""What a run shows while it works: whole figures at any width, in a terminal that is left as it was found."""

import os
import subprocess
import sys
from collections.abc import Callable
from io import StringIO

import pytest
from rich.console import Console

from lab import display
from lab.analysis.text import NARROW_SPACE
from lab.console import PipeProofConsole, by_reason
from lab.display import RunDisplay, StackDisplay
from tests.unit.messages import MakeMessage

DOCUMENTS = 1_000_003


class Clock:
    """A clock that a test turns."""

    now_s = 1009.0

    def __call__(self) -> float:
        """The time."""
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    """The clock of the display."""
    return Clock()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Callable[[int], PipeProofConsole]:
    """Makes the terminal of the display, so many columns wide."""

    def make(columns: int) -> PipeProofConsole:
        console = PipeProofConsole(width=columns, file=StringIO(), force_terminal=True, color_system=None)
        console.get_time = clock
        monkeypatch.setattr(display, "console", console)
        return console

    return make


def lines_of(console: PipeProofConsole, lines: display.LiveLines) -> list[str]:
    """What the lines look like now, without the sign before each."""
    paper = Console(width=console.width, file=StringIO())
    with paper.capture() as captured:
        paper.print(lines.get_renderable())
    return [line[2:].rstrip().replace(NARROW_SPACE, " ") for line in captured.get().splitlines()]


@pytest.mark.parametrize(
    ("columns", "facts"),
    [
        (60, ("load", 50, 11, "52,632")),
        (80, ("load", 50, 11, "52,632", "500,003", 10)),
        (120, ("load", "━" * 24, 50, 11, "52,632", "500,003", 10)),
    ],
)
def test_a_step_shows_whole_figures_or_none(
    terminal: Callable[[int], PipeProofConsole],
    clock: Clock,
    columns: int,
    facts: tuple[object, ...],
    message: MakeMessage,
) -> None:
    """What does not fit is left out; times say whether they are over or still to come; what is done only took."""
    console = terminal(columns)
    shown = RunDisplay()
    shown.begin("fill", "filling the topic", DOCUMENTS)
    clock.now_s += 133
    shown.begin("load", "indexing", DOCUMENTS)
    for second in range(11):
        shown.update(second * 50_000, f"52,632/s indexed, lag {DOCUMENTS - second * 50_000:,}")
        clock.now_s += second < 10
    assert lines_of(console, shown._progress) == [message("fill", 2, 13), message(*facts)]


def test_a_step_that_is_not_counted_shows_its_time(
    terminal: Callable[[int], PipeProofConsole], clock: Clock, message: MakeMessage
) -> None:
    """Neither a share nor a rate of nothing; nothing is said twice."""
    console = terminal(80)
    shown = RunDisplay()
    shown.begin("settle", "waiting for merges", None)
    clock.now_s += 3
    shown.update(0, "2 merges under way")
    assert lines_of(console, shown._progress) == [
        message("settle", 2, 3)
    ]  # fmt: skip
    shown.update(0, "waiting for merges")
    assert lines_of(console, shown._progress) == [message("settle", 3)]


@pytest.mark.parametrize(
    ("columns", "facts"),
    [
        (60, (2, 3, 9)),
        (80, (2, 3, 9, 12)),
    ],
)
def test_a_run_of_many_shows_which_it_is_and_its_present_step_alone(
    terminal: Callable[[int], PipeProofConsole],
    clock: Clock,
    columns: int,
    facts: tuple[object, ...],
    message: MakeMessage,
) -> None:
    """What is done is not worth a line; nothing stays when the run has ended."""
    console = terminal(columns)
    shown = RunDisplay(("block 2: two shards", "3 of 9 done, about 2 min left"))
    with shown.showing():
        shown.begin("fill", "filling the topic", DOCUMENTS)
        clock.now_s += 9
        shown.begin("settle", "waiting for merges", None)
        clock.now_s += 3
        assert lines_of(console, shown._progress) == [message(*facts), message("settle", 3)]
    assert shown._progress.live.transient


def test_a_server_has_one_line(terminal: Callable[[int], PipeProofConsole], clock: Clock) -> None:
    """While it starts; then it is said once that it is ready."""
    console = terminal(60)
    shown = StackDisplay()
    for name in ("kafka", "elasticsearch-1"):
        shown.step(name, "starting")
    clock.now_s += 7
    shown.step("kafka", "ready")
    assert lines_of(console, shown._servers) == ["elasticsearch-1: starting  7 s elapsed"]
    shown._show(None)


def test_downloads_say_how_much_is_left(
    terminal: Callable[[int], PipeProofConsole], clock: Clock, message: MakeMessage
) -> None:
    """In MB."""
    console = terminal(60)
    shown = StackDisplay()
    for megabyte in range(0, 401, 100):
        shown.fetching(megabyte * 1_000_000, 1_201_000_000)
        clock.now_s += 1
    text = lines_of(console, shown._fetching)
    shown._show(None)
    assert text == [message(33, 9, 100, "MB/s", 5)]


def test_without_a_terminal_servers_leave_no_blank_lines(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """What is fetched, and what is ready."""
    console = PipeProofConsole(width=80)
    console.get_time = clock
    monkeypatch.setattr(display, "console", console)
    shown = StackDisplay()
    with shown.showing():
        shown.fetching(0, 160_000_000)
        shown.fetching(160_000_000, 160_000_000)
        shown.step("kafka", "starting")
        clock.now_s += 7
        shown.step("kafka", "ready")
    assert capsys.readouterr().out.replace(NARROW_SPACE, " ").splitlines() == [message(160), message(7)]


def test_what_is_typed_is_hidden_while_lines_are_shown_and_only_then() -> None:
    """It would tear them; an interrupt brings it back."""
    program = """if True:
        import fcntl, termios
        from lab.display import LiveLines
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        def echoes(): return bool(termios.tcgetattr(0)[3] & termios.ECHO)
        seen = [echoes()]
        try:
            with LiveLines():
                seen.append(echoes())
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            print(*seen, echoes())
    """
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=theirs,
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    for end in (ours, theirs):
        os.close(end)
    assert done.stdout.split() == ["True", "False", "True"]


def test_a_command_ends_as_it_would_when_nobody_reads_on() -> None:
    """Neither `head` nor a closed terminal turns its exit status into another one."""
    program = """if True:
        import sys
        from lab.console import print_json
        from lab.display import console
        print_json("book " * 50_003)
        for _ in range(3):
            console.print("book " * 50_003)
        print_json("book " * 50_003)
        sys.exit(4)
    """
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-c", program], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (4, b"")


def test_a_help_that_nobody_reads_is_no_failure() -> None:
    """`./sluice --help | head` ends like a help that was read to its end."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "lab.cli", "--help"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reason_that_several_share_is_said_once() -> None:
    """In the order in which the reasons come; what else has a reason of its own keeps it."""
    left_out = (("tasks=2", "too many"), ("rsyslog", "not installed"), ("tasks=4", "too many"))

    assert list(by_reason(left_out)) == [("tasks=2, tasks=4", "too many"), ("rsyslog", "not installed")]
