"""What clocks that differ do to end-to-end latency, which begins by a driver's clock and ends by the worker's."""

import math

from lab.analysis.figures.latency import percentile_curve_ms, percentiles_ms
from lab.analysis.text import clock_text, figure
from lab.records.drivers import Driver
from lab.records.run import Run, RunWarning, WarningKind

MOST_OF_LATENCY = 0.1
"""A latency is no figure if the clocks may have made more than this part of it."""
MOST_NAMED = 3


def clocks_error_ms(run: Run) -> float | None:
    """How far each end-to-end latency may be off for the clocks; 0 where one machine sent all; `None` if unknown.

    A driver whose clock is 300 ms ahead sends 300 ms before the schedule of the others, with the due times of the
    schedule. So each of its latencies is told 300 ms too short, and one below that, which would end before it began, is
    not counted by the sink at all. Where each value is off by at most so much, so is each percentile.
    """
    if not all(is_known(driver) for driver in run.drivers):
        return None
    return max((driver.clock.most_ms for driver in run.drivers if driver.clock), default=0.0)


def is_known(driver: Driver) -> bool:
    """Whether its clock was compared with the one that ends its latencies."""
    return driver.clock is not None and driver.clock_of == "worker"


def end_to_end_ms(run: Run) -> dict[str, float]:
    """Percentile name → ms from due time to acknowledged by Elasticsearch, without those that clocks may have made."""
    measured = percentiles_ms(run.sink_histograms.record_age)
    return {name: ms for name, ms in measured.items() if outlasts_clocks(run, ms)}


def end_to_end_curve_ms(run: Run) -> list[tuple[float, float]]:
    """The same as a curve: one record in n took longer than so many ms."""
    return [(n, ms) for n, ms in percentile_curve_ms(run.sink_histograms.record_age) if outlasts_clocks(run, ms)]


def outlasts_clocks(run: Run, latency_ms: float) -> bool:
    """Whether an end-to-end latency is long enough for the clocks of the run."""
    error_ms = clocks_error_ms(run)
    return error_ms is not None and error_ms <= MOST_OF_LATENCY * latency_ms


def clock_skew(run: Run) -> RunWarning | None:
    """Latencies that are left out since clocks may have made them; a driver that is ahead is named with by how much."""
    measured = percentiles_ms(run.sink_histograms.record_age)
    left_out = [name for name, ms in measured.items() if not outlasts_clocks(run, ms)]
    if not left_out:
        return None
    error_ms = clocks_error_ms(run)
    drivers = sorted(run.drivers, key=possible_ms, reverse=True)[:MOST_NAMED]
    names = ", ".join(name.replace("_", ".") for name in left_out)
    by = "an unknown time" if error_ms is None else f"up to {figure(error_ms, 'ms')}"
    return RunWarning(
        kind=WarningKind.CLOCK_SKEW,
        seen=f"end-to-end latencies may be off by {by} ({'; '.join(map(clock_of, drivers))}), so that {names} of them"
        f" are left out: a latency counts where the clocks make at most {MOST_OF_LATENCY:.0%} of it",
        likely_cause="each driver stamps the due time by its own clock, and the worker's clock ends the latency",
        remedy="synchronize the clocks of drivers and worker (chrony, PTP), and give the target file the worker's"
        " `metrics`, by which they are compared; delivery latencies are of one clock and hold",
    )


def possible_ms(driver: Driver) -> float:
    """How far its clock may be off; without end where nobody knows."""
    return driver.clock.most_ms if driver.clock and is_known(driver) else math.inf


def clock_of(driver: Driver) -> str:
    """A driver and its clock: `share 2 (load-2): 300 ± 2.1 ms ahead of the worker's clock`."""
    where = f" ({driver.host})" if driver.host else ""
    if driver.clock is None:
        return f"share {driver.share}{where}: its clock could not be compared"
    return f"share {driver.share}{where}: {clock_text(driver.clock)} the {driver.clock_of}'s clock"
