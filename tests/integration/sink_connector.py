"""A connector of the sink on a real worker, handled through its REST API and watched through its metrics."""

import contextlib
import itertools
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import orjson
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lab.clients.kafka import KafkaTopics
from lab.endpoints import Endpoints, urls_of
from lab.monitor.sink import JolokiaError, SinkNotRegisteredError, read_beans
from lab.records.fates import FATES as FATES_OF_RECORDS
from lab.stack.places import ROOT

PATIENCE_S = 120
POLL_S = 0.1
ATTEMPTS = 5
ANSWER_WITHIN_S = 20
FATES = (*(fate.name.title().replace("_", "") for fate in FATES_OF_RECORDS), "InFlight")
COUNTED = ("BulkRequests", "BulkRequestsFailed", "BulkRetries", "ItemRetries", "BulkRequestsInFlight")


class SinkConnector:
    """One connector that drains one topic into one index of the same name."""

    def __init__(self, endpoints: Endpoints, name: str) -> None:
        self.name = name
        self._endpoints = endpoints
        self._http = httpx.Client(timeout=90)
        self._metrics = endpoints.access.metrics.client(timeout=90)
        self._topics = KafkaTopics(endpoints.kafka_bootstrap)
        self._config: dict[str, str] = {}

    @property
    def group(self) -> str:
        """The consumer group of its tasks."""
        return f"connect-{self.name}"

    def configure(self, **settings: object) -> None:
        """Make it, or change it, from the lab's template and these settings (`__` stands for a dot)."""
        given = {name.replace("__", "."): str(value) for name, value in settings.items()}
        self._config = (self._config or self._template()) | given
        self._request("PUT", "/config", self._config)

    def configure_as(self, settings: Mapping[str, str]) -> None:
        """Make it from these settings alone, with its own name, topic and servers in place of theirs."""
        places = {
            "name": self.name,
            "topics": self.name,
            "connection.url": ",".join(self._endpoints.elasticsearch_urls),
        }
        self._config = {**settings, **places}
        self._request("PUT", "/config", self._config)

    def _template(self) -> dict[str, str]:
        template = json.loads((ROOT / "connect" / "connectors" / "elasticsearch.json").read_text())
        ours = {
            "name": self.name,
            "topics": self.name,
            "tasks.max": "2",
            "index.name": self.name,
            "connection.url": ",".join(self._endpoints.elasticsearch_urls),
        }
        return {name: value for name, value in template.items() if not name.startswith("errors.")} | ours

    def pause(self) -> None:
        """Pause it and wait until its tasks have."""
        self._request("PUT", "/pause")
        self.wait_until(lambda: set(self.states()) == {"PAUSED"}, "paused")

    def stop(self) -> None:
        """Stop it and wait until it has no tasks any more."""
        self._request("PUT", "/stop")
        self.wait_until(lambda: self.states() == [], "stopped")

    def reset_offsets(self) -> str:
        """Forget what was committed, of a stopped connector; the worker's sentence."""
        return str(self._request("DELETE", "/offsets").json()["message"])

    def set_offset(self, partition: int, offset: int) -> str:
        """Commit another offset, of a stopped connector; the worker's sentence, or why it refuses."""
        place = {"kafka_topic": self.name, "kafka_partition": partition}
        offsets = {"offsets": [{"partition": place, "offset": {"kafka_offset": offset}}]}
        return str(self._request("PATCH", "/offsets", offsets, accept=(500,)).json()["message"])

    def resume(self) -> None:
        """Let it go on after a pause or a stop."""
        self._request("PUT", "/resume")

    def restart(self, *, task: int | None = None) -> None:
        """Restart one task, or else the connector with all its tasks."""
        self._request(
            "POST", "/restart?includeTasks=true&onlyFailed=false" if task is None else f"/tasks/{task}/restart"
        )

    def delete(self) -> None:
        """Remove it, its topic left."""
        self._request("DELETE", "")
        self._http.close()
        self._metrics.close()

    def states(self) -> list[str]:
        """The state of each task, in no order."""
        status = self._request("GET", "/status", accept=(404,)).json()
        return [task["state"] for task in status.get("tasks", [])]

    def traces(self) -> list[str]:
        """Why tasks have failed, by the worker."""
        return [task["trace"] for task in self._request("GET", "/status").json()["tasks"] if "trace" in task]

    def ledgers(self) -> list[Mapping[str, int]]:
        """The ledger of each task that runs, and its counters of requests; tasks that have just ended have none."""
        names = [f"Records{fate}" for fate in ("Read", *FATES)] + list(COUNTED)
        try:
            return list(read_beans(self._metrics, self._endpoints.metrics_url or "", self.name, names).values())
        except (SinkNotRegisteredError, JolokiaError):
            return []

    def read(self) -> int:
        """Records that the running tasks have read."""
        return sum(ledger["RecordsRead"] for ledger in self.ledgers())

    def balance(self) -> list[int]:
        """What each running task has read beyond what its ledger says became of it: zeros, unless records are lost."""
        return [ledger["RecordsRead"] - sum(ledger[f"Records{fate}"] for fate in FATES) for ledger in self.ledgers()]

    def lag(self) -> int:
        """Records that are not committed yet; the whole topic until the first commit."""
        committed = self._committed()
        known = {place.partition: max(0, place.offset) for place in committed if place.topic == self.name}
        ends = self._topics.end_offsets(self.name)
        return sum(end - known.get(partition, 0) for partition, end in ends.items())

    def _committed(self) -> list[TopicPartition]:
        asked = ConsumerGroupTopicPartitions(self.group)
        for _ in range(ATTEMPTS):
            # A new client each time: an old one may wait for an answer of a broker that was killed.
            admin = AdminClient({"bootstrap.servers": self._endpoints.kafka_bootstrap, "log_level": 0})
            with contextlib.suppress(KafkaException):
                answer = admin.list_consumer_group_offsets([asked], request_timeout=ANSWER_WITHIN_S)[self.group]
                return list(answer.result().topic_partitions or [])
        raise AssertionError(f"{self.group}: the broker does not tell its offsets")

    def wait_until_drained(self, within_s: float = PATIENCE_S) -> None:
        """Return when every record of the topic is committed, and no more than that."""
        self.wait_until(lambda: self.lag() == 0, "drained", within_s)

    def wait_until(self, holds: Callable[[], bool], what: str, within_s: float = PATIENCE_S) -> None:
        """Return when it holds; a task that has failed ends the waiting."""
        deadline = time.monotonic() + within_s
        while not holds():
            assert "FAILED" not in self.states(), self.traces()
            assert time.monotonic() < deadline, f"not {what} in {within_s:.0f} s; {self.described()}"
            time.sleep(POLL_S)

    def described(self) -> str:
        """Where it stands, for the message of a test that fails."""
        return f"lag {self.lag()}, {self.states()}, {self.ledgers()}"

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, accept: tuple[int, ...] = ()
    ) -> httpx.Response:
        deadline = time.monotonic() + PATIENCE_S
        for worker in itertools.cycle(urls_of(self._endpoints.connect_url)):
            url = f"{worker}/connectors/{self.name}{path}"
            response = None
            try:
                response = self._http.request(method, url, content=orjson.dumps(body) if body else None, headers=JSON)
            except httpx.TransportError:
                assert time.monotonic() < deadline, f"{url}: the worker does not answer"
            # 409 while the worker rebalances, 5xx while it has lost its broker.
            if response is not None and response.status_code in accept:
                return response
            if response is not None and not (response.status_code == httpx.codes.CONFLICT or response.is_server_error):
                assert response.is_success, response.text
                return response
            assert time.monotonic() < deadline, f"{url}: {response.text if response else 'no answer'}"
            time.sleep(POLL_S)
        raise AssertionError(f"{self.name}: no worker")


JSON = {"Content-Type": "application/json"}
