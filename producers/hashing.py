"""Random-looking numbers as pure functions of a seed and a position, the same in every process and on every machine.

Only 64-bit integer arithmetic is used (the SplitMix64 output function and multiply-and-shift bijections), so that no
library's version, no platform's rounding and no process's hash seed can change a document.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

MASK_64: Final = (1 << 64) - 1
GOLDEN_GAMMA: Final = 0x9E3779B97F4A7C15
FIRST_MULTIPLIER: Final = 0xBF58476D1CE4E5B9
SECOND_MULTIPLIER: Final = 0x94D049BB133111EB


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each value through the SplitMix64 output function; a bijection of the 64-bit integers."""
    result = values ^ (values >> np.uint64(30))
    result *= np.uint64(FIRST_MULTIPLIER)
    result ^= result >> np.uint64(27)
    result *= np.uint64(SECOND_MULTIPLIER)
    result ^= result >> np.uint64(31)
    return result


def mixed_int(value: int) -> int:
    """The same function for one Python integer."""
    value &= MASK_64
    value = ((value ^ (value >> 30)) * FIRST_MULTIPLIER) & MASK_64
    value = ((value ^ (value >> 27)) * SECOND_MULTIPLIER) & MASK_64
    return value ^ (value >> 31)


def hashed(seed: int, purpose: int, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """64 random-looking bits for each number; different purposes of one seed are independent of each other."""
    start = mixed_int(mixed_int(seed) + purpose * GOLDEN_GAMMA)
    return mixed(numbers * np.uint64(GOLDEN_GAMMA) + np.uint64(start))


def part(bits: NDArray[np.uint64], shift: int, width: int, size: int) -> NDArray[np.intp]:
    """A choice below `size` from `width` of the bits, starting at bit `shift`; uniform up to size / 2**width.

    `size` is at most 2**width and `width` at most 32.
    """
    field = (bits >> np.uint64(shift)) & np.uint64((1 << width) - 1)
    return ((field * np.uint64(size)) >> np.uint64(width)).astype(np.intp)


@dataclass(frozen=True)
class Permutation:
    """A seeded bijection of [0, size): every number once, in no visible order.

    Xor-shift and odd multiplication are bijections of the w-bit integers, where 2**w is the next power of two; what
    falls outside `size` is sent through again (cycle walking) until it falls inside, which keeps it a bijection.
    """

    size: int
    seed: int

    def __call__(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Where each number goes; all must be below `size`."""
        result = self._round_trip(numbers)
        outside = np.flatnonzero(result >= np.uint64(self.size))
        while outside.size:
            result[outside] = self._round_trip(result[outside])
            outside = outside[result[outside] >= np.uint64(self.size)]
        return result

    def _round_trip(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        width = max(2, (self.size - 1).bit_length())
        mask = np.uint64((1 << width) - 1)
        half = np.uint64((width + 1) // 2)
        result = numbers.copy()
        for turn in range(3):
            key = mixed_int(mixed_int(self.seed) + turn)
            result += np.uint64(key >> 32)
            result *= np.uint64((mixed_int(key) & 0xFFFFFFFF) | 1)
            result &= mask
            result ^= result >> half
        return result
