"""A look at a connector of the real servers: it names a bottleneck made on purpose, and leaves nothing behind."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
import pytest
from confluent_kafka.admin import AdminClient

from lab.clients.connect import ConnectWorker
from lab.clients.kafka import KafkaTopics
from lab.endpoints import Endpoints
from lab.profiles import load_profile
from tests.integration.conftest import Sluice

NAME = "inspected-orders"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
SECRET = "correct-horse-battery"
pytestmark = pytest.mark.integration


@pytest.fixture
def slow_connector(sluice: Sluice, elasticsearch: httpx.Client) -> Iterator[Endpoints]:
    """A connector that sends requests of twenty documents, while 200,000 wait."""
    there = sluice.stack.endpoints()
    topics, worker = KafkaTopics(there.kafka_bootstrap), ConnectWorker(there.connect_url, access=there.access)
    done = sluice("produce", NAME, "--bootstrap-servers", there.kafka_bootstrap, "--documents", "200000")
    assert (done.status, done.errors) == (0, "")
    config = {
        "connector.class": "io.sluice.connect.ElasticsearchSinkConnector",
        "topics": NAME,
        "tasks.max": "1",
        "connection.url": there.elasticsearch_urls[0],
        "connection.username": "shop",
        "connection.password": SECRET,
        "key.converter": BYTES,
        "value.converter": BYTES,
        "batch.size": "20",
    }
    worker.create(NAME, config)
    try:
        worker.wait_until_running(NAME)
        deadline_s = time.monotonic() + 60
        # The sink makes the index before its first request.
        while elasticsearch.head(f"/{NAME}").status_code != 200 and time.monotonic() < deadline_s:
            time.sleep(0.2)
        yield there
    finally:
        worker.delete(NAME)
        worker.close()
        topics.delete([NAME])
        elasticsearch.delete(f"/{NAME}")


def everything(there: Endpoints, elasticsearch: httpx.Client) -> tuple[set[str], set[str], set[str], object]:
    """Names of topics, consumer groups and indices, and the configuration of the connector."""
    groups = AdminClient({"bootstrap.servers": there.kafka_bootstrap}).list_consumer_groups().result()
    indices = {of["index"] for of in elasticsearch.get("/_cat/indices?format=json").json()}
    config = httpx.get(f"{there.connect_url}/connectors/{NAME}/config").json()
    return KafkaTopics(there.kafka_bootstrap).names(), {group.group_id for group in groups.valid}, indices, config


def test_it_names_tiny_requests_writes_a_profile_and_changes_nothing(
    sluice: Sluice,
    slow_connector: Endpoints,
    elasticsearch: httpx.Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The password, which Connect's REST API gives to anybody, is nowhere in what it prints and writes."""
    monkeypatch.chdir(tmp_path)
    before = everything(slow_connector, elasticsearch)

    done = sluice("inspect", NAME, "--seconds", "6", "--as-profile", "orders", "--documents", "1009", "--json")

    assert done.status == 0, done.errors
    found = orjson.loads(done.output)
    assert (found["limited_by"]["stage"], found["not_read"]) == ("bulk size", {})
    assert found["limited_by"]["tries"][0] == {
        "setting": "batch.size",
        "now": "20",
        "then": "2000",
        "why": "fewer requests for the same documents",
    }
    assert everything(slow_connector, elasticsearch) == before
    profile = load_profile("orders")
    assert (profile.sink.tasks, profile.sink.config["batch.size"]) == (1, "20")
    lines = (tmp_path / "documents" / "orders.ndjson").read_bytes().splitlines()
    assert len(lines) == 2 * 1009
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert [text for text in (done.output, done.errors, *written) if SECRET in text] == []
