"""The newest run's figures for Prometheus, and the Grafana dashboard that draws them."""

import re
from pathlib import Path

import orjson
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from lab import ROOT
from lab.page.openmetrics import FIGURES, NAMES, exposition
from lab.page.run import RunView
from lab.page.security import METRICS
from lab.records.samples import Sample
from tests.unit.analysis.synthetic import Truth, samples, with_samples
from tests.unit.page.run_folders import RUN_ID, append, begun, goes_on

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
SAMPLES = [sample for sample in samples(Truth()) if sample.phase == "load"]
OF_RUN = {"run": RUN_ID, "profile": "quickstart"}
"""Labels without that of the variant, which is empty."""
BOARD = orjson.loads((ROOT / "deploy" / "grafana" / "sluice.json").read_bytes())
TARGETS = [target for panel in BOARD["panels"] for target in panel["targets"]]
VARIABLES = BOARD["templating"]["list"]
GRID_COLUMNS = 24
"""Grafana's grid (`#GridPos` of `kinds/dashboard/dashboard_kind.cue`)."""


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


def exported(folder: Path) -> dict[str, list[dict[str, str]]]:
    """Labels of each figure that the endpoint has of a sample with everything, by the figure's name."""

    def everything(sample: Sample) -> dict[str, object]:
        ages = {"record_age_ms_p50": 7.0, "record_age_ms_p99": 71.0}
        processes = {
            name: process.model_copy(update={"disk_read_bytes": 13}) for name, process in sample.processes.items()
        }
        return {"sink": sample.sink and sample.sink.model_copy(update=ages), "processes": processes}

    seen = with_samples(SAMPLES, everything)
    content, _ = exposition(run_of(folder, seen), "batch=500", seen[-1].at_s, OPENMETRICS)
    labels: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(content.decode()):
        for sample in family.samples:
            labels.setdefault(sample.name, []).append(sample.labels)
    assert set(labels) == NAMES | {"sluice_run_info", "sluice_run_under_way"}
    return labels


def test_what_is_drawn_exists(tmp_path: Path) -> None:
    """Each selector of the dashboard, each value of a label in it, and each label of a legend."""
    labels = exported(tmp_path)
    for target in TARGETS:
        selectors = re.findall(r"(\w+)\{([^}]*)\}", target["expr"])
        assert len(selectors) == target["expr"].count("sluice_")
        for name, matchers in selectors:
            for label, values in re.findall(r'(\w+)=~?"([^"]*)"', matchers):
                there = {of[label] for of in labels[name]}
                assert (label, values) == ("run", "$run") or set(values.split("|")) <= there
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= set(labels[name][0])
    (query,) = (variable["query"]["query"] for variable in VARIABLES if variable["type"] == "query")
    assert query == "label_values(sluice_run_info, run)"
    assert "run" in labels["sluice_run_info"][0]


def test_each_gauge_is_drawn() -> None:
    """As it is; of counters their growth."""
    drawn = {target["expr"] for target in TARGETS}
    for figure in FIGURES:
        assert figure.counts or f'sluice_{figure.name}{{run=~"$run"}}' in drawn, figure.name
    for expression in drawn:
        counters = re.findall(r"sluice_\w+_total", expression)
        assert len(re.findall(r"rate\(sluice_\w+_total\{[^}]*\}\[\$__rate_interval\]\)", expression)) == len(counters)


def test_the_state_of_a_run_is_asked_for_at_this_instant() -> None:
    """The last value of a run that another one followed may be that it is under way."""
    (stat,) = (panel for panel in BOARD["panels"] if panel["type"] == "stat")
    assert [(target["instant"], target["range"]) for target in stat["targets"]] == [(True, False)]
    assert {target.get("instant", False) for target in TARGETS if target not in stat["targets"]} == {False}


def test_the_dashboard_asks_the_data_source_that_its_reader_chooses() -> None:
    """Its panels stand beside each other, and each has a number of its own."""
    (source,) = (variable["name"] for variable in VARIABLES if variable["type"] == "datasource")
    asking = [*BOARD["panels"], *(variable for variable in VARIABLES if variable["type"] == "query")]
    assert {(of["datasource"]["type"], of["datasource"]["uid"]) for of in asking} == {("prometheus", f"${{{source}}}")}
    assert all("datasource" not in target for target in TARGETS)
    places = [
        (x, y)
        for panel in BOARD["panels"]
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(places)) == len(places)
    assert max(x for x, _ in places) < GRID_COLUMNS
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


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
