"""The newest run's figures for Prometheus, and the Grafana dashboard that draws them."""

import re
from pathlib import Path

import orjson
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from lab import ROOT
from lab.page.openmetrics import NAMES, exposition
from lab.page.run import RunView
from lab.page.security import METRICS
from lab.records.samples import Sample
from tests.unit.analysis.synthetic import Truth, samples
from tests.unit.page.run_folders import RUN_ID, append, begun, goes_on

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
SAMPLES = [sample for sample in samples(Truth()) if sample.phase == "load"]
OF_RUN = {"run": RUN_ID, "profile": "quickstart"}
"""Labels without that of the variant, which is empty."""


def run_of(folder: Path, seen: list[Sample]) -> RunView:
    """A run under way with these samples, as it was just looked at."""
    append(begun(folder / RUN_ID), *seen)
    view = RunView(folder / RUN_ID, f"quickstart/{RUN_ID}")
    view.look()
    return view


def figures(run: RunView | None, now_s: float, variant: str = "") -> dict[str, dict[tuple[str, ...], float]]:
    """Each figure by the values of its labels other than the run's, as a strict parser of the format reads it."""
    content, content_type = exposition(run, variant, now_s, OPENMETRICS)
    assert content_type.startswith("application/openmetrics-text")
    read: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(content.decode()):
        assert family.documentation
        for sample in family.samples:
            own = tuple(value for name, value in sample.labels.items() if name not in {"run", "profile", "variant"})
            read.setdefault(sample.name, {})[own] = sample.value
            assert {name: sample.labels[name] for name in OF_RUN} == OF_RUN
    return read


def test_figures_are_those_of_the_newest_sample(tmp_path: Path) -> None:
    """Counters as servers count them, in base units."""
    newest = SAMPLES[-1]
    read = figures(run_of(tmp_path, SAMPLES), newest.at_s)
    assert newest.elasticsearch is not None
    assert newest.kafka is not None
    assert newest.sink is not None
    primaries = newest.elasticsearch.primaries
    assert read["sluice_documents_indexed_total"][("primaries",)] == primaries.index_total
    assert read["sluice_indexing_time_seconds_total"][("primaries",)] == primaries.index_time_ms / 1000
    assert read["sluice_lag_records"] == {(): newest.kafka.lag_records}
    assert read["sluice_records_total"][("indexed",)] == newest.sink.records_indexed
    assert read["sluice_process_cpu_seconds_total"][("connect",)] == newest.processes["connect"].cpu_s
    assert read["sluice_run_under_way"] == {(): 1.0}


def test_what_is_drawn_exists(tmp_path: Path) -> None:
    """Each figure of the dashboard's expressions is one that the endpoint has."""
    board = orjson.loads((ROOT / "deploy" / "grafana" / "sluice.json").read_bytes())
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    expressions += [variable["definition"] for variable in board["templating"]["list"] if "definition" in variable]
    drawn = {name for text in expressions for name in re.findall(r"sluice_\w+", text)}
    assert drawn <= NAMES | {"sluice_run_info", "sluice_run_under_way"}
    assert set(figures(run_of(tmp_path, SAMPLES), SAMPLES[-1].at_s)) <= NAMES | {
        "sluice_run_info",
        "sluice_run_under_way",
    }
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_a_run_that_has_ended_has_no_last_values(tmp_path: Path) -> None:
    """They would be drawn as a line for ever; how it ended stays."""
    view = run_of(tmp_path, SAMPLES)
    goes_on(tmp_path / RUN_ID, ended="verified")
    view.look()
    read = figures(view, SAMPLES[-1].at_s)
    assert set(read) == {"sluice_run_info", "sluice_run_under_way"}
    assert read["sluice_run_under_way"] == {(): 0.0}
    assert list(read["sluice_run_info"]) == [("verified", "load")]


def test_samples_that_stay_away_leave_no_last_values(tmp_path: Path) -> None:
    """Such as those of a run whose machine sleeps."""
    view = run_of(tmp_path, SAMPLES)
    assert "sluice_lag_records" in figures(view, SAMPLES[-1].at_s + 4)
    assert "sluice_lag_records" not in figures(view, SAMPLES[-1].at_s + 6)


def test_servers_that_did_not_answer_have_no_figures(tmp_path: Path) -> None:
    """Missing is not zero."""
    nothing = [Sample(at_s=float(second), phase="load") for second in (1, 2, 3)]
    assert set(figures(run_of(tmp_path, nothing), 3.0)) == {"sluice_run_info", "sluice_run_under_way"}


def test_without_a_run_there_is_nothing() -> None:
    """The format still is complete."""
    assert exposition(None, "", 0.0, OPENMETRICS)[0] == b"# EOF\n"


def test_an_older_scraper_reads_the_text_format(tmp_path: Path) -> None:
    """As its header asks."""
    content, content_type = exposition(run_of(tmp_path, SAMPLES), "batch=500", SAMPLES[-1].at_s, "text/plain")
    assert content_type.startswith("text/plain")
    assert b'variant="batch=500"' in content
    assert METRICS == "/metrics"
