"""The shard of an id by the servers' rule, and the node of its primary by what they say."""

import io
from typing import Any, cast

import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import ProfileError, StackError
from lab.profiles import Direct
from lab.run.load.bodies import BulkBodies, Span
from lab.run.load.direct import ReadySender
from lab.run.load.shards import ShardTable, shard_table, url_of
from tests.unit.clients.rest_server import rest

NODES = {
    "nodes": {
        "kXq": {"http": {"publish_address": "127.0.0.1:9207"}},
        "w0R": {"http": {"publish_address": "127.0.0.1:9211"}},
    }
}


IDS = ("0", "book-7", "책 1", "\U0001f4d62", "78")


def state(shards: dict[str, Any], created: int = 8_536_000, **settings: Any) -> dict[str, Any]:
    """The answer about an index that a server of some version has made."""
    index = {"version": {"created": str(created)}, **settings}
    described = {"routing_num_shards": 1024, "settings": {"index": index}}
    return {"metadata": {"indices": {"books": described}}, "routing_table": {"indices": {"books": {"shards": shards}}}}


def copies(primary: str | None, *replicas: str) -> list[dict[str, Any]]:
    """The copies of a shard by their nodes, a replica first."""
    return [*({"primary": False, "node": node} for node in replicas), {"primary": True, "node": primary}]


def table_of(answer: dict[str, Any]) -> ShardTable:
    """The table that is read from a cluster which answers so."""
    with rest((200, answer), (200, NODES)) as server:
        return shard_table(ElasticsearchClient([server.url], patience_s=0), "books", "https")


def test_a_body_goes_to_the_node_that_holds_the_primary() -> None:
    """In the order of the shards' numbers, and not of their names."""
    shards = {str(number): copies(("kXq", "w0R")[number % 2], "w0R") for number in (10, 2, *range(2), *range(3, 10))}
    urls = ("https://127.0.0.1:9207", "https://127.0.0.1:9211")
    assert table_of(state(shards)) == ShardTable(1024, tuple(urls[number % 2] for number in range(11)))


@pytest.mark.parametrize(
    ("routing_shards", "shards", "expected"),
    [(36, 6, (2, 5, 4, 2, 3)), (36, 18, (6, 16, 12, 6, 10)), (36, 2, (0, 1, 1, 0, 1)), (640, 5, (3, 2, 2, 1, 2))],
    ids=["six", "split", "shrunk", "default"],
)
def test_an_id_is_in_the_shard_that_servers_before_9_4_tell(
    routing_shards: int, shards: int, expected: tuple[int, ...]
) -> None:
    """`_search_shards` of Elasticsearch 7.17.7 to 9.0.0 and OpenSearch 2.19.1 to 3.8.0 told these."""
    table = ShardTable(routing_shards, ("",) * shards)
    assert tuple(table.shard_of(key.encode()) for key in IDS) == expected


@pytest.mark.parametrize(
    ("shards", "expected"), [(6, (0, 2, 0, 1, 2)), (18, (12, 14, 6, 13, 2)), (2, (0, 0, 0, 1, 0)), (5, (0, 4, 3, 2, 1))]
)
def test_an_id_is_in_the_shard_that_later_servers_tell(shards: int, expected: tuple[int, ...]) -> None:
    """`_search_shards` of Elasticsearch 9.5.3 and 9.5.4 told these, for the index that it says has routing shards."""
    table = table_of(state({str(number): copies("kXq") for number in range(shards)}, created=9_064_000))
    assert tuple(table.shard_of(key.encode()) for key in IDS) == expected


@pytest.mark.parametrize("created", [7_17_07_99, 9_063_0_00, 136_407_927], ids=["7.17", "9.3", "OpenSearch 2.19"])
def test_other_indices_have_routing_shards(created: int) -> None:
    """The version that made an index decides, and not the one that holds it."""
    assert table_of(state({"0": copies("kXq")}, created=created)).routing_shards == 1024


@pytest.mark.parametrize("settings", [{"routing_partition_size": "3"}, {"routing_path": ["host"]}])
def test_an_index_whose_ids_do_not_tell_the_shard_is_refused(settings: dict[str, Any]) -> None:
    """By its setting; a partition size of 1 is the usual rule."""
    (name,) = settings
    with pytest.raises(ProfileError, match=rf"^load\.bulk_by_shard: got true, .* has `index\.{name}`"):
        table_of(state({"0": copies("kXq")}, **settings))
    assert table_of(state({"0": copies("kXq")}, routing_partition_size="1")).urls == ("https://127.0.0.1:9207",)


@pytest.mark.parametrize("node", [None, "gone"])
def test_a_primary_on_no_known_node_ends_the_load(node: str | None) -> None:
    """It is unassigned, or its node has left since."""
    with pytest.raises(StackError, match=r"^index books: 1 of 2 primary shards are on no node$"):
        table_of(state({"0": copies("kXq"), "1": copies(node)}))


def test_a_node_with_a_name_is_called_by_that() -> None:
    """Certificates hold names."""
    assert url_of("es-1.local/10.0.0.7:9200", "https") == "https://es-1.local:9200"
    assert url_of("[::1]:9200", "http") == "http://[::1]:9200"


def test_a_body_of_one_shard_names_the_node_of_its_primary() -> None:
    """Of its own index; one of mixed documents goes over the only node of its connection."""
    tables = (ShardTable(6, ("a", "b", "a")), ShardTable(4, ("b", "a")))
    bodies = BulkBodies(io.BytesIO(), (Span(0, 7, 1, 0, 1), Span(7, 7, 1, 1, 1), Span(14, 7, 1)), 21)
    ready = ReadySender(Direct(via="direct"), bodies, cast("Any", None), tables, 0.0)
    assert ready.spans == [(0, 7, 1, 0, 1), (7, 7, 1, 1, 0), (14, 7, 1, 0, 0)]
