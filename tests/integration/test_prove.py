"""`./sluice prove` on real servers: nothing is found in our sink, and all is found in a pipeline that loses."""

from pathlib import Path

import orjson
import pytest

from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice

pytestmark = pytest.mark.timeout(300)

QUICK = ("full-queue", "reset-after", "mapping-conflict", "restart")
CARELESS = """
import json, sys
import httpx
from confluent_kafka import Consumer
kafka, topic, group, url, index = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": kafka, "group.id": group, "auto.offset.reset": "earliest"})
consumer.subscribe([topic])
headers = {"Content-Type": "application/x-ndjson"}
while True:
    records = [record for record in consumer.consume(50, 0.3) if record.error() is None and record.value()]
    lines = (part for record in records for part in
             (json.dumps({"index": {"_id": record.key().decode()}}).encode(), record.value()))
    if records:
        httpx.post(f"{url}/{index}/_bulk", content=b"\\n".join(lines) + b"\\n", headers=headers)
"""
"""Looks at no answer, and commits what it has only read."""


@pytest.fixture
def _servers(sluice: Sluice) -> None:
    sluice.stack.ensure(StackShape(), kept=True)


@pytest.mark.usefixtures("_servers")
def test_nothing_is_found_in_our_sink(sluice: Sluice, tmp_path: Path) -> None:
    """Every fault of these cases is met, and what is stored and committed is right."""
    cases = [word for name in QUICK for word in ("--case", name)]
    done = sluice("prove", "elasticsearch", *cases, "--json", "-o", str(tmp_path))
    card = orjson.loads(done.output)
    assert [(each["case"], each["judgement"]["findings"], each["failure"]) for each in card] == [
        (name, [], "") for name in QUICK
    ]
    assert [each["faults"] > 0 for each in card] == [True, True, False, True]
    assert done.status == 0


@pytest.mark.long
@pytest.mark.usefixtures("_servers")
def test_a_careless_pipeline_loses_documents_and_passes_over_bad_ones(sluice: Sluice, tmp_path: Path) -> None:
    """A program that looks at no answer."""
    program, profile = tmp_path / "careless.py", tmp_path / "careless.yaml"
    program.write_text(CARELESS)
    words = ["${python}", str(program), *(f"${{{name}}}" for name in ("kafka_bootstrap", "topic", "group"))]
    words += ["${elasticsearch_url}", "${index}"]
    profile.write_text(
        f"extends: quickstart\nquestion: Does it lose?\nsink: {{command: {orjson.dumps(words).decode()}}}\n"
    )
    cases = ("--case", "full-queue", "--case", "mapping-conflict", "--patience", "5")
    done = sluice("prove", str(profile), *cases, "--json", "-o", str(tmp_path))
    kinds = {
        each["case"]: {finding["kind"] for finding in each["judgement"]["findings"]}
        for each in orjson.loads(done.output)
    }
    assert done.status == 1
    assert kinds["full-queue"] <= {"lost", "stale"}
    assert kinds["full-queue"]
    assert kinds["mapping-conflict"] == {"dead without a word"}
