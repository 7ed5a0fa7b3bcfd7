"""What long tests are told by options."""

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.endurance.conftest import documents_of_drain, minutes_of_soak, program


@pytest.mark.parametrize(("text", "minutes"), [("60", 60.0), ("7.5", 7.5)])
def test_a_soak_lasts_as_long_as_its_option_says(text: str, minutes: float) -> None:
    """In minutes."""
    assert minutes_of_soak(text) == minutes


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        (minutes_of_soak, "an hour", "5 minutes or more"),
        (minutes_of_soak, "4.9", "5 minutes or more"),
        (minutes_of_soak, "-60", "5 minutes or more"),
        (documents_of_drain, "1e7", "1000000 documents or more"),
        (documents_of_drain, "999999", "1000000 documents or more"),
        (program, "/no/such/metricbeat", "a program that can be run"),
    ],
)
def test_an_option_without_a_meaning_is_refused(option: Callable[[str], object], text: str, expected: str) -> None:
    """Before any server is started."""
    with pytest.raises(argparse.ArgumentTypeError, match=rf"^got {text}, expected {expected}$"):
        option(text)


def test_a_file_that_cannot_be_run_is_no_program(tmp_path: Path) -> None:
    """Such as the archive of one."""
    (tmp_path / "metricbeat").write_text("")
    with pytest.raises(argparse.ArgumentTypeError, match=r"expected a program that can be run$"):
        program(str(tmp_path / "metricbeat"))
