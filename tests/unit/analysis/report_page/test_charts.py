"""What a chart tells its reader beside its lines."""

import subprocess
import sys

import pytest

from lab.analysis.figures.windows import windows
from lab.analysis.report_page.charts import charts
from tests.unit.analysis.synthetic import Truth, run, samples


@pytest.mark.parametrize(("replicas", "is_told"), [(0, False), (1, True)])
def test_kibana_may_count_replicas_as_primaries_and_the_reader_is_told(replicas: int, is_told: bool) -> None:  # noqa: FBT001
    """Where the two lines differ; here a replica costs as much time per document, so that the latency is one line."""
    truth = Truth(replicas=replicas)
    notes = {chart.title: chart.note for chart in charts(run(truth), windows(samples(truth)))}
    readers = {title: "counts replicas among the primaries" in note for title, note in notes.items()}
    assert readers == {title: is_told and title == "Indexing rate" for title in notes}


def test_a_chart_holds_the_values_that_a_pointer_shows() -> None:
    """Of each line at each sample within the axis, with the unit; what is unknown has no point."""
    truth = Truth()
    (chart,) = (chart for chart in charts(run(truth), windows(samples(truth))) if chart.title == "Indexing rate")
    assert chart.readings is not None
    (line,) = chart.readings.series.values()
    assert (chart.readings.unit, chart.readings.x_unit) == ("documents/s", " s")
    assert {y for _, y in line} == {0.0, truth.docs_per_tick}
    assert all(chart.readings.first <= x <= chart.readings.last for x, _ in line)


def test_cores_of_the_producers_are_not_drawn_as_those_of_other_programs() -> None:
    """They are not sampled, and the metric of other programs, which stands below the chart, has none of them."""
    stream = Truth(load="stream", rate_docs_per_s=5003.0)
    (drawn,) = (chart for chart in charts(run(stream), windows(samples(stream))) if chart.title == "CPU by process")
    assert list(drawn.colours) == ["elasticsearch-1", "connect", "kafka", "everything else"]


def test_a_drain_draws_its_progress_and_a_stream_its_lag() -> None:
    """The lag of a drain is the rest of its progress, and its end to end is the time in a topic filled beforehand."""
    drawn = {}
    for truth in (Truth(), Truth(load="stream", rate_docs_per_s=5003.0)):
        made = charts(run(truth), windows(samples(truth)))
        curves = next(chart for chart in made if chart.title == "Latency percentiles").colours
        drawn[truth.load] = ({chart.title for chart in made} & {"Progress", "Lag"}, list(curves))
    assert drawn == {
        "drain": ({"Progress"}, ["bulk service time"]),
        "stream": ({"Lag"}, ["end to end", "bulk service time"]),
    }


def test_a_command_that_draws_nothing_does_not_wait_for_what_draws() -> None:
    """Altair, Vega and Jinja2 take half a second to import, which every `run --help` would wait for."""
    script = "import sys, lab.cli.run, lab.cli.compare; print({'altair', 'vl_convert', 'jinja2'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "set()\n"
