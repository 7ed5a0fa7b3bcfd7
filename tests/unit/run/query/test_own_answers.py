"""Right answers to searches of a user's own file: computed where they translate exactly, and else not called right."""

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.profiles import load_profile
from lab.profiles.loader import REPOSITORY
from lab.profiles.models import Queries, Sink
from lab.profiles.questions import Question
from lab.run.query import ask
from lab.run.query.ask import fingerprint_of
from lab.run.query.draw import bound_questions
from lab.run.query.own_answers import OwnAnswers, changed_by, whole_answer, why_not_computed
from lab.run.query.right_answers import QuestionValues, as_close
from producers.dataset import Dataset
from producers.registry import make_dataset

MINUS_ZERO = 8_000_000_008
"""Stands for the `-0` of JSON, which Python's writer does not have."""
ORDERS = [
    {"id": "a", "country": "KR", "total": 10, "at": "2024-01-31T23:59:59.999Z", "tags": ["x", "y", "x"]},
    {"id": "b", "country": "KR", "total": 2.5, "at": "2024-02-01", "tags": []},
    {"id": "c", "country": "JP", "total": None, "at": "2024-02-29T09:00:00+09:00"},
]
MAPPINGS = {
    "runtime": {"later": {"type": "keyword"}, "shop.later": {"type": "keyword"}},
    "dynamic_templates": [{"texts": {"mapping": {"type": "keyword", "copy_to": "any"}}}],
    "properties": {
        "country": {"type": "keyword"},
        "total": {"type": "double"},
        "at": {"type": "date"},
        "tags": {"type": "keyword"},
        "note": {"type": "text"},
        "all": {"type": "keyword"},
        "exact": {"type": "keyword", "normalizer": "lowercase"},
        "near": {"type": "date", "format": "MM/dd/yyyy"},
        "items": {"type": "nested", "properties": {"sku": {"type": "keyword"}}},
        "source": {"type": "keyword", "copy_to": "all"},
        "later": {"type": "keyword"},
        "any": {"type": "keyword"},
        "shop": {"properties": {"later": {"type": "keyword"}}},
        "apart": {"type": "keyword", "index": False, "doc_values": False},
    },
}
PAID = {"bool": {"filter": [{"term": {"country": "KR"}}], "must_not": [{"term": {"tags": "y"}}]}}


def file_of(path: Path, documents: list[dict[str, Any]]) -> Dataset:
    """The documents as a user's file."""
    text = "".join(json.dumps(document) + "\n" for document in documents)
    path.write_text(text.replace(str(MINUS_ZERO), "-0"))
    return make_dataset("file", path=str(path), key="id")


def own(path: Path, request: dict[str, Any], documents: list[dict[str, Any]] = ORDERS, **parameters: Any) -> OwnAnswers:
    """Answers to a search of a file of documents, all of which are stored."""
    stated = {name: {"one_of": values} for name, values in parameters.items()}
    question = Question.model_validate({"question": "?", "dataset": "file", "request": request, "parameters": stated})
    return OwnAnswers(question, file_of(path / "orders.ndjson", documents), MAPPINGS, stored=len(documents))


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ({"size": 0}, {"hits": [3]}),
        ({"size": 0, "track_total_hits": 2}, {"hits": ["2+"]}),
        ({"size": 0, "query": PAID}, {"hits": [1]}),
        ({"size": 0, "query": {"range": {"at": {"gte": "2024-02-01"}}}}, {"hits": [2]}),
        ({"size": 0, "query": {"exists": {"field": "total"}}}, {"hits": [2]}),
        ({"size": 0, "query": {"bool": {"should": [PAID], "minimum_should_match": 0}}}, {"hits": [1]}),
        ({"size": 0, "track_total_hits": False, "aggs": {"t": {"sum": {"field": "total"}}}}, {"t/value": [12.5]}),
        (
            {"size": 0, "track_total_hits": False, "aggs": {"t": {"terms": {"field": "tags"}}}},
            {"t/x/doc_count": [1], "t/y/doc_count": [1]},
        ),
        (
            {
                "size": 0,
                "track_total_hits": False,
                "aggs": {
                    "m": {
                        "date_histogram": {"field": "at", "calendar_interval": "month"},
                        "aggs": {"least": {"min": {"field": "total"}}},
                    }
                },
            },
            {
                "m/1704067200000/doc_count": [1],
                "m/1704067200000/least/value": [10.0],
                "m/1706745600000/doc_count": [2],
                "m/1706745600000/least/value": [2.5],
            },
        ),
    ],
)
def test_what_translates_exactly_is_computed(
    tmp_path: Path, request_: dict[str, Any], answer: dict[str, list[Any]]
) -> None:
    """Counts, metrics and buckets; a value of a list counts once for a keyword."""
    assert own(tmp_path, request_).right({}) == answer


def test_values_of_parameters_are_filled_in(tmp_path: Path) -> None:
    """Each repeat has an answer of its own."""
    answers = own(tmp_path, {"size": 0, "query": {"term": {"country": "$of"}}}, of=["KR", "JP"])
    assert [answers.right({"of": country}) for country in ("KR", "JP")] == [{"hits": [2]}, {"hits": [1]}]


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({}, "size: 0"),
        ({"size": 0, "sort": ["at"]}, "`sort`"),
        ({"size": 0, "query": {"match": {"note": "fast"}}}, "`match`"),
        ({"size": 0, "query": {"term": {"note": "fast"}}}, "`text`"),
        ({"size": 0, "query": {"term": {"absent": "x"}}}, "`absent` is no field"),
        ({"size": 0, "query": {"term": {"exact": "X"}}}, "`normalizer`"),
        ({"size": 0, "query": {"term": {"all": "x"}}}, "values of other fields"),
        ({"size": 0, "query": {"term": {"later": "x"}}}, "values of other fields"),
        ({"size": 0, "query": {"term": {"shop.later": "x"}}}, "values of other fields"),
        ({"size": 0, "query": {"term": {"any": "x"}}}, "values of other fields"),
        ({"size": 0, "query": {"exists": {"field": "apart"}}}, "neither indexed nor has doc values"),
        ({"size": 0, "query": {"term": {"items.sku": "x"}}}, "nested"),
        ({"size": 0, "query": {"term": {"at": "2024-01-31"}}}, "`term` of `at`"),
        ({"size": 0, "query": {"range": {"at": {"lte": "2024-01-31"}}}}, "without milliseconds"),
        ({"size": 0, "query": {"range": {"at": {"gte": "now-1d"}}}}, "`at`"),
        ({"size": 0, "query": {"range": {"near": {"gte": "2024-01-31"}}}}, "`near`"),
        ({"size": 0, "query": {"range": {"at": {"gte": "2024-01-31", "time_zone": "+09:00"}}}}, "`time_zone`"),
        ({"size": 0, "query": {"term": {"country": 1.5}}}, "`country`"),
        ({"size": 0, "aggs": {"n": {"avg": {"field": "country"}}}}, "`avg` of `country`"),
        ({"size": 0, "aggs": {"n": {"cardinality": {"field": "country"}}}}, "`cardinality`"),
        ({"size": 0, "aggs": {"n": {"terms": {"field": "country", "include": "K.*"}}}}, "`include`"),
        ({"size": 0, "aggs": ["n"]}, "form"),
    ],
)
def test_the_reason_why_an_answer_is_not_computed_is_told(request_: dict[str, Any], reason: str) -> None:
    """Before anything runs: by the mapping alone."""
    question = Question(question="?", dataset="file", request=request_)
    assert reason in str(why_not_computed(question, MAPPINGS))


@pytest.mark.parametrize(
    "other",
    [
        {"total": "12"},
        {"at": "soon"},
        {"at": 2024},
        {"country": {"code": "KR"}},
        {"country": 1.5},
        {"total": -0.0},
        {"country": "K\ud83d"},
        {"country": MINUS_ZERO},
        {"total": [1e308, 1e308]},
    ],
    ids=[
        "a number as text",
        "no date",
        "a year",
        "an object",
        "a decimal for a keyword",
        "minus zero",
        "half a pair",
        "minus zero for a keyword",
        "numbers whose sum overflows",
    ],
)
def test_values_that_may_not_be_indexed_as_they_stand_are_not_computed_with(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    """The index may coerce or leave them out."""
    (field,) = other
    answers = own(tmp_path, {"size": 0, "query": {"exists": {"field": field}}}, [*ORDERS, {"id": "d", **other}])
    assert (answers.right({}), f"`{field}`" in str(answers.not_computed)) == (None, True)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, None),
        ({"index": {"mapping.ignore_above": 3}}, "index.mapping.ignore_above"),
        ({"index": {"default_pipeline": "clean"}}, "index.default_pipeline"),
        ({"index": {"mode": "logsdb"}}, "index.mode: logsdb"),
        ({"sink": Sink(config={"transforms": "mask"})}, "sink.config.transforms"),
    ],
    ids=["nothing", "a limit of all keywords", "an ingest pipeline", "an index mode", "a transform"],
)
def test_what_a_setting_changes_on_the_way_is_not_computed(
    tmp_path: Path, changes: dict[str, Any], expected: str | None
) -> None:
    """The index then holds other values than the file."""
    profile = load_profile("aladin/static").model_copy(update=changes)
    changed = changed_by(profile, REPOSITORY)
    question = Question(question="?", dataset="file", request={"size": 0})
    answers = OwnAnswers(question, file_of(tmp_path / "orders.ndjson", ORDERS), MAPPINGS, len(ORDERS), changed=changed)

    assert (changed, answers.right({})) == (expected, {"hits": [3]} if expected is None else None)
    assert (why_not_computed(question, MAPPINGS, changed) is None) == (expected is None)


def test_without_every_document_in_the_index_nothing_is_computed(tmp_path: Path) -> None:
    """Some were rejected, or a key is there twice."""
    question = Question(question="?", dataset="file", request={"size": 0})
    answers = OwnAnswers(question, file_of(tmp_path / "orders.ndjson", ORDERS), MAPPINGS, stored=2)
    assert (answers.right({}), "2 documents of 3" in str(answers.not_computed)) == (None, True)


def test_rejected_documents_are_left_out_of_the_right_answer(tmp_path: Path) -> None:
    """Also one whose value no field takes; they are counted."""
    rejected = {"id": "z", "country": {"code": "KR"}, "total": 7}
    question = Question(question="?", dataset="file", request={"size": 0, "query": {"term": {"country": "KR"}}})
    dataset = file_of(tmp_path / "orders.ndjson", [ORDERS[0], rejected, *ORDERS[1:]])

    answers = OwnAnswers(question, dataset, MAPPINGS, stored=3, rejected={b"z"})

    assert (answers.not_computed, answers.left_out, answers.right({})) == (None, 1, {"hits": [2]})


@pytest.mark.parametrize("dead_letters", [0, 1])
def test_dead_letters_are_read_only_where_verification_has_found_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dead_letters: int
) -> None:
    """A run without Kafka has no topic of them."""
    read: list[str] = []

    def dead_letters_of(topic: str) -> list[Any]:
        read.append(topic)
        return [SimpleNamespace(key=b"b")]

    monkeypatch.setattr(ask, "topics_of", lambda _: SimpleNamespace(dead_letters=dead_letters_of))
    monkeypatch.setattr(ask, "own_index", lambda _: {"mappings": MAPPINGS, "stored": len(ORDERS) - dead_letters})
    run: Any = SimpleNamespace(
        dataset=file_of(tmp_path / "orders.ndjson", ORDERS),
        names=SimpleNamespace(dead_letter_topic="dead"),
        target=SimpleNamespace(endpoints=None),
    )

    answers = ask.own_answers(run, {"q": Question(question="?", dataset="file", request={"size": 0})}, dead_letters)

    assert (read, answers["q"].right({})) == (["dead"] * dead_letters, {"hits": [3 - dead_letters]})


@pytest.mark.parametrize(
    ("stored", "rejected", "why"),
    [
        (2, {b"c", b"absent"}, "the index holds 2 documents of 3 in the file, beside 2 rejected ones"),
        (2, {b"absent"}, "a dead letter has a key that no document of the file has"),
    ],
)
def test_where_nobody_knows_which_documents_were_rejected_nothing_is_computed(
    tmp_path: Path, stored: int, rejected: set[bytes], why: str
) -> None:
    """As of a dead letter that a replay has indexed since, or one of another file."""
    question = Question(question="?", dataset="file", request={"size": 0})
    dataset = file_of(tmp_path / "orders.ndjson", ORDERS)

    answers = OwnAnswers(question, dataset, MAPPINGS, stored, rejected=rejected)

    assert (answers.not_computed, answers.right({}), answers.left_out) == (why, None, 0)


def test_of_a_response_what_ties_and_versions_leave_as_it_is_counts() -> None:
    """Empty buckets, names of keys and the order of hits of one rank do not."""
    bucket = {"key": 5, "key_as_string": "five", "doc_count": 2, "s": {"value": 1.5, "value_as_string": "1.5"}}
    response = {
        "hits": {"total": {"value": 2, "relation": "eq"}, "hits": [{"_id": "b"}, {"_id": "a"}]},
        "aggregations": {"n": {"sum_other_doc_count": 0, "buckets": [bucket, {"key": 6, "doc_count": 0}]}},
    }
    assert whole_answer(response, {}) == {"hits": [2], "ids": ["a", "b"], "n/5/doc_count": [2], "n/5/s/value": [1.5]}
    ranked = {"hits": {"hits": [{"_id": "b", "sort": [7]}, {"_id": "a", "sort": [7]}]}}
    assert whole_answer(ranked, {}) == {"sort": [7, 7]}


def test_what_a_merge_may_change_is_not_compared() -> None:
    """Percentiles of the same documents differ with their order in the index; what stands beside them counts."""
    inside = {"price": {"percentiles": {"field": "price"}}, "sum": {"sum": {"field": "price"}}}
    request = {"aggs": {"by": {"terms": {"field": "country"}, "aggregations": inside}, "middle": {"boxplot": {}}}}
    bucket = {"key": "KR", "doc_count": 2, "price": {"values": {"50.0": 1.5}}, "sum": {"value": 3.0}}
    response = {"hits": {"hits": []}, "aggregations": {"by": {"buckets": [bucket]}, "middle": {"q2": 7.0}}}
    assert whole_answer(response, request) == {"by/KR/doc_count": [2], "by/KR/sum/value": [3.0]}


def test_sums_in_another_order_are_the_same() -> None:
    """Other differences stay."""
    right: dict[str | tuple[str, ...], list[Any]] = {"s/value": [0.3], "n": [None]}
    assert as_close({"s/value": [0.1 + 0.2], "n": [None]}, right) == right
    assert as_close({"s/value": [0.31], "n": [None]}, right) != right


def test_a_sum_is_right_within_the_rounding_of_its_numbers_and_an_instant_exactly(tmp_path: Path) -> None:
    """A ledger of three shards, balanced to a cent, came to -3e-8 on Elasticsearch 8.19."""
    ledger: list[dict[str, Any]] = [
        {"id": f"{number}{sign}", "total": sign * (1e7 + number / 7)} for number in range(997) for sign in (1, -1)
    ]
    aggregations = {"sum": {"sum": {"field": "total"}}, "least": {"min": {"field": "at"}}}
    request = {"size": 0, "track_total_hits": False, "aggs": aggregations}
    instant_ms = 1_700_000_000_123
    right = own(tmp_path, request, [*ledger, {"id": "x", "at": instant_ms}]).right({})
    assert isinstance(right, dict)

    assert as_close({"sum/value": [-3e-8], "least/value": [float(instant_ms)]}, right) == right
    assert as_close({"sum/value": [0.01], "least/value": [float(instant_ms)]}, right) != right
    assert as_close({"sum/value": [0.0], "least/value": [instant_ms + 500.0]}, right) != right


def test_the_right_answers_of_a_question_have_a_fingerprint(tmp_path: Path) -> None:
    """A sum with its bound counts as its number."""
    request = {"size": 0, "track_total_hits": False, "aggs": {"sum": {"sum": {"field": "total"}}}}
    right = own(tmp_path, request).right({})

    assert fingerprint_of([QuestionValues({}, right)]) == fingerprint_of([QuestionValues({}, {"sum/value": [12.5]})])


def test_a_query_load_compares_answers_with_the_computed_one_or_with_the_first(tmp_path: Path) -> None:
    """A text search has no computed answer; the load draws a value of each parameter."""
    response = {"hits": {"total": {"value": 2, "relation": "eq"}, "hits": []}}
    other = {"hits": {"total": {"value": 1, "relation": "eq"}, "hits": []}}
    verdicts = {}
    for kind, field in (("term", "country"), ("match", "note")):
        request = {"size": 0, "query": {kind: {field: "$of"}}}
        stated = {"question": "?", "dataset": "file", "request": request, "parameters": {"of": {"one_of": ["KR"]}}}
        dataset = file_of(tmp_path / "orders.ndjson", ORDERS)
        (bound,) = bound_questions(
            {"own": Question.model_validate(stated)},
            dataset,
            Queries(questions=["own"]),
            {"own": "file"},
            mappings=MAPPINGS,
            stored=3,
        )
        drawn = bound.draw(random.Random(1), 3)  # noqa: S311 - a sample
        verdicts[kind] = [bound.check(drawn, answer).is_right for answer in (other, response)]
        assert (json.loads(bound.body(drawn))["query"], bound.not_computed is None) == (
            {kind: {field: "KR"}},
            kind == "term",
        )
    assert verdicts == {"term": [False, True], "match": [True, False]}
