"""Reads the folder of a tune."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.analysis.folder import content_of, parsed
from lab.analysis.suite.comparisons import effects, planned_pairs
from lab.analysis.suite.figures import figures
from lab.analysis.suite.folder import SuiteRecords, read_suite
from lab.analysis.tune.estimates import Measured
from lab.records.tune import Stage, TunePlan

A_TUNE = "a tune's folder, such as runs/tunes/quickstart/<tune-id>"
FINISHED = "suite.json"
"""What the folder of a stage holds when it has come to its end."""


@dataclass(frozen=True)
class StageRecords(Measured):
    """A stage that has come to its end, with its folder; its effects hold the start against itself, too."""

    path: Path
    suite: SuiteRecords


def read_tune_plan(path: Path) -> TunePlan:
    """The plan of the tune in a folder; raises ProfileError if there is none, or it is one of another version."""
    return parsed(TunePlan, content_of(path / "plan.json", A_TUNE), str(path / "plan.json"))


def stage_folders(path: Path) -> list[tuple[Stage, Path]]:
    """The stages that have begun, in their order, with their folders.

    Raises:
        ProfileError: What describes one is no such record.
    """
    begun = (plan.parent for plan in path.glob("stages/*/plan.json"))
    stages = [(parsed(Stage, content_of(at / "stage.json", A_TUNE), str(at / "stage.json")), at) for at in begun]
    return sorted(stages, key=lambda entry: entry[0].number)


def read_stages(path: Path) -> Iterator[StageRecords]:
    """The stages that have come to their end, in their order.

    Raises:
        ProfileError: A record in one of them cannot be read.
    """
    for stage, at in stage_folders(path):
        if (at / FINISHED).is_file():
            suite = read_suite(at)
            known = figures(suite)
            yield StageRecords(stage, effects(suite.plan, planned_pairs(suite.plan), known), known, at, suite)
