"""A mapping that was inferred, on real servers: the oldest and the newest Elasticsearch, and the session's own."""

import hashlib
import re
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lab.cli.mapping import accepted_documents
from lab.clients.elasticsearch import ElasticsearchClient
from lab.engines.elasticsearch import ELASTICSEARCH
from lab.errors import StackError, VerificationError
from lab.mapping.check import INDEX, index_documents, index_for_check, refuse_rejections, types_of
from lab.mapping.proposal import propose
from lab.mapping.sample import documents_of, read_sample
from lab.mapping.suites import Documents
from lab.mapping.types import UNINDEXED, Wishes
from lab.mapping.units import disk_bytes, units_of, with_disk_bytes
from lab.records.verification import StoredOnly
from lab.run.verify.stored_only import stored_only
from lab.stack.artifacts import read_lock
from lab.stack.shape import StackShape
from producers.registry import make_dataset
from tests.integration.conftest import Sluice, write_ndjson
from tests.mapping_pairs import PACKED, SAME, TOLD, judge_pairs
from tests.mapping_sources import Source, sources

DOCUMENTS = 503
OLDEST, *_, NEWEST = read_lock().releases(ELASTICSEARCH)


@pytest.fixture(
    params=[pytest.param(each, marks=pytest.mark.shape(f"version {each.version}")) for each in (OLDEST, NEWEST)],
    ids=lambda wanted: wanted.set_name,
    scope="module",
)
def cluster(request: pytest.FixtureRequest, sluice: Sluice) -> Iterator[ElasticsearchClient]:
    """The session's servers, with a node of each version."""
    endpoints = sluice.stack.ensure(StackShape(release=request.param), kept=True)
    with closing(ElasticsearchClient(endpoints.elasticsearch_urls)) as client:
        yield client


def file_of(folder: Path, dataset: str, **options: Any) -> str:
    """A file of a dataset's documents."""
    made = make_dataset(dataset, documents=DOCUMENTS, seed=7, **options)
    path = folder / f"{dataset}.ndjson"
    path.write_bytes(b"".join(value + b"\n" for batch in made.batches(0, DOCUMENTS) for _, value in batch))
    return str(path)


def deep(levels: int) -> dict[str, Any]:
    """Objects in objects."""
    return {"x": deep(levels - 1)} if levels else {"x": 1}


HOSTILE: tuple[Mapping[str, Any], ...] = (
    {
        "id": 1,
        "mixed": 1,
        "when": "2024-02-29",
        "deep": deep(30),
        "a.b": 1,
        "wide": {str(n): n for n in range(300)},
        "c": deep(2),
    },
    {"id": 2, "mixed": "text", "when": "tomorrow", "c": {"x": 2}, "a": {"c": True}, "wide": {"1": "x"}},
    {"id": 3, "mixed": {"x": 1}, "when": 3, "a": {"b": 2.5}, "long": "한" * 40_000, "none": None, "price": 12.5},
    {"id": 4, "mixed": [1, {"x": [2]}], "when": None, "a.c": False, "none": [], "long": "", "price": "12.5"},
    {"id": 2**63, "big": 2**64 - 1, "tags": [[1, 2], [3]], "place": {"lat": 1.5, "lon": 2}, "spot": "1.5,2.5"},
    {"id": "x", "tags": [], "place": {"lat": -90, "lon": 180}, "ip": "::1", "flag": "true", "offers": [{}, {"n": 1}]},
    {"id": "y", "offers": [{"n": 1, "m": [{"k": 1, "l": 2}, {"k": 2}]}], "ip": "10.0.0.1", "spot": "-1,2.0"},
)
"""Types that conflict, dates and none, objects without end, dots in names, names that are values, long and no text."""


@pytest.mark.parametrize("name", ["aladin", "events", "products", "hostile"])
def test_a_mapping_that_is_inferred_takes_every_document(
    cluster: ElasticsearchClient, tmp_path: Path, name: str
) -> None:
    """On each version; what all fields take on disk is told."""
    path = (
        str(write_ndjson(tmp_path / "hostile.ndjson", list(HOSTILE))) if name == "hostile" else file_of(tmp_path, name)
    )
    sample = read_sample(path, 20_000)
    wishes = Wishes(key=sample.key, unsearched=frozenset({"mixed", "c.x"} if name == "hostile" else ()))
    content = propose(sample, wishes, types_of(cluster)).content

    with index_for_check(cluster, content) as index:
        done = index_documents(cluster, index, documents_of(path, 20_000, sample.extent))
        stored = cluster.count(index)
        sizes = disk_bytes(cluster, index)

    assert (done.rejections, done.documents, stored) == ((), sample.documents, sample.documents)
    assert content["mappings"]["dynamic"] is False
    assert sizes is not None
    assert sizes["_id"] > 0
    assert all(unit.disk_bytes is not None for unit in with_disk_bytes(units_of(content, "x"), sizes))
    assert cluster.index_owner(INDEX) is None


@settings(
    max_examples=2,
    database=None,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(packed=st.lists(sources(), min_size=PACKED, max_size=PACKED, unique=True))
def test_a_second_day_is_indexed_as_it_is_or_as_the_lines_of_its_fields_say(
    cluster: ElasticsearchClient, packed: list[Source]
) -> None:
    """Documents of 400 sources, of which some grow, get decimals, other lengths, new names and odd values."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = judge_pairs(cluster, packed, Path(folder))

    assert [pair for pair in pairs if pair.verdict not in {SAME, TOLD}] == []


def test_a_load_has_no_document_that_its_mapping_rejects(
    cluster: ElasticsearchClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first three documents, the second is left out."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mappings").mkdir()
    (tmp_path / "mappings/mine.json").write_text('{"mappings": {"properties": {"n": {"type": "byte"}}}}')
    path = write_ndjson(tmp_path / "a.ndjson", [{"n": 1}, {"n": 299}, {"n": 3}, {"n": 4}])

    left = accepted_documents(cluster, "mine", Documents(str(path), count=3), tmp_path / "runs/left.ndjson")

    assert left == Documents(str(tmp_path / "runs/left.ndjson"), count=2)
    assert [orjson.loads(line) for line in Path(left.path).read_bytes().splitlines()] == [{"n": 1}, {"n": 3}]


def test_a_document_that_is_rejected_is_named_with_the_reason_and_not_quoted(
    cluster: ElasticsearchClient, tmp_path: Path
) -> None:
    """By its line; a strict mapping rejects another field, a type another value."""
    path = str(write_ndjson(tmp_path / "a.ndjson", [{"n": 1}, {"n": "secret"}, {"n": 2, "m": "secret"}, {"n": 3}]))
    content = {"mappings": {"dynamic": "strict", "properties": {"n": {"type": "byte"}}}}

    with index_for_check(cluster, content) as index:
        done = index_documents(cluster, index, documents_of(path, 20_000, "whole"))

    with pytest.raises(VerificationError) as void:
        refuse_rejections(done, "mappings/a.json: not written")
    head, first, second = str(void.value).splitlines()
    assert head == "mappings/a.json: not written: it rejects 2 of 4 documents, expected none:"
    assert first.startswith(f"  {path}:2: failed to parse field [n] of type [byte]")
    assert second.startswith(f"  {path}:3: ")
    assert "introduction of [m] within" in second
    assert "secret" not in str(void.value)


@pytest.mark.parametrize("document", [{"": 1}, {"a": {"": 1}}, {"a..b": 1}, {"a. .b": 1}, {".": 1}, {"a.": 1}])
def test_a_field_without_a_name_is_rejected_by_every_mapping(
    cluster: ElasticsearchClient, document: dict[str, Any]
) -> None:
    """So such a file is refused before a server is asked; that a name is blank, 9.5 rejects and 7.17 does not."""
    mapping = {"mappings": {"dynamic": False, "properties": {"a": {"properties": {"b": {"type": "byte"}}}}}}
    with index_for_check(cluster, mapping) as index:
        done = index_documents(cluster, index, [("here", orjson.dumps(document))])

    assert done.rejected == 1


def test_an_index_that_another_check_deleted_ends_the_check(cluster: ElasticsearchClient) -> None:
    """Its documents went into an index that Elasticsearch made for them, which rejects nothing; that one stays."""
    mapping = {"mappings": {"dynamic": "strict", "properties": {"n": {"type": "byte"}}}}

    def check() -> None:
        with index_for_check(cluster, mapping):
            cluster.delete_index(INDEX)
            assert not index_documents(cluster, INDEX, [("here", orjson.dumps({"m": "text"}))]).rejected

    try:
        with pytest.raises(StackError, match="deleted or replaced during the check"):
            check()

        assert cluster.count(INDEX) == 1
    finally:
        cluster.delete_index(INDEX)


def test_documents_that_were_accepted_and_are_not_there_end_the_check(cluster: ElasticsearchClient) -> None:
    """Another check made the index anew while this one indexed."""
    mapping = {"mappings": {"properties": {"n": {"type": "byte"}}}}

    def documents() -> Iterator[tuple[str, bytes]]:
        for n in range(1001):
            yield f"line {n}", b'{"n": 1}'
        cluster.delete_index(INDEX)
        cluster.create_index(INDEX, mapping)

    try:
        with (
            pytest.raises(StackError, match="got 1 documents, expected 1,001"),
            index_for_check(cluster, mapping) as index,
        ):
            index_documents(cluster, index, documents())
    finally:
        cluster.delete_index(INDEX)


def test_infer_checks_its_mapping_on_the_servers_that_run(sluice: Sluice, tmp_path: Path) -> None:
    """And writes it; of these servers, the check leaves nothing behind."""
    out = tmp_path / "books.json"
    path = file_of(tmp_path, "aladin")

    done = sluice("mapping", "infer", path, "--out", str(out))

    assert (done.status, done.errors) == (0, "")
    assert f"checked: {DOCUMENTS} documents indexed, none rejected; korean_text is `standard` there" in done.output
    assert orjson.loads(out.read_bytes())["mappings"]["dynamic"] is False
    with closing(ElasticsearchClient(sluice.stack.endpoints().elasticsearch_urls)) as client:
        assert client.index_owner(INDEX) is None


def test_check_says_what_a_later_file_breaks_and_what_is_stored_only(
    sluice: Sluice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the servers say of each document by itself; it leaves no index behind."""
    monkeypatch.chdir(tmp_path)
    path = write_ndjson(tmp_path / "odd.ndjson", [odd_document(number) for number in range(211)])
    (tmp_path / "mappings").mkdir()
    tolerant = ODD | {"at": {"type": "date", "ignore_malformed": True}}
    (tmp_path / "mappings/odd.json").write_bytes(orjson.dumps({"mappings": {"dynamic": False, "properties": tolerant}}))
    with closing(ElasticsearchClient(sluice.stack.endpoints().elasticsearch_urls)) as client:
        rejected = rejected_numbers(client, path.read_bytes().splitlines(), tolerant)

        done = sluice("mapping", "check", "odd", "--path", "odd.ndjson")

        assert (done.status, done.errors) == (1, "")
        assert f"checked: {211 - len(rejected)} of 211 documents indexed, {len(rejected)} rejected" in done.output
        rows = [re.split(r"\s*│\s*", line.strip(" │")) for line in done.output.splitlines()]
        assert [(row[2], row[3]) for row in rows if row[0] == "400"] == [("4", "17"), ("1", "8")]
        assert "n: 299" in done.output
        assert "1 document has a value that is stored, but not indexed in its field: at in 1" in done.output
        assert client.index_owner(INDEX) is None


@pytest.mark.parametrize("aggregates", [True, False])
def test_values_that_are_stored_only_are_counted_on_each_version(
    cluster: ElasticsearchClient, monkeypatch: pytest.MonkeyPatch, *, aggregates: bool
) -> None:
    """Also where `_ignored` cannot be aggregated, which is asked for first; a nested object's with its document."""
    if not aggregates:
        monkeypatch.setattr("lab.run.verify.stored_only.MOST_FIELDS", -1)
    lenient = {"type": "byte", "ignore_malformed": True}
    properties = {
        "n": lenient,
        "name": {"type": "text", "fields": {"raw": {"type": "keyword", "ignore_above": 3}}},
        "of": {"type": "nested", "properties": {"n": lenient}},
    }
    documents = [{"n": "x"}, {"n": 1, "name": "long"}, {"n": 1}, {"n": "y", "of": [{"n": "x"}, {"n": "y"}]}]

    with index_for_check(cluster, {"mappings": {"properties": properties}}) as index:
        index_documents(cluster, index, [("here", orjson.dumps(document)) for document in documents])
        found = stored_only(cluster, index)

    assert found == StoredOnly(documents=3, fields={"n": 2, "name.raw": 1, "of.n": 1})


def test_explain_leaves_out_what_servers_reject_and_begins_with_the_largest_field(
    sluice: Sluice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The servers tell both: each document is indexed by itself, and the whole with one field less.

    The command is interrupted where its measurement begins.
    """
    monkeypatch.chdir(tmp_path)
    path = write_ndjson(tmp_path / "odd.ndjson", [odd_document(number) for number in range(211)])
    (tmp_path / "mappings").mkdir()
    (tmp_path / "mappings/odd.json").write_bytes(orjson.dumps({"mappings": {"dynamic": False, "properties": ODD}}))
    lines = path.read_bytes().splitlines()
    with closing(ElasticsearchClient(sluice.stack.endpoints().elasticsearch_urls)) as client:
        rejected = rejected_numbers(client, lines)
        accepted = [line for number, line in enumerate(lines) if number not in rejected]
        smaller = {name: stored_bytes(client, ODD | {name: dict(UNINDEXED)}, accepted) for name in ODD}

    explain = sluice.start("mapping", "explain", "odd", "--path", "odd.ndjson", "--minutes", "9", "--runs", "runs")
    assert explain.stdout is not None
    output = "".join(iter(lambda: (line := explain.stdout.readline()) * (not line.startswith("first block")), ""))
    explain.send_signal(signal.SIGINT)
    explain.communicate(timeout=60)

    assert f"left out: {len(rejected)} of 211 rejected (first: odd.ndjson:{rejected[0] + 1}: " in output
    assert (tmp_path / "runs/explain-odd.ndjson").read_bytes().splitlines() == accepted
    largest, *_ = re.findall(r"^ without (\S+)", output, re.MULTILINE)
    assert largest == min(smaller, key=lambda name: smaller[name])


ODD: dict[str, Any] = {
    "n": {"type": "byte"},
    "hash": {"type": "keyword"},
    "at": {"type": "date"},
    "place": {"type": "object", "properties": {"x": {"type": "long"}}},
}


def odd_document(number: int) -> dict[str, Any]:
    """A document, of which some have a value that no byte, no date and no object is."""
    digest = hashlib.sha512(str(number).encode()).hexdigest()
    return {
        "n": 299 if number % 53 == 16 else number % 100,
        "hash": digest,
        "at": "tomorrow" if number == 101 else "2026-11-27",
        "place": "none" if number == 7 else {"x": number},
    }


def rejected_numbers(client: ElasticsearchClient, lines: list[bytes], properties: Mapping[str, Any] = ODD) -> list[int]:
    """Numbers of the documents that servers reject, each sent by itself."""
    with index_for_check(client, {"mappings": {"dynamic": False, "properties": properties}}) as index:
        answers = [client.request("POST", f"/{index}/_doc", line, accept=(400,)) for line in lines]
    return [number for number, (status, _) in enumerate(answers) if status == 400]


def stored_bytes(client: ElasticsearchClient, properties: Mapping[str, Any], lines: list[bytes]) -> int:
    """Size on disk of documents in an index of these fields, in one segment."""
    with index_for_check(client, {"mappings": {"dynamic": False, "properties": properties}}) as index:
        index_documents(client, index, [("here", line) for line in lines])
        client.request("POST", f"/{index}/_forcemerge?max_num_segments=1&flush=true")
        _, stats = client.request("GET", f"/{index}/_stats/store")
    return int(stats["_all"]["primaries"]["store"]["size_in_bytes"])
