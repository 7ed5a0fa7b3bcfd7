"""`dead-letters`: the way of a run's letters into its indices."""

from lab.cli.dead_letters import routes_of_run
from lab.endpoints import Endpoints
from tests.unit.analysis.synthetic import Truth, run

ENDPOINTS = Endpoints("127.0.0.1:9", "http://127.0.0.1:9", ("http://127.0.0.1:9",), None)


def test_letters_of_several_indices_go_back_into_the_topic_that_each_came_from() -> None:
    """Topic by topic, so that no index gets those of another one."""
    routes = routes_of_run(run(Truth()).model_copy(update={"topic": "books--1-7,books--2-7"}), ENDPOINTS, {})
    assert {name: (route.topic, route.config["topics"]) for name, route in routes.items()} == {
        "books--1-7": ("books--1-7", "books--1-7"),
        "books--2-7": ("books--2-7", "books--2-7"),
    }


def test_letters_of_one_topic_need_no_marks_of_their_own() -> None:
    """Their choice by topic would be one of single letters."""
    assert list(routes_of_run(run(Truth()), ENDPOINTS, {})) == [None]
