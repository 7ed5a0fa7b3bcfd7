"""Runs and suites whose truth is known, as folders hold them: a model of servers in place of servers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.analysis.folder import RunFolder
from lab.analysis.result import analysed
from lab.analysis.suite.folder import CountedRun, SuiteRecords
from lab.analysis.suite.result import suite_result
from lab.records.run import Phase, Run, SinkHistograms
from lab.records.samples import IndexCounters, Sample
from lab.records.suite import Effect, MetricKey, SuitePlan, SuiteResult, SuiteRun, Variant
from tests.unit.analysis.synthetic import START_S, Truth, run, samples

RATE = MetricKey(name="indexing_rate_docs_per_s", scope="primaries")
CPU = MetricKey(name="cpu_s_per_million_docs", scope="elasticsearch")
FINISH = "index_finish_s"
CONTROL, AGAIN = "control", "control (again)"
STEP_S = 0.02
"""Of the model's time."""
FILL_S, SETTLE_S = 2.0, 3.0
ANSWER_S = 0.017

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What is so of the servers, whatever they index.

    Attributes:
        start_s: From the start of a load to its first document: the connector's.
        ramp: Share of the steady rate that each second after that reaches; 1 after the last.
        ramp_s: Time constant of a rate that approaches the steady one from zero; 0 for none.
        within: Spread of the rate from second to second, relative; it lasts for some seconds (AR(1), 0.5).
        between: Spread of a run's rate, relative.
        lasting: Share of that noise which goes on from run to run (AR(1)).
        between_cpu: Spread of a run's CPU per document, relative; lasts likewise.
        shared: Spread of the CPU per document that both runs of a pair at the same time have in common, relative.
        second_set: What a document costs more on the second of two sets of servers, relative.
        drift: Growth of all rates from the first run to the last, relative.
        merge_docs: Documents from one large merge to the next; 0 for none.
        merge_rate: Share of the rate that is left beside a merge.
        merge_s: How long one takes.
        read_s: Spread of the instants at which counters are read.
        ahead_docs: What the sink has read and the servers have not indexed, while there is more to read.
        tail_docs: Fewer than these keep less than all requests busy: the last ones are slow.
        sample_s: From one sample to the next.
    """

    start_s: float = 1.43
    ramp: tuple[float, ...] = ()
    ramp_s: float = 0.0
    within: float = 0.04
    between: float = 0.05
    lasting: float = 0.0
    between_cpu: float = 0.03
    shared: float = 0.0
    second_set: float = 0.0
    drift: float = 0.0
    merge_docs: int = 0
    merge_rate: float = 0.7
    merge_s: float = 1.5
    read_s: float = 0.01
    ahead_docs: int = 16_000
    tail_docs: int = 8_000
    sample_s: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is so of one variant.

    Attributes:
        rate_per_s: Operations, once it is steady, merges included.
        cpu_s_per_million: Of Elasticsearch, for a million operations.
        created: Share of the operations that create a document; the others replace one.
    """

    rate_per_s: float
    cpu_s_per_million: float = 40.0
    created: float = 1.0
    against: str | None = CONTROL


def curve(known: Known, machine: Machine, documents: int, rate_factor: float, draw: np.random.Generator) -> Floats:
    """Documents that are indexed by the end of each step of a load, until there are all of them."""
    paces, done, total, merging_until_s, merged = [], 0.0, float(documents), 0.0, machine.merge_docs
    noise, loudness, at_s = 0.0, 1.0, 0.0
    second = -1
    rate = known.rate_per_s * rate_factor * _slowed(known, machine)
    start_s, ramps, tail_docs = machine.start_s, machine.ramp, machine.tail_docs
    while done < total:
        since_s = at_s - start_s
        if int(at_s) != second:
            second = int(at_s)
            noise = 0.5 * noise + draw.normal(0, machine.within * math.sqrt(1 - 0.25))
            loudness = math.exp(noise)
        place = int(since_s) if since_s >= 0 else 0
        ramp = ramps[place] if place < len(ramps) else 1.0
        if machine.ramp_s and since_s > 0:
            ramp *= 1 - math.exp(-since_s / machine.ramp_s)
        pace = 0.0 if since_s < 0 else rate * ramp * loudness
        if machine.merge_docs and done >= merged:
            merging_until_s, merged = at_s + machine.merge_s, merged + machine.merge_docs
        if at_s < merging_until_s:
            pace *= machine.merge_rate
        if total - done < tail_docs:
            pace *= max(0.2, (total - done) / tail_docs)
        done = min(total, done + pace * STEP_S)
        paces.append(done)
        at_s += STEP_S
    return np.array(paces)


def _slowed(known: Known, machine: Machine) -> float:
    """What the rate between merges is, over that of all the time."""
    if not machine.merge_docs:
        return 1.0
    # t = docs/r without merges; each merge loses (1 - share) of its time.
    between_s = machine.merge_docs / known.rate_per_s
    return between_s / (between_s - machine.merge_s * (1 - machine.merge_rate))


def recorded_run(
    known: Known,
    machine: Machine,
    documents: int,
    draw: np.random.Generator,
    *,
    rate_factor: float = 1.0,
    cpu_factor: float = 1.0,
    shares: Sequence[float] = (),
) -> RunFolder:
    """What a drain of these documents leaves behind, sampled twice a second from a moment that chance chooses.

    Args:
        shares: Of the documents, those of each of several indices; empty for a single one.
    """
    indexed = curve(known, machine, documents, rate_factor, draw)
    return recorded_load(known, machine, indexed, draw, cpu_factor=cpu_factor, shares=shares)


def recorded_load(
    known: Known,
    machine: Machine,
    indexed: Floats,
    draw: np.random.Generator,
    *,
    cpu_factor: float = 1.0,
    shares: Sequence[float] = (),
) -> RunFolder:
    """What a load leaves behind, of which so many documents were indexed by the end of each step."""
    documents = round(indexed[-1])
    load_s = len(indexed) * STEP_S
    begins_s = START_S + FILL_S
    instants = np.arange(START_S + draw.random() - 1, begins_s + load_s + SETTLE_S, machine.sample_s)
    read_s = instants + ANSWER_S + draw.normal(0, machine.read_s, len(instants))
    places = np.floor((read_s - begins_s) / STEP_S).astype(int)
    counted = np.where(places < 0, 0, indexed[np.clip(places, 0, len(indexed) - 1)]).astype(int)
    cpu_s = 30 + counted * known.cpu_s_per_million * cpu_factor / 1e6
    sizes = sizes_of(documents, shares)
    seen = [
        _sample(
            (at, read),
            (int(count), min(documents, int(count) + machine.ahead_docs)),
            (known.created, cpu),
            (begins_s, begins_s + load_s),
            indexed_of_each(int(count), sizes),
        )
        for at, read, count, cpu in zip(
            instants.tolist(), read_s.tolist(), counted.tolist(), cpu_s.tolist(), strict=True
        )
    ]
    return RunFolder(Path(), _run(documents, load_s, known.created, sizes), tuple(seen), None)


def sizes_of(documents: int, shares: Sequence[float]) -> tuple[int, ...]:
    """Documents of each of several indices."""
    return tuple(round(documents * share) for share in shares)


def indexed_of_each(count: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Documents in each index when so many are indexed in all: alike in each one that is not full yet."""
    level, left = 0.0, float(count)
    for place, size in enumerate(ordered := sorted(sizes)):
        step = min(size - level, left / (len(ordered) - place))
        level, left = level + step, left - step * (len(ordered) - place)
    return tuple(round(min(size, level)) for size in sizes)


_TEMPLATE = samples(Truth(ticks=1))[-1]
_RUN = run(Truth(ticks=1))


def _run(documents: int, load_s: float, created: float, sizes: Sequence[int]) -> Run:
    begins_s = START_S + FILL_S
    ends_s = begins_s + load_s
    phases = (
        Phase(name="prepare", started_s=START_S, ended_s=begins_s),
        Phase(name="load", started_s=begins_s, ended_s=ends_s),
        Phase(name="settle", started_s=ends_s, ended_s=ends_s + SETTLE_S),
    )
    indexed = round(documents * created)
    counts = {
        "produced": documents,
        "delivered": documents,
        "indexed": indexed,
        "already_there": documents - indexed,
        "dead_lettered": 0,
    }
    return _RUN.model_copy(
        update={
            "phases": phases,
            "ended_s": phases[-1].ended_s,
            "documents": _RUN.documents.model_copy(update=counts),
            "sink_histograms": SinkHistograms(record_age=None, bulk_service_time=None),
            "questions": (),
            "index_documents": {
                name: _RUN.documents.model_copy(update=counts | {"indexed": round(size * created), "already_there": 0})
                for name, size in _by_name(sizes).items()
            },
        }
    )


def _by_name(counts: Sequence[int]) -> dict[str, int]:
    return {f"known-{number}": count for number, count in enumerate(counts, 1)}


def _sample(
    instants: tuple[float, float],
    counted: tuple[int, int],
    spent: tuple[float, float],
    load: tuple[float, float],
    each: Sequence[int],
) -> Sample:
    (at_s, read_s), (indexed, consumed), (created, cpu_s), (begins_s, ends_s) = instants, counted, spent, load
    elasticsearch, sink = _TEMPLATE.elasticsearch, _TEMPLATE.sink
    assert elasticsearch is not None
    assert sink is not None
    phase = "fill" if at_s < begins_s else "load" if at_s <= ends_s else "settle"
    grown = {"index_total": indexed, "index_time_ms": indexed // 3, "docs_count": round(indexed * created)}
    counters = elasticsearch.primaries.model_copy(update=grown)
    processes = {"elasticsearch-1": _TEMPLATE.processes["elasticsearch-1"].model_copy(update={"cpu_s": cpu_s})}
    return _TEMPLATE.model_copy(
        update={
            "at_s": at_s,
            "phase": phase,
            "elasticsearch": elasticsearch.model_copy(
                update={
                    "primaries": counters,
                    "total": counters,
                    "read_s": read_s,
                    "indices": {
                        name: IndexCounters(index_total=count, index_time_ms=count // 3)
                        for name, count in _by_name(each).items()
                    },
                }
            ),
            "kafka": None,
            "sink": sink.model_copy(update={"records_read": consumed if at_s >= begins_s else 0}),
            "processes": processes,
        }
    )


@dataclass(frozen=True, kw_only=True)
class World:
    """What a suite is about, and what is so.

    Attributes:
        variants: The control among them; it runs once more (A/A) where `repetition`.
        blocks: Of duets, pairs of each comparison.
        documents: Of each drain.
        duets: Whether both runs of a comparison go at the same time, on two sets of servers.
        shares: Of the documents, those of each of several indices, which are indexed alike until one is full.
    """

    variants: Mapping[str, Known]
    machine: Machine = Machine()
    blocks: int = 8
    documents: int = 200_000
    repetition: bool = True
    duets: bool = False
    shares: tuple[float, ...] = ()

    @property
    def metrics(self) -> tuple[MetricKey, ...]:
        """Metrics that are compared; the rates of two runs at the same time depend on each other."""
        indices = (MetricKey(name=FINISH, scope=f"index-{number}") for number in range(1, len(self.shares) + 1))
        return (CPU,) if self.duets else (CPU, RATE, *indices)

    @property
    def names(self) -> tuple[str, ...]:
        """What runs once in every block."""
        return (*self.variants, AGAIN) if self.repetition else tuple(self.variants)

    def known(self, name: str) -> Known:
        """What is so of a variant."""
        return self.variants[CONTROL if name == AGAIN else name]

    def recorded(
        self, known: Known, draw: np.random.Generator, *, rate_factor: float = 1.0, cpu_factor: float = 1.0
    ) -> RunFolder:
        """What a run of it leaves behind."""
        factors = {"rate_factor": rate_factor, "cpu_factor": cpu_factor}
        return recorded_run(known, self.machine, self.documents, draw, **factors, shares=self.shares)

    def ratio(self, effect: Effect) -> float:
        """The truth of a comparison."""
        ours, theirs = self.known(effect.variant), self.known(effect.against)
        if effect.metric == CPU.name:
            return ours.cpu_s_per_million / theirs.cpu_s_per_million
        if effect.metric == FINISH:
            number = int(effect.scope.removeprefix("index-")) - 1
            return self.finish_s(effect.variant, number) / self.finish_s(effect.against, number)
        return ours.rate_per_s / theirs.rate_per_s

    def finish_s(self, name: str, number: int) -> float:
        """From the first document of all indices until one is full, without noise."""
        still = replace(self.machine, within=0.0)
        sizes = sizes_of(self.documents, self.shares)
        full = sum(min(size, sizes[number]) for size in sizes)
        indexed = curve(self.known(name), still, self.documents, 1.0, np.random.default_rng(1))
        return float(np.searchsorted(indexed, full) - np.searchsorted(indexed, 1)) * STEP_S


def suite_records(world: World, seed: int) -> SuiteRecords:
    """A suite of drains in randomised blocks, one after the other or in pairs, as its folder holds them."""
    draw = np.random.default_rng(seed)
    order = _order(world, draw)
    machine, number = world.machine, sum(map(len, order))
    factors, cpu_factors = (
        _lasting(draw, number, spread, machine.lasting) for spread in (machine.between, machine.between_cpu)
    )
    shared = draw.normal(0, machine.shared, len(order))
    runs, counted = [], {}
    for place, (block, name) in enumerate((block, name) for block, names in enumerate(order, 1) for name in names):
        drifted = 1 + machine.drift * place / number
        folder = world.recorded(
            world.known(name),
            draw,
            rate_factor=drifted * float(np.exp(factors[place])),
            cpu_factor=float(np.exp(cpu_factors[place] + shared[block - 1]))
            * (1 + machine.second_set if world.duets and name == order[block - 1][1] else 1)
            / drifted,
        )
        one = SuiteRun(
            block=block,
            variant=name,
            attempt=1,
            folder=f"runs/{place}",
            status="verified",
            started_s=START_S + 60 * place,
            ended_s=START_S + 60 * place + 50,
        )
        runs.append(one)
        counted[block, name, 1] = CountedRun(one, analysed(folder).result)
    return SuiteRecords(
        Path(), _plan(world, order), tuple(runs), {cell: run.run for cell, run in counted.items()}, counted
    )


def _order(world: World, draw: np.random.Generator) -> tuple[tuple[str, ...], ...]:
    """Every variant in every block; of duets, each comparison as often, either side first."""
    if not world.duets:
        return tuple(tuple(draw.permutation(world.names).tolist()) for _ in range(world.blocks))
    pairs = [(name, against) for name in world.names if (against := _against(world, name))]
    return tuple(tuple(draw.permutation(pair).tolist()) for _ in range(world.blocks) for pair in pairs)


def judged(world: World, seed: int) -> SuiteResult:
    """What the program says of such a suite."""
    return suite_result(suite_records(world, seed), None)


def _lasting(draw: np.random.Generator, number: int, spread: float, share: float) -> Floats:
    values = draw.normal(0, spread, number)
    for place in range(1, number):
        values[place] = share * values[place - 1] + math.sqrt(1 - share**2) * values[place]
    return values


def _against(world: World, name: str) -> str | None:
    return CONTROL if name == AGAIN else world.known(name).against


def _plan(world: World, order: tuple[tuple[str, ...], ...]) -> SuitePlan:
    return SuitePlan(
        suite="known",
        suite_id="20270115-080000",
        question="Does a suite whose effects are known give back those effects?",
        started_s=START_S,
        seed=1,
        repeats=world.blocks,
        control=CONTROL,
        repetition=AGAIN if world.repetition else None,
        variants=tuple(
            Variant(
                name=name,
                profile=name.removesuffix(" (again)"),
                fingerprint=name.removesuffix(" (again)"),
                against=_against(world, name),
                question="?",
                documents=world.documents,
            )
            for name in world.names
        ),
        order=order,
        duets=world.duets,
        metrics=world.metrics,
        command=("./sluice", "suite", "known"),
    )
