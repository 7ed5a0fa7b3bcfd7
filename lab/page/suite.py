"""A suite as the page shows it: its ladder as it fills up."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lab.analysis.folder import parsed
from lab.analysis.statistics.effects import is_settled
from lab.analysis.suite.comparisons import verdict_of
from lab.analysis.suite.figures import compared_metrics, figures, unit_of
from lab.analysis.suite.folder import (
    CountedRun,
    SuiteRecords,
    last_attempts,
    planned_runs,
    read_plan,
    read_runs,
    runs_left,
)
from lab.analysis.suite.names import metric_label, suite_title
from lab.analysis.suite.result import judged_effects
from lab.errors import ProfileError
from lab.records.result import Result
from lab.records.suite import Effect, SuitePlan, SuiteRun
from lab.suite.folder import folder_name
from lab.suite.plan import INTERRUPTED_S, estimate, seconds_left, taken_s

FILES = ("plan.json", "runs.ndjson", "suite.json", "report.html")
"""What changes as a suite goes on."""
PRECISION = 0.05
"""Half-width by which a comparison is narrow enough where the plan states none."""


@dataclass
class SuiteView:
    """A suite's folder, followed while the suite runs.

    A result is read once: a suite of hundreds of runs costs no more with each of them.

    Attributes:
        name: The folder below that of all runs.
        runs: The folder of all runs, whose earlier ones tell how long the suite will take.
    """

    folder: Path
    name: str
    runs: Path
    _stamp: tuple[int, ...] = field(default=(), init=False)
    _plan: SuitePlan | None = field(default=None, init=False)
    _ended: tuple[SuiteRun, ...] = field(default=(), init=False)
    _results: dict[str, Result] = field(default_factory=dict, init=False)
    _effects: tuple[Effect, ...] = field(default=(), init=False)
    _records: SuiteRecords | None = field(default=None, init=False)

    @property
    def has_ended(self) -> bool:
        """Check that the suite has written its result; an interrupted suite has none."""
        return (self.folder / "suite.json").is_file()

    def look(self) -> bool:
        """Read what has changed since the last look; whether anything has, and can be read."""
        stamp = tuple(changed_ns(self.folder / name) for name in FILES)
        if stamp == self._stamp:
            return False
        try:
            self._plan, self._ended = read_plan(self.folder), read_runs(self.folder)
            self._records = self._read_results(self._plan)
            self._effects = judged_effects(self._records, None, figures(self._records, rising=False))
        except ProfileError:
            return False
        self._stamp = stamp
        return True

    def _read_results(self, plan: SuitePlan) -> SuiteRecords:
        """The records so far; each result is read when its run has ended."""
        final = last_attempts(self._ended)
        counted = {cell: CountedRun(run, self._result(run)) for cell, run in final.items() if run.status == "verified"}
        return SuiteRecords(self.folder, plan, self._ended, final, counted)

    def _result(self, run: SuiteRun) -> Result:
        name = run.folder or ""
        if name not in self._results:
            file = self.folder / name / "result.json"
            try:
                self._results[name] = parsed(Result, file.read_bytes(), str(file))
            except OSError as error:
                raise ProfileError(f"{file}: cannot be read: {error.strerror}") from error
        return self._results[name]

    def view(self, run: Path | None) -> dict[str, Any] | None:
        """SUITE of the contract; `None` before the plan can be read.

        Args:
            run: The folder of the run under way, if it is the suite's; `None` where the suite is not under way.
        """
        plan = self._plan
        if plan is None or self._records is None:
            return None
        return {
            "name": suite_title(plan),
            "id": plan.suite_id,
            "folder": self.name,
            "question": plan.question,
            "control": plan.control,
            "repetition": plan.repetition,
            "metrics": self._metrics(plan),
            "blocks_done": blocks_done(plan, self._ended),
            "blocks_planned": plan.repeats and len(plan.order),
            "runs_done": len(self._records.final),
            "runs_planned": len(planned_runs(plan)) if plan.repeats is not None else None,
            "left_s": self._left_s(plan) if run is not None else None,
            "running": self._running(plan, run),
            "variants": [self._variant(plan, variant.name, variant.against) for variant in plan.variants],
            "headline": headline(plan, self._ended, self._effects),
            "report": f"/runs/{self.name}/report.html" if (self.folder / "report.html").is_file() else None,
            "ended": self.has_ended,
            "under_way": run is not None,
        }

    def _metrics(self, plan: SuitePlan) -> list[dict[str, str]]:
        results = list(self._results.values())
        return [
            {"name": key.name, "scope": key.scope, "label": metric_label(key), "unit": unit_of(results, key)}
            for key in compared_metrics(plan)
        ]

    def _variant(self, plan: SuitePlan, name: str, against: str | None) -> dict[str, Any]:
        assert self._records is not None  # noqa: S101 - its caller has seen to it
        mine = [effect for effect in self._effects if effect.variant == name]
        effects = [effect_row(effect, plan.precision or PRECISION) for effect in mine]
        runs = len(self._records.of_variant(name))
        return {"name": name, "against": against, "runs": runs, "effects": effects, "skipped": plan.skipped.get(name)}

    def _running(self, plan: SuitePlan, run: Path | None) -> str | None:
        if run is None or self.folder not in run.parents:
            return None
        return next((each.name for each in plan.variants if folder_name(each) == run.parent.name), None)

    @cached_property
    def _expected(self) -> Mapping[str, float]:
        """Seconds of one run, by variant, from earlier runs here or from their size."""
        assert self._plan is not None  # noqa: S101 - its caller has seen to it
        return estimate(self._plan, self.runs).each

    def _left_s(self, plan: SuitePlan) -> float | None:
        """Time left in seconds, at most where a precision decides; `None` without a time."""
        if plan.repeats is not None:
            return seconds_left(plan, self._ended, self._expected)
        if plan.minutes is None:
            return None
        last_s = self._ended[-1].ended_s if self._ended else plan.started_s
        # A clock that was set back since then tells nothing of the time since then.
        since_s = min(INTERRUPTED_S, max(0.0, time.time() - last_s))
        return max(0.0, 60 * plan.minutes - taken_s(self._ended) - since_s)


def changed_ns(path: Path) -> int:
    """When a file was last written; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def effect_row(effect: Effect, precision: float) -> dict[str, Any]:
    """One comparison as it stands."""
    return {
        "metric": effect.metric,
        "scope": effect.scope,
        "against": effect.against,
        "blocks": len(effect.ratios),
        "ratio": effect.ratio,
        "low": effect.low,
        "high": effect.high,
        "half_width": effect.half_width,
        "verdict": effect.verdict,
        "text": verdict_of(effect),
        "decided": is_settled(effect, precision),
    }


def blocks_done(plan: SuitePlan, ended: Sequence[SuiteRun]) -> int:
    """Blocks of which nothing is left."""
    return len(plan.order) - len({block for block, _, _ in runs_left(plan, ended)})


def headline(plan: SuitePlan, ended: Sequence[SuiteRun], effects: Sequence[Effect]) -> str:
    """`3 blocks done; 2 of 5 intervals of “Indexing rate” are narrow enough`."""
    done, metric = blocks_done(plan, ended), plan.metrics[0]
    comparisons = [each for each in effects if each.key == metric.key and each.variant != plan.repetition]
    decided = sum(is_settled(effect, plan.precision or PRECISION) for effect in comparisons)
    blocks = f"{done} {'pair' if plan.duets else 'block'}{'' if done == 1 else 's'} done"
    if plan.repeats == 1:
        return f"{blocks}; one block gives ratios, and no intervals"
    narrow = f"{decided} of {len(comparisons)} intervals of “{metric_label(metric)}” are narrow enough"
    return f"{blocks}; {narrow}" if comparisons else blocks
