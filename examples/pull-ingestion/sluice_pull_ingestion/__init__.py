"""OpenSearch's pull-based ingestion: each shard reads the partition of its number, without a program between.

The index must be made with its source, so that `start` makes the index anew. `_stats/indexing` and sequence numbers
stay 0 there: what is read is `polling_ingest_stats`, and `batch_start` of the last Lucene commit, which a restart reads
on from. That one is committed for the consumer group, which the engine does not have.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import httpx
from confluent_kafka import Consumer, TopicPartition

from lab.errors import ProfileError, StackError
from lab.extensions import Ids, Pipeline, PipelineContext

PLUGIN = "ingestion-kafka"
LOOK_EVERY_S = 1.0
STILL_LOOKS = 2
"""Looks at which nothing has moved before a flush: the engine flushes each ten minutes by itself."""
TIMEOUT_S = 30.0
GIVEN_BY_SERVER = frozenset({"uuid", "creation_date", "version", "provided_name"})
STATS = "filter_path=indices.*.shards.*.routing.primary,indices.*.shards.*.commit.user_data.batch_start,"
COUNTS = "indices.*.shards.*.polling_ingest_stats"


@dataclass(frozen=True)
class Position:
    """One shard's position in its partition.

    Attributes:
        durable: Offset that a restart reads again, out of the last Lucene commit: the oldest of those that the threads
            have processed last; -1 for none.
        polled: Records read since the node's start.
        done: Of these, the ones that are processed, dropped or skipped.
        behind: Records between the newest one read and the end of the partition, as the engine has last asked.
    """

    durable: int
    polled: int
    done: int
    behind: int

    @property
    def is_through(self) -> bool:
        """True if the engine knows of no record that it has not processed."""
        return self.behind == 0 and self.done >= self.polled


def positions(stats: Mapping[str, Any]) -> dict[int, Position]:
    """Each primary shard's position out of an answer of `_stats?level=shards`."""
    return {
        int(number): position(copy)
        for index in stats["indices"].values()
        for number, copies in index["shards"].items()
        for copy in copies
        if copy["routing"]["primary"]
    }


def position(copy: Mapping[str, Any]) -> Position:
    """The position of one copy of a shard."""
    stats = copy.get("polling_ingest_stats", {})
    reads, writes = stats.get("consumer_stats", {}), stats.get("message_processor_stats", {})
    passed_over = ("total_poller_message_dropped_count", "total_duplicate_message_skipped_count")
    return Position(
        durable=int(copy.get("commit", {}).get("user_data", {}).get("batch_start", -1)),
        polled=reads.get("total_polled_count", 0),
        done=writes.get("total_processed_count", 0) + sum(reads.get(name, 0) for name in passed_over),
        behind=reads.get("pointer_based_lag", 0),
    )


def committed(now: Mapping[int, Position], ends: Mapping[int, int], *, is_flushed: bool) -> dict[int, int]:
    """The offset to commit of each partition.

    Args:
        ends: End offsets, read before the positions.
        is_flushed: True if nothing was read since before the last flush. All that is processed is in it then, whatever
            the pointer says, which is that of the slowest thread, and which dropped records do not move.
    """
    return {
        partition: ends[partition] if is_flushed and at.is_through else max(at.durable, 0)
        for partition, at in now.items()
    }


def pulling(described: Mapping[str, Any], context: PipelineContext, shards: int, more: Mapping[str, Any]) -> Any:
    """The request that makes an index anew, as it was, and with its source.

    Args:
        described: Mappings and settings of the index as it is.
        shards: As many as partitions: a shard reads the partition of its number, and no other.
        more: Settings of `ingestion_source`, which win over those of here.
    """
    kept = {name: value for name, value in described["settings"]["index"].items() if name not in GIVEN_BY_SERVER}
    source = {
        "type": "kafka",
        "pointer.init.reset": "earliest",
        # The only mapper that takes any JSON object as it is; ids are `shard-offset`.
        "mapper_type": "raw_payload",
        # By default each 10 s: `behind` would be that of records which have come since.
        "pointer_based_lag_update_interval": "1s",
        "param": {"topic": context.topic, "bootstrap_servers": context.kafka_bootstrap},
        **more,
    }
    ours = {"number_of_shards": shards, "replication": {"type": "SEGMENT"}, "ingestion_source": source}
    return {"settings": {"index": kept | ours}, "mappings": described["mappings"]}


class Default(Pipeline):
    """Pull-based ingestion with OpenSearch's own defaults; `sink.config` holds settings of `ingestion_source`."""

    pulls: ClassVar[bool] = True
    source: Mapping[str, str | int] = {}

    def __init__(self, context: PipelineContext) -> None:
        super().__init__(context)
        self._client = httpx.Client(base_url=context.elasticsearch_urls[0], timeout=TIMEOUT_S)
        self._polled: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._done: dict[int, int] = {}
        self._still_looks = 0
        self._looked_s = 0.0
        self._kafka: Consumer | None = None

    def ids(self) -> Ids:
        """Generated: `shard-offset`; keys of records are not read."""
        return "generated"

    def description(self) -> Mapping[str, str]:
        """What is set of `ingestion_source`, beside the mapper."""
        return {f"ingestion_source.{name}": str(value) for name, value in self._source.items()}

    @property
    def _source(self) -> Mapping[str, Any]:
        return {**self.source, **self.context.settings}

    def prepare(self) -> None:
        """Refuse a cluster without the plugin."""
        plugins = self._asked("GET", "/_cat/plugins?format=json")
        if all(plugin["component"] != PLUGIN for plugin in plugins):
            raise ProfileError(
                f"sink.pipeline: {self.context.name}: got a cluster without the plugin {PLUGIN}, expected OpenSearch "
                "with it; make one with examples/pull-ingestion/fetch.sh, and name its folder: --distribution FOLDER"
            )

    def start(self) -> None:
        """Make the index anew with its source, or go on with one that has it; no process of its own."""
        index = self.context.index
        described = self._asked("GET", f"/{index}")[index]
        if "ingestion_source" in described["settings"]["index"]:
            self._asked("POST", f"/{index}/ingestion/_resume")
            return
        body = pulling(described, self.context, len(self._partitions()), self._source)
        self._asked("DELETE", f"/{index}")
        self._asked("PUT", f"/{index}", body)

    def has_ended(self) -> bool:
        """Never; commits the durable offsets."""
        self._look()
        return False

    def lag(self, delivered: int) -> int | None:  # noqa: ARG002 - the broker's end offsets are newer
        """Records behind the last Lucene commit; after the last one a flush makes it."""
        self._look()
        return sum(self._ends.values()) - sum(self._done.values()) if self._ends else None

    def stop(self) -> None:
        """Pause it: the index stays as it is."""
        self._asked("POST", f"/{self.context.index}/ingestion/_pause")
        if self._kafka is not None:
            self._kafka.close()
            self._kafka = None

    def _look(self) -> None:
        """Read the positions, at most once a second, and commit them; flush once nothing moves and one is behind."""
        if time.monotonic() - self._looked_s < LOOK_EVERY_S:
            return
        self._looked_s = time.monotonic()
        index = self.context.index
        ends = {partition: self._end(partition) for partition in self._partitions()}
        now = positions(self._asked("GET", f"/{index}/_stats/docs?level=shards&{STATS}{COUNTS}"))
        has_moved = ends != self._ends or {n: at.polled for n, at in now.items()} != self._polled
        self._still_looks = 0 if has_moved else self._still_looks + 1
        self._polled, self._ends = {n: at.polled for n, at in now.items()}, ends
        done = committed(now, ends, is_flushed=self._still_looks > STILL_LOOKS)
        if self._still_looks == STILL_LOOKS:
            self._refuse_pause()
            self._asked("POST", f"/{index}/_flush")
        if done != self._done:
            offsets = [TopicPartition(self.context.topic, partition, offset) for partition, offset in done.items()]
            self._consumer.commit(offsets=offsets, asynchronous=False)
            self._done = done

    def _refuse_pause(self) -> None:
        """Refuse that a shard has paused by itself, as after a record that Kafka's consumer cannot read."""
        states = self._asked("GET", f"/{self.context.index}/ingestion/_state")["ingestion_state"]
        if paused := [str(each["shard"]) for shards in states.values() for each in shards if each["poller_paused"]]:
            raise StackError(
                f"{self.context.name}: the engine has paused shard {', '.join(paused)} after a fatal error; its log "
                "says which: ./sluice logs elasticsearch-1"
            )

    @property
    def _consumer(self) -> Consumer:
        """Subscribes to nothing: it asks for end offsets, and commits."""
        if self._kafka is None:
            given = {"bootstrap.servers": self.context.kafka_bootstrap, "group.id": self.context.group}
            self._kafka = Consumer({**given, "enable.auto.commit": False})
        return self._kafka

    def _partitions(self) -> list[int]:
        topic = self.context.topic
        return sorted(self._consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions)

    def _end(self, partition: int) -> int:
        place = TopicPartition(self.context.topic, partition)
        return int(self._consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)[1])

    def _asked(self, method: str, path: str, body: object = None) -> Any:
        try:
            answer = self._client.request(method, path, json=body)
        except httpx.TransportError as error:
            raise StackError(f"{method} {path.partition('?')[0]}: {type(error).__name__}: {error}") from error
        if answer.is_error:
            raise StackError(f"{method} {path.partition('?')[0]}: {answer.status_code}: {answer.text[:500]}")
        return answer.json()


class Tuned(Default):
    """More threads, a larger queue and larger polls; OpenSearch's page names these settings, and no values for them."""

    source: Mapping[str, str | int] = {
        "num_processor_threads": 2,
        "internal_queue_size": 5000,
        "poll.max_batch_size": 5000,
    }
