"""Connector configurations of the pages, each created as it stands there on a worker with a single broker."""

import json
import re
import secrets
import time

import httpx
import pytest
import yaml
from confluent_kafka import Producer

from lab.clients.kafka import KafkaTopics
from lab.stack.places import ROOT
from tests.integration.conftest import Sluice
from tests.integration.sink_connector import POLL_S, SinkConnector

README = (ROOT / "connect" / "README.md").read_text(encoding="utf-8")
SMALLEST = re.compile(r"-d '(\{[^']*connector\.class[^']*\})'")
WITH_QUEUE = re.compile(r"```json\n((?:\"[^\n]*\n)*\"errors\.deadletterqueue\.topic\.name\"(?:[^`]*))```")
QUEUE = "errors.deadletterqueue.topic.name"


def documented() -> dict[str, dict[str, str]]:
    """The configurations by the place where a reader finds them."""
    (smallest,), (queue,) = SMALLEST.findall(README), WITH_QUEUE.findall(README)
    example = json.loads((ROOT / "connect" / "etc" / "elasticsearch-sink.json").read_bytes())
    _, strimzi = yaml.safe_load_all((ROOT / "connect" / "etc" / "strimzi-kafkaconnect.yaml").read_text())
    return {
        "README, smallest": json.loads(smallest),
        "README, with a dead-letter queue": json.loads(smallest) | json.loads(f"{{{queue}}}"),
        "etc/elasticsearch-sink.json": example["config"],
        "etc/strimzi-kafkaconnect.yaml": {"connector.class": strimzi["spec"]["class"], **strimzi["spec"]["config"]},
    }


def trace_of_failure(connector: SinkConnector, within_s: float = 60) -> str:
    """Why the connector's task has failed, once it has."""
    deadline_s = time.monotonic() + within_s
    while connector.states() != ["FAILED"] and time.monotonic() < deadline_s:
        time.sleep(POLL_S)
    return connector.traces()[0]


@pytest.mark.parametrize("place", documented())
def test_a_documented_connector_runs_on_one_broker_and_keeps_what_is_bad(
    sluice: Sluice, elasticsearch: httpx.Client, place: str
) -> None:
    """A good document is stored; a bad one is in the dead-letter queue, or fails the task where there is none."""
    settings, name = documented()[place], f"sluice-test-{secrets.token_hex(4)}"
    endpoints = sluice.stack.endpoints()
    connector, topics, letters = SinkConnector(endpoints, name), KafkaTopics(endpoints.kafka_bootstrap), f"{name}-dead"
    topics.create(name, partitions=1, replication_factor=1, config={})
    try:
        connector.configure_as({**settings, QUEUE: letters} if QUEUE in settings else settings)
        producer = Producer({"bootstrap.servers": endpoints.kafka_bootstrap})
        producer.produce(name, b'{"title": "a good one"}', b"1")
        connector.wait_until(lambda: elasticsearch.get(f"/{name}/_doc/1").is_success, "stored")
        producer.produce(name, b"no document", b"2")
        assert producer.flush(30) == 0
        if QUEUE in settings:
            connector.wait_until(lambda: [each.key for each in topics.dead_letters(letters)] == [b"2"], "a letter")
            assert connector.states() == ["RUNNING"]
        else:
            assert f"{name}-0@1" in trace_of_failure(connector)
    finally:
        connector.delete()
        topics.delete([name, letters])
        elasticsearch.delete(f"/{name}")
