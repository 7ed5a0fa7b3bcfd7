"""How `sluice test` runs its checks."""

import os

import pytest

from lab.cli.suite_of_tests import Check, side_by_side


def check(name: str, code: str) -> Check:
    """A check that is a line of Python."""
    return Check(name, ("-c", code))


def test_checks_run_at_the_same_time(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each waits for what the other one does, which would never come of one after the other."""
    folder = tmp_path_factory.mktemp("seen")
    code = (
        "import pathlib, time\n"
        f"mine, other = pathlib.Path({str(folder)!r}, '{{}}'), pathlib.Path({str(folder)!r}, '{{}}')\n"
        "mine.touch()\n"
        "while not other.exists(): time.sleep(0.01)"
    )
    outcomes = side_by_side([check("one", code.format("a", "b")), check("two", code.format("b", "a"))], os.environ)
    assert [(outcome.name, outcome.status) for outcome in outcomes] == [("one", 0), ("two", 0)]


def test_each_check_keeps_its_status_and_what_it_says(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """What the second one prints is not mixed into what the first one prints."""
    outcomes = side_by_side(
        [check("one", "print('first', flush=True)"), check("two", "print('second'); raise SystemExit(3)")], os.environ
    )
    assert [outcome.status for outcome in outcomes] == [0, 3]
    said = capfdbinary.readouterr().out
    assert said.index(b"first") < said.index(b"second")
