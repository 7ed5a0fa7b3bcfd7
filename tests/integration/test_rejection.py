"""A cluster that refuses most of what it is sent, because it has one write thread and room for one request more."""

from collections.abc import Iterator

import pytest

from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice
from tests.integration.keyed_drain import KeyedDrain, keyed_drain

RECORDS = 20_011
TASKS = 4
INDEX = {
    "number_of_shards": 6,
    # Elasticsearch soon forgets which version a deleted document had. An operation that is refused, overtaken by a
    # delete and then repeated would bring the document back; the sink must not let it be overtaken.
    "gc_deletes": "1s",
}
REJECTING = StackShape(node_settings={"thread_pool.write.size": 1, "thread_pool.write.queue_size": 1})


@pytest.fixture
def drain(sluice: Sluice) -> Iterator[KeyedDrain]:
    """A drain into such a cluster."""
    endpoints = sluice.stack.ensure(REJECTING, kept=True)
    with keyed_drain(endpoints, partitions=TASKS, keys=RECORDS, index_settings=INDEX) as made:
        yield made


@pytest.mark.shape("one write thread")
def test_a_cluster_that_refuses_most_items_gets_every_document_and_kills_no_task(drain: KeyedDrain) -> None:
    """40 requests under way against a queue of one: all records arrive, and all four tasks run at the end."""
    drain.fill(RECORDS)
    drain.connector.configure(
        tasks__max=TASKS, batch__size=500, max__in__flight__requests=10, max__retries=50, retry__backoff__max__ms=2000
    )

    drain.check_everything_arrived(tasks=TASKS)

    assert sum(ledger["ItemRetries"] + ledger["BulkRetries"] for ledger in drain.connector.ledgers()) > 0
