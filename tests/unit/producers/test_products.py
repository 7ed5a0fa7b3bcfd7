"""Products: kinds that agree with themselves, a year of prices, keys that repeat none."""

import json
from typing import Any

import numpy as np
import pytest

from producers.dataset import Dataset
from producers.datasets.products import KINDS, MAKERS
from producers.registry import make_dataset

BY_CATEGORY = {kind.path[2]: kind for kind in KINDS}


def products_of(dataset: Dataset) -> list[Any]:
    """Every product, parsed."""
    return [json.loads(value) for batch in dataset.batches(0, dataset.documents) for _, value in batch]


@pytest.fixture(scope="module")
def products() -> list[Any]:
    """Enough products to see every value of every table."""
    return products_of(make_dataset("products", documents=20_011, seed=7))


def test_a_product_is_of_one_kind_in_all_its_fields(products: list[Any]) -> None:
    """Maker and line belong together, and a drill has no screen size."""
    for product in products:
        kind = BY_CATEGORY[product["categories"][2]]
        assert (product["maker"], product["brand"]) in set(zip(kind.makers, kind.lines, strict=True))
        assert [each["name"] for each in product["attributes"]] == [name for name, _ in kind.attributes]
        assert all(each["value"] in dict(kind.attributes)[each["name"]] for each in product["attributes"])
        values = [each["value"] for each in product["attributes"]]
        assert product["name"] == " ".join(
            [product["maker"], product["brand"], product["modelNumber"], values[0], values[1]]
        )
        assert product["categoryPath"] == " > ".join(product["categories"]) == " > ".join(kind.path)


def test_all_kinds_makers_and_values_come(products: list[Any]) -> None:
    """Nothing in the tables is out of reach."""
    assert {product["categories"][2] for product in products} == set(BY_CATEGORY)
    assert {product["maker"] for product in products} == set(MAKERS)
    seen = {(each["name"], each["value"]) for product in products for each in product["attributes"]}
    assert seen == {(name, value) for kind in KINDS for name, values in kind.attributes for value in values}


def test_the_lowest_price_is_that_of_the_year(products: list[Any]) -> None:
    """Twelve months in order, prices near those of the kind."""
    for product in products:
        prices = [month["price"] for month in product["priceHistory"]]
        assert [month["month"] for month in product["priceHistory"]] == [f"2019-{n:02d}" for n in range(1, 13)]
        assert product["lowestPrice"] == min(prices) > 0
        assert 0.7 < min(prices) / BY_CATEGORY[product["categories"][2]].price < max(prices) / min(prices) * 1.3


def test_products_are_about_a_kilobyte() -> None:
    """In UTF-8, in which a Korean letter is three bytes."""
    sizes = [len(value) for batch in make_dataset("products", documents=3001).batches(0, 3001) for _, value in batch]
    assert 1000 < np.mean(sizes) < 1400
    assert max(sizes) < 1600


@pytest.mark.parametrize("key_order", ["shuffled", "ascending"])
def test_every_key_comes_once_and_is_the_products_own(key_order: str) -> None:
    """The key in the document is that of the record."""
    dataset = make_dataset("products", documents=5003, key_order=key_order)
    keys = [int(key) for batch in dataset.batches(0, 5003) for key, _ in batch]

    assert [product["productId"] for product in products_of(dataset)] == keys
    assert len(set(keys)) == 5003
    assert (keys == sorted(keys)) == (key_order == "ascending")


def test_a_product_is_the_same_whatever_is_made_beside_it() -> None:
    """A pure function of its number."""
    dataset = make_dataset("products", documents=2003, seed=3)
    whole = [value for batch in dataset.batches(0, 2003) for _, value in batch]

    assert [dataset.document(number) for number in (0, 1023, 1024, 2002)] == [
        whole[number] for number in (0, 1023, 1024, 2002)
    ]
    assert dataset.document(5) != make_dataset("products", documents=2003, seed=4).document(5)
