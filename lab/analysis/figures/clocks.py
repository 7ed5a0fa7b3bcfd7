"""Clock offsets in end-to-end latency, which begins by a driver's clock and ends by the worker's."""

import math

from hdrh.histogram import HdrHistogram

from lab.analysis.figures.latency import curve_of, decoded, is_known, percentiles_of, without
from lab.analysis.text import clock_text, figure
from lab.records.drivers import Driver
from lab.records.run import Run, RunWarning, WarningKind

MOST_OF_LATENCY = 0.1
"""A latency is no figure if the clocks may have made more than this part of it."""
MOST_NAMED = 3


def clocks_error_ms(run: Run) -> float | None:
    """Bound on the error of each end-to-end latency by the clocks; 0 where one machine sent all; `None` if unknown.

    A driver whose clock is 300 ms ahead sends 300 ms before the schedule of the others, with the due times of the
    schedule. So each of its latencies is told 300 ms too short, and one below that, which would end before it began, is
    not counted by the sink at all. Where each value is off by at most so much, so is each percentile.
    """
    if not all(is_compared(driver) for driver in run.drivers):
        return None
    return max((driver.clock.most_ms for driver in run.drivers if driver.clock), default=0.0)


def is_compared(driver: Driver) -> bool:
    """Check that a driver's clock was compared with the clock that ends its latencies."""
    return driver.clock is not None and driver.clock_of == "worker"


LEAST_BEYOND = 10
"""Records that must have taken longer than a percentile for it to be told: with fewer it is next to the maximum."""


def end_to_end(run: Run) -> HdrHistogram | None:
    """Due time → acknowledged by Elasticsearch in µs, of a stream without what was acknowledged in its warm-up.

    The start of the sink decides the p99 of a short stream. So one that was over within its warm-up has none,
    and neither has one in stages: what waited in the topic for the sink to start would be in it.
    """
    if run.course is not None:
        return None
    histograms = run.sink_histograms
    whole = decoded(histograms.record_age)
    if run.load != "stream":
        return whole
    return without(whole, decoded(histograms.warm_up_record_age)) if histograms.warm_up_s is not None else None


def end_to_end_ms(run: Run) -> dict[str, float]:
    """Percentile name → ms from due time to acknowledged by Elasticsearch, without those that clocks may have made.

    Of a percentile there are at least 10 records beyond.
    """
    return {name: ms for name, ms in _percentiles_ms(run).items() if outlasts_clocks(run, ms)}


def _percentiles_ms(run: Run) -> dict[str, float]:
    histogram = end_to_end(run)
    records = histogram.get_total_count() if histogram else 0
    return {name: ms for name, ms in percentiles_of(histogram).items() if is_known(name, records, LEAST_BEYOND)}


def end_to_end_curve_ms(run: Run) -> list[tuple[float, float]]:
    """Curve of latencies: one record in n took longer than so many ms."""
    return [(n, ms) for n, ms in curve_of(end_to_end(run), LEAST_BEYOND) if outlasts_clocks(run, ms)]


def outlasts_clocks(run: Run, latency_ms: float) -> bool:
    """Check that an end-to-end latency is long enough for the clocks of the run."""
    error_ms = clocks_error_ms(run)
    return error_ms is not None and error_ms <= MOST_OF_LATENCY * latency_ms


def clock_skew(run: Run) -> RunWarning | None:
    """Latencies that are left out since clocks may have made them; a driver that is ahead is named with by how much."""
    left_out = [name for name, ms in _percentiles_ms(run).items() if not outlasts_clocks(run, ms)]
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
    """Bound on the offset of a driver's clock; infinite where it is not known."""
    return driver.clock.most_ms if driver.clock and is_compared(driver) else math.inf


def clock_of(driver: Driver) -> str:
    """A driver and its clock: `share 2 (load-2): 300 ± 2.1 ms ahead of the worker's clock`."""
    where = f" ({driver.host})" if driver.host else ""
    if driver.clock is None:
        return f"share {driver.share}{where}: its clock could not be compared"
    return f"share {driver.share}{where}: {clock_text(driver.clock)} the {driver.clock_of}'s clock"
