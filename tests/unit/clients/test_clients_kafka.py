"""Small things of a run: Kafka's words, names, secrets, the machine."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException

from lab.clients import kafka
from lab.clients.kafka import GAP, KafkaTopics, as_bytes, as_text, kafka_text, stretches
from lab.endpoints import Access, Endpoints, is_secret
from lab.errors import ProfileError, StackError
from lab.profiles import Dataset, Producer, Profile
from lab.records.run import Server
from lab.run.environment import describe_environment, git, git_commit
from lab.run.load.availability import OURS
from lab.run.load.produce import client_settings
from lab.run.load.sink import Sink
from lab.run.names import Names
from lab.run.verify.accounting import distinct_letters
from tests.unit.messages import MakeMessage

ROOT = Path(__file__).resolve().parents[3]


def profile(name: str = "aladin/static", **client: str | float | bool) -> Profile:
    """A profile with these settings of its producers' client."""
    settings = {setting.replace("__", "."): value for setting, value in client.items()}
    return Profile(
        name=name, question="?", dataset=Dataset(name="aladin"), mapping="dynamic", producer=Producer(client=settings)
    )


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (False, "false"), (7, "7"), (0.5, "0.5"), ("lz4", "lz4")])
def test_a_setting_is_written_as_kafka_writes_it(value: object, text: str) -> None:
    """`true`, not `True`."""
    assert kafka_text(value) == text


@pytest.mark.parametrize(("content", "expected"), [(None, b""), ("책", "책".encode()), (b"\xff", b"\xff")])
def test_a_key_is_the_bytes_that_it_is_in_kafka(content: str | bytes | None, expected: bytes) -> None:
    """And none for none."""
    assert as_bytes(content) == expected


@pytest.mark.parametrize(("content", "expected"), [(None, ""), ("책".encode(), "책"), (b"a\xff", "a\ufffd")])
def test_a_header_is_text_whatever_its_bytes(content: bytes | None, expected: str) -> None:
    """A reason that is no UTF-8 must not end a run."""
    assert as_text(content) == expected


def test_client_settings_are_text() -> None:
    """As the producers' client takes them."""
    endpoints = Endpoints("127.0.0.1:9", "", ("",), None)
    assert client_settings(profile(linger__ms=5, enable__idempotence=True), endpoints) == {
        "bootstrap.servers": "127.0.0.1:9",
        "linger.ms": "5",
        "enable.idempotence": "true",
    }


def test_a_setting_that_kafkas_client_does_not_know_is_one_sentence(message: MakeMessage) -> None:
    """In the client's own words."""
    with pytest.raises(ProfileError) as error:
        KafkaTopics("127.0.0.1:1", {"sasl.mechanismm": "PLAIN"})
    assert str(error.value) == message("sasl.mechanismm")


def test_the_names_of_a_run_begin_with_ours_and_end_with_its_id() -> None:
    """A topic is never used twice; the index is replaced by the next run."""
    names = Names.of(profile(), "20260101-000000")
    assert names == Names(
        index="sluice-aladin-static",
        topic="sluice-aladin-static-20260101-000000",
        connector="sluice-aladin-static-20260101-000000",
    )
    assert names.dead_letter_topic == "sluice-aladin-static-20260101-000000-dead-letters"
    assert names.consumer_group == "connect-sluice-aladin-static-20260101-000000"


def test_several_indices_are_numbered_and_have_a_topic_each() -> None:
    """One connector and one topic of dead letters serve them all; an earlier run may have had more of them."""
    names = Names.of(profile().model_copy(update={"indices": 2}), "20260101-000000")
    assert names.indices == ("sluice-aladin-static--1", "sluice-aladin-static--2")
    assert names.topics == ("sluice-aladin-static--1-20260101-000000", "sluice-aladin-static--2-20260101-000000")
    assert names.connector == "sluice-aladin-static-20260101-000000"
    assert names.dead_letter_topic == "sluice-aladin-static-20260101-000000-dead-letters"
    assert [part.index for part in names.parts] == list(names.indices)
    assert names.is_topic("sluice-aladin-static--5-20250101-000000")
    assert names.is_index("sluice-aladin-static--5")
    assert not names.is_index("sluice-aladin-static-5")


def test_the_marks_of_dead_letters_are_topics_of_their_run() -> None:
    """So that they go with it; those of another profile do not."""
    names = Names.of(profile(), "20260101-000000")
    assert names.is_topic("sluice-aladin-static-20250101-000000-dead-letters-marks")
    assert not names.is_topic("sluice-aladin-static-20250101-000000-marks")


SECRETS = (
    "connection.password",
    "connection.api.key",
    "consumer.override.sasl.jaas.config",
    "ssl.keystore.password",
    "ssl.keystore.key",
    "ssl.key.password",
    "sasl.oauthbearer.client.secret",
    "connection.bearer.token",
    "CONNECTION.PASSWORD",
    "clientSecret",
    "authToken",
    "AUTHTOKEN",
    "basic.auth.user.info",
)


@pytest.mark.parametrize("setting", SECRETS)
def test_a_secret_is_known_by_its_name(setting: str) -> None:
    """Passwords, keys of an API, private keys, tokens, logins."""
    assert is_secret(setting)


@pytest.mark.parametrize(
    "setting",
    [
        "key.converter",
        "key.ignore",
        "connection.url",
        "connection.username",
        "batch.size",
        "topics",
        "tokenizer",
        "basic.auth.credentials.source",
    ],
)
def test_other_settings_are_no_secrets(setting: str) -> None:
    """A reader needs them."""
    assert not is_secret(setting)


def test_secrets_are_hidden_in_the_environment() -> None:
    """Their names are kept: that there was one matters to a reader."""
    environment = describe_environment(
        ROOT,
        target="local",
        servers=[Server(name="kafka", version="4.3.1", pid=7)],
        java_versions={"kafka": "17.0.15"},
        index_settings={"index.number_of_shards": "3"},
        cluster_settings={"xpack.notification.email.password": "hunter3", "indices.recovery.max_bytes_per_sec": "7mb"},
        connector={"connection.password": "hunter2", "batch.size": "2003"},
        vector_options={},
        distribution=None,
    )
    assert environment.cluster_settings == {
        "xpack.notification.email.password": "(hidden)",
        "indices.recovery.max_bytes_per_sec": "7mb",
    }
    assert environment.connector == {"connection.password": "(hidden)", "batch.size": "2003"}
    assert "hunter" not in environment.model_dump_json()
    assert environment.cpu_cores > 0


def test_a_folder_outside_a_repository_has_no_commit(tmp_path: Path) -> None:
    """Missing is `None`."""
    assert git_commit(tmp_path) is None


def test_a_package_in_somebody_elses_repository_has_no_commit(tmp_path: Path) -> None:
    """A virtual environment often lies in one."""
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "--message", "one")
    package = tmp_path / "package"
    package.mkdir()
    assert git_commit(tmp_path) == git(tmp_path, "rev-parse", "--short=12", "HEAD")
    assert git_commit(package) is None


# --- what Kafka refuses ---------------------------------------------------------------------------------------------


class RefusingConsumer:
    """A consumer of a topic with 1,009 records that it may not read."""

    hidden: int | None = None
    events: ClassVar[list[object]] = []

    def __init__(self, _settings: object) -> None:
        pass

    def __enter__(self) -> "RefusingConsumer":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def list_topics(self, topic: str, timeout: float) -> object:  # noqa: ARG002 - as Kafka's client has it
        """One partition, or an error that says why it has none."""
        error = None if self.hidden is None else KafkaError(self.hidden)
        partitions = {0: None} if error is None else {}
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=partitions, error=error)})

    def get_watermark_offsets(self, *_: object, **__: object) -> tuple[int, int]:
        """Its bounds, which may be asked for."""
        return 0, 1009

    def assign(self, _partitions: object) -> None:
        """Nobody minds."""

    def committed(self, places: list[Any], timeout: float) -> list[Any]:  # noqa: ARG002 - as Kafka's client has it
        """No answer in time."""
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def poll(self, _timeout: float) -> object:
        """What there is to tell, and then the refusal."""
        if self.events:
            return self.events.pop(0)
        refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "Broker: Topic authorization failed")
        return SimpleNamespace(error=lambda: refused, partition=lambda: 0, offset=lambda: None)


def test_a_topic_that_may_not_be_read_is_said_at_once(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """Not after two minutes, as if no record had come."""
    monkeypatch.setattr(kafka, "Consumer", RefusingConsumer)
    monkeypatch.setattr(kafka, "GIVE_UP_S", 0.05)
    with pytest.raises(StackError) as error:
        next(KafkaTopics("127.0.0.1:1").records("books"))
    assert str(error.value) == message("topic books")


def test_a_reader_needs_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks which broker has the group of its name, and goes on where it may not know."""
    monkeypatch.setattr(kafka, "Consumer", RefusingConsumer)
    group = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    record = SimpleNamespace(error=lambda: None, partition=lambda: 0, offset=lambda: 0)
    monkeypatch.setattr(RefusingConsumer, "events", [SimpleNamespace(error=lambda: group), record])
    assert next(KafkaTopics("127.0.0.1:1").records("books")) is record


@pytest.mark.parametrize("is_told", [True, False])
def test_a_group_that_may_not_be_described_is_said(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage, *, is_told: bool
) -> None:
    """The request for its offsets only runs out of time; of a partition that may not be read, the answer says so."""
    monkeypatch.setattr(kafka, "Consumer", RefusingConsumer)
    refused = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED if is_told else KafkaError.TOPIC_AUTHORIZATION_FAILED)
    place = SimpleNamespace(partition=0, offset=-1001, error=refused)
    monkeypatch.setattr(RefusingConsumer, "events", [SimpleNamespace(error=lambda: refused)] if is_told else [None])
    if not is_told:
        monkeypatch.setattr(RefusingConsumer, "committed", lambda *_, **__: [place])
    with pytest.raises(StackError) as error:
        KafkaTopics("127.0.0.1:1").committed_offsets("books", "readers")
    assert str(error.value) == message("group readers")


def test_a_time_is_not_the_end_where_a_partition_does_not_tell(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Its answer has no offset, as that of a partition without a later record: nothing of it would be audited."""
    moving = SimpleNamespace(partition=0, offset=-1001, error=KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
    monkeypatch.setattr(kafka, "Consumer", RefusingConsumer)
    monkeypatch.setattr(RefusingConsumer, "offsets_for_times", lambda *_, **__: [moving], raising=False)
    with pytest.raises(StackError) as error:
        KafkaTopics("127.0.0.1:1").offsets_at("books", 1009)
    assert str(error.value) == message("topic books")


@pytest.mark.parametrize("errors", [[], [KafkaException(KafkaError(KafkaError._TRANSPORT, "broker 2 is down"))]])
def test_groups_are_unknown_where_a_broker_does_not_list_its_own(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage, errors: list[KafkaException]
) -> None:
    """Records in flight would be missing; without an error there is none."""
    topics = KafkaTopics("127.0.0.1:1")
    listing = SimpleNamespace(result=lambda: SimpleNamespace(valid=[], errors=errors))
    admin = SimpleNamespace(list_consumer_groups=lambda **_: listing)
    monkeypatch.setattr(topics, "_admin", admin)
    if not errors:
        assert topics.groups_reading("books") == []
        return
    with pytest.raises(StackError) as error:
        topics.groups_reading("books")
    assert str(error.value) == message("broker 2 is down")


@pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART])
def test_a_topic_that_is_hidden_from_us_is_told_from_one_that_does_not_exist(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage, code: int
) -> None:
    """A list of all topics has neither; asked for by name, a hidden one has no partitions, as if it were empty."""
    is_hidden = code == KafkaError.TOPIC_AUTHORIZATION_FAILED
    monkeypatch.setattr(kafka, "Consumer", RefusingConsumer)
    monkeypatch.setattr(RefusingConsumer, "hidden", code)
    topics = KafkaTopics("127.0.0.1:1")
    monkeypatch.setattr(topics, "names", lambda _: {"shops"})
    with pytest.raises(StackError if is_hidden else ProfileError) as error:
        topics.require("books")
    assert str(error.value) == message("topic books")
    if is_hidden:
        with pytest.raises(StackError, match="not authorized to describe it"):
            list(topics.records("books"))
    topics.require("shops")


def test_dead_letters_without_headers_are_as_many_as_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink may write none of where a record came from; each letter still counts once."""
    letters = [
        SimpleNamespace(
            headers=list,
            key=lambda: b"k",
            topic=lambda: "books-dead-letters",
            partition=lambda: 0,
            offset=lambda offset=offset: offset,
        )
        for offset in range(3)
    ]
    topics = KafkaTopics("127.0.0.1:1")
    monkeypatch.setattr(topics, "records", lambda _: letters)
    distinct = distinct_letters(topics.dead_letters("books-dead-letters"))
    assert [str(letter.place) for letter in distinct] == [f"books-dead-letters-0@{offset}" for offset in range(3)]


def test_what_the_client_complains_of_for_hours_does_not_pile_up() -> None:
    """Only the last of it is kept."""
    topics = KafkaTopics("127.0.0.1:1")
    for number in range(1009):
        topics._on_error(KafkaError(KafkaError._TRANSPORT, f"complaint {number}"))
    with pytest.raises(StackError) as error:
        topics.names(within_s=0.01)
    assert "complaint 1008" in str(error.value)
    assert len(str(error.value)) < 1009


def test_places_are_read_in_stretches_without_large_gaps() -> None:
    """Each partition by itself."""
    places = {(0, 5), (0, 7), (0, 7 + GAP), (0, 9 + 2 * GAP), (1, 6)}
    assert list(stretches(places)) == [(0, 5, 7 + GAP), (0, 9 + 2 * GAP, 9 + 2 * GAP), (1, 6, 6)]
    assert list(stretches(set())) == []


def test_records_at_some_places_are_read_without_the_rest_of_their_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read for no place."""
    asked: list[tuple[dict[int, int], dict[int, int]]] = []

    def records(_: str, first: dict[int, int], last: dict[int, int]) -> Iterator[object]:
        asked.append((first, last))
        for offset in range(first[0], last[0]):
            yield SimpleNamespace(key=lambda: b"k", value=lambda at=offset: b"%d" % at, offset=lambda at=offset: at)

    topics = KafkaTopics("127.0.0.1:1")
    monkeypatch.setattr(topics, "records", records)
    assert topics.records_at("books", {(0, 5), (0, 7)}) == {(0, 5): (b"k", b"5"), (0, 7): (b"k", b"7")}
    assert topics.records_at("books", set()) == {}
    assert asked == [({0: 5}, {0: 8})]


# --- the sink's latencies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("connector", "lost"), [(f"{OURS}ElasticsearchSinkConnector", "Connect"), ("another.Sink", "")]
)
def test_latencies_that_cannot_be_read_are_missed_only_where_there_are_some(connector: str, lost: str) -> None:
    """A sink that is not ours keeps none."""
    endpoints = SimpleNamespace(metrics_url="http://127.0.0.1:1/jolokia")
    target = SimpleNamespace(endpoints=endpoints, access=Access())
    sink = Sink(SimpleNamespace(target=target, names=Names.of(profile(), "1")), None)  # type: ignore[arg-type]
    sink.config = {"connector.class": connector}
    found = sink.histograms()
    assert (found.record_age, found.bulk_service_time) == (None, None)
    assert (found.lost or "").startswith(lost)
    assert (found.lost is not None) == bool(lost)
