"""Verification: what a topic holds, ids that the cluster made, and an index that gives documents back otherwise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from lab.clients.kafka import DeadLetter, Place
from lab.records.verification import Documents, Verification
from lab.run.names import Names
from lab.run.verify.accounting import DeliveredRecords
from lab.run.verify.parts import verify_parts
from lab.run.verify.verify import VerificationTarget, verify
from producers.dataset import Dataset, Record
from producers.part import parts_of
from tests.unit.messages import MakeMessage, Naming
from tests.unit.run.verify.worlds import (
    TOPIC,
    FakeCluster,
    FakeKafka,
    Message,
    Prices,
    index_by_key,
    index_by_offset,
    verified,
)

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


def test_half_of_them_missing_and_half_of_them_twice_is_not_verified(message: MakeMessage) -> None:
    """Their number is right."""
    kafka = FakeKafka(Prices(documents=101, books=101))
    stored = index_without_known_ids(kafka)
    for number in range(1, 101, 2):
        stored[f"generated-{(number % 2, number // 2)}"] = {"price": number - 1}
    documents, verification = verified_without_ids(kafka, stored)
    assert (documents.indexed, documents.missing, documents.unexpected) == (51, 50, 50)
    assert verification.problems == (
        Naming("50 documents", "missing"),
        message("50 documents", "more than once"),
    )


def test_one_that_was_altered_is_missing_and_another_one_there(message: MakeMessage) -> None:
    """True is not 1, also in a hash."""
    kafka = FakeKafka(Prices(documents=7, books=7))
    stored = index_without_known_ids(kafka) | {"generated-(1, 0)": {"price": True}}
    assert verified_without_ids(kafka, stored)[1].problems == (
        message(1, "book-1", "missing"),
        message(1, "not produced"),
    )


def test_a_refused_record_is_not_missing_from_them() -> None:
    """Its contents are those of the record that the dead letter names."""
    kafka = FakeKafka(Prices(documents=101, books=101))
    kafka.letters = [DeadLetter(b"book-7", Place(TOPIC, 1, 3), "too old")] * 2
    stored = index_without_known_ids(kafka)
    del stored["generated-(1, 3)"]
    documents, verification = verified_without_ids(kafka, stored)
    assert (verification.problems, documents.indexed, documents.dead_lettered) == ((), 100, 1)


# --- an index that gives documents back otherwise -------------------------------------------------------------------


@dataclass
class OtherSource(FakeCluster):
    """An index with other settings or another mapping."""

    settings: dict[str, Any] = field(default_factory=dict)
    mapping: dict[str, Any] = field(default_factory=dict)

    def described(self, _index: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Its settings and its mapping."""
        return [(self.settings, self.mapping)]


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
    assert (verification.verified, verification.contents, documents.sampled) == (right, "as rebuilt", 89)
    assert documents.sample_mismatches == (0 if right else 89)


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
    assert (verification.contents, documents.sample_mismatches) == ("as stored", 89)


def verified_in(index: FakeCluster, kafka: FakeKafka) -> tuple[Documents, Verification]:
    """The accounting of a run that filled this index, whose ids the cluster has made."""
    records, names = DeliveredRecords(211, 211, 0), Names("sluice-books", TOPIC, TOPIC)
    target = VerificationTarget(
        kafka.dataset, names, records, key_is_id=False, sample=31, seed="1", ids_are_generated=True
    )
    return verify(target, kafka, index, lambda _, __: None)  # type: ignore[arg-type]


@pytest.mark.parametrize("lost", [0, 3])
def test_where_contents_do_not_come_back_only_their_number_is_compared(lost: int, message: MakeMessage) -> None:
    """And that is told."""
    kafka = FakeKafka(Prices())
    stored = dict(list(index_without_known_ids(kafka).items())[lost:])
    _, verification = verified_in(OtherSource(stored, mapping={"_source": {"enabled": False}}), kafka)
    assert verification.contents == "counts only"
    assert verification.problems == ((message("3 documents", "missing"),) if lost else ())


@pytest.mark.parametrize("wrong", [0, 3])
def test_documents_that_are_rebuilt_under_ids_of_the_cluster_are_known_by_their_contents(wrong: int) -> None:
    """As in an index of time series: a number comes back from a keyword as text; another one is missing."""
    kafka = FakeKafka(Prices())
    written = index_without_known_ids(kafka).items()
    stored = {name: {"price": str(book["price"] + 1000 * (at < wrong))} for at, (name, book) in enumerate(written)}
    settings, mapping = {"index.mode": "time_series"}, {"properties": {"price": {"type": "keyword"}}}

    documents, verification = verified_in(OtherSource(stored, settings=settings, mapping=mapping), kafka)

    assert (verification.contents, documents.sampled) == ("as rebuilt", 211)
    assert (documents.missing, documents.unexpected) == (wrong, wrong)


def test_decimals_among_strings_are_counted_only_where_ids_are_not_known() -> None:
    """1.50 comes back as it was sent, and only beside it one knows that 1.5 is meant."""

    class Decimals(Prices):
        def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
            return [(b"book-%d" % n, b'{"price":%d.50}' % n) for n in numbers.tolist()]

    kafka = FakeKafka(Decimals())
    stored = {name: {"price": f"{book['price']}0"} for name, book in index_without_known_ids(kafka).items()}
    mapping = {"_source": {"mode": "synthetic"}, "properties": {"price": {"type": "keyword"}}}

    assert verified_in(OtherSource(stored, mapping=mapping), kafka)[1].contents == "counts only"


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


@pytest.mark.parametrize("sample", [0, 31, 101])
def test_a_topic_with_half_of_the_dataset_twice_is_not_verified(sample: int, message: MakeMessage) -> None:
    """Ids are made of offsets there, and each stored document is what its record was: only its contents tell."""
    kafka = OtherwiseFilled(Prices(documents=101, books=101), instead={n: n - 1 for n in range(1, 101, 2)})
    documents, verification = verified(kafka, index_by_offset(kafka), key_is_id=False, sample=sample)
    assert (documents.indexed, documents.missing, documents.unexpected, documents.sample_mismatches) == (101, 0, 0, 0)
    assert verification.problems == (message("50 documents too often", "lacks 50 documents"),)


def test_an_update_that_was_sent_twice_in_place_of_another_is_not_verified(message: MakeMessage) -> None:
    """The index holds the last word on each book all the same."""
    kafka = OtherwiseFilled(Prices(), instead={3: 3 + 89})
    _, verification = verified(kafka, index_by_key(kafka.dataset), key_is_id=True)
    assert verification.problems == (message(1, "too often", "lacks"),)


def test_a_record_of_no_document_is_not_verified(message: MakeMessage) -> None:
    """As one that was spoilt on its way into Kafka and overwritten by a later one of its key."""
    kafka = OtherwiseFilled(Prices(), changed={3: (b"book-3", b'{"price":3.0}')})
    _, verification = verified(kafka, index_by_key(kafka.dataset), key_is_id=True)
    assert verification.problems == (message(1, "of no document", "lacks"),)


def test_documents_of_one_content_are_counted(message: MakeMessage) -> None:
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
        message(1, "too often", "lacks"),
    )


def test_records_that_retention_has_removed_are_a_problem_only_where_ids_are_made_of_them(message: MakeMessage) -> None:
    """They were read before; a key tells which document it is of, an offset does not."""

    class Kept(FakeKafka):
        def records(self, _topic: str) -> Iterator[Message]:
            yield from list(super().records(_topic))[13:]

    kafka = Kept(Prices())
    assert verified(kafka, index_by_key(kafka.dataset), key_is_id=True)[1].problems == ()
    assert verified(kafka, index_by_offset(kafka), key_is_id=False)[1].problems == (message(13, "gone"),)


def test_each_of_several_indices_has_a_topic_with_its_own_documents(message: MakeMessage) -> None:
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
        message(index, "1,024 records of no document", "lacks 1,024 documents") for index in names.indices
    )


def test_runs_that_drain_one_topic_read_it_once(message: MakeMessage) -> None:
    """What was found in it holds for all of them."""
    kafka, found = OtherwiseFilled(Prices(documents=101, books=101), instead={n: n - 1 for n in range(1, 101, 2)}), {}
    stored = index_by_offset(kafka)
    problems = [verified(kafka, stored, key_is_id=False, compared_topics=found)[1].problems for _ in range(3)]
    (problem,) = problems[0]
    assert problem == message("50 documents too often", "lacks 50 documents")
    assert (problems, kafka.readings) == ([(problem,)] * 3, 1)
