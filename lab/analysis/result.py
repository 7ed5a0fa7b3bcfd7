"""Result of a run, computed once from its folder; result, page, terminal and compare are drawn from it."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lab.analysis.figures.limits import limited_by, queries_limited_by
from lab.analysis.figures.metrics import metrics
from lab.analysis.figures.warnings import warnings
from lab.analysis.figures.windows import Windows, query_windows, windows
from lab.analysis.folder import RunFolder, read_run, write_record
from lab.files import write_whole
from lab.profiles.mapping import leaves
from lab.records.result import Limit, Result
from lab.records.run import RunWarning

Said = TypeVar("Said", Limit, RunWarning)


@dataclass(frozen=True, slots=True)
class RunAnalysis:
    """A run's folder as it was read, its samples cut into windows, and its result."""

    folder: RunFolder
    windows: Windows
    result: Result


def analyse(run_dir: Path) -> RunAnalysis:
    """A run's figures and verdict, made from its folder alone; raises ProfileError if the folder is not a run's."""
    return analysed(read_run(run_dir))


def analysed(folder: RunFolder) -> RunAnalysis:
    """A run's figures and verdict, made from what its folder holds."""
    run = folder.run
    alone = run.query_load if run.load == "query" else None
    cut = query_windows(folder.samples, alone) if alone else windows(folder.samples, run.verification.expect)
    limit: Limit | None = None
    # A few samples of a short load show no stage at its work.
    if cut.measured:
        limit = queries_limited_by(run, alone, cut.window) if alone else limited_by(run, cut.window)
    of_run = tuple(worded(each, run.environment.product) for each in warnings(run, cut, limit))
    limit = limit and worded(limit, run.environment.product)
    result = Result(
        run_id=run.run_id,
        profile=run.profile,
        question=run.question,
        status="verified" if run.verification.verified else "failed",
        started_s=run.started_s,
        ended_s=run.ended_s,
        bulk_by_shard=run.direct.bulk_by_shard if run.direct else None,
        content_hash=run.content_hash,
        phases=run.phases,
        measured_window=cut.measured,
        documents=run.documents,
        verification=run.verification,
        sink_ledger=run.sink_ledger,
        metrics=metrics(run, cut),
        environment=run.environment,
        warnings=of_run,
        limited_by=limit,
        rate_rise=cut.rise if run.load == "drain" else None,
        labels=run.labels,
        note=run.note,
    )
    return RunAnalysis(folder, cut, result)


def worded(said: Said, product: str) -> Said:
    """Text with the product's name in place of Elasticsearch, for which the sentences are written."""
    texts = {name: text for name, text in said if isinstance(text, str) and "Elasticsearch" in text}
    return said.model_copy(update={name: text.replace("Elasticsearch", product) for name, text in texts.items()})


def write_result(analysis: RunAnalysis) -> None:
    """The file `result.json` in the run's folder, for programs."""
    write_record(analysis.folder.path / "result.json", analysis.result)


def write_csv(analysis: RunAnalysis) -> tuple[Path, Path]:
    """Write `figures.csv` (a row for each metric and scope) and `samples.csv` (a row for each tick) beside the report.

    A column of samples is the path of its value, such as `elasticsearch.indices.books.primaries.index_total`. Lists,
    such as histograms, are left out.
    """
    folder = analysis.folder.path
    figures = (
        {"metric": metric.name, "scope": metric.scope, "unit": metric.unit, "value": metric.value}
        for metric in analysis.result.metrics
    )
    trees = (sample.model_dump(mode="json") for sample in analysis.folder.samples)
    samples = [{name: value for name, value in leaves(tree) if not isinstance(value, list)} for tree in trees]
    columns = dict.fromkeys(name for sample in samples for name in sample)
    return (
        _csv_file(folder / "figures.csv", ("metric", "scope", "unit", "value"), figures),
        _csv_file(folder / "samples.csv", tuple(columns), samples),
    )


def _csv_file(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Path:
    """The file, with a head; what a row lacks is empty."""
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, columns)
    table.writeheader()
    table.writerows(rows)
    write_whole(path, text.getvalue())
    return path
