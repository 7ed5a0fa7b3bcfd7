"""Connectors read no file of the worker's machine: any process of it may make one, for the worker has no password."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest

from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice
from tests.unit.http_server import serving

SECRET = "hunter-of-files"
PROVIDER = {
    "config.providers": "thief",
    "config.providers.thief.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
}
"""Whatever reads its settings as Kafka's clients do loads the providers that these settings name themselves."""


@pytest.fixture
def reference(tmp_path: Path) -> str:
    """How a setting refers to a file that only the user who runs the servers may read."""
    file = tmp_path / "root.properties"
    file.touch(mode=0o600)
    file.write_text(f"token={SECRET}\n")
    return f"${{thief:{file}:token}}"


@pytest.fixture
def worker(sluice: Sluice) -> Iterator[httpx.Client]:
    """The session's worker, as any process of this machine reaches it."""
    sluice.stack.ensure(StackShape(), kept=True)
    with httpx.Client(base_url=sluice.stack.endpoints().connect_url, timeout=60) as client:
        yield client
        client.delete("/connectors/thief")


def test_a_connector_with_a_provider_of_its_own_sends_no_file_away(worker: httpx.Client, reference: str) -> None:
    """The worker has no provider; the connector's own settings name one, and the server that the secret is shown to."""
    shown: list[str] = []

    class Thief(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(str(self.headers["Authorization"]))
            self.send_error(503)

        do_POST = do_GET  # noqa: N815

    sink = {"connector.class": "io.sluice.connect.ElasticsearchSinkConnector", "topics": "thief", "name": "thief"}
    with serving(Thief) as url:
        answer = worker.put(
            "/connectors/thief/config",
            json={**sink, "connection.url": url, "connection.api.key": reference, **PROVIDER},
        )
    assert SECRET not in answer.text
    assert [header for header in shown if SECRET in header] == []
    assert answer.is_error


def test_a_connector_gives_no_provider_to_its_consumer(worker: httpx.Client, reference: str) -> None:
    """A file's content would be the name of the consumer, and so of the metrics that anyone reads."""
    overrides = {"client.id": reference, **PROVIDER}
    answer = worker.put(
        "/connectors/thief/config",
        json={
            "connector.class": "io.sluice.connect.DiscardSinkConnector",
            "topics": "thief",
            **{f"consumer.override.{name}": value for name, value in overrides.items()},
        },
    )
    assert answer.status_code == httpx.codes.BAD_REQUEST
    assert "'config.providers'" in answer.text


@pytest.mark.parametrize(
    "setting", ["bootstrap.servers", "sasl.jaas.config", "ssl.keystore.location", "ssl.truststore.location"]
)
def test_a_connector_changes_no_address_and_no_credentials_of_its_consumer(worker: httpx.Client, setting: str) -> None:
    """Each opens files, loads classes or shows the worker's credentials to a server of the connector's choice."""
    answer = worker.put(
        "/connectors/thief/config",
        json={
            "connector.class": "io.sluice.connect.DiscardSinkConnector",
            "topics": "thief",
            f"consumer.override.{setting}": "/etc/shadow",
        },
    )
    assert answer.status_code == httpx.codes.BAD_REQUEST
