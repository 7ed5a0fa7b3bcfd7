"""The figures of a suite by variant and block."""

from collections.abc import Sequence
from statistics import median

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.suite.folder import SuiteFolder
from lab.records import Metric, Result
from lab.records.suite import MetricAsked, SuitePlan, VariantMetric

PER_DOCUMENT = MetricAsked(name="indexing_rate_docs_per_s", scope="primaries")
PER_ENTITY = MetricAsked(name="entities_per_s", scope="run")
PER_MB = MetricAsked(name="source_mb_per_s", scope="run")


def compared_metrics(plan: SuitePlan) -> tuple[MetricAsked, ...]:
    """What is compared: what the plan asks for, and the units that do not depend on what counts as a document."""
    return (*plan.metrics, *(metric for metric in (PER_ENTITY, PER_MB) if metric not in plan.metrics))


def value_asked(metrics: Sequence[Metric], asked: MetricAsked) -> float | None:
    """The value of a metric in one run; `None` where it was not measured.

    A scope such as `elasticsearch` that no process has is the sum over all that are called `elasticsearch-…`.
    """
    named = {metric.scope: metric.value for metric in metrics if metric.name == asked.name}
    if asked.scope in named:
        return named[asked.scope]
    parts = [value for scope, value in named.items() if scope.startswith(f"{asked.scope}-")]
    known = [part for part in parts if part is not None]
    return sum(known) if parts and len(known) == len(parts) else None


def unit_of(results: Sequence[Result], asked: MetricAsked) -> str:
    """The unit of a metric: its definition's, or that of the runs; empty where neither knows it."""
    if asked.name in BY_NAME:
        return BY_NAME[asked.name].unit
    return next((metric.unit for result in results for metric in result.metrics if metric.name == asked.name), "")


def figures(folder: SuiteFolder) -> tuple[VariantMetric, ...]:
    """Every compared metric of every variant that the plan runs, metric by metric."""
    return tuple(
        figure(folder, variant.name, asked)
        for asked in compared_metrics(folder.plan)
        for variant in folder.plan.variants
        if variant.name not in folder.plan.skipped
    )


def figure(folder: SuiteFolder, variant: str, asked: MetricAsked) -> VariantMetric:
    """One metric of one variant over all blocks."""
    values = tuple(_value(folder, block, variant, asked) for block in range(1, folder.plan.repeats + 1))
    known = [value for value in values if value is not None]
    return VariantMetric(
        variant=variant,
        name=asked.name,
        scope=asked.scope,
        unit=unit_of([counted.result for counted in folder.of_variant(variant)], asked),
        values=values,
        median=median(known) if known else None,
        low=min(known, default=None),
        high=max(known, default=None),
    )


def _value(folder: SuiteFolder, block: int, variant: str, asked: MetricAsked) -> float | None:
    counted = folder.counted.get((block, variant))
    return value_asked(counted.result.metrics, asked) if counted else None
