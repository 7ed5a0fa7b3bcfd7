"""The file and the variables that describe servers elsewhere."""

import os
import re
from pathlib import Path

import certifi
import pytest

from lab.endpoints import HttpAccess, api_key, basic
from lab.errors import ProfileError
from lab.profiles.remote import load_remote
from tests.unit.messages import MakeMessage

WHOLE = """\
kafka:
  bootstrap_servers: broker-1:9093,broker-2:9093
  client:
    security.protocol: SASL_SSL
    sasl.mechanism: SCRAM-SHA-512
    sasl.username: sluice
    sasl.password: {env: KAFKA_PASSWORD}
    enable.ssl.certificate.verification: true
connect:
  url: https://connect.example.org:8083/
  username: sluice
  password: {file: connect.secret}
elasticsearch:
  urls: [https://es-1.example.org:9200, https://es-2.example.org:9200]
  api_key: {env: ES_KEY}
metrics:
  url: http://connect.example.org:8778/jolokia/
sink:
  elasticsearch_urls: [https://es.internal:9200]
  config:
    elastic.security.protocol: SSL
    elastic.https.ssl.truststore.location: /etc/connect/trust.jks
    elastic.https.ssl.truststore.password: {env: TRUST_PASSWORD}
"""
LEAST = """\
kafka: {bootstrap_servers: "broker:9092"}
connect: {url: "http://connect:8083"}
elasticsearch: {urls: ["http://es:9200"]}
"""
VARIABLES = {"KAFKA_PASSWORD": "hunter3", "ES_KEY": "aWQ6a2V5", "TRUST_PASSWORD": "hunter7"}


def described(folder: Path, text: str) -> Path:
    """A file with this text, and the file of the password that it names."""
    (folder / "connect.secret").write_text("hunter5\n")
    path = folder / "target.yaml"
    path.write_text(text)
    return path


def refused(folder: Path, text: str) -> str:
    """Why a file is refused, the folder's name left out."""
    with pytest.raises(ProfileError) as error:
        load_remote(described(folder, text), VARIABLES)
    return str(error.value).replace(f"{folder}/", "")


def test_a_file_says_where_servers_are_and_how_to_authenticate(tmp_path: Path) -> None:
    """Secrets come from variables and from files beside it."""
    servers = load_remote(described(tmp_path, WHOLE), VARIABLES)
    assert (servers.kafka_bootstrap, servers.connect_url) == (
        "broker-1:9093,broker-2:9093",
        "https://connect.example.org:8083",
    )
    assert servers.elasticsearch_urls == ("https://es-1.example.org:9200", "https://es-2.example.org:9200")
    assert servers.metrics_url == "http://connect.example.org:8778/jolokia/"
    assert servers.access.connect == HttpAccess(basic("sluice", "hunter5"))
    assert servers.access.elasticsearch == HttpAccess(api_key("aWQ6a2V5"))
    assert servers.access.metrics == HttpAccess()
    assert servers.access.kafka == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "sluice",
        "sasl.password": "hunter3",
        "enable.ssl.certificate.verification": "true",
    }
    assert servers.access.secrets == {"hunter3", "hunter5", "hunter7", "aWQ6a2V5"}


def test_the_connector_is_told_where_elasticsearch_is_and_who_it_is(tmp_path: Path) -> None:
    """The worker may see other addresses, and has files of its own for the authorities that it trusts."""
    assert load_remote(described(tmp_path, WHOLE), VARIABLES).access.sink == {
        "connection.url": "https://es.internal:9200",
        "connection.api.key": "aWQ6a2V5",
        "elastic.security.protocol": "SSL",
        "elastic.https.ssl.truststore.location": "/etc/connect/trust.jks",
        "elastic.https.ssl.truststore.password": "hunter7",
    }


def test_a_connector_with_credentials_of_its_own_is_told_no_others(tmp_path: Path) -> None:
    """The worker looks them up itself, so that no secret leaves this machine."""
    own = "sink: {config: {connection.api.key: '${file:/etc/connect/secrets:es}'}}\n"
    text = LEAST.replace('9200"]}', '9200"], username: lab, password: {env: ES_KEY}}') + own
    servers = load_remote(described(tmp_path, text), VARIABLES)
    assert servers.access.sink == {"connection.api.key": "${file:/etc/connect/secrets:es}"}
    assert servers.access.elasticsearch == HttpAccess(basic("lab", "aWQ6a2V5"))


def test_servers_without_security_need_their_addresses_only(tmp_path: Path) -> None:
    """Nothing else is sent to them."""
    servers = load_remote(described(tmp_path, LEAST), {})
    assert servers.access.kafka == servers.access.sink == {}
    assert (servers.access.elasticsearch, servers.access.secrets, servers.metrics_url) == (
        HttpAccess(),
        frozenset(),
        None,
    )


def test_a_command_that_only_reads_needs_no_worker(tmp_path: Path) -> None:
    """A pipeline such as Logstash has none."""
    text = LEAST.replace('connect: {url: "http://connect:8083"}\n', "")
    servers = load_remote(described(tmp_path, text), {}, needs_connect=False)
    assert (servers.connect_url, servers.kafka_bootstrap) == ("", "broker:9092")
    assert load_remote(described(tmp_path, LEAST), {}, needs_connect=False).connect_url == "http://connect:8083"


def test_a_single_url_needs_no_list(tmp_path: Path) -> None:
    """It is one node of a cluster all the same."""
    servers = load_remote(described(tmp_path, LEAST.replace('["http://es:9200"]', "http://es:9200/")), {})
    assert servers.elasticsearch_urls == ("http://es:9200",)


def test_the_environment_says_the_same_as_a_file() -> None:
    """A variable for each key; those of Kafka's client and of the connector in capitals."""
    servers = load_remote(
        None,
        {
            "SLUICE_KAFKA_BOOTSTRAP_SERVERS": "broker:9092",
            "SLUICE_KAFKA_CLIENT_SASL_PASSWORD": "hunter3",
            "SLUICE_KAFKA_CLIENT_SASL_USERNAME": "sluice",
            "SLUICE_CONNECT_URL": "http://connect:8083",
            "SLUICE_CONNECT_USERNAME": "sluice",
            "SLUICE_CONNECT_PASSWORD": "hunter5",
            "SLUICE_ELASTICSEARCH_URLS": "http://es-1:9200, http://es-2:9200",
            "SLUICE_ELASTICSEARCH_API_KEY": "aWQ6a2V5",
            "SLUICE_SINK_ELASTICSEARCH_URLS": "http://es.internal:9200",
            "SLUICE_SINK_CONFIG_READ_TIMEOUT_MS": "7000",
            "SLUICE_CACHE": "/somewhere",
        },
    )
    assert servers.access.kafka == {"sasl.password": "hunter3", "sasl.username": "sluice"}
    assert servers.access.connect == HttpAccess(basic("sluice", "hunter5"))
    assert servers.elasticsearch_urls == ("http://es-1:9200", "http://es-2:9200")
    assert servers.access.sink == {
        "connection.url": "http://es.internal:9200",
        "connection.api.key": "aWQ6a2V5",
        "read.timeout.ms": "7000",
    }
    assert servers.access.secrets == {"hunter3", "hunter5", "aWQ6a2V5"}


def test_an_environment_that_says_nothing_is_refused(message: MakeMessage) -> None:
    """The sentence says what there could have been."""
    with pytest.raises(ProfileError) as error:
        load_remote(None, {"SLUICE_CACHE": "/somewhere"})
    assert str(error.value) == message("--target-file", "SLUICE_ELASTICSEARCH_URLS", "docs/remote.md")


def test_a_variable_with_a_wrong_name_is_reported(message: MakeMessage) -> None:
    """By its own name, and with the one that was meant."""
    with pytest.raises(ProfileError) as error:
        load_remote(
            None,
            {
                "SLUICE_KAFKA_BOOTSTRAP_SERVERS": "broker:9092",
                "SLUICE_CONNECT_URLL": "http://connect:8083",
                "SLUICE_ELASTICSEARCH_URLS": "http://es:9200",
            },
        )
    assert str(error.value).splitlines() == [
        message("SLUICE_CONNECT_URLL", "connect.url", "https://connect.example.org:8083"),
        message("SLUICE_CONNECT_URLL", "connect.urll", "url"),
    ]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            LEAST.replace("connect:", "conect:", 1),
            [("target.yaml:1: connect", "url"), ("target.yaml:2: conect", "connect")],
        ),
        (
            LEAST.replace("http://es:9200", "es:9200"),
            [("target.yaml:3: elasticsearch.urls[0]", "es:9200", "https://host:9200")],
        ),
        (
            LEAST.replace("http://es:9200", "http://lab:hunter2@es:9200"),
            [("target.yaml:3: elasticsearch.urls[0]", "username", "password")],
        ),
        (
            LEAST.replace('8083"}', '8083", username: lab, password: hunter2}'),
            [("target.yaml:2: connect.password", "{env: NAME}", "{file: PATH}")],
        ),
        (LEAST.replace('8083"}', '8083", username: lab}'), [("target.yaml:2: connect.username", "password")]),
        (
            LEAST.replace('9200"]}', '9200"], username: lab, password: {env: ES_KEY}, api_key: {env: ES_KEY}}'),
            [("target.yaml:3: elasticsearch.api_key", "user")],
        ),
        (
            LEAST.replace('9200"]}', '9200"], api_key: {env: NO_SUCH}}'),
            [("target.yaml:3: elasticsearch.api_key", "NO_SUCH")],
        ),
        (
            LEAST.replace('9200"]}', '9200"], api_key: {file: no-such}}'),
            [("target.yaml:3: elasticsearch.api_key: no-such",)],
        ),
        (
            LEAST.replace('9200"]}', '9200"], ca: connect.secret}'),
            [("target.yaml:3: elasticsearch.ca", "connect.secret")],
        ),
        (
            LEAST.replace('9092"}', '9092", client: {sasl.password: hunter2}}'),
            [("target.yaml:1: kafka.client.sasl.password", "{env: NAME}", "{file: PATH}")],
        ),
        (
            LEAST.replace('9092"}', '9092", client: {bootstrap.servers: "b:1"}}'),
            [("target.yaml:1: kafka.client.bootstrap.servers", "kafka.bootstrap_servers")],
        ),
        (
            LEAST + "sink: {config: {connection.headers: 'X-Token:hunter2'}}\n",
            [("target.yaml:4: sink.config.connection.headers", "{env: NAME}", "{file: PATH}")],
        ),
        (
            LEAST.replace('["http://es:9200"]', '"http://lab:hunter2@es:9200"'),
            [("target.yaml:3: elasticsearch.urls[0]", "username", "password")],
        ),
        (LEAST.replace('9092"}', '9092", client: sasl.password=hunter2}'), [("target.yaml:1: kafka.client",)]),
        (
            LEAST.replace('9092"}', '9092", client: {security.protocol: [SSL]}}'),
            [("target.yaml:1: kafka.client.security.protocol", "{env: NAME}", "{file: PATH}")],
        ),
        (
            LEAST.replace('9200"]}', '9200"], password: 0123}'),
            [("target.yaml:3: elasticsearch.password", "{env: NAME}", "{file: PATH}", "docs/remote.md")],
        ),
        ("- hunter2\n", [("target.yaml:1", "kafka", "connect", "docs/remote.md")]),
    ],
)
def test_a_wrong_file_is_refused_line_by_line(
    tmp_path: Path, text: str, facts: list[tuple[object, ...]], message: MakeMessage
) -> None:
    """Each problem where it stands; a value that might be a secret is never shown."""
    sentences = refused(tmp_path, text)
    assert sentences.splitlines() == [message(*each) for each in facts]
    assert "hunter" not in sentences
    assert "0123" not in sentences


@pytest.mark.parametrize("key", ["id:key", "a\nb", "ключ"])
def test_an_api_key_that_no_header_can_carry_is_refused(tmp_path: Path, key: str, message: MakeMessage) -> None:
    """The HTTP client would refuse it with the key in its message."""
    path = described(tmp_path, LEAST.replace('9200"]}', '9200"], api_key: {env: KEY}}'))
    with pytest.raises(ProfileError) as error:
        load_remote(path, {"KEY": key})
    assert str(error.value) == message(f"{path}:3", "elasticsearch.api_key", "encoded")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """With its name."""
    with pytest.raises(ProfileError) as error:
        load_remote(tmp_path / "none.yaml", os.environ)
    assert str(error.value) == message(tmp_path / "none.yaml", "docs/remote.md")


# --- the documentation ----------------------------------------------------------------------------------------------

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "remote.md").read_text(encoding="utf-8")


def examples(kind: str) -> list[str]:
    """The examples of the page in one language."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_file_of_the_documentation_is_one(tmp_path: Path) -> None:
    """Given the secrets and authorities that it names."""
    (tmp_path / "ca.pem").write_text(Path(certifi.where()).read_text())
    (tmp_path / "connect.password").write_text("hunter5\n")
    (tmp_path / "metrics.password").write_text("hunter11\n")
    whole, own_credentials = examples("yaml")
    variables = {"KAFKA_PASSWORD": "hunter3", "ES_API_KEY": "aWQ6a2V5", "TRUST_PASSWORD": "hunter7"}
    servers = load_remote(described(tmp_path, whole), variables)
    assert servers.access.connect == HttpAccess(basic("sluice", "hunter5"), tmp_path / "ca.pem")
    assert servers.access.metrics == HttpAccess(basic("sluice", "hunter11"))
    assert servers.access.sink["connection.url"] == "https://es.internal:9200"
    more = load_remote(described(tmp_path, LEAST + own_credentials), {})
    assert more.access.sink == {"connection.api.key": "${file:/etc/connect/secrets.properties:elasticsearch}"}


def test_the_variables_of_the_documentation_are_enough() -> None:
    """As they stand there."""
    words = " ".join(line for block in examples("sh") for line in block.splitlines() if line.startswith("export "))
    variables = dict(word.split("=", 1) for word in words.replace("export ", "").split())
    servers = load_remote(None, {**variables, "SLUICE_ELASTICSEARCH_API_KEY": "aWQ6a2V5"})
    assert servers.access.kafka == {"security.protocol": "SSL"}
    assert servers.elasticsearch_urls == ("https://es-1:9200", "https://es-2:9200")
    assert servers.access.elasticsearch == HttpAccess(api_key("aWQ6a2V5"))


def test_several_workers_of_one_group_are_named_in_one_line(tmp_path: Path, message: MakeMessage) -> None:
    """Each of them is a URL."""
    two = LEAST.replace("http://connect:8083", "http://connect-1:8083/, http://connect-2:8083")
    assert load_remote(described(tmp_path, two), {}).connect_url == "http://connect-1:8083,http://connect-2:8083"
    assert refused(tmp_path, two.replace("connect-2:8083", "connect-2:x")) == message(
        "target.yaml:2: connect.url", "http://connect-2:x", "https://host:9200"
    )
