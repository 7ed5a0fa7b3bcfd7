"""Effects as a test needs them, whatever runs they might come from."""

from collections.abc import Sequence

from lab.records.suite import Effect, MetricKey, SuitePlan, SuiteResult, VariantMetric, Verdict

Interval = tuple[float, float, float]
"""Low end, ratio, high end."""


def an_effect(
    variant: str,
    metric: MetricKey,
    interval: Interval,
    verdict: Verdict,
    *,
    against: str = "control",
    ratios: Sequence[float] = (),
) -> Effect:
    """What a variant does to a metric; five equal ratios where none are given."""
    low, ratio, high = interval
    return Effect(
        variant=variant,
        against=against,
        metric=metric.name,
        scope=metric.scope,
        ratios=tuple(ratios) or (ratio,) * 5,
        dropped_blocks=0,
        ratio=ratio,
        low=low,
        high=high,
        verdict=verdict,
        smallest_detectable=0.02,
    )


def a_result(plan: SuitePlan, effects: Sequence[Effect], figures: Sequence[VariantMetric] = ()) -> SuiteResult:
    """A suite of these effects and figures, without runs."""
    return SuiteResult(
        plan=plan,
        ended_s=None,
        wall_time_s=None,
        complete=True,
        runs=(),
        figures=tuple(figures),
        effects=tuple(effects),
    )
