"""Keys of a connector's configuration that nothing reads."""

import json
import re

import pytest

from lab.errors import ProfileError
from lab.profiles.connector_keys import known_keys, unread_keys
from lab.profiles.races import ad_hoc_suite
from lab.stack.places import ROOT
from tests.unit.messages import MakeMessage
from tests.unit.profiles.profile_repository import Repository

SINK = "io.sluice.connect.ElasticsearchSinkConnector"


def use_template(repository: Repository, connector: str = SINK, **keys: str) -> None:
    """Give the repository's connector template this class and these keys."""
    path = repository.root / "connect" / "connectors" / "elasticsearch.json"
    path.write_text(json.dumps({"connector.class": connector, "value.converter": "Json", **keys}), encoding="utf-8")


def test_a_key_that_the_sink_does_not_have_is_refused_with_its_line_and_the_nearest(
    repository: Repository, message: MakeMessage
) -> None:
    """In a file and on the command line."""
    use_template(repository)
    repository.write("typo", "extends: books\nquestion: Why?\nsink:\n  config:\n    batchsize: 0\n    batch.size: 7\n")

    assert repository.refusal("typo", "sink.config.linger=5") == [
        message("typo.yaml:5: sink.config.batchsize", "batch.size"),
        message("--set sink.config.linger", "linger.ms"),
    ]


def test_a_template_of_the_sink_is_checked_as_well(repository: Repository, message: MakeMessage) -> None:
    """Its file is named."""
    use_template(repository, **{"max.retry": "3"})

    assert repository.refusal("books") == [message("connect/connectors/elasticsearch.json: max.retry", "max.retries")]


def test_another_connector_has_keys_of_its_own(repository: Repository) -> None:
    """Nothing here knows them."""
    use_template(repository, "org.example.TheirSink", batchsize="7")

    assert repository.load("books", "sink.config.linger=5").sink.config == {"linger": 5}


@pytest.mark.parametrize("name", ["ElasticsearchSinkConnector", "ElasticsearchSink", "DiscardSink"])
def test_short_names_of_our_connectors_are_ours(repository: Repository, message: MakeMessage, name: str) -> None:
    """Connect takes a class by its simple name, with or without `Connector`."""
    use_template(repository, name)
    assert repository.refusal("books", "sink.config.linger=5") == [message("--set sink.config.linger", "linger.ms")]


def test_another_build_of_ours_may_have_keys_of_its_own(repository: Repository) -> None:
    """The folder of its plugin says that it is another."""
    use_template(repository)
    profile = repository.load("books", "sink.plugin_path=/old/build", "sink.config.linger=5")
    assert profile.sink.config == {"linger": 5}


def test_a_client_s_key_is_suggested_below_its_own_prefix_only(message: MakeMessage) -> None:
    """The sink has none of the settings of the worker's clients."""
    told = unread_keys(
        {"ssl.keystore.locatio": "x", "consumer.override.fetch.max.byte": "7", "override.ssl.protocol": "x"}
    )
    assert [text for text in told.values() if "admin." in text or "producer." in text] == []
    assert told["consumer.override.fetch.max.byte"] == message("consumer.override.fetch.max.bytes")


def test_a_race_of_values_that_nothing_reads_is_refused(message: MakeMessage) -> None:
    """Before any server starts."""
    with pytest.raises(ProfileError) as error:
        ad_hoc_suite("quickstart", ["sink.config.batchsize=2000,1"])
    assert str(error.value) == message("--set sink.config.batchsize", "batch.size")


@pytest.mark.parametrize(
    ("config", "unread"),
    [
        ({"topics.regex": "a.*", "errors.log.enable": "true", "value.converter.plugin.version": "1"}, []),
        ({"consumer.override.fetch.max.bytes": "7", "producer.override.acks": "1"}, []),
        ({"consumer.override.fetch.max.byte": "7"}, ["consumer.override.fetch.max.byte"]),
        ({"fetch.max.bytes": "7"}, ["fetch.max.bytes"]),
        ({"consumer.override.interceptor.classes": "x.Y", "consumer.override.y.level": "7"}, []),
        ({"consumer.override.interceptor.classes": "x.Y", "admin.override.y.level": "7"}, ["admin.override.y.level"]),
        (
            {"consumer.override.x.class": "x.Y", "consumer.override.y": "7"},
            ["consumer.override.x.class", "consumer.override.y"],
        ),
        ({"admin.override.metric.reporters": "x.Y", "admin.override.retris": "7"}, ["admin.override.retris"]),
        ({"value.converter": "Json", "value.converter.schemas.enable": "false"}, []),
        (
            {"value.converter": "JsonConverter", "value.converter.schemas.enabled": "false"},
            ["value.converter.schemas.enabled"],
        ),
        (
            {"key.converter": "org.apache.kafka.connect.storage.StringConverter", "key.converter.x": "7"},
            ["key.converter.x"],
        ),
        ({"key.converter": "org.example.StringConverter", "key.converter.x": "7"}, []),
        ({"value.converter.schemas.enable": "false"}, ["value.converter.schemas.enable"]),
        ({"transforms": "drop, route", "transforms.drop.type": "Filter", "transforms.route.x": "7"}, []),
        ({"transforms": "drop", "transforms.drp.type": "Filter"}, ["transforms.drp.type"]),
        ({"transforms": "${file:x:y}", "transforms.drp.type": "Filter"}, []),
        ({"transforms": "drop", "transformsX": "drop"}, ["transformsX"]),
        ({"predicates.is.type": "RecordIsTombstone"}, ["predicates.is.type"]),
    ],
)
def test_a_key_counts_as_read_if_something_that_the_configuration_names_may_read_it(
    config: dict[str, str], unread: list[str]
) -> None:
    """Below the names of converters, transforms, predicates and classes of a client."""
    assert list(unread_keys(config)) == unread


def test_an_alias_that_is_not_named_is_told_with_those_that_are(message: MakeMessage) -> None:
    """Its transform never runs."""
    [told] = unread_keys({"transforms": "drop", "transforms.drp.type": "Filter"}).values()
    assert told == message("transforms", "drp", "drop")
    [told] = unread_keys({"value.converter.schemas.enable": "false"}).values()
    assert told == message("value.converter")


def test_the_sink_has_the_keys_of_its_readme() -> None:
    """The plugin's own tests compare both with its definition; this one runs without Java."""
    readme = (ROOT / "connect" / "README.md").read_text(encoding="utf-8")
    tables = readme.partition("<!-- settings: generated")[2].partition("<!-- /settings -->")[0]
    documented = set(re.findall(r"^\| `([^`]+)` \|", tables, re.MULTILINE))

    assert "batch.size" in documented
    assert documented <= known_keys().keys()
