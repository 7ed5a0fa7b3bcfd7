"""The page's HTTP server: addresses, and what each of them answers."""

import difflib
import threading
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
from lab.errors import ProfileError, SluiceError
from lab.page.choice import Catalogue, Choice, command_text, profile_details, profile_of_run, suite_details
from lab.page.commands import BusyError, RunningCommand, Starter, answer_of, refusal_in, stop_run
from lab.page.history import History, Question
from lab.page.hub import Hub, Watch
from lab.page.security import OF_A_REPORT, Access, Guard
from lab.page.tree import RunTree
from lab.run.folder import TUNES

STATIC = Path(__file__).parent / "static"
REPORT_STYLE = ROOT / "lab" / "analysis" / "page" / "report.css"
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
MOST_COMPARED = 6
REFRESH_S = 0.5
"""How long the history is read before it is answered; what is left then, the next question takes up."""
STATUSES: tuple[tuple[type[SluiceError], int], ...] = ((BusyError, 409), (ProfileError, 400))


@dataclass
class Server:
    """What the server works on.

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
        self.comparing = threading.Lock()

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
        "/api/compare": ("GET", compare),
        "/api/profiles": ("GET", profiles),
        "/api/profiles/{name:path}": ("GET", profile),
        "/api/suites": ("GET", suites),
        "/api/suites/{name:path}": ("GET", suite),
        "/api/check": ("POST", check),
        "/api/start": ("POST", start),
        "/api/stop": ("POST", stop),
        "/runs/{name:path}": ("GET", report),
    }
    return Starlette(
        routes=[Route(path, partial(answer, server), methods=[method]) for path, (method, answer) in answers.items()],
        middleware=[Middleware(Guard, access=access)],
        exception_handlers={SluiceError: refused, HTTPException: not_there},  # type: ignore[dict-item]
    )


async def refused(_request: Request, error: SluiceError) -> Response:
    """What is wrong with a request, as the command line says it."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 409)
    return JSONResponse({"error": str(error)}, status)


async def not_there(request: Request, error: HTTPException) -> Response:
    """An address that there is not, or not for this method."""
    sentence = f"{request.url.path}: {error.detail}"
    return JSONResponse({"error": sentence}, error.status_code)


def json(answer: Any) -> Response:
    """An answer as JSON."""
    options = orjson.OPT_NON_STR_KEYS
    return Response(orjson.dumps(answer, option=options), media_type="application/json")


# --- what the browser loads -------------------------------------------------------------------------------------------


async def page(_server: Server, _request: Request) -> Response:
    """The page itself."""
    return file_in(STATIC, "index.html")


async def static(_server: Server, request: Request) -> Response:
    """One of its files, or the style of the reports, which it shares."""
    name = request.path_params["name"]
    return file_in(REPORT_STYLE.parent if name == REPORT_STYLE.name else STATIC, name)


async def report(server: Server, request: Request) -> Response:
    """The report of a run or of a suite: a page by itself, which may not act in the name of this one."""
    name = request.path_params["name"]
    if name.rpartition("/")[2] != "report.html":
        raise HTTPException(404, "got no report, expected a path that ends with /report.html")
    response = file_in(server.runs, name)
    response.headers["Content-Security-Policy"] = OF_A_REPORT
    return response


def file_in(folder: Path, name: str) -> Response:
    """A file below a folder, wherever links lead to.

    Raises:
        HTTPException: There is none, or none that is served.
    """
    try:
        path = (folder / name).resolve(strict=True)
    except (OSError, ValueError):
        raise HTTPException(404, "no such file") from None
    if not path.is_relative_to(folder.resolve()) or path.suffix not in TYPES or not path.is_file():
        raise HTTPException(404, "no such file")
    return FileResponse(path, media_type=TYPES[path.suffix])


# --- what it shows ----------------------------------------------------------------------------------------------------


async def now(server: Server, _request: Request) -> Response:
    """All that is so now, once."""
    return json(server.hub.now())


async def events(server: Server, _request: Request) -> Response:
    """All that happens from now on."""
    stream: AsyncIterator[bytes] = server.hub.stream()
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def history(server: Server, request: Request) -> Response:
    """Some of all runs, suites and tunes."""
    question = Question.of(request.query_params)

    def answer() -> dict[str, Any]:
        ends_s = time.monotonic() + REFRESH_S
        with server.history.lock:
            server.history.refresh(lambda: time.monotonic() > ends_s)
            return server.history.answer(question)

    return json(await run_in_threadpool(answer))


async def compare(server: Server, request: Request) -> Response:
    """Runs or suites beside the first of them, as `compare --json` has it, and how their profiles differ."""
    names = request.query_params.getlist("run")
    if not 2 <= len(names) <= MOST_COMPARED or len(set(names)) != len(names):
        raise ProfileError(f"run: got {len(names)}, expected 2 to {MOST_COMPARED} different ones")
    folders = [folder_of(server.runs, name) for name in names]
    return json(await run_in_threadpool(compared, server, names, folders))


def folder_of(runs: Path, name: str) -> Path:
    """The folder of a run or a suite below that of all runs.

    Raises:
        ProfileError: There is none.
    """
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


def compared(server: Server, names: list[str], folders: list[Path]) -> dict[str, Any]:
    """The comparisons of all with the first one, or why there is none."""
    first, *others = (name.removeprefix("suites/") for name in names)
    comparisons: list[Any] = []
    errors: list[str] = []
    # One after the other, whoever asks: each starts a process on a machine that may be measuring.
    with server.comparing:
        for other in others:
            arguments = ("compare", first, other, "--json", "--runs", str(server.runs))
            status, output, said = answer_of(server.starter, arguments)
            if status:
                errors.append(refusal_in(said))
            comparisons += orjson.loads(output) if output.strip() else []
    texts = [profile_of_run(folder) for folder in folders]
    diffs = [unified(texts[0], text, names[0], name) for text, name in zip(texts[1:], names[1:], strict=True)]
    refusal = {"error": "\n".join(errors)} if errors else {}
    return {"comparisons": comparisons, "diff": "\n".join(filter(None, diffs)), **refusal}


def unified(first: str, second: str, first_name: str, second_name: str) -> str:
    """How one profile differs from another; empty where it does not."""
    lines = difflib.unified_diff(first.splitlines(), second.splitlines(), first_name, second_name, lineterm="")
    return "\n".join(lines)


# --- what it starts and stops -----------------------------------------------------------------------------------------


async def profiles(server: Server, _request: Request) -> Response:
    """All profiles."""
    return json(await run_in_threadpool(server.catalogue.profiles))


async def profile(_server: Server, request: Request) -> Response:
    """One of them."""
    return json(await run_in_threadpool(profile_details, request.path_params["name"]))


async def suites(server: Server, _request: Request) -> Response:
    """All suites."""
    return json(await run_in_threadpool(server.catalogue.suites))


async def suite(_server: Server, request: Request) -> Response:
    """One of them."""
    return json(await run_in_threadpool(suite_details, request.path_params["name"]))


async def check(_server: Server, request: Request) -> Response:
    """Whether a run could be started so."""
    choice = await chosen(request)
    return json({"ok": True, "command": command_text(choice.arguments)})


async def start(server: Server, request: Request) -> Response:
    """Start a run."""
    choice = await chosen(request)
    if (progress := server.run_under_way()) is not None:
        raise BusyError(f"{progress.profile} {progress.run_id}: is under way; stop it first")
    await run_in_threadpool(server.running.begin, choice.arguments)
    return json({"started": True, "command": command_text(choice.arguments)})


async def stop(server: Server, _request: Request) -> Response:
    """Stop the run that the page has started, or else the one under way."""
    if server.running.stop():
        return json({"stopping": True})
    progress = server.run_under_way()
    if progress is None:
        raise BusyError("no run is under way")
    stop_run(progress)
    return json({"stopping": True})


async def chosen(request: Request) -> Choice:
    """What a request chooses, checked.

    Raises:
        ProfileError: It cannot be run so.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise ProfileError("Content-Type: got something else, expected application/json")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BODY_BYTES:
            raise ProfileError(f"body: got more, expected at most {MOST_BODY_BYTES:,} bytes")
    try:
        choice = Choice.of(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise ProfileError(f"body: not JSON: {error}") from error
    await run_in_threadpool(choice.check)
    return choice
