"""Difference of two sets of servers, estimated from pairs that change places, to take out of their ratios."""

from collections.abc import Sequence

LEAST_FREEDOM = 5
"""Of all comparisons together: from fewer the estimate would add more scatter than it takes away."""

Placed = tuple[float, int]
"""A log ratio, and 1 where the variant ran on the first set of servers, -1 where it ran on the second."""


def side_effect(samples: Sequence[Sequence[Placed]]) -> tuple[float, tuple[float, ...]]:
    """By how much the first set of servers raises a log ratio, and what its estimate takes from each comparison.

    Two sets of the same servers are not equally cheap: what a JVM has compiled, and where its memory lies, is drawn
    when it starts. Variants change places from pair to pair, so that this scatters their ratios by ± the same amount
    in all comparisons. Ordinary least squares of `value = mean of its comparison + side · effect`.

    Args:
        samples: By comparison, of one metric and of one start of the servers.

    Returns:
        The effect, 0 where there are too few pairs to tell; and by comparison its share of the one degree of freedom
        that the estimate takes.

    Source: Jones and Kenward, "Design and Analysis of Cross-Over Trials", 2014, 2.3 (the effect of the period). Log
        ratios of 0.03, 0.05 and 0.04 on the first set, 0.07, 0.09 and 0.08 on the second: effect -0.02.
    """
    freedom = sum(max(0, len(values) - 1) for values in samples)
    centred = [_centred(values) for values in samples]
    squares = [sum(side**2 for _, side in values) for values in centred]
    whole = sum(squares)
    shares = tuple(square / whole if whole else 0.0 for square in squares)
    leaves_none = any(share and share >= len(values) - 1 for share, values in zip(shares, samples, strict=True))
    if freedom < LEAST_FREEDOM or not whole or leaves_none:
        return 0.0, (0.0,) * len(samples)
    return sum(value * side for values in centred for value, side in values) / whole, shares


def _centred(values: Sequence[Placed]) -> list[tuple[float, float]]:
    size = max(1, len(values))
    value, side = (sum(each) / size for each in (zip(*values, strict=True) if values else ((), ())))
    return [(own - value, place - side) for own, place in values]
