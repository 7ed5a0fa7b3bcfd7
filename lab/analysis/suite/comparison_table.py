"""The table of a metric's comparisons: the same rows in the page, in Markdown and on a terminal."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lab.analysis.suite.comparisons import of_pair, planned_pairs, published_of, verdict_of
from lab.analysis.suite.figures import by_variant
from lab.analysis.suite.names import detectable_text, published_text, ratio_text, short_name
from lab.analysis.text import UNKNOWN, figure, quantity
from lab.records.suite import Effect, MetricKey, PublishedStep, SuiteResult, VariantMetric

HEAD = (
    "variant",
    "against",
    "median [min–max]",
    "ratio",
    "verdict (interval)",
    "smallest detectable",
    "published",
    "agreement (our interval)",
)
NUMBER = re.compile(r"^-?[\d\u202f.,]*\d")
"""What a figure begins with; thousands are apart by narrow spaces."""
OF_THE_SOURCE = 2
"""The last columns, which are empty where no source is cited."""


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison, or the control, which is compared with nothing.

    Attributes:
        is_check: The control against itself (A/A).
        is_planned: Whether the suite asks for it; otherwise only the source draws it.
    """

    variant: str
    against: str
    figure: VariantMetric | None
    effect: Effect | None = None
    published: PublishedStep | None = None
    is_check: bool = False
    is_planned: bool = True

    @property
    def verdict(self) -> str:
        """The verdict, `control`, or that it was not measured."""
        if not self.against:
            return "control"
        return self.effect.verdict if self.effect and self.effect.ratio is not None else "not measured"

    @property
    def verdict_text(self) -> str:
        """The verdict with its interval."""
        return verdict_of(self.effect) if self.effect and self.effect.ratio is not None else self.verdict

    @property
    def texts(self) -> tuple[str, ...]:
        """The cells under `HEAD`."""
        return (
            self.variant + (" (A/A)" if self.is_check else ""),
            self.against,
            spread(self.figure),
            ratio_text(self.effect.ratio) if self.effect else UNKNOWN,
            self.verdict_text,
            detectable_text(self.effect) if self.effect else UNKNOWN,
            published_text(self.published) if self.published else UNKNOWN,
            agreement_text(self.published) if self.published else UNKNOWN,
        )


def rows(result: SuiteResult, metric: MetricKey) -> list[Row]:
    """The control, the control against itself, what the plan compares, and what only the source does."""
    plan = result.plan
    figures = by_variant(result.figures, metric)
    planned = planned_pairs(plan)
    drawn = [(effect.variant, effect.against) for effect in result.effects]
    control = Row(short_name(plan, plan.control), "", figures.get(plan.control))
    ran = {figure.variant for figure in result.figures if figure.median is not None}
    # A run that only asks has no indexing rate: that is no finding.
    beside_it = {name for name, figure in figures.items() if figure.median is None and name in ran}
    return [
        control,
        *(
            Row(
                variant=short_name(plan, pair[0]),
                against=short_name(plan, pair[1]),
                figure=figures.get(pair[0]),
                effect=of_pair(result.effects, pair, metric),
                published=published_of(result.published, pair, metric),
                is_check=pair[0] == plan.repetition,
                is_planned=pair in planned,
            )
            for pair in dict.fromkeys((*planned, *drawn))
            if not beside_it & set(pair)
        ),
    ]


def head_and_cells(chosen: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table of these rows, with the columns that say something."""
    width = len(HEAD) - (0 if any(row.published for row in chosen) else OF_THE_SOURCE)
    return HEAD[:width], [row.texts[:width] for row in chosen]


def agreement_word(step: PublishedStep) -> str:
    """Agreement of our ratio with the published one; *confounded* if the source changed more than the factor."""
    return f"confounded; {step.agreement}" if step.confounded else step.agreement


def agreement_text(step: PublishedStep) -> str:
    """Agreement, and the place of the published ratio inside or outside our interval."""
    if step.is_inside is None:
        return agreement_word(step)
    return f"{agreement_word(step)} ({'inside' if step.is_inside else 'outside'})"


def verdict_kind(verdict: str) -> str:
    """The class of a table's row with this verdict."""
    return {"faster": "better", "slower": "worse", "higher": "other", "lower": "other"}.get(verdict, "none")


def spread(metric: VariantMetric | None) -> str:
    """Median with the smallest and the largest value: `6 260/s [6 100–6 300]`, `98.0 s [91.0 s–2 min 11 s]`.

    Of few of a variant's runs, with their number: `6 260/s [6 100–6 300] (2 of 13 runs)`.
    """
    if metric is None or metric.median is None:
        return UNKNOWN
    texts = [figure(value, metric.unit) for value in (metric.median, metric.low, metric.high)]
    unit, *others = {NUMBER.sub("", text, count=1) for text in texts}
    low, high = (text if others else text.removesuffix(unit) for text in texts[1:])
    return f"{texts[0]} [{low}–{high}]{of_few_runs(metric)}"


def of_few_runs(metric: VariantMetric) -> str:
    """` (2 of 13 runs)` where more than a quarter of the runs lack the figure: those that have it are a selection."""
    known = sum(value is not None for value in metric.by_run.values())
    return f" ({known} of {quantity(len(metric.by_run), 'run')})" if 4 * known < 3 * len(metric.by_run) else ""
