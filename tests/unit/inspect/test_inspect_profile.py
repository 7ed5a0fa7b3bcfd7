"""The files of `--as-profile`: a sample of records, the index's mapping, and a profile that can be run."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
import pytest

from lab.clients.kafka import KafkaTopics
from lab.errors import ProfileError
from lab.inspect.connector import settings_of
from lab.inspect.index import InspectedIndex
from lab.inspect.limits import Pipeline
from lab.inspect.profile import sampled_records, write_profile
from lab.profiles import load_profile
from lab.profiles.mapping import load_mapping
from tests.unit.inspect.pipelines import GRAMS, INDEX, ONE_TASK, with_connector, with_figures
from tests.unit.messages import MakeMessage


@dataclass
class Record:
    """A record of a topic."""

    stored_key: bytes | None
    stored_value: bytes | None

    def key(self) -> bytes | None:
        """Its key."""
        return self.stored_key

    def value(self) -> bytes | None:
        """Its value."""
        return self.stored_value


class Topics(KafkaTopics):
    """Partitions 0 and 1 of each topic, with 70 and 3 records."""

    def __init__(self, *held: Record) -> None:
        self.held = held
        self.asked: list[tuple[str, object]] = []

    def end_offsets(self, topic: str) -> dict[int, int]:  # noqa: ARG002 - all are alike
        """The ends."""
        return {0: 70, 1: 3}

    def records(self, topic: str, first: object = None) -> Iterator[Record]:  # type: ignore[override]
        """The records."""
        self.asked.append((topic, first))
        yield from self.held


ENVELOPE = b'{"schema":{"type":"struct"},"payload":{"n":3}}'
RECORDS = (Record(b"a", b'{"n":1}'), Record(b'"b"', b'{"n":2}'), Record(b"c", ENVELOPE), Record(b"d", None))
CONFIG = {
    "batch.size": "20",
    "linger.ms": "1",
    "max.documents.per.second": "300",
    "flush.synchronously": "true",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "connection.password": "correct-horse",
    "errors.tolerance": "all",
}
CONFIGURED = replace(
    with_connector(replace(ONE_TASK, index=GRAMS), tasks_max=3),
    connector=replace(ONE_TASK.connector, tasks_max=3, settings=settings_of(CONFIG, {"max.retries": "9"})),
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def documents(pipeline: Pipeline, *records: Record) -> list[object]:
    """The lines of the file of documents."""
    _, (path, *_) = write_profile(pipeline, Topics(*records), "orders", 11)
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def test_the_newest_records_of_each_partition_are_taken_as_many_of_each() -> None:
    """Of four partitions of two topics."""
    topics = Topics()

    assert list(sampled_records(topics, ("a", "b"), 40)) == []
    assert topics.asked == [("a", {0: 60, 1: 0}), ("b", {0: 60, 1: 0})]


def test_keys_become_ids_and_a_record_without_a_document_is_left_out() -> None:
    """A JSON key loses its quotes, Connect's envelope its schema."""
    assert documents(ONE_TASK, *RECORDS) == [
        {"index": {"_id": "a"}},
        {"n": 1},
        {"index": {"_id": "b"}},
        {"n": 2},
        {"index": {"_id": "c"}},
        {"n": 3},
    ]


@pytest.mark.parametrize(
    "ignored", [{"key.ignore": "true"}, {"key.ignore": "TRUE "}, {"topic.key.ignore": "books , orders"}]
)
def test_with_ignored_keys_documents_have_no_ids(ignored: dict[str, str]) -> None:
    """As the connector makes ids of offsets; Kafka reads a boolean in any case."""
    connector = replace(ONE_TASK.connector, settings=settings_of(ignored, {}))

    assert documents(replace(ONE_TASK, connector=connector), *RECORDS) == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_a_document_stands_in_the_file_as_in_the_topic() -> None:
    """With its digits, on one line; a key that is ignored may be any bytes."""
    pipeline = with_connector(settings={"key.ignore": "true"})

    _, (path, *_) = write_profile(pipeline, Topics(Record(b"\xff", b'{"b":1.10,\n"a":"\\ud800"}')), "orders", 11)

    assert path.read_bytes() == b'{"b":1.10, "a":"\\ud800"}\n'


def test_the_profile_has_the_settings_of_index_and_connector() -> None:
    """Those that our sink has, too; others are named in a comment, and a password nowhere."""
    _, (_, _, path) = write_profile(CONFIGURED, Topics(*RECORDS), "orders", 11)

    profile = load_profile("orders")
    assert profile.index == {"number_of_replicas": 1, "number_of_shards": 1}
    assert (profile.elasticsearch.data_nodes, profile.topic.partitions, profile.sink.tasks) == (2, 1, 3)
    assert profile.sink.config == {
        "batch.size": "20",
        "consumer.override.max.poll.records": "500",
        "max.retries": "9",
    }
    assert "errors.tolerance, flush.synchronously, max.documents.per.second, value.converter" in path.read_text()
    assert "correct-horse" not in path.read_text()


def test_the_mapping_is_the_index_s_own_with_its_analyzers() -> None:
    """So that a run indexes as that cluster does."""
    write_profile(CONFIGURED, Topics(*RECORDS), "orders", 11)

    mapping = load_mapping("orders")
    assert mapping["mappings"] == GRAMS.mapping
    assert mapping["settings"] == {
        "index.analysis.tokenizer.g.type": "ngram",
        "index.analysis.analyzer.grams.tokenizer": "g",
    }


@pytest.mark.parametrize(
    "taken", ["documents/orders.ndjson", "mappings/orders.json", "experiments/profiles/orders.yaml"]
)
def test_a_file_that_exists_is_not_overwritten(taken: str) -> None:
    """Nor is another one written."""
    Path(taken).parent.mkdir(parents=True)
    Path(taken).write_text("mine")

    with pytest.raises(ProfileError, match="exists"):
        write_profile(ONE_TASK, Topics(*RECORDS), "orders", 11)
    assert [path.read_text() for path in Path().rglob("*") if path.is_file()] == ["mine"]


@pytest.mark.parametrize(
    ("pipeline", "records", "expected"),
    [
        (ONE_TASK, (Record(b"a", b"\x00\x00\x00\x00\x01avro"),), "1 record without a JSON object"),
        (ONE_TASK, (), "no records"),
        (replace(ONE_TASK, index=None), RECORDS, "no index"),
    ],
)
def test_without_documents_or_a_mapping_nothing_is_written(
    pipeline: Pipeline, records: tuple[Record, ...], expected: str
) -> None:
    """One sentence, and no file."""
    with pytest.raises(ProfileError, match=expected):
        write_profile(pipeline, Topics(*records), "orders", 11)
    assert [path for path in Path().rglob("*") if path.is_file()] == []


def test_a_sample_that_is_broken_off_leaves_no_file() -> None:
    """As by Ctrl-C while records are read."""

    class BrokenOff(Topics):
        def records(self, topic: str, first: object = None) -> Iterator[Record]:  # type: ignore[override]
            yield from super().records(topic, first)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_profile(ONE_TASK, BrokenOff(*RECORDS), "orders", 11)
    assert [path for path in Path().rglob("*") if path.is_file()] == []


def test_documents_of_topics_that_go_to_other_indices_are_not_taken() -> None:
    """Their fields are not those of the mapping; a backing index is of its data stream."""
    into = {"logs": "logs-shop", "orders": "orders"}
    pipeline = with_connector(
        with_figures(lags={"orders-0": 7, "orders-1": 0, "logs-0": 5}), topics=("logs", "orders"), by_topic=into
    )
    topics = Topics(*RECORDS)

    _, (_, _, path) = write_profile(pipeline, topics, "orders", 11)

    assert [topic for topic, _ in topics.asked] == ["orders"]
    assert load_profile("orders").topic.partitions == 2
    assert ("logs" in path.read_text(), pipeline.connector.topics_into(".ds-logs-shop-2026.11.27-000003")) == (
        False,
        ("logs",),
    )
    assert pipeline.connector.topics_into("renamed") == ("logs", "orders")


def test_a_routing_that_the_index_requires_is_not_asked_of_the_sample() -> None:
    """Its documents have none: each would become a dead letter."""
    index = replace(INDEX, mapping={**INDEX.mapping, "_routing": {"required": True}})

    write_profile(replace(ONE_TASK, index=index), Topics(*RECORDS), "orders", 11)

    assert load_mapping("orders")["mappings"] == INDEX.mapping


SERIES = replace(
    INDEX,
    mapping={
        "properties": {"host": {"type": "keyword", "time_series_dimension": True}, "@timestamp": {"type": "date"}}
    },
    stated={"mode": "time_series", "routing_path": ["host"], "time_series.start_time": "2026-11-27T00:00:00Z"},
    settings={"mode": "time_series"},
)


@pytest.mark.parametrize("stated", [SERIES.stated, {"mode": "time_series"}], ids=["by path", "by dimensions"])
def test_an_index_of_time_series_makes_its_ids_itself(stated: dict[str, object]) -> None:
    """The sample's keys are no ids, and its instants may lie outside the inspected index's bounds."""
    pipeline = replace(CONFIGURED, index=replace(SERIES, stated=stated))

    assert documents(pipeline, *RECORDS) == [{"n": 1}, {"n": 2}, {"n": 3}]
    profile = load_profile("orders")
    assert profile.index == {"mode": "time_series", "routing_path": ["host"]}
    generated = {"behavior.on.null.values": "ignore", "key.ignore": "true", "use.autogenerated.ids": "true"}
    assert profile.sink.config.items() >= generated.items()


@pytest.mark.parametrize(
    ("index", "fact"),
    [
        (replace(INDEX, mapping={"properties": {"shop": {"properties": {"of": {"type": "join"}}}}}), "shop.of"),
        (replace(SERIES, stated={"mode": "time_series"}, mapping=INDEX.mapping), "routing_path"),
    ],
    ids=["join", "no dimension"],
)
def test_an_index_that_no_profile_can_have_is_refused(index: InspectedIndex, fact: str, message: MakeMessage) -> None:
    """Before a record is read, and nothing is written."""
    topics = Topics(*RECORDS)
    with pytest.raises(ProfileError) as error:
        write_profile(replace(ONE_TASK, index=index), topics, "orders", 11)

    assert str(error.value) == message(fact, "--as-profile")
    assert (topics.asked, [path for path in Path().rglob("*") if path.is_file()]) == ([], [])


def test_settings_that_the_release_does_not_take_are_named_and_left_out() -> None:
    """Those of another engine, as of OpenSearch; a routing that is partitioned needs one on each document, too."""
    stated = {"codec": "?", "refresh_interval": "5s", "translog.no_such": "1", "routing_partition_size": "2"}
    write_profile(replace(ONE_TASK, index=replace(INDEX, stated=stated)), Topics(*RECORDS), "orders", 11)

    assert load_profile("orders").index == {"refresh_interval": "5s"}
    assert "index.codec, index.translog.no_such" in Path("experiments/profiles/orders.yaml").read_text()


def test_ignored_keys_delete_nothing() -> None:
    """Our sink refuses both, and its template deletes by tombstones."""
    pipeline = with_connector(settings={"key.ignore": "true", "behavior.on.null.values": "delete"})
    write_profile(pipeline, Topics(*RECORDS), "orders", 11)

    config = load_profile("orders").sink.config
    assert (config["key.ignore"], config["behavior.on.null.values"]) == ("true", "ignore")


def test_a_similarity_that_a_field_names_is_in_the_mapping_file() -> None:
    """Without it, no index can be made of the mapping."""
    settings = {**INDEX.settings, "similarity.mine.type": "BM25"}

    write_profile(replace(ONE_TASK, index=replace(INDEX, settings=settings)), Topics(*RECORDS), "orders", 11)

    assert load_mapping("orders")["settings"] == {"index.similarity.mine.type": "BM25"}


def test_a_name_that_no_profile_can_have_is_refused() -> None:
    """Before anything is read."""
    with pytest.raises(ProfileError, match=r'--as-profile: got "\.\./x"'):
        write_profile(ONE_TASK, Topics(), "../x", 11)
