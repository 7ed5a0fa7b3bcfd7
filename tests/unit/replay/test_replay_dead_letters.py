"""Dead letters: read out of their topic, grouped, and made records again."""

from dataclasses import dataclass, field, replace

import pytest

from lab.clients.kafka import Place
from lab.endpoints import Access, Endpoints
from lab.errors import ProfileError
from lab.records.verification import DeadLetterGroup, Ledger
from lab.replay.dead_letters import REPLAY_OF, REPLAY_VERSION, Letter, groups_of, letter_of
from lab.replay.replay import Replay, chunks, connector_for_replay, mark_after, outcomes_of, record_of, replay_config
from tests.unit.messages import MakeMessage

TOPIC = "sluice-my-books-7"
RAW = dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.converters.ByteArrayConverter")
CONFIG = {"name": TOPIC, "index.name": "sluice-my-books", "connection.url": "http://gone:9200", **RAW}


def endpoints(*urls: str) -> Endpoints:
    """Servers of which only Elasticsearch matters."""
    return Endpoints("127.0.0.1:9", "http://127.0.0.1:9", urls, None)


def letter(offset: int = 11, **changes: object) -> Letter:
    """A refused record of partition 3; its letter lies at half its offset."""
    place = Place(TOPIC, 3, offset)
    made = Letter(
        at=Place(f"{TOPIC}-dead-letters", 0, offset // 2),
        origin=place,
        refused_at=place,
        key=b"9788",
        value=b'{"pages": "many"}',
        headers=(("source", b"shop"),),
        timestamp_ms=1009,
        reason=f"{place}: status 400 mapper_parsing_exception: failed to parse field [pages] of type [long]",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


@dataclass
class Message:
    """A record as Kafka's client gives it."""

    headers_: list[tuple[str, bytes | None]] = field(default_factory=list)

    def topic(self) -> str:
        """The dead-letter topic."""
        return f"{TOPIC}-dead-letters"

    def partition(self) -> int:
        """Its only partition."""
        return 0

    def offset(self) -> int:
        """Its place."""
        return 5

    def key(self) -> bytes:
        """The refused record's."""
        return b"9788"

    def value(self) -> bytes:
        """The refused record's."""
        return b'{"pages": "many"}'

    def timestamp(self) -> tuple[int, int]:
        """Kind and time."""
        return 1, 1009

    def headers(self) -> list[tuple[str, bytes | None]]:
        """Those of the record and of the worker."""
        return self.headers_


def workers_headers(offset: int, reason: str) -> list[tuple[str, bytes | None]]:
    """What the worker says of a refused record."""
    told = {"topic": TOPIC, "partition": "3", "offset": str(offset), "exception.message": reason}
    return [(f"__connect.errors.{name}", text.encode()) for name, text in told.items()]


# --- reading --------------------------------------------------------------------------------------------------------


def test_a_letter_is_its_record_with_what_the_worker_says_of_it() -> None:
    """The worker's headers are taken apart and left out, the record's own stay, whatever they are called."""
    reason = letter().reason
    own: list[tuple[str, bytes | None]] = [("source", b"shop"), ("topic", b"mine"), ("nothing", None)]
    read = letter_of(Message([*own, *workers_headers(11, reason)]))  # type: ignore[arg-type]
    assert read == letter(11, headers=tuple(own))


def test_a_letter_of_a_replayed_record_knows_the_first_one() -> None:
    """So that its ids, versions and places stay those of the record that was refused first."""
    headers = [(REPLAY_OF, f"{TOPIC}-3@11".encode()), *workers_headers(1013, "too old")]
    read = letter_of(Message(headers))  # type: ignore[arg-type]
    assert (read.origin, read.refused_at) == (Place(TOPIC, 3, 11), Place(TOPIC, 3, 1013))


def test_a_letter_without_its_place_is_refused_with_the_setting_that_is_missing(message: MakeMessage) -> None:
    """Without it neither id nor version is known."""
    with pytest.raises(ProfileError) as failure:
        letter_of(Message())  # type: ignore[arg-type]
    assert str(failure.value) == message(
        f"{TOPIC}-dead-letters-0@5", "errors.deadletterqueue.context.headers.enable=true"
    )


def test_letters_are_grouped_by_status_and_reason_most_frequent_first() -> None:
    """With the first three of each."""
    letters = [letter(n, reason=f"x-0@{n}: status 400 t: value [{n}]") for n in range(5)]
    letters += [letter(n, reason=f"x-0@{n}: got no key") for n in range(7, 9)]
    assert groups_of(reversed(letters[5:] + letters[:5][::-1])) == (
        DeadLetterGroup(
            status=400, type="t", cause="value …", records=5, first=tuple(f"{TOPIC}-3@{n}" for n in range(3))
        ),
        DeadLetterGroup(status=None, type=None, cause="got no key", records=2, first=(f"{TOPIC}-3@8", f"{TOPIC}-3@7")),
    )


# --- marks ----------------------------------------------------------------------------------------------------------


def test_every_letter_is_in_one_chunk() -> None:
    """In their order, the last chunk with the rest."""
    letters = [letter(n) for n in range(10_007)]
    made = list(chunks(letters))
    assert [len(chunk) for chunk in made] == [5000, 5000, 7]
    assert [one for chunk in made for one in chunk] == letters


def test_the_mark_is_after_the_last_letter_and_never_goes_back() -> None:
    """A forced replay of old letters does not make the newer ones unsent."""
    assert mark_after([letter(22), letter(26)], {0: 3, 1: 7}) == {0: 14, 1: 7}
    assert mark_after([letter(22)], {0: 101}) == {0: 101}


# --- into the topic -------------------------------------------------------------------------------------------------


def test_a_replayed_record_carries_the_place_and_the_version_of_the_first_one() -> None:
    """Also when its replay was refused before; its partition is the first one's, where its key belongs."""
    for before in ((), ((REPLAY_OF, b"x-3@11"), (REPLAY_VERSION, b"11"))):
        sent = record_of(letter(headers=(("source", b"shop"), *before), refused_at=Place(TOPIC, 3, 1013)), TOPIC)
        assert (sent.topic, sent.partition, sent.key, sent.value) == (TOPIC, 3, b"9788", b'{"pages": "many"}')
        assert sent.headers == (
            ("source", b"shop"),
            (REPLAY_OF, f"{TOPIC}-3@11".encode()),
            (REPLAY_VERSION, b"11"),
        )


def test_the_connector_of_a_replay_takes_versions_from_their_header() -> None:
    """The offset of a replayed record is higher than that of every later document of its key."""
    config = connector_for_replay(CONFIG, endpoints("http://a:1", "http://b:2"))
    assert config["external.version.header"] == REPLAY_VERSION
    assert config["connection.url"] == "http://a:1,http://b:2"
    assert config["consumer.override.isolation.level"] == "read_committed"


def test_the_connector_of_a_replay_makes_ids_of_the_rejected_record() -> None:
    """The header that names it is the one that a replayed record has, also after it was refused again."""
    config = connector_for_replay(CONFIG, endpoints("http://a:1"))
    again = letter(headers=((REPLAY_OF, b"other-0@1"),))
    assert dict(record_of(again, TOPIC).headers)[config["id.origin.header"]] == str(again.origin).encode()


def test_a_replay_finds_elasticsearch_where_the_target_says() -> None:
    """The worker may see other addresses than this machine does."""
    access = Access(sink={"connection.url": "https://es.internal:9200"})
    assert (
        connector_for_replay(CONFIG, replace(endpoints("http://a:1"), access=access))["connection.url"]
        == "https://es.internal:9200"
    )


def test_versions_of_the_users_own_stay_what_they_are() -> None:
    """The dead letter still has their header."""
    config = connector_for_replay({**CONFIG, "external.version.header": "edition"}, endpoints("http://a:1"))
    assert config["external.version.header"] == "edition"


def test_what_became_of_the_records_is_summed_over_tasks() -> None:
    """In the words of the ledger."""
    zero = dict.fromkeys(Ledger.model_fields, 0)
    totals = [Ledger(**(zero | {"read": 9, "indexed": 7, "stale": 2})), Ledger(**(zero | {"dead_lettered": 3}))]
    assert +outcomes_of(totals) == {"indexed": 7, "stale": 2, "refused": 3}


# --- what all need --------------------------------------------------------------------------------------------------


def test_a_secret_that_was_not_written_down_has_to_be_given(message: MakeMessage) -> None:
    """Where no other user of the machine reads it, which on a command line all of them do."""
    recorded = {"name": "x", "connection.password": "(hidden)"}
    with pytest.raises(ProfileError) as failure:
        replay_config(recorded, {})
    assert str(failure.value) == message("connector: connection.password", "--set-env", "connection.password=VARIABLE")
    assert replay_config(recorded, {"connection.password": "s"}) == {"name": "x", "connection.password": "s"}


def test_a_dropped_or_refused_record_is_not_accepted() -> None:
    """A stale one is: what is stored is newer."""
    assert Replay(10, 0, {"indexed": 2, "stale": 3, "already there": 1, "dropped": 3, "refused": 1}).accepted == 6
