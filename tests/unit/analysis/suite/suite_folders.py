"""Suites whose every effect is known beforehand, because their runs are made with it."""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.analysis.result import analyse, write_result
from lab.records.run import Run
from lab.records.samples import Sample
from lab.records.suite import MetricKey, SuitePlan, SuiteRun, Variant
from lab.records.verification import Verification
from tests.unit.analysis.synthetic import START_S, Truth, run, samples, written

RATE = MetricKey(name="indexing_rate_docs_per_s", scope="primaries")
LATENCY = MetricKey(name="indexing_latency_ms", scope="primaries")
ENTITIES = MetricKey(name="entities_per_s", scope="run")
SOURCE = MetricKey(name="source_mb_per_s", scope="run")
CPU = MetricKey(name="cpu_s_per_million_docs", scope="elasticsearch")
AGAIN = "aladin/control (again)"


@dataclass(frozen=True, kw_only=True)
class Rung:
    """What is so of one variant.

    Attributes:
        rate: Documents per second, as a multiple of the control's.
        latency: The same of the indexing latency.
        docs_per_entity: Documents for one book.
        change: Of what is so in its runs.
    """

    against: str | None = "aladin/control"
    rate: float = 1.0
    latency: float = 1.0
    docs_per_entity: int = 1
    bytes_per_doc: int = 797
    change: Callable[[Truth], Truth] = lambda truth: truth
    change_run: Callable[[Run], Run] = lambda made: made


@dataclass(frozen=True, kw_only=True)
class SuiteTruth:
    """What is so of a suite.

    Attributes:
        docs_per_tick: The control's; a multiple of 12, so that entities come out whole.
        noise: Relative spread of the rates of one variant.
        drift: Growth of all rates from the first block to the last.
        failing: (block, variant) → statuses of its attempts.
        after: Cells of the plan from this block on are still to come.
    """

    rungs: Mapping[str, Rung]
    repeats: int = 3
    noise: float = 0.0
    drift: float = 0.0
    docs_per_tick: int = 5004
    ticks: int = 13
    seed: int = 7
    metrics: tuple[MetricKey, ...] = (RATE, LATENCY, ENTITIES, SOURCE, CPU)
    published: str | None = None
    failing: Mapping[tuple[int, str], Sequence[str]] = field(default_factory=dict)
    after: int | None = None


def plan(truth: SuiteTruth) -> SuitePlan:
    """The plan of the suite, in a random order."""
    draw = random.Random(truth.seed)  # noqa: S311 - an order, no secret
    return SuitePlan(
        suite="synthetic",
        suite_id="20270115-080000",
        question="Does a suite whose effects are known give back those effects?",
        started_s=START_S,
        seed=truth.seed,
        repeats=truth.repeats,
        control="aladin/control",
        repetition=AGAIN if AGAIN in truth.rungs else None,
        variants=tuple(
            Variant(
                name=name,
                profile=name.removesuffix(" (again)"),
                against=rung.against,
                question=f"What does {name} do?",
                fingerprint=name.removesuffix(" (again)"),
                documents=truth.docs_per_tick * truth.ticks,
            )
            for name, rung in truth.rungs.items()
        ),
        order=tuple(tuple(draw.sample(list(truth.rungs), len(truth.rungs))) for _ in range(truth.repeats)),
        metrics=truth.metrics,
        published=truth.published,
        command=("./sluice", "suite", "synthetic", "--repeats", str(truth.repeats)),
    )


def suite_folder(folder: Path, truth: SuiteTruth) -> Path:
    """The folder of the suite: plan, runs, and each run's folder with its result."""
    folder.mkdir(parents=True, exist_ok=True)
    made = plan(truth)
    (folder / "plan.json").write_text(made.model_dump_json(), "utf-8")
    lines = [_warm_up(made.control), *(_one_run(folder, truth, one) for one in _attempts(truth, made))]
    (folder / "runs.ndjson").write_text("".join(line.model_dump_json() + "\n" for line in lines), "utf-8")
    return folder


def _warm_up(control: str) -> SuiteRun:
    """A drain that does not count, and of which nothing but this line is left."""
    return SuiteRun(
        block=0,
        variant=control,
        attempt=1,
        folder="warm-up/gone",
        status="verified",
        warm_up=True,
        started_s=START_S - 31,
        ended_s=START_S - 1,
    )


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    """One run of a suite that is made."""

    variant: str
    block: int
    attempt: int
    status: str
    at_s: float
    rate: float
    latency: float


def _attempts(truth: SuiteTruth, made: SuitePlan) -> Iterator[_Attempt]:
    draw = random.Random(truth.seed + 1)  # noqa: S311 - noise, no secret
    at_s = START_S
    for block, names in enumerate(made.order[: truth.after], 1):
        for name in names:
            statuses = truth.failing.get((block, name), ("verified",))
            for attempt, status in enumerate(statuses, 1):
                # An attempt that is repeated would be seen in any figure that it found its way into.
                superseded = 0.1 if attempt < len(statuses) else 1.0
                yield _Attempt(
                    variant=name,
                    block=block,
                    attempt=attempt,
                    status=status,
                    at_s=at_s,
                    rate=superseded * _drifted(truth, block) * math.exp(draw.gauss(0, truth.noise)),
                    latency=math.exp(draw.gauss(0, truth.noise)),
                )
                at_s += 4 * truth.ticks


def _drifted(truth: SuiteTruth, block: int) -> float:
    return 1 + truth.drift * (block - 1) / max(1, truth.repeats - 1)


def _one_run(folder: Path, truth: SuiteTruth, one: _Attempt) -> SuiteRun:
    name = one.variant.replace("/", "-").replace(" ", "-")
    relative = f"runs/{one.block}-{one.attempt}-{name}"
    if one.status != "broken":
        _write_run(folder / relative, truth, one)
    return SuiteRun.model_validate(
        {
            "block": one.block,
            "variant": one.variant,
            "attempt": one.attempt,
            "folder": relative,
            "status": one.status,
            "reason": None if one.status == "verified" else "7 documents are missing from the index",
            "started_s": one.at_s,
            "ended_s": one.at_s + 3 * truth.ticks,
        }
    )


def _write_run(path: Path, truth: SuiteTruth, one: _Attempt) -> None:
    rung = truth.rungs[one.variant]
    changed = rung.change(
        Truth(
            docs_per_tick=round(truth.docs_per_tick * rung.rate),
            ticks=truth.ticks,
            ms_per_1000_docs=round(310 * rung.latency * one.latency),
            docs_per_entity=rung.docs_per_entity,
            bytes_per_doc=rung.bytes_per_doc,
        )
    )
    made = _moved_run(rung.change_run(run(changed)), one)
    write_result(analyse(written(path, made, [_moved_sample(sample, one) for sample in samples(changed)])))


def _moved(at_s: float, one: _Attempt) -> float:
    """An instant of a run that begins elsewhere and, with the same documents, goes at another pace."""
    return one.at_s + (at_s - START_S) / one.rate


def _moved_run(made: Run, one: _Attempt) -> Run:
    verified = one.status == "verified"
    phases = [
        phase.model_copy(update={"started_s": _moved(phase.started_s, one), "ended_s": _moved(phase.ended_s, one)})
        for phase in made.phases
    ]
    return made.model_copy(
        update={
            "profile": one.variant.removesuffix(" (again)"),
            "started_s": _moved(made.started_s, one),
            "ended_s": _moved(made.ended_s, one),
            "phases": tuple(phases),
            "verification": Verification(verified=verified, problems=() if verified else ("7 documents are missing",)),
        }
    )


def _moved_sample(sample: Sample, one: _Attempt) -> Sample:
    assert sample.elasticsearch is not None
    assert sample.elasticsearch.read_s is not None
    read = sample.elasticsearch.model_copy(update={"read_s": _moved(sample.elasticsearch.read_s, one)})
    return sample.model_copy(update={"at_s": _moved(sample.at_s, one), "elasticsearch": read})


LADDER = {
    "aladin/control": Rung(against=None),
    AGAIN: Rung(),
    "aladin/static": Rung(rate=1.21, latency=0.71),
    "aladin/replicas-0": Rung(against="aladin/static", rate=1.52, latency=0.70),
    "aladin/primaries-2": Rung(against="aladin/static", rate=1.23, latency=0.73),
    "aladin/primaries-4": Rung(against="aladin/static", rate=1.20, latency=0.76),
    "aladin/primaries-8": Rung(against="aladin/static", rate=1.12, latency=0.83),
    "aladin/primaries-16": Rung(against="aladin/static", rate=0.98, latency=1.03),
    "aladin/nodes-3": Rung(against="aladin/primaries-2", rate=1.05, latency=0.95),
    "aladin/nodes-4": Rung(against="aladin/primaries-2", rate=0.91, latency=1.2),
    "aladin/flat": Rung(against="aladin/primaries-2", rate=3.1, latency=0.31, docs_per_entity=3, bytes_per_doc=311),
    "aladin/updates-nested": Rung(against="aladin/primaries-2", rate=0.83, latency=1.3),
    "aladin/updates-flat": Rung(
        against="aladin/updates-nested", rate=2.4, latency=0.4, docs_per_entity=3, bytes_per_doc=311
    ),
    "aladin/bulk-with-a-rather-long-name-of-its-own": Rung(rate=1.005),
}
"""Fourteen variants, as many as the ladder of the repository has and one with a long name."""


def ladder(*, repeats: int = 5, noise: float = 0.02) -> SuiteTruth:
    """The ladder with noise and a drift, for a picture."""
    return SuiteTruth(rungs=LADDER, repeats=repeats, noise=noise, drift=0.12, ticks=23, published="aladin-indexing")


def small(**changes: object) -> SuiteTruth:
    """Control, repetition, a faster variant and one of another document model, without noise."""
    rungs = {
        "aladin/control": Rung(against=None),
        AGAIN: Rung(),
        "aladin/static": Rung(rate=1.25, latency=0.5),
        "aladin/flat": Rung(against="aladin/static", rate=3.75, latency=0.31, docs_per_entity=3, bytes_per_doc=311),
    }
    return replace(SuiteTruth(rungs=rungs), **changes)  # type: ignore[arg-type]
