"""The program of the pipeline: reads records, sends them as one bulk request, commits, until it is stopped."""

import json
import sys
from contextlib import closing

import httpx
from confluent_kafka import Consumer


def main() -> None:
    """Copy a topic into an index."""
    kafka, topic, group, elasticsearch, index, batch_documents = sys.argv[1:]
    settings = {"bootstrap.servers": kafka, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.subscribe([topic])
    http = httpx.Client(base_url=elasticsearch, headers={"Content-Type": "application/x-ndjson"}, timeout=60)
    # One that leaves its group need not be waited for by the next.
    with closing(consumer), http as client:
        while True:
            records = [record for record in consumer.consume(int(batch_documents), 0.5) if record.error() is None]
            if not records:
                continue
            ids = (json.dumps({"index": {"_id": record.key().decode()}}).encode() for record in records)
            lines = (part for pair in zip(ids, (record.value() for record in records), strict=True) for part in pair)
            answer = client.post(f"/{index}/_bulk", content=b"\n".join(lines) + b"\n").raise_for_status()
            if answer.json()["errors"]:
                sys.exit("Elasticsearch rejected documents")
            consumer.commit(asynchronous=False)


if __name__ == "__main__":
    main()
