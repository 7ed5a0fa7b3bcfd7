"""Records that a pipeline names in its log, in a file of its folder, or as dead letters."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.prove.history import Sent
from lab.prove.subject import Subject
from lab.stack.local import LocalStack

TOPIC = "sluice-prove-20261127-080000"
RECORDS = [
    Sent(1, "mark1n000001x", b"odd-000001", b"", odd=True, partition=0, offset=7),
    Sent(2, "mark1n000002x", b"key-3", b"{}", partition=1, offset=7),
]


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    """A program with a folder of its own."""
    names = SimpleNamespace(topic=TOPIC, index="sluice-prove", dead_letter_topic="letters")
    (tmp_path / "case").mkdir()
    profile = SimpleNamespace(sink=SimpleNamespace(is_connector=False))
    run: Any = SimpleNamespace(names=names, profile=profile, folder=SimpleNamespace(path=tmp_path / "case"))
    worker: Any = None
    made = Subject(run, worker, LocalStack(tmp_path / "state"))
    made._sink = SimpleNamespace(pipeline=SimpleNamespace(pulls=False))
    return made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"rejected {TOPIC}-1@7: 400", {2}),
        (f"topic={TOPIC} partition=0 offset=7", {1}),
        (f"{TOPIC}-0-7", {1}),
        ("Error processing record. Index=sluice-prove, Shard=0, pointer=7: error=NullPointerException", {1}),
        ("dropping message: Index=sluice-prove, Shard=1, _id:1-7, pointer:7", {2}),
        ("dropping message: Index=another, Shard=1, _id:1-7, pointer:7", set()),
        ('{"mark":"mark1n000002x"}', {2}),
        ("no document for odd-000001", {1}),
        ("key-3 is the key of many", set()),
        ("another-topic-1@7", set()),
    ],
)
def test_a_record_is_named_by_place_content_or_a_key_of_its_own(subject: Subject, text: str, told: set[int]) -> None:
    """In any file right in the folder."""
    (subject.run.folder.path / "sink.log").write_text(f"{text}\n")
    assert subject.worded(RECORDS) == told


def test_a_spool_is_no_log(subject: Subject) -> None:
    """It holds records that are still to be sent."""
    spool = subject.run.folder.path / "spool"
    spool.mkdir()
    (spool / "queue.1").write_text("mark1n000002x")
    assert subject.worded(RECORDS) == set()


class Letters:
    """A dead-letter topic of three records: by headers, by content, and of another topic's form."""

    def records(self, topic: str) -> Iterator[Any]:
        """Messages as Kafka's client gives them."""
        assert topic == "letters"
        place = {"topic": b"books", "partition": b"0", "offset": b"7"}
        places = [(f"__connect.errors.{name}", value) for name, value in place.items()]
        for headers, value in ((places, b""), ([], b'{"mark":"mark1n000002x"}'), ([], None)):
            yield SimpleNamespace(headers=lambda headers=headers: headers, value=lambda value=value: value)


def test_a_dead_letter_is_known_by_its_headers_or_its_content(subject: Subject) -> None:
    """One without either is none of the history."""
    letters: Any = Letters()
    assert subject.letters(letters, RECORDS) == {1, 2}
