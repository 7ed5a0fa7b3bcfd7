"""The field and the value for which servers rejected documents, out of reasons that real servers gave."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.replay.failed_field import FailedField, failed_field

REJECTIONS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("rejections.json").read_bytes())
"""Documents, and reasons as the sink passes them on; recorded on the versions that each one names."""
DEPTH = {"elasticsearch-7.17.7": 24, "elasticsearch-8.19.21": 20, "elasticsearch-9.5.4": 20}
NAMED = {
    "long_text": ("pages", "many"),
    "long_text_quote": ("pages", "it's a 'q' \"x\" [7]"),
    "long_object": ("pages", {"a": 1}),
    "long_array": ("pages", "two"),
    "byte_range": ("small", 300),
    "int_range": ("whole", 3_000_000_000),
    "long_big": ("pages", 99_999_999_999_999_999_999),
    "date_text": ("placed", "tomorrow"),
    "bool": ("ok", "yes"),
    "object_concrete": ("shop", "x"),
    "object_array_concrete": ("shop", "x"),
    "inner": ("shop.price", "free"),
    "inner_dotted": ("shop.price", "free"),
    "inner_array": ("shop.price", "free"),
    "nested_inner": ("items.n", "two"),
    "immense": ("word", "x" * 40),
    "multi": ("title.number", "abc"),
    "copy": ("target", "abc"),
    "geo": ("loc", "nowhere"),
    "vec": ("vec", [1, 2]),
    "strict_inner": ("strict.b", 1),
    "strict_top": ("b", 1),
    "strict_in": ("o", {"b": 1}),
    "dyn_conc": ("y", 5),
    "metadata": ("_id", "x"),
}
UNNAMED = {"limit", "malformed1", "malformed2", "dup", "empty_name", "nested_limit"}


def recorded(*cases: str) -> list[Any]:
    """The rejections of these cases, each with the name that its test bears."""
    named = [rejection for rejection in REJECTIONS if rejection["case"] in cases]
    return [pytest.param(each, id=f"{each['case']}-{'+'.join(each['servers'])}") for each in named]


@pytest.mark.parametrize("rejection", recorded(*NAMED))
def test_a_reason_names_its_field_and_the_document_the_value(rejection: dict[str, Any]) -> None:
    """Of arrays it is the element that failed, wherever it stands; a field that is only mapped has the quoted value."""
    field, value = NAMED[rejection["case"]]
    found = failed_field(rejection["reason"])
    assert found is not None
    assert (found.path, json.loads(found.value_in(rejection["document"].encode()) or b"")) == (field, value)


@pytest.mark.parametrize("rejection", recorded(*UNNAMED))
def test_a_reason_that_names_no_field_says_nothing(rejection: dict[str, Any]) -> None:
    """Too many fields, or text that is no JSON: nothing rather than something false."""
    assert failed_field(rejection["reason"]) is None


@pytest.mark.parametrize("rejection", recorded("deep"))
def test_the_depth_of_a_field_is_named_where_the_server_does(rejection: dict[str, Any]) -> None:
    """OpenSearch names none."""
    found = failed_field(rejection["reason"])
    depths = {DEPTH.get(server) for server in rejection["servers"]}
    assert {found and found.path.count(".") + 1} == depths


@pytest.mark.parametrize(
    "reason",
    [
        "b-0@7: got an array, expected one object",
        "b-0@7: status 400 x: failed to parse: Unrecognized token 'failed to parse field [a] of type [long]'",
        "b-0@7: status 400 x: it says: object mapping for [a] tried to parse field [a] as object",
        "Indexing failed: failed to parse field [a] of type [long]",
        "no reason given",
        "",
    ],
)
def test_words_that_are_not_known_say_nothing(reason: str) -> None:
    """Also where a piece of the document reads like a reason."""
    assert failed_field(reason) is None


def test_fields_of_two_bulk_requests_that_do_not_agree_are_named() -> None:
    """By the words of Elasticsearch's FieldMapper."""
    reason = "b-0@7: status 400 illegal_argument_exception: mapper [a.b] cannot be changed from type [long] to [text]"
    assert failed_field(reason) == FailedField("a.b")


def test_a_document_that_is_no_json_has_the_value_that_the_reason_quotes() -> None:
    """Without a quotation, its value is not known."""
    assert FailedField("pages", "many").value_in(b"{") == b'"many"'
    assert FailedField("pages").value_in(b"{") is None


def test_an_array_without_the_quoted_element_is_told_whole() -> None:
    """The server may have read it otherwise, or quoted its beginning alone."""
    assert FailedField("pages", "0x1").value_in(b'{"pages": [1, 2]}') == b"[1,2]"


def test_null_is_not_the_value_that_is_no_object() -> None:
    """Servers take it in place of an object."""
    assert FailedField("shop", wants_object=True).value_in(b'{"shop": [null, {}, 7]}') == b"7"
