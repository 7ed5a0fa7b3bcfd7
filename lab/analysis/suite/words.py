"""The answer of a suite in two sentences, and one sentence for each comparison."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.analysis.suite.comparisons import (
    MAY_BE_CHANCE,
    Pair,
    effect_on,
    is_detected,
    may_be_chance,
    verdict_of,
    verdict_text,
)
from lab.analysis.suite.counting import Counting
from lab.analysis.suite.figures import PER_DOCUMENT, PER_ENTITY, PER_MB
from lab.analysis.suite.names import (
    lower_first,
    metric_label,
    percent,
    ratio_text,
    ratio_with_interval,
    short_name,
)
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
    if not differing:
        where = "the one comparison" if len(measured) == 1 else f"any of {len(measured)} comparisons"
        return f"No difference in {metric} is detectable in {where} at {found.repeats}."
    shown = [_times(found, effect) for effect in differing[:MOST_NAMED]]
    if len(differing) > MOST_NAMED:
        shown.append(f"and {len(differing) - MOST_NAMED} more")
    rest = len(measured) - len(differing)
    others = f"; for the other {rest} no difference is detectable" if rest else ""
    return (
        f"At {found.repeats}, {len(differing)} of {len(measured)} comparisons show a difference in {metric}:"
        f" {', '.join(shown)}{others}."
    )


def _size(effect: Effect) -> float:
    return max(effect.ratio or 1, 1 / (effect.ratio or 1))


def _times(found: Findings, effect: Effect) -> str:
    return f"{found.named(effect.variant)} {ratio_with_interval(effect)} times {found.named(effect.against)}"


def _reliability(found: Findings, measured: Sequence[Effect]) -> str:
    parts = [_checked(found), *(_remaining(found, counting) for counting in found.countings)]
    if not any(is_detected(effect) for effect in measured):
        parts.insert(1, _smallest(measured))
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
            f"but the control differs from itself (A/A: {ratio_with_interval(check)}), so that no difference of that"
            " size can be believed"
        )
    return f"the control against itself (A/A) shows none, as it must: {ratio_with_interval(check)}"


def _remaining(found: Findings, counting: Counting) -> str:
    """What remains of a difference when documents are not counted, for a pair whose difference was detected."""
    if found.asked != PER_DOCUMENT or not is_detected(found.on(counting.pair, PER_DOCUMENT)):
        return ""
    per_entity = found.on(counting.pair, PER_ENTITY)
    if per_entity is None or per_entity.ratio is None:
        return ""
    return (
        f"counted per entity (book) instead of per document, {found.named(counting.pair[0])} is"
        f" {ratio_with_interval(per_entity)} times {found.named(counting.pair[1])} ({verdict_text(per_entity)})"
    )


def _smallest(measured: Sequence[Effect]) -> str:
    known = [effect.smallest_detectable for effect in measured if effect.smallest_detectable is not None]
    if not known:
        return ""
    return f"a difference of {percent(max(known))} would have shown in each of them, four times in five"


# --- one sentence for each comparison -------------------------------------------------------------------------------


def conclusions(found: Findings) -> tuple[str, ...]:
    """What each comparison says: every metric that the plan asks for, the source's figure, and what is counting."""
    return tuple(_conclusion(found, pair) for pair in found.pairs)


def _conclusion(found: Findings, pair: Pair) -> str:
    about = " (A/A: the same profile twice)" if pair[0] == found.plan.repetition else ""
    told = "; ".join((*_differing(found, pair), *_alike(found, pair), *_unknown(found, pair)))
    return f"{found.named(pair[0])} against {found.named(pair[1])}{about}: {told}{_counted(found, pair)}."


def _told_of(found: Findings, pair: Pair) -> list[tuple[MetricAsked, Effect | None]]:
    """The metrics of a conclusion; units that do not depend on what counts as a document have a clause of their own."""
    return [
        (asked, found.on(pair, asked))
        for asked in found.plan.metrics
        if asked == found.asked or asked not in {PER_ENTITY, PER_MB}
    ]


def _differing(found: Findings, pair: Pair) -> list[str]:
    return [
        f"{lower_first(metric_label(asked))} {ratio_with_interval(effect)} times"
        f" ({effect.verdict}{_source(found, pair, asked)})"
        for asked, effect in _told_of(found, pair)
        if effect is not None and is_detected(effect)
    ]


def _alike(found: Findings, pair: Pair) -> list[str]:
    alike = [
        f"{lower_first(metric_label(asked))} ({_doubted(effect)}{_source(found, pair, asked)})"
        for asked, effect in _told_of(found, pair)
        if effect is not None and verdict_of(effect) == "no difference detectable"
    ]
    return [f"no difference detectable in {', '.join(alike)}"] if alike else []


def _doubted(effect: Effect) -> str:
    return ratio_with_interval(effect) + (f", {MAY_BE_CHANCE}" if may_be_chance(effect) else "")


def _unknown(found: Findings, pair: Pair) -> list[str]:
    unknown = [
        lower_first(metric_label(asked))
        for asked, effect in _told_of(found, pair)
        if effect is None or effect.verdict == "too few runs"
    ]
    return [f"too few runs to tell of {', '.join(unknown)}"] if unknown else []


def _source(found: Findings, pair: Pair, asked: MetricAsked) -> str:
    for step in found.published:
        if (step.variant, step.against, step.metric, step.scope) == (*pair, asked.name, asked.scope):
            agreed = f", {step.agreement}" if step.agreement != "not detectable" else ""
            return f"; published {ratio_text(step.published_ratio)}{agreed}"
    return ""


def _counted(found: Findings, pair: Pair) -> str:
    """What counting contributes to a ratio per document, and what remains."""
    counting = next((counting for counting in found.countings if counting.pair == pair), None)
    if counting is None:
        return ""
    remains = [
        f"{ratio_with_interval(effect)} per {unit} ({verdict_text(effect)})"
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
