"""Makes the table of docs/pipelines.md: `python3 tools/pipelines_table.py runs/suites/pipelines/ID`."""

import csv
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

LOAD = re.compile(r" (at 70 %|after a spike|after a pause)( \(again\))?$")
"""What a variant's name says beside its pipeline; a drain says nothing."""

COLUMNS: Sequence[tuple[str, str, str, float, str]] = (
    ("rate", "", "indexing_rate_docs_per_s/primaries", 1, "{:,.0f}/s"),
    ("CPU, pipeline", "", "cpu_s_per_million_docs/PIPELINE", 1, "{:,.0f}"),
    ("CPU, Kafka", "", "cpu_s_per_million_docs/kafka", 1, "{:,.0f}"),
    ("CPU, Elasticsearch", "", "cpu_s_per_million_docs/elasticsearch", 1, "{:,.0f}"),
    ("memory", "", "rss_bytes_max/PIPELINE", 1e-6, "{:,.0f} MB"),
    ("limit", "at 70 %", "limit_docs_per_s/run", 1, "{:,.0f}/s"),
    ("delay p50", "at 70 %", "index_delay_ms_p50/run", 1, "{:,.0f} ms"),
    ("delay p99", "at 70 %", "index_delay_ms_p99/run", 1, "{:,.0f} ms"),
    ("caught up, spike", "after a spike", "catch_up_s/run", 1, "{:,.1f} s"),
    ("caught up, pause", "after a pause", "catch_up_s/run", 1, "{:,.1f} s"),
)
"""Heading, load, metric, factor and form of each column."""

Values = Mapping[tuple[str, str, str], Sequence[float]]


def split(variant: str) -> tuple[str, str]:
    """Pipeline and load of a variant's name."""
    found = LOAD.search(variant)
    return (variant[: found.start()], found.group(1)) if found else (variant.removesuffix(" (again)"), "")


def read(rows: Sequence[Mapping[str, str]]) -> tuple[Values, Counter[str]]:
    """Values of the runs that count, by pipeline, load and metric; and variants' runs that were not verified."""
    values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    failed = {(row["variant"], row["folder"]) for row in rows if row["status"] != "verified"}
    for row in rows:
        if row["counted"] == "true" and row["value"]:
            pipeline, load = split(row["variant"])
            values[pipeline, load, f"{row['metric']}/{row['scope']}"].append(float(row["value"]))
    return values, Counter(variant for variant, _ in failed)


def cell(values: Values, pipeline: str, column: tuple[str, str, str, float, str]) -> str:
    """Median of the runs of a pipeline, and how many there are."""
    _, load, metric, factor, form = column
    for scope in ("sink", "connect"):
        if found := values.get((pipeline, load, metric.replace("PIPELINE", scope))):
            return f"{form.format(median(found) * factor)} ({len(found)})"
    return "–"


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """Markdown; a note for each variant with runs that were not verified."""
    values, failed = read(rows)
    pipelines = dict.fromkeys(split(row["variant"])[0] for row in rows)
    lines = [
        ["pipeline", *(heading for heading, *_ in COLUMNS)],
        ["---"] * (len(COLUMNS) + 1),
        *([pipeline, *(cell(values, pipeline, column) for column in COLUMNS)] for pipeline in pipelines),
    ]
    notes = [
        f"{variant}: {runs} {'run was' if runs == 1 else 'runs were'} not verified"
        for variant, runs in sorted(failed.items())
    ]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n".join(
        [text, "", "Medians of the verified runs (how many). CPU in CPU seconds per million documents.", *notes]
    )


if __name__ == "__main__":
    with (Path(sys.argv[1]) / "suite.csv").open(encoding="utf-8", newline="") as file:
        sys.stdout.write(table(list(csv.DictReader(file))) + "\n")
