"""Runs and dead letters on servers that require authentication: Kafka with SASL, the others behind proxies."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson
import pytest

from lab.endpoints import api_key, basic
from lab.records.run import Run
from lab.stack.jdk import find_jdks
from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice, on, write_ndjson
from tests.integration.guard import Door, guarded

SECRETS = {
    "KAFKA_SECRET": "hunter-of-brokers",
    "CONNECT_SECRET": "hunter-of-workers",
    "METRICS_SECRET": "hunter-of-beans",
    "ES_KEY": "aHVudGVyOm9mLWluZGljZXM=",
    "TRUST_SECRET": "hunter-of-stores",
}
LISTENERS = """
listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller},GUARDED://127.0.0.1:{guarded}
advertised.listeners=PLAINTEXT://127.0.0.1:{client},GUARDED://127.0.0.1:{guarded}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,GUARDED:SASL_PLAINTEXT
listener.name.guarded.sasl.enabled.mechanisms=PLAIN
listener.name.guarded.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_lab="{password}";
"""
TARGET = """
kafka:
  bootstrap_servers: 127.0.0.1:{kafka}
  client:
    security.protocol: SASL_PLAINTEXT
    sasl.mechanism: PLAIN
    sasl.username: lab
    sasl.password: {{env: KAFKA_SECRET}}
connect: {{url: '{connect}', username: lab, password: {{file: connect.secret}}}}
metrics: {{url: '{metrics}/jolokia', username: lab, password: {{env: METRICS_SECRET}}}}
elasticsearch: {{urls: ['{elasticsearch}'], api_key: {{env: ES_KEY}}, ca: certificate.pem}}
sink:
  config:
    elastic.security.protocol: SSL
    elastic.https.ssl.truststore.location: {store}
    elastic.https.ssl.truststore.type: PKCS12
    elastic.https.ssl.truststore.password: {{env: TRUST_SECRET}}
"""


@dataclass(frozen=True)
class Guarded:
    """Servers behind doors, and the file that describes them.

    Attributes:
        doors: Elasticsearch's, the worker's and its JMX agent's.
    """

    target: Path
    doors: tuple[Door, Door, Door]


def guard_kafka(there: Sluice) -> int:
    """Give the broker one more listener, which asks for user and password; its port."""
    state = there.stack.state()
    broker = state.server("kafka") if state else None
    assert broker is not None
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    config = Path(broker.spec.command[-1])
    listeners = LISTENERS.format(**broker.spec.ports, guarded=port, password=SECRETS["KAFKA_SECRET"])
    config.write_text(config.read_text() + listeners)
    restarted = there("restart", "kafka")
    assert (restarted.status, restarted.errors) == (0, "")
    return port


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, signed by itself, and its key; the folder also gets a trust store of it."""
    made, key = folder / "certificate.pem", folder / "key.pem"
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost")
    new = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    subprocess.run([*new, *names, "-keyout", str(key), "-out", str(made)], check=True, capture_output=True)
    keytool = find_jdks()[0].java.with_name("keytool")
    store = ("-keystore", str(folder / "trust.p12"), "-storetype", "PKCS12", "-storepass:env", "TRUST_SECRET")
    subprocess.run(
        [str(keytool), "-importcert", "-noprompt", "-alias", "lab", "-file", str(made), *store],
        check=True,
        capture_output=True,
        env={**os.environ, **SECRETS},
    )
    return made, key


@pytest.fixture(scope="module")
def behind_doors(sluice: Sluice) -> Iterator[Guarded]:
    """The session's servers from elsewhere: Kafka with SASL, the others behind doors, Elasticsearch's with TLS."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate, and is not there")
    folder = Path(tempfile.mkdtemp(prefix="sluice-doors-"))
    folder.chmod(0o755)
    sluice.stack.ensure(StackShape(), kept=True)
    try:
        yield from doors_of(sluice, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def doors_of(started: Sluice, folder: Path) -> Iterator[Guarded]:
    """Doors in front of these servers, and the file that describes them."""
    there = started.stack.endpoints()
    (folder / "connect.secret").write_text(SECRETS["CONNECT_SECRET"] + "\n")
    with ExitStack() as open_doors:
        doors = (
            open_doors.enter_context(
                guarded(there.elasticsearch_urls[0], api_key(SECRETS["ES_KEY"]), certificate(folder))
            ),
            open_doors.enter_context(guarded(there.connect_url, basic("lab", SECRETS["CONNECT_SECRET"]))),
            open_doors.enter_context(
                guarded(
                    str(there.metrics_url).removesuffix("/jolokia"),
                    basic("lab", SECRETS["METRICS_SECRET"]),
                    behind=there.access.metrics.headers(),
                )
            ),
        )
        target = folder / "target.yaml"
        target.write_text(
            TARGET.format(
                kafka=guard_kafka(started),
                elasticsearch=doors[0].url,
                connect=doors[1].url,
                metrics=doors[2].url,
                store=folder / "trust.p12",
            )
        )
        yield Guarded(target, doors)


def secrets_in(folder: Path) -> list[tuple[str, str]]:
    """Every file of a folder, with every secret that it holds."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert files
    return [
        (str(path.relative_to(folder)), name)
        for path in files
        for name, secret in SECRETS.items()
        if secret.encode() in path.read_bytes()
    ]


def test_servers_that_ask_who_is_there_let_a_run_in(
    driver: Sluice, behind_doors: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each client, the connector's included, shows its credentials; no file and no line of output holds one.

    Three books are refused, shown and, after the mapping is fixed, replayed, likewise.
    """
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    refused = (7, 101, 197)
    books = [{"isbn": str(n), "pages": "unknown" if n in refused else n} for n in range(211)]
    refused_before = [door.refused for door in behind_doors.doors]
    options = ("--path", str(write_ndjson(tmp_path / "books.ndjson", books)), "--key", "isbn")

    done = driver.run("file", *options, *on(behind_doors.target))

    assert (done.status, done.errors) == (0, "")
    run = Run.model_validate_json((driver.latest() / "run.json").read_bytes())
    assert (run.documents.indexed, run.documents.dead_lettered) == (208, 3)
    assert run.sink_ledger is not None
    assert run.environment.connector["connection.api.key"] == "(hidden)"
    assert [door.refused for door in behind_doors.doors] == refused_before
    assert all(door.let_in for door in behind_doors.doors)

    words = ("--runs", str(driver.runs), *on(behind_doors.target))
    shown = driver("dead-letters", "show", "--json", *words)
    assert orjson.loads(shown.output)["records"] == 3
    headers = {"Authorization": api_key(SECRETS["ES_KEY"])}
    with httpx.Client(verify=False, headers=headers) as client:  # noqa: S501 - the door's certificate is its own
        fixed = {"properties": {"pages": {"type": "long", "ignore_malformed": True}}}
        client.put(f"{behind_doors.doors[0].url}/sluice-file/_mapping", json=fixed).raise_for_status()
    replayed = driver("dead-letters", "replay", *words)
    assert (replayed.output, replayed.errors) == ("3 dead letters sent again: 3 indexed\n", "")

    said = "".join(part for finished in (done, shown, replayed) for part in (finished.output, finished.errors))
    assert not [name for name, secret in SECRETS.items() if secret in said]
    assert secrets_in(driver.runs) == []


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("ES_KEY", (2, "Elasticsearch rejected our credentials (401): who is there?")),
        ("METRICS_SECRET", (2, "the JMX agent rejected our credentials (401)")),
        ("KAFKA_SECRET", (3, "Authentication failed: Invalid username or password")),
    ],
)
def test_a_wrong_secret_is_one_sentence_that_does_not_show_it(
    driver: Sluice,
    behind_doors: Guarded,
    monkeypatch: pytest.MonkeyPatch,
    wrong: str,
    expected: tuple[int, str],
) -> None:
    """Before anything is made."""
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv(wrong, "bm90LXRoZS1zZWNyZXQ=")
    done = driver.run("quickstart", *on(behind_doors.target))
    assert done.status == expected[0]
    assert expected[1] in done.errors
    assert "bm90LXRoZS1zZWNyZXQ=" not in done.output + done.errors
    assert not driver.runs.exists()
