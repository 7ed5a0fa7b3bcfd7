"""The charts of a run under way: the report's marks over rows that a browser gets sample by sample."""

import json
from typing import Any

import pytest
import vl_convert

from lab.analysis.page.drawing import BLUE, GREY, ORANGE
from lab.analysis.page.live import live_charts
from lab.page.points import points_of
from tests.unit.analysis.synthetic import START_S, Truth, samples, varied

PROCESSES = ("connect", "elasticsearch-1", "kafka", "other programs")


def charts(**changes: bool) -> dict[str, Any]:
    """The charts of a stream with replicas."""
    chosen = {"has_replicas": True, "via_kafka": True, "is_stream": True, **changes}
    return live_charts(PROCESSES, 2, zero_s=START_S, **chosen)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["cpu", "end_to_end_latency", "indexing_latency", "indexing_rate", "lag"]),
        ({"is_stream": False}, ["cpu", "indexing_latency", "indexing_rate", "lag"]),
        ({"is_stream": False, "via_kafka": False}, ["cpu", "indexing_latency", "indexing_rate"]),
    ],
)
def test_a_run_has_the_charts_of_its_load(changes: dict[str, bool], names: list[str]) -> None:
    """A drain's latency end to end is the time in a topic that was filled beforehand."""
    assert sorted(charts(**changes)) == names


def test_total_is_drawn_only_where_it_is_another_line() -> None:
    """Without replicas it would hide the primaries."""
    assert charts()["indexing_rate"]["usermeta"]["colours"] == {"primaries": BLUE, "total": ORANGE}
    assert charts(has_replicas=False)["indexing_rate"]["usermeta"]["colours"] == {"primaries": BLUE}


def test_processes_have_the_colours_of_the_report() -> None:
    """What is nobody's is grey."""
    colours = charts()["cpu"]["usermeta"]["colours"]
    assert list(colours) == ["elasticsearch-1", "connect", "kafka", "other programs"]
    assert colours["other programs"] == GREY


def test_every_chart_draws_the_points_that_the_page_sends() -> None:
    """Compiled and drawn with real rows: each line is there."""
    rows = [point.row() for point in points_of(samples(varied(Truth(load="stream", lag_records=503, replicas=1))), 2)]
    for name, spec in charts().items():
        assert spec["width"] == "container"
        assert "points" in json.dumps(spec)
        drawn: str = vl_convert.vegalite_to_svg({**spec, "width": 340, "datasets": {"points": rows}})
        lines = drawn.count("<path")
        is_empty = name == "end_to_end_latency"  # no sample here has read it
        assert is_empty or lines >= len(spec["usermeta"]["colours"]), name
