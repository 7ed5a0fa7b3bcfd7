"""Servers elsewhere: what they are, whether they let us in, and which profiles fit them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.endpoints import Access, Endpoints, HttpAccess, basic
from lab.engines import Engine, Release
from lab.engines.elasticsearch import ELASTICSEARCH
from lab.engines.opensearch import OPENSEARCH
from lab.errors import ProfileError, StackError
from lab.identity import identity_of
from lab.profiles import load_profile
from lab.profiles.loader import override
from lab.records.run import Server
from lab.records.suite import Variant
from lab.stack.server import owner_word
from lab.targets import remote
from lab.targets.remote import (
    METRICS_ORIGIN,
    Node,
    Remote,
    RemoteBench,
    RemoteServers,
    check_metrics_agent,
    engine_of,
    nodes_of,
    read_servers,
    refuse_concurrent_run,
)
from tests.unit.clients.rest_server import rest
from tests.unit.messages import MakeMessage

OURS = "io.sluice.connect.ElasticsearchSinkConnector"
ACCESS = Access(
    elasticsearch=HttpAccess(basic("lab", "hunter2")),
    connect=HttpAccess(basic("lab", "hunter3")),
    secrets=frozenset({"hunter2", "hunter3"}),
)


def servers(url: str, metrics_url: str | None = None) -> Endpoints:
    """Servers that are all one."""
    return Endpoints("127.0.0.1:1", url, (url,), metrics_url, ACCESS)


def node(name: str = "es-1", **changes: Any) -> Node:
    """A data node that has been running for an hour."""
    told = {
        "version": "8.19.21", "java_version": "21.0.5", "heap_mb": 2039, "started_ms": 1009, "uptime_ms": 3_600_000,
        "holds_data": True,
    }  # fmt: skip
    return Node(name=name, **(told | changes))


def found(*nodes: Node) -> RemoteServers:
    """A target with these nodes."""
    return RemoteServers(servers("http://127.0.0.1:1"), nodes, "4.1.0", frozenset({OURS}))


def told_of_nodes(**roles: list[str]) -> tuple[tuple[int, Any], tuple[int, Any]]:
    """What Elasticsearch says of nodes with these roles: first what they are, then for how long."""
    are = {
        f"id-{name}": {
            "name": name,
            "version": "8.19.21",
            "roles": its,
            "jvm": {
                "version": "21.0.5",
                "start_time_in_millis": 1009,
                "mem": {"heap_max_in_bytes": 2039 * 1024 * 1024},
            },
        }
        for name, its in roles.items()
    }
    since = {f"id-{name}": {"name": name, "jvm": {"uptime_in_millis": 3_600_000}} for name in roles}
    return (200, {"nodes": are}), (200, {"nodes": since})


def test_what_a_run_starts_beside_them_can_be_found_after_its_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command in place of a sink outlives a run that is killed; the next command stops it."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    assert found(node("a")).target().child_environment == {"SLUICE_STACK": f"{tmp_path}#{owner_word(identity_of())}"}


# --- what they are --------------------------------------------------------------------------------------------------


def test_the_nodes_say_what_they_are() -> None:
    """In the order of their names; only some roles hold an index that says nothing of tiers."""
    with rest(*told_of_nodes(warm=["data_warm"], b=["data_content", "ingest"], a=["data", "master"])) as server:
        seen = nodes_of(servers(server.url))
    assert seen == (node("a"), node("b"), node("warm", holds_data=False))


def test_every_request_carries_the_credentials() -> None:
    """Elasticsearch's to Elasticsearch."""
    headers: list[dict[str, str]] = []
    with rest(*told_of_nodes(a=["data"]), on_headers=headers.append) as server:
        nodes_of(servers(server.url))
    assert {found.get("Authorization") for found in headers} == {basic("lab", "hunter2")}


@pytest.mark.parametrize("status", [401, 403])
def test_a_cluster_that_does_not_let_us_in_is_one_sentence(status: int, message: MakeMessage) -> None:
    """With Elasticsearch's reason, and without what was tried."""
    refusal = {"error": {"reason": "unable to authenticate user [lab]"}}
    with rest((status, refusal)) as server, pytest.raises(ProfileError) as error:
        nodes_of(servers(server.url))
    assert str(error.value) == message(status, url=server.url)


def test_something_else_than_elasticsearch_is_one_sentence(message: MakeMessage) -> None:
    """Such as a proxy that answers everything."""
    with rest((200, {"hello": "world"})) as server, pytest.raises(StackError) as error:
        nodes_of(servers(server.url))
    assert str(error.value) == message("/_nodes", url=server.url)


def test_servers_on_which_sluice_is_at_work_already_are_left_alone(message: MakeMessage) -> None:
    """Its connector would be deleted by the run as a leftover; those of others would not."""
    refuse_concurrent_run(found(node()))
    with pytest.raises(ProfileError) as error:
        refuse_concurrent_run(replace(found(node()), connectors=("sluice-aladin-7", "sluice-aladin-11")))
    assert str(error.value) == message("http://127.0.0.1:1", "sluice-aladin-7")


def test_a_worker_that_does_not_let_us_in_is_one_sentence(message: MakeMessage) -> None:
    """What it repeats of our secrets is hidden."""
    refusal = (401, {"message": "lab:hunter3 is nobody"})
    with rest(*told_of_nodes(a=["data"]), refusal) as server, pytest.raises(ProfileError) as error:
        read_servers(servers(server.url))
    assert str(error.value) == message(401, url=server.url)


@pytest.mark.parametrize("answer", [{"hello": "world"}, ["hello"], "hello"])
def test_something_else_than_a_worker_is_one_sentence(answer: object, message: MakeMessage) -> None:
    """Such as the port of another server."""
    with rest(*told_of_nodes(a=["data"]), (200, answer)) as server, pytest.raises(StackError) as error:
        read_servers(servers(server.url))
    assert str(error.value) == message(url=server.url)


def test_a_cluster_without_data_nodes_is_one_sentence(message: MakeMessage) -> None:
    """There is nothing to index into."""
    with rest(*told_of_nodes(a=["master"])) as server, pytest.raises(StackError) as error:
        read_servers(servers(server.url))
    assert str(error.value) == message(url=server.url)


@pytest.mark.parametrize(
    ("status", "kind", "facts"),
    [
        (401, ProfileError, (401,)),
        (404, StackError, (404,)),
    ],
)
def test_an_agent_that_gives_no_answer_is_one_sentence(
    status: int, kind: type[Exception], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Whoever names one wants its figures."""
    with rest((status, {})) as server, pytest.raises(kind) as error:
        check_metrics_agent(servers(server.url, f"{server.url}/jolokia/"))
    assert str(error.value) == message("jolokia/version", *facts, url=server.url)


def test_no_agent_is_asked_where_there_is_none() -> None:
    """It may be left out."""
    check_metrics_agent(servers("http://127.0.0.1:1"))


def test_a_metrics_agent_is_asked_as_a_page_that_may_see_it() -> None:
    """Jolokia rejects other origins, and requests without credentials."""
    headers: list[dict[str, str]] = []
    with rest((200, {}), on_headers=headers.append) as server:
        agent = HttpAccess(basic("lab", "hunter4"))
        check_metrics_agent(
            replace(servers(server.url, f"{server.url}/jolokia"), access=replace(ACCESS, metrics=agent))
        )
    assert [(found["Origin"], found["Authorization"]) for found in headers] == [(METRICS_ORIGIN, agent.authorization)]


WORKER = (
    (200, {"version": "4.1.0"}),
    (200, ["theirs", "sluice-books-20261127-101112", "sluice-books-20261127-101111"]),
    (200, [{"class": OURS}]),
)


class Topics:
    """Kafka, which either answers or does not."""

    def __init__(self, error: StackError | None = None) -> None:
        self.error = error

    def names(self, _: float) -> list[str]:
        """The topics, which nobody asks for here."""
        if self.error:
            raise self.error
        return []


def test_every_server_is_asked_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, before anything is planned on them; a connector of ours that runs there is a run under way."""
    monkeypatch.setattr(remote, "topics_of", lambda _: Topics())
    own = {"version": {"number": "3.0.0", "distribution": "opensearch"}}
    with rest(*told_of_nodes(a=["data"]), *WORKER, (200, own)) as server:
        seen = read_servers(servers(server.url))
    ours = ("sluice-books-20261127-101111", "sluice-books-20261127-101112")
    assert seen == RemoteServers(servers(server.url), (node("a"),), "4.1.0", frozenset({OURS}), ours, OPENSEARCH)


@pytest.mark.parametrize("silent", ["broker", "agent"])
def test_a_broker_or_an_agent_that_does_not_answer_is_told_beforehand(
    silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after minutes of a run."""
    error = StackError("broker: does not answer") if silent == "broker" else None
    monkeypatch.setattr(remote, "topics_of", lambda _: Topics(error))
    with rest(*told_of_nodes(a=["data"]), *WORKER, (404, {})) as server, pytest.raises(StackError, match=silent):
        read_servers(servers(server.url, f"{server.url}/agent"))


def test_servers_are_asked_once_and_not_while_a_run_is_under_way(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They are nobody's for this command: held by none, stopped by none."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    answers = [found(node()), replace(found(node()), connectors=("sluice-aladin-7",))]
    monkeypatch.setattr(remote, "read_servers", lambda _: answers.pop(0))
    theirs = Remote(servers("http://127.0.0.1:1"))
    profile = load_profile("quickstart")
    with theirs.held():
        assert theirs.fitted(profile).elasticsearch.heap_mb == 2039
        assert theirs.target(profile).name == "remote"
    theirs.stop()
    assert (len(answers), theirs.endpoints()) == (1, servers("http://127.0.0.1:1"))
    with pytest.raises(ProfileError):
        Remote(servers("http://127.0.0.1:1")).fitted(profile)


def test_servers_that_somebody_restarts_during_a_suite_are_cold_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A JVM is known by its start; what cannot be restarted or changed here is left as it is."""
    nodes = [(node("a"), node("b")), (node("a"), node("b", started_ms=2003))]
    monkeypatch.setattr(remote, "nodes_of", lambda _: nodes.pop(0))
    bench = RemoteBench({"static": load_profile("quickstart")}, {}, [], found(node()))
    variant = Variant(name="static", profile="quickstart", fingerprint="f")
    first = bench.prepare(variant)
    bench.restart()
    bench.change_part("one", "two")
    second = bench.prepare(variant)
    assert (len(first), len(first & second)) == (2, 1)
    assert bench.target is not None
    assert [server.name for server in bench.target.servers] == ["elasticsearch-1", "elasticsearch-2", "connect"]


# --- as a run uses them ---------------------------------------------------------------------------------------------


def test_the_servers_are_recorded_as_they_are() -> None:
    """With versions, and without process ids; of brokers nobody tells the version."""
    target = found(node("a"), node("b", version="8.19.20", java_version="17.0.9")).target()
    assert list(target.servers) == [
        Server(name="elasticsearch-1", version="8.19.21", pid=None),
        Server(name="elasticsearch-2", version="8.19.20", pid=None),
        Server(name="connect", version="4.1.0", pid=None),
    ]
    assert target.java_versions == {"elasticsearch-1": "21.0.5", "elasticsearch-2": "17.0.9"}
    assert (target.name, target.process_ids(), target.access) == ("remote", {}, ACCESS)


@pytest.mark.parametrize(("uptime_ms", "fresh"), [(299_993, True), (300_007, False)])
def test_nodes_that_have_just_started_are_cold(uptime_ms: int, *, fresh: bool) -> None:
    """For five minutes."""
    assert found(node("a"), node("b", uptime_ms=uptime_ms)).target().fresh is fresh


# --- which profiles fit ---------------------------------------------------------------------------------------------


def test_a_profile_that_says_nothing_of_servers_runs_on_any() -> None:
    """What is written down is what they are."""
    fitted = found(node("a"), node("b"), node("c", holds_data=False)).fitted(load_profile("quickstart"))
    assert fitted.elasticsearch.version == "8.19.21"
    assert (fitted.elasticsearch.data_nodes, fitted.elasticsearch.heap_mb) == (2, 2039)


def test_a_profile_that_asks_for_what_there_is_runs() -> None:
    """Stated or not makes no difference then."""
    asked = load_profile(
        "quickstart",
        overrides=['elasticsearch.version="8.19.21"', "elasticsearch.data_nodes=1", "elasticsearch.heap_mb=2039"],
    )
    assert found(node()).fitted(asked).elasticsearch.heap_mb == 2039


@pytest.mark.parametrize(
    ("override", "facts"),
    [
        ('version="9.5.3"', ("version", "9.5.3", "8.19.21")),
        ("data_nodes=3", ("data_nodes", 3, 1)),
        ("heap_mb=4099", ("heap_mb", 4099, 2039)),
        ("java=21", ("java", 21)),
        ("distribution=official", ("distribution", "official")),
        ("node_settings={node.processors: 1}", ("node_settings.node.processors",)),
        (
            "cluster_settings={indices.recovery.max_bytes_per_sec: 7mb}",
            ("cluster_settings.indices.recovery.max_bytes_per_sec",),
        ),
    ],
)  # fmt: skip
def test_a_profile_that_asks_for_something_else_is_refused(
    override: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """With the place where it asks, and what there is."""
    profile = load_profile("quickstart", overrides=[f"elasticsearch.{override}"])
    with pytest.raises(ProfileError) as error:
        found(node()).fitted(profile)
    said = str(error.value)
    assert said == message("--target", *facts)
    assert said.startswith("--set elasticsearch.")


@pytest.mark.parametrize("name", ["memory_limit_mb", "page_cache_mb", "read_iops_limit"])
def test_bounds_of_servers_elsewhere_are_refused(name: str, message: MakeMessage) -> None:
    """Whatever they are already: nothing is set there."""
    profile = load_profile("quickstart")
    bounded = profile.elasticsearch.model_copy(update={name: 3001})
    with pytest.raises(ProfileError) as error:
        found(node()).fitted(profile.model_copy(update={"elasticsearch": bounded}))
    assert str(error.value) == message(f"quickstart: elasticsearch.{name}", 3001, "--target")


def test_a_pause_of_nodes_elsewhere_is_refused(message: MakeMessage) -> None:
    """Before anything is produced."""
    with pytest.raises(ProfileError) as error:
        found(node()).fitted(load_profile("pipelines/pause"))
    assert str(error.value) == message("pipelines/pause", "load.pause", "--target local")


def test_a_sink_that_the_worker_does_not_have_is_refused(message: MakeMessage) -> None:
    """Before a suite is planned with it."""
    theirs = load_profile("quickstart", overrides=["sink.config={connector.class: org.example.TheirSink}"])
    with pytest.raises(ProfileError) as error:
        found(node()).fitted(theirs)
    assert str(error.value) == message("sink.connector", "org.example.TheirSink", "plugin.path")


# --- OpenSearch -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "engine"),
    [
        (200, {"version": {"number": "3.0.0", "distribution": "opensearch"}}, OPENSEARCH),
        (200, {"version": {"number": "8.19.21", "build_flavor": "default"}}, ELASTICSEARCH),
        (403, {"error": {"reason": "no permission"}}, ELASTICSEARCH),
        (405, {"error": "Incorrect HTTP method for uri [/] and method [GET], allowed: [DELETE]"}, ELASTICSEARCH),
    ],
)
def test_a_cluster_says_which_engine_it_is(status: int, body: object, engine: Engine) -> None:
    """OpenSearch by its distribution; the Elasticsearch that is started here does not answer at all."""
    with rest((status, body)) as server:
        assert engine_of(servers(server.url)) is engine


def test_a_profile_becomes_one_of_the_engine_that_the_cluster_is() -> None:
    """Also in what is written down of the servers."""
    theirs = replace(found(node(version="3.0.0")), engine=OPENSEARCH)
    assert theirs.fitted(load_profile("quickstart")).release == Release(OPENSEARCH, "3.0.0")
    assert [server.release for server in theirs.target().servers] == ["OpenSearch 3.0.0", "4.1.0"]


@pytest.mark.parametrize(
    ("stated", "place", "facts"),
    [
        ("elasticsearch.version=9.0.0", "--set elasticsearch.version", ("Elasticsearch 9.0.0", "OpenSearch 3.0.0")),
        ("opensearch=2.19.1", "--set opensearch", ("2.19.1", "3.0.0")),
        (override("opensearch", "2.19.1", "--opensearch"), "--opensearch", ("2.19.1", "3.0.0")),
    ],
)
def test_another_engine_than_the_clusters_is_refused(
    stated: str, place: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """By the key, or the option, that asks for it."""
    theirs = replace(found(node(version="3.0.0")), engine=OPENSEARCH)
    with pytest.raises(ProfileError) as error:
        theirs.fitted(load_profile("quickstart", overrides=[stated]))
    assert str(error.value) == message(place, *facts, "--target remote")
