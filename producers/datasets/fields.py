"""Tables of ready-made pieces of JSON, and numbers as text: what the generated datasets put documents together from."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

ASCII_ZERO: Final = 48

Digits = NDArray[np.uint8]
"""Decimal digits as ASCII, shape (values, digits)."""


class Pieces:
    """An indexable table of byte strings: numbers in, list of pieces out."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        listed = list(pieces)
        self._pieces = np.empty(len(listed), dtype=object)
        self._pieces[:] = listed

    @classmethod
    def of(cls, template: str, values: Iterable[object]) -> "Pieces":
        """The template filled with each value, in UTF-8."""
        return cls((template % value).encode() for value in values)

    def __len__(self) -> int:
        return len(self._pieces)

    def __call__(self, numbers: NDArray[np.integer]) -> list[bytes]:
        """The pieces with these numbers."""
        chosen: list[bytes] = self._pieces.take(numbers).tolist()
        return chosen


def digits_of(values: NDArray[np.uint64], width: int) -> Digits:
    """The last `width` decimal digits of each value below 2**32, as ASCII, shape (values, width)."""
    rest = values.astype(np.uint32)
    result = np.empty((len(rest), width), dtype=np.uint8)
    for column in range(width - 1, -1, -1):
        quotient = rest // np.uint32(10)
        result[:, column] = rest - quotient * np.uint32(10)
        rest = quotient
    result += np.uint8(ASCII_ZERO)
    return result


def texts(digits: Digits) -> list[bytes]:
    """Each row of characters as one byte string."""
    rows = np.ascontiguousarray(digits)
    listed: list[bytes] = rows.view(f"S{rows.shape[1]}").ravel().tolist()
    return listed
