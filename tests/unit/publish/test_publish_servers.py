"""Sending and importing: what the servers are asked, and what is made of their answers."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.analysis.folder import read_run
from lab.errors import ProfileError, StackError
from lab.publish.document import Document
from lab.publish.kibana import OBJECTS, dashboard_address, import_objects, monitoring_address
from lab.publish.publish import field_type, publish
from lab.publish.saved_objects import Shape
from lab.publish.server import Access, Server
from tests.unit.analysis.synthetic import Truth, run, samples, with_samples, written

NO_ACCESS = Access()


@dataclass
class Request:
    """What a server was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Recorder:
    """A server that gives its answers in their order, the last one again and again.

    Attributes:
        answers: (status, JSON or text).
    """

    answers: list[tuple[int, Any]]
    requests: list[Request] = field(default_factory=list)
    url: str = ""


@contextlib.contextmanager
def recorder(*answers: tuple[int, Any]) -> Iterator[Recorder]:
    """A server that records what it is asked."""
    made = Recorder(list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            made.requests.append(Request(self.command, self.path, headers, body))
            status, answer = made.answers.pop(0) if len(made.answers) > 1 else made.answers[0]
            payload = answer.encode() if isinstance(answer, str) else orjson.dumps(answer)
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = do_PUT = respond  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{httpd.server_address[1]}"
    try:
        yield made
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


def nowhere() -> str:
    """An address at which nothing listens."""
    with recorder((200, {})) as server:
        return server.url


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
        imported = import_objects(server.url, NO_ACCESS)
    asked, sent = server.requests

    assert imported == 7
    assert (asked.method, asked.path) == ("GET", "/api/status")
    assert (sent.method, sent.path) == ("POST", "/api/saved_objects/_import?overwrite=true")
    assert sent.headers["kbn-xsrf"]
    assert sent.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert f'name="file"; filename="{shape.file_name}"'.encode() in sent.body
    assert (OBJECTS / shape.file_name).read_bytes() in sent.body


def test_objects_that_kibana_cannot_take_are_named() -> None:
    """Which, and what is wrong with them."""
    errors = [{"type": "dashboard", "id": "sluice-experiment", "error": {"type": "missing_references"}}]
    answer = {"success": False, "successCount": 0, "errors": errors}
    with recorder((200, {}), (200, answer)) as server, pytest.raises(StackError) as failure:
        import_objects(server.url, NO_ACCESS)
    assert str(failure.value) == (
        f"{server.url}: could not import sluice-8.ndjson: dashboard sluice-experiment: missing_references"
    )


def test_kibanas_own_reason_is_told() -> None:
    """A refusal has a sentence of its own."""
    refused = {"statusCode": 400, "error": "Bad Request", "message": "Invalid file extension .txt"}
    with recorder((200, {}), (400, refused)) as server, pytest.raises(StackError) as failure:
        import_objects(server.url, NO_ACCESS)
    assert str(failure.value) == (
        f"{server.url}: POST /api/saved_objects/_import: status 400: Invalid file extension .txt"
    )


def test_what_is_no_kibana_is_said_to_be_none() -> None:
    """Such as an Elasticsearch, or a page."""
    for answer in ((404, {"error": "no handler found"}), (200, "<html>")):
        with recorder(answer) as server, pytest.raises(StackError, match="is this a Kibana"):
            import_objects(server.url, NO_ACCESS)


def test_a_kibana_that_does_not_answer_is_named() -> None:
    """In one sentence, with what to check."""
    url = nowhere()
    with pytest.raises(StackError) as failure:
        import_objects(url, NO_ACCESS)
    assert str(failure.value).startswith(f"{url}: no answer (ConnectError: ")
    assert str(failure.value).endswith("; check the address of Kibana")


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


# --- being let in ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("access", "header"),
    [
        (Access(api_key="a2V5"), "ApiKey a2V5"),
        (Access(basic=("elastic", "correct horse")), "Basic ZWxhc3RpYzpjb3JyZWN0IGhvcnNl"),
    ],
)
def test_credentials_go_into_a_header_and_nowhere_else(access: Access, header: str) -> None:
    """Neither into an address nor into what is printed of them."""
    with recorder((200, {})) as server:
        Server(server.url, access).request("GET", "/")
    assert server.requests[0].headers["authorization"] == header
    assert "a2V5" not in repr(access)
    assert "horse" not in repr(access)


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_does_not_let_us_in_says_what_to_give(status: int) -> None:
    """Without a word of what was given."""
    answer = {"error": {"type": "security_exception", "reason": "unable to authenticate [a2V5]"}}
    with recorder((status, answer)) as server, pytest.raises(StackError) as failure:
        Server(server.url, Access(api_key="a2V5")).request("PUT", "/_index_template/sluice-samples", {})
    assert str(failure.value) == (
        f"{server.url}: PUT /_index_template/sluice-samples: status {status}; give --api-key-env, or --user and "
        "--password-env, of one who may do that"
    )


def test_a_server_that_does_not_answer_is_named() -> None:
    """In one sentence, with what to check."""
    url = nowhere()
    with pytest.raises(StackError) as failure:
        Server(url, NO_ACCESS).request("GET", "/")
    assert str(failure.value).startswith(f"{url}: no answer (ConnectError: ")
    assert str(failure.value).endswith("; check the address, and --ca for https")


# --- sending --------------------------------------------------------------------------------------------------------


def test_documents_are_sent_by_their_ids_in_parts() -> None:
    """A request for 500 of them; 1 009 are three requests."""
    documents = [Document(f"id-{number}", {"number": number}) for number in range(1009)]
    with recorder((200, {"items": []})) as server:
        assert Server(server.url, NO_ACCESS).send("sluice-samples", documents) == 1009
    lines = [line for request in server.requests for line in request.body.splitlines()]
    assert [len(request.body.splitlines()) // 2 for request in server.requests] == [500, 500, 9]
    assert (lines[0], lines[1]) == (b'{"index":{"_id":"id-0"}}', b'{"number":0}')
    assert {request.path for request in server.requests} == {"/sluice-samples/_bulk"}
    assert {request.headers["content-type"] for request in server.requests} == {"application/x-ndjson"}


def test_a_refused_document_ends_it_without_being_shown() -> None:
    """How many of how many, and what kind of error; nothing of the document."""
    error = {"type": "document_parsing_exception", "reason": "failed to parse field [number] of value 'secret'"}
    answer = {"items": [{"index": {"status": 201}}, {"index": {"status": 400, "error": error}}]}
    with recorder((200, answer)) as server, pytest.raises(StackError) as failure:
        Server(server.url, NO_ACCESS).send("sluice-samples", [Document("a", {}), Document("b", {})])
    assert str(failure.value) == (
        f"{server.url}: sluice-samples: refused 1 of 2 documents, the first for document_parsing_exception; was the "
        "index made before its template? Delete it and publish again"
    )


def test_a_run_without_an_answer_of_elasticsearch_is_refused(tmp_path: Path) -> None:
    """Before the server is asked anything."""
    truth = Truth()
    lost = with_samples(samples(truth), lambda _: {"elasticsearch": None})
    folder = written(tmp_path / "run", run(truth), lost)
    with pytest.raises(ProfileError, match="holds no sample that Elasticsearch answered"):
        publish(read_run(folder), Server(nowhere(), NO_ACCESS), 10)


def test_a_field_is_found_at_any_depth() -> None:
    """`None` where the mapping does not go that far."""
    mapping = {"properties": {"run": {"properties": {"name": {"type": "keyword"}}}, "kind": {"type": "text"}}}
    found = [field_type(mapping, name) for name in ("run.name", "kind", "run.age", "nothing.at.all")]
    assert found == ["keyword", "text", None, None]
