"""What a suite's drains become once a warm-up has told what the servers take: longer, or streams at a rate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from lab.profiles import Direct, Profile
from lab.profiles.loader import override
from lab.profiles.models import Drain, Stream
from lab.profiles.suites import Suite, SuiteVariant
from lab.records.suite import SuitePlan
from lab.suite.limit import LIMIT_S

COUNTS = ("documents", "books")
"""Keys of a dataset that say how much of it there is."""


MARGIN = 1.2
"""Other variants may be faster than the one that the servers are warmed with, and later runs slower than earlier."""
MOST_TIMES = 50
SHORTEST_DRAIN_S = 6.0
"""Of the fastest variant, where time is short: three seconds of warm-up, and two or so that are measured."""
LEAST_DRAIN_S = 10.0
"""Of the fastest variant: the start, three seconds of warm-up, five that are measured, and the end."""


@dataclass(frozen=True)
class LoadSizes:
    """How large the loads of a suite are, by the limit that its warm-up has found.

    Attributes:
        limit_docs_per_s: What drains reached: of streams at a share of it, as `lab.suite.limit` measures it; of others,
            what their size follows from.
        rate_docs_per_s: Of streams in place of drains; `None` for drains.
        times: By what the documents of drains are multiplied.
        limit_low: With `limit_high`, where the measured limit lies at 95 %; `None` where nothing but a size follows.
        limit_drains: How many drains it is the mean of; `None` likewise.
    """

    limit_docs_per_s: float
    rate_docs_per_s: float | None = None
    times: int | None = None
    limit_low: float | None = None
    limit_high: float | None = None
    limit_drains: int | None = None


def lengthened(takes_s: float, least_s: float, most: int | None) -> int:
    """By what the documents of a drain are multiplied that takes so long and shall last longer."""
    times = 1 if takes_s >= least_s else ceil(MARGIN * least_s / takes_s)
    return times if most is None else min(most, times)


def drains_last_s(plan: SuitePlan) -> float:
    """Least duration of a drain of full size: as the plan asks for, or for the limit of streams."""
    return LIMIT_S if is_share(plan.rate) else plan.window_s or 0.0


def sizes_of_drains(plan: SuitePlan, docs_per_s: float, documents: int) -> LoadSizes:
    """Sizes of drains that last as long at such a rate.

    Args:
        documents: Of a warm-up.
    """
    most = None if is_share(plan.rate) else MOST_TIMES
    return LoadSizes(docs_per_s, times=lengthened(documents / docs_per_s, drains_last_s(plan), most))


@dataclass(frozen=True)
class UncountedRun:
    """How long a drain took that does not count.

    Attributes:
        wall_s: All of the run.
        load_s: Its load.
        times: By what its documents were multiplied.
    """

    wall_s: float
    load_s: float
    times: int


def shortened(times: int, runs: Sequence[UncountedRun], *, around_s: float, block_s: float) -> int:
    """By what the documents of drains are multiplied so that one of each of these runs fits in a block's time.

    The fastest drain keeps the seconds that a rate needs, whether that fits or not.

    Args:
        times: By what they are now.
        around_s: Of each run, what does not depend on the number of documents.
        block_s: What a block may take.
    """
    growing_s = sum(max(0.0, run.wall_s - around_s) / run.times for run in runs)
    if growing_s == 0:
        return times
    fitting = int((block_s - len(runs) * around_s) / growing_s)
    least = ceil(SHORTEST_DRAIN_S / min(run.load_s / run.times for run in runs))
    return min(times, max(1, least, fitting))


def sizes_of(plan: SuitePlan) -> LoadSizes | None:
    """The sizes of a plan whose warm-up has told them; `None` before it."""
    if plan.limit_docs_per_s is None:
        return None
    return LoadSizes(
        plan.limit_docs_per_s,
        plan.rate_docs_per_s,
        plan.times,
        limit_low=plan.limit_low,
        limit_high=plan.limit_high,
        limit_drains=plan.limit_drains,
    )


def is_share(rate: str | None) -> bool:
    """Whether a checked rate is a share of the limit."""
    return rate is not None and rate.endswith("%")


STREAM_S = 20.0
"""How long a stream in place of a drain lasts where a suite says nothing."""
LEAST_STREAM_S = 12.0
"""The start, three seconds of warm-up, five that are measured, the end, and what lies between samples: of 10 s were
seen 4.9 s to be left."""


def resized(suite: Suite, sizes: LoadSizes, documents: Mapping[str, int]) -> Suite:
    """The suite with loads of these sizes, and that stated with each variant.

    Args:
        documents: By variant, those of one of its drains.
    """
    if sizes.rate_docs_per_s is None:
        return all_multiplied(suite, sizes.times or 1)
    return all_streaming(suite, sizes.rate_docs_per_s, max(suite.window_s or STREAM_S, LEAST_STREAM_S), documents)


def is_drain(profile: Profile) -> bool:
    """Whether it loads as fast as it can, and does nothing else.

    A load at a rate lasts as long as it says, and queries alone load nothing.
    """
    return profile.load.mode == "drain" and profile.load.rate_docs_per_s is None and profile.maintain is None


def may_stream(profile: Profile) -> bool:
    """Whether its drain may be a load at a rate instead."""
    return is_drain(profile) and isinstance(profile.load, Drain | Direct)


def all_multiplied(suite: Suite, times: int) -> Suite:
    """The suite with so many times the documents in its drains, and that stated with each variant."""
    return replace(suite, variants=tuple(_scaled(each, times) for each in suite.variants))


def all_streaming(suite: Suite, rate_docs_per_s: float, seconds: float, documents: Mapping[str, int]) -> Suite:
    """The suite with loads at a rate in place of its drains, each so long, and that stated with each variant.

    Args:
        documents: By variant, those of one of its drains.
    """
    streams = []
    for variant in suite.variants:
        if may_stream(variant.profile):
            scaled = _scaled(variant, rate_docs_per_s * seconds / documents[variant.name])
            streams.append(_streaming(scaled, rate_docs_per_s))
        else:
            streams.append(variant)
    return replace(suite, variants=tuple(streams))


def _scaled(variant: SuiteVariant, times: float) -> SuiteVariant:
    """A file is as long as it is."""
    section = variant.profile.dataset
    sizes = {key: max(1, round(times * size)) for key in COUNTS if (size := getattr(section, key)) is not None}
    if not (is_drain(variant.profile) and sizes):
        return variant
    profile = variant.profile.model_copy(update={"dataset": section.model_copy(update=sizes)})
    stated = {f"dataset.{key}": size for key, size in sizes.items()}
    return _stating(variant, profile, stated, instead_of={f"dataset.{key}" for key in COUNTS})


def _streaming(variant: SuiteVariant, rate_docs_per_s: float) -> SuiteVariant:
    load = variant.profile.load
    stated: dict[str, float | str] = {"load.rate_docs_per_s": rate_docs_per_s}
    if isinstance(load, Direct):
        at_rate: Direct | Stream = load.model_copy(update={"rate_docs_per_s": rate_docs_per_s})
    else:
        at_rate = Stream(mode="stream", rate_docs_per_s=rate_docs_per_s, timeout_s=load.timeout_s)
        stated["load.mode"] = "stream"
    profile = variant.profile.model_copy(update={"load": at_rate})
    return _stating(variant, profile, stated, instead_of=set(stated))


def _stating(
    variant: SuiteVariant, profile: Profile, stated: Mapping[str, float | str], *, instead_of: set[str]
) -> SuiteVariant:
    """The variant with the profile, and with what makes it of the variant's own one, so that a run can be had again."""
    kept = (text for text in variant.overrides if text.partition("=")[0] not in instead_of)
    return replace(variant, profile=profile, overrides=(*kept, *(override(key, of) for key, of in stated.items())))
