"""The bottleneck of a watched pipeline, in the words of `run`; and what to try first.

Each predicate gives the bottlenecks that apply; the first one in the order of `FIRST` and `PREDICATES` counts. What the
readings do not give is `None`, and a bottleneck without its figures does not apply.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import fmean

from lab.analysis.figures.limits import BACKLOG_S, BUSY_WRITE_THREADS, KEPT_UP, MOST, SATURATED_PERCENT, THROTTLED
from lab.analysis.text import UNKNOWN, count, number, quantity
from lab.inspect.connector import POLL, InspectedConnector
from lab.inspect.figures import Figures, over
from lab.inspect.index import InspectedIndex
from lab.inspect.readings import EVERY_S
from lab.profiles.index_settings import time_s

TINY_DOCUMENTS, TINY_BYTES = 250, 250_000
"""A bulk request with fewer of both spends more on itself (a round trip, a write to the translog) than on documents."""
GOOD_DOCUMENTS = 2000
"""`batch.size` by default, in our sink, Confluent's and Aiven's for Elasticsearch."""
BATCH_SIZE = ("batch.size", "bulk.max.operations.size")
IN_FLIGHT = ("max.in.flight.requests", "bulk.max.concurrent.requests")
"""The second names are those of Aiven's newer sinks for OpenSearch (`OpenSearchSinkConnectorConfig`)."""
MOST_DOCUMENTS, MOST_BYTES = "max.documents.per.second", "max.bytes.per.second"
"""Of each task of our sink, which spreads its requests evenly (`Pace`)."""
HOT = 3.0
"""How many times as much as the mean of the others."""
HALF = 0.5
BUSY_DISK = 0.9
SELDOM_S = 30.0
"""The refresh interval that is proposed in place of a shorter one."""
SLOW_US_PER_KB = 300.0
"""CPU time per kB of document: a plain mapping of documents of 1 kB takes 40 to 120 on a warm node."""
WARM_S = 300.0
"""A younger node still compiles, which costs several times as much (`method.md`)."""


@dataclass(frozen=True)
class Try:
    """A setting to try: now, then, and why."""

    setting: str
    now: str
    then: str
    why: str


@dataclass(frozen=True)
class Bottleneck:
    """The stage without slack, in `run`'s words where it means the same, its evidence, and what to try first."""

    stage: str
    evidence: str
    tries: tuple[Try, ...] = ()


@dataclass(frozen=True)
class Pipeline:
    """A pipeline as far as it could be read.

    Attributes:
        group_state: Of the consumer group, in Kafka's words.
        engine: Product and version of the cluster; `None` where it does not say.
        lost: Source → why it could not be read.
    """

    connector: InspectedConnector
    figures: Figures
    index: InspectedIndex | None = None
    group_state: str | None = None
    engine: str | None = None
    lost: Mapping[str, str] = field(default_factory=dict)

    @property
    def waits(self) -> bool | None:
        """Check that more than four seconds of work waited in the topics: two as for `run`, two between readings.

        `None` where that is not known.
        """
        figures = self.figures
        # Commits count dead letters, deletions and dropped records, too, and no document that others index.
        rate = figures.indexing_rate if figures.commit_rate is None else figures.commit_rate
        if figures.backlog is None or (figures.backlog and rate is None):
            return None
        return figures.backlog > (BACKLOG_S + EVERY_S) * (rate or 0.0)

    @property
    def reading_tasks(self) -> int:
        """Tasks that can have a partition."""
        return min(self.connector.running_tasks, len(self.figures.lags))

    @property
    def bulk_request(self) -> tuple[float, float] | None:
        """Documents and bytes of a bulk request: by the sink or, at most so many, by its parts on the primary shards.

        `None` where neither is known, and of parts where others write to the index.
        """
        figures = self.figures
        if figures.sink_bulk_documents is not None and figures.sink_bulk_bytes is not None:
            return figures.sink_bulk_documents, figures.sink_bulk_bytes
        if figures.bulk_documents is None or figures.bulk_bytes is None or figures.others_write:
            return None
        written = max(1, sum(documents > 0 for documents in figures.shard_documents.values()))
        return figures.bulk_documents * written, figures.bulk_bytes * written

    def full_host(self, *, by_others: bool) -> str | None:
        """Evidence that a machine of data nodes has no core left, the busiest first; `None` where each has.

        Args:
            by_others: Whether other programs use a good part of them, or Elasticsearch most.
        """
        hosts: dict[str, tuple[float, float]] = {}
        for node in self.figures.nodes:
            if node.cpu_percent is not None and node.process_cpu_percent is not None:
                busy, own = hosts.get(node.host, (0.0, 0.0))
                hosts[node.host] = max(busy, node.cpu_percent), own + node.process_cpu_percent
        for host, (busy, own) in sorted(hosts.items(), key=lambda of: -of[1][0]):
            if busy >= SATURATED_PERCENT and (own < MOST * busy) is by_others:
                took = f"Elasticsearch took {'only ' if by_others else ''}{number(own)} %"
                return f"the host {host} was {number(busy)} % busy, and {took}"
        return None

    @property
    def busy_text(self) -> str | None:
        """Evidence that write threads or cores of the data nodes have no slack left; `None` where there is none."""
        busy = self.figures.write_busy or 0.0
        if busy < BUSY_WRITE_THREADS:
            return self.full_host(by_others=False)
        waiting = number(sum(node.write_queue or 0.0 for node in self.figures.nodes))
        return f"{percent(busy)} of Elasticsearch's write threads were at work, with {waiting} requests waiting for one"

    @property
    def fewer_segments(self) -> tuple[Try, ...]:
        """Settings of the index that leave it less to do."""
        index, tries = self.index, []
        if index is None:
            return ()
        refresh = index.setting("refresh_interval") or "1s"
        if 0 < time_s(refresh) < SELDOM_S:
            why = "fewer segments to write and merge; search sees later"
            tries.append(Try("index.refresh_interval", refresh, f"{SELDOM_S:.0f}s", why))
        # `_settings` also counts those that no node can take (`SameShardAllocationDecider`).
        replicated = self.figures.replicated
        if index.replicas and (replicated is None or index.name in replicated):
            why = "while loading: each copy indexes all again"
            tries.append(Try("index.number_of_replicas", str(index.replicas), "0", why))
        return tuple(tries)


def percent(share: float | None) -> str:
    """A share of one in percent."""
    return UNKNOWN if share is None else f"{number(100 * share)} %"


def bottleneck_of(pipeline: Pipeline) -> Bottleneck | None:
    """The first bottleneck that applies; `None` where none does."""
    asked = (*FIRST, *PREDICATES) if pipeline.waits else FIRST
    return next((found for predicate in asked for found in predicate(pipeline)), None)


def why_unknown(pipeline: Pipeline) -> str:
    """Why no bottleneck is named, and what would tell."""
    figures = pipeline.figures
    if not pipeline.connector.topics:
        return "no topic matches the connector's topics.regex"
    if figures.lag is None:
        return "the offsets could not be read; without them there is no telling whether records wait"
    if pipeline.waits is None and figures.indexing_rate is None:
        return "the index's counters could not be read; where it writes to another index, name that with --index"
    if pipeline.waits is None:
        within = f"in {number(figures.window_s)} s without a restart" if figures.begun_again else "while it was watched"
        return (
            f"the connector committed no offset of some partition {within}, so that indexed records and waiting ones "
            "look alike: watch for longer than the worker's offset.flush.interval.ms (60 s by default): --seconds 130"
        )
    return "records wait, and the nodes' figures could not be read: the privilege `monitor` on the cluster tells"


def failed(pipeline: Pipeline) -> Iterator[Bottleneck]:
    """The connector or a task has failed, or none is to run."""
    connector = pipeline.connector
    broken = [task for task in connector.tasks if task.state == "FAILED"]
    if connector.state == "FAILED" or broken:
        what = f"{quantity(len(broken), 'task')} of {len(connector.tasks)}" if broken else "the connector"
        reason = next(filter(None, (task.reason for task in broken)), connector.reason) or "no cause given"
        yield Bottleneck("connector", f"{what} failed: {reason.rstrip('.')}.")
    if connector.state in {"PAUSED", "STOPPED"}:
        yield Bottleneck("connector", f"it is {connector.state}: no record is read until somebody resumes it.")
    if not connector.running_tasks:
        states = ", ".join(sorted({task.state for task in connector.tasks})) or "there are none"
        yield Bottleneck("connector", f"it is {connector.state}, and no task runs (tasks: {states}).")


def at_rest(pipeline: Pipeline) -> Iterator[Bottleneck]:
    """Records wait, and nothing was committed or indexed; or next to none wait: the connector waits for producers."""
    figures, index, state = pipeline.figures, pipeline.index, pipeline.group_state
    if figures.lag and figures.backlog is None and figures.indexing_rate == 0 and not figures.letters:
        blocked = f"; the index is blocked ({', '.join(index.blocks)})" if index and index.blocks else ""
        group = f"; its consumer group is {state}" if state not in {None, "STABLE"} else ""
        yield Bottleneck(
            "connector",
            f"it runs and does nothing: {count(figures.lag)} records wait, and for {number(figures.window_s)} s no "
            f"offset was committed and no document indexed{blocked}{group}.",
        )
    if pipeline.waits is False:
        what, lag = "nothing arrives", f"the lag was {count(figures.backlog)} records"
        if figures.arrival_rate:
            bound = f"less than {number(BACKLOG_S + EVERY_S)} s of work"
            what = f"{number(figures.arrival_rate)} records/s arrive, and {lag} at the last commit, {bound}"
        elif figures.backlog:
            what += f", and {lag}"
        else:
            ends = f": the last {quantity(figures.lag or 0, 'offset')} hold no record, as transactions leave some"
            what += f", and the topics are drained{ends if figures.lag else ''}"
        yield Bottleneck("producer", f"the connector keeps up; {what}.")


def held_back(pipeline: Pipeline) -> Iterator[Bottleneck]:
    """Our sink may go no faster, Elasticsearch rejects requests, or it holds indexing back for its merges."""
    figures, connector, tasks = pipeline.figures, pipeline.connector, pipeline.reading_tasks
    documents, size = pipeline.bulk_request or (0.0, 0.0)
    for name, unit, each in ((MOST_DOCUMENTS, "documents", 1.0), (MOST_BYTES, "bytes", over(size, documents))):
        cap = connector.whole(name)
        if not cap or each is None or figures.sent_rate is None:
            continue
        # The next request of each task waits for its place, and may lie just beyond the window.
        rate, least = each * figures.sent_rate, KEPT_UP * cap * tasks - tasks * each * documents / figures.window_s
        if rate >= least:
            may = f"{quantity(tasks, 'task')} may send {count(cap)} {unit}/s each"
            evidence = f"{may}, and {number(rate)}/s were sent, in requests of {number(each * documents)}."
            yield Bottleneck("requested rate", evidence, (Try(name, str(cap), "0", "0 is no bound"),))
    if figures.rejected:
        name, flight = connector.first_whole(IN_FLIGHT)
        fewer = Try(name, str(flight), str((flight or 1) // 2), "fewer requests wait in the write queue")
        busiest = max(figures.nodes, key=lambda node: node.rejected or 0)
        there = f"{count(busiest.rejected)} of them on {busiest.name}; {number(busiest.write_queue)} waited there"
        requests = f"{quantity(figures.rejected, 'request')} (429) in {number(figures.window_s)} s"
        evidence = f"Elasticsearch rejected {requests}, {there} on average."
        yield Bottleneck("elasticsearch", evidence, (fewer,) if flight and flight > 1 else ())
    if (figures.throttled or 0.0) >= THROTTLED:
        held = f"in times that add up, shard by shard, to {percent(figures.throttled)} of the window"
        yield Bottleneck("merge throttling", f"Elasticsearch held indexing back {held}.", pipeline.fewer_segments)


def tiny_bulks(pipeline: Pipeline) -> Iterator[Bottleneck]:
    """Records wait and yet bulk requests are small."""
    figures, connector, request = pipeline.figures, pipeline.connector, pipeline.bulk_request
    if request is None or request[0] >= TINY_DOCUMENTS or request[1] >= TINY_BYTES:
        return
    (size, batch), poll, linger = connector.first_whole(BATCH_SIZE), connector.whole(POLL), connector.whole("linger.ms")
    tries = []
    if batch is not None and batch < GOOD_DOCUMENTS:
        tries.append(Try(size, str(batch), str(GOOD_DOCUMENTS), "fewer requests for the same documents"))
    if poll is not None and poll < GOOD_DOCUMENTS:
        tries.append(Try(POLL, str(poll), str(GOOD_DOCUMENTS), "a poll may hold as many records as a request"))
    if not tries and linger is not None and linger < 5:
        tries.append(Try("linger.ms", str(linger), "20", "a request waits that long for more records"))
    at_most = "" if figures.sink_bulk_documents is not None else "at most "
    took = figures.bulk_ms if figures.sink_bulk_ms is None else figures.sink_bulk_ms
    yield Bottleneck(
        "bulk size",
        f"records waited, and yet a bulk request held {at_most}{number(request[0])} documents on average and took "
        f"{number(took)} ms{'' if batch is None else f' ({size} is {batch:,})'}.",
        tuple(tries),
    )


def ingest_pipeline(pipeline: Pipeline) -> Iterator[Bottleneck]:
    """Documents spend as long in ingest pipelines as in indexing, or longer, and that keeps half a thread busy."""
    figures, index = pipeline.figures, pipeline.index
    spent_s, indexing_s = figures.ingest_time_s, figures.index_time_s
    if spent_s is None or indexing_s is None or spent_s < max(indexing_s, HALF * figures.window_s):
        return
    default, final = (index.setting(f"{kind}_pipeline") if index else "" for kind in ("default", "final"))
    own = pipeline.connector.value("pipeline")
    named = " and ".join(dict.fromkeys(filter(None, (own or default, final)))) or "ingest pipelines"
    each, cheaper = f"{number(figures.ingest_ms)} ms each", "its processors"
    if slowest := figures.slowest_processor:
        cheaper = slowest.name
        each += f" ({percent(slowest.share)} in {cheaper}, processor {slowest.place} of {slowest.pipeline})"
    yield Bottleneck(
        "ingest pipeline",
        f"in {number(figures.window_s)} s, documents spent {number(spent_s)} s in {named}, {each}, and "
        f"{number(indexing_s)} s in indexing on all copies.",
        (Try("pipeline", named, "_none", f"measures what it costs; then simplify {cheaper}"),),
    )


def hot_shard(pipeline: Pipeline) -> Iterator[Bottleneck]:
    """One node indexes much more than the others, since one shard gets most documents, and its write threads work."""
    figures, busiest = pipeline.figures, pipeline.figures.busiest_shard
    if busiest is None or len(figures.nodes) < 2:
        return
    hot, *others = sorted(figures.nodes, key=lambda node: -node.index_time_s)
    busy, idle = hot.write_busy or 0.0, fmean(node.write_busy or 0.0 for node in others)
    if hot.index_time_s < HOT * fmean(node.index_time_s for node in others) or busy < HALF:
        return
    name, documents, _ = busiest
    index, nodes = name.rpartition("/")[0], len(figures.nodes)
    # No document of this index goes to the shards of another one.
    own = [many for shard, many in figures.shard_documents.items() if shard.rpartition("/")[0] == index]
    every = list(figures.shard_documents.values())
    if any(documents < HOT * (sum(each) - documents) / max(1, len(each) - 1) for each in (own, every)):
        return
    where = f"{percent(busy)} of the write threads of {hot.name} were at work, {percent(idle)} of the others'"
    if len(own) > 1:
        got = f"shard {name} got {percent(documents / sum(own))} of the documents of {len(own)} shards"
        routing = pipeline.connector.value("routing") or "by the records or the index"
        even = Try("routing", routing, "none", "ids spread documents evenly")
        yield Bottleneck("hot shard", f"{got}: {where}.", (even,))
    else:
        which = "the index" if own == every else f"index {index}"
        more = Try("index.number_of_shards", "1", str(nodes), "one for each node; needs a new index")
        yield Bottleneck("hot shard", f"{which} has one shard on {nodes} data nodes: {where}.", (more,))


def mapping(pipeline: Pipeline) -> Iterator[Bottleneck]:
    """Elasticsearch is busy, documents take long for their size, and the mapping has fields of costly kinds."""
    figures, costly = pipeline.figures, pipeline.index.costly if pipeline.index else []
    # By nodes and write threads: the former may work for other indices, too.
    spent_s = (figures.cpu_s, figures.index_time_s)
    us_per_kb, index_us_per_kb = (figures.us_per_kb(each_s) or 0.0 for each_s in spent_s)
    is_warm = all(node.uptime_s is None or node.uptime_s >= WARM_S for node in figures.nodes)
    if not pipeline.busy_text or not costly or not is_warm or min(us_per_kb, index_us_per_kb) < SLOW_US_PER_KB:
        return
    name, _, kind = costly[0].partition(": ")
    rest = f" and {len(costly) - 1} more" if len(costly) > 1 else ""
    took = f"a kB of document took {number(us_per_kb)} µs of CPU time; costly by its kind: {costly[0]}{rest}"
    cheaper = Try(
        f"mapping of {name}", kind or name, "a cheaper field", "`./sluice mapping explain` measures each field"
    )
    yield Bottleneck("mapping", f"{pipeline.busy_text}, and {took}.", (cheaper,))


def machine(pipeline: Pipeline) -> Iterator[Bottleneck]:
    """A disk had work all the time while cores had not, or other programs than Elasticsearch use a good part of them.

    A node that waits for a core keeps its write threads at work; with idle ones it waits for requests.
    """
    for node in pipeline.figures.nodes:
        has_cores = node.cpu_percent is not None and node.cpu_percent < SATURATED_PERCENT
        if has_cores and (node.disk_busy or 0.0) >= BUSY_DISK:
            worked = f"the disk of {node.name} had work in {percent(node.disk_busy)} of the window"
            evidence = f"{worked}, while the cores were {number(node.cpu_percent)} % busy."
            yield Bottleneck("disk", evidence, pipeline.fewer_segments)
    full = pipeline.full_host(by_others=True)
    if full and (pipeline.figures.write_busy or 0.0) >= HALF:
        yield Bottleneck("machine", f"{full}: other programs use the rest.")


def elasticsearch(pipeline: Pipeline) -> Iterator[Bottleneck]:
    """Write threads or cores have no slack; for refreshes or merges, where these take half as long as indexing.

    A merge counts when it ends, with work from before the window: as many must have been under way in the window.
    """
    figures, busy = pipeline.figures, pipeline.busy_text
    if busy is None:
        return
    beside, half_s = f"s beside {number(figures.index_time_s)} s of indexing", HALF * (figures.index_time_s or 0.0)
    refreshing_s, merging = figures.refresh_time_s or 0.0, figures.merging or 0.0
    merging_s = min(figures.merge_time_s or 0.0, merging * figures.window_s)
    if refreshing_s and refreshing_s >= half_s:
        took = f"refreshes took {number(refreshing_s)} {beside}, on all copies"
        yield Bottleneck("refreshes", f"{busy}, and {took}.", pipeline.fewer_segments)
    if merging_s and merging_s >= half_s:
        ended = f"those that ended had worked for {number(figures.merge_time_s)} {beside}, on all copies"
        under_way = f"merges under way: {number(merging)} on average; {ended}"
        yield Bottleneck("merges", f"{busy}; {under_way}.", pipeline.fewer_segments)
    yield Bottleneck("elasticsearch", f"{busy}.", pipeline.fewer_segments)


def sink(pipeline: Pipeline) -> Iterator[Bottleneck]:
    """Records wait while Elasticsearch has write threads to spare.

    With all allowed requests under way, more are proposed, or else as many tasks as partitions, or more of both.
    """
    busy, flight, connector = pipeline.figures.write_busy, pipeline.figures.in_flight, pipeline.connector
    if busy is None:
        return
    tasks, partitions = pipeline.reading_tasks, len(pipeline.figures.lags)
    each = connector.whole("max.in.flight.requests")
    allowed = each * tasks if each else None
    idle = f"records waited while only {percent(busy)} of Elasticsearch's write threads were at work"
    reads = f"{quantity(tasks, 'task')} read{'s' if tasks == 1 else ''} {quantity(partitions, 'partition')}"
    under_way = "" if flight is None else f"; {number(flight)} of {allowed or '–'} allowed bulk requests were under way"
    if each and flight is not None and allowed and flight >= BUSY_WRITE_THREADS * allowed:
        more = Try("max.in.flight.requests", str(each), str(2 * each), "the next request need not wait for an answer")
        yield Bottleneck("sink", f"{idle}{under_way}.", (more,))
    tries, most = [], connector.tasks_max
    if most >= partitions:
        why = "no more tasks than partitions can read; keys move"
        tries, partitions = [Try("partitions", str(partitions), str(2 * partitions), why)], 2 * partitions
    if most < partitions:
        tries.append(Try("tasks.max", str(most), str(partitions), "a task for each partition"))
    yield Bottleneck("sink", f"{idle}, and {reads}{under_way}.", tuple(tries))


Predicates = tuple[Callable[[Pipeline], Iterator[Bottleneck]], ...]
FIRST: Predicates = (failed, at_rest)
PREDICATES: Predicates = (held_back, tiny_bulks, ingest_pipeline, hot_shard, mapping, machine, elasticsearch, sink)
"""In the order in which they are asked, after the first ones and where records wait; docs/inspect.md states each."""
