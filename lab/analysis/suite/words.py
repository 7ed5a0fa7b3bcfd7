"""The answer of a suite in two sentences, and one sentence for each comparison."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lab.analysis.suite.comparison_rows import detectable_text, published_step
from lab.analysis.suite.comparisons import Pair, effect_on, is_detected, verdict_of
from lab.analysis.suite.counting import Counting
from lab.analysis.suite.figures import PER_DOCUMENT, PER_ENTITY, PER_MB
from lab.analysis.suite.names import lower_first, metric_label, percent, published_text, ratio_text, short_name
from lab.records.suite import Effect, MetricAsked, PublishedStep, SuitePlan

MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the sentences are written from.

    Attributes:
        repeats: How often each variant has run, in words.
        pairs: What the plan compares, the A/A check first.
        countings: Pairs whose variants count documents differently.
    """

    plan: SuitePlan
    repeats: str
    pairs: Sequence[Pair]
    effects: Sequence[Effect]
    published: Sequence[PublishedStep]
    countings: Sequence[Counting]

    @property
    def asked(self) -> MetricAsked:
        """The metric that matters most."""
        return self.plan.metrics[0]

    def named(self, variant: str) -> str:
        """A variant as the sentences call it."""
        return f"`{short_name(self.plan, variant)}`"

    def on(self, pair: Pair, asked: MetricAsked) -> Effect | None:
        """What a comparison says of a metric."""
        return effect_on(self.effects, pair, asked)

    @property
    def check(self) -> Effect | None:
        """The control against itself, by the metric that matters most."""
        return next((self.on(pair, self.asked) for pair in self.pairs if pair[0] == self.plan.repetition), None)

    @property
    def compared(self) -> list[Effect]:
        """Every other comparison by that metric."""
        found = [self.on(pair, self.asked) for pair in self.pairs if pair[0] != self.plan.repetition]
        return [effect for effect in found if effect is not None]


# --- the answer -----------------------------------------------------------------------------------------------------


def answer(found: Findings) -> str:
    """Which variants differ, and how far that can be believed: two sentences."""
    measured = [effect for effect in found.compared if effect.verdict != "too few runs"]
    if not measured and (found.check is None or found.check.verdict == "too few runs"):
        return (
            "There are too few verified runs to compare anything. Run the suite to its end, or with more repeats, and"
            " look at the warnings for the runs that failed."
        )
    return f"{_differences(found, measured)} {_reliability(found, measured)}"


def _differences(found: Findings, measured: Sequence[Effect]) -> str:
    metric = lower_first(metric_label(found.asked))
    differing = sorted((effect for effect in measured if is_detected(effect)), key=_size, reverse=True)
    if not measured:
        return f"Nothing but the control itself was compared, over {found.repeats}."
    rest = Counter(effect.verdict for effect in measured if not is_detected(effect))
    others = " and ".join(f"{times} {said}" for said, times in sorted(rest.items()))
    if not differing:
        where = "the one comparison" if len(measured) == 1 else f"any of {len(measured)} comparisons"
        return f"No difference in {metric} is shown by {where} at {found.repeats}: {others}."
    shown = [
        f"{found.named(effect.variant)} {verdict_of(effect)} against {found.named(effect.against)}"
        for effect in differing[:MOST_NAMED]
    ]
    if len(differing) > MOST_NAMED:
        shown.append(f"and {len(differing) - MOST_NAMED} more")
    return (
        f"At {found.repeats}, {len(differing)} of {len(measured)} comparisons show a difference in {metric}:"
        f" {', '.join(shown)}{f'; {others}' if others else ''}."
    )


def _size(effect: Effect) -> float:
    return max(effect.ratio or 1, 1 / (effect.ratio or 1))


def _reliability(found: Findings, measured: Sequence[Effect]) -> str:
    parts = [_checked(found), _smallest(measured), *(_remaining(found, counting) for counting in found.countings)]
    text = "; ".join(part for part in parts if part)
    return f"{text[:1].upper()}{text[1:]}."


def _checked(found: Findings) -> str:
    check = found.check
    if check is None:
        return "the suite has no A/A check, so that nothing shows what the method finds where there is no difference"
    if check.verdict == "too few runs":
        return "the control against itself (A/A) has too few runs to check the method"
    if is_detected(check):
        return (
            f"but the control differs from itself (A/A: {verdict_of(check)}), so that no difference of that size can be"
            " believed"
        )
    band = ", and within that band nothing proves the method" if check.verdict == "undecided" else ""
    return f"the control against itself (A/A) is {verdict_of(check)}{band}"


def _remaining(found: Findings, counting: Counting) -> str:
    """What remains of a difference when documents are not counted, for a pair whose difference was detected."""
    if found.asked != PER_DOCUMENT or not is_detected(found.on(counting.pair, PER_DOCUMENT)):
        return ""
    per_entity = found.on(counting.pair, PER_ENTITY)
    if per_entity is None or per_entity.ratio is None:
        return ""
    return (
        f"counted per entity (book) instead of per document, {found.named(counting.pair[0])} against"
        f" {found.named(counting.pair[1])} is {verdict_of(per_entity)}"
    )


def _smallest(measured: Sequence[Effect]) -> str:
    known = [effect for effect in measured if effect.smallest_detectable is not None]
    if not known:
        return ""
    ends = sorted(known, key=lambda effect: effect.smallest_detectable or 0.0)
    told = (
        detectable_text(ends[0])
        if len(ends) == 1
        else f"{percent(ends[0].smallest_detectable)} to {percent(ends[-1].smallest_detectable)}, by comparison"
    )
    return f"at 80 % power the smallest detectable difference is {told}"


# --- one sentence for each comparison -------------------------------------------------------------------------------


def conclusions(found: Findings) -> tuple[str, ...]:
    """What each comparison says: every metric that the plan asks for, the source's figure, and what is counting."""
    return tuple(_conclusion(found, pair) for pair in found.pairs)


def _conclusion(found: Findings, pair: Pair) -> str:
    about = " (A/A: the same profile twice)" if pair[0] == found.plan.repetition else ""
    told = "; ".join(_verdict(found, pair, asked, effect) for asked, effect in _told_of(found, pair))
    return f"{found.named(pair[0])} against {found.named(pair[1])}{about}: {told}{_counted(found, pair)}."


def _told_of(found: Findings, pair: Pair) -> list[tuple[MetricAsked, Effect | None]]:
    """The metrics of a conclusion; units that do not depend on what counts as a document have a clause of their own."""
    return [
        (asked, found.on(pair, asked))
        for asked in found.plan.metrics
        if asked == found.asked or asked not in {PER_ENTITY, PER_MB}
    ]


def _verdict(found: Findings, pair: Pair, asked: MetricAsked, effect: Effect | None) -> str:
    step = published_step(found.published, pair, asked)
    source = f" (published {published_text(step)}{_agreed(step)})" if step else ""
    return f"{verdict_of(effect) if effect else 'too few runs'} in {lower_first(metric_label(asked))}{source}"


def _agreed(step: PublishedStep) -> str:
    """What the verdict beside it does not say already."""
    told: list[str] = [step.agreement] if step.agreement in {"same direction", "opposite"} else []
    if step.is_inside is not None:
        told.append("in our interval" if step.is_inside else "outside our interval")
    return "".join(f", {text}" for text in told)


def _counted(found: Findings, pair: Pair) -> str:
    """What counting contributes to a ratio per document, and what remains."""
    counting = next((counting for counting in found.countings if counting.pair == pair), None)
    if counting is None:
        return ""
    remains = [
        f"{verdict_of(effect)} per {unit}"
        for unit, asked in (("entity (book)", PER_ENTITY), ("MB", PER_MB))
        if (effect := found.on(pair, asked)) is not None and effect.ratio is not None
    ]
    times = counting.documents / counting.documents_against
    text = (
        f". An entity (book) is {counting.documents:.3g} documents here and"
        f" {counting.documents_against:.3g}"
        f" there: counting alone makes the rate per document {ratio_text(times)} times, and what one document takes"
        f" {ratio_text(1 / times)} times"
    )
    return f"{text}; what remains of the rate is {' and '.join(remains)}" if remains else text
