"""Questions asked of real servers, and their answers held against the dataset."""

import base64
import json
import random

import httpx
import pytest

from lab.monitor.control_groups import own_groups
from lab.monitor.processes import ProcessReader
from lab.records.run import Run
from lab.records.samples import ControlGroupSample
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
FETCHED = 101


def group_of_first_node(sluice: Sluice) -> ControlGroupSample:
    """As a run samples it."""
    processes, _ = ProcessReader(lambda: {NODE: sluice.stack.process_ids()[NODE]}).read()
    return own_groups(processes)[NODE]


def limit_that_it_sees(elasticsearch: httpx.Client) -> int:
    """What the first node says of its own control group."""
    (node,) = elasticsearch.get("/_nodes/elasticsearch-1/stats/os").json()["nodes"].values()
    return int(node["os"]["cgroup"]["memory"]["limit_in_bytes"])


def test_a_bound_is_seen_by_the_server_and_empties_its_page_cache(sluice: Sluice, elasticsearch: httpx.Client) -> None:
    """What root has read meanwhile would be charged to nobody's limit: queries must read it from the disk again."""
    if lacks := tuple(sluice.stack.groups.lacks(LIMIT_MB, IOPS)):
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
        with sluice.stack.bounded(LIMIT_MB, IOPS):
            before = group_of_first_node(sluice)
            assert before.memory_used_bytes <= LIMIT_MB * 2**20
            assert before.memory_limit_bytes == limit_that_it_sees(elasticsearch) // 4096 * 4096
            found = elasticsearch.post("/bounded/_search", json={"size": FETCHED}).raise_for_status().json()
            after = group_of_first_node(sluice)
        assert len(found["hits"]["hits"]) == FETCHED
        assert (after.read_bytes or 0) - (before.read_bytes or 0) > 3_000_000
        assert (after.read_operations or 0) > (before.read_operations or 0)
        assert group_of_first_node(sluice).memory_limit_bytes is None
        assert limit_that_it_sees(elasticsearch) > LIMIT_MB * 2**20
    finally:
        elasticsearch.delete("/bounded")
