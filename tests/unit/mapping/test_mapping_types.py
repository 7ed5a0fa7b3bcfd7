"""The rules: which type a field gets, and the reason that is given for it."""

from pathlib import Path
from typing import Any

import pytest

from lab.errors import ProfileError
from lab.mapping.proposal import propose
from lab.mapping.sample import read_sample
from lab.mapping.types import BOUNDED, LENIENT_BOOLEAN, UNINDEXED, Wishes
from tests.unit.mapping.sampled import Sampled
from tests.unit.messages import MakeMessage

TITLES = [f"the {word} of the {word}" for word in ("sea", "river", "night", "sky")]
KOREAN = [f"[중고] {word} 이야기를 읽는 사람" for word in ("바다", "강", "밤", "하늘")]
CHINESE = [f"{word}的故事与历史研究" for word in ("海洋", "河流", "夜晚", "天空")]
KEYWORD = dict(BOUNDED)
LENIENT = {"ignore_malformed": True}
DATE = {"type": "date", "format": "strict_date_optional_time", **LENIENT}
LONG = {"type": "long", "coerce": False, **LENIENT}
DOUBLE = {"type": "double", "coerce": False, **LENIENT}
FLOAT = {"type": "float", "coerce": False, **LENIENT}
PLACE = {"type": "geo_point", **LENIENT}
SECONDS = "yyyy-MM-dd HH:mm:ss"
FRACTION = f"{SECONDS}[.SSSSSSSSS][.SSSSSSSS][.SSSSSSS][.SSSSSS][.SSSSS][.SSSS][.SSS][.SS][.S]"


@pytest.mark.parametrize(
    ("name", "values", "declared", "facts"),
    [
        ("n", [0, 10, None], LONG, (0, 10)),
        ("n", [0, 12], LONG, (0, 12)),
        ("n", [0, 13], LONG, (0, 13)),
        ("n", [-3277, 0], LONG, ("-3,277", 0)),
        ("n", [214_748_365], LONG, ("214,748,365",)),
        ("bookId", [7, 9], KEYWORD, ()),
        ("area_code", [7, 9], KEYWORD, ()),
        ("statusCode", [200, 404], LONG, (200, 404)),
        (
            "item",
            [1009 + n for n in range(100)],
            KEYWORD,
            (4,),
        ),
        (
            "item",
            [1009 + n % 99 for n in range(100)],
            LONG,
            ("1,009", "1,107"),
        ),
        ("seenAt", [1717171717000], {"type": "date", "format": "epoch_millis", **LENIENT}, (1970,)),
        ("timestamp", [1717171717], {"type": "date", "format": "epoch_second", **LENIENT}, (1970,)),
        (
            "views",
            [1717171717000],
            LONG,
            ("1,717,171,717,000",),
        ),
        ("x", [1, 2.5], DOUBLE, (1, 2.5)),
        ("x", [1234567.5], DOUBLE, ("1,234,567.5",)),
        ("x", [123456789, 0.5], DOUBLE, (0.5, "123,456,789")),
        ("x", [1e39, 1.5], DOUBLE, (1.5, "1e+39", 15)),
        ("x", [1e-40, 0.0, 1.5], DOUBLE, ("0.0", 1.5)),
        ("price", [9007199254740993, 1.5], DOUBLE, (15, "rounded")),
        ("price", [1, 12.5, 9.99], DOUBLE, (1, 12.5)),
        ("price", [10, 20], DOUBLE, (10, 20, 15)),
        ("total_count", [10, 20], LONG, (10, 20)),
        ("total", [2**53 + 1], LONG, ("9,007,199,254,740,993",)),
        ("response_time", [1_717_171_717], DOUBLE, ("1,717,171,717",)),
        ("startTime", [1717171717.25], {"type": "date", "format": "epoch_second", **LENIENT}, (1970, "millisecond")),
        ("timestamp", [1717171717000000], LONG, ("microseconds", 1970)),
        ("timestamp", [1717171717000000000], LONG, ("nanoseconds", 1970)),
        ("x", [2**63, 1], KEYWORD, (64,)),
        ("app_version", [1.1, 2], KEYWORD, ("version",)),
        ("build_time", [1.1, 2], DOUBLE, (1.1, 2)),
        ("phone", ["+49 30 123456 7", "+49 30 765432 1"], KEYWORD, ()),
        ("x", ["+49 30 123456 7", "+49 30 765432 1"], KEYWORD, (15,)),
        ("x", ["DE89 3704 0044 0532 0130 00"], KEYWORD, (27,)),
        ("x", ["Fri Nov 27 10:00:00 2026", "Sat Nov 28 10:00:00 2026"], KEYWORD, (24,)),
        ("x", ["POINT (13.4 52.5)"], KEYWORD, (17,)),
        ("x", ["call 030 1234567 or 7654321 from 10:00 to 18:00"], {"type": "text"}, (9,)),
        ("x", ["the sea of sand", "the moon of ice", "x" * 300], {"type": "text"}, (3,)),
        ("x", ["00:1a:2b:3c:4d:5e:6f:70"], KEYWORD, (23,)),
        ("x", ["fe80::1%eth0"], KEYWORD, (12,)),
        ("x", [[0.5] * 16, [0.25] * 16], FLOAT, ("mappings/vectors", 7)),
        ("x", [True, False], {"type": "boolean"}, ()),
        ("x", ["true", "false"], KEYWORD, ()),
        ("x", [True, "no"], KEYWORD, ()),
        ("x", [1, "1"], KEYWORD, ()),
        ("x", [1, 2, 3.5, "n/a"], KEYWORD, ("1 of 4", "'n/a'")),
        ("x", ["1234.50", "12.00", "7", "1.234,50"], KEYWORD, ("1 of 4", "'1.234,50'")),
        ("x", ["2024-02-29", "2024-03-01", "soon"], KEYWORD, ("1 of 3", "'soon'")),
        ("x", ["AB1.50", "12.00", "7"], KEYWORD, (6,)),
        ("code", ["4711", "4712", "4713A"], KEYWORD, (5,)),
        ("x", ["2024-02-29", "2024-01-01T10:00:00.123Z"], DATE, ("dates", "strict_date_optional_time")),
        (
            "x",
            ["2024-02-29", "2024-01-01 10:00:00"],
            {"type": "date", "format": "strict_date_optional_time||yyyy-MM-dd HH:mm:ss", **LENIENT},
            ("dates", "strict_date_optional_time"),
        ),
        ("x", ["2019-01", "2019-12"], {"type": "date", "format": "yyyy-MM", **LENIENT}, ("dates",)),
        ("x", ["2024/02/29"], {"type": "date", "format": "yyyy/MM/dd", **LENIENT}, ("dates", "yyyy/MM/dd")),
        (
            "x",
            ["2024/02/29 10:00:00"],
            {"type": "date", "format": "yyyy/MM/dd HH:mm:ss", **LENIENT},
            ("dates", "yyyy/MM/dd"),
        ),
        ("x", ["2024-02-29 10:00:00,123"], {"type": "date", "format": f"{SECONDS},SSS", **LENIENT}, ("dates",)),
        (
            "x",
            ["2024-02-29 10:00:00.5", "2024-02-29 10:00:00.123456"],
            {"type": "date", "format": f"strict_date_optional_time||{FRACTION}", **LENIENT},
            ("dates", "millisecond"),
        ),
        (
            "x",
            ["2024-02-29 10:00:00Z", "2024-02-29 10:00:00 +0900", "2024-02-29 10:00:00 UTC"],
            {
                "type": "date",
                "format": f"strict_date_optional_time||{FRACTION}[ ][XXX][XX][X]['UTC']",
                **LENIENT,
            },
            ("dates",),
        ),
        (
            "x",
            ["26/Nov/2026:10:00:00 +0000"],
            {"type": "date", "format": "dd/MMM/yyyy:HH:mm:ss Z", "locale": "en", **LENIENT},
            ("dates",),
        ),
        (
            "x",
            ["Thu, 26 Nov 2026 10:00:00 +0000", "6 Nov 2026 10:00:00 GMT"],
            {
                "type": "date",
                "format": "strict_date_optional_time||[EEE, ]d MMM yyyy HH:mm:ss[ Z][ 'GMT'][ 'UTC']",
                "locale": "en",
                **LENIENT,
            },
            ("dates",),
        ),
        (
            "x",
            ["Fri, 26 Nov 2026 10:00:00 +0000"] * 2,
            {
                "type": "date",
                "format": "strict_date_optional_time||[EEE, ]d MMM yyyy HH:mm:ss[ Z][ 'GMT'][ 'UTC']",
                "locale": "en",
                **LENIENT,
            },
            ("dates",),
        ),
        ("x", ["29.02.2024"], {"type": "date", "format": "dd.MM.yyyy", **LENIENT}, ("dates",)),
        ("x", ["2023-02-29"], KEYWORD, (10,)),
        ("x", ["02/03/2024"], KEYWORD, (10,)),
        ("x", ["2024-01-01", ""], KEYWORD, (10,)),
        ("x", ["2024"], KEYWORD, ()),
        ("x", ["007", "12"], KEYWORD, ()),
        ("x", ["10.0.0.1", "2001:db8::1"], {"type": "ip", **LENIENT}, ()),
        ("x", ["10.0.0.256"], KEYWORD, (10,)),
        ("agent_version", ["10.0.1.2"], KEYWORD, (8,)),
        ("x", ["37.5, 127.01"], PLACE, ()),
        ("x", ["37, 127.01"], PLACE, ()),
        ("x", ["1,099.00", "2,099.00"], KEYWORD, (8,)),
        ("x", [{"lat": 37, "lon": 127.01}], PLACE, ()),
        ("iban", TITLES, KEYWORD, ()),
        ("orderId", [123456789012345678901.0], KEYWORD, ()),
        ("sort_key", [0.5, 1.25], DOUBLE, (0.5, 1.25)),
        ("tax_rate", [0.0825], DOUBLE, (0.0825,)),
        ("x", [9 * 10**18], LONG, ("9,000,000,000,000,000,000",)),
        ("x", TITLES, {"type": "text"}, (5,)),
        ("x", KOREAN, {"type": "text", "analyzer": "korean_text"}, (5,)),
        ("x", CHINESE, {"type": "text", "analyzer": "cjk_text"}, (6,)),
        ("x", ["history of the world"] * 4, KEYWORD, ()),
        ("x", ["a b c d e f g h"] * 4, {"type": "text"}, (8,)),
        ("x", ["word " * 80] * 4, {"type": "text"}, (81,)),
        ("x", ["", ""], KEYWORD, ()),
        (
            "x",
            ["x" * 300, "a"],
            {"type": "keyword", "ignore_above": 8191},
            (300,),
        ),
        ("x", ["x" * 8192], KEYWORD, ("8,192", "8,191")),
        ("x", [["a", "b"], []], KEYWORD, (1,)),
        ("x", [None, []], dict(UNINDEXED), ()),
        ("x", [{str(n): 1 for n in range(201)}], dict(UNINDEXED), ()),
        ("x", [{}, [{}], None], dict(UNINDEXED), ("empty",)),
        ("x", [{}, "text"], dict(UNINDEXED), ("empty",)),
        ("x", [{"lat": 1.5, "lon": 2}], PLACE, ()),
        (
            "x",
            [{"lat": 1.5, "lon": 2.5}, {"lat": None, "lon": None}],
            {"properties": {"lat": DOUBLE, "lon": DOUBLE}},
            (),
        ),
        (
            "x",
            [{"lat": 1.5, "lon": 2.5}, {}],
            {"properties": {"lat": DOUBLE, "lon": DOUBLE}},
            (),
        ),
        ("x", [{"a": 1}, {"a": 2.5}], {"properties": {"a": DOUBLE}}, ()),
        ("x", [[{"a": 1}, {"a": 2}]], {"properties": {"a": LONG}}, ()),
        (
            "x",
            [[{"a": 1, "b": 2}, {"a": 2}], []],
            {"type": "nested", "properties": {"a": LONG, "b": LONG}},
            (1.0,),
        ),
        ("price", [100_000 + 37 * n for n in range(500)], DOUBLE, ("100,000", "118,463")),
        ("population", [100_000 + 37 * n for n in range(500)], LONG, ("100,000", "118,463")),
        ("ts", [1_700_000_000_000_000 + n for n in range(500)], LONG, ("microseconds",)),
        ("time", [1_700_000_000_000_000 + n for n in range(500)], LONG, ("microseconds",)),
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


@pytest.mark.parametrize(
    ("value", "odd", "declared", "noun"),
    [
        ("2024-01-01", "tomorrow", DATE, "date"),
        (12, "N/A", LONG, "64-bit integer"),
        (12.5, "N/A", DOUBLE, "number"),
        ("10.0.0.1", "unknown", {"type": "ip", **LENIENT}, "address"),
        ({"lat": 1.5, "lon": 2}, "unknown", PLACE, "place"),
        ("1.5,2.5", 7, PLACE, "place"),
        (True, "unknown", {"type": "boolean", **LENIENT}, "boolean"),
        ("true", "unknown", {"type": "boolean", **LENIENT}, "boolean"),
    ],
)
def test_a_few_odd_values_are_counted_stored_and_not_indexed(
    sampled: Sampled, value: object, odd: object, declared: dict[str, Any], noun: str
) -> None:
    """A keyword would take them, and would make every other value a word."""
    documents = [{"x": value if n != 16 else odd} for n in range(100)]
    (of,) = propose(sampled(*documents), has_type={LENIENT_BOOLEAN}.__contains__).fields[:1]

    assert (of.choice.declaration, of.choice.has_odd) == (declared, True)
    assert of.choice.why.endswith(f"; 1 of 100 is no {noun} ('{odd}', {sampled.path}:17): stored, not indexed")


def test_a_number_beyond_a_double_is_one_that_no_type_indexes(tmp_path: Path) -> None:
    """Python reads it as infinite; Elasticsearch stores it."""
    path = tmp_path / "numbers.ndjson"
    path.write_bytes(b'{"x": 1e400}\n' + b'{"x": 1}\n' * 200)

    (of,) = propose(read_sample(str(path), 1009)).fields

    assert (of.type, of.choice.ignored) == ("long", 1)


def test_a_few_values_among_objects_leave_the_objects_indexed(sampled: Sampled) -> None:
    """No version ignores a value where an object is declared, so their documents go to the dead letters."""
    documents = [{"items": [{"a": 1, "b": 2}, {"a": 3}]} for _ in range(101)] + [{"items": "none"}]
    of = propose(sampled(*documents)).fields[0]

    assert (of.type, of.choice.has_odd) == ("nested", True)
    assert of.choice.why.endswith(
        f"1 of 203 is no object ('none', {sampled.path}:102): Elasticsearch rejects their documents"
    )


@pytest.mark.parametrize(
    ("values", "facts"),
    [
        ([{"a": 1}, {"a": 1}, 7], ("x", "1 of 3", "--tolerate 33.4%", "--no-search x")),
        ([{"a": 1}, "b", 7, "c"], ("x", "1 of 4", "--tolerate 25%", "--no-search x")),
        ([{"a": 1}, 7], ("x", "1 of 2", "--no-search x")),
    ],
)
def test_more_values_among_objects_are_refused_with_the_ways_on(
    sampled: Sampled, values: list[object], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Nothing is left out of the index unasked."""
    sample = sampled(*({"x": value} for value in values))
    with pytest.raises(ProfileError) as refused:
        propose(sample)

    assert str(refused.value).replace(str(sampled.path), "FILE") == message(*facts)
    assert propose(sample, Wishes(unsearched=frozenset({"x"}))).fields[0].type == "stored only"


def test_four_numbers_with_dots_are_no_addresses_beside_longer_versions(sampled: Sampled) -> None:
    """Even where few of them are none."""
    values = ["10.0.1.2"] * 200 + ["10.0.19041.388"]
    (of,) = propose(sampled(*({"agent": value} for value in values))).fields

    assert of.type == "keyword"


def test_addresses_stay_addresses_beside_one_with_leading_zeros(sampled: Sampled) -> None:
    """It is no version."""
    (of,) = propose(sampled(*({"peer": value} for value in [*["10.0.1.2"] * 200, "010.1.1.1"]))).fields

    assert of.type == "ip"


@pytest.mark.parametrize("odd", [{}, {"lat": None, "lon": None}, {"lat": 1.5}])
def test_a_few_objects_without_a_place_leave_places(sampled: Sampled, odd: object) -> None:
    """Servers store them, as everything that is no place."""
    (of,) = propose(sampled(*({"x": value} for value in [*[{"lat": 1.5, "lon": 2.5}] * 200, odd]))).fields

    assert of.choice.declaration == PLACE


def test_a_language_is_that_of_most_letters(sampled: Sampled) -> None:
    """A Korean name in each note makes no Korean notes."""
    notes = [f"please leave the {word} parcel at the door of 김민준" for word in ("red", "blue", "small", "large")]
    (of,) = propose(sampled(*({"note": note} for note in notes))).fields

    assert of.choice.declaration == {"type": "text"}


def test_a_date_here_and_there_makes_no_field_of_dates(sampled: Sampled) -> None:
    """Not even where dates come just when one string in a hundred is still looked at."""
    values = ["2024-01-01" if n % 100 == 99 else f"word{n % 7}" for n in range(1000)]
    proposal = propose(sampled(*({"placed": value} for value in values)))
    assert proposal.content["mappings"]["properties"]["placed"] == KEYWORD


def test_one_string_in_fifty_that_is_no_date_makes_no_field_of_dates(sampled: Sampled) -> None:
    """Whoever reads such a field finds words in it."""
    values = ["2024-01-01", "2024-01-02"] * 98 + ["tomorrow"] * 4
    proposal = propose(sampled(*({"placed": value} for value in values)))
    assert proposal.content["mappings"]["properties"]["placed"] == KEYWORD


def test_a_longer_string_than_those_seen_rejects_no_document(sampled: Sampled) -> None:
    """Whether the whole file was read or a part of it: other documents come after both."""
    documents = [{"x": f"c{n}"} for n in range(7)]
    for most in (3, 7):
        assert propose(sampled(*documents, most=most)).content["mappings"]["properties"]["x"] == KEYWORD


def test_the_key_is_a_keyword_whatever_it_looks_like(sampled: Sampled) -> None:
    """It is looked up."""
    proposal = propose(sampled({"n": 1}, {"n": 2}), Wishes(key="n"))

    assert [(of.type, of.choice.why) for of in proposal.fields] == [("keyword", "the key")]


def test_a_field_that_comes_later_rejects_no_document(sampled: Sampled) -> None:
    """Whether the whole file was read or a part of it; what is always null is declared with the reason."""
    documents = [{"n": n, "none": None} for n in range(3)]

    for sample in (sampled(*documents), sampled(*documents, most=2)):
        mappings = propose(sample).content["mappings"]
        assert mappings["dynamic"] is False
        assert mappings["properties"] == {"n": LONG, "none": dict(UNINDEXED)}


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
        '    "dynamic": false,\n'
        '    "_meta": {\n'
        '      "inferred_from": "the only document of books.ndjson",\n'
        '      "later": {\n'
        '        "fields": "dynamic is false: fields absent from the sample are stored but not indexed; they never '
        'cause a rejection",\n'
        '        "strings": "keyword: a string of more than 8,191 characters is stored, not indexed",\n'
        '        "objects": "an object in a field of strings or booleans rejects its document, and so it does in a '
        'field of numbers, addresses or dates, on some servers"\n'
        "      },\n"
        '      "why": {\n'
        '        "a": "1 to 1; what is no 64-bit integer is stored, not indexed",\n'
        '        "b": "an object; a value that is no object rejects its document",\n'
        '        "b.c": "up to 1 character, looked up as a whole"\n'
        "      }\n"
        "    },\n"
        '    "properties": {\n'
        '      "a": {"type": "long", "coerce": false, "ignore_malformed": true},\n'
        '      "b": {\n'
        '        "properties": {\n'
        '          "c": {"type": "keyword", "ignore_above": 8191}\n'
        "        }\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


def test_a_dotted_name_is_a_path(sampled: Sampled) -> None:
    """Elasticsearch takes `a.b` for the field `b` of the object `a`."""
    content = propose(sampled({"a.b": 1, "a": {"c": True}})).content

    assert content["mappings"]["properties"] == {"a": {"properties": {"b": LONG, "c": {"type": "boolean"}}}}


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


def test_more_nested_fields_than_an_index_takes_are_refused(sampled: Sampled, message: MakeMessage) -> None:
    """Which of them may be objects, the user says."""
    arrays = {f"x{n}": [{"a": 1, "b": 2}, {"a": 2}] for n in range(51)}
    with pytest.raises(ProfileError) as refused:
        propose(sampled(arrays))

    assert str(refused.value) == message(51, 50, "--object x50")
    assert propose(sampled(arrays), Wishes(objects=frozenset({"x50"}))).fields


def test_categories_of_more_values_than_are_told_apart_stay_keywords(sampled: Sampled, message: MakeMessage) -> None:
    """Twelve hundred of them, each many times: a sentence of its own in each document would be text."""
    shelves = [{"x": f"shelf {number % 1200} upstairs left"} for number in range(6000)]
    (of,) = propose(sampled(*shelves, most=6000)).fields
    assert (of.type, of.choice.why) == ("keyword", message("1,250"))
    (of,) = propose(sampled(*shelves[:2000], most=6000)).fields
    assert of.type == "text"
