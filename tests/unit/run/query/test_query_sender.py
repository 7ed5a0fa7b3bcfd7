"""What a query load comes to: records of replies, steps of a ramp, what searches find meanwhile, and what voids it."""

import itertools
import os
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from random import Random
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hdrh.histogram import HdrHistogram

import lab.run.query.searchable as searchable_module
from lab.cli.run import dataset_of
from lab.endpoints import Access
from lab.errors import ProfileError, StackError
from lab.profiles import Profile, load_profile
from lab.profiles.index_settings import refresh_interval_s
from lab.profiles.models import Queries, QueryLoad, Ramp
from lab.profiles.questions import load_question
from lab.records.queries import QueryTimes
from lab.run.query.draw import bound_questions
from lab.run.query.right_answers import Outcome
from lab.run.query.searchable import Searchable, SearchableError, wait_for_every_key
from lab.run.query.send import (
    QuerySending,
    progress_text,
    searchable_lag_s,
    sending_task,
    wrong_answers,
)
from lab.run.query.sender import AnswerCount, answers_read, check, is_broken, load_record, ramp_stages, step_of
from lab.run.query.traffic import NO_ANSWER, NOT_SENT, QueryConnection, Reply, Stage, StageResult, Task, Traffic
from lab.run.ramp import MOST_STEPS, next_rate, ramp_rates
from lab.stack.places import ROOT
from producers.registry import make_dataset
from tests.unit.http_server import serving
from tests.unit.messages import MakeMessage

MS = 1_000_000
S = 1_000 * MS
EVENTS = make_dataset("events", documents=1009, interval_us=1_000_000)
NAMES = ["total-events", "ratings"]


def task(url: str = "http://127.0.0.1:9", *, ramp: Ramp | None = None, hold_s: float = 0.0, **load: Any) -> Task:
    """A task of two questions about 1,009 events."""
    return Task(
        urls=(url,),
        index="events",
        dataset={"name": "events", "documents": 1009},
        root=str(ROOT),
        queries=Queries(questions=NAMES),
        load=QueryLoad(**load),
        ramp=ramp,
        models=dict.fromkeys(NAMES, "columns"),
        documents_stream=False,
        hold_s=hold_s,
    )


def traffic(**settings: Any) -> Traffic:
    """Clients of that task that have not begun."""
    made = task(**settings)
    asked = {name: load_question(name, ROOT) for name in NAMES}
    return Traffic(made, bound_questions(asked, EVENTS, made.queries, made.models), lambda: EVENTS.documents)


def reply(question: int, service_ms: int, *, due_ms: int = 0, wait_ms: int = 0, error: str | None = None) -> Reply:
    """A query that was sent so long after it was due."""
    sent_ns = (due_ms + wait_ms) * MS
    return Reply(question, due_ms * MS, sent_ns, sent_ns + service_ms * MS, was_free=True, error=error, took_ms=7)


# --- records ----------------------------------------------------------------------------------------------------------


def test_littles_law_holds_for_clients_that_pause() -> None:
    """3 clients, 100 ms under way and 200 ms of thinking: one is busy, and 10 queries a second make that one, too."""
    stage = StageResult(None, 0, 10 * S, 1.5, [reply(n % 2, 100) for n in range(100)])
    record = load_record(traffic(clients=3, think_time_s=0.2), [stage], [AnswerCount(), AnswerCount()])

    assert (record["clients_busy_mean"], record["clients_expected"]) == (pytest.approx(1.0), pytest.approx(1.0))
    assert record["sender_cpu_s"] == 1.5


def test_answers_are_counted_when_they_are_read() -> None:
    """In tenths of a second from the beginning on; what comes before it or at its end is not of the load."""
    read_ns = [9 * S, 10 * S, 10 * S + 99 * MS, 10 * S + 100 * MS, 10 * S + 349 * MS, 10 * S + 350 * MS]

    assert answers_read(read_ns, 10 * S, 10 * S + 350 * MS) == [2, 1, 0, 1]


def test_queries_with_errors_keep_clients_busy() -> None:
    """2 clients without a pause: half of their time went into refused queries, and still both were busy."""
    replies = [reply(n % 2, 100, error="429 x" if n % 4 < 2 else None) for n in range(200)]
    record = load_record(traffic(clients=2), [StageResult(None, 0, 10 * S, 0.0, replies)], [AnswerCount()] * 2)

    assert (record["clients_busy_mean"], record["clients_expected"]) == (pytest.approx(2.0), pytest.approx(2.0))
    assert [question["errors"] for question in record["questions"]] == [{"429 x": 50}, {"429 x": 50}]
    assert [question["requests"] for question in record["questions"]] == [100, 100]
    assert [question["service_time_s"] for question in record["questions"]] == [pytest.approx(5.0)] * 2


def test_latency_has_the_time_until_a_query_is_sent_and_service_time_has_not() -> None:
    """In a closed loop there is no latency. A free client that sends 11 ms late is late by our own doing."""
    replies = [reply(0, 100, wait_ms=11), reply(1, 100, wait_ms=9)]
    stage = StageResult(10.0, 0, S, 0.0, replies)
    record = load_record(traffic(rate_per_s=10), [stage], [AnswerCount()] * 2)
    closed = load_record(traffic(), [stage], [AnswerCount()] * 2)

    def most_ms(encoded: str) -> float:
        return round(HdrHistogram.decode(encoded).get_max_value() / 1000)

    assert [most_ms(question["latency"]) for question in record["questions"]] == [111, 109]
    assert [most_ms(question["service_time"]) for question in record["questions"]] == [100, 100]
    assert [most_ms(question["took"]) for question in record["questions"]] == [7, 7]
    assert record["late_starts"] == 1
    assert record["clients_expected"] is None
    assert [question["latency"] for question in closed["questions"]] == [None, None]


def test_a_load_without_a_reply_has_a_record() -> None:
    """It was stopped in its warm-up: no figure, and no division by its length."""
    record = load_record(traffic(), [StageResult(None, 5, 5, 0.0, [])], [AnswerCount()] * 2)

    assert (record["clients_busy_mean"], record["clients_expected"], record["window_documents_mean"]) == (0, None, None)


def test_answers_that_came_several_times_weigh_so_often() -> None:
    """Two right ones and a wrong one that came thrice."""
    count, difference = AnswerCount(), "got 3 rows, expected 5"
    count.add(Outcome(is_right=True, rows_right=1.0, values_right=1.0, difference=None, hits=17), 2)
    count.add(Outcome(is_right=False, rows_right=0.5, values_right=0.0, difference=difference, hits=17), 3)

    assert (count.checked, count.wrong, count.first_wrong) == (5, 3, difference)
    assert (count.rows_right, count.values_right) == ([(1.0, 2), (0.5, 3)], [(1.0, 2), (0.0, 3)])


def test_every_kept_answer_is_compared_with_the_dataset() -> None:
    """1,009 events: one answer says so, another one says 1,008."""
    made = traffic(clients=2)
    for client, (value, times) in enumerate(((1009, 5), (1008, 2))):
        question = made.questions[0]
        drawn = question.draw(Random(1), EVENTS.documents)  # noqa: S311 - no secret
        answer = orjson.dumps({"took": 1, "_shards": {}, "hits": {"total": {"value": value, "relation": "eq"}}})
        for _ in range(times):
            made.kept[client][0].keep(drawn, question.body(drawn), answer)
    told: list[tuple[int, int]] = []
    total, ratings = check(made, lambda *position: told.append(position))

    assert (total.checked, total.wrong, total.first_wrong) == (7, 2, "got 1,008 events, expected 1,009")
    assert (ratings.checked, told) == (0, [(0, 2)])


def times(**changes: Any) -> QueryTimes:
    """A question with 7 right answers."""
    values = {
        "name": "ratings", "question": "?", "model": "columns", "fingerprint": "", "requests": 7, "errors": {},
        "checked": 7, "wrong": 0, "expected_wrong": False, "first_wrong": None, "rows_right": None,
        "values_right": None, "hits_mean": None, "response_bytes": 0, "service_time": "", "service_time_s": 0.0,
        "latency": None, "took": "",
    }  # fmt: skip
    return QueryTimes(**{**values, **changes})


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({}, []),
        (
            {"wrong": 2, "first_wrong": "got 3 rows, expected 5"},
            [(2, 7, 3, 5)],
        ),
        ({"wrong": 2, "expected_wrong": True}, []),
        (
            {"expected_wrong": True},
            [(7, "queries.expect_wrong")],
        ),
        ({"checked": 0}, [(7,)]),
        (
            {"checked": 0, "errors": {NO_ANSWER: 4, "429 x": 3}},
            [(7, 429)],
        ),
        (
            {"checked": 0, "requests": 0},
            [("load.queries", "load.queries.warm_up_s")],
        ),
    ],
)
def test_a_load_without_right_answers_is_void_and_says_why(
    changes: dict[str, Any], facts: list[tuple[object, ...]], message: MakeMessage
) -> None:
    """Wrong where none is allowed, right where none is expected, not checked, not answered, not sent."""
    assert list(wrong_answers([times(**changes)])) == [message(*each) for each in facts]


# --- ramp ---------------------------------------------------------------------------------------------------------


def tried(start: float, factor: float, knee: float) -> list[float]:
    """The rates that a ramp tries on a server that breaks above its knee."""
    rates = ramp_rates(start, factor)
    rate: float | None = next(rates)
    found = []
    while rate is not None:
        found.append(rate)
        rate = next_rate(rates, is_broken=rate > knee)
    return found


def test_a_ramp_rises_until_the_bound_breaks_and_halves_the_gap() -> None:
    """16 → 32 breaks at a knee of 21; then three rates between them, geometrically."""
    assert [round(rate, 2) for rate in tried(4, 2, 21)] == [4, 8, 16, 32, 22.63, 19.03, 20.75]


def test_a_ramp_that_begins_above_the_knee_goes_down_and_finds_the_same() -> None:
    """From 64 by halves to 16, between which and 32 it lies."""
    assert [round(rate, 2) for rate in tried(64, 2, 21)] == [64, 32, 16, 22.63, 19.03, 20.75]


@pytest.mark.parametrize("knee", [1e99, 0])
def test_a_ramp_that_finds_no_knee_ends(knee: float) -> None:
    """Nothing breaks, or everything does."""
    assert len(tried(4, 1.25, knee)) == MOST_STEPS


def step_result(rate: float, service_ms: int, errors: int = 0, queries: int = 100) -> StageResult:
    """A step all of whose queries take the same time."""
    replies = [reply(0, service_ms, error=NOT_SENT if n < errors else None) for n in range(queries)]
    return StageResult(rate, 0, S, 0.0, replies)


@pytest.mark.parametrize(
    ("service_ms", "errors", "broken"), [(99, 0, False), (101, 0, True), (9, 1, False), (9, 2, True), (9, 100, True)]
)
def test_a_step_breaks_by_its_p99_or_by_more_than_1_percent_errors(service_ms: int, errors: int, broken: bool) -> None:  # noqa: FBT001 - a case
    """A step that answers few queries fast has not held its bound."""
    result = step_result(10, service_ms, errors)
    assert is_broken(result, Ramp(p99_ms=100)) == broken
    assert (step_of(result)["answered"], step_of(result)["errors"]) == (100 - errors, errors)


def test_only_the_first_step_of_a_ramp_has_the_whole_warm_up() -> None:
    """Servers are warm then; a second is left out of each step that follows."""
    ramp = Ramp(p99_ms=100, factor=2, step_s=3)
    stages: list[Stage] = []

    def run(stage: Stage) -> StageResult:
        stages.append(stage)
        return step_result(stage.rate_per_s or 0, 200 if (stage.rate_per_s or 0) > 30 else 50)

    made = list(ramp_stages(task(ramp=ramp, rate_per_s=20, warm_up_s=5), ramp, run))

    assert [round(stage.rate_per_s or 0, 1) for stage in stages] == [20, 40, 28.3, 33.6, 30.8]
    assert [stage.warm_up_s for stage in stages] == [5, 1, 1, 1, 1]
    assert len(made) == 5


def test_a_ramp_on_a_server_that_answers_nothing_ends_where_a_step_has_no_query() -> None:
    """From 4/s by halves: at 0.25/s, no query is due in 3 s."""
    ramp = Ramp(p99_ms=100, factor=2, step_s=3)
    made = list(ramp_stages(task(rate_per_s=4), ramp, lambda stage: step_result(stage.rate_per_s or 0, 9, 100)))

    assert [stage.rate_per_s for stage in made] == [4, 2, 1, 0.5]


# --- documents meanwhile ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [("1s", 1), ("30s", 30), ("500ms", 0.5), ("2m", 120), ("500micros", 0.0005), ("7S", 7), ("3 s", 3)],
)
def test_a_refresh_interval_is_read_as_elasticsearch_does(stated: str, seconds: float) -> None:
    """With its unit, which Elasticsearch insists on."""
    assert refresh_interval_s({"index.refresh_interval": stated}) == pytest.approx(seconds)


def test_without_a_refresh_interval_it_is_a_second() -> None:
    """Elasticsearch's own default."""
    assert refresh_interval_s({}) == 1


@pytest.mark.parametrize("stated", ["-1", "0", "0s", "-1ms"])
def test_an_index_that_is_never_refreshed_is_refused(stated: str, message: MakeMessage) -> None:
    """0, too, ends refreshes: seen on 8.19.21."""
    with pytest.raises(ProfileError) as refused:
        refresh_interval_s({"index.refresh_interval": stated})
    assert str(refused.value) == message("index.refresh_interval", stated, "1s")


def test_the_lag_is_how_long_ago_the_newest_searchable_document_was_the_newest_in_kafka() -> None:
    """100/s for 10 s, then 1,000/s; searches are 2 s behind, whatever the rate. Kafka's end stays at the end."""
    in_kafka = [(0.0, 0), (10.0, 1000), (15.0, 6000), (20.0, 6000)]
    searchable = [(7.0, 500), (12.0, 1000), (14.0, 3000)]

    assert searchable_lag_s(in_kafka, searchable) == pytest.approx(2.0)
    assert searchable_lag_s([], searchable) is None
    assert searchable_lag_s(in_kafka, []) is None


def index_of(present: set[int]) -> type[BaseHTTPRequestHandler]:
    """An Elasticsearch that has these events, and counts them."""
    timeline = EVENTS.timeline
    assert timeline is not None

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
            ranges = body.get("aggs", {}).get("before", {}).get("filters", {}).get("filters", {})
            buckets = {
                name: {"doc_count": sum(timeline.instant_ms(number) < int(name) for number in present)}
                for name in ranges
            }
            answer = {"hits": {"total": {"value": len(present)}}, "aggregations": {"before": {"buckets": buckets}}}
            content = orjson.dumps(answer)
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


def found(present: set[int]) -> int:
    """Documents before the first gap, as one reading finds it."""
    with serving(index_of(present)) as url:
        connection = QueryConnection(url, task(url))
        documents = Searchable(EVENTS, connection, task(url))._read()
        connection.close()
    return documents


@pytest.mark.parametrize(
    ("present", "documents"),
    [
        (set(range(700)), 700),
        # 3 and 40 are still under way: below them everything is there, and the count looks 250 and 500 documents back.
        (set(range(700)) - {660}, 449),
        (set(range(700)) - {300}, 199),
        (set(range(700)) - {3}, 0),
        (set(), 0),
    ],
)
def test_documents_count_as_searchable_up_to_an_instant_before_which_none_is_missing(
    present: set[int], documents: int
) -> None:
    """Looked for 0, 250, 500 … documents before as many as there are."""
    assert found(present) == documents


def test_what_one_copy_of_a_shard_finds_counts_only_when_the_others_must_find_it() -> None:
    """The reading is held back for as long as another copy may not have refreshed."""
    with serving(index_of(set(range(700)))) as url:
        held = Searchable(EVENTS, QueryConnection(url, task(url)), task(url, hold_s=3600))
        at_once = Searchable(EVENTS, QueryConnection(url, task(url)), task(url))
        with held, at_once:
            at_once.wait(threading.Event())
            for _ in _until(lambda: len(held._readings) > 0):
                pass
    assert (at_once.documents(), held.documents()) == (700, 0)


def test_updates_are_queried_from_when_on_every_key_is_searchable(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,009 documents of which 504 are updates have 505 keys; a search that finds all of them ends the wait."""
    monkeypatch.setattr(searchable_module, "EVERY_S", 0.0)
    updated, stop = make_dataset("vectors", documents=1009, updates=0.5), threading.Event()
    present, readings, read = set(range(503)), list[int](), searchable_module.hit_count

    def counted(connection: QueryConnection, path: str) -> int:
        readings.append(read(connection, path))
        return readings[-1]

    monkeypatch.setattr(searchable_module, "hit_count", counted)
    with serving(index_of(present)) as url:
        connection = QueryConnection(url, task(url))
        waiting = threading.Thread(target=wait_for_every_key, args=(updated, connection, task(url), stop))
        waiting.start()
        present.add(503)
        for _ in _until(lambda: readings.count(504) > 1):
            pass
        present.add(504)
        waiting.join()
        connection.close()
    assert readings.count(504) > 1
    assert readings[-1] == 505


def test_keys_that_do_not_become_searchable_are_told(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """How many there are, of how many, and where to look."""
    monkeypatch.setattr(searchable_module, "EVERY_S", 0.0)
    monkeypatch.setattr(searchable_module, "FIRST_WITHIN_S", 0.0)
    updated = make_dataset("vectors", documents=1009, updates=0.5)
    with serving(index_of(set(range(7)))) as url, pytest.raises(SearchableError) as refusal:
        wait_for_every_key(updated, QueryConnection(url, task(url)), task(url), threading.Event())
    assert str(refusal.value) == message(7, 505, 0, "index.refresh_interval")


def _until(is_so: Any) -> Iterator[None]:
    """Looks again and again."""
    give_up = threading.Event()
    for _ in itertools.takewhile(lambda _: not is_so(), range(500)):
        yield None
        give_up.wait(0.01)


def test_progress_says_how_far_and_how_long(message: MakeMessage) -> None:
    """The most important first: what does not fit is left out behind."""
    word = {"elapsed_s": 3.2, "lasts_s": 11.0, "sent": 2424, "errors": 0, "rate_per_s": None}
    assert progress_text(word) == message(3, 11, "2,424")
    assert progress_text({**word, "lasts_s": None, "rate_per_s": 14.0, "errors": 1009}) == message(
        3, "14.0/s", "2,424", "1,009"
    )


# --- the process --------------------------------------------------------------------------------------------------


def run_of(profile: Profile) -> Any:
    """What the sending process is made from of a run."""
    endpoints = SimpleNamespace(elasticsearch_urls=("http://127.0.0.1:9",))
    target = SimpleNamespace(access=Access(), endpoints=endpoints, child_environment={})
    return SimpleNamespace(profile=profile, target=target, names=SimpleNamespace(index="i"), root=ROOT, children={})


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("aladin/search-nested", ["dataset.books=1009"]),
        ("events/static", ["dataset.documents=1009", "dataset.interval_us=7", "queries.questions=[total-events]"]),
    ],
)
def test_the_sending_process_knows_the_documents_of_the_run(name: str, settings: list[str]) -> None:
    """Their number, whichever way it is stated, and every option: other documents have other right answers."""
    load = ["load.mode=query", "load.queries.requests=7"]
    profile = load_profile(name, overrides=[*settings, *load])
    own, sent = (dataset_of(profile), sending_task(run_of(profile), QueryLoad(requests=7), None))

    made = make_dataset(**sent["dataset"])
    assert (made, made.documents) == (own, own.documents)
    assert (sent["documents_stream"], sent["hold_s"], sent["ramp"]) == (False, 0.0, None)


@pytest.mark.parametrize(("replicas", "hold_s"), [(0, 0.0), (1, 31.0)])
def test_only_replicas_hold_readings_back(replicas: int, hold_s: float) -> None:
    """By a refresh and a second more, in which another copy has refreshed, too."""
    settings = ["dataset.documents=1009", "queries.questions=[total-events]", f"index.number_of_replicas={replicas}"]
    settings += ["load.mode=stream", "load.rate_docs_per_s=7", "load.queries.clients=3"]
    profile = load_profile("events/static", overrides=settings)

    assert sending_task(run_of(profile), QueryLoad(), 30.0)["hold_s"] == hold_s


def test_a_sending_process_that_is_killed_is_noticed_while_documents_stream(message: MakeMessage) -> None:
    """Not only when they end."""
    settings = ["dataset.documents=1009", "queries.questions=[total-events]"]
    profile = load_profile("events/static", overrides=[*settings, "load.mode=query", "load.queries.requests=7"])
    run = run_of(profile)
    with QuerySending(run, QueryLoad(requests=7), None) as sending:
        sending.follow()
        os.kill(run.children["queries"], signal.SIGKILL)
        os.waitid(os.P_PID, run.children["queries"], os.WEXITED | os.WNOWAIT)
        with pytest.raises(StackError) as killed:
            for _ in _until(sending.follow):
                pass
    assert str(killed.value) == message("queries", -9)
    assert run.children == {}
