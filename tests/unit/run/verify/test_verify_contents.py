"""Whether a stored document is what was produced. What an index rebuilds was read off 8.19.21 and 9.5.3."""

from typing import Any

import pytest

from lab.run.verify.contents import FormlessError, SourceRules, is_same_json

SYNTHETIC = {"index.mode": "standard", "index.mapping.source.mode": "synthetic"}
COLUMNAR = {"index.mode": "columnar", "index.mapping.source.mode": "SYNTHETIC"}
FIELDS: dict[str, Any] = {
    "keyword": {"type": "keyword"},
    "text": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
    "long": {"type": "long"},
    "integer": {"type": "integer"},
    "float": {"type": "float"},
    "half": {"type": "half_float"},
    "scaled": {"type": "scaled_float", "scaling_factor": 100},
    "boolean": {"type": "boolean"},
    "date": {"type": "date"},
    "day": {"type": "date", "format": "strict_date"},
    "month": {"type": "date", "format": "yyyy-MM"},
    "seconds": {"type": "date", "format": "epoch_second"},
    "nanos": {"type": "date_nanos"},
    "ip": {"type": "ip"},
    "point": {"type": "geo_point"},
    "object": {"properties": {"x": {"type": "long"}, "y": {"type": "keyword"}}},
    "nested": {"type": "nested", "properties": {"x": {"type": "long"}, "y": {"type": "keyword"}}},
    "flat": {"type": "flattened"},
    "off": {"type": "object", "enabled": False},
    "vector": {"type": "dense_vector", "dims": 3},
    "tolerant": {"type": "long", "ignore_malformed": True},
}


def rules(settings: dict[str, object] = SYNTHETIC, **mapping: Any) -> SourceRules:
    """Those of an index with these settings."""
    return SourceRules.of(settings, {"properties": FIELDS, **mapping})


# --- as JSON --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("produced", "stored"),
    [(True, 1), (1, True), (0, False), (False, 0), (1, 1.0), (1.0, 1), (None, False), ("1", 1), ([], {}), (None, [])],
)
@pytest.mark.parametrize("where", [lambda value: value, lambda value: {"a": [{"b": value}]}], ids=["alone", "deep"])
def test_values_of_two_kinds_are_not_the_same(produced: object, stored: object, where: Any) -> None:
    """Elasticsearch keeps the bytes that it was sent; Python holds most of these for equal."""
    assert not is_same_json(where(produced), where(stored))
    assert is_same_json(where(produced), where(produced))


def test_the_order_of_names_does_not_matter_and_that_of_values_does() -> None:
    """Objects have none; arrays do."""
    assert is_same_json({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not is_same_json([1, 2], [2, 1])
    assert not is_same_json({"a": None}, {})
    assert not is_same_json([1], [1, 1])


# --- of a rebuilt source --------------------------------------------------------------------------------------------

SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"keyword": ["b", "a", "b"]}, {"keyword": ["a", "b"]}),
    ({"keyword": [1, True, 1.5]}, {"keyword": ["1", "1.50", "true"]}),
    ({"text": ["z", "a", "z"]}, {"text": ["a", "z"]}),
    ({"text": [None, "a"]}, {"text": "a"}),
    ({"long": [3, 1, 3, 2]}, {"long": [1, 2, 3, 3]}),
    ({"long": "7", "integer": 7.9}, {"long": 7, "integer": 7}),
    ({"long": [], "object": {"x": None}}, {}),
    ({"float": "1.25"}, {"float": 1.25}),
    ({"float": [0.1, 0.1]}, {"float": [0.1, 0.1]}),
    ({"float": 16_777_217}, {"float": 16_777_216.0}),
    ({"half": 0.1}, {"half": 0.099975586}),
    ({"scaled": 1.239}, {"scaled": 1.24}),
    ({"boolean": [True, "false", True]}, {"boolean": [False, True, True]}),
    ({"date": "2027-01-15T08:00:00Z"}, {"date": "2027-01-15T08:00:00.000Z"}),
    ({"date": "2027-01-15"}, {"date": "2027-01-15T00:00:00.000Z"}),
    ({"date": "2027-01"}, {"date": "2027-01-01T00:00:00.000Z"}),
    ({"date": 1_800_000_000_000}, {"date": "2027-01-15T08:00:00.000Z"}),
    ({"date": "2027-01-15T08:00:00+02:00"}, {"date": "2027-01-15T06:00:00.000Z"}),
    ({"day": "2027-01-15", "month": "2027-01"}, {"day": "2027-01-15", "month": "2027-01"}),
    ({"seconds": 1_800_000_000}, {"seconds": "1800000000"}),
    ({"nanos": "2027-01-15T08:00:00.123456789Z"}, {"nanos": "2027-01-15T08:00:00.123456789Z"}),
    ({"ip": ["192.168.0.1", "::1", "0:0:0:0:0:0:0:1"]}, {"ip": ["::1", "192.168.0.1"]}),
    ({"point": {"lat": 48.1, "lon": 11.5}}, {"point": {"lat": 48.09999999124557, "lon": 11.499999985098839}}),
    ({"point": [11.5, 48.1]}, {"point": {"lat": 48.09999999124557, "lon": 11.499999985098839}}),
    ({"point": "48.1,11.5"}, {"point": {"lat": 48.09999999124557, "lon": 11.499999985098839}}),
    ({"object": [{"x": 1, "y": "b"}, {"x": 2, "y": "a"}]}, {"object": {"x": [1, 2], "y": ["a", "b"]}}),
    ({"object.y": "dotted"}, {"object": {"y": "dotted"}}),
    ({"nested": [{"x": 2, "y": "b"}, {"x": 1}]}, {"nested": [{"y": "b", "x": 2}, {"x": 1}]}),
    ({"nested": [{"x": 1}]}, {"nested": {"x": 1}}),
    ({"nested": []}, {}),
    (
        {"flat": {"b": ["z", "a", "a"], "a": 1, "c": {"d": True}, "e": None}},
        {"flat": {"a": "1", "b": ["a", "z"], "c": {"d": "true"}}},
    ),
    ({"off": {"z": [3, 1, 1], "q": None}}, {"off": {"z": [3, 1, 1], "q": None}}),
    ({"new": {"deep": [2, 1], "none": None}}, {"new": {"deep": [2, 1], "none": None}}),
    ({"vector": [1.0, 0.5, 0.12345678]}, {"vector": [1.0, 0.5, 0.12345679]}),
    ({"tolerant": ["abc", 5, 3]}, {"tolerant": [3, 5, "abc"]}),
]
"""Documents, and what Elasticsearch makes of them."""

OTHERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"keyword": ["b", "a"]}, {"keyword": ["a"]}),
    ({"keyword": "1.10"}, {"keyword": "1.1"}),
    ({"long": [3, 1, 3]}, {"long": [1, 3]}),
    ({"long": 2**53 + 1}, {"long": 2**53}),
    ({"float": 0.1}, {"float": 0.1001}),
    ({"boolean": [True, True]}, {"boolean": True}),
    ({"date": "2027-01-15T08:00:00.001Z"}, {"date": "2027-01-15T08:00:00.000Z"}),
    ({"date": "2027-01-15"}, {}),
    ({"ip": "::1"}, {"ip": "::2"}),
    ({"point": [11.5, 48.1]}, {"point": {"lat": 48.1001, "lon": 11.5}}),
    ({"point": [11.5, 48.1]}, {"point": {"lat": 11.5, "lon": 48.1}}),
    ({"object": [{"x": 1}, {"x": 2}]}, {"object": {"x": 1}}),
    ({"nested": [{"x": 2, "y": "b"}, {"x": 1, "y": "a"}]}, {"nested": [{"x": 2, "y": "a"}, {"x": 1, "y": "b"}]}),
    ({"flat": {"a": 1}}, {"flat": {"b": "1"}}),
    ({"off": {"z": [3, 1]}}, {"off": {"z": [1, 3]}}),
    ({"new": {"deep": 2}}, {}),
    ({"vector": [1.0, 0.5, 0.125]}, {"vector": [1.0, 0.5, 0.126]}),
    ({}, {"keyword": "a"}),
]
"""Documents, and what it does not make of them."""


@pytest.mark.parametrize(("produced", "stored"), SAME)
def test_a_document_is_the_same_as_elasticsearch_rebuilds_it(produced: dict[str, Any], stored: dict[str, Any]) -> None:
    """Sorted, once, cut to the type, moved to the leaves, formatted anew."""
    assert rules().is_same(produced, stored)
    assert rules().is_same(produced, produced)


@pytest.mark.parametrize(("produced", "stored"), OTHERS)
def test_another_document_is_not_the_same_however_it_is_rebuilt(
    produced: dict[str, Any], stored: dict[str, Any]
) -> None:
    """No rule lets another value pass."""
    assert not rules().is_same(produced, stored)


@pytest.mark.parametrize(
    ("produced", "stored", "right"), [*((*pair, True) for pair in SAME), *((*pair, False) for pair in OTHERS)]
)
def test_a_form_says_what_two_documents_side_by_side_say(
    produced: dict[str, Any], stored: dict[str, Any], *, right: bool
) -> None:
    """Vectors, and decimals among strings, have none."""
    some = rules()
    if "vector" in produced or produced.get("keyword") == [1, True, 1.5]:
        with pytest.raises(FormlessError):
            some.form(produced)
    else:
        assert (some.form(produced) == some.form(stored)) is right


def test_a_field_without_a_rule_is_no_part_of_a_form() -> None:
    """Nor is what a columnar index does not keep."""
    columnar = SourceRules.of(COLUMNAR, {"properties": {"range": {"type": "long_range"}, "long": {"type": "long"}}})
    assert columnar.form({"long": 1, "range": {"gte": 2}, "new": 3}) == columnar.form({"long": [1]})
    assert columnar.form({"long": 1}) != columnar.form({"long": 2})


def test_a_columnar_index_flattens_objects_and_keeps_no_value_without_a_field() -> None:
    """What is not mapped it does not give back, and that is told."""
    columnar = SourceRules.of(
        COLUMNAR,
        {
            "dynamic": "false",
            "prefix_properties": {"off": {"enabled": False}},
            "properties": {
                "object.x": {"type": "long"},
                "object.y": {"type": "keyword"},
                "keyword": {"type": "keyword"},
            },
        },
    )
    produced = {"object": [{"x": 2, "y": "b"}, {"x": 1}], "off": {"z": 1}, "keyword": None, "new": 3}
    assert columnar.is_same(produced, {"object.x": [2, 1], "object.y": "b", "keyword": [None]})
    assert not columnar.is_same(produced, {"object.x": [2, 2], "object.y": "b"})
    assert columnar.not_compared == ("off", "what is not mapped")


@pytest.mark.parametrize(
    "field",
    [
        {"type": "long_range"},
        {"type": "completion"},
        {"type": "keyword", "null_value": "NULL"},
        {"type": "keyword", "normalizer": "lowercase"},
        {"type": "date", "format": "dd/MM/yyyy"},
        {"type": "date", "format": "strict_date||epoch_millis"},
    ],
)
def test_a_field_that_no_rule_is_known_for_is_not_compared_and_told(field: dict[str, Any]) -> None:
    """Whatever comes back of it; the others of its document are compared."""
    mapping = {"properties": {"other": {"properties": {"field": field}}, "long": {"type": "long"}}}
    some = SourceRules.of(SYNTHETIC, mapping)
    assert some.not_compared == ("other.field",)
    assert some.is_same({"other": {"field": "a"}, "long": 1}, {"long": 1})
    assert not some.is_same({"other": {"field": "a"}, "long": 1}, {"other": {"field": "a"}, "long": 2})


# --- which rules ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "mapping", "kind"),
    [
        ({}, {}, "stored"),
        ({"index.mode": "standard", "index.mapping.source.mode": "STORED"}, {}, "stored"),
        (SYNTHETIC, {}, "rebuilt"),
        ({}, {"_source": {"mode": "synthetic"}}, "rebuilt"),
        ({"index.mode": "time_series"}, {}, "rebuilt"),
        ({"index.mode": "logsdb", "index.mapping.source.mode": "SYNTHETIC"}, {}, "rebuilt"),
        ({"index.mode": "logsdb", "index.mapping.source.mode": "stored"}, {}, "stored"),
        (COLUMNAR, {}, "rebuilt"),
        ({"index.mode": "columnar", "index.mapping.source.mode": "COLUMNAR_STORED"}, {}, "rebuilt"),
        ({}, {"_source": {"enabled": False}}, "none"),
        ({"index.derived_source.enabled": "true"}, {}, "none"),
        ({}, {"_source": {"excludes": ["vector"]}}, "none"),
    ],
)
def test_settings_and_mapping_say_how_an_index_gives_documents_back(
    settings: dict[str, object], mapping: dict[str, Any], kind: str
) -> None:
    """Of every version: 7.17 knows no mode, 8.4 has it in the mapping, 8.16 in the settings."""
    assert SourceRules.of(settings, mapping).kind == kind


def test_vectors_that_are_left_out_of_a_source_are_rebuilt() -> None:
    """As 9.2 and later do it by default, in any of the indices behind a name; no document has a form of its own."""
    mapping = {"properties": {"vector": {"type": "dense_vector"}, "pages": {"type": "long"}}}
    left_out = {"index.mapping.exclude_source_vectors": "true"}
    found = SourceRules.of_all([({}, mapping), (left_out, mapping)])
    assert found == SourceRules(vectors=frozenset({"vector"}))
    assert SourceRules.of_all([({}, mapping)]) == SourceRules()
    with pytest.raises(FormlessError):
        found.form({"pages": 7})


def test_indices_that_keep_documents_in_several_ways_are_not_compared() -> None:
    """Which of them has a document is not known before it is compared."""
    synthetic = {"index.mapping.source.mode": "synthetic"}
    assert SourceRules.of_all([({}, {}), (synthetic, {})]).kind == "none"
    assert SourceRules.of_all([(synthetic, {}), (synthetic, {})]).kind == "rebuilt"
