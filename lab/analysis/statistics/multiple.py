"""Many comparisons at once: how sure each of them must be for all of them together to be right."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, raised so that 5 % among them is 5 % for at least one false alarm in all comparisons.

    Source: Holm, "A simple sequentially rejective multiple test procedure", 1979. 0.01, 0.04, 0.03, 0.005 become 0.03,
        0.06, 0.06, 0.02.
    """
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = least
    return adjusted
