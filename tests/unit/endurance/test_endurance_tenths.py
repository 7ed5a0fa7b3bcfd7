"""The rate of each tenth of a drain, by its samples."""

import pytest

from tests.endurance.tenths import tenth_rates, trend


def test_a_steady_drain_has_the_same_rate_in_each_tenth() -> None:
    """The first tenth, which took longer, is left out."""
    at_s = [0.0, 5.0, *(6.0 + 0.7 * step for step in range(19))]
    indexed = [0, 50, *(100 + 50 * step for step in range(19))]
    assert tenth_rates(at_s, indexed, 1000) == pytest.approx([100 / 1.4] * 9)


def test_a_pause_counts_in_the_tenth_in_which_it_was() -> None:
    """Nothing was indexed from 2 to 5 s, with 200 of 1,000 done: the third tenth took 4 s."""
    at_s = [0.0, 1.0, 2.0, 3.0, 5.0, *(5.5 + 0.5 * step for step in range(16))]
    indexed = [0, 100, 200, 200, 200, *(250 + 50 * step for step in range(16))]
    assert tenth_rates(at_s, indexed, 1000) == pytest.approx([100, 25, *[100] * 7])


@pytest.mark.parametrize(("indexed", "got"), [([], "0"), ([0, 999], "999")])
def test_a_drain_that_has_not_ended_has_no_tenths(indexed: list[int], got: str) -> None:
    """Its last one would be made up."""
    with pytest.raises(ValueError, match=rf"^tenths: got {got} documents indexed, expected 1,000$"):
        tenth_rates([float(place) for place in range(len(indexed))], indexed, 1000)


def test_a_trend_is_the_change_from_the_second_tenth_to_the_last() -> None:
    """From 104 down to 96 in equal steps, by their mean of 100."""
    found = trend([104.0 - step for step in range(9)])
    assert (found.growth, found.error) == (pytest.approx(-0.08), pytest.approx(0.0, abs=1e-9))
