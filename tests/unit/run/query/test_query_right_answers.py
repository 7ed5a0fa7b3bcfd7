"""Right answers, against plain loops over the documents."""

from collections import Counter
from typing import Any

import orjson
import pytest

from lab.profiles.loader import REPOSITORY
from lab.profiles.questions import Question, book_fields, load_question, offer_fields, question_names
from lab.run.query.right_answers import question_values, right_answer
from producers.datasets.aladin.shelf import BOOK_FIELDS, OFFER_FIELDS, Shelf, shelf_of
from producers.registry import make_dataset

BOOKS = 2003
REPEATS = 41
DATASET = make_dataset("aladin", books=BOOKS, shops_mean=2.3)
SHELF = shelf_of(DATASET, BOOK_FIELDS, OFFER_FIELDS)
ABOUT_BOOKS = [name for name in question_names(REPOSITORY) if load_question(name, REPOSITORY).is_about_books]
DOCUMENTS: list[dict[str, Any]] = [orjson.loads(DATASET.document(number)) for number in range(DATASET.documents)]


def question(name: str) -> Question:
    """A question of the repository."""
    return load_question(name, REPOSITORY)


def test_a_shops_books_below_a_price_are_those_with_such_an_offer() -> None:
    """Shop and price hold of one and the same offer; the best-selling books come first, and of equals the lower id."""
    for repeat in question_values(question("shop-below-price"), SHELF, REPEATS, seed=1):
        shop, price = repeat.values["shop"], repeat.values["price"]
        found = [
            (-book["salesPoint"], book["isbn13"])
            for book in DOCUMENTS
            if any(offer["shop_id"] == shop and offer["minPrice"] < price for offer in book["subInfo"]["usedList"])
        ]
        assert repeat.right == [isbn for _, isbn in sorted(found)[:20]]


def test_a_books_cheapest_offer_is_the_lowest_price_at_the_first_shop() -> None:
    """Every book of the category has one, with price and shop."""
    for repeat in question_values(question("cheapest-in-category"), SHELF, REPEATS, seed=1):
        category, since = repeat.values["category"], repeat.values["since"]
        assert repeat.right == {
            book["isbn13"]: list(min((offer["minPrice"], offer["shop_id"]) for offer in book["subInfo"]["usedList"]))
            for book in DOCUMENTS
            if book["categoryId"] == category and book["pubDate"] >= since
        }


def test_books_in_enough_shops_are_counted_once_each() -> None:
    """A book counts when it has at least that many offers."""
    for repeat in question_values(question("publisher-in-shops"), SHELF, REPEATS, seed=1):
        publisher, shops = repeat.values["publisher"], repeat.values["shops"]
        assert repeat.right == sum(
            book["publisher"] == publisher and len(book["subInfo"]["usedList"]) >= shops for book in DOCUMENTS
        )


def test_conditions_on_offers_and_their_number_add_up() -> None:
    """Two cheap offers are two offers that are both cheap, and not any two of a book with a cheap one."""
    stated = question("publisher-in-shops").model_dump(by_alias=True)
    stated["truth"] |= {"offers": {"minPrice": {"below": 5000}}, "at_least": 2, "books": {}}
    assert right_answer(Question.model_validate(stated), SHELF, {}) == sum(
        sum(offer["minPrice"] < 5000 for offer in book["subInfo"]["usedList"]) >= 2 for book in DOCUMENTS
    )


def test_the_first_offer_is_chosen_among_those_that_qualify() -> None:
    """The cheapest offer from 9,000 won on is not the cheapest offer."""
    stated = question("cheapest-in-category").model_dump()
    stated["truth"] |= {"offers": {"minPrice": {"from": 9000}}, "books": {}}
    right = right_answer(Question.model_validate(stated), SHELF, {})
    dear = {
        book["isbn13"]: [
            (offer["minPrice"], offer["shop_id"]) for offer in book["subInfo"]["usedList"] if offer["minPrice"] >= 9000
        ]
        for book in DOCUMENTS
    }
    assert right == {isbn: list(min(offers)) for isbn, offers in dear.items() if offers}


@pytest.mark.parametrize("name", ABOUT_BOOKS)
def test_both_models_are_asked_the_same(name: str) -> None:
    """The values of a repeat follow from the seed and the books, not from how the books are stored."""
    made = question(name)
    shelves = [
        shelf_of(make_dataset("aladin", books=499, model=model), book_fields(made), offer_fields(made))
        for model in ("nested", "flat")
    ]
    nested, flat = (question_values(made, shelf, 17, seed=3) for shelf in shelves)
    assert nested == flat
    assert question_values(made, shelves[0], 17, seed=4) != nested


@pytest.mark.parametrize("name", ABOUT_BOOKS)
def test_no_two_repeats_ask_the_same(name: str) -> None:
    """What was asked before could be answered from a cache."""
    repeats = question_values(question(name), SHELF, 220, seed=1)
    assert set(Counter(tuple(repeat.values.values()) for repeat in repeats).values()) == {1}


@pytest.fixture(scope="module")
def large_shelf() -> Shelf:
    """Of ten times as many books."""
    return shelf_of(make_dataset("aladin", books=20_011), BOOK_FIELDS, OFFER_FIELDS)


@pytest.mark.parametrize("name", ABOUT_BOOKS)
def test_most_right_answers_tell_of_some_book(name: str, large_shelf: Shelf) -> None:
    """An index without a document would answer nothing but empty answers rightly."""
    assert sum(bool(repeat.right) for repeat in question_values(question(name), large_shelf, 101, seed=1)) > 50
