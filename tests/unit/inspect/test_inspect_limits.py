"""Bottlenecks of made-up pipelines: named where the predicate holds, and not on the other side of its bound."""

from dataclasses import replace

import pytest

from lab.inspect.connector import Setting, Task
from lab.inspect.figures import Processor
from lab.inspect.limits import MOST_BYTES, Pipeline, bottleneck_of, why_unknown
from tests.unit.inspect.pipelines import (
    GRAMS,
    INDEX,
    NODE,
    ONE_TASK,
    with_connector,
    with_figures,
    with_node,
    with_nodes,
)
from tests.unit.messages import MakeMessage

BUSY_NODE = replace(NODE, write_busy=0.97, write_queue=3.0)
CROWDED = replace(NODE, cpu_percent=99.0, write_busy=0.5)
OTHER_NODE = replace(NODE, name="es-2", host="10.0.0.2", index_time_s=1.0, write_busy=0.02)
TINY = with_connector(with_figures(bulk_documents=20.0, bulk_bytes=20_000.0), settings={"batch.size": "20"})
STALLED = with_figures(backlog=None, commit_rate=None, indexing_rate=0.0)
CAPPED = with_connector(settings={"max.documents.per.second": "1000"})
IN_BYTES = with_connector(settings={MOST_BYTES: "1000000"})
HOT = with_nodes(
    replace(NODE, write_busy=0.7), OTHER_NODE, shard_documents={"orders/0": 9_001, "orders/1": 499, "orders/2": 503}
)
ALONE = with_nodes(replace(NODE, write_busy=0.7), OTHER_NODE)
SLOW_MAPPING = replace(with_nodes(replace(BUSY_NODE, cpu_s=19.0)), index=GRAMS)
GRAMS_BY_DEFAULT = replace(INDEX, settings={"analysis.analyzer.default.tokenizer": "ngram"})
PLAIN = replace(GRAMS_BY_DEFAULT, mapping={"properties": {"title": {"type": "text", "analyzer": "standard"}}})
REFRESHING = with_nodes(BUSY_NODE, refresh_time_s=10.0)
MERGING = with_nodes(BUSY_NODE, merge_time_s=31.0, merging=0.6)
TWO_HOSTS = with_nodes(
    CROWDED, replace(CROWDED, name="es-2", host="10.0.0.2", cpu_percent=97.0, process_cpu_percent=93.0)
)
IN_PIPELINE = replace(
    with_figures(ingest_time_s=21.0, ingest_ms=1.04), index=replace(INDEX, settings={"default_pipeline": "parse"})
)


def stage_of(pipeline: Pipeline) -> str | None:
    """The named stage; `None` where none is."""
    found = bottleneck_of(pipeline)
    return found.stage if found else None


@pytest.mark.parametrize(
    ("stage", "there", "not_there"),
    [
        ("connector", with_connector(state="PAUSED"), with_connector(state="RUNNING")),
        ("connector", with_connector(state="FAILED", reason="no route"), ONE_TASK),
        ("connector", with_connector(tasks=(Task(0, "FAILED", "boom"), Task(1, "RUNNING"))), ONE_TASK),
        ("connector", with_connector(tasks=()), ONE_TASK),
        ("connector", STALLED, with_figures(STALLED, indexing_rate=0.5)),
        ("connector", STALLED, with_figures(STALLED, letters=1)),
        # Four seconds of work at 1,009/s are 4,036 records.
        ("producer", with_figures(backlog=4_036), with_figures(backlog=4_037)),
        # Others index into the same index: 4,037 records are more than four seconds of what this connector commits.
        ("sink", with_figures(backlog=4_037, indexing_rate=50_021.0), with_figures(backlog=4_036)),
        # Whose records all become dead letters indexes nothing, and commits.
        ("producer", with_figures(backlog=380, indexing_rate=0.0), with_figures(backlog=4_037, indexing_rate=0.0)),
        ("producer", with_figures(backlog=0, arrival_rate=0.0, indexing_rate=None), ONE_TASK),
        # 950/s less one request of 1,499 documents, whose place may be just beyond 20 s.
        ("requested rate", with_figures(CAPPED, indexing_rate=876.0), with_figures(CAPPED, indexing_rate=875.0)),
        # What is rejected keeps to the pace, too.
        (
            "requested rate",
            with_figures(CAPPED, indexing_rate=700.0, letters=4_001),
            with_figures(CAPPED, indexing_rate=700.0),
        ),
        ("requested rate", with_figures(CAPPED, sink_rate=999.0), with_figures(CAPPED, sink_rate=801.0)),
        ("requested rate", IN_BYTES, with_connector(settings={MOST_BYTES: "0"})),
        ("requested rate", IN_BYTES, with_figures(IN_BYTES, bulk_bytes=1_298_000.0)),
        ("requested rate", IN_BYTES, with_figures(IN_BYTES, bulk_documents=None, bulk_bytes=None)),
        ("requested rate", CAPPED, with_connector(settings={"max.documents.per.second": "0"})),
        ("elasticsearch", with_node(rejected=1), with_node(rejected=0)),
        ("merge throttling", with_figures(throttled=0.1), with_figures(throttled=0.09)),
        ("bulk size", TINY, with_figures(TINY, bulk_documents=250.0)),
        ("bulk size", TINY, with_figures(TINY, bulk_bytes=250_000.0)),
        ("bulk size", TINY, with_figures(TINY, bulk_documents=50.0, shard_documents=dict.fromkeys("abcde", 1))),
        ("bulk size", TINY, with_figures(TINY, sink_bulk_documents=2_000.0, sink_bulk_bytes=200_000.0)),
        ("bulk size", TINY, with_figures(TINY, sink_bulk_documents=50.0, sink_bulk_bytes=5_000_000.0)),
        ("bulk size", TINY, with_figures(TINY, bulk_documents=None, bulk_bytes=None)),
        # The size of their requests is unknown where others index most of the documents.
        ("bulk size", TINY, with_figures(TINY, indexing_rate=2_019.0)),
        ("ingest pipeline", IN_PIPELINE, with_figures(IN_PIPELINE, index_time_s=21.1)),
        ("ingest pipeline", IN_PIPELINE, with_figures(IN_PIPELINE, ingest_time_s=9.9, index_time_s=9.0)),
        ("hot shard", HOT, with_figures(HOT, shard_documents={"orders/0": 9_001, "orders/1": 4_001})),
        ("hot shard", HOT, with_figures(HOT, nodes=(replace(NODE, write_busy=0.49), OTHER_NODE))),
        ("hot shard", ALONE, with_nodes(replace(NODE, write_busy=0.7), replace(OTHER_NODE, index_time_s=7.0))),
        ("hot shard", ALONE, with_nodes(replace(NODE, write_busy=0.7))),
        ("mapping", SLOW_MAPPING, replace(SLOW_MAPPING, index=INDEX)),
        # A field without an analyzer has the index's default one.
        ("mapping", replace(SLOW_MAPPING, index=GRAMS_BY_DEFAULT), replace(SLOW_MAPPING, index=PLAIN)),
        # Other indices keep the nodes busy: 292 µs of their write threads went to each document of this one.
        ("mapping", SLOW_MAPPING, with_figures(SLOW_MAPPING, index_time_s=5.9)),
        ("mapping", SLOW_MAPPING, replace(with_nodes(replace(BUSY_NODE, cpu_s=5.9)), index=GRAMS)),
        ("mapping", SLOW_MAPPING, replace(with_nodes(replace(NODE, cpu_s=19.0)), index=GRAMS)),
        ("mapping", SLOW_MAPPING, replace(with_nodes(replace(BUSY_NODE, cpu_s=19.0, uptime_s=299.0)), index=GRAMS)),
        ("disk", with_node(disk_busy=0.9), with_node(disk_busy=0.89)),
        ("disk", with_node(disk_busy=0.97), with_node(disk_busy=0.97, cpu_percent=95.0, process_cpu_percent=90.0)),
        ("machine", with_nodes(CROWDED), with_nodes(replace(CROWDED, cpu_percent=94.0))),
        ("machine", with_nodes(CROWDED), with_nodes(replace(CROWDED, process_cpu_percent=67.0))),
        ("machine", with_nodes(CROWDED), with_nodes(replace(CROWDED, write_busy=0.49))),
        ("refreshes", REFRESHING, with_figures(REFRESHING, refresh_time_s=9.4)),
        ("refreshes", REFRESHING, with_nodes(NODE, refresh_time_s=10.0)),
        ("merges", MERGING, with_figures(MERGING, merge_time_s=9.4)),
        ("merges", MERGING, with_nodes(NODE, merge_time_s=31.0, merging=0.6)),
        # A merge of half a minute that ends in the first second of the window is little work in it.
        ("merges", MERGING, with_figures(MERGING, merging=0.05)),
        ("elasticsearch", with_node(cpu_percent=99.0, process_cpu_percent=67.0), ONE_TASK),
        ("elasticsearch", with_nodes(BUSY_NODE), with_node(write_busy=0.89)),
        ("sink", ONE_TASK, with_figures(backlog=0)),
    ],
)
def test_a_bottleneck_is_named_where_its_predicate_holds_and_only_there(
    stage: str, there: Pipeline, not_there: Pipeline
) -> None:
    """The second pipeline differs from the first in the figure that decides."""
    assert stage_of(there) == stage
    assert stage_of(not_there) != stage


@pytest.mark.parametrize(
    "pipeline",
    [
        with_connector(with_figures(lag=None, lags={}, backlog=None), topics=()),
        with_figures(lag=None, lags={}, backlog=None),
        with_figures(backlog=None),
        with_figures(backlog=None, window_s=34.0, begun_again=("es-1",)),
        with_figures(indexing_rate=None, commit_rate=None),
        with_nodes(),
    ],
    ids=["no topic", "no offsets", "no commit", "no commit since a restart", "no index", "no nodes"],
)
def test_without_the_figures_that_decide_it_names_none_and_says_what_would_tell(
    pipeline: Pipeline, message: MakeMessage
) -> None:
    """Each lacks one figure."""
    assert bottleneck_of(pipeline) is None
    assert why_unknown(pipeline) == message()


def tried(pipeline: Pipeline) -> list[tuple[str, str, str]]:
    """Settings to try: name, now, then."""
    found = bottleneck_of(pipeline)
    return [(each.setting, each.now, each.then) for each in found.tries] if found else []


def test_one_task_of_one_partition_needs_partitions_first() -> None:
    """A second task would have nothing to read."""
    assert tried(ONE_TASK) == [("partitions", "1", "2"), ("tasks.max", "1", "2")]


def test_one_task_of_several_partitions_needs_tasks_alone() -> None:
    """Each partition may have a task."""
    pipeline = with_figures(lags={f"orders-{number}": 11 for number in range(7)})

    assert tried(pipeline) == [("tasks.max", "1", "7")]


def test_a_hot_shard_is_held_against_the_others_of_its_index() -> None:
    """Those of another index, which the connector writes to as well, have no documents of its own."""
    found = bottleneck_of(with_figures(HOT, shard_documents={"orders/0": 9_001, "books/0": 499, "books/1": 503}))

    assert found
    assert found.evidence.startswith("index orders has one shard on 2 data nodes: ")
    assert found.tries[0].setting == "index.number_of_shards"


def test_tasks_that_are_more_than_the_partitions_to_come_stay_as_they_are() -> None:
    """Six of ten have nothing to read, and two have nothing then."""
    pipeline = with_figures(with_connector(tasks_max=10), lags={f"orders-{number}": 11 for number in range(4)})

    assert tried(pipeline) == [("partitions", "4", "8")]


def test_a_sink_with_all_its_requests_under_way_may_have_more_of_them() -> None:
    """Nine tenths of them count as all."""
    assert tried(with_figures(in_flight=4.5)) == [("max.in.flight.requests", "5", "10")]
    assert tried(with_figures(in_flight=4.4)) == [("partitions", "1", "2"), ("tasks.max", "1", "2")]


def test_settings_are_proposed_by_the_names_that_the_sink_has_for_them() -> None:
    """Aiven's newer sinks for OpenSearch have neither `batch.size` nor `max.in.flight.requests`."""
    settings = {
        name: Setting(value, is_default=True)
        for name, value in {"bulk.max.operations.size": "20", "bulk.max.concurrent.requests": "4"}.items()
    }
    of_aiven = replace(TINY, connector=replace(TINY.connector, settings=settings))

    found = bottleneck_of(of_aiven)
    assert found
    assert "(bulk.max.operations.size is 20)" in found.evidence
    assert tried(of_aiven) == [("bulk.max.operations.size", "20", "2000")]
    assert tried(replace(of_aiven, figures=with_node(rejected=1).figures)) == [
        ("bulk.max.concurrent.requests", "4", "2")
    ]


def test_tiny_requests_need_a_larger_batch_and_a_poll_that_fills_it() -> None:
    """A poll of 500 records would be the next bound."""
    assert tried(TINY) == [("batch.size", "20", "2000"), ("consumer.override.max.poll.records", "500", "2000")]


def test_a_host_that_others_fill_is_no_evidence_that_elasticsearch_is_busy() -> None:
    """Of two full hosts, Elasticsearch fills the second one."""
    assert (TWO_HOSTS.busy_text or "").startswith("the host 10.0.0.2 was 97 % busy, and Elasticsearch took 93 %")
    assert with_nodes(CROWDED).busy_text is None


def test_the_connector_s_own_pipeline_takes_the_place_of_the_index_s_default() -> None:
    """Elasticsearch runs the final one all the same."""
    index = replace(INDEX, settings={"default_pipeline": "parse", "final_pipeline": "stamp"})
    found = [
        bottleneck_of(with_connector(replace(IN_PIPELINE, index=index), settings=own))
        for own in ({}, {"pipeline": "mine"})
    ]

    assert [each.tries[0].now for each in found if each] == ["parse and stamp", "mine and stamp"]


def test_the_slowest_processor_of_an_ingest_pipeline_is_named_where_it_is_known() -> None:
    """With its place, since names need not differ."""
    slowest = Processor("parse", "script:enrich", 2, share=0.83)
    known, unknown = bottleneck_of(with_figures(IN_PIPELINE, slowest_processor=slowest)), bottleneck_of(IN_PIPELINE)

    assert known
    assert unknown
    assert known.evidence == unknown.evidence.replace(
        "ms each,", "ms each (83 % in script:enrich, processor 2 of parse),"
    )
    assert [each.tries[0].why.rpartition("simplify ")[2] for each in (known, unknown)] == [
        "script:enrich",
        "its processors",
    ]


@pytest.mark.parametrize(
    ("interval", "proposed"), [("500ms", True), ("29s", True), ("30s", False), ("1m", False), ("-1", False)]
)
def test_a_longer_refresh_interval_is_proposed_in_place_of_a_short_one(interval: str, *, proposed: bool) -> None:
    """30 s is long enough, and -1 never refreshes."""
    index = replace(INDEX, settings={"refresh_interval": interval})

    assert (
        "index.refresh_interval" in {setting for setting, _, _ in tried(replace(REFRESHING, index=index))}
    ) == proposed


def test_a_setting_that_is_as_proposed_is_not_proposed() -> None:
    """A busy cluster whose index refreshes seldom and has no replica has neither to try."""
    index = replace(INDEX, settings={"refresh_interval": "30s", "number_of_replicas": "0"})

    assert tried(with_nodes(BUSY_NODE)) == [
        ("index.refresh_interval", "1s", "30s"),
        ("index.number_of_replicas", "1", "0"),
    ]
    assert tried(replace(with_nodes(BUSY_NODE), index=index)) == []


def test_a_replica_that_no_node_has_is_not_proposed_to_be_left_out() -> None:
    """On a cluster of one node, a replica is never assigned, and costs nothing."""
    assert tried(with_nodes(BUSY_NODE, replicated=["books"])) == [("index.refresh_interval", "1s", "30s")]
    assert len(tried(with_nodes(BUSY_NODE, replicated=["orders"]))) == 2


@pytest.mark.parametrize(
    ("pipeline", "facts"),
    [
        (ONE_TASK, ("1 task", "1 partition", "13 %")),
        (with_figures(in_flight=4.7), ("4.70", 5)),
        (TINY, (20, "83", "batch.size")),
        (HOT, ("orders/0", "90.0 %", 3, "es-1")),
        (ALONE, ("one", 2, "70 %")),
        (IN_PIPELINE, ("1.04", "parse", "21 s", "19 s")),
        (REFRESHING, ("97 %", "10 s", "19 s")),
        (MERGING, ("97 %", "0.60", "31 s", "19 s")),
        (SLOW_MAPPING, ("title", "n-grams", "942")),
        (with_node(rejected=7), (7, 429, "es-1")),
        (with_node(disk_busy=0.97), ("97 %", "41 %")),
        (with_nodes(CROWDED), ("99 %", "37 %", "10.0.0.1")),
        (with_figures(backlog=11), (11, "2,000")),
        (with_figures(backlog=None, indexing_rate=0.0), ("100,003", 20)),
        (with_connector(tasks=(Task(0, "FAILED", "boom"), Task(1, "RUNNING"))), ("1 task", 2, "boom")),
        (with_figures(backlog=0, lag=3, arrival_rate=0.0), (3, "offsets", "transactions")),
    ],
)
def test_the_evidence_holds_the_figures_that_decided(
    pipeline: Pipeline, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """A reader can check the predicate by them."""
    found = bottleneck_of(pipeline)

    assert found is not None
    assert found.evidence == message(*facts)
