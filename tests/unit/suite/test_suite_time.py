"""How long a suite still takes, as it tells while it runs."""

import pytest

from lab.records.suite import SuiteRun
from lab.suite.plan import seconds_left
from tests.unit.suite.test_suite_execution import a_plan

EXPECTED = {"control": 30.0, "static": 40.0, "flat": 50.0}


def a_run(variant: str, seconds: float, *, block: int = 0, attempt: int = 1, status: str = "verified") -> SuiteRun:
    """A run that took so long; one of block 0 does not count."""
    return SuiteRun.model_validate(
        {
            "block": block,
            "variant": variant,
            "attempt": attempt,
            "folder": None,
            "status": status,
            "warm_up": block == 0,
            "started_s": 1000.0,
            "ended_s": 1000.0 + seconds,
        }
    )


@pytest.mark.parametrize(
    ("ended", "left_s"),
    [
        pytest.param([], 2 * (30 + 40 + 50), id="nothing has run: all of it, as expected"),
        pytest.param([a_run("static", 70)], 2 * (30 + 70 + 50), id="a warm-up tells how long, and is not done"),
        pytest.param([a_run("flat", 9, block=1)], 2 * (30 + 40) + 9, id="a run that counts is a part done"),
        pytest.param(
            [a_run("flat", 9), a_run("flat", 10), a_run("flat", 90)], 2 * (30 + 40 + 10), id="one slow run is no rule"
        ),
        pytest.param([a_run("flat", 9, block=1, status="void")], 2 * (30 + 40 + 9), id="a failed run is repeated"),
        pytest.param(
            [a_run("flat", 9, block=1, attempt=number, status="void") for number in (1, 2)],
            2 * (30 + 40) + 9,
            id="but not for ever",
        ),
    ],
)
def test_what_is_left_is_told_from_what_each_variant_takes(ended: list[SuiteRun], left_s: float) -> None:
    """Variants differ in length by far, and warm-up drains are done once: neither may be spread over the rest."""
    assert seconds_left(a_plan(), ended, EXPECTED) == left_s
