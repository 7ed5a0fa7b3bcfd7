"""The pipeline that one writes in an afternoon: read some records, parse them, send them, commit, repeat.

It stands in a race for what a sink has to be worth. One bulk request at a time, every document parsed and written
again, no retry: the first refusal ends it.
"""

import argparse
import json
import signal
from types import FrameType

import httpx
from confluent_kafka import Consumer

FULL_AFTER_S = 0.5


def arguments() -> argparse.Namespace:
    """Where to read and where to write."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--bootstrap-servers", "--topic", "--group", "--elasticsearch-url", "--index"):
        parser.add_argument(name, required=True)
    parser.add_argument("--batch-documents", type=int, default=500)
    return parser.parse_args()


def bulk_body(records: list[tuple[str, bytes]]) -> str:
    """The body of a bulk request that indexes these records, their keys as ids."""
    lines = []
    for key, value in records:
        lines += [json.dumps({"index": {"_id": key}}), json.dumps(json.loads(value), ensure_ascii=False)]
    return "\n".join(lines) + "\n"


def store(client: httpx.Client, index: str, records: list[tuple[str, bytes]]) -> None:
    """Index the records.

    Raises:
        RuntimeError: Elasticsearch refuses some of them.
    """
    response = client.post(
        f"/{index}/_bulk", content=bulk_body(records).encode(), headers={"Content-Type": "application/x-ndjson"}
    )
    response.raise_for_status()
    refused = sum(item["index"]["status"] >= 300 for item in response.json()["items"])
    if refused:
        raise RuntimeError(f"Elasticsearch refused {refused} of {len(records)} documents")


def main() -> None:
    """Read and write until told to end."""
    asked = arguments()
    ending = False

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal ending
        ending = True

    signal.signal(signal.SIGTERM, end)
    consumer = Consumer(
        {
            "bootstrap.servers": asked.bootstrap_servers,
            "group.id": asked.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([asked.topic])
    with httpx.Client(base_url=asked.elasticsearch_url, timeout=60) as client:
        while not ending:
            messages = consumer.consume(asked.batch_documents, FULL_AFTER_S)
            records = [(message.key().decode(), message.value()) for message in messages if message.error() is None]
            if records:
                store(client, asked.index, records)
                consumer.commit(asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    main()
