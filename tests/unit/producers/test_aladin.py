"""Aladin books: real structure, two models with the same information, a stream of re-pricings."""

import hashlib
import itertools
import json
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest

from producers.dataset import Dataset, DatasetError
from producers.datasets.aladin import words
from producers.datasets.aladin.datasets import BookStream
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage


def aladin(**options: Any) -> BookStream:
    """An Aladin dataset."""
    dataset = make_dataset("aladin", **options)
    assert isinstance(dataset, BookStream)
    return dataset


def all_records(dataset: Dataset) -> list[tuple[bytes, bytes]]:
    """Every key and value, in order."""
    return [record for batch in dataset.batches(0, dataset.documents) for record in batch]


def books_of(dataset: Dataset) -> list[Any]:
    """Every document, parsed."""
    return [json.loads(value) for _, value in all_records(dataset)]


def ean_check_digit(isbn13: str) -> int:
    """The check digit that the first twelve digits ask for."""
    return -sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(isbn13[:12])) % 10


def isbn10_check_digit(isbn10: str) -> str:
    """The check digit that the first nine digits ask for."""
    rest = -sum(int(digit) * weight for digit, weight in zip(isbn10[:9], range(10, 1, -1), strict=True)) % 11
    return "X" if rest == 10 else str(rest)


def rebuilt(flat: Dataset) -> list[Any]:
    """The nested books that flat documents describe, each with the latest state of its offers."""
    books: dict[str, Any] = {}
    for document in books_of(flat):
        kind, book_id = document.pop("doc_type"), document.pop("book_id")
        if kind == "book":
            document["subInfo"]["usedList"] = []
            books[book_id] = document
        else:
            books[book_id]["subInfo"]["usedList"].append(document)
    return list(books.values())


@pytest.mark.parametrize("key_order", ["shuffled", "ascending"])
def test_isbn13_is_valid_and_unique(key_order: str) -> None:
    """Every book has its own ISBN-13, from 978 or 979, with the right check digit."""
    isbns = [book["isbn13"] for book in books_of(aladin(books=2003, key_order=key_order))]
    assert all(int(isbn[12]) == ean_check_digit(isbn) and isbn[:3] in {"978", "979"} for isbn in isbns)
    assert len(set(isbns)) == 2003


def test_isbn_of_the_new_book_belongs_to_its_isbn13() -> None:
    """A 978 number has an ISBN-10 with a valid check digit; a 979 number has the shop's own number."""
    for book in books_of(aladin(books=503)):
        isbn, isbn13 = book["subInfo"]["newBookList"]["newBook"]["isbn"], book["isbn13"]
        if isbn13.startswith("978"):
            assert isbn == isbn13[3:12] + isbn10_check_digit(isbn13[3:12])
        else:
            assert isbn == "K" + isbn13[3:12]


def test_key_is_the_isbn13() -> None:
    """The key of a nested book is in the book."""
    assert all(json.loads(value)["isbn13"].encode() == key for key, value in all_records(aladin(books=211)))


def test_ascending_keys_ascend_and_shuffled_keys_do_not() -> None:
    """The order of keys is as asked for."""
    ascending = [key for key, _ in all_records(aladin(books=1009, key_order="ascending"))]
    shuffled = [key for key, _ in all_records(aladin(books=1009))]
    assert ascending == sorted(ascending)
    assert 400 < sum(first < second for first, second in itertools.pairwise(shuffled)) < 600


def test_documents_are_the_same_everywhere() -> None:
    """These bytes must never change for a given seed: a stored result is verified by them."""
    digests = {
        model: hashlib.sha256(
            b"\n".join(b"\n".join(r) for r in all_records(aladin(books=211, model=model, updates=0.2)))
        ).hexdigest()[:16]
        for model in ("nested", "flat")
    }
    assert digests == {"nested": "f2b537e7d09641fd", "flat": "b4663ee5c70e6e07"}


def test_another_seed_gives_other_documents() -> None:
    """Seeds share no key and no document."""
    first, second = all_records(aladin(books=211, seed=1)), all_records(aladin(books=211, seed=2))
    assert not set(first) & set(second)


@pytest.mark.parametrize("options", [{}, {"model": "flat"}, {"updates": 0.3}, {"model": "flat", "updates": 0.3}])
def test_one_document_at_a_time_agrees_with_batches(options: dict[str, Any]) -> None:
    """Random access, batches that start anywhere, and a pickled copy give the same bytes."""
    dataset = aladin(documents=1511, **options)
    whole = all_records(dataset)
    copy = pickle.loads(pickle.dumps(dataset))  # noqa: S301 - our own
    assert len(whole) == dataset.documents
    assert [record for batch in dataset.batches(97, 1301) for record in batch] == whole[97:1301]
    assert [key for numbers in dataset.blocks(97, 1301) for key in dataset.keys(numbers)] == [
        key for key, _ in whole[97:1301]
    ]
    for number in (0, 1, 2, 63, 64, 65, 1009, dataset.documents - 1):
        assert (copy.key(number), copy.document(number)) == whole[number]


def test_documents_outside_the_dataset_are_refused(message: MakeMessage) -> None:
    """There is no document before the first or after the last."""
    with pytest.raises(IndexError) as error:
        aladin(books=211).document(211)
    assert str(error.value) == message("document 211", 0, 210)


def test_documents_are_compact_json_in_raw_utf8() -> None:
    """A document is what a JSON library would write, with Korean as UTF-8."""
    for value in (value for model in ("nested", "flat") for _, value in all_records(aladin(books=53, model=model))):
        assert json.dumps(json.loads(value), ensure_ascii=False, separators=(",", ":")).encode() == value


def test_titles_are_korean_marked_as_used_and_many() -> None:
    """Titles begin with the mark of used books, and thousands differ."""
    titles = [book["title"] for book in books_of(aladin(books=5003))]
    assert all(title.startswith("[중고] ") for title in titles)
    assert len(set(titles)) > 4500


def test_word_lists_hold_words() -> None:
    """No word is empty, doubled or left with the line break of its source."""
    lists = [
        words.DESCRIPTIONS,
        words.SUBJECTS,
        words.ENDINGS,
        words.SURNAMES,
        words.GIVEN_NAMES,
        words.PUBLISHERS,
        words.SHOPS,
    ]
    for listed in (*lists, tuple(name for _, name in words.CATEGORIES)):
        assert len(set(listed)) == len(listed)
        assert not [word for word in listed if not word.strip() or "  " in word or "\n" in word or '"' in word]
    assert not [word for listed in (*lists[:2], *lists[3:]) for word in listed if word != word.strip()]


def test_a_shop_offers_a_book_once() -> None:
    """No shop occurs twice in a book, and the popular ones occur more often than the rare."""
    books = books_of(aladin(books=2003, shops_mean=6.0))
    shops = [[offer["shop_id"] for offer in book["subInfo"]["usedList"]] for book in books]
    assert all(len(set(shops_of_book)) == len(shops_of_book) for shops_of_book in shops)
    frequency = Counter(shop for shops_of_book in shops for shop in shops_of_book)
    assert frequency["aladin"] > 3 * frequency["Jeju"]
    assert set(frequency) == set(words.SHOPS)


@pytest.mark.parametrize(("mean", "most"), [(1.0, 50), (1.5, 50), (3.0, 50), (20.0, 50), (3.0, 5)])
def test_shops_per_book_have_the_asked_mean(mean: float, most: int) -> None:
    """The mean is met within sampling error, and every book has an offer."""
    dataset = aladin(books=100_003, shops_mean=mean, shops_max=most)
    counts = dataset.catalogue.shops_per_book(np.arange(100_003, dtype=np.uint64))
    assert counts.min() == 1
    assert counts.max() <= most
    assert abs(float(counts.mean()) - mean) < 0.05 + 0.02 * mean


def test_shops_per_book_have_a_heavy_tail() -> None:
    """By default most books are in one shop, and some are in dozens."""
    counts = aladin(books=1).catalogue.shops_per_book(np.arange(100_003, dtype=np.uint64))
    assert float((counts == 1).mean()) > 0.7
    assert counts.max() == 50


def test_a_nested_document_has_about_nine_tenths_of_a_kilobyte() -> None:
    """The default mean size stays what the published figures of this lab rest on."""
    sizes = [len(value) for _, value in all_records(aladin(books=10_007))]
    assert 800 < sum(sizes) / len(sizes) < 900


@pytest.mark.parametrize("options", [{}, {"shops_mean": 7.0, "shops_max": 20}, {"key_order": "ascending"}])
def test_flat_and_nested_carry_the_same_information(options: dict[str, Any]) -> None:
    """Every nested book can be put together again from flat documents, equal as JSON."""
    nested = aladin(books=1009, seed=3, **options)
    flat = aladin(books=1009, seed=3, model="flat", **options)
    assert rebuilt(flat) == books_of(nested)


def test_flat_keys_are_unique_and_name_book_and_shop() -> None:
    """A book has its ISBN-13 for a key, an offer that and its shop."""
    for key, value in all_records(aladin(books=503, model="flat")):
        document = json.loads(value)
        suffix = f"-{document['shop_id']}" if document["doc_type"] == "offer" else ""
        assert key.decode() == document["book_id"] + suffix


def test_flat_documents_are_books_plus_offers() -> None:
    """The size in documents is that of the books and all their offers."""
    flat, nested = aladin(books=1009, model="flat"), aladin(books=1009)
    offers = sum(len(book["subInfo"]["usedList"]) for book in books_of(nested))
    assert flat.documents == 1009 + offers


@pytest.mark.parametrize("documents", [1, 2, 97, 1009, 4099])
@pytest.mark.parametrize("updates", [0.0, 0.3])
def test_flat_completes_its_last_book(documents: int, updates: float) -> None:
    """As many documents as asked for, and those that complete the last book."""
    flat = aladin(documents=documents, model="flat", shops_mean=3.0, updates=updates)
    last_new = flat.mixture.new_before(flat.documents)
    shortest = aladin(
        books=flat.entities(0, flat.documents) - (flat.documents - last_new), model="flat", shops_mean=3.0
    )
    assert documents <= flat.documents <= documents + 80
    assert last_new == shortest.documents


def test_entities_of_flat_ranges_add_up_to_books() -> None:
    """Every book is counted once, in the range in which its own document lies."""
    flat = aladin(books=1009, model="flat")
    bounds = [0, 1, 2, 97, 98, 640, 1511, flat.documents]
    counted = [flat.entities(start, stop) for start, stop in itertools.pairwise(bounds)]
    kinds = [document["doc_type"] for document in books_of(flat)]
    assert counted == [kinds[start:stop].count("book") for start, stop in itertools.pairwise(bounds)]
    assert sum(counted) == 1009


@pytest.mark.parametrize("model", ["nested", "flat"])
@pytest.mark.parametrize("updates", [0.001, 0.3, 0.9, 0.999999])
def test_updates_have_the_asked_share_and_repeat_keys(model: str, updates: float) -> None:
    """Documents = keys + re-pricings, and the share of re-pricings is as asked for."""
    stream = aladin(documents=5003, model=model, updates=updates)
    keys = [key for key, _ in all_records(stream)]
    assert len(set(keys)) == stream.mixture.new_before(stream.documents)
    assert abs((len(keys) - len(set(keys))) / stream.documents - updates) < 0.02


@pytest.mark.parametrize("model", ["nested", "flat"])
def test_latest_is_the_last_document_of_every_key(model: str) -> None:
    """What must be in the index at the end is the last document of each key, and nothing else."""
    stream = aladin(documents=3001, model=model, updates=0.4)
    last = {key: number for number, (key, _) in enumerate(all_records(stream))}
    assert stream.latest().tolist() == sorted(last.values())


@pytest.mark.parametrize("model", ["nested", "flat"])
def test_groups_are_keys(model: str) -> None:
    """Two documents share a group exactly when they share a key."""
    stream = aladin(documents=3001, model=model, updates=0.4)
    groups = stream.groups(np.arange(stream.documents, dtype=np.int64))
    assert groups is not None
    keys = [key for key, _ in all_records(stream)]
    assert len(set(zip(groups.tolist(), keys, strict=True))) == len(set(groups.tolist())) == len(set(keys))


def test_a_nested_update_sends_the_book_again_with_one_offer_re_priced() -> None:
    """The whole book comes again; one offer has another price, all else is as first published."""
    seen: dict[str, Any] = {}
    changes = 0
    for book in books_of(aladin(documents=1009, updates=0.4, shops_mean=4.0)):
        first = seen.setdefault(book["isbn13"], book)
        if first is not book:
            changed = [
                before["minPrice"] != after["minPrice"]
                for before, after in zip(first["subInfo"]["usedList"], book["subInfo"]["usedList"], strict=True)
            ]
            assert changed.count(True) == 1
            changes += 1
    assert changes == 403


def test_a_flat_update_sends_one_offer_again_with_another_price() -> None:
    """Only an offer that came before comes again."""
    seen: dict[bytes, Any] = {}
    for key, value in all_records(aladin(documents=1009, model="flat", updates=0.4)):
        document = json.loads(value)
        if key in seen:
            assert document["doc_type"] == "offer"
            assert document["minPrice"] != seen[key]["minPrice"]
            assert {**document, "minPrice": 0, "itemCount": 0} == {**seen[key], "minPrice": 0, "itemCount": 0}
        seen.setdefault(key, document)


def test_an_unchanged_stream_has_no_groups() -> None:
    """Where no key occurs twice, any process may send any document."""
    assert aladin(books=5).groups(np.arange(5, dtype=np.int64)) is None


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"updates": 1.0}, ("updates", 1.0)),
        ({"shops_max": 63}, ("shops_max", 63, 1, 62)),
        (
            {"shops_mean": 9.0, "shops_max": 9},
            ("shops_mean", 9.0, 1, 5.0, "shops_max"),
        ),
        ({"books": 0}, ("books", 0, 1, 900000000)),
        ({"books": 5, "documents": 5}, ("books", 5)),
        ({"documents": 900_000_001}, ("documents", 900000001, 900000000)),
    ],
)
def test_impossible_options_are_refused(
    options: dict[str, Any], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """An option out of range is one sentence."""
    with pytest.raises(DatasetError) as refusal:
        aladin(**options)
    assert str(refusal.value) == message(*facts)
