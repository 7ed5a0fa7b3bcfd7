"""Dead letters of a connector that runs in the worker: shown, exported and replayed by topic, beside the connector."""

import os
import secrets
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
import pytest
from confluent_kafka import Producer

from lab.clients.kafka import KafkaTopics
from lab.replay.dead_letters import DeadLetterTopic
from tests.integration.conftest import Sluice
from tests.integration.sink_connector import SinkConnector

RAW = {f"{part}.converter": "org.apache.kafka.connect.converters.ByteArrayConverter" for part in ("key", "value")}
REPORTING = {
    "connector.class": "io.sluice.connect.ElasticsearchSinkConnector",
    **RAW,
    "behavior.on.malformed.documents": "report",
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.replication.factor": "1",
    "errors.deadletterqueue.context.headers.enable": "true",
}
QUEUE = "errors.deadletterqueue.topic.name"
MAPPING = {"pages": {"type": "long"}, "placed": {"type": "date"}}


class Queue:
    """A topic of books, the connector that reads it into an index of the same name, and its queue."""

    def __init__(self, sluice: Sluice, elasticsearch: httpx.Client) -> None:
        self.name = f"sluice-test-{secrets.token_hex(4)}"
        self.topic = f"{self.name}-bad"
        self._endpoints = sluice.stack.endpoints()
        self._elasticsearch = elasticsearch
        self.topics = KafkaTopics(self._endpoints.kafka_bootstrap)
        self.connector = SinkConnector(self._endpoints, self.name)

    def begin(self) -> None:
        """Make topic, index and connector."""
        self.topics.create(self.name, partitions=1, replication_factor=1, config={})
        self.make_index()
        self.connector.configure_as({**REPORTING, QUEUE: self.topic})

    def make_index(self) -> None:
        """Make an empty index, in place of the one before if there is one."""
        self._elasticsearch.delete(f"/{self.name}")
        body = {"mappings": {"properties": MAPPING}}
        self._elasticsearch.put(f"/{self.name}", json=body).raise_for_status()

    def fill_another_index(self) -> None:
        """Have the connector read the whole topic again, into an index that is empty."""
        self.connector.stop()
        self.make_index()
        self.connector.reset_offsets()
        self.connector.resume()
        self.connector.wait_until_drained()

    def make_anew(self) -> None:
        """Delete the topic, and make one of the same name in its place."""
        self.connector.stop()
        self.topics.delete([self.name])
        self.topics.create(self.name, partitions=1, replication_factor=1, config={})
        self.connector.resume()

    def send(self, *books: tuple[str, dict[str, object]]) -> None:
        """Write books with their keys into the topic, and wait until the connector has read them."""
        producer = Producer({"bootstrap.servers": self._endpoints.kafka_bootstrap})
        for key, book in books:
            producer.produce(self.name, orjson.dumps(book), key)
        assert producer.flush(30) == 0
        self.connector.wait_until_drained()

    def accept_malformed(self, field: str) -> None:
        """Have the index accept every value of a field."""
        properties = {field: {**MAPPING[field], "ignore_malformed": True}}
        self._elasticsearch.put(f"/{self.name}/_mapping", json={"properties": properties}).raise_for_status()

    def stored(self) -> dict[str, int]:
        """Version by id of all that the index holds."""
        self._elasticsearch.post(f"/{self.name}/_refresh").raise_for_status()
        found = self._elasticsearch.post(f"/{self.name}/_search", json={"version": True}).json()["hits"]["hits"]
        return {hit["_id"]: hit["_version"] for hit in found}

    def end(self) -> None:
        """Remove what was made."""
        self.connector.delete()
        self.topics.delete([name for name in self.topics.names() if self.name in name])
        self._elasticsearch.delete(f"/{self.name}")


@pytest.fixture
def queue(sluice: Sluice, elasticsearch: httpx.Client) -> Iterator[Queue]:
    """A connector that runs, and its queue."""
    made = Queue(sluice, elasticsearch)
    try:
        made.begin()
        yield made
    finally:
        made.end()


def test_letters_of_a_running_connector_are_replayed_beside_it(sluice: Sluice, queue: Queue) -> None:
    """By the source topic: each is stored with the version of its record, and a newer document stays."""
    queue.send(("a", {"pages": 1}), ("b", {"pages": "many"}), ("c", {"pages": "few"}), ("c", {"pages": 3}))
    before = queue.topics.names()
    queue.accept_malformed("pages")

    done = sluice("dead-letters", "replay", queue.name)

    assert (done.status, done.output, done.errors) == (0, "2 dead letters sent again: 1 indexed, 1 stale\n", "")
    assert queue.stored() == {"a": 0, "b": 1, "c": 3}
    assert queue.topics.end_offsets(queue.name) == {0: 4}
    made = {name for name in queue.topics.names() - before if queue.name in name}
    assert made == {f"{queue.topic}-marks"}
    assert queue.connector.states() == ["RUNNING"]


def test_what_is_rejected_in_two_replays_is_known_by_its_first_place_and_replayed_again(
    sluice: Sluice, queue: Queue, tmp_path: Path
) -> None:
    """Also where fewer letters are left than the replay before had sent.

    Each replay has a topic of its own: the place in it, by which a letter is marked, comes back in no other.
    """
    queue.send(("a", {"pages": 1}), ("b", {"placed": "tomorrow"}), ("c", {"pages": "many"}), ("d", {"pages": "few"}))
    queue.accept_malformed("pages")
    first, second = (sluice("dead-letters", "replay", queue.topic) for _ in range(2))
    assert (first.status, first.output.splitlines()[0]) == (4, "3 dead letters sent again: 2 indexed, 1 refused")
    assert (second.status, second.output.splitlines()[0]) == (4, "1 dead letter sent again: 1 refused")

    shown = sluice("dead-letters", "show", queue.topic)
    assert shown.output.splitlines()[0] == f"{queue.topic}: 1 dead letter; 3 records sent again"
    exported = sluice("dead-letters", "export", queue.topic, "-o", str(tmp_path / "letters.ndjson"))
    assert exported.status == 0
    (line,) = (tmp_path / "letters.ndjson").read_bytes().splitlines()
    letter = orjson.loads(line)
    assert (letter["topic"], letter["offset"], letter["key"]) == (queue.name, 1, "b")
    assert (letter["field"], letter["value"], letter["document"]) == ("placed", "tomorrow", {"placed": "tomorrow"})

    queue.accept_malformed("placed")
    last = sluice("dead-letters", "replay", queue.topic)
    assert (last.status, last.output) == (0, "1 dead letter sent again: 1 indexed\n")
    assert queue.stored() == {"a": 0, "b": 1, "c": 2, "d": 3}


def test_letters_of_a_topic_made_anew_are_not_hidden_by_the_marks_of_the_one_before(
    sluice: Sluice, queue: Queue
) -> None:
    """The records of both are at the same places."""
    queue.send(("a", {"pages": "many"}))
    assert sluice("dead-letters", "discard", queue.topic, "--all", "--yes").status == 0
    queue.make_anew()
    queue.send(("b", {"pages": "few"}))
    shown = sluice("dead-letters", "show", queue.topic)
    assert shown.output.splitlines()[0] == f"{queue.topic}: 1 dead letter; 0 records sent again; 1 discarded"

    queue.accept_malformed("pages")
    done = sluice("dead-letters", "replay", queue.topic)
    assert (done.status, done.output) == (0, "1 dead letter sent again: 1 indexed\n")
    assert queue.stored() == {"b": 0}


def test_a_record_that_is_rejected_again_after_its_replay_is_replayed_again(sluice: Sluice, queue: Queue) -> None:
    """The index that is filled anew lacks its document."""
    queue.send(("a", {"pages": "many"}))
    for _ in range(2):
        queue.accept_malformed("pages")
        done = sluice("dead-letters", "replay", queue.topic)
        assert (done.status, done.output) == (0, "1 dead letter sent again: 1 indexed\n")
        assert queue.stored() == {"a": 0}
        assert sluice("dead-letters", "replay", queue.topic).output.startswith("nothing to replay")
        queue.fill_another_index()


def test_a_replay_by_topic_that_is_killed_is_finished_by_the_next_one(sluice: Sluice, queue: Queue) -> None:
    """Killed as soon as the letters are marked as sent: each is stored once, and nothing of the replay is left."""
    queue.send(("a", {"pages": "many"}), ("b", {"pages": "few"}), ("b", {"pages": 3}))
    before = queue.topics.names()
    queue.accept_malformed("pages")
    letters = DeadLetterTopic(queue.topics, queue.topic)
    command = sluice.start("dead-letters", "replay", queue.topic)
    deadline_s = time.monotonic() + 60
    while len(letters.marks()) < 2 and time.monotonic() < deadline_s:
        time.sleep(0.02)
    os.killpg(command.pid, signal.SIGKILL)
    command.wait()

    done = sluice("dead-letters", "replay", queue.topic)

    assert (done.status, done.errors) == (0, ""), done.output
    assert queue.stored() == {"a": 0, "b": 2}
    assert httpx.get(f"{sluice.stack.endpoints().connect_url}/connectors").json() == [queue.name]
    assert {name for name in queue.topics.names() - before if queue.name in name} == {letters.marks_topic}


def test_a_queue_that_no_connector_has_is_one_sentence(sluice: Sluice, queue: Queue) -> None:
    """Its letters are shown all the same; replayed, it wants the name of a connector."""
    queue.send(("a", {"pages": "many"}))
    queue.connector.configure_as({**REPORTING, QUEUE: f"{queue.name}-other"})
    shown = sluice("dead-letters", "show", queue.topic)
    assert shown.output.splitlines()[0] == f"{queue.topic}: 1 dead letter; 0 records sent again"

    refused = sluice("dead-letters", "replay", queue.topic)

    assert (refused.status, refused.output) == (2, "")
    assert refused.errors == (
        f"sluice: topic {queue.topic}: got no connector with errors.deadletterqueue.topic.name={queue.topic}, "
        f"expected one; name it with --connector; there are: {queue.name}\n"
    )
