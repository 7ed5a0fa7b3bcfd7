"""Reads the folder of a suite."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.analysis.folder import content_of, parsed, parsed_lines
from lab.errors import ProfileError
from lab.records.result import Result
from lab.records.suite import SuitePlan, SuiteRun

A_SUITE = "a suite's folder, such as runs/suites/aladin-indexing/<suite-id>"
ATTEMPTS = 2
"""A run that failed, or that was disturbed, is repeated once."""

Cell = tuple[int, str, int]
"""A block, counted from 1, a variant, and which of its runs in the block, counted from 1."""


@dataclass(frozen=True, slots=True)
class CountedRun:
    """A run whose figures count, with its result."""

    run: SuiteRun
    result: Result


@dataclass(frozen=True, slots=True)
class SuiteRecords:
    """Records of a suite: its plan, its runs and their results.

    Attributes:
        runs: All of them, warm-up drains and superseded attempts included, in the order in which they ended.
        final: The last attempt of each planned run that has come to an end, well or not.
        counted: Those of them that were verified: all that any figure is made of.
    """

    path: Path
    plan: SuitePlan
    runs: tuple[SuiteRun, ...]
    final: Mapping[Cell, SuiteRun]
    counted: Mapping[Cell, CountedRun]

    def of_variant(self, name: str) -> list[CountedRun]:
        """The runs of a variant that count, block by block."""
        return [
            run for (_, variant, _), run in sorted(self.counted.items(), key=lambda item: item[0]) if variant == name
        ]


def read_suite(path: Path) -> SuiteRecords:
    """The records of a suite's folder and the results of its runs.

    Raises:
        ProfileError: The folder, or a file in it, is not what a suite leaves behind, or no run has finished.
    """
    plan, runs = read_plan(path), read_runs(path)
    final = last_attempts(runs)
    if not final:
        raise ProfileError(
            f"{path}: no run of this suite has finished; finish it with: {shlex.join(plan.command)} --resume"
        )
    counted = {cell: CountedRun(run, _result(path, run)) for cell, run in final.items() if run.status == "verified"}
    return SuiteRecords(path, plan, runs, final, counted)


def read_plan(path: Path) -> SuitePlan:
    """The plan of the suite in a folder; raises ProfileError if there is none, or it is one of another version."""
    return parsed(SuitePlan, content_of(path / "plan.json", A_SUITE), str(path / "plan.json"))


def read_runs(path: Path) -> tuple[SuiteRun, ...]:
    """The runs that have ended so far; none in a folder whose suite has just begun.

    Raises:
        ProfileError: A line is no such record.
    """
    file = path / "runs.ndjson"
    return tuple(parsed_lines(SuiteRun, file, A_SUITE)) if file.exists() else ()


def _result(path: Path, run: SuiteRun) -> Result:
    file = path / (run.folder or "") / "result.json"
    return parsed(Result, content_of(file, "the result of a verified run"), str(file))


def planned_runs(plan: SuitePlan) -> list[Cell]:
    """The runs that count, in the plan's order, as far as it is drawn."""
    return [
        (block, name, names[: place + 1].count(name))
        for block, names in enumerate(plan.order, 1)
        for place, name in enumerate(names)
    ]


def last_attempts(runs: Iterable[SuiteRun]) -> dict[Cell, SuiteRun]:
    """The attempt of each run that decides its outcome: the last one that was verified, or else the last.

    Warm-up drains are left out.
    """
    final: dict[Cell, SuiteRun] = {}
    for run in runs:
        if run.warm_up or not run.block:
            continue
        if run.cell not in final or run.status == "verified" or final[run.cell].status != "verified":
            final[run.cell] = run
    return final


def runs_left(plan: SuitePlan, runs: Iterable[SuiteRun]) -> list[Cell]:
    """The planned runs that are neither sound nor have had all their attempts."""
    settled = {run.cell for run in runs if run.block and not run.warm_up and (run.is_sound or run.attempt >= ATTEMPTS)}
    return [cell for cell in planned_runs(plan) if cell not in settled]
