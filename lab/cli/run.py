"""`sluice run`: one profile, from servers to report."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from lab.analysis import analyse, terminal_table, write_report
from lab.cli.display import RunDisplay, StackDisplay, console
from lab.errors import ProfileError, StackError, VerificationError
from lab.profiles import Profile, load_profile, override
from lab.records import Result, Server
from lab.run import (
    RunFolder,
    Target,
    plugin_folders,
    run_profile,
    why_not_here,
    without_secrets,
    words_without_secrets,
)
from lab.stack.interrupts import uninterrupted
from lab.stack.local import LocalStack, StackShape
from lab.stack.places import ROOT
from lab.stack.server import STACK_MARKER
from producers import registry
from producers.dataset import Dataset, DatasetError

RUNS = Path("runs")


def run(
    profile: Annotated[str, typer.Argument(help="Profile: a name that `sluice profiles` lists, or a YAML file.")],
    *,
    elasticsearch: Annotated[str | None, typer.Option(metavar="VERSION", help="Elasticsearch version.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Dataset: aladin, events, file.")] = None,
    path: Annotated[str | None, typer.Option(help="NDJSON file of the dataset `file`.")] = None,
    key: Annotated[str | None, typer.Option(help="Field of that file that holds the key.")] = None,
    documents: Annotated[int | None, typer.Option(help="How many documents.")] = None,
    rate: Annotated[float | None, typer.Option(metavar="DOCS_PER_S", help="Stream at this rate.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any value of the profile.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Folder for the run's records and report.")] = RUNS,
) -> int:
    """Run a profile: start what is missing, load, verify, measure, report."""
    overrides = [
        *shorthand(elasticsearch=elasticsearch, dataset=dataset, path=path, key=key, documents=documents, rate=rate),
        *(settings or []),
    ]
    chosen = load_profile(profile, overrides=overrides)
    if lack := why_not_here(chosen, ROOT):
        raise ProfileError(lack)
    documents_of = dataset_of(chosen)
    console.print(f"[bold]{escape(chosen.name)}[/bold]: {escape(chosen.question)}")
    folder, result = run_on_local_servers(chosen, documents_of, runs)
    console.print(terminal_table(result))
    for warning in result.warnings:
        console.print(
            f"[yellow]![/yellow] {escape(warning.seen)}: {escape(warning.likely_cause)}; {escape(warning.remedy)}"
        )
    console.print(f"report: {folder.path / 'report.html'}", soft_wrap=True)
    if result.status != "verified":
        problems = "; ".join(result.verification.problems)
        raise VerificationError(f"this run is void: {problems}")
    return 0


def shorthand(
    *,
    elasticsearch: str | None,
    dataset: str | None,
    path: str | None,
    key: str | None,
    documents: int | None,
    rate: float | None,
) -> list[str]:
    """The options that have names of their own, as overrides of the profile."""
    given: dict[str, object] = {
        "elasticsearch.version": elasticsearch,
        "dataset.name": dataset,
        "dataset.path": path,
        "dataset.key": key,
        "dataset.documents": documents,
        "load.mode": None if rate is None else "stream",
        "load.rate_docs_per_s": rate,
    }
    return [override(name, value) for name, value in given.items() if value is not None]


def dataset_of(profile: Profile) -> Dataset:
    """The profile's dataset.

    Raises:
        ProfileError: It cannot be had: an option or the user's file is not as it must be.
    """
    section = profile.dataset
    options = dict(section.options)
    if section.books is not None:
        options["books"] = section.books
    try:
        return registry.make_dataset(section.name, documents=section.documents, seed=section.seed, **options)
    except DatasetError as error:
        raise ProfileError(f"dataset: {error}") from error


def run_on_local_servers(profile: Profile, dataset: Dataset, runs: Path) -> tuple[RunFolder, Result]:
    """Run on this machine's servers: on those that `up` started, or on some that live as long as the run."""
    stack = LocalStack()
    with stack.exclusively():
        stack.remove_leftovers()
        before = {entry.pid for entry in stack.servers()}
        state = stack.state()
        kept = state is not None and state.kept
        try:
            target = started_target(stack, profile, kept=kept, before=before)
            folder = RunFolder.create(runs, profile.name)
            folder.write_text("profile.json", without_secrets(profile).model_dump_json(indent=1) + "\n")
            display = RunDisplay()
            with display.showing():
                run_profile(
                    profile,
                    dataset,
                    target,
                    folder,
                    root=ROOT,
                    progress=display,
                    command=("./sluice", *words_without_secrets(sys.argv[1:])),
                )
                display.end()
        finally:
            if not kept:
                stop(stack)
    result = analyse(folder.path)
    write_report(folder.path)
    return folder, result


def stop(stack: LocalStack) -> None:
    """Stop the servers of this run, come what may."""
    with uninterrupted(), StackDisplay().showing() as progress:
        stack.stop(progress)


def started_target(
    stack: LocalStack, profile: Profile, *, kept: bool, before: set[int], beside: Iterable[Profile] = ()
) -> Target:
    """The local servers in the shape that the profile asks for.

    Args:
        beside: Profiles that will run on the same servers, so that one worker has the plugins of all of them.
    """
    shape = StackShape(
        elasticsearch_version=profile.elasticsearch.version,
        data_nodes=profile.elasticsearch.data_nodes,
        elasticsearch_heap_mb=profile.elasticsearch.heap_mb,
        node_settings=profile.elasticsearch.node_settings,
        plugin_folders=plugin_folders(profile, *beside),
    )
    with StackDisplay().showing() as progress:
        endpoints = stack.ensure(shape, kept=kept, progress=progress)
    state = stack.state()
    if state is None:
        raise StackError("the servers' state file has vanished while they were starting")
    return Target(
        name="local",
        endpoints=endpoints,
        process_ids=stack.process_ids,
        servers=[
            Server(
                name=entry.spec.name, version=entry.spec.version, pid=entry.pid, command_line_options=entry.spec.options
            )
            for entry in state.servers
        ],
        java_versions={entry.spec.name: entry.spec.java_version for entry in state.servers},
        fresh=not {entry.pid for entry in state.servers} <= before,
        child_environment={STACK_MARKER: str(stack.folder)},
    )
