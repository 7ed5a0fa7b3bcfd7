"""The summary of a race as Rally reports it: rows of metric, task, value and unit, as CSV, Markdown or `race.json`.

Names and units are those of Rally 2.12 and 2.13 (`esrally race --report-format`); a reader of its reports finds the
same rows.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from lab.errors import ProfileError

HEAD: Final = ("Metric", "Task", "Value", "Unit")
SUFFIXES: Final = (".csv", ".md", ".txt", ".json")
GIB: Final = 1024**3
MIB: Final = 1024**2


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a summary.

    Attributes:
        task: Empty for a row about the whole cluster.
        value: `None` where Rally has none.
    """

    metric: str
    task: str
    value: float | None
    unit: str


@dataclass(frozen=True, slots=True)
class Field:
    """Name in `race.json` of a row about the whole cluster, which it has in other units.

    Attributes:
        divisor: Of its value, for the unit of the report.
        across: How the rows of the least, median and largest primary shard are called; `None` where there are none.
    """

    key: str
    metric: str
    unit: str
    divisor: float
    across: str | None = None


def _time(key: str, what: str) -> Field:
    return Field(
        key, f"Cumulative {what} time of primary shards", "min", 60_000, f"cumulative {what} time across primary shards"
    )


FIELDS: Final = (
    _time("total_time", "indexing"),
    _time("indexing_throttle_time", "indexing throttle"),
    _time("merge_time", "merge"),
    Field("merge_count", "Cumulative merge count of primary shards", "", 1),
    _time("merge_throttle_time", "merge throttle"),
    _time("refresh_time", "refresh"),
    Field("refresh_count", "Cumulative refresh count of primary shards", "", 1),
    _time("flush_time", "flush"),
    Field("flush_count", "Cumulative flush count of primary shards", "", 1),
    Field("young_gc_time", "Total Young Gen GC time", "s", 1000),
    Field("young_gc_count", "Total Young Gen GC count", "", 1),
    Field("old_gc_time", "Total Old Gen GC time", "s", 1000),
    Field("old_gc_count", "Total Old Gen GC count", "", 1),
    Field("dataset_size", "Dataset size", "GB", GIB),
    Field("store_size", "Store size", "GB", GIB),
    Field("translog_size", "Translog size", "GB", GIB),
    Field("memory_segments", "Heap used for segments", "MB", MIB),
    Field("memory_doc_values", "Heap used for doc values", "MB", MIB),
    Field("memory_terms", "Heap used for terms", "MB", MIB),
    Field("memory_norms", "Heap used for norms", "MB", MIB),
    Field("memory_points", "Heap used for points", "MB", MIB),
    Field("memory_stored_fields", "Heap used for stored fields", "MB", MIB),
    Field("segment_count", "Segment count", "", 1),
    Field("ingest_pipeline_cluster_count", "Total Ingest Pipeline count", "", 1),
    Field("ingest_pipeline_cluster_time", "Total Ingest Pipeline time", "s", 1000),
    Field("ingest_pipeline_cluster_failed", "Total Ingest Pipeline failed", "", 1),
)
BY_KEY: Final = {field.key: field for field in FIELDS}


def read_summary(path: Path) -> list[Line]:
    """The rows of a report of Rally's, of ours in its words, or of a race.

    Raises:
        ProfileError: It cannot be read, or is none.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(f"{path}: cannot be read: {error}; expected a summary of Rally's") from error
    try:
        lines = list(_of_race(path, text) if path.suffix.lower() == ".json" else _of_table(path, text))
    except (csv.Error, ValueError, OverflowError, RecursionError) as error:
        raise ProfileError(f"{path}: cannot be read: {error}; expected a summary of Rally's") from error
    twice = len(lines) - len({(line.metric, line.task) for line in lines})
    if twice:
        raise ProfileError(f"{path}: {twice} rows stand twice, expected one report; Rally adds to a file that exists")
    if not lines:
        raise ProfileError(f"{path}: no summary of Rally's: expected rows under {', '.join(HEAD)}, or a race.json")
    return lines


def _of_table(path: Path, text: str) -> Iterator[Line]:
    """The rows below each head, of CSV or of a Markdown table, whatever else the text has."""
    is_below = False
    for number, cells in enumerate(map(_cells, text.splitlines()), 1):
        if tuple(cells) == HEAD:
            is_below = True
        elif len(cells) != len(HEAD):
            is_below = False
        elif is_below and not re.fullmatch(r":?-+:?", cells[0]):
            metric, task, value, unit = cells
            yield Line(metric, task, _number(value, f"{path}:{number}"), unit)


def _cells(line: str) -> list[str]:
    line = line.strip()
    if line.startswith("|") and line.endswith("|"):
        return [cell.strip() for cell in line[1:-1].split("|")]
    return next(csv.reader([line]), [])


def _number(text: str, where: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    return _finite(value, where, text)


def _finite(value: Any, where: str, text: object = None) -> float:
    """The value if it is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ProfileError(f'{where}: Value: got "{value if text is None else text}", expected a number')
    return float(value)


# --- race.json ------------------------------------------------------------------------------------------------------


def _of_race(path: Path, text: str) -> Iterator[Line]:
    try:
        race = json.loads(text)
    except json.JSONDecodeError as error:
        raise ProfileError(f"{path}: not JSON: {error}") from error
    results = race.get("results", race) if isinstance(race, dict) else None
    if not isinstance(results, dict) or "op_metrics" not in results:
        return
    try:
        for line in (*_of_cluster(results), *(line for task in results["op_metrics"] for line in _of_task(task))):
            yield replace(line, value=_finite(line.value, f"{path}: {line.metric} {line.task}".rstrip()))
    except (AttributeError, KeyError, TypeError) as error:
        raise ProfileError(f"{path}: results: not as Rally 2.12 writes them: {error!r}") from error


def _of_cluster(results: Mapping[str, Any]) -> Iterator[Line]:
    for field in FIELDS:
        if (value := results.get(field.key)) is not None:
            yield Line(field.metric, "", value / field.divisor, field.unit)
        per_shard = results.get(f"{field.key}_per_shard") or {}
        for share in ("min", "median", "max"):
            if field.across and (value := per_shard.get(share)) is not None:
                yield Line(f"{share.capitalize()} {field.across}", "", value / field.divisor, field.unit)


def _of_task(task: Mapping[str, Any]) -> Iterator[Line]:
    name = str(task.get("task") or task["operation"])
    throughput = task.get("throughput") or {}
    for share in ("min", "mean", "median", "max"):
        if (value := throughput.get(share)) is not None:
            yield Line(f"{share.capitalize()} Throughput", name, value, str(throughput.get("unit", "ops/s")))
    for key, what in (("latency", "latency"), ("service_time", "service time")):
        for share, value in (task.get(key) or {}).items():
            if share not in ("mean", "unit"):
                percent = share.replace("_", ".").removesuffix(".0")
                yield Line(f"{percent}th percentile {what}", name, value, "ms")
    if (rate := task.get("error_rate")) is not None:
        yield Line("error rate", name, 100.0 * _finite(rate, name), "%")


# --- written --------------------------------------------------------------------------------------------------------


def csv_text(lines: Iterable[Line]) -> str:
    """The rows as `--report-format=csv` has them."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(HEAD)
    writer.writerows((line.metric, line.task, _text(line.value, 15), line.unit) for line in lines)
    return text.getvalue()


def markdown_text(lines: Iterable[Line]) -> str:
    """The rows as a Markdown table, numbers to six digits, as `--report-format=markdown` has them."""
    cells = [HEAD, *((line.metric, line.task, _text(line.value, 6), line.unit) for line in lines)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEAD))]
    rows = [_row(row, widths) for row in cells]
    rule = "|".join("-" * (width + 1) + ":" for width in widths)
    return "\n".join([rows[0], f"|{rule}|", *rows[1:], ""])


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return f"| {' | '.join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))} |"


def _text(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}g}"
