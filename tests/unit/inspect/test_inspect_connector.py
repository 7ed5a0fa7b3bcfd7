"""The configuration of a connector: where its records come from and go to, and what is never shown of it."""

from dataclasses import replace

import pytest

from lab.clients.connect import topics_read
from lab.inspect.connector import cleaner, index_of, settings_of
from tests.unit.inspect.pipelines import CONNECTOR

SECRETS = {
    "connection.password": "hunter2!",
    "connection.headers": "X-Api: opensesame",
    "consumer.override.sasl.jaas.config": 'ScramLoginModule required username="u" password="jaas-secret";',
    "elastic.https.ssl.keystore.password": "keystore-pass",
    "value.converter.basic.auth.user.info": "registry:registry-pass",
}
ROUTER = {
    "transforms": "r",
    "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.r.regex": "shop\\.(.*)",
    "transforms.r.replacement": "es-$1",
}
DATED = {"transforms": "t", "transforms.t.type": "org.apache.kafka.connect.transforms.TimestampRouter"}


@pytest.mark.parametrize(
    ("config", "index"),
    [
        ({}, "shop.orders"),
        ({"index.name": "books-${topic}-{yyyy.MM.dd}"}, "books-shop.orders-*"),
        ({"topic.to.external.resource.mapping": "a:b,shop.Orders:Sales"}, "Sales"),
        ({"topic.index.map": "shop.Orders:sales"}, "sales"),
        ({"data.stream.type": "LOGS", "data.stream.dataset": "shop"}, "logs-shop-shop.orders"),
        ({"data.stream.type": "NONE", "data.stream.dataset": "shop"}, "shop.orders"),
        ({"data.stream.enabled": "TRUE", "data.stream.prefix": "logs"}, "logs-shop.orders"),
        ({"data.stream.enabled": "false", "data.stream.prefix": "logs"}, "shop.orders"),
        (ROUTER, "es-orders"),
        (ROUTER | {"transforms.r.replacement": "es-$0"}, "es-shop.orders"),
        (ROUTER | {"transforms.r.replacement": "_$1"}, "orders"),
        (DATED, "shop.orders-*"),
        (ROUTER | {"transforms.r.regex": "\\p{L}"}, "shop.orders"),
    ],
)
def test_the_index_is_where_the_connector_puts_the_topic(config: dict[str, str], index: str) -> None:
    """By name, template, list, data stream, and the two transforms; no name begins with an underscore."""
    assert index_of(config, "shop.Orders") == index


@pytest.mark.parametrize("index", [".ds-logs-shop-2026.11.27-000003", ".ds-logs-shop-000003", "logs-shop"])
def test_an_index_behind_a_data_stream_has_the_topics_of_that(index: str) -> None:
    """OpenSearch names it without a date."""
    into = {"logs": "logs-shop", "orders": "orders"}

    assert replace(CONNECTOR, topics=("logs", "orders"), by_topic=into).topics_into(index) == ("logs",)


def test_topics_are_the_named_ones_or_the_used_ones_of_the_pattern() -> None:
    """A topic that is used no more and outside the pattern is none."""
    assert topics_read({"topics": "b, a"}, ["c"]) == ("a", "b")
    assert topics_read({"topics.regex": "shop-.*"}, ["shop-b", "old", "shop-a"]) == ("shop-a", "shop-b")
    assert topics_read({"topics.regex": r"\p{L}+"}, ["b", "a"]) == ("a", "b")
    assert topics_read({"topics.regex": ".*"}, ["b", "__consumer_offsets"]) == ("b",)
    assert topics_read({"topics.regex": "shop-.*"}, ["shop-b"], ["shop-a", "old"]) == ("shop-a", "shop-b")
    assert topics_read({"topics.regex": r"\p{L}+"}, ["b", "a"], ["old"]) == ("a", "b")
    assert topics_read({"topics.regex": "${env:TOPICS}"}, ["b", "a"], ["old"]) == ("a", "b")
    assert topics_read({"topics": "${env:TOPICS}"}, ["b", "a"]) == ("a", "b")


def test_settings_are_those_that_matter_with_the_defaults_of_the_class() -> None:
    """An address is no setting that matters; Kafka reads ` 020 ` as 20."""
    settings = settings_of(
        {"batch.size": " 020 ", "connection.url": "http://es"}, {"batch.size": "2000", "linger.ms": "1"}
    )

    assert {name: (of.value, of.is_default) for name, of in settings.items()} == {
        "batch.size": ("20", False),
        "linger.ms": ("1", True),
        "consumer.override.max.poll.records": ("500", True),
    }


def test_no_secret_is_among_the_settings() -> None:
    """Each kind of them, however the connector calls it."""
    assert settings_of(SECRETS, {}).keys() == {"consumer.override.max.poll.records"}


@pytest.mark.parametrize("secret", ["hunter2!", "opensesame", "jaas-secret", "keystore-pass", "registry-pass"])
def test_a_trace_is_shown_without_the_secrets_that_it_repeats(secret: str) -> None:
    """Values within a JAAS line or a list of headers are secrets, too."""
    shown = cleaner(SECRETS)(f"cannot reach https://user:pa55@es:9200 with {secret}")

    assert shown == "cannot reach https://es:9200 with (hidden)"


@pytest.mark.parametrize("password", ["sl/ash-1", "at@sign-1", "com,ma-1", "co:lon-1"])
def test_a_password_in_a_url_is_hidden_as_it_stands_there(password: str) -> None:
    """Such as nobody has escaped, which is why the URL is refused, and shown; the password is also hidden alone."""
    url = f"https://shop:{password}@es:9200"

    shown = cleaner({"connection.url": f"{url},https://es-2:9200"})(f"invalid URL {url}, and {password} alone")

    assert shown == "invalid URL https://es:9200, and (hidden) alone"


def test_a_quoted_secret_of_a_jaas_line_is_hidden_as_a_whole() -> None:
    """Whatever stands in it."""
    shown = cleaner({"consumer.override.sasl.jaas.config": 'Plain required password="ab=c;d e";'})("got ab=c;d e")

    assert shown == "got (hidden)"
