"""Verification: ids as the sink makes them, documents drawn at random, the accounting of a whole run."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from lab.clients.kafka import DeadLetter
from lab.errors import StackError
from lab.records.verification import Documents, Verification
from lab.run.names import Names
from lab.run.verify.accounting import DeliveredRecords, hash_of, hashes_of
from lab.run.verify.parts import verify_parts
from lab.run.verify.verify import KeyIds, OffsetIds, VerificationTarget, stored_documents, stored_hashes, verify
from producers.dataset import Dataset, Record
from producers.part import parts_of
from tests.unit.run.verify.topics import Message

TOPIC = "sluice-books-1"


@dataclass(frozen=True)
class Prices(Dataset):
    """Prices of books: document i is a price of book i mod `books`."""

    documents: int = 211
    books: int = 89
    name: str = "prices"
    seed: int = 1

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and value."""
        return [(b"book-%d" % (number % self.books), orjson.dumps({"price": number})) for number in numbers.tolist()]

    def latest(self) -> NDArray[np.int64]:
        """The last price of each book."""
        return np.arange(max(0, self.documents - self.books), self.documents, dtype=np.int64)


@dataclass
class FakeKafka:
    """A topic of two partitions, filled in turn, and a dead-letter topic."""

    dataset: Dataset
    letters: list[DeadLetter] = field(default_factory=list)
    readings: int = 0
    strangers: int = 0
    """Records beyond the dataset's, at the end of partition 0."""

    def places(self) -> dict[tuple[int, int], Record]:
        """The records by partition and offset."""
        records = self.dataset.records(np.arange(self.dataset.documents))
        return {(number % 2, number // 2): record for number, record in enumerate(records)}

    def end_offsets(self, _topic: str) -> dict[int, int]:
        """Records in each partition."""
        return {0: (self.dataset.documents + 1) // 2 + self.strangers, 1: self.dataset.documents // 2}

    def records(self, _topic: str) -> Iterator[Message]:
        """Every record."""
        self.readings += 1
        yield from map(Message, self.places().values())

    def dead_letters(self, _topic: str) -> Iterator[DeadLetter]:
        """The refused records."""
        yield from self.letters

    def records_at(self, _topic: str, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Record]:
        """Some records."""
        everything = self.places()
        return {place: everything[place] for place in places}


@dataclass
class FakeCluster:
    """An index."""

    stored: dict[str, Any]
    asked: list[int] = field(default_factory=list)
    failures: int = 0
    """Readings of the ids that break off after their first page."""

    def ids(self, _index: str) -> Iterator[list[str]]:
        """Every id, some at a time."""
        names = list(self.stored)
        for first in range(0, len(names), 23):
            if first and self.failures:
                self.failures -= 1
                raise StackError("the point in time is gone")
            yield names[first : first + 23]

    def described(self, _index: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Settings and mapping of an index that keeps what it is sent."""
        return {}, {}

    def contents(self, _index: str) -> Iterator[list[Any]]:
        """Every document, some at a time."""
        documents = list(self.stored.values())
        for first in range(0, len(documents), 23):
            yield documents[first : first + 23]

    def count(self, _index: str) -> int:
        """How many there are."""
        return len(self.stored)

    def rebuilt_vectors(self, _index: str) -> frozenset[str]:
        """None: every document is stored as it was sent."""
        return frozenset()

    def sources(self, _index: str, ids: Sequence[str]) -> dict[str, Any]:
        """Some documents."""
        self.asked.append(len(ids))
        return {name: self.stored[name] for name in ids if name in self.stored}


def index_by_key(dataset: Dataset) -> dict[str, Any]:
    """What must be stored if keys are ids: the last price of each book."""
    return {key.decode(): orjson.loads(value) for key, value in dataset.records(dataset.latest())}


def index_by_offset(kafka: FakeKafka) -> dict[str, Any]:
    """What must be stored if offsets are ids: every record."""
    return {
        f"{TOPIC}+{partition}+{offset}": orjson.loads(value)
        for (partition, offset), (_, value) in kafka.places().items()
    }


def verified(
    kafka: FakeKafka, stored: dict[str, Any], *, key_is_id: bool, sample: int = 31, **others: Any
) -> tuple[Documents, Verification]:
    """The accounting of a run with this index."""
    count = kafka.dataset.documents
    target = VerificationTarget(
        **others,
        dataset=kafka.dataset,
        names=Names("sluice-books", TOPIC, TOPIC),
        records=DeliveredRecords(count, count, 0),
        key_is_id=key_is_id,
        sample=sample,
        seed="20260101-000000",
    )
    return verify(target, kafka, FakeCluster(stored), lambda _done, _what: None)  # type: ignore[arg-type]


def test_a_run_with_updates_is_verified_by_key() -> None:
    """89 books are indexed, the other 122 prices have been replaced."""
    kafka = FakeKafka(Prices())
    documents, verification = verified(kafka, index_by_key(kafka.dataset), key_is_id=True)
    assert verification.problems == ()
    assert (documents.indexed, documents.already_there, documents.sampled) == (89, 122, 31)


def test_a_run_is_verified_by_offset() -> None:
    """Every record is a document of its own."""
    kafka = FakeKafka(Prices())
    documents, verification = verified(kafka, index_by_offset(kafka), key_is_id=False)
    assert verification.problems == ()
    assert (documents.indexed, documents.already_there, documents.sampled) == (211, 0, 31)


def test_an_older_price_in_the_index_is_an_altered_document() -> None:
    """Whatever is stored must be the last word on its key."""
    kafka = FakeKafka(Prices())
    stored = {name: {"price": -1} for name in index_by_key(kafka.dataset)}
    _, verification = verified(kafka, stored, key_is_id=True, sample=1)
    assert len(verification.problems) == 1
    assert verification.problems[0].startswith("1 of 1 sampled documents differs from the dataset, such as book-")


def test_an_altered_document_is_found_by_offset() -> None:
    """It is named by its id."""
    kafka = FakeKafka(Prices(documents=7, books=7))
    stored = index_by_offset(kafka) | {f"{TOPIC}+1+2": {"price": -1}}
    _, verification = verified(kafka, stored, key_is_id=False)
    assert verification.problems == (f"1 of 7 sampled documents differs from the dataset, such as {TOPIC}+1+2",)


def test_a_record_more_than_was_delivered_is_a_problem() -> None:
    """The topic's own count is held against the producer's."""
    kafka = FakeKafka(Prices(documents=101, books=101), strangers=1)
    _, verification = verified(kafka, index_by_key(kafka.dataset), key_is_id=True)
    assert verification.problems == ("delivered 101, but the topic holds 102 records",)


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
        (89, "comparing 31 documents"),
    ]


def test_a_missing_document_is_named_by_its_offset() -> None:
    """The second partition's records follow the first one's."""
    kafka = FakeKafka(Prices())
    stored = index_by_offset(kafka)
    del stored[f"{TOPIC}+1+41"]
    _, verification = verified(kafka, stored, key_is_id=False, sample=0)
    assert verification.problems == (f"1 document is missing from the index, such as {TOPIC}+1+41",)


def test_a_missing_document_with_several_records_is_named_once() -> None:
    """Three prices of a book that is not there are one missing document."""
    kafka = FakeKafka(Prices())
    stored = index_by_key(kafka.dataset)
    del stored["book-7"]
    _, verification = verified(kafka, stored, key_is_id=True, sample=0)
    assert verification.problems == ("1 document is missing from the index, such as book-7",)


@pytest.mark.parametrize("key_is_id", [True, False])
def test_a_refused_record_is_neither_missing_nor_sampled(key_is_id: bool) -> None:  # noqa: FBT001
    """It is in the dead-letter topic, twice after a restart, with its reason."""
    kafka = FakeKafka(Prices(documents=101, books=101))
    kafka.letters = [DeadLetter(b"book-7", TOPIC, 1, 3, "too old")] * 2
    stored = index_by_key(kafka.dataset) if key_is_id else index_by_offset(kafka)
    del stored["book-7" if key_is_id else f"{TOPIC}+1+3"]
    documents, verification = verified(kafka, stored, key_is_id=key_is_id, sample=101)
    assert verification.problems == ()
    assert (documents.indexed, documents.dead_lettered, documents.sampled) == (100, 1, 100)
    assert [(reason.reason, reason.records) for reason in verification.dead_letters] == [("too old", 1)]


# --- ids that the cluster has made ----------------------------------------------------------------------------------


def index_without_known_ids(kafka: FakeKafka) -> dict[str, Any]:
    """What must be stored if the cluster makes the ids: every record, its names in another order."""
    return {f"generated-{place}": orjson.loads(value) for place, (_, value) in kafka.places().items()}


def verified_without_ids(kafka: FakeKafka, stored: dict[str, Any]) -> tuple[Documents, Verification]:
    """The accounting of a run whose ids the cluster has made."""
    return verified(kafka, stored, key_is_id=False, ids_are_generated=True)


def test_documents_whose_ids_the_cluster_made_are_known_by_their_contents() -> None:
    """All of them, not a sample."""
    kafka = FakeKafka(Prices())
    documents, verification = verified_without_ids(kafka, index_without_known_ids(kafka))
    assert (verification.problems, verification.contents) == ((), "as stored")
    assert (documents.indexed, documents.already_there, documents.sampled) == (211, 0, 211)


def test_half_of_them_missing_and_half_of_them_twice_is_not_verified() -> None:
    """Their number is right."""
    kafka = FakeKafka(Prices(documents=101, books=101))
    stored = index_without_known_ids(kafka)
    for number in range(1, 101, 2):
        stored[f"generated-{(number % 2, number // 2)}"] = {"price": number - 1}
    documents, verification = verified_without_ids(kafka, stored)
    assert (documents.indexed, documents.missing, documents.unexpected) == (51, 50, 50)
    missing, doubled = verification.problems
    assert missing.startswith("50 documents are missing from the index, such as book-")
    assert doubled == "50 documents are stored more than once"


def test_one_that_was_altered_is_missing_and_another_one_there() -> None:
    """True is not 1, also in a hash."""
    kafka = FakeKafka(Prices(documents=7, books=7))
    stored = index_without_known_ids(kafka) | {"generated-(1, 0)": {"price": True}}
    assert verified_without_ids(kafka, stored)[1].problems == (
        "1 document is missing from the index, such as book-1",
        "1 document in the index was not produced by this run",
    )


def test_a_refused_record_is_not_missing_from_them() -> None:
    """Its contents are those of the record that the dead letter names."""
    kafka = FakeKafka(Prices(documents=101, books=101))
    kafka.letters = [DeadLetter(b"book-7", TOPIC, 1, 3, "too old")] * 2
    stored = index_without_known_ids(kafka)
    del stored["generated-(1, 3)"]
    documents, verification = verified_without_ids(kafka, stored)
    assert (verification.problems, documents.indexed, documents.dead_lettered) == ((), 100, 1)


@pytest.mark.parametrize("lost", [0, 3])
def test_where_contents_do_not_come_back_only_their_number_is_compared(lost: int) -> None:
    """And that is told."""
    kafka = FakeKafka(Prices())
    stored = dict(list(index_without_known_ids(kafka).items())[lost:])
    index = OtherSource(stored, settings={"index.mapping.source.mode": "synthetic"})
    records = DeliveredRecords(211, 211, 0)
    target = VerificationTarget(
        kafka.dataset,
        Names("sluice-books", TOPIC, TOPIC),
        records,
        key_is_id=False,
        sample=31,
        seed="1",
        ids_are_generated=True,
    )
    _, verification = verify(target, kafka, index, lambda _, __: None)  # type: ignore[arg-type]
    assert verification.contents == "counts only"
    assert verification.problems == (("3 documents are missing from the index",) if lost else ())


# --- an index that gives documents back otherwise -------------------------------------------------------------------


@dataclass
class OtherSource(FakeCluster):
    """An index with other settings or another mapping."""

    settings: dict[str, Any] = field(default_factory=dict)
    mapping: dict[str, Any] = field(default_factory=dict)

    def described(self, _index: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Its settings and its mapping."""
        return self.settings, self.mapping


def compared_in(cluster: FakeCluster, prices: Prices) -> tuple[Documents, Verification]:
    """The accounting of a direct load into this index."""
    records, names = DeliveredRecords(prices.documents), Names("sluice-books", TOPIC, TOPIC)
    target = VerificationTarget(prices, names, records, key_is_id=True, sample=31, seed="1")
    return verify(target, None, cluster, lambda _, __: None)  # type: ignore[arg-type]


@pytest.mark.parametrize("right", [True, False])
def test_an_index_that_rebuilds_its_source_is_compared_by_its_rules(*, right: bool) -> None:
    """A price that was sent as a number comes back from a keyword as text; another price does not pass."""
    prices = Prices()
    stored = {name: {"price": str(book["price"] + (not right))} for name, book in index_by_key(prices).items()}
    settings, mapping = {"index.mapping.source.mode": "synthetic"}, {"properties": {"price": {"type": "keyword"}}}
    documents, verification = compared_in(OtherSource(stored, settings=settings, mapping=mapping), prices)
    assert (verification.verified, verification.contents, documents.sampled) == (right, "as rebuilt", 31)
    assert documents.sample_mismatches == (0 if right else 31)


def test_of_an_index_without_source_only_ids_are_compared_and_that_is_told() -> None:
    """It gives no document back."""
    prices = Prices()
    index = OtherSource(dict.fromkeys(index_by_key(prices)), mapping={"_source": {"enabled": False}})
    documents, verification = compared_in(index, prices)
    assert (verification.verified, verification.contents, documents.sampled) == (True, "ids only", 0)


def test_an_index_that_keeps_what_it_is_sent_is_compared_as_json() -> None:
    """So a price that comes back as text is another one."""
    prices = Prices()
    stored = {name: {"price": str(book["price"])} for name, book in index_by_key(prices).items()}
    documents, verification = compared_in(FakeCluster(stored), prices)
    assert (verification.contents, documents.sample_mismatches) == ("as stored", 31)


# --- the topic ------------------------------------------------------------------------------------------------------


@dataclass
class OtherwiseFilled(FakeKafka):
    """A topic that holds other records than its dataset has: document n → the document that is there in its place."""

    instead: dict[int, int] = field(default_factory=dict)
    changed: dict[int, Record] = field(default_factory=dict)

    def places(self) -> dict[tuple[int, int], Record]:
        """The records by partition and offset."""
        records = self.dataset.records(np.arange(self.dataset.documents))
        return {
            (n % 2, n // 2): self.changed.get(n, records[self.instead.get(n, n)]) for n in range(self.dataset.documents)
        }


HALF_IS_LACKING = "the topic holds 50 documents too often and lacks 50 documents of the dataset"


@pytest.mark.parametrize("sample", [0, 31, 101])
def test_a_topic_with_half_of_the_dataset_twice_is_not_verified(sample: int) -> None:
    """Ids are made of offsets there, and each stored document is what its record was: only its contents tell."""
    kafka = OtherwiseFilled(Prices(documents=101, books=101), instead={n: n - 1 for n in range(1, 101, 2)})
    documents, verification = verified(kafka, index_by_offset(kafka), key_is_id=False, sample=sample)
    assert (documents.indexed, documents.missing, documents.unexpected, documents.sample_mismatches) == (101, 0, 0, 0)
    assert verification.problems == (HALF_IS_LACKING,)


def test_an_update_that_was_sent_twice_in_place_of_another_is_not_verified() -> None:
    """The index holds the last word on each book all the same."""
    kafka = OtherwiseFilled(Prices(), instead={3: 3 + 89})
    _, verification = verified(kafka, index_by_key(kafka.dataset), key_is_id=True)
    assert verification.problems == ("the topic holds 1 document too often and lacks 1 document of the dataset",)


def test_a_record_of_no_document_is_not_verified() -> None:
    """As one that was spoilt on its way into Kafka and overwritten by a later one of its key."""
    kafka = OtherwiseFilled(Prices(), changed={3: (b"book-3", b'{"price":3.0}')})
    _, verification = verified(kafka, index_by_key(kafka.dataset), key_is_id=True)
    assert verification.problems == ("the topic holds 1 record of no document and lacks 1 document of the dataset",)


def test_documents_of_one_content_are_counted() -> None:
    """Ten documents, of which each price is there twice: both have to be in the topic."""

    class Twins(Prices):
        def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
            return [(b"book-%d" % (n // 2), b'{"price":%d}' % (n // 2)) for n in numbers.tolist()]

        def latest(self) -> NDArray[np.int64]:
            return np.arange(1, self.documents, 2, dtype=np.int64)

    whole = FakeKafka(Twins(documents=10))
    assert verified(whole, index_by_key(whole.dataset), key_is_id=True)[1].problems == ()
    kafka = OtherwiseFilled(Twins(documents=10), instead={1: 2})
    assert verified(kafka, index_by_key(kafka.dataset), key_is_id=True)[1].problems == (
        "the topic holds 1 document too often and lacks 1 document of the dataset",
    )


def test_records_that_retention_has_removed_are_no_problem_of_the_topic() -> None:
    """They were read before; that the topic holds no others is all there is to be known."""

    class Kept(FakeKafka):
        def records(self, _topic: str) -> Iterator[Message]:
            yield from list(super().records(_topic))[13:]

    kafka = Kept(Prices())
    assert verified(kafka, index_by_key(kafka.dataset), key_is_id=True)[1].problems == ()


def test_each_of_several_indices_has_a_topic_with_its_own_documents() -> None:
    """Two topics that have been exchanged hold the right number of records, and ids of offsets tell nothing."""
    prices = Prices(documents=2048, books=2048)
    names = Names("sluice-books--1,sluice-books--2", "books--1,books--2", "books")
    parts = dict(zip(names.topics, parts_of(prices, 2), strict=True))

    class Topics(FakeKafka):
        def __init__(self, held: dict[str, Dataset]) -> None:
            super().__init__(prices)
            self.held = held

        def end_offsets(self, topic: str) -> dict[int, int]:
            return {0: self.held[topic].documents}

        def records(self, topic: str) -> Iterator[Message]:
            yield from map(Message, chain.from_iterable(self.held[topic].batches(0, self.held[topic].documents)))

    class Indices(FakeCluster):
        def ids(self, index: str) -> Iterator[list[str]]:
            topic = index.removeprefix("sluice-")
            yield [f"{topic}+0+{offset}" for offset in range(parts[topic].documents)]

    def problems(held: dict[str, Dataset]) -> tuple[str, ...]:
        target = VerificationTarget(prices, names, DeliveredRecords(2048, 2048, 0), key_is_id=False, sample=0, seed="1")
        return verify_parts(target, Topics(held), Indices({}), lambda _, __: None)[1].problems  # type: ignore[arg-type]

    assert {part.documents for part in parts.values()} == {1024}
    assert problems(parts) == ()
    exchanged = dict(zip(names.topics, reversed(parts.values()), strict=True))
    assert problems(exchanged) == tuple(
        f"{index}: the topic holds 1,024 records of no document and lacks 1,024 documents of the dataset"
        for index in names.indices
    )


def test_runs_that_drain_one_topic_read_it_once() -> None:
    """What was found in it holds for all of them."""
    kafka, found = OtherwiseFilled(Prices(documents=101, books=101), instead={n: n - 1 for n in range(1, 101, 2)}), {}
    stored = index_by_offset(kafka)
    problems = [verified(kafka, stored, key_is_id=False, compared_topics=found)[1].problems for _ in range(3)]
    assert (problems, kafka.readings) == ([(HALF_IS_LACKING,)] * 3, 1)


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
    assert ids.dead(DeadLetter(b"k", TOPIC, 1, 0, "")) == f"east:{TOPIC}+1+0".encode()
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
    letter = DeadLetter(b"book-7", TOPIC, 1, 3, "too old")
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
    (problem,) = verification.problems
    assert problem.startswith("2 documents are missing from the index, such as book-")


def test_documents_are_read_back_two_hundred_at_a_time() -> None:
    """So that no answer becomes large."""
    cluster = FakeCluster({f"{number}": {} for number in range(401)})
    assert len(stored_documents(cluster, "books", list(cluster.stored))) == 401  # type: ignore[arg-type]
    assert cluster.asked == [200, 200, 1]
