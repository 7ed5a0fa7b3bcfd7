"""How a suite's variants, ratios and metrics are written for a reader."""

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.text import UNKNOWN
from lab.records.suite import Effect, MetricAsked, PublishedStep, SuitePlan

WHOLE_RUN = frozenset({"run", "primaries"})
"""Scopes that a metric's label need not name."""


def common_prefix(plan: SuitePlan) -> str:
    """The folder that the names of all variants begin with, such as `aladin/`; empty where they share none."""
    folders = {name.partition("/")[0] if "/" in name else "" for name in (variant.name for variant in plan.variants)}
    return f"{folders.pop()}/" if len(folders) == 1 and "" not in folders else ""


def short_name(plan: SuitePlan, variant: str) -> str:
    """A variant's name without what all of them begin with."""
    return variant.removeprefix(common_prefix(plan))


def metric_label(asked: MetricAsked) -> str:
    """A metric as a reader calls it: `Indexing rate`, `CPU per million documents (elasticsearch)`."""
    label = BY_NAME[asked.name].label if asked.name in BY_NAME else asked.name
    return label if asked.scope in WHOLE_RUN else f"{label} ({asked.scope})"


def lower_first(text: str) -> str:
    """The text as it stands within a sentence; an abbreviation keeps its capitals."""
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def ratio_text(ratio: float | None) -> str:
    """A ratio: `1.06`, `12.3`; one next to 1 with the digit that tells on which side of it."""
    if ratio is None:
        return UNKNOWN
    if ratio >= 10:
        return f"{ratio:.1f}"
    return f"{ratio:.3f}" if 0.0005 <= abs(ratio - 1) < 0.005 else f"{ratio:.2f}"


def ratio_range(low: float, high: float) -> str:
    """`1.03–1.09`; `1.06` where both ends are written so."""
    return "–".join(dict.fromkeys(map(ratio_text, (low, high))))


def ratio_with_interval(found: Effect) -> str:
    """`1.06 [1.03–1.09]`; without an interval where there is none."""
    interval = "" if found.low is None or found.high is None else f" [{ratio_text(found.low)}–{ratio_text(found.high)}]"
    return f"{ratio_text(found.ratio)}{interval}"


def published_text(step: PublishedStep) -> str:
    """The published ratio, as far as the rounding of its two values tells it."""
    return ratio_range(step.published_low or step.published_ratio, step.published_high or step.published_ratio)


def percent(share: float | None) -> str:
    """A share of one: `3.1 %`."""
    if share is None:
        return UNKNOWN
    if share >= 10:
        return "> 1,000 %"
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"
