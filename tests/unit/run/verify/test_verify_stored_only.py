"""Documents with a value that is stored without being indexed, as servers of each kind list them."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.records.verification import StoredOnly
from lab.run.names import Names
from lab.run.verify.accounting import DeliveredRecords
from lab.run.verify.parts import verify_parts
from lab.run.verify.stored_only import names_of, stored_only
from lab.run.verify.verify import VerificationTarget
from tests.unit.run.verify.worlds import TOPIC, FakeCluster, FakeKafka, Prices, index_by_key

PROPERTIES = {
    "price": {"type": "double"},
    "title": {"type": "text", "fields": {"raw": {"type": "keyword", "ignore_above": 9}}},
    "sellers": {"type": "nested", "properties": {"since": {"type": "date"}}},
}


class Cluster:
    """Servers that hold 5 documents with such a value.

    Args:
        aggregates: Whether `_ignored` has doc values, as since Elasticsearch 8.15.
    """

    counts: Mapping[str, int] = {"price": 2, "sellers.since": 4, "title.raw": 2}

    def __init__(self, *, aggregates: bool) -> None:
        self.aggregates = aggregates

    def request(self, _method: str, _path: str, body: Any, *, accept: Any = ()) -> tuple[int, Any]:
        """Answer as the servers do."""
        wanted = body["aggs"]["fields"]
        if "terms" in wanted:
            if not self.aggregates:
                assert 400 in accept
                return 400, {"error": {"reason": "Fielddata is not supported on field [_ignored] of type [_ignored]"}}
            buckets: Any = [{"key": name, "doc_count": count} for name, count in self.counts.items()]
        else:
            names = (of["term"]["_ignored"] for of in wanted["filters"]["filters"].values())
            buckets = {name: {"doc_count": self.counts.get(name, 0)} for name in names}
        return 200, {"hits": {"total": {"value": 5}}, "aggregations": {"fields": {"buckets": buckets}}}

    def described(self, _index: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Its settings and its mapping."""
        return [({}, {"properties": PROPERTIES})]


@pytest.mark.parametrize("aggregates", [True, False])
def test_documents_are_counted_once_and_by_field(*, aggregates: bool) -> None:
    """Most first, whether the servers aggregate `_ignored` or each field has to be asked for."""
    found = stored_only(cast("ElasticsearchClient", Cluster(aggregates=aggregates)), "books")

    assert found.documents == 5
    assert list(found.fields.items()) == [("sellers.since", 4), ("price", 2), ("title.raw", 2)]


def test_fields_of_objects_and_further_fields_have_names() -> None:
    """As the servers name them."""
    assert list(names_of(PROPERTIES)) == ["price", "title", "title.raw", "sellers", "sellers.since"]


@pytest.mark.parametrize(
    ("counted", "found"), [({"price": 3}, StoredOnly(documents=3, fields={"price": 3})), (None, None)]
)
def test_a_run_is_verified_whether_or_not_such_documents_can_be_counted(
    counted: Mapping[str, int] | None, found: StoredOnly | None
) -> None:
    """Their number is part of its verification."""
    kafka = FakeKafka(Prices())
    names = Names("sluice-books", TOPIC, "books")
    records = DeliveredRecords(kafka.dataset.documents, kafka.dataset.documents, 0)
    target = VerificationTarget(kafka.dataset, names, records, key_is_id=True, sample=0, seed="1")
    cluster = FakeCluster(index_by_key(kafka.dataset), stored_only=counted)

    _, verification, _ = verify_parts(target, kafka, cluster, lambda *_: None)  # type: ignore[arg-type]

    assert (verification.problems, verification.stored_only) == ((), found)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            StoredOnly(documents=1, fields={"a": 1}),
            "1 document has a value that is stored, but not indexed in its field: a in 1",
        ),
        (StoredOnly(documents=1_200), "1,200 documents have a value that is stored, but not indexed in its field"),
        (
            StoredOnly(documents=9, fields=dict.fromkeys("abcdefg", 2)),
            "9 documents have a value that is stored, but not indexed in its field: a in 2, b in 2, c in 2, d in 2, "
            "e in 2, 2 more fields",
        ),
    ],
)
def test_a_sentence_names_the_first_fields(found: StoredOnly, text: str) -> None:
    """And says how many more there are."""
    assert found.text == text
