"""When servers are warm."""

import pytest

from lab.analysis.statistics.warm_up import is_warm

DRAINS = [19_000.0, 31_900.0, 42_600.0, 45_800.0, 46_500.0, 46_300.0]


def test_the_drains_of_a_cold_server_become_warm_with_the_sixth() -> None:
    """Seen on 2 cores: three in a row that vary little and no longer rise."""
    assert [is_warm(DRAINS[:drains]) for drains in range(len(DRAINS) + 1)] == [False] * 6 + [True]


def test_a_slow_rise_is_not_stable_although_it_varies_little() -> None:
    """4 % from one drain to the next: a coefficient of variation of 4 %, and still warming."""
    assert not is_warm([40_009.0, 41_609.0, 43_274.0])
    assert not is_warm([40_009.0, 41_011.0, 42_209.0])  # by 5.5 %
    assert is_warm([40_009.0, 40_409.0, 40_813.0])
    assert is_warm([43_274.0, 41_609.0, 40_009.0])
    assert is_warm([41_011.0, 40_009.0, 43_201.0])  # from first to last by 5.3 %, but not from one to the next
    assert is_warm([40_009.0, 40_009.0, 42_209.0])


STALLED = [[7.0, 7.0, 0.0], [0.0] * 3, [0.0] * 4, [42_013.0, 41_011.0, 0.0, 0.0]]


@pytest.mark.parametrize("rates", [[], [7.0], [7.0, 7.0], *STALLED, [40_009.0, 42_513.0, 38_011.0]])
def test_too_few_drains_or_too_wide_ones_are_not_stable(rates: list[float]) -> None:
    """Two say nothing, a standstill is none, and 5.6 % is too much."""
    assert not is_warm(rates)


def test_on_a_noisy_machine_two_drains_no_faster_than_the_two_before_are_enough() -> None:
    """Seen on a machine whose warm drains differ by a tenth: three alike never came."""
    noisy = [8_300.0, 11_500.0, 13_500.0, 12_900.0, 11_700.0]
    assert [is_warm(noisy[:drains]) for drains in range(len(noisy) + 1)] == [False] * 5 + [True]
    assert is_warm([8_009.0, 12_007.0, 12_007.0, 8_009.0])  # no faster
