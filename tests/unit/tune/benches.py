"""Tunes on servers that do as a test says, in a time that passes as it would."""

import random
from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager
from math import exp
from pathlib import Path

from lab.analysis.result import analyse, write_result
from lab.analysis.tune.goals import compared_metrics, parsed_goal
from lab.cli.tune import OneDataset
from lab.errors import ProfileError
from lab.profiles import Profile
from lab.profiles.files import REPOSITORY
from lab.profiles.spaces import Start, candidates_of, load_space
from lab.records.result import Result
from lab.records.suite import SuitePlan, SuiteRun, Variant
from lab.records.tune import Stage, TunePlan, TuneResult
from lab.run.folder import RunFolder
from lab.run.load.connector import connector_config
from lab.suite.folder import SuiteFolder
from lab.tune.execution import Profiles, TuneExecution
from lab.tune.folder import TuneFolder
from lab.tune.plan import expected
from lab.tune.search import Search
from producers.dataset import Dataset
from tests.unit.analysis.synthetic import Truth, environment, run, samples, written
from tests.unit.suite.test_suite_execution import Silent

SPACE = """
question: Which of two?
knobs:
  sink.tasks:
    values: [2]
    requires: {topic.partitions: "${value}"}
  index.refresh_interval:
    values: [30s]
    note: documents become searchable later
  index.codec:
    values: [best_compression]
"""
OVERRIDDEN = 35_000
OVERRIDES = (f"dataset.documents={OVERRIDDEN}", "sink.config.batch.size=1009")
RATE, AROUND_S = 5003, 9.0
"""Of the start, in documents per second; what a run takes besides its drain."""
ANALYZER = "index.analysis.analyzer.korean_text.type"
BEGUN_S = 1_800_000_000.0
YOURS = {
    "connector": "c",
    "topic": "the-runs-topic",
    "index": "the-runs-index",
    "elasticsearch_url": "http://127.0.0.1:9",
    "elasticsearch_urls": "http://127.0.0.1:9",
    "dead_letter_topic": "the-runs-letters",
}


class Bench:
    """Servers on which settings have effects, and whose time passes with each run.

    Attributes:
        gains: A setting's dotted key → its effect on the log rate where it is set.
        refused: A setting that a server refuses.
        break_off: The user presses Ctrl-C in the run with this number.
        around_s: What a run takes besides its drain.
        noise: Standard deviation of a run's log rate.
    """

    def __init__(
        self,
        gains: Mapping[str, float],
        refused: str = "",
        break_off: int | None = None,
        *,
        around_s: float = AROUND_S,
        noise: float = 0.01,
    ) -> None:
        self.gains = gains
        self.refused = refused
        self.break_off = break_off
        self.around_s, self.noise = around_s, noise
        self.draw = random.Random(7)  # noqa: S311 - noise, no secret
        self.now_s = BEGUN_S
        self.profiles: dict[str, Profile] = {}
        self.ran: list[tuple[str, bool]] = []
        self.run_ids: set[str] = set()

    def add(self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset]) -> None:
        """Know other variants, too."""
        assert profiles.keys() == datasets.keys()
        self.profiles |= profiles

    def replace(self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset]) -> None:  # noqa: ARG002 - as a bench has it
        """The same, with other loads."""
        assert profiles.keys() <= self.profiles.keys()
        self.profiles |= profiles

    def prepare(self, variant: Variant) -> frozenset[Hashable]:
        """One server, for variants that it knows."""
        assert variant.name in self.profiles
        return frozenset({"elasticsearch"})

    def restart(self) -> None:
        """Nobody asks for it."""
        raise AssertionError

    def change_part(self, before: str, after: str) -> None:  # noqa: ARG002 - as a bench has it
        """Nobody asks for it."""
        raise AssertionError

    def run(
        self,
        variant: Variant,
        folder: RunFolder,
        *,
        warm_up: bool,
        short: bool,  # noqa: ARG002
        display: AbstractContextManager[object],  # noqa: ARG002
    ) -> Result:
        """A run with the rate that the variant's profile has here."""
        self.ran.append((variant.name, warm_up))
        if len(self.ran) == self.break_off:
            raise KeyboardInterrupt
        profile = self.profiles[variant.name]
        set_here = {"sink.tasks": profile.sink.tasks == 2}
        set_here |= {f"index.{key}": True for key in profile.index}
        if set_here.get(self.refused):
            raise ProfileError(f"{self.refused}: the server refuses it")
        gain = sum(by for key, by in self.gains.items() if set_here.get(key))
        self.now_s += self.around_s + (profile.dataset.documents or 0) / RATE / exp(gain)
        truth = Truth(docs_per_tick=round(RATE * exp(gain + self.draw.gauss(0, self.noise))), ticks=7)
        made = run(truth).model_copy(update={"environment": environment_of(profile), "questions": ()})
        analysis = analyse(written(folder.path, made, samples(truth), profile.model_dump(mode="json")))
        write_result(analysis)
        return analysis.result


def environment_of(profile: Profile) -> object:
    """What a run of the profile writes down of its index and its connector."""
    config = connector_config(REPOSITORY, profile, {**YOURS, "tasks": str(profile.sink.tasks)})
    secrets = {"connection.password": "(hidden)"}
    settings = {f"index.{key}": value for key, value in profile.index.items()} | {ANALYZER: "cjk"}
    return environment().model_copy(update={"connector": {**config, **secrets}, "index_settings": settings})


class Listening(Silent):
    """Keeps what it hears.

    Attributes:
        heard: Texts, and how many runs had counted then.
    """

    def __init__(self) -> None:
        self.counted = 0
        self.heard: list[tuple[int, str]] = []

    def ended(self, run: SuiteRun, result: Result | None) -> None:  # noqa: ARG002 - as a display has it
        """Count it."""
        self.counted += bool(run.block)

    def warned(self, text: str) -> None:
        """Keep it."""
        self.heard += [(self.counted, text)] if text else []


class Quiet:
    """Shows nothing."""

    def __init__(self, of_stage: Silent | None = None) -> None:
        self.of_stage = of_stage or Silent()

    def stage(self, stage: Stage, plan: SuitePlan, folder: SuiteFolder) -> Silent:  # noqa: ARG002 - as a display has it
        """Show nothing."""
        return self.of_stage


def a_plan(tmp_path: Path, start: Start) -> TunePlan:
    """Three candidates, 20 minutes."""
    path = tmp_path / "two.yaml"
    path.write_text(SPACE)
    goal = parsed_goal("rate")
    tried, _ = candidates_of(load_space(str(path)), start)
    return TunePlan(
        tune="quickstart",
        question="Which of two?",
        started_s=0,
        profile="quickstart",
        overrides=OVERRIDES,
        fingerprint=start.profile.fingerprint(),
        space="two",
        goal=goal,
        minutes=20,
        window_s=8,
        seed=1,
        metrics=compared_metrics(goal),
        candidates=tried,
        command=("./sluice", "tune", "quickstart"),
    )


def execution(folder: TuneFolder, start: Start, bench: Bench, progress: Silent | None = None) -> TuneExecution:
    """The tune of the folder on the bench."""
    plan = folder.plan()
    profiles = Profiles(plan, start, lambda profile: profile, OneDataset())
    return TuneExecution(
        folder,
        profiles,
        Search(plan.candidates, plan.goal, plan.bounds),
        bench,
        Quiet(progress),
        expected(35_000, None, 8.0, started=True),
        is_warm=lambda rates: len(rates) > 1,
        clock=lambda: bench.now_s,
    )


GAINS = {"sink.tasks": 0.25, "index.refresh_interval": 0.12, "index.codec": -0.1}


Finished = tuple[Path, TuneResult, Bench]
