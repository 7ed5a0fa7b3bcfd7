"""A proxy before a real Elasticsearch that writes down what it is asked, and the shape of each answer.

python -m tests.worlds.listen --port 19200 --to http://127.0.0.1:9200 --into shapes.json
"""

import argparse
import asyncio
import re
import signal
from pathlib import Path
from typing import Any

import httpx
import orjson

from tests.worlds.http import Request, Response, serve

KEPT_HEADERS = ("content-type", "x-elastic-product")
RUN_ID = re.compile(r"sluice-[a-z0-9.-]+")
QUESTIONS_WITHOUT_ORDER = "filter_path"


def shape(answer: Any) -> Any:
    """What an answer looks like: keys and types, of a list the shape of its first element.

    Keys that are names (of indices, nodes, fields) become `*`, as those of objects whose values all look the same and
    that hold a name of ours.
    """
    if isinstance(answer, dict):
        return {RUN_ID.sub("*", name): shape(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return [shape(answer[0])] if answer else []
    return "number" if isinstance(answer, int | float) and not isinstance(answer, bool) else type(answer).__name__


def question(request: Request) -> str:
    """The method, the path and the names of the parameters of a request, without names of indices."""
    parameters = "&".join(sorted(request.parameters))
    return f"{request.method} {RUN_ID.sub('*', request.path)}" + (f"?{parameters}" if parameters else "")


class Listener:
    """Hands requests on, and keeps the first of each kind with its answer."""

    def __init__(self, to: str) -> None:
        self.client = httpx.AsyncClient(base_url=to, timeout=120, headers={"accept-encoding": "identity"})
        self.heard: dict[str, dict[str, Any]] = {}

    async def answer(self, request: Request) -> Response:
        """The real server's answer."""
        content_type = request.headers.get("content-type")
        answered = await self.client.request(
            request.method,
            request.target,
            content=request.body or None,
            headers={"content-type": content_type} if content_type else {},
        )
        key = f"{question(request)} {answered.status_code}"
        if key not in self.heard:
            is_json = "json" in answered.headers.get("content-type", "")
            self.heard[key] = {
                "target": request.target,
                "headers": dict(answered.headers),
                "body": request.body[:300].decode("utf-8", "replace"),
                "answer": orjson.loads(answered.content) if is_json and answered.content else answered.text[:300],
            }
        headers = {name: answered.headers[name] for name in KEPT_HEADERS if name in answered.headers}
        return Response(answered.content, answered.status_code, headers)


async def listen(port: int, to: str, into: Path) -> None:
    """Serve until a signal comes, then write down what was heard."""
    listener, over = Listener(to), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    async with await serve(listener.answer, port):
        await over.wait()
    into.write_bytes(orjson.dumps(listener.heard, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--to", required=True, help="the real server's URL")
    parser.add_argument("--into", type=Path, required=True, help="where the file goes")
    given = parser.parse_args()
    asyncio.run(listen(given.port, given.to, given.into))
