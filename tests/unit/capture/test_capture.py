"""Captures from a played topic: which records are read, and when no file may be left."""

import errno
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from lab.capture.capture import Capture, Extent
from lab.capture.redact import Redaction, Rule
from lab.errors import ProfileError, StackError, WritingError
from producers.datasets.source.slice import SliceWriter, slice_header, slice_lines
from tests.unit.messages import MakeMessage

SECRET = b"a secret of sixteen bytes or more"


@dataclass(frozen=True)
class PlayedRecord:
    """A record as Kafka's client hands it over."""

    place: tuple[int, int]
    content: bytes | None
    of_key: bytes
    step_ms: int

    def topic(self) -> str:
        """Its topic."""
        return "books"

    def partition(self) -> int:
        """Its partition."""
        return self.place[0]

    def offset(self) -> int:
        """Its offset."""
        return self.place[1]

    def timestamp(self) -> tuple[int, int]:
        """Kind and instant: by default a second for each offset."""
        return 1, self.step_ms * self.place[1]

    def headers(self) -> None:
        """None."""

    def key(self) -> bytes:
        """The same for all."""
        return self.of_key

    def value(self) -> bytes | None:
        """Its value."""
        return self.content


@dataclass
class PlayedTopic:
    """A topic whose partitions have a record each second of their time, and grow while somebody sleeps.

    Attributes:
        ends: Records of each partition.
        interrupted_at: Ctrl-C comes with this record.
        later: Partitions that are there after the first sleep; none, where the topic is deleted then.
    """

    ends: dict[int, int]
    interrupted_at: int | None = None
    content: bytes = b'{"id":"7"}'
    key: bytes = b"k"
    step_ms: int = 1000
    later: Mapping[int, int] | None = None
    now_s: float = 0.0
    read: int = 0

    def require(self, topic: str) -> None:
        """It is the only topic."""
        if topic != "orders":
            raise ProfileError(f"topic {topic}: does not exist")

    def bounds(self, _: str) -> dict[int, tuple[int, int]]:
        """First and last offsets; the first ten are gone by retention."""
        return {number: (min(10, end), end) for number, end in self.ends.items()}

    def end_offsets(self, _: str) -> dict[int, int]:
        """The ends as they are now."""
        return dict(self.ends)

    def offsets_at(self, _: str, at_ms: int) -> dict[int, int]:
        """The first offset at an instant."""
        return {number: min(end, -(-at_ms // 1000)) for number, end in self.ends.items()}

    def records(self, _: str, first: Mapping[int, int], last: Mapping[int, int]) -> Iterator[PlayedRecord]:
        """The records of these offsets; from the beginning where none is given."""
        for partition, end in last.items():
            for offset in range(first.get(partition, 0), end):
                if self.read == self.interrupted_at:
                    raise KeyboardInterrupt
                self.read += 1
                place = (partition, offset)
                yield PlayedRecord(place, self.content, self.key, self.step_ms)

    def sleep(self, seconds: float) -> None:
        """Let time pass: each partition grows by a record a second."""
        self.now_s += seconds
        self.ends = {number: end + round(seconds) for number, end in self.ends.items()}
        self.ends, self.later = self.ends if self.later is None else dict(self.later), None

    def clock(self) -> float:
        """The time that has passed."""
        return self.now_s


def captured(
    topic: PlayedTopic, path: Path, extent: Extent, rules: Sequence[Rule] = (), *, allow_unused: bool = False
) -> list[tuple[int, int]]:
    """Partition and offset of each record of a slice."""
    redaction = Redaction(rules, SECRET)
    reading = Capture(topic, extent, redaction, sleep=topic.sleep, clock=topic.clock)  # type: ignore[arg-type]
    reading.write(path, allow_unused=allow_unused)
    return [(record.partition, record.offset) for _, _, record in slice_lines(str(path))]


@pytest.mark.parametrize(
    ("extent", "expected"),
    [
        (Extent("orders"), [(0, 10), (0, 11), (0, 12), (1, 10)]),
        (Extent("orders", partitions=frozenset({1})), [(1, 10)]),
        (Extent("orders", from_ms=11_001), [(0, 12)]),
        (Extent("orders", from_ms=0, to_ms=12_000), [(0, 10), (0, 11), (1, 10)]),
        (Extent("orders", most=2), [(0, 10), (0, 11)]),
    ],
)
def test_a_slice_holds_the_records_of_its_extent(
    tmp_path: Path, extent: Extent, expected: list[tuple[int, int]]
) -> None:
    """What retention has removed is not among them."""
    assert captured(PlayedTopic({0: 13, 1: 11}), tmp_path / "a.slz", extent) == expected


def test_a_topic_is_followed_from_now_on(tmp_path: Path) -> None:
    """Each record once, of all partitions, until the time is over."""
    followed = captured(PlayedTopic({0: 13, 1: 5}), tmp_path / "a.slz", Extent("orders", follow_s=3))
    assert sorted(followed) == [(0, 13), (0, 14), (0, 15), (1, 5), (1, 6), (1, 7)]


def test_partitions_that_are_added_are_followed_too(tmp_path: Path) -> None:
    """From their first record on."""
    topic = PlayedTopic({0: 13}, later={0: 13, 1: 2})
    assert sorted(captured(topic, tmp_path / "a.slz", Extent("orders", follow_s=1))) == [(1, 0), (1, 1)]


def test_partitions_that_are_added_are_counted_in_the_header(tmp_path: Path) -> None:
    """A rehearsal makes a topic with as many, which must have a place for each record."""
    topic = PlayedTopic({0: 13}, later={0: 13, 1: 2})
    captured(topic, tmp_path / "a.slz", Extent("orders", follow_s=1))
    header = slice_header(str(tmp_path / "a.slz"))
    assert header is not None
    assert header["partitions"] == 2


def test_a_topic_that_is_made_anew_while_it_is_followed_is_told(tmp_path: Path, message: MakeMessage) -> None:
    """Its first records would be missing, and the others be taken for the next ones of the topic before."""
    with pytest.raises(StackError) as ended:
        captured(PlayedTopic({0: 13}, later={0: 3}), tmp_path / "a.slz", Extent("orders", follow_s=5))
    assert str(ended.value) == message("orders", "partition 0", "made anew")
    assert not list(tmp_path.iterdir())


def test_a_topic_that_is_deleted_while_it_is_followed_is_named(tmp_path: Path, message: MakeMessage) -> None:
    """It may come back with other records."""
    with pytest.raises(StackError) as ended:
        captured(PlayedTopic({0: 13}, later={}), tmp_path / "a.slz", Extent("orders", follow_s=1))
    assert str(ended.value) == message("orders", "partition 0", "deleted")


def test_times_beyond_the_calendar_can_be_captured(tmp_path: Path) -> None:
    """Microseconds where Kafka wants milliseconds are a common mistake of producers."""
    topic = PlayedTopic({0: 13}, step_ms=1_795_000_000_000_000 // 10)
    captured(topic, tmp_path / "a.slz", Extent("orders"))
    header = slice_header(str(tmp_path / "a.slz"))
    assert header is not None
    assert header["last"] == "9999-12-31T23:59:59.999Z"


def test_no_more_records_are_read_than_the_rate_allows(tmp_path: Path) -> None:
    """Reading waits, as long as a slower reader would take."""
    topic = PlayedTopic({0: 110})
    captured(topic, tmp_path / "a.slz", Extent("orders", rate_per_s=20))
    assert topic.now_s == pytest.approx(5)


class LateTopic(PlayedTopic):
    """A topic that is silent for a minute, and then gets 200 records at once."""

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds
        self.ends = {0: 210} if self.now_s >= 60 else self.ends


def test_a_silent_minute_makes_reading_no_faster(tmp_path: Path) -> None:
    """The rate spares a broker at every instant, not on average."""
    topic = LateTopic({0: 10})
    assert len(captured(topic, tmp_path / "a.slz", Extent("orders", follow_s=60, rate_per_s=20))) == 200
    assert topic.now_s == pytest.approx(60 + 200 / 20)


def test_an_interruption_ends_a_slice_with_what_there_is(tmp_path: Path) -> None:
    """The header says so, and which offsets were read."""
    topic = PlayedTopic({0: 110}, interrupted_at=7)
    assert len(captured(topic, tmp_path / "a.slz", Extent("orders"))) == 7
    header = slice_header(str(tmp_path / "a.slz"))
    assert header is not None
    assert (header["ended"], header["offsets"], header["records"]) == ("interrupted", {"0": [10, 17]}, 7)


@pytest.mark.parametrize(
    ("rules", "facts"),
    [
        ([Rule("hash", "id"), Rule("drop", "card")], ("drop card", "--allow-unused")),
        ([Rule("hash", "id")], ("hash id", "_key")),
    ],
)
def test_a_rule_that_protects_nothing_leaves_no_file(
    tmp_path: Path, message: MakeMessage, rules: list[Rule], facts: tuple[str, ...]
) -> None:
    """Neither one whose field never occurs, nor one whose value the key still holds."""
    topic = PlayedTopic({0: 13}, content=b'{"id":"k"}')
    with pytest.raises(ProfileError) as refused:
        captured(topic, tmp_path / "a.slz", Extent("orders"), rules)
    assert str(refused.value) == message(*facts)
    assert list(tmp_path.iterdir()) == []


def test_an_unused_rule_may_be_allowed(tmp_path: Path) -> None:
    """A field that is rare need not occur."""
    topic = PlayedTopic({0: 13})
    kept = captured(topic, tmp_path / "a.slz", Extent("orders"), [Rule("drop", "card")], allow_unused=True)
    assert len(kept) == 3


@pytest.mark.parametrize(
    ("topic", "extent", "facts"),
    [
        (PlayedTopic({0: 13}), Extent("order"), ("order", "does not exist")),
        (PlayedTopic({0: 13}), Extent("orders", partitions=frozenset({2})), ("--partitions", "2")),
        (PlayedTopic({0: 0}), Extent("orders"), ("orders", "no records")),
    ],
)
def test_what_cannot_be_captured_is_refused(
    tmp_path: Path, message: MakeMessage, topic: PlayedTopic, extent: Extent, facts: tuple[str, ...]
) -> None:
    """And no file is left."""
    with pytest.raises(ProfileError) as refused:
        captured(topic, tmp_path / "a.slz", extent)
    assert str(refused.value) == message(*facts)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_not_replaced(tmp_path: Path, message: MakeMessage) -> None:
    """Before anything is read."""
    path, topic = tmp_path / "a.slz", PlayedTopic({0: 13})
    path.write_bytes(b"mine")
    with pytest.raises(ProfileError) as refused:
        captured(topic, path, Extent("orders"))
    assert str(refused.value) == message("exists", folder=tmp_path)
    assert (path.read_bytes(), topic.read) == (b"mine", 0)


@pytest.mark.parametrize("step", ["add", "finish"])
def test_a_full_disk_ends_in_a_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: MakeMessage, step: str
) -> None:
    """Python does not name the file then."""

    def fail(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SliceWriter, step, fail)
    path = tmp_path / "a.slz"
    with pytest.raises(WritingError) as ended:
        captured(PlayedTopic({0: 13}), path, Extent("orders"))
    assert str(ended.value) == message(path, "No space left")
    assert list(tmp_path.iterdir()) == []
