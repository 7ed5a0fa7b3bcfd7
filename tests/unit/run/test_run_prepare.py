"""What a run leaves in the servers, and what it leaves alone."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from lab.clients.connect import ConnectWorker
from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.clients.target import Target
from lab.endpoints import Endpoints
from lab.profiles import load_profile
from lab.run import prepare, runner
from lab.run.folder import RunFolder
from lab.run.names import Names
from lab.run.phases import RunContext
from lab.run.prepare import (
    INCLUDED,
    create_index,
    remove_connectors,
    remove_earlier,
    remove_index,
    remove_topics,
    remove_traces,
    settings_for,
)
from lab.stack.places import ROOT
from lab.stream import prepare as stream_prepare
from lab.stream.prepare import prepare_stream
from tests.unit.clients.rest_server import rest
from tests.unit.producers.fakes import NumberedDocuments
from tests.unit.run.contexts import Recorder
from tests.unit.run.displays import SilentProgress

BOOKS = "sluice-books"


@pytest.mark.parametrize(
    ("owner", "removed"),
    [({"sluice": {"run": "20260101-000007"}}, True), ({"sluice": {"run": "20260101-000011"}}, False), ({}, False)],
    ids=["its own", "of another run", "of somebody else"],
)
def test_only_the_index_of_the_run_itself_is_deleted(owner: dict[str, object], *, removed: bool) -> None:
    """A run that is refused because of an index of that name must not end with its deletion."""
    answers = ((200, {BOOKS: {"mappings": {"_meta": owner}}}), (200, {"acknowledged": True}))
    with rest(*answers) as server:
        remove_index(ElasticsearchClient([server.url]), BOOKS, "20260101-000007")
    assert [method for method, _, _ in server.requests] == (["GET", "DELETE"] if removed else ["GET"])


def test_all_indices_that_runs_of_the_profile_have_left_are_removed() -> None:
    """However many they were, and restored ones, too; those of other profiles stay, whatever they are called."""
    runs = {"run": "20260101-000007"}
    marks = {
        BOOKS: runs,
        f"{BOOKS}--3": runs,
        f"{BOOKS}--1-restored": {**runs, "index": f"{BOOKS}--1"},
        f"{BOOKS}-2": runs,
        f"{BOOKS}-restored": runs,
        f"{BOOKS}-2-restored": {**runs, "index": f"{BOOKS}-2"},
    }
    answer = {name: {"mappings": {"_meta": {"sluice": mark}}} for name, mark in marks.items()}
    with rest((200, answer), (200, {})) as server:
        remove_earlier(ElasticsearchClient([server.url]), Names(BOOKS, f"{BOOKS}-1", f"{BOOKS}-1"))
    deleted = [path.split("?")[0] for method, path, _ in server.requests if method == "DELETE"]
    assert deleted == [f"/{BOOKS}", f"/{BOOKS}--3", f"/{BOOKS}--1-restored"]


def test_an_index_into_which_somebody_has_copied_that_of_a_run_is_left_alone() -> None:
    """A copied mapping brings the mark of the run's index; only the name of the copy is another."""
    mark = {"run": "20260101-000007", "index": BOOKS}
    answer = {name: {"mappings": {"_meta": {"sluice": mark}}} for name in (BOOKS, f"{BOOKS}-copy", f"{BOOKS}-2026")}
    with rest((200, answer), (200, {})) as server:
        remove_earlier(ElasticsearchClient([server.url]), Names(BOOKS, f"{BOOKS}-1", f"{BOOKS}-1"))
    assert [path.split("?")[0] for method, path, _ in server.requests if method == "DELETE"] == [f"/{BOOKS}"]


SIZE_INTERVAL, REFRESH, REPLICAS = "store.stats_refresh_interval", "refresh_interval", "number_of_replicas"


@pytest.mark.parametrize(
    ("name", "own", "of_target", "setting", "expected"),
    [
        ("quickstart", {}, {}, SIZE_INTERVAL, "0s"),
        ("quickstart", {}, {SIZE_INTERVAL: "7s"}, SIZE_INTERVAL, "7s"),
        ("quickstart", {SIZE_INTERVAL: "11s"}, {SIZE_INTERVAL: "7s"}, SIZE_INTERVAL, "11s"),
        ("quickstart", {REFRESH: "3s"}, {REFRESH: "5s"}, REFRESH, "3s"),
        ("products/deploy", {REPLICAS: 2}, {REPLICAS: 1}, REPLICAS, 0),
        ("products/deploy", {INCLUDED: "elasticsearch-3"}, {INCLUDED: "elasticsearch-2"}, INCLUDED, "elasticsearch-1"),
    ],
    ids=["ours", "target over ours", "profile over target", "profile over target, too", "deployed", "deployed, node"],
)
def test_settings_of_an_index_are_the_nearest_ones(
    name: str, own: dict[str, Any], of_target: dict[str, Any], setting: str, expected: object
) -> None:
    """Settings of a deployment win over the profile, the profile over the target, the target over our default."""
    profile = load_profile(name)
    profile = profile.model_copy(update={"index": {**profile.index, **own}})
    bodies: list[Any] = []
    answers = {"create_index": lambda _, body: bodies.append(body), "has_analyzer": False, "index_health": ("green", 0)}
    create_index(cast("Any", Recorder([], "", **answers)), profile, "books", "7", target_settings=of_target)
    assert bodies[0]["settings"]["index"][setting] == expected


def test_the_codec_before_a_rewriting_wins_over_the_profiles() -> None:
    """The index gets that one later; all other settings are the profile's."""
    profile = load_profile("quickstart", overrides=["index.codec=best_compression"])
    stated = settings_for(profile, {}, None)
    assert stated["codec"] == "best_compression"
    assert settings_for(profile, {}, "default") == {**stated, "codec": "default"}


class Topics:
    """A Kafka cluster's topics."""

    def __init__(self, *names: str) -> None:
        self.left = set(names)

    def names(self) -> set[str]:
        """Those that are there."""
        return set(self.left)

    def delete(self, names: tuple[str, ...]) -> None:
        """Remove some."""
        self.left -= set(names)

    def wait_until_left(self, group: str, within_s: float) -> None:
        """Nobody is in any group."""


def test_a_run_removes_the_topics_of_its_own_profile_only() -> None:
    """Another profile's name may begin with this one's; a topic that merely looks alike is somebody's, too."""
    of_others = {
        "sluice-books-2-20260101-000007",
        "sluice-books-2-20260101-000007-dead-letters",
        "sluice-books-20250101-000003-20260101-000007",
        "sluice-books-2026",
        "sluice-books-20260101-000007-backup",
        "sluice_books-20260101-000007",
        "my-sluice-books-20260101-000007",
    }
    earlier = ("20260101-000007", "20260101-000007-2", "20260101-000007-stream-0123abcd")
    own = {f"{BOOKS}-{run}{ending}" for run in earlier for ending in ("", "-dead-letters")}
    topics: Any = Topics(*own, *of_others)
    remove_topics(topics, Names(BOOKS, f"{BOOKS}-1", f"{BOOKS}-1"))
    assert topics.left == of_others


def test_a_run_leaves_the_topics_that_others_of_its_suite_drain() -> None:
    """They were filled by a run of the same profile."""
    filled, left_behind = f"{BOOKS}-20260101-000007", f"{BOOKS}-20260101-000005"
    topics: Any = Topics(filled, left_behind)
    remove_topics(topics, Names(BOOKS, filled, f"{BOOKS}-1"), kept={filled})
    assert topics.left == {filled}


def test_a_run_removes_connectors_of_runs_only() -> None:
    """A connector that somebody called `sluice-…` is not one that a run made."""
    made = ["sluice-books-20260101-000007", "sluice-films-20260101-000011-stream-0123abcd"]
    theirs = ["sluice-gate-postgres", "sluice-books", "sluice-books-20260101-000007-copy"]
    topics: Any = Topics()
    with rest((200, [*made, *theirs]), (204, {})) as server:
        remove_connectors(ConnectWorker(server.url), topics, Names(BOOKS, f"{BOOKS}-1", f"{BOOKS}-1"))
    assert [path for method, path, _ in server.requests if method == "DELETE"] == [
        f"/connectors/{name}" for name in made
    ]


@pytest.mark.parametrize(
    ("shared", "removed"),
    [
        (True, ["sluice-books-20260101-000007"]),
        (False, ["sluice-books-20260101-000007", "sluice-books-2-20260101-000011", "sluice-films-20260101-000013"]),
    ],
)
def test_on_servers_of_others_only_connectors_of_the_profile_are_deleted(*, shared: bool, removed: list[str]) -> None:
    """Another one may be that of a colleague's run, which would wait for its sink in vain."""
    connectors = [
        "sluice-books-20260101-000007",
        "sluice-books-2-20260101-000011",
        "sluice-films-20260101-000013",
        "somebody-elses",
    ]
    with rest((200, connectors), (204, {})) as server:
        names = Names(BOOKS, f"{BOOKS}-20260101-000017", f"{BOOKS}-20260101-000017")
        topics: Any = Topics()
        remove_connectors(ConnectWorker(server.url), topics, names, shared=shared)
    deleted = [path.removeprefix("/connectors/") for method, path, _ in server.requests if method == "DELETE"]
    assert deleted == removed


class Servers:
    """Every client of one set of servers: it keeps what it is asked for, and answers what a run needs to go on."""

    answers: ClassVar[dict[str, object]] = {
        "connectors": ["sluice-films-20260101-000013"],
        "names": {"sluice-quickstart-20260101-000011"},
        "index_owner": "20260101-000011",
        "index_health": ("green", 0),
        "has_analyzer": False,
        "marks": {},
        "request": (200, {}),
    }

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., object]:
        def answer(*arguments: object, **_: object) -> object:
            if name in {"delete", "wait_until_left", "delete_index", "create_index", "create"}:
                self.calls.append(f"{name} {arguments[0]}")
            return self.answers.get(name)

        return answer


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Servers:
    """Servers on which a run that was killed has left its connector."""
    made = Servers()
    for module in (runner, stream_prepare):
        for client in ("cluster_of", "worker_of", "topics_of"):
            monkeypatch.setattr(module, client, lambda *_, **__: made)
    return made


STOPPED = ["delete sluice-films-20260101-000013", "wait_until_left connect-sluice-films-20260101-000013"]
ENDPOINTS = Endpoints("127.0.0.1:1", "http://127.0.0.1:1", ("http://127.0.0.1:1",), None)


def test_the_sink_of_a_killed_run_has_gone_before_the_index_is_made(tmp_path: Path, servers: Servers) -> None:
    """It would go on writing its documents, into the new index, too."""
    target = Target("local", ENDPOINTS, process_ids=dict, servers=(), java_versions={}, fresh=False)
    folder = RunFolder(tmp_path, "20260101-000017")
    documents = NumberedDocuments(7)
    context = RunContext(load_profile("quickstart"), documents, target, folder, ROOT, progress=SilentProgress())
    run = runner._RunUnderWay(context, sleep=cast("Any", None))
    run.prepare()
    assert servers.calls == [
        *STOPPED,
        "delete_index sluice-quickstart",
        "create_index sluice-quickstart",
        "delete ('sluice-quickstart-20260101-000011',)",
        "create sluice-quickstart-20260101-000017",
        "create sluice-quickstart-20260101-000017-dead-letters",
    ]


def test_other_sinks_have_gone_before_the_index_of_a_stream_is_made(servers: Servers) -> None:
    """As with a run."""
    prepare_stream(load_profile("quickstart"), ENDPOINTS, root=ROOT, clock=lambda: 1009.0)
    assert servers.calls[:4] == [
        *STOPPED,
        "delete_index sluice-quickstart",
        "create_index sluice-quickstart",
    ]


def test_the_index_goes_when_the_sink_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last bulk requests would make the index anew, and every later run would refuse it as somebody else's."""
    calls: list[str] = []
    topics = SimpleNamespace(
        wait_until_left=lambda group, _: calls.append(f"wait for {group}"), delete=lambda _: calls.append("topics")
    )
    cluster = SimpleNamespace(
        index_owner=lambda _: "7", delete_index=lambda index: calls.append(f"delete {index}"), close=lambda: None
    )
    monkeypatch.setattr(prepare, "topics_of", lambda _: topics)
    monkeypatch.setattr(prepare, "cluster_of", lambda *_: cluster)
    remove_traces(cast("Target", SimpleNamespace(endpoints=None)), load_profile("quickstart"), "7")
    assert calls == ["wait for connect-sluice-quickstart-7", "delete sluice-quickstart", "topics"]


def test_a_group_is_waited_for_until_its_members_have_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that Kafka does not know, or a broker that is gone, is not waited for."""
    answers: list[Any] = [SimpleNamespace(members=["one"]), SimpleNamespace(members=[])]
    asked: list[str] = []

    def describe(groups: list[str], **_: float) -> dict[str, Any]:
        asked.extend(groups)
        answer = answers.pop(0)
        return {groups[0]: SimpleNamespace(result=lambda: answer if answer else unknown())}

    def unknown() -> None:
        raise KafkaException(KafkaError(KafkaError.GROUP_ID_NOT_FOUND))

    monkeypatch.setattr("lab.clients.kafka.time.sleep", lambda _: None)
    topics = KafkaTopics("127.0.0.1:1")
    monkeypatch.setattr(topics, "_admin", SimpleNamespace(describe_consumer_groups=describe))
    topics.wait_until_left("connect-books", 7)
    assert asked == ["connect-books"] * 2
    answers.append(None)
    topics.wait_until_left("connect-books", 7)
    assert asked == ["connect-books"] * 3
