"""Runs and suites on servers that somebody else has started, open ones and such that ask who is there."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lab.access import api_key, basic
from lab.analysis.definitions import value_of
from lab.records import Run, WarningKind
from lab.run.suite import find_suite
from lab.stack.jdk import find_jdks
from lab.suite_records import SuiteResult
from tests.integration.conftest import Sluice, write_ndjson
from tests.integration.guard import Door, guarded

DOCUMENTS = 2003
SUITE = """
question: Does a second primary shard make small drains faster?
control: one shard
variants:
  - {profile: quickstart, name: one shard}
  - {profile: quickstart, name: two shards, set: {index.number_of_shards: 2}}
  - {profile: quickstart, name: seven gigabytes, set: {elasticsearch.heap_mb: 7000}}
set: {dataset.documents: 2003}
repeats: 2
repeat_control: false
"""

# --- open servers ---------------------------------------------------------------------------------------------------


@pytest.fixture
def driver(open_folder: Callable[[], Path]) -> Iterator[Sluice]:
    """The launcher on another machine, as it were: with no servers, and a state folder of its own."""
    folder = open_folder()
    launcher = Sluice(folder / "state", folder / "runs")
    yield launcher
    assert launcher.processes() == []


@pytest.fixture
def open_target(sluice: Sluice, elasticsearch: httpx.Client, tmp_path: Path) -> Path:  # noqa: ARG001 - it is running
    """A file that describes the session's servers."""
    there = sluice.stack.endpoints()
    path = tmp_path / "target.yaml"
    path.write_text(
        f"kafka: {{bootstrap_servers: '{there.kafka_bootstrap}'}}\n"
        f"connect: {{url: '{there.connect_url}'}}\n"
        f"elasticsearch: {{urls: ['{there.elasticsearch_urls[0]}']}}\n"
        f"metrics: {{url: '{there.metrics_url}'}}\n"
    )
    return path


def on(target: Path) -> tuple[str, ...]:
    """The options that lead to these servers."""
    return ("--target", "remote", "--target-file", str(target))


def test_a_run_uses_servers_that_somebody_else_has_started(
    sluice: Sluice, driver: Sluice, open_target: Path, elasticsearch: httpx.Client
) -> None:
    """It is verified and reported like any other; nothing is started or stopped, and nothing else is touched."""
    admin = AdminClient({"bootstrap.servers": sluice.stack.endpoints().kafka_bootstrap})
    admin.create_topics([NewTopic("orders", num_partitions=1)])["orders"].result()
    elasticsearch.put("/orders").raise_for_status()
    before = sluice.stack.process_ids()
    settings = elasticsearch.get("/_cluster/settings").json()

    done = driver.run("quickstart", "--documents", str(DOCUMENTS), *on(open_target))

    assert (done.status, done.errors) == (0, "")
    result = driver.result()
    assert (result.status, result.documents.indexed) == ("verified", DOCUMENTS)
    assert result.environment.target == "remote"
    first = result.environment.servers[0]
    assert (first.name, first.version, first.pid) == ("elasticsearch-1", "8.19.21", None)
    assert value_of(result.metrics, "end_to_end_latency_ms_p99") is not None
    assert value_of(result.metrics, "cpu_s_per_million_docs", "elasticsearch") is None
    assert WarningKind.SERVERS_ELSEWHERE in {warning.kind for warning in result.warnings}
    assert "they ran on other machines" in (driver.latest() / "report.html").read_text()
    assert sluice.stack.process_ids() == before
    assert elasticsearch.get("/_cluster/settings").json() == settings
    assert "orders" in admin.list_topics(timeout=10).topics
    assert elasticsearch.head("/orders").status_code == 200
    elasticsearch.delete("/orders").raise_for_status()
    admin.delete_topics(["orders"])["orders"].result()


def test_variables_lead_to_the_same_servers(
    sluice: Sluice, driver: Sluice, elasticsearch: httpx.Client, monkeypatch: pytest.MonkeyPatch  # noqa: ARG001
) -> None:
    """A direct load, for which Kafka and the worker only have to be there."""
    there = sluice.stack.endpoints()
    monkeypatch.setenv("SLUICE_KAFKA_BOOTSTRAP_SERVERS", there.kafka_bootstrap)
    monkeypatch.setenv("SLUICE_CONNECT_URL", there.connect_url)
    monkeypatch.setenv("SLUICE_ELASTICSEARCH_URLS", ",".join(there.elasticsearch_urls))
    done = driver.run("quickstart", "--documents", str(DOCUMENTS), "--set", "load.via=direct", "--target", "remote")
    assert (done.status, done.errors) == (0, "")
    assert driver.result().documents.indexed == DOCUMENTS


def test_a_profile_that_needs_other_servers_is_refused(driver: Sluice, open_target: Path) -> None:
    """With one sentence, before anything is made."""
    done = driver.run("quickstart", "--elasticsearch", "9.5.3", *on(open_target))
    assert (done.status, done.errors) == (
        2,
        "sluice: --set elasticsearch.version: got 9.5.3, expected 8.19.21, which the cluster runs; remote servers are "
        "used as they are: leave it out, or run without --target remote\n",
    )
    assert not driver.runs.exists()


def test_a_suite_runs_what_can_run(sluice: Sluice, driver: Sluice, open_target: Path, tmp_path: Path) -> None:
    """The variant that needs other servers is left out, and nothing of the others' runs stays in the servers."""
    suite = tmp_path / "shards.yaml"
    suite.write_text(SUITE)

    done = driver("suite", str(suite), "--runs", str(driver.runs), *on(open_target))

    assert (done.status, done.errors) == (0, "")
    assert "left out: seven gigabytes" in done.output
    folder = find_suite(driver.runs, "shards")
    result = SuiteResult.model_validate_json((folder.path / "suite.json").read_bytes())
    assert result.complete
    assert {effect.variant for effect in result.effects} == {"two shards"}
    there = sluice.stack.endpoints()
    topics = AdminClient({"bootstrap.servers": there.kafka_bootstrap}).list_topics(timeout=10).topics
    assert not [name for name in topics if name.startswith("sluice-quickstart-")]
    assert httpx.get(f"{there.connect_url}/connectors").json() == []


# --- servers that ask who is there ----------------------------------------------------------------------------------

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
    store = ("-keystore", str(folder / "trust.p12"), "-storetype", "PKCS12", "-storepass", SECRETS["TRUST_SECRET"])
    subprocess.run(
        [str(keytool), "-importcert", "-noprompt", "-alias", "lab", "-file", str(made), *store],
        check=True,
        capture_output=True,
    )
    return made, key


@pytest.fixture(scope="module")
def behind_doors() -> Iterator[Guarded]:
    """Servers that were started elsewhere: Kafka with SASL, the others behind doors, Elasticsearch's with TLS."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate, and is not there")
    folder = Path(tempfile.mkdtemp(prefix="sluice-doors-"))
    folder.chmod(0o755)
    started = Sluice(folder / "state", folder / "runs")
    try:
        up = started("up")
        assert (up.status, up.errors) == (0, "")
        yield from doors_of(started, folder)
    finally:
        started.stack.stop()
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
                guarded(str(there.metrics_url).removesuffix("/jolokia"), basic("lab", SECRETS["METRICS_SECRET"]))
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

    Three books are refused, shown and, after the mapping is mended, replayed, likewise.
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
        mended = {"properties": {"pages": {"type": "long", "ignore_malformed": True}}}
        client.put(f"{behind_doors.doors[0].url}/sluice-file/_mapping", json=mended).raise_for_status()
    replayed = driver("dead-letters", "replay", *words)
    assert (replayed.output, replayed.errors) == ("3 dead letters sent again: 3 indexed\n", "")

    said = "".join(part for finished in (done, shown, replayed) for part in (finished.output, finished.errors))
    assert not [name for name, secret in SECRETS.items() if secret in said]
    assert secrets_in(driver.runs) == []


@pytest.mark.parametrize(
    ("wrong", "status", "sentence"),
    [
        ("ES_KEY", 2, "Elasticsearch does not let us in: status 401: who is there?"),
        ("METRICS_SECRET", 2, "the JMX agent does not let us in: status 401"),
        ("KAFKA_SECRET", 3, "Authentication failed: Invalid username or password"),
    ],
)
def test_a_wrong_secret_is_one_sentence_that_does_not_show_it(
    driver: Sluice,
    behind_doors: Guarded,
    monkeypatch: pytest.MonkeyPatch,
    wrong: str,
    status: int,
    sentence: str,
) -> None:
    """Before anything is made."""
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv(wrong, "bm90LXRoZS1zZWNyZXQ=")
    done = driver.run("quickstart", *on(behind_doors.target))
    assert done.status == status
    assert sentence in done.errors
    assert "bm90LXRoZS1zZWNyZXQ=" not in done.output + done.errors
    assert not driver.runs.exists()
