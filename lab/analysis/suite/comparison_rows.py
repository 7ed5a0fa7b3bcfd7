"""The comparisons of one metric as a reader sees them, the same in the page, in Markdown and on a terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.analysis.suite.comparisons import Pair, effect_on, planned_pairs, verdict_of, verdict_text
from lab.analysis.suite.names import interval_text, percent, ratio_text, short_name
from lab.analysis.text import UNKNOWN, figure, number
from lab.records.suite import Effect, MetricAsked, PublishedStep, SuiteResult, VariantMetric


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison, or the control, which is compared with nothing.

    Attributes:
        is_check: The control against itself (A/A).
        is_planned: Whether the suite asks for it; otherwise only the source draws it.
    """

    pair: Pair | None
    variant: str
    against: str
    figure: VariantMetric | None
    effect: Effect | None
    published: PublishedStep | None
    is_check: bool = False
    is_planned: bool = True

    @property
    def verdict(self) -> str:
        """The verdict, `control`, or that it was not measured."""
        if self.pair is None:
            return "control"
        return verdict_of(self.effect) if self.effect and self.effect.ratio is not None else "not measured"

    @property
    def verdict_text(self) -> str:
        """The verdict, with what a reader of the interval would wonder at."""
        return verdict_text(self.effect) if self.effect and self.effect.ratio is not None else self.verdict

    @property
    def texts(self) -> tuple[str, ...]:
        """The cells under `HEAD`."""
        found = self.effect
        return (
            self.variant + (" (A/A)" if self.is_check else ""),
            self.against,
            spread(self.figure),
            f"{ratio_text(found.ratio)} {interval_text(found)}".rstrip() if found else UNKNOWN,
            self.verdict_text,
            percent(found.smallest_detectable) if found else UNKNOWN,
            str(found.repeats_for_5_percent) if found and found.repeats_for_5_percent is not None else UNKNOWN,
            ratio_text(self.published.published_ratio) if self.published else UNKNOWN,
            self.published.agreement if self.published else UNKNOWN,
        )


HEAD = (
    "variant",
    "against",
    "median [min–max]",
    "ratio [95 % interval]",
    "verdict",
    "smallest detectable",
    "repeats for 5 %",
    "published",
    "agreement",
)
OF_THE_SOURCE = 2
"""The last columns, which are empty where no source is cited."""


def head_and_cells(found: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table of these rows, with the columns that say something."""
    width = len(HEAD) - (0 if any(row.published for row in found) else OF_THE_SOURCE)
    return HEAD[:width], [row.texts[:width] for row in found]


def spread(found: VariantMetric | None) -> str:
    """Median with the smallest and the largest value: `6 260/s [6 100–6 300]`."""
    if found is None or found.median is None:
        return UNKNOWN
    return f"{figure(found.median, found.unit)} [{number(found.low)}–{number(found.high)}]"


def rows(result: SuiteResult, asked: MetricAsked) -> list[Row]:
    """The control, the control against itself, what the plan compares, and what only the source does."""
    figures = {
        found.variant: found for found in result.figures if (found.name, found.scope) == (asked.name, asked.scope)
    }
    control = result.plan.control
    first = Row(None, short_name(result.plan, control), "", figures.get(control), None, None)
    return [first, *(_row(result, asked, pair, figures) for pair in _pairs(result))]


def _pairs(result: SuiteResult) -> Iterator[Pair]:
    planned = planned_pairs(result.plan)
    yield from planned
    yield from dict.fromkeys(
        pair for found in result.effects if (pair := (found.variant, found.against)) not in planned
    )


def _row(result: SuiteResult, asked: MetricAsked, pair: Pair, figures: dict[str, VariantMetric]) -> Row:
    plan = result.plan
    return Row(
        pair=pair,
        variant=short_name(plan, pair[0]),
        against=short_name(plan, pair[1]),
        figure=figures.get(pair[0]),
        effect=effect_on(result.effects, pair, asked),
        published=published_step(result, pair, asked),
        is_check=pair[0] == plan.repetition,
        is_planned=pair in planned_pairs(plan),
    )


def published_step(result: SuiteResult, pair: Pair, asked: MetricAsked) -> PublishedStep | None:
    """What the source says of a comparison; `None` where it says nothing."""
    for step in result.published:
        if (step.variant, step.against, step.metric, step.scope) == (*pair, asked.name, asked.scope):
            return step
    return None
