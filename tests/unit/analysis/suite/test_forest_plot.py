"""Where a ratio and its interval stand along the axis of a suite's report."""

from dataclasses import replace

import pytest

from lab.analysis.suite.comparison_table import Row
from lab.analysis.suite.forest_plot import Axis, axis, plot_row, ticks
from lab.records.suite import Effect


def row(ratio: float | None, low: float | None = None, high: float | None = None) -> Row:
    """A comparison of which only the ratio matters."""
    effect = Effect(
        variant="v",
        against="c",
        metric="indexing_rate_docs_per_s",
        scope="primaries",
        ratios=() if ratio is None else (ratio,),
        ratio=ratio,
        low=low,
        high=high,
        verdict="undecided",
        dropped_blocks=0,
        smallest_detectable=None,
    )
    return Row("v", "c", None, effect)


def test_the_axis_is_logarithmic() -> None:
    """Twice and half are as far from no change; what is beyond stands at the end."""
    along = Axis(0.25, 4, "slower", "faster")
    assert [along.place(ratio) for ratio in (0.25, 0.5, 1, 2, 4, 40)] == [0, 25, 50, 75, 100, 100]


def test_round_changes_are_its_labels() -> None:
    """No change among them, and none so near another that their letters touch."""
    assert Axis(0.4, 2.5, "slower", "faster").ticks == [
        (12.18, "-50 %"),
        (37.82, "-20 %"),
        (50.0, "0"),
        (62.18, "+25 %"),
        (87.82, "+100 %"),
    ]
    assert ticks(0.9, 1.1) == [0.9, 0.95, 0.98, 1, 1.02, 1.05, 1.1]


@pytest.mark.parametrize(
    ("metric", "ends"),
    [
        ("indexing_rate_docs_per_s", ("slower", "faster")),
        ("indexing_latency_ms", ("faster", "slower")),
        ("store_size_bytes", ("lower", "higher")),
    ],
)
def test_its_ends_say_what_they_mean(metric: str, ends: tuple[str, str]) -> None:
    """More of a time is slower."""
    along = axis([row(1.2)], metric)
    assert (along.less, along.more) == ends


def test_an_interval_that_goes_on_beyond_the_axis_is_cut() -> None:
    """An axis that held it would press all others together; it has no cap there."""
    wide, narrow = row(1.2, 0.01, 1.3), row(0.9, 0.8, 1.0)
    along = axis([wide, narrow], "indexing_rate_docs_per_s")
    cut, whole = plot_row(wide, along), plot_row(narrow, along)
    assert cut is not None
    assert whole is not None
    assert (cut.low, cut.is_cut) == (0.0, (True, False))
    assert whole.is_cut == (False, False)
    assert whole.low is not None
    assert whole.high is not None
    assert 0 < whole.low < whole.point < whole.high < 100
    assert whole.words == "ratio 0.90; by block 0.90"


def test_a_block_beyond_the_axis_is_marked_at_its_end_and_drawn_nowhere() -> None:
    """At the end itself it would read as a block that had just that ratio."""
    outlier = row(1.0)
    assert outlier.effect is not None
    effect = outlier.effect.model_copy(update={"ratios": (0.2, 0.98, 1.02)})
    wide = replace(outlier, effect=effect)
    drawn = plot_row(wide, axis([wide], "indexing_rate_docs_per_s"))
    assert drawn is not None
    assert (len(drawn.blocks), drawn.is_beyond) == (2, (True, False))


def test_too_few_runs_have_no_interval() -> None:
    """As in the cell beside it: it rests on an assumption alone, and nothing is stretched for it."""
    few = row(1.2, 0.9, 1.6)
    assert few.effect is not None
    few = replace(few, effect=few.effect.model_copy(update={"verdict": "too few runs"}))
    along = axis([few], "indexing_rate_docs_per_s")
    drawn = plot_row(few, along)
    assert drawn is not None
    assert (drawn.low, drawn.high, drawn.is_cut) == (None, None, (False, False))
    assert along.last < 1.3


def test_what_was_not_measured_has_no_place() -> None:
    """A point at 1 would be a finding."""
    assert plot_row(row(None), Axis(0.5, 2, "slower", "faster")) is None
