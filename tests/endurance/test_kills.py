"""Servers killed again and again while updates and deletes stream: nothing is lost, stale, doubled or undead."""

import os
import random
import signal
import threading
import time
from collections import Counter

import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.stack.local import LocalStack
from lab.stack.shape import StackShape
from tests.endurance.say import say
from tests.integration.conftest import Sluice
from tests.integration.keyed_stream import Comparison, KeyedStream, stored_documents
from tests.integration.sink_connector import SinkConnector

NAME = "sluice-kills"
KEYS = 50_021
RECORDS_PER_S = 1_501
PARTITIONS = 3
TASKS = 2
SERVERS = ("kafka", "elasticsearch-1", "connect")
"""In the order in which they are started again: the worker needs the broker."""
SECOND_NODE = "elasticsearch-2"

INDEX = {
    "settings": {
        "number_of_shards": 2,
        "number_of_replicas": 0,
        # How long Elasticsearch remembers the version of a deleted document. With the default of a minute it would fix
        # most deletes that are overtaken by an older operation; the sink has to do without.
        "gc_deletes": "1s",
    },
    "mappings": {"properties": {"number": {"type": "long"}, "key": {"type": "keyword"}, "text": {"enabled": False}}},
}


@pytest.fixture
def stack(own_sluice: Sluice, data_nodes: int) -> LocalStack:
    """Servers of this test alone."""
    own_sluice.stack.ensure(StackShape(data_nodes=data_nodes), kept=True)
    return own_sluice.stack


def kill_for(stack: LocalStack, minutes: float, chance: random.Random) -> Counter[str]:
    """Kill one server, or two or all three at once, start them again, and so on; how often each was killed.

    A second node is killed in each round and started again in the next one.
    """
    kills: Counter[str] = Counter()
    has_second_node, is_dead = SECOND_NODE in stack.process_ids(), False
    deadline = time.monotonic() + 60 * minutes
    while time.monotonic() < deadline or is_dead:
        time.sleep(chance.uniform(0, 7))
        if is_dead:
            stack.restart(SECOND_NODE)
        elif has_second_node:
            os.kill(stack.process_ids()[SECOND_NODE], signal.SIGKILL)
            kills[SECOND_NODE] += 1
        is_dead = has_second_node and not is_dead
        several = chance.choices((1, 2, 3), weights=(8, 2, 1))[0]
        victims = chance.sample(SERVERS, several)
        for name in victims:
            os.kill(stack.process_ids()[name], signal.SIGKILL)
        kills.update(victims)
        time.sleep(chance.uniform(0, 5))
        for name in SERVERS:
            if name in victims:
                stack.restart(name)
        say(f"killed and started again: {', '.join(sorted(victims))}")
    return kills


@pytest.mark.timeout(0)
def test_kills_cost_no_update_and_no_delete(minutes: float, seed: int, stack: LocalStack, data_nodes: int) -> None:
    """After all the kills every document is the last one produced for its key, and what was deleted is gone."""
    endpoints = stack.endpoints()
    cluster = ElasticsearchClient(endpoints.elasticsearch_urls)
    settings = {**INDEX["settings"], "number_of_replicas": data_nodes - 1}
    cluster.create_index(NAME, {**INDEX, "settings": settings})
    topics = KafkaTopics(endpoints.kafka_bootstrap)
    topics.create(NAME, partitions=PARTITIONS, replication_factor=1, config={})
    connector = SinkConnector(endpoints, NAME)
    # A worker that is dead is missed sooner, so that more kills fall into these minutes.
    connector.configure(tasks__max=TASKS, consumer__override__session__timeout__ms=6000)
    stream = KeyedStream(endpoints.kafka_bootstrap, NAME, keys=KEYS, seed=seed)
    over = threading.Event()
    sender = threading.Thread(target=stream.send_at, args=(RECORDS_PER_S, over.is_set), daemon=True)
    sender.start()

    kills = kill_for(stack, minutes, random.Random(seed))  # noqa: S311 - a test that can be repeated
    over.set()
    sender.join()
    stream.finish()
    connector.wait_until_drained(600)
    connector.wait_until(lambda: len(connector.ledgers()) == TASKS, "seen in the metrics")

    comparison = stream.compared_with(stored_documents(cluster, NAME))
    say(f"kills {dict(kills)}; produced {stream.produced} {dict(stream.sent)}; {comparison}")
    assert sum(topics.end_offsets(NAME).values()) == stream.produced
    assert set(kills) == {*SERVERS, *([SECOND_NODE] if data_nodes > 1 else [])}
    assert connector.states() == ["RUNNING"] * TASKS
    assert connector.balance() == [0] * TASKS
    assert comparison == Comparison(compared=comparison.compared)
