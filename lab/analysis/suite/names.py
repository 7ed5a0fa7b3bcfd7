"""Names of variants, metrics and ratios for a reader, and the meaning of a suite's words."""

from collections.abc import Sequence

from lab.analysis.figures.definitions import TERMS, label_of
from lab.analysis.figures.limits import keeps_up
from lab.analysis.text import UNKNOWN, figure, number
from lab.records.suite import Effect, MetricKey, PublishedStep, SuitePlan, VariantMetric

WHOLE_RUN = frozenset({"run", "primaries"})
"""Scopes that a metric's label need not name."""

SIGNS: dict[str, str] = {
    "same direction": "✓",
    "opposite": "✗",
    "published as no change": "=",
    "the source contradicts itself": "±",
    "not measured": "",
}
"""Agreement with a source in one character; all others are `?`."""

SUITE_TERMS = {
    "variant": "A profile with some values changed.",
    "control": "The variant that stands for `nothing changed`.",
    "A/A": "The control compared with its own repetition. A difference there comes from chance or the method,"
    " not a setting.",
    "block": "A round that runs every comparison once, as two runs that follow each other, in random order. Blocks of"
    " one start of the servers share it, and one kept index of each layout: no interval includes how much another"
    " start would differ, unless there were several, of which each is then one value. With `--duets` a block is one"
    " comparison, whose two runs go at the same time.",
    "CPU per document": "What a document costs: CPU time of all Elasticsearch nodes from the start of the load to the"
    " end of the merges that it has left.",
    "indexing rate": "Documents that primary shards indexed per second, whatever limited them.",
    "ratio": "A variant's value divided by that of what it is compared with, in the same block; over all blocks their"
    " geometric mean. A control that ran twice in a block counts with the geometric mean of both runs.",
    "verdict": "What the interval says. `faster`, `slower`, `higher` or `lower`: it excludes no change."
    " `same within 5 %`: it includes no change and lies between 1/1.05 and 1.05. `undecided`: neither, or"
    " blocks that were lost might undo the difference. `too few runs`: fewer than three blocks, or more than a quarter"
    " of them lost.",
    "interval": "Holds the true ratio in 95 of 100 suites, as a change in percent, for a single comparison (A/A); wider"
    " where a suite compares a metric several times (Holm's procedure). Metrics are not corrected for each other.",
    "smallest detectable": "The smallest difference that this many repeats detect with 80 % power, Holm's procedure"
    " included; in brackets how uncertain that is, since a few blocks estimate their own spread poorly.",
    **{
        term: TERMS[term]
        for term in ("document", "entity", "primary shard", "measured window", "verified", "integ-test-zip")
    },
}


MOST_OFF = 0.05
"""Of a share of the limit: what a suite streamed at is called the share that was asked for if it is within this."""


def suite_title(plan: SuitePlan, figures: Sequence[VariantMetric] = ()) -> str:
    """The suite's name, with the rate at which it streams: `ladder at 70 % of the limit (9,000 documents/s)`.

    The share is the one that is asked for until the limit is known. Then it is what the control's streams reached of
    the limit, in its interval, if that leaves the 5 % around what was asked for; no share where no limit was measured.
    Runs that indexed less than 95 % of the rate in the title are counted behind it.

    Args:
        figures: What was measured in the blocks.
    """
    if plan.rate is None:
        return plan.suite
    if not plan.rate.endswith("%"):
        asked = float(plan.rate)
        return f"{plan.suite} at {asked:,.0f} documents/s{_not_reached(asked, figures)}"
    if plan.rate_docs_per_s is None:
        return f"{plan.suite} at {plan.rate} of the limit"
    reached = control_rate_docs_per_s(plan, figures) or plan.rate_docs_per_s
    not_reached = _not_reached(reached, figures)
    if plan.limit_docs_per_s is None or not plan.limit_drains:
        return f"{plan.suite} at {reached:,.0f} documents/s{not_reached}"
    asked = float(plan.rate.removesuffix("%"))
    ends = sorted(100 * reached / (end or plan.limit_docs_per_s) for end in (plan.limit_low, plan.limit_high))
    is_as_asked = all(abs(share - asked) <= MOST_OFF * asked for share in ends)
    share = plan.rate if is_as_asked else f"{' to '.join(dict.fromkeys(f'{end:.0f}' for end in ends))} %"
    return f"{plan.suite} at {share} of the limit ({reached:,.0f} documents/s){not_reached}"


def _not_reached(docs_per_s: float, figures: Sequence[VariantMetric]) -> str:
    """`, not reached in 3 of 12 runs`; empty where all whose rate is known have reached it."""
    of_rate = (each for each in figures if (each.name, each.scope) == ("indexing_rate_docs_per_s", "primaries"))
    rates = [rate for each in of_rate for rate in each.by_run.values() or each.values if rate is not None]
    slower = sum(not keeps_up(docs_per_s, rate) for rate in rates)
    return f", not reached in {slower} of {len(rates)} runs" if slower else ""


def limit_text(plan: SuitePlan) -> str:
    """Sentence on the limit and its measurement; empty if it was not measured."""
    if not plan.limit_drains:
        return ""
    ends = f" ({number(plan.limit_low)} to {number(plan.limit_high)})" if plan.limit_low else ""
    return (
        f"The limit is {figure(plan.limit_docs_per_s, 'docs/s')}{ends}: what the control indexed in"
        f" {plan.limit_drains} drains before the first block"
    )


def control_rate_docs_per_s(plan: SuitePlan, figures: Sequence[VariantMetric]) -> float | None:
    """The median indexing rate of the control; `None` where it was not measured."""
    of_control = (each for each in figures if (each.variant, each.name) == (plan.control, "indexing_rate_docs_per_s"))
    return next((each.median for each in of_control if each.scope == "primaries"), None)


def common_prefix(plan: SuitePlan) -> str:
    """The folder that the names of all variants begin with, such as `aladin/`; empty where they share none."""
    prefixes = {variant.name[: variant.name.find("/") + 1] for variant in plan.variants}
    return prefixes.pop() if len(prefixes) == 1 else ""


def short_name(plan: SuitePlan, variant: str) -> str:
    """A variant's name without what all of them begin with."""
    return variant.removeprefix(common_prefix(plan))


def metric_label(metric: MetricKey) -> str:
    """A metric as a reader calls it: `Indexing rate`, `CPU per million documents (elasticsearch)`."""
    label = label_of(metric.name)
    return label if metric.scope in WHOLE_RUN else f"{label} ({metric.scope})"


def lower_first(text: str) -> str:
    """The text as it stands within a sentence; an abbreviation keeps its capitals."""
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def ratio_text(ratio: float | None) -> str:
    """A ratio: `1.06`, `12.3`; one next to 1 with the digit that shows on which side of it."""
    if ratio is None:
        return UNKNOWN
    if ratio >= 10:
        return f"{ratio:.1f}"
    return f"{ratio:.3f}" if 0.0005 <= abs(ratio - 1) < 0.005 else f"{ratio:.2f}"


def ratio_with_interval(effect: Effect) -> str:
    """`1.06 [1.03–1.09]`; without an interval where there is none."""
    if effect.low is None or effect.high is None:
        return ratio_text(effect.ratio)
    return f"{ratio_text(effect.ratio)} [{ratio_text(effect.low)}–{ratio_text(effect.high)}]"


def published_text(step: PublishedStep) -> str:
    """The published ratio as far as the rounding of its two values allows: `1.03–1.09`, or `1.06`."""
    ends = (step.published_low or step.published_ratio, step.published_high or step.published_ratio)
    return "–".join(dict.fromkeys(map(ratio_text, ends)))


def percent(share: float | None) -> str:
    """A share of one: `3.1 %`."""
    if share is None:
        return UNKNOWN
    if share >= 10:
        return "> 1,000 %"
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def detectable_text(effect: Effect) -> str:
    """The smallest detectable effect, and how well that is known: `21 % (12–73 %)`."""
    if effect.smallest_detectable_range is None:
        return percent(effect.smallest_detectable)
    low, high = map(percent, effect.smallest_detectable_range)
    return f"{percent(effect.smallest_detectable)} ({low.removesuffix(' %')}–{high})"
