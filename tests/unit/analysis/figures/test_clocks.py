"""End-to-end latency of a stream whose drivers' clocks differ from the worker's."""

from pathlib import Path
from typing import Literal

import pytest

from lab.analysis.figures.definitions import value_of
from lab.analysis.report_page.report import write_report
from lab.analysis.result import analyse
from lab.records.drivers import ClockOffset, Driver
from lab.records.result import Result
from lab.records.run import Run, SinkHistograms, WarningKind
from tests.unit.analysis.synthetic import Truth, elsewhere, encoded, written
from tests.unit.messages import MakeMessage

STREAM = Truth(load="stream", rate_docs_per_s=5003.0, lag_records=11)
AGES_MS = (*[40.0] * 890, *[400.0] * 105, *[5000.0] * 5)
"""p50 is 40 ms, p90 and p99 are 400, p99.9 and the longest 5,000."""
TIMES = 11
"""Each of them, so that 10 records or more are beyond each percentile."""


def driver(
    share: int, ahead_ms: float | None, bound_ms: float = 2.0, clock_of: Literal["worker", "broker"] = "worker"
) -> Driver:
    """A driver with this clock; `None` for one that could not be compared."""
    return Driver(
        share=share,
        host=f"load-{share}",
        delivered=57_531 + share,
        late_documents=3,
        latency_ms={"p50": 2.5, "p99": 17.0},
        cpu_s=1.5,
        clock=None if ahead_ms is None else ClockOffset(ahead_ms=ahead_ms, bound_ms=bound_ms),
        clock_of=clock_of,
    )


def streamed(*drivers: Driver, ages_ms: tuple[float, ...] = AGES_MS) -> Run:
    """A stream that these have sent."""
    made, _ = elsewhere(STREAM)
    ages = encoded(ages_ms, TIMES) if ages_ms else None
    histograms = SinkHistograms(record_age=ages, bulk_service_time=None, warm_up_record_age=encoded(()), warm_up_s=5.0)
    return made.model_copy(update={"drivers": drivers, "sink_histograms": histograms})


def result(folder: Path, run: Run) -> Result:
    """What comes of it."""
    return analyse(written(folder, run, elsewhere(STREAM)[1])).result


def latencies_ms(made: Result) -> list[int | None]:
    """The end-to-end latencies of a result, from the median to the longest."""
    values = [value_of(made.metrics, f"end_to_end_latency_ms_{name}") for name in ("p50", "p90", "p99", "p99_9", "max")]
    return [None if value is None else round(value, -1) for value in values]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("drivers", "known"),
    [
        ((), [40, 400, 400, 5000, 5000]),
        ((driver(1, 0.5), driver(2, -1.5)), [40, 400, 400, 5000, 5000]),
        ((driver(1, 0.5), driver(2, 20.0)), [None, 400, 400, 5000, 5000]),
        ((driver(1, 0.5), driver(2, -300.0)), [None, None, None, 5000, 5000]),
        ((driver(1, 0.5), driver(2, 0.0, bound_ms=300.0)), [None, None, None, 5000, 5000]),
        ((driver(1, 0.5), driver(2, None)), [None, None, None, None, None]),
        ((driver(1, 0.5), driver(2, 0.5, clock_of="broker")), [None, None, None, None, None]),
    ],
    ids=["one machine", "alike", "20 ms ahead", "300 ms behind", "vague", "not compared", "not with the worker"],
)
def test_a_latency_that_clocks_may_have_made_is_no_figure(
    tmp_path: Path, drivers: tuple[Driver, ...], known: list[int | None]
) -> None:
    """One counts if the worst clock, at the far end of its bound, makes at most a tenth of it."""
    made = result(tmp_path, streamed(*drivers))
    assert latencies_ms(made) == known
    warned = WarningKind.CLOCK_SKEW in {warning.kind for warning in made.warnings}
    assert warned == (None in known)


def test_the_warning_names_the_driver_that_is_ahead(tmp_path: Path, message: MakeMessage) -> None:
    """First, and by how much."""
    made = result(tmp_path, streamed(driver(1, 0.5), driver(2, 300.0)))
    (warning,) = [warning for warning in made.warnings if warning.kind is WarningKind.CLOCK_SKEW]
    assert warning.seen.replace("\u202f", " ") == message(
        302, 2, "load-2", 300, 1, "load-1", "2.50", "p50", "p90", "p99", 10
    )


def test_the_warning_says_whose_clock_could_not_be_compared(tmp_path: Path, message: MakeMessage) -> None:
    """Rather than nothing of it."""
    made = result(tmp_path, streamed(driver(1, 300.0), driver(2, None)))
    (warning,) = [warning for warning in made.warnings if warning.kind is WarningKind.CLOCK_SKEW]
    assert warning.seen == message("unknown", "share 2 (load-2)", "share 1")


def test_a_run_without_latencies_warns_of_no_clock(tmp_path: Path) -> None:
    """Where the worker has no metrics agent, nothing is left out."""
    made = result(tmp_path, streamed(driver(1, 300.0, clock_of="broker"), ages_ms=()))
    assert WarningKind.CLOCK_SKEW not in {warning.kind for warning in made.warnings}
    assert latencies_ms(made) == [None] * 5


def test_the_report_shows_each_driver_with_its_clock(tmp_path: Path) -> None:
    """What it delivered, how late, and how fast Kafka acknowledged it; the curve begins where the clocks end."""
    folder = written(tmp_path, streamed(driver(1, 0.5), driver(2, 300.0)), elsewhere(STREAM)[1])
    page = write_report(analyse(folder)).read_text("utf-8").replace("\u202f", " ")
    assert "<h2>Drivers</h2>" in page
    for text in ("1/2", "load-2", "300 ± 2 ms ahead of the worker&#39;s", "within 2.50 ms of", "57,533"):
        assert text in page


def test_a_run_of_one_machine_has_no_section_of_drivers(tmp_path: Path) -> None:
    """There is nothing to say."""
    page = write_report(analyse(written(tmp_path, streamed(), elsewhere(STREAM)[1]))).read_text("utf-8")
    assert "<h2>Drivers</h2>" not in page
