"""Which factors of a suite are real: one sentence for each, and one for the place from which a level of it wins."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log

from lab.analysis.statistics.effects import is_speed
from lab.analysis.suite.answer import TOO_FEW, Findings
from lab.analysis.suite.comparisons import Pair, is_detected, verdict_of
from lab.analysis.suite.names import lower_first, metric_label
from lab.analysis.text import number
from lab.records.suite import Crossing, Effect, MetricKey, VariantMetric

BOUNDS = ("elasticsearch.page_cache_mb", "elasticsearch.memory_limit_mb", "elasticsearch.read_iops_limit")
PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Path:
    """What a setting can act through: below `least` of the metric, it had nothing to act on."""

    settings: tuple[str, ...]
    metric: MetricKey
    least: float
    otherwise: str


PATHS = (
    Path(
        BOUNDS,
        MetricKey(name="query_read_bytes", scope="elasticsearch"),
        PAGE_BYTES,
        "queries read nothing from the disk",
    ),
    Path(
        ("queries.request_cache",),
        MetricKey(name="request_cache_hit_share", scope="run"),
        0.01,
        "no answer came from the request cache",
    ),
)


def factor_sentences(findings: Findings, figures: Sequence[VariantMetric]) -> tuple[str, ...]:
    """Where a level of a factor begins to win, if the suite looks for it, then what it says of each factor."""
    factors = dict.fromkeys(variant.factor for variant in findings.plan.variants if variant.factor)
    return (
        *(_crossing(findings, wanted, figures) for wanted in findings.plan.crossings),
        *(_factor(findings, factor, figures) for factor in factors),
    )


def pairs_of(findings: Findings, factor: str) -> list[Pair]:
    """The comparisons in which a factor is turned."""
    return [pair for pair in findings.pairs if pair[0] in turned(findings, factor)]


def turned(findings: Findings, factor: str) -> frozenset[str]:
    """The variants of a factor, those among them that others are compared with included."""
    return frozenset(variant.name for variant in findings.plan.variants if variant.factor == factor)


def idle(findings: Findings, pair: Pair, figures: Sequence[VariantMetric]) -> str | None:
    """Why what a comparison turns had nothing to act on; `None` where it had, or where that is not known."""
    ours, theirs = (set(findings.plan.variant(name).overrides) for name in pair)
    turned = {override.partition("=")[0] for override in ours ^ theirs}
    for path in PATHS:
        values = [
            figure.median
            for figure in figures
            if figure.variant in pair and (figure.name, figure.scope) == (path.metric.name, path.metric.scope)
        ]
        known = [value for value in values if value is not None]
        if turned and turned <= set(path.settings) and known and max(known) < path.least:
            return path.otherwise
    return None


def _factor(findings: Findings, factor: str, figures: Sequence[VariantMetric]) -> str:
    pairs = pairs_of(findings, factor)
    effects = {pair: effect for pair in pairs if (effect := findings.on(pair, findings.metric)) is not None}
    clauses = "; ".join(_clause(findings, pair, effect) for pair, effect in effects.items())
    label = lower_first(metric_label(findings.metric))
    ending = f" ({label}): {clauses}{_published(findings, factor)}" if clauses else ""
    why = {idle(findings, pair, figures) for pair in effects}
    reason = why.pop() if len(why) == 1 else None
    could = not reason or any(map(is_detected, effects.values()))
    told = _is_real(list(effects.values())) if could else f"could not act here, since {reason}"
    return f"{factor[:1].upper()}{factor[1:]} {told}{ending}."


def _is_real(effects: Sequence[Effect]) -> str:
    measured = [effect for effect in effects if effect.verdict != TOO_FEW]
    if not measured:
        return "was not measured"
    if any(map(is_detected, measured)):
        return "is a real factor"
    same = all(effect.verdict == "same within 5 %" for effect in measured)
    return "makes no difference of more than 5 %" if same else "is undecided"


def _clause(findings: Findings, pair: Pair, effect: Effect) -> str:
    parts = Counter(part.verdict for metric in _parts(findings) if (part := findings.on(pair, metric)) is not None)
    of_parts = ", ".join(f"{times} {verdict}" for verdict, times in parts.most_common())
    beside = f", by question {of_parts}" if parts else ""
    return f"{findings.named(pair[0])} against {findings.named(pair[1])} {verdict_of(effect)}{beside}"


def _parts(findings: Findings) -> Iterator[MetricKey]:
    """The metric that matters most, question by question, where the suite compares it so as well."""
    for metric in findings.plan.metrics:
        if metric.name == findings.metric.name and metric != findings.metric:
            yield metric


def _published(findings: Findings, factor: str) -> str:
    steps = [step for step in findings.published if step.variant in turned(findings, factor)]
    clear = Counter(step.agreement for step in steps if not step.confounded)
    told = [f"{times} {agreement}" for agreement, times in clear.most_common()]
    confounded = sum(step.confounded is not None for step in steps)
    told += [f"{confounded} confounded"] if confounded else []
    return f"; published ratios: {', '.join(told)}" if told else ""


# --- where a level begins to win ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Level:
    """A comparison at one place along an axis; log ratios, below zero where the variant wins.

    Attributes:
        at: Where, above zero.
        worst, best: Ends of the interval that the verdict is taken from.
    """

    at: float
    mean: float
    worst: float
    best: float


def levels(findings: Findings, wanted: Crossing, figures: Sequence[VariantMetric]) -> list[Level]:
    """The comparisons of a factor along its axis, the smallest place first; without those not measured.

    The axis is measured of what the variant is compared with; of data that queries only ask about in part, that part.
    """
    axis = (wanted.over.name, wanted.over.scope)
    places = {figure.variant: figure.median for figure in figures if (figure.name, figure.scope) == axis}
    found = []
    for variant, against in pairs_of(findings, wanted.factor):
        effect, place = findings.on((variant, against), wanted.metric), places.get(against)
        if effect is None or not place or not (effect.ratio and effect.low and effect.high):
            continue
        sign = -1 if is_speed(wanted.metric.name) > 0 else 1
        ends = sorted(sign * log(end) for end in (effect.low, effect.high))
        part = findings.plan.variant(against).working_set
        found.append(Level(at=place * part, mean=sign * log(effect.ratio), worst=ends[1], best=ends[0]))
    return sorted(found, key=lambda level: level.at)


def passing(points: Sequence[tuple[float, float]]) -> float | None:
    """The place from which on a line through the points stays below zero, by log place; `None` if its end does not.

    Args:
        points: Place and value, the smallest place first; the first place if all values are below zero.
    """
    above = [position for position, (_, value) in enumerate(points) if value >= 0]
    if not points or (above and above[-1] == len(points) - 1):
        return None
    if not above:
        return points[0][0]
    (left, before), (right, after) = points[above[-1]], points[above[-1] + 1]
    return exp(log(left) + (log(right) - log(left)) * before / (before - after))


def _crossing(findings: Findings, wanted: Crossing, figures: Sequence[VariantMetric]) -> str:
    found = levels(findings, wanted, figures)
    axis, metric = lower_first(metric_label(wanted.over)), lower_first(metric_label(wanted.metric))
    if any(findings.plan.variant(against).working_set < 1 for _, against in pairs_of(findings, wanted.factor)):
        axis = f"{axis} (the part asked about)"
    about = f"`{_common_name(findings, wanted.factor)}` along {axis}, by {metric}"
    if len(found) < 2:
        return f"{about}: not known, since {len(found)} of at least 2 levels were measured with that axis."
    tried = f"levels {', '.join(_place(level.at) for level in found)}"
    surely = passing([(level.at, level.worst) for level in found])
    if surely is None:
        return f"{about}: {_no_win(found)} ({tried})."
    if all(level.worst < 0 for level in found):
        return f"{about}: it wins at every level, from {_place(found[0].at)} on ({tried})."
    mean = passing([(level.at, level.mean) for level in found])
    earliest = passing([(level.at, level.best) for level in found])
    is_open = all(level.best < 0 for level in found)
    first = (
        f"{_place(found[0].at)} is undecided" if found[0].worst >= 0 else f"it wins at {_place(found[0].at)} already"
    )
    low = f"no lower end, since {first}" if is_open else f"{_place(earliest or 0)}"
    if mean is None or all(level.mean < 0 for level in found):
        return (
            f"{about}: it wins at the latest from {_place(surely)} on; only bracketed, since the mean ratio is a gain"
            f" at every level ({tried})."
        )
    interval = f"at the latest from {_place(surely)}, {low}" if is_open else f"interval {low} to {_place(surely)}"
    return f"{about}: it wins from {_place(mean)} on, interpolated between levels ({interval}; {tried})."


def _common_name(findings: Findings, factor: str) -> str:
    """What is compared, without the setting that ends each name: `best_compression` of `best_compression 4×`."""
    names = {pair[0].rpartition(" ")[0].rstrip(",") for pair in pairs_of(findings, factor)}
    return names.pop() if len(names) == 1 else factor


def _no_win(found: Sequence[Level]) -> str:
    last = found[-1]
    if any(level.worst < 0 for level in found):
        return f"it wins at some levels and not at the largest one, {_place(last.at)}, so that no ratio can be named"
    if last.best > 0:
        return f"it does not win here, and loses at the largest level, {_place(last.at)}"
    return f"it is not shown to win here, up to {_place(last.at)}"


def _place(at: float) -> str:
    return f"{number(at)}×"
