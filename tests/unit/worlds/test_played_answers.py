"""The played server's answers look as those that a real Elasticsearch gave to the same requests."""

import asyncio
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.datastructures import Headers

from lab.prove.http import Request, Response
from tests import worlds
from tests.worlds.figures import Node
from tests.worlds.listen import KEPT_HEADERS, MORE, OPERATIONS, shape
from tests.worlds.pace import Pace
from tests.worlds.server import Server

HEARD = (Path(worlds.__file__).parent / "exchanges.json").read_text("utf-8")
EXCHANGES = orjson.loads(re.sub(r"sluice-products-five-indices--\d", "sluice-quickstart", HEARD))
"""What `tests.worlds.listen` has heard; of several indices as if it were one."""

OTHERWISE = {"GET / → 405"}
"""What a distribution answers otherwise than the plain build that was heard, which lacks the module for it."""

FAST = Pace(docs_per_s=1e6, latency_ms=0)
MADE = ("PUT /* → 200",)
FILLED = (
    "POST /*/_bulk?filter_path&timeout → 200",
    "POST /*/_refresh → 200",
    "POST /*/_search?filter_path&scroll → 200",
)
"""The exchanges by which the index of the runs is made, filled and searched."""


async def say(server: Server, method: str, target: str, body: bytes | str = b"") -> Response:
    """One request and its answer."""
    content = body.encode() if isinstance(body, str) else body
    return await server(Request(method, target, Headers(), content, server.now_s()))


async def repeat(server: Server, questions: Iterable[str]) -> Response:
    """What was heard, again; the last answer."""
    heard = {each["question"]: each for each in EXCHANGES}
    for question in questions:
        answered = await say(server, *(heard[question][part] for part in ("method", "target", "body")))
    return answered


async def played(heard: Mapping[str, Any]) -> Response:
    """What the played server answers where everything else is as it was when the real one did."""
    server = Server(FAST, (), Node("elasticsearch-1", "8.19.21", 0.0, 9200))
    for method, target, body in MORE[:3]:
        await say(server, method, target, body)
    await say(server, *MORE[4])
    searched = orjson.loads((await repeat(server, (*MADE, *FILLED))).body)
    index = heard["target"].partition("?")[0].split("/")[1]
    is_absent = heard["status"] == 404 and "error" in heard["shape"]
    if is_absent or heard["question"] in MADE or "/_bulk" in heard["target"]:
        await say(server, "DELETE", f"/{index}?ignore_unavailable=true")
    if heard["method"] == "POST" and index == "sluice-quickstart" and index not in server.indices:
        await repeat(server, MADE)
    body = heard["body"]
    if "scroll_id" in heard["body"]:
        scroll = searched["_scroll_id"]
        scroll_ids = [scroll] if heard["method"] == "DELETE" else scroll
        body = orjson.dumps({**orjson.loads(body), "scroll_id": scroll_ids})
    if "/_mget" in heard["target"] and "sluice-asked" not in heard["target"]:
        ids = list(server.indices["sluice-quickstart"].documents)[:2]
        by_index = [{"_index": "sluice-quickstart", "_id": each} for each in ids]
        body = orjson.dumps({"docs": by_index} if "docs" in heard["body"] else {"ids": ids})
    return await say(server, heard["method"], heard["target"], body)


@pytest.mark.parametrize(
    "heard", [each for each in EXCHANGES if each["question"] not in OTHERWISE], ids=lambda heard: heard["question"]
)
def test_an_answer_has_the_status_the_headers_and_the_keys_of_the_real_one(heard: dict[str, Any]) -> None:
    """Of each question that was heard."""
    answered = asyncio.run(played(heard))
    content = orjson.loads(answered.body) if answered.body else None
    assert {
        "status": answered.status,
        "headers": {name: answered.headers.get(name) for name in KEPT_HEADERS},
        "shape": shape(content),
    } == {"status": heard["status"], "headers": heard["headers"], "shape": heard["shape"]}


def test_operations_end_as_elasticsearch_has_them_end() -> None:
    """By version, by what is there, and by kind; the statuses are those that 8.19.21 gave."""

    async def statuses() -> list[int]:
        server = Server(FAST, (), Node("elasticsearch-1", "8.19.21", 0.0, 9200))
        items = orjson.loads((await say(server, "POST", "/sluice-asked/_bulk", OPERATIONS)).body)["items"]
        return [answered["status"] for item in items for answered in item.values()]

    assert asyncio.run(statuses()) == [201, 409, 409, 200, 201, 404, 200, 404, 200, 201]
