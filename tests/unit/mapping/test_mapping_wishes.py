"""What the user says of fields: searched or not, nested or not, and how many odd values they may have."""

from typing import Any

import pytest

from lab.errors import ProfileError
from lab.mapping.proposal import propose
from lab.mapping.types import UNINDEXED, Wishes
from tests.unit.mapping.sampled import Sampled
from tests.unit.mapping.test_mapping_types import DATE, LONG
from tests.unit.messages import MakeMessage


@pytest.mark.parametrize(("tolerated", "kind"), [(0.0, "keyword"), (0.03, "long")])
def test_the_share_of_odd_values_is_the_users(sampled: Sampled, tolerated: float, kind: str) -> None:
    """More of them make a field that takes both a keyword."""
    documents = [{"x": "N/A" if n in {1, 2, 5} else n} for n in range(101)]
    (of,) = propose(sampled(*documents), Wishes(tolerated=tolerated)).fields

    assert of.type == kind


@pytest.mark.parametrize(
    ("values", "unsearched"),
    [
        (["https://example.com/a", "https://example.com/b"], "links"),
        (["0123456789abcdef" * 4], "digests"),
        (["QUJD" * 30], "encoded bytes"),
        ([""], "always empty"),
        (["https://example.com/a", "b"], ""),
    ],
)
def test_what_nobody_may_search_is_indexed_and_asked_about(
    sampled: Sampled, values: list[str], unsearched: str
) -> None:
    """Data alone cannot say that it is not."""
    (of,) = propose(sampled(*({"x": value} for value in values))).fields

    assert (of.type, of.choice.unsearched) == ("keyword", unsearched)


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        ("https://example.com/a", {"type": "keyword", "index": False, "doc_values": False}),
        ("x" * 300, {"type": "keyword", "index": False, "doc_values": False}),
        (12, {**LONG, "index": False, "doc_values": False}),
        ("2024-02-29", {**DATE, "index": False, "doc_values": False}),
        ("word " * 80, dict(UNINDEXED)),
        ([{"a": 1, "b": 2}, {"a": 2}], dict(UNINDEXED)),
        ({"lat": 1.5, "lon": 2.5}, dict(UNINDEXED)),
    ],
)
def test_a_field_that_is_never_searched_is_only_stored(
    sampled: Sampled, value: object, declared: dict[str, Any], message: MakeMessage
) -> None:
    """What does not take `doc_values: false` in every version is not enabled at all."""
    proposal = propose(sampled({"x": value}), Wishes(unsearched=frozenset({"x"})))

    assert proposal.content["mappings"]["properties"]["x"] == declared
    assert proposal.content["mappings"]["_meta"]["why"]["x"] == message("never searched")


@pytest.mark.parametrize(
    ("value", "types", "declared"),
    [
        ("x" * 9000, set(), {"type": "keyword", "ignore_above": 8191}),
        ({str(n): 1 for n in range(201)}, {"flattened"}, {"type": "flattened", "ignore_above": 4096}),
    ],
)
def test_a_field_that_is_searched_is_indexed_where_a_type_takes_it(
    sampled: Sampled, value: object, types: set[str], declared: dict[str, Any]
) -> None:
    """Names that are values need `flattened`, which not every server has."""
    proposal = propose(sampled({"x": value}), Wishes(searched=frozenset({"x"})), types.__contains__)

    assert proposal.content["mappings"]["properties"]["x"] == declared


@pytest.mark.parametrize(
    ("value", "wishes", "refusal"),
    [
        (12, Wishes(searched=frozenset({"x"})), "--search x: it is indexed anyway"),
        ({"a": 1, "b": 2}, Wishes(objects=frozenset({"x"})), "--object x: it is an object anyway"),
        ([{"a": 1, "b": 2}], Wishes(objects=frozenset({"x"})), "--object x: it is an object anyway"),
        ([{"a": 1, "b": 2}, {"a": 2}], Wishes(nested=frozenset({"x"})), "--nested x: it is nested anyway"),
        (None, Wishes(unsearched=frozenset({"x"})), "--no-search x: it is only stored anyway"),
        (
            {str(n): 1 for n in range(201)},
            Wishes(unsearched=frozenset({"x"})),
            "--no-search x: it is only stored anyway",
        ),
    ],
)
def test_a_wish_without_effect_is_refused(sampled: Sampled, value: object, wishes: Wishes, refusal: str) -> None:
    """Its user expects one."""
    with pytest.raises(ProfileError) as refused:
        propose(sampled({"x": value}), wishes)

    assert str(refused.value) == refusal


def test_an_array_need_not_be_nested(sampled: Sampled) -> None:
    """Where no question concerns two fields of the same object."""
    proposal = propose(sampled({"x": [{"a": 1, "b": 2}, {"a": 2}]}), Wishes(objects=frozenset({"x"})))

    assert "type" not in proposal.content["mappings"]["properties"]["x"]


@pytest.mark.parametrize("value", [{"a": 1, "b": 2}, [{"a": 1}, {"a": 2}], {"lat": 1.5, "lon": 2}])
def test_objects_are_nested_if_the_user_says_so(sampled: Sampled, value: object) -> None:
    """Of arrays of several fields, they are anyway."""
    (of, *below) = propose(sampled({"x": value}), Wishes(nested=frozenset({"x"}))).fields

    assert (of.type, bool(below)) == ("nested", True)


def test_the_line_of_flattened_objects_says_what_rejects_a_document(sampled: Sampled, message: MakeMessage) -> None:
    """No parameter of the type ignores that."""
    wide = sampled({"x": {str(n): 1 for n in range(201)}})
    (of,) = propose(wide, Wishes(searched=frozenset({"x"})), {"flattened"}.__contains__).fields

    assert of.choice.why == message("20 levels", "rejects")


@pytest.mark.parametrize(
    ("wishes", "facts"),
    [
        (Wishes(unsearched=frozenset({"lnik"})), ("--no-search", "lnik", "link")),
        (Wishes(searched=frozenset({"a.c"})), ("--search", "a.c", "a.b")),
        (
            Wishes(objects=frozenset({"zzz"})),
            ("--object", "zzz", "a", "a.b", "link"),
        ),
        (
            Wishes(searched=frozenset({"a"}), unsearched=frozenset({"a"})),
            ("--search: a", "--no-search"),
        ),
        (Wishes(objects=frozenset({"link"})), ("--object link",)),
        (Wishes(nested=frozenset({"link"})), ("--nested link",)),
        (Wishes(nested=frozenset({"wide"})), ("--nested wide", "--no-search")),
        (Wishes(nested=frozenset({"a"}), objects=frozenset({"a"})), ("--object: a", "--nested")),
        (Wishes(searched=frozenset({"wide"})), ("--search wide",)),
        (Wishes(nested=frozenset({"a.own"}), unsearched=frozenset({"a"})), ("--nested a.own", "--no-search a")),
        (
            Wishes(searched=frozenset({"a.b"}), unsearched=frozenset({"a"})),
            ("--search a.b", "--no-search"),
        ),
    ],
)
def test_a_wish_concerns_a_field_of_the_file(
    sampled: Sampled, wishes: Wishes, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Names are dotted."""
    with pytest.raises(ProfileError) as refused:
        propose(sampled({"link": "x", "a": {"b": 1, "own": {"d": 1}}, "wide": {str(n): n for n in range(201)}}), wishes)

    assert str(refused.value) == message(*facts)


def test_a_field_without_a_value_in_the_sample_cannot_be_searched(sampled: Sampled, message: MakeMessage) -> None:
    """Of a part of the file, nobody knows what it holds."""
    sample = sampled(*({"n": number, "x": None} for number in range(50)), most=10)
    with pytest.raises(ProfileError) as error:
        propose(sample, Wishes(searched=frozenset({"x"})))
    assert str(error.value) == message("--search x")
