"""What the endurance tests say of a fault, out of the figures that they have looked at."""

from tests.endurance.lookout import Reading, caught_up_s, longest_standstill_s


def readings(*pairs: tuple[float, int]) -> list[Reading]:
    """A figure at some instants."""
    return [Reading(at_s, value) for at_s, value in pairs]


def test_a_standstill_lasts_from_one_growth_to_the_next() -> None:
    """One that falls and comes back, as from another copy, has not grown; looks without a reading do not matter."""
    seen = readings((1, 7), (2, 11), (3, 11), (7, 9), (9, 11), (13, 13), (14, 17))
    assert longest_standstill_s(seen, 2.5, 14) == 11
    assert longest_standstill_s(seen, 13.5, 20) == 6


def test_a_figure_that_never_grew_stood_still_all_the_time() -> None:
    """Also one that nobody has seen."""
    assert longest_standstill_s(readings((1, 7), (3, 7), (5, 7)), 3, 8) == 7
    assert longest_standstill_s([], 3, 8) == 5


def test_a_lag_is_caught_up_with_once_it_is_as_usual() -> None:
    """Not before the fault has ended."""
    seen = readings((1, 503), (2, 499), (3, 5003), (4, 502), (5, 503))
    assert caught_up_s(seen, 2.5, 503) == 4
    assert caught_up_s(seen, 4.5, 502) is None
