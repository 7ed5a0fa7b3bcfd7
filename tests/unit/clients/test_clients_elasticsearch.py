"""What a run asks of Elasticsearch: patiently, and with its errors in its own words."""

from typing import Any

import pytest

from lab.clients.elasticsearch import ElasticsearchClient, error_reason
from lab.errors import ProfileError, StackError
from lab.profiles import Dataset, Profile
from lab.run.names import index_name
from lab.run.prepare import create_index
from tests.unit.clients.rest_server import Rest, Time, cluster, rest
from tests.unit.messages import MakeMessage


def client(*servers: Rest, time: Time | None = None, patience_s: float = 7.0) -> ElasticsearchClient:
    """A client of these nodes, patient for so long."""
    time = time or Time()
    urls = [server.url for server in servers]
    return ElasticsearchClient(urls, patience_s=patience_s, sleep=time.sleep, clock=time.clock)


def gone() -> Rest:
    """A node that does not run any more."""
    with rest((200, {})) as server:
        return server


def error(reason: str, **more: object) -> dict[str, object]:
    """An error answer."""
    return {"error": {"type": "some_exception", "reason": reason, **more}, "status": 400}


# --- patience -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_node_is_asked_again(status: int) -> None:
    """A second later."""
    time = Time()
    with rest((status, error("busy")), (status, error("busy")), (200, {"count": 1009})) as server:
        assert client(server, time=time).count("books") == 1009
    assert time.naps == [0.5, 0.5]
    assert len(server.requests) == 3


def test_a_node_that_stays_busy_is_given_up(message: MakeMessage) -> None:
    """With its words, after the patience is over."""
    time = Time()
    with rest((503, error("no master"))) as server, pytest.raises(StackError) as failure:
        client(server, time=time).count("books")
    assert str(failure.value) == message("/books/_count", 503)
    assert sum(time.naps) == 7.5


def test_a_node_that_refuses_connections_is_asked_again_until_the_patience_is_over(message: MakeMessage) -> None:
    """It may be restarted meanwhile."""
    time = Time()
    server = gone()
    with pytest.raises(StackError) as failure:
        client(server, time=time).count("books")
    assert str(failure.value) == message(111, url=server.url)
    assert sum(time.naps) == 7.5


def test_another_node_is_asked_where_one_does_not_answer() -> None:
    """Any of them knows everything."""
    time = Time()
    with rest((200, {"count": 7})) as server:
        assert client(gone(), server, time=time).count("books") == 7
    assert time.naps == [0.5]


def test_without_patience_every_node_is_asked_once(message: MakeMessage) -> None:
    """The one that answered is asked first the next time."""
    time = Time()
    with rest((200, {"count": 7})) as server:
        nodes = client(gone(), gone(), server, time=time, patience_s=0)
        assert [nodes.count("books"), nodes.count("books")] == [7, 7]
    assert time.naps == [0.5, 0.5]
    last = gone()
    with pytest.raises(StackError) as error:
        client(gone(), last, time=time, patience_s=0).count("books")
    assert str(error.value) == message(url=last.url)
    assert time.naps == [0.5] * 3


def test_an_error_is_not_asked_for_twice(message: MakeMessage) -> None:
    """It would be the same again; the query is not part of the message."""
    with rest(DEFAULTS, (400, error("bad scroll"))) as server, pytest.raises(StackError) as failure:
        list(client(server).ids("books"))
    assert str(failure.value) == message("/books/_search", 400)
    assert len(server.requests) == 2


def test_a_status_that_is_an_answer_is_no_error() -> None:
    """404 says that there is no index."""
    with rest((404, error("no such index [books]"))) as server:
        assert client(server).request("GET", "/books", accept=(404,))[0] == 404


# --- reasons --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (error("no such index [books]"), "no such index [books]"),
        (error("failed to parse", caused_by={"reason": "unknown type"}), "failed to parse (unknown type)"),
        (error("failed to parse", caused_by={"type": "x"}), "failed to parse"),
        ({"error": "alias refused"}, "alias refused"),
        ({"reason": "bare"}, "bare"),
        ("Service Unavailable", "Service Unavailable"),
        ("x" * 1009, "x" * 300),
        (None, "None"),
    ],
)
def test_the_reason_of_an_error_is_in_elasticsearchs_words(answer: object, reason: str) -> None:
    """With what caused it, and short where there is no JSON."""
    assert error_reason(answer) == reason


def test_a_cause_that_the_reason_repeats_is_not_told_twice() -> None:
    """Elasticsearch has the whole sentence of a wrong mapping in both."""
    cause = "The mapper type [scaled_float] declared on field [total] does not exist."
    assert error_reason(error(f"Failed to parse mapping: {cause}", caused_by={"reason": cause})) == (
        f"Failed to parse mapping: {cause}"
    )


@pytest.mark.parametrize(
    ("reason", "module"),
    [
        ("The mapper type [scaled_float] declared on field [total] does not exist.", "mapper-extras"),
        ("No handler for type [join] declared on field [of]", "parent-join"),
        ("Unknown tokenizer type [edge_ngram] for [edge]", "analysis-common"),
        ("Failed to parse mapping: analyzer [english] has not been configured in mappings", "analysis-common"),
    ],
)
def test_a_refused_type_names_the_module_that_the_small_distribution_lacks(reason: str, module: str) -> None:
    """In the words of 9.5, 7.17 and OpenSearch; with the option that starts servers that have it."""
    with rest((400, error(reason))) as server, pytest.raises(ProfileError) as refusal:
        client(server).create_index("books", {})
    assert f"`{module}`" in str(refusal.value)
    assert "`--distribution official`" in str(refusal.value)


def test_another_refusal_of_a_mapping_names_no_module() -> None:
    """A wrong date format is nobody's module."""
    with rest((400, error("Invalid format: [yyyyy]"))) as server, pytest.raises(ProfileError) as refusal:
        client(server).create_index("books", {})
    assert "--distribution" not in str(refusal.value)


# --- cluster settings -----------------------------------------------------------------------------------------------

SPEED, SHARDS = "indices.recovery.max_bytes_per_sec", "cluster.routing.allocation.node_concurrent_recoveries"


def test_refused_cluster_settings_are_the_profiles_fault(message: MakeMessage) -> None:
    """The sentence names the profile's key."""
    with cluster({}) as server, pytest.raises(ProfileError) as refusal:
        client(server).own_cluster_settings({"x": 7})
    assert str(refusal.value) == message("elasticsearch.cluster_settings")


def test_without_cluster_settings_nothing_is_written() -> None:
    """Most profiles have none, and a user of remote servers may only look at them."""
    with cluster({SPEED: "7mb"}) as server:
        client(server).own_cluster_settings({})
    assert [method for method, _, _ in server.requests] == ["GET"]


def test_a_run_takes_back_what_a_killed_one_has_set() -> None:
    """What stood before stands again, and what others have set meanwhile stays."""
    settings = {SPEED: "7mb"}
    with cluster(settings) as server:
        client(server).own_cluster_settings({SPEED: "11mb", SHARDS: 3})
        assert settings.items() >= {SPEED: "11mb", SHARDS: "3"}.items()
        settings["action.auto_create_index"] = "false"
        client(server).own_cluster_settings({SHARDS: 5})
        assert settings.items() >= {SPEED: "7mb", SHARDS: "5"}.items()
        client(server).own_cluster_settings({})
    assert settings == {SPEED: "7mb", "action.auto_create_index": "false"}


def test_a_setting_that_somebody_has_changed_since_is_theirs() -> None:
    """It keeps their value, and is not taken for ours again."""
    settings: dict[str, Any] = {}
    with cluster(settings) as server:
        client(server).own_cluster_settings({SPEED: "11mb", SHARDS: 3})
        settings[SPEED] = "13mb"
        client(server).own_cluster_settings({})
        client(server).own_cluster_settings({})
    assert settings == {SPEED: "13mb"}


@pytest.mark.parametrize("value", [True, 7, 0.5, 1e9, "7mb", ["a", 7]])
def test_a_value_of_any_kind_is_found_again(value: object) -> None:
    """Elasticsearch gives back text, or a list of texts."""
    settings: dict[str, Any] = {}
    with cluster(settings) as server:
        client(server).own_cluster_settings({SPEED: value})
        assert isinstance(settings[SPEED], str) or settings[SPEED] == ["a", "7"]
        client(server).own_cluster_settings({})
    assert settings == {}


def test_the_settings_in_force_are_those_of_everybody() -> None:
    """Persistent or transient; the list of ours is none."""
    with cluster({"action.auto_create_index": "false"}) as server:
        client(server).own_cluster_settings({SPEED: "7mb"})
        assert client(server).cluster_settings() == {
            "action.auto_create_index": "false",
            SPEED: "7mb",
            "cluster.max_shards_per_node": "1009",
        }


# --- reading back ---------------------------------------------------------------------------------------------------


DEFAULTS = (200, {"books": {"settings": {}}})
"""An index that states no setting of those that are asked for."""


def page(scroll_id: str, *ids: str, failed: int = 0) -> dict[str, object]:
    """A page of a scroll; `filter_path` leaves out what is empty."""
    hits = {"hits": {"hits": [{"_id": name} for name in ids]}} if ids else {}
    return {"_scroll_id": scroll_id, "_shards": {"failed": failed}, **hits}


def test_ids_are_read_page_by_page_until_one_is_empty() -> None:
    """Each with the id of the page before it, and the scroll is closed in the end."""
    answers = [DEFAULTS, (200, page("first", "a", "b")), (200, page("second", "c")), (200, page("third")), (200, {})]
    with rest(*answers) as server:
        assert list(client(server).ids("books")) == [["a", "b"], ["c"]]
    assert [(method, path.partition("?")[0]) for method, path, _ in server.requests[1:]] == [
        ("POST", "/books/_search"),
        ("POST", "/_search/scroll"),
        ("POST", "/_search/scroll"),
        ("DELETE", "/_search/scroll"),
    ]
    assert [body["scroll_id"] for _, _, body in server.requests[2:]] == ["first", "second", ["third"]]


@pytest.mark.parametrize(("windows", "size"), [((), 10_000), ((20_000,), 10_000), ((7,), 7), ((500, 30), 30)])
def test_a_page_is_no_larger_than_the_index_allows(windows: tuple[int, ...], size: int) -> None:
    """Elasticsearch refuses a scroll whose batches are larger (`SearchService.java`); of several indices any does."""
    allowed = {f"books-{n}": {"settings": {"index.max_result_window": str(each)}} for n, each in enumerate(windows)}
    with rest((200, allowed or DEFAULTS[1]), (200, page("first")), (200, {})) as server:
        list(client(server).ids("books"))
    assert server.requests[1][2]["size"] == size


def test_an_empty_index_has_no_pages() -> None:
    """Its scroll is closed all the same."""
    with rest(DEFAULTS, (200, page("first")), (200, {})) as server:
        assert list(client(server).ids("books")) == []
    assert len(server.requests) == 3


def test_a_shard_that_cannot_be_read_is_one_sentence(message: MakeMessage) -> None:
    """Its documents would be taken for missing ones."""
    with rest(DEFAULTS, (200, page("first", "a", failed=1))) as server, pytest.raises(StackError) as failure:
        list(client(server).ids("books"))
    assert str(failure.value) == message("index books", 1)


def test_a_reading_that_breaks_off_closes_its_scroll() -> None:
    """One by one they would use up `search.max_open_scroll_context`."""
    answers = DEFAULTS, (200, page("first", "a")), (404, error("no search context")), (200, {})
    with rest(*answers) as server, pytest.raises(StackError):
        list(client(server).ids("books"))
    assert server.requests[-1] == ("DELETE", "/_search/scroll", {"scroll_id": ["first"]})


def test_documents_that_are_not_there_are_left_out() -> None:
    """The answer has only what was found."""
    docs = [{"_id": "a", "found": True, "_source": {"price": 7}}, {"_id": "b", "found": False}]
    with rest((200, {"books": {"settings": {}}}), (200, {"docs": docs})) as server:
        assert client(server).sources("books", ["a", "b"]) == {"a": {"price": 7}}
    assert server.requests[1][2] == {"ids": ["a", "b"]}
    assert "vectors" not in server.requests[1][1], "older versions refuse a parameter that they do not know"


def test_documents_are_read_back_two_hundred_at_a_time() -> None:
    """So that no answer becomes large; how the index returns vectors is asked once."""
    names = [f"{number}" for number in range(401)]
    answers = [(200, {"docs": [{"_id": names[first], "found": True, "_source": {}}]}) for first in (0, 200, 400)]
    with rest(DEFAULTS, *answers) as server:
        assert client(server).sources("books", names) == {"0": {}, "200": {}, "400": {}}
    assert [len(body["ids"]) for _, _, body in server.requests[1:]] == [200, 200, 1]


def test_documents_are_read_with_their_routings() -> None:
    """One that is stored with another routing, or without one, is not there."""
    docs = [
        {"_id": "a", "found": True, "_routing": "x", "_source": {"price": 7}},
        {"_id": "b", "found": True, "_source": {"price": 11}},
        {"_id": "c", "found": True, "_source": {"price": 13}},
    ]
    with rest((200, {"books": {"settings": {}}}), (200, {"docs": docs})) as server:
        found = client(server).sources("books", ["a", "b", "c"], {"a": "x", "b": "y"})
    assert found == {"a": {"price": 7}, "c": {"price": 13}}
    assert server.requests[1][2] == {"docs": [{"_id": "a", "routing": "x"}, {"_id": "b", "routing": "y"}, {"_id": "c"}]}


def test_documents_are_read_with_their_vectors() -> None:
    """From 9.2 on `_source` leaves them out unless it is asked otherwise."""
    settings = {"settings": {}, "defaults": {"index.mapping.exclude_source_vectors": "true"}}
    docs = [{"_id": "a", "found": True, "_source": {"vector": [0.5]}}]
    with rest((200, {"books": settings}), (200, {"docs": docs})) as server:
        assert client(server).sources("books", ["a"]) == {"a": {"vector": [0.5]}}
    assert server.requests[1][1].endswith("&_source_exclude_vectors=false")


def test_an_index_is_described_by_its_settings_defaults_included_and_its_mapping() -> None:
    """What was set goes before the default."""
    settings = {"settings": {"index.mode": "logsdb"}, "defaults": {"index.mode": "standard", "index.codec": "default"}}
    answers = ((200, {"books": settings}), (200, {"books": {"mappings": {"dynamic": "strict"}}}))
    with rest(*answers) as server:
        described = client(server).described("books")
    assert described == [({"index.mode": "logsdb", "index.codec": "default"}, {"dynamic": "strict"})]


def test_the_index_options_of_vectors_are_those_in_effect() -> None:
    """Also those that the mapping left to Elasticsearch; other fields have none."""
    options = {"type": "int8_hnsw", "m": 16}
    properties = {"number": {"type": "long"}, "vector": {"type": "dense_vector", "index_options": options}}
    with rest((200, {"books": {"mappings": {"properties": properties}}})) as server:
        assert client(server).vector_options("books") == {"vector": options}


# --- whose index it is ----------------------------------------------------------------------------------------------


def mapping(meta: dict[str, Any] | None = None) -> dict[str, Any]:
    """The answer with the mapping of an index."""
    return {"sluice-books": {"mappings": {} if meta is None else {"_meta": meta}}}


@pytest.mark.parametrize(
    ("answer", "owner"),
    [
        ((404, error("no such index")), None),
        ((200, mapping()), ""),
        ((200, mapping({"owner": "somebody"})), ""),
        ((200, mapping({"sluice": {"run": "20260101-000000"}})), "20260101-000000"),
    ],
    ids=["no index", "no metadata", "other metadata", "ours"],
)
def test_the_owner_of_an_index_is_the_run_that_made_it(answer: tuple[int, Any], owner: str | None) -> None:
    """`None` where there is no index, nobody where no run made it."""
    with rest(answer) as server:
        assert client(server).index_owner("sluice-books") == owner


def profile(name: str = "books", *, replicas: int = 0) -> Profile:
    """A profile."""
    return Profile(
        name=name,
        question="?",
        dataset=Dataset(name="aladin"),
        mapping="dynamic",
        index={"number_of_shards": 3, "number_of_replicas": replicas},
    )


def test_a_foreign_index_is_refused_and_left_as_it_is(message: MakeMessage) -> None:
    """The sentence says what can be done; nothing but the question is asked."""
    with rest((200, mapping())) as server, pytest.raises(ProfileError) as refusal:
        create_index(client(server), profile(), "sluice-books", "20260101-000000")
    assert str(refusal.value) == message("index sluice-books")
    assert [method for method, _, _ in server.requests] == ["GET"]


def created(*answers: tuple[int, Any], replicas: int = 0) -> tuple[int, list[tuple[str, str, Any]]]:
    """Unassigned shards of an index that was made, and the requests that made it."""
    with rest(*answers) as server:
        unassigned = create_index(client(server), profile(replicas=replicas), "sluice-books", "20260101-000000")
    return unassigned, [(method, path, body) for method, path, body in server.requests if path != "/_analyze"]


def health(status: str, unassigned: int = 0) -> tuple[int, dict[str, object]]:
    """The answer with the health of an index."""
    return 200, {"status": status, "unassigned_shards": unassigned}


def test_an_index_is_made_with_the_profiles_settings_and_marked_as_ours() -> None:
    """So that the next run may replace it."""
    unassigned, requests = created((404, {}), (200, {}), health("green"))
    assert unassigned == 0
    method, path, body = requests[1]
    assert (method, path) == ("PUT", "/sluice-books")
    assert body["mappings"]["_meta"]["sluice"] == {"run": "20260101-000000"}
    assert (body["settings"]["index"]["number_of_shards"], body["settings"]["index"]["number_of_replicas"]) == (3, 0)


def test_an_index_of_an_earlier_run_is_replaced() -> None:
    """It is deleted first."""
    ours = (200, mapping({"sluice": {"run": "20250101-000000"}}))
    _, requests = created(ours, (200, {}), (200, {}), health("green"))
    assert [(method, path.partition("?")[0]) for method, path, _ in requests[:3]] == [
        ("GET", "/sluice-books/_mapping"),
        ("DELETE", "/sluice-books"),
        ("PUT", "/sluice-books"),
    ]


def test_unassigned_replicas_are_counted() -> None:
    """On a single node they stay so, and nobody waits for them."""
    unassigned, _ = created((404, {}), (200, {}), health("yellow", 3), replicas=1)
    assert unassigned == 3


def test_a_refused_mapping_is_the_profiles_fault(message: MakeMessage) -> None:
    """In Elasticsearch's words."""
    refused = error("Failed to parse mapping", caused_by={"reason": "No handler for type [txt]"})
    with rest((404, {}), (400, refused)) as server, pytest.raises(ProfileError) as refusal:
        create_index(client(server), profile(), "sluice-books", "20260101-000000")
    assert str(refusal.value) == message("index sluice-books")


def test_a_primary_shard_without_a_node_is_one_sentence(message: MakeMessage) -> None:
    """Nothing could be indexed."""
    with rest((404, {}), (200, {}), health("red", 3)) as server, pytest.raises(ProfileError) as refusal:
        create_index(client(server), profile(), "sluice-books", "20260101-000000")
    assert str(refusal.value) == message("index sluice-books", "index.routing.allocation")


def test_a_primary_shard_that_no_disk_has_room_for_is_the_servers_fault(message: MakeMessage) -> None:
    """The profile is right, and other nodes may refuse for other reasons beside."""
    full = {"decider": "disk_threshold", "decision": "NO"}
    deciders = ([full, {"decider": "filter", "decision": "YES"}], [full, {"decider": "filter", "decision": "NO"}])
    explained = (200, {"node_allocation_decisions": [{"deciders": each} for each in deciders]})
    answers = ((404, {}), (200, {}), health("red", 3), health("red", 3), explained)
    with rest(*answers) as server, pytest.raises(StackError) as refusal:
        create_index(client(server), profile(), "sluice-books", "20260101-000000")
    assert str(refusal.value) == message("high watermark")


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("books", "sluice-books"),
        ("aladin/static", "sluice-aladin-static"),
        ("My Books (2)", "sluice-my-books-2-a6b9815e"),
        ("책/books", "sluice-books-8b92e6c8"),
        ("책", "sluice-ba928dd5"),
        ("refresh_30s.v2", "sluice-refresh_30s.v2"),
    ],
)
def test_an_index_is_named_after_its_profile(name: str, index: str) -> None:
    """In the characters that Elasticsearch and Kafka both take, and a hash where others make the difference."""
    assert index_name(profile(name)) == index


# --- size on disk ---------------------------------------------------------------------------------------------------

NOT_SET = {"settings": {}, "defaults": {"index.store.stats_refresh_interval": "10s"}}


@pytest.mark.parametrize(
    ("settings", "waits_s"),
    [
        (NOT_SET, [7.5]),
        ({"settings": {"index.store.stats_refresh_interval": "1m"}}, [57.5]),
        ({"settings": {"index.store.stats_refresh_interval": "2500ms"}}, [0.0]),
        ({"settings": {"index.store.stats_refresh_interval": "0"}}, [0.0]),
    ],
)
def test_the_size_on_disk_is_read_when_no_cache_can_hold_it_from_before(
    settings: dict[str, object], waits_s: list[float]
) -> None:
    """3 s after the last merge an index that caches its size for 10 s is waited for; one that does not, is not."""
    time = Time()
    sizes = {scope: {"store": {"size_in_bytes": size}} for scope, size in (("primaries", 1009), ("total", 2018))}
    with rest((200, {"sluice-books": settings}), (200, {"_all": sizes})) as server:
        found = client(server, time=time).store_size_bytes("sluice-books", time.now_s - 3.0)
    assert found == {"primaries": 1009, "total": 2018}
    assert time.naps == waits_s
    assert [path.partition("?")[0] for _, path, _ in server.requests] == [
        "/sluice-books/_settings/index.store.stats_refresh_interval",
        "/sluice-books/_stats/store",
    ]
