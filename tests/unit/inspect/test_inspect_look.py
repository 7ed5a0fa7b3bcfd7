"""A look at served answers: it only reads, says what it could not read, and shows no secret."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from itertools import count, pairwise
from typing import Any
from unittest.mock import Mock
from urllib.parse import unquote

import orjson
import pytest
from confluent_kafka import Message

from lab.cli.inspect import json_of, print_screen
from lab.clients.kafka import KafkaTopics
from lab.clients.target import cluster_of
from lab.endpoints import Endpoints
from lab.errors import ProfileError, StackError
from lab.inspect import connector as of_connector
from lab.inspect import look as looking
from lab.inspect import readings
from lab.inspect.limits import Pipeline, bottleneck_of
from lab.inspect.look import look
from lab.inspect.readings import PipelineReader, Reading, ingest_of, watch
from lab.records.samples import KafkaSample
from tests.unit.http_server import serving
from tests.unit.inspect.pipelines import ONE_TASK

PASSWORD = "correct-horse"
CONFIG = {
    "connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
    "topics": "orders",
    "tasks.max": "1",
    "batch.size": "20",
    "connection.url": f"https://shop:{PASSWORD}@es:9200",
    "connection.password": PASSWORD,
    "errors.deadletterqueue.topic.name": "orders-dlq",
}
STATUS = {
    "name": "orders",
    "connector": {"state": "RUNNING", "version": "15.1.1"},
    "tasks": [{"id": 0, "state": "RUNNING"}, {"id": 1, "state": "FAILED", "trace": f"Boom: {PASSWORD}\n\tat x"}],
}
COPY = {
    "routing": {"primary": True, "node": "n1"},
    "indexing": {"index_total": 7, "index_time_in_millis": 3, "throttle_time_in_millis": 0},
}
ANSWERS: dict[str, Any] = {
    "/connectors": ["orders", "books"],
    "/connectors/orders": {"name": "orders", "config": CONFIG, "tasks": []},
    "/connectors/orders/status": STATUS,
    "/connectors/orders/topics": {"orders": {"topics": ["orders"]}},
    "/connector-plugins/io.confluent.connect.elasticsearch.ElasticsearchSinkConnector/config": [
        {"name": "linger.ms", "type": "LONG", "default_value": "1"},
        {"name": "connection.password", "type": "PASSWORD", "default_value": None},
    ],
    "/": {"version": {"number": "8.19.21"}},
    "/orders/_settings/index.default_pipeline,index.final_pipeline": {},
    "/orders/_stats/indexing,bulk,refresh,merge": {"indices": {"orders": {"shards": {"0": [COPY]}}}},
    "/_nodes/stats/os,process,jvm,thread_pool,fs,ingest,indexing_pressure": {
        "nodes": {"n1": {"name": "es-1", "roles": ["data_hot"]}}
    },
    "/orders/_settings": {"orders": {"settings": {"index.number_of_shards": "1"}, "defaults": {}}},
    "/orders/_mapping": {"orders": {"mappings": {"properties": {"title": {"type": "text"}}}}},
}


@dataclass
class Served:
    """A Connect worker and a cluster as one server, and what was asked of it."""

    url: str = ""
    answers: dict[str, Any] = field(default_factory=lambda: dict(ANSWERS))
    refused: dict[str, int] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    @property
    def endpoints(self) -> Endpoints:
        """All servers at its address."""
        return Endpoints("127.0.0.1:1", self.url, (self.url,), None)


@pytest.fixture
def served() -> Iterator[Served]:
    """The server."""
    made = Served()

    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            path, _, query = self.path.partition("?")
            made.queries.append(query)
            made.requests.append((self.command, path))
            status = made.refused.get(path, 200 if path in made.answers else 404)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(orjson.dumps(made.answers.get(path, {}) if status == 200 else {"error": "no"}))

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = respond  # noqa: N815

    with serving(Handler) as made.url:
        yield made


class Offsets:
    """A topic of 1,009 records, 11 of which are committed."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def read(self) -> KafkaSample:
        """The offsets."""
        return KafkaSample(end_offset=1_009, committed_offset=11, partitions={"orders-0": (1_009, 11)})

    def end_offsets(self) -> dict[tuple[str, int], int]:
        """The end of the dead-letter topic."""
        return {("orders-dlq", 0): 3}

    def close(self) -> None:
        """Nothing."""


@pytest.fixture(autouse=True)
def _kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "KafkaReader", Offsets)
    monkeypatch.setattr(KafkaTopics, "group_state", lambda *_: ("STABLE", 1))
    monkeypatch.setattr(KafkaTopics, "bounds", lambda *_: {0: (0, 1_009)})
    monkeypatch.setattr(readings, "EVERY_S", 0.0)
    monkeypatch.setattr(looking, "MOST_S", 0.0)


def inspected(served: Served, **options: Any) -> Pipeline:
    """A look of one moment."""
    return look(served.endpoints, "orders", **{"seconds": 0.0, **options})


def test_every_request_is_a_get_and_they_are_few(served: Served) -> None:
    """Four of the connector, twice; four of the cluster; two of each reading."""
    inspected(served)

    assert {method for method, _ in served.requests} == {"GET"}
    assert len(served.requests) == 2 * 4 + 4 + 2 * 2


def test_no_secret_is_shown(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    """The worker's REST API shows passwords as they are, in the configuration and in traces."""
    pipeline = inspected(served)
    print_screen(pipeline)

    assert PASSWORD not in capsys.readouterr().out
    assert PASSWORD not in orjson.dumps(json_of(pipeline), default=str).decode()


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("/orders/_stats/indexing,bulk,refresh,merge", "shards"),
        ("/_nodes/stats/os,process,jvm,thread_pool,fs,ingest,indexing_pressure", "nodes"),
        ("/orders/_mapping", "index"),
        ("/orders/_settings/index.default_pipeline,index.final_pipeline", "ingest"),
    ],
)
def test_a_part_that_may_not_be_read_is_named_and_the_others_are_read(
    served: Served, path: str, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what that part would tell."""
    served.refused[path] = 403

    pipeline = inspected(served)
    print_screen(pipeline)

    assert source in pipeline.lost
    assert "403" in capsys.readouterr().out
    assert pipeline.figures.lag == 998


def test_a_cluster_that_is_away_is_asked_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each further request would wait as long."""
    monkeypatch.setattr(looking, "ANSWER_TIMEOUT_S", 0.0)
    away = Endpoints("127.0.0.1:1", served.url, ("http://127.0.0.1:1",), None)

    pipeline = look(away, "orders", seconds=0.0)

    assert list(pipeline.lost) == ["cluster"]
    assert pipeline.figures.lag == 998


def test_a_worker_that_is_away_at_the_end_costs_its_states_alone(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was watched for a minute is shown all the same."""
    monkeypatch.setattr(of_connector, "ANSWER_TIMEOUT_S", 0.0)

    pipeline = inspected(served, on_begin=lambda _: served.refused.update({"/connectors/orders/status": 500}))

    assert (list(pipeline.lost), pipeline.figures.lag) == (["connector"], 998)
    assert pipeline.connector.running_tasks == 1


def test_a_worker_that_cannot_give_defaults_leaves_them_out(served: Served) -> None:
    """Before Kafka 3.2."""
    del served.answers["/connector-plugins/io.confluent.connect.elasticsearch.ElasticsearchSinkConnector/config"]

    connector = inspected(served).connector

    assert (connector.has_defaults, connector.value("batch.size"), connector.value("linger.ms")) == (False, "20", None)


STATS = "/orders/_stats/indexing,bulk,refresh,merge"


def read(served: Served, step_s: float, times: int) -> PipelineReader:
    """A reader of shards after so many readings, each source of which takes so long."""
    connector = replace(ONE_TASK.connector, topics=(), dead_letters=None)
    cluster, clock = cluster_of(served.endpoints, 1.0), count(0.0, step_s).__next__
    reader = PipelineReader(served.endpoints, connector, cluster, indices="orders", clock=clock)
    for _ in range(times):
        reader.read()
    return reader


def test_a_source_that_fails_at_once_is_asked_until_it_answers(served: Served) -> None:
    """As the shards of a node that is started again; each reading asks once, so that its instant is the answer's."""
    served.refused[STATS] = 503
    reader = read(served, 0.0, 7)
    assert (list(reader.lost), [path for _, path in served.requests].count(STATS)) == (["shards"], 7)

    served.refused.clear()
    assert [copy.shard for copy in reader.read().copies or ()] == ["orders/0"]
    assert reader.lost == {}


def test_a_source_that_keeps_the_others_waiting_is_asked_no_more(served: Served) -> None:
    """After 30 s without an answer; one answer in between lets it wait as long again."""
    served.refused[STATS] = 403
    reader = read(served, 10.0, 2)
    served.refused.clear()
    reader.read()
    served.refused[STATS] = 403
    for _ in range(7):
        reader.read()

    assert [path for _, path in served.requests].count(STATS) == 2 + 1 + 3


def test_readings_that_a_slow_one_has_delayed_are_not_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No request comes sooner than two seconds after the one before: that is the load which is promised."""
    monkeypatch.setattr(readings, "EVERY_S", 2.0)
    now_s, asked_s, costs_s = [1_000.0], list[float](), iter([0.1, 11.0, 0.1, 0.1, 0.1])

    def read() -> Reading:
        asked_s.append(now_s[0])
        now_s[0] += next(costs_s)
        return Reading(at_s=now_s[0])

    def sleep(s: float) -> None:
        now_s[0] += s

    watch(Mock(read=read), 19.0, most_s=19.0, is_enough=lambda _: True, sleep=sleep, clock=lambda: now_s[0])

    assert [round(later - earlier, 1) for earlier, later in pairwise(asked_s)] == [2.1, 13.0, 2.1, 2.1]


PIPELINES = "/orders/_settings/index.default_pipeline,index.final_pipeline"
BOTH = {"orders": {"settings": {"index.default_pipeline": "parse", "index.final_pipeline": "stamp"}}}


@pytest.mark.parametrize(("own", "expected"), [({}, {"parse", "stamp"}), ({"pipeline": "mine"}, {"mine", "stamp"})])
def test_pipelines_that_documents_pass_are_read_alone(served: Served, own: dict[str, str], expected: set[str]) -> None:
    """One that the connector names takes the place of the index's default one."""
    served.answers |= {PIPELINES: BOTH, "/connectors/orders": {"name": "orders", "config": {**CONFIG, **own}}}

    inspected(served)

    asked = next(query for query in served.queries if "ingest.pipelines" in query)
    assert set(re.findall(r"ingest\.pipelines\.(\w+)\.time_in_millis", asked)) == expected


def test_a_dot_of_a_pipeline_s_name_is_no_step_of_the_filter(served: Served) -> None:
    """As in the names of Elastic's integrations; unescaped, the answer would leave that pipeline out."""
    served.answers[PIPELINES] = {"orders": {"settings": {"index.default_pipeline": "logs-nginx-1.2"}}}

    inspected(served)

    asked = next(query for query in served.queries if "ingest.pipelines" in query)
    assert r"ingest.pipelines.logs-nginx-1\.2.processors.*.stats.time_in_millis" in unquote(asked)


def test_processors_are_told_apart_by_place_and_name() -> None:
    """Of those without a tag, several may have one name."""
    listed = [
        {name: {"type": "set", "stats": {"count": 3, "time_in_millis": ms}}}
        for name, ms in (("set", 7), ("grok:line", 11), ("set", 1))
    ]

    read = ingest_of({"p": {"count": 3, "time_in_millis": 20, "processors": listed}})

    whole = {("p", 0, "count"): 3, ("p", 0, "time_in_millis"): 20}
    assert read == whole | {("p", 1, "set"): 7, ("p", 2, "grok:line"): 11, ("p", 3, "set"): 1}


def test_opensearch_s_times_of_ingest_pipelines_are_not_taken(served: Served) -> None:
    """Each document has there the time of its whole bulk request: two thousand times too much."""
    served.answers |= {
        "/": {"version": {"number": "3.8.0", "distribution": "opensearch"}},
        PIPELINES: BOTH,
        "/orders/_stats/indexing,refresh,merge": ANSWERS[STATS],
    }

    pipeline = inspected(served)

    assert "whole bulk request" in pipeline.lost["ingest"]
    assert pipeline.figures.indexing_rate == 0
    assert [query for query in served.queries if "ingest.pipelines" in query] == []


def test_an_unknown_connector_is_refused_with_those_that_there_are(served: Served) -> None:
    """In one sentence, with the one that is probably meant."""
    with pytest.raises(ProfileError, match=r'got "order".*did you mean `orders`\? \(it has `books`, `orders`\)'):
        look(served.endpoints, "order", seconds=0.0)


def test_a_failed_task_is_named_with_its_cause(served: Served) -> None:
    """The innermost cause of its trace."""
    bottleneck = bottleneck_of(inspected(served))

    assert bottleneck is not None
    assert (bottleneck.stage, bottleneck.evidence) == ("connector", "1 task of 2 failed: Boom: (hidden).")


def test_of_a_pattern_without_a_topic_no_index_is_read(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster would tell of all of its indices; topics that the connector has not read yet count."""
    pattern = {name: value for name, value in CONFIG.items() if name != "topics"} | {"topics.regex": "new-.*"}
    served.answers |= {
        "/connectors/orders": {"name": "orders", "config": pattern},
        "/new-a/_settings/index.default_pipeline,index.final_pipeline": {},
    }
    monkeypatch.setattr(KafkaTopics, "names", lambda *_: {"new-a", "other"})
    assert inspected(served).connector.topics == ("new-a",)

    served.requests.clear()
    monkeypatch.setattr(KafkaTopics, "names", lambda *_: {"other"})
    pipeline = inspected(served)
    assert (pipeline.index, list(pipeline.lost)) == (None, ["cluster"])
    assert [path for _, path in served.requests if not path.startswith("/connect")] == []


@pytest.mark.parametrize("held", [(), (0,)], ids=["none", "one"])
def test_a_few_offsets_that_hold_no_record_are_no_backlog(
    held: tuple[int, ...], served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction's end has an offset; an idle connector would else look as one that does nothing."""
    asked = behind(monkeypatch, {"orders-0": (10, 9), "orders-1": (7, 6), "orders-2": (5, 5)}, held)
    served.answers["/connectors/orders/status"] = {**STATUS, "tasks": [{"id": 0, "state": "RUNNING"}]}

    pipeline = inspected(served)
    assert asked == [("orders", {0: 9, 1: 6}, {0: 10, 1: 7})]
    assert pipeline.figures.backlog == (None if held else 0)


@pytest.mark.parametrize(("begin", "backlog"), [(0, None), (3_000, 0)], ids=["held", "removed"])
def test_offsets_that_retention_has_removed_are_no_backlog(
    begin: int, backlog: int | None, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connector that has read nothing of a partition has committed nothing there, and may begin at its end."""
    asked = behind(monkeypatch, {"orders-0": (3_000, 0)}, (), begin)
    served.answers["/connectors/orders/status"] = {**STATUS, "tasks": [{"id": 0, "state": "RUNNING"}]}

    assert inspected(served).figures.backlog == backlog
    assert asked == ([("orders", {0: 3_000}, {0: 3_000})] if begin else [])


def behind(
    monkeypatch: pytest.MonkeyPatch, places: dict[str, tuple[int, int]], held: tuple[int, ...], begin: int = 0
) -> list[tuple[str, dict[int, int], dict[int, int]]]:
    """Spans of records that are read of partitions with these ends and committed offsets."""
    ends, committed = zip(*places.values(), strict=True)
    sample = KafkaSample(end_offset=sum(ends), committed_offset=sum(committed), partitions=places)
    monkeypatch.setattr(Offsets, "read", lambda _: sample)
    monkeypatch.setattr(KafkaTopics, "bounds", lambda *_: {number: (begin, end) for number, end in enumerate(ends)})
    asked = []

    def records(_: KafkaTopics, topic: str, first: dict[int, int], last: dict[int, int]) -> list[Message]:
        asked.append((topic, first, last))
        return [Mock(Message, partition=lambda place=place: place) for place in held]

    monkeypatch.setattr(KafkaTopics, "records", records)
    return asked


def test_a_name_and_a_cause_are_shown_as_they_are(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither as markup nor as control characters of a terminal."""
    task = {"id": 0, "state": "FAILED", "trace": "Boom: \x1b[2J[red]7\n\tat x"}
    served.answers["/connectors/orders/status"] = {**STATUS, "tasks": [task]}

    print_screen(inspected(served))

    assert "Boom:  [2J[red]7" in capsys.readouterr().out


def test_names_that_fit_into_no_request_are_asked_for_in_several(served: Served) -> None:
    """Elasticsearch takes 4,096 bytes: those of 149 topics of a database are more."""
    names = [f"shop.public.cdc.table-{number:04d}" for number in range(149)]
    served.answers["/connectors/orders"] = {"name": "orders", "config": {**CONFIG, "topics": ",".join(names)}}
    half = 111
    for part, number in ((names[:half], 0), (names[half:], half)):
        served.answers |= {
            f"/{','.join(part)}/_settings/index.default_pipeline,index.final_pipeline": {},
            f"/{','.join(part)}/_stats/indexing,bulk,refresh,merge": {
                "indices": {names[number]: {"shards": {"0": [COPY]}}}
            },
        }

    pipeline = inspected(served)
    assert max(len(path) for _, path in served.requests) < 3_100
    assert set(pipeline.figures.shard_documents) == {f"{names[0]}/0", f"{names[half]}/0"}


def test_a_page_in_place_of_json_is_a_part_that_is_not_read(served: Served) -> None:
    """As a proxy serves it where it wants a login."""
    served.answers["/_nodes/stats/os,process,jvm,thread_pool,fs,ingest,indexing_pressure"] = "<html>"
    served.answers["/"] = ["no cluster"]

    pipeline = inspected(served)

    assert (pipeline.engine, list(pipeline.lost)) == (None, ["nodes"])


def test_of_a_cluster_that_is_upgraded_the_older_version_is_shown(served: Served) -> None:
    """As numbers: 8.9 is older than 8.19. A build without a page at `/` tells by its nodes alone."""
    del served.answers["/"]
    served.answers["/_nodes/process"] = {"nodes": {"n1": {"version": "8.19.21"}, "n2": {"version": "8.9.2"}}}

    assert inspected(served).engine == "Elasticsearch 8.9.2"


@pytest.mark.parametrize(
    "answer", [[], [[1]], "<html>", {}, {"orders": "x"}, {"version": 7, "nodes": [], "indices": 3}]
)
@pytest.mark.parametrize("path", ANSWERS)
def test_an_answer_of_another_form_is_a_sentence_or_a_part_that_is_not_read(
    served: Served, path: str, answer: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the worker or of the cluster, at each path; never an error of Python's."""
    served.answers[path] = answer
    try:
        pipeline = inspected(served)
    except StackError as error:
        assert "a proxy may serve its own page" in str(error)  # noqa: PT017 - either is right
        return
    print_screen(pipeline)
    told = capsys.readouterr().out + orjson.dumps(json_of(pipeline), default=str).decode()
    assert "has no attribute" not in told


@pytest.mark.parametrize("name", ["shop/orders", "100%", ".."])
def test_a_name_that_no_path_can_hold_is_looked_up_among_all(served: Served, name: str) -> None:
    """Jetty, Connect's server, rejects such a path, encoded or not."""
    served.answers["/connectors"] = {name: {"info": {"config": CONFIG}, "status": STATUS}}

    found = look(served.endpoints, name, seconds=0.0).connector

    assert (found.name, found.running_tasks, found.value("batch.size")) == (name, 1, "20")
