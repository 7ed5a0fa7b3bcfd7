"""The bottleneck of a watched pipeline, each by a predicate, in the words of `run`; and what to try first.

Asked in the order of `FIRST` and `PREDICATES`, the first that applies. What the readings do not give is `None`, and a
predicate without its figures does not apply.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from lab.analysis.figures.limits import BACKLOG_S, BUSY_WRITE_THREADS, KEPT_UP, MOST, SATURATED_PERCENT, THROTTLED
from lab.analysis.text import count, number, quantity
from lab.inspect.connector import POLL, InspectedConnector
from lab.inspect.figures import Figures, NodeFigures
from lab.inspect.index import InspectedIndex
from lab.inspect.readings import EVERY_S

TINY_DOCUMENTS, TINY_BYTES = 250, 250_000
"""A bulk request with fewer of both spends more on itself (a round trip, a write to the translog) than on documents."""
GOOD_DOCUMENTS = 2000
"""`batch.size` by default, in our sink, Confluent's and Aiven's."""
AIVEN = "io.aiven."
"""The packages of Aiven's sinks begin so."""
HOT = 3.0
"""How many times as much as the mean of the others."""
HALF = 0.5
BUSY_DISK = 0.9
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
    """A pipeline as far as it could be read; the consumer group's state in Kafka's words."""

    connector: InspectedConnector
    figures: Figures
    index: InspectedIndex | None = None
    group_state: str | None = None

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

    @property
    def is_elasticsearch_busy(self) -> bool:
        """Check that write threads or cores of the nodes have no slack left."""
        busy = self.figures.write_busy
        return (busy is not None and busy >= BUSY_WRITE_THREADS) or any(
            host.percent >= SATURATED_PERCENT and host.elasticsearch >= MOST * host.percent for host in hosts(self)
        )


@dataclass(frozen=True)
class Host:
    """A machine with data nodes: busy share of its cores, and the share of Elasticsearch in it."""

    name: str
    percent: float
    elasticsearch: float


def hosts(pipeline: Pipeline) -> list[Host]:
    """The machines of the data nodes, the busiest first."""
    by_name: dict[str, list[NodeFigures]] = {}
    for node in pipeline.figures.nodes:
        if node.cpu_percent is not None and node.process_cpu_percent is not None:
            by_name.setdefault(node.host, []).append(node)
    found = [
        Host(name, max(node.cpu_percent or 0 for node in nodes), sum(node.process_cpu_percent or 0 for node in nodes))
        for name, nodes in by_name.items()
    ]
    return sorted(found, key=lambda host: -host.percent)


def bottleneck_of(pipeline: Pipeline) -> Bottleneck | None:
    """The first bottleneck whose predicate applies; `None` where none does."""
    asked = (*FIRST, *PREDICATES) if pipeline.waits else FIRST
    return next(filter(None, (predicate(pipeline) for predicate in asked)), None)


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
        return (
            "the connector committed no offset of some partition while it was watched, so that indexed records and "
            "waiting ones look alike: watch for longer than the worker's offset.flush.interval.ms (60 s by default): "
            "--seconds 130"
        )
    return "records wait, and the nodes' figures could not be read: the privilege `monitor` on the cluster tells"


# --- the connector, and whether records wait ------------------------------------------------------------------------


def failed(pipeline: Pipeline) -> Bottleneck | None:
    """The connector or a task has failed, or none is to run."""
    connector = pipeline.connector
    broken = [task for task in connector.tasks if task.state == "FAILED"]
    if connector.state == "FAILED" or broken:
        what = f"{quantity(len(broken), 'task')} of {len(connector.tasks)}" if broken else "the connector"
        reason = next(filter(None, (task.reason for task in broken)), connector.reason) or "no cause given"
        return Bottleneck("connector", f"{what} failed: {reason}.")
    if connector.state in {"PAUSED", "STOPPED"}:
        return Bottleneck("connector", f"it is {connector.state}: no record is read until somebody resumes it.")
    if not connector.running_tasks:
        states = ", ".join(sorted({task.state for task in connector.tasks})) or "there are none"
        return Bottleneck("connector", f"it is {connector.state}, and no task runs (tasks: {states}).")
    return None


def stalled(pipeline: Pipeline) -> Bottleneck | None:
    """Records wait, and nothing was committed or indexed in the window."""
    figures = pipeline.figures
    if figures.lag and figures.backlog is None and figures.indexing_rate == 0 and not figures.letters:
        blocks = pipeline.index.blocks if pipeline.index else []
        blocked = f"; the index is blocked ({', '.join(blocks)})" if blocks else ""
        state = pipeline.group_state
        group = f"; its consumer group is {state}" if state not in {None, "STABLE"} else ""
        return Bottleneck(
            "connector",
            f"it runs and does nothing: {count(figures.lag)} records wait, and for {number(figures.window_s)} s no "
            f"offset was committed and no document indexed{blocked}{group}.",
        )
    return None


def keeps_up(pipeline: Pipeline) -> Bottleneck | None:
    """The topics hold next to nothing: the connector waits for producers."""
    figures = pipeline.figures
    if pipeline.waits is not False:
        return None
    if not figures.arrival_rate:
        lag = f"the lag was {count(figures.backlog)} records" if figures.backlog else "the topics are drained"
        if figures.lag and not figures.backlog:
            lag += f": the last {quantity(figures.lag, 'offset')} hold no record, as transactions leave some"
        return Bottleneck("producer", f"the connector keeps up; nothing arrives, and {lag}.")
    return Bottleneck(
        "producer",
        f"the connector keeps up; {number(figures.arrival_rate)} records/s arrive, and the lag was "
        f"{count(figures.backlog)} records at the last commit, less than {number(BACKLOG_S + EVERY_S)} s of work.",
    )


def requested_rate(pipeline: Pipeline) -> Bottleneck | None:
    """Records wait since our sink is told to go no faster (`max.documents.per.second`, for each task)."""
    cap, rate = pipeline.connector.whole("max.documents.per.second"), pipeline.figures.indexing_rate
    if not cap or rate is None or rate < KEPT_UP * cap * pipeline.reading_tasks:
        return None
    return Bottleneck(
        "requested rate",
        f"{quantity(pipeline.reading_tasks, 'task')} may index {count(cap)} documents/s each, and "
        f"{number(rate)}/s were indexed.",
        (Try("max.documents.per.second", str(cap), "0", "0 is no bound"),),
    )


# --- Elasticsearch refuses or holds back ----------------------------------------------------------------------------


def rejections(pipeline: Pipeline) -> Bottleneck | None:
    """Write pools rejected requests while records waited."""
    figures, connector = pipeline.figures, pipeline.connector
    if not figures.rejected:
        return None
    flight = connector.whole("max.in.flight.requests")
    why = "fewer requests wait in the write queue"
    tries = [Try("max.in.flight.requests", str(flight), str(flight // 2), why)] if flight and flight > 1 else []
    busiest = max(figures.nodes, key=lambda node: node.rejected or 0)
    return Bottleneck(
        "elasticsearch",
        f"write pools rejected {quantity(figures.rejected, 'request')} (429) in {number(figures.window_s)} s, "
        f"{count(busiest.rejected)} of them on {busiest.name}; {number(busiest.write_queue)} waited there on average.",
        tuple(tries),
    )


def merge_throttling(pipeline: Pipeline) -> Bottleneck | None:
    """Elasticsearch held indexing back for its merges."""
    figures = pipeline.figures
    if figures.throttled is None or figures.throttled < THROTTLED:
        return None
    return Bottleneck(
        "merge throttling",
        "Elasticsearch held indexing back in times that add up, shard by shard, to"
        f" {number(100 * figures.throttled)} % of the window.",
        fewer_segments(pipeline),
    )


# --- what the requests are like -------------------------------------------------------------------------------------


def tiny_bulks(pipeline: Pipeline) -> Bottleneck | None:
    """Records wait and yet bulk requests are small."""
    figures, connector, request = pipeline.figures, pipeline.connector, pipeline.bulk_request
    if request is None or request[0] >= TINY_DOCUMENTS or request[1] >= TINY_BYTES:
        return None
    batch = connector.whole("batch.size")
    tries = []
    if batch is not None and batch < GOOD_DOCUMENTS:
        tries.append(Try("batch.size", str(batch), str(GOOD_DOCUMENTS), "fewer requests for the same documents"))
    if connector.poll_records < GOOD_DOCUMENTS:
        why = "a poll may hold as many records as a request"
        if connector.plugin.startswith(AIVEN):
            why += "; this sink sends none across polls"
        tries.append(Try(POLL, str(connector.poll_records), str(GOOD_DOCUMENTS), why))
    linger = connector.whole("linger.ms")
    if not tries and linger is not None and linger < 5:
        tries.append(Try("linger.ms", str(linger), "20", "a request waits that long for more records"))
    at_most = "" if figures.sink_bulk_documents is not None else "at most "
    took = figures.sink_bulk_ms if figures.sink_bulk_ms is not None else figures.bulk_ms
    return Bottleneck(
        "bulk size",
        f"records waited, and yet a bulk request held {at_most}{number(request[0])} documents on average and took "
        f"{number(took)} ms{'' if batch is None else f' (batch.size is {batch:,})'}.",
        tuple(tries[:2]),
    )


def ingest_pipeline(pipeline: Pipeline) -> Bottleneck | None:
    """Documents spend as long in an ingest pipeline as in indexing, or longer, and that keeps half a thread busy."""
    figures = pipeline.figures
    spent_s, indexing_s = figures.ingest_time_s, figures.index_time_s
    if spent_s is None or indexing_s is None:
        return None
    if spent_s < indexing_s or spent_s < HALF * figures.window_s:
        return None
    named = pipelines_of(pipeline)
    return Bottleneck(
        "ingest pipeline",
        f"documents spent {number(figures.ingest_ms)} ms each in {named}, and {number(figures.index_ms)} ms each in "
        "indexing.",
        (Try("pipeline", named, "_none", "measures what it costs; then simplify its processors"),),
    )


def pipelines_of(pipeline: Pipeline) -> str:
    """The ingest pipelines that documents pass."""
    index = pipeline.index
    names = [
        pipeline.connector.value("pipeline"),
        *((index.setting("default_pipeline"), index.setting("final_pipeline")) if index else ()),
    ]
    return " and ".join(dict.fromkeys(filter(None, names))) or "ingest pipelines"


def hot_shard(pipeline: Pipeline) -> Bottleneck | None:
    """One node indexes much more than the others, since one shard gets most documents, and its write threads work."""
    figures, busiest = pipeline.figures, pipeline.figures.busiest_shard
    if busiest is None or len(figures.nodes) < 2:
        return None
    hot, *others = sorted(figures.nodes, key=lambda node: -node.index_time_s)
    busy, idle = hot.write_busy or 0.0, fmean(node.write_busy or 0.0 for node in others)
    if hot.index_time_s < HOT * fmean(node.index_time_s for node in others) or busy < HALF:
        return None
    where = (
        f"{number(100 * busy)} % of the write threads of {hot.name} were at work, {number(100 * idle)} % of the others'"
    )
    name, documents, total = busiest
    shards, nodes = len(figures.shard_documents), len(figures.nodes)
    if shards == 1:
        more = Try("index.number_of_shards", "1", str(nodes), "one for each node; needs a new index")
        return Bottleneck("hot shard", f"the index has one shard on {nodes} data nodes: {where}.", (more,))
    if documents < HOT * (total - documents) / (shards - 1):
        return None
    routing = pipeline.connector.value("routing") or "by the records or the index"
    return Bottleneck(
        "hot shard",
        f"shard {name} got {number(100 * documents / total)} % of the documents of {shards} shards: {where}.",
        (Try("routing", routing, "none", "ids spread documents evenly"),),
    )


def mapping(pipeline: Pipeline) -> Bottleneck | None:
    """Elasticsearch is busy, documents take long for their size, and the mapping has fields of costly kinds."""
    figures, index = pipeline.figures, pipeline.index
    if index is None or not index.costly or not pipeline.is_elasticsearch_busy:
        return None
    us_per_kb, index_us_per_kb = figures.cpu_us_per_kb, figures.index_us_per_kb
    is_warm = all(node.uptime_s is None or node.uptime_s >= WARM_S for node in figures.nodes)
    if us_per_kb is None or index_us_per_kb is None or min(us_per_kb, index_us_per_kb) < SLOW_US_PER_KB or not is_warm:
        return None
    first = index.costly[0]
    rest = f" and {len(index.costly) - 1} more" if len(index.costly) > 1 else ""
    return Bottleneck(
        "mapping",
        f"{busy_text(pipeline)}, and a kB of document took {number(us_per_kb)} µs of CPU time; costly by its kind: "
        f"{first}{rest}.",
        (
            Try(
                f"mapping of {first.partition(':')[0]}",
                first.partition(": ")[2] or first,
                "a cheaper field",
                "`./sluice mapping explain` measures each field",
            ),
        ),
    )


# --- machines -------------------------------------------------------------------------------------------------------


def disk(pipeline: Pipeline) -> Bottleneck | None:
    """The disk of a node had work all the time while its cores had not."""
    for node in pipeline.figures.nodes:
        has_cores = node.cpu_percent is not None and node.cpu_percent < SATURATED_PERCENT
        if node.disk_busy is not None and node.disk_busy >= BUSY_DISK and has_cores:
            return Bottleneck(
                "disk",
                f"the disk of {node.name} had work in {number(100 * node.disk_busy)} % of the window, while the cores "
                f"were {number(node.cpu_percent)} % busy.",
                fewer_segments(pipeline),
            )
    return None


def elasticsearch(pipeline: Pipeline) -> Bottleneck | None:
    """Elasticsearch has no slack: write threads or cores."""
    if not pipeline.is_elasticsearch_busy:
        return None
    return Bottleneck("elasticsearch", f"{busy_text(pipeline)}.", fewer_segments(pipeline))


def busy_text(pipeline: Pipeline) -> str:
    """Evidence that Elasticsearch is busy."""
    busy = pipeline.figures.write_busy
    if busy is not None and busy >= BUSY_WRITE_THREADS:
        queue = sum(node.write_queue or 0.0 for node in pipeline.figures.nodes)
        return (
            f"{number(100 * busy)} % of Elasticsearch's write threads were at work, with {number(queue)} requests "
            "waiting for one"
        )
    host = hosts(pipeline)[0]
    return (
        f"the host {host.name} was {number(host.percent)} % busy, and Elasticsearch took {number(host.elasticsearch)} %"
    )


def machine(pipeline: Pipeline) -> Bottleneck | None:
    """A host of data nodes has no core left, and other programs than Elasticsearch use a good part of them.

    A node that waits for a core keeps its write threads at work; with idle ones it waits for requests.
    """
    busiest = next(iter(hosts(pipeline)), None)
    if busiest is None or busiest.percent < SATURATED_PERCENT:
        return None
    if busiest.elasticsearch >= MOST * busiest.percent or (pipeline.figures.write_busy or 0.0) < HALF:
        return None
    return Bottleneck(
        "machine",
        f"the host {busiest.name} was {number(busiest.percent)} % busy, and Elasticsearch took only "
        f"{number(busiest.elasticsearch)} %: other programs use the rest.",
    )


def fewer_segments(pipeline: Pipeline) -> tuple[Try, ...]:
    """Settings of the index that leave it less to do."""
    index, tries = pipeline.index, []
    if index is None:
        return ()
    refresh = index.setting("refresh_interval") or "1s"
    if refresh == "1s":
        tries.append(
            Try("index.refresh_interval", refresh, "30s", "fewer segments to write and merge; search sees later")
        )
    if index.replicas:
        tries.append(
            Try("index.number_of_replicas", str(index.replicas), "0", "while loading: each copy indexes all again")
        )
    return tuple(tries)


# --- the sink -------------------------------------------------------------------------------------------------------


def sink(pipeline: Pipeline) -> Bottleneck | None:
    """Records wait while Elasticsearch has write threads to spare."""
    busy = pipeline.figures.write_busy
    if busy is None:
        return None
    connector, tasks, partitions = pipeline.connector, pipeline.reading_tasks, len(pipeline.figures.lags)
    allowed = allowed_flight(pipeline)
    flight = pipeline.figures.in_flight
    idle = f"records waited while only {number(100 * busy)} % of Elasticsearch's write threads were at work"
    reads = f"{quantity(tasks, 'task')} read{'s' if tasks == 1 else ''} {quantity(partitions, 'partition')}"
    under_way = "" if flight is None else f"; {number(flight)} of {allowed or '–'} allowed bulk requests were under way"
    if flight is not None and allowed and flight >= BUSY_WRITE_THREADS * allowed:
        now = connector.whole("max.in.flight.requests") or 1
        more = Try("max.in.flight.requests", str(now), str(2 * now), "the next request need not wait for an answer")
        return Bottleneck("sink", f"{idle}{under_way}.", (more,))
    return Bottleneck("sink", f"{idle}, and {reads}{under_way}.", more_tasks(pipeline))


def allowed_flight(pipeline: Pipeline) -> int | None:
    """Bulk requests that all reading tasks may have under way together."""
    each = pipeline.connector.whole("max.in.flight.requests")
    return None if each is None else each * pipeline.reading_tasks


def more_tasks(pipeline: Pipeline) -> tuple[Try, ...]:
    """As many tasks as partitions, or more of both."""
    partitions, tasks = len(pipeline.figures.lags), pipeline.connector.tasks_max
    if tasks < partitions:
        return (Try("tasks.max", str(tasks), str(partitions), "a task for each partition"),)
    more = Try("partitions", str(partitions), str(2 * partitions), "no more tasks than partitions can read; keys move")
    return (more, Try("tasks.max", str(tasks), str(2 * partitions), "a task for each partition"))


FIRST: tuple[Callable[[Pipeline], Bottleneck | None], ...] = (failed, stalled, keeps_up)
PREDICATES: tuple[Callable[[Pipeline], Bottleneck | None], ...] = (
    requested_rate,
    rejections,
    merge_throttling,
    tiny_bulks,
    ingest_pipeline,
    hot_shard,
    mapping,
    disk,
    machine,
    elasticsearch,
    sink,
)
"""In the order in which they are asked, after the first ones and where records wait; docs/inspect.md states each."""
