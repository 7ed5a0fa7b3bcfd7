"""What can be left out of a mapping, the suites that do so, and what they say in a table."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.errors import ProfileError
from lab.mapping.costs import Cost, cost_text
from lab.mapping.suites import CPU, SIZE, Documents, against_dynamic, begun_units, most_units, without_each
from lab.mapping.units import Unit, disk_bytes, grouped, units_of, with_disk_bytes
from lab.profiles.mapping import load_mapping
from lab.records.suite import Effect
from lab.suite.plan import make_plan
from tests.unit.messages import MakeMessage

BOOKS = {
    "mappings": {
        "properties": {
            "title": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
            "link": {"type": "keyword", "index": False, "doc_values": False},
            "extra": {"type": "object", "enabled": False},
            "name": {"type": "alias", "path": "title"},
            "shop": {"properties": {"id": {"type": "keyword"}, "city": {"type": "keyword"}}},
            "offers": {"type": "nested", "properties": {"price": {"type": "integer"}, "id": {"type": "keyword"}}},
        }
    }
}


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a file of books, in a working folder with a mapping of that name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mappings").mkdir()
    (tmp_path / "mappings" / "books.json").write_bytes(orjson.dumps(BOOKS))
    (tmp_path / "books.ndjson").write_bytes(b'{"title":"x"}\n')
    return "books.ndjson"


def test_units_are_the_fields_that_cost_and_a_nested_array_is_one(books: str) -> None:  # noqa: ARG001 - makes the file
    """What is only stored costs nothing that a mapping could save."""
    units = units_of(load_mapping("books"), "books")

    assert [(unit.name, unit.type) for unit in units] == [
        ("title", "text"),
        ("shop.id", "keyword"),
        ("shop.city", "keyword"),
        ("offers", "nested"),
    ]


def test_a_mapping_that_declares_nothing_cannot_be_explained(message: MakeMessage) -> None:
    """Dynamic mapping decides while documents come."""
    with pytest.raises(ProfileError) as refused:
        units_of(load_mapping("dynamic"), "dynamic")

    assert str(refused.value) == message("mapping dynamic", "./sluice mapping infer")


def test_units_are_ordered_by_what_they_take_on_disk() -> None:
    """Sub-fields, and fields of nested objects, belong to theirs; a name that only begins alike does not."""
    units = [Unit(name, (name,), "keyword") for name in ("title", "offers", "offer")]
    sizes = {"title": 3, "title.keyword": 4, "offers.price": 11, "offers.id": 2, "offer": 1, "_id": 100}

    assert [(unit.name, unit.disk_bytes) for unit in with_disk_bytes(units, sizes)] == [
        ("offers", 13),
        ("title", 7),
        ("offer", 1),
    ]
    assert with_disk_bytes(units, None) == units


def test_of_many_units_the_small_ones_are_left_out_together() -> None:
    """The time allows only so many variants."""
    units = [Unit(f"f{n}", (f"f{n}",), "keyword", 10 - n) for n in range(7)]

    chosen = grouped(units, 3)

    assert [unit.name for unit in chosen] == ["f0", "f1", "the other 5 fields"]
    assert (chosen[2].fields, chosen[2].disk_bytes) == (("f2", "f3", "f4", "f5", "f6"), 8 + 7 + 6 + 5 + 4)
    assert grouped(units, 7) == units
    assert (most_units(None), most_units(1), most_units(60)) == (7, 3, 42)


class Answering:
    """A cluster with one answer to all requests."""

    def __init__(self, status: int, answer: Any) -> None:
        self.answer = (status, answer)

    def request(self, *_: object, **__: object) -> tuple[int, Any]:
        """The answer."""
        return self.answer


@pytest.mark.parametrize(
    ("status", "answer", "sizes"),
    [
        (200, {"i": {"fields": {"a": {"total": "7b", "total_in_bytes": 7}}}}, {"a": 7}),
        (400, {"error": "no handler found"}, None),
        (405, {}, None),
    ],
)
def test_servers_before_7_15_do_not_say_what_fields_take(
    status: int, answer: Any, sizes: dict[str, int] | None
) -> None:
    """Then the order of the mapping decides."""
    cluster: Any = Answering(status, answer)
    assert disk_bytes(cluster, "i") == sizes


def test_each_variant_of_an_explanation_leaves_out_one_unit(books: str, message: MakeMessage) -> None:
    """All else is the same, and the documents go straight to Elasticsearch."""
    units = [Unit("title", ("title",), "text"), Unit("the other 2 fields", ("shop.id", "offers"), "")]

    suite = without_each("books", units, Documents(books, count=1, version="7.17.7"))

    assert [(each.name, each.against, each.profile.disabled_fields) for each in suite.variants] == [
        ("whole mapping", None, []),
        ("whole mapping (again)", "whole mapping", []),
        ("without title", "whole mapping", ["title"]),
        (message(2), "whole mapping", ["shop.id", "offers"]),
    ]
    first = suite.variants[0].profile
    assert (first.load.via, first.mapping, first.dataset.documents, first.release.version) == (
        "direct",
        "books",
        1,
        "7.17.7",
    )
    assert suite.metrics == (CPU, SIZE)


def test_an_interrupted_explanation_goes_on_with_the_same_units(books: str) -> None:
    """Its plan has them: the servers are not asked again."""
    units = [Unit("title", ("title",), "text"), Unit("the other 2 fields", ("shop.id", "offers"), "")]
    suite = without_each("books", units, Documents(books))
    plan = make_plan(suite, seed=None, skipped={}, documents={}, command=())

    assert begun_units(plan, units_of(load_mapping("books"), "books")) == units


def test_a_comparison_with_dynamic_mapping_goes_through_the_sink(books: str) -> None:
    """A direct load would be void with the first rejected document."""
    suite = against_dynamic("books", Documents(books, key="title"))

    assert [(each.name, each.profile.mapping, each.profile.load.via) for each in suite.variants] == [
        ("dynamic mapping", "dynamic", "kafka"),
        ("dynamic mapping (again)", "dynamic", "kafka"),
        ("books", "books", "kafka"),
    ]


def effect(ratio: float | None, low: float | None, high: float | None, verdict: Any) -> Effect:
    """An effect of leaving a field out."""
    return Effect(
        variant="without x", against="whole mapping", metric=CPU[0], scope=CPU[1], ratios=(), dropped_blocks=0,
        ratio=ratio, low=low, high=high, verdict=verdict, smallest_detectable=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("compared", "text"),
    [
        (effect(0.8, 0.75, 0.9, "faster"), "20 % (10 to 25)"),
        (effect(0.96, 0.9, 1.02, "undecided"), "undecided (-2.0 to 10)"),
        (effect(0.99, 0.97, 1.01, "same within 5 %"), "undecided (-1.0 to 3.0)"),
        (effect(0.97, 0.96, 0.98, "same within 5 %"), "3.0 % (2.0 to 4.0)"),
        (effect(None, None, None, "too few runs"), "too few runs"),
        (effect(0.9, 0.8, 1.0, "too few runs"), "too few runs"),
        (None, "too few runs"),
    ],
)
def test_a_cost_is_what_leaving_out_saves(compared: Effect | None, text: str) -> None:
    """With its interval; where that says nothing, so does the table."""
    assert cost_text(compared) == text


def test_the_dearest_field_comes_first() -> None:
    """By the larger cost that is decided: what is not says nothing, however large it looks."""
    guessed, unknown, cheap, dear = (
        Cost(Unit(name, (name,), ""), size, cpu)
        for name, size, cpu in (
            ("guessed", effect(0.97, 0.94, 1.01, "undecided"), effect(0.3, 0.1, 1.1, "undecided")),
            ("unknown", None, None),
            ("cheap", effect(0.9, 0.8, 0.95, "lower"), effect(0.95, 0.9, 0.99, "faster")),
            ("dear", effect(0.5, 0.4, 0.6, "lower"), effect(0.7, 0.3, 1.2, "undecided")),
        )
    )

    assert sorted([unknown, guessed, cheap, dear], key=lambda cost: cost.rank) == [dear, cheap, guessed, unknown]
