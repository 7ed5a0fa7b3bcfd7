"""A run as CSV, for spreadsheets and notebooks: its figures, and its samples."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lab.analysis.result import RunAnalysis
from lab.files import write_whole
from lab.profiles.mapping import leaves


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
        written(folder / "figures.csv", ("metric", "scope", "unit", "value"), figures),
        written(folder / "samples.csv", tuple(columns), samples),
    )


def written(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Path:
    """The file, with a head; what a row lacks is empty."""
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, columns)
    table.writeheader()
    table.writerows(rows)
    write_whole(path, text.getvalue())
    return path
