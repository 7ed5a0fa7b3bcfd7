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
        pytest.param([], 3 * (30 + 40 + 50), id="nothing has run: all of it, and the first of each kind"),
        pytest.param([a_run("static", 70)], 2 * (30 + 70 + 50) + 80, id="a warm-up tells how long, and is not done"),
        pytest.param([a_run("flat", 9, block=1)], 3 * (30 + 40) + 9, id="a run that counts is a part done"),
        pytest.param(
            [a_run("flat", 9), a_run("flat", 10), a_run("flat", 90)], 3 * (30 + 40) + 20, id="one slow run is no rule"
        ),
        pytest.param([a_run("flat", 9, block=1, status="void")], 3 * (30 + 40) + 100, id="a failed run is repeated"),
        pytest.param(
            [a_run("flat", 9, block=1, attempt=number, status="void") for number in (1, 2)],
            3 * (30 + 40) + 50,
            id="but not for ever",
        ),
        pytest.param(
            [a_run("flat", 9, block=1, status="void"), a_run("flat", 60, block=1, attempt=2)],
            3 * (30 + 40) + 60,
            id="one that failed at once tells nothing of a good one",
        ),
        pytest.param([a_run("flat", 90, block=1, status="void")], 3 * (30 + 40) + 180, id="the next may wait as long"),
    ],
)
def test_what_is_left_is_told_from_what_each_variant_takes(ended: list[SuiteRun], left_s: float) -> None:
    """Variants differ in length by far, and warm-up drains are done once: neither may be spread over the rest."""
    assert seconds_left(a_plan(), ended, EXPECTED) == left_s


def test_making_a_kept_index_tells_nothing_of_the_runs_that_read_it() -> None:
    """It takes minutes once for each layout, and they seconds."""
    plan = a_plan()
    kept = plan.model_copy(
        update={
            "variants": tuple(
                variant.model_copy(update={"layout": "one", "kind": "one", "documents": 120_000})
                for variant in plan.variants
            )
        }
    )

    assert seconds_left(kept, [], EXPECTED) == 2 * (30 + 40 + 50) + (30 + 10 + 10)
    assert seconds_left(kept, [a_run("static", 700)], EXPECTED) == 2 * (30 + 40 + 50)


def test_after_an_interruption_each_kind_has_a_first_run_again() -> None:
    """The servers are others, and cold."""
    ended = [a_run(name, 10) for name in EXPECTED]

    assert seconds_left(a_plan(), ended, EXPECTED) == 2 * (10 + 10 + 10)
    assert seconds_left(a_plan(), ended, EXPECTED, earlier=3) == 3 * (10 + 10 + 10)
