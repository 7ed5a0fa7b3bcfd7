"""The answer of a suite in a few sentences, and one sentence for each comparison."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.analysis.suite.comparisons import CONTRADICTS, Pair, is_detected, of_pair, published_of, verdict_of
from lab.analysis.suite.figures import PER_DOCUMENT, PER_ENTITY, PER_MB, primary_metrics
from lab.analysis.suite.names import (
    lower_first,
    metric_label,
    published_text,
    ratio_text,
    short_name,
)
from lab.records.suite import Effect, MetricKey, PublishedStep, SuitePlan

MOST_NAMED = 5
TOO_FEW = "too few runs"


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the sentences are written from.

    Attributes:
        repeats: How often each variant has run, in words.
        pairs: What the plan compares, the A/A check first.
        documents_per_entity: Of pairs whose variants count differently, the variant's and the other's.
    """

    plan: SuitePlan
    repeats: str
    pairs: Sequence[Pair]
    effects: Sequence[Effect]
    published: Sequence[PublishedStep]
    documents_per_entity: Mapping[Pair, tuple[float, float]]

    @property
    def metric(self) -> MetricKey:
        """The metric that matters most."""
        return self.plan.metrics[0]

    def named(self, variant: str) -> str:
        """A variant as the sentences call it."""
        return f"`{short_name(self.plan, variant)}`"

    def on(self, pair: Pair, metric: MetricKey) -> Effect | None:
        """What a comparison says of a metric."""
        return of_pair(self.effects, pair, metric)


AT_ONCE = (
    "Both runs of a pair went at the same time and shared the cores: rates and latencies are those of half a machine,"
    " and differ less than they would alone. Decide by CPU per document."
)


# --- the answer -----------------------------------------------------------------------------------------------------


def answer(findings: Findings) -> str:
    """Which variants differ, a sentence for each primary metric, and how far that can be believed, in one more."""
    measured = _measured(findings, findings.metric)
    checks = (findings.on(pair, findings.metric) for pair in findings.pairs if pair[0] == findings.plan.repetition)
    check = next(checks, None)
    if not measured and (check is None or check.verdict == TOO_FEW):
        return (
            "There are too few verified runs to compare anything: a comparison needs three blocks. Give the suite more"
            " time (`--minutes`) or more repeats; if runs have failed, the warnings say why."
        )
    reliability = [_checked(check), *(_per_entity(findings, pair) for pair in findings.pairs)]
    second = "; ".join(text for text in reliability if text)
    others = [metric for metric in primary_metrics(findings.plan)[1:] if _measured(findings, metric)]
    differences = " ".join(_differences(findings, metric) for metric in (findings.metric, *others))
    return f"{differences} {second[:1].upper()}{second[1:]}."


def _measured(findings: Findings, metric: MetricKey) -> list[Effect]:
    """Of a metric, every comparison that has enough runs, without the A/A check."""
    pairs = (pair for pair in findings.pairs if pair[0] != findings.plan.repetition)
    effects = (findings.on(pair, metric) for pair in pairs)
    return [effect for effect in effects if effect is not None and effect.verdict != TOO_FEW]


def _differences(findings: Findings, of: MetricKey) -> str:
    measured = _measured(findings, of)
    metric, repeats = lower_first(metric_label(of)), _blocks(findings, measured)
    if not measured:
        return f"Nothing but the control itself was compared, over {repeats}."
    differing = sorted(filter(is_detected, measured), key=_size, reverse=True)
    rest = Counter(effect.verdict for effect in measured if not is_detected(effect))
    others = " and ".join(f"{times} {verdict}" for verdict, times in sorted(rest.items()))
    if not differing:
        none = "The one comparison shows no" if len(measured) == 1 else f"None of {len(measured)} comparisons shows a"
        return f"{none} difference in {metric} ({repeats}): {others}."
    shown = [
        f"{findings.named(effect.variant)} {verdict_of(effect)} against {findings.named(effect.against)}"
        for effect in differing[:MOST_NAMED]
    ]
    if len(differing) > MOST_NAMED:
        shown.append(f"and {len(differing) - MOST_NAMED} more")
    return (
        f"At {repeats}, {shows(len(differing), len(measured))} difference in {metric}:"
        f" {', '.join(shown)}{f'; {others}' if others else ''}."
    )


def shows(differing: int, compared: int) -> str:
    """`1 of 3 comparisons shows a`, `none of 3 comparisons shows a`, `the one comparison shows no`: a difference."""
    if compared == 1:
        return f"the one comparison shows {'a' if differing else 'no'}"
    return f"{differing or 'none'} of {compared} comparisons {'show' if differing > 1 else 'shows'} a"


def _blocks(findings: Findings, measured: Sequence[Effect]) -> str:
    """How many blocks the comparisons rest on; where a width decides, each has its own number of them."""
    if findings.plan.repeats is not None or not measured:
        return findings.repeats
    counts = sorted(len(effect.ratios) for effect in measured)
    return (
        f"{'–'.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} {'pairs' if findings.plan.duets else 'blocks'}"
    )


def _size(effect: Effect) -> float:
    return max(effect.ratio or 1, 1 / (effect.ratio or 1))


def _checked(check: Effect | None) -> str:
    """What the control against itself says of the method."""
    if check is None:
        return "the suite has no A/A check, which would show what the method reports where nothing differs"
    if check.verdict == TOO_FEW:
        return "the control against itself (A/A) has too few runs to check the method"
    if is_detected(check):
        return f"but the control differs from itself (A/A: {verdict_of(check)}): distrust differences of that size"
    return f"the control against itself (A/A) is {verdict_of(check)}"


def _per_entity(findings: Findings, pair: Pair) -> str:
    """What remains, when documents are not counted, of a difference that was detected."""
    if pair not in findings.documents_per_entity or findings.metric != PER_DOCUMENT:
        return ""
    effect = findings.on(pair, PER_ENTITY)
    if not is_detected(findings.on(pair, PER_DOCUMENT)) or effect is None or effect.ratio is None:
        return ""
    return (
        f"counted per entity (book) instead of per document, {findings.named(pair[0])} against"
        f" {findings.named(pair[1])} is {verdict_of(effect)}"
    )


def remarks(findings: Findings) -> list[tuple[str, str]]:
    """By comparison what only counting makes of its ratios."""
    return [
        (" ÷ ".join(short_name(findings.plan, name) for name in pair), f"{text.removeprefix('. ')}.")
        for pair in findings.pairs
        if (text := _counted(findings, pair))
    ]


# --- one sentence for each comparison -------------------------------------------------------------------------------


def conclusions(findings: Findings) -> tuple[str, ...]:
    """What each comparison says: every metric that the plan asks for, the source's figure, and what is counting."""
    return tuple(_conclusion(findings, pair) for pair in findings.pairs)


def _conclusion(findings: Findings, pair: Pair) -> str:
    about = " (A/A: the same profile twice)" if pair[0] == findings.plan.repetition else ""
    # Units that do not depend on what counts as a document have a clause of their own, unless they matter most.
    metrics = [m for m in findings.plan.metrics if m == findings.metric or m not in {PER_ENTITY, PER_MB}]
    # A run that only asks has no indexing latency: only what was measured is told, unless that is nothing.
    measured = [m for m in metrics if (effect := findings.on(pair, m)) is not None and effect.ratios]
    verdicts = "; ".join(_verdict(findings, pair, metric) for metric in measured or metrics)
    what = f"{findings.named(pair[0])} against {findings.named(pair[1])}{about}"
    return f"{what}: {verdicts}{_counted(findings, pair)}."


def _verdict(findings: Findings, pair: Pair, metric: MetricKey) -> str:
    effect, step = findings.on(pair, metric), published_of(findings.published, pair, metric)
    source = f" (published {published_text(step)}{_agreed(step)})" if step else ""
    return f"{verdict_of(effect) if effect else TOO_FEW} in {lower_first(metric_label(metric))}{source}"


def _agreed(step: PublishedStep) -> str:
    """What the verdict beside it does not say already."""
    direction = f", {step.agreement}" if step.agreement in {"same direction", "opposite", CONTRADICTS} else ""
    direction += ", confounded" if step.confounded else ""
    if step.is_inside is None:
        return direction
    return f"{direction}, {'in' if step.is_inside else 'outside'} our interval"


def _counted(findings: Findings, pair: Pair) -> str:
    """What counting contributes to a ratio per document, and what remains."""
    if pair not in findings.documents_per_entity:
        return ""
    ours, theirs = findings.documents_per_entity[pair]
    remains = [
        f"{verdict_of(effect)} per {unit}"
        for unit, metric in (("entity (book)", PER_ENTITY), ("MB", PER_MB))
        if (effect := findings.on(pair, metric)) is not None and effect.ratio is not None
    ]
    text = (
        f". An entity (book) is {ours:.3g} documents here and {theirs:.3g} there: counting alone makes the rate per"
        f" document {ratio_text(ours / theirs)} times, and what one document takes {ratio_text(theirs / ours)} times"
    )
    return f"{text}; what remains of the rate is {' and '.join(remains)}" if remains else text
