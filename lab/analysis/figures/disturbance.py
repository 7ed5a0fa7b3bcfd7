"""Disturbance of a run: cores' time lost under its load, and the bound on it."""

from collections.abc import Mapping, Sequence
from statistics import median

from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.rates import mean_over_time
from lab.analysis.text import number
from lab.records.result import Result
from lab.records.samples import Sample

MOST_STEAL_PERCENT = 10.0
"""A run that needs all cores loses as large a part of its rate as of its cores. The rates of runs of one profile had a
standard deviation of 6 to 9 % on 2 cores before this was measured, which repeats average; more than that stands out."""

MOST_OTHER_CPU_PERCENT = 10.0
"""As of stolen time: a core that another program has is lost in the same way."""


def disturbance(result: Result) -> str | None:
    """Clause on time that other machines or programs took from a run; `None` if within bounds or unknown.

    The rule looks at nothing that the run is to find out, so whoever repeats such a run does not choose among results.
    Even so a variant that leaves cores idle loses less to a hypervisor, and is rarer among those that are repeated.
    """
    steal, others = (
        value_of(result.metrics, f"{name}_mean") for name in ("machine_steal_percent", "other_cpu_percent")
    )
    return losses(steal, others, in_window=result.measured_window is not None)


def losses(steal_percent: float | None, other_cpu_percent: float | None, *, in_window: bool) -> str | None:
    """Clause on shares of the usable cores' time above their bounds; `None` if none is.

    Args:
        in_window: They are shares of the measured window's time, not of a load that has none.
    """
    takers = (
        ("the hypervisor", steal_percent, MOST_STEAL_PERCENT),
        ("other programs", other_cpu_percent, MOST_OTHER_CPU_PERCENT),
    )
    above = {who: percent for who, percent, most in takers if percent is not None and percent > most}
    return taken_text(above, in_window=in_window)


def taken_text(percents: Mapping[str, float], *, in_window: bool) -> str | None:
    """Clause on the shares of the usable cores' time that these took; `None` without any."""
    shares = " and ".join(f"{who} took {number(percent)} %" for who, percent in percents.items())
    span = "in the measured window" if in_window else "during the load"
    return f"{shares} of the cores' time {span}" if shares else None


def machine_cpu_percent(samples: Sequence[Sample]) -> float | None:
    """Busy share of the usable cores, on average."""
    return mean_over_time(samples, lambda sample: sample.machine_cpu_percent)


def machine_steal_percent(samples: Sequence[Sample]) -> float | None:
    """Share of the usable cores' time that the hypervisor took, on average."""
    return mean_over_time(samples, lambda sample: sample.machine_steal_percent)


def other_cpu_percent(samples: Sequence[Sample]) -> float | None:
    """Share of the usable cores' time that programs took which are not the run's, on average.

    A sample's may be a little below 0; what is left of that in the mean is no use at all.
    """
    others = mean_over_time(samples, lambda sample: sample.other_cpu_percent)
    return None if others is None else max(0.0, others)


def probe_slowdown(run: Sequence[Sample], measured: Sequence[Sample]) -> float | None:
    """Slowdown of a fixed piece of work: median wall time ÷ least CPU time.

    At 1 each probe had a core at once, and a fast one. What makes it more: waiting for a core, be it for the run's own
    servers, for other programs or for the hypervisor; and cores that are slower than the run has seen them, by clock
    rate, caches or a busy sibling, which no other figure tells.

    Args:
        run: All samples, among which the fastest probe is looked for.
        measured: Those that the median is of.
    """
    fastest_ms = min((sample.probe_cpu_ms for sample in run if sample.probe_cpu_ms), default=None)
    walls_ms = [sample.probe_wall_ms for sample in measured if sample.probe_wall_ms is not None]
    return median(walls_ms) / fastest_ms if fastest_ms and walls_ms else None
