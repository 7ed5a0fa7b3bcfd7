"""A slice of a real topic: captured, redacted, and loaded again as it came."""

from pathlib import Path

import orjson
from confluent_kafka import Producer

from producers.datasets.source.slice import slice_lines
from tests.integration.conftest import Sluice

KEYS = 101
RECORDS = 1009
START_MS = 1_795_000_000_000


def fill(bootstrap: str, topic: str) -> None:
    """A topic with tombstones, records without keys, values that are no JSON, and two seconds of recorded time."""
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})
    for number in range(RECORDS):
        key = None if number % 89 == 5 else f"user-{number % KEYS}".encode()
        value: bytes | None = orjson.dumps({"user": f"user-{number % KEYS}", "card": "4111-1111", "number": number})
        if number % 97 == 3:
            value = b"no JSON"
        elif number % 13 == 7:
            value = None
        headers = [("trace", b"\xff\x00")]
        producer.produce(topic, value, key, headers=headers, timestamp=START_MS + 2 * (number - number % 100))
    assert producer.flush(30) == 0


def test_a_captured_topic_is_loaded_again_and_verified(sluice: Sluice, tmp_path: Path) -> None:
    """Redacted, at its pace, with its tombstones; what makes no document is a dead letter."""
    bootstrap = sluice.stack.endpoints().kafka_bootstrap

    from lab.clients.kafka import KafkaTopics  # noqa: PLC0415 - only this test makes a topic of its own

    kafka = KafkaTopics(bootstrap)
    kafka.create("captured", partitions=3, replication_factor=1, config={"retention.ms": -1})
    fill(bootstrap, "captured")
    rules = ("--hash", "user", "--hash", "_key", "--drop", "card", "--drop", "_header.trace")
    path = tmp_path / "peak.slz"

    misspelt = sluice("capture", "captured", "-o", str(path), "--documents", "10000", "--hash", "usr")
    assert (misspelt.status, path.exists()) == (2, False)
    captured = sluice("capture", "captured", "-o", str(path), "--documents", "10000", *rules, "--json")
    assert captured.status == 0
    assert b"4111-1111" not in b"".join(line for _, line, _ in slice_lines(str(path)))
    about = orjson.loads(captured.output)
    bad = sum(number % 97 == 3 for number in range(RECORDS))
    assert (about["records"], about["left_out"]) == (RECORDS - bad, bad)

    ran = sluice(
        "run", "file", "--path", str(path), "--pace", "recorded", "--set", "topic.partitions=3", "--json",
        "--runs", str(tmp_path / "runs"),
    )  # fmt: skip
    result = orjson.loads(ran.output)
    documents = result["documents"]
    without_key = about["null_keys"]
    assert (ran.status, result["status"], documents["missing"]) == (0, "verified", 0)
    assert (documents["produced"], documents["dead_lettered"]) == (about["records"], without_key)
    assert documents["deleted"] > 0
    load_s = next(phase["ended_s"] - phase["started_s"] for phase in result["phases"] if phase["name"] == "load")
    assert load_s >= 2.0
