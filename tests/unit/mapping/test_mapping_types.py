"""The rules: which type a field gets, and the reason that is given for it."""

from typing import Any

import pytest

from lab.errors import ProfileError
from lab.mapping.proposal import WHY_NOT_DYNAMIC, WHY_STRICT, propose
from lab.mapping.types import UNINDEXED, Wishes
from tests.unit.mapping.sampled import Sampled
from tests.unit.messages import MakeMessage

TITLES = [f"the {word} of the {word}" for word in ("sea", "river", "night", "sky")]
KOREAN = [f"[중고] {word} 이야기를 읽는 사람" for word in ("바다", "강", "밤", "하늘")]
CHINESE = [f"{word}的故事与历史研究" for word in ("海洋", "河流", "夜晚", "天空")]
DATE = {"type": "date", "format": "strict_date_optional_time"}


@pytest.mark.parametrize(
    ("name", "values", "declared", "facts"),
    [
        ("n", [0, 10, None], {"type": "byte"}, (0, 10)),
        ("n", [0, 12], {"type": "byte"}, (0, 12)),
        ("n", [0, 13], {"type": "short"}, (0, 13)),
        ("n", [-3277, 0], {"type": "integer"}, ("-3,277", 0)),
        ("n", [214_748_365], {"type": "long"}, ("214,748,365",)),
        ("bookId", [7, 9], {"type": "keyword"}, ()),
        ("area_code", [7, 9], {"type": "keyword"}, ()),
        ("statusCode", [200, 404], {"type": "short"}, (200, 404)),
        (
            "item",
            [1009 + n for n in range(100)],
            {"type": "keyword"},
            (4,),
        ),
        (
            "item",
            [1009 + n % 99 for n in range(100)],
            {"type": "short"},
            ("1,009", "1,107"),
        ),
        ("seenAt", [1717171717000], {"type": "date", "format": "epoch_millis"}, (1970,)),
        ("timestamp", [1717171717], {"type": "date", "format": "epoch_second"}, (1970,)),
        (
            "views",
            [1717171717000],
            {"type": "long"},
            ("1,717,171,717,000",),
        ),
        ("x", [1, 2.5], {"type": "float"}, (6,)),
        ("x", [1234567.5], {"type": "double"}, (8,)),
        ("x", [123456789, 0.5], {"type": "double"}, (9,)),
        ("x", [1e39, 1.5], {"type": "double"}, (1.5, "1e+39")),
        ("x", [1e-40, 0.0, 1.5], {"type": "double"}, ("1e-40", 1.5)),
        ("price", [9007199254740993, 1.5], {"type": "double"}, (16,)),
        ("price", [1, 12.5, 9.99], {"type": "double"}, ("scaled_float", 100)),
        ("x", [2**63, 1], {"type": "keyword"}, (64,)),
        ("x", [[0.5] * 16, [0.25] * 16], {"type": "float"}, ("mappings/vectors",)),
        ("x", [True, False], {"type": "boolean"}, ()),
        ("x", ["true", "false"], {"type": "boolean"}, ()),
        ("x", [True, "no"], {"type": "keyword"}, ()),
        ("x", [1, "1"], {"type": "keyword"}, ()),
        ("x", ["2024-02-29", "2024-01-01T10:00:00.123Z"], DATE, ("dates", "strict_date_optional_time")),
        (
            "x",
            ["2024-02-29", "2024-01-01 10:00:00"],
            {"type": "date", "format": "strict_date_optional_time||yyyy-MM-dd HH:mm:ss"},
            ("dates", "strict_date_optional_time"),
        ),
        ("x", ["2019-01", "2019-12"], {"type": "date", "format": "yyyy-MM"}, ("dates",)),
        ("x", ["2024/02/29"], {"type": "date", "format": "yyyy/MM/dd"}, ("dates", "yyyy/MM/dd")),
        ("x", ["2024/02/29 10:00:00"], {"type": "date", "format": "yyyy/MM/dd HH:mm:ss"}, ("dates", "yyyy/MM/dd")),
        ("x", ["29.02.2024"], {"type": "date", "format": "dd.MM.yyyy"}, ("dates",)),
        ("x", ["2023-02-29"], {"type": "keyword"}, (10,)),
        ("x", ["02/03/2024"], {"type": "keyword"}, (10,)),
        ("x", ["2024-01-01", ""], {"type": "keyword"}, (10,)),
        ("x", ["2024"], {"type": "keyword"}, ()),
        ("x", ["007", "12"], {"type": "keyword"}, ()),
        ("x", ["10.0.0.1", "2001:db8::1"], {"type": "ip"}, ()),
        ("x", ["10.0.0.256"], {"type": "keyword"}, (10,)),
        ("x", ["37.5, 127.01"], {"type": "geo_point"}, ()),
        ("x", ["37, 127.01"], {"type": "geo_point"}, ()),
        ("x", ["1,099.00", "2,099.00"], {"type": "keyword"}, (8,)),
        ("x", [{"lat": 37, "lon": 127.01}], {"type": "geo_point"}, ()),
        ("iban", TITLES, {"type": "keyword"}, ()),
        ("orderId", [123456789012345678901.0], {"type": "keyword"}, ()),
        ("sort_key", [0.5, 1.25], {"type": "float"}, (6,)),
        ("tax_rate", [0.0825], {"type": "float"}, (6,)),
        ("x", [9 * 10**18], {"type": "long"}, ("9,000,000,000,000,000,000",)),
        ("x", TITLES, {"type": "text"}, (5,)),
        ("x", KOREAN, {"type": "text", "analyzer": "korean_text"}, (5,)),
        ("x", CHINESE, {"type": "text", "analyzer": "cjk_text"}, (6,)),
        ("x", ["history of the world"] * 4, {"type": "keyword"}, ()),
        ("x", ["a b c d e f g h"] * 4, {"type": "text"}, (8,)),
        ("x", ["word " * 80] * 4, {"type": "text"}, (81,)),
        ("x", ["", ""], {"type": "keyword"}, ()),
        (
            "x",
            ["x" * 300, "a"],
            {"type": "keyword", "ignore_above": 8191},
            (300,),
        ),
        ("x", ["x" * 8192], dict(UNINDEXED), ("8,192",)),
        ("x", [["a", "b"], []], {"type": "keyword"}, (1,)),
        ("x", [{"a": 1}, 7], dict(UNINDEXED), ()),
        ("x", [None, []], dict(UNINDEXED), ()),
        ("x", [{str(n): 1 for n in range(201)}], dict(UNINDEXED), ()),
        ("x", [{"lat": 1.5, "lon": 2}], {"type": "geo_point"}, ()),
        (
            "x",
            [{"lat": 1.5, "lon": 2.5}, {"lat": None, "lon": None}],
            {"properties": {"lat": {"type": "float"}, "lon": {"type": "float"}}},
            (),
        ),
        (
            "x",
            [{"lat": 1.5, "lon": 2.5}, {}],
            {"properties": {"lat": {"type": "float"}, "lon": {"type": "float"}}},
            (),
        ),
        ("x", [{"a": 1}, {"a": 2.5}], {"properties": {"a": {"type": "float"}}}, ()),
        ("x", [[{"a": 1}, {"a": 2}]], {"properties": {"a": {"type": "byte"}}}, ()),
        (
            "x",
            [[{"a": 1, "b": 2}, {"a": 2}], []],
            {"type": "nested", "properties": {"a": {"type": "byte"}, "b": {"type": "byte"}}},
            (1.0,),
        ),
    ],
)
def test_a_field_has_the_type_that_its_values_want_and_a_reason(
    sampled: Sampled,
    name: str,
    values: list[object],
    declared: dict[str, Any],
    facts: tuple[object, ...],
    *,
    message: MakeMessage,
) -> None:
    """Each value stands in a document of its own."""
    proposal = propose(sampled(*({name: value} for value in values)))

    assert proposal.content["mappings"]["properties"] == {name: declared}
    assert proposal.content["mappings"]["_meta"]["why"][name] == message(*facts)


def test_a_slip_among_many_dates_is_stored_and_not_indexed(sampled: Sampled) -> None:
    """A keyword would take it, and would make every other date a word."""
    days = [f"2024-01-{1 + n % 28:02}" for n in range(199)]
    proposal = propose(sampled(*({"placed": value} for value in (*days, "tomorrow"))))
    assert proposal.content["mappings"]["properties"]["placed"] == DATE | {"ignore_malformed": True}
    why = "dates: strict_date_optional_time; 'tomorrow', 1 of 200 is none: stored, not indexed"
    assert proposal.content["mappings"]["_meta"]["why"]["placed"] == why


def test_a_date_here_and_there_makes_no_field_of_dates(sampled: Sampled) -> None:
    """Not even where dates come just when one string in a hundred is still looked at."""
    values = ["2024-01-01" if n % 100 == 99 else f"word{n % 7}" for n in range(1000)]
    proposal = propose(sampled(*({"placed": value} for value in values)))
    assert proposal.content["mappings"]["properties"]["placed"] == {"type": "keyword"}


def test_one_string_in_fifty_that_is_no_date_makes_no_field_of_dates(sampled: Sampled) -> None:
    """Whoever reads such a field finds words in it."""
    values = ["2024-01-01", "2024-01-02"] * 98 + ["tomorrow"] * 4
    proposal = propose(sampled(*({"placed": value} for value in values)))
    assert proposal.content["mappings"]["properties"]["placed"] == {"type": "keyword"}


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
        (12, {"type": "byte", "index": False, "doc_values": False}),
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
        ({str(n): 1 for n in range(201)}, set(), dict(UNINDEXED)),
        (12, set(), {"type": "byte"}),
    ],
)
def test_a_field_that_is_searched_is_indexed_where_a_type_takes_it(
    sampled: Sampled, value: object, types: set[str], declared: dict[str, Any]
) -> None:
    """Names that are values need `flattened`, which not every server has."""
    proposal = propose(sampled({"x": value}), Wishes(searched=frozenset({"x"})), types.__contains__)

    assert proposal.content["mappings"]["properties"]["x"] == declared


def test_a_price_is_a_scaled_float_where_servers_have_it(sampled: Sampled) -> None:
    """By as many decimals as the prices have."""
    proposal = propose(sampled({"salePrice": 12.5}, {"salePrice": 9.995}), has_type={"scaled_float"}.__contains__)

    assert proposal.content["mappings"]["properties"]["salePrice"] == {"type": "scaled_float", "scaling_factor": 1000}


def test_a_longer_string_than_those_of_a_sample_rejects_no_document(sampled: Sampled) -> None:
    """Where the whole file was read, there is none."""
    documents = [{"x": f"c{n}"} for n in range(7)]
    of_some = propose(sampled(*documents, most=3)).content["mappings"]["properties"]["x"]
    assert of_some == {"type": "keyword", "ignore_above": 8191}
    assert propose(sampled(*documents)).content["mappings"]["properties"]["x"] == {"type": "keyword"}


def test_an_array_need_not_be_nested(sampled: Sampled) -> None:
    """Where no question concerns two fields of the same object."""
    proposal = propose(sampled({"x": [{"a": 1, "b": 2}, {"a": 2}]}), Wishes(objects=frozenset({"x"})))

    assert "type" not in proposal.content["mappings"]["properties"]["x"]


def test_the_key_is_a_keyword_whatever_it_looks_like(sampled: Sampled) -> None:
    """It is looked up."""
    proposal = propose(sampled({"n": 1}, {"n": 2}), Wishes(key="n"))

    assert [(of.type, of.choice.why) for of in proposal.fields] == [("keyword", "the key")]


def test_a_mapping_is_strict_only_if_every_document_was_read(sampled: Sampled) -> None:
    """In a sample, a field that comes later must not reject its document; what is always null then needs no type."""
    documents = [{"n": n, "none": None} for n in range(3)]

    whole, part = propose(sampled(*documents)), propose(sampled(*documents, most=2))

    assert [(of.content["mappings"]["dynamic"], of.why_dynamic) for of in (whole, part)] == [
        ("strict", WHY_STRICT),
        (False, WHY_NOT_DYNAMIC),
    ]
    assert whole.content["mappings"]["properties"] == {"n": {"type": "byte"}, "none": dict(UNINDEXED)}
    assert part.content["mappings"]["properties"] == {"n": {"type": "byte"}}


def test_korean_text_names_its_analyzers_best_first(sampled: Sampled) -> None:
    """As the mapping files of this repository do; the file says where it comes from."""
    content = propose(sampled(*({"title": title} for title in KOREAN))).content

    assert content["text_analyzers"] == {"korean_text": ["nori", "cjk", "standard"]}
    assert content["mappings"]["_meta"]["inferred_from"] == "all 4 documents of books.ndjson"


def test_a_mapping_file_has_a_declaration_on_each_line(sampled: Sampled) -> None:
    """People read and change it."""
    text = propose(sampled({"a": 1, "b": {"c": "x"}})).text

    assert text == (
        "{\n"
        '  "settings": {},\n'
        '  "mappings": {\n'
        '    "dynamic": "strict",\n'
        '    "_meta": {\n'
        '      "inferred_from": "the only document of books.ndjson",\n'
        '      "why": {\n'
        '        "a": "1 to 1, with room for ten times that",\n'
        '        "b": "an object",\n'
        '        "b.c": "up to 1 character, looked up as a whole"\n'
        "      }\n"
        "    },\n"
        '    "properties": {\n'
        '      "a": {"type": "byte"},\n'
        '      "b": {\n'
        '        "properties": {\n'
        '          "c": {"type": "keyword"}\n'
        "        }\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


def test_a_dotted_name_is_a_path(sampled: Sampled) -> None:
    """Elasticsearch takes `a.b` for the field `b` of the object `a`."""
    content = propose(sampled({"a.b": 1, "a": {"c": True}})).content

    assert content["mappings"]["properties"] == {"a": {"properties": {"b": {"type": "byte"}, "c": {"type": "boolean"}}}}


def test_objects_in_objects_without_end_are_not_declared(sampled: Sampled) -> None:
    """Elasticsearch takes 20 levels."""
    document: dict[str, Any] = {"x": 1}
    for _ in range(30):
        document = {"x": document}

    declared = propose(sampled(document)).content["mappings"]
    levels = 0
    while "properties" in declared:
        declared, levels = declared["properties"]["x"], levels + 1

    assert (levels, declared) == (18, dict(UNINDEXED))


@pytest.mark.parametrize(
    ("document", "count"),
    [
        ({f"object{n}": {f"field{m}": 1 for m in range(150)} for n in range(7)}, "1,057"),
        ({f"field{n}": 1 for n in range(1001)}, "more than 1,000"),
    ],
)
def test_more_fields_than_an_index_takes_are_refused(
    sampled: Sampled, document: dict[str, Any], count: str, message: MakeMessage
) -> None:
    """A mapping that the server refuses is not proposed."""
    with pytest.raises(ProfileError) as refused:
        propose(sampled(document))

    assert str(refused.value) == message(count, "1,000", "mappings/README.md")


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
        propose(sampled({"link": "x", "a": {"b": 1}}), wishes)

    assert str(refused.value) == message(*facts)


def test_categories_of_more_values_than_are_told_apart_stay_keywords(sampled: Sampled, message: MakeMessage) -> None:
    """Twelve hundred of them, each many times: a sentence of its own in each document would be text."""
    shelves = [{"x": f"shelf {number % 1200} upstairs left"} for number in range(6000)]
    (of,) = propose(sampled(*shelves, most=6000)).fields
    assert (of.type, of.choice.why) == ("keyword", message("1,250"))
    (of,) = propose(sampled(*shelves[:2000], most=6000)).fields
    assert of.type == "text"


def test_a_field_without_a_value_in_the_sample_cannot_be_searched(sampled: Sampled, message: MakeMessage) -> None:
    """Of a part of the file, nobody knows what it holds."""
    sample = sampled(*({"n": number, "x": None} for number in range(50)), most=10)
    with pytest.raises(ProfileError) as error:
        propose(sample, Wishes(searched=frozenset({"x"})))
    assert str(error.value) == message("--search x")
