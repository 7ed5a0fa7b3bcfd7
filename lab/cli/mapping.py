"""`sluice mapping`: the mapping that a file's documents want, and what each field of a mapping costs."""

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from lab.analysis.suite.folder import read_suite
from lab.analysis.suite.result import analyse_suite
from lab.cli import complete
from lab.cli.mapping_display import analyzers_text, show_beside_dynamic, show_costs, show_proposal
from lab.cli.options import RUNS, OpenOption, RunsOption, TargetFileOption, TargetOption
from lab.cli.page import PageOption
from lab.cli.suite import SeedOption, SuiteOptions, measures_of, perform
from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.target import cluster_of
from lab.console import console
from lab.errors import ProfileError, unwritable
from lab.files import write_new
from lab.init.files import name_from
from lab.mapping.check import index_documents, index_for_check, refuse_rejections, types_of
from lab.mapping.proposal import Proposal, propose
from lab.mapping.sample import Sample, documents_of, extent_of, read_sample
from lab.mapping.suites import PROFILE, Documents, against_dynamic, begun_units, most_units, without_each
from lab.mapping.types import Wishes
from lab.mapping.units import Unit, disk_bytes, grouped, units_of, with_disk_bytes
from lab.profiles import load_profile
from lab.profiles.files import REPOSITORY, file_of, is_there
from lab.profiles.loader import override
from lab.profiles.mapping import FOLDER, load_mapping
from lab.suite.folder import find_suite
from lab.targets import TargetName
from lab.targets.choose import servers_of
from producers.dataset import DatasetError
from producers.datasets.file import numbered_documents

SAMPLE = 20_000
LOAD_BYTES = 48_000_000
"""Documents of each load of a comparison: some seconds on 2 cores."""

REMEDY = "store such a field without searching it: --no-search FIELD"

app = typer.Typer(no_args_is_help=True, add_completion=False)

SampleOption = Annotated[int, typer.Option(min=1, help="Documents to read, at most, spread over the file.")]
KeyOption = Annotated[str | None, typer.Option(help="Field that holds the key, dotted where nested.")]
VersionOption = Annotated[str | None, typer.Option(metavar="VERSION", help="Elasticsearch version.")]
MinutesOption = Annotated[float | None, typer.Option(min=1, help="Longest time of the comparison; by default 10.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue its comparison, which was interrupted.")]


@app.callback()
def mapping() -> None:
    """Propose a mapping for a file, or measure what each field of one costs."""


@app.command()
def infer(
    file: Annotated[str, typer.Argument(help="One JSON object per line; also .gz and .zst.")],
    *,
    sample: SampleOption = SAMPLE,
    out: Annotated[Path | None, typer.Option(help="File to write; by default mappings/NAME.json.")] = None,
    key: KeyOption = None,
    search: Annotated[list[str] | None, typer.Option(metavar="FIELD", help="Always index this field.")] = None,
    no_search: Annotated[
        list[str] | None, typer.Option("--no-search", metavar="FIELD", help="Only store this field.")
    ] = None,
    as_object: Annotated[
        list[str] | None,
        typer.Option("--object", metavar="FIELD", help="Map this array as object, not nested."),
    ] = None,
    check: Annotated[bool, typer.Option(help="Index the sample on a server; a rejected document is an error.")] = True,
    compare: Annotated[bool, typer.Option("--compare", help="Then measure it against dynamic mapping.")] = False,
    minutes: MinutesOption = None,
    resume: ResumeOption = False,
    elasticsearch: VersionOption = None,
    target: TargetOption = TargetName.LOCAL,
    target_file: TargetFileOption = None,
    runs: RunsOption = RUNS,
    page: PageOption = None,
    open_it: OpenOption = False,
) -> int:
    """Propose a static mapping for your file, with a reason for each field, and check it on a server."""
    path = out or Path(FOLDER) / f"{name_from(file) or 'documents'}.json"
    measures = measures_of(None, minutes, None)
    options = SuiteOptions(
        measures=measures,
        resume=resume,
        target=target,
        target_file=target_file,
        runs=runs,
        page=page,
        open_it=open_it,
    )
    check_place(path, is_read=compare or resume, is_written=not resume)
    read = read_sample(file, sample, key)
    if not resume:
        wishes = Wishes(read.key, *(frozenset(names or ()) for names in (search, no_search, as_object)))
        write_proposal(path, read, (sample, wishes), cluster_on(file, elasticsearch, options) if check else None)
    if not (compare or resume):
        return 0
    return compare_with_dynamic(path.stem, Documents(file, read.key, load_count(file), elasticsearch), options)


@contextlib.contextmanager
def cluster_on(path: str, version: str | None, options: SuiteOptions) -> Iterator[ElasticsearchClient]:
    """The Elasticsearch of a target, which runs meanwhile.

    Args:
        path: The file of documents.
        version: Of Elasticsearch; `None` for the default.
    """
    servers = servers_of(options.target, options.target_file)
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


def write_proposal(
    path: Path, read: Sample, wanted: tuple[int, Wishes], checking: AbstractContextManager[ElasticsearchClient] | None
) -> None:
    """Propose a mapping, check it on the servers if they are given, show it, and write it.

    Args:
        wanted: How many documents the sample has, at most, and what is known of the fields.
    """
    most, wishes = wanted
    # Before any server: what can be refused without one is.
    proposal, checked = propose(read, wishes), "not checked: a server may reject documents"
    console.print(escape(f"read {read.text}" + ("" if read.whole else "; --sample reads more")), soft_wrap=True)
    if checking is not None:
        with checking as cluster:
            proposal = propose(read, wishes, types_of(cluster))
            checked = checked_text(cluster, proposal, read, most, path)
    show_proposal(proposal)
    console.print(escape(checked), soft_wrap=not console.is_terminal)
    write(path, proposal.text)


def checked_text(cluster: ElasticsearchClient, proposal: Proposal, read: Sample, most: int, path: Path) -> str:
    """Index the sample with the mapping; what that says, in words.

    Raises:
        VerificationError: Documents are rejected.
    """
    with index_for_check(cluster, proposal.content) as index:
        done = index_documents(cluster, index, documents_of(read.path, most, read.extent))
        settings = cluster.index_settings(index)
    refuse_rejections(done, f"{path}: not written", [REMEDY])
    return "; ".join([f"checked: {done.documents:,} documents indexed, none rejected", *analyzers_text(settings)])


def write(path: Path, text: str) -> None:
    """Write the mapping file.

    Raises:
        ProfileError: It cannot be written, or has come into being meanwhile.
    """
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
    folder = find_suite(options.runs, suite.name).path
    show_beside_dynamic(read_suite(folder), analyse_suite(folder), name)
    return status


@app.command()
def explain(
    name: Annotated[
        str,
        typer.Argument(metavar="MAPPING", help="A file of mappings/, without .json.", autocompletion=complete.mappings),
    ],
    *,
    on: Annotated[str, typer.Option("--on", metavar="FILE", help="Documents: one JSON object per line.")],
    key: KeyOption = None,
    sample: SampleOption = SAMPLE,
    minutes: MinutesOption = None,
    seed: SeedOption = None,
    resume: ResumeOption = False,
    elasticsearch: VersionOption = None,
    target: TargetOption = TargetName.LOCAL,
    target_file: TargetFileOption = None,
    runs: RunsOption = RUNS,
    page: PageOption = None,
    open_it: OpenOption = False,
) -> int:
    """Measure what each field of a mapping costs: size on disk and indexing CPU, by leaving it out."""
    units = units_of(load_mapping(name), name)
    documents = Documents(on, key, load_count(on), elasticsearch)
    measures = measures_of(None, minutes, None)
    options = SuiteOptions(
        measures=measures,
        resume=resume,
        target=target,
        target_file=target_file,
        runs=runs,
        page=page,
        open_it=open_it,
        seed=seed,
    )
    if resume:
        chosen = begun_units(find_suite(runs, without_each(name, [], documents).name).plan(), units)
    else:
        with cluster_on(on, elasticsearch, options) as cluster:
            chosen = grouped(sized_units(cluster, name, units, (on, sample)), most_units(minutes))
    suite = without_each(name, chosen, documents)
    status = perform(suite, options)
    show_costs(analyse_suite(find_suite(runs, suite.name).path), chosen)
    return status


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
        raise ProfileError(f"{path}: is empty; expected one JSON object per line")
    return count


def sized_units(cluster: ElasticsearchClient, name: str, units: Sequence[Unit], sampled: tuple[str, int]) -> list[Unit]:
    """The units of a mapping with what a sample's index spends on each, where the servers say so; the largest first.

    Args:
        sampled: The file, and how many of its documents.

    Raises:
        VerificationError: The mapping rejects documents of the sample.
    """
    path, most = sampled
    with index_for_check(cluster, load_mapping(name)) as index:
        done = index_documents(cluster, index, documents_of(path, most, extent_of(path, most)))
        refuse_rejections(done, f"mapping {name}")
        sizes = disk_bytes(cluster, index)
    if sizes is None:
        console.print("these servers have no _disk_usage: fields are taken in the order of the mapping")
    return with_disk_bytes(units, sizes)
