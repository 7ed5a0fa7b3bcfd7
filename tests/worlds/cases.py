"""What suites say in known worlds, held against what is so: coverage of 95 % intervals, bias, false differences.

python -m tests.worlds.cases --suites 1000
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import log

import numpy as np

from lab.analysis.suite.comparisons import is_detected
from lab.records.suite import Effect
from tests.worlds.recorded import AGAIN, CONTROL, Known, Machine, World, judged
from tests.worlds.streams import StreamWorld

RAMP = (0.5, 0.8, 0.95)
SLOW, CPU_S = 20_000.0, 40.0
LEAST_DRAIN_S = 10.0
"""As `lab.suite.execution` sizes drains: of the fastest variant."""


USUAL = Machine(ramp=RAMP)


def world(*ratios: float, blocks: int = 8, machine: Machine = USUAL, drain_s: float = LEAST_DRAIN_S) -> World:
    """A control, and a variant of each ratio to it; CPU per document is the inverse, as on full cores.

    Args:
        drain_s: How long the fastest takes to index its documents, without ramp and noise.
    """
    variants = {
        f"x{ratio:g} {place}": Known(rate_per_s=SLOW * ratio, cpu_s_per_million=CPU_S / ratio)
        for place, ratio in enumerate(ratios, 1)
    }
    control = Known(rate_per_s=SLOW, cpu_s_per_million=CPU_S, against=None)
    documents = int(drain_s * SLOW * max(1.0, *ratios))
    return World(variants={CONTROL: control, **variants}, machine=machine, blocks=blocks, documents=documents)


def updates(of: World) -> World:
    """The same, where three operations of four replace a document that is there, and one of two in every other one."""
    known = {
        name: replace(each, created=0.25 if place % 2 else 0.5)
        for place, (name, each) in enumerate(of.variants.items())
    }
    return replace(of, variants=known)


def duets(of: World) -> World:
    """The same in pairs at the same time, whose common noise is far larger than the effects."""
    return replace(of, duets=True, machine=replace(of.machine, shared=0.4, second_set=0.06))


def streams(*ratios: float, blocks: int = 8) -> StreamWorld:
    """The same below the limit, whose documents come in bursts that are worked off at these ratios."""
    variants = world(*ratios).variants
    return StreamWorld(variants=variants, blocks=blocks)


NOISY = Machine(ramp=RAMP, between=0.08, between_cpu=0.05, within=0.08)
QUIET = Machine(ramp=RAMP, between=0.01, between_cpu=0.01, within=0.02)
CASES = {
    "small effect": world(1.05),
    "+11 % and +18 %": world(1.111, 1.176),
    "large effects": world(2.0, 3.0, 0.5),
    "little noise": world(1.03, 1.111, machine=QUIET),
    "few blocks": world(1.2, 0.8, blocks=3),
    "many knobs": world(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.3, 0.9, blocks=5),
    "nothing differs": world(1.0, 1.0, 1.0, machine=NOISY, blocks=5),
    "noise that lasts, drift": world(1.2, 1.0, machine=replace(NOISY, lasting=0.6, drift=0.3)),
    "merges": world(1.3, 0.8, machine=replace(USUAL, merge_docs=40_000)),
    "short drains": world(1.176, 1.4, drain_s=6.0),
    "counters once a second": world(1.111, 1.5, machine=replace(USUAL, sample_s=1.0)),
    "updates": updates(world(1.176, 0.8)),
    "duets": duets(world(1.176, 0.9, 1.0, blocks=6)),
    "several indices": replace(world(1.176, 0.8), shares=(0.5, 0.3, 0.2)),
    "a ramp that lasts": world(1.176, 2.0, machine=Machine(ramp_s=6.0)),
    "streams with bursts": streams(1.25, 0.875),
    "streams with bursts, few blocks": streams(1.25, 0.875, blocks=3),
}


@dataclass
class Told:
    """What suites of one case have said, metric by metric.

    Attributes:
        covered: Whether each 95 % interval, of a comparison by itself, holds the truth.
        errors: Logarithm of each ratio over the truth.
        sizes: Logarithm of the truth of each.
        false_families: Of each suite, whether a comparison of which nothing is so shows a difference, or the wrong one.
        unknown: Comparisons without an interval.
    """

    covered: list[bool] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    false_families: list[bool] = field(default_factory=list)
    unknown: int = 0

    @property
    def coverage(self) -> float:
        """Share of the intervals that hold the truth."""
        return float(np.mean(self.covered))

    @property
    def bias(self) -> float:
        """The mean error of a logarithm."""
        return float(np.mean(self.errors))

    @property
    def false_alarms(self) -> float:
        """Share of the suites with a false difference."""
        return float(np.mean(self.false_families))


def held_against(of: World, suites: int, seed: int = 1) -> dict[str, Told]:
    """What so many suites of a world say, by metric."""
    told: dict[str, Told] = defaultdict(Told)
    for number in range(suites):
        result = judged(of, seed * 1_000_003 + number)
        for metric in of.metrics:
            compared = [
                effect for effect in result.effects if (effect.metric, effect.scope) == (metric.name, metric.scope)
            ]
            told[metric.name].false_families.append(
                any(_is_false(of, effect) for effect in compared if effect.variant != AGAIN)
            )
            for effect in compared:
                _count(told[metric.name], of, effect)
    return told


def _is_false(of: World, effect: Effect) -> bool:
    truth = of.ratio(effect)
    return is_detected(effect) and (truth == 1 or (truth > 1) != ((effect.ratio or 1) > 1))


def _count(told: Told, of: World, effect: Effect) -> None:
    if effect.low is None or effect.high is None or effect.ratio is None:
        told.unknown += 1
        return
    truth = of.ratio(effect)
    told.covered.append(effect.low <= truth <= effect.high)
    told.errors.append(log(effect.ratio / truth))
    told.sizes.append(log(truth))


def table(suites: int) -> Iterator[str]:
    """A line for each case and metric, as Markdown."""
    yield "| case | metric | intervals hold the truth | bias | suites with a false difference | no interval |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, of in CASES.items():
        for metric, told in held_against(of, suites).items():
            yield (
                f"| {name} | {metric} | {100 * told.coverage:.1f} % | {100 * told.bias:+.2f} % |"
                f" {100 * told.false_alarms:.1f} % | {told.unknown} |"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=200)
    for line in table(parser.parse_args().suites):
        print(line, flush=True)  # noqa: T201 - a program's output
