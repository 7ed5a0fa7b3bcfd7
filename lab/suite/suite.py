"""A suite under way: warm the servers, run what the plan says in its order, and write down each run that ends."""

import random
import re
import shutil
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from lab.errors import ProfileError, StackError
from lab.monitor import CLOCK
from lab.records import Result
from lab.records.suite import SuitePlan, SuiteRun, Variant
from lab.run.folder import RunFolder

MOST_WARM_UPS = 8
ATTEMPTS = 2
SUITES = "suites"


class Bench(Protocol):
    """The servers of a suite, and one run on them."""

    def prepare(self, variant: Variant) -> frozenset[Hashable]:
        """Bring the servers into the shape that the variant needs.

        Returns:
            What has to be warm for it: each server process together with the way in which the variant uses it.
        """
        ...

    def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool) -> Result:
        """Run the variant once into the folder and remove what it leaves in the servers."""
        ...


class SuiteProgress(Protocol):
    """Told of each run of a suite."""

    def begins(self, what: str, variant: Variant, done: int, total: int) -> None:
        """A run begins; `done` of `total` counted runs are there."""
        ...

    def ended(self, run: SuiteRun, result: Result | None) -> None:
        """A run has ended."""
        ...


def planned_order(
    names: Sequence[str], shapes: Mapping[str, Hashable], repeats: int, seed: int
) -> tuple[tuple[str, ...], ...]:
    """The order of the runs: blocks that hold each variant once, in an order of their own.

    Variants that need the same servers are neighbours, so that a block changes servers as rarely as it can: groups are
    shuffled, and variants within their group.

    Args:
        shapes: By name, what must be equal for two variants to run on the same servers.
    """
    draw = random.Random(seed)  # noqa: S311 - an order that can be had again, no secret
    blocks = []
    for _ in range(repeats):
        groups: dict[Hashable, list[str]] = {}
        for name in names:
            groups.setdefault(shapes[name], []).append(name)
        ordered = list(groups.values())
        draw.shuffle(ordered)
        for group in ordered:
            draw.shuffle(group)
        blocks.append(tuple(name for group in ordered for name in group))
    return tuple(blocks)


def folder_name(variant: str) -> str:
    """A variant's name in the characters of a folder's."""
    return re.sub(r"[^A-Za-z0-9._=-]+", "-", variant).strip("-")


class SuiteFolder:
    """Where a suite keeps its records."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def begin(cls, runs: Path, plan: SuitePlan) -> "SuiteFolder":
        """A new folder with the plan, which gets the folder's name as its id and begins now."""
        folder = RunFolder.create(runs / SUITES, plan.suite)
        folder.write("plan.json", plan.model_copy(update={"suite_id": folder.run_id, "started_s": time.time()}))
        return cls(folder.path)

    def removed_if_empty(self) -> bool:
        """Remove the folder if it holds nothing but the plan, as when servers cannot be started; whether it did."""
        if {path.name for path in self.path.iterdir()} - {"plan.json"}:
            return False
        shutil.rmtree(self.path)
        return True

    @property
    def suite_id(self) -> str:
        """The suite's id."""
        return self.path.name

    @property
    def runs_file(self) -> Path:
        """One `SuiteRun` per line."""
        return self.path / "runs.ndjson"

    def plan(self) -> SuitePlan:
        """The plan that was fixed.

        Raises:
            ProfileError: There is none, or it is one of another version.
        """
        try:
            return SuitePlan.model_validate_json((self.path / "plan.json").read_bytes())
        except (OSError, ValueError) as error:
            raise ProfileError(f"{self.path / 'plan.json'}: no plan that this version can read") from error

    def runs(self) -> tuple[SuiteRun, ...]:
        """The runs that ended so far."""
        if not self.runs_file.is_file():
            return ()
        lines = self.runs_file.read_bytes().splitlines(keepends=True)
        # A line without its end was being written when the suite was killed.
        return tuple(SuiteRun.model_validate_json(line) for line in lines if line.endswith(b"\n"))

    def append(self, run: SuiteRun) -> None:
        """Write down a run that has ended."""
        whole = self.runs_file.read_bytes() if self.runs_file.is_file() else b""
        with self.runs_file.open("ab") as file:
            if whole and not whole.endswith(b"\n"):
                file.truncate(whole.rfind(b"\n") + 1)
            file.write(run.model_dump_json().encode() + b"\n")

    def new_run(self, variant: Variant, *, warm_up: bool) -> RunFolder:
        """A folder for another run of the variant."""
        return RunFolder.create(self.path / ("warm-up" if warm_up else "runs"), folder_name(variant.name))


def is_suite(runs: Path, name: str) -> bool:
    """Whether a suite's folder, or a suite that has run, goes by that name."""
    return (Path(name) / "plan.json").is_file() or any((runs / SUITES / name).glob("*/plan.json"))


def find_suite(runs: Path, suite: str) -> SuiteFolder:
    """The last folder of a suite, or the folder itself where a path is given.

    Raises:
        ProfileError: There is none.
    """
    for candidate in (Path(suite), runs / SUITES / suite):
        if (candidate / "plan.json").is_file():
            return SuiteFolder(candidate.resolve())
    found = sorted((runs / SUITES / suite).glob("*/plan.json"))
    if not found:
        raise ProfileError(f"{suite}: no such suite has run below {runs / 'suites'}")
    return SuiteFolder(found[-1].parent)


def is_done(runs: Iterable[SuiteRun], block: int, variant: str) -> bool:
    """Whether nothing is left to do for a variant in a block: it is verified, or has failed for good."""
    mine = [run for run in runs if run.block == block and run.variant == variant]
    return any(run.status == "verified" for run in mine) or any(run.attempt >= ATTEMPTS for run in mine)


class SuiteUnderWay:
    """Runs what is left of a plan."""

    def __init__(
        self,
        folder: SuiteFolder,
        bench: Bench,
        progress: SuiteProgress,
        *,
        is_warm: Callable[[Sequence[float]], bool],
        clock: Callable[[], float] = CLOCK.now_s,
    ) -> None:
        """Take up the plan where its runs so far have left it.

        Args:
            is_warm: Whether the rates of successive warm-up drains, in docs/s, have become stable.
        """
        self.folder = folder
        self.plan = folder.plan()
        self.bench = bench
        self.progress = progress
        self.is_warm = is_warm
        self.clock = clock
        self.warm: set[Hashable] = set()
        self.tried: set[tuple[Hashable, str]] = set()
        self.ended = list(folder.runs())

    @property
    def total(self) -> int:
        """Runs that count, when all are done."""
        return sum(map(len, self.plan.order))

    @property
    def done(self) -> int:
        """Runs that count and need not be done any more."""
        return sum(
            is_done(self.ended, number, name) for number, block in enumerate(self.plan.order, 1) for name in block
        )

    def execute(self) -> None:
        """Run all that is left, block by block.

        Raises:
            ProfileError: A server refuses a setting of a variant, which no repetition would change.
            StackError: The servers cannot be brought up.
        """
        for number, block in enumerate(self.plan.order, 1):
            for name in block:
                if not is_done(self.ended, number, name):
                    self.variant(number, self.plan.variant(name))

    def variant(self, block: int, variant: Variant) -> None:
        """One run of the block; a run that is not verified is repeated once."""
        for attempt in range(1 + self.attempts_made(block, variant), ATTEMPTS + 1):
            self.warm_up(variant)
            what = f"block {block} of {self.plan.repeats}" + (", again" if attempt > 1 else "")
            if self.run(variant, what, block=block, attempt=attempt)[0].status == "verified":
                return

    def attempts_made(self, block: int, variant: Variant) -> int:
        """Attempts of this run that have ended."""
        return sum(run.block == block and run.variant == variant.name for run in self.ended)

    def warm_up(self, variant: Variant) -> None:
        """Drains that do not count: until the servers are warm for the variant, and at least one of its own kind.

        A warm server still compiles what a variant is the first to ask for: with another mapping or write method its
        first run was seen to reach half the rate of its later ones.
        """
        needed = self.bench.prepare(variant)
        if needed <= self.warm and not self.known(variant, needed):
            self.run(variant, "first of its kind", block=0, attempt=1, warm_up=True)
            needed = self.bench.prepare(variant)
        if not needed <= self.warm:
            needed = self.until_stable(variant, needed)
        self.warm |= needed
        self.tried |= {(each, variant.fingerprint) for each in needed}

    def known(self, variant: Variant, needed: frozenset[Hashable]) -> bool:
        """Whether all of these have run the variant, or another one that asks for the same run."""
        return all((each, variant.fingerprint) in self.tried for each in needed)

    def until_stable(self, variant: Variant, cold: frozenset[Hashable]) -> frozenset[Hashable]:
        """Drains until their rate is stable; what is warm then."""
        needed = cold
        rates: list[float] = []
        for attempt in range(1, MOST_WARM_UPS + 1):
            run, result = self.run(variant, f"warm-up {attempt}", block=0, attempt=attempt, warm_up=True)
            rate = warm_up_rate(result) if result else None
            if rate is not None and run.status == "verified":
                rates.append(rate)
            if self.is_warm(rates):
                break
            needed = self.bench.prepare(variant)
        return needed

    def run(
        self, variant: Variant, what: str, *, block: int, attempt: int, warm_up: bool = False
    ) -> tuple[SuiteRun, Result | None]:
        """One run, written down whatever becomes of it."""
        self.progress.begins(what, variant, self.done, self.total)
        folder = self.folder.new_run(variant, warm_up=warm_up)
        started_s = self.clock()
        result: Result | None = None
        reason: str | None = None
        try:
            result = self.bench.run(variant, folder, warm_up=warm_up)
        except StackError as error:
            reason = str(error)
        if result is not None and result.status != "verified":
            reason = "; ".join(result.verification.problems)
        run = SuiteRun(
            block=block,
            variant=variant.name,
            attempt=attempt,
            folder=str(folder.path.relative_to(self.folder.path)),
            status="broken" if result is None else "verified" if result.status == "verified" else "void",
            reason=reason,
            warm_up=warm_up,
            started_s=started_s,
            ended_s=self.clock(),
        )
        self.folder.append(run)
        self.ended.append(run)
        self.progress.ended(run, result)
        return run, result


def warm_up_rate(result: Result) -> float | None:
    """The rate by which a warm-up drain is judged: documents delivered over the time of its load phase, in docs/s.

    The whole phase, because a drain that stores nothing has no indexing rate.
    """
    load = next((phase for phase in result.phases if phase.name == "load"), None)
    if load is None or load.ended_s <= load.started_s:
        return None
    return result.documents.produced / (load.ended_s - load.started_s)
