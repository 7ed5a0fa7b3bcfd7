"""The order of a block's runs: each comparison is two runs that follow each other."""

import random
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from lab.analysis.suite.comparisons import Pair


def block_order(
    names: Iterable[str], pairs: Sequence[Pair], shapes: Mapping[str, Hashable], *, seed: int, block: int
) -> tuple[str, ...]:
    """The runs of one block: walks from variant to variant along the comparisons, in an order that is drawn.

    So both runs of a comparison share the minute, and each run serves its comparisons on either side: a reference of k
    others runs k/2 times, which for few k is near the √k at which their ratios scatter least for the time (Dunnett
    1955). Variants on the same servers are neighbours, so that a block changes servers as rarely as it can.

    Args:
        names: The variants that run.
        shapes: By name, what must be equal for two variants to run on the same servers.
        seed: Another seed draws another order.
        block: Its number, from 1; the same one has the same order.
    """
    draw = random.Random(f"{seed} {block}")  # noqa: S311 - an order that can be had again, no secret
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for name in names:
        groups[shapes[name]].append(name)
    drawn = []
    for members in groups.values():
        inside = [pair for pair in pairs if pair[0] in members and pair[1] in members]
        walks = _walks(inside, draw)
        walks += [[name] for name in members if not any(name in walk for walk in walks)]
        draw.shuffle(walks)
        drawn.append([name for walk in walks for name in walk])
    draw.shuffle(drawn)
    return tuple(name for group in drawn for name in group)


def _walks(pairs: Sequence[Pair], draw: random.Random) -> list[list[str]]:
    """As few walks as hold each pair once, as neighbours.

    One that begins where an odd number of pairs meet ends at another such place, so that none is left with a single
    pair that another walk could have held (Euler 1736).
    """
    left: dict[str, list[str]] = defaultdict(list)
    for one, other in pairs:
        left[one].append(other)
        left[other].append(one)
    for others in left.values():
        draw.shuffle(others)
    starts = sorted(left)
    draw.shuffle(starts)
    walks = []
    while open_places := [name for name in starts if left[name]]:
        odd = [name for name in open_places if len(left[name]) % 2]
        here = (odd or open_places)[0]
        walk = [here]
        while left[here]:
            there = left[here].pop()
            left[there].remove(here)
            walk.append(there)
            here = there
        walks.append(walk if draw.random() < 0.5 else walk[::-1])
    return walks
