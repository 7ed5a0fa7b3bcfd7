"""Reads the folder of a suite."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.analysis.folder import content_of, parsed, parsed_lines
from lab.errors import ProfileError
from lab.records import Result
from lab.records.suite import SuitePlan, SuiteRun

A_SUITE = "a suite's folder, such as runs/suites/aladin-indexing/<suite-id>"
ATTEMPTS = 2
"""A run that failed is repeated once."""

Cell = tuple[int, str]
"""A block, counted from 1, and a variant."""


@dataclass(frozen=True, slots=True)
class CountedRun:
    """A run whose figures count, with its result."""

    run: SuiteRun
    result: Result


@dataclass(frozen=True, slots=True)
class SuiteFolder:
    """What a suite has left behind.

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
        return [counted for (_, variant), counted in sorted(self.counted.items()) if variant == name]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do: each planned run is verified, or has failed for good."""
        planned = [(block, name) for block, names in enumerate(self.plan.order, 1) for name in names]
        return all(cell in self.final and _is_settled(self.final[cell]) for cell in planned)


def read_suite(path: Path) -> SuiteFolder:
    """The records of a suite's folder and the results of its runs.

    Raises:
        ProfileError: The folder, or a file in it, is not what a suite leaves behind, or no run has finished.
    """
    plan = parsed(SuitePlan, content_of(path / "plan.json", A_SUITE), str(path / "plan.json"))
    runs = tuple(parsed_lines(SuiteRun, path / "runs.ndjson", A_SUITE)) if (path / "runs.ndjson").exists() else ()
    final = last_attempts(runs)
    if not final:
        raise ProfileError(
            f"{path}: no run of this suite has finished; finish it with: {shlex.join(plan.command)} --resume"
        )
    counted = {cell: CountedRun(run, _result(path, run)) for cell, run in final.items() if run.status == "verified"}
    return SuiteFolder(path, plan, runs, final, counted)


def last_attempts(runs: Sequence[SuiteRun]) -> dict[Cell, SuiteRun]:
    """The attempt of each run that decides what becomes of it; warm-up drains are none."""
    final: dict[Cell, SuiteRun] = {}
    for run in runs:
        cell = (run.block, run.variant)
        if not run.warm_up and run.block and (cell not in final or run.attempt >= final[cell].attempt):
            final[cell] = run
    return final


def _is_settled(run: SuiteRun) -> bool:
    return run.status == "verified" or run.attempt >= ATTEMPTS


def _result(path: Path, run: SuiteRun) -> Result:
    file = path / (run.folder or "") / "result.json"
    return parsed(Result, content_of(file, "the result of a verified run"), str(file))
