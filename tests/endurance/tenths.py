"""Whether a drain slows down as it goes on: the rate of each tenth of its documents."""

from collections.abc import Sequence

import numpy as np

from tests.endurance.slopes import Slope, slope

TENTHS = 10


def tenth_rates(at_s: Sequence[float], indexed: Sequence[int], documents: int) -> list[float]:
    """Documents indexed per second, from the second tenth of a drain to the last.

    The first tenth has the start of the tasks in it and is left out. A tenth ends where the line between two samples
    reaches its number. The last one is cut at the last sample before the end, whose own instant no sample tells.

    Args:
        at_s: Instants of samples, ascending.
        indexed: Documents indexed by then, all of them in the last.

    Raises:
        ValueError: Not all documents were indexed.
    """
    if not indexed or indexed[-1] < documents:
        raise ValueError(f"tenths: got {indexed[-1] if indexed else 0:,} documents indexed, expected {documents:,}")
    under_way = [(total, instant_s) for instant_s, total in zip(at_s, indexed, strict=True) if total < documents]
    # Where nothing was indexed between two samples, the earlier one has the number first.
    known, first = np.unique([total for total, _ in under_way], return_index=True)
    ends = documents * np.arange(1, TENTHS + 1) / TENTHS
    ends[-1] = known[-1]
    ended_s = np.interp(ends, known, np.array([instant_s for _, instant_s in under_way])[first])
    return [float(rate) for rate in np.diff(ends) / np.diff(ended_s)]


def trend(rates: Sequence[float]) -> Slope:
    """How the rate changes from the second tenth to the last, by a line through all of them, as a share of their mean.

    0.01 is 1 % faster at the end. The tenths are taken as independent: each is long against the hiccups of a machine.
    """
    mean = float(np.mean(rates))
    return slope(np.linspace(0, 1, len(rates)).tolist(), [rate / mean for rate in rates])
