"""`sluice rehearse`: a slice of a topic on several versions, and what differs between them, on one page."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Final

import orjson
import typer
from rich.markup import escape

from lab.analysis.report_page.markdown import markdown_table, plain_line
from lab.analysis.suite.comparison_table import rows
from lab.analysis.suite.folder import SuiteRecords, read_suite
from lab.analysis.suite.names import metric_label
from lab.analysis.suite.result import analyse_suite
from lab.analysis.text import figure
from lab.capture.answers import FILE, answers, compared, read_answers, read_questions
from lab.cli import complete
from lab.cli.options import OutputOptions, ServerOptions, with_groups
from lab.cli.suite import PlanOption, ResumeOption, SuiteOptions, perform
from lab.clients.target import Target, cluster_of
from lab.console import console, table_of
from lab.engines import ENGINES, Release
from lab.errors import ProfileError
from lab.files import write_new, write_whole
from lab.init.files import name_from
from lab.mapping.proposal import propose
from lab.mapping.sample import read_sample
from lab.profiles import Profile
from lab.profiles.files import REPOSITORY, file_of, is_there
from lab.profiles.loader import override
from lab.profiles.mapping import FOLDER
from lab.profiles.races import rehearsal
from lab.records.suite import SuiteResult
from lab.run.folder import RunFolder
from lab.run.names import index_name
from lab.suite.folder import find_suite
from producers.dataset import DatasetError
from producers.datasets.source.slice import slice_header

SAMPLE: Final = 100_000
PAGE: Final = "rehearsal.md"


@with_groups
def rehearse(
    slice_: Annotated[Path, typer.Argument(metavar="SLICE", help="File of `sluice capture`.")],
    *,
    elasticsearch: Annotated[
        str,
        typer.Option(metavar="VERSION,…", help="Versions, the present one first: 9.5.3,opensearch:3.8.0."),
    ],
    mapping: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Mapping; by default inferred.", autocompletion=complete.mappings),
    ] = None,
    pace: Annotated[
        str, typer.Option(metavar="recorded|2x|drain", help="As recorded, faster, or as fast as possible.")
    ] = "recorded",
    questions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Searches whose answers are compared: YAML, name: body.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE,VALUE",
            help="Setting of all variants, or with several values of variants.",
            autocompletion=complete.settings,
        ),
    ] = None,
    plan: PlanOption = False,
    minutes: Annotated[float | None, typer.Option(min=1, help="Longest time; default: three blocks.")] = None,
    resume: ResumeOption = False,
    on: ServerOptions,
    output: OutputOptions,
) -> int:
    """Load a slice on several versions: rejections, answers, rate, CPU, latency and disk of each.

    Example: `rehearse slice.slz --elasticsearch 8.19.21,9.5.3`.
    """
    releases = [release_of(text.strip()) for text in elasticsearch.split(",")]
    asked = read_questions(questions) if questions else {}
    about = header_of(slice_)
    name = name_from(str(slice_).removesuffix(".slz"))
    chosen = mapping or mapping_of(slice_, name, is_plan=plan)
    suite = rehearsal(name, releases, settings_of(slice_, about, chosen, pace) + (settings or []), minutes=minutes)

    def ask(servers: Target, profile: Profile, folder: RunFolder) -> None:
        cluster = cluster_of(servers.endpoints)
        try:
            found = answers(cluster, index_name(profile), asked)
        finally:
            cluster.close()
        folder.write_text(FILE, orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())

    after_run = ask if asked else None
    options = SuiteOptions(minutes=minutes, resume=resume, on=on, output=output, plan=plan, after_run=after_run)
    status = perform(suite, options)
    if not plan:
        folder = find_suite(output.runs, suite.name).path
        show(analyse_suite(folder), read_suite(folder), len(asked))
    return status


def release_of(text: str) -> Release:
    """The release of `9.5.3` or `opensearch:3.8.0`."""
    engine, _, version = text.rpartition(":")
    found = next((each for each in ENGINES if each.name == (engine or "elasticsearch")), None)
    if found is None or not version:
        names = " or ".join(f"{each.name}:VERSION" for each in ENGINES)
        raise ProfileError(f"--elasticsearch: got {text}, expected a version, or {names}")
    return Release(found, version)


def header_of(path: Path) -> dict[str, int]:
    """The header of a slice; raises ProfileError for another file."""
    try:
        header = slice_header(str(path))
    except DatasetError as error:
        raise ProfileError(str(error)) from error
    if header is None:
        got = "is no slice" if path.exists() else "no such file"
        raise ProfileError(f"{path}: {got}, expected a file of `sluice capture`")
    return header


def mapping_of(path: Path, name: str, *, is_plan: bool) -> str:
    """The mapping of an earlier rehearsal of this name, or one that is inferred and written down; none for a plan."""
    file = file_of(FOLDER, f"{name}.json", REPOSITORY)
    if is_there(file):
        console.print(f"mapping: {FOLDER}/{name}.json, which is there; --mapping names another one", soft_wrap=True)
        return name
    if is_plan:
        return "dynamic"
    proposal = propose(read_sample(str(path), SAMPLE))
    written = Path(FOLDER) / f"{name}.json"
    written.parent.mkdir(parents=True, exist_ok=True)
    write_new(written, proposal.text)
    console.print(f"mapping: inferred, written to {written}; correct it, or name one with --mapping", soft_wrap=True)
    return name


def settings_of(path: Path, about: dict[str, int], mapping: str, pace: str) -> list[str]:
    """What every variant of a rehearsal has: the slice, as many partitions as its topic, its pace."""
    keyless = about["null_keys"] == about["records"] and not about["tombstones"]
    paced = () if pace == "drain" else (("load.mode", "stream"), ("load.pace", pace))
    stated: tuple[tuple[str, object], ...] = (
        ("dataset.path", str(path.resolve())),
        ("mapping", mapping),
        ("topic.partitions", about["partitions"]),
        *paced,
        *((("sink.config.key.ignore", True), ("sink.config.behavior.on.null.values", "fail")) if keyless else ()),
    )
    return [override(key, value, "--set") for key, value in stated]


# --- the page -------------------------------------------------------------------------------------------------------


def show(result: SuiteResult, records: SuiteRecords, questions: int) -> None:
    """The verdicts on the terminal, and the same as a page in the suite's folder."""
    head, lines = page_of(result, records, questions)
    reasons = list(reasons_of(records))
    console.print(table_of(lines, *head, whole=head[:1]))
    for line in reasons:
        console.print(escape(line), soft_wrap=not console.is_terminal)
    title = [f"# {plain_line(result.plan.question)}", "", plain_line(result.answer), ""]
    text = [*title, *markdown_table(head, lines), "", *(f"- {plain_line(line)}" for line in reasons)]
    write_whole(records.path / PAGE, "\n".join(text) + "\n")
    console.print(f"page: {records.path / PAGE}", soft_wrap=True)


def page_of(
    result: SuiteResult, records: SuiteRecords, questions: int
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and lines of the table: a line for each figure, a column for each variant."""
    names = [variant.name for variant in result.plan.variants if variant.name != result.plan.repetition]
    lines = [
        ("rejected", *(rejected(records, name) for name in names)),
        *([("answers", *(answers_text(records, name, questions) for name in names))] if questions else []),
    ]
    for metric in result.plan.metrics:
        of_variant = {row.variant: row for row in rows(result, metric) if not row.is_check}
        shown = [of_variant.get(name) for name in names]
        cells = [
            (figure(row.figure.median, row.figure.unit) + (f" · {row.verdict_text}" if row.against else ""))
            if row and row.figure
            else "not measured"
            for row in shown
        ]
        lines.append((metric_label(metric), *cells))
    return ("", *names), lines


def rejected(records: SuiteRecords, name: str) -> str:
    """Dead letters of a run of a variant, the most of all its runs."""
    counts = [run.result.documents.dead_lettered or 0 for run in records.of_variant(name)]
    return f"{max(counts):,}" if counts else "no verified run"


def reasons_of(records: SuiteRecords) -> Iterator[str]:
    """Reasons for rejections by variant, and answers that differ."""
    for variant in records.plan.variants:
        runs = records.of_variant(variant.name)
        if not runs or variant.name == records.plan.repetition:
            continue
        most = max(runs, key=lambda run: run.result.documents.dead_lettered or 0)
        for letter in most.result.verification.dead_letters:
            yield f"{variant.name}: rejected {letter.records:,}: {letter.reason}"
        for question, how in compared_answers(records, variant.name).items():
            yield f"{variant.name}: {question}: {how}"


def answers_text(records: SuiteRecords, name: str, questions: int) -> str:
    """Number of questions that a variant answers differently."""
    if name == records.plan.control:
        return f"{questions} asked"
    return f"{len(compared_answers(records, name))} of {questions} differ"


def compared_answers(records: SuiteRecords, name: str) -> dict[str, str]:
    """Question → how a variant answers it differently."""

    def kept(of: Iterable[str | None]) -> list[dict[str, object]]:
        runs = (run.run.folder for each in of for run in records.of_variant(each or ""))
        return [found for folder in runs if (found := read_answers(records.path / (folder or "")))]

    return compared(kept([records.plan.control, records.plan.repetition]), kept([name]))
