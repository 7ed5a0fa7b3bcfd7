"""What a chart tells its reader beside its lines."""

import subprocess
import sys

import pytest

from lab.analysis.figures.windows import windows
from lab.analysis.page.charts import charts
from tests.unit.analysis.synthetic import Truth, run, samples


@pytest.mark.parametrize(("replicas", "is_told"), [(0, False), (1, True)])
def test_kibana_may_count_replicas_as_primaries_and_the_reader_is_told(replicas: int, is_told: bool) -> None:  # noqa: FBT001
    """Where the two lines differ; here a replica costs as much time per document, so that the latency is one line."""
    truth = Truth(replicas=replicas)
    readings = {chart.title: chart.reading for chart in charts(run(truth), windows(samples(truth)))}
    readers = {title: "counts replicas among the primaries" in reading for title, reading in readings.items()}
    assert readers == {title: is_told and title == "Indexing rate" for title in readings}


def test_a_command_that_draws_nothing_does_not_wait_for_what_draws() -> None:
    """Altair, Vega and Jinja2 take half a second to import, which every `run --help` would wait for."""
    script = "import sys, lab.cli.run, lab.cli.compare; print({'altair', 'vl_convert', 'jinja2'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "set()\n"
