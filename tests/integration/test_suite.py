"""A suite on the real servers: interrupted, resumed, compared, and watched on the live page meanwhile."""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from lab.analysis.suite.comparisons import verdict_of
from lab.records.run import Run
from lab.records.suite import SuiteResult, SuiteRun
from lab.suite.folder import find_suite
from tests.compose.machine import EngineMissingError
from tests.integration.conftest import NOT_TRIED, Finished, Sluice
from tests.integration.live_page import ADDRESS, chromium, rows

SUITE = """
question: Does a second primary shard make small drains faster?
control: one shard
variants:
  - {profile: quickstart, name: one shard}
  - {profile: quickstart, name: two shards, set: {index.number_of_shards: 2}}
set: {dataset.documents: 2003}
repeats: 2
"""
RUNS = 6
PATIENCE_S = 240
CELLS_OF_TILES = "(all) => all.map((tile) => [...tile.children].map((cell) => cell.innerText.trim()))"


@dataclass
class Shown:
    """What a tab has shown of a suite while it ran; nothing without a browser.

    Attributes:
        tiles: Each state of its tiles: label → value.
        ladders: Each state of the table: variant → its verdict.
    """

    page: Page | None
    tiles: list[dict[str, str]] = field(default_factory=list)
    ladders: list[dict[str, str]] = field(default_factory=list)

    def open(self, address: str) -> None:
        """Go to the page of a command."""
        if self.page:
            self.page.goto(address)
            self.page.locator("nav a[data-view=suite]").click()

    def note(self) -> None:
        """Write down what the page shows now, if it is something else."""
        if not self.page:
            return
        tiles = dict(self.page.locator("#suite-tiles .tile").evaluate_all(CELLS_OF_TILES))
        ladder = {cells[0].splitlines()[0]: cells[2].split("\n")[0] for cells in rows(self.page, "#suite-ladder")}
        for states, state in ((self.tiles, tiles), (self.ladders, ladder)):
            if state and state not in states[-1:]:
                states.append(state)

    def wait(self) -> None:
        """Let a moment pass."""
        if self.page:
            self.page.wait_for_timeout(200)
        else:
            time.sleep(0.2)


@pytest.fixture(scope="module")
def shown() -> Iterator[Shown]:
    """A tab of a browser, where there is one."""
    try:
        with sync_playwright() as playwright, chromium(playwright) as browser:
            yield Shown(browser.new_page())
    except EngineMissingError as error:
        NOT_TRIED.append(f"the live page of a suite: {error}")
        yield Shown(None)


def followed(
    sluice: Sluice, words: tuple[str, ...], shown: Shown, is_enough: Callable[[], object] = lambda: False
) -> Finished:
    """Run a command to its end, or interrupt it once it is enough, and note what its page shows meanwhile."""
    with tempfile.TemporaryFile("w+") as errors:
        command = sluice.start(*words, errors=errors)
        said: list[str] = []
        # What it says is read on, so that it never waits for a reader.
        reader = threading.Thread(target=lambda: said.extend(command.stdout or ()), daemon=True)
        reader.start()
        deadline_s, is_open = time.monotonic() + PATIENCE_S, False
        while command.poll() is None and not is_enough():
            assert time.monotonic() < deadline_s, said
            if is_open:
                shown.note()
            elif found := ADDRESS.search("".join(said)):
                shown.open(found[1])
                is_open = True
            shown.wait()
        if command.poll() is None:
            os.kill(command.pid, signal.SIGINT)
        command.wait(PATIENCE_S)
        reader.join()
        # What the page was told last, before its server ended with the command.
        shown.note()
        errors.seek(0)
        return Finished(command.returncode, "".join(said), errors.read())


def counted(runs: Path) -> list[SuiteRun]:
    """The runs so far that are no warm-up drains."""
    if not [*(runs / "suites" / "shards").glob("*/plan.json")]:
        return []
    return [run for run in find_suite(runs, "shards").runs() if not run.warm_up]


@dataclass(frozen=True)
class Resumed:
    """A suite that was interrupted after its first counted run, and resumed to its end.

    Attributes:
        first: How the interrupted command ended.
        before: The runs that counted then.
        done: How the resumption ended.
    """

    file: Path
    runs: Path
    first: Finished
    before: list[SuiteRun]
    done: Finished

    @property
    def result(self) -> SuiteResult:
        """What its folder says in the end."""
        return SuiteResult.model_validate_json((find_suite(self.runs, "shards").path / "suite.json").read_bytes())


@pytest.fixture(scope="module")
def resumed(sluice: Sluice, shown: Shown, tmp_path_factory: pytest.TempPathFactory) -> Resumed:
    """Two variants and the control once more, twice each; both commands serve the page."""
    folder = tmp_path_factory.mktemp("suite")
    file, runs = folder / "shards.yaml", folder / "runs"
    file.write_text(SUITE)
    words = ("suite", str(file), "--runs", str(runs), "--page")
    first = followed(sluice, words, shown, lambda: counted(runs))
    before = counted(runs)
    return Resumed(file, runs, first, before, followed(sluice, (*words, "--resume"), shown))


def test_an_interrupted_suite_is_resumed_to_its_end(resumed: Resumed) -> None:
    """No run is done twice, none is left out, and the folder says what they mean together."""
    assert resumed.first.status == 130, resumed.first
    assert "--resume" in resumed.first.output
    assert 0 < len({(run.block, run.variant) for run in resumed.before}) < RUNS

    assert (resumed.done.status, resumed.done.errors) == (0, "")
    after = counted(resumed.runs)
    assert after[: len(resumed.before)] == resumed.before
    folder = find_suite(resumed.runs, "shards")
    plan = folder.plan()
    # A busy machine has some of them repeated.
    assert sorted({(run.block, run.variant) for run in after}) == sorted(
        (number, name) for number, block in enumerate(plan.order, 1) for name in block
    )
    assert {run.status for run in after} == {"verified"}
    assert resumed.result.complete
    assert {(effect.variant, effect.against) for effect in resumed.result.effects} == {
        ("one shard (again)", "one shard"),
        ("two shards", "one shard"),
    }
    fillers = {
        Run.model_validate_json((folder.path / str(run.folder) / "run.json").read_bytes()).delivery.earlier_run
        for run in folder.runs()
        if run.block == plan.repeats
    }
    # Every run of the last block, after the resumption, drained what one uncounted run had filled.
    assert len(fillers) == 1
    assert None not in fillers
    assert "two shards" in (folder.path / "suite.md").read_text()
    assert str(folder.path / "report.html") in resumed.done.output


def test_a_suite_is_watched_from_its_first_run_to_its_last(resumed: Resumed, shown: Shown) -> None:
    """Blocks done and time left, block by block, and which variant runs; the interruption included."""
    if not shown.page:
        pytest.skip("no browser")
    assert resumed.done.status == 0
    assert {state["Blocks done"] for state in shown.tiles} >= {"0 of 2", "1 of 2", "2 of 2"}
    assert {state["Running now"] for state in shown.tiles} >= {"one shard", "two shards"}
    assert any(state["Time left"].startswith("≈") for state in shown.tiles)


def test_the_ladder_of_a_suite_fills_up_to_what_its_report_says(resumed: Resumed, shown: Shown) -> None:
    """No ratio at first; each comparison as `suite.json` has it in the end."""
    if not shown.page:
        pytest.skip("no browser")
    assert {*shown.ladders[0].values()} == {"", "too few runs"}
    key = resumed.result.plan.metrics[0]
    told = {
        effect.variant: verdict_of(effect)
        for effect in resumed.result.effects
        if (effect.metric, effect.scope) == (key.name, key.scope)
    }
    assert {name: verdict for name, verdict in shown.ladders[-1].items() if verdict} == told


def test_a_suite_that_was_changed_is_not_resumed(sluice: Sluice, resumed: Resumed) -> None:
    """Its first half would be of other runs than its second."""
    changed = resumed.file.with_name("changed") / resumed.file.name
    changed.parent.mkdir()
    changed.write_text(SUITE.replace("2003", "2011"))
    done = sluice("suite", str(changed), "--runs", str(resumed.runs), "--resume")
    assert done.status == 2
    assert "cannot be resumed: the suite's variants or their profiles have changed" in done.errors


@pytest.mark.long
def test_pairs_load_at_the_same_time_on_two_sets_of_servers(sluice: Sluice, tmp_path: Path) -> None:
    """The second set is gone after an interrupt, and after the suite."""
    suite_file = tmp_path / "shards.yaml"
    metrics = "metrics: [cpu_s_per_million_docs/elasticsearch]"
    suite_file.write_text(SUITE.replace("repeats: 2", f"minutes: 3\n{metrics}"))
    command = ("suite", str(suite_file), "--runs", str(sluice.runs / "pairs"), "--duets")
    before = {server.pid for server in sluice.stack.servers()}
    suite = sluice.start(*command)
    deadline = time.monotonic() + PATIENCE_S
    while not (folders := [*(sluice.runs / "pairs").glob("suites/*/*/runs/*/*/run.json")]):
        assert suite.poll() is None, suite.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(suite.pid, signal.SIGINT)
    output, _ = suite.communicate(timeout=PATIENCE_S)
    assert suite.returncode == 130, output
    assert {process.pid for process in sluice.processes()} == before

    done = sluice(*command, "--resume")

    assert (done.status, done.errors) == (0, "")
    assert {process.pid for process in sluice.processes()} == before
    folder = find_suite(sluice.runs / "pairs", "shards")
    runs = [run for run in folder.runs() if run.block]
    assert {run.status for run in runs} == {"verified"}
    assert len(runs) >= 2
    assert folders[0].is_relative_to(folder.path)
    for one, other in zip(runs[::2], runs[1::2], strict=True):
        assert (one.variant, other.variant) == folder.plan().order[one.block - 1]
        both = [
            Run.model_validate_json((folder.path / str(run.folder) / "run.json").read_bytes()) for run in (one, other)
        ]
        nodes = [{server.pid for server in run.environment.servers} for run in both]
        assert nodes[0].isdisjoint(nodes[1])
        begun = [next(phase.started_s for phase in run.phases if phase.name == "load") for run in both]
        assert abs(begun[0] - begun[1]) < 1
