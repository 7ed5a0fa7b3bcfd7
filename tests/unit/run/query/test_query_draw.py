"""Queries of a load: windows, bodies, and answers about events against plain loops over their JSON."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import orjson
import pytest

from lab.profiles.loader import REPOSITORY
from lab.profiles.models import Queries, QueryWindow
from lab.profiles.questions import Question, load_question, question_names
from lab.run.query.draw import BoundQuestion, DrawnQuery, bound_questions
from lab.run.query.right_answers import Outcome
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage

EVENTS = 5003
SECONDS = 0.997
DATASET = make_dataset("events", documents=EVENTS, seed=7, interval_us=333)
DOCUMENTS: list[tuple[str, dict[str, Any]]] = [
    (key.decode(), orjson.loads(event)) for batch in DATASET.batches(0, EVENTS) for key, event in batch
]
NAMES = [name for name in question_names(REPOSITORY) if load_question(name, REPOSITORY).is_about_events]

Response = dict[str, Any]


def bound_question(name: str, window: QueryWindow | None = None, **truth: Any) -> BoundQuestion:
    """A question of the repository, with a truth of its own where one is given."""
    question = load_question(name, REPOSITORY)
    if truth:
        stated = question.model_dump()
        question = Question.model_validate({**stated, **truth})
    return BoundQuestion(name, question, DATASET, Queries(questions=[name], window=window))


def seeded(seed: int) -> random.Random:
    """Draws that are the same each time."""
    return random.Random(seed)  # noqa: S311 - a sample, no secret


@cache
def instant_ms(text: str) -> int:
    """An instant as a request or a document has it; those of the documents are asked for in every test."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def within(drawn: DrawnQuery, searchable: int = EVENTS) -> list[tuple[str, dict[str, Any]]]:
    """Searchable documents that Elasticsearch would find in the window of a query."""
    start, end = (instant_ms(str(drawn.values[name])) for name in ("window_start", "window_end"))
    return [entry for entry in DOCUMENTS[:searchable] if start <= instant_ms(entry[1]["DateTimeReceivedUtc"]) < end]


def buckets(counted: Iterable[Any]) -> list[Response]:
    """Buckets as Elasticsearch sorts them: largest first, then by value."""
    ranked = sorted(Counter(counted).items(), key=lambda entry: (-entry[1], entry[0]))
    return [{"key": key, "doc_count": count} for key, count in ranked]


def answered(name: str, documents: list[tuple[str, dict[str, Any]]], interval_ms: int) -> Response:
    """The right response, laid out as Elasticsearch does."""
    events = [event for _, event in documents]
    organizations = [event["Organization"] for event in events]
    instants = [instant_ms(event["DateTimeReceivedUtc"]) for event in events]
    ratings = buckets(event["Rating"] for event in events)
    aggregations: Mapping[str, Any] = {
        "ratings": {"ratings": {"buckets": ratings}},
        "ratings-by-country": {
            "ratings": {
                "buckets": [
                    {
                        **rating,
                        "countries": {
                            "buckets": buckets(
                                event["SourceIpCountryCode"] for event in events if event["Rating"] == rating["key"]
                            )
                        },
                    }
                    for rating in ratings
                ]
            }
        },
        "events-over-time": {"over_time": {"buckets": buckets(at // interval_ms * interval_ms for at in instants)}},
        "unique-organizations": {"organizations": {"value": len(set(organizations))}},
        "unique-addresses": {"addresses": {"value": len({event["SourceIp"] for event in events})}},
    }
    top = {"organizations": {"buckets": buckets(organizations)[:15]}}
    return {
        "hits": {
            "total": {"value": len(events), "relation": "eq"},
            "hits": [{"_id": key} for key, _ in reversed(documents)] if name == "events-of-an-instant" else [],
        },
        "aggregations": aggregations.get(name, top),
    }


def interval_of(drawn: DrawnQuery) -> int:
    """The interval of a query."""
    return int(str(drawn.values["window_third"]).removesuffix("ms"))


WINDOWS = {
    "none": None,
    "newest": QueryWindow(seconds=SECONDS),
    "drawn": QueryWindow(seconds=SECONDS, place="drawn", within=0.8),
    "longer than what is there": QueryWindow(seconds=7),
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("searchable", [EVENTS, 3001, 1, 0])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_right_is_what_the_documents_say(name: str, searchable: int, window: str) -> None:
    """For any window, while any number of documents can be found, none at all included."""
    made, draw = bound_question(name, WINDOWS[window]), seeded(3)
    for _ in range(3):
        drawn = made.draw(draw, searchable)
        found = within(drawn, searchable)
        outcome = made.check(drawn, answered(name, found, interval_of(drawn)))
        assert (outcome.is_right, outcome.difference, outcome.hits) == (True, None, len(found))
        assert {outcome.rows_right, outcome.values_right} <= {None, 1.0}
        assert drawn.rows[1] - drawn.rows[0] == len(found)


@pytest.mark.parametrize("searchable", range(2990, 3001))
@pytest.mark.parametrize("window", WINDOWS)
def test_no_event_that_comes_later_falls_into_a_window(window: str, searchable: int) -> None:
    """Three events share a millisecond here; the window ends before the first that may be missing."""
    made, draw = bound_question("total-events", WINDOWS[window]), seeded(3)
    for _ in range(7):
        drawn = made.draw(draw, searchable)
        assert within(drawn) == within(drawn, searchable)


def test_the_newest_window_ends_with_the_newest_whole_millisecond() -> None:
    """At 333 µs, events 0 to 3 are of the first millisecond, 4 to 6 of the second, 7 to 9 of the third."""
    made = bound_question("total-events", QueryWindow(seconds=0.001))
    assert [made.draw(seeded(1), searchable).rows for searchable in (7, 8, 9, 10)] == [
        (4, 7),
        (4, 7),
        (4, 7),
        (7, 10),
    ]


def test_drawn_windows_lie_everywhere_in_their_share_and_nowhere_else() -> None:
    """Half of the documents are the working set; the same seed draws the same windows."""
    made = bound_question("total-events", QueryWindow(seconds=0.1, place="drawn", within=0.5))
    draws = [[made.draw(draw, EVENTS) for _ in range(401)] for draw in (seeded(1), seeded(1))]
    assert draws[0] == draws[1]
    starts = [drawn.rows[0] for drawn in draws[0]]
    half = EVENTS // 2
    assert (min(starts) < half // 20, max(drawn.rows[1] for drawn in draws[0]) <= half) == (True, True)
    assert max(starts) > half - 301 - half // 20


def test_a_body_states_the_window_as_instants() -> None:
    """Never `now`, which no cache keeps and nobody can check; the interval is a third of the window."""
    made = bound_question("events-over-time", QueryWindow(seconds=0.9))
    body = orjson.loads(made.body(made.draw(seeded(1), EVENTS)))
    assert body["query"]["range"]["DateTimeReceivedUtc"] == {
        "gte": "2016-02-01T00:00:00.766Z",
        "lt": "2016-02-01T00:00:01.666Z",
    }
    assert body["aggs"]["over_time"]["date_histogram"]["fixed_interval"] == "300ms"


# --- answers made wrong -----------------------------------------------------------------------------------------------


def one_off(entries: list[Response]) -> None:
    """A count is one too high."""
    entries[-1]["doc_count"] += 1


def renamed(entries: list[Response]) -> None:
    """A name is another one."""
    entries[0]["key"] = 0 if isinstance(entries[0]["key"], int) else "Nobody"


def missing(entries: list[Response]) -> None:
    """A row is not there."""
    entries.pop()


def swapped(entries: list[Response]) -> None:
    """Two rows stand in the other order."""
    entries[0], entries[1] = entries[1], entries[0]


def at(response: Response, *path: Any) -> Any:
    """What stands under a path."""
    for name in path:
        response = response[name]
    return response


RATINGS = ("aggregations", "ratings", "buckets")
COUNTRIES = (*RATINGS, 3, "countries", "buckets")
OVER_TIME = ("aggregations", "over_time", "buckets")
TOP = ("aggregations", "organizations", "buckets")

WRONG_ROWS: list[tuple[str, tuple[Any, ...], Callable[[list[Response]], None], str, tuple[float, float]]] = [
    ("ratings", RATINGS, one_off, "got 20 rows, expected 20, of which 1 differ", (1, 19 / 20)),
    ("ratings", RATINGS, renamed, "got 20 rows, expected 20, of which 1 differ", (19 / 20, 19 / 20)),
    ("ratings", RATINGS, missing, "got 19 rows, expected 20", (19 / 20, 19 / 20)),
    ("ratings-by-country", COUNTRIES, one_off, "got 632 rows, expected 632, of which 1 differ", (1, 631 / 632)),
    ("ratings-by-country", COUNTRIES, renamed, "got 632 rows, expected 632, of which 1 differ", (631 / 632, 631 / 632)),
    ("ratings-by-country", COUNTRIES, missing, "got 631 rows, expected 632", (631 / 632, 631 / 632)),
    ("events-over-time", OVER_TIME, one_off, "got 4 rows, expected 4, of which 1 differ", (1, 3 / 4)),
    ("events-over-time", OVER_TIME, renamed, "got 4 rows, expected 4, of which 1 differ", (3 / 4, 3 / 4)),
    ("events-over-time", OVER_TIME, missing, "got 3 rows, expected 4", (3 / 4, 3 / 4)),
    *(
        case
        for name in ("top-organizations", "top-organizations-exact")
        for case in (
            (name, TOP, one_off, "got 15 rows, expected 15, of which 1 differ", (1, 14 / 15)),
            (name, TOP, renamed, "got 15 rows, expected 15, of which 1 differ", (14 / 15, 14 / 15)),
            (name, TOP, missing, "got 14 rows, expected 15", (14 / 15, 14 / 15)),
            (name, TOP, swapped, "got 15 rows, expected 15, in another order", (1, 1)),
        )
    ),
]


def right_response(name: str) -> tuple[BoundQuestion, DrawnQuery, Response]:
    """A query about a window, and its right response."""
    made = bound_question(name, WINDOWS["newest"])
    drawn = made.draw(seeded(1), EVENTS)
    return made, drawn, answered(name, within(drawn), interval_of(drawn))


@pytest.mark.parametrize(("name", "path", "spoil", "difference", "shares"), WRONG_ROWS)
def test_rows_made_wrong_are_caught(
    name: str,
    path: tuple[Any, ...],
    spoil: Callable[[list[Response]], None],
    difference: str,
    shares: tuple[float, float],
) -> None:
    """One count off, one name another, one row missing, the order changed: each says how many rows are right."""
    made, drawn, response = right_response(name)
    spoil(at(response, *path))
    outcome = made.check(drawn, response)
    assert (outcome.is_right, outcome.difference) == (False, difference)
    assert (outcome.rows_right, outcome.values_right) == shares


@pytest.mark.parametrize(
    ("name", "path", "wrong", "difference"),
    [
        ("unique-organizations", ("aggregations", "organizations"), 199, "got 199 values, expected 200"),
        ("unique-addresses", ("aggregations", "addresses"), 3169, "got 3,169 values, expected 2,989 ± 179"),
        ("unique-addresses", ("aggregations", "addresses"), 2809, "got 2,809 values, expected 2,989 ± 179"),
        ("total-events", ("hits", "total"), 2992, "got 2,992 events, expected 2,993"),
    ],
)
def test_numbers_made_wrong_are_caught(name: str, path: tuple[str, ...], wrong: int, difference: str) -> None:
    """Off by one, or by more than the error that the question states."""
    made, drawn, response = right_response(name)
    at(response, *path)["value"] = wrong
    outcome = made.check(drawn, response)
    assert (outcome.is_right, outcome.difference, outcome.rows_right) == (False, difference, None)


@pytest.mark.parametrize("addresses", [2810, 3168])
def test_a_number_within_its_error_is_right(addresses: int) -> None:
    """Elasticsearch estimates; the question says by how much it may be off."""
    made, drawn, response = right_response("unique-addresses")
    response["aggregations"]["addresses"]["value"] = addresses
    assert made.check(drawn, response).is_right


@pytest.mark.parametrize(
    ("hits", "facts", "share"),
    [
        (["right", "right"], (2, 3), 2 / 3),
        (["right", "right", "another"], (3, 1), 2 / 3),
        (["right", "right", "right", "another"], (4, 3), 1),
    ],
)
def test_events_made_wrong_are_caught(
    hits: list[str], facts: tuple[object, ...], share: float, message: MakeMessage
) -> None:
    """One missing, one in place of another, one too many."""
    made = bound_question("events-of-an-instant", QueryWindow(seconds=0.001))
    drawn = made.draw(seeded(1), 10)
    keys = [key for key, _ in within(drawn)]
    response = answered("events-of-an-instant", within(drawn), 1)
    response["hits"]["hits"] = [{"_id": keys[number] if hit == "right" else "0"} for number, hit in enumerate(hits)]
    assert made.check(drawn, response) == Outcome(
        is_right=False, rows_right=share, values_right=None, difference=message(*facts), hits=3
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_states_how_many_events_matched(name: str) -> None:
    """An answer about one event more is about another window."""
    made, drawn, response = right_response(name)
    response["hits"]["total"]["value"] += 1
    outcome = made.check(drawn, response)
    unit = "events" if name == "total-events" else "hits"
    assert (outcome.is_right, outcome.difference) == (False, f"got 2,994 {unit}, expected 2,993")


# --- conditions, values, books ----------------------------------------------------------------------------------------


def test_values_of_an_event_are_conditions_of_others() -> None:
    """A method and an address of one event drawn at random; the truth is about events that share both or are below."""
    stated = {
        "parameters": {"method": {"event": "HttpMethod"}, "address": {"event": "SourceIp"}},
        "truth": {
            "events": {"HttpMethod": {"is": "$method"}, "SourceIp": {"below": "$address"}},
            "answer": {"counts_per": "$window_third"},
        },
    }
    made, draw = bound_question("events-over-time", WINDOWS["drawn"], **stated), seeded(5)
    for _ in range(5):
        drawn = made.draw(draw, EVENTS)
        method, address = drawn.values["method"], str(drawn.values["address"])
        found = [
            (key, event)
            for key, event in within(drawn)
            if event["HttpMethod"] == method and event["SourceIp"] < address
        ]
        assert any(event["SourceIp"] == address for _, event in within(drawn))
        outcome = made.check(drawn, answered("events-over-time", found, interval_of(drawn)))
        assert (outcome.is_right, outcome.hits) == (True, len(found))


def test_an_answer_without_a_window_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of 100 million events would take a second each time."""
    made, draw = bound_question("ratings"), seeded(1)
    drawn = made.draw(draw, EVENTS)
    response = answered("ratings", DOCUMENTS, 1)
    assert made.check(drawn, response).is_right
    monkeypatch.setattr("lab.run.query.draw.right_answer_about_events", None)
    assert made.check(made.draw(draw, EVENTS), response).is_right


def test_fingerprints_tell_what_is_asked_of_what() -> None:
    """Of other events, of another window, or by another seed, it is another question; by another request it is not."""
    question = load_question("ratings", REPOSITORY)
    asked, other = Queries(questions=["ratings"]), make_dataset("events", documents=EVENTS, seed=8, interval_us=333)
    made = [
        BoundQuestion("ratings", question, DATASET, asked),
        BoundQuestion("ratings", question, DATASET, asked, model="source"),
        BoundQuestion("ratings", question, other, asked),
        BoundQuestion("ratings", question, DATASET, asked.model_copy(update={"seed": 2})),
        BoundQuestion("ratings", question, DATASET, asked.model_copy(update={"window": QueryWindow(seconds=1)})),
    ]
    assert [made[0].fingerprint == one.fingerprint for one in made] == [True, True, False, False, False]
    books = [
        make_dataset("aladin", books=count, model=model)
        for count, model in ((97, "nested"), (97, "flat"), (101, "flat"))
    ]
    price = load_question("shop-below-price", REPOSITORY)
    nested, flat, more = (BoundQuestion("shop-below-price", price, dataset, asked).fingerprint for dataset in books)
    assert (nested == flat, nested == more) == (True, False)


def test_books_are_asked_about_as_before() -> None:
    """One request answers it; what is right comes from books and offers, which all questions share."""
    names = ["shop-below-price", "publisher-in-shops"]
    questions = {name: load_question(name, REPOSITORY) for name in names}
    dataset = make_dataset("aladin", books=1009)
    first, second = bound_questions(questions, dataset, Queries(questions=names), dict.fromkeys(names, "nested"))
    drawn = second.draw(seeded(4), dataset.documents)
    publisher, shops = drawn.values["publisher"], int(drawn.values["shops"])
    books = [orjson.loads(dataset.document(number)) for number in range(dataset.documents)]
    right = sum(book["publisher"] == publisher and len(book["subInfo"]["usedList"]) >= shops for book in books)
    response = {"hits": {"total": {"value": right, "relation": "eq"}, "hits": []}}
    assert second.check(drawn, response) == Outcome(
        is_right=True, rows_right=None, values_right=None, difference=None, hits=right
    )
    assert orjson.loads(second.body(drawn))["min_score"] == shops
    empty = {"hits": {"hits": []}}
    outcome = first.check(first.draw(seeded(4), dataset.documents), empty)
    assert (outcome.is_right, outcome.rows_right, outcome.hits) == (False, 0, None)
