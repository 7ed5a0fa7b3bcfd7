"""A tiny HTTP server whose answers a test decides, and the answers of the real ones."""

import contextlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import orjson

from tests.unit.http_server import serving

Answer = Callable[[str, bytes], tuple[int, Any]]


@contextlib.contextmanager
def server(answer: Answer, port: int = 0) -> Iterator[str]:
    """The URL of a server that answers each request (path, body) with (status, JSON)."""

    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, tree = answer(self.path, body)
            payload = orjson.dumps(tree)
            with contextlib.suppress(OSError):  # the asker may have given up
                self.send_response(status)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

        do_GET = do_POST = respond  # noqa: N815

    with serving(Handler, port) as url:
        yield url


def half_of_stats(start: int) -> dict[str, Any]:
    """`primaries` or `total` of a `_stats` answer; every field has another value, counted up from `start`."""
    return {
        "docs": {"count": start},
        "store": {"size_in_bytes": start + 1},
        "indexing": {
            "index_total": start + 2,
            "index_time_in_millis": start + 3,
            "index_failed": start + 4,
            "throttle_time_in_millis": start + 5,
        },
        "search": {
            "query_total": start + 6,
            "query_time_in_millis": start + 7,
            "query_current": start + 18,
            "fetch_total": start + 19,
            "fetch_time_in_millis": start + 20,
        },
        "merges": {
            "current": start + 8,
            "total": start + 9,
            "total_time_in_millis": start + 10,
            "total_throttled_time_in_millis": start + 11,
        },
        "refresh": {"total": start + 12, "total_time_in_millis": start + 13},
        "flush": {"total": start + 14, "total_time_in_millis": start + 15},
        "segments": {"count": start + 16},
        "translog": {"size_in_bytes": start + 17},
        "request_cache": {"hit_count": start + 21, "miss_count": start + 22, "evictions": start + 23},
        "query_cache": {"hit_count": start + 24, "miss_count": start + 25},
    }


def node_stats(name: str = "elasticsearch-1") -> dict[str, Any]:
    """One node of a `_nodes/stats` answer."""
    return {
        "name": name,
        "process": {"cpu": {"percent": 61}},
        "jvm": {
            "mem": {"heap_used_in_bytes": 101, "heap_max_in_bytes": 1009},
            "gc": {
                "collectors": {
                    "young": {"collection_count": 7, "collection_time_in_millis": 71},
                    "old": {"collection_count": 0, "collection_time_in_millis": 0},
                }
            },
        },
        "thread_pool": {
            "write": {"threads": 2, "active": 1, "queue": 3, "rejected": 5, "completed": 11},
            "search": {"threads": 4, "active": 2, "queue": 13, "rejected": 17, "completed": 19},
        },
        "indices": {
            "indexing": {"index_total": 1013, "index_time_in_millis": 1019},
            "segments": {"count": 23},
            "merges": {"current": 2},
        },
        "os": {"cgroup": {"memory": {"limit_in_bytes": "899997696", "usage_in_bytes": "123457"}}},
    }


def elasticsearch(path: str, _body: bytes) -> tuple[int, Any]:
    """What Elasticsearch answers to the sampler's two questions."""
    if "/_nodes/stats" in path or path.startswith("/_nodes/stats"):
        return 200, {"nodes": {"node-id": node_stats()}}
    return 200, {"_all": {"primaries": half_of_stats(1000), "total": half_of_stats(2000)}}
