"""Audits as users who may not read everything: in Elasticsearch with security, over TLS, and in Kafka with ACLs."""

import base64
import hashlib
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.target import topics_of
from lab.endpoints import HttpAccess, basic
from lab.engines import DEFAULT
from lab.errors import StackError
from lab.stack import server
from lab.stack.elasticsearch import give_to
from lab.stack.server import ServerSpec
from lab.stack.shape import StackShape
from tests.integration.audit_faults import Stream, document
from tests.integration.conftest import Finished, Sluice
from tests.integration.search_servers import servers_folder, spec_of
from tests.integration.test_remote_guarded import certificate

pytestmark = pytest.mark.long

TOPIC, GROUP = "role-books", "role-readers"
KEYS = 31
SECRET = "hunter-of-roles"
READ = ["read", "view_index_metadata"]
SETTINGS = {
    "xpack.security.enabled": True,
    "xpack.security.http.ssl": {"enabled": True, "key": "key.pem", "certificate": "certificate.pem"},
    # Roles that hide documents are no part of the basic license.
    "xpack.license.self_generated.type": "trial",
}
ROLES: Mapping[str, list[dict[str, Any]]] = {
    "reader": [{"names": ["books", "books-*"], "privileges": READ}],
    "of_alias": [{"names": ["books"], "privileges": READ}],
    "of_one": [{"names": ["books-1"], "privileges": READ}],
    "of_documents": [{"names": ["books-1"], "privileges": ["read"]}],
    "of_some": [{"names": ["books", "books-*"], "privileges": READ, "query": '{"range": {"number": {"gte": 7}}}'}],
}
ACLS: Mapping[str, list[tuple[ResourceType, str, AclOperation]]] = {
    "reads": [(ResourceType.TOPIC, TOPIC, AclOperation.READ), (ResourceType.GROUP, GROUP, AclOperation.DESCRIBE)],
    "groupless": [(ResourceType.TOPIC, TOPIC, AclOperation.READ)],
    "describes": [(ResourceType.TOPIC, TOPIC, AclOperation.DESCRIBE)],
    "stranger": [],
}
BROKER = """
listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller},GUARDED://127.0.0.1:{guarded}
advertised.listeners=PLAINTEXT://127.0.0.1:{client},GUARDED://127.0.0.1:{guarded}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,GUARDED:SASL_PLAINTEXT
listener.name.guarded.sasl.enabled.mechanisms=PLAIN
listener.name.guarded.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required {users};
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""


def hashed(password: str) -> str:
    """A password as `Hasher.PBKDF2` of Elasticsearch keeps it."""
    salt = b"s" * 32
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, 10_000, 32)
    return "$".join(("{PBKDF2}10000", *(base64.b64encode(part).decode() for part in (salt, digest))))


def secured(folder: Path) -> ServerSpec:
    """A node with TLS, and with a user of each role by the role's name."""
    spec = spec_of(DEFAULT, folder, SETTINGS)
    config = folder / "node" / "config"
    for file in certificate(folder):
        shutil.copy(file, config / file.name)
    # Without the anchors that YAML has for equal lists, and Elasticsearch does not read.
    roles = orjson.loads(orjson.dumps({name: {"indices": indices} for name, indices in ROLES.items()}))
    (config / "roles.yml").write_text(yaml.safe_dump(roles))
    (config / "users").write_text("".join(f"{name}:{hashed(SECRET)}\n" for name in (*ROLES, "superuser")))
    (config / "users_roles").write_text("".join(f"{name}:{name}\n" for name in (*ROLES, "superuser")))
    give_to(spec.run_as, folder / "node")
    return spec


def superuser(url: str, folder: Path) -> ElasticsearchClient:
    """A client that may do everything, once the node answers."""
    access = HttpAccess(basic("superuser", SECRET), folder / "certificate.pem")
    client = ElasticsearchClient([url], access=access, patience_s=60)
    for attempts_left in reversed(range(120)):
        try:
            client.request("GET", "/_cluster/health?wait_for_status=yellow")
        except StackError:
            # Roles and users are read a moment after it answers.
            if not attempts_left:
                raise
            time.sleep(0.5)
        else:
            break
    return client


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that Elasticsearch's unprivileged user may enter."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate, and is not there")
    with servers_folder() as made:
        yield made


@pytest.fixture(scope="module")
def topic(sluice: Sluice) -> Iterator[Stream]:
    """A topic of records with keys, all of them committed by a group."""
    sluice.stack.ensure(StackShape(), kept=True)
    bootstrap = sluice.stack.endpoints().kafka_bootstrap
    topics = topics_of(sluice.stack.endpoints())
    topics.create(TOPIC, partitions=1, replication_factor=1, config={})
    stream = Stream(bootstrap, TOPIC, seed=7)
    stream.send([(f"key-{number}", document(number, 0)) for number in range(KEYS)])
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP, "log_level": 0})
    reader.commit(offsets=[TopicPartition(TOPIC, 0, KEYS)], asynchronous=False)
    reader.close()
    yield stream
    topics.delete([TOPIC])


@pytest.fixture(scope="module")
def cluster(folder: Path, topic: Stream) -> str:
    """The URL of a cluster in which two indices behind an alias have a document of each record."""
    spec = secured(folder)
    server.start(spec, folder)
    url = f"https://127.0.0.1:{spec.ports['http']}"
    client = superuser(url, folder)
    for name in ("books-1", "books-2"):
        client.create_index(name, {"aliases": {"books": {}}, "settings": {"number_of_replicas": 0}})
    for key, ((_, offset, value),) in topic.history.items():
        path = f"/books-{1 + offset % 2}/_doc/{key}?version={offset}&version_type=external"
        client.request("PUT", path, value)
    client.refresh("books")
    client.close()
    return url


@pytest.fixture(scope="module")
def broker(sluice: Sluice, topic: Stream) -> Iterator[str]:
    """The address at which the broker asks for user and password, and lets each do what its ACLs say."""
    state = sluice.stack.state()
    kafka = state.server("kafka") if state else None
    assert kafka is not None
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    config = Path(kafka.spec.command[-1])
    before = config.read_text()
    users = " ".join(f'user_{name}="{SECRET}"' for name in ACLS)
    config.write_text(before + BROKER.format(**kafka.spec.ports, guarded=port, users=users))
    assert sluice("restart", "kafka").status == 0
    allowed = [
        AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        for user, acls in ACLS.items()
        for kind, name, operation in acls
    ]
    admin = AdminClient({"bootstrap.servers": topic.bootstrap})
    for made in admin.create_acls(allowed).values():
        made.result()
    yield f"127.0.0.1:{port}"
    config.write_text(before)
    assert sluice("restart", "kafka").status == 0


def asked(driver: Sluice, target: Path, *words: str) -> Finished:
    """What a command says of these servers; no defect is ever the answer."""
    done = driver(*words, "--target-file", str(target))
    assert "Traceback" not in done.output + done.errors
    assert done.status in {0, 1, 2, 3}
    return done


def target_of(folder: Path, kafka: str, url: str, user: str, kafka_user: str | None = None) -> Path:
    """A file that describes these servers, for these users."""
    client = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": kafka_user,
        "sasl.password": {"file": "secret"},
    }
    described = {
        "kafka": {"bootstrap_servers": kafka} | ({"client": client} if kafka_user else {}),
        "elasticsearch": {"urls": [url], "username": user, "password": {"file": "secret"}, "ca": "certificate.pem"},
    }
    (folder / "secret").write_text(SECRET)
    path = folder / f"{user}-{kafka_user}.yaml"
    path.write_text(yaml.safe_dump(described))
    return path


def test_a_role_that_may_only_read_is_enough(driver: Sluice, folder: Path, topic: Stream, cluster: str) -> None:
    """Over TLS, with no privilege on the cluster."""
    target = target_of(folder, topic.bootstrap, cluster, "reader")
    done = asked(driver, target, "audit", TOPIC, "books", "--json")
    told = orjson.loads(done.output)
    assert (done.status, told["fates"], told["compared"]) == (0, {"documents": KEYS}, KEYS)
    assert not [note for note in told["notes"] if "may not" in note or "hide" in note]
    done = asked(driver, target, "trace", "key-7", "--topic", TOPIC, "--index", "books")
    assert (done.status, "is stored as version 7 in books-2" in done.output) == (0, True)


@pytest.mark.parametrize(
    ("user", "index", "named"),
    [
        ("of_one", "books", "403"),
        ("of_alias", "books", "unauthorized"),
        ("of_documents", "books-1", "view_index_metadata"),
        ("nobody", "books", "401"),
    ],
)
def test_what_may_not_be_read_is_no_finding(
    driver: Sluice, folder: Path, topic: Stream, cluster: str, *, user: str, index: str, named: str
) -> None:
    """An index behind an alias but not the alias, the alias but no index, documents but no settings, nothing at all."""
    target = target_of(folder, topic.bootstrap, cluster, user)
    for words in (("audit", TOPIC, index), ("trace", "key-7", "--topic", TOPIC, "--index", index)):
        done = asked(driver, target, *words)
        assert (done.status, named in done.errors, "missing" in done.output) == (3, True, False)


@pytest.mark.parametrize(
    ("user", "index", "named"), [("of_one", "books-*", "may not read"), ("of_some", "books", "hide")]
)
def test_what_the_cluster_hides_without_a_word_is_said(
    driver: Sluice, folder: Path, topic: Stream, cluster: str, *, user: str, index: str, named: str
) -> None:
    """An index of a pattern, or some of the documents: they count as missing, and a note says why."""
    target = target_of(folder, topic.bootstrap, cluster, user)
    done = asked(driver, target, "audit", TOPIC, index)
    assert (done.status, named in done.output) == (1, True)
    done = asked(driver, target, "trace", "key-1", "--topic", TOPIC, "--index", index)
    assert (done.status, named in done.output) == (0, True)


@pytest.mark.parametrize(
    ("user", "options", "status", "named"),
    [
        ("reads", ("--group", GROUP), 0, "every record of the range is in the index"),
        ("reads", (), 0, GROUP),
        ("groupless", (), 0, "no consumer group is known"),
        ("groupless", ("--group", GROUP), 3, "Group authorization failed"),
        ("describes", (), 3, f"topic {TOPIC}: not authorized to read it"),
        ("stranger", (), 3, f"topic {TOPIC}: not authorized to describe it"),
    ],
)
def test_each_privilege_of_kafka_that_is_missing_is_named(
    driver: Sluice,
    folder: Path,
    cluster: str,
    broker: str,
    *,
    user: str,
    options: tuple[str, ...],
    status: int,
    named: str,
) -> None:
    """To read the topic is enough, without a privilege on the group by whose name this client reads."""
    done = asked(driver, target_of(folder, broker, cluster, "reader", user), "audit", TOPIC, "books", *options)
    assert (done.status, named in done.output + done.errors) == (status, True)


def test_a_capture_needs_no_more_than_to_read(driver: Sluice, folder: Path, cluster: str, broker: str) -> None:
    """And says of a topic that it may only describe that it may not read it."""
    words = ("capture", TOPIC, "--documents", "7", "-o")
    done = asked(driver, target_of(folder, broker, cluster, "reader", "groupless"), *words, str(folder / "slice.slz"))
    assert (done.status, (folder / "slice.slz").is_file()) == (0, True)
    done = asked(driver, target_of(folder, broker, cluster, "reader", "describes"), *words, str(folder / "none.slz"))
    assert (done.status, (folder / "none.slz").exists()) == (3, False)
    assert "not authorized to read it" in done.errors
