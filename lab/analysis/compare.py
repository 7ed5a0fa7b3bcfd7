"""Lays two runs, or two series of runs, beside each other, as far as they can be compared at all."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from statistics import fmean

from lab.analysis.inputs import PER_DOCUMENT, differences, inputs, together, tried
from lab.analysis.result import RunAnalysis
from lab.analysis.statistics.bootstrap import difference_interval
from lab.analysis.statistics.effects import LEAST_BLOCKS, verdict
from lab.analysis.text import count
from lab.records import Metric
from lab.records.suite import Verdict

COUNTED_UNITS = {"docs", "docs/s", "records", "requests", "CPU-s"}
COUNTED_NAMES = ("latency_ms", "service_time_ms", "bulk_size")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: a run, or all runs of a variant that count.

    Attributes:
        metrics: Of each run.
    """

    label: str
    inputs: dict[str, str]
    tried: dict[str, str]
    metrics: tuple[tuple[Metric, ...], ...]

    def values(self, name: str, scope: str) -> list[float]:
        """The values of a metric that are known, by run."""
        return [
            found.value
            for metrics in self.metrics
            for found in metrics
            if (found.name, found.scope) == (name, scope) and found.value is not None
        ]


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of both sides.

    Attributes:
        first, second: Geometric mean of the runs' values, the arithmetic one where some are zero; `None`: not known.
        ratio: second / first; `None` where the two must not be compared, or one of them is not above zero.
        low, high, verdict: With at least 3 runs on either side; at 95 %, each metric by itself.
        differing: The inputs that this metric depends on and that are not the same.
    """

    name: str
    scope: str
    unit: str
    first: float | None
    second: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = "too few runs"
    differing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides beside each other.

    Attributes:
        differing: Inputs that ought to be the same and are not, with both values.
        compared: Settings that differ: what a difference may come from.
    """

    first: Side
    second: Side
    differing: dict[str, tuple[str, str]]
    compared: dict[str, tuple[str, str]]
    rows: tuple[Row, ...]

    @property
    def has_spread(self) -> bool:
        """Whether there are runs enough on both sides for a verdict."""
        return min(len(self.first.metrics), len(self.second.metrics)) >= LEAST_BLOCKS

    @property
    def comparable(self) -> int:
        """Rows that have a ratio."""
        return sum(row.ratio is not None for row in self.rows)


def side(label: str, runs: Sequence[RunAnalysis]) -> Side:
    """One side, made from its runs."""
    return Side(
        label=label,
        inputs=together(inputs(run.folder) for run in runs),
        tried=together(tried(run.folder) for run in runs),
        metrics=tuple(run.result.metrics for run in runs),
    )


def compare(first: Side, second: Side, *, vary: Collection[str] = (), force: bool = False) -> Comparison:
    """The two beside each other; a row whose inputs differ has no ratio.

    Args:
        vary: Inputs that differ on purpose, such as `version.elasticsearch`.
        force: Give rows whose inputs differ a ratio all the same, but never a verdict.
    """
    differing = {name: pair for name, pair in differences(first.inputs, second.inputs).items() if name not in vary}
    named = {
        (metric.name, metric.scope): metric.unit for metrics in (*first.metrics, *second.metrics) for metric in metrics
    }
    rows = tuple(_row(first, second, key, unit, differing, force=force) for key, unit in named.items())
    return Comparison(first, second, differing, differences(first.tried, second.tried), rows)


def depends_on(metric: str, unit: str, name: str) -> bool:
    """Whether a metric depends on an input: one that counts documents on all, any other not on their shape."""
    if name not in PER_DOCUMENT:
        return True
    return unit in COUNTED_UNITS or any(part in metric for part in COUNTED_NAMES)


def told(name: str, pair: tuple[str, str]) -> str:
    """An input that differs, as a reader sees it: `documents: 100 000 and 400 000`."""
    first, second = (count(int(value)) if value.isdigit() and len(value) > 4 else value for value in pair)
    return f"{name}: {first} and {second}"


def _row(
    first: Side,
    second: Side,
    key: tuple[str, str],
    unit: str,
    differing: dict[str, tuple[str, str]],
    *,
    force: bool,
) -> Row:
    name, scope = key
    flagged = tuple(other for other in differing if depends_on(name, unit, other))
    values = [side.values(name, scope) for side in (first, second)]
    logs = [[log(value) for value in seen] for seen in values if seen and min(seen) > 0]
    both = len(logs) == 2
    middles = [exp(fmean(found)) for found in logs] if both else [fmean(seen) if seen else None for seen in values]
    bare = Row(name=name, scope=scope, unit=unit, first=middles[0], second=middles[1], differing=flagged)
    if not both or (flagged and not force):
        return bare
    found = difference_interval(logs[1], logs[0])
    if flagged or min(map(len, logs)) < LEAST_BLOCKS:
        return replace(bare, ratio=exp(found.mean))
    return replace(
        bare,
        ratio=exp(found.mean),
        low=None if found.low is None else exp(found.low),
        high=None if found.high is None else exp(found.high),
        verdict=verdict(name, found.mean, found.low, found.high),
    )
