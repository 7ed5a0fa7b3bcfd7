"""The figures of a suite by variant and block."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import exp, log
from statistics import fmean, geometric_mean, median

from lab.analysis.figures.definitions import BY_NAME, is_of_queries
from lab.analysis.figures.rates import sum_of_all
from lab.analysis.figures.scopes import ALL_NODES
from lab.analysis.statistics.means import plain_mean
from lab.analysis.suite.folder import SuiteRecords
from lab.records.result import Metric, Result
from lab.records.suite import MetricKey, SuitePlan, VariantMetric

PER_DOCUMENT = MetricKey(name="indexing_rate_docs_per_s", scope="primaries")
CPU_PER_DOCUMENT = MetricKey(name="cpu_s_per_million_docs", scope="elasticsearch")
PER_ENTITY = MetricKey(name="entities_per_s", scope="run")
PER_MB = MetricKey(name="source_mb_per_s", scope="run")
OF_THE_INDEX = frozenset({"store_size_bytes", "segments_count"})
RATES = frozenset({PER_DOCUMENT.name, PER_ENTITY.name, PER_MB.name, "consumed_rate_docs_per_s"})
LEAST_RISES = 6
MOST_RISE = log(1.03)
"""By which rates may still rise. At a time constant of 1.5 s it is 5 %, and twice the rate is told as 1.96 times; at
6 s it is 35 %, and that is told as 1.6 times: a drain of half the length is less warm on average."""


def compared_metrics(plan: SuitePlan) -> tuple[MetricKey, ...]:
    """Metrics to compare: those of the plan, and the rates in entities and bytes, which no choice of documents changes.

    Where it asks for figures of queries only, and of the index that they read, no document is counted.
    """
    of_queries_alone = all(is_of_queries(metric.name) or metric.name in OF_THE_INDEX for metric in plan.metrics)
    units = () if of_queries_alone else (PER_ENTITY, PER_MB)
    return (*plan.metrics, *(metric for metric in units if metric not in plan.metrics))


def primary_metrics(plan: SuitePlan) -> tuple[MetricKey, ...]:
    """The metric that matters most; where documents are indexed, both what they cost and what was reached."""
    first, of_both = plan.metrics[0], (CPU_PER_DOCUMENT, PER_DOCUMENT)
    if first not in of_both:
        return (first,)
    return (first, *(metric for metric in of_both if metric in plan.metrics and metric != first))


def by_variant(figures: Iterable[VariantMetric], metric: MetricKey) -> dict[str, VariantMetric]:
    """Each variant's figure of a metric."""
    return {figure.variant: figure for figure in figures if figure.key == metric.key}


def value_in(metrics: Sequence[Metric], wanted: MetricKey) -> float | None:
    """The value of a metric in one run; `None` where it was not measured.

    That of all nodes together, `elasticsearch`, is their sum; questions, whose names begin alike, have none.
    """
    by_scope = {metric.scope: metric.value for metric in metrics if metric.name == wanted.name}
    if wanted.scope in by_scope:
        return by_scope[wanted.scope]
    if wanted.scope != ALL_NODES.shown:
        return None
    return sum_of_all(value for scope, value in by_scope.items() if scope.startswith(f"{wanted.scope}-"))


def unit_of(results: Sequence[Result], wanted: MetricKey) -> str:
    """The unit of a metric: its definition's, or that of the runs; empty where neither knows it."""
    if wanted.name in BY_NAME:
        return BY_NAME[wanted.name].unit
    return next((metric.unit for result in results for metric in result.metrics if metric.name == wanted.name), "")


def figures(suite: SuiteRecords, *, rising: bool = True) -> tuple[VariantMetric, ...]:
    """Every compared metric of every variant that the plan runs, metric by metric.

    Args:
        rising: With rates that still rose. A search may choose by them, and a suite under way wait for more; what a
            suite says in the end has none of them.
    """
    without = RATES if not rising and rise(suite) else frozenset()
    return tuple(
        _figure(suite, variant.name, metric, is_known=metric.name not in without)
        for metric in compared_metrics(suite.plan)
        for variant in suite.plan.variants
        if variant.name not in suite.plan.skipped
    )


def rise(suite: SuiteRecords) -> float | None:
    """Ratio by which the rates of drains still rose after their warm-up; `None` where no rise is shown.

    Shown at 95 %, over all runs that count: one run's own rate tumbles by more.
    """
    rises = [log(run.result.rate_rise) for run in suite.counted.values() if run.result.rate_rise]
    if len(rises) < LEAST_RISES:
        return None
    mean = plain_mean(rises)
    low, _ = mean.interval() or (mean.mean, mean.mean)
    return exp(mean.mean) if low > MOST_RISE else None


def _figure(suite: SuiteRecords, variant: str, metric: MetricKey, *, is_known: bool) -> VariantMetric:
    """The figure of a variant; without any value where it is not known."""
    runs = suite.of_variant(variant) if is_known else []
    by_block: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        if (value := value_in(run.result.metrics, metric)) is not None:
            by_block[run.run.block].append(value)
    values = tuple(mean_of(by_block[block]) for block in range(1, len(suite.plan.order) + 1))
    known = [value for value in values if value is not None]
    return VariantMetric(
        variant=variant,
        name=metric.name,
        scope=metric.scope,
        unit=unit_of([run.result for run in runs], metric),
        values=values,
        median=median(known) if known else None,
        low=min(known, default=None),
        high=max(known, default=None),
        by_run={str(run.run.folder): value_in(run.result.metrics, metric) for run in runs},
    )


def mean_of(values: Sequence[float]) -> float | None:
    """The mean that ratios are taken of: the geometric one, where all values are above zero; `None` without any.

    Of equal values it is that value, to the last bit: a size on disk that differs from itself would be a difference.
    """
    if len(set(values)) < 2:
        return values[0] if values else None
    return geometric_mean(values) if min(values) > 0 else fmean(values)


def documents_per_entity(suite: SuiteRecords, variant: str) -> float | None:
    """Documents that describe one entity, such as a book; `None` where the runs do not say.

    One document model may need several documents for what another one holds in one.
    """
    ratios = []
    for run in suite.of_variant(variant):
        documents = value_in(run.result.metrics, PER_DOCUMENT)
        entities = value_in(run.result.metrics, PER_ENTITY)
        if documents and entities:
            ratios.append(documents / entities)
    return median(ratios) if ratios else None
