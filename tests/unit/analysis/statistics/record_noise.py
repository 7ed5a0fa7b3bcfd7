"""Records how runs of real suites scatter: `python -m tests.unit.analysis.statistics.record_noise METRIC/SCOPE SUITE…`.

What it prints is kept in `recorded_noise.json`: of each suite, in the order of its runs, how far the logarithm of each
run's figure lies from the mean of its variant. Each variant has lost a degree of freedom to its mean, which is given
back. The first block is left out: servers that still warm up are a drift, which neighbours share, and no noise.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import orjson

from lab.analysis.suite.figures import value_in
from lab.analysis.suite.folder import read_suite
from lab.records.suite import MetricKey

LEAST_RUNS = 3


def residuals(folder: Path, metric: MetricKey) -> list[float]:
    """Of the runs of a suite that count, in the order in which they began."""
    suite = read_suite(folder)
    again, control = suite.plan.repetition, suite.plan.control
    values = []
    for run in sorted(suite.counted.values(), key=lambda run: run.run.started_s):
        value = value_in(run.result.metrics, metric)
        if value and run.run.block > 1:
            values.append((control if run.run.variant == again else run.run.variant, math.log(value)))
    by_variant: dict[str, list[float]] = defaultdict(list)
    for variant, value in values:
        by_variant[variant].append(value)
    return [
        round((value - fmean(own)) * math.sqrt(len(own) / (len(own) - 1)), 5)
        for variant, value in values
        if len(own := by_variant[variant]) >= LEAST_RUNS
    ]


def main(arguments: Sequence[str]) -> None:
    """Print the record."""
    name, _, scope = arguments[0].partition("/")
    series = [residuals(Path(folder), MetricKey(name=name, scope=scope)) for folder in arguments[1:]]
    sys.stdout.write(orjson.dumps({"metric": arguments[0], "suites": series}).decode() + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
