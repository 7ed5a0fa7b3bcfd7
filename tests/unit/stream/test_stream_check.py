"""The check of a stream: it waits for the sink, and holds the index against what was sent last of each key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from lab.clients.kafka import DeadLetter, Place
from lab.errors import ProfileError, StackError
from lab.profiles import load_profile
from lab.run.names import Names
from lab.stream import check
from lab.stream.check import StreamAccounting, check_stream
from lab.stream.laps import StreamPosition
from tests.unit.messages import MakeMessage
from tests.unit.producers.fakes import NumberedDocuments

LAP = NumberedDocuments(13, repeat_after=5)
SENT = 29
"""Two laps and three documents: 0, 1 and 2 are the last of their keys; of the others, 8 and 9 of the lap before."""
LATEST = {name: {"number": number} for name, number in {"0": 0, "1": 1, "2": 2, "3": 8, "4": 9}.items()}
NAMES = Names("sluice-books", "sluice-books-7", "sluice-books-7")


@dataclass
class Servers:
    """Kafka, the stream's mark and Elasticsearch, as a check sees them; a sink that has read everything.

    Attributes:
        committed: What the sink has committed at each look; the last one for ever.
        in_topic: Records in its two partitions.
        before: Positions of the first shares, where there are several; `sent` is that of the last one.
    """

    stored: dict[str, Any] = field(default_factory=lambda: dict(LATEST))
    sent: StreamPosition = field(default_factory=lambda: StreamPosition(SENT, SENT))
    in_topic: tuple[int, int] = (17, 12)
    committed: list[int] = field(default_factory=lambda: [SENT])
    letters: list[DeadLetter] = field(default_factory=list)
    before: list[StreamPosition] = field(default_factory=list)
    refreshed: bool = False
    closed: int = 0
    now_s: float = 1000.0
    waits: int = 0

    def read(self) -> StreamPosition:
        """How far a producer says it is."""
        return self.before.pop(0) if self.before else self.sent

    def end_offsets(self, _topic: str) -> dict[int, int]:
        """Records in each partition."""
        return dict(enumerate(self.in_topic))

    def committed_offsets(self, _topic: str, _group: str) -> dict[int, int]:
        """What the sink has read of each partition."""
        read = self.committed.pop(0) if len(self.committed) > 1 else self.committed[0]
        return {0: read // 2, 1: read - read // 2}

    def dead_letters(self, _topic: str) -> Iterator[DeadLetter]:
        """The refused records."""
        yield from self.letters

    def refresh(self, _index: str) -> None:
        """Make what was indexed visible."""
        self.refreshed = True

    def ids(self, _index: str) -> Iterator[list[str]]:
        """Every id that is visible."""
        yield list(self.stored) if self.refreshed else []

    def count(self, _index: str) -> int:
        """Documents in the index."""
        return len(self.stored)

    def described(self, _index: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Settings and mapping of an index that keeps what it is sent."""
        return [({}, {})]

    def sources(self, _index: str, ids: Sequence[str]) -> dict[str, Any]:
        """Some documents."""
        return {name: self.stored[name] for name in ids if name in self.stored}

    def close(self) -> None:
        """Of the mark and of Elasticsearch's client."""
        self.closed += 1

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds
        self.waits += 1


def checked(servers: Servers, monkeypatch: pytest.MonkeyPatch, *settings: str, shares: int = 1) -> StreamAccounting:
    """What a check of these servers comes to."""
    for made in ("topics_of", "cluster_of", "PositionStore"):
        monkeypatch.setattr(check, made, lambda *_: servers)
    endpoints = SimpleNamespace(kafka_bootstrap="", access=SimpleNamespace(kafka={}))
    return check_stream(
        load_profile("quickstart", overrides=("verify.sample=101", *settings)),
        LAP,
        endpoints,  # type: ignore[arg-type]
        NAMES,
        shares=shares,
        sleep=servers.sleep,
        clock=lambda: servers.now_s,
    )


def test_a_stream_in_order_is_the_last_document_of_each_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those sent in the lap under way, and of other keys those of the lap before."""
    servers = Servers()
    assert checked(servers, monkeypatch) == StreamAccounting(
        sent=29, distinct=5, stored=5, dead_lettered=0, sampled=5, problems=()
    )
    assert servers.closed == 2


def test_before_the_first_lap_is_over_only_what_was_sent_is_expected(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Keys that did not have their turn are not missing."""
    first = {name: {"number": int(name)} for name in ("0", "1", "2")}
    accounting = checked(Servers(first, StreamPosition(3, 3), (2, 1), [3]), monkeypatch)
    assert accounting == StreamAccounting(sent=3, distinct=3, stored=3, dead_lettered=0, sampled=3, problems=())
    del first["2"]
    problems = checked(Servers(first, StreamPosition(3, 3), (2, 1), [3]), monkeypatch).problems
    assert problems[0] == message(1, 2, "missing")


def test_a_sample_is_as_large_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of documents without a key in common."""
    assert checked(Servers(), monkeypatch, "verify.sample=1").sampled == 1


def test_a_key_of_which_every_record_was_refused_is_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record counts once, although a task that was restarted refuses it again."""
    stored = {name: document for name, document in LATEST.items() if name != "3"}
    letters = [DeadLetter(b"3", Place(NAMES.topic, 1, offset), "too old") for offset in (1, 4, 7, 11)]
    accounting = checked(Servers(stored, letters=letters * 2), monkeypatch)
    assert accounting == StreamAccounting(sent=29, distinct=5, stored=4, dead_lettered=4, sampled=4, problems=())


@pytest.mark.parametrize(("key", "sent"), [("3", 4), ("1", 7)])
def test_a_key_of_which_one_record_was_accepted_is_missed(
    key: str, sent: int, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Of all that were sent in two laps, and in the one under way, all but one were refused; that one is lost."""
    stored = {name: document for name, document in LATEST.items() if name != key}
    letters = [DeadLetter(key.encode(), Place(NAMES.topic, 1, offset), "too old") for offset in range(sent - 1)]
    accounting = checked(Servers(stored, letters=letters), monkeypatch)
    assert accounting.problems == (message(1, key, "missing"),)


@pytest.mark.parametrize(
    ("change", "stored", "facts"),
    [
        ({"2": None}, 4, (1, 2, "missing")),
        ({"nobody's": {}, "nothing": {}}, 7, (2, "not produced")),
        ({"3": {"number": 3}}, 5, (1, 5, 3, "differs from")),
    ],
    ids=["missing", "strangers", "an older one"],
)
def test_what_is_not_as_it_was_sent_is_a_problem(
    change: dict[str, Any],
    stored: int,
    facts: tuple[object, ...],
    monkeypatch: pytest.MonkeyPatch,
    message: MakeMessage,
) -> None:
    """Missing, not ours, or not the last one of its key."""
    index = {name: document for name, document in (LATEST | change).items() if document is not None}
    accounting = checked(Servers(index), monkeypatch)
    assert (accounting.stored, accounting.problems[0]) == (stored, message(*facts))


def test_at_most_three_documents_of_a_kind_are_named(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """All of them are counted."""
    for index, counted in (({}, "5 documents are missing from the index"), ({"4": LATEST["4"]}, "4 documents are")):
        problem = checked(Servers(index), monkeypatch).problems[0]
        assert problem.startswith(counted)
        assert len(problem.split(", such as ")[1].split(", ")) == 3
    altered = checked(Servers({name: {} for name in LATEST}), monkeypatch).problems
    assert altered == (message(5, 0, 1, 2, "differ from"),)


def test_the_check_waits_as_long_as_the_sink_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slowly: what it has not read yet would look like a loss."""
    servers = Servers(committed=[*[0] * 101, *[7] * 101, *[23] * 101, SENT])
    assert checked(servers, monkeypatch).problems == ()
    assert servers.waits == 3 * 101


def test_a_sink_that_stands_still_for_two_minutes_is_given_up(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """With where to look, and nothing is left open."""
    servers = Servers(committed=[0, 7])
    with pytest.raises(StackError) as refusal:
        checked(servers, monkeypatch)
    assert str(refusal.value) == message(
        "connector sluice-books-7", 29, 120, "/connectors/sluice-books-7/status", "has committed", "no progress"
    )
    assert servers.now_s == pytest.approx(1120, abs=3)
    assert servers.closed == 2


def test_a_stream_that_is_still_sent_is_not_checked(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """The topic holds more than its producer has written down, or less."""
    for in_topic, records in (((18, 12), 30), ((16, 12), 28)):
        servers = Servers(in_topic=in_topic)
        with pytest.raises(StackError) as refusal:
            checked(servers, monkeypatch)
        assert str(refusal.value) == message("sluice-books-7", records, 29)
        assert servers.closed == 2


@pytest.mark.parametrize(
    ("stored", "facts"),
    [({}, ()), (LATEST, ("5 documents", "store none"))],
    ids=["none", "some"],
)
def test_a_sink_that_is_to_store_nothing_has_stored_nothing(
    stored: dict[str, Any], facts: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Whatever is there is a problem, and nothing is compared."""
    accounting = checked(Servers(dict(stored)), monkeypatch, "verify.expect=consumed")
    assert accounting == StreamAccounting(29, 0, len(stored), 0, 0, (message(*facts),) if facts else ())


@pytest.mark.parametrize("value", ["true", "True"])
def test_ids_made_of_offsets_are_refused(value: str, monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """Before a server is asked: those of one lap are none of the next."""
    servers = Servers()
    with pytest.raises(ProfileError) as refusal:
        checked(servers, monkeypatch, f"sink.config.key.ignore={value}")
    assert str(refusal.value) == message("sink.config.key.ignore", "true")
    assert servers.closed == 0


KILLED = StreamPosition(6, None)


def test_a_stream_of_two_producers_is_what_both_have_sent(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Even keys as far as the first one is, odd ones as far as the second, which has not ended its first lap.

    The last one to stop has counted all records.
    """
    stored = {name: {"number": number} for name, number in {"0": 0, "1": 1, "2": 2, "3": 3, "4": 9}.items()}
    slower = Servers(stored, StreamPosition(6, 20), (12, 8), [20], before=[StreamPosition(SENT, 15)])
    assert checked(slower, monkeypatch, shares=2) == StreamAccounting(
        sent=20, distinct=5, stored=5, dead_lettered=0, sampled=5, problems=()
    )
    assert slower.closed == 3
    others = stored | {"3": {"number": 8}}
    stale = Servers(others, StreamPosition(6, 20), (12, 8), [20], before=[StreamPosition(SENT, 15)])
    assert checked(stale, monkeypatch, shares=2).problems == (message(1, 5, 3, "differs from"),)


@pytest.mark.parametrize("before", [[], [StreamPosition(SENT, SENT)]], ids=["alone", "beside one that has ended"])
def test_a_producer_that_was_killed_must_come_to_its_end(
    before: list[StreamPosition], monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """It has sent more than it has written down, even where another one has counted the records since."""
    with pytest.raises(StackError) as refusal:
        checked(Servers(sent=KILLED, before=before), monkeypatch, shares=1 + len(before))
    assert str(refusal.value) == message("sluice-books-7", 29)
