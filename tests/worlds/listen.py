"""A proxy before a real Elasticsearch that writes down what the program asks it, and the shape of each answer.

    python -m tests.worlds.listen --port 9201 --to http://127.0.0.1:9200 --into tests/worlds/exchanges.json

Run what is to be heard with port 9201 for Elasticsearch, then stop the proxy. It adds questions of its own.
"""

import argparse
import asyncio
import re
import signal
from pathlib import Path
from typing import Any

import httpx
import orjson

from lab.prove.http import Request, Response, serve

KEPT_HEADERS = ("content-type", "x-elastic-product")
INDEX = re.compile(r"sluice-[a-z0-9.-]+(,sluice-[a-z0-9.-]+)*")
OPAQUE = frozenset({"_source", "mappings", "_meta"})
"""What an answer gives back as it was sent."""

OPERATIONS = (
    b'{"index":{"_id":"a","version":3,"version_type":"external"}}\n{"n":1}\n'
    b'{"index":{"_id":"a","version":2,"version_type":"external"}}\n{"n":1}\n'
    b'{"create":{"_id":"a"}}\n{"n":1}\n'
    b'{"update":{"_id":"a"}}\n{"doc":{"n":1}}\n'
    b'{"update":{"_id":"b"}}\n{"doc":{"n":2},"doc_as_upsert":true}\n'
    b'{"update":{"_id":"c"}}\n{"doc":{"n":2}}\n'
    b'{"delete":{"_id":"b"}}\n{"delete":{"_id":"c"}}\n'
    b'{"index":{"_id":"a"}}\n{"n":3}\n{"create":{}}\n{"n":4}\n'
)
"""One for each way in which an operation can end."""

MORE = (
    ("PUT", "/sluice-asked", b'{"settings":{"index":{"number_of_replicas":1}}}'),
    ("PUT", "/sluice-asked", b"{}"),
    ("POST", "/sluice-asked/_bulk", OPERATIONS),
    ("POST", "/sluice-asked/_bulk?filter_path=errors,items.*.error.type", OPERATIONS),
    ("POST", "/sluice-asked/_refresh", b""),
    ("GET", "/sluice-asked/_count", b""),
    ("GET", "/sluice-asked/_settings", b""),
    ("GET", "/sluice-asked/_mapping", b""),
    ("GET", "/sluice-asked", b""),
    ("HEAD", "/sluice-asked", b""),
    ("GET", "/sluice-asked/_doc/a", b""),
    ("GET", "/sluice-asked/_doc/b", b""),
    ("POST", "/sluice-asked/_mget", b'{"ids":["a","b"]}'),
    ("POST", "/sluice-asked/_search?preference=_shards:0&filter_path=hits.hits._id", b'{"size":1,"_source":false}'),
    ("POST", "/sluice-asked/_search", b'{"size":1}'),
    ("GET", "/sluice-asked/_segments?filter_path=indices.*.shards.*.routing,indices.*.shards.*.segments.*.search", b""),
    (
        "GET",
        "/sluice-asked/_stats?level=shards&filter_path=indices.*.shards.*.routing.primary,"
        "indices.*.shards.*.seq_no.max_seq_no",
        b"",
    ),
    (
        "GET",
        "/sluice-asked/_stats/indexing?filter_path=_all.*.indexing.index_total,"
        "indices.*.primaries.indexing.index_time_in_millis",
        b"",
    ),
    ("PUT", "/sluice-asked/_settings", b'{"index.refresh_interval":"5s"}'),
    ("PUT", "/sluice-asked/_mapping", b'{"_meta":{"sluice":{"run":"1"}}}'),
    ("GET", "/sluice-asked*?expand_wildcards=open,closed&filter_path=*.mappings._meta.sluice", b""),
    ("GET", "/_cluster/health/sluice-asked?wait_for_status=green&timeout=1s", b""),
    ("GET", "/_cluster/state/version?filter_path=cluster_uuid", b""),
    ("PUT", "/_cluster/settings", b'{"persistent":{"indices.recovery.max_bytes_per_sec":null}}'),
    ("GET", "/_snapshot", b""),
    ("DELETE", "/sluice-asked", b""),
    ("DELETE", "/sluice-asked", b""),
    ("GET", "/sluice-asked/_count", b""),
)
"""What the lab's clients ask, and no run that was heard did."""


def shape(answer: Any, *, of_names: bool = False) -> Any:
    """What an answer looks like: its keys and the types below them, of a list the shapes of its elements, each once.

    Args:
        of_names: Its keys are ids, which differ from server to server.
    """
    if isinstance(answer, dict):
        return {
            "*" if of_names else INDEX.sub("*", name): type(value).__name__
            if name in OPAQUE
            else shape(value, of_names=name in {"nodes", "segments"})
            for name, value in answer.items()
        }
    if isinstance(answer, list):
        shapes = [shape(each) for each in answer]
        return [each for place, each in enumerate(shapes) if each not in shapes[:place]]
    return "number" if isinstance(answer, int | float) and not isinstance(answer, bool) else type(answer).__name__


def question(request: Request) -> str:
    """The method, the path and the parameters' names of a request, without names of indices."""
    parameters = "&".join(sorted(request.parameters))
    return f"{request.method} {INDEX.sub('*', request.path)}" + (f"?{parameters}" if parameters else "")


def shortened(body: bytes) -> str:
    """A body with no more than its first operations, or the first elements of its lists."""
    if body.count(b"\n") > 1:
        return b"".join(line + b"\n" for line in body.split(b"\n")[: OPERATIONS.count(b"\n")] if line).decode()
    if not body:
        return ""
    content = orjson.loads(body)
    few = {name: value[:2] if isinstance(value, list) else value for name, value in content.items()}
    return orjson.dumps(few).decode()


class Listener:
    """Hands requests on, and keeps the first of each kind with the shape of its answer."""

    def __init__(self, to: str) -> None:
        self.client = httpx.AsyncClient(base_url=to, timeout=120, headers={"accept-encoding": "identity"})
        self.heard: dict[str, dict[str, Any]] = {}

    async def answer(self, request: Request) -> Response:
        """The real server's answer."""
        content_type = request.headers.get("content-type", "application/json")
        answered = await self.client.request(
            request.method, request.target, content=request.body or None, headers={"content-type": content_type}
        )
        content = orjson.loads(answered.content) if answered.content else None
        self.heard.setdefault(
            f"{question(request)} → {answered.status_code}",
            {
                "method": request.method,
                "target": request.target,
                "body": shortened(request.body),
                "status": answered.status_code,
                "headers": {name: answered.headers.get(name) for name in KEPT_HEADERS},
                "shape": shape(content),
            },
        )
        headers = {name: answered.headers[name] for name in KEPT_HEADERS if name in answered.headers}
        return Response(answered.content, answered.status_code, headers)

    async def ask_more(self, base: str) -> None:
        """Ask what no run has asked."""
        async with httpx.AsyncClient(base_url=base) as client:
            for method, target, body in MORE:
                await client.request(method, target, content=body or None, headers={"content-type": "application/json"})


async def listen(port: int, to: str, into: Path) -> None:
    """Serve until a signal comes, then write down what was heard."""
    listener, over = Listener(to), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    async with await serve(listener.answer, port):
        await over.wait()
        await listener.ask_more(f"http://127.0.0.1:{port}")
    heard = [{"question": each, **exchange} for each, exchange in sorted(listener.heard.items())]
    into.write_text("[\n" + ",\n".join(orjson.dumps(each).decode() for each in heard) + "\n]\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--to", required=True, help="the real server's URL")
    parser.add_argument("--into", type=Path, required=True, help="where the file goes")
    given = parser.parse_args()
    asyncio.run(listen(given.port, given.to, given.into))
