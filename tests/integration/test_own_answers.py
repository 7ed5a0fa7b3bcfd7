"""Right answers that DuckDB computes, held against those of a real server for searches drawn at random."""

import json
import random
from pathlib import Path
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lab.profiles.questions import Question
from lab.run.query.own_answers import OwnAnswers, whole_answer
from lab.run.query.right_answers import as_close
from producers.dataset import Dataset
from producers.registry import make_dataset

DOCUMENTS = 503
REJECTED = 7
SEARCHES = 100
INDEX = "own-answers"
KEYWORD = {"type": "keyword"}
MAPPINGS = {
    "dynamic": False,
    "properties": {
        "country": {**KEYWORD, "ignore_above": 3},
        "tags": KEYWORD,
        "count": {"type": "long"},
        "small": {"type": "byte"},
        "total": {"type": "double", "coerce": False, "ignore_malformed": True},
        "gift": {"type": "boolean"},
        "at": {"type": "date"},
        "client": {"properties": {"name": {"type": "text", "fields": {"raw": KEYWORD}}}},
    },
}
COUNTRIES = ["KR", "JP", "US", "Österreich", "a'b", ""]
INSTANTS = [
    "2024-02-29",
    "1969-12-31T23:59:59.999Z",
    "2023-12-31T23:30:00+09:00",
    "2024-06-15T12:00Z",
    1_700_000_000_123,
]


def documents(draw: random.Random) -> list[dict[str, Any]]:
    """Documents with absent, null, repeated and nested values."""
    made = []
    for number in range(DOCUMENTS):
        document: dict[str, Any] = {
            "id": f"k{number}",
            "country": draw.choice([*COUNTRIES, None, 7, True]),
            "tags": draw.choices("abcd", k=draw.randrange(4)),
            "count": draw.choice([draw.randrange(-9, 9), [3, 3, -2], [], None]),
            "small": draw.randrange(-128, 128),
            "total": draw.choice([draw.uniform(-1e6, 1e6), 5, 0.1]),
            "gift": draw.choice([True, False, None]),
            "at": draw.choice([*INSTANTS, f"2024-{draw.randrange(1, 13):02}-11T{draw.randrange(24):02}:07:11.013Z"]),
        }
        name = draw.choice(["Kim", "Lee"])
        made.append({**document, **({"client": {"name": name}} if number % 3 else {"client.name": name})})
        if number % 7 == 0:
            made[-1].pop(draw.choice(["country", "total", "at", "tags"]))
    return made


def terms(field: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Queries for one value of a field, for some, and for any."""
    return st.one_of(
        values.map(lambda value: {"term": {field: value}}),
        values.map(lambda value: {"term": {field: {"value": value}}}),
        st.lists(values, max_size=3).map(lambda some: {"terms": {field: some}}),
        st.just({"exists": {"field": field}}),
    )


def ranges(
    field: str, lower: st.SearchStrategy[Any], upper: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Queries for the values of a field between two."""
    return st.tuples(st.sampled_from(["gte", "gt"]), lower, st.sampled_from(["lt", "lte"]), upper).map(
        lambda of: {"range": {field: {of[0]: of[1], of[2]: of[3]}}}
    )


NUMBERS = st.integers(-10, 10)
EXACT = st.sampled_from(["2024-02-29T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "2024-06-15T12:00:00.000Z"])
LEAVES = st.one_of(
    terms("country", st.sampled_from(["KR", "JP", "a'b", "", "7", "true", "none"])),
    terms("tags", st.sampled_from("abcdz")),
    terms("client.name.raw", st.sampled_from(["Kim", "Lee"])),
    terms("count", NUMBERS),
    terms("gift", st.booleans()),
    terms("total", st.sampled_from([5, 0.1, 7.5])),
    ranges("count", NUMBERS, NUMBERS),
    ranges("small", st.integers(-128, 127), st.integers(-128, 127)),
    ranges("total", st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)),
    ranges("at", EXACT, EXACT),
    st.sampled_from([{"range": {"at": {"gte": day, "lt": "2024-07"}}} for day in INSTANTS[:2]]).map(
        lambda query: {"range": {"at": {**query["range"]["at"], "lt": "2024-07-01"}}}
    ),
    st.just({"match_all": {}}),
)


def bools(below: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Combinations of queries."""
    some = st.lists(below, min_size=1, max_size=3)
    clauses = st.fixed_dictionaries({}, optional=dict.fromkeys(("must", "filter", "must_not", "should"), some))
    return st.one_of(
        clauses.map(lambda of: {"bool": of}),
        st.tuples(clauses, some, st.integers(0, 4)).map(
            lambda of: {"bool": {**of[0], "should": of[1], "minimum_should_match": of[2]}}
        ),
        below.map(lambda query: {"constant_score": {"filter": query}}),
    )


QUERIES = st.recursive(LEAVES, bools, max_leaves=6)
METRICS = st.one_of(
    st.tuples(
        st.sampled_from(["sum", "avg", "min", "max", "value_count"]), st.sampled_from(["count", "small", "total"])
    ),
    st.tuples(st.just("value_count"), st.sampled_from(["tags", "country", "gift", "at"])),
    st.tuples(st.sampled_from(["min", "max"]), st.just("at")),
).map(lambda of: {of[0]: {"field": of[1]}})
ORDERS = st.sampled_from([{}, {"order": {"_key": "asc"}}, {"order": {"_key": "desc"}}, {"size": 2}, {"size": 40}])
BUCKETS = st.one_of(
    st.tuples(st.sampled_from(["country", "tags", "count", "small", "gift", "at", "client.name.raw"]), ORDERS).map(
        lambda of: {"terms": {"field": of[0], **of[1]}}
    ),
    st.sampled_from(["minute", "1h", "day", "1w", "month", "quarter", "1y"]).map(
        # Of minutes since 1969, empty ones would be too many.
        lambda interval: {"date_histogram": {"field": "at", "calendar_interval": interval, "min_doc_count": 1}}
    ),
    st.sampled_from(["90d", "36h", "7m", "1001ms"]).map(
        lambda interval: {"date_histogram": {"field": "at", "fixed_interval": interval, "min_doc_count": 1}}
    ),
    QUERIES.map(lambda query: {"filter": query}),
)


def nested(below: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Buckets with aggregations of their own."""
    inside = st.dictionaries(st.sampled_from(["x", "y"]), below, max_size=2)
    return st.tuples(BUCKETS, inside).map(lambda of: {**of[0], **({"aggs": of[1]} if of[1] else {})})


SEARCH = st.fixed_dictionaries(
    {"size": st.just(0)},
    optional={
        "query": QUERIES,
        "track_total_hits": st.sampled_from([True, False, 7, 5000]),
        "aggs": st.dictionaries(st.sampled_from("abc"), st.recursive(METRICS, nested, max_leaves=3), max_size=2),
    },
)


def indexed(elasticsearch: httpx.Client, made: list[dict[str, Any]]) -> frozenset[bytes]:
    """Have the documents in an index of their own; the keys of those that the server rejects."""
    elasticsearch.delete(f"/{INDEX}", params={"ignore_unavailable": True})
    settings_of = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"}
    elasticsearch.put(f"/{INDEX}", json={"settings": settings_of, "mappings": MAPPINGS}).raise_for_status()
    lines = (line for each in made for line in ({"index": {"_id": each["id"]}}, each))
    body = "".join(json.dumps(line) + "\n" for line in lines)
    headers = {"content-type": "application/x-ndjson"}
    answer = elasticsearch.post(f"/{INDEX}/_bulk", params={"refresh": True}, content=body.encode(), headers=headers)
    items = [item["index"] for item in answer.json()["items"]]
    return frozenset(item["_id"].encode() for item in items if item["status"] == 400)


def file_of(made: list[dict[str, Any]], path: Path) -> Dataset:
    """The documents as a user's file."""
    path.write_text("".join(json.dumps(each) + "\n" for each in made))
    return make_dataset("file", path=str(path), key="id")


def test_computed_answers_are_those_of_the_server(elasticsearch: httpx.Client, tmp_path: Path) -> None:
    """Counts and aggregations over keywords, numbers, booleans and dates, with absent and repeated values.

    Documents that the server rejects are part of no answer.
    """
    made = documents(random.Random(1))  # noqa: S311 - a sample
    made += [{**document, "id": f"r{number}", "small": 128 + number} for number, document in enumerate(made[:REJECTED])]
    rejected = indexed(elasticsearch, made)
    assert rejected == {b"r%d" % number for number in range(REJECTED)}
    dataset = file_of(made, tmp_path / "own.ndjson")

    @settings(max_examples=SEARCHES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(SEARCH)
    def holds(request: dict[str, Any]) -> None:
        question = Question(question="?", dataset="file", request=request)
        own = OwnAnswers(question, dataset, MAPPINGS, DOCUMENTS, rejected=rejected)
        assert (own.not_computed, own.left_out) == (None, REJECTED)
        right = own.right({})
        assert right is not None
        response = elasticsearch.post(f"/{INDEX}/_search", json=request)
        assert response.is_success, response.text
        assert as_close(whole_answer(response.json(), request), right) == right

    holds()
