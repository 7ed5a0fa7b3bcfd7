"""The chart of a tune's report: what is not beaten in rate and size at once."""

import pytest

from lab.analysis.tune.charts import Place, pareto_chart, pareto_front
from lab.analysis.tune.goals import SIZE, parsed_goal
from lab.records.suite import MetricKey
from lab.records.tune import Combination, Tried, TunePlan, TuneResult
from tests.unit.analysis.suite.made_effects import an_effect
from tests.unit.messages import MakeMessage

RATE = parsed_goal("rate").metric


def place(name: str, size: float, other: float) -> Place:
    """A combination with these ratios."""
    return Place(name, size, other, is_recommended=False)


PLACES = [
    place("start", 1.0, 1.0),
    place("smaller", 0.7, 0.9),
    place("larger", 1.1, 1.3),
    place("beaten", 1.05, 0.95),
    place("as large", 1.1, 1.2),
]


@pytest.mark.parametrize(
    ("more", "names"), [(True, ["smaller", "start", "larger"]), (False, ["smaller"])], ids=["rate", "latency"]
)
def test_the_front_is_what_no_other_beats_in_both(names: list[str], *, more: bool) -> None:
    """Of two as large the faster one; from the smallest to the fastest."""
    assert [each.name for each in pareto_front(PLACES, more_is_better=more)] == names


def tried(combination: Combination, size: float, rate: float) -> Tried:
    """A combination that ran."""

    def found(metric: MetricKey, ratio: float) -> object:
        return an_effect(" + ".join(combination), metric, (ratio * 0.98, ratio, ratio * 1.02), "higher")

    return Tried.model_construct(combination=combination, effects=(found(SIZE, size), found(RATE, rate)))


def test_each_combination_is_drawn_with_the_start(message: MakeMessage) -> None:
    """The front by name, for those who cannot see it, too; alone the start is no picture."""
    plan = TunePlan.model_construct(goal=parsed_goal("rate"))
    made = TuneResult.model_construct(
        plan=plan, recommended=("a=1",), tried=(tried(("a=1",), 1.02, 1.3), tried(("b=2",), 1.1, 0.9))
    )
    chart = pareto_chart(made)
    assert chart.title == "Indexing rate against size on disk"
    assert chart.summary == message("start (1.00, size 1.00)", "a=1 (1.30, size 1.02)")
    assert chart.svg is not None
    assert ">a=1<" in chart.svg
    assert pareto_chart(made.model_copy(update={"tried": ()})).svg is None
