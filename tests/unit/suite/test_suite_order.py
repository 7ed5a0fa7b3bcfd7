"""The order of a block: comparisons are neighbours, references run as often as that needs, draws differ."""

from collections import Counter
from itertools import pairwise

import pytest

from lab.analysis.suite.comparisons import Pair
from lab.suite.order import block_order

LADDER: tuple[Pair, ...] = (
    ("control (again)", "control"),
    ("static", "control"),
    *((name, "static") for name in ("replicas-0", "primaries-2", "primaries-4", "primaries-8", "primaries-16")),
    ("flat", "primaries-2"),
    ("updates-nested", "primaries-2"),
    ("updates-flat", "updates-nested"),
)
NAMES = tuple(dict.fromkeys(name for pair in LADDER for name in reversed(pair)))
TRIANGLE = (("a", "b"), ("b", "c"), ("c", "a"))


def order(pairs: tuple[Pair, ...] = LADDER, *, seed: int = 1, block: int = 1) -> tuple[str, ...]:
    """A block of these comparisons on one set of servers."""
    names = dict.fromkeys(name for pair in pairs for name in pair)
    return block_order(names, pairs, dict.fromkeys(names, "same"), seed=seed, block=block)


@pytest.mark.parametrize("pairs", [LADDER, LADDER[:1], TRIANGLE])
@pytest.mark.parametrize("block", range(1, 12))
def test_both_runs_of_each_comparison_follow_each_other(pairs: tuple[Pair, ...], block: int) -> None:
    """In one of the two orders."""
    neighbours = set(map(frozenset, pairwise(order(pairs, block=block))))
    assert set(map(frozenset, pairs)) <= neighbours


@pytest.mark.parametrize("block", range(1, 12))
def test_a_reference_runs_half_as_often_as_it_has_comparisons(block: int) -> None:
    """`static` is in six of them, `control` and `updates-nested` in two, `primaries-2` in three."""
    runs = Counter(order(block=block))
    often = {name: number for name, number in runs.items() if number > 1}
    assert often == {"static": 3, "primaries-2": 2}
    assert runs.keys() == set(NAMES)


def test_the_same_seed_gives_the_same_block_and_another_one_another() -> None:
    """So that a suite can be had again, and resumed."""
    assert order(seed=3) == order(seed=3)
    assert order(seed=3) != order(seed=5)


def test_blocks_differ_in_order() -> None:
    """Otherwise what comes last would always be the warmest."""
    assert len({order(block=block) for block in range(1, 14)}) == 13


def test_either_of_a_comparison_comes_first_as_often() -> None:
    """What the first run leaves behind, such as merges, must not always meet the same one."""
    first = Counter(order(LADDER[:1], block=block)[0] for block in range(1, 401))
    assert min(first.values()) > 160


def test_variants_on_the_same_servers_are_neighbours() -> None:
    """A block changes servers as rarely as it can, even where a comparison goes across."""
    shapes = {"a": "8", "b": "9", "c": "8", "d": "9", "e": "8"}
    pairs = (("b", "a"), ("c", "a"), ("d", "b"), ("e", "a"))
    for block in range(1, 12):
        drawn = block_order(shapes, pairs, shapes, seed=1, block=block)
        assert sum(shapes[one] != shapes[other] for one, other in pairwise(drawn)) == 1
        assert {frozenset("ac"), frozenset("ae"), frozenset("bd")} <= set(map(frozenset, pairwise(drawn)))


def test_what_is_compared_with_nothing_runs_once() -> None:
    """As a suite of one profile alone."""
    assert block_order(["a"], (), {"a": 1}, seed=1, block=1) == ("a",)
