"""What a run leaves in the servers, and what it leaves alone."""

import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.run.traces import remove_index
from tests.unit.clients.rest_server import rest

BOOKS = "sluice-books"


@pytest.mark.parametrize(
    ("owner", "removed"),
    [({"sluice": {"run": "20260101-000007"}}, True), ({"sluice": {"run": "20260101-000011"}}, False), ({}, False)],
    ids=["its own", "of another run", "of somebody else"],
)
def test_only_the_index_of_the_run_itself_is_deleted(owner: dict[str, object], *, removed: bool) -> None:
    """A run that is refused because of an index of that name must not end with its deletion."""
    answers = ((200, {BOOKS: {"mappings": {"_meta": owner}}}), (200, {"acknowledged": True}))
    with rest(*answers) as server:
        remove_index(ElasticsearchClient([server.url]), BOOKS, "20260101-000007")
    assert [method for method, _, _ in server.requests] == (["GET", "DELETE"] if removed else ["GET"])
