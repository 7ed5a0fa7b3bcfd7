"""Number of shops of a book: a bounded Zipf distribution with a given mean, exact to the last bit everywhere."""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
from numpy.typing import NDArray

from producers.dataset import DatasetError
from producers.datasets.aladin.words import SHOPS


@dataclass(frozen=True)
class ShopCounts:
    """The number of shops per book: P(n) proportional to n to the power of -s, 1 ≤ n ≤ `maximum`.

    The exponent s is the one that gives the asked mean. A small mean with a large maximum has a heavy tail: most
    books in one shop, a few in dozens.
    """

    mean: float
    maximum: int

    def __post_init__(self) -> None:
        if not 1 <= self.maximum <= len(SHOPS):
            raise DatasetError(f"shops_max: got {self.maximum}, expected 1 to {len(SHOPS)}, the number of shops")
        highest = (self.maximum + 1) / 2
        if not 1 <= self.mean <= highest:
            raise DatasetError(
                f"shops_mean: got {self.mean}, expected 1 to {highest} with shops_max {self.maximum}; "
                "a larger mean needs a larger shops_max"
            )

    def __call__(self, bits: NDArray[np.uint64]) -> NDArray[np.intp]:
        """One count for each 64 random-looking bits, of which the upper 32 are used."""
        return np.searchsorted(_cut_offs(self.mean, self.maximum), bits >> np.uint64(32), side="right") + 1


@cache
def _cut_offs(mean: float, maximum: int) -> NDArray[np.uint64]:
    """Upper ends of the counts 1 … maximum - 1 on a scale of 2**32.

    Decimal arithmetic is specified digit by digit, so that the cut-offs depend on no machine's mathematics.
    """
    with localcontext() as context:
        context.prec = 28
        weights = _weights_with_mean(Decimal(mean), maximum)
        total = sum(weights)
        sums = [sum(weights[: count + 1]) / total for count in range(maximum - 1)]
        return np.array([int(share * (1 << 32)) for share in sums], dtype=np.uint64)


def _weights_with_mean(mean: Decimal, maximum: int) -> list[Decimal]:
    logarithms = [Decimal(count).ln() for count in range(1, maximum + 1)]
    low, high = Decimal(0), Decimal(64)
    for _ in range(60):
        exponent = (low + high) / 2
        weights = [(-exponent * logarithm).exp() for logarithm in logarithms]
        if sum(count * weight for count, weight in enumerate(weights, 1)) > mean * sum(weights):
            low = exponent
        else:
            high = exponent
    return weights
