"""The cluster of `compose/cluster.yaml` under test: its parts, and what its servers say of themselves."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from lab.endpoints import Endpoints, urls_of
from tests.compose.engine import Engine
from tests.compose.project import Project, checkout_name, free_ports, own_images

BROKERS = ("kafka", "kafka-2", "kafka-3")
WORKERS = ("connect", "connect-2")
NODES = ("elasticsearch", "elasticsearch-2", "elasticsearch-3")
PRODUCERS = ("producer", "producer-2")
FILES = "compose.yaml:compose/cluster.yaml:tests/compose/frugal.yaml"
SMALL = {
    "KAFKA_HEAP": "256m",
    "CONNECT_HEAP": "384m",
    "ELASTICSEARCH_HEAP": "512m",
    "ELASTICSEARCH_MEMORY": "1152m",
    "MONITORING": "off",
}
WHOLE_WITHIN_S = 300
LOOK_S = 0.5
ANSWER_WITHIN_S = 10


@dataclass(frozen=True)
class Cluster:
    """One project of the cluster, its servers at the ports that it publishes."""

    project: Project

    @property
    def endpoints(self) -> Endpoints:
        """All servers, as this machine sees them."""
        workers = (self._url("CONNECT_PORT"), self._url("CONNECT_2_PORT"))
        agents = (f"{self._url(port)}/jolokia" for port in ("JOLOKIA_PORT", "JOLOKIA_2_PORT"))
        brokers = (self.project.settings[port] for port in ("KAFKA_PORT", "KAFKA_2_PORT", "KAFKA_3_PORT"))
        nodes = ("ELASTICSEARCH_PORT", "ELASTICSEARCH_2_PORT", "ELASTICSEARCH_3_PORT")
        return Endpoints(
            kafka_bootstrap=",".join(f"localhost:{port}" for port in brokers),
            connect_url=",".join(workers),
            elasticsearch_urls=tuple(self._url(port) for port in nodes),
            metrics_url=",".join(agents),
        )

    def _url(self, port: str) -> str:
        return f"http://localhost:{self.project.settings[port]}"

    def worker_url(self, service: str) -> str:
        """The REST API of one worker."""
        return urls_of(self.endpoints.connect_url)[WORKERS.index(service)]

    def node_url(self, service: str) -> str:
        """One node."""
        return self.endpoints.elasticsearch_urls[NODES.index(service)]

    def places(self, connector: str, worker: str) -> dict[int, tuple[str, str]]:
        """For each task of a connector its state and the worker that has it, by one worker; none without an answer."""
        status = answer_of(f"{self.worker_url(worker)}/connectors/{connector}/status")
        tasks = status["tasks"] if status else []
        return {task["id"]: (task["state"], str(task["worker_id"]).partition(":")[0]) for task in tasks}

    def connectors(self) -> list[str]:
        """The names of all connectors; none while no worker answers."""
        answers = (answer_of(f"{url}/connectors") for url in urls_of(self.endpoints.connect_url))
        return next((list(answer) for answer in answers if answer is not None), [])

    def unwhole(self) -> str:
        """What is not as it should be before a part may fail; empty where all is."""
        health = [answer_of(f"{url}/_cluster/health") or {} for url in self.endpoints.elasticsearch_urls]
        if any((said.get("status"), said.get("number_of_nodes")) != ("green", 3) for said in health):
            return f"Elasticsearch: {[(said.get('status'), said.get('number_of_nodes')) for said in health]}"
        if missing := self.copies_missing():
            return f"Kafka: {missing}"
        for worker in WORKERS:
            if answer_of(self.worker_url(worker)) is None:
                return f"{worker}: no answer"
        places = {name: self.places(name, WORKERS[0]) for name in self.connectors()}
        found = {place for tasks in places.values() for place in tasks.values()}
        return "" if found == {("RUNNING", worker) for worker in WORKERS} else f"tasks: {places}"

    def copies_missing(self) -> str:
        """Partitions that are not on all three brokers."""
        try:
            client = AdminClient({"bootstrap.servers": self.endpoints.kafka_bootstrap, "log_level": 0})
            topics = client.list_topics(timeout=ANSWER_WITHIN_S).topics.values()
        except KafkaException as error:
            return str(error.args[0].str())
        short = [topic.topic for topic in topics if any(len(part.isrs) < 3 for part in topic.partitions.values())]
        return ", ".join(short)

    def wait_until_whole(self, within_s: float = WHOLE_WITHIN_S) -> None:
        """Return when every copy of everything is there, and every task runs."""
        wait_until(lambda: not self.unwhole(), self.unwhole, within_s)


def wait_until(holds: Callable[[], bool], what: Callable[[], str], within_s: float) -> None:
    """Return when it holds; what does not, where it never does."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {within_s:.0f} s: {what()}"
        time.sleep(LOOK_S)


def answer_of(url: str, body: Mapping[str, object] | None = None, *, within_s: float = ANSWER_WITHIN_S) -> Any:
    """What a server answers; `None` without an answer, or with an error."""
    try:
        method = "GET" if body is None else "POST"
        answer = httpx.request(method, url, json=body, timeout=within_s, trust_env=False)
        return answer.json() if answer.is_success else None
    except (httpx.HTTPError, ValueError):
        return None


@contextmanager
def cluster_of(engine: Engine, stand_ins: Mapping[str, str], name: str, **settings: str) -> Iterator[Cluster]:
    """A cluster that is not up yet, and of which nothing is left afterwards.

    Args:
        name: What tells its project from others of this checkout.
        settings: What its user would write into `.env` besides.
    """
    ours = {"COMPOSE_FILE": FILES, **SMALL, **stand_ins, **free_ports(), **own_images(), **settings}
    project = Project(engine, f"{checkout_name()}-{name}", ours)
    project.remove()
    try:
        yield Cluster(project)
    finally:
        project.remove()
