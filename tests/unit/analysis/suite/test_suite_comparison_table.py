"""How a variant's values over all blocks are written."""

import pytest

from lab.analysis.suite.comparison_table import spread
from lab.records.suite import VariantMetric


@pytest.mark.parametrize(
    ("unit", "values", "text"),
    [
        ("docs/s", (6100, 6260, 6300), "6,260/s [6,100–6,300]"),
        ("bytes", (2.16e9, 2.71e9, 2.98e9), "2.71 GB [2.16–2.98]"),
        ("s", (91, 98, 131), "98 s [91 s–2 min 11 s]"),
        ("bytes", (9.8e8, 1.02e9, 1.1e9), "1.02 GB [980 MB–1.10 GB]"),
    ],
)
def test_ends_have_a_unit_where_it_is_another(unit: str, values: tuple[float, ...], text: str) -> None:
    """A range without units reads more easily; bytes and minutes need theirs."""
    low, middle, high = values
    metric = VariantMetric(
        variant="v", name="m", scope="run", unit=unit, values=values, median=middle, low=low, high=high
    )
    assert spread(metric).replace("\u202f", " ") == text


def test_what_was_not_measured_has_no_spread() -> None:
    """As of a variant whose runs all failed."""
    assert spread(None) == "–"


@pytest.mark.parametrize(
    ("known", "runs", "text"),
    [
        (2, 13, "6,260/s [6,100–6,300] (2 of 13 runs)"),
        (9, 12, "6,260/s [6,100–6,300]"),
        (0, 0, "6,260/s [6,100–6,300]"),
    ],
)
def test_a_figure_that_few_runs_have_says_so(known: int, runs: int, text: str) -> None:
    """Only the slowest of 13 drains had lasted long enough for a rate; records of older versions do not tell."""
    metric = VariantMetric(
        variant="v",
        name="m",
        scope="run",
        unit="docs/s",
        values=(6100, 6260, 6300),
        median=6260,
        low=6100,
        high=6300,
        by_run={str(run): 6260.0 if run < known else None for run in range(runs)},
    )
    assert spread(metric).replace("\u202f", " ") == text
