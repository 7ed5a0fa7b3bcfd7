"""When a server that was just started is warm."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, stdev

ALIKE = 3
NOT_RISING = 4
MOST_VARIATION = 0.05
MOST_RISE = 0.05


def is_warm(rates: Sequence[float]) -> bool:
    """Check that the rates of successive warm-up drains, in docs/s, have become stable.

    Stable are three in a row whose coefficient of variation (standard deviation / mean) is at most 5 % and which do not
    just rise from one to the next by more than 5 % together: a server that warms up slowly varies little, too. The
    source asks for ten in a row within 1 or 2 %; drains take ten seconds or more and differ by 3 % on warm servers, so
    that ten would cost more than the suite and 2 % would hardly ever be met. What still drifts after that is in all
    variants of a block alike.

    On a noisy machine warm drains differ by more than that, however many there are. So it is enough as well if the last
    two together are no faster than the two before them: what still warms up is.

    Source: Georges, Buytaert and Eeckhout, "Statistically rigorous Java performance evaluation", 2007, section 4.2. Of
        19 000, 31 900, 42 600, 45 800, 46 500 and 46 300 docs/s the last three are stable; 42 600, 45 800 and 46 500
        still rise by 9 %. The second rule is ours.
    """
    return are_alike(rates[-ALIKE:]) or no_longer_rise(rates[-NOT_RISING:])


def are_alike(last: Sequence[float]) -> bool:
    """Check that three rates vary little and do not just rise."""
    if len(last) < ALIKE or min(last) <= 0 or stdev(last) > MOST_VARIATION * fmean(last):
        return False
    rises = all(after > before for before, after in pairwise(last))
    return not (rises and last[-1] > (1 + MOST_RISE) * last[0])


def no_longer_rise(last: Sequence[float]) -> bool:
    """Check that the second half of four rates is no faster than the first."""
    half = NOT_RISING // 2
    return len(last) == NOT_RISING and min(last) > 0 and fmean(last[half:]) <= fmean(last[:half])
