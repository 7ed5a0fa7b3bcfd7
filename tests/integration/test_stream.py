"""Streams without end on the real servers: they go on after any stop, and nothing of them is lost."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from lab.clients.kafka import KafkaTopics
from lab.profiles import load_profile
from lab.stack.metrics_agent import USER
from lab.stream.kubernetes import SERVERS, resources
from tests.integration.conftest import ROOT, STARTED, Finished, Sluice, finished

pytestmark = pytest.mark.integration

LAP = 2003
RATE = 1009
PATIENCE_S = 120.0


class Streams:
    """`sluice stream …` with the session's servers named by variables, as in the containers."""

    def __init__(self, sluice: Sluice) -> None:
        found = sluice.stack.endpoints()
        self.environment = {
            **sluice.environment,
            "SLUICE_KAFKA_BOOTSTRAP_SERVERS": found.kafka_bootstrap,
            "SLUICE_CONNECT_URL": found.connect_url,
            "SLUICE_ELASTICSEARCH_URLS": ",".join(found.elasticsearch_urls),
            "SLUICE_METRICS_URL": str(found.metrics_url),
            "SLUICE_METRICS_USERNAME": USER,
            "SLUICE_METRICS_PASSWORD": next(iter(found.access.secrets)),
            "SLUICE_STREAM_DOCUMENTS": str(LAP),
        }
        self.connect = httpx.Client(base_url=found.connect_url, timeout=30)
        self.topics = KafkaTopics(found.kafka_bootstrap)

    def __call__(self, *arguments: str) -> Finished:
        """Run a command to its end."""
        return finished(("stream", *arguments), self.environment)

    def sending(self, profile: str) -> subprocess.Popen[str]:
        """Start sending."""
        process = subprocess.Popen(
            [str(ROOT / "sluice"), "stream", "send", profile, "--rate", str(RATE)],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        STARTED.append(process)
        return process

    def records(self, topic: str) -> int:
        """Records in the stream's topic."""
        return sum(self.topics.end_offsets(topic).values())


@pytest.fixture
def streams(sluice: Sluice, elasticsearch: httpx.Client) -> Iterator[Streams]:
    """The command; nothing of its streams is left behind."""
    made = Streams(sluice)
    yield made
    for connector in made.connect.get("/connectors").json():
        made.connect.delete(f"/connectors/{connector}")
    made.topics.delete([name for name in made.topics.names() if "-stream-" in name])
    elasticsearch.delete("/sluice-quickstart,sluice-aladin-flat?ignore_unavailable=true")
    made.connect.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return when it is so.

    Raises:
        TimeoutError: It never is.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.1)


def connector_of(streams: Streams) -> str:
    """The one connector that runs, which has the name of its topic."""
    (connector,) = streams.connect.get("/connectors").json()
    return str(connector)


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """Exit status and output of a command that this signal has ended."""
    os.kill(process.pid, number)
    output, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output + errors


def test_a_stream_goes_on_after_every_kind_of_end_and_after_another_stream(
    streams: Streams, elasticsearch: httpx.Client
) -> None:
    """Killed in its first lap, stopped in its second, and out of place for a while: in the end it is what was sent.

    One sink at a time; the first one's index and topic stay, unless its profile has changed.
    """
    assert "the stream begins" in streams("prepare", "quickstart").output
    topic = connector_of(streams)
    first = streams.sending("quickstart")
    wait_until(lambda: streams.records(topic) > RATE)
    assert ended(first, signal.SIGKILL)[0] == -signal.SIGKILL
    cut_off = streams("verify", "quickstart")
    assert cut_off.status == 3
    assert "expected the" in cut_off.errors

    second = streams.sending("quickstart")
    wait_until(lambda: streams.records(topic) > 2 * LAP)
    status, output = ended(second, signal.SIGTERM)
    assert (status, "start it again to continue there" in output) == (0, True), output

    other = streams("prepare", "aladin/flat")
    assert (other.status, other.errors) == (0, ""), other
    assert connector_of(streams).startswith("sluice-aladin-flat-")
    assert topic in streams.topics.names()

    assert "the stream goes on" in streams("prepare", "quickstart").output
    assert connector_of(streams) == topic
    verified = streams("verify", "quickstart")
    assert (verified.status, verified.errors) == (0, ""), verified
    assert (
        f"{LAP:,} of them distinct; {LAP:,} in the index, 0 dead letters, 1,000 compared: verified" in verified.output
    )

    victim = elasticsearch.get("/sluice-quickstart/_search?size=1").json()["hits"]["hits"][0]["_id"]
    elasticsearch.delete(f"/sluice-quickstart/_doc/{victim}")
    spoiled = streams("verify", "quickstart")
    assert spoiled.status == 4
    assert f"1 document is missing from the index, such as {victim}" in spoiled.errors

    assert "the stream begins" in streams("prepare", "quickstart", "--documents", "3001").output
    assert connector_of(streams) != topic
    assert topic not in streams.topics.names()


def test_what_cannot_be_streamed_is_refused(streams: Streams, tmp_path: Path) -> None:
    """With a sentence, and nothing is made."""
    refused = streams("prepare", "sink/direct")
    assert refused.status == 2
    assert "load.via: got direct, expected kafka; use `./sluice run`" in refused.errors
    unprepared = streams("send", "aladin/flat", "--heartbeat", str(tmp_path / "heartbeat"))
    assert unprepared.status == 3
    assert "no stream of exactly this profile exists" in unprepared.errors
    assert streams.connect.get("/connectors").json() == []


def test_what_kubernetes_is_told_streams_into_the_index(
    sluice: Sluice, streams: Streams, elasticsearch: httpx.Client
) -> None:
    """What operators, producers and `prepare` get, taken by real servers."""
    profile = load_profile("quickstart", overrides=(f"dataset.documents={LAP}",))
    told, *topics, connector = resources(ROOT, profile)
    first, again = streams("index", "quickstart"), streams("index", "quickstart")
    assert ("index sluice-quickstart: created" in first.output, "is there" in again.output) == (True, True)

    for topic in topics:
        spec = {"config": {}, **topic["spec"]}
        name, partitions = topic["metadata"]["name"], spec["partitions"]
        streams.topics.create(name, partitions=partitions, replication_factor=1, config=spec["config"])
    spec = connector["spec"]
    # These servers stand elsewhere and ask for no user; nothing else is changed.
    settings = {name: value for name, value in spec["config"].items() if name not in SERVERS.access.sink}
    settings |= {"connector.class": spec["class"], "tasks.max": str(spec["tasksMax"])}
    settings["connection.url"] = str(elasticsearch.base_url)
    made = streams.connect.put(f"/connectors/{connector['metadata']['name']}/config", json=settings)
    assert made.status_code == 201, made.text

    words = told["data"]["PRODUCE"].split()
    bootstrap = streams.environment["SLUICE_KAFKA_BOOTSTRAP_SERVERS"]
    clock = ("--clock-topic", told["data"]["CLOCK_TOPIC"])
    sent = sluice("produce", told["data"]["TOPIC"], "--bootstrap-servers", bootstrap, *words, *clock)
    assert (sent.status, sent.errors) == (0, "")
    wait_until(lambda: elasticsearch.get("/sluice-quickstart/_count").json()["count"] == LAP)
