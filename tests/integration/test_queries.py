"""Questions asked of real servers, and their answers held against the dataset."""

import base64
import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import orjson
import pytest

from lab.monitor.control_groups import OwnGroups
from lab.monitor.processes import ProcessReader
from lab.records.queries import QueryLoadResult
from lab.records.run import Run
from lab.records.samples import ControlGroupSample
from lab.stack.groups import Bounds
from tests.integration.conftest import Sluice

BOOKS = 3001
ANSWERS = 29
ONE_NODE = (
    "--set",
    f"dataset.books={BOOKS}",
    "--set",
    "elasticsearch.data_nodes=1",
    "--set",
    "index.number_of_replicas=0",
    "--set",
    f"queries.repeats={ANSWERS}",
)


def run_of(sluice: Sluice) -> Run:
    """The record of the last run."""
    return Run.model_validate_json((sluice.latest() / "run.json").read_text())


def test_nested_and_flat_books_give_the_same_right_answers(sluice: Sluice) -> None:
    """The same values are asked for, every answer is right, and only the flat model has to join."""
    runs = []
    for model in ("nested", "flat"):
        done = sluice.run(f"aladin/search-{model}", *ONE_NODE)
        assert (done.status, done.errors) == (0, "")
        runs.append(run_of(sluice))

    nested, flat = (run.questions for run in runs)
    assert [(asked.name, asked.answers, asked.wrong) for asked in (*nested, *flat)] == [
        (name, ANSWERS, 0) for name in ("shop-below-price", "cheapest-in-category", "publisher-in-shops") * 2
    ]
    assert [asked.fingerprint for asked in nested] == [asked.fingerprint for asked in flat]
    assert all(asked.books for asked in nested)
    assert [(asked.requests, asked.ids_joined) for asked in nested] == [(ANSWERS, 0)] * 3
    assert all(asked.requests > ANSWERS and asked.ids_joined for asked in flat)
    assert [phase.name for phase in runs[0].phases][-3:] == ["verify", "query", "collect"]
    assert "What it answers, and how fast" in (sluice.latest() / "report.html").read_text()


def test_a_wrong_answer_voids_the_run_unless_it_is_expected(sluice: Sluice) -> None:
    """Shop and price of two different offers match; the dataset knows better. Here the right answers are expected."""
    done = sluice.run("aladin/search-apart", *ONE_NODE, "--set", "queries.expect_wrong=[shop-below-price]")

    assert done.status == 4
    together, apart = run_of(sluice).questions
    assert (together.wrong, apart.wrong > 0) == (0, True)
    assert (together.expected_wrong, apart.expected_wrong) == (True, False)
    assert f"question shop-below-price: all {ANSWERS} answers are right, expected wrong ones" in done.errors
    assert f"question shop-below-price-apart: {apart.wrong} of {ANSWERS} answers are wrong" in done.errors


def test_a_mapping_that_a_question_does_not_fit_is_refused_before_the_load(sluice: Sluice) -> None:
    """Nobody can sort by an id that the mapping says nothing of."""
    done = sluice.run("aladin/search-nested", *ONE_NODE, "--set", "mapping=aladin.nested.dynamic")

    assert (done.status, "fill" in done.output) == (2, False)
    assert '"shop-below-price" sorts or counts by `salesPoint`, which mapping aladin.nested.dynamic does not have' in (
        done.errors
    )


NODE = "elasticsearch-1"
LIMIT_MB = 2003
IOPS = 997
BOUNDS = Bounds(memory_limit_mb=LIMIT_MB, read_iops_limit=IOPS)
FETCHED = 101


def group_of_first_node(sluice: Sluice) -> ControlGroupSample:
    """As a run samples it."""
    processes, _ = ProcessReader(lambda: {NODE: sluice.stack.process_ids()[NODE]}).read()
    return OwnGroups().read(processes)[NODE]


def eventually(holds: Callable[[], bool], within_s: float = 10.0) -> bool:
    """Whether it holds before long."""
    deadline = time.monotonic() + within_s
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.2)
    return holds()


def limit_that_it_sees(elasticsearch: httpx.Client) -> int:
    """What the first node says of its own control group."""
    (node,) = elasticsearch.get("/_nodes/elasticsearch-1/stats/os").json()["nodes"].values()
    return int(node["os"]["cgroup"]["memory"]["limit_in_bytes"])


def test_a_bound_is_seen_by_the_server_and_empties_its_page_cache(sluice: Sluice, elasticsearch: httpx.Client) -> None:
    """What root has read meanwhile would be charged to nobody's limit: queries must read it from the disk again."""
    if lacks := tuple(sluice.stack.groups.lacks(BOUNDS)):
        pytest.skip("; ".join(lacks))
    draw = random.Random(17)  # noqa: S311 - bytes that nothing can compress, no secret
    lines = [
        line
        for number in range(FETCHED)
        for line in ({"index": {"_id": number}}, {"x": base64.b64encode(draw.randbytes(50_000)).decode()})
    ]
    body = "".join(f"{json.dumps(line)}\n" for line in lines)
    elasticsearch.put("/bounded", json={"mappings": {"enabled": False}}).raise_for_status()
    try:
        elasticsearch.post(
            "/bounded/_bulk?refresh=true", content=body, headers={"content-type": "application/x-ndjson"}
        )
        elasticsearch.post("/bounded/_flush").raise_for_status()
        for file in (sluice.state / "kept").rglob("node-1/data/**/*.*"):
            if file.is_file():
                file.read_bytes()
        with sluice.stack.bounded(BOUNDS):
            before = group_of_first_node(sluice)
            assert before.memory_used_bytes <= LIMIT_MB * 2**20
            assert before.memory_limit_bytes is not None
            assert eventually(lambda: limit_that_it_sees(elasticsearch) // 4096 * 4096 == before.memory_limit_bytes)
            found = elasticsearch.post("/bounded/_search", json={"size": FETCHED}).raise_for_status().json()
            after = group_of_first_node(sluice)
        assert len(found["hits"]["hits"]) == FETCHED
        assert (after.read_bytes or 0) - (before.read_bytes or 0) > 3_000_000
        assert (after.read_operations or 0) > (before.read_operations or 0)
        assert group_of_first_node(sluice).memory_limit_bytes is None
        # What a node says of itself is up to a second old.
        assert eventually(lambda: limit_that_it_sees(elasticsearch) > LIMIT_MB * 2**20)
    finally:
        elasticsearch.delete("/bounded")


# --- query loads ------------------------------------------------------------------------------------------------------

EVENTS = 4001
SEVEN = (
    "ratings", "events-over-time", "ratings-by-country", "top-organizations", "unique-organizations",
    "unique-addresses", "total-events",
)  # fmt: skip
WHILE_STREAMING = """
question: How long do the seven questions take while events stream?
extends: events/static
dataset: {documents: 12007, interval_us: 1664}
index: {refresh_interval: 200ms}
queries:
  questions: [%s]
  window: {seconds: 2}
load:
  mode: stream
  rate_docs_per_s: 601
  queries: {clients: 4, rate_per_s: 14, warm_up_s: 1}
"""
ALONE = """
question: How long do the seven questions take?
extends: events/static
dataset: {documents: %d}
queries:
  questions: [%s]
load:
  mode: query
  queries: {clients: 3, requests: 98, warm_up_s: 0.5}
"""
RAMP = """
question: How many queries a second keep p99 below 1 ms?
extends: events/static
dataset: {documents: %d}
queries:
  questions: [%s]
load:
  mode: query
  queries: {clients: 16, rate_per_s: 64, warm_up_s: 0.5}
  ramp: {p99_ms: 1, factor: 8, step_s: 2}
"""


def query_load(sluice: Sluice) -> QueryLoadResult:
    """That of the last run."""
    load = run_of(sluice).query_load
    assert load is not None
    return load


def answered(load: QueryLoadResult) -> list[tuple[str, int, int]]:
    """Of each question its name, answers that were not compared, and wrong ones."""
    return [(question.name, question.answers - question.checked, question.wrong) for question in load.questions]


def test_queries_alone_keep_their_index_and_ask_the_same_again(
    sluice: Sluice, elasticsearch: httpx.Client, tmp_path: Path
) -> None:
    """The second run loads nothing. A ramp reads the same index. Documents that change in secret are found out."""
    alone = tmp_path / "alone.yaml"
    alone.write_text(ALONE % (EVENTS, ", ".join(SEVEN)))
    loads = []
    for _ in range(2):
        done = sluice.run(str(alone))
        assert (done.status, done.errors) == (0, "")
        loads.append(query_load(sluice))
    first, again = loads

    assert ("indexing" in done.output, "looking for a kept index" in done.output) == (False, True)
    assert [answered(load) for load in loads] == [[(name, 0, 0) for name in SEVEN]] * 2
    assert [sum(question.requests for question in load.questions) for load in loads] == [98, 98]
    assert [question.fingerprint for question in first.questions] == [
        question.fingerprint for question in again.questions
    ]
    assert {question.hits_mean for question in first.questions} == {EVENTS}

    (tmp_path / "ramp.yaml").write_text(RAMP % (EVENTS, ", ".join(SEVEN)))
    done = sluice.run(str(tmp_path / "ramp.yaml"))
    assert (done.status, done.errors) == (0, "")
    ramp = query_load(sluice)
    rates = [step.rate_per_s for step in ramp.steps]
    assert rates[0] == 64
    assert rates[1] in {8, 512}
    assert sum(step.answered + step.errors for step in ramp.steps) == sum(
        question.requests for question in ramp.questions
    )

    index = run_of(sluice).index
    change_events(elasticsearch, index)
    done = sluice.run(str(alone))
    assert (done.status, "indexing" in done.output) == (4, False)
    wrong = query_load(sluice)
    assert [(question.name, question.wrong) for question in wrong.questions] == [
        (question.name, question.checked) for question in wrong.questions
    ]
    for question in wrong.questions:
        assert f"question {question.name}: {question.wrong} of {question.wrong} answers are wrong" in done.errors
    elasticsearch.delete(f"/{index}").raise_for_status()


def test_queries_are_right_while_documents_stream(sluice: Sluice, tmp_path: Path) -> None:
    """Each is about the newest documents that were searchable then; how far those were behind is told."""
    (tmp_path / "meanwhile.yaml").write_text(WHILE_STREAMING % ", ".join(SEVEN))
    done = sluice.run(str(tmp_path / "meanwhile.yaml"))
    assert (done.status, done.errors) == (0, "")

    run, load = run_of(sluice), query_load(sluice)
    assert answered(load) == [(name, 0, 0) for name in SEVEN]
    assert min(question.answers for question in load.questions) > 2
    requests = [question.requests for question in load.questions]
    assert max(requests) - min(requests) <= 1
    assert load.searchable_lag_s is not None
    assert 0 < load.searchable_lag_s < 60
    assert load.window_documents_mean is not None
    assert 0 < load.window_documents_mean <= 1203
    assert run.documents.indexed == 12007
    streamed = run.delivery
    assert streamed is not None
    assert streamed.first_intended_s < load.started_s < load.ended_s


def change_events(elasticsearch: httpx.Client, index: str) -> None:
    """Move a tenth of the events, all of an organization among them, to a year that no window reaches.

    The mark of the kept index is made to fit: as many documents, and so many more operations.
    """
    search = f"/{index}/_search"
    newest = elasticsearch.post(search, json={"size": EVENTS // 10}).json()["hits"]["hits"]
    name = newest[0]["_source"]["Organization"]
    query = {"size": EVENTS, "query": {"term": {"Organization": name}}}
    theirs = elasticsearch.post(search, json=query).json()["hits"]["hits"]
    ids = {hit["_id"] for hit in (*newest, *theirs)}
    lines = [
        line
        for name in sorted(ids)
        for line in ({"update": {"_id": name}}, {"doc": {"DateTimeReceivedUtc": "1999-01-01T00:00:00.000Z"}})
    ]
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    headers = {"Content-Type": "application/x-ndjson"}
    changed = elasticsearch.post(f"/{index}/_bulk?refresh=true", content=body, headers=headers)
    assert changed.json()["errors"] is False
    meta = elasticsearch.get(f"/{index}/_mapping").json()[index]["mappings"]["_meta"]
    meta["sluice"]["layout"]["operations"] += len(ids)
    elasticsearch.put(f"/{index}/_mapping", json={"_meta": meta}).raise_for_status()


NEAREST = """
question: Does an exact index find all of the nearest vectors?
extends: vectors/nearest
dataset: {documents: 1009, dimensions: 7}
mapping: vectors.flat
load:
  queries: {clients: 2, duration_s: null, requests: 60, warm_up_s: 0}
"""


def test_an_exact_index_has_a_recall_of_one(sluice: Sluice, tmp_path: Path) -> None:
    """Elasticsearch and the dataset agree on the nearest vectors, to the last digit of a document."""
    (tmp_path / "nearest.yaml").write_text(NEAREST)
    done = sluice.run(str(tmp_path / "nearest.yaml"))
    assert (done.status, done.errors) == (0, "")

    nearest = query_load(sluice).questions
    assert [(question.name, question.rows_right, question.wrong) for question in nearest] == [
        ("nearest-10", 1.0, 0),
        ("nearest-100", 1.0, 0),
    ]


UPDATES = """
question: Are all of the nearest vectors found while they are updated?
extends: vectors/updates
dataset: {documents: 6007, dimensions: 7, updates: 0.8}
mapping: vectors.flat
load:
  rate_docs_per_s: 500
  queries: {clients: 2, rate_per_s: 20, warm_up_s: 0}
"""


def test_an_exact_index_has_a_recall_of_one_while_vectors_are_updated(sluice: Sluice, tmp_path: Path) -> None:
    """Updates leave the neighbours as they are, from when on every key is searchable; queries wait for that."""
    (tmp_path / "updates.yaml").write_text(UPDATES)
    done = sluice.run(str(tmp_path / "updates.yaml"))
    assert (done.status, done.errors) == (0, "")

    (nearest,) = query_load(sluice).questions
    assert (nearest.rows_right, nearest.wrong) == (1.0, 0)
    assert nearest.checked > 0
    run = run_of(sluice)
    assert run.documents.indexed == 6007 - 4805
    assert run.environment.vector_options == {"vector": {"type": "flat"}}
