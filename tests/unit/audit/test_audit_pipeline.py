"""The pipeline between a topic and an index, as its group, its connector and a sample of ids tell."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from lab.audit.ids import Record
from lab.audit.index import Index
from lab.audit.pipeline import Pipeline, Wishes, find_pipeline, find_rule
from lab.clients.connect import ConnectWorker
from lab.clients.kafka import KafkaTopics, Place
from lab.errors import ProfileError, StackError
from tests.unit.messages import MakeMessage

SINK = {
    "topics": "books",
    "behavior.on.null.values": "DELETE",
    "errors.deadletterqueue.topic.name": "books-dlq",
    "id.prefix": "eu-",
}


class Servers:
    """Kafka with these groups, and a worker with one connector."""

    def __init__(self, groups: Sequence[str], config: Mapping[str, str] | None) -> None:
        self.groups, self.answer = groups, config

    def groups_reading(self, _: str) -> Sequence[str]:
        """All of them."""
        return self.groups

    def committed_offsets(self, _: str, group: str) -> Mapping[int, int]:
        """None of a group that never read the topic."""
        return {0: 0 if group == "unknown" else 7}

    def names(self) -> set[str]:
        """Topics."""
        return {"books", "letters"}

    def configs(self) -> Mapping[str, Mapping[str, str]]:
        """Of all connectors."""
        if self.answer is None:
            raise StackError("down")
        return {"books": self.answer, "others": {"topics": "shops"}}

    def config(self, name: str) -> Mapping[str, str] | None:
        """The configuration of the connector `books`; of a worker that is down an error."""
        if self.answer is None:
            raise StackError("down")
        return self.answer if name == "books" else None


def found(wishes: Wishes, groups: Sequence[str] = (), config: Mapping[str, str] | None = None) -> Pipeline:
    """The pipeline that is found."""
    servers: Any = Servers(groups, config)
    return find_pipeline(wishes, "books", cast("KafkaTopics", servers), cast("ConnectWorker", servers))


def test_the_group_that_reads_the_topic_names_the_connector() -> None:
    """Whose configuration says the rest."""
    pipeline = found(Wishes(), ["connect-books"], SINK)
    assert (pipeline.group, pipeline.dead_letters, pipeline.deletes) == ("connect-books", "books-dlq", True)
    assert (pipeline.id_prefix, pipeline.shared, pipeline.is_upsert) == ("eu-", False, False)


def test_a_connector_that_is_named_names_its_group() -> None:
    """Also one of another name."""
    assert found(Wishes(connector="books"), config=SINK).group == "connect-books"
    own = {**SINK, "consumer.override.group.id": "readers"}
    assert found(Wishes(connector="books"), config=own).group == "readers"


def test_a_connector_that_has_committed_nothing_is_found_by_its_topic() -> None:
    """Its records are in flight, and not missing, as while its task fails."""
    assert found(Wishes(), config=SINK).group == "connect-books"
    assert found(Wishes(group="none"), config=SINK).group is None
    assert found(Wishes()).group is None


def test_options_win_over_the_configuration() -> None:
    """And several topics, or upserts, are noticed."""
    config = {**SINK, "topics": "books,shops", "write.method": "UPSERT"}
    pipeline = found(Wishes("books", "readers", "letters", deletes=False), config=config)
    assert (pipeline.group, pipeline.dead_letters, pipeline.deletes) == ("readers", "letters", False)
    assert (pipeline.shared, pipeline.is_upsert) == (True, True)


def test_a_group_without_a_worker_is_enough() -> None:
    """Nothing else is known then; nor is there a group where the user says so."""
    assert found(Wishes(), ["rsyslog"]) == Pipeline(group="rsyslog")
    assert found(Wishes(group="none"), ["a", "b"]) == Pipeline()


def test_a_worker_that_does_not_tell_its_configuration_is_said(message: MakeMessage) -> None:
    """As one that refuses our credentials: dead letters would be missing, unless their topic is named."""
    assert found(Wishes(), ["connect-books"]) == Pipeline(group="connect-books", unread="down")
    assert found(Wishes(), []) == Pipeline(unread="down")
    assert found(Wishes(), []).doubt == message("missing", "--dead-letters", "down")
    assert not found(Wishes(dead_letters="letters"), ["connect-books"]).doubt
    with pytest.raises(StackError, match="down"):
        found(Wishes(connector="books"))


def test_without_a_worker_no_connector_is_known(message: MakeMessage) -> None:
    """A target file may name none; a group of a connector's name does not ask for one."""
    kafka = cast("KafkaTopics", Servers(["connect-books"], None))
    assert find_pipeline(Wishes(), "books", kafka, None) == Pipeline(group="connect-books")
    with pytest.raises(ProfileError) as error:
        find_pipeline(Wishes(connector="books"), "books", kafka, None)
    assert str(error.value) == message("--connector", "books", "connect")


@pytest.mark.parametrize(
    ("wishes", "groups", "config", "facts"),
    [
        (Wishes(), ["a", "b"], SINK, ("a", "b", "--group")),
        (Wishes(connector="shops"), [], SINK, ("shops",)),
        (Wishes(connector="books"), [], {"topics": "shops"}, ("shops", "books")),
        (Wishes(group="unknown"), [], SINK, ("--group", "unknown", "books")),
        (Wishes(dead_letters="unknown"), [], SINK, ("--dead-letters", "unknown")),
    ],
)
def test_what_cannot_be_told_is_asked_for(
    message: MakeMessage, wishes: Wishes, groups: Sequence[str], config: Mapping[str, str], facts: tuple[str, ...]
) -> None:
    """In one sentence."""
    with pytest.raises(ProfileError) as error:
        found(wishes, groups, config)
    assert str(error.value) == message(*facts)


class Documents:
    """An index that holds these ids; before it is refreshed, no search sees them."""

    def __init__(self, *ids: str, is_refreshed: bool = True) -> None:
        self.ids, self.is_refreshed = ids, is_refreshed

    def count(self) -> int:
        """Number of those that a search sees."""
        return len(self.ids) * self.is_refreshed

    def find(self, ids: Sequence[str]) -> set[str]:
        """Those of these that a get finds."""
        return {*ids} & {*self.ids}

    def search(self, ids: Sequence[str]) -> set[str]:
        """Those of these that it holds."""
        return {*ids} & {*self.ids}

    def first_ids(self) -> Sequence[str]:
        """Some of them."""
        return self.ids


SAMPLE = [Record(Place("books", 0, n), b"k%d" % n, b'{"isbn": "i%d", "shop": "a"}' % n, (), 0) for n in range(11)]


@pytest.mark.parametrize(
    ("ids", "rule"),
    [
        (["k1", "k2"], "key"),
        (["books+0+1", "books+0+7", "k1"], "offset"),
        (["i1", "i2", "i3", "a"], "field:isbn"),
        (["AbCdEfGhIjKlMnOpQr-_", "01234567890123456789"], "content"),
        ([], "key"),
    ],
)
def test_the_rule_that_finds_most_of_a_sample_is_that_of_the_ids(ids: list[str], rule: str) -> None:
    """Ids that the cluster makes are known by their form; an empty index tells nothing."""
    assert find_rule("auto", SAMPLE, cast("Index", Documents(*ids)), Pipeline())[0].name == rule


def test_a_field_of_few_values_is_no_rule(message: MakeMessage) -> None:
    """A quantity is one of the ids by chance."""
    sample = [Record(Place("books", 0, n), None, b'{"quantity": %d}' % (n % 3), (), 0) for n in range(31)]
    with pytest.raises(ProfileError) as error:
        find_rule("auto", sample, cast("Index", Documents("0", "1", "2", "3")), Pipeline())
    assert str(error.value) == message("books", 31, "field:quantity", "--id")


def test_an_index_that_was_not_refreshed_yet_is_not_empty() -> None:
    """By the rule of an empty one, all records would be missing."""
    documents = cast("Index", Documents("books+0+1", is_refreshed=False))
    assert find_rule("auto", SAMPLE, documents, Pipeline())[0].name == "offset"
    assert find_rule("auto", [], cast("Index", Documents()), Pipeline())[0].name == "key"


def test_documents_are_compared_by_content_only_if_records_are_objects(message: MakeMessage) -> None:
    """Else each record of Avro or text would count as missing; without any record nothing can be tried."""
    avro = [Record(Place("books", 0, n), None, b"\x00\x00\x00\x00\x07abc", (), 0) for n in range(11)]
    documents = cast("Index", Documents("AbCdEfGhIjKlMnOpQr-_"))
    for sample, facts in ((avro, ("books", 11, "--id")), ([], ("--id", "auto", "readers"))):
        with pytest.raises(ProfileError) as error:
            find_rule("auto", sample, documents, Pipeline("readers"))
        assert str(error.value) == message(*facts)


def test_ids_by_no_rule_are_refused_with_those_that_were_tried(message: MakeMessage) -> None:
    """Exit status 2; a rule that is named is not tried."""
    documents = cast("Index", Documents("other"))
    with pytest.raises(ProfileError) as error:
        find_rule("auto", SAMPLE, documents, Pipeline())
    assert str(error.value) == message("books", 11, "field:isbn", "--id")
    assert find_rule("json-key", SAMPLE, documents, Pipeline())[0].name == "json-key"
