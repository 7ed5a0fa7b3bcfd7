"""The tables of books and offers that questions are answered from."""

import orjson

from producers.dataset import Dataset
from producers.datasets.aladin.shelf import BOOK_FIELDS, OFFER_FIELDS, shelf_of
from producers.registry import make_dataset

BOOKS = 1013


def stored(dataset: Dataset) -> dict[str, dict[str, object]]:
    """What an index holds in the end, by key."""
    records = (record for batch in dataset.batches(0, dataset.documents) for record in batch)
    return {key.decode(): orjson.loads(document) for key, document in records}


def test_both_models_of_the_same_books_give_the_same_tables() -> None:
    """An answer can be wrong for one model only when that model's index gives another one."""
    nested, flat = (
        shelf_of(make_dataset("aladin", books=BOOKS, model=model), BOOK_FIELDS, OFFER_FIELDS)
        for model in ("nested", "flat")
    )
    assert nested.ids.tolist() == flat.ids.tolist()
    assert nested.owners.tolist() == flat.owners.tolist()
    assert {name: column.tolist() for name, column in nested.books.items()} == {
        name: column.tolist() for name, column in flat.books.items()
    }
    assert {name: column.tolist() for name, column in nested.offers.items()} == {
        name: column.tolist() for name, column in flat.offers.items()
    }


def test_the_tables_hold_every_field_of_every_document() -> None:
    """Each book and each offer is found again with its own values, in its own row."""
    dataset = make_dataset("aladin", books=BOOKS)
    shelf = shelf_of(dataset, BOOK_FIELDS, OFFER_FIELDS)
    documents = stored(dataset)
    assert shelf.ids.tolist() == sorted(documents)
    offers: dict[str, list[dict[str, object]]] = {isbn: [] for isbn in documents}
    for row, owner in enumerate(shelf.owners):
        offers[shelf.ids[owner]].append({name: shelf.offers[name][row].item() for name in OFFER_FIELDS})
    for row, isbn in enumerate(shelf.ids):
        document = documents[isbn]
        assert {name: shelf.books[name][row].item() for name in BOOK_FIELDS} == {
            name: document[name] for name in BOOK_FIELDS
        }
        listed = [{name: offer[name] for name in OFFER_FIELDS} for offer in document["subInfo"]["usedList"]]  # type: ignore[index]
        assert offers[isbn] == sorted(listed, key=lambda offer: offer["shop_id"])


def test_a_repriced_offer_has_its_last_price() -> None:
    """A stream of updates is answered from what is stored at its end."""
    dataset = make_dataset("aladin", books=211, model="flat", updates=0.4)
    shelf = shelf_of(dataset, (), ("minPrice",))
    offers = {key: document for key, document in stored(dataset).items() if document["doc_type"] == "offer"}
    assert shelf.offers["minPrice"].tolist() == [
        document["minPrice"]
        for document in sorted(offers.values(), key=lambda offer: (offer["book_id"], offer["shop_id"]))
    ]
