"""`sluice mapping`: the mapping that a file's documents want, and what each field of a mapping costs."""

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from lab.analysis.suite.folder import read_suite
from lab.analysis.suite.result import analyse_suite
from lab.cli import complete
from lab.cli.mapping_display import Rejected, analyzers_text, show_beside_dynamic, show_check, show_costs, show_proposal
from lab.cli.options import OutputOptions, ServerOptions, with_groups
from lab.cli.suite import PlanOption, SeedOption, SuiteOptions, perform
from lab.cli.wishes import SAMPLE, DryRunOption, KeyOption, SampleOption, WishOptions
from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.target import cluster_of
from lab.console import console
from lab.errors import ProfileError, unwritable
from lab.files import write_new
from lab.init.files import name_from
from lab.mapping.check import (
    index_documents,
    index_for_check,
    refuse_rejections,
    rejected_text,
    types_of,
)
from lab.mapping.proposal import Proposal, corrected, propose
from lab.mapping.sample import Sample, documents_of, documents_taken, extent_of, opened, read_sample, text_on
from lab.mapping.suites import PROFILE, Documents, against_dynamic, begun_units, most_units, without_each
from lab.mapping.types import Wishes
from lab.mapping.units import Unit, disk_bytes, grouped, units_of, with_disk_bytes
from lab.profiles import load_profile
from lab.profiles.files import REPOSITORY, file_of, is_there
from lab.profiles.loader import override
from lab.profiles.mapping import FOLDER, load_mapping
from lab.run.verify.stored_only import stored_only
from lab.suite.folder import find_suite
from lab.targets.choose import servers_of
from producers.dataset import DatasetError
from producers.datasets.file import numbered_documents

LOAD_BYTES = 48_000_000
"""Documents of each load of a comparison: some seconds on 2 cores."""

CHECKED_NOT = "not checked: a server may reject documents"
LARGER = "; --sample reads more"
REMEDY = "store such a field without searching it: --no-search FIELD"

app = typer.Typer(no_args_is_help=True, add_completion=False)

VersionOption = Annotated[str | None, typer.Option(metavar="VERSION", help="Elasticsearch version.")]
MappingArgument = Annotated[
    str,
    typer.Argument(metavar="MAPPING", help="A file of mappings/, without .json.", autocompletion=complete.mappings),
]
MinutesOption = Annotated[float | None, typer.Option(min=1, help="Longest time of the comparison; by default 10.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue its comparison, which was interrupted.")]


@app.callback()
def mapping() -> None:
    """Propose a mapping for a file, hold a later file against it, or measure what each of its fields costs."""


@app.command()
@with_groups
def infer(
    file: Annotated[str, typer.Argument(help="Your documents, in any form (docs/files.md).")],
    *,
    sample: SampleOption = SAMPLE,
    out: Annotated[Path | None, typer.Option(help="File to write; by default mappings/NAME.json.")] = None,
    key: KeyOption = None,
    wanted: WishOptions,
    dry_run: DryRunOption = False,
    check: Annotated[bool, typer.Option(help="Index the sample on a server; a rejected document is an error.")] = True,
    compare: Annotated[bool, typer.Option("--compare", help="Then measure it against dynamic mapping.")] = False,
    minutes: MinutesOption = None,
    resume: ResumeOption = False,
    elasticsearch: VersionOption = None,
    servers: ServerOptions,
    output: OutputOptions,
) -> int:
    """Propose a static mapping for your file, with a reason for each field, and check it on a server."""
    path = out or Path(FOLDER) / f"{name_from(file) or 'documents'}.json"
    options = SuiteOptions(minutes=minutes, resume=resume, on=servers, output=output)
    if dry_run and (compare or resume):
        raise ProfileError("--dry-run: got --compare or --resume, too, which need the file that it does not write")
    check_place(path, is_read=compare or resume, is_written=not resume)
    read = read_sample(file, sample, key)
    if not resume:
        wishes = wanted.wishes(read.key)
        proposal = proposed(path, read, (sample, wishes), cluster_on(file, elasticsearch, servers) if check else None)
        if dry_run:
            console.print(f"not written: {path}\n{escape(proposal.text)}", soft_wrap=True)
        else:
            write(path, proposal.text)
    if not (compare or resume):
        return 0
    return compare_with_dynamic(path.stem, Documents(file, read.key, load_count(file), elasticsearch), options)


@contextlib.contextmanager
def cluster_on(path: str, version: str | None, on: ServerOptions) -> Iterator[ElasticsearchClient]:
    """The Elasticsearch of a target, which runs meanwhile.

    Args:
        path: The file of documents.
        version: Of Elasticsearch; `None` for the default.
    """
    servers = servers_of(on.target, on.target_file)
    stated = {"dataset.path": path} | ({} if version is None else {"elasticsearch.version": version})
    profile = servers.fitted(load_profile(PROFILE, overrides=[override(*each) for each in stated.items()]))
    with servers.held(), closing(cluster_of(servers.target(profile).endpoints)) as client:
        yield client


def check_place(path: Path, *, is_read: bool, is_written: bool) -> None:
    """Raise ProfileError unless the mapping can be written there, and found by a comparison that reads it."""
    is_ours = path.parent == Path(FOLDER) and is_there(file_of(FOLDER, path.name, REPOSITORY))
    if is_written and (is_there(path) or is_ours):
        raise ProfileError(f"{path}: exists; choose another --out, or remove it")
    if is_written and path.parent != Path(FOLDER) and not path.parent.is_dir():
        raise ProfileError(f"--out: got {path}, expected a file in a folder that exists")
    if is_read and (path.parent.resolve() != Path(FOLDER).resolve() or path.suffix != ".json"):
        raise ProfileError(f"--out: got {path}, expected {FOLDER}/NAME.json, where a comparison finds it")


def proposed(
    path: Path, read: Sample, wanted: tuple[int, Wishes], checking: AbstractContextManager[ElasticsearchClient] | None
) -> Proposal:
    """Propose a mapping, check it on the servers if they are given, and show it.

    Args:
        path: The file to be written.
        wanted: How many documents the sample has, at most, and what is known of the fields.
    """
    most, wishes = wanted
    # Before any server: what can be refused whatever types servers have is.
    proposal, checked = propose(read, wishes, lambda _: checking is not None), CHECKED_NOT
    console.print(escape(f"read {read.text}{LARGER * (not read.whole)}"), soft_wrap=True)
    if checking is not None:
        with checking as cluster:
            proposal = propose(read, wishes, types_of(cluster))
            proposal, checked = checked_on(cluster, proposal, (read, most, wishes), path)
    show_proposal(proposal)
    console.print(escape(checked), soft_wrap=not console.is_terminal)
    return proposal


def checked_on(
    cluster: ElasticsearchClient, proposal: Proposal, of: tuple[Sample, int, Wishes], path: Path
) -> tuple[Proposal, str]:
    """Index the sample with the mapping; the proposal with what that corrects, and a text on it.

    Raises:
        VerificationError: More documents are rejected than are tolerated.
    """
    read, most, wishes = of
    with index_for_check(cluster, proposal.content) as index:
        done = index_documents(cluster, index, documents_of(read.path, most, read.extent))
        settings = cluster.index_settings(index)
        stored = stored_only(cluster, index).fields
    refuse_rejections(done, f"{path}: not written", [REMEDY], wishes.tolerated)
    indexed = done.documents - done.rejected
    outcome = f"{rejected_text(done)}; a run sends them to the dead letters" if done.rejected else "none rejected"
    some = ", ".join(f"{name} of {count:,}" for name, count in stored.items())
    text = "; ".join(
        [
            f"checked: {indexed:,} documents indexed, {outcome}",
            *([f"stored, not indexed: {some}"] if some else []),
            *analyzers_text(settings),
        ]
    )
    return corrected(proposal, stored, all_accepted=not done.rejected), text


def write(path: Path, text: str) -> None:
    """Write the mapping file; raises ProfileError if it cannot be written, or has come into being meanwhile."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(path, text)
    except OSError as error:
        raise unwritable(f"{path}: cannot be written", error) from error
    console.print(f"written: {path}", soft_wrap=True)


def compare_with_dynamic(name: str, documents: Documents, options: SuiteOptions) -> int:
    """Measure the mapping of that name against dynamic mapping, as a suite does; a small table."""
    suite = against_dynamic(name, documents)
    status = perform(suite, options)
    folder = find_suite(options.output.runs, suite.name).path
    show_beside_dynamic(read_suite(folder), analyse_suite(folder), name)
    return status


@app.command("check")
@with_groups
def check_file(
    name: MappingArgument,
    *,
    path: Annotated[str, typer.Option("--path", metavar="FILE", help="Your documents, in any form (docs/files.md).")],
    sample: SampleOption = SAMPLE,
    elasticsearch: VersionOption = None,
    servers: ServerOptions,
) -> int:
    """Index a file with a mapping, as far as --sample goes; exit status 1 if a document is rejected, 0 if none is."""
    mapping, extent, rejected = load_mapping(name), opened(path, sample), Rejected()
    with cluster_on(path, elasticsearch, servers) as cluster, index_for_check(cluster, mapping) as index:
        done = index_documents(cluster, index, documents_taken(path, sample, extent), on_rejection=rejected.add)
        stored = stored_only(cluster, index)
    console.print(
        escape(f"read {text_on(path, done.documents, extent)}{LARGER * (extent == 'spread')}"), soft_wrap=True
    )
    show_check(done, rejected, stored)
    return 1 if done.rejected else 0


@app.command()
@with_groups
def explain(
    name: MappingArgument,
    *,
    on: Annotated[
        str, typer.Option("--path", "--on", metavar="FILE", help="Your documents, in any form (docs/files.md).")
    ],
    key: KeyOption = None,
    sample: SampleOption = SAMPLE,
    minutes: MinutesOption = None,
    plan: PlanOption = False,
    seed: SeedOption = None,
    resume: ResumeOption = False,
    elasticsearch: VersionOption = None,
    servers: ServerOptions,
    output: OutputOptions,
) -> int:
    """Measure what each field of a mapping costs: size on disk and indexing CPU, by leaving it out."""
    units = units_of(load_mapping(name), name)
    documents = Documents(on, key, load_count(on), elasticsearch)
    options = SuiteOptions(minutes=minutes, resume=resume, on=servers, output=output, seed=seed, plan=plan)
    most, suite_name = most_units(minutes), without_each(name, [], documents).name
    accepted = output.runs / f"{suite_name}.ndjson"
    if plan:
        if len(units) > most:
            console.print("the largest fields are left out one by one, which servers tell; here, the first ones:")
        return perform(without_each(name, grouped(units, most), documents), options)
    if resume:
        chosen = begun_units(find_suite(output.runs, suite_name).plan(), units)
        if accepted.is_file():
            documents = replace(documents, path=str(accepted), count=load_count(str(accepted)))
    else:
        accepted.unlink(missing_ok=True)
        with cluster_on(on, elasticsearch, servers) as cluster:
            chosen = grouped(sized_units(cluster, name, units, (on, sample)), most)
            documents = accepted_documents(cluster, name, documents, accepted)
    suite = without_each(name, chosen, documents)
    status = perform(suite, options)
    show_costs(analyse_suite(find_suite(output.runs, suite.name).path), chosen)
    accepted.unlink(missing_ok=True)
    return status


def accepted_documents(cluster: ElasticsearchClient, name: str, documents: Documents, path: Path) -> Documents:
    """The documents of a load that a mapping accepts: all, or those of a new file, which lacks the rejected ones.

    Args:
        name: Of the mapping.
        path: Of that file.

    Raises:
        VerificationError: Every document is rejected.
    """
    first = islice(numbered_documents(documents.path), documents.count)
    with index_for_check(cluster, load_mapping(name)) as index:
        done = index_documents(cluster, index, ((f"{documents.path}:{number}", each) for number, each in first))
    if not done.rejected:
        return documents
    if done.rejected == done.documents:
        refuse_rejections(done, f"mapping {name}")
    console.print(escape(f"left out: {rejected_text(done)}"), soft_wrap=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for number, (_, document) in enumerate(islice(numbered_documents(documents.path), documents.count)):
            if number not in done.places:
                file.write(document + b"\n")
    return replace(documents, path=str(path), count=done.documents - done.rejected)


def load_count(path: str) -> int:
    """How many documents a load of a comparison has: the first of the file, up to a size.

    Raises:
        ProfileError: The file cannot be read, or holds none.
    """
    count = size = 0
    try:
        for _, document in numbered_documents(path):
            count, size = count + 1, size + len(document)
            if size >= LOAD_BYTES:
                break
    except DatasetError as error:
        raise ProfileError(str(error)) from error
    if not count:
        raise ProfileError(f"{path}: is empty, expected documents")
    return count


def sized_units(cluster: ElasticsearchClient, name: str, units: Sequence[Unit], sampled: tuple[str, int]) -> list[Unit]:
    """The units of a mapping with what a sample's index spends on each, where the servers say so; the largest first.

    Documents that the mapping rejects are not in that index.

    Args:
        sampled: The file, and how many of its documents.
    """
    path, most = sampled
    with index_for_check(cluster, load_mapping(name)) as index:
        index_documents(cluster, index, documents_of(path, most, extent_of(path, most)))
        sizes = disk_bytes(cluster, index)
    if sizes is None:
        console.print("these servers have no _disk_usage: fields are taken in the order of the mapping")
    return with_disk_bytes(units, sizes)
