"""The Elasticsearch reader against servers that answer, refuse and vanish."""

from typing import Any

import httpx
import pytest

from lab.monitor.elasticsearch import ElasticsearchReader, node_counters, shard_counters
from lab.records.samples import NodeCounters
from tests.unit.messages import MakeMessage
from tests.unit.monitor.servers import elasticsearch, half_of_stats, node_stats, server


def reader(*urls: str) -> ElasticsearchReader:
    """A reader whose clock advances 2 s with each look at it."""
    ticks = iter(range(100, 200, 2))
    return ElasticsearchReader(urls, "books", timeout_s=2, now=lambda: float(next(ticks)))


def test_every_counter_comes_from_the_field_of_its_name() -> None:
    """A counter that reads its neighbour's field would go unnoticed in any run."""
    with server(elasticsearch) as url:
        sample = reader(url).read()
    assert sample.primaries.model_dump() == {
        "docs_count": 1000,
        "store_size_bytes": 1001,
        "index_total": 1002,
        "index_time_ms": 1003,
        "index_failed": 1004,
        "throttle_time_ms": 1005,
        "query_total": 1006,
        "query_time_ms": 1007,
        "merges_current": 1008,
        "merges_total": 1009,
        "merges_time_ms": 1010,
        "merges_throttled_time_ms": 1011,
        "refresh_total": 1012,
        "refresh_time_ms": 1013,
        "flush_total": 1014,
        "flush_time_ms": 1015,
        "segments_count": 1016,
        "translog_size_bytes": 1017,
        "query_current": 1018,
        "fetch_total": 1019,
        "fetch_time_ms": 1020,
        "request_cache_hits": 1021,
        "request_cache_misses": 1022,
        "request_cache_evictions": 1023,
        "query_cache_hits": 1024,
        "query_cache_misses": 1025,
    }
    assert sample.total.index_total == 2002


def test_an_index_that_reads_its_topic_itself_has_indexed_what_its_primaries_have_processed() -> None:
    """OpenSearch counts none of these documents as indexed; a replica counts them once more."""

    def copy(processed: int, *, primary: bool) -> dict[str, Any]:
        done = {"message_processor_stats": {"total_processed_count": processed}}
        return {"routing": {"primary": primary, "node": "node-id"}, "polling_ingest_stats": done}

    shards = {"0": [copy(300, primary=True), copy(290, primary=False)], "1": [copy(40, primary=True)]}

    def answer(path: str, body: bytes) -> tuple[int, Any]:
        status, tree = elasticsearch(path, body)
        if "_nodes" not in path:
            assert "level=shards" in path
            halves = {name: half_of_stats(0) for name in ("primaries", "total")}
            for half in halves.values():
                half["indexing"]["index_total"] = 0
            tree = {"_all": halves, "indices": {"books": {"shards": shards}}}
        return status, tree

    with server(answer) as url:
        sample = ElasticsearchReader([url], "books", timeout_s=2, now=lambda: 0.0, is_pulled=True).read()
    assert (sample.primaries.index_total, sample.total.index_total) == (340, 340)


def test_the_instant_of_a_reading_is_half_way_to_the_answer() -> None:
    """The counters are as old as the answer is slow."""
    with server(elasticsearch) as url:
        assert reader(url).read().read_s == 101.0


def test_a_node_is_named_as_it_names_itself() -> None:
    """Node ids change with every start of an embedded server; names do not."""
    with server(elasticsearch) as url:
        nodes = reader(url).read().nodes
    assert nodes == {
        "elasticsearch-1": NodeCounters(
            cpu_percent=61,
            heap_used_bytes=101,
            heap_max_bytes=1009,
            gc_young_count=7,
            gc_young_time_ms=71,
            gc_old_count=0,
            gc_old_time_ms=0,
            write_queue=3,
            write_rejected=5,
            write_completed=11,
            write_threads=2,
            write_active=1,
            search_threads=4,
            search_active=2,
            search_queue=13,
            search_rejected=17,
            search_completed=19,
            memory_limit_bytes=899_997_696,
            memory_used_bytes=123_457,
            index_total=1013,
            index_time_ms=1019,
            segments_count=23,
            merges_current=2,
        )
    }


def test_only_what_is_used_is_asked_for() -> None:
    """The server under test must not spend its time on answers that nobody reads."""
    asked: list[str] = []

    def answer(path: str, body: bytes) -> tuple[int, Any]:
        asked.append(path)
        return elasticsearch(path, body)

    with server(answer) as url:
        reader(url).read()
    assert [path.partition("?")[0] for path in asked] == [
        "/books/_stats/docs,store,indexing,search,merge,refresh,flush,segments,translog,request_cache,query_cache",
        "/_nodes/stats/jvm,process,os,thread_pool,indices/indexing,segments,merge",
    ]
    assert all("filter_path=" in path for path in asked)


def test_where_shards_are_is_asked_once_there_are_several_nodes() -> None:
    """On a single one they cannot move, and the answer is longer; nodes are told by their names."""
    asked: list[str] = []
    copies = [{"routing": {"primary": False, "node": "a"}}, {"routing": {"primary": True, "node": "b"}}]

    def answer(path: str, _body: bytes) -> tuple[int, Any]:
        asked.append(path)
        if path.startswith("/_nodes"):
            return 200, {"nodes": {"a": node_stats("elasticsearch-1"), "b": node_stats("elasticsearch-2")}}
        shards = {"indices": {"books": {"shards": {"7": copies}}}} if "level=shards" in path else {}
        return 200, {"_all": {"primaries": half_of_stats(1000), "total": half_of_stats(2000)}, **shards}

    with server(answer) as url:
        reading = reader(url)
        assert [reading.read().shard_copies for _ in range(3)] == [
            {},
            *[{"books/7": ("elasticsearch-2", "elasticsearch-1")}] * 2,
        ]
    assert ["level=shards" in path for path in asked if "_stats/docs" in path] == [False, True, True]


def test_an_answer_without_some_shards_is_a_lost_reading(message: MakeMessage) -> None:
    """Their counters would seem to fall, and then to grow by all they had counted."""

    def answer(path: str, body: bytes) -> tuple[int, Any]:
        status, tree = elasticsearch(path, body)
        return status, {**tree, "_shards": {"total": 4, "successful": 3, "failed": 1}}

    with server(answer) as url, pytest.raises(LookupError) as error:
        reader(url).read()
    assert str(error.value) == message(1)


def test_unknown_cpu_and_collectors_are_none() -> None:
    """Minus one is how Elasticsearch says that it does not know."""
    stats = node_stats()
    stats["process"]["cpu"]["percent"] = -1
    stats["jvm"]["gc"]["collectors"] = {"ZGC Cycles": {"collection_count": 3, "collection_time_in_millis": 5}}
    counters = node_counters(stats)
    assert (counters.cpu_percent, counters.gc_young_count, counters.gc_old_time_ms) == (None, None, None)


@pytest.mark.parametrize("limit", ["max", "9223372036854771712"])
def test_a_control_group_without_a_limit_has_none(limit: str) -> None:
    """Version 2 of control groups says so in a word, version 1 by the largest number of whole pages."""
    stats = node_stats()
    stats["os"]["cgroup"]["memory"]["limit_in_bytes"] = limit
    counters = node_counters(stats)
    assert (counters.memory_limit_bytes, counters.memory_used_bytes) == (None, 123_457)


def test_a_server_without_control_groups_says_nothing_of_memory() -> None:
    """Elasticsearch leaves the section out where the kernel has none; that is no limit, and no usage of zero."""
    stats = node_stats()
    del stats["os"], stats["thread_pool"]["search"]
    counters = node_counters(stats)
    assert (counters.memory_limit_bytes, counters.memory_used_bytes, counters.search_active) == (None, None, None)


def test_a_counter_of_searches_that_is_left_out_is_none() -> None:
    """Samples of older versions lack them, too; the run is measured all the same."""
    half = half_of_stats(1000)
    del half["request_cache"]
    counters = shard_counters(half)
    assert (counters.request_cache_hits, counters.query_cache_hits, counters.query_total) == (None, 1024, 1006)


def test_a_missing_index_is_an_error_and_not_zero() -> None:
    """An index that is not there has not indexed nothing."""
    with (
        server(lambda _path, _body: (404, {"error": "no such index"})) as url,
        pytest.raises(httpx.HTTPStatusError) as failure,
    ):
        reader(url).read()
    assert failure.value.response.status_code == 404


def test_an_answer_without_a_counter_names_it() -> None:
    """A server that tells less than every supported version does is not believed silently."""
    with (
        server(lambda _path, _body: (200, {"_all": {"primaries": {}, "total": {}}, "nodes": {}})) as url,
        pytest.raises(KeyError) as failure,
    ):
        reader(url).read()
    assert str(failure.value) == "'indexing.index_total'"


def test_when_one_node_is_gone_the_next_reading_asks_another() -> None:
    """A killed node must not take the figures of the rest with it."""
    with server(elasticsearch) as gone:
        pass
    with server(elasticsearch) as url:
        two = reader(gone, url)
        with pytest.raises(httpx.ConnectError):
            two.read()
        assert two.read().primaries.index_total == 1002


def test_a_node_of_an_older_record_has_indexed_nobody_knows_how_much() -> None:
    """Samples that were taken before nodes were asked for it can still be read."""
    stats = node_stats()
    del stats["indices"]
    counters = node_counters(stats)
    assert (counters.index_total, counters.segments_count, counters.merges_current) == (None, None, None)
    written = counters.model_dump_json(exclude_none=True)
    assert "index_total" not in written
