"""Audits of a pipeline in which faults were made on purpose, on the real servers: each is found, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.target import cluster_of, topics_of
from lab.endpoints import Endpoints
from tests.integration.audit_faults import Stream, document, make_faults
from tests.integration.conftest import Finished, Sluice
from tests.integration.sink_connector import SinkConnector

TOPIC = "audited"
REPAIRED = "audited-again"
OF_EACH = 13
KEYS = 401
LATE = 11
QUEUE = f"{TOPIC}-dlq"


@pytest.fixture
def endpoints(sluice: Sluice, elasticsearch: httpx.Client) -> Endpoints:  # noqa: ARG001 - it is running
    """The session's servers."""
    return sluice.stack.endpoints()


@pytest.fixture
def cluster(endpoints: Endpoints) -> Iterator[ElasticsearchClient]:
    """A client of Elasticsearch."""
    client = cluster_of(endpoints)
    yield client
    client.close()


@pytest.fixture
def connector(endpoints: Endpoints, cluster: ElasticsearchClient) -> Iterator[SinkConnector]:
    """The sink, to whose topic and index the test's records go."""
    topics_of(endpoints).delete([TOPIC, REPAIRED, QUEUE])
    for topic in (TOPIC, REPAIRED):
        topics_of(endpoints).create(topic, partitions=3, replication_factor=1, config={})
    cluster.create_index(TOPIC, {"mappings": {"properties": {"pages": {"type": "long"}}}})
    made = SinkConnector(endpoints, TOPIC)
    yield made
    made.delete()
    cluster.delete_index(TOPIC)


def audited(sluice: Sluice, *options: str) -> tuple[Finished, set[tuple[str, str]]]:
    """What `./sluice audit` says, and kind and id of each finding."""
    folder = Path(sluice.runs) / "audit"
    done = sluice("audit", TOPIC, TOPIC, "--json", "-o", str(folder), *options)
    lines = (folder / "findings.ndjson").read_bytes().splitlines()
    return done, {(found["kind"], found["id"]) for found in map(orjson.loads, lines)}


def traced(sluice: Sluice, key: str) -> str:
    """The sentence of `./sluice trace`."""
    done = sluice("trace", key, "--topic", TOPIC, "--index", TOPIC, "--json")
    assert (done.status, done.errors) == (0, "")
    return str(orjson.loads(done.output)["explained"])


def test_an_audit_finds_each_fault_and_nothing_else(
    sluice: Sluice, endpoints: Endpoints, cluster: ElasticsearchClient, connector: SinkConnector
) -> None:
    """It finds none where there is none; dead letters and records in flight are no faults; all can be repaired."""
    stream = Stream(endpoints.kafka_bootstrap, TOPIC, seed=7)
    stream.send(list(stream.made(KEYS, OF_EACH)))
    connector.configure(
        errors__tolerance="all",
        errors__deadletterqueue__topic__name=QUEUE,
        errors__deadletterqueue__topic__replication__factor=1,
        errors__deadletterqueue__context__headers__enable="true",
        behavior__on__malformed__documents="report",
    )
    connector.wait_until_drained()

    done, found = audited(sluice)
    assert (done.status, found) == (0, set())

    connector.pause()
    faults = make_faults(cluster, TOPIC, stream, OF_EACH)
    stream.send([(f"late-{number}", document(number, 0)) for number in range(LATE)])
    done, found = audited(sluice, "--repair", REPAIRED)
    fates = orjson.loads(done.output)["fates"]
    assert (done.status, found) == (1, faults)
    assert (fates["dead letters"], fates["in flight"]) == (OF_EACH, LATE)
    repaired = [message.key() for message in topics_of(endpoints).records(REPAIRED)]
    assert sorted(repaired) == sorted(key.encode() for kind, key in faults if kind != "unexpected")

    lost = next(key for kind, key in sorted(faults) if kind == "missing")
    assert "missing" in traced(sluice, lost)
    assert "rejected" in traced(sluice, "bad-3")
    assert "not yet read" in traced(sluice, "late-3")
    assert "no record with this key" in traced(sluice, "strange-1")
