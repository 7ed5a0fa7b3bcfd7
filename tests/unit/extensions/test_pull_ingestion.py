"""OpenSearch's pull-based ingestion as a package: its positions, its index, and the cases that fit it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.cli.prove import for_pulling
from lab.extensions import PipelineContext
from lab.prove.cases import BY_NAME

EXAMPLE = Path(__file__).parents[3] / "examples" / "pull-ingestion"
MODULE = "sluice_pull_ingestion"


@pytest.fixture(name="package")
def _package(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The package's module."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    yield __import__(MODULE)
    sys.modules.pop(MODULE, None)


def copy_of(shard: dict[str, Any], *, primary: bool = True) -> dict[str, Any]:
    """One copy of a shard as `_stats?level=shards` has it."""
    return {"routing": {"primary": primary}, **shard}


def test_positions_are_those_of_primary_shards(package: Any) -> None:
    """As OpenSearch 3.8.0 answers: three records dropped before a flush, and nothing committed by another shard yet."""
    first = {
        "commit": {"user_data": {"batch_start": "503"}},
        "polling_ingest_stats": {
            "message_processor_stats": {"total_processed_count": 501},
            "consumer_stats": {
                "total_polled_count": 504,
                "total_poller_message_dropped_count": 3,
                "total_duplicate_message_skipped_count": 0,
                "pointer_based_lag": 0,
            },
        },
    }
    shards = {"0": [copy_of({}, primary=False), copy_of(first)], "1": [copy_of({"commit": {"user_data": {}}})]}
    assert package.positions({"indices": {"books": {"shards": shards}}}) == {
        0: package.Position(durable=503, polled=504, done=504, behind=0),
        1: package.Position(durable=-1, polled=0, done=0, behind=0),
    }


@pytest.mark.parametrize(
    ("is_flushed", "done", "behind", "offset"),
    [(False, 493, 0, 491), (True, 493, 0, 493), (True, 492, 0, 491), (True, 493, 7, 491)],
    ids=["not flushed", "flushed", "one in a queue", "seven not read"],
)
def test_the_end_is_committed_only_once_all_is_flushed(
    package: Any, *, is_flushed: bool, done: int, behind: int, offset: int
) -> None:
    """Before, it is the pointer of the slowest thread."""
    at = package.Position(durable=491, polled=493, done=done, behind=behind)
    assert package.committed({0: at}, {0: 493}, is_flushed=is_flushed) == {0: offset}


def test_the_index_is_made_anew_with_a_shard_for_each_partition(package: Any, tmp_path: Path) -> None:
    """A shard reads the partition of its number: with fewer shards, records would never be read."""
    context = PipelineContext(
        "pull", "kafka:9092", "books", "group", ("http://a:9200",), "i", {}, 1, tmp_path, tmp_path
    )
    described = {
        "settings": {"index": {"uuid": "x", "creation_date": "1", "number_of_shards": "1", "refresh_interval": "5s"}},
        "mappings": {"_meta": {"sluice": {"run": "r"}}},
    }
    body = package.pulling(described, context, 3, {"error_strategy": "block"})
    index = body["settings"]["index"]
    source = index.pop("ingestion_source")
    assert index == {"number_of_shards": 3, "refresh_interval": "5s", "replication": {"type": "SEGMENT"}}
    assert (source["error_strategy"], source["param"]) == (
        "block",
        {"topic": "books", "bootstrap_servers": "kafka:9092"},
    )
    assert body["mappings"] == described["mappings"]


def test_cases_about_requests_and_processes_do_not_fit_a_cluster_that_reads_the_topic() -> None:
    """Blocks, bad records, a pause and a killed node do."""
    names = ("calm", "full-queue", "slow", "write-block", "no-key", "restart", "join", "killed", "node-killed")
    left = for_pulling([BY_NAME[name] for name in names])
    assert [case.name for case in left] == ["calm", "write-block", "no-key", "restart", "node-killed"]
