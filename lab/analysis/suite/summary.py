"""The summary of a suite in a few sentences, and the part of a ratio that only counting makes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.analysis.suite.comparisons import Pair, is_detected, of_pair, verdict_of
from lab.analysis.suite.figures import PER_DOCUMENT, PER_ENTITY, PER_MB, primary_metrics
from lab.analysis.suite.names import (
    lower_first,
    metric_label,
    ratio_text,
    short_name,
)
from lab.records.suite import Effect, MetricKey, PublishedStep, SuitePlan

MOST_NAMED = 5
TOO_FEW = "too few runs"


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings that the sentences are written from.

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
        """Effect of a pair on a metric; `None` without one."""
        return of_pair(self.effects, pair, metric)


AT_ONCE = (
    "Both runs of a pair went at the same time and shared the cores: their rates and latencies may differ less than"
    " they would alone, or the other way round. Decide by CPU per document."
)


# --- the summary ----------------------------------------------------------------------------------------------------


def summary(findings: Findings) -> str:
    """Summary: a sentence for each primary metric on the variants that differ, and one on the A/A check."""
    primary = primary_metrics(findings.plan)
    known = [metric for metric in primary if _measured(findings, metric)]
    checks = _checks(findings)
    if not known and not checks:
        names = " or ".join(lower_first(metric_label(metric)) for metric in primary)
        return (
            f"Nothing can be compared by {names}: a comparison needs three blocks in which both runs are verified and"
            " have it. Give the suite more time (`--minutes`) or more repeats; if runs have failed, the warnings say"
            " why."
        )
    reliability = [
        _checked(findings, checks, alone=not known),
        *(_per_entity(findings, pair) for pair in findings.pairs),
    ]
    last = "; ".join(text for text in reliability if text)
    nothing = f"Nothing but the control itself was compared, over {findings.repeats}."
    differences = " ".join(_differences(findings, metric) for metric in known) or nothing
    return f"{differences} {last[:1].upper()}{last[1:]}." if last else differences


def _compared(findings: Findings, metric: MetricKey) -> list[Effect]:
    """Effects on a metric of all comparisons that have a ratio, without the A/A check."""
    pairs = (pair for pair in findings.pairs if pair[0] != findings.plan.repetition)
    effects = (findings.on(pair, metric) for pair in pairs)
    return [effect for effect in effects if effect is not None and effect.ratios]


def _measured(findings: Findings, metric: MetricKey) -> list[Effect]:
    """Effects on a metric of the comparisons that have enough runs."""
    return [effect for effect in _compared(findings, metric) if effect.verdict != TOO_FEW]


def _differences(findings: Findings, of: MetricKey) -> str:
    compared, measured = _compared(findings, of), _measured(findings, of)
    metric, repeats = lower_first(metric_label(of)), _blocks(findings, measured)
    differing = sorted(filter(is_detected, measured), key=_size, reverse=True)
    rest = Counter(effect.verdict for effect in compared if not is_detected(effect))
    others = " and ".join(f"{times} {verdict}" for verdict, times in sorted(rest.items()))
    if not differing:
        none = "The one comparison shows no" if len(compared) == 1 else f"None of {len(compared)} comparisons shows a"
        return f"{none} difference in {metric} ({repeats}): {others}."
    shown = [
        f"{findings.named(effect.variant)} {verdict_of(effect)} against {findings.named(effect.against)}"
        for effect in differing[:MOST_NAMED]
    ]
    if len(differing) > MOST_NAMED:
        shown.append(f"and {len(differing) - MOST_NAMED} more")
    return (
        f"At {repeats}, {shows(len(differing), len(compared))} difference in {metric}:"
        f" {', '.join(shown)}{f'; {others}' if others else ''}."
    )


def shows(differing: int, compared: int) -> str:
    """`1 of 3 comparisons shows a`, `the one comparison shows a`: a difference."""
    if compared == 1:
        return "the one comparison shows a"
    return f"{differing} of {compared} comparisons {'show' if differing > 1 else 'shows'} a"


def _blocks(findings: Findings, measured: Sequence[Effect]) -> str:
    """Number of blocks behind the comparisons; where a precision decides, each comparison has its own."""
    if findings.plan.repeats is not None or not measured:
        return findings.repeats
    counts = sorted(len(effect.ratios) for effect in measured)
    return (
        f"{'–'.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} {'pairs' if findings.plan.duets else 'blocks'}"
    )


def _size(effect: Effect) -> float:
    return max(effect.ratio or 1, 1 / (effect.ratio or 1))


def _checks(findings: Findings) -> list[tuple[MetricKey, Effect]]:
    """The control against itself (A/A), by each primary metric of which it has enough runs."""
    pair = (findings.plan.repetition or "", findings.plan.control)
    checks = ((metric, findings.on(pair, metric)) for metric in primary_metrics(findings.plan))
    return [(metric, check) for metric, check in checks if check is not None and check.verdict != TOO_FEW]


def _checked(findings: Findings, checks: Sequence[tuple[MetricKey, Effect]], *, alone: bool) -> str:
    """Clause on the control against itself (A/A); unless it shows a difference, the table's row is enough.

    Args:
        alone: Nothing else was compared.
    """
    if findings.plan.repetition is None:
        return "the suite has no A/A check, which would show what the method reports where nothing differs"
    if not checks:
        return "the control against itself (A/A) has too few runs to check the method"
    told = " and ".join(f"{verdict_of(check)} in {lower_first(metric_label(metric))}" for metric, check in checks)
    if any(is_detected(check) for _, check in checks):
        return f"but the control shows a difference from itself (A/A: {told}): distrust differences of that size"
    return f"the control against itself (A/A) is {told}" if alone else ""


def _per_entity(findings: Findings, pair: Pair) -> str:
    """Clause on the part of a difference that remains per entity."""
    if pair not in findings.documents_per_entity or findings.metric != PER_DOCUMENT:
        return ""
    effect = findings.on(pair, PER_ENTITY)
    if not is_detected(findings.on(pair, PER_DOCUMENT)) or effect is None or effect.ratio is None:
        return ""
    return (
        f"counted per entity instead of per document, {findings.named(pair[0])} against"
        f" {findings.named(pair[1])} is {verdict_of(effect)}"
    )


def remarks(findings: Findings) -> list[tuple[str, str]]:
    """By comparison what only counting makes of its ratios."""
    return [
        (" ÷ ".join(short_name(findings.plan, name) for name in pair), f"{text}.")
        for pair in findings.pairs
        if (text := _counted(findings, pair))
    ]


def _counted(findings: Findings, pair: Pair) -> str:
    """Sentence on the part of a ratio per document that counting makes, and on the rest."""
    if pair not in findings.documents_per_entity:
        return ""
    ours, theirs = findings.documents_per_entity[pair]
    remains = [
        f"{verdict_of(effect)} per {unit}"
        for unit, metric in (("entity", PER_ENTITY), ("MB", PER_MB))
        if (effect := findings.on(pair, metric)) is not None and effect.ratio is not None
    ]
    text = (
        f"An entity is {ours:.3g} documents here and {theirs:.3g} there: counting alone makes the rate per"
        f" document {ratio_text(ours / theirs)} times, and what one document takes {ratio_text(theirs / ours)} times"
    )
    return f"{text}; what remains of the rate is {' and '.join(remains)}" if remains else text
