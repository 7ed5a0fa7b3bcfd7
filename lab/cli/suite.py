"""`sluice suite`: many runs, interleaved and repeated, and what they say together."""

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import expm1, isfinite, log
from pathlib import Path
from statistics import median, stdev
from typing import Annotated

import typer
from pydantic_core import PydanticCustomError
from rich.markup import escape

from lab.analysis.statistics.power import expected_width
from lab.analysis.statistics.warm_up import is_warm
from lab.analysis.suite.comparisons import planned_pairs
from lab.analysis.suite.families import family_of
from lab.analysis.suite.figures import primary_metrics
from lab.analysis.suite.names import lower_first, metric_label, percent, suite_title
from lab.analysis.suite.report import write_suite_report
from lab.analysis.suite.result import analyse_suite, comparisons_under_way
from lab.analysis.suite.tables import suite_table
from lab.cli.options import RUNS, RunsOption, SettingsOption, TargetFileOption, TargetOption
from lab.cli.run import dataset_of
from lab.console import console, table_of
from lab.display import print_report, print_warnings
from lab.errors import ProfileError, VerificationError, is_interrupt
from lab.profiles.suites import Measures, Suite, checked_rate, load_suite
from lab.records.result import Result
from lab.records.suite import Effect, MetricKey, SuitePlan, SuiteResult, SuiteRun, Variant
from lab.run.folder import become_latest, check_runs
from lab.suite.execution import Bench, SuiteExecution, least_blocks
from lab.suite.folder import SUITES, SuiteFolder, find_suite
from lab.suite.loads import LoadSizes, may_stream, resized
from lab.suite.plan import LEAST_RATIOS, Estimate, estimate, first_blocks, make_plan, seconds_left
from lab.targets import TargetName
from lab.targets.choose import servers_of
from lab.targets.servers import Servers, typed_command
from producers.dataset import Dataset


def suite(
    name: Annotated[str, typer.Argument(help="Suite: a name that `sluice suites` lists, or a YAML file.")],
    *,
    plan: Annotated[bool, typer.Option("--plan", help="Print what would be done and how long it takes.")] = False,
    minutes: Annotated[float | None, typer.Option(min=1, help="How long it may take, its warm-up included.")] = None,
    precision: Annotated[
        str | None, typer.Option(help="Half-width of an interval that is narrow enough: 5%.", metavar="PERCENT")
    ] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="How often each variant runs, instead of both.")] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="Streams instead of drains: 600 documents/s, or 70% of what drains reach.", metavar="RATE"),
    ] = None,
    starts: Annotated[int | None, typer.Option(min=1, help="How often the servers are started; 1.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Another seed gives another order.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the last one, which was interrupted.")] = False,
    settings: SettingsOption = None,
    target: TargetOption = TargetName.LOCAL,
    target_file: TargetFileOption = None,
    runs: RunsOption = RUNS,
) -> int:
    """Run a suite: every variant, repeated in randomised blocks on warm servers; then compare and report."""
    servers = servers_of(target, target_file)
    chosen, skipped = fitted(load_suite(name, overrides=tuple(settings or ())), servers)
    request = Request(
        measures_of(repeats, minutes, precision),
        starts,
        seed,
        skipped,
        side_by_side=servers.run_together(
            variant.profile for variant in chosen.variants if variant.name not in skipped
        ),
    )
    begun = find_suite(runs, chosen.name) if resume else None
    chosen = at_rate(chosen, rate, begun)
    sizes = sizes_of(begun.plan()) if begun else None
    fixed, _ = request.planned(chosen, sizes)
    if fixed.starts > 1 and not servers.may_be_started_anew():
        raise ProfileError(
            f"--starts: got {fixed.starts}, expected 1: these servers are not started for the suite alone"
        )
    if plan:
        show_plan(fixed, estimate(fixed, runs))
        return 0
    check_runs(runs)
    if begun:
        check_resumed(begun, fixed, request)
    wanted = begun.plan() if begun else fixed
    expected = estimate(wanted, runs)
    show_plan(wanted, expected)
    with servers.bench(without(chosen, skipped), datasets_of(chosen), wanted.command) as bench:
        # Only now: servers that another command holds must not leave a folder behind.
        folder = begun or SuiteFolder.begin(runs, wanted)
        display = SuiteDisplay(wanted, folder.runs(), expected.each)
        try:
            resize = Resizing(request, chosen, bench, folder)
            if sizes:
                resize(sizes)
            SuiteExecution(folder, bench, display, is_warm=is_warm, resize=resize).execute()
        except BaseException as error:
            if not folder.removed_if_empty() and is_interrupt(error):
                again = escape(shlex.join(wanted.command))
                console.print(f"interrupted; go on with: {again} --resume", soft_wrap=True)
            raise
    return conclude(folder, runs)


@dataclass(frozen=True)
class Request:
    """What the command line asks for, beside the suite.

    Attributes:
        measures: Repeats, or time and width, as far as it says anything of them.
        starts: Of the servers; `None` likewise, as `seed`.
        skipped: Variants that cannot run here, with the reason.
        side_by_side: Whether different servers run at the same time.
    """

    measures: Measures
    starts: int | None
    seed: int | None
    skipped: Mapping[str, str]
    side_by_side: bool

    def planned(self, suite: Suite, sizes: LoadSizes | None = None) -> tuple[SuitePlan, Suite]:
        """The plan of a fitted suite whose loads have these sizes, and the suite as that has them."""
        if sizes:
            stated = {name: dataset.documents for name, dataset in datasets_of(suite).items()}
            suite = resized(suite, sizes, stated)
        plan = make_plan(
            suite,
            measures=suite.measures.changed(self.measures),
            seed=self.seed,
            skipped=self.skipped,
            documents={name: dataset.documents for name, dataset in datasets_of(suite).items()},
            command=typed_command(),
            side_by_side=self.side_by_side,
            starts=self.starts or 1,
        )
        return plan, suite


@dataclass(frozen=True)
class Resizing:
    """Gives the loads of a suite under way another size, in its servers' bench and in its plan."""

    request: Request
    suite: Suite
    bench: Bench
    folder: SuiteFolder

    def __call__(self, sizes: LoadSizes) -> SuitePlan:
        """Loads of these sizes from here on; the plan as it is then."""
        planned, suite = self.request.planned(self.suite, sizes)
        self.bench.replace({variant.name: variant.profile for variant in suite.variants}, datasets_of(suite))
        plan = self.folder.plan().model_copy(update={"variants": planned.variants, **vars(sizes)})
        self.folder.write_plan(plan)
        if sizes.rate_docs_per_s:
            limit = f"the warm-up reached {sizes.limit_docs_per_s:,.0f}"
            console.print(f"open loop: {sizes.rate_docs_per_s:,.0f} documents/s; {limit}")
        elif sizes.times and sizes.times > 1:
            console.print(f"drains last {plan.window_s:g} s or more with {sizes.times} times the documents")
        return plan


def sizes_of(plan: SuitePlan) -> LoadSizes | None:
    """The sizes of a plan whose warm-up has told them."""
    if plan.limit_docs_per_s is None:
        return None
    return LoadSizes(plan.limit_docs_per_s, plan.rate_docs_per_s, plan.times)


def datasets_of(suite: Suite) -> dict[str, Dataset]:
    """The datasets of a suite's variants."""
    return {variant.name: dataset_of(variant.profile) for variant in suite.variants}


def at_rate(suite: Suite, rate: str | None, begun: SuiteFolder | None) -> Suite:
    """The suite with streams at the rate that the command line states, or that it was begun with.

    Raises:
        ProfileError: It is no rate, or another one than it was begun with, or a variant is no drain.
    """
    stated = suite.rate
    if rate is not None:
        try:
            stated = checked_rate(rate)
        except PydanticCustomError as error:
            raise ProfileError(f"--rate: got {rate}, expected {error.message()}") from None
    if begun:
        was = begun.plan().rate
        if rate is not None and stated != was:
            raise ProfileError(
                f"{begun.path}: cannot be resumed at another rate than it was begun with: {was or 'none'}"
            )
        stated = was
    for variant in suite.variants if stated else ():
        if not may_stream(variant.profile):
            raise ProfileError(f'--rate: "{variant.name}" is no drain, expected a suite of drains only')
    return replace(suite, rate=stated)


def without(suite: Suite, skipped: Collection[str]) -> Suite:
    """The suite without the variants that do not run: no server is started for them."""
    return replace(suite, variants=tuple(variant for variant in suite.variants if variant.name not in skipped))


def fitted(chosen: Suite, servers: Servers) -> tuple[Suite, dict[str, str]]:
    """The suite as it runs on the servers, and the variants that cannot, or whose control cannot, with the reason.

    Raises:
        ProfileError: The suite's control is one of them, or nothing is left to compare it with.
    """
    variants, skipped = [], {}
    for variant in chosen.variants:
        try:
            variants.append(replace(variant, profile=servers.fitted(variant.profile)))
        except ProfileError as error:
            variants.append(variant)
            skipped[variant.name] = "; ".join(str(error).splitlines())
    if chosen.control in skipped:
        raise ProfileError(f"the suite's control cannot run on these servers: {skipped[chosen.control]}")
    for variant in variants:
        if variant.against in skipped and variant.name not in skipped:
            skipped[variant.name] = f'it is compared with "{variant.against}", which is left out'
    others = [variant.name for variant in variants if variant.name not in (chosen.control, chosen.repetition)]
    if others and skipped.keys() >= set(others):
        raise ProfileError(f"nothing of the suite but its control can run on these servers: {skipped[others[0]]}")
    return replace(chosen, variants=tuple(variants)), skipped


def measures_of(repeats: int | None, minutes: float | None, precision: str | None) -> Measures:
    """How much is to be measured, as far as the command line says.

    Raises:
        ProfileError: It says so in two ways, or the time is endless, or the width is no share in percent.
    """
    if repeats is not None and (minutes is not None or precision is not None):
        raise ProfileError("--repeats: got --minutes or --precision beside it, expected either")
    if minutes is not None and not isfinite(minutes):
        raise ProfileError(f"--minutes: got {minutes}, expected a number of minutes")
    if precision is None:
        return Measures(repeats, minutes)
    try:
        share = float(precision.strip().removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise ProfileError(f"--precision: got {precision}, expected a share in percent, such as 5%")
    return Measures(repeats, minutes, share)


def check_resumed(folder: SuiteFolder, fixed: SuitePlan, request: Request) -> None:
    """See that the suite is still the one that was begun; it may be given another time or width, which is written down.

    Raises:
        ProfileError: The suite or one of its profiles has been changed since, or it is to be ended in another way.
    """
    begun = folder.plan()
    if list(map(asked_for, begun.variants)) != list(map(asked_for, fixed.variants)) or begun.metrics != fixed.metrics:
        raise ProfileError(
            f"{folder.path}: cannot be resumed: the suite's variants or their profiles have changed since it was "
            "begun; start it anew without --resume"
        )
    stated = request.measures
    by_width = stated.minutes is not None or stated.precision is not None
    if (stated.repeats is not None and begun.repeats != stated.repeats) or (by_width and begun.repeats is not None):
        how = f"with {begun.repeats} repeats" if begun.repeats else "for a width or a time"
        raise ProfileError(f"{folder.path}: cannot be ended in another way than it was begun: {how}")
    if request.starts is not None and begun.starts != request.starts:
        was = f"cannot be resumed with {request.starts} starts of the servers: it was begun with {begun.starts}"
        raise ProfileError(f"{folder.path}: {was}")
    if by_width:
        changed = Measures(None, begun.minutes, begun.precision).changed(stated)
        folder.write_plan(begun.model_copy(update={"minutes": changed.minutes, "precision": changed.precision}))


def asked_for(variant: Variant) -> Variant:
    """A variant without what the memory of the moment decides: whether its servers run beside others."""
    return variant.model_copy(update={"servers": ""})


def conclude(folder: SuiteFolder, runs: Path) -> int:
    """Analyse, print, report.

    Raises:
        VerificationError: Not one run of the control is verified, so that nothing can be compared.
    """
    result = analyse_suite(folder.path)
    become_latest(folder.path, runs / SUITES)
    print_result(result)
    print_report(write_suite_report(folder.path))
    if not any(run.status == "verified" and run.variant == result.plan.control for run in result.runs):
        raise VerificationError("this suite is void: no run of its control is verified; the report has the reasons")
    return 0


def print_result(result: SuiteResult) -> None:
    """The comparisons, what they say, and what to know before believing it."""
    if family_of(result.plan.metrics, result.plan.metrics[0]):
        console.print(suite_table(result))
    else:
        for metric in primary_metrics(result.plan):
            console.print(suite_table(result, metric))
    for text in filter(None, (result.headline, result.answer)):
        console.print(escape(text), soft_wrap=True)
    for sentence in result.factors:
        console.print(f"· {escape(sentence)}", soft_wrap=True)
    print_warnings(result.warnings)


def show_plan(plan: SuitePlan, expected: Estimate) -> None:
    """What is going to be done, in which order, and for how long."""
    console.print(f"[bold]{escape(suite_title(plan))}[/bold]: {escape(plan.question)}")
    rows = (
        (
            escape(variant.name),
            escape(variant.against or ("(control)" if variant.name == plan.control else "(nothing)")),
            str(variant.data_nodes),
            "" if variant.documents is None else f"{variant.documents:,}",
            escape(" ".join(variant.overrides)),
        )
        for variant in plan.variants
    )
    columns = ("variant", "against", "nodes", "documents", "what it sets")
    console.print(table_of(rows, *columns, right=("nodes", "documents")))
    for name, reason in plan.skipped.items():
        console.print(f"[yellow]![/yellow] left out: {escape(name)}: {escape(reason)}")
    for number, block in enumerate(plan.order, 1):
        console.print(f"[dim]block {number}:[/dim] {escape(' · '.join(block))}")
    if plan.repeats is None:
        for part, names in zip(plan.parts, first_blocks(plan), strict=True):
            title = f"first block of {part}" if part else "first block"
            console.print(f"[dim]{escape(title)}:[/dim] {escape(' · '.join(names))}")
    console.print(f"{how_long(plan, expected)} [dim]({basis(plan, expected)})[/dim]")
    if text := width_text(plan, expected):
        console.print(text)


def how_long(plan: SuitePlan, expected: Estimate) -> str:
    """How many runs there will be, and how long they take together; of a width, what ends the suite."""
    block_s = sum(expected.each[name] for names in first_blocks(plan) for name in names)
    if plan.repeats is not None:
        taken = expected.warm_up_s + sum(expected.each[name] for names in plan.order for name in names)
        return f"{expected.runs} runs in {plan.repeats} blocks and some warm-up drains: about {told(taken)}"
    width = f"±{100 * (plan.precision or 0):g} % in {lower_first(metric_label(plan.metrics[0]))}"
    until = f"until every interval is within {width}, or within a quarter of its effect"
    if plan.minutes is None:
        warm_up = f"after {told(expected.warm_up_s)} of warm-up"
        return f"{until}: blocks of about {told(block_s)}, at least {least_blocks(plan)}, {warm_up}"
    blocks = blocks_in_time(plan, expected)
    return f"{until}, at most {plan.minutes:g} min: about {blocks} blocks of {told(block_s)} after the warm-up"


def blocks_in_time(plan: SuitePlan, expected: Estimate) -> int:
    """How many blocks of everything the plan asks for, or has time for."""
    if plan.minutes is None:
        return plan.repeats or 0
    block_s = sum(expected.each[name] for names in first_blocks(plan) for name in names)
    return max(1, int((60 * plan.minutes - expected.warm_up_s) / block_s)) if block_s else 0


def width_text(plan: SuitePlan, expected: Estimate) -> str:
    """What width that many blocks will buy, at the noise of this machine; empty where either is not known."""
    blocks, comparisons = blocks_in_time(plan, expected), len(planned_pairs(plan)) - (plan.repetition is not None)
    if expected.noise is None or blocks < LEAST_RATIOS or not comparisons:
        return ""
    width = expected_width(expected.noise, blocks, comparisons)
    metric, seen = lower_first(metric_label(plan.metrics[0])), percent(expected.noise)
    return (
        f"that buys intervals of about ±{percent(width)} in {metric}, at the noise of the last suite here ({seen} from"
        " block to block)"
    )


def basis(plan: SuitePlan, expected: Estimate) -> str:
    """Where the times come from."""
    return f"{expected.from_runs} of {len(plan.variants)} variants from earlier runs here, the rest from their size"


def told(seconds: float) -> str:
    """A duration as a reader has it in mind."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


FIGURES_OF_A_RUN = {
    ("indexing_rate_docs_per_s", "primaries"): "{:,.0f} docs/s",
    ("indexing_latency_ms", "primaries"): "{:.3f} ms",
    ("query_rate_per_s", "run"): "{:,.0f} queries/s",
    ("query_service_time_ms_mean", "run"): "{:.1f} ms",
}
"""Metric and scope → how it is told, where a run has it."""


class SuiteDisplay:
    """A line before and after each run, with what is left.

    Args:
        ended: Runs of the plan that have ended before.
        expected: By variant, the seconds of one run, until one has ended.
    """

    def __init__(self, plan: SuitePlan, ended: Iterable[SuiteRun], expected: Mapping[str, float]) -> None:
        self._plan = plan
        self._ended = list(ended)
        self._earlier = len(self._ended)
        self._expected = expected

    def begins(self, what: str, variant: Variant, done: int, total: int) -> None:
        """A run begins."""
        state = f"[dim]({done} of {total} done, {self.left()})[/dim]"
        console.rule(f"{escape(what)}: {escape(variant.name)} {state}", align="left")

    def left(self) -> str:
        """How long it will take still; where a width decides, at most."""
        if self._plan.repeats is not None:
            return f"about {told(seconds_left(self._plan, self._ended, self._expected, earlier=self._earlier))} left"
        if self._plan.minutes is None:
            return "until every interval is narrow enough"
        spent_s = sum(run.ended_s - run.started_s for run in self._ended)
        return f"at most {told(max(0.0, 60 * self._plan.minutes - spent_s))} left"

    def ended(self, run: SuiteRun, result: Result | None) -> None:
        """A run has ended."""
        self._ended.append(run)
        colour = "green" if run.status == "verified" else "red"
        figures = {} if result is None else {(each.name, each.scope): each.value for each in result.metrics}
        shown = [
            text.format(value) for key, text in FIGURES_OF_A_RUN.items() if (value := figures.get(key)) is not None
        ]
        parts = [
            f"[{colour}]{run.status}[/{colour}]",
            *shown,
            f"{run.ended_s - run.started_s:.0f} s",
            *(escape(reason) for reason in (run.reason, run.disturbed) if reason),
        ]
        console.print("  " + " · ".join(parts))

    def narrowed(self, folder: Path, to_come: int | None) -> None:
        """How wide the intervals are by now, and how wide they will be when the time is over."""
        if text := widths_text(comparisons_under_way(folder), self._plan.metrics[0], to_come):
            console.print(f"[dim]{escape(text)}[/dim]")


def widths_text(effects: Sequence[Effect], metric: MetricKey, to_come: int | None) -> str:
    """`intervals of ±6.1 % to ±21 % in … after 3 blocks; there is time for 2 more, which buy about ±14 %`.

    Empty while blocks tell nothing.

    Args:
        effects: Those of another metric, of comparisons that lack the suite's first one, are left out.
        to_come: Blocks that there is time for; `None` where only the width ends the suite.
    """
    of_metric = [effect for effect in effects if (effect.metric, effect.scope) == (metric.name, metric.scope)]
    widths = sorted(expm1(log(effect.high / effect.low) / 2) for effect in of_metric if effect.low and effect.high)
    scattered = [stdev(map(log, effect.ratios)) for effect in of_metric if len(effect.ratios) > 1]
    if not widths:
        return ""
    blocks = max(len(effect.ratios) for effect in of_metric)
    between = " to ".join(dict.fromkeys(f"±{percent(width)}" for width in (widths[0], widths[-1])))
    now = f"intervals of {between} in {lower_first(metric_label(metric))} after {blocks} blocks"
    if not to_come:
        return now
    width = expected_width(median(scattered), blocks + to_come, len(of_metric))
    return f"{now}; there is time for {to_come} more, which buy about ±{percent(width)}"
