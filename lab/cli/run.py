"""`sluice run`: one profile, from servers to report."""

from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from lab.analysis.report_page.markdown import run_markdown
from lab.analysis.report_page.sections import compared_questions
from lab.analysis.report_page.terminal import terminal_table, verdict_line
from lab.analysis.result import RunAnalysis
from lab.analysis.text import duration
from lab.cli.baseline import BaselineOption, BaselineOptionalOption, VaryOption, against_baseline, baseline_of
from lab.cli.ci_files import CHECKS, Checks, CiFiles, JunitOption, SummaryOption, junit_file, print_undecided, timing_of
from lab.cli.expectations import AbortOption, ExpectOption, condition, ending_of, expectation, failures
from lab.cli.options import (
    SERVERS,
    DistributionOption,
    DocumentOptions,
    JsonOption,
    MarkOptions,
    OutputOptions,
    ProfileArgument,
    ServerOptions,
    SettingsOption,
    with_groups,
)
from lab.cli.page import meanwhile
from lab.console import console, print_json
from lab.display import print_report, print_warnings
from lab.engines import ENGINES
from lab.errors import ProfileError, StackError
from lab.profiles import Profile, load_profile, override
from lab.profiles.loads import Recorded, Stream
from lab.run.abort import unjudged
from lab.run.folder import check_runs
from lab.run.load.drivers import Drivers
from lab.run.names import index_name, kept_index
from lab.stack.places import ROOT
from lab.targets import TargetName
from lab.targets.choose import servers_of
from lab.targets.servers import Servers
from producers import registry
from producers.dataset import Dataset, DatasetError

DRIVERS = "Drivers on other hosts"


@with_groups
def run(
    profile: ProfileArgument,
    *,
    elasticsearch: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Elasticsearch version.", rich_help_panel=SERVERS)
    ] = None,
    opensearch: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="OpenSearch version, in place of Elasticsearch.", rich_help_panel=SERVERS),
    ] = None,
    distribution: DistributionOption = None,
    documents: DocumentOptions,
    rate: Annotated[float | None, typer.Option(metavar="DOCS_PER_S", help="Stream at this rate.")] = None,
    pace: Annotated[
        str | None,
        typer.Option(metavar="recorded|2x", help="Stream a slice as it was recorded, or so many times as fast."),
    ] = None,
    settings: SettingsOption = None,
    on: ServerOptions,
    drivers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Stream from N other hosts: prints the command for each (--target remote).",
            rich_help_panel=DRIVERS,
        ),
    ] = None,
    driver: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST",
            help="The same over ssh: [USER@]HOST[:FOLDER]; FOLDER is a checkout there, by default sluice.",
            rich_help_panel=DRIVERS,
        ),
    ] = None,
    start_in: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Seconds until all drivers start; default: 30 over ssh, 120 by hand.",
            rich_help_panel=DRIVERS,
        ),
    ] = None,
    mark: MarkOptions,
    output: OutputOptions,
    as_json: JsonOption = False,
    expect: ExpectOption = None,
    fail_on_dead_letters: Annotated[
        bool,
        typer.Option(
            "--fail-on-dead-letters", help="Exit status 5 if documents were rejected.", rich_help_panel=CHECKS
        ),
    ] = False,
    baseline: BaselineOption = None,
    baseline_optional: BaselineOptionalOption = False,
    vary: VaryOption = None,
    abort_on: AbortOption = None,
    junit: JunitOption = None,
    summary: SummaryOption = None,
) -> int:
    """Run a profile: start what is missing, load, verify, measure, report."""
    overrides = [
        *shorthand(
            elasticsearch=elasticsearch,
            opensearch=opensearch,
            distribution=distribution,
            **vars(documents),
            rate=rate,
            pace=pace,
        ),
        *(settings or []),
    ]
    conditions = [condition(text) for text in abort_on or ()]
    expectations, marks = [expectation(text) for text in expect or ()], mark.marks
    if of_control := [each.text for each in expectations if each.beside == "control"]:
        raise ProfileError(
            f"--expect: got {of_control[0]}, expected a figure or a ratio to a baseline: a run has no control"
        )
    chosen = load_profile(profile, overrides=overrides)
    elsewhere = drivers_of(Drivers.of(drivers, driver or [], start_in), chosen, on.target)
    servers = servers_of(on.target, on.target_file)
    documents_of = dataset_of(chosen)
    fitted = servers.fitted(chosen)
    check_runs(output.runs)
    beside = baseline_of(
        baseline, output.runs / chosen.name, optional=baseline_optional, vary=vary or (), expectations=expectations
    )
    files = CiFiles.checked(junit, summary)
    console.print(f"[bold]{escape(chosen.name)}[/bold]: {escape(chosen.question)}")
    if text := replay_text(chosen, documents_of):
        console.print(text, soft_wrap=True)
    with meanwhile(output.page, output.runs), files.without_result(chosen.name):
        analysis = servers.run(fitted, documents_of, output.runs, elsewhere, marks=marks, abort_on=conditions)
    show_result(analysis, open_it=output.open_it)
    result = analysis.result
    print_index(servers, on.target, fitted, kept_index(fitted, documents_of, ROOT))
    if as_json:
        print_json(result)
    never_judged = unjudged(conditions, analysis.folder.samples)
    print_undecided(never_judged)
    checks = Checks(failures(result, expectations, no_dead_letters=fail_on_dead_letters), never_judged)
    table = ""
    if beside:
        of_ratios, table = against_baseline(beside, analysis.folder.path, expectations)
        checks = Checks({**checks.failures, **of_ratios.failures}, {**checks.undecided, **of_ratios.undecided})
    if ending := files.write(
        ending_of(checks.failures),
        lambda: junit_file(result.profile, checks.failures, undecided=checks.undecided, timing=timing_of(result)),
        lambda: (
            run_markdown(analysis.folder.run, result, analysis.folder.samples, checks.failures, checks.undecided)
            + table
        ),
    ):
        raise ending
    return 0


def show_result(analysis: RunAnalysis, *, open_it: bool) -> None:
    """The verdict, figures, warnings and the way to the report, after a run and whenever its report is drawn again."""
    folder, result = analysis.folder, analysis.result
    console.print(verdict_line(result, folder.samples, console.width))
    console.print(terminal_table(result))
    for sentence in compared_questions(folder.run):
        console.print(escape(sentence), soft_wrap=not console.is_terminal)
    print_warnings(result.warnings)
    print_report(folder.path / "report.html", open_it=open_it)


def print_index(servers: Servers, target: TargetName, profile: Profile, kept: str | None) -> None:
    """How to query the index of a run; to a person, that it is gone.

    Args:
        kept: The index that queries alone read, which a run removes from servers of others.
    """
    if not servers.stay:
        if console.is_terminal:
            console.print("[dim]index: gone with its servers, which ./sluice up beforehand would keep[/dim]")
        return
    if kept and target is TargetName.REMOTE:
        return
    try:
        endpoints = servers.endpoints()
    except StackError as error:
        # Containers that the run has started are stopped again; a server of `up` may have died since.
        stopped = "in stopped containers; docker compose up beforehand keeps them running"
        if console.is_terminal:
            console.print(f"[dim]index: {stopped if target is TargetName.COMPOSE else escape(str(error))}[/dim]")
        return
    index = f"{kept or index_name(profile)}{'*' if profile.indices > 1 else ''}"
    needed = "" if endpoints.access.elasticsearch.authorization is None else " (with your credentials)"
    console.print(f"index: curl '{endpoints.elasticsearch_urls[0]}/{index}/_search?pretty'{needed}", soft_wrap=True)


def drivers_of(drivers: Drivers | None, profile: Profile, target: TargetName) -> Drivers | None:
    """The drivers of a run; raises ProfileError if they cannot send this profile, or not to these servers."""
    if drivers is None:
        return None
    if target is not TargetName.REMOTE:
        raise ProfileError(
            f"--drivers: got --target {target}, expected --target remote: no other host reaches servers that only this "
            "machine can reach"
        )
    drivers.refuse_unsuitable(profile)
    return drivers


def shorthand(
    *,
    distribution: str | None = None,
    dataset: str | None,
    path: str | None,
    key: str | None,
    documents: int | None,
    rate: float | None = None,
    pace: str | None = None,
    **versions: str | None,
) -> list[str]:
    """The options that have names of their own, as overrides of the profile.

    Args:
        versions: By the name of an engine.
    """
    given: tuple[tuple[str, str, object], ...] = (
        *((f"--{engine.name}", engine.dotted_key, versions.get(engine.name)) for engine in ENGINES),
        ("--distribution", "elasticsearch.distribution", distribution),
        ("--dataset", "dataset.name", dataset),
        ("--path", "dataset.path", path),
        ("--key", "dataset.key", key),
        ("--documents", "dataset.documents", documents),
        ("--rate (load.mode)", "load.mode", None if rate is None else "stream"),
        ("--pace (load.mode)", "load.mode", None if pace is None else "stream"),
        ("--pace", "load.pace", pace),
        ("--rate", "load.rate_docs_per_s", rate),
    )
    return [override(name, value, option) for option, name, value in given if value is not None]


def replay_text(profile: Profile, dataset: Dataset) -> str:
    """Time that a slice takes at its pace, gaps of the recording included; empty for other loads."""
    load = profile.load
    times_ns = dataset.recorded_ns(np.arange(dataset.documents)) if isinstance(load, Recorded) else None
    if times_ns is None or not isinstance(load, Recorded):
        return ""
    whole_s, gap_s = (int(each) / 1e9 / load.speed for each in (times_ns.max(), np.diff(times_ns, prepend=0).max()))
    faster = f"{2 * load.speed:g}x"
    pace = "as recorded" if load.pace == "recorded" else f"at {load.pace}"
    return f"load: {duration(whole_s)} {pace}, longest gap {duration(gap_s)}; --pace {faster} halves both"


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
        dataset = registry.make_dataset(section.name, documents=section.documents, seed=section.seed, **options)
    except DatasetError as error:
        raise ProfileError(f"dataset: {error}") from error
    load = profile.load
    if isinstance(load, Recorded) and dataset.recorded_ns(np.zeros(1, dtype=np.int64)) is None:
        raise ProfileError(
            f"load.pace: got {load.pace} for documents without recorded times, expected a slice of `sluice capture`"
        )
    if isinstance(load, Stream):
        load.refuse_documents(dataset.documents)
    if dataset.unindexable and not load.uses_kafka:
        raise ProfileError(
            f"dataset: {dataset.unindexable:,} records of the slice have no key or no JSON object, expected a load "
            "through Kafka, which takes them"
        )
    return dataset
