"""The folder of a suite while it runs; `lab.analysis.suite.folder` reads what is in it."""

import re
import shutil
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from lab.analysis.suite.folder import read_plan, read_runs
from lab.errors import ProfileError, writing
from lab.files import write_whole
from lab.records.suite import SuitePlan, SuiteRun, Variant
from lab.run.folder import SUITES, RunFolder

LONGEST_NAME = 120
"""Of a variant's folder, in characters; file systems allow 143 or 255."""
HASH_DIGITS = 12


@dataclass(frozen=True)
class Attempt:
    """A run that has begun; block 0 is a warm-up drain."""

    variant: Variant
    folder: RunFolder
    block: int
    turn: int
    attempt: int
    started_s: float


@dataclass(frozen=True)
class SuiteFolder:
    """Where a suite keeps its records."""

    path: Path

    @classmethod
    def begin(cls, runs: Path, plan: SuitePlan) -> "SuiteFolder":
        """A new folder with the plan, which gets the folder's name as its id and begins now."""
        folder = RunFolder.create(runs / SUITES, plan.suite)
        folder.write("plan.json", plan.model_copy(update={"suite_id": folder.run_id, "started_s": time.time()}))
        return cls(folder.path)

    def removed_if_empty(self) -> bool:
        """Remove the folder if it holds nothing but the plan, as when servers cannot be started; whether it did."""
        if not all(path.name.startswith("plan.json") for path in self.path.iterdir()):
            return False
        shutil.rmtree(self.path)
        return True

    def plan(self) -> SuitePlan:
        """The plan that was fixed; raises ProfileError if there is none, or it is one of another version."""
        return read_plan(self.path)

    def add_block(self, order: tuple[str, ...], start: int) -> SuitePlan:
        """Write down another block, which begins now on that start of the servers; the plan with it."""
        plan = self.plan()
        plan = plan.model_copy(update={"order": (*plan.order, order), "started": (*plan.started, start)})
        self.write_plan(plan)
        return plan

    def cut_short(self) -> SuitePlan:
        """Leave the runs out of the plan that there was no time for: no block lacks what never was to come."""
        plan, made = self.plan(), {run.cell for run in self.runs() if run.block}
        blocks = [
            tuple(name for place, name in enumerate(names) if (block, name, names[: place + 1].count(name)) in made)
            for block, names in enumerate(plan.order, 1)
        ]
        order = tuple(filter(None, blocks))
        cut = {"order": order, "started": plan.started[: len(order)], "repeats": plan.repeats and len(order)}
        plan = plan.model_copy(update=cut)
        self.write_plan(plan)
        return plan

    def write_plan(self, plan: SuitePlan) -> None:
        """Put the plan in the place of the one that is there, of which nothing is lost if this is interrupted."""
        write_whole(self.path / "plan.json", plan.model_dump_json(indent=1) + "\n")

    def runs(self) -> tuple[SuiteRun, ...]:
        """The runs that ended so far."""
        return read_runs(self.path)

    def run_ids(self) -> set[str]:
        """The runs that were begun so far, that of a suite which was killed in its midst included."""
        return {path.name for kind in ("runs", "warm-up") for path in (self.path / kind).glob("*/*")}

    def append(self, run: SuiteRun) -> None:
        """Write down a run that has ended, in place of a line that was cut short when the suite was killed."""
        path = self.path / "runs.ndjson"
        with writing(path), path.open("a+b") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write(run.model_dump_json().encode() + b"\n")

    def new_run(self, variant: Variant, *, warm_up: bool) -> RunFolder:
        """A folder for another run of the variant."""
        folder = self.path / ("warm-up" if warm_up else "runs")
        return RunFolder.create(folder, folder_name(variant), taken=self.run_ids())


def folder_name(variant: Variant) -> str:
    """The name of a variant in the characters of a folder's; a long one is cut and ends with a hash."""
    name = re.sub(r"[^A-Za-z0-9._=-]+", "-", variant.name).strip("-")
    if len(name) <= LONGEST_NAME:
        return name
    digest = sha256(name.encode()).hexdigest()[:HASH_DIGITS]
    return f"{name[: LONGEST_NAME - HASH_DIGITS - 1]}-{digest}"


def is_suite(runs: Path, name: str) -> bool:
    """Whether a suite's folder, or a suite that has run, goes by that name."""
    return (Path(name) / "plan.json").is_file() or any((runs / SUITES / name).glob("*/plan.json"))


def find_suite(runs: Path, suite: str) -> SuiteFolder:
    """The last folder of a suite, or the folder itself where a path is given; raises ProfileError if there is none."""
    for candidate in (Path(suite), runs / SUITES / suite):
        if (candidate / "plan.json").is_file():
            return SuiteFolder(candidate.resolve())
    plans = sorted((runs / SUITES / suite).glob("*/plan.json"))
    if not plans:
        raise ProfileError(f"{suite}: no such suite has run below {runs / SUITES}")
    return SuiteFolder(plans[-1].parent)
