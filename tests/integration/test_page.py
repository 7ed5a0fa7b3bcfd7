"""The live page in a real browser: runs started, watched, reloaded, stopped and compared; nobody else may do so."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from lab.records.result import Result
from lab.stack.shape import StackShape
from tests.compose.machine import EngineMissingError
from tests.integration.conftest import NOT_TRIED, Sluice
from tests.integration.live_page import BrowserLog, Server, chromium, rows
from tests.unit.analysis.suite.suite_folders import small, suite_folder
from tests.unit.page.run_folders import begun
from tests.unit.page.test_page_history import many_runs

pytestmark = pytest.mark.integration

DOCUMENTS = 8009
RATE = 1009
"""Documents per second: 8 s of load."""
STREAM = f"load={{mode: stream, rate_docs_per_s: {RATE}}}"
PATIENCE_MS = 120_000
VIEWS = ("now", "pipeline", "suite", "history")
FIGURE = "#now-rate"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all of these tests."""
    try:
        with sync_playwright() as playwright, chromium(playwright) as opened:
            yield opened
    except EngineMissingError as error:
        NOT_TRIED.append(f"the live page in a browser: {error}")
        pytest.skip(f"no browser: {error}")


@pytest.fixture(scope="module")
def server(sluice: Sluice) -> Iterator[Server]:
    """`./sluice page` on the session's servers and runs."""
    sluice.stack.ensure(StackShape(), kept=True)
    started = Server(sluice)
    started.start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def of_suite(sluice: Sluice, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The page of a suite that is half done."""
    runs = tmp_path_factory.mktemp("runs")
    folder = suite_folder(runs / "suites/synthetic/20270115-080000", small(after=2))
    begun(folder / "runs/aladin-static/20270115-090000")
    started = Server(Sluice(sluice.state, runs))
    started.start()
    yield started
    started.stop()


@dataclass
class Watched:
    """What two tabs have shown of a run that was started in the first of them.

    Attributes:
        refusal: Beneath the setting that was wrong.
        command: What the form says that it starts.
        phases: As they were announced to a screen reader.
        figures: Indexing rates, as the page wrote them.
        before, after: Samples in the table behind a chart before the page was loaded anew, and right after.
        beside: What the second tab showed at the end.
        was_locked: Whether the second tab, which has no token, said that it may only look.
        log: Of both tabs.
    """

    refusal: str = ""
    command: str = ""
    phases: list[str] = field(default_factory=list)
    figures: set[str] = field(default_factory=set)
    charts: list[str] = field(default_factory=list)
    before: int = 0
    after: int = 0
    outcome: str = ""
    report: str | None = None
    beside: str = ""
    was_locked: bool = False
    tasks: list[list[str]] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    log: BrowserLog = field(default_factory=BrowserLog)


@pytest.fixture(scope="module")
def watched(browser: Browser, server: Server) -> Watched:
    """A stream, from the form that starts it to its verdict."""
    noted = Watched()
    context = browser.new_context()
    noted.log.watch(context)
    page = context.new_page()
    page.goto(server.url)
    start_stream(page, noted)
    # Not only the 0/s of the beginning: on a busy machine the load may be over after what follows.
    note_until(page, noted, lambda: any(not rate.startswith("0") for rate in noted.figures))
    other = context.new_page()
    other.goto(server.origin)
    reload_in_the_middle(page, noted)
    note_until(page, noted, lambda: "Verified" in noted.outcome)
    expect(page.locator("#now-verdict a")).to_be_visible(timeout=PATIENCE_MS)
    noted.report = page.locator("#now-verdict a").get_attribute("href")
    noted.charts = page.locator("#now-charts figcaption h3").all_inner_texts()
    expect(other.locator("#now-phase")).to_contain_text("Verified", timeout=PATIENCE_MS)
    noted.beside = other.locator("#now-phase").inner_text()
    other.get_by_role("button", name="Start a run…").click()
    noted.was_locked = other.locator("#start-locked").is_visible() and other.locator("#start-go").is_disabled()
    context.close()
    return noted


def start_stream(page: Page, noted: Watched) -> None:
    """Choose the profile, set its values, one of them wrong at first, and start it."""
    page.get_by_role("button", name="Start a run…").click()
    page.get_by_label("Name").select_option("quickstart")
    first = page.get_by_label("Setting, key=value").first
    first.fill("dataset.documents=none")
    wrong = page.locator(".setting .wrong").first
    expect(wrong).not_to_be_empty(timeout=PATIENCE_MS)
    noted.refusal = wrong.inner_text().removeprefix("✗ ")
    first.fill(f"dataset.documents={DOCUMENTS}")
    expect(wrong).to_be_empty(timeout=PATIENCE_MS)
    page.get_by_role("button", name="Add a setting").click()
    page.get_by_label("Setting, key=value").nth(1).fill(STREAM)
    expect(page.locator("#start-command")).to_contain_text("stream", timeout=PATIENCE_MS)
    noted.command = page.locator("#start-command").inner_text()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("#start")).to_be_hidden(timeout=PATIENCE_MS)
    expect(page.locator("#now-phase")).to_contain_text("●", timeout=PATIENCE_MS)


def note_until(page: Page, noted: Watched, done: Callable[[], object]) -> None:
    """Write down what the page shows, until enough was seen."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not done():
        assert time.monotonic() < deadline, noted
        page.wait_for_timeout(200)
        note_announced(page, noted)
        if (rate := page.locator(FIGURE).inner_text()) and rate[0].isdigit():
            noted.figures.add(rate)
        noted.outcome = page.locator("#now-phase").inner_text()
        noted.tasks = rows(page, "#now-tasks") or noted.tasks
    # What ended the loop may have come between two readings.
    note_announced(page, noted)


def note_announced(page: Page, noted: Watched) -> None:
    """Write down what a screen reader has just been told."""
    announced = page.locator("#announced").inner_text()
    if announced and announced not in noted.phases[-1:]:
        noted.phases.append(announced)


def reload_in_the_middle(page: Page, noted: Watched) -> None:
    """Look at the drawing, load the page anew, and count the samples behind a chart on either side of it."""
    page.get_by_role("link", name="Pipeline").click()
    expect(page.locator("#pipeline-drawing .stage")).to_have_count(5, timeout=PATIENCE_MS)
    noted.stages = page.locator("#pipeline-drawing .stage .name").all_text_contents()
    page.get_by_role("link", name="Now").click()
    noted.before = samples_shown(page)
    page.reload()
    noted.after = samples_shown(page)


def samples_shown(page: Page) -> int:
    """Lines of the table behind the CPU chart."""
    figure = page.locator("#now-charts figure", has_text="CPU by process")
    figure.locator("summary").click(timeout=PATIENCE_MS)
    expect(figure.locator("tbody tr").nth(2)).to_be_attached(timeout=PATIENCE_MS)
    return figure.locator("tbody tr").count()


# --- one run, from the form to the verdict --------------------------------------------------------------------------


def test_a_wrong_setting_has_the_commands_own_sentence_beneath_it(watched: Watched, sluice: Sluice) -> None:
    """Word by word what `--set` says."""
    refused = sluice("run", "quickstart", "--set", "dataset.documents=none")
    assert refused.status == 2
    assert watched.refusal
    assert watched.refusal in " ".join((refused.output + refused.errors).split())


def test_a_run_started_from_the_page_is_verified(watched: Watched, sluice: Sluice) -> None:
    """With the values that were set, in the folder of all runs."""
    assert watched.command == f"./sluice run quickstart --set dataset.documents={DOCUMENTS} --set '{STREAM}'"
    results = [Result.model_validate_json(path.read_bytes()) for path in sluice.runs.glob("quickstart/*/result.json")]
    assert ("verified", DOCUMENTS) in [(result.status, result.documents.produced) for result in results]


def test_a_run_is_watched_from_its_start_to_its_end(watched: Watched) -> None:
    """Phase by phase, with figures that move, a chart for each, tasks that run, and its report in the end."""
    told = " ".join(watched.phases)
    assert "quickstart: load." in told
    assert "quickstart: ✓ Verified" in told
    # Of a stream at a fixed rate that a calm machine keeps: none, and then this rate.
    assert len(watched.figures) >= 2
    assert watched.charts == ["Indexing rate", "Indexing latency", "End-to-end latency", "Lag", "CPU by process"]
    assert [task[:2] for task in watched.tasks] == [["0", "● running"]]
    assert (watched.report or "").endswith("/report.html")


def test_the_pipeline_is_drawn_stage_by_stage(watched: Watched) -> None:
    """In the order in which records pass."""
    assert watched.stages == ["Producers", "Topic", "Tasks", "Bulk requests", "Nodes"]


def test_a_reload_in_the_middle_loses_no_sample(watched: Watched) -> None:
    """What was drawn before is drawn again, from the server's ten minutes."""
    assert watched.after >= watched.before >= 3


def test_a_second_tab_shows_the_same_and_may_only_look(watched: Watched) -> None:
    """Without the token of the printed address, nothing can be started."""
    assert watched.beside == "✓ Verified"
    assert watched.was_locked


def test_nothing_is_asked_of_another_host(watched: Watched, server: Server) -> None:
    """Vega included: the page works offline."""
    assert watched.log.hosts == {server.origin.removeprefix("http://")}


def test_the_console_stays_silent(watched: Watched) -> None:
    """No error of a script, and nothing that the security policy had to refuse."""
    assert watched.log.complaints == []


# --- what else happens to a page ------------------------------------------------------------------------------------


def test_a_page_says_within_three_seconds_that_its_server_is_gone_and_recovers(
    browser: Browser, server: Server
) -> None:
    """Without being loaded anew."""
    page = browser.new_page()
    page.goto(server.url)
    expect(page.locator("#lost")).to_be_hidden()
    server.kill()
    expect(page.locator("#lost")).to_be_visible(timeout=3000)
    expect(page.locator("#lost")).to_have_text("The page’s server does not answer. Trying again each second.")
    server.start()
    expect(page.locator("#lost")).to_be_hidden(timeout=PATIENCE_MS)
    page.close()


def test_a_run_is_broken_off_from_the_page_and_not_compared(
    watched: Watched,  # noqa: ARG001 - its run is in the history
    browser: Browser,
    server: Server,
) -> None:
    """After a question; then the history has it, and comparing it with a verified run is refused in words."""
    page = browser.new_page()
    page.goto(server.url)
    page.get_by_role("button", name="Start a run…").click()
    page.get_by_label("Setting, key=value").first.fill("dataset.documents=5000011")
    page.get_by_role("button", name="Add a setting").click()
    page.get_by_label("Setting, key=value").nth(1).fill(STREAM)
    expect(page.locator("#start-command")).to_contain_text("5000011", timeout=PATIENCE_MS)
    expect(page.locator("#start-command")).to_contain_text("stream", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("#now-phase")).to_contain_text("load", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Stop…").click()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#now-phase")).to_have_text("Interrupted", timeout=PATIENCE_MS)

    page.get_by_role("link", name="History").click()
    page.get_by_role("searchbox").fill("quickstart")
    expect(page.locator("#history-rows tbody tr").nth(1)).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator("#history-rows tbody tr").first).to_contain_text("interrupted", timeout=PATIENCE_MS)
    expect(page.locator("#history-rows tbody tr").first).not_to_contain_text("–")  # no heading says of what, on a phone
    for place in (0, 1):
        page.get_by_role("checkbox").nth(place).check()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert").filter(has_text="Not compared")).to_be_visible(timeout=PATIENCE_MS)
    page.close()


class Elsewhere(BaseHTTPRequestHandler):
    """An empty page of somebody else."""

    def do_GET(self) -> None:
        """Answer anything with it."""
        body = b"<!doctype html><title>elsewhere</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The address of another site on this machine."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_address[1]}"
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def test_a_page_from_elsewhere_can_neither_read_nor_start_anything(
    browser: Browser, server: Server, elsewhere: str, sluice: Sluice
) -> None:
    """Not even one that knows the token: the browser itself says where the request comes from."""
    page = browser.new_page()
    page.goto(elsewhere)
    before = sorted(sluice.runs.glob("*/*"))
    body = '{"kind": "run", "name": "quickstart", "settings": ["dataset.documents=11"]}'
    simple = (
        f"fetch('{server.origin}/api/start', {{method: 'POST', mode: 'no-cors', body: '{body}'}})"
        ".then(() => 'sent', () => 'kept back')"
    )
    with_token = (
        f"fetch('{server.origin}/api/start', {{method: 'POST', headers: {{'X-Sluice-Token': '{server.token}'}},"
        f" body: '{body}'}}).then(() => 'sent', () => 'kept back')"
    )
    reading = f"fetch('{server.origin}/api/now').then(() => 'read', () => 'kept back')"

    forged = httpx.post(
        f"{server.origin}/api/start", content=body, headers={"Origin": elsewhere, "X-Sluice-Token": server.token}
    )

    assert [page.evaluate(script) for script in (simple, with_token, reading)] == ["kept back"] * 3
    assert (forged.status_code, forged.json()) == (
        403,
        {"error": f"Origin: got {elsewhere}, expected {server.origin}"},
    )
    assert sorted(sluice.runs.glob("*/*")) == before
    page.close()


def test_every_view_fits_a_phone_and_is_reached_by_keyboard(browser: Browser, server: Server) -> None:
    """At 400 pixels nothing has to be scrolled sideways; the first key leads past the bar, the next to the views."""
    page = browser.new_page(viewport={"width": 400, "height": 860}, color_scheme="dark", reduced_motion="reduce")
    page.goto(server.url)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    for view in VIEWS:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator(f"main > section[data-of={view}]")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, view
        page.locator(f"nav a[data-view={view}]").focus()
    page.close()


@pytest.mark.parametrize("screen", [(1280, "light"), (400, "dark")])
def test_a_screen_reader_gets_all_of_every_view(
    watched: Watched, browser: Browser, server: Server, of_suite: Server, screen: tuple[int, str]
) -> None:
    """Names, roles, headings, tables and contrast, as axe-core checks them; the form that starts a run, too."""
    assert watched.outcome
    width, colours = screen
    page = browser.new_page(viewport={"width": width, "height": 860}, color_scheme=colours)
    checked = {}
    for shown, views in ((of_suite, ("suite",)), (server, ("now", "pipeline", "history"))):
        page.goto(shown.url)
        for view in views:
            page.locator(f"nav a[data-view={view}]").click()
            expect(page.locator(f"main > section[data-of={view}] .card").first).to_be_visible(timeout=PATIENCE_MS)
            checked[view] = Axe().run(page)
    page.get_by_role("button", name="Start a run…").click()
    checked["form"] = Axe().run(page)
    assert {view: found.generate_report() for view, found in checked.items() if found.violations_count} == {}
    page.close()


def test_every_run_of_a_long_history_is_reached(browser: Browser, sluice: Sluice, tmp_path: Path) -> None:
    """By pages of fifty; a search begins at the first page again."""
    page_of = Server(Sluice(sluice.state, many_runs(tmp_path / "runs", 117)))
    page_of.start()
    page = browser.new_page()
    page.goto(f"{page_of.origin}/#history")
    back, forth = (page.get_by_role("button", name=name) for name in ("Previous", "Next"))
    shown = set()
    for words in ("1 to 50", "51 to 100", "101 to 117"):
        expect(page.locator("#history-total")).to_have_text(f"117 entries, {words} shown", timeout=PATIENCE_MS)
        shown |= {cells[2] for cells in rows(page, "#history-rows")}
        if forth.is_enabled():
            forth.focus()
            page.keyboard.press("Enter")
    assert len(shown) == 117
    expect(back).to_be_focused()
    page.get_by_label("Search").fill("profile-3")
    expect(page.locator("#history-total")).to_have_text("17 found", timeout=PATIENCE_MS)
    expect(back).to_be_hidden()
    page.close()
    page_of.stop()
