"""The summary of a suite in a few sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

from lab.analysis.suite.comparisons import Pair, asked_pairs, differs_from_itself, is_detected, of_pair, verdict_of
from lab.analysis.suite.figures import PER_ENTITY, primary_metrics
from lab.analysis.suite.names import lower_first, metric_label, short_name
from lab.analysis.text import number
from lab.records.suite import Effect, MetricKey, SuiteResult

MOST_NAMED = 5
TOO_FEW = "too few runs"
AT_ONCE = (
    "Both runs of a pair went at the same time and shared the cores: their rates and latencies may differ less than"
    " they would alone, or the other way round. Decide by CPU per document."
)


def summary(result: SuiteResult, documents_per_entity: Mapping[Pair, tuple[float, float]]) -> str:
    """Summary: a sentence for each primary metric on the variants that differ, then what to know of their ratios.

    Args:
        documents_per_entity: Of pairs whose variants count differently, the variant's and the other's.
    """
    primary = primary_metrics(result.plan)
    told = [text for metric in primary if (text := _differences(result, metric))]
    names = " or ".join(lower_first(metric_label(metric)) for metric in primary)
    nothing = (
        f"Nothing can be compared by {names}: a comparison needs three blocks, and three of every four, in which both"
        " runs are verified and have it. Give the suite more time (`--minutes`) or more repeats; if runs have"
        " failed, the warnings say why"
    )
    again = differs_from_itself(result.plan, result.effects, primary)
    per_entity = (_per_entity(result, pair, *counts) for pair, counts in documents_per_entity.items())
    told = [*(told or [nothing]), f"{again[:1].upper()}{again[1:]}", *per_entity]
    return " ".join(f"{sentence}." for sentence in told if sentence)


def compared_effects(result: SuiteResult, metric: MetricKey) -> list[Effect]:
    """Effects on a metric of all comparisons that are asked for and have a ratio."""
    asked = (of_pair(result.effects, pair, metric) for pair in asked_pairs(result.plan))
    return [effect for effect in asked if effect is not None and effect.ratios]


def _differences(result: SuiteResult, of: MetricKey) -> str:
    """Sentence on the variants that differ by a metric; empty where each comparison has too few runs."""
    compared = compared_effects(result, of)
    measured = [effect for effect in compared if effect.verdict != TOO_FEW]
    if not measured:
        return ""
    differing = sorted(filter(is_detected, measured), key=lambda each: abs(log(each.ratio or 1)), reverse=True)
    rest = Counter(effect.verdict for effect in compared if not is_detected(effect))
    shown = [
        f"{_named(result, effect.variant)} {verdict_of(effect)} against {_named(result, effect.against)}"
        for effect in differing[:MOST_NAMED]
    ]
    if len(differing) > MOST_NAMED:
        shown.append(f"and {len(differing) - MOST_NAMED} more")
    others = " and ".join(f"{times} {verdict}" for verdict, times in sorted(rest.items()))
    return (
        f"At {_blocks(result, measured)}, {shows(len(differing), len(compared))} a difference in"
        f" {lower_first(metric_label(of))}: {'; '.join(filter(None, (', '.join(shown), others)))}"
    )


def shows(differing: int, compared: int) -> str:
    """`1 of 3 comparisons shows`, `0 of 3 comparisons show`: a difference."""
    noun = "comparison" if differing == compared == 1 else "comparisons"
    return f"{differing} of {compared} {noun} show{'s' if differing == 1 else ''}"


def _blocks(result: SuiteResult, measured: Sequence[Effect]) -> str:
    """Number of blocks behind the comparisons; where a precision decides, each comparison has its own."""
    if result.plan.repeats is not None:
        return result.repeats
    counts = sorted(len(effect.ratios) for effect in measured)
    what = "pairs" if result.plan.duets else "blocks"
    return f"{'–'.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} {what}"


def _named(result: SuiteResult, variant: str) -> str:
    return f"`{short_name(result.plan, variant)}`"


def _per_entity(result: SuiteResult, pair: Pair, ours: float, theirs: float) -> str:
    """Sentence on variants of which one makes more documents of an entity: what remains of their ratio per entity."""
    effect = of_pair(result.effects, pair, PER_ENTITY)
    one, other = (_named(result, variant) for variant in pair)
    is_known = effect is not None and effect.ratio is not None and effect.verdict != TOO_FEW
    remains = f"; {one} is {verdict_of(effect)} in entities indexed" if effect is not None and is_known else ""
    return f"An entity is {number(ours)} documents in {one} and {number(theirs)} in {other}{remains}"
