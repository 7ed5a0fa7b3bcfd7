"""A look as text: the bottleneck first, then connector, topics and cluster, for a terminal of 80 columns."""

from collections.abc import Iterator, Sequence

from rich.markup import escape

from lab.analysis.figures.limits import stage_text
from lab.analysis.text import UNKNOWN, bytes_text, count, duration, figure, number, quantity
from lab.inspect.connector import POLL, InspectedConnector
from lab.inspect.figures import Figures, NodeFigures
from lab.inspect.index import SHOWN
from lab.inspect.limits import Pipeline, bottleneck_of, percent, why_unknown
from lab.inspect.look import TELLS

STAGES = {
    "bulk size": "tiny bulk requests",
    "hot shard": "one hot shard",
    "ingest pipeline": "the ingest pipeline",
    "merges": "merges",
    "refreshes": "refreshes",
}
"""Stage that `run` does not have → as a sentence names it."""
SHOWN_DEFAULTS = frozenset(
    "batch.size bulk.size.bytes linger.ms max.in.flight.requests max.buffered.records flush.timeout.ms "
    "bulk.max.operations.size bulk.max.size bulk.max.concurrent.requests "
    f"flush.synchronously max.retries retry.backoff.ms {POLL} errors.tolerance key.ignore write.method".split()
)
"""Settings that are shown where the connector leaves them at their defaults, too; `--json` has all."""
MOST_LISTED = 5
LONGEST = 40
"""Characters of a value of a setting."""


def lines_of(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Label and text of each line; a line that goes on has no label."""
    connector, figures = pipeline.connector, pipeline.figures
    tasks = f"{connector.running_tasks} of {quantity(len(connector.tasks), 'task')} running"
    yield "", f"[bold]{escape(connector.name)}[/bold] is {connector.state}, {tasks}"
    yield from verdict(pipeline)
    if figures.begun_again:
        again = f"{listed(figures.begun_again)} moved or began to count again"
        stretch = f"{duration(figures.window_s)} of {duration(figures.watched_s)}"
        yield "restarts", escape(f"{again}. All figures are of the longest stretch without that: {stretch}.")
    yield from connector_lines(connector)
    yield from topic_lines(pipeline)
    yield from index_lines(pipeline)
    for place, node in enumerate(sorted(figures.nodes, key=lambda node: -node.index_time_s)[:MOST_LISTED]):
        yield "" if place else "nodes", node_text(node)
    if len(figures.nodes) > MOST_LISTED:
        yield "", f"and {len(figures.nodes) - MOST_LISTED} more"
    for source, why in pipeline.lost.items():
        yield "not read", escape(f"{source}: {why}. It would tell {TELLS.get(source, source)}.")


def verdict(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """The bottleneck with its evidence, and what to try."""
    found = bottleneck_of(pipeline)
    if found is None:
        yield "limited by", f"[bold]not known[/bold]: {escape(why_unknown(pipeline))}."
        return
    product = (pipeline.engine or "Elasticsearch").partition(" ")[0]
    stage = STAGES.get(found.stage) or stage_text(found.stage, product)
    yield "limited by", f"[bold]{stage}[/bold]: {escape(found.evidence)}"
    for number_, each in enumerate(found.tries):
        yield "then" if number_ else "try first", escape(f"{each.setting}: {each.now} → {each.then} ({each.why})")


def connector_lines(connector: InspectedConnector) -> Iterator[tuple[str, str]]:
    """Its settings, those that it sets first; failed tasks."""
    shown = {False: "", True: ""}
    for name, of in connector.settings.items():
        if not of.is_default or name in SHOWN_DEFAULTS:
            shown[of.is_default] += f"{', ' if shown[of.is_default] else ''}{name}={short(of.value)}"
    yield "class", escape(" ".join(filter(None, (connector.plugin, connector.version))))
    yield "sets", escape(shown[False] or "none of these")
    if shown[True]:
        yield "defaults", escape(shown[True])
    if not connector.has_defaults:
        yield "", "defaults of the class are not known: workers from Kafka 3.2 on give them"
    for task in [task for task in connector.tasks if task.state != "RUNNING"][:MOST_LISTED]:
        yield f"task {task.id}", escape(f"{task.state}{f': {task.reason}' if task.reason else ''}")


def short(value: str) -> str:
    """A class without its package; the beginning of a long value, such as a list of transforms."""
    shown = value.rpartition(".")[2] if value.startswith(("org.", "io.", "com.")) else value
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def listed(names: Sequence[str], mark: str = ", ") -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return f"{mark.join(names[:MOST_LISTED])}{more}"


def topic_lines(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Rates, lag and its trend, and how it is spread."""
    figures, connector = pipeline.figures, pipeline.connector
    if figures.lag is None:
        yield "topics", escape(listed(connector.topics))
        return
    state = f", group {pipeline.group_state}" if pipeline.group_state else ""
    spread = f"{quantity(len(figures.lags), 'partition')} for {quantity(len(connector.tasks), 'task')}"
    yield "topics", escape(f"{listed(connector.topics)}: {spread}{state}")
    rates = f"{number(figures.arrival_rate)} records/s arrive, {number(figures.commit_rate)}/s committed"
    yield "", f"{rates}; lag {count(figures.lag)}{trend_text(figures)}"
    if len(figures.lags) > 1 and figures.lag:
        worst = sorted(figures.lags.items(), key=lambda item: -item[1])[:MOST_LISTED]
        is_even = worst[0][1] < 1.5 * figures.lag / len(figures.lags)
        shown = ", ".join(f"{place} {count(lag)}" for place, lag in worst)
        yield "", "evenly over the partitions" if is_even else f"most lag: {escape(shown)}"
    if connector.dead_letters:
        style = "[bold yellow]" if figures.letters else "[not bold]"
        yield "", f"{style}dead letters: {count(figures.letters)} more[/] in {escape(connector.dead_letters)}"


def trend_text(figures: Figures) -> str:
    """Trend of the lag, from commit to commit."""
    trend = figures.lag_trend
    if trend is None:
        return " (trend not known: fewer than two commits)" if figures.lag else ""
    if abs(trend) < 0.01 * max(figures.arrival_rate or 0.0, figures.commit_rate or 0.0, 1.0):
        return ", steady"
    return f", {'growing' if trend > 0 else 'falling'} by {number(abs(trend))}/s"


def index_lines(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Rate and time of indexing, the settings of the index and its costly fields."""
    figures, index = pipeline.figures, pipeline.index
    if figures.indexing_rate == 0:
        yield "indexing", "no document was indexed"
    elif figures.indexing_rate is not None:
        others = ", most by others than this connector" if figures.others_write else ""
        rate = f"{number(figures.indexing_rate)} documents/s{others}; {figure(figures.index_ms, 'ms')} each"
        if (per_kb := figures.us_per_kb(figures.cpu_s)) is not None:
            rate += f", {number(per_kb)} µs of CPU per kB"
        if figures.ingest_ms is not None:
            rate += f", {figure(figures.ingest_ms, 'ms')} in ingest pipelines"
        yield "indexing", rate
        yield "", bulk_text(figures)
        indexing, refreshes = number(figures.index_time_s), number(figures.refresh_time_s)
        merges = f"merges under way: {number(figures.merging)}; those that ended had worked for"
        throttled = f"throttled in {percent(figures.throttled)} of the window"
        yield "", f"{indexing} s of indexing on all copies, {refreshes} s of refreshes; {throttled}"
        yield "", f"{merges} {number(figures.merge_time_s)} s"
        if len(figures.shard_documents) > 1 and figures.busiest_shard:
            name, documents, total = figures.busiest_shard
            got = f"{escape(name)}, got {percent(documents / total)} of the documents"
            yield "", f"{len(figures.shard_documents)} primary shards; the busiest, {got}"
    if index is not None:
        blocks = [f"blocked: {' '.join(index.blocks)}"] if index.blocks else []
        shown = ", ".join([*(f"{SHOWN[name]} {value.lower()}" for name, value in index.shown.items()), *blocks])
        yield "index", escape(f"{index.name}" + (f" ({pipeline.engine})" if pipeline.engine else "") + f": {shown}")
        kinds = ", ".join(f"{count(many)} {kind}" for kind, many in index.counts.items() if kind != "all")
        yield "", f"{quantity(index.counts['all'], 'field')}: {kinds or 'none of text, keyword or nested'}"
        if costly := index.costly:
            yield "", escape(f"costly by kind: {listed(costly, '; ')}")


def bulk_text(figures: Figures) -> str:
    """Bulk requests, by the sink where it tells, and their parts on primary shards."""
    parts: list[str] = []
    if figures.sink_bulk_documents is not None:
        took = f"took {figure(figures.sink_bulk_ms, 'ms')}, {number(figures.in_flight)} under way"
        parts.append(f"a bulk request held {number(figures.sink_bulk_documents)} documents and {took}")
    # Where others write, their requests are most of those on the shards.
    what = "its part on a shard" if parts and not figures.others_write else "on a shard, a bulk request held"
    if figures.bulk_documents is not None:
        held = f"{number(figures.bulk_documents)} documents, {bytes_text(figures.bulk_bytes)}"
        parts.append(f"{what} {held}, and took {figure(figures.bulk_ms, 'ms')}")
    return "; ".join(parts) or "sizes of bulk requests are not known: this cluster keeps no such statistics"


def node_text(node: NodeFigures) -> str:
    """One data node."""
    cpu, own = (
        UNKNOWN if each is None else f"{number(each)} %" for each in (node.cpu_percent, node.process_cpu_percent)
    )
    return escape(
        f"{node.name}: {quantity(node.shards, 'shard')}, cores {cpu} busy (its own {own}), write threads "
        f"{percent(node.write_busy)}, queue {number(node.write_queue)}, {count(node.rejected)} rejected, disk "
        f"{percent(node.disk_busy)}"
    )
