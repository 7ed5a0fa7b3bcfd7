"""A server that answers as Elasticsearch does, at the pace that it is told, and says what it did: at `/_truth`.

python -m tests.worlds.played --port 9200 --docs-per-s 10000 --latency-ms 3 --ramp-s 4 --ramp-from 0.5 \
    --rule 'index.refresh_interval=30s: docs_per_s=x1.3' --truth truth.json
"""

import argparse
import asyncio
import hashlib
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from lab.prove.http import Request, Response, serve
from tests.worlds.figures import Node
from tests.worlds.indices import BINS_PER_S, Index
from tests.worlds.pace import Pace, Rule
from tests.worlds.server import Server

BURNT = bytes(1 << 18)
BURN_EVERY_S = 0.01


def truth(server: Server, pace: Pace, wall_s: float) -> dict[str, Any]:
    """What the server was told and what it did.

    Args:
        wall_s: The wall clock at the event loop's zero.
    """
    return {
        "pace": asdict(pace),
        "rules": [asdict(rule) for rule in server.rules],
        "indices": [of_index(index, wall_s) for index in server.ever if index.bins],
        "unknown_requests": server.unknown,
        "used_cpu_s": [[wall_s + at_s, cpu_s] for at_s, cpu_s in server.used_cpu_s],
    }


def of_index(index: Index, wall_s: float) -> dict[str, Any]:
    """What an index was told and what it did, tenth by tenth of a second.

    The limit is what it would have been served at, had there always been documents waiting: `steady` once the ramp is
    over, `mean` from the first document to the last.
    """
    capacity, pace = index.capacity, index.capacity.pace
    began_s = capacity.began_s or 0.0
    return {
        "name": index.name,
        "created_s": wall_s + index.created_s,
        "began_s": wall_s + began_s,
        "ended_s": wall_s + index.ended_s,
        "settings": index.settings,
        "pace": asdict(pace),
        "run_factor": capacity.factor,
        "limit_docs_per_s": {
            "steady": pace.mean_docs_per_s * capacity.factor,
            "mean": capacity.documents(began_s, index.ended_s) / (index.ended_s - began_s),
        },
        "documents": sum(each.documents for each in index.bins.values()),
        "requests": index.requests,
        "cpu_s": sum(each.documents for each in index.bins.values()) * pace.cpu_us / 1e6,
        "busy_s": sum(each.busy_s for each in index.bins.values()),
        "answered_ms": spread(index.held_ms),
        "late_ms": spread(index.late_ms),
        "bins": [
            {
                "at_s": wall_s + number / BINS_PER_S,
                "ended_s": wall_s + (number + 1) / BINS_PER_S,
                "documents": counted.documents,
                "capacity": capacity.documents(
                    max(began_s, number / BINS_PER_S), min(index.ended_s, (number + 1) / BINS_PER_S)
                ),
                "busy_s": counted.busy_s,
            }
            for number, counted in sorted(index.bins.items())
        ],
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    """Mean and percentiles; empty without values."""
    if not values:
        return {}
    p50, p99, most = np.percentile(values, (50, 99, 100), method="inverted_cdf")
    return {"mean": float(np.mean(values)), "p50": float(p50), "p99": float(p99), "max": float(most)}


def burn(server: Server) -> None:
    """Use as much CPU as documents are told to cost, in all that this process does, for ever.

    Hashing lets other threads run meanwhile.
    """
    while True:
        if server.debt_s > 0:
            hashlib.blake2b(BURNT)
        else:
            time.sleep(BURN_EVERY_S)


async def play(given: argparse.Namespace) -> None:
    """Serve until a signal comes; then write the truth down."""
    pace = Pace(**{field.name: getattr(given, field.name) for field in fields(Pace)})
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    node = Node(given.node_name, given.version, time.time() - given.uptime_s, given.port)
    server = Server(pace, given.rule, node, seed=given.seed)
    wall_s = time.time() - loop.time()
    if given.burn:
        server.burns = True
        threading.Thread(target=burn, args=(server,), daemon=True).start()

    async def answered(request: Request) -> Response:
        is_truth = request.path == "/_truth"
        return Response(orjson.dumps(truth(server, pace, wall_s))) if is_truth else await server(request)

    ticking = asyncio.create_task(server.tick())
    async with await serve(answered, given.port) as listening:
        host, port = listening.sockets[0].getsockname()
        print(f"http://{host}:{port}", flush=True)  # noqa: T201
        await over.wait()
    ticking.cancel()
    if given.truth:
        given.truth.write_bytes(orjson.dumps(truth(server, pace, wall_s), option=orjson.OPT_INDENT_2))


def arguments() -> argparse.ArgumentParser:
    """The command line: each field of a pace, and what the server is."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one; the address is printed")
    parser.add_argument("--truth", type=Path, help="where what the server did is written in the end")
    for field in fields(Pace):
        parser.add_argument(
            f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default, help="see Pace"
        )
    parser.add_argument("--rule", type=Rule.parse, action="append", default=[], help="another pace for some indices")
    parser.add_argument("--burn", action="store_true", help="use the CPU that is told, as far as it is not used anyway")
    parser.add_argument("--seed", type=int, default=1, help="of the noise")
    parser.add_argument("--version", default="8.19.21")
    parser.add_argument("--node-name", default="elasticsearch-1")
    parser.add_argument("--uptime-s", type=float, default=3600.0, help="for how long it says it has been up")
    return parser


if __name__ == "__main__":
    asyncio.run(play(arguments().parse_args()))
