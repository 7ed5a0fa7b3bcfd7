"""What `sluice suite` shows: the plan before it begins, and a line before and after each of its runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from math import ceil, expm1, log
from pathlib import Path

from rich.markup import escape

from lab.analysis.figures.definitions import BY_NAME, value_of
from lab.analysis.figures.load_figures import load_figures
from lab.analysis.statistics.power import expected_width
from lab.analysis.suite.comparisons import planned_pairs
from lab.analysis.suite.figures import primary_metrics
from lab.analysis.suite.names import lower_first, metric_label, percent, suite_title
from lab.analysis.suite.result import comparisons_under_way
from lab.analysis.suite.scope_table import scopes_of
from lab.analysis.suite.tables import suite_table
from lab.analysis.text import duration, figure, quantity
from lab.console import by_reason, console, table_of
from lab.display import RunDisplay, print_warnings
from lab.monitor import CLOCK
from lab.records.result import Result
from lab.records.suite import Effect, MetricKey, SuitePlan, SuiteResult, SuiteRun, Variant
from lab.suite.durations import durations_s
from lab.suite.plan import LEAST_RATIOS, Estimate, block_s, first_blocks, least_blocks, seconds_left, taken_s


def show_plan(plan: SuitePlan, expected: Estimate) -> None:
    """What is going to be done, in which order, and for how long."""
    console.print(f"[bold]{escape(suite_title(plan))}[/bold]: {escape(plan.question)}")
    shared = [text for text in plan.variants[0].overrides if all(text in each.overrides for each in plan.variants)]
    if shared:
        console.print(f"all variants: {escape(' '.join(shared))}")
    rows = (
        (
            named_with(variant, [text for text in variant.overrides if text not in shared]),
            escape(variant.against or ("(control)" if variant.name == plan.control else "(nothing)")),
            str(variant.data_nodes),
            "" if variant.documents is None else f"{variant.documents:,}",
        )
        for variant in plan.variants
    )
    columns = ("variant", "against", "nodes", "documents")
    console.print(table_of(rows, *columns, right=("nodes", "documents")))
    for those, reason in by_reason(plan.skipped.items()):
        console.print(f"[yellow]![/yellow] left out: {escape(those)}: {escape(reason)}")
    for number, block in enumerate(plan.order, 1):
        console.print(f"[dim]block {number}:[/dim] {escape(' · '.join(block))}")
    if plan.repeats is None:
        for part, names in zip(plan.parts, first_blocks(plan), strict=True):
            title = f"first block of {part}" if part else "first block"
            pairs = [f"{one} beside {other}" for one, other in zip(names[::2], names[1::2], strict=False)]
            console.print(f"[dim]{escape(title)}:[/dim] {escape(' · '.join(pairs if plan.duets else names))}")
    console.print(f"{how_long(plan, expected)} [dim]({basis(plan, expected)})[/dim]")
    if text := width_text(plan, expected):
        console.print(text)
    if text := too_short_text(plan, expected):
        console.print(f"[yellow]![/yellow] {text}")


def named_with(variant: Variant, overrides: Sequence[str]) -> str:
    """The name of a variant, and in lines below it what it sets."""
    return "\n".join([escape(variant.name), *(f"  [dim]{escape(text)}[/dim]" for text in overrides)])


def how_long(plan: SuitePlan, expected: Estimate) -> str:
    """Number of runs and their total time; with a precision, the interval width that ends the suite."""
    of_block_s = block_time_s(plan, expected)
    if plan.repeats is not None:
        taken = expected.warm_up_s + sum(block_s(plan, names, expected.each) for names in plan.order)
        in_blocks = quantity(len(plan.order), "block")  # of all parts and starts
        return f"{quantity(expected.runs, 'run')} in {in_blocks} and some warm-up drains: about {rough_duration(taken)}"
    width = f"±{100 * (plan.precision or 0):g} % in {lower_first(metric_label(plan.metrics[0]))}"
    until = f"Runs until every interval is within {width}, or within a quarter of its effect"
    if plan.minutes is None:
        blocks = f"at least {quantity(least_blocks(plan), 'block')} of about {rough_duration(of_block_s)}"
        return f"{until}. That takes {blocks}, after {rough_duration(expected.warm_up_s)} of warm-up"
    blocks = f"{quantity(blocks_in_time(plan, expected), 'block')} of {rough_duration(of_block_s)}"
    return f"{until}, at most {plan.minutes:g} min. That is about {blocks} after the warm-up"


def too_short_text(plan: SuitePlan, expected: Estimate) -> str:
    """A warning that the time ends before the first comparison, with the time that suffices; else empty."""
    blocks = blocks_in_time(plan, expected)
    if plan.minutes is None or blocks >= LEAST_RATIOS:
        return ""
    needed_s = expected.warm_up_s + LEAST_RATIOS * block_time_s(plan, expected)
    room = f"{plan.minutes:g} minutes fit {quantity(blocks, 'block')}"
    enough = f"give it --minutes {ceil(needed_s / 60)}, or fewer variants"
    return f"too short: {room}, and a comparison needs {LEAST_RATIOS}; {enough}"


def block_time_s(plan: SuitePlan, expected: Estimate) -> float:
    """How long a block of each part takes together."""
    return sum(block_s(plan, names, expected.each) for names in first_blocks(plan))


def blocks_in_time(plan: SuitePlan, expected: Estimate) -> int:
    """How many blocks of everything the plan asks for, or has time for."""
    if plan.minutes is None:
        return plan.repeats or 0
    of_block_s = block_time_s(plan, expected)
    return max(0, int((60 * plan.minutes - expected.warm_up_s) / of_block_s)) if of_block_s else 0


def width_text(plan: SuitePlan, expected: Estimate) -> str:
    """What width to expect of that many blocks, at the noise of this machine; empty where either is not known."""
    blocks, comparisons = blocks_in_time(plan, expected), len(planned_pairs(plan)) - (plan.repetition is not None)
    if expected.noise is None or blocks < LEAST_RATIOS or not comparisons:
        return ""
    width = expected_width(expected.noise, blocks, comparisons, beside=plan.repetition is not None)
    metric, noise = lower_first(metric_label(plan.metrics[0])), percent(expected.noise)
    return (
        f"Expect intervals of about ±{percent(width)} in {metric}, at the noise of the last suite here ({noise} from"
        " block to block)"
    )


def basis(plan: SuitePlan, expected: Estimate) -> str:
    """Where the times come from."""
    if not expected.from_runs:
        return "estimated from the number of documents, as no earlier run here was of these variants"
    if expected.from_runs == len(plan.variants):
        return "from earlier runs here"
    return f"{expected.from_runs} of {len(plan.variants)} variants from earlier runs here, the rest from their size"


def rough_duration(seconds: float) -> str:
    """A duration as a reader has it in mind."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


OF_QUERIES = ("query_rate_per_s", "query_service_time_ms_mean")
"""What is told of a run beside rate and latency of its load, where it has it."""


def figures_of(result: Result) -> Iterator[str]:
    """What is told of a run, as far as it was measured."""
    of_load = load_figures(result)
    if of_load.rate_docs_per_s is not None:
        yield of_load.explained_rate
    if of_load.latency_ms is not None:
        yield figure(of_load.latency_ms, "ms")
    for name in OF_QUERIES:
        if (value := value_of(result.metrics, name)) is not None:
            yield figure(value, BY_NAME[name].unit)


class SuiteDisplay:
    """A line for each run that has ended; while one is under way, which it is and what is left.

    Args:
        ended: Runs of the plan that have ended before.
        expected: By variant, the seconds of one run, until one has ended.
        limit_s: Seconds left of the measurement that the suite is a stage of; `None` for a suite by itself.
    """

    def __init__(
        self,
        plan: SuitePlan,
        ended: Iterable[SuiteRun],
        expected: Mapping[str, float],
        limit_s: Callable[[], float] | None = None,
    ) -> None:
        self._plan = plan
        self._ended = list(ended)
        self._earlier = len(self._ended)
        self._expected = expected
        self._limit_s = limit_s
        self._begun_s = CLOCK.now_s()
        self._what, self._run, self._state = "", "", ""

    def begins(self, what: str, variant: Variant, done: int, total: int) -> None:
        """A run begins."""
        # Where a time limit decides, nothing is planned yet while the first servers warm up.
        runs = f"{done} of {total} done, " if total else ""
        self._what, self._state = what, f"{runs}{self.left(variant.name)}"
        self._run = f"{what}: {variant.name}"
        if not console.is_terminal:
            console.print(f"{escape(self._run)} ({self._state})", soft_wrap=True)

    def of_run(self) -> AbstractContextManager[RunDisplay]:
        """The display of the run that has just begun."""
        return RunDisplay((self._run, self._state)).showing()

    def left(self, name: str) -> str:
        """How long it will take still; where a time limit decides, at most, and at least as long as the run to come.

        Args:
            name: The variant that runs next.
        """
        if self._limit_s is None and self._plan.repeats is not None:
            left_s = seconds_left(self._plan, self._ended, self._expected, earlier=self._earlier)
            return f"about {rough_duration(left_s)} left"
        if self._limit_s is None and self._plan.minutes is None:
            return "until every interval is narrow enough"
        limit_s = self._limit_s() if self._limit_s else 60 * (self._plan.minutes or 0.0) - self._spent_s()
        each = durations_s(self._plan, self._ended, uncounted={}, expected=self._expected)
        return f"at most {rough_duration(max(each.get(name, 0.0), limit_s))} left"

    def _spent_s(self) -> float:
        return taken_s(self._ended[: self._earlier]) + CLOCK.now_s() - self._begun_s

    def ended(self, run: SuiteRun, result: Result | None) -> None:
        """A run has ended."""
        self._ended.append(run)
        sign = "[green]✓[/green]" if run.status == "verified" else f"[red]✗ {run.status}[/red]"
        parts = [
            f"{sign} {escape(f'{self._what}: {run.variant}')}",
            *(figures_of(result) if result else ()),
            duration(round(run.ended_s - run.started_s)),
            *(escape(reason) for reason in (run.reason, run.disturbed) if reason),
        ]
        console.print(" · ".join(parts), soft_wrap=not console.is_terminal)

    def warned(self, text: str) -> None:
        """Show what is to be known before the figures are."""
        if text:
            console.print(f"[yellow]![/yellow] {escape(text)}", soft_wrap=not console.is_terminal)

    def narrowed(self, folder: Path) -> None:
        """How wide the intervals are by now."""
        what = "pair" if self._plan.duets else "block"
        if text := widths_text(comparisons_under_way(folder), self._plan.metrics[0], what):
            console.print(f"[dim]{escape(text)}[/dim]")


def widths_text(effects: Sequence[Effect], metric: MetricKey, what: str = "block") -> str:
    """`intervals of ±6.1 % to ±21 % in … after 3 blocks`; empty while blocks tell nothing.

    Args:
        effects: Those of another metric, of comparisons that lack the suite's first one, are left out.
        what: A block's name.
    """
    known = [effect for effect in effects if effect.key == metric.key and effect.low and effect.high]
    widths = sorted(expm1(log((effect.high or 0) / (effect.low or 1)) / 2) for effect in known)
    if not widths:
        return ""
    counts = sorted(len(effect.ratios) for effect in known)
    blocks = "–".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    between = " to ".join(dict.fromkeys(f"±{percent(width)}" for width in (widths[0], widths[-1])))
    return f"intervals of {between} in {lower_first(metric_label(metric))} after {blocks} {what}s"


def print_result(result: SuiteResult) -> None:
    """The comparisons, what they say, and what to know before believing it."""
    if scopes_of(result.plan.metrics, result.plan.metrics[0]):
        console.print(suite_table(result))
    else:
        for metric in primary_metrics(result.plan):
            console.print(suite_table(result, metric))
    for text in filter(None, (result.headline, result.answer)):
        console.print(escape(text), soft_wrap=not console.is_terminal)
    for sentence in result.factors:
        console.print(f"· {escape(sentence)}", soft_wrap=not console.is_terminal)
    print_warnings(result.warnings)
