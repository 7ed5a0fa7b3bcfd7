"""Figures of the watched window, out of its readings; a figure that the readings do not give is `None`."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Any

from lab.analysis.figures.rates import growth, mean
from lab.inspect.readings import Copy, Reading

OTHERS = 2.0
"""Commits and documents are not counted at the same instants, so that their rates differ somewhat."""


@dataclass(frozen=True, kw_only=True)
class NodeFigures:
    """One data node in the window.

    Attributes:
        cpu_percent: Mean busy share of its host's cores, of all programs.
        process_cpu_percent: Share of Elasticsearch in that.
        cpu_s: CPU time of Elasticsearch in the window.
        write_busy: Mean share of its write threads at work, 0 to 1.
        write_queue: Mean number of requests that waited for one.
        rejected: Requests that its write pool has rejected in the window.
        disk_busy: Share of the window in which its disk had work, 0 to 1.
        index_time_s: Time that its copies of the shards have spent on indexing.
        shards: Copies of the watched indices' shards on it.
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


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The window in figures.

    Attributes:
        arrival_rate: Records per second that came into the topics.
        lag: Records not committed at the end; by partition in `lags`.
        backlog: Records that waited when offsets were last committed in the window, or at the end where nothing waits;
            `None` where no offset was committed: between two commits the lag also counts records that are indexed.
        commit_rate: Records committed per second, from one commit to another of each partition; `None` where one with
            records has fewer than two in the window.
        lag_trend: Growth of the lag per second: what arrives without what is committed.
        letters: Growth of the dead-letter topic.
        indexing_rate: Documents per second on primary shards.
        bulk_documents, bulk_bytes: Mean of a shard's part of a bulk request.
        bulk_ms: Mean time of that part on its primary shard.
        throttled: Times in which indexing was held back, over the window.
        ingest_time_s: Time spent in ingest pipelines; `ingest_ms` per document.
        shard_documents: Documents by primary shard.
        sink_bulk_documents, sink_bulk_bytes, sink_bulk_ms, in_flight: By the sink's own metrics, where they are read.
    """

    window_s: float
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
    refresh_share: float | None = None
    merge_share: float | None = None
    ingest_time_s: float | None = None
    ingest_ms: float | None = None
    shard_documents: Mapping[str, int] = field(default_factory=dict)
    nodes: Sequence[NodeFigures] = ()
    sink_bulk_documents: float | None = None
    sink_bulk_bytes: float | None = None
    sink_bulk_ms: float | None = None
    in_flight: float | None = None

    @property
    def rejected(self) -> int | None:
        """Requests that the write pools of all nodes have rejected."""
        known = [node.rejected for node in self.nodes if node.rejected is not None]
        return sum(known) if known else None

    @property
    def write_busy(self) -> float | None:
        """Share of the write threads of all nodes at work."""
        known = [(node.write_busy, node.write_threads) for node in self.nodes if node.write_busy is not None]
        threads = sum(count or 0 for _, count in known)
        return sum(busy * (count or 0) for busy, count in known) / threads if threads else None

    @property
    def cpu_us_per_kb(self) -> float | None:
        """CPU time of all data nodes per kB of the watched documents, each of which counts as 1 kB or more.

        Other work of the nodes counts, too.
        """
        known = [node.cpu_s for node in self.nodes if node.cpu_s is not None]
        return self._us_per_kb(sum(known)) if known else None

    @property
    def index_us_per_kb(self) -> float | None:
        """Time of write threads on all copies per kB of the watched documents, likewise; it is of these alone."""
        return None if self.index_time_s is None else self._us_per_kb(self.index_time_s)

    def _us_per_kb(self, spent_s: float) -> float | None:
        documents = sum(self.shard_documents.values())
        if not documents or not self.bulk_bytes or not self.bulk_documents:
            return None
        return 1e6 * spent_s / (documents * max(1.0, self.bulk_bytes / self.bulk_documents / 1000))

    @property
    def others_write(self) -> bool:
        """Check that the index got twice as many documents as the connector committed records."""
        rate = self.commit_rate
        return rate is not None and self.indexing_rate is not None and self.indexing_rate > OTHERS * rate

    @property
    def busiest_shard(self) -> tuple[str, int, int] | None:
        """The primary shard that got most documents, how many, and how many all got; `None` where none got any."""
        total = sum(self.shard_documents.values())
        if not total:
            return None
        name = max(self.shard_documents, key=lambda shard: self.shard_documents[shard])
        return name, self.shard_documents[name], total


def lasted_s(readings: Sequence[Reading]) -> float:
    """Time from the first reading to the last."""
    return max(readings[-1].at_s - readings[0].at_s, 1e-3)


def figures_of(readings: Sequence[Reading], drained: Collection[str] = ()) -> Figures:
    """The window in figures.

    Args:
        drained: Partitions whose offsets behind the committed one hold no records.
    """
    return Figures(
        window_s=lasted_s(readings),
        letters=growth(reading.dead_letters for reading in readings),
        nodes=nodes_of(readings),
        **of_topics(readings, drained),
        **of_shards(readings),
        **of_sink(readings),
    )


def of_topics(readings: Sequence[Reading], drained: Collection[str] = ()) -> dict[str, Any]:
    """Figures of the topics."""
    known = [(reading.at_s, reading.kafka) for reading in readings if reading.kafka]
    if len(known) < 2:
        return {}
    (first_s, first), (last_s, last) = known[0], known[-1]
    arrival_rate = max(0, last.end_offset - first.end_offset) / (last_s - first_s)
    series = {place: [(at_s, sample.partitions.get(place)) for at_s, sample in known] for place in last.partitions}
    # Tasks commit one after the other: a rate over all partitions would count one's minute in the time of two readings.
    rates = [0.0 if place in drained else commit_rate_of(offsets) for place, offsets in series.items()]
    rate = None if None in rates else sum(rate or 0.0 for rate in rates)
    waiting = [0 if place in drained else backlog_of([pair for _, pair in of]) for place, of in series.items()]
    return {
        "arrival_rate": arrival_rate,
        "commit_rate": rate,
        "lag": last.lag_records,
        "lags": {place: end - committed for place, (end, committed) in last.partitions.items()},
        "backlog": None if None in waiting else sum(lag or 0 for lag in waiting),
        "lag_trend": None if rate is None else arrival_rate - rate,
    }


def commit_rate_of(offsets: Sequence[tuple[float, tuple[int, int] | None]]) -> float | None:
    """Records of a partition committed per second, from the first commit to the last.

    `None` of fewer than two commits, unless there was nothing to commit.

    Args:
        offsets: Instant and (end, committed) at each reading.
    """
    known = [(at_s, pair) for at_s, pair in offsets if pair is not None]
    commits = [(at_s, committed) for (_, (_, was)), (at_s, (_, committed)) in pairwise(known) if committed > was]
    if len(commits) < 2:
        end, committed = known[-1][1]
        return None if commits or end > committed else 0.0
    (since_s, since), (until_s, until) = commits[0], commits[-1]
    return (until - since) / (until_s - since_s)


def backlog_of(offsets: Sequence[tuple[int, int] | None]) -> int | None:
    """Records of one partition that waited when its offset was last committed; `None` where it was not, and some wait.

    Args:
        offsets: (end, committed) at each reading.
    """
    known = [pair for pair in offsets if pair is not None]
    after = [end - committed for (_, earlier), (end, committed) in pairwise(known) if committed > earlier]
    end, committed = known[-1]
    # A lag of nothing needs no commit to be known.
    return after[-1] if after and end > committed else 0 if end <= committed else None


def grown(readings: Sequence[Reading]) -> list[tuple[Copy, dict[str, int]]]:
    """Each copy at the last reading, and the growth of its counters on that node; a later copy began at zero."""
    known = [reading.copies for reading in readings if reading.copies is not None]
    if len(known) < 2:
        return []
    before = {(copy.shard, copy.node): copy.counters for copy in known[0]}
    return [
        (copy, {name: max(0, value - earlier.get(name, 0)) for name, value in copy.counters.items()})
        for copy in known[-1]
        for earlier in [before.get((copy.shard, copy.node), {})]
    ]


def of_shards(readings: Sequence[Reading]) -> dict[str, Any]:
    """Figures of the shards, and of ingest pipelines per document of theirs."""
    copies = grown(readings)
    if not copies:
        return {}
    window_s = lasted_s([reading for reading in readings if reading.copies is not None])
    primaries: dict[str, int] = defaultdict(int)
    everywhere: dict[str, int] = defaultdict(int)
    for copy, counters in copies:
        for name, value in counters.items():
            everywhere[name] += value
            primaries[name] += value if copy.is_primary else 0
    documents, bulks = primaries["index_total"], primaries["bulks"]
    ingest_ms = ingest_time_ms(readings, documents)
    return {
        "indexing_rate": documents / window_s,
        "index_time_s": everywhere["index_time_ms"] / 1000,
        "index_ms": primaries["index_time_ms"] / documents if documents else None,
        "bulk_documents": documents / bulks if bulks else None,
        "bulk_bytes": primaries["bulk_bytes"] / bulks if bulks else None,
        "bulk_ms": primaries["bulk_time_ms"] / bulks if bulks else None,
        "throttled": primaries["throttle_time_ms"] / 1000 / window_s,
        "refresh_share": primaries["refresh_time_ms"] / 1000 / window_s,
        "merge_share": primaries["merge_time_ms"] / 1000 / window_s,
        "ingest_time_s": None if ingest_ms is None else ingest_ms / 1000,
        "ingest_ms": ingest_ms / documents if ingest_ms is not None and documents else None,
        "shard_documents": {copy.shard: counters.get("index_total", 0) for copy, counters in copies if copy.is_primary},
    }


def ingest_time_ms(readings: Sequence[Reading], documents: int) -> float | None:
    """Time of so many documents in the watched ingest pipelines; `None` where there are none, or they cannot be read.

    A pipeline that more documents passed has its time per document: those of other indices pass it, too.
    """
    known = [reading.nodes for reading in readings if reading.nodes]
    if len(known) < 2 or not any(node.ingest for node in known[-1].values()):
        return None
    passed: dict[str, int] = defaultdict(int)
    spent_ms: dict[str, int] = defaultdict(int)
    for key, node in known[-1].items():
        for name, (count, time_ms) in node.ingest.items() if key in known[0] else ():
            before = known[0][key].ingest.get(name, (0, 0))
            passed[name] += max(0, count - before[0])
            spent_ms[name] += max(0, time_ms - before[1])
    return sum(each_ms * min(1.0, documents / max(1, passed[name])) for name, each_ms in spent_ms.items())


def nodes_of(readings: Sequence[Reading]) -> list[NodeFigures]:
    """Figures of each data node, by name."""
    read = [reading for reading in readings if reading.nodes]
    known = [reading.nodes for reading in read if reading.nodes]
    copies = grown(readings)
    found = []
    for key, last in (known[-1] if known else {}).items():
        if not last.has_data:
            continue
        series = [nodes[key].figures for nodes in known if key in nodes]
        threads = last.figures.get("write_threads")
        active = mean(figures.get("write_active") for figures in series)
        cpu_ms = growth(figures.get("process_cpu_ms") for figures in series)
        disk_ms = growth(figures.get("disk_time_ms") for figures in series)
        here = [counters for copy, counters in copies if copy.node == key]
        found.append(
            NodeFigures(
                name=last.name,
                host=last.host,
                cpu_percent=mean(figures.get("cpu_percent") for figures in series),
                process_cpu_percent=mean(figures.get("process_cpu_percent") for figures in series),
                cpu_s=None if cpu_ms is None else cpu_ms / 1000,
                uptime_s=last.figures["uptime_ms"] / 1000 if "uptime_ms" in last.figures else None,
                write_threads=threads,
                write_busy=active / threads if threads and active is not None else None,
                write_queue=mean(figures.get("write_queue") for figures in series),
                rejected=growth(figures.get("write_rejected") for figures in series),
                disk_busy=None if disk_ms is None else min(1.0, disk_ms / 1000 / lasted_s(read)),
                index_time_s=sum(counters.get("index_time_ms", 0) for counters in here) / 1000,
                shards=len(here),
            )
        )
    return sorted(found, key=lambda node: node.name)


def of_sink(readings: Sequence[Reading]) -> dict[str, Any]:
    """Figures of the sink's own metrics."""
    known = [reading.sink for reading in readings if reading.sink]
    if len(known) < 2:
        return {}
    requests = growth(sink.bulk_requests for sink in known) or 0
    documents = growth(sink.bulk_documents_total for sink in known) or 0
    size_bytes = growth(sink.bulk_bytes_total for sink in known) or 0
    time_ms = growth(sink.bulk_service_time_ms_total for sink in known) or 0
    return {
        "sink_bulk_documents": documents / requests if requests else None,
        "sink_bulk_bytes": size_bytes / requests if requests else None,
        "sink_bulk_ms": time_ms / requests if requests else None,
        "in_flight": fmean(sink.bulk_requests_in_flight for sink in known),
    }
