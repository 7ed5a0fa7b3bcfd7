"""Estimates from the stages of a search, of combinations and of single settings."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import log
from typing import NamedTuple

import numpy as np
import scipy

from lab.analysis.statistics.effects import among_comparisons, effect
from lab.analysis.suite.comparisons import is_detected
from lab.analysis.suite.figures import by_variant
from lab.records.suite import Effect, MetricKey, VariantMetric
from lab.records.tune import START, Bound, Combination, Goal, Stage, combination_name

LEAST_GAIN = log(1.01)
"""A smaller gain is not pursued: it could not be confirmed either."""
A_TIE = log(1.01)
"""Of combinations that are as good as the best but for so much, the one that changes least is chosen."""
LEAST_CONFIRM_BLOCKS = 4
"""Of a confirmation, however little time is left: fewer say too little of their own noise to be a headline."""
CONFIDENCE = 0.95
LEAST_FREEDOM = 3
"""Degrees of freedom that a fit must leave for an interval."""
LEAST_TOGETHER = 6
"""The same of a fit of all settings whose runs lack mirror images: with fewer, errors do not show by how much pairs of
settings shift the effects of others. Where 3 were enough, 70 of 100 intervals held the truth, and 30 of 100 screenings
of 12 runs put a setting into a wrong group (`tests.worlds.screens`)."""
LEAST_OF_A_LEVEL = 3
"""Runs with a candidate, and without, for its effect by itself. Where two were enough, one of six screenings of five
runs put a setting into a wrong group, where another one gives 2.5 times as much (`tests.worlds.screens`)."""
PENALTY = 1.0
"""Of the fit that chooses: variance of a run's logarithm ÷ that of the effects that are expected."""
BEYOND = 1.1
"""A bound is taken for broken without an interval only where the estimate is a tenth beyond it."""
FAILURES = 2
"""Runs without a figure, and none with one, after which a setting or a pair of settings is given up."""


@dataclass(frozen=True)
class Measured:
    """A stage that has been run.

    Attributes:
        effects: Of each combination against the start, by each metric; their ratios are what counts.
        figures: Values by variant and block.
    """

    stage: Stage
    effects: Sequence[Effect]
    figures: Sequence[VariantMetric]

    def values(self, metric: MetricKey) -> dict[str, tuple[float | None, ...]]:
        """Variant → its values of a metric, block by block."""
        return {variant: figure.values for variant, figure in by_variant(self.figures, metric).items()}


# --- combinations ---------------------------------------------------------------------------------------------------


def pooled(measured: Iterable[Measured]) -> dict[tuple[str, MetricKey], Effect]:
    """Each combination's ratio to the start over the blocks of these stages, judged as one of all.

    Stages run on the same warm servers, and each block holds the start beside its combinations; so a block is a block,
    whichever stage it is of.
    """
    ratios: dict[tuple[str, MetricKey], list[float]] = defaultdict(list)
    for one in chain(*(each.effects for each in measured)):
        ratios[one.variant, MetricKey(name=one.metric, scope=one.scope)].extend(one.ratios)
    alone = [effect(name, START, metric, [(ratio, 1.0) for ratio in of]) for (name, metric), of in ratios.items()]
    return dict(zip(ratios, among_comparisons(alone), strict=True))


@dataclass(frozen=True)
class Estimates:
    """Estimates of the combinations that have run, by their pooled effects.

    The confirmation must not be among the stages of these: it must not have chosen.
    """

    goal: Goal
    bounds: Sequence[Bound]
    effects: Mapping[tuple[str, MetricKey], Effect]

    def on(self, combination: Combination, metric: MetricKey) -> Effect | None:
        """A combination's effect; `None` where it has not run, or never to a figure."""
        effect = self.effects.get((combination_name(combination), metric))
        return effect if effect is not None and effect.ratio is not None else None

    def log_gain(self, combination: Combination) -> float | None:
        """By how much it is better than the start, as a logarithm: below 0 is worse; `None` where that is not known."""
        effect = self.on(combination, self.goal.metric)
        return None if effect is None or effect.ratio is None else log(self.goal.gain(effect.ratio))

    def shows_gain(self, combination: Combination) -> bool:
        """Check that a combination is shown to be better than the start, and not to break a bound."""
        gain, is_shown = self.log_gain(combination), is_detected(self.on(combination, self.goal.metric))
        return is_shown and gain is not None and gain > LEAST_GAIN and self.broken(combination) is None

    def broken(self, combination: Combination) -> Bound | None:
        """A bound that its interval, or without one its estimate by a tenth, is beyond; `None` if there is none."""
        for bound in self.bounds:
            effect = self.on(combination, bound.metric)
            if effect is not None and breaks(bound, effect):
                return bound
        return None


def breaks(bound: Bound, effect: Effect) -> bool:
    """Check that an effect breaks a bound with all of its interval."""
    if effect.ratio is None:
        return False
    if effect.low is not None and effect.high is not None:
        return bound.is_broken(effect.low) and bound.is_broken(effect.high)
    if effect.ratio == 1 or len(set(effect.ratios)) == 1 < len(effect.ratios):
        return bound.is_broken(effect.ratio)
    return bound.is_broken(effect.ratio / BEYOND) and bound.is_broken(effect.ratio * BEYOND)


def keeps(bound: Bound, effect: Effect) -> bool:
    """Check that an effect keeps a bound with all of its interval; without an interval, by its estimate."""
    if effect.ratio is None:
        return False
    ends = [end for end in (effect.low, effect.high) if end is not None] or [effect.ratio]
    return not any(map(bound.is_broken, ends))


# --- settings -------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """The run of a combination in a mix.

    Attributes:
        block: The stage's number, and the block's in it.
        value: Of a metric, as a logarithm; `None` where it came to no figure.
    """

    block: tuple[int, int]
    combination: Combination
    value: float | None


def rows(measured: Iterable[Measured], metric: MetricKey) -> Iterator[Row]:
    """Runs of all mixes, and of the start where its block has drawn it."""
    for each in measured:
        values = each.values(metric) if each.stage.kind == "mixed" else {}
        for number, block in enumerate(each.stage.blocks) if values else ():
            for combination in block:
                of_variant = values.get(combination_name(combination), ())
                value = of_variant[number] if number < len(of_variant) else None
                yield Row((each.stage.number, number), combination, log(value) if value else None)


@dataclass(frozen=True)
class Fit:
    """A linear model of logarithms: a level of each block and an effect of each candidate.

    Attributes:
        effects: Candidate → what it adds on average over the combinations that were fitted.
        errors: Standard errors of the effects; `None` where the runs do not tell them all apart.
        freedom: Degrees of freedom that are left for the errors.
        levels: Block → the level of the start in it.
    """

    effects: Mapping[str, float]
    errors: Mapping[str, float] | None
    freedom: int
    levels: Mapping[tuple[int, int], float]

    def half_width(self, name: str) -> float | None:
        """Half-width of the 95 % interval of a candidate's effect; `None` with too few runs."""
        if self.errors is None or self.freedom < LEAST_FREEDOM:
            return None
        return float(scipy.special.stdtrit(self.freedom, (1 + CONFIDENCE) / 2)) * self.errors[name]


def fitted(runs: Iterable[Row], penalty: float = 0.0) -> Fit:
    """The effects of all candidates that have run to a figure, by least squares.

    Combinations are drawn at random, each knob's values as often. So the effect of a candidate is what it adds to a
    combination on average over all values of the other knobs, whatever their interactions, which count as noise here.

    Args:
        penalty: Above 0 draws effects towards nothing. Such a fit predicts better from few runs, and may choose; but
            its effects are too small on average, and none is to be reported.

    Source: Fisher, "The arrangement of field experiments", 1926 (blocks, and many factors at once); Hoerl and Kennard,
        "Ridge regression", 1970, for the penalty, here as rows of the same least squares.
    """
    known = [(row, row.value) for row in runs if row.value is not None]
    names = sorted({name for row, _ in known for name in row.combination})
    blocks = list(dict.fromkeys(row.block for row, _ in known))
    if not known:
        return Fit({}, None, 0, {})
    design = np.array(
        [[*(name in row.combination for name in names), *(row.block == block for block in blocks)] for row, _ in known],
        dtype=float,
    )
    values = np.array([value for _, value in known])
    if penalty:
        # As if each candidate had been measured once more, by itself, to give nothing.
        design = np.vstack([design, np.sqrt(penalty) * np.eye(len(names), design.shape[1])])
        values = np.append(values, np.zeros(len(names)))
    solution, _, rank, _ = np.linalg.lstsq(design, values)
    freedom, errors = len(known) - int(rank), None
    if rank == design.shape[1] and freedom > 0 and not penalty:
        variance = float(np.sum((values - design @ solution) ** 2)) / freedom
        # The solution is the pseudo-inverse times the values, each of which has this variance.
        spread = np.sqrt(variance * np.sum(np.linalg.pinv(design) ** 2, axis=1)).tolist()
        errors = dict(zip(names, spread, strict=False))
    effects, levels = solution[: len(names)].tolist(), solution[len(names) :].tolist()
    return Fit(dict(zip(names, effects, strict=True)), errors, freedom, dict(zip(blocks, levels, strict=True)))


def reported(runs: Iterable[Row]) -> Fit:
    """The effects of the candidates for a report: of all together, or each by itself where runs are too few for that.

    By itself an effect is the difference between the runs with a candidate and those without. What the others add,
    which are drawn at random, is noise of both, so the interval is valid, and wide: only what is large shows. Two that
    were in the same runs are left out, as are those with too few runs on either side.
    """
    known = [row for row in runs if row.value is not None]
    together = fitted(known)
    combinations_run = {frozenset(row.combination) for row in known}
    has_mirror_images = all(together.effects.keys() - each in combinations_run for each in combinations_run)
    if together.errors is not None and together.freedom >= (LEAST_FREEDOM if has_mirror_images else LEAST_TOGETHER):
        return together
    effects, errors, freedoms = dict[str, float](), dict[str, float](), list[int]()
    present = {name: tuple(name in row.combination for row in known) for name in together.effects}
    alike = Counter(min(those, tuple(not each for each in those)) for those in present.values())
    for name, those in present.items():
        # Without it a run has the start's value: others of the same setting are no measure of what it adds.
        setting = name.partition("=")[0]
        own = [
            row._replace(combination=(name,) if name in row.combination else ())
            for row in known
            if name in row.combination or all(each.partition("=")[0] != setting for each in row.combination)
        ]
        times = sum(bool(row.combination) for row in own)
        if alike[min(those, tuple(not each for each in those))] > 1 or min(times, len(own) - times) < LEAST_OF_A_LEVEL:
            continue
        fit = fitted(own)
        if fit.errors is not None and fit.freedom >= LEAST_FREEDOM:
            effects[name], errors[name] = fit.effects[name], fit.errors[name]
            freedoms.append(fit.freedom)
    freedom = min(freedoms, default=0)
    return Fit(effects, errors, freedom, together.levels) if effects else together


def given_up(runs: Iterable[Row]) -> set[frozenset[str]]:
    """Candidates, and pairs of them, that several runs have held and none of them has come to a figure.

    A pair is looked for in runs only that no single candidate explains.
    """
    tried = list(runs)
    found: set[frozenset[str]] = set()
    for size in (1, 2):
        parts = {row: [frozenset(part) for part in combinations(row.combination, size)] for row in tried}
        well = set(chain(*(parts[row] for row in tried if row.value is not None)))
        open_cases = [row for row in tried if row.value is None and not holds(row.combination, found)]
        failures = Counter(chain(*(parts[row] for row in open_cases)))
        found |= {part for part, times in failures.items() if times >= FAILURES and part not in well}
    return found


def holds(combination: Combination, parts: Iterable[frozenset[str]]) -> bool:
    """Check that a combination has all candidates of one of the parts."""
    return any(part <= {*combination} for part in parts)
