"""Verification: ids as the sink makes them, documents drawn at random, the accounting of a whole run."""

import random
from dataclasses import dataclass

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from lab.clients.kafka import DeadLetter, Place
from lab.errors import StackError
from lab.run.names import Names
from lab.run.verify.accounting import DeliveredRecords, altered, hash_of, hashes_of
from lab.run.verify.contents import SourceRules
from lab.run.verify.verify import (
    KeyIds,
    OffsetIds,
    VerificationTarget,
    content_hashes,
    routings_of,
    stored_hashes,
    verify,
)
from producers.dataset import Record
from tests.unit.messages import MakeMessage, Naming
from tests.unit.run.verify.worlds import TOPIC, FakeCluster, FakeKafka, Prices, index_by_key, index_by_offset, verified


def test_a_run_with_updates_is_verified_by_key() -> None:
    """89 books are indexed, the other 122 prices have been replaced."""
    kafka = FakeKafka(Prices())
    documents, verification = verified(kafka, index_by_key(kafka.dataset), key_is_id=True)
    assert verification.problems == ()
    assert (documents.indexed, documents.already_there, documents.sampled) == (89, 122, 89)


def test_a_run_is_verified_by_offset() -> None:
    """Every record is a document of its own."""
    kafka = FakeKafka(Prices())
    documents, verification = verified(kafka, index_by_offset(kafka), key_is_id=False)
    assert verification.problems == ()
    assert (documents.indexed, documents.already_there, documents.sampled) == (211, 0, 211)


def test_one_altered_document_of_a_small_index_is_found(message: MakeMessage) -> None:
    """Each is compared, however few would be drawn; none where none is asked for."""
    kafka = FakeKafka(Prices())
    stored = index_by_offset(kafka) | {f"{TOPIC}+1+101": {"price": -1}}
    _, verification = verified(kafka, stored, key_is_id=False, sample=1)
    assert verification.problems == (message(1, 211, f"{TOPIC}+1+101", "differs from"),)
    assert verified(kafka, stored, key_is_id=False, sample=0)[0].sampled == 0


def test_of_a_large_index_a_sample_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many documents as asked for."""
    monkeypatch.setattr("lab.run.verify.verify.COMPARED_WHOLE", 88)
    kafka = FakeKafka(Prices(documents=89))
    documents, verification = verified(kafka, index_by_offset(kafka), key_is_id=False)
    assert (verification.problems, documents.indexed, documents.sampled) == ((), 89, 31)


def test_an_older_price_in_the_index_is_an_altered_document(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Whatever is stored must be the last word on its key."""
    monkeypatch.setattr("lab.run.verify.verify.COMPARED_WHOLE", 0)
    kafka = FakeKafka(Prices())
    stored = {name: {"price": -1} for name in index_by_key(kafka.dataset)}
    _, verification = verified(kafka, stored, key_is_id=True, sample=1)
    assert verification.problems == (message("1 of 1", "differs from"),)


def test_an_altered_document_is_found_by_offset(message: MakeMessage) -> None:
    """It is named by its id."""
    kafka = FakeKafka(Prices(documents=7, books=7))
    stored = index_by_offset(kafka) | {f"{TOPIC}+1+2": {"price": -1}}
    _, verification = verified(kafka, stored, key_is_id=False)
    assert verification.problems == (message(1, 7, f"{TOPIC}+1+2", "differs from"),)


@pytest.mark.parametrize("key_is_id", [True, False])
def test_documents_that_a_pipeline_changes_are_held_against_what_it_says(key_is_id: bool) -> None:  # noqa: FBT001
    """Another document than the one produced is what must be stored, known by its key or by its contents."""
    kafka = FakeKafka(Prices(documents=7, books=7))
    marked = {name: {**document, "by": "it"} for name, document in index_by_key(kafka.dataset).items()}
    ids = {"key_is_id": key_is_id, "ids_are_generated": not key_is_id}

    def as_stored(document: bytes) -> bytes:
        return orjson.dumps({**orjson.loads(document), "by": "it"})

    assert verified(kafka, marked, **ids, as_stored=as_stored)[1].problems == ()
    assert verified(kafka, marked, **ids)[1].problems != ()


def test_a_record_more_than_was_delivered_is_a_problem(message: MakeMessage) -> None:
    """The topic's own count is held against the producer's."""
    kafka = FakeKafka(Prices(documents=101, books=101), strangers=1)
    _, verification = verified(kafka, index_by_key(kafka.dataset), key_is_id=True)
    assert verification.problems == (message("delivered 101", 102),)


def test_a_direct_load_is_verified_without_kafka() -> None:
    """No offsets and no dead letters are asked for; what the load itself has refused makes it void."""
    prices = Prices()
    target = VerificationTarget(
        dataset=prices,
        names=Names("sluice-books", TOPIC, TOPIC),
        records=DeliveredRecords(211),
        key_is_id=True,
        sample=31,
        seed="20260101-000000",
        refusals=("1 document was refused: too old",),
    )
    told: list[tuple[int, str]] = []
    documents, verification = verify(
        target,
        None,  # type: ignore[arg-type]
        FakeCluster(index_by_key(prices)),  # type: ignore[arg-type]
        lambda done, what: told.append((done, what)),
    )
    assert verification.problems == ("1 document was refused: too old",)
    assert (documents.indexed, documents.delivered, documents.dead_lettered) == (89, None, None)
    assert told == [
        *((done, "reading every id back") for done in (23, 46, 69, 89)),
        (89, "comparing 89 documents"),
    ]


def test_a_missing_document_is_named_by_its_offset(message: MakeMessage) -> None:
    """The second partition's records follow the first one's."""
    kafka = FakeKafka(Prices())
    stored = index_by_offset(kafka)
    del stored[f"{TOPIC}+1+41"]
    _, verification = verified(kafka, stored, key_is_id=False, sample=0)
    assert verification.problems == (message(1, f"{TOPIC}+1+41", "missing"),)


def test_a_missing_document_with_several_records_is_named_once(message: MakeMessage) -> None:
    """Three prices of a book that is not there are one missing document."""
    kafka = FakeKafka(Prices())
    stored = index_by_key(kafka.dataset)
    del stored["book-7"]
    _, verification = verified(kafka, stored, key_is_id=True, sample=0)
    assert verification.problems == (message(1, "book-7", "missing"),)


@pytest.mark.parametrize("key_is_id", [True, False])
def test_a_refused_record_is_neither_missing_nor_sampled(key_is_id: bool) -> None:  # noqa: FBT001
    """It is in the dead-letter topic, twice after a restart, with its reason."""
    kafka = FakeKafka(Prices(documents=101, books=101))
    kafka.letters = [DeadLetter(b"book-7", Place(TOPIC, 1, 3), "too old")] * 2
    stored = index_by_key(kafka.dataset) if key_is_id else index_by_offset(kafka)
    del stored["book-7" if key_is_id else f"{TOPIC}+1+3"]
    documents, verification = verified(kafka, stored, key_is_id=key_is_id, sample=101)
    assert verification.problems == ()
    assert (documents.indexed, documents.dead_lettered, documents.sampled) == (100, 1, 100)
    assert [(reason.reason, reason.records) for reason in verification.dead_letters] == [("too old", 1)]


# --- ids ------------------------------------------------------------------------------------------------------------


def offset_ids(**end_offsets: int) -> OffsetIds:
    """Ids of a topic of these partitions: `p0`, `p1` and so on."""
    ends = {int(name[1:]): end for name, end in end_offsets.items()}
    return OffsetIds(Prices(), TOPIC, FakeKafka(Prices()), ends)  # type: ignore[arg-type]


def test_a_position_has_its_place_in_one_partition() -> None:
    """Partition after partition, empty ones passed over."""
    ids = offset_ids(p0=3, p1=0, p2=2)
    assert [ids.place(position) for position in range(5)] == [(0, 0), (0, 1), (0, 2), (2, 0), (2, 1)]


def test_ids_of_offsets_have_the_sinks_prefix() -> None:
    """Those of dead letters and of the sample, too."""
    kafka = FakeKafka(Prices())
    ids = OffsetIds(Prices(), TOPIC, kafka, {1: 2}, "east:")  # type: ignore[arg-type]
    assert ids.name(1) == f"east:{TOPIC}+1+1"
    assert ids.hashes().tolist() == [hash_of(f"east:{TOPIC}+1+{offset}") for offset in (0, 1)]
    assert ids.dead(DeadLetter(b"k", Place(TOPIC, 1, 0), "")) == f"east:{TOPIC}+1+0".encode()
    drawn = ids.sample(2, random.Random(1), hashes_of([]))  # noqa: S311 - a sample, no secret
    assert drawn.keys() == {f"east:{TOPIC}+1+{offset}" for offset in (0, 1)}


def test_there_is_no_place_beyond_the_end() -> None:
    """A position that does not exist is a mistake of ours."""
    with pytest.raises(IndexError):
        offset_ids(p0=3, p1=2).place(5)


def test_names_and_hashes_are_in_the_same_order() -> None:
    """A missing hash leads to its name."""
    ids = offset_ids(p0=3, p1=0, p2=2)
    assert ids.hashes().tolist() == [hash_of(ids.name(position)) for position in range(5)]


def test_a_dead_letter_has_the_id_that_its_document_would_have_had() -> None:
    """By key or by offset."""
    letter = DeadLetter(b"book-7", Place(TOPIC, 1, 3), "too old")
    assert KeyIds(Prices()).dead(letter) == b"book-7"
    assert offset_ids(p0=3).dead(letter) == f"{TOPIC}+1+3".encode()


def test_the_name_of_a_position_is_its_key() -> None:
    """Of the document of that number."""
    ids = KeyIds(Prices())
    assert [hash_of(ids.name(position)) for position in range(211)] == ids.hashes().tolist()


def draw_from(seed: int) -> random.Random:
    """A source of draws."""
    return random.Random(seed)  # noqa: S311 - a sample, no secret


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    """A verification can be done again."""
    nothing = hashes_of([])
    drawn = [KeyIds(Prices()).sample(31, draw_from(seed), nothing) for seed in (7, 7, 11)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_sample_is_of_the_last_document_of_each_key() -> None:
    """Even when all of them are drawn."""
    drawn = KeyIds(Prices()).sample(1000, draw_from(7), hashes_of([]))
    assert {name: orjson.loads(document) for name, document in drawn.items()} == index_by_key(Prices())


def test_a_sample_by_offset_is_the_datasets_document_whatever_the_topic_holds() -> None:
    """A document that was spoilt on its way into Kafka must not pass for what was produced."""

    class Spoilt(FakeKafka):
        def places(self) -> dict[tuple[int, int], Record]:
            return {place: (key, b"{}") for place, (key, _) in super().places().items()}

    prices = Prices(documents=7, books=7)
    ids = OffsetIds(prices, TOPIC, Spoilt(prices), {0: 4, 1: 3})  # type: ignore[arg-type]
    expected = {f"{TOPIC}+{number % 2}+{number // 2}": prices.document(number) for number in range(7)}
    assert ids.sample(7, draw_from(7), hashes_of([])) == expected


@pytest.mark.parametrize("beyond", [False, True])
def test_a_record_with_a_key_of_no_document_is_never_what_was_produced(beyond: bool) -> None:  # noqa: FBT001
    """Wherever its hash lies among those of the dataset: between them, or beyond them all."""
    prices = Prices(documents=7, books=7)
    last = max(hash_of(prices.key(number)) for number in range(7))
    stranger = next(key for key in (b"%d" % number for number in range(10_007)) if (hash_of(key) > last) == beyond)

    class WithStranger(FakeKafka):
        def places(self) -> dict[tuple[int, int], Record]:
            return {(0, 0): (stranger, b"{}")}

    ids = OffsetIds(prices, TOPIC, WithStranger(prices), {0: 1})  # type: ignore[arg-type]
    assert ids.sample(1, draw_from(7), hashes_of([])) == {f"{TOPIC}+0+0": b"null"}


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_a_reading_that_breaks_off_is_begun_anew_and_counts_no_id_twice(failures: int) -> None:
    """An id from a reading that was given up would look like a document that is stored twice."""
    cluster = FakeCluster({f"{number}": {} for number in range(53)}, failures=failures)
    stored = stored_hashes(cluster, "books", lambda _done, _what: None)  # type: ignore[arg-type]
    assert stored.tolist() == hashes_of(cluster.stored).tolist()


def test_the_third_reading_that_breaks_off_is_the_last() -> None:
    """An index that was read in part must not be verified."""
    cluster = FakeCluster({f"{number}": {} for number in range(53)}, failures=3)
    with pytest.raises(StackError, match="the point in time is gone"):
        stored_hashes(cluster, "books", lambda _done, _what: None)  # type: ignore[arg-type]
    assert cluster.failures == 0


def test_an_empty_index_has_no_ids() -> None:
    """Everything that was produced is missing then, and nothing else is wrong."""
    kafka = FakeKafka(Prices(documents=2, books=2))
    _, verification = verified(kafka, {}, key_is_id=True, sample=0)
    assert verification.problems == (Naming("2 documents", "missing"),)


@dataclass(frozen=True)
class RoutedPrices(Prices):
    """Prices whose books have a routing, but for each seventh one."""

    is_routed: bool = True

    def routings(self, numbers: NDArray[np.int64]) -> list[str | None]:
        """Of the book."""
        books = (numbers % self.books).tolist()
        return [f"shop-{book % 5}" if book % 7 else None for book in books]


def test_routings_are_those_of_the_ids_asked_for() -> None:
    """A document without one is left out, and a dataset without any is not read."""
    assert routings_of(RoutedPrices(), {"book-1", "book-7", "book-13"}) == {"book-1": "shop-1", "book-13": "shop-3"}
    assert routings_of(Prices(), {"book-1"}) == {}


def test_a_document_with_half_a_surrogate_pair_is_compared() -> None:
    """Elasticsearch takes its escape, and gives it back."""
    assert altered({"a": rb'{"t":"\ud800"}'}, {"a": {"t": "\ud800"}}) == []
    assert altered({"a": rb'{"t":"\ud800"}'}, {"a": {"t": "?"}}) == ["a"]
    rules = SourceRules.of({}, {})
    first, second, other = content_hashes([{"t": "\ud800", "n": 1}, {"n": 1, "t": "\ud800"}, {"n": 1}], rules).tolist()
    assert first == second != other
