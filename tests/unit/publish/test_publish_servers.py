"""Sending and importing: what the servers are asked, and what is made of their answers."""

from pathlib import Path
from typing import Any

import pytest

from lab.analysis.folder import read_run
from lab.endpoints import OPEN, HttpAccess, api_key, basic
from lab.errors import ProfileError, StackError
from lab.publish.document import Document
from lab.publish.kibana import OBJECTS, Shape, dashboard_address, import_objects, monitoring_address
from lab.publish.publish import other_clusters, prepare_samples, publish
from lab.publish.samples import TEMPLATE
from lab.publish.server import Server, field_type
from tests.unit.analysis.synthetic import Truth, run, samples, with_samples, written
from tests.unit.messages import MakeMessage
from tests.unit.publish.recorder import nowhere, recorder

TRUTH = Truth(ticks=13)
MAPPED = {"sluice-samples": {"mappings": TEMPLATE["template"]["mappings"]}}


# --- Kibana ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "shape"),
    [
        ({"version": {"number": "7.17.7"}}, Shape.KIBANA_7_17),
        ({"version": {"number": "8.19.21"}}, Shape.KIBANA_8),
        ({"version": {"number": "9.5.3"}}, Shape.KIBANA_8),
        ({"status": {"overall": {"level": "available"}}}, Shape.KIBANA_8),
    ],
)
def test_kibana_gets_the_file_of_its_version(status: dict[str, Any], shape: Shape) -> None:
    """Over what is there already, with the header without which Kibana refuses to write, as a form's file."""
    with recorder((200, status), (200, {"success": True, "successCount": 7})) as server:
        imported = import_objects(server.url, OPEN)
    status_request, sent = server.requests

    assert imported == 7
    assert (status_request.method, status_request.path) == ("GET", "/api/status")
    assert (sent.method, sent.path) == ("POST", "/api/saved_objects/_import?overwrite=true")
    assert sent.headers["kbn-xsrf"]
    assert sent.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert f'name="file"; filename="{shape.file_name}"'.encode() in sent.body
    assert (OBJECTS / shape.file_name).read_bytes() in sent.body


def test_objects_that_kibana_cannot_take_are_named(message: MakeMessage) -> None:
    """Which, and what is wrong with them."""
    errors = [{"type": "dashboard", "id": "sluice-experiment", "error": {"type": "missing_references"}}]
    answer = {"success": False, "successCount": 0, "errors": errors}
    with recorder((200, {}), (200, answer)) as server, pytest.raises(StackError) as failure:
        import_objects(server.url, OPEN)
    assert str(failure.value) == message("sluice-8.ndjson", "missing_references", url=server.url)


def test_kibanas_own_reason_is_told(message: MakeMessage) -> None:
    """A refusal has a sentence of its own."""
    refused = {"statusCode": 400, "error": "Bad Request", "message": "Invalid file extension .txt"}
    with recorder((200, {}), (400, refused)) as server, pytest.raises(StackError) as failure:
        import_objects(server.url, OPEN)
    assert str(failure.value) == message("/api/saved_objects/_import", 400, url=server.url)


def test_what_is_no_kibana_is_said_to_be_none(message: MakeMessage) -> None:
    """Such as an Elasticsearch, or a page."""
    for answer in ((404, {"error": "no handler found"}), (200, "<html>")):
        with recorder(answer) as server, pytest.raises(StackError) as error:
            import_objects(server.url, OPEN)
        assert str(error.value) == message("Kibana", url=server.url)


def test_a_kibana_that_does_not_answer_is_named(message: MakeMessage) -> None:
    """In one sentence, with what to check."""
    url = nowhere()
    with pytest.raises(StackError) as failure:
        import_objects(url, OPEN)
    assert str(failure.value) == message("ConnectError", "Kibana", url=url)


def test_addresses_lead_to_the_run() -> None:
    """To the instants of the run in Stack Monitoring, and to its name on the dashboard."""
    assert monitoring_address("http://localhost:5601/", 1_767_225_600, 1_767_225_660) == (
        "http://localhost:5601/app/monitoring#/elasticsearch?_g=(cluster_uuid:sluice-recordings,"
        "time:(from:'2026-01-01T00:00:00.000Z',to:'2026-01-01T00:01:00.000Z'))"
    )
    assert dashboard_address("http://localhost:5601", "aladin/flat 20261121-101010") == (
        "http://localhost:5601/app/dashboards#/view/sluice-experiment?_a=(query:(language:kuery,"
        "query:'run.name%3A%20%22aladin%2Fflat%2020261121-101010%22'))"
    )


# --- authentication -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("access", "header"),
    [
        (HttpAccess(api_key("a2V5")), "ApiKey a2V5"),
        (HttpAccess(basic("elastic", "correct horse")), "Basic ZWxhc3RpYzpjb3JyZWN0IGhvcnNl"),
    ],
)
def test_credentials_go_into_a_header_and_nowhere_else(access: HttpAccess, header: str) -> None:
    """Neither into an address nor into what is printed of them."""
    with recorder((200, {})) as server:
        Server(server.url, access).request("GET", "/")
    assert server.requests[0].headers["authorization"] == header
    assert "a2V5" not in repr(access)
    assert "horse" not in repr(access)


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_rejects_our_credentials_says_what_to_give(status: int, message: MakeMessage) -> None:
    """Without a word of what was given."""
    answer = {"error": {"type": "security_exception", "reason": "unable to authenticate [a2V5]"}}
    with recorder((status, answer)) as server, pytest.raises(StackError) as failure:
        Server(server.url, HttpAccess(api_key("a2V5"))).request("PUT", "/_index_template/sluice-samples", {})
    assert str(failure.value) == message(
        "/_index_template/sluice-samples", status, "--api-key-env", "--user", "--password-env", url=server.url
    )


def test_a_server_that_does_not_answer_is_named(message: MakeMessage) -> None:
    """In one sentence, with what to check."""
    url = nowhere()
    with pytest.raises(StackError) as failure:
        Server(url, OPEN).request("GET", "/")
    assert str(failure.value) == message("ConnectError", "--ca", url=url)


def test_what_is_no_elasticsearch_is_said_to_be_none(message: MakeMessage) -> None:
    """Such as a page of a server that answers everything."""
    with recorder((200, "<html>")) as server, pytest.raises(StackError) as failure:
        prepare_samples(Server(server.url, OPEN))
    assert str(failure.value) == message("/_index_template/sluice-samples", 200, url=server.url)


# --- sending --------------------------------------------------------------------------------------------------------


def test_documents_are_sent_by_their_ids_in_parts() -> None:
    """A request for 500 of them; 1 009 are three requests."""
    documents = [Document(f"id-{number}", {"number": number}) for number in range(1009)]
    with recorder((200, {"items": []})) as server:
        assert Server(server.url, OPEN).send("sluice-samples", documents) == 1009
    lines = [line for request in server.requests for line in request.body.splitlines()]
    assert [len(request.body.splitlines()) // 2 for request in server.requests] == [500, 500, 9]
    assert (lines[0], lines[1]) == (b'{"index":{"_id":"id-0"}}', b'{"number":0}')
    assert {request.path for request in server.requests} == {"/sluice-samples/_bulk"}
    assert {request.headers["content-type"] for request in server.requests} == {"application/x-ndjson"}


def test_a_refused_document_ends_it_without_being_shown(message: MakeMessage) -> None:
    """How many of how many, and what kind of error; nothing of the document."""
    error = {"type": "document_parsing_exception", "reason": "failed to parse field [number] of value 'secret'"}
    answer = {"items": [{"index": {"status": 201}}, {"index": {"status": 400, "error": error}}]}
    with recorder((200, answer)) as server, pytest.raises(StackError) as failure:
        Server(server.url, OPEN).send("sluice-samples", [Document("a", {}), Document("b", {})])
    assert str(failure.value) == message(1, 2, "document_parsing_exception", url=server.url)


def test_a_run_without_an_answer_of_elasticsearch_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """Before the server is asked anything."""
    truth = Truth()
    lost = with_samples(samples(truth), lambda _: {"elasticsearch": None})
    folder = written(tmp_path / "run", run(truth), lost)
    with pytest.raises(ProfileError) as error:
        publish(read_run(folder), Server(nowhere(), OPEN), 10)
    assert str(error.value) == message()


def test_a_field_is_found_at_any_depth() -> None:
    """`None` where the mapping does not go that far."""
    mapping = {"properties": {"run": {"properties": {"name": {"type": "keyword"}}}, "kind": {"type": "text"}}}
    types = [field_type(mapping, name) for name in ("run.name", "kind", "run.age", "nothing.at.all")]
    assert types == ["keyword", "text", None, None]


# --- beside other clusters ------------------------------------------------------------------------------------------


def test_stack_monitoring_of_another_cluster_is_left_alone(tmp_path: Path) -> None:
    """With a basic licence Kibana would open neither of the two; our own samples are sent all the same."""
    folder = read_run(written(tmp_path / "run", run(TRUTH), samples(TRUTH)))
    others = {"aggregations": {"clusters": {"buckets": [{"key": "gU3Lx", "doc_count": 7}]}}}
    with recorder((200, others), (200, {}), (200, {}), (200, MAPPED), (200, {"items": []})) as server:
        published = publish(folder, Server(server.url, OPEN), 10)
    paths = {request.path.partition("?")[0] for request in server.requests}
    assert (published.other_clusters, list(published.documents)) == (("gU3Lx",), ["sluice-samples"])
    assert not {path for path in paths if ".monitoring-es-7" in path}


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"hits": {"hits": []}}),
        (400, {"error": {"type": "illegal_argument_exception"}}),
        (200, {"aggregations": {"clusters": {"buckets": []}}}),
    ],
)
def test_a_server_without_another_cluster_has_none(answer: tuple[int, Any]) -> None:
    """No index at all, one whose clusters cannot be told apart, or nothing but our recordings."""
    with recorder(answer) as server:
        assert other_clusters(Server(server.url, OPEN)) == ()
