"""A sentence for each factor of a suite: its comparisons by verdict."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lab.analysis.suite.break_even import crossing_sentence, pairs_of
from lab.analysis.suite.comparisons import Pair
from lab.analysis.suite.names import lower_first, metric_label
from lab.analysis.suite.summary import Findings
from lab.records.suite import Effect, MetricKey, VariantMetric

BOUNDS = ("elasticsearch.page_cache_mb", "elasticsearch.memory_limit_mb", "elasticsearch.read_iops_limit")
PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Path:
    """Metric through which settings act.

    Attributes:
        least: What no run of either variant reached, if `otherwise` is told.
        unknown_if_off: Whether what a variant is compared with may lack the metric, being switched off.
    """

    settings: tuple[str, ...]
    metric: MetricKey
    least: float
    otherwise: str
    unknown_if_off: bool = False


PATHS = (
    Path(
        BOUNDS,
        MetricKey(name="query_read_bytes", scope="elasticsearch"),
        PAGE_BYTES,
        "queries read less than a page (4 KiB) each from the disk, on average",
    ),
    Path(
        ("queries.request_cache",),
        MetricKey(name="request_cache_hit_share", scope="run"),
        0.01,
        "fewer than 1 in 100 answers came from the request cache",
        unknown_if_off=True,
    ),
)


def factor_sentences(findings: Findings, figures: Sequence[VariantMetric]) -> tuple[str, ...]:
    """The break-even places that the suite asks for, then the verdicts of each factor."""
    factors = dict.fromkeys(variant.factor for variant in findings.plan.variants if variant.factor)
    return (
        *(crossing_sentence(findings, wanted, figures) for wanted in findings.plan.crossings),
        *(_factor(findings, factor, figures) for factor in factors),
    )


def idle(findings: Findings, pair: Pair, figures: Sequence[VariantMetric]) -> str | None:
    """Reason why a comparison's setting had nothing to act on; `None` if it had, or if that is not known."""
    ours, theirs = map(findings.plan.variant, pair)
    settings = {override.partition("=")[0] for override in set(ours.overrides) ^ set(theirs.overrides)}
    if ours.profile != theirs.profile or not settings:
        return None
    for path in PATHS:
        highest = {
            figure.variant: figure.high
            for figure in figures
            if figure.variant in pair and (figure.name, figure.scope) == (path.metric.name, path.metric.scope)
        }
        known = [value for value in highest.values() if value is not None]
        are_known = len(known) == len(pair) or (path.unknown_if_off and highest.get(pair[0]) is not None)
        if settings <= set(path.settings) and are_known and max(known) < path.least:
            return path.otherwise
    return None


def _factor(findings: Findings, factor: str, figures: Sequence[VariantMetric]) -> str:
    """Its comparisons by verdict, as counts: what they say of other levels than these is not known."""
    pairs = pairs_of(findings, factor)
    effects = [effect for pair in pairs if (effect := findings.on(pair, findings.metric)) is not None]
    parts = [part for metric in _parts(findings) for pair in pairs if (part := findings.on(pair, metric)) is not None]
    label = lower_first(metric_label(findings.metric))
    by_question = f"; by question {_verdicts(parts)}" if parts else ""
    why = {idle(findings, pair, figures) for pair in pairs}
    reason = why.pop() if len(why) == 1 else None
    beside = f"; {reason}" if reason else ""
    return f"{factor[:1].upper()}{factor[1:]} ({label}): {_verdicts(effects) or 'not measured'}{by_question}{beside}."


def _verdicts(effects: Iterable[Effect]) -> str:
    """`2 slower, 1 undecided`."""
    return ", ".join(f"{times} {verdict}" for verdict, times in Counter(e.verdict for e in effects).most_common())


def _parts(findings: Findings) -> Iterator[MetricKey]:
    """The metric that matters most, question by question, where the suite compares it so as well."""
    for metric in findings.plan.metrics:
        if metric.name == findings.metric.name and metric != findings.metric:
            yield metric
