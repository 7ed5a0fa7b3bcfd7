"""A connector's configuration: made of its template, of what it needs to reach the servers, and of the profile."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.endpoints import Access, HttpAccess, basic
from lab.errors import ProfileError
from lab.profiles import Dataset, Profile, Sink
from lab.run.load.connector import connector_config
from lab.stack.places import ROOT
from tests.unit.messages import MakeMessage

VALUES = {
    "connector": "sluice-books-1",
    "topic": "books-topic",
    "index": "sluice-books",
    "elasticsearch_urls": "http://127.0.0.1:9127,http://127.0.0.1:9137",
    "dead_letter_topic": "books-dead",
    "tasks": "3",
}


def profile(connector: str = "sink", **config: Any) -> Profile:
    """A profile with these settings of its connector."""
    sink = Sink(connector=connector, config={name.replace("__", "."): value for name, value in config.items()})
    return Profile(name="books", question="?", dataset=Dataset(name="aladin"), mapping="dynamic", sink=sink)


def template(folder: Path, content: object, name: str = "sink") -> Path:
    """The checkout with this template."""
    path = folder / "connect" / "connectors" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    return folder


def test_placeholders_are_filled_in(tmp_path: Path) -> None:
    """Wherever they stand in a value."""
    folder = template(tmp_path, {"topics": "${topic}", "name": "${connector}-sink", "batch.size": "1009"})
    assert connector_config(folder, profile(), VALUES) == {
        "topics": "books-topic",
        "name": "sluice-books-1-sink",
        "batch.size": "1009",
    }


def test_a_dollar_sign_is_written_twice(tmp_path: Path) -> None:
    """A regular expression may need one."""
    folder = template(tmp_path, {"topics.regex": "^books$$"})
    assert connector_config(folder, profile(), VALUES) == {"topics.regex": "^books$"}


SINK = {"connection.url": "https://es.internal:9200", "connection.api.key": "aWQ6a2V5", "read.timeout.ms": "7000"}
ACCESS = Access(connect=HttpAccess(basic("lab", "hunter5")), sink=SINK, secrets=frozenset({"aWQ6a2V5", "hunter5"}))


def test_a_connector_is_told_how_to_enter_elasticsearch(tmp_path: Path) -> None:
    """The target wins over the template, and the profile over both."""
    folder = template(tmp_path, {"connection.url": "${elasticsearch_urls}", "read.timeout.ms": "60000"})
    config = connector_config(folder, profile(read__timeout__ms=11), VALUES, ACCESS)
    assert config == {**SINK, "read.timeout.ms": "11"}


def test_a_connector_that_knows_no_elasticsearch_gets_no_credentials_for_it(tmp_path: Path) -> None:
    """A worker keeps the settings of a connector where others may read them."""
    config = connector_config(template(tmp_path, {"topics": "${topic}"}), profile(), VALUES, ACCESS)
    assert config == {"topics": "books-topic", "read.timeout.ms": "7000"}


def test_the_profile_wins_over_the_template(tmp_path: Path) -> None:
    """And may add what the template does not mention."""
    folder = template(tmp_path, {"batch.size": "1009", "linger.ms": "5"})
    config = connector_config(folder, profile(batch__size=2003, max__retries=7), VALUES)
    assert config == {"batch.size": "2003", "linger.ms": "5", "max.retries": "7"}


def test_settings_are_text_as_kafka_connect_writes_it(tmp_path: Path) -> None:
    """`true`, not `True`, wherever it comes from."""
    folder = template(tmp_path, {"key.ignore": True, "batch.size": 1009})
    config = connector_config(folder, profile(schema__ignore=False), VALUES)
    assert config == {"key.ignore": "true", "batch.size": "1009", "schema.ignore": "false"}


def test_a_dollar_sign_in_a_profile_is_left_alone(tmp_path: Path) -> None:
    """Its values are verbatim."""
    config = connector_config(template(tmp_path, {}), profile(connection__password="${env:SECRET}"), VALUES)
    assert config == {"connection.password": "${env:SECRET}"}


def test_an_unknown_template_is_one_sentence(tmp_path: Path, message: MakeMessage) -> None:
    """It names those that there are."""
    template(template(tmp_path, {}, "elasticsearch"), {}, "confluent")
    with pytest.raises(ProfileError) as refusal:
        connector_config(tmp_path, profile("elastic"), VALUES)
    assert str(refusal.value) == message("sink.connector", "elastic", "elasticsearch")


def test_an_unknown_placeholder_is_one_sentence(tmp_path: Path, message: MakeMessage) -> None:
    """It names those that there are."""
    with pytest.raises(ProfileError) as refusal:
        connector_config(template(tmp_path, {"topics": "${topics}"}), profile(), VALUES)
    assert str(refusal.value) == message("connect/connectors/sink.json", "elasticsearch_urls", "dead_letter_topic")


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (b"[]", ()),
        (b"{", (1, 2)),
        (b"", ()),
    ],
)
def test_a_template_that_is_no_object_is_one_sentence(
    tmp_path: Path, content: bytes, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """With the reader's own words at the end."""
    with pytest.raises(ProfileError) as refusal:
        connector_config(template(tmp_path, content), profile(), VALUES)
    assert str(refusal.value) == message("connect/connectors/sink.json", *facts)


@pytest.mark.parametrize("path", sorted((ROOT / "connect" / "connectors").glob("*.json")), ids=lambda path: path.stem)
def test_every_template_of_the_repository_can_be_filled_in(path: Path) -> None:
    """No placeholder is left."""
    config = connector_config(ROOT, profile(path.stem), VALUES)
    assert not [value for value in config.values() if "${" in value]
    assert config["topics"] == "books-topic"
    assert config["tasks.max"] == "3"
