"""The documents that a run is sent as."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from lab.analysis.figures.queries import search_latency_series, search_rate_series
from lab.analysis.figures.rates import indexing_rate_series
from lab.publish import monitoring, samples
from lab.publish.document import SCOPES, Document, timestamp
from lab.publish.monitoring import monitoring_documents, resampled
from lab.publish.samples import label_of, run_documents, sample_documents
from lab.records.run import RunWarning, WarningKind
from tests.unit.analysis.query_truth import QueryTruth, query_run, query_samples
from tests.unit.analysis.synthetic import Truth, run, with_samples, with_warnings
from tests.unit.analysis.synthetic import samples as synthetic_samples

TRUTH = Truth(replicas=1, ticks=31)
RUN = run(TRUTH)
SAMPLES = synthetic_samples(TRUTH)
READINGS = resampled(SAMPLES, 10)
MONITORED = list(monitoring_documents(RUN, READINGS, 10))
SAMPLED = list(run_documents(RUN, SAMPLES))


def fields(source: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Every value by its dotted path."""
    values: dict[str, Any] = {}
    for name, value in source.items():
        values |= fields(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return values


def of_type(kind: str) -> list[dict[str, Any]]:
    """The Stack Monitoring documents of one type."""
    return [fields(document.source) for document in MONITORED if document.source["type"] == kind]


def of_kind(kind: str) -> list[dict[str, Any]]:
    """Our own documents of one kind."""
    return [fields(document.source) for document in SAMPLED if document.source["kind"] == kind]


def declared(template: Mapping[str, Any]) -> set[str]:
    """Every field of a template by its dotted path."""

    def below(properties: Mapping[str, Any], before: str) -> set[str]:
        return {
            path
            for name, value in properties.items()
            for path in (below(value["properties"], f"{before}{name}.") if "properties" in value else {before + name})
        }

    return below(template["template"]["mappings"]["properties"], "")


# --- both -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("documents", [MONITORED, SAMPLED])
def test_ids_tell_all_documents_apart_and_never_change(documents: list[Document]) -> None:
    """So that sending a run again stores nothing twice."""
    again = [*monitoring_documents(RUN, READINGS, 10), *run_documents(RUN, SAMPLES)]
    assert len({document.id for document in documents}) == len(documents)
    assert {document.id for document in documents} <= {document.id for document in again}
    assert all(RUN.run_id in document.id for document in documents)


@pytest.mark.parametrize("documents", [MONITORED, SAMPLED])
def test_what_is_not_known_is_left_out(documents: list[Document]) -> None:
    """No document holds a null, which Kibana would draw in some places and not in others."""
    assert [path for document in documents for path, value in fields(document.source).items() if value is None] == []


def test_no_secret_of_the_run_is_sent() -> None:
    """The connector's password is in none of them."""
    assert "correct horse" not in str([document.source for document in [*MONITORED, *SAMPLED]])


def test_an_instant_has_milliseconds_and_a_zone() -> None:
    """As `date_time` wants it."""
    assert timestamp(1_767_225_603.0) == "2026-01-01T00:00:03.000Z"
    assert timestamp(1_767_225_602.9996) == "2026-01-01T00:00:03.000Z"


# --- Stack Monitoring -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "needed"),
    [
        ("cluster_stats", {"license.status", "license.type", "cluster_state.state_uuid", "cluster_state.status"}),
        (
            "indices_stats",
            {
                "indices_stats._all.primaries.indexing.index_total",
                "indices_stats._all.primaries.indexing.index_time_in_millis",
                "indices_stats._all.total.indexing.index_total",
            },
        ),
        (
            "index_stats",
            {
                "index_stats.index",
                "index_stats.primaries.indexing.index_total",
                "index_stats.primaries.indexing.index_time_in_millis",
                "index_stats.total.indexing.index_total",
            },
        ),
        ("shards", {"state_uuid", "shard.index", "shard.primary", "shard.state"}),
    ],
)
def test_each_page_finds_what_it_needs(kind: str, needed: set[str]) -> None:
    """The fields that Kibana's pages cannot do without."""
    common = {"cluster_uuid", "timestamp", "type"}
    assert of_type(kind)
    assert [(common | needed) - document.keys() for document in of_type(kind)] == [set()] * len(of_type(kind))


def test_all_runs_are_one_cluster_and_a_run_is_one_state() -> None:
    """A basic licence opens one cluster; an index's status comes from the shards of the latest state."""
    assert {document["cluster_uuid"] for kind in ("cluster_stats", "shards") for document in of_type(kind)} == {
        monitoring.CLUSTER_UUID
    }
    assert {document["cluster_state.state_uuid"] for document in of_type("cluster_stats")} == {
        document["state_uuid"] for document in of_type("shards")
    }


def test_every_ten_seconds_hold_one_document_of_each_kind() -> None:
    """From before the first sample to the last one."""
    for kind in ("cluster_stats", "indices_stats", "index_stats"):
        instants = [datetime.fromisoformat(document["timestamp"]).timestamp() for document in of_type(kind)]
        slots = [int(at_s // 10) for at_s in instants]
        assert slots == list(range(slots[0], slots[0] + len(READINGS)))


def test_the_counters_are_those_of_the_index() -> None:
    """At the last instant: all documents, once on primaries, twice on all shards."""
    last = of_type("indices_stats")[-1]
    assert last["indices_stats._all.primaries.indexing.index_total"] == TRUTH.indexed
    assert last["indices_stats._all.total.indexing.index_total"] == 2 * TRUTH.indexed


def test_shards_are_counted_by_the_index_settings() -> None:
    """One primary shard here; without the settings the counts are left out."""
    unknown = RUN.model_copy(update={"environment": RUN.environment.model_copy(update={"index_settings": {}})})
    documents = list(monitoring_documents(unknown, READINGS, 10))
    assert of_type("cluster_stats")[0]["cluster_stats.indices.shards.primaries"] == 1
    assert [document for document in documents if document.source["type"] == "shards"] == []
    assert "shards" not in documents[0].source["cluster_stats"]["indices"]


def test_a_run_with_unassigned_shards_is_yellow() -> None:
    """As the run has warned itself."""
    warned = with_warnings(
        RUN, RunWarning(kind=WarningKind.SHARDS_UNASSIGNED, seen="1 shard", likely_cause="one node", remedy="two")
    )
    states = [
        next(monitoring_documents(made, READINGS, 10)).source["cluster_state"]["status"] for made in (RUN, warned)
    ]
    assert states == ["green", "yellow"]


def test_the_template_knows_every_field_that_kibana_asks_for() -> None:
    """Without it nothing is a keyword, and Kibana finds nothing."""
    declared_fields = declared(monitoring.TEMPLATE)
    searched = {path for kind in ("indices_stats", "index_stats", "shards") for path in of_type(kind)[0]}
    assert searched <= declared_fields
    assert monitoring.TEMPLATE["index_patterns"] == [monitoring.INDEX]


# --- our own --------------------------------------------------------------------------------------------------------


def test_two_runs_lie_over_each_other_from_the_start_of_their_loads() -> None:
    """0 where the load began, less before it."""
    since = {document["@timestamp"]: document["since_load_s"] for document in of_kind("sample")}
    assert since[timestamp(TRUTH.load_starts_s)] == 0
    assert min(since.values()) == -TRUTH.fill_s


def test_the_rates_are_those_of_the_report() -> None:
    """Sample by sample, on primaries and on all shards."""
    for scope in SCOPES:
        ours = [document.get(f"indexing_rate_docs_per_s_{scope}") for document in of_kind("sample")]
        assert ours == [None, *(point.value for point in indexing_rate_series(SAMPLES, scope))]


def test_a_sample_that_was_lost_leaves_its_figures_out() -> None:
    """It says itself what it has lost; the processes are still there."""
    lost = with_samples(SAMPLES, lambda _: {"elasticsearch": None, "lost": {"elasticsearch": "timed out"}})
    source = next(run_documents(RUN, lost)).source
    assert source["sources_lost"] == ["elasticsearch"]
    assert "documents_indexed" not in source
    assert "lag_records" in source


def test_each_process_has_its_cores() -> None:
    """As many as the synthetic run keeps busy during the load."""
    busy = {
        document["process"]: document["cpu_cores"]
        for document in of_kind("process")
        if document["phase"] == "load" and "cpu_cores" in document
    }
    assert busy == pytest.approx(dict(TRUTH.cores))


def test_the_latency_curves_are_there() -> None:
    """One document each, from the median on, with a latency for every share."""
    curves = of_kind("curve")
    assert [curve["latency"] for curve in curves] == ["end to end", "bulk service time"]
    assert [curve["one_in"][0] for curve in curves] == [2, 2]
    assert [len(curve["one_in"]) for curve in curves] == [len(curve["latency_ms"]) for curve in curves]


def test_searches_are_those_of_the_report() -> None:
    """Rate and latency on all shards, which is what Stack Monitoring draws."""
    seen = query_samples(QueryTruth())
    documents = [fields(document.source) for document in run_documents(query_run(QueryTruth()), seen)]
    sampled = [document for document in documents if document["kind"] == "sample"]
    for name, series in (("search_rate_per_s", search_rate_series), ("search_latency_ms", search_latency_series)):
        ours = [document.get(f"{name}_total") for document in sampled]
        assert ours == [None, *(point.value for point in series(seen, "total"))]


def test_stack_monitoring_has_the_searches_of_the_samples() -> None:
    """At the end of each bucket, on primaries and on all shards, where Kibana looks for them."""
    readings = resampled(query_samples(QueryTruth()), 10)
    made = query_run(QueryTruth())
    documents = [fields(document.source) for document in monitoring_documents(made, readings, 10)]
    for scope in SCOPES:
        path = f"indices_stats._all.{scope}.search.query"
        told = [
            (each[f"{path}_total"], each[f"{path}_time_in_millis"])
            for each in documents
            if each["type"] == "indices_stats"
        ]
        counters = [getattr(reading.elasticsearch, scope) for reading in readings]
        assert told == [(each.query_total, each.query_time_ms) for each in counters]
        assert told[-1] > told[0]


@pytest.mark.parametrize("sent", [1, 7, 30])
def test_a_run_sent_in_parts_is_the_run_sent_at_once(sent: int) -> None:
    """The first sample of a later part has its rates, too: the last one sent is what it is compared with."""
    label = label_of(RUN)
    parts = [
        *sample_documents(label, SAMPLES[:sent]),
        *sample_documents(label, SAMPLES[sent:], before=SAMPLES[sent - 1]),
    ]
    whole = sample_documents(label, SAMPLES)
    assert {document.id: document.source for document in parts} == {document.id: document.source for document in whole}


def test_a_run_that_never_came_to_its_load_has_no_zero() -> None:
    """Its samples are kept, and not drawn."""
    made = RUN.model_copy(update={"phases": RUN.phases[:1]})
    assert all("since_load_s" not in document.source for document in run_documents(made, SAMPLES))


def test_every_field_of_ours_is_in_the_template() -> None:
    """One that is not would be stored and never found."""
    assert {path for document in SAMPLED for path in fields(document.source)} <= declared(samples.TEMPLATE)


def test_labels_and_note_of_a_run_are_fields() -> None:
    """A list of words, since names of labels are the user's; without any, no field."""
    made = run(Truth())
    labelled = label_of(made.model_copy(update={"labels": {"branch": "main", "commit": "abc"}, "note": "before"}))
    assert {name: labelled.source()[name] for name in ("labels", "note")} == {
        "labels": ["branch=main", "commit=abc"],
        "note": "before",
    }
    assert not {"labels", "note"} & label_of(made).source().keys()
