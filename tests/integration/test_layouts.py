"""Indices that are made once for each layout and kept, on real servers."""

import httpx
import pytest

from lab.records.run import Layout, Run
from tests.integration.conftest import Sluice

ZSTD = "Zstd814StoredFieldsFormat.mode: BEST_COMPRESSION"
SETTINGS = (
    "dataset.documents=3001",
    "elasticsearch.data_nodes=1",
    "elasticsearch.heap_mb=1024",
    "index.number_of_replicas=0",
    "index.number_of_shards=1",
    "load.queries={clients: 1, warm_up_s: 0, duration_s: 1}",
    "queries.questions=[total-events]",
    "queries.expect_wrong=[]",
)
LOAD = ("events/queries", *(word for setting in SETTINGS for word in ("--set", setting)))


def layout_of(sluice: Sluice, *overrides: str) -> tuple[Run, Layout]:
    """A verified run of queries alone, and the index that it has read."""
    done = sluice.run(*LOAD, *(word for override in overrides for word in ("--set", override)))
    assert (done.status, done.errors) == (0, "")
    run = Run.model_validate_json((sluice.latest() / "run.json").read_text())
    assert run.layout is not None
    assert (run.verification.verified, run.documents.indexed, run.topic) == (True, run.documents.produced, None)
    return run, run.layout


def states(elasticsearch: httpx.Client) -> dict[str, str]:
    """The kept indices of the cluster: open or closed."""
    listed = elasticsearch.get("/_cat/indices/sluice-kept-*?format=json&expand_wildcards=open,closed&h=index,status")
    return {each["index"]: each["status"] for each in listed.json()}


@pytest.mark.long
def test_an_index_is_made_once_and_found_again(sluice: Sluice, elasticsearch: httpx.Client) -> None:
    """Another setting makes another one, beside which it is closed, and it is found as it was left."""
    first, made = layout_of(sluice)
    assert made.made_by == first.run_id
    again, found = layout_of(sluice, "index.requests.cache.enable=false", "verify.sample=7")
    assert (again.index, again.documents, found) == (first.index, first.documents, made)
    assert [phase.name for phase in again.phases] == ["prepare", "fill", "load", "settle", "verify", "collect"]

    other, sharded = layout_of(sluice, "index.number_of_shards=3")
    assert (sharded.made_by, sharded.fingerprint == made.fingerprint) == (other.run_id, False)
    kept = states(elasticsearch)
    assert (kept[first.index], kept[other.index]) == ("close", "open")
    assert layout_of(sluice)[1] == made


def test_what_is_not_as_it_was_verified_is_made_anew(sluice: Sluice, elasticsearch: httpx.Client) -> None:
    """The mark of a whole index is written last, and a single write after it is seen."""
    first, _ = layout_of(sluice)
    elasticsearch.put(f"/{first.index}/_mapping", json={"_meta": {"sluice": {"run": first.run_id}}}).raise_for_status()
    second, made = layout_of(sluice)
    assert made.made_by == second.run_id

    hit = elasticsearch.get(f"/{second.index}/_search?size=1").json()["hits"]["hits"][0]
    elasticsearch.put(f"/{second.index}/_doc/{hit['_id']}?refresh=true", json=hit["_source"]).raise_for_status()
    third, made = layout_of(sluice)
    assert made.made_by == third.run_id


@pytest.mark.long
def test_every_route_ends_with_its_codec_and_all_documents(sluice: Sluice) -> None:
    """Both rewritten ones begin with one segment, which a force-merge alone would leave as it is."""
    shards, merged = "index.number_of_shards=3", "load.segments=1"
    for route in ("loaded", "reindexed", "rewritten"):
        before = () if route == "loaded" else ("load.codec_before=default",)
        _, made = layout_of(sluice, shards, merged, "index.codec=best_compression", f"load.route={route}", *before)
        assert (made.route, made.codecs, made.segments) == (route, {ZSTD: 3}, 3)
    _, control = layout_of(sluice, shards, merged, "load.route=rewritten", "load.codec_before=best_compression")
    assert control.codecs == {"Lucene90StoredFieldsFormat.mode: BEST_SPEED": 3}
