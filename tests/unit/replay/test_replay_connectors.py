"""Connectors of a worker: which one has a queue, and the way beside it into the index."""

import pytest

from lab.errors import ProfileError
from lab.replay.connectors import QUEUE, beside, connector_of_queue, queue_of, unfinished_topics
from lab.replay.replay import Replay, sum_of
from tests.unit.messages import MakeMessage

OURS = "io.sluice.connect.ElasticsearchSinkConnector"
BOOKS = {
    "name": "books",
    "connector.class": OURS,
    "topics": "books, used-books",
    "tasks.max": "8",
    "connection.password": "${file:/etc/secrets:password}",
    "consumer.override.group.id": "shop",
    QUEUE: "bad",
}
CONFIGS = {"books": BOOKS, "metrics": {"connector.class": "x.Metrics", "topics": "metrics"}}


@pytest.mark.parametrize(
    ("topic", "queue"), [("bad", "bad"), ("used-books", "bad"), ("metrics", None), ("x", None), ("shop-7", "shop-bad")]
)
def test_a_queue_is_found_by_its_name_or_by_what_its_connector_reads(topic: str, queue: str | None) -> None:
    """Also by a pattern; one that Python cannot read names no topic. A connector without a queue has none."""
    by_pattern = {"topics.regex": r"shop-\d", QUEUE: "shop-bad"}
    assert queue_of({**CONFIGS, "shop": by_pattern, "java": {"topics.regex": r"\p{L}+", QUEUE: "no"}}, topic) == queue


def test_the_connector_of_a_queue_is_the_one_that_has_it() -> None:
    """Its secrets stay placeholders, which the worker resolves. One that a killed replay has left is not meant."""
    left = {"sluice-replay-books": dict(beside(BOOKS, "bad", "books").config)}
    assert connector_of_queue({**CONFIGS, **left}, "bad", None) == BOOKS
    assert connector_of_queue(CONFIGS, "other", "books") == BOOKS


def test_a_queue_of_no_connector_of_several_or_of_anothers_is_refused(message: MakeMessage) -> None:
    """Each in one sentence that says what to do."""
    twice = {**CONFIGS, "again": {**BOOKS}}
    anothers = {"theirs": {**BOOKS, "connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector"}}
    for configs, queue, named, facts in (
        (CONFIGS, "other", None, ("other", "--connector", "books, metrics")),
        (twice, "bad", None, ("bad", "again, books", "--connector")),
        (CONFIGS, "bad", "boks", ("--connector", "boks", "books, metrics")),
        (anothers, "bad", None, ("theirs", "io.confluent", "./sluice dead-letters export")),
    ):
        with pytest.raises(ProfileError) as refused:
            connector_of_queue(configs, queue, named)
        assert str(refused.value) == message(*facts)


def test_letters_go_beside_the_running_connector_with_the_name_of_their_source() -> None:
    """It reads neither their topic nor shares its group; transforms of its own see the source's name."""
    route = beside({**BOOKS, "transforms": "mask, route", "transforms.mask.type": "x.Mask"}, "bad", "used-books")
    config = route.config
    assert route.topic.startswith("sluice-replay-bad--used-books--")
    assert route.is_temporary
    assert (config["name"], config["topics"], config["tasks.max"]) == ("sluice-replay-books", route.topic, "1")
    assert config["transforms"] == "sluiceReplay,mask,route"
    assert config["transforms.sluiceReplay.replacement"] == "used-books"
    assert config["connection.password"] == BOOKS["connection.password"]
    assert "consumer.override.group.id" not in config
    assert config["id.origin.header"] == "sluice.replay-of"


def test_each_replay_has_another_topic_so_that_a_letter_rejected_twice_has_two_places() -> None:
    """The mark of the first place would hide the second one. What a broken replay has left is read to its end."""
    first, second = (beside(BOOKS, "bad", "books").topic for _ in range(2))
    assert first != second
    assert beside(BOOKS, "bad", "books", first).topic == first


def test_a_topic_that_a_broken_replay_has_left_names_its_source() -> None:
    """Of this queue alone."""
    left = beside(BOOKS, "bad", "used--books").topic
    assert unfinished_topics({left, beside(BOOKS, "worse", "cars").topic, "books"}, "bad") == {"used--books": left}


def test_replays_of_several_topics_are_added_up() -> None:
    """Without any, nothing was sent."""
    total = sum_of([Replay(3, 1, {"indexed": 3, "stale": 1}), Replay(2, 0, {"indexed": 2})])
    assert total == Replay(5, 1, {"indexed": 5, "stale": 1})
    assert sum_of([]).sent == 0
