"""What a suite is going to do, and how long that will take."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from pathlib import Path
from statistics import median, stdev
from types import MappingProxyType

from lab.analysis.suite.comparisons import Pair, planned_pairs
from lab.analysis.suite.folder import runs_left
from lab.endpoints import words_without_secrets
from lab.profiles import Profile, QueryOnly
from lab.profiles.models import BOUNDS, Recorded, Stream
from lab.profiles.suites import AGAIN, Measures, Suite, SuiteVariant
from lab.profiles.suites import Crossing as WantedCrossing
from lab.records.run import Run
from lab.records.suite import Crossing, MetricKey, SuitePlan, SuiteResult, SuiteRun, Variant
from lab.suite.limit import LEAST_DRAINS, LIMIT_S
from lab.suite.loads import is_share
from lab.suite.order import block_order

FIRST_BLOCKS = 4
"""Of all comparisons, before any of them may be found narrow enough: fewer say too little of how runs scatter."""
FIRST_BLOCKS_OF_FEW, FEW = 8, 6
"""Few comparisons know less of the noise together: their intervals are wider."""
RUN_BASE_S = 6.0
"""What a run takes beside its documents: index, topics, connector, verification, report."""
RATE_DOCS_PER_S = 12_000.0
"""Filling, draining and reading back together, where no earlier run tells better; measured on 2 cores."""
QUERY_BASE_S = 7.0
"""What a run of queries alone takes beside them: servers asked, counters read, report."""
LAYOUT_BASE_S = 10.0
"""What making an index that is kept takes beside its documents: shards that start, a merge, verification."""
SERVERS_S = 15.0
"""What other servers take to start, on 2 cores."""
WARM_UPS = 4
"""Warm-up drains that servers just started usually need."""
DUET_WARM_UPS = 6
"""Of two sets, at least: the rate of the last ones sizes the loads. Two sets of two nodes had reached a third of it
after 84 s, two drains."""
RUNS_READ = 20
LEAST_RATIOS = 3
"""Of a comparison, for its scatter to be told."""
WARM_SHARE = 0.25
"""Of a part's time: so long servers are warmed where a window sizes the drains, and no longer do drains wait for
stable rates: on a busy machine they took 6.9 of 7 minutes. Two nodes on two cores became faster
for 13 of 40 minutes: after 7 the first block still cost up to 30 % more CPU than later ones."""
INTERRUPTED_S = 300.0
"""A longer pause between two runs is none of the suite's: it was interrupted."""

OF_STREAMS = (("end_to_end_latency_ms_p50", "run"), ("end_to_end_latency_ms_p99", "run"))
"""What streams are compared by, beside what the suite asks for: below the limit a step may show in nothing else."""


@dataclass(frozen=True)
class Estimate:
    """How long a suite will take.

    Attributes:
        runs: Of the blocks that are drawn; where time and width decide how many there are, of one.
        seconds: Of all of it; where a width decides, `None`.
        warm_up_s: Of that, what comes before the first run that counts, and the first runs of each kind.
        each: By variant, wall time of one run, in seconds.
        noise: Standard deviation of a comparison's log ratio of the first metric from block to block, as last seen.
        from_runs: Variants whose time was taken from an earlier suite of this name, or from runs of the same profile
            and size.
    """

    runs: int
    seconds: float | None
    warm_up_s: float
    each: Mapping[str, float]
    from_runs: int
    noise: float | None


def make_plan(
    suite: Suite,
    *,
    measures: Measures | None = None,
    seed: int | None,
    skipped: Mapping[str, str],
    documents: Mapping[str, int],
    recorded_s: Mapping[str, float] = MappingProxyType({}),
    command: Sequence[str],
    side_by_side: bool = False,
    starts: int = 1,
    duets: bool = False,
) -> SuitePlan:
    """Fix everything that a suite is going to do; its id and its start come with its folder.

    Args:
        measures: Instead of the suite's own.
        seed: Instead of the suite's own.
        skipped: Variants that cannot run on this machine, with the reason.
        documents: By variant, the documents of one run.
        recorded_s: By variant, the time of its recorded documents.
        side_by_side: Whether different servers run at the same time, so that a change of them costs nothing.
        starts: How often the servers are started.
        duets: Whether both runs of a comparison go at the same time.
    """
    chosen = [variant for variant in suite.variants if variant.name not in skipped]
    measures = measures or suite.measures
    metrics = dict.fromkeys((*suite.metrics, *(OF_STREAMS if suite.rate else ())))
    plan = SuitePlan(
        suite=suite.name,
        suite_id="not begun",
        question=suite.question,
        started_s=time.time(),
        seed=suite.seed if seed is None else seed,
        repeats=measures.repeats,
        minutes=measures.minutes,
        precision=measures.precision,
        window_s=suite.window_s,
        rate=suite.rate,
        control=suite.control,
        repetition=suite.repetition,
        variants=tuple(
            _planned(
                variant,
                suite,
                documents.get(variant.name),
                recorded_s=recorded_s.get(variant.name),
                side_by_side=side_by_side,
            )
            for variant in chosen
        ),
        order=(),
        starts=starts,
        duets=duets,
        metrics=tuple(MetricKey(name=name, scope=scope) for name, scope in metrics),
        published=suite.published,
        crossings=tuple(map(_crossing, suite.crossings)),
        skipped=dict(skipped),
        command=tuple(command),
    )
    blocks = [(start, part) for start in range(1, starts + 1) for part in plan.parts for _ in range(plan.repeats or 0)]
    order = (next_block(plan, pairs_of_part(plan, part), number, part) for number, (_, part) in enumerate(blocks, 1))
    return plan.model_copy(update={"order": tuple(order), "started": tuple(start for start, _ in blocks)})


def pairs_of_part(plan: SuitePlan, part: str) -> tuple[Pair, ...]:
    """What the plan compares in one of its parts."""
    return tuple(pair for pair in planned_pairs(plan) if plan.variant(pair[0]).part == part)


def next_block(plan: SuitePlan, pairs: Collection[Pair], block: int, part: str) -> tuple[str, ...]:
    """The runs of a block that holds these comparisons, in its order; the control's repetition comes with the control.

    Where nothing is compared with anything, every variant of the part runs. Of pairs at the same time variants stand
    beside each other; what runs next is one of them.
    """
    if plan.duets:
        return tuple(name for pair in pairs for name in pair)
    names = {name for pair in pairs for name in pair} or {each.name for each in plan.variants if each.part == part}
    if plan.repetition is not None and plan.control in names:
        names.add(plan.repetition)
    chosen = [variant for variant in plan.variants if variant.name in names]
    inside = _shared_with_repetition(plan, [pair for pair in planned_pairs(plan) if set(pair) <= names])
    shapes = {variant.name: variant.servers for variant in chosen}
    return block_order([variant.name for variant in chosen], inside, shapes, seed=plan.seed, block=block)


def _shared_with_repetition(plan: SuitePlan, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs as neighbours, of which every other one with the control has its repetition in its place.

    Ratios are to the mean of all runs of both, so that the control need not run more often for it.
    """
    with_control = [pair for pair in pairs if pair[1] == plan.control and pair[0] != plan.repetition]
    instead = set(with_control[::2]) if plan.repetition is not None else set[Pair]()
    return [(pair[0], plan.repetition or "") if pair in instead else pair for pair in pairs]


SET_WHILE_RUNNING = {"data_nodes", "cluster_settings", *BOUNDS}
"""What two profiles on the same servers may differ in."""


def _planned(
    variant: SuiteVariant, suite: Suite, documents: int | None, *, recorded_s: float | None, side_by_side: bool
) -> Variant:
    profile = variant.profile
    window = profile.queries.window if profile.queries else None
    loads_itself = profile.load.fills_index and profile.maintain is None
    return Variant(
        name=variant.name,
        profile=profile.name,
        overrides=tuple(words_without_secrets(variant.overrides)),
        against=variant.against,
        question=profile.question,
        fingerprint=profile.fingerprint(),
        # Where drains that count are lengthened, those that warm are short, and each variant has a long one of its own.
        kind=variant.name.removesuffix(AGAIN) if suite.window_s and loads_itself else kind_of(profile),
        part=variant.part,
        servers="" if side_by_side else server_shape(profile),
        data_nodes=profile.elasticsearch.data_nodes,
        documents=documents,
        factor=variant.factor,
        load_s=load_s(profile, documents, recorded_s),
        layout=layout_of(profile),
        working_set=window.within if window else 1.0,
        way=way_of(profile),
    )


def way_of(profile: Profile) -> str:
    """How a profile uses the servers, without secrets: code that only another way has run is cold for this one."""
    if not profile.load.uses_kafka:
        # To Elasticsearch it is the same who sends bulk requests.
        return "direct" if profile.load.fills_index else "query"
    sink = profile.sink
    return " ".join(words_without_secrets(sink.command)) if sink.command else sink.pipeline or sink.connector


def _crossing(wanted: WantedCrossing) -> Crossing:
    metric, over = (MetricKey(name=name, scope=scope) for name, scope in (wanted.metric, wanted.over))
    return Crossing(factor=wanted.factor, metric=metric, over=over)


def load_s(profile: Profile, documents: int | None, recorded_s: float | None = None) -> float | None:
    """How long the load of a run takes at least, by its profile; `None` for one that goes as fast as it can."""
    load = profile.load
    if isinstance(load, Recorded):
        return recorded_s and recorded_s / load.speed
    if isinstance(load, QueryOnly):
        return load.queries.warm_up_s + load.queries.duration_s if load.queries.duration_s else None
    if isinstance(load, Stream) and load.stages:
        return (load.stages_s(documents) or None) if documents else None
    return documents / load.rate_docs_per_s if documents and load.rate_docs_per_s else None


def layout_of(profile: Profile) -> str | None:
    """What two loads of queries alone must share to read the same index; `None` for another load."""
    if not isinstance(profile.load, QueryOnly):
        return None
    made_by = profile.load.model_dump(include={"route", "codec_before", "segments"})
    stored = (profile.mapping, profile.disabled_fields, dict(profile.index))
    whole = (profile.dataset.model_dump(), *stored, made_by)
    cluster = profile.elasticsearch
    return " ".join(map(str, filter(None, (whole, profile.release, cluster.data_nodes, cluster.distribution))))


def kind_of(profile: Profile) -> str:
    """What two variants share when one of them makes a server compile what the other one asks for.

    Another mapping, document or way of writing does; a size, a number of shards, a rate or one field less does not.
    """
    if layout := layout_of(profile):
        return layout
    made = profile.dataset.model_dump(exclude={"documents", "books", "seed"})
    does = (profile.load.via, profile.maintain and profile.maintain.route)
    return f"{made} {profile.mapping} {does} {bool(profile.load.queries)}"


def server_shape(profile: Profile) -> str:
    """What two profiles must share to run on the same servers; one of fewer nodes uses some of them."""
    return f"{profile.release} {profile.elasticsearch.model_dump_json(exclude=SET_WHILE_RUNNING)}"


def estimate(plan: SuitePlan, runs: Path) -> Estimate:
    """How long the plan will take, from earlier runs of its profiles below `runs` or, without any, from their size."""
    # Drains are lengthened to the window once a warm-up has told how fast they are; earlier runs had other sizes.
    window_s = (plan.window_s or 0.0) if plan.limit_docs_per_s is None else 0.0
    of_suite = suite_walls_s(runs, plan)
    earlier = {
        variant.name: of_suite.get(variant.name) or (None if window_s else earlier_wall_s(runs, variant))
        for variant in plan.variants
    }
    from_size = {variant.name: _from_size_s(plan, variant, window_s) for variant in plan.variants}
    each = {name: from_size[name] if wall_s is None else wall_s for name, wall_s in earlier.items()}
    kinds = {variant.kind: each[variant.name] for variant in plan.variants}
    layouts = {variant.layout: _documents_s(variant) for variant in plan.variants if variant.layout}
    # Servers are warmed with one of the kinds of each way; every other one begins with a run that does not count.
    longest: dict[tuple[str, ...], float] = {}
    for variant in plan.variants:
        warmed = (variant.part, variant.servers, variant.way)
        longest[warmed] = max(each[variant.name], longest.get(warmed, 0.0))
    stable_s = ((DUET_WARM_UPS if plan.duets else WARM_UPS) - 1) * sum(longest.values())
    most_s = WARM_SHARE * 60 * plan.minutes if plan.minutes and not plan.duets else stable_s
    warm_ups = min(stable_s, most_s) + sum(kinds.values())
    warm_ups += sum(LAYOUT_BASE_S + loading_s for loading_s in layouts.values())
    warm_ups += SERVERS_S * (len({(variant.part, variant.servers) for variant in plan.variants}) - 1)
    if is_share(plan.rate) and plan.rate_docs_per_s is None:
        warm_ups += LEAST_DRAINS * (RUN_BASE_S + LIMIT_S) + sum(each.values())
    if plan.minutes and window_s:
        warm_ups = max(warm_ups, WARM_SHARE * 60 * plan.minutes)
    drawn = plan.order or first_blocks(plan)
    of_time = plan.minutes and 60 * plan.minutes
    return Estimate(
        runs=sum(map(len, drawn)),
        seconds=warm_ups + sum(block_s(plan, names, each) for names in drawn) if plan.repeats else of_time,
        warm_up_s=warm_ups,
        each=each,
        from_runs=sum(wall_s is not None for wall_s in earlier.values()),
        noise=noise(runs, plan.metrics[0], duets=plan.duets),
    )


def block_s(plan: SuitePlan, names: Sequence[str], each: Mapping[str, float]) -> float:
    """How long the runs of a block take; of pairs at the same time, each pair as long as its longer run.

    Args:
        each: By variant, wall time of one run.
    """
    if not plan.duets:
        return sum(each[name] for name in names)
    return sum(max(each[first], each[second]) for first, second in zip(names[::2], names[1::2], strict=True))


def taken_s(runs: Sequence[SuiteRun]) -> float:
    """Time that runs have taken, in their order, with the pauses between them and without interruptions.

    Two that went side by side share their time. A run that ends before the one before it was made in a later session,
    after the clock was set back; the pause before it is not known.
    """
    gaps_s = (after.started_s - before.ended_s for before, after in pairwise(runs) if after.ended_s >= before.ended_s)
    return sum(run.ended_s - run.started_s for run in runs) + sum(gap_s for gap_s in gaps_s if gap_s < INTERRUPTED_S)


def suite_walls_s(runs: Path, plan: SuitePlan) -> dict[str, float]:
    """By variant the median wall time of a run, with what came before it, in the last suite here like the plan.

    Empty where there is none of this name that ran in the same way.
    """
    for path in sorted((runs / "suites" / plan.suite).glob("*/suite.json"), reverse=True):
        # A record of an earlier version tells nothing.
        with contextlib.suppress(ValueError):
            result = SuiteResult.model_validate_json(path.read_bytes())
            taken: dict[str, list[float]] = {}
            if _way(result.plan) == _way(plan):
                for before, run in pairwise(result.runs):
                    gap_s = run.started_s - before.ended_s
                    if run.block and run.status == "verified" and _is_as_large(run.variant, result.plan, plan):
                        between_s = gap_s if 0 <= gap_s < INTERRUPTED_S else 0.0
                        taken.setdefault(run.variant, []).append(run.ended_s - run.started_s + between_s)
            if taken:
                return {name: median(walls) for name, walls in taken.items()}
    return {}


def _is_as_large(name: str, earlier: SuitePlan, plan: SuitePlan) -> bool:
    """Whether a variant of an earlier suite loads as much as that of the plan, where no window or rate decides that."""
    if plan.window_s or plan.rate:
        return True
    documents = {variant.name: variant.documents for variant in plan.variants}
    return earlier.variant(name).documents == documents.get(name)


def _way(plan: SuitePlan) -> tuple[object, ...]:
    """What two suites of one name share whose runs take as long."""
    return plan.duets, plan.window_s, plan.rate


def noise(runs: Path, metric: MetricKey, *, duets: bool = False) -> float | None:
    """How much a comparison's log ratio of the metric scattered from block to block in the last suite here that has it.

    The median over its comparisons of their standard deviations; `None` where no suite here has three blocks of it.

    Args:
        duets: Whether the suite to come runs in pairs at the same time, which scatter less; others tell nothing of it.
    """
    for path in sorted((runs / "suites").glob("*/*/suite.json"), key=lambda path: path.parent.name, reverse=True):
        # A record of an earlier version tells nothing.
        with contextlib.suppress(ValueError):
            result = SuiteResult.model_validate_json(path.read_bytes())
            spreads = [
                stdev(map(log, effect.ratios))
                for effect in (result.effects if result.plan.duets == duets else ())
                if effect.key == metric.key and len(effect.ratios) >= LEAST_RATIOS
            ]
            if spreads:
                return median(spreads)
    return None


def first_blocks(plan: SuitePlan) -> tuple[tuple[str, ...], ...]:
    """A block of each part that holds all that the plan compares in it."""
    return tuple(next_block(plan, pairs_of_part(plan, part), number, part) for number, part in enumerate(plan.parts, 1))


def _documents_s(variant: Variant) -> float:
    return (variant.documents or 100_000) / RATE_DOCS_PER_S


def _from_size_s(plan: SuitePlan, variant: Variant, window_s: float) -> float:
    """Queries alone find their index loaded; a stream lasts as its rate asks for, a drain at least the window.

    Two runs at the same time share the cores.
    """
    if variant.layout is not None:
        return QUERY_BASE_S + (variant.load_s or 0.0)
    longer = 2 if plan.duets else 1
    least_s = window_s if variant.load_s is None else variant.load_s
    return longer * RUN_BASE_S + max(longer * _documents_s(variant), least_s)


def seconds_left(
    plan: SuitePlan, ended: Sequence[SuiteRun], expected: Mapping[str, float], *, earlier: int = 0
) -> float:
    """How long the runs that are still to come will take, the first of each kind, which does not count, included.

    Those of a variant take as long as its verified runs so far, or as all of them if that is longer: a run that fails
    at once tells nothing of a good one, nor does one that made a kept index of those that read it.

    Args:
        ended: All runs so far.
        expected: By variant, what stands in for it until one of its runs has ended.
        earlier: How many of them ended before the suite was interrupted, on other servers.
    """
    layouts = {variant.name: variant.layout for variant in plan.variants}
    good, taken = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    for run in ended:
        if run.block or layouts[run.variant] is None:
            taken[run.variant].append(run.ended_s - run.started_s)
            if run.status == "verified":
                good[run.variant].append(run.ended_s - run.started_s)
    each = {
        name: max(median(good[name] or [wall_s]), median(taken[name] or [0.0])) for name, wall_s in expected.items()
    }
    left = [name for _, name, _ in runs_left(plan, ended)]
    tried = {plan.variant(run.variant).kind for run in ended[earlier:]}
    firsts = {kind: name for name in reversed(left) if (kind := plan.variant(name).kind) not in tried}
    return sum(each[name] for name in left) + sum(first_s(plan.variant(name), each[name]) for name in firsts.values())


def first_s(variant: Variant, run_s: float) -> float:
    """The first run of a kind, which makes the index if that is kept."""
    return run_s if variant.layout is None else run_s + LAYOUT_BASE_S + _documents_s(variant)


def earlier_wall_s(runs: Path, variant: Variant) -> float | None:
    """Median wall time of the profile's last verified runs with as many documents; `None` without any."""
    walls = []
    for path in sorted((runs / variant.profile).glob("*/run.json"))[-RUNS_READ:]:
        # A record of an earlier version tells nothing.
        with contextlib.suppress(ValueError):
            run = Run.model_validate_json(path.read_bytes())
            if run.verification.verified and run.documents.produced == variant.documents:
                walls.append(run.ended_s - run.started_s)
    return median(walls) if walls else None


def least_blocks(plan: SuitePlan) -> int:
    """How many blocks of everything come before a comparison may be found narrow enough."""
    comparisons = [pair for pair in planned_pairs(plan) if pair[0] != plan.repetition]
    return FIRST_BLOCKS if len(comparisons) >= FEW else FIRST_BLOCKS_OF_FEW


def part_s(plan: SuitePlan, part: str, each: Mapping[str, float]) -> float:
    """How long the first blocks of a part take, with the runs that do not count; more than 0.

    Args:
        each: By variant, wall time of one run; 0 where nothing is known.
    """
    names = next_block(plan, pairs_of_part(plan, part), 1, part)
    run_s = max(RUN_BASE_S, block_s(plan, names, each) / len(names))
    # What the first run of a kind takes longer, where it makes an index.
    longer_s = {variant.kind: first_s(variant, 0.0) for variant in plan.variants if variant.part == part}
    runs = least_blocks(plan) * len(names) + len(longer_s) + WARM_UPS
    return runs * run_s + sum(longer_s.values())
