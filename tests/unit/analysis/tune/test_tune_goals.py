"""What a tune may be asked for, and how it is refused."""

import pytest

from lab.analysis.tune.estimates import breaks, keeps
from lab.analysis.tune.goals import compared_metrics, parsed_bounds, parsed_goal
from lab.errors import ProfileError
from tests.unit.analysis.suite.made_effects import an_effect
from tests.unit.messages import MakeMessage

RATE = parsed_goal("rate")


@pytest.mark.parametrize(
    ("text", "metric", "more", "rate"),
    [
        ("rate", "indexing_rate_docs_per_s", True, None),
        ("cpu", "cpu_s_per_million_docs", False, None),
        ("size", "store_size_bytes", False, None),
        ("latency at 5000", "end_to_end_latency_ms_p99", False, "5000"),
        ("latency  at 70%", "end_to_end_latency_ms_p99", False, "70 %"),
    ],
)
def test_a_goal_is_a_figure_and_a_direction(text: str, metric: str, *, more: bool, rate: str | None) -> None:
    """A ratio above 1 is a gain of a rate, and a loss of all others."""
    goal = parsed_goal(text)
    assert (goal.metric.name, goal.more_is_better, goal.rate) == (metric, more, rate)
    assert goal.gain(2.0) == (2.0 if more else 0.5)
    assert compared_metrics(goal)[0] == goal.metric
    assert len(set(compared_metrics(goal))) == len(compared_metrics(goal)) >= 3


@pytest.mark.parametrize("text", ["", "speed", "latency", "latency 5000", "rate at 5000", "latency at"])
def test_another_goal_is_refused_with_those_that_there_are(text: str, message: MakeMessage) -> None:
    """Latency needs a rate: a drain has none that means anything."""
    with pytest.raises(ProfileError) as refusal:
        parsed_goal(text)
    assert str(refusal.value) == message("--goal", text, "latency at 5000")


def test_a_rate_that_is_none_is_refused(message: MakeMessage) -> None:
    """As `--rate` refuses it."""
    with pytest.raises(ProfileError) as error:
        parsed_goal("latency at fast")
    assert str(error.value) == message("--goal", "fast")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("size", ("size", "size<=1.1x")),
        ("sice<=1.1x", ("sice", "size")),
        ("size>=1.1x", ("size>=1.1x", "size<=1.1x")),
        ("size<=0x", ("size<=0x", 0)),
        ("rate>=1x", ("rate>=1x",)),
        ("latency<=1x", ("latency<=1x",)),
    ],
)
def test_a_bound_that_is_none_is_refused(text: str, facts: tuple[object, ...], message: MakeMessage) -> None:
    """One sentence: what was given, and what was expected."""
    with pytest.raises(ProfileError) as refusal:
        parsed_bounds([text], RATE)
    assert str(refusal.value) == message("--keep", *facts)


def test_a_bound_is_broken_or_kept_by_all_of_an_interval() -> None:
    """What lies across it is neither."""
    (size,) = parsed_bounds(["size <= 1.1"], RATE)
    (rate,) = parsed_bounds(["rate>=0.95x"], parsed_goal("cpu"))
    cases = [
        (size, (1.0, 1.02, 1.04), False, True),
        (size, (1.05, 1.08, 1.12), False, False),
        (size, (1.11, 1.2, 1.3), True, False),
        (rate, (0.8, 0.85, 0.9), True, False),
        (rate, (0.96, 1.0, 1.04), False, True),
    ]
    for bound, interval, is_broken, is_kept in cases:
        found = an_effect("v", bound.metric, interval, "undecided")
        assert (breaks(bound, found), keeps(bound, found)) == (is_broken, is_kept)


def test_a_single_block_breaks_a_bound_only_by_a_tenth_more() -> None:
    """One ratio has no interval, and noise of some percent."""
    (size,) = parsed_bounds(["size<=1.1x"], RATE)
    single = an_effect("v", size.metric, (1.0, 1.15, 1.0), "too few runs", ratios=(1.15,))
    without = single.model_copy(update={"low": None, "high": None})
    assert not breaks(size, without)
    assert breaks(size, without.model_copy(update={"ratio": 1.25, "ratios": (1.25,)}))
