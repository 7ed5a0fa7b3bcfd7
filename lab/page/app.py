"""The page's HTTP server: addresses, and what each of them answers."""

import asyncio
import contextlib
import difflib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lab import ROOT
from lab.errors import ProfileError, SluiceError, StackError
from lab.page.choice import (
    Catalogue,
    Choice,
    command_text,
    mapping_of_run,
    profile_details,
    profile_of_run,
    suite_details,
)
from lab.page.commands import BusyError, RunningCommand, Starter, answer_of, refusal_in, stop_run
from lab.page.desk import Desk, FullError
from lab.page.history import History, Question
from lab.page.hub import CrowdedError, Hub, Watch
from lab.page.openmetrics import exposition
from lab.page.security import HEADERS, METRICS, OF_A_REPORT, POLICY, Access, Guard
from lab.page.tree import RunTree
from lab.page.trouble import trouble_with
from lab.run.folder import TUNES

STATIC = Path(__file__).parent / "static"
REPORT_STYLE = ROOT / "lab" / "analysis" / "report_page" / "report.css"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".map": "application/json",
}
MOST_BODY_BYTES = 65_536
BODY_WITHIN_S = 10.0
MOST_COMPARED = 6
MOST_NAMED = 200
"""Characters of a name that a message repeats."""
COMPARED_WITHIN_S = 60.0
"""All comparisons of one answer, each of which is a process."""
REFRESH_S = 0.5
"""How long the history is read before it is answered; what is left then, the next question takes up."""
STATUSES: tuple[tuple[type[SluiceError], int], ...] = (
    (BusyError, 409),
    (FullError, 429),
    (CrowdedError, 503),
    (ProfileError, 400),
)


@dataclass
class Server:
    """State of the server: its folder, hub, commands and so on.

    Attributes:
        since_s: When `command` began, the one that the page was started by, where it ends with that.
    """

    runs: Path
    starter: Starter
    command: str | None = None
    since_s: float | None = None

    def __post_init__(self) -> None:
        tree = RunTree(self.runs)
        self.running = RunningCommand(self.starter, self.runs)
        page = {"command": self.command, "ends_with_it": self.since_s is not None}
        self.hub = Hub(Watch(tree, page, self.running.view, since_s=self.since_s))
        self.history = History(RunTree(self.runs))
        self.catalogue = Catalogue()
        self.comparisons = Desk("comparisons", most=2)
        # A browser checks each setting of a form beside the others.
        self.choices = Desk("profiles, suites and checks", most=16)
        self.listings = Desk("listings of the history", most=16)

    def run_under_way(self) -> Any:
        """The progress of a run, or of the last one of a suite, whose process is there; `None` where there is none."""
        self.hub.now()
        run = self.hub.watch.run
        return run.progress if run and (run.is_alive or self.hub.watch.suite_is_under_way) else None


Answer = Callable[[Request], Awaitable[Response]]


def app(server: Server, access: Access) -> Starlette:
    """The application."""
    answers: dict[str, tuple[str, Callable[[Server, Request], Awaitable[Response]]]] = {
        "/": ("GET", page),
        "/static/{name:path}": ("GET", static),
        "/api/now": ("GET", now),
        "/api/events": ("GET", events),
        "/api/history": ("GET", history),
        "/api/compare": ("POST", compare),
        "/api/profiles": ("GET", profiles),
        "/api/profiles/{name:path}": ("GET", profile),
        "/api/suites": ("GET", suites),
        "/api/suites/{name:path}": ("GET", suite),
        "/api/check": ("POST", check),
        "/api/start": ("POST", start),
        "/api/stop": ("POST", stop),
        "/runs/{name:path}": ("GET", report),
        METRICS: ("GET", metrics),
    }
    return Starlette(
        routes=[Route(path, partial(answer, server), methods=[method]) for path, (method, answer) in answers.items()],
        middleware=[Middleware(Guard, access=access)],
        exception_handlers={SluiceError: refused, HTTPException: not_there, Exception: broken},  # type: ignore[dict-item]
    )


async def refused(_request: Request, error: SluiceError) -> Response:
    """Answer to a wrong request, in the words of the command line."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 409)
    return JSONResponse({"error": str(error)}, status)


async def not_there(request: Request, error: HTTPException) -> Response:
    """An address that there is not, or not for this method."""
    sentence = f"{request.url.path}: {error.detail}"
    return JSONResponse({"error": sentence}, error.status_code)


async def broken(request: Request, error: Exception) -> Response:
    """Answer to an unexpected error, such as a failing disk: the page goes on, and the log has the traceback."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return JSONResponse(
        {"error": f"{request.url.path}: cannot be answered: {reason}"}, 500, headers={**HEADERS, **POLICY}
    )


def json(answer: Any) -> Response:
    """An answer as JSON."""
    options = orjson.OPT_NON_STR_KEYS
    return Response(orjson.dumps(answer, option=options), media_type="application/json")


# --- what the browser loads -------------------------------------------------------------------------------------------


async def page(_server: Server, _request: Request) -> Response:
    """The page itself."""
    return await file_in(STATIC, "index.html")


async def static(_server: Server, request: Request) -> Response:
    """One of its files, or the style of the reports, which it shares."""
    name = request.path_params["name"]
    return await file_in(REPORT_STYLE.parent if name == REPORT_STYLE.name else STATIC, name)


async def report(server: Server, request: Request) -> Response:
    """The report of a run or of a suite: a page by itself, which may not act in the name of this one."""
    name = request.path_params["name"]
    if name.rpartition("/")[2] != "report.html":
        raise HTTPException(404, "got no report, expected a path that ends with /report.html")
    response = await file_in(server.runs, name)
    response.headers["Content-Security-Policy"] = OF_A_REPORT
    return response


async def file_in(folder: Path, name: str) -> Response:
    """A file below a folder, wherever links lead to.

    Raises:
        HTTPException: There is none, none that is served, or one that cannot be read.
    """
    path, status = await run_in_threadpool(served, folder, name)
    return FileResponse(path, media_type=TYPES[path.suffix], stat_result=status)


def served(folder: Path, name: str) -> tuple[Path, os.stat_result]:
    """The path of a file that is served, once its first bytes could be read: an answer that has begun cannot fail."""
    try:
        path = (folder / name).resolve(strict=True)
        if not path.is_relative_to(folder.resolve()) or path.suffix not in TYPES or not path.is_file():
            raise HTTPException(404, "no such file")
        with path.open("rb") as file:
            file.read(1)
            return path, os.fstat(file.fileno())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise HTTPException(404, "no such file") from None
    except OSError as error:
        raise HTTPException(500, f"cannot be read: {error.strerror}") from error


# --- what it shows ----------------------------------------------------------------------------------------------------


async def now(server: Server, _request: Request) -> Response:
    """The present state, once."""
    return Response(server.hub.now_as_json(), media_type="application/json")


async def metrics(server: Server, request: Request) -> Response:
    """The newest sample of the newest run, for Prometheus."""
    server.hub.look()
    run, suite = server.hub.watch.run, server.hub.watch.suite
    variant = run.folder.parent.name if run and suite else ""
    content, content_type = exposition(run, variant, run.now_s if run else 0.0, request.headers.get("accept", ""))
    return Response(content, media_type=content_type)


async def events(server: Server, _request: Request) -> Response:
    """The stream of events from now on."""
    stream = server.hub.stream()
    first = await anext(stream)

    async def pieces() -> AsyncIterator[bytes]:
        async with contextlib.aclosing(stream):
            yield first
            async for piece in stream:
                yield piece

    return StreamingResponse(pieces(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def history(server: Server, request: Request) -> Response:
    """Some of all runs, suites and tunes."""
    question, asked_s = Question.of(request.query_params), time.monotonic()

    def answer() -> dict[str, Any]:
        # Whoever has waited for a whole look at the folders, need not have them looked at once more.
        if server.history.left or server.history.refreshed_s < asked_s:
            ends_s = time.monotonic() + REFRESH_S
            server.history.refresh(lambda: time.monotonic() > ends_s)
        return server.history.answer(question)

    async def make() -> Response:
        return json(await server.listings.computed(answer))

    return await server.listings.answer(request, make)


async def compare(server: Server, request: Request) -> Response:
    """Runs or suites beside the first of them, as `compare --json` has it, and how their profiles differ."""
    body = await json_of(request)
    names = body.get("runs") if isinstance(body, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ProfileError("runs: got something else, expected a list of names")
    if not 2 <= len(names) <= MOST_COMPARED or len(set(names)) != len(names):
        raise ProfileError(f"runs: got {len(names)}, expected 2 to {MOST_COMPARED} different ones")
    folders = await run_in_threadpool(lambda: [folder_of(server.runs, name) for name in names])

    async def make() -> Response:
        return json(await compared(server, names, folders))

    return await server.comparisons.answer(request, make)


def folder_of(runs: Path, name: str) -> Path:
    """The folder of a run or a suite below that of all runs; raises ProfileError if there is none."""
    try:
        folder = (runs / name).resolve(strict=True)
    except (OSError, ValueError):
        folder = runs
    has_ended = any((folder / each).is_file() for each in ("run.json", "plan.json"))
    if not folder.is_relative_to(runs.resolve()) or not has_ended:
        raise ProfileError(f"{name[:80]}: no such run or suite that has ended")
    if folder.relative_to(runs.resolve()).parts[:1] == (TUNES,):
        raise ProfileError(f"{name[:80]}: is a tune's, expected a run or a suite; its report has what it compares")
    return folder


async def compared(server: Server, names: list[str], folders: list[Path]) -> dict[str, Any]:
    """The comparisons of all with the first one, or why there is none."""
    first, *others = (name.removeprefix("suites/") for name in names)
    comparisons: list[Any] = []
    errors: list[str] = []
    ends_s = time.monotonic() + COMPARED_WITHIN_S
    # One after the other: each starts a process on a machine that may be measuring.
    for other in others:
        arguments = ("compare", first, other, "--json", "--runs", str(server.runs))
        status, output, said = await answer_of(server.starter, arguments, ends_s - time.monotonic())
        if status:
            errors.append(refusal_in(said))
        comparisons += orjson.loads(output) if output.strip() else []
    diff = await server.comparisons.computed(partial(differences, names, folders))
    refusal = {"error": "\n".join(errors)} if errors else {}
    return {"comparisons": comparisons, "diff": diff, **refusal}


def differences(names: list[str], folders: list[Path]) -> str:
    """Differences of the others' profiles and mappings from the first one's; of mappings only if all are recorded."""
    texts = [profile_of_run(folder) for folder in folders]
    mappings = [mapping_of_run(folder) for folder in folders]
    if all(mappings):
        texts = [text + mapping for text, mapping in zip(texts, mappings, strict=True)]
    diffs = [unified(texts[0], text, names[0], name) for text, name in zip(texts[1:], names[1:], strict=True)]
    return "\n".join(filter(None, diffs))


def unified(first: str, second: str, first_name: str, second_name: str) -> str:
    """Difference of two profiles; empty for equal ones."""
    lines = difflib.unified_diff(first.splitlines(), second.splitlines(), first_name, second_name, lineterm="")
    return "\n".join(lines)


# --- what it starts and stops -----------------------------------------------------------------------------------------


async def profiles(server: Server, request: Request) -> Response:
    """List of the profiles."""
    return await listed(server, request, server.catalogue.profiles)


async def profile(server: Server, request: Request) -> Response:
    """One profile."""
    return await listed(server, request, partial(profile_details, request.path_params["name"]))


async def suites(server: Server, request: Request) -> Response:
    """List of the suites."""
    return await listed(server, request, server.catalogue.suites)


async def suite(server: Server, request: Request) -> Response:
    """One suite."""
    return await listed(server, request, partial(suite_details, request.path_params["name"]))


async def listed(server: Server, request: Request, read: Callable[[], Any]) -> Response:
    """Answer that is read from profiles and suites."""

    async def make() -> Response:
        return json(await server.choices.computed(read))

    return await server.choices.answer(request, make)


async def check(server: Server, request: Request) -> Response:
    """Check a run's settings without starting it."""
    body = await json_of(request)

    async def make() -> Response:
        choice = await server.choices.computed(partial(chosen, body))
        return json({"ok": True, "command": command_text(choice.arguments)})

    return await server.choices.answer(request, make)


async def start(server: Server, request: Request) -> Response:
    """Start a run."""
    body = await json_of(request)

    async def make() -> Response:
        choice = await server.choices.computed(partial(chosen, body))
        if (progress := server.run_under_way()) is not None:
            raise BusyError(f"{progress.profile} {progress.run_id}: is under way; stop it first")
        if (trouble := trouble_with(server.runs)) is not None:
            raise StackError(trouble)
        await server.choices.computed(partial(server.running.begin, choice.arguments))
        return json({"started": True, "command": command_text(choice.arguments)})

    return await server.choices.answer(request, make)


async def stop(server: Server, request: Request) -> Response:
    """Stop what the browser shows; or where it names nothing, what the page has started, or else the run under way.

    Raises:
        BusyError: Nothing is under way, or something else by now, which somebody else may have started.
    """
    of, progress, watch = request.query_params.get("of"), server.run_under_way(), server.hub.watch
    if of and of not in {view.name for view in (watch.suite, watch.run) if view}:
        raise BusyError(f"{of[:MOST_NAMED]}: is not what is under way now; nothing was stopped")
    began = watch.run.progress if of and watch.run else None
    if (began is None or began.identity.pid == server.running.pid) and server.running.stop():
        return json({"stopping": True})
    if progress is None:
        raise BusyError("no run is under way")
    stop_run(progress)
    return json({"stopping": True})


def chosen(body: Any) -> Choice:
    """Choice of a request's body, checked; raises ProfileError if it cannot be run so."""
    choice = Choice.of(body)
    choice.check()
    return choice


async def json_of(request: Request) -> Any:
    """The JSON that a browser sends.

    Raises:
        ProfileError: It sends something else, too much, or too slowly.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise ProfileError("Content-Type: got something else, expected application/json")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            async for piece in request.stream():
                body += piece
                if len(body) > MOST_BODY_BYTES:
                    raise ProfileError(f"body: got more, expected at most {MOST_BODY_BYTES:,} bytes")
    except TimeoutError:
        raise ProfileError(f"body: got a part within {BODY_WITHIN_S:g} s, expected all of it") from None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ProfileError(f"body: not JSON: {error}") from error
