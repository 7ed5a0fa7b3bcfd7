"""Streams that stay: which of them go on, what their check compares."""

import numpy as np
import pytest

from lab.clients.connect import ConnectWorker
from lab.errors import ProfileError, StackError
from lab.profiles import load_profile
from lab.run.names import Names
from lab.run.verify.accounting import Comparison, hashes_of, index_problems
from lab.stream.check import last_sent, latest_documents
from lab.stream.prepare import drop_failed, new_id, refuse_unsuitable, suffix
from lab.stream.sender import check_sink
from lab.stream.shares import SentDocuments
from tests.unit.clients.rest_server import rest
from tests.unit.messages import MakeMessage
from tests.unit.producers.fakes import NumberedDocuments

NONE = hashes_of(())
RUNNING = {"connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}]}
FAILED = {
    "connector": {"state": "RUNNING"},
    "tasks": [{"id": 0, "state": "FAILED", "trace": "org.apache.X: outer\n\tat Y\nCaused by: Z: index not found"}],
}


def test_a_stream_is_named_after_its_time_and_all_that_its_profile_says() -> None:
    """Another value is another stream."""
    profile = load_profile("quickstart")
    other = load_profile("quickstart", overrides=("index.refresh_interval=7s",))
    assert new_id(profile, 1_009_000_000.0) == f"20011222-054640{suffix(profile)}"
    mapped = profile.model_copy(update={"mapping": "aladin.nested.dynamic"})
    assert len({suffix(profile), suffix(other), suffix(mapped)}) == 3
    assert suffix(profile) == suffix(load_profile("quickstart"))


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("sink/direct", ("load.via", "direct", "./sluice run")),
        ("sink/naive-python", ("sink.command", "./sluice run")),
    ],
)
def test_what_has_no_topic_or_no_connector_cannot_be_streamed(
    name: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """It says so before anything is made."""
    with pytest.raises(ProfileError) as refusal:
        refuse_unsuitable(load_profile(name))
    assert str(refusal.value) == message(*facts)


def test_a_pipeline_of_a_package_cannot_be_streamed(message: MakeMessage) -> None:
    """An endless stream is a connector's."""
    profile = load_profile("quickstart")
    piped = profile.model_copy(
        update={"sink": profile.sink.model_copy(update={"pipeline": "copy"}), "where": {"sink.pipeline": "mine.yaml:7"}}
    )
    with pytest.raises(ProfileError) as refusal:
        refuse_unsuitable(piped)
    assert str(refusal.value) == message("mine.yaml:7: sink.pipeline", "./sluice run")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (5, 3),  # in the first lap: 0 and 3 were sent, 8 was not and is not among the candidates
        (11, 8),  # the lap is complete
        (12, 0),  # the second lap has sent 0 again
        (15, 3),
        (22, 8),
    ],
)
def test_the_last_word_on_a_key_is_the_last_one_sent(sent: int, expected: int) -> None:
    """Documents 0, 3 and 8 of 11 share a key."""
    candidates = np.array([number for number in (0, 3, 8) if number < sent])
    assert last_sent(candidates, sent, 11) == expected


def test_a_sample_holds_the_latest_document_of_each_key() -> None:
    """Of 13 documents with 5 keys, 3 of which were drawn; one of them has a dead letter."""
    dataset = NumberedDocuments(13, repeat_after=5)
    hashes = hashes_of(str(number % 5) for number in range(13))
    dead = hashes_of(["2"])
    sent = SentDocuments.by(dataset, [13])
    latest = latest_documents(dataset, hashes, [1, 2, 3], sent, dead)
    assert latest == {"1": b'{"number":11}', "3": b'{"number":8}'}


def test_whatever_is_wrong_is_a_sentence(message: MakeMessage) -> None:
    """Missing, strange, doubled and altered documents."""
    comparison = Comparison(indexed=7, already_there=0, missing=hashes_of(["a", "b"]), unexpected=1, duplicates=3)
    assert list(index_problems(comparison, ["a", "b"], ["c"], 11, "this stream")) == [
        message(2, "missing"),
        message(1, "not produced"),
        message(3, "more than once"),
        message(1, 11, "differs from"),
    ]
    assert list(index_problems(Comparison(7, 0, NONE, 0, 0), [], [], 11, "this stream")) == []


def test_an_empty_index_is_told(message: MakeMessage) -> None:
    """The pipeline may write into another one."""
    (problem,) = index_problems(Comparison(0, 0, hashes_of(["a"]), 0, 0), ["a"], [], 11, "this stream")
    assert problem == message(1, "empty")


@pytest.mark.parametrize("answer", [(200, RUNNING), (404, {"message": "no such connector"}), (500, {"message": "no"})])
def test_a_sink_that_lives_or_a_worker_that_is_away_ends_no_stream(answer: tuple[int, object]) -> None:
    """A worker that was killed comes back, and goes on."""
    with rest(answer) as worker:
        check_sink(ConnectWorker(worker.url, patience_s=0), "books")


def test_a_failed_connector_makes_room_for_one_that_runs() -> None:
    """How far it has read, its consumer group keeps; one that runs is left alone."""
    names = Names("sluice-books", "sluice-books-7", "sluice-books-7")
    with rest((200, FAILED), (204, {})) as worker:
        drop_failed(ConnectWorker(worker.url, patience_s=0), names)
    assert worker.requests[-1][:2] == ("DELETE", "/connectors/sluice-books-7")
    with rest((200, RUNNING)) as worker:
        drop_failed(ConnectWorker(worker.url, patience_s=0), names)
    assert [request[0] for request in worker.requests] == ["GET"]


def test_a_sink_that_has_failed_is_told_with_the_cause(message: MakeMessage) -> None:
    """The innermost one."""
    with rest((200, FAILED)) as worker, pytest.raises(StackError) as refusal:
        check_sink(ConnectWorker(worker.url, patience_s=0), "books")
    assert str(refusal.value) == message("connector books", 0)


def test_what_several_producers_have_sent_is_counted_by_document() -> None:
    """Of 7 to a lap the first of two producers has come to the 3rd of its third lap, the other to the 6th of its first.

    Even numbers are the first one's: 0 and 2 were sent three times, 4 and 6 twice; of the others 1, 3 and 5 once.
    """
    sent = SentDocuments.by(NumberedDocuments(7), [2 * 7 + 3, 6])
    assert sent.times.tolist() == [3, 1, 3, 1, 2, 1, 2]
    assert sent.total == 13


def test_before_anybody_has_come_to_it_a_document_was_not_sent() -> None:
    """As far as the furthest one, there may be documents of a slower one that are still to come."""
    sent = SentDocuments.by(NumberedDocuments(1009), [5, 2])
    assert sent.times.tolist() == [1, 1, 1, 0, 1]
    assert SentDocuments.by(NumberedDocuments(1009), [0, 0]).total == 0
