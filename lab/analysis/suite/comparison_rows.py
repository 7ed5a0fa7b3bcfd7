"""The comparisons of one metric as a reader sees them, the same in the page, in Markdown and on a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lab.analysis.suite.comparisons import Pair, effect_on, planned_pairs, verdict_of
from lab.analysis.suite.names import percent, published_text, ratio_text, short_name
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
        return self.effect.verdict if self.effect and self.effect.ratio is not None else "not measured"

    @property
    def verdict_text(self) -> str:
        """The verdict with its interval."""
        return verdict_of(self.effect) if self.effect and self.effect.ratio is not None else self.verdict

    @property
    def texts(self) -> tuple[str, ...]:
        """The cells under `HEAD`."""
        found = self.effect
        return (
            self.variant + (" (A/A)" if self.is_check else ""),
            self.against,
            spread(self.figure),
            ratio_text(found.ratio) if found else UNKNOWN,
            self.verdict_text,
            detectable_text(found) if found else UNKNOWN,
            published_text(self.published) if self.published else UNKNOWN,
            agreement_text(self.published) if self.published else UNKNOWN,
        )


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
OF_THE_SOURCE = 2
"""The last columns, which are empty where no source is cited."""


def head_and_cells(found: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table of these rows, with the columns that say something."""
    width = len(HEAD) - (0 if any(row.published for row in found) else OF_THE_SOURCE)
    return HEAD[:width], [row.texts[:width] for row in found]


def detectable_text(found: Effect) -> str:
    """The smallest detectable effect, and how well that is known: `21 % (12–73 %)`."""
    if found.smallest_detectable_range is None:
        return percent(found.smallest_detectable)
    low, high = map(percent, found.smallest_detectable_range)
    return f"{percent(found.smallest_detectable)} ({low.removesuffix(' %')}–{high})"


def agreement_text(step: PublishedStep) -> str:
    """Whether ours goes the way of the published ratio, and whether our interval holds it."""
    if step.is_inside is None:
        return step.agreement
    return f"{step.agreement} ({'inside' if step.is_inside else 'outside'})"


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
        published=published_step(result.published, pair, asked),
        is_check=pair[0] == plan.repetition,
        is_planned=pair in planned_pairs(plan),
    )


def published_step(steps: Iterable[PublishedStep], pair: Pair, asked: MetricAsked) -> PublishedStep | None:
    """What the source says of a comparison; `None` where it says nothing."""
    for step in steps:
        if (step.variant, step.against, step.metric, step.scope) == (*pair, asked.name, asked.scope):
            return step
    return None
