"""Records that the worker does not hand to the sink, on the real servers: a verified run accounts for them by name."""

import secrets
from pathlib import Path

import httpx
from confluent_kafka import Producer

from lab.clients.kafka import KafkaTopics
from lab.monitor import read_sink_ledger
from lab.records.result import Result
from tests.integration.conftest import Sluice, write_ndjson
from tests.integration.sink_connector import SinkConnector

BOOKS = 211
UNREADABLE = (11, 13, 197)
INTEGERS = "org.apache.kafka.connect.converters.IntegerConverter"


def loaded(sluice: Sluice, folder: Path) -> Result:
    """A run whose converter reads the keys of all but three books: it takes any four bytes for a number."""
    books = [{"isbn": str(n if n in UNREADABLE else 1000 + n), "pages": n} for n in range(BOOKS)]
    path = write_ndjson(folder / "books.ndjson", books)
    config = {"key.ignore": "true", "behavior.on.null.values": "ignore", "key.converter": INTEGERS}
    given = ", ".join(f"{key}: '{value}'" for key, value in config.items())
    done = sluice.run("file", "--path", str(path), "--key", "isbn", "--set", f"sink.config={{{given}}}")
    assert (done.status, done.errors) == (0, "")
    return sluice.result()


def laws(result: Result) -> set[str]:
    """How the laws of the sink's ledger came out."""
    assert result.verification.ledger is not None
    return {check.outcome for check in result.verification.ledger.checks}


def test_what_a_converter_fails_on_is_a_dead_letter_of_the_worker(sluice: Sluice, tmp_path: Path) -> None:
    """None of the sink's; the laws hold all the same."""
    result = loaded(sluice, tmp_path)
    documents = result.documents
    assert (documents.indexed, documents.dead_lettered, documents.skipped) == (BOOKS - 3, 3, 0)
    assert (documents.missing, laws(result)) == (0, {"holds"})


def test_markers_of_transactions_are_no_skipped_records(sluice: Sluice, elasticsearch: httpx.Client) -> None:
    """Two transactions of two records each take six offsets; without a queue, the one that is no JSON is skipped."""
    endpoints, name = sluice.stack.endpoints(), f"sluice-test-{secrets.token_hex(4)}"
    connector, topics = SinkConnector(endpoints, name), KafkaTopics(endpoints.kafka_bootstrap)
    topics.create(name, partitions=1, replication_factor=1, config={})
    try:
        write_in_transactions(endpoints.kafka_bootstrap, name, (b'{"n": 1}', b"{"), (b'{"n": 2}', b'{"n": 3}'))
        json = {
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }
        connector.configure(**json, errors__tolerance="all", tasks__max=1)
        connector.wait_until(lambda: connector.read() == 3, "read")
        (task,) = read_sink_ledger(endpoints.metrics_url or "", name, access=endpoints.access.metrics).tasks.values()
        assert (task.total.read, task.skipped, task.filtered) == (3, 1, 0)
        assert topics.end_offsets(name) == {0: 6}
    finally:
        connector.delete()
        topics.delete([name])
        elasticsearch.delete(f"/{name}")


def write_in_transactions(bootstrap: str, topic: str, *transactions: tuple[bytes, ...]) -> None:
    """Write these values, each group in a transaction of its own."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    for values in transactions:
        producer.begin_transaction()
        for place, value in enumerate(values):
            producer.produce(topic, value, str(place))
        producer.commit_transaction(30)
