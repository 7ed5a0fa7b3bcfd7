"""Student's t against published tables."""

import pytest

from lab.analysis.statistics.means import critical, p_value


@pytest.mark.parametrize(
    ("level", "freedom", "expected"),
    [
        (0.05, 1, 12.706),
        (0.05, 2, 4.3027),
        (0.05, 4, 2.7764),
        (0.01, 4, 4.6041),
        (0.001, 8, 5.0413),
        (0.05, 30, 2.0423),
        (0.05, 120, 1.9799),
        (0.05, 1000, 1.9623),
    ],
)
def test_critical_values_are_those_of_the_tables(level: float, freedom: float, expected: float) -> None:
    """Abramowitz and Stegun, table 26.10."""
    assert critical(level, freedom) == pytest.approx(expected, rel=1e-4)
    assert p_value(-critical(level, freedom), freedom) == pytest.approx(level, rel=1e-9)


def test_no_distance_from_zero_is_no_evidence_and_a_great_one_keeps_its_digits() -> None:
    """It is 1 at zero; with 1 degree of freedom p is 2/(π·t) far out, and with 8 it falls with the eighth power."""
    assert p_value(0.0, 5.5) == pytest.approx(1.0)
    assert p_value(1e6, 1) == pytest.approx(2 / 3.14159265e6, rel=1e-6)
    assert p_value(2e4, 8) / p_value(1e4, 8) == pytest.approx(2**-8, rel=1e-4)


def test_freedom_between_two_whole_numbers_lies_between_their_values() -> None:
    """Welch's degrees of freedom are no whole ones."""
    assert critical(0.05, 4) > critical(0.05, 4.5) > critical(0.05, 5)
