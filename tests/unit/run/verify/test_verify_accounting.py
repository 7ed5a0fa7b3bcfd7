"""Accounting: what must be stored follows from what was produced, and every difference is one sentence."""

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from lab.clients.kafka import DeadLetter, Place
from lab.records.verification import Documents, Verification
from lab.run.verify.accounting import (
    NONE_UNINDEXED,
    Comparison,
    DeliveredRecords,
    Found,
    Unindexed,
    account_for,
    altered,
    compare,
    dead_letter_reasons,
    distinct_letters,
    hash_of,
    hashes_of,
)
from lab.run.verify.contents import SourceRules
from producers.delivery import Failure
from tests.unit.messages import MakeMessage, Naming

SEEDS = range(31)
SAMPLED = 17
VECTOR = SourceRules(vectors=frozenset({"vector"}))


@dataclass
class World:
    """What was produced, delivered, refused and stored, record by record.

    Attributes:
        records: The id of each record in the topic; an update has the id of what it updates.
        letters: The dead-letter topic.
        stored: The ids in the index.
    """

    records: list[str]
    letters: list[DeadLetter]
    stored: list[str]
    produced: int = 0
    delivered: int = 0
    failed: int = 0
    in_topic: int = 0
    failures: tuple[Failure, ...] = ()
    mismatches: list[str] = field(default_factory=list)
    unindexed: Unindexed = NONE_UNINDEXED

    def comparison(self) -> Comparison:
        """What is stored against the records."""
        letters = distinct_letters(self.letters)
        return compare(hashes_of(self.records), hashes_of(self.stored), hashes_of(letter.key for letter in letters))

    def close(self) -> tuple[Documents, Verification]:
        """The accounting of this world."""
        comparison = self.comparison()
        missing = set(comparison.missing.tolist())
        return account_for(
            DeliveredRecords(self.produced, self.delivered, self.failed, self.in_topic, self.failures),
            Found(
                comparison,
                contents="as stored",
                missing_named=[name for name in sorted(set(self.records)) if hash_of(name) in missing],
                sampled=SAMPLED,
                mismatches=self.mismatches,
            ),
            distinct_letters(self.letters),
            unindexed=self.unindexed,
        )


def world(seed: int) -> World:
    """A world in order: ids with one to seven records, some of them refused, the rest stored."""
    draw = random.Random(seed)  # noqa: S311 - a model, no secret
    ids = [f"book-{number}" for number in range(draw.choice([1, 2, 89, 211]))]
    records = [name for name in ids for _ in range(draw.choice([1, 1, 1, 2, 7]))]
    draw.shuffle(records)
    refused = [offset for offset in range(len(records)) if draw.random() < 0.13]
    letters = [DeadLetter(records[offset].encode(), Place("books", 0, offset), "too old") for offset in refused]
    alive = Counter(records) - Counter(letter.key.decode() for letter in letters)
    stored = list(alive)
    draw.shuffle(stored)
    count = len(records)
    return World(records, letters, stored, produced=count, delivered=count, in_topic=count)


def world_with_stored(seed: int) -> World:
    """A world in order that has at least one stored document."""
    made = world(seed)
    return made if made.stored else World(["book-0"], [], ["book-0"], produced=1, delivered=1, in_topic=1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_world_in_order_is_verified(seed: int) -> None:
    """No law is broken, however many updates and refusals there are."""
    _, verification = world(seed).close()
    assert (verification.verified, verification.problems) == (True, ())


@pytest.mark.parametrize("seed", SEEDS)
def test_every_delivered_record_is_in_exactly_one_account(seed: int) -> None:
    """Delivered = indexed + overwritten + dead-lettered."""
    documents, _ = world(seed).close()
    assert documents.delivered == documents.indexed + documents.already_there + documents.dead_lettered
    assert (documents.missing, documents.unexpected) == (0, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_account_holds_what_the_world_holds(seed: int) -> None:
    """Not only their sum is right."""
    made = world(seed)
    documents, _ = made.close()
    assert documents.indexed == len(made.stored)
    assert documents.dead_lettered == len(made.letters)


def lose_one(made: World) -> str:
    """A document vanishes from the index."""
    lost = made.stored.pop()
    empty = "" if made.stored else " (it is empty: look into the log of the pipeline, and at which index it writes to)"
    return f"1 document is missing from the index{empty}, such as {lost}"


def add_one(made: World) -> str:
    """A document of nobody appears in the index."""
    made.stored.append("nobody's")
    return "1 document in the index was not produced by this run"


def duplicate_one(made: World) -> str:
    """A document is stored under the same id in two shards."""
    made.stored.append(made.stored[0])
    return "1 document is stored more than once"


def alter_one(made: World) -> str:
    """A document is stored otherwise than it was produced."""
    made.mismatches.append(made.stored[0])
    return f"1 of {SAMPLED} sampled documents differs from the dataset, such as {made.stored[0]}"


def miscount_produced(made: World) -> str:
    """The producer was handed a document that it never mentions again."""
    made.produced += 1
    return f"produced {made.produced} is not delivered {made.delivered} + failed 0"


def fail_one(made: World) -> str:
    """The producer gave a document up."""
    made.produced += 1
    made.failed += 1
    made.failures = (Failure("MSG_SIZE_TOO_LARGE", "Broker: Message size too large", 1),)
    return "1 document was not delivered to Kafka: 1 × MSG_SIZE_TOO_LARGE: Broker: Message size too large"


def miscount_topic(made: World) -> str:
    """A record is in the topic twice."""
    made.in_topic += 1
    return f"delivered {made.delivered}, but the topic holds {made.in_topic} records"


def refuse_a_stranger(made: World) -> str:
    """The dead-letter topic has a record that was never produced."""
    documents, _ = made.close()
    made.letters.append(DeadLetter(b"nobody's", Place("elsewhere", 0, 0), "too old"))
    return (
        f"delivered {documents.delivered} is not indexed {documents.indexed} + overwritten "
        f"{documents.already_there} + dead-lettered {documents.dead_lettered + 1}"
    )


CORRUPTIONS = (
    lose_one,
    add_one,
    duplicate_one,
    alter_one,
    miscount_produced,
    fail_one,
    miscount_topic,
    refuse_a_stranger,
)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda corrupt: corrupt.__name__)
def test_each_corruption_is_exactly_its_sentence(corrupt: Callable[[World], str], seed: int) -> None:
    """Nothing else is blamed, and the run is void."""
    made = world_with_stored(seed)
    sentence = corrupt(made)
    _, verification = made.close()
    assert verification.problems == (sentence,)
    assert not verification.verified


def test_corruptions_do_not_hide_each_other() -> None:
    """Each has its sentence, in the order in which documents travel."""
    made = world(7)
    sentences = [corrupt(made) for corrupt in (miscount_produced, miscount_topic, add_one, duplicate_one, alter_one)]
    _, verification = made.close()
    assert list(verification.problems) == sentences


@pytest.mark.parametrize("seed", SEEDS)
def test_a_dead_letter_that_is_there_twice_counts_once(seed: int) -> None:
    """A task that was restarted refuses the same records again."""
    made = world(seed)
    expected = made.close()
    made.letters += made.letters[::2]
    assert made.close() == expected


def test_a_refused_document_that_is_stored_all_the_same_breaks_a_law(message: MakeMessage) -> None:
    """It cannot be both."""
    made = World(["a", "b"], [DeadLetter(b"a", Place("books", 0, 0), "too old")], ["a", "b"], 2, 2, 0, 2)
    documents, verification = made.close()
    assert (documents.indexed, documents.already_there, documents.dead_lettered) == (2, 0, 1)
    assert verification.problems == (message(2, 0, 1, "overwritten", "is not indexed", "dead-lettered"),)


def test_records_of_one_id_that_was_stored_are_already_there() -> None:
    """Three prices of one book: the last one is stored, one was refused."""
    made = World(["a"] * 3, [DeadLetter(b"a", Place("books", 0, 1), "too old")], ["a"], 3, 3, 0, 3)
    documents, verification = made.close()
    assert (documents.indexed, documents.already_there, documents.dead_lettered) == (1, 1, 1)
    assert verification.verified


def test_an_id_all_of_whose_records_were_refused_is_not_missing() -> None:
    """It is not to be in the index."""
    letters = [DeadLetter(b"a", Place("books", 0, offset), "too old") for offset in range(3)]
    documents, verification = World(["a"] * 3, letters, [], 3, 3, 0, 3).close()
    assert (documents.missing, documents.dead_lettered) == (0, 3)
    assert verification.verified


def distinct_world(seed: int) -> World:
    """A world in order whose records all have ids of their own, some of them elsewhere, as the ledger says."""
    draw = random.Random(seed)  # noqa: S311 - a model, no secret
    ids = [f"book-{number}" for number in range(draw.choice([7, 89, 211]))]
    letters = [DeadLetter(ids[0].encode(), Place("books", 0, 0), "too old")] * draw.randrange(2)
    redirected, dropped, skipped = (draw.randrange(2) for _ in range(3))
    stored = ids[1 + redirected + dropped + skipped :] + ([] if letters else ids[:1])
    unindexed = Unindexed(redirected, dropped, len(letters), skipped)
    return World(ids, letters, stored, len(ids), len(ids), 0, len(ids), unindexed=unindexed)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_elsewhere_by_the_ledger_is_not_missing(seed: int) -> None:
    """Each in its own account, and delivered is the sum of all."""
    made = distinct_world(seed)
    documents, verification = made.close()
    assert (documents.missing, verification.problems) == (0, ())
    accounted = documents.indexed + documents.dead_lettered + sum(records for _, records in documents.elsewhere)
    assert documents.delivered == accounted


@pytest.mark.parametrize("seed", SEEDS)
def test_one_lost_beside_them_is_missing(seed: int) -> None:
    """Which one it is, a count does not tell."""
    made = distinct_world(seed)
    lost = made.stored.pop()
    documents, verification = made.close()
    assert verification.problems == (Naming("1 document", "missing"),)
    assert re.findall(r"book-\d+", *verification.problems) == ([] if documents.elsewhere else [lost])


def test_updates_that_are_elsewhere_are_not_overwritten() -> None:
    """Two of three prices of a book were dropped by a pipeline; the book is there."""
    made = World(["a"] * 3, [], ["a"], 3, 3, 0, 3, unindexed=Unindexed(dropped_by_pipeline=2))
    documents, verification = made.close()
    assert (documents.indexed, documents.already_there, documents.dropped_by_pipeline) == (1, 0, 2)
    assert verification.verified


def test_a_lost_document_does_not_hide_behind_an_update_that_is_elsewhere() -> None:
    """A price of book a was dropped by a pipeline, book b was lost: the counts alone would agree."""
    made = World(["a", "a", "a", "b"], [], ["a"], 4, 4, 0, 4, unindexed=Unindexed(dropped_by_pipeline=1))
    documents, verification = made.close()
    assert documents.missing == 1
    assert not verification.verified


def test_skipped_records_that_are_dead_letters_count_once() -> None:
    """The worker's own letters are in the same topic as the sink's."""
    letters = [DeadLetter(name.encode(), Place("books", 0, place), "?") for place, name in enumerate("ab")]
    made = World(["a", "b", "c"], letters, ["c"], 3, 3, 0, 3, unindexed=Unindexed(dead_lettered=1, undelivered=1))
    documents, verification = made.close()
    assert (documents.dead_lettered, documents.skipped, verification.verified) == (2, 0, True)


def test_nothing_produced_and_nothing_stored_is_in_order() -> None:
    """An empty world has no problems."""
    _, verification = World([], [], []).close()
    assert verification.problems == ()


def test_several_of_a_kind_are_counted_and_three_are_named(message: MakeMessage) -> None:
    """Delivered or not, strange, doubled and altered."""
    names = [f"book-{number}" for number in range(7)]
    made = World(names, [], [*names, "a", "b", *names[:2]], 9, 7, 2, 7, mismatches=names[:5])
    _, verification = made.close()
    assert verification.problems == (
        message(2, "not delivered"),
        message(2, "not produced"),
        message(2, "more than once"),
        message(5, SAMPLED, "book-0", "book-1", "book-2", "differ from"),
    )


def test_a_direct_load_must_have_indexed_what_it_was_given(message: MakeMessage) -> None:
    """A document that is in no account makes the run void."""
    comparison = compare(hashes_of(["a", "b"]), hashes_of(["a", "b"]), hashes_of(()))
    found = Found(comparison, contents="ids only")
    documents, verification = account_for(DeliveredRecords(3, None, None, None), found, [])
    assert verification.problems == (message(3, 2, 0, "overwritten", "is not indexed"),)
    assert documents.dead_lettered is None


def test_three_missing_documents_are_named_and_all_are_counted(message: MakeMessage) -> None:
    """A sentence stays a sentence."""
    names = [f"book-{number}" for number in range(7)]
    _, verification = World(names, [], [], 7, 7, 0, 7).close()
    assert verification.problems == (message(7, "book-0", "book-1", "book-2", "missing"),)


# --- reasons --------------------------------------------------------------------------------------------------------


def letter(offset: int, reason: str) -> DeadLetter:
    """A refused record."""
    return DeadLetter(b"", Place("books", 0, offset), reason)


def test_reasons_are_listed_most_frequent_first_with_their_first_record() -> None:
    """The first of each leads to the document."""
    letters = [letter(offset, "too long" if offset % 3 else "too old") for offset in range(7)]
    found = [(reason.reason, reason.records, reason.first) for reason in dead_letter_reasons(letters)]
    assert found == [("too long", 4, "books-0@1"), ("too old", 3, "books-0@0")]


def test_records_of_all_listed_reasons_are_all_dead_letters() -> None:
    """As long as there are not more than twenty reasons."""
    draw = random.Random(7)  # noqa: S311 - a model, no secret
    letters = [letter(offset, f"reason {'x' * draw.randrange(1, 14)}") for offset in range(211)]
    assert sum(reason.records for reason in dead_letter_reasons(letters)) == 211


def test_at_most_twenty_reasons_are_listed() -> None:
    """A mapping that rejects everything must not fill the report."""
    letters = [letter(offset, f"reason {'x' * offset}") for offset in range(23)]
    assert len(dead_letter_reasons(letters)) == 20


# --- content --------------------------------------------------------------------------------------------------------


def test_documents_are_compared_by_content() -> None:
    """Order of keys and blanks do not matter; a number that is a text does."""
    expected = {"a": b'{"price": 7, "title": "\xec\xb1\x85"}', "b": b'{"price": 7}', "c": b"{}"}
    stored: dict[str, object] = {"a": {"title": "책", "price": 7}, "b": {"price": "7"}, "c": {}}
    assert altered(expected, stored) == ["b"]


@pytest.mark.parametrize(
    ("stored", "is_altered"),
    [
        ({"number": 3, "vector": [0.12450001, -0.5, 0]}, False),
        ({"number": 3, "vector": [0.1246, -0.5, 0]}, True),
        ({"number": 3, "vector": [0.1245, -0.5]}, True),
        ({"number": 3}, True),
        ({"number": 4, "vector": [0.12450001, -0.5, 0]}, True),
        ({"number": 3.000_000_1, "vector": [0.1245, -0.5, 0]}, True),
    ],
)
def test_a_vector_that_elasticsearch_rebuilds_may_be_rounded(stored: dict[str, object], *, is_altered: bool) -> None:
    """To 32 bits; another vector, and any other number, is an altered document."""
    expected = {"a": b'{"number": 3, "vector": [0.1245, -0.5, 0]}'}
    assert altered(expected, {"a": stored}, VECTOR) == ["a"] * is_altered


def test_no_other_list_of_numbers_may_be_rounded() -> None:
    """Prices are stored as they are sent."""
    expected, stored = {"a": b'{"prices": [1234567.0, 1.5]}'}, {"a": {"prices": [1234568.0, 1.5]}}
    assert altered(expected, stored, VECTOR) == ["a"]


@pytest.mark.parametrize("stored", [{"used": 1}, {"used": True, "price": 7.0}, {"used": True, "price": "7"}])
def test_a_value_of_another_kind_is_an_altered_document(stored: dict[str, object]) -> None:
    """`true` is not 1, and 7 is not 7.0: Elasticsearch keeps the bytes that it was sent."""
    assert altered({"a": b'{"used": true, "price": 7}'}, {"a": {"price": 7} | stored}) == ["a"]
    assert altered({"a": b'{"used": true, "price": 7}'}, {"a": {"price": 7, "used": True}}) == []


def test_a_document_that_is_not_stored_is_altered() -> None:
    """It cannot be what it should be."""
    assert altered({"a": b"{}"}, {}) == ["a"]


def test_an_id_has_one_hash_as_text_and_as_bytes() -> None:
    """Kafka's keys are bytes, Elasticsearch's ids are text."""
    assert hash_of("책-7") == hash_of("책-7".encode())
