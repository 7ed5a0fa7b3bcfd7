"""Datasets by name."""

from typing import Any

import pytest

from producers.dataset import DatasetError
from producers.registry import DATASETS, make_dataset


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "alladin",
            {},
            "alladin: unknown dataset, did you mean `aladin`? there are: aladin, events, products, vectors, file",
        ),
        ("zzz", {}, "zzz: unknown dataset; there are: aladin, events, products, vectors, file"),
        (
            "aladin",
            {"shop_mean": 2.0},
            "shop_mean: unknown option of dataset aladin, did you mean `shops_mean`? "
            "there are: model, books, shops_mean, shops_max, updates, key_order",
        ),
        ("aladin", {"model": "tree"}, "model: got 'tree', expected nested or flat"),
        ("aladin", {"books": 5.0}, "books: got 5.0, expected a whole number"),
        ("aladin", {"books": True}, "books: got True, expected a whole number"),
        ("aladin", {"shops_mean": "many"}, "shops_mean: got 'many', expected a number"),
        ("aladin", {"documents": 0}, "documents: got 0, expected at least 1"),
        ("file", {"key": "x"}, "path: dataset file needs it: the file"),
    ],
)
def test_what_is_not_known_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    """The refusal names the nearest and what there is."""
    with pytest.raises(DatasetError) as refusal:
        make_dataset(name, **options)
    assert str(refusal.value) == message


@pytest.mark.parametrize("name", ["aladin", "events", "products", "vectors"])
def test_generated_datasets_need_no_option(name: str) -> None:
    """The defaults make 100,000 documents, under the name they were asked for."""
    dataset = make_dataset(name)
    assert (dataset.name, dataset.documents, dataset.seed) == (name, 100_000, 1)


def test_an_option_that_is_none_is_not_given() -> None:
    """A profile may leave an option open."""
    assert make_dataset("aladin", books=None, model=None) == make_dataset("aladin")


def test_a_whole_number_serves_where_a_number_is_asked_for() -> None:
    """YAML writes 2 for 2.0."""
    assert make_dataset("aladin", shops_mean=2) == make_dataset("aladin", shops_mean=2.0)


def test_every_default_is_of_its_type() -> None:
    """What the registry says of an option holds for its default."""
    for description in DATASETS.values():
        for option in description.options:
            assert option.default is None or type(option.default) is option.type
            assert not option.choices or option.default in option.choices
