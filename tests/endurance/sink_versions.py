"""Drains of one topic by two builds of the sink in turn, as ratios: rate, CPU of the worker, heap.

Servers must run (`./sluice up`). A second worker is started beside theirs, with the plugin folder of the other build:

    python -m tests.endurance.sink_versions --before FOLDER --format struct --blocks 8
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import psutil
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.stack.local import LocalStack
from lab.stack.ports import LOOPBACK, allot_ports
from tests.endurance.say import say

WARM_UP = 3
FROM, TO = 0.1, 0.9
"""Shares of the documents between which the rate is measured: a start and an end are slow."""
WITHIN_S = 300
NOTHING = {"index_total": 0}
JSON = "org.apache.kafka.connect.json.JsonConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
FIELDS = ("title", "author", "publisher", "category", "link", "cover")
LINKS = ("link", "cover")
SCHEMA = {
    "type": "struct",
    "fields": [
        {"field": "id", "type": "int64"},
        {"field": "price", "type": "int32"},
        {"field": "rating", "type": "double"},
        {"field": "sold", "type": "boolean"},
        {"field": "listed", "type": "int64"},
        *({"field": name, "type": "string"} for name in FIELDS),
        {"field": "offers", "type": "array", "items": {"type": "int32"}},
    ],
}
CONVERTERS = {
    "bytes": {"value.converter": BYTES},
    "map": {"value.converter": JSON, "value.converter.schemas.enable": "false"},
    "struct": {"value.converter": JSON, "value.converter.schemas.enable": "true"},
}


def book(number: int) -> dict[str, object]:
    """A document of some 0.85 kB."""
    texts = {name: f"{name} {number} " + "lorem ipsum dolor " * 6 for name in FIELDS}
    texts |= {name: f"https://shop.example.org/{name}/{number}?" + "lorem+ipsum+dolor+" * 5 for name in LINKS}
    numbers = {"id": number, "price": number % 10_007, "rating": number % 50 / 10, "sold": number % 7 == 0}
    return numbers | {"listed": 1_700_000_000_000 + number, "offers": [number % 13, number % 17]} | texts


def fill(bootstrap: str, topic: str, documents: int, *, enveloped: bool) -> None:
    """Make the topic and send the documents."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 200_000})
    for number in range(documents):
        value: object = {"schema": SCHEMA, "payload": book(number)} if enveloped else book(number)
        while True:
            with contextlib.suppress(BufferError):
                producer.produce(topic, json.dumps(value).encode(), key=f"k{number}".encode())
                break
            producer.poll(1)
        producer.poll(0)
    producer.flush()


class Worker:
    """A Connect worker that runs one build of the sink."""

    def __init__(self, process: psutil.Process, url: str) -> None:
        self.process = process
        self.url = url

    def drain(self, name: str, settings: dict[str, str], elasticsearch: str, documents: int) -> tuple[float, float]:
        """Documents per second, and CPU-seconds of this worker per million documents."""
        shape = {"settings": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "30s"}}
        httpx.put(f"{elasticsearch}/{name}", json=shape).raise_for_status()
        before = sum(self.process.cpu_times()[:2])
        httpx.put(f"{self.url}/connectors/{name}/config", json=settings | {"index.name": name}).raise_for_status()
        reached = {share: reached_s(elasticsearch, name, int(share * documents)) for share in (FROM, TO, 1.0)}
        cpu_s = sum(self.process.cpu_times()[:2]) - before
        httpx.delete(f"{self.url}/connectors/{name}").raise_for_status()
        httpx.delete(f"{elasticsearch}/{name}").raise_for_status()
        return (TO - FROM) * documents / (reached[TO] - reached[FROM]), cpu_s / documents * 1e6

    def live_heap_mb(self, name: str, settings: dict[str, str], elasticsearch: str, documents: int) -> float:
        """Reachable heap in the middle of a drain."""
        httpx.put(f"{self.url}/connectors/{name}/config", json=settings | {"index.name": name}).raise_for_status()
        reached_s(elasticsearch, name, documents // 2)
        jcmd = Path(self.process.exe()).with_name("jcmd")
        histogram = subprocess.run(
            [str(jcmd), str(self.process.pid), "GC.class_histogram"], capture_output=True, text=True, check=True
        ).stdout
        reached_s(elasticsearch, name, documents)
        httpx.delete(f"{self.url}/connectors/{name}").raise_for_status()
        httpx.delete(f"{elasticsearch}/{name}").raise_for_status()
        total = re.search(r"^Total\s+\d+\s+(\d+)", histogram, re.MULTILINE)
        assert total is not None, histogram[-200:]
        return int(total[1]) / 1e6


def reached_s(elasticsearch: str, index: str, documents: int) -> float:
    """When so many documents were indexed."""
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        answer = httpx.get(f"{elasticsearch}/{index}/_stats/indexing")
        if (
            answer.is_success
            and answer.json()["_all"]["primaries"].get("indexing", NOTHING)["index_total"] >= documents
        ):
            return time.monotonic()
        time.sleep(0.03)
    raise TimeoutError(f"{index}: fewer than {documents} documents in {WITHIN_S} s")


@contextlib.contextmanager
def second_worker(first: psutil.Process, plugin: Path) -> Iterator[Worker]:
    """A worker like the first one, with another plugin folder and a group of its own."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-versions-"))
    words = first.cmdline()
    properties = dict(line.split("=", 1) for line in Path(words[-1]).read_text().splitlines() if "=" in line)
    ports = allot_ports(("connect", "metrics"), folder / "ports.json", requested={}, in_use={})
    url = f"http://{LOOPBACK}:{ports['connect']}"
    properties |= {name: f"versions-{name}" for name in properties if name == "group.id" or name.endswith(".topic")}
    properties |= {name: url for name in properties if name in {"listeners", "rest.advertised.listener"}}
    properties |= {"listeners": url, "plugin.path": str(plugin.resolve())}
    properties.pop("rest.advertised.port", None)
    (folder / "worker.properties").write_text("\n".join(f"{key}={value}" for key, value in properties.items()))
    words = [word for word in words[:-1] if not word.startswith("-javaagent")] + [str(folder / "worker.properties")]
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, cwd=folder, env=os.environ)
    try:
        deadline = time.monotonic() + WITHIN_S
        while time.monotonic() < deadline:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{url}/connectors").is_success:
                    break
            time.sleep(0.5)
        yield Worker(psutil.Process(process.pid), url)
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(folder)


def main() -> None:
    """Measure, and print one line per block and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="folder that holds the other build's plugin folder")
    parser.add_argument("--format", choices=sorted(CONVERTERS), default="bytes")
    parser.add_argument("--documents", type=int, default=300_000)
    parser.add_argument("--blocks", type=int, default=8)
    given = parser.parse_args()
    stack = LocalStack()
    endpoints = stack.endpoints()
    elasticsearch = endpoints.elasticsearch_urls[0]
    first = psutil.Process(stack.process_ids()["connect"])
    topic = f"versions-{given.format}-{int(time.time())}"
    fill(endpoints.kafka_bootstrap, topic, given.documents, enveloped=given.format == "struct")
    settings = {
        "connector.class": "io.sluice.connect.ElasticsearchSinkConnector",
        "topics": topic,
        "connection.url": elasticsearch,
        "key.converter": BYTES,
        "consumer.override.max.poll.records": "2000",
        **CONVERTERS[given.format],
    }
    with second_worker(first, given.before) as before:
        workers = {"after": Worker(first, endpoints.connect_url), "before": before}
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in workers}
        for block in range(-WARM_UP, given.blocks):
            for name in ("before", "after") if block % 2 else ("after", "before"):
                drained = workers[name].drain(
                    f"{topic}-{name}-{block + WARM_UP}", settings, elasticsearch, given.documents
                )
                say(f"{block:3} {name:6} {drained[0]:9,.0f} documents/s {drained[1]:6.2f} CPU-s per million")
                if block >= 0:
                    figures[name].append(drained)
        for number, what in enumerate(("rate", "CPU")):
            ratios = [
                after[number] / was[number] for after, was in zip(figures["after"], figures["before"], strict=True)
            ]
            say(f"{what}, after ÷ before: {np.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})")
        for name, worker in workers.items():
            heap_mb = worker.live_heap_mb(f"{topic}-heap-{name}", settings, elasticsearch, given.documents)
            say(f"reachable heap in mid-drain, {name}: {heap_mb:.0f} MB")


if __name__ == "__main__":
    main()
