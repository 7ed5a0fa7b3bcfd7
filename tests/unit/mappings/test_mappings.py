"""Mapping files against the documents they are for."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from producers.registry import make_dataset

MAPPINGS = Path(__file__).resolve().parents[3] / "mappings"
NAMES = [
    "aladin.flat.static",
    "aladin.nested.dynamic",
    "aladin.nested.keyword",
    "aladin.nested.static",
    "dynamic",
    "events.no-doc-values",
    "events.static",
    "events.timestamp",
    "products.static",
    "vectors.bbq-hnsw",
    "vectors.default",
    "vectors.flat",
    "vectors.hnsw",
    "vectors.int4-hnsw",
    "vectors.int8-hnsw",
]


def mapping_file(name: str) -> dict[str, Any]:
    """The content of one mapping file."""
    loaded: dict[str, Any] = json.loads((MAPPINGS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def declared(properties: dict[str, Any], prefix: str = "") -> dict[str, dict[str, Any]]:
    """Path → declaration of every field that holds a value."""
    fields: dict[str, dict[str, Any]] = {}
    for name, declaration in properties.items():
        if "properties" in declaration:
            fields |= declared(declaration["properties"], f"{prefix}{name}.")
        else:
            fields[prefix + name] = declaration
    return fields


def values(document: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of every field of a document; a geo point is one value."""
    if isinstance(document, list):
        for member in document:
            yield from values(member, prefix)
    elif isinstance(document, dict) and set(document) != {"lat", "lon"}:
        for name, value in document.items():
            yield from values(value, f"{prefix}.{name}" if prefix else name)
    else:
        yield prefix, document


def fields_of(name: str) -> dict[str, dict[str, Any]]:
    """Path → declaration of every field of one mapping file."""
    return declared(mapping_file(name)["mappings"]["properties"])


def test_every_mapping_is_known_here() -> None:
    """No mapping file is left untested."""
    assert sorted(path.stem for path in MAPPINGS.glob("*.json")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_mapping_leaves_to_the_profile_what_profiles_compare(name: str) -> None:
    """A mapping file holds analysis and limits only, in the keys that the README names."""
    content = mapping_file(name)
    assert set(content) <= {"settings", "mappings", "text_analyzers"}
    assert set(content["settings"]) <= {"analysis", "mapping"}


@pytest.mark.parametrize("name", NAMES)
def test_every_analyzer_is_built_in_or_has_alternatives_that_end_with_standard(name: str) -> None:
    """The last resort is an analyzer that every server has."""
    content = mapping_file(name)
    alternatives = content.get("text_analyzers", {})
    used = {
        field["analyzer"]
        for field in declared(content["mappings"].get("properties", {})).values()
        if "analyzer" in field
    }
    assert used == set(alternatives)
    assert all(names[-1] == "standard" for names in alternatives.values())


@pytest.mark.parametrize("name", NAMES)
def test_readme_explains_every_mapping(name: str) -> None:
    """A mapping without an explanation is not finished."""
    assert f"| `{name}` |" in (MAPPINGS / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "dataset", "options"),
    [
        ("aladin.nested.static", "aladin", {"model": "nested", "updates": 0.3}),
        ("aladin.flat.static", "aladin", {"model": "flat", "updates": 0.3}),
        ("events.static", "events", {"payload_chars": 7}),
        ("events.no-doc-values", "events", {"payload_chars": 7}),
        ("events.timestamp", "events", {"time_field": "timestamp"}),
        ("products.static", "products", {}),
        *((f"vectors.{kind}", "vectors", {}) for kind in ("bbq-hnsw", "flat", "hnsw", "int4-hnsw", "int8-hnsw")),
    ],
)
def test_strict_mapping_declares_exactly_the_fields_of_its_documents(
    name: str, dataset: str, options: dict[str, Any]
) -> None:
    """No field would be refused, and none is declared that never comes."""
    documents = make_dataset(dataset, documents=211, seed=7, **options)
    paths = {path for number in range(211) for path, _ in values(json.loads(documents.document(number)))}
    assert mapping_file(name)["mappings"]["dynamic"] == "strict"
    assert paths == {path for path, field in fields_of(name).items() if field["type"] != "alias"}


PYTHON_TYPES = {
    "keyword": str, "text": str, "date": str, "ip": str, "long": int, "integer": int, "double": float, "boolean": bool,
    "geo_point": dict, "short": int, "half_float": float,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dataset", "model"),
    [
        ("aladin.nested.static", "aladin", "nested"),
        ("aladin.flat.static", "aladin", "flat"),
        ("events.static", "events", None),
        ("products.static", "products", None),
    ],
)
def test_declared_types_fit_the_values(name: str, dataset: str, model: str | None) -> None:
    """A number is declared a number, and an integer fits its width."""
    documents = make_dataset(dataset, documents=211, seed=7, **({"model": model} if model else {}))
    fields = fields_of(name)
    for number in range(211):
        for path, value in values(json.loads(documents.document(number))):
            declaration = fields[path]["type"]
            assert type(value) is PYTHON_TYPES[declaration], path
            assert declaration != "integer" or -(2**31) <= value < 2**31, path


def test_nested_and_flat_declare_the_same_fields() -> None:
    """The two models differ in nesting alone, and in what joins flat documents together."""
    nested = {path.replace("subInfo.usedList.", ""): field for path, field in fields_of("aladin.nested.static").items()}
    flat = fields_of("aladin.flat.static")
    assert {path for path in flat if path not in nested} == {"doc_type", "book_id"}
    assert nested == {path: field for path, field in flat.items() if path in nested}


def test_dynamic_control_declares_one_path_only() -> None:
    """Everything but the nesting is left to Elasticsearch."""
    assert mapping_file("aladin.nested.dynamic") == {
        "settings": {},
        "mappings": {"properties": {"subInfo": {"properties": {"usedList": {"type": "nested"}}}}},
    }


def test_events_without_doc_values_differ_in_doc_values_alone() -> None:
    """What the two event mappings compare is one setting."""
    without = fields_of("events.no-doc-values")
    assert {path: {**field, "doc_values": False} for path, field in fields_of("events.static").items()} == without


def test_events_with_a_timestamp_differ_in_what_index_modes_want() -> None:
    """The instant under another name, a dimension, and no field that doc values cannot give back."""
    with_timestamp, fields = fields_of("events.timestamp"), fields_of("events.static")
    assert with_timestamp.pop("@timestamp") == fields.pop("DateTimeReceivedUtc")
    assert with_timestamp.pop("DateTimeReceivedUtc") == {"type": "alias", "path": "@timestamp"}
    assert fields.pop("Payload")["doc_values"] is False
    assert with_timestamp == fields | {"Host": {"type": "keyword", "time_series_dimension": True}}
