"""The datasets by name, with the options that each one takes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from producers.dataset import Dataset, DatasetError
from producers.datasets import events, file, products, vectors
from producers.datasets.aladin import datasets as aladin
from producers.extensions import Registry


@dataclass(frozen=True)
class Option:
    """One option of a dataset.

    Attributes:
        type: What a value must be; an int serves where a float is asked for.
        default: What it is when not given; `None` where there is none.
        choices: All values there are; empty where there is no list.
        required: Whether it must be given.
    """

    name: str
    type: type[str] | type[int] | type[float]
    default: str | int | float | None
    meaning: str
    choices: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True)
class Description:
    """What a dataset is and takes.

    Attributes:
        entity: What `Dataset.entities` counts, in the plural.
        key_order: The order of keys unless asked otherwise.
        make: Called with `documents` (`None`: as many as there are, or 100,000), `seed` and the options given.
        mappings: Model (empty for a dataset without models) → mapping of a profile that names none; else `dynamic`.
    """

    name: str
    summary: str
    entity: str
    key_order: str
    options: tuple[Option, ...]
    make: Callable[..., Dataset]
    mappings: Mapping[str, str] = field(default_factory=dict)


_KEY_ORDER: Final = Option(
    "key_order",
    str,
    "shuffled",
    "order of the keys: random, as from a crawler, or growing",
    choices=("shuffled", "ascending"),
)

_ALADIN: Final = Description(
    name="aladin",
    summary="used books as listed by Aladin, a Korean online bookshop, with the shops that offer each",
    entity="books",
    key_order="shuffled",
    options=(
        Option("model", str, "nested", "a book with its offers inside, or every offer by itself", ("nested", "flat")),
        Option("books", int, None, "how many books there are, in place of how many documents"),
        Option("shops_mean", float, aladin.DEFAULT_SHOPS_MEAN, "mean number of shops that offer a book"),
        Option("shops_max", int, aladin.DEFAULT_SHOPS_MAX, "most shops that offer one book"),
        Option("updates", float, 0.0, "fraction of the documents that re-price an earlier offer, below 1"),
        _KEY_ORDER,
    ),
    make=aladin.make_aladin,
    mappings={"nested": "aladin.nested.static", "flat": "aladin.flat.static"},
)

_EVENTS: Final = Description(
    name="events",
    summary="monitoring events of 28 fields and a geo point: organizations, ratings, addresses, places",
    entity="events",
    key_order="shuffled",
    options=(
        Option(
            "start", str, events.DEFAULT_START, "instant of the first event, ISO 8601, UTC unless it says otherwise"
        ),
        Option("interval_us", int, 1000, "time between two events, in microseconds"),
        Option("payload_chars", int, 0, "extra random base64 in each event; a codec saves a quarter of it"),
        Option(
            "time_field",
            str,
            None,
            f"field with the instant: `timestamp` for @timestamp, as index modes want; by default {events.TIME_FIELD}",
        ),
        _KEY_ORDER,
    ),
    make=events.make_events,
    mappings={"": "events.static"},
)

_FILE: Final = Description(
    name="file",
    summary="your own documents: JSON in any form, bulk format, CSV, Parquet; compressed, or a folder of them",
    entity="documents",
    key_order="as in the file",
    options=(
        Option("path", str, None, "the file, folder, pattern or Rally track", required=True),
        Option(
            "key",
            str,
            None,
            "the field that holds the key, dotted where it is nested; by default ids beside the fields, else numbers",
        ),
        Option("timestamp", str, None, "another field that every document must have, dotted where it is nested"),
        Option("max_message_bytes", int, file.DEFAULT_MAX_MESSAGE_BYTES, "largest record that the broker accepts"),
    ),
    make=file.make_file,
)

_PRODUCTS: Final = Description(
    name="products",
    summary="products of a price comparison: Korean names, makers, categories, attributes and a year of prices",
    entity="products",
    key_order="shuffled",
    options=(_KEY_ORDER,),
    make=products.make_products,
    mappings={"": "products.static"},
)

_VECTORS: Final = Description(
    name="vectors",
    summary="vectors in clusters, with queries whose exact neighbours are known",
    entity="vectors",
    key_order="shuffled",
    options=(
        Option("dimensions", int, 96, "of each vector"),
        Option("updates", float, 0.0, "fraction of the documents, at the end, that index an earlier vector again"),
        _KEY_ORDER,
    ),
    make=vectors.make_vectors,
    mappings={"": "vectors.hnsw"},
)

DATASETS: Final = Registry(
    "dataset", Description, {d.name: d for d in (_ALADIN, _EVENTS, _PRODUCTS, _VECTORS, _FILE)}, DatasetError
)
"""What datasets there are, those of installed packages last."""


def make_dataset(name: str, *, documents: int | None = None, seed: int = 1, **options: Any) -> Dataset:
    """The dataset of this name.

    Args:
        name: One of DATASETS.
        documents: How many there shall be; `None` leaves it to the dataset (all lines of a file, else 100,000).
        seed: Another seed gives other documents of the same kind; a file has no use for it.
        options: As DATASETS describes them; one that is `None` counts as not given.

    Raises:
        DatasetError: An unknown name or option, or a value that does not serve.
    """
    if name not in DATASETS:
        raise DatasetError(_unknown("dataset", name, DATASETS))
    description = DATASETS[name]
    if documents is not None and documents < 1:
        raise DatasetError(f"documents: got {documents}, expected at least 1")
    known = {option.name: option for option in description.options}
    given = {}
    for given_name, value in options.items():
        if given_name not in known:
            raise DatasetError(_unknown(f"option of dataset {name}", given_name, known))
        if value is not None:
            given[given_name] = _checked(known[given_name], value)
    for option in description.options:
        if option.required and option.name not in given:
            raise DatasetError(f"{option.name}: dataset {name} needs it: {option.meaning}")
    if name in DATASETS.built_in:
        return description.make(documents=documents, seed=seed, **given)
    return _made_by_a_package(description, documents=documents, seed=seed, **given)


def _made_by_a_package(description: Description, **given: Any) -> Dataset:
    try:
        made = description.make(**given)
    except DatasetError:
        raise
    except Exception as error:
        raise DatasetError(f"{description.name}: cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(made, Dataset):
        raise DatasetError(f"{description.name}: got {type(made).__name__}, expected a Dataset")
    return made


def _checked(option: Option, value: object) -> object:
    if option.type is float and type(value) is int:
        value = float(value)
    if type(value) is not option.type:
        raise DatasetError(f"{option.name}: got {value!r}, expected {_article(option.type.__name__)}")
    if option.choices and value not in option.choices:
        raise DatasetError(f"{option.name}: got {value!r}, expected {' or '.join(option.choices)}")
    return value


def _article(type_name: str) -> str:
    return {"str": "a string", "int": "a whole number", "float": "a number"}[type_name]


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    guess = f", did you mean `{near[0]}`?" if near else ";"
    return f"{name}: unknown {kind}{guess} there are: {', '.join(names)}"
