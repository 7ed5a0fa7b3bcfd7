"""Bulk requests of one shard: the shard of an id as the server tells it, and a load that is sent so."""

from collections.abc import Iterator

import httpx
import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.engines import DEFAULT
from lab.engines.elasticsearch import ELASTICSEARCH
from lab.records.run import Run
from lab.run.load.shards import shard_table
from lab.stack.artifacts import read_lock
from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice

BOOKS = 5003
IDS = [f"{prefix}{number}" for number in range(79) for prefix in ("", "book-", "책 ", "\U0001f4d6")]
INDEX = "shards-of-ids"
NEWEST = read_lock().releases(ELASTICSEARCH)[-1]


@pytest.fixture(
    params=[DEFAULT, pytest.param(NEWEST, marks=pytest.mark.shape(f"version {NEWEST.version}"))],
    ids=lambda wanted: wanted.set_name,
)
def elasticsearch(request: pytest.FixtureRequest, sluice: Sluice) -> Iterator[httpx.Client]:
    """The session's node of each rule: 9.4 and later have no routing shards."""
    endpoints = sluice.stack.ensure(StackShape(release=request.param), kept=True)
    with httpx.Client(base_url=endpoints.elasticsearch_urls[0], timeout=30) as client:
        yield client


@pytest.fixture
def indices(elasticsearch: httpx.Client) -> Iterator[list[str]]:
    """An index of six shards, one that was split from it, and one that was shrunk from it."""
    names = [INDEX, f"{INDEX}-split", f"{INDEX}-shrunk"]
    settings = {"number_of_shards": 6, "number_of_replicas": 0, "number_of_routing_shards": 36}
    elasticsearch.put(f"/{INDEX}", json={"settings": settings}).raise_for_status()
    elasticsearch.put(f"/{INDEX}/_settings", json={"index.blocks.write": True}).raise_for_status()
    for name, method, shards in zip(names[1:], ("_split", "_shrink"), (18, 2), strict=True):
        others = {"index.number_of_shards": shards}
        elasticsearch.put(f"/{INDEX}/{method}/{name}", json={"settings": others}).raise_for_status()
    yield names
    elasticsearch.delete(f"/{','.join(names)}").raise_for_status()


def test_an_id_is_in_the_shard_that_the_server_tells(elasticsearch: httpx.Client, indices: list[str]) -> None:
    """Also where a split or a shrink has kept a number of routing shards that its own shards would not give."""
    cluster = ElasticsearchClient([str(elasticsearch.base_url)])
    for index in indices:
        table = shard_table(cluster, index)
        told = {}
        for key in IDS:
            answer = elasticsearch.get(f"/{index}/_search_shards", params={"routing": key}).raise_for_status().json()
            ((copy,),) = answer["shards"]
            told[key] = copy["shard"]
        assert {key: table.shard_of(key.encode()) for key in IDS} == told
        assert set(told.values()) == set(range(len(table.urls)))


def test_a_direct_load_by_shard_stores_what_a_mixed_one_does(sluice: Sluice) -> None:
    """Its requests are of one shard each, and the record and the report say so."""
    done = sluice.run("sink/direct", "--documents", str(BOOKS), "--set", "load.bulk_by_shard=true",
                      "--set", "index.number_of_shards=6", "--set", "load.batch_documents=101")  # fmt: skip

    assert (done.status, done.errors) == (0, "")
    result = sluice.result()
    assert (result.status, result.documents.indexed, result.bulk_by_shard) == ("verified", BOOKS, True)
    direct = Run.model_validate_json((sluice.latest() / "run.json").read_bytes()).direct
    assert direct is not None
    assert (direct.accepted, direct.bulk_by_shard) == (BOOKS, True)
    assert "of one shard each" in (sluice.latest() / "report.html").read_text()
