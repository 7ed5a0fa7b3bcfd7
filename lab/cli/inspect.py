"""`sluice inspect`: a read-only look at a running connector, and what limits it."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from lab.analysis.text import duration, quantity
from lab.cli.options import JsonOption, ServerOptions, with_groups
from lab.clients.target import topics_of
from lab.console import console, print_json
from lab.inspect.connector import InspectedConnector
from lab.inspect.limits import Pipeline, bottleneck_of, why_unknown
from lab.inspect.look import look
from lab.inspect.profile import Sampled, paths_of, write_profile
from lab.inspect.screen import lines_of
from lab.targets import TargetName
from lab.targets.choose import servers_of


@with_groups
def inspect(
    connector: Annotated[str, typer.Argument(metavar="CONNECTOR", help="Name of a running sink connector.")],
    *,
    seconds: Annotated[
        float, typer.Option(min=4, max=3600, help="How long to watch; up to 70 s where no offset is committed sooner.")
    ] = 20.0,
    index: Annotated[
        str | None, typer.Option(help="Index, alias or data stream that it writes to; default: as it is configured.")
    ] = None,
    as_profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Also write a profile with documents of the topic, for screen and tune."),
    ] = None,
    documents: Annotated[int, typer.Option(min=1, help="Documents of that profile, at most.")] = 20_000,
    as_json: JsonOption = False,
    on: ServerOptions,
) -> None:
    """Name what limits a running sink connector. Changes nothing."""
    if as_profile is not None:
        paths_of(as_profile)
    chosen = TargetName.REMOTE if on.target_file is not None and on.target is TargetName.LOCAL else on.target
    endpoints = servers_of(chosen, on.target_file).endpoints()

    def begin(found: InspectedConnector) -> None:
        told = f"watching {escape(found.name)} for {seconds:.0f} s; nothing is changed"
        console.print(f"[dim]{told}[/dim]", soft_wrap=True)

    pipeline = look(endpoints, connector, seconds=seconds, index=index, on_begin=begin)
    if as_json:
        print_json(json_of(pipeline))
    else:
        print_screen(pipeline)
    if as_profile is not None:
        sampled, paths = write_profile(pipeline, topics_of(endpoints), as_profile, documents)
        print_written(sampled, paths, as_profile)


def print_screen(pipeline: Pipeline) -> None:
    """Print a look for a reader."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    (_, headline), *lines = lines_of(pipeline)
    console.print(headline, soft_wrap=True)
    for label, text in lines:
        table.add_row(f"[dim]{label}[/dim]", text)
    console.print(table)
    console.print(f"[dim]watched for {duration(pipeline.figures.watched_s)}[/dim]")


def print_written(sampled: Sampled, paths: Sequence[Path], name: str) -> None:
    """Print which files were written, and what to do with them."""
    left_out = f"; {quantity(sampled.left_out, 'record')} left out" if sampled.left_out else ""
    console.print(f"took {quantity(sampled.documents, 'document')}, the newest of each partition{left_out}")
    for path in paths:
        console.print(f"written: {path}", soft_wrap=True)
    console.print("next:")
    for command, what in (("screen", "which settings matter"), ("tune", "which values are best")):
        console.print(f"  ./sluice {command} {name}  [dim]# {what}[/dim]", soft_wrap=True)


def json_of(pipeline: Pipeline) -> dict[str, object]:
    """A look for a program."""
    index, bottleneck = pipeline.index, bottleneck_of(pipeline)
    return {
        "connector": asdict(pipeline.connector),
        "engine": pipeline.engine,
        "group_state": pipeline.group_state,
        "figures": asdict(pipeline.figures),
        "index": None
        if index is None
        else {"name": index.name, "settings": index.shown, "fields": index.counts, "costly": index.costly},
        "limited_by": None if bottleneck is None else asdict(bottleneck),
        "unknown": None if bottleneck else why_unknown(pipeline),
        "not_read": pipeline.lost,
    }
