"""One look at a pipeline: its connector, its cluster's settings, and readings for a bounded time."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing, suppress

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.clients.target import cluster_of, topics_of
from lab.endpoints import Endpoints
from lab.engines import DEFAULT, Engine, engine_called, parsed_version
from lab.inspect.connector import ANSWER_TIMEOUT_S, InspectedConnector, read_connector
from lab.inspect.figures import figures_of
from lab.inspect.index import NONE, InspectedIndex, inspected_index
from lab.inspect.limits import Pipeline
from lab.inspect.readings import PipelineReader, Reading, answer_of, parts_of, tried, watch

FEW = 100
"""Offsets that are not committed: whether so few hold records at all is read."""
MOST_S = 70.0
"""A worker commits offsets every 60 s unless told otherwise (`offset.flush.interval.ms`); then one is seen."""
TELLS = {
    "shards": "indexing rate, time per document, bulk sizes, refreshes and shards (privilege `monitor` on the index)",
    "nodes": "rejections, queues, cores and disks (privilege `monitor` on the cluster)",
    "topics": "lag and arrival rate (Kafka: DESCRIBE of topics and group)",
    "records": "whether the few offsets that are not committed hold records (Kafka: READ of the topics)",
    "dead letters": "the dead-letter topic's growth (Kafka: DESCRIBE of the topic)",
    "sink metrics": "sizes and times of bulk requests by the sink (docs/sink-metrics.md)",
    "index": "settings and mapping (privilege `view_index_metadata`)",
    "ingest": "the time that documents spend in ingest pipelines (privilege `view_index_metadata`)",
    "cluster": "how fast it indexes, what it rejects, and which settings and fields the index has",
    "connector": "the states at the end, in place of those at the beginning",
    "group": "the consumer group's state (Kafka: DESCRIBE of the group)",
}
"""Source → what it would tell, and what is needed for it."""


def look(
    endpoints: Endpoints,
    name: str,
    *,
    seconds: float,
    index: str | None = None,
    on_begin: Callable[[InspectedConnector], None] = lambda _: None,
) -> Pipeline:
    """Look at a connector's pipeline for so many seconds, and on until offsets are committed, for 70 s at most.

    Args:
        index: What it writes to, where its configuration does not tell.

    Raises:
        ProfileError: There is no such connector.
        StackError: The Connect worker does not answer.
    """
    connector = read_connector(endpoints, name)
    indices = index or ",".join(sorted(set(connector.by_topic.values())))
    on_begin(connector)
    lost: dict[str, str] = {}
    with closing(cluster_of(endpoints, ANSWER_TIMEOUT_S)) as cluster:
        known = tried("cluster", lost, lambda: engine_of(cluster, indices))
        engine, version = known or (DEFAULT.engine, None)
        pipelines = (
            tried("ingest", lost, lambda: ingest_pipelines(cluster, indices, connector, engine)) if known else ()
        )
        reader = PipelineReader(
            endpoints,
            connector,
            cluster if known else None,
            indices=indices,
            pipelines=sorted(pipelines or ()),
            has_bulk_stats=engine is DEFAULT.engine,
        )
        with closing(reader):
            most_s = max(seconds, MOST_S) if connector.running_tasks else seconds
            readings = watch(reader, seconds, most_s=most_s, is_enough=tells_whether_records_wait)
        written = tried("index", lost, lambda: written_index(cluster, readings)) if known else None
    state = tried("group", lost, lambda: topics_of(endpoints).group_state(connector.group)[0])
    lost.update(reader.lost)
    drained = tried("records", lost, lambda: drained_partitions(topics_of(endpoints), readings)) or ()
    # A task may have failed meanwhile, and so may the worker.
    connector = tried("connector", lost, lambda: read_connector(endpoints, name)) or connector
    figures = figures_of(readings, drained)
    return Pipeline(connector, figures, written, state, None if version is None else f"{engine.title} {version}", lost)


def tells_whether_records_wait(readings: Sequence[Reading]) -> bool:
    """Check that the readings need no further commit of offsets; so it is, too, where offsets cannot be read."""
    figures = figures_of(readings)
    return figures.lag is None or figures.backlog is not None


def drained_partitions(topics: KafkaTopics, readings: Sequence[Reading]) -> set[str]:
    """Partitions of which the few offsets behind the committed one hold no record; of many it is not known.

    A transaction ends with an offset of its own, compaction leaves gaps, and retention removes records unread.

    Raises:
        StackError: The records may not be read.
    """
    sample = next((reading.kafka for reading in reversed(readings) if reading.kafka), None)
    if sample is None or tells_whether_records_wait(readings):
        return set()
    behind: dict[str, dict[int, int]] = defaultdict(dict)
    for place, (end, committed) in sample.partitions.items():
        topic, _, number = place.rpartition("-")
        if committed < end:
            behind[topic][int(number)] = committed
    drained: set[str] = set()
    for topic, committed_of in behind.items():
        first, last = dict[int, int](), dict[int, int]()
        for partition, (begin, end) in topics.bounds(topic).items():
            since = max(begin, committed_of.get(partition, 0))
            if partition in committed_of and end - since <= FEW:
                first[partition], last[partition] = since, end
        held = {record.partition() for record in topics.records(topic, first, last)} if first else set()
        drained |= {f"{topic}-{partition}" for partition in first.keys() - held}
    return drained


def engine_of(cluster: ElasticsearchClient, indices: str) -> tuple[Engine, str | None]:
    """The cluster's engine and version, which not every user may read; a plain build has no page at `/`.

    Raises:
        LookupError: No index is known. Without a name, Elasticsearch would tell of all that there are.
        StackError: No node answers.
    """
    if not indices:
        raise LookupError("no index is known, as no topic is: name one with --index")
    unknown = (LookupError, TypeError, AttributeError)
    with suppress(*unknown):
        version = answer_of(cluster, "/")["version"]
        return engine_called(version.get("distribution")), str(version["number"])
    with suppress(*unknown, ValueError):
        nodes = answer_of(cluster, "/_nodes/process?filter_path=nodes.*.version")["nodes"]
        return DEFAULT.engine, min((str(node["version"]) for node in nodes.values()), key=parsed_version)
    return DEFAULT.engine, None


def ingest_pipelines(
    cluster: ElasticsearchClient, indices: str, connector: InspectedConnector, engine: Engine
) -> set[str]:
    """The ingest pipelines that documents pass; one that the connector names takes the place of an index's default.

    Raises:
        LookupError: The engine's times are not those of a document. OpenSearch gives each document the time of its
            whole bulk request (`Pipeline.batchExecute` and `OperationMetrics.afterN` of 2.19 to 3.8); Elasticsearch
            sums up each document's nanoseconds (`IngestMetric` of 7.17 to 9.5).
    """
    own, default = connector.value("pipeline"), "index.default_pipeline"
    settings = f"_settings/{default},index.final_pipeline?flat_settings=true&ignore_unavailable=true"
    answers = [answer_of(cluster, f"/{part}/{settings}") for part in parts_of(indices)]
    stated = [of.get("settings", {}).items() for answer in answers for of in answer.values()]
    named = {value for each in stated for name, value in each if not (own and name == default)}
    found = named.union(filter(None, [own])) - NONE
    if found and engine is not DEFAULT.engine:
        raise LookupError(f"{engine.title} gives each document the time of its whole bulk request in a pipeline")
    return found


def written_index(cluster: ElasticsearchClient, readings: Sequence[Reading]) -> InspectedIndex:
    """The index that got most documents in the window; of several that got none, the last by name."""
    grown = Counter[str]()
    for shard, documents in figures_of(readings).shard_documents.items():
        grown[shard.rpartition("/")[0]] += documents
    if not grown:
        raise LookupError("no index was seen")
    name = max(grown, key=lambda each: (grown[each], each))
    settings = answer_of(cluster, f"/{name}/_settings?flat_settings=true&include_defaults=true")[name]
    return inspected_index(name, settings, answer_of(cluster, f"/{name}/_mapping")[name]["mappings"])
