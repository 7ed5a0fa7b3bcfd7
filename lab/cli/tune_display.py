"""What `sluice tune` shows: what it will try, each stage as it begins, and what it has found."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.markup import escape

from lab.analysis.statistics.effects import interval_text
from lab.analysis.suite.names import ratio_text
from lab.analysis.text import UNKNOWN, figure, quantity
from lab.analysis.tune.goals import LABELS
from lab.analysis.tune.paste import BEST
from lab.analysis.tune.screening import OF_THE_SCREENING, TITLES, grouped, rate_of
from lab.analysis.tune.sentences import OF_THE_MIX, change
from lab.cli.suite_display import SuiteDisplay
from lab.console import by_reason, console, table_of
from lab.monitor import CLOCK
from lab.records.suite import SuitePlan, SuiteRun
from lab.records.tune import Stage, TunePlan, TuneResult, combination_name
from lab.suite.folder import SuiteFolder
from lab.suite.plan import taken_s
from lab.tune.design import plackett_burman
from lab.tune.plan import Expected
from lab.tune.screening import what_it_can_tell
from lab.tune.search import CONFIRM_SHARE

MOST_NAMED = 5
WHAT = {
    "mixed": "all settings at once",
    "together": "the best of them side by side",
    "confirm": "the choice against the start, in fresh runs that did not choose it",
}


def show_tune_plan(plan: TunePlan, takes: Expected) -> None:
    """What will be tried, what not, and how long it will take."""
    console.print(
        f"[bold]{'screen' if plan.screens else 'tune'} {escape(plan.profile)}[/bold]: {escape(plan.question)}"
    )
    kept = "".join(f", keeping {bound.text}" for bound in plan.bounds)
    rate = plan.goal.rate or ""
    at = f" at {rate} of the limit" if rate.endswith("%") else f" at {rate} documents/s" if rate else ""
    console.print(f"goal: {LABELS[plan.goal.name]}{at}{escape(kept)}")
    rows = (
        (
            escape(candidate.name),
            escape(", ".join(f"{key}={value}" for key, value in candidate.requires.items())),
            f"[yellow]{escape(candidate.risk)}[/yellow]" if candidate.risk else escape(candidate.note or ""),
        )
        for candidate in plan.candidates
    )
    console.print(table_of(rows, "candidate", "with it", "what else changes", whole=("candidate",)))
    for names, reason in by_reason((each.name, each.reason) for each in plan.left_out):
        console.print(f"[dim]not tried: {escape(names)}: {escape(reason)}[/dim]")
    if plan.screens:
        show_screening_plan(plan, takes)
        return
    console.print(
        f"{quantity(len(plan.candidates), 'candidate')} mixed at random, then the best side by side, then the choice"
        f" against the start ({figure(CONFIRM_SHARE, 'share')} of the time): at most about {plan.minutes:g} min, some"
        f" {takes.run_s:.0f} s a run"
    )


def show_screening_plan(plan: TunePlan, takes: Expected) -> None:
    """The design of a screening, and what its time can tell."""
    block = len(plackett_burman(len(plan.candidates)))
    runs = int((60 * plan.minutes - takes.starting_s) / takes.run_s)
    console.print(
        f"Plackett-Burman design: {quantity(len(plan.candidates), 'setting')} at two levels in blocks of {block} runs,"
        f" every other one its mirror image; at most about {plan.minutes:g} min, some {takes.run_s:.0f} s a run"
    )
    console.print(what_it_can_tell(len(plan.candidates), runs))


def at_start(plan: TunePlan, candidate: str) -> str:
    """`tasks=4 (start: 1)`; without the start's value where that is the server's own default."""
    value = plan.start_values.get(plan.candidate(candidate).setting)
    return candidate if value is None else f"{candidate} (start: {value})"


def print_screening(result: TuneResult) -> None:
    """The settings in three groups, with their intervals."""
    console.print(escape(result.headline), soft_wrap=not console.is_terminal, style="bold")
    for text in result.findings:
        console.print(f"· {escape(text)}", soft_wrap=not console.is_terminal)
    head = ("setting", "CPU per document", "indexing rate")[: 3 if any(map(rate_of, result.mixed)) else 2]
    for group, effects in grouped(result.mixed).items():
        if effects:
            names = [escape(at_start(result.plan, each.candidate)) for each in effects]
            figures = [(change(each), change(rate_of(each), "")) for each in effects]
            rows = [(name, *texts)[: len(head)] for name, texts in zip(names, figures, strict=True)]
            console.print(f"[bold]{TITLES[group]}[/bold]", soft_wrap=not console.is_terminal)
            console.print(table_of(rows, *head))
    if result.mixed:
        console.print(f"[dim]{OF_THE_SCREENING}[/dim]", soft_wrap=not console.is_terminal)
    print_not_tried(result)


def print_not_tried(result: TuneResult) -> None:
    """The candidates that no run gave a figure of."""
    if result.not_tried:
        names = ", ".join(each.name for each in result.not_tried)
        console.print(f"no figure: {escape(names)} [dim](the report says why)[/dim]", soft_wrap=True)


class TuneDisplay:
    """A line for each stage, and for each of its runs.

    Args:
        earlier: Runs of sessions before this one.
    """

    def __init__(self, plan: TunePlan, takes: Expected, earlier: Sequence[SuiteRun] = ()) -> None:
        self._plan = plan
        self._takes = takes
        self._ends_s = CLOCK.now_s() + 60 * plan.minutes - taken_s(earlier)

    def left_s(self) -> float:
        """Seconds until the time of the whole tune is over."""
        return self._ends_s - CLOCK.now_s()

    def stage(self, stage: Stage, plan: SuitePlan, folder: SuiteFolder) -> SuiteDisplay:
        """A stage begins, or goes on; what shows its runs."""
        blocks = "" if stage.kind == "confirm" else f", {quantity(len(stage.blocks), 'block')}"
        names = ", ".join(map(combination_name, stage.combinations))
        if len(stage.combinations) > MOST_NAMED:
            names = quantity(len(stage.combinations), "combination")
        console.print(f"[bold]stage {stage.number}[/bold] {WHAT[stage.kind]}{blocks}: {escape(names)}")
        expected = {variant.name: self._takes.run_s for variant in plan.variants}
        return SuiteDisplay(plan, folder.runs(), expected, self.left_s)


def print_tune(result: TuneResult, files: Mapping[str, Path]) -> None:
    """What was found: the confirmation, what each setting gives, what was not tried; of a screening, its groups."""
    if result.plan.screens:
        print_screening(result)
        return
    console.print(escape(result.headline), soft_wrap=not console.is_terminal, style="bold")
    for text in result.findings:
        console.print(f"· {escape(text)}", soft_wrap=not console.is_terminal)
    for text in result.risks:
        console.print(f"[yellow]! risk:[/yellow] {escape(text)}", soft_wrap=not console.is_terminal)
    for text in result.notes:
        console.print(f"· {escape(text)}", soft_wrap=not console.is_terminal)
    rows = [
        (escape(each.candidate), ratio_text(each.ratio), interval_text(each.low, each.high, UNKNOWN))
        for each in result.mixed
    ]
    if rows:
        console.print(table_of(rows, "what each gives", "ratio", "interval", right=("ratio",)))
        console.print(f"[dim]{OF_THE_MIX}[/dim]", soft_wrap=not console.is_terminal)
    print_not_tried(result)
    if BEST in files:
        pasted = ", ".join(sorted(set(files) - {BEST}))
        console.print(f"written: {files[BEST]}{pasted and f' and, to paste, {pasted}'}", soft_wrap=True)
