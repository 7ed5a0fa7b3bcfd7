"""Sentences about the factors of a suite: where levels cross, and which factor had nothing to act on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.suite.break_even import crossing_sentence, pairs_of
from lab.analysis.suite.comparisons import Pair
from lab.analysis.suite.figures import by_variant
from lab.analysis.suite.names import lower_first, metric_label
from lab.analysis.suite.summary import Findings
from lab.analysis.text import figure
from lab.records.suite import MetricKey, VariantMetric

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


def factor_sentences(findings: Findings, figures: Sequence[VariantMetric]) -> tuple[str, ...]:
    """The break-even places that the suite asks for, then the factors that had nothing to act on."""
    factors = dict.fromkeys(variant.factor for variant in findings.plan.variants if variant.factor)
    return (
        *(crossing_sentence(findings, wanted, figures) for wanted in findings.plan.crossings),
        *(sentence for factor in factors if (sentence := _without_effect(findings, factor, figures))),
    )


def idle(findings: Findings, pair: Pair, figures: Sequence[VariantMetric]) -> MetricKey | None:
    """Metric by which a comparison's setting had nothing to act on; `None` if it had, or if that is not known."""
    ours, theirs = map(findings.plan.variant, pair)
    settings = {override.partition("=")[0] for override in set(ours.overrides) ^ set(theirs.overrides)}
    if ours.profile != theirs.profile or not settings:
        return None
    for path in PATHS:
        highest = _highest(path.metric, pair, figures)
        known = [value for value in highest.values() if value is not None]
        are_known = len(known) == len(pair) or (path.unknown_if_off and highest.get(pair[0]) is not None)
        if settings <= set(path.settings) and are_known and max(known) < path.least:
            return path.metric
    return None


def _highest(metric: MetricKey, variants: Iterable[str], figures: Sequence[VariantMetric]) -> dict[str, float | None]:
    """Highest value of any run, by variant."""
    return {name: figure.high for name, figure in by_variant(figures, metric).items() if name in variants}


def _without_effect(findings: Findings, factor: str, figures: Sequence[VariantMetric]) -> str | None:
    """Figure by which none of its comparisons could show anything; `None` if one could, or if that is not known."""
    pairs = pairs_of(findings, factor)
    metrics = {idle(findings, pair, figures) for pair in pairs}
    metric = metrics.pop() if len(metrics) == 1 else None
    if metric is None:
        return None
    highest = _highest(metric, {name for pair in pairs for name in pair}, figures).values()
    most = max(value for value in highest if value is not None)
    return (
        f"{factor[:1].upper()}{factor[1:]} had nothing to act on: {lower_first(metric_label(metric))}, at most"
        f" {figure(most, BY_NAME[metric.name].unit)}."
    )
