"""A run as CSV."""

import csv
from pathlib import Path

from lab.analysis.result import analyse, write_csv
from tests.unit.analysis.synthetic import Truth, run, samples, written


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a file, by their head."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_figures_and_samples_lie_in_the_folder_of_the_run(tmp_path: Path) -> None:
    """Every metric, unrounded, and a row for each tick with a column for each counter."""
    analysis = analyse(written(tmp_path, run(Truth()), samples(Truth())))
    figures, ticks = map(rows_of, write_csv(analysis))
    assert {(row["metric"], row["scope"]): row["value"] for row in figures} == {
        (metric.name, metric.scope): "" if metric.value is None else str(metric.value)
        for metric in analysis.result.metrics
    }
    assert [float(row["at_s"]) for row in ticks] == [sample.at_s for sample in analysis.folder.samples]
    assert {"phase", "machine_cpu_percent"} <= ticks[0].keys()
    totals = [name for name in ticks[-1] if name.endswith("index_total")]
    assert totals
    assert float(ticks[-1][totals[0]]) > 0
