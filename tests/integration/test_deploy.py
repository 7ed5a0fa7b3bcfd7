"""Indices deployed from the node that they were loaded on, on three real nodes, and what is left when that is cut."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from lab.records.deployment import Deployment
from lab.records.run import Run
from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice

pytestmark = pytest.mark.shape("three nodes")

DOCUMENTS = 5_003
SHAPE = StackShape(data_nodes=3, elasticsearch_heap_mb=512)
NODES = ("elasticsearch-2", "elasticsearch-3")
INDICES, SHARDS = 2, 4
COPIES = INDICES * SHARDS * 2
PATIENCE_S = 120
SLOW = "elasticsearch.cluster_settings={indices.recovery.max_bytes_per_sec: 200kb}"
"""6 MB in 16 copies then take longer than any test waits for their middle."""


def words(*settings: str) -> list[str]:
    """A deployment of few documents, and what else is set."""
    given = (f"dataset.documents={DOCUMENTS}", *settings)
    return ["run", "products/deploy", *(word for each in given for word in ("--set", each))]


@pytest.fixture
def cluster(sluice: Sluice) -> Iterator[httpx.Client]:
    """Three nodes, all of them running, without what the test before has left on its way."""
    endpoints = sluice.stack.ensure(SHAPE, kept=True)
    with httpx.Client(base_url=endpoints.elasticsearch_urls[0], timeout=30) as client:
        # Shards are not told of while the master is still recovering the state.
        wait_until(lambda: client.get("/_cat/indices").is_success)
        for index in client.get("/_cat/indices/sluice-*?h=index").text.split():
            client.delete(f"/{index}").raise_for_status()
        yield client
    for name in NODES:
        if name not in sluice.stack.process_ids():
            sluice.stack.restart(name)


def deployed(sluice: Sluice, *settings: str) -> tuple[Run, Deployment]:
    """A verified run, and its deployment."""
    done = sluice(*words(*settings), "--runs", str(sluice.runs))
    assert (done.status, done.errors) == (0, "")
    run = Run.model_validate_json((sluice.latest() / "run.json").read_text())
    assert run.deployment is not None
    assert (run.verification.verified, run.documents.indexed) == (True, DOCUMENTS)
    return run, run.deployment


def places(cluster: httpx.Client, index: str) -> dict[str, int]:
    """How many started copies each node holds."""
    copies = cluster.get(f"/_cat/shards/{index}?format=json&h=state,node").json()
    assert {copy["state"] for copy in copies} == {"STARTED"}
    return {node: sum(copy["node"] == node for copy in copies) for node in sorted(copy["node"] for copy in copies)}


def left_behind(cluster: httpx.Client) -> tuple[dict[str, object], dict[str, object]]:
    """Cluster settings and snapshot repositories."""
    return cluster.get("/_cluster/settings?flat_settings=true").json()["persistent"], cluster.get("/_snapshot").json()


def wait_until(what: Callable[[], bool], command: subprocess.Popen[str] | None = None) -> None:
    """Return once that is so, while the command still runs."""
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline
        assert command is None or command.poll() is None, command.stdout.read() if command.stdout else ""
        time.sleep(0.1)


def recoveries(cluster: httpx.Client) -> int:
    """Copies that are being made of the run's shards on the data nodes."""
    answer = cluster.get("/sluice-products-deploy*/_recovery?active_only=true").json()
    return sum(shard["target"]["name"] in NODES for index in answer.values() for shard in index["shards"])


def check_books(cluster: httpx.Client, run: Run, deployment: Deployment) -> None:
    """What was copied adds up by way, index and recovery, and nothing is left but the indices, in their places."""
    assert places(cluster, run.index) == dict.fromkeys(NODES, COPIES // 2)
    assert sorted(cluster.get("/_cat/indices/sluice-products-deploy*?h=index").text.split()) == run.index.split(",")
    assert [index.became for index in deployment.indices] == run.index.split(",")
    ways = sum(sum(targets.values()) for targets in deployment.copied_bytes.values())
    assert sum(index.copied_bytes for index in deployment.indices) == ways == deployment.total_bytes
    assert deployment.progress[-1].copied_bytes == deployment.total_bytes
    assert left_behind(cluster) == ({}, {})


@pytest.mark.parametrize("route", ["exclude", "replicas-first"])
def test_every_route_ends_with_all_copies_on_the_data_nodes(sluice: Sluice, cluster: httpx.Client, route: str) -> None:
    """With replicas first, each shard leaves the index node exactly once."""
    run, deployment = deployed(sluice, f"maintain.route={route}")
    check_books(cluster, run, deployment)
    sent = [(each.index, each.shard) for each in deployment.recoveries if each.source == deployment.index_node]
    assert len(set(sent)) == INDICES * SHARDS
    assert route == "exclude" or len(sent) == INDICES * SHARDS


def test_what_is_restored_answers_queries_in_place_of_what_is_deleted(sluice: Sluice, cluster: httpx.Client) -> None:
    """Queries before, during and after a deployment are all answered, and all answers are right."""
    run, deployment = deployed(
        sluice,
        "dataset.name=events",
        "queries.questions=[total-events]",
        "queries.window={seconds: 1, place: drawn}",
        "maintain.queries={clients: 1, duration_s: 1, warm_up_s: 0}",
        "maintain.route=snapshot",
    )
    check_books(cluster, run, deployment)
    assert run.index == "sluice-products-deploy--1-restored,sluice-products-deploy--2-restored"
    assert deployment.snapshot is not None
    assert deployment.snapshot.written_bytes == deployment.snapshot.restored_bytes
    assert "elasticsearch-1" not in deployment.copied_bytes
    assert list(deployment.queries) == ["before", "while", "after"]
    for sent in deployment.queries.values():
        (question,) = sent.questions
        assert question.answers > 0
        assert (question.errors, question.wrong) == ({}, 0)


def test_a_disk_without_room_is_refused_before_the_load(sluice: Sluice, cluster: httpx.Client) -> None:
    """By what Elasticsearch keeps free of it; each target node is named."""
    # Elasticsearch wants all three to be sizes, or none.
    levels = {"low": "9000gb", "high": "1gb", "flood_stage": "500mb"}
    marks = ", ".join(f"cluster.routing.allocation.disk.watermark.{name}: {size}" for name, size in levels.items())
    done = sluice(*words(f"elasticsearch.cluster_settings={{{marks}}}"), "--runs", str(sluice.runs))
    assert done.status == 2
    for line, node in zip(done.errors.splitlines(), NODES, strict=True):
        assert f"maintain.to: {node}: about " in line
        assert "low: 9000gb" in line
    assert left_behind(cluster) == ({}, {})


@pytest.mark.parametrize(
    ("number", "route"),
    [(signal.SIGKILL, "exclude"), (signal.SIGKILL, "snapshot"), (signal.SIGINT, "snapshot")],
    ids=["kill -9", "kill -9 of a snapshot", "Ctrl-C of a snapshot"],
)
def test_a_run_that_is_cut_leaves_no_setting_and_no_repository(
    sluice: Sluice, cluster: httpx.Client, tmp_path: Path, number: signal.Signals, route: str
) -> None:
    """In the middle of the deployment, with servers that stay."""
    command = sluice.start(*words(SLOW, f"maintain.route={route}"), "--runs", str(tmp_path))
    repositories = int(route == "snapshot")
    wait_until(lambda: recoveries(cluster) > 0 or len(left_behind(cluster)[1]) > 0, command)
    settings, found = left_behind(cluster)
    assert (settings["indices.recovery.max_bytes_per_sec"], len(found)) == ("200kb", repositories)
    os.killpg(command.pid, number)
    command.wait(timeout=60)
    # The folder goes after the repository: the cluster needs it to delete the snapshot.
    wait_until(lambda: left_behind(cluster) == ({}, {}) and not [*sluice.state.glob("kept/*/repositories/*")])


def test_a_data_node_that_is_killed_and_restarted_costs_nothing(
    sluice: Sluice, cluster: httpx.Client, tmp_path: Path
) -> None:
    """Kill -9 in the middle of a deployment: it ends with all copies in place, and verified."""
    command = sluice.start(*words(SLOW.replace("200kb", "1mb")), "--runs", str(tmp_path))
    wait_until(lambda: recoveries(cluster) > 0, command)
    os.kill(sluice.stack.process_ids()["elasticsearch-3"], signal.SIGKILL)
    restarted = sluice("restart", "elasticsearch-3")
    assert (restarted.status, restarted.errors) == (0, "")
    said, _ = command.communicate(timeout=PATIENCE_S)
    assert command.returncode == 0, said
    (record,) = tmp_path.rglob("run.json")
    run = Run.model_validate_json(record.read_text())
    assert (run.verification.verified, run.documents.indexed) == (True, DOCUMENTS)
    assert places(cluster, run.index) == dict.fromkeys(NODES, COPIES // 2)
