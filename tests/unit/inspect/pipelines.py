"""Made-up pipelines, whose bottleneck is known."""

from dataclasses import replace
from typing import Any

from lab.inspect.connector import POLL, InspectedConnector, Setting, Task
from lab.inspect.figures import Figures, NodeFigures
from lab.inspect.index import InspectedIndex
from lab.inspect.limits import Pipeline

SETTINGS = {"batch.size": "2000", "linger.ms": "1", "max.in.flight.requests": "5", POLL: "500", "key.ignore": "false"}
CONNECTOR = InspectedConnector(
    name="orders",
    plugin="io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
    version="15.1.1",
    state="RUNNING",
    reason=None,
    tasks=(Task(0, "RUNNING"),),
    tasks_max=1,
    topics=("orders",),
    group="connect-orders",
    dead_letters=None,
    by_topic={"orders": "orders"},
    settings={name: Setting(value, is_default=True) for name, value in SETTINGS.items()},
)
NODE = NodeFigures(
    name="es-1",
    host="10.0.0.1",
    cpu_percent=41.0,
    process_cpu_percent=37.0,
    cpu_s=11.0,
    write_threads=8,
    write_busy=0.13,
    write_queue=0.0,
    rejected=0,
    disk_busy=0.07,
    index_time_s=19.0,
    shards=1,
)
FIGURES = Figures(
    window_s=20.0,
    watched_s=20.0,
    arrival_rate=2_003.0,
    commit_rate=1_009.0,
    lag=100_003,
    lags={"orders-0": 100_003},
    backlog=100_003,
    lag_trend=997.0,
    indexing_rate=1_009.0,
    index_time_s=19.0,
    index_ms=0.05,
    bulk_documents=1_499.0,
    bulk_bytes=1_499_000.0,
    bulk_ms=83.0,
    throttled=0.0,
    refresh_time_s=1.3,
    merge_time_s=2.9,
    merging=0.4,
    shard_documents={"orders/0": 20_180},
    nodes=(NODE,),
)
INDEX = InspectedIndex(
    "orders",
    {"number_of_shards": "1", "number_of_replicas": "1", "refresh_interval": "1s", "translog.durability": "REQUEST"},
    {"properties": {"title": {"type": "text"}, "price": {"type": "long"}}},
    {"number_of_shards": "1", "number_of_replicas": "1"},
)
GRAMS = replace(
    INDEX,
    settings={**INDEX.settings, "analysis.tokenizer.g.type": "ngram", "analysis.analyzer.grams.tokenizer": "g"},
    mapping={"properties": {"title": {"type": "text", "analyzer": "grams"}}},
)
ONE_TASK = Pipeline(CONNECTOR, FIGURES, INDEX)
"""One task that reads the one partition of its topic while Elasticsearch has threads to spare."""


def with_figures(pipeline: Pipeline = ONE_TASK, **figures: Any) -> Pipeline:
    """The pipeline with other figures."""
    return replace(pipeline, figures=replace(pipeline.figures, **figures))


def with_nodes(*nodes: NodeFigures, **figures: Any) -> Pipeline:
    """The pipeline on these nodes."""
    return with_figures(nodes=nodes, **figures)


def with_node(**figures: Any) -> Pipeline:
    """The pipeline on one node with other figures."""
    return with_nodes(replace(NODE, **figures))


def with_connector(pipeline: Pipeline = ONE_TASK, **facts: Any) -> Pipeline:
    """The pipeline with another connector; settings are added."""
    settings = {name: Setting(value, is_default=False) for name, value in facts.pop("settings", {}).items()}
    connector = pipeline.connector
    return replace(pipeline, connector=replace(connector, settings={**connector.settings, **settings}, **facts))
