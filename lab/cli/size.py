"""`sluice size`: how many machines a rate needs, from what recorded runs measured."""

from collections.abc import Iterator
from dataclasses import asdict, fields
from math import inf
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from lab.analysis.result import analyse
from lab.analysis.sizing.assumptions import Assumptions
from lab.analysis.sizing.measured import Costs, Measured, measured, unsuitable
from lab.analysis.sizing.ranges import Range
from lab.analysis.sizing.sizing import Sizing, Target, sizing
from lab.analysis.text import count, duration, number, quantity
from lab.cli import complete
from lab.cli.options import RUNS, JsonOption, RunsOption
from lab.console import console, print_json, table_of
from lab.errors import ProfileError
from lab.run.folder import find_run

LABELS = {
    "elasticsearch_cpu_us": ("CPU of Elasticsearch, of a copy", "µs"),
    "connect_cpu_us": ("CPU of Connect", "µs"),
    "kafka_cpu_us": ("CPU of the broker, of a copy", "µs"),
    "producer_cpu_us": ("CPU of the producer", "µs"),
    "source_bytes": ("source", "bytes"),
    "stored_bytes": ("stored, of a copy", "bytes"),
    "written_bytes": ("written to the disk, of a copy", "bytes"),
    "bulk_docs": ("documents in a bulk request", ""),
    "request_us": ("time of a request in flight", "µs"),
}
"""Cost of a document → what a reader sees, and its unit."""


def size(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN...",
            help="Runs: `latest`, a run id, a profile (its last run that serves) or a folder; several give intervals.",
            autocompletion=complete.runs,
            show_default=False,
        ),
    ] = None,
    *,
    rate: Annotated[float, typer.Option(metavar="DOCS_PER_S", help="Documents per second, sustained.")],
    profile: Annotated[
        str | None,
        typer.Option(help="The same as RUN, of this profile alone.", hidden=True, autocompletion=complete.profiles),
    ] = None,
    run: Annotated[list[str] | None, typer.Option("--run", help="The same as RUN.", hidden=True)] = None,
    days: Annotated[float, typer.Option(help="Days that documents are kept.")] = 30,
    replicas: Annotated[int, typer.Option(min=0, help="Replicas of each primary shard.")] = 1,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An assumption, by its name in the output, such as cores=32."),
    ] = None,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Estimate the cluster that a rate needs, from recorded runs."""
    if not (0 < rate < inf and 0 < days < inf):
        raise ProfileError(f"--rate, --days: got {rate:g} and {days:g}, expected numbers above 0")
    assumed = Assumptions().with_stated(assume or [])
    measurements = measured_runs(runs, profile, [*(names or ()), *(run or ())])
    outcome = sizing(Target(rate, days, replicas), measurements, assumed)
    show(outcome)
    if as_json:
        print_json(asdict(outcome))


def measured_runs(runs: Path, profile: str | None, names: list[str]) -> Measured:
    """What the runs that are asked for have measured.

    Raises:
        ProfileError: None is asked for, or one does not serve.
    """
    if not names and profile is None:
        raise ProfileError("got no RUN (nor --profile or --run), expected what to size from: a profile or a run")
    folders = dict.fromkeys(serving_run(runs, name) for name in names or [str(profile)])
    measurements = measured([analyse(folder) for folder in folders])
    if profile is not None and measurements.profile != profile:
        raise ProfileError(f"--profile {profile}: got runs of {measurements.profile}, expected runs of this profile")
    return measurements


def serving_run(runs: Path, name: str) -> Path:
    """The folder of a named run; of a profile, its last run from which a cluster can be sized, or else its last one."""
    last = find_run(runs, name)
    if not (runs / name).is_dir() or last.parent != (runs / name).resolve():
        return last
    of_profile = sorted((path.parent for path in last.parent.glob("*/run.json")), reverse=True)
    chosen = next((folder for folder in of_profile if unsuitable(analyse(folder)) is None), last)
    if chosen != last:
        why = unsuitable(analyse(last))
        console.print(escape(f"{name}: sized from {chosen.name}; its last run, {last.name}: {why}"), soft_wrap=True)
    return chosen


# --- the answer -----------------------------------------------------------------------------------------------------


def show(outcome: Sizing) -> None:
    """What was measured, what follows, and what was assumed."""
    target, measurements = outcome.target, outcome.measured
    days = f"{target.days:g} day{'' if target.days == 1 else 's'}"
    console.print(
        f"[bold]{escape(measurements.profile)}[/bold]: {number(target.rate_docs_per_s)} documents/s, kept for {days}, "
        f"{quantity(target.replicas, 'replica')}: {range_text(outcome.source_tb_per_day)} TB of source a day, "
        f"{range_text(outcome.stored_tb)} TB stored",
        soft_wrap=True,
    )
    console.print(f"measured on {escape(measurements.cpu_model)} by {', '.join(measurements.runs)}", soft_wrap=True)
    console.print(table_of(cost_rows(measurements.costs), "of one document", "", "unit", right=("",)))
    console.print(parts_table(outcome))
    console.print(table_of(cut_rows(outcome)))
    assumptions = [(name, f"{value:g}", unit, source) for name, value, unit, source in outcome.assumptions.table()]
    console.print(table_of(assumptions, "assumed", "", "what", "source", right=("",)))
    for note in notes(outcome):
        console.print(f"[yellow]![/yellow] {escape(note)}", soft_wrap=True)


def notes(outcome: Sizing) -> Iterator[str]:
    """What a reader must know before believing it."""
    measurements = outcome.measured
    if len(measurements.runs) == 1:
        yield "one run gives no interval: how far this is off is unknown; name several"
    if measurements.stream_docs_per_s is not None:
        yield (
            f"measured on a stream of {number(measurements.stream_docs_per_s)} documents/s with"
            f" {range_text(measurements.costs.bulk_docs)} documents in a bulk request: at a higher rate a document"
            " costs less; size from a drain"
        )
    if measurements.unsteady:
        of = f"{len(measurements.unsteady)} of {len(measurements.runs)} runs"
        yield f"no steady state is shown in {of}: a cold server costs a multiple; load more documents"
    if measurements.costs.kafka_cpu_us is None:
        yield "CPU of the brokers: not measured, because another run filled the topic; network and disk decide alone"
    yield from outcome.limits


def range_text(value: Range, unit: str = "") -> str:
    """`41 (37 to 46)`, or without the interval where there is none, or none to be seen."""
    low, middle, high = (None if one is None else amount(one) for one in (value.low, value.value, value.high))
    ends = "" if low is None or low == middle == high else f" ({low} to {high})"
    return f"{middle}{ends}{unit}"


def amount(value: float) -> str:
    """A measured value, rounded, or whole things, of which none may be missing."""
    return count(value) if isinstance(value, int) else number(value)


def cost_rows(costs: Costs) -> Iterator[tuple[str, str, str]]:
    """Each cost that is known."""
    for each in fields(costs):
        value = getattr(costs, each.name)
        label, unit = LABELS[each.name]
        if value is not None:
            yield label, range_text(value), unit


def parts_table(outcome: Sizing) -> Table:
    """Machines by kind, and below each what it needs in total."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in {"machines", "resource"} else "right")
    for part in outcome.parts:
        table.add_row(f"[bold]{part.name}[/bold]", range_text(part.machines), f"by {part.decided_by}", "", "")
        for demand in part.demands:
            amount = range_text(demand.amount, f" {demand.unit}")
            table.add_row("", "", f"[dim]{demand.resource}[/dim]", amount, number(demand.of_machine))
    return table


COLUMNS = ("machines", "", "resource", "all together", "one gives")


def cut_rows(outcome: Sizing) -> Iterator[tuple[str, str]]:
    """How topic and index are cut."""
    yield "tasks", f"{range_text(outcome.tasks)}, by {outcome.tasks_decided_by}"
    yield "partitions", amount(outcome.partitions)
    yield "primary shards", f"{range_text(outcome.primaries)} over all days"
    yield "written at a time", f"{amount(outcome.primaries_written)} primary shards, one copy on each node"
    yield "rollover", f"after {duration(outcome.rollover_hours * 3600)}"
