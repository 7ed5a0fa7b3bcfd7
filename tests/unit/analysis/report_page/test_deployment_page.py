"""What is told of a deployment: its figures, and the section of the report."""

from pathlib import Path

from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.deployment import copy_rate_series
from lab.analysis.report_page.deployment import indices
from lab.analysis.report_page.report import write_report
from lab.analysis.result import analyse
from tests.unit.analysis.deployment_truth import INDEX, TO, deployed_run, deployment
from tests.unit.analysis.report_page.test_report import Page
from tests.unit.analysis.synthetic import Truth, samples, written


def test_the_figures_are_those_of_the_recoveries(tmp_path: Path) -> None:
    """For the run and for its one index alike; throttle times of both ends add up."""
    result = analyse(written(tmp_path, deployed_run(), samples(Truth()))).result
    for scope in ("run", INDEX):
        figures = {
            name: value_of(result.metrics, f"deployment_{name}", scope)
            for name in ("s", "bytes", "bytes_per_s", "bytes_from_index_node", "throttle_s")
        }
        assert figures == {
            "s": 8.0,
            "bytes": 62_000_000,
            "bytes_per_s": 7_750_000.0,
            "bytes_from_index_node": 31_000_000,
            "throttle_s": 6.0,
        }
    for when in ("before", "while", "after"):
        assert value_of(result.metrics, "query_service_time_ms_p50", when) is not None


def test_what_a_node_used_stands_beside(tmp_path: Path) -> None:
    """Its CPU time is a figure; bytes that only the owner of a process may know are not known."""
    analysis = analyse(written(tmp_path, deployed_run(), samples(Truth())))
    assert value_of(analysis.result.metrics, "deployment_cpu_s", "elasticsearch-1") == 3.25
    html = write_report(analysis).read_text("utf-8")
    assert "5.50\u202fCPU-s" in html
    assert "31\u202fMB" in html


def test_bytes_per_second_are_those_between_two_readings() -> None:
    """The first one counts from the request."""
    assert [point.value for point in copy_rate_series(deployment())] == [7_000_000.0, 8_000_000.0]


def test_the_page_says_who_copied_from_whom(tmp_path: Path) -> None:
    """It is whole, and fetches nothing."""
    html = write_report(analyse(written(tmp_path, deployed_run(), samples(Truth())))).read_text("utf-8")
    shown = Page(html)
    assert (shown.open, shown.fetched) == ([], [])
    assert "at most, as seen" in html
    assert "elasticsearch-2, elasticsearch-3" in html
    assert all(f"<td>{source}</td>" in html for source in ("elasticsearch-1", *TO))
    assert "seconds since the deployment was asked for" in html


def test_several_indices_have_a_row_of_all_of_them(tmp_path: Path) -> None:
    """Whose time is that of the deployment, and whose bytes are its own."""
    result = analyse(written(tmp_path, deployed_run(), samples(Truth()))).result
    made = deployment()
    one = made.indices[0].model_copy(update={"seconds": 5.0})
    *rows, whole = indices(made.model_copy(update={"indices": (one, one)}), result)

    assert [row[2] for row in rows] == ["5\u202fs", "5\u202fs"]
    assert whole[:5] == ("all of them", "", "8\u202fs", "62\u202fMB", "7.75\u202fMB/s")
    assert len(indices(made, result)) == 1
