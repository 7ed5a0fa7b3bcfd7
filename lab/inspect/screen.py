"""A look as text: the bottleneck first, then connector, topics and cluster, for a terminal of 80 columns."""

from collections.abc import Iterator, Sequence

from rich.markup import escape

from lab.analysis.figures.limits import stage_text
from lab.analysis.text import UNKNOWN, bytes_text, count, figure, number, quantity
from lab.inspect.connector import POLL, InspectedConnector
from lab.inspect.figures import Figures, NodeFigures
from lab.inspect.index import SHOWN
from lab.inspect.look import TELLS, Inspection

STAGES = {"bulk size": "tiny bulk requests", "hot shard": "one hot shard", "ingest pipeline": "the ingest pipeline"}
"""Stage that `run` does not have → as a sentence names it."""
SHOWN_DEFAULTS = (
    "batch.size",
    "bulk.size.bytes",
    "linger.ms",
    "max.in.flight.requests",
    "max.buffered.records",
    "flush.timeout.ms",
    "flush.synchronously",
    "max.retries",
    "retry.backoff.ms",
    POLL,
    "errors.tolerance",
    "key.ignore",
    "write.method",
)
"""Settings that are shown where the connector leaves them at their defaults, too; `--json` has all."""
MOST_LISTED = 5
LONGEST = 40
"""Characters of a value of a setting."""


def lines_of(inspection: Inspection) -> Iterator[tuple[str, str]]:
    """Label and text of each line; a line that goes on has no label."""
    pipeline = inspection.pipeline
    yield "", headline(pipeline.connector)
    yield from verdict(inspection)
    yield from connector_lines(pipeline.connector)
    yield from topic_lines(inspection)
    yield from index_lines(inspection)
    yield from node_lines(pipeline.figures)
    for source, why in inspection.lost.items():
        yield "not read", escape(f"{source}: {why}. It would tell {TELLS.get(source, source)}.")


def headline(connector: InspectedConnector) -> str:
    """Name, state and tasks."""
    tasks = f"{connector.running_tasks} of {quantity(len(connector.tasks), 'task')} running"
    return f"[bold]{escape(connector.name)}[/bold] is {connector.state}, {tasks}"


def verdict(inspection: Inspection) -> Iterator[tuple[str, str]]:
    """The bottleneck with its evidence, and what to try."""
    found = inspection.bottleneck
    if found is None:
        yield "limited by", f"[bold]not known[/bold]: {escape(inspection.unknown or '')}."
        return
    product = (inspection.engine or "Elasticsearch").partition(" ")[0]
    stage = STAGES.get(found.stage) or stage_text(found.stage, product)
    yield "limited by", f"[bold]{stage}[/bold]: {escape(found.evidence)}"
    for number_, each in enumerate(found.tries):
        yield "try first" if not number_ else "then", escape(f"{each.setting}: {each.now} → {each.then} ({each.why})")


def connector_lines(connector: InspectedConnector) -> Iterator[tuple[str, str]]:
    """Its settings, those that it sets first; failed tasks."""
    stated = {name: setting.value for name, setting in connector.settings.items() if not setting.is_default}
    left = {name: of.value for name, of in connector.settings.items() if of.is_default and name in SHOWN_DEFAULTS}
    yield "class", escape(" ".join(filter(None, (connector.plugin, connector.version))))
    yield "sets", escape(", ".join(f"{name}={short(value)}" for name, value in stated.items()) or "none of these")
    if left:
        yield "defaults", escape(", ".join(f"{name}={short(value)}" for name, value in left.items()))
    if not connector.has_defaults:
        yield "", "defaults of the class are not known: workers from Kafka 3.2 on give them"
    for task in [task for task in connector.tasks if task.state != "RUNNING"][:MOST_LISTED]:
        yield f"task {task.id}", escape(f"{task.state}{f': {task.reason}' if task.reason else ''}")


def short(value: str) -> str:
    """A class without its package; the beginning of a long value, such as a list of transforms."""
    shown = value.rpartition(".")[2] if value.startswith(("org.", "io.", "com.")) else value
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return f"{', '.join(names[:MOST_LISTED])}{more}"


def topic_lines(inspection: Inspection) -> Iterator[tuple[str, str]]:
    """Rates, lag and its trend, and how it is spread."""
    figures, connector = inspection.pipeline.figures, inspection.pipeline.connector
    if figures.lag is None:
        yield "topics", escape(listed(connector.topics))
        return
    state = f", group {inspection.pipeline.group_state}" if inspection.pipeline.group_state else ""
    yield (
        "topics",
        escape(
            f"{listed(connector.topics)}: {quantity(len(figures.lags), 'partition')} for "
            f"{quantity(len(connector.tasks), 'task')}{state}"
        ),
    )
    yield (
        "",
        f"{number(figures.arrival_rate)} records/s arrive, {number(figures.commit_rate)}/s committed; lag "
        f"{count(figures.lag)}{trend_text(figures)}",
    )
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
    if figures.lag_trend is None:
        return " (trend not known: fewer than two commits)" if figures.lag else ""
    steady = abs(figures.lag_trend) < 0.01 * max(figures.arrival_rate or 0.0, figures.commit_rate or 0.0, 1.0)
    return (
        ", steady"
        if steady
        else f", {'growing' if figures.lag_trend > 0 else 'falling'} by {number(abs(figures.lag_trend))}/s"
    )


def index_lines(inspection: Inspection) -> Iterator[tuple[str, str]]:
    """Rate and time of indexing, the settings of the index and its costly fields."""
    figures, index = inspection.pipeline.figures, inspection.pipeline.index
    if figures.indexing_rate == 0:
        yield "indexing", "no document was indexed"
    elif figures.indexing_rate is not None:
        per_kb = figures.cpu_us_per_kb
        others = ", most by others than this connector" if figures.others_write else ""
        yield (
            "indexing",
            f"{number(figures.indexing_rate)} documents/s{others}; {figure(figures.index_ms, 'ms')} each"
            + (f", {number(per_kb)} µs of CPU per kB" if per_kb is not None else "")
            + (f", {figure(figures.ingest_ms, 'ms')} in ingest pipelines" if figures.ingest_ms is not None else ""),
        )
        yield "", bulk_text(figures)
        yield (
            "",
            f"of the window: {percent(figures.throttled)} throttled, {percent(figures.refresh_share)} refreshing, "
            f"{percent(figures.merge_share)} merging (all shards)",
        )
        if len(figures.shard_documents) > 1 and figures.busiest_shard:
            name, documents, total = figures.busiest_shard
            yield (
                "",
                f"{len(figures.shard_documents)} primary shards; the busiest, {escape(name)}, got "
                f"{percent(documents / total)} of the documents",
            )
    if index is not None:
        settings = [f"{SHOWN[name]} {value.lower()}" for name, value in index.shown.items()]
        blocks = [f"blocked: {' '.join(index.blocks)}"] if index.blocks else []
        shown = ", ".join([*settings, *blocks])
        yield "index", escape(f"{index.name}" + (f" ({inspection.engine})" if inspection.engine else "") + f": {shown}")
        counts = index.counts
        kinds = ", ".join(f"{count(many)} {kind}" for kind, many in counts.items() if kind != "all")
        yield "", f"{quantity(counts['all'], 'field')}: {kinds or 'none of text, keyword or nested'}"
        costly = index.costly
        if costly:
            rest = f" and {len(costly) - MOST_LISTED} more" if len(costly) > MOST_LISTED else ""
            yield "", escape(f"costly by kind: {'; '.join(costly[:MOST_LISTED])}{rest}")


def bulk_text(figures: Figures) -> str:
    """Bulk requests, by the sink where it tells, and their parts on primary shards."""
    parts: list[str] = []
    if figures.sink_bulk_documents is not None:
        parts.append(
            f"a bulk request held {number(figures.sink_bulk_documents)} documents and took "
            f"{figure(figures.sink_bulk_ms, 'ms')}, {number(figures.in_flight)} under way"
        )
    # Where others write, their requests are most of those on the shards.
    is_part = bool(parts) and not figures.others_write
    if figures.bulk_documents is not None:
        parts.append(
            f"{'its part on a shard' if is_part else 'on a shard, a bulk request held'} "
            f"{number(figures.bulk_documents)} documents, {bytes_text(figures.bulk_bytes)}, and took "
            f"{figure(figures.bulk_ms, 'ms')}"
        )
    return "; ".join(parts) or "sizes of bulk requests are not known: this cluster keeps no such statistics"


def node_lines(figures: Figures) -> Iterator[tuple[str, str]]:
    """Each data node, the busiest first."""
    for place, node in enumerate(sorted(figures.nodes, key=lambda node: -node.index_time_s)[:MOST_LISTED]):
        yield "nodes" if not place else "", node_text(node)
    if len(figures.nodes) > MOST_LISTED:
        yield "", f"and {len(figures.nodes) - MOST_LISTED} more"


def node_text(node: NodeFigures) -> str:
    """One data node."""
    cpu = UNKNOWN if node.cpu_percent is None else f"{number(node.cpu_percent)} %"
    own = UNKNOWN if node.process_cpu_percent is None else f"{number(node.process_cpu_percent)} %"
    return escape(
        f"{node.name}: {quantity(node.shards, 'shard')}, cores {cpu} busy (its own {own}), write threads "
        f"{percent(node.write_busy)}, queue {number(node.write_queue)}, {count(node.rejected)} rejected, disk "
        f"{percent(node.disk_busy)}"
    )


def percent(share: float | None) -> str:
    """A share of one in percent."""
    return UNKNOWN if share is None else f"{number(100 * share)} %"
