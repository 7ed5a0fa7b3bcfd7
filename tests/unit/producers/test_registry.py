"""Datasets by name."""

from typing import Any

import pytest

from producers.dataset import DatasetError
from producers.registry import DATASETS, make_dataset
from tests.unit.messages import MakeMessage


@pytest.mark.parametrize(
    ("name", "options", "facts"),
    [
        (
            "alladin",
            {},
            ("alladin", "aladin"),
        ),
        ("zzz", {}, ("zzz",)),
        (
            "aladin",
            {"shop_mean": 2.0},
            ("shop_mean", "shops_mean", "shops_max", "key_order"),
        ),
        ("aladin", {"model": "tree"}, ("model", "'tree'")),
        ("aladin", {"books": 5.0}, ("books", 5.0)),
        ("aladin", {"books": True}, ("books", "True")),
        ("aladin", {"shops_mean": "many"}, ("shops_mean", "'many'")),
        ("aladin", {"documents": 0}, ("documents", 0, 1)),
        ("file", {"key": "x"}, ("path",)),
    ],
)
def test_what_is_not_known_is_refused(
    name: str, options: dict[str, Any], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """The refusal names the nearest and what there is."""
    with pytest.raises(DatasetError) as refusal:
        make_dataset(name, **options)
    assert str(refusal.value) == message(*facts)


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
