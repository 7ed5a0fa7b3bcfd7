"""The proxy between pipeline and cluster: what each side gets of the other, over real connections."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler

import httpx
import pytest

from lab.prove.faults import Proxy, during, refused
from lab.prove.http import Response
from tests.unit.http_server import serving

GOT: list[tuple[str, str | None]] = []
"""Path and `Accept` of each request that the cluster got."""


class Cluster(BaseHTTPRequestHandler):
    """Notes requests and answers `{}`."""

    def do_POST(self) -> None:
        """Answer."""
        GOT.append((self.path, self.headers.get("accept")))
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A proxy before such a cluster."""
    GOT.clear()
    with serving(Cluster) as url, Proxy(url, None) as made:
        yield made


def answer_to(proxy: Proxy, *parts: bytes) -> bytes:
    """What comes back by the time that the last part was answered; each part but the first waits for an answer."""
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as client:
        got = b""
        for part in parts:
            client.sendall(part)
            got += client.recv(1 << 16)
        return got


def test_target_and_accepted_type_are_handed_on_as_they_came(proxy: Proxy) -> None:
    """The id `..` is one; and Elasticsearch refuses a content's type of an older version without the accepted one."""
    answer_to(proxy, b"POST /books/_doc/..?routing=%2F HTTP/1.1\r\nHost: a\r\nAccept: some/type\r\n\r\n")
    assert GOT == [("/books/_doc/..?routing=%2F", "some/type")]


def test_a_client_that_waits_is_told_to_go_on(proxy: Proxy) -> None:
    """As curl does before a body of a megabyte."""
    head = b"POST /_bulk HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    assert answer_to(proxy, head, b"{}").startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_requests_that_are_held_never_reach_the_cluster(proxy: Proxy) -> None:
    """A pipeline that is killed meanwhile has lost those of them that it has committed."""
    proxy.holds = True
    with ThreadPoolExecutor(1) as client:
        answer = client.submit(httpx.post, proxy.url + "/_bulk", content=b"{}", trust_env=False)
        while not proxy.faults:
            assert not answer.done()
        proxy.holds = False
        assert isinstance(answer.exception(), httpx.TransportError)
    assert (GOT, proxy.writes) == ([], 1)


def test_faults_end_when_they_are_lifted() -> None:
    """What the pipeline sends again then reaches the cluster."""
    GOT.clear()
    with serving(Cluster) as url, Proxy(url, during(1, 99, refused(Response(b"", 413)))) as proxy:
        post = b"POST /_bulk HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
        assert answer_to(proxy, post).startswith(b"HTTP/1.1 413 ")
        assert (proxy.is_faulty, GOT) == (True, [])
        proxy.lift()
        assert answer_to(proxy, post).startswith(b"HTTP/1.1 200 ")
        assert (proxy.is_faulty, len(GOT)) == (False, 1)


@pytest.mark.parametrize(
    "request_",
    [
        b"garbage\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_what_is_no_request_is_refused(proxy: Proxy, request_: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Without a traceback among the findings."""
    assert answer_to(proxy, request_).startswith(b"HTTP/1.1 400 ")
    assert not caplog.records
