"""What is asked of the servers that are watched, and what of them that do not answer."""

from typing import Any

import pytest

from lab.endpoints import Endpoints
from lab.profiles import load_profile
from lab.publish.watch import CurrentRun, Pipeline
from tests.unit.publish.recorder import nowhere, recorder

INDEX = "sluice-quickstart"
MADE = {INDEX: {"mappings": {"_meta": {"sluice": {"run": "20261121-101010"}}}}}
SINCE = {INDEX: {"settings": {"index.creation_date": "1795255810007"}}}
UNDER_WAY = CurrentRun("20261121-101010", 1_795_255_810.007)


def pipeline(url: str) -> Pipeline:
    """The quickstart on servers that all have one address."""
    servers = Endpoints(
        kafka_bootstrap="127.0.0.1:9",
        connect_url=url,
        elasticsearch_urls=(url,),
        metrics_url=f"{url}/jolokia",
    )
    return Pipeline(load_profile("quickstart"), servers)


def test_the_index_tells_which_run_is_under_way() -> None:
    """By the mark that a run leaves in it, and its age; topic and connector have names that follow from both."""
    with recorder((200, MADE), (200, SINCE)) as server:
        watched = pipeline(server.url)
        assert watched.current_run() == UNDER_WAY
        sources = watched.sources(UNDER_WAY)
    assert (sources.index, sources.topic) == (INDEX, f"{INDEX}-20261121-101010")
    assert (sources.connector, sources.consumer_group) == (
        f"{INDEX}-20261121-101010",
        f"connect-{INDEX}-20261121-101010",
    )


@pytest.mark.parametrize(
    "answer", [(404, {}), (200, {INDEX: {"mappings": {}}}), (503, {"error": {"type": "unavailable"}})]
)
def test_no_run_is_under_way_without_an_index_of_ours(answer: tuple[int, Any]) -> None:
    """None, one that no run has made, or a cluster that cannot say."""
    with recorder(answer) as server:
        assert pipeline(server.url).current_run() is None


def test_servers_that_do_not_answer_are_no_error() -> None:
    """They may be on their way up."""
    watched = pipeline(nowhere())
    assert (watched.current_run(), watched.state(UNDER_WAY)) == (None, {})


def test_a_failed_task_is_counted() -> None:
    """Beside those that run; one that is being moved is neither."""
    tasks = [
        {"id": place, "state": state} for place, state in enumerate(("RUNNING", "FAILED", "RUNNING", "UNASSIGNED"))
    ]
    with recorder((200, {"connector": {"state": "RUNNING"}, "tasks": tasks})) as server:
        state = pipeline(server.url).state(UNDER_WAY)
    assert state == {"connector_state": "RUNNING", "tasks_running": 2, "tasks_failed": 1}


def test_a_connector_that_is_not_there_has_no_state() -> None:
    """Not even one without tasks."""
    with recorder((404, {"error_code": 404, "message": "No status found"})) as server:
        assert pipeline(server.url).state(UNDER_WAY) == {}
