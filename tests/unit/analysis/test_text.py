"""Figures as a reader wants them."""

import pytest

from lab.analysis.text import bytes_text, clock_text, count, duration, figure, number, quantity, sparkline
from lab.records.drivers import ClockOffset


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0"),
        (0.0123, "0.012"),
        (0.3099, "0.31"),
        (5.0, "5"),
        (5.031, "5.03"),
        (28.44, "28.4"),
        (9.996, "10.0"),
        (99.96, "100"),
        (-99.96, "-100"),
        (999.6, "1,000"),
        (523.4, "523"),
        (52_738.2, "52,700"),
        (1_234_567, "1,230,000"),
    ],
)
def test_numbers_keep_three_digits(value: float | None, text: str) -> None:
    """More would pretend to know."""
    assert number(value).replace("\u202f", " ") == text


def test_counts_keep_every_digit() -> None:
    """Books must add up."""
    assert count(1_234_567).replace("\u202f", " ") == "1,234,567"


def test_one_thing_is_no_plural() -> None:
    """And some plurals are not made by an s."""
    assert [quantity(value, "shard") for value in (0, 1, 1_009)] == ["0 shards", "1 shard", "1,009 shards"]
    assert quantity(3, "index", "indices") == "3 indices"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 bytes"), (999, "999 bytes"), (84_200_000, "84.2 MB"), (1_490_000_000, "1.49 GB")]
)
def test_sizes_are_decimal(value: float, text: str) -> None:
    """As disks are sold and networks are counted."""
    assert bytes_text(value).replace("\u202f", " ") == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (6.2e-06, "< 1 ms"),
        (0.25, "0.25 s"),
        (4.31, "4.31 s"),
        (83, "83 s"),
        (133, "2 min 13 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations_have_the_unit_that_fits(seconds: float, text: str) -> None:
    """Nobody reads 7500 s."""
    assert duration(seconds).replace("\u202f", " ") == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (52_738.2, "docs/s", "52,700/s"),
        (0.31, "ms", "0.31 ms"),
        (36_500, "ms", "36.5 s"),
        (99_999, "records", "99,999 records"),
        (53.1, "MB/s", "53.1 MB/s"),
        (0.4286, "share", "42.9 %"),
        (121.4, "/s", "121/s"),
        (4.0, "×", "4 ×"),
        (None, "ms", "–"),
    ],
)
def test_figures_carry_their_unit(value: float | None, unit: str, text: str) -> None:
    """What is not known carries none."""
    assert figure(value, unit).replace("\u202f", " ") == text


@pytest.mark.parametrize(
    ("values", "cells", "line"),
    [
        ((0, 1, 2, 4, 8), 16, "▁▂▃▅█"),
        ((3, 3), 16, "██"),
        ((0, 0, 4, 4, 8, 8), 3, "▁▅█"),
        ((1, 2, 3, 4, 5), 2, "▃▇"),
        ((0, 0), 16, ""),
        ((), 16, ""),
    ],
)
def test_a_sparkline_goes_from_nothing_to_the_highest(values: tuple[float, ...], cells: int, line: str) -> None:
    """Of more values than cells, each cell is the mean of its own."""
    assert sparkline(values, cells) == line


@pytest.mark.parametrize(
    ("ahead_ms", "bound_ms", "text"),
    [
        (300.04, 2.13, "300 ± 2.13 ms ahead of"),
        (-41.8, 0.62, "41.8 ± 0.62 ms behind"),
        (0.4, 2.13, "within 2.53 ms of"),
        (-0.4, 0.4, "within 0.80 ms of"),
    ],
)
def test_a_clock_is_ahead_or_behind_only_beyond_its_bound(ahead_ms: float, bound_ms: float, text: str) -> None:
    """Within it, nobody can say which."""
    clock = ClockOffset(ahead_ms=ahead_ms, bound_ms=bound_ms)
    assert clock_text(clock).replace("\u202f", " ") == text
