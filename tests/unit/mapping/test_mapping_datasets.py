"""Files made of this repository's datasets, their mappings forgotten: what is inferred, and what was written."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.mapping.proposal import Proposal, propose
from lab.mapping.sample import read_sample
from lab.mapping.types import Wishes
from lab.profiles.mapping import load_mapping
from producers.registry import make_dataset

DOCUMENTS = 2003
NOT_INDEXED = {"type": "keyword", "index": False, "doc_values": False}
KEYWORD = {"type": "keyword"}
LONG = {"type": "long"}
INTEGER = {"type": "integer"}
DOUBLE = {"type": "double"}

TOLERANT = frozenset({"ignore_malformed", "coerce", "ignore_above"})
"""Parameters by which an inferred field rejects no later document; mappings by hand know their documents."""

Differences = dict[str, tuple[Any, Any]]
"""Path → declaration by hand, and inferred; `None` where one of them has none."""

DIFFERENCES: dict[str, Differences] = {
    "aladin.nested.static": {
        # The number of a book in the shop is an identifier: nobody adds or ranges it. So is that of a category.
        "itemId": (LONG, KEYWORD),
        "subInfo.newBookList.newBook.itemId": (LONG, KEYWORD),
        "categoryId": (INTEGER, KEYWORD),
        # A narrower range saves nothing, and rejects what is beyond it.
        "customerReviewRank": (INTEGER, LONG),
        "subInfo.usedList.itemCount": (INTEGER, LONG),
        "salesPoint": (INTEGER, LONG),
        # That won have no decimals is what somebody knows: a later price of 9.99 would be indexed as 9.
        "priceSales": (INTEGER, DOUBLE),
        "priceStandard": (INTEGER, DOUBLE),
        "subInfo.newBookList.newBook.priceSales": (INTEGER, DOUBLE),
        "subInfo.usedList.minPrice": (INTEGER, DOUBLE),
        # The same dates; a time would be taken, too.
        "pubDate": (
            {"type": "date", "format": "strict_date"},
            {"type": "date", "format": "strict_date_optional_time"},
        ),
        # That nobody searches links is what somebody knows, and no document says.
        "cover": (NOT_INDEXED, KEYWORD),
        "link": (NOT_INDEXED, KEYWORD),
        "subInfo.newBookList.newBook.link": (NOT_INDEXED, KEYWORD),
        "subInfo.usedList.link": (NOT_INDEXED, KEYWORD),
    },
    "events.static": {
        # Codes are identifiers.
        "SourceIpAreaCode": (LONG, KEYWORD),
        "SourceIpMetroCode": (LONG, KEYWORD),
        # Only events with a payload have one.
        "Payload": (NOT_INDEXED, None),
    },
    "products.static": {
        "productId": (LONG, KEYWORD),
        # Korean words; whether names are sorted, too, as a keyword, no document says.
        "name": (
            {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
            {"type": "text", "analyzer": "korean_text"},
        ),
        "description": ({"type": "text"}, {"type": "text", "analyzer": "korean_text"}),
        # A few hundred combinations of attributes that repeat look like categories, although their words are searched.
        "keywords": ({"type": "text"}, KEYWORD),
        # That no question needs attributes and months apart is what somebody knows: --object says so.
        "attributes": ({}, {"type": "nested"}),
        "priceHistory": ({}, {"type": "nested"}),
        # The same.
        "lowestPrice": (INTEGER, DOUBLE),
        "priceHistory.price": (INTEGER, DOUBLE),
        "reviews": ({"type": "short"}, LONG),
        "shops": ({"type": "short"}, LONG),
        # A rating of more digits would be rounded.
        "rating": ({"type": "half_float"}, DOUBLE),
    },
}


def inferred(folder: Path, name: str, **options: Any) -> Proposal:
    """The proposal for a file of a dataset's documents."""
    dataset = make_dataset(name, documents=DOCUMENTS, seed=7, **options)
    path = folder / f"{name}.ndjson"
    path.write_bytes(b"".join(value + b"\n" for batch in dataset.batches(0, DOCUMENTS) for _, value in batch))
    sample = read_sample(str(path), 20_000)
    return propose(sample, Wishes(key=sample.key))


def declarations(properties: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Path → declaration of every field, without the fields of an object and without what it tolerates."""
    found: dict[str, Any] = {}
    for name, of in properties.items():
        found[f"{prefix}{name}"] = {key: value for key, value in of.items() if key not in {"properties", *TOLERANT}}
        found |= declarations(of.get("properties", {}), f"{prefix}{name}.")
    return found


@pytest.mark.parametrize(
    ("dataset", "options", "mapping"),
    [
        ("aladin", {"model": "nested"}, "aladin.nested.static"),
        ("events", {}, "events.static"),
        ("products", {}, "products.static"),
    ],
)
def test_what_is_inferred_differs_from_the_mapping_by_hand_for_reasons(
    tmp_path: Path, dataset: str, options: dict[str, Any], mapping: str
) -> None:
    """Each difference is listed above, with the reason."""
    proposal = inferred(tmp_path, dataset, **options)

    by_hand = declarations(dict(load_mapping(mapping)["mappings"]["properties"]))
    ours = declarations(proposal.content["mappings"]["properties"])
    differences = {
        path: (by_hand.get(path), ours.get(path))
        for path in by_hand.keys() | ours.keys()
        if by_hand.get(path) != ours.get(path)
    }
    assert differences == DIFFERENCES[mapping]
    assert proposal.content["mappings"]["dynamic"] is False


@pytest.mark.parametrize(
    ("dataset", "options", "unsearched"),
    [
        ("aladin", {"model": "nested"}, {"cover", "link", "subInfo.newBookList.newBook.link", "subInfo.usedList.link"}),
        ("events", {}, {"HttpReferrer", *(f"CustomField{number}" for number in range(1, 6))}),
        ("products", {}, set()),
    ],
)
def test_what_may_never_be_searched_is_asked_about(
    tmp_path: Path, dataset: str, options: dict[str, Any], unsearched: set[str]
) -> None:
    """Links, and what is always empty."""
    proposal = inferred(tmp_path, dataset, **options)

    assert {of.name for of in proposal.fields if of.choice.unsearched} == unsearched


def test_the_file_is_json_that_the_loader_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With analyzers, reasons and all."""
    (tmp_path / "mappings").mkdir()
    (tmp_path / "mappings" / "products-inferred.json").write_text(inferred(tmp_path, "products").text)
    monkeypatch.chdir(tmp_path)

    loaded = load_mapping("products-inferred")

    assert loaded["mappings"]["properties"]["registered"] == {
        "type": "date",
        "format": "yyyy-MM",
        "ignore_malformed": True,
    }
    assert json.dumps(loaded["text_analyzers"]) == '{"korean_text": ["nori", "cjk", "standard"]}'
