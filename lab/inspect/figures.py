"""Figures of the watched window, out of its readings; a figure that the readings do not give is `None`."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Any, TypeVar

from lab.analysis.figures.rates import growth, mean, sum_of_all
from lab.inspect.readings import GAUGES, PASSED, REJECTED, TOOK, Copy, Reading

Number = TypeVar("Number", int, float)
Grown = list[tuple[Copy, dict[str, int]]]
"""Copies of shards, each with the growth of its counters."""
OTHERS = 2.0
"""Commits and documents are not counted at the same instants, so that their rates differ somewhat."""


@dataclass(frozen=True, kw_only=True)
class NodeFigures:
    """One data node in the window: means of its gauges, growth of its counters.

    Attributes:
        cpu_percent: Busy share of its host's cores, by all programs; `process_cpu_percent` is Elasticsearch's part.
        write_busy: Share of its write threads at work, 0 to 1; `write_queue` requests wait for one.
        disk_busy: Share of the window in which its disks had work, 0 to 1, on average over them.
        index_time_s: Time that its copies of the watched shards have spent on indexing.
    """

    name: str
    host: str = ""
    cpu_percent: float | None = None
    process_cpu_percent: float | None = None
    cpu_s: float | None = None
    uptime_s: float | None = None
    write_threads: int | None = None
    write_busy: float | None = None
    write_queue: float | None = None
    rejected: int | None = None
    disk_busy: float | None = None
    index_time_s: float = 0.0
    shards: int = 0


@dataclass(frozen=True)
class Processor:
    """A processor of an ingest pipeline.

    Attributes:
        name: `type:tag` or `type`, as `_nodes/stats` has it.
        place: In its pipeline, from 1 on.
        share: Of the documents' time in all watched ingest pipelines, 0 to 1.
    """

    pipeline: str
    name: str
    place: int
    share: float


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The window in figures; rates are per second.

    Attributes:
        window_s: The longest stretch of the watch in which no counter began again. All figures are of that stretch.
        watched_s: The whole watch.
        begun_again: Nodes, shards, partitions … whose counters began again, or that moved.
        lag: Records not committed at the end; by partition in `lags`.
        backlog: Records that waited when offsets were last committed, or at the end where nothing waits; `None` where
            no offset was committed: between two commits the lag also counts records that are indexed.
        commit_rate: From one commit to another of each partition; `None` where one with records has fewer than two.
        lag_trend: What arrives without what is committed.
        letters: Growth of the dead-letter topic.
        indexing_rate, shard_documents: Documents on primary shards.
        index_ms, bulk_documents, bulk_bytes, bulk_ms: Means of a document, and of a request's part on a primary shard.
        throttled: Times in which indexing was held back on primary shards, over the window.
        index_time_s, refresh_time_s: Time on all copies.
        merge_time_s: Time that merges worked which ended, on all copies; `merging` were under way on average.
        ingest_time_s: Time spent in ingest pipelines; `ingest_ms` per document.
        replicated: Indices of which a node has a replica; `None` where that is not known.
        slowest_processor: The one that took most of that; `None` where a pipeline was replaced meanwhile, too.
        sink_rate, sink_bulk_documents, sink_bulk_bytes, sink_bulk_ms, in_flight: By the sink's own metrics, where they
            are read; the rate is of what it sent, rejected documents included.
    """

    window_s: float
    watched_s: float
    begun_again: Sequence[str] = ()
    arrival_rate: float | None = None
    lag: int | None = None
    lags: Mapping[str, int] = field(default_factory=dict)
    backlog: int | None = None
    commit_rate: float | None = None
    lag_trend: float | None = None
    letters: int | None = None
    indexing_rate: float | None = None
    index_time_s: float | None = None
    index_ms: float | None = None
    bulk_documents: float | None = None
    bulk_bytes: float | None = None
    bulk_ms: float | None = None
    throttled: float | None = None
    refresh_time_s: float | None = None
    merge_time_s: float | None = None
    merging: float | None = None
    ingest_time_s: float | None = None
    ingest_ms: float | None = None
    slowest_processor: Processor | None = None
    shard_documents: Mapping[str, int] = field(default_factory=dict)
    replicated: Sequence[str] | None = None
    nodes: Sequence[NodeFigures] = ()
    sink_rate: float | None = None
    sink_bulk_documents: float | None = None
    sink_bulk_bytes: float | None = None
    sink_bulk_ms: float | None = None
    in_flight: float | None = None

    @property
    def rejected(self) -> int | None:
        """Requests that all nodes have rejected."""
        return sum_of_known(node.rejected for node in self.nodes)

    @property
    def sent_rate(self) -> float | None:
        """Documents that were sent per second: by the sink or, at least, those indexed and those of dead letters."""
        if self.sink_rate is not None or self.indexing_rate is None:
            return self.sink_rate
        return self.indexing_rate + (self.letters or 0) / self.window_s

    @property
    def write_busy(self) -> float | None:
        """Share of the write threads of all nodes at work."""
        known = [(node.write_busy, node.write_threads or 0) for node in self.nodes if node.write_busy is not None]
        return over(sum(busy * threads for busy, threads in known), sum(threads for _, threads in known))

    @property
    def cpu_s(self) -> float | None:
        """CPU time of all data nodes; other work of theirs counts, too."""
        return sum_of_known(node.cpu_s for node in self.nodes)

    def us_per_kb(self, spent_s: float | None) -> float | None:
        """Time per kB of the watched documents, a smaller document counting as one."""
        bytes_each = over(self.bulk_bytes, self.bulk_documents)
        kb = sum(self.shard_documents.values()) * max(1.0, bytes_each / 1000) if bytes_each else 0.0
        return over(spent_s, kb / 1e6)

    @property
    def others_write(self) -> bool:
        """Check that the index got twice as many documents as the connector committed records."""
        return self.commit_rate is not None and (self.indexing_rate or 0.0) > OTHERS * self.commit_rate

    @property
    def busiest_shard(self) -> tuple[str, int, int] | None:
        """The primary shard that got most documents, how many, and how many all got; `None` where none got any."""
        name, documents = max(self.shard_documents.items(), key=lambda item: item[1], default=("", 0))
        return (name, documents, sum(self.shard_documents.values())) if documents else None


def over(value: float | None, by: float | None) -> float | None:
    """A quotient; `None` where a part of it is not known, or would divide by zero."""
    return value / by if value is not None and by else None


def sum_of_known(values: Iterable[Number | None]) -> Number | None:
    """The sum of the values that are known; `None` without any."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def lasted_s(readings: Sequence[Reading]) -> float:
    """Time from the first reading to the last."""
    return max(readings[-1].at_s - readings[0].at_s, 1e-3)


def figures_of(readings: Sequence[Reading], drained: Collection[str] = ()) -> Figures:
    """The window in figures.

    Args:
        drained: Partitions whose offsets behind the committed one hold no records.
    """
    stretch, begun_again = longest_stretch(readings)
    copies = grown(stretch)
    return Figures(
        window_s=lasted_s(stretch),
        watched_s=lasted_s(readings),
        begun_again=begun_again,
        letters=growth(reading.dead_letters for reading in stretch),
        nodes=nodes_of(stretch, copies),
        **of_topics(stretch, drained),
        **of_shards(stretch, copies),
        **of_sink(stretch),
    )


def longest_stretch(readings: Sequence[Reading]) -> tuple[list[Reading], list[str]]:
    """The longest run of readings in which no counter began again; names of all that began again or moved.

    What a node, a shard's copy or a task counted between the reading before and its end is lost. A sum over the whole
    watch would be too small, and nothing would show by how much.
    """
    known: dict[tuple[str, str, Hashable], int] = {}
    held: set[tuple[str, str, bool]] = set()
    stretches: list[list[Reading]] = [[]]
    begun_again: set[str] = set()
    for reading in readings:
        counters = counters_of(reading)
        copies = held if reading.copies is None else {copy[:3] for copy in reading.copies}
        broken = {place[0] for place, value in counters.items() if value < known.get(place, 0)}
        # A copy that comes beside others of its shard has counted while it was filled.
        if broken := broken | ({shard for shard, _, _ in held ^ copies} & {shard for shard, _, _ in held}):
            stretches.append([])
            begun_again |= broken
        stretches[-1].append(reading)
        known, held = known | counters, copies
    return max(filter(None, stretches), key=lasted_s), sorted(begun_again)


def counters_of(reading: Reading) -> dict[tuple[str, str, Hashable], int]:
    """Numbers of a reading that fall only where their server begins to count again; the place comes first.

    A node keeps its id when it is started again (`NodeEnvironment` stores it), so that its uptime tells.
    """
    counted: list[tuple[str, str, Mapping[Any, int]]] = [
        *((copy.shard, copy.node, copy.counters) for copy in reading.copies or ()),
        *((node.name, key, of) for key, node in (reading.nodes or {}).items() for of in (node.figures, node.ingest)),
        ("the sink's metrics", "", {"bulk_requests": reading.sink.bulk_requests} if reading.sink else {}),
    ]
    if reading.kafka:
        counted += [(place, "", dict(enumerate(offsets))) for place, offsets in reading.kafka.partitions.items()]
    return {
        (place, key, name): value
        for place, key, counters in counted
        for name, value in counters.items()
        if name not in GAUGES
    }


def of_topics(readings: Sequence[Reading], drained: Collection[str] = ()) -> dict[str, Any]:
    """Figures of the topics."""
    known = [(reading.at_s, reading.kafka) for reading in readings if reading.kafka]
    if len(known) < 2:
        return {}
    (first_s, first), (last_s, last) = known[0], known[-1]
    arrival_rate = (last.end_offset - first.end_offset) / (last_s - first_s)
    # Tasks commit one after the other: a rate over all partitions would count one's minute in the time of two readings.
    known_of = {place: [(at_s, sample.partitions.get(place)) for at_s, sample in known] for place in last.partitions}
    of_each = {place: of_partition(offsets) for place, offsets in known_of.items()}
    of_each |= {place: (0.0, 0) for place, (_, backlog) in of_each.items() if backlog is None and place in drained}
    rate = sum_of_all(rate for rate, _ in of_each.values())
    return {
        "arrival_rate": arrival_rate,
        "commit_rate": rate,
        "lag": last.lag_records,
        "lags": {place: end - committed for place, (end, committed) in last.partitions.items()},
        "backlog": sum_of_all(backlog for _, backlog in of_each.values()),
        "lag_trend": None if rate is None else arrival_rate - rate,
    }


def of_partition(offsets: Sequence[tuple[float, tuple[int, int] | None]]) -> tuple[float | None, int | None]:
    """Records committed per second, and those that waited at the last commit, by instants and (end, committed).

    The rate is from the first commit to the last; `None` of fewer than two, unless there was nothing to commit. The
    second is `None` without a commit, unless nothing waits: a lag of nothing needs no commit to be known.
    """
    known = [(at_s, *pair) for at_s, pair in offsets if pair]
    commits = [later for earlier, later in pairwise(known) if later[2] > earlier[2]]
    _, end, committed = known[-1]
    rate = None if commits or end > committed else 0.0
    if len(commits) > 1:
        (since_s, _, since), (until_s, _, until) = commits[0], commits[-1]
        rate = (until - since) / (until_s - since_s)
    waited = commits[-1][1] - commits[-1][2] if commits else None
    return rate, waited if end > committed else 0


def grown(readings: Sequence[Reading]) -> Grown:
    """Each copy at the last reading, and the growth of its counters on that node; a later copy began at zero."""
    known = [reading.copies for reading in readings if reading.copies is not None]
    if len(known) < 2:
        return []
    before = {(copy.shard, copy.node): copy.counters for copy in known[0]}
    return [
        (copy, {name: value - earlier.get(name, 0) for name, value in copy.counters.items() if name not in GAUGES})
        for copy in known[-1]
        for earlier in [before.get((copy.shard, copy.node), {})]
    ]


def of_shards(readings: Sequence[Reading], copies: Grown) -> dict[str, Any]:
    """Figures of the shards, and of ingest pipelines per document of theirs."""
    if not copies:
        return {}
    read = [reading for reading in readings if reading.copies is not None]
    primaries, everywhere = Counter[str](), Counter[str]()
    for copy, counters in copies:
        everywhere.update(counters)
        primaries.update(counters if copy.is_primary else {})
    documents, bulks, window_s = primaries["index_total"], primaries["bulks"], lasted_s(read)
    paused_ms = everywhere["merges_throttled_time_ms"] + everywhere["merges_stopped_time_ms"]
    return {
        "indexing_rate": documents / window_s,
        "index_time_s": everywhere["index_time_ms"] / 1000,
        "index_ms": over(primaries["index_time_ms"], documents),
        "bulk_documents": over(documents, bulks),
        "bulk_bytes": over(primaries["bulk_bytes"], bulks),
        "bulk_ms": over(primaries["bulk_time_ms"], bulks),
        "throttled": primaries["throttle_time_ms"] / 1000 / window_s,
        "refresh_time_s": everywhere["refresh_time_ms"] / 1000,
        "merge_time_s": max(0, everywhere["merges_time_ms"] - paused_ms) / 1000,
        "merging": fmean(sum(copy.counters.get("merges_current", 0) for copy in each.copies or ()) for each in read),
        "shard_documents": {copy.shard: counters.get("index_total", 0) for copy, counters in copies if copy.is_primary},
        "replicated": sorted({copy.shard.rpartition("/")[0] for copy, _ in copies if not copy.is_primary}),
        **of_ingest(readings, documents),
    }


def of_ingest(readings: Sequence[Reading], documents: int) -> dict[str, Any]:
    """Time of so many documents in the watched ingest pipelines; nothing where there are none, or they cannot be read.

    A pipeline that more documents passed has its time per document: those of other indices pass it, too.
    """
    known = [reading.nodes for reading in readings if reading.nodes]
    if len(known) < 2 or not any(node.ingest for node in known[-1].values()):
        return {}
    first, last = known[0], known[-1]
    grown_by, is_same = Counter[tuple[str, int, str]](), True
    for key, node in last.items():
        earlier = first[key].ingest if key in first else {}
        grown_by.update(node.ingest)
        grown_by.subtract(earlier)
        is_same &= not earlier or earlier.keys() == node.ingest.keys()
    parts = {of[0]: min(1.0, documents / max(1, passed)) for of, passed in grown_by.items() if of[1:] == PASSED}
    spent_ms = {of: ms * parts[of[0]] for of, ms in grown_by.items() if of[1:] != PASSED}
    ingest_ms = sum(ms for of, ms in spent_ms.items() if of[1:] == TOOK)
    of_processors = ((ms, of) for of, ms in spent_ms.items() if of[1])
    most_ms, (pipeline, place, name) = max(of_processors, default=(0.0, ("", 0, "")))
    slowest = Processor(pipeline, name, place, min(1.0, most_ms / ingest_ms)) if most_ms and ingest_ms else None
    return {
        "ingest_time_s": ingest_ms / 1000,
        "ingest_ms": over(ingest_ms, documents),
        "slowest_processor": slowest if is_same else None,
    }


def nodes_of(readings: Sequence[Reading], copies: Grown) -> list[NodeFigures]:
    """Figures of each data node by name, without tiers that hold no copy (`DataTierAllocationDecider`)."""
    read = [reading for reading in readings if reading.nodes]
    known = [reading.nodes for reading in read if reading.nodes]
    nodes = known[-1] if known else {}
    tiers = {tier for copy, _ in copies if copy.node in nodes for tier in nodes[copy.node].tiers}
    found = []
    for key, last in nodes.items():
        if not last.tiers or (tiers and not tiers & last.tiers):
            continue
        series = [each[key].figures for each in known if key in each]
        means = {name: mean(figures.get(name) for figures in series) for name in GAUGES}
        rises = {name: growth(figures.get(name) for figures in series) for name in last.figures}
        here = [counters for copy, counters in copies if copy.node == key]
        disk_s = over(rises.get("disk_time_ms"), 1000 * max(1, last.disks))
        found.append(
            NodeFigures(
                name=last.name,
                host=last.host,
                cpu_percent=means["cpu_percent"],
                process_cpu_percent=means["process_cpu_percent"],
                cpu_s=over(rises.get("process_cpu_ms"), 1000),
                uptime_s=over(last.figures.get("uptime_ms"), 1000),
                write_threads=last.figures.get("write_threads"),
                write_busy=over(means["write_active"], last.figures.get("write_threads")),
                write_queue=means["write_queue"],
                rejected=sum_of_known(rises.get(name) for name in REJECTED),
                disk_busy=None if disk_s is None else min(1.0, disk_s / lasted_s(read)),
                index_time_s=sum(counters.get("index_time_ms", 0) for counters in here) / 1000,
                shards=len(here),
            )
        )
    return sorted(found, key=lambda node: node.name)


def of_sink(readings: Sequence[Reading]) -> dict[str, Any]:
    """Figures of the sink's own metrics."""
    read = [reading for reading in readings if reading.sink]
    known = [reading.sink for reading in read if reading.sink]
    if len(known) < 2:
        return {}
    totals = {"documents": "bulk_documents_total", "bytes": "bulk_bytes_total", "ms": "bulk_service_time_ms_total"}
    requests = growth(sink.bulk_requests for sink in known)
    each = {name: over(growth(getattr(sink, of) for sink in known), requests) for name, of in totals.items()}
    sent = over(growth(sink.bulk_documents_total for sink in known), lasted_s(read))
    in_flight = fmean(sink.bulk_requests_in_flight for sink in known)
    return {"sink_rate": sent, "in_flight": in_flight, **{f"sink_bulk_{name}": value for name, value in each.items()}}
