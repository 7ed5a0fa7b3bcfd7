"""Random-looking numbers that are the same everywhere."""

import numpy as np
import pytest

from producers.hashing import Permutation, hashed, mixed, mixed_int, part


def test_mixing_agrees_with_the_published_generator() -> None:
    """SplitMix64 seeded with 1234567 gives the five numbers of its reference implementation.

    Source: the reference output listed for SplitMix64 with seed 1234567.
    """
    gamma = 0x9E3779B97F4A7C15
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [mixed_int(1234567 + turn * gamma) for turn in range(1, 6)] == expected


def test_mixing_arrays_agrees_with_mixing_integers() -> None:
    """The vectorised function is the same function."""
    numbers = np.arange(101, dtype=np.uint64)
    assert mixed(numbers).tolist() == [mixed_int(number) for number in range(101)]


def test_purposes_of_one_seed_are_independent() -> None:
    """Two purposes share no bit pattern."""
    numbers = np.arange(1009, dtype=np.uint64)
    assert not set(hashed(1, 0, numbers).tolist()) & set(hashed(1, 1, numbers).tolist())


@pytest.mark.parametrize("size", [1, 2, 3, 5, 101, 1009, 4096, 65537])
@pytest.mark.parametrize("seed", [0, 1, 2**63])
def test_permutation_takes_every_number_once(size: int, seed: int) -> None:
    """Every number of the range comes out once."""
    assert sorted(Permutation(size, seed)(np.arange(size, dtype=np.uint64)).tolist()) == list(range(size))


def test_permutation_leaves_no_order() -> None:
    """About half of the neighbours stand in ascending order."""
    shuffled = Permutation(2_000_000_000, 7)(np.arange(10_007, dtype=np.uint64)).astype(np.int64)
    assert 0.48 < float((np.diff(shuffled) > 0).mean()) < 0.52


def test_part_is_below_its_size_and_reaches_its_ends() -> None:
    """A choice is from 0 to below the size."""
    chosen = part(hashed(1, 0, np.arange(10_007, dtype=np.uint64)), 16, 16, 7)
    assert sorted(set(chosen.tolist())) == list(range(7))
