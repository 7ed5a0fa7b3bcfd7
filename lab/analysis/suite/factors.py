"""Factors of a suite: the places along an axis where a level begins to win, and settings that had nothing to act on."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.statistics.effects import is_speed
from lab.analysis.suite.comparisons import Pair, is_detected, of_pair, planned_pairs
from lab.analysis.suite.figures import by_variant
from lab.analysis.suite.names import lower_first, metric_label
from lab.analysis.suite.summary import TOO_FEW
from lab.analysis.text import figure, number
from lab.records.suite import Crossing, MetricKey, SuiteResult

BOUNDS = ("elasticsearch.page_cache_mb", "elasticsearch.memory_limit_mb", "elasticsearch.read_iops_limit")
PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Path:
    """Metric through which settings act.

    Attributes:
        least: A value that no run of either variant reached if the settings had nothing to act on.
        unknown_if_off: Whether what a variant is compared with may lack the metric, being switched off.
    """

    settings: tuple[str, ...]
    metric: MetricKey
    least: float
    unknown_if_off: bool = False


PATHS = (
    Path(BOUNDS, MetricKey(name="query_read_bytes", scope="elasticsearch"), PAGE_BYTES),
    Path(("queries.request_cache",), MetricKey(name="request_cache_hit_share", scope="run"), 0.01, unknown_if_off=True),
)


def factor_sentences(result: SuiteResult) -> tuple[str, ...]:
    """The break-even places that the suite asks for, then the factors that had nothing to act on."""
    factors = dict.fromkeys(variant.factor for variant in result.plan.variants if variant.factor)
    return (
        *(crossing_sentence(result, wanted) for wanted in result.plan.crossings),
        *(sentence for factor in factors if (sentence := _without_effect(result, factor))),
    )


# --- where a level begins to win ------------------------------------------------------------------------------------


def pairs_of(result: SuiteResult, factor: str) -> list[Pair]:
    """The comparisons in which a factor is turned."""
    return [pair for pair in planned_pairs(result.plan) if result.plan.variant(pair[0]).factor == factor]


@dataclass(frozen=True, slots=True)
class Level:
    """A comparison at one place along an axis; log ratios, below zero where the variant wins.

    Attributes:
        at: Where, above zero.
        worst, best: Ends of the interval that the verdict is taken from; the mean where there is none.
        is_shown: Whether the verdict is a difference.
    """

    at: float
    mean: float
    worst: float
    best: float
    is_shown: bool


def levels(result: SuiteResult, wanted: Crossing) -> list[Level]:
    """The comparisons of a factor along its axis, the smallest place first; without those not measured.

    The axis is measured of what the variant is compared with; of data that queries only ask about in part, that part.
    """
    places = by_variant(result.figures, wanted.over)
    measured = []
    for variant, against in pairs_of(result, wanted.factor):
        effect, place = of_pair(result.effects, (variant, against), wanted.metric), places.get(against)
        if effect is None or effect.verdict == TOO_FEW or place is None or not place.median:
            continue
        if not effect.ratio:
            continue
        sign = -1 if is_speed(wanted.metric.name) > 0 else 1
        ends = sorted(sign * log(end or effect.ratio) for end in (effect.low, effect.high))
        part = result.plan.variant(against).working_set
        mean, is_shown = sign * log(effect.ratio), is_detected(effect)
        measured.append(Level(at=place.median * part, mean=mean, worst=ends[1], best=ends[0], is_shown=is_shown))
    return sorted(measured, key=lambda level: level.at)


def crossing_sentence(result: SuiteResult, wanted: Crossing) -> str:
    """At which places it wins and loses; nothing is known of the places between."""
    measured = levels(result, wanted)
    axis, metric = lower_first(axis_label(result, wanted)), lower_first(metric_label(wanted.metric))
    wins = [level for level in measured if level.is_shown and level.mean < 0]
    loses = [level for level in measured if level.is_shown and level.mean > 0]
    others = [level for level in measured if not level.is_shown]
    words = (("it wins", wins), ("it loses", loses), ("neither is shown", others))
    told = "; ".join(
        f"{word} at {', '.join(f'{number(level.at)}×' for level in those)}" for word, those in words if those
    )
    about = f"`{common_name(result, wanted.factor)}` along {axis}, by {metric}"
    return f"{about}: {told or 'no level was measured'}."


def axis_label(result: SuiteResult, wanted: Crossing) -> str:
    """Label of the axis of a crossing."""
    in_part = any(result.plan.variant(against).working_set < 1 for _, against in pairs_of(result, wanted.factor))
    return f"{metric_label(wanted.over)}{' (the part asked about)' if in_part else ''}"


def common_name(result: SuiteResult, factor: str) -> str:
    """Common name of a factor's variants, without the setting that ends each: `codec` of `codec 4×`, `codec 16×`."""
    names = {pair[0].rpartition(" ")[0].rstrip(",") for pair in pairs_of(result, factor)}
    return names.pop() if len(names) == 1 else factor


# --- settings that had nothing to act on ----------------------------------------------------------------------------


def idle(result: SuiteResult, pair: Pair) -> MetricKey | None:
    """Metric by which a comparison's setting had nothing to act on; `None` if it had, or if that is not known."""
    ours, theirs = map(result.plan.variant, pair)
    settings = {override.partition("=")[0] for override in set(ours.overrides) ^ set(theirs.overrides)}
    if ours.profile != theirs.profile or not settings:
        return None
    for path in PATHS:
        highest = _highest(result, path.metric, pair)
        known = [value for value in highest.values() if value is not None]
        are_known = len(known) == len(pair) or (path.unknown_if_off and highest.get(pair[0]) is not None)
        if settings <= set(path.settings) and are_known and max(known) < path.least:
            return path.metric
    return None


def _highest(result: SuiteResult, metric: MetricKey, variants: Iterable[str]) -> dict[str, float | None]:
    """Highest value of all runs, by variant, if each is known; of a block, where an older record has none of runs."""
    figures = {name: figure for name, figure in by_variant(result.figures, metric).items() if name in variants}
    known = {name: [value for value in each.by_run.values() if value is not None] for name, each in figures.items()}
    return {
        name: max(known[name], default=each.high) if len(known[name]) == len(each.by_run) else None
        for name, each in figures.items()
    }


def _without_effect(result: SuiteResult, factor: str) -> str | None:
    """Figure by which none of its comparisons could show anything; `None` if one could, or if that is not known."""
    pairs = pairs_of(result, factor)
    metrics = {idle(result, pair) for pair in pairs}
    metric = metrics.pop() if len(metrics) == 1 else None
    if metric is None:
        return None
    highest = _highest(result, metric, {name for pair in pairs for name in pair}).values()
    most = max(value for value in highest if value is not None)
    return (
        f"{factor[:1].upper()}{factor[1:]} had nothing to act on: {lower_first(metric_label(metric))}, at most"
        f" {figure(most, BY_NAME[metric.name].unit)}."
    )
