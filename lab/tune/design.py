"""Two-level designs: few runs that tell what each of many settings does.

Each setting has two levels, the start's value and one other. A Plackett-Burman design of n runs has each setting at
either level as often, whatever the level of any other one. Its mirror image (fold-over) follows as the next block, so
that what two settings do to each other is in no setting's own effect. Further pairs of blocks have their columns
permuted.

Designs of 8 and 16 runs are left out: there one column is the product of two others, so that before the mirror image
all that two settings do to each other counts as the effect of a third. In one of 12 runs it is a third of that.

Source: Plackett and Burman, "The design of optimum multifactorial experiments", 1946; Box and Wilson, 1951 (fold-over).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lab.errors import ProfileError
from lab.records.tune import Combination

PRIMES = (3, 11, 19, 23, 31, 43, 47, 59, 67)
"""Each one less than a multiple of 4: it makes a design of one run more."""


def plackett_burman(factors: int) -> NDArray[np.bool_]:
    """Smallest Plackett-Burman design of so many factors: a row for each run, a column for each factor.

    Source: Plackett and Burman, 1946: rows are cyclic shifts of the quadratic residues of a prime, and one without any.

    Raises:
        ProfileError: There are more factors than the largest design has.
    """
    prime = next((prime for prime in PRIMES if prime >= factors), None)
    if prime is None:
        raise ProfileError(f"--space: got {factors} settings, expected at most {PRIMES[-1]}")
    squares = {number**2 % prime for number in range(1, prime)}
    first = [number in squares or number == 0 for number in range(prime)]
    shifted = [np.roll(first, shift) for shift in range(prime)]
    return np.array([*shifted, [False] * prime])[:, :factors]


def two_level_block(names: Sequence[str], number: int, seed: int) -> Iterator[Combination]:
    """Combinations of a block: those of a design, or of its mirror image where the number is odd.

    Args:
        names: Of one candidate of each setting.
        number: Of the block, from 0.
    """
    draw = np.random.default_rng((seed, number // 2))
    design = plackett_burman(len(names))[:, draw.permutation(len(names))]
    for row in design ^ bool(number % 2):
        yield tuple(name for name, is_set in zip(names, row, strict=True) if is_set)
