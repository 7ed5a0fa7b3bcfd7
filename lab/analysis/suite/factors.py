"""Which factors of a suite are real: one sentence for each."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.analysis.suite.answer import TOO_FEW, Findings
from lab.analysis.suite.comparisons import Pair, is_detected, verdict_of
from lab.analysis.suite.crossings import crossing_sentence, pairs_of, turned
from lab.analysis.suite.names import lower_first, metric_label
from lab.records.suite import Effect, MetricKey, VariantMetric

BOUNDS = ("elasticsearch.page_cache_mb", "elasticsearch.memory_limit_mb", "elasticsearch.read_iops_limit")
PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Path:
    """What a setting can act through: where no run of either variant reached `least`, it had nothing to act on."""

    settings: tuple[str, ...]
    metric: MetricKey
    least: float
    otherwise: str


PATHS = (
    Path(
        BOUNDS,
        MetricKey(name="query_read_bytes", scope="elasticsearch"),
        PAGE_BYTES,
        "queries read less than a page (4 KiB) each from the disk",
    ),
    Path(
        ("queries.request_cache",),
        MetricKey(name="request_cache_hit_share", scope="run"),
        0.01,
        "fewer than 1 in 100 answers came from the request cache",
    ),
)


def factor_sentences(findings: Findings, figures: Sequence[VariantMetric]) -> tuple[str, ...]:
    """Where a level of a factor begins to win, if the suite looks for it, then what it says of each factor."""
    factors = dict.fromkeys(variant.factor for variant in findings.plan.variants if variant.factor)
    return (
        *(crossing_sentence(findings, wanted, figures) for wanted in findings.plan.crossings),
        *(_factor(findings, factor, figures) for factor in factors),
    )


def idle(findings: Findings, pair: Pair, figures: Sequence[VariantMetric]) -> str | None:
    """Why what a comparison turns had nothing to act on; `None` where it had, or where that is not known."""
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
        # A cache that is switched off has no share of hits; what the variant itself did must be known.
        if settings <= set(path.settings) and highest.get(pair[0]) is not None and max(known) < path.least:
            return path.otherwise
    return None


def _factor(findings: Findings, factor: str, figures: Sequence[VariantMetric]) -> str:
    pairs = pairs_of(findings, factor)
    effects = {pair: effect for pair in pairs if (effect := findings.on(pair, findings.metric)) is not None}
    clauses = "; ".join(_clause(findings, pair, effect) for pair, effect in effects.items())
    label = lower_first(metric_label(findings.metric))
    ending = f" ({label}): {clauses}{_published(findings, factor)}" if clauses else ""
    measured = {pair: effect for pair, effect in effects.items() if effect.verdict != TOO_FEW}
    why = {idle(findings, pair, figures) for pair in measured}
    reason = why.pop() if len(why) == 1 else None
    could = not reason or any(map(is_detected, measured.values()))
    words = _difference(list(measured.values())) if could else f"could not act here, since {reason}"
    return f"{factor[:1].upper()}{factor[1:]} {words}{ending}."


def _difference(measured: Sequence[Effect]) -> str:
    if not measured:
        return "was not measured"
    detected = [effect for effect in measured if is_detected(effect)]
    if detected:
        return "makes a difference"
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
    """How the source's figures of this metric stand to ours, those of its scopes included."""
    variants = turned(findings, factor)
    steps = [s for s in findings.published if s.variant in variants and s.metric == findings.metric.name]
    words = Counter(f"{step.agreement}{' (confounded)' if step.confounded else ''}" for step in steps)
    counts = [f"{times} {agreement}" for agreement, times in words.most_common()]
    return f"; published ratios: {', '.join(counts)}" if counts else ""
