"""`compose/secure.yaml` for real: nobody gets in who was not let in, and the pipeline runs all the same.

The tests tell one story, in their order, with one project; where one fails, those after it may fail as well.
"""

import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.compose.engine import Engine
from tests.compose.project import Project, checkout_name, documents, free_ports, own_images, wait_until
from tests.integration.metrics_attacks import FIGURE, GC, ORIGIN

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]

STREAM = {"EXPERIMENT": "quickstart", "RATE": "1009"}
INDEX = "sluice-quickstart"


@pytest.fixture(scope="module")
def project(engine: Engine, stand_ins: Mapping[str, str]) -> Iterator[Project]:
    """The pipeline with passwords and certificates, but for Kibana and Metricbeat."""
    secured = {"COMPOSE_FILE": "compose.yaml:compose/secure.yaml", "MONITORING": "observer"}
    made = Project(engine, f"{checkout_name()}-secure", {**stand_ins, **free_ports(), **own_images(), **secured})
    made.remove()
    yield made
    made.remove()


@dataclass(frozen=True)
class Doors:
    """The servers at the ports that the project publishes, and what opens them.

    Attributes:
        authority: File with the certificate that all servers' certificates are signed with.
    """

    project: Project
    authority: Path

    def secret(self, service: str, name: str) -> str:
        """What a file among the secrets of a service holds."""
        folder = "/usr/share/elasticsearch/config/secrets" if service == "elasticsearch" else "/secrets"
        return self.project("exec", "--no-TTY", service, "cat", f"{folder}/{name}")

    def client(self, port: str, **options: Any) -> httpx.Client:
        """A client of one of the servers, which trusts our authority alone."""
        context = ssl.create_default_context(cafile=str(self.authority))
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        url = f"https://localhost:{self.project.settings[port]}"
        return httpx.Client(base_url=url, verify=context, timeout=30, trust_env=False, **options)

    def elasticsearch(self) -> httpx.Client:
        """As the superuser."""
        return self.client("ELASTICSEARCH_PORT", auth=("elastic", self.secret("elasticsearch", "elastic.password")))

    def worker(self) -> httpx.Client:
        """As whoever may make connectors."""
        return self.client("CONNECT_PORT", auth=("sluice", self.secret("watch", "connect.password")))


@pytest.fixture(scope="module")
def doors(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Doors:
    """The servers, once they are up."""
    project("up", "--build", "--detach", "--wait", settings=STREAM)
    authority = tmp_path_factory.mktemp("secrets") / "ca.pem"
    found = Doors(project, authority)
    authority.write_text(found.secret("connect", "ca.pem"))
    return found


def test_up_makes_its_secrets_and_documents_arrive(project: Project, doors: Doors) -> None:
    """One command, as without security; every service is healthy or done, and the stream reaches the index."""
    running = ("kafka", "connect", "elasticsearch", "observer", "producer", "watch")
    done = ("preflight", "secrets", "access", "setup")
    assert project.states() == {**dict.fromkeys(running, "healthy"), **dict.fromkeys(done, "exited 0")}
    with doors.elasticsearch() as cluster:
        wait_until(lambda: documents(cluster, INDEX) > 1009)


def test_nobody_gets_in_without_a_secret(project: Project, doors: Doors) -> None:
    """Not to either Elasticsearch, not to the worker, not to its metrics, and not to Kafka."""
    for port, path in (
        ("ELASTICSEARCH_PORT", "/"),
        ("OBSERVER_PORT", "/"),
        ("CONNECT_PORT", "/connectors"),
        ("JOLOKIA_PORT", "/jolokia/version"),
    ):
        with doors.client(port) as stranger:
            assert stranger.get(path).status_code == httpx.codes.UNAUTHORIZED, port
    # The path that Jolokia asks for no password.
    with doors.client("JOLOKIA_PORT", headers=ORIGIN) as stranger:
        assert [stranger.post("/jolokia/config", json=asked).json()["status"] for asked in (FIGURE, GC)] == [403, 403]
    stranger = AdminClient(
        {
            "bootstrap.servers": f"localhost:{project.settings['KAFKA_PORT']}",
            "security.protocol": "ssl",
            "ssl.ca.location": str(doors.authority),
            "log_level": 0,
        }
    )
    with pytest.raises(KafkaException):
        stranger.list_topics(timeout=5)


def test_the_sink_enters_with_a_key_for_our_indices_alone(doors: Doors) -> None:
    """The key writes documents and nothing else; the worker's own interface does not show it."""
    key = dict(line.split("=", 1) for line in doors.secret("connect", "sink.properties").splitlines())["api.key"]
    with doors.client("ELASTICSEARCH_PORT", headers={"Authorization": f"ApiKey {key}"}) as sink:
        assert sink.get("/_security/_authenticate").json()["api_key"]["name"] == "sluice-sink"
        assert sink.post("/orders/_doc", json={}).status_code == httpx.codes.FORBIDDEN
        assert sink.delete(f"/{INDEX}").status_code == httpx.codes.FORBIDDEN
    with doors.worker() as worker:
        (connector,) = worker.get("/connectors").json()
        settings = worker.get(f"/connectors/{connector}/config").text
    assert "connection.api.key" in settings
    assert key not in settings


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("connect.users", "sluice"),
        ("jolokia.properties", "password"),
        ("connect-rest.properties", "listeners.https.ssl.keystore.password"),
        ("sink.properties/../connect.users", "sluice"),
        ("../secrets/connect.users", "sluice"),
    ],
)
def test_a_connector_looks_up_no_secret_but_the_sink_s(doors: Doors, file: str, key: str) -> None:
    """Not by the worker's provider, whose answers `validate` shows, and not by one that the connector brings."""
    secret = doors.secret("watch", "connect.password").strip()
    path = "/connector-plugins/ElasticsearchSinkConnector/config/validate"
    connector = {"connector.class": "io.sluice.connect.ElasticsearchSinkConnector", "topics": "thief", "name": "thief"}
    provider = {
        "config.providers": "thief",
        "config.providers.thief.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }
    with doors.worker() as worker:
        reference = f"${{file:/secrets/{file}:{key}}}"
        answer = worker.put(path, json={**connector, "index.name": reference})
        assert reference in answer.text
        assert secret not in answer.text
        answer = worker.put(path, json={**connector, "index.name": reference.replace("file", "thief", 1), **provider})
        assert answer.is_error
        assert secret not in answer.text


def test_a_connector_gives_its_consumer_no_other_credentials(doors: Doors) -> None:
    """Nor another broker, to which it would show those of the worker."""
    thief = {"connector.class": "io.sluice.connect.DiscardSinkConnector", "topics": "thief"}
    with doors.worker() as worker:
        for setting in ("bootstrap.servers", "sasl.jaas.config", "ssl.keystore.location", "config.providers"):
            answer = worker.put("/connectors/thief/config", json={**thief, f"consumer.override.{setting}": "mine"})
            assert answer.status_code == httpx.codes.BAD_REQUEST, setting


def test_only_elasticsearch_knows_its_superuser(project: Project, doors: Doors) -> None:
    """No other container holds the password, in a file or in its settings."""
    password = doors.secret("elasticsearch", "elastic.password").strip()
    for service in ("kafka", "connect", "producer", "watch"):
        held = project("exec", "--no-TTY", service, "bash", "-c", "cat /secrets/* /secrets/*/* 2>/dev/null; env")
        assert "BEGIN CERTIFICATE" in held, service
        assert password not in held, service
    inspected = project.engine.docker("inspect", *project.left("container")).stdout
    assert password not in inspected


def test_what_is_stored_is_what_was_sent(project: Project, doors: Doors) -> None:
    """The check authenticates as the lab does; asked once more for secrets, the pipeline keeps those that it has."""
    before = doors.secret("connect", "sink.properties")
    project("stop", "producer", settings=STREAM)
    assert project.verified(STREAM) > 1009
    assert "keys and passwords are set" in project("run", "--rm", "--no-deps", "access", settings=STREAM)
    assert doors.secret("connect", "sink.properties") == before


def test_down_leaves_no_secret(project: Project) -> None:
    """The secrets lie in a volume, and go with it."""
    project("down", "--volumes", settings=STREAM)
    assert [project.left(kind) for kind in ("container", "network", "volume")] == [[], [], []]
