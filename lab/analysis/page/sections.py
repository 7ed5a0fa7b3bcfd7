"""The sections of a report."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import orjson

from lab.analysis.figures.definitions import BY_NAME, TERMS, value_of
from lab.analysis.figures.warnings import shortfall
from lab.analysis.folder import RunFolder
from lab.analysis.page.answer import waiting_note, what_came_out, what_was_run
from lab.analysis.page.books import Sum, last_sink_sum, run_sums
from lab.analysis.page.markup import card, folded, pairs, paragraph, preformatted, prose, table
from lab.analysis.page.svg import Chart, inlined
from lab.analysis.text import bytes_text, count, duration, figure
from lab.endpoints import without_secrets
from lab.records import Environment, Result, RunWarning, WarningKind


@dataclass(frozen=True, slots=True)
class Tile:
    """One key figure: a metric, and what to say of it here beside its meaning."""

    name: str
    scope: str = "run"
    label: str | None = None


TILES = (
    Tile("consumed_rate_docs_per_s"),
    Tile("indexing_rate_docs_per_s", "primaries"),
    Tile("indexing_latency_ms", "primaries"),
    Tile("source_mb_per_s"),
    Tile("entities_per_s"),
    Tile("end_to_end_latency_ms_p50"),
    Tile("end_to_end_latency_ms_p99"),
    Tile("bulk_service_time_ms_p99"),
    Tile("bulk_size_docs_mean"),
    Tile("lag_records_max"),
    Tile("delivery_rate_docs_per_s"),
    Tile("drain_s"),
    Tile("store_size_bytes", "primaries"),
)


def answer(folder: RunFolder, result: Result) -> str:
    """The two sentences on top; red when the run is void, amber when a stream did not keep up."""
    failed, short = result.status == "failed", shortfall(result)
    verdict = "Failed." if failed else f"{short[0].upper()}{short[1:]}. Verified." if short else "Verified."
    return (
        f'<div class="answer{" failed" if failed else " care" if short else ""}">'
        f"<p>{escape(what_was_run(folder.run))}</p>"
        f'<p><span class="verdict">{verdict}</span> {escape(what_came_out(folder.run, result))}</p></div>'
    )


def tiles(folder: RunFolder, result: Result) -> str:
    """The key figures; one that does not exist for this kind of load is left out, one that was not measured says so."""
    named = {metric.name for metric in result.metrics}
    shown = [_tile(tile, result) for tile in TILES if tile.name in named]
    note = waiting_note(folder.run)
    below = paragraph(f"End to end: {note}", "note") if note else ""
    void = " void" if result.status == "failed" else ""
    return f'<div class="tiles{void}">{"".join(shown)}</div>{below}'


def _tile(tile: Tile, result: Result) -> str:
    definition = BY_NAME[tile.name]
    value = value_of(result.metrics, tile.name, tile.scope)
    shown = _with_small_unit(figure(value, definition.unit)) if value is not None else NOT_MEASURED
    return (
        f'<div class="tile"><div class="label">{escape(tile.label or definition.label)}</div>'
        f'<div class="value">{shown}</div><div class="meaning">{prose(definition.meaning)}</div></div>'
    )


NOT_MEASURED = '<span class="unit">not measured</span>'


def _with_small_unit(text: str) -> str:
    """A figure with its unit in smaller letters; `52 700/s` and `2 min 13 s` stay as they are."""
    return re.sub(r"^([\d.\u202f]+)\u202f(\D+)$", r'\1 <span class="unit">\2</span>', escape(text))


def limit(result: Result) -> str:
    """The stage with no slack, and what shows it."""
    if result.limited_by is None:
        return paragraph("The samples show no stage without slack, or there are too few of them to tell.")
    stage, evidence = result.limited_by.stage, result.limited_by.evidence
    return f"<p><strong>{escape(stage[0].upper() + stage[1:])}</strong>: {escape(evidence)}</p>"


def warnings(result: Result) -> str:
    """What to know before believing a figure; nothing where there is nothing."""
    return warning_section(result.warnings)


def warning_section(told: Sequence[RunWarning]) -> str:
    """The warnings, each with its cause and what to do; nothing where there are none."""
    if not told:
        return ""
    return f"<section><h2>Warnings</h2>{''.join(_warning(warning) for warning in told)}</section>"


def _warning(warning: RunWarning) -> str:
    name = warning.kind.value.replace("_", " ").capitalize()
    told = pairs([("Seen", warning.seen), ("Likely cause", warning.likely_cause), ("What to do", warning.remedy)])
    return f'<div class="warning"><strong>{escape(name)}</strong>{told}</div>'


def charts(drawn: Sequence[Chart], result: Result) -> str:
    """All charts, two beside each other where there is room."""
    note = "The blue band is the measured window; dotted lines are the ends of phases, whose names stand above."
    if result.measured_window and result.measured_window.warm_up_s:
        note = note.replace("window;", "window, the grey one before it the warm-up, which is cut;")
    if result.measured_window is None:
        note = "There is no measured window (see the warnings); dotted lines are the ends of phases."
    figures = "".join(chart_figure(chart, f"chart-{place}") for place, chart in enumerate(drawn))
    return f'{paragraph(note, "note")}<div class="charts">{figures}</div>'


def chart_figure(chart: Chart, name: str) -> str:
    """A chart with its title, how to read it, and its legend.

    Args:
        name: Unique on the page.
    """
    if chart.svg is None:
        drawing = paragraph("Not measured: the samples hold nothing to draw here.", "empty")
    else:
        label = escape(f"{chart.title}. {chart.summary}", quote=True)
        drawing = f'<div class="drawing" role="img" aria-label="{label}">{inlined(chart.svg, name)}</div>'
    keys = "".join(
        f'<li><span style="background:{colour}"></span>{escape(name)}</li>' for name, colour in chart.colours.items()
    )
    legend = f'<ul class="legend">{keys}</ul>' if keys and chart.svg else ""
    caption = f"<figcaption><h3>{escape(chart.title)}</h3><p>{escape(chart.reading)}</p>{legend}</figcaption>"
    return f"<figure>{caption}{drawing}</figure>"


def books(folder: RunFolder) -> str:
    """Sums that visibly add up, and what the search for every document found."""
    documents = folder.run.documents
    found = pairs(
        [
            ("Missing", f"{count(documents.missing)} documents that ought to be in the index and are not"),
            ("Unexpected", f"{count(documents.unexpected)} documents in the index that this run did not produce"),
            (
                "Compared",
                f"{count(documents.sampled)} documents drawn at random; {count(documents.sample_mismatches)} differ"
                " from what was sent",
            ),
        ]
    )
    of_run, of_sink = run_sums(documents), last_sink_sum(folder.run, folder.samples)
    left = "".join(_sum(part) for part in of_run) + card("Looked for and compared", found)
    return f'<div class="columns"><div class="stack">{left}</div>{_sum(of_sink) if of_sink else ""}</div>'


def _sum(part: Sum) -> str:
    rows = [
        f'<tr><td class="sign">{"+" if place else ""}</td><td>{escape(name)}</td>'
        f'<td class="number">{count(records)}</td></tr>'
        for place, (name, records) in enumerate(part.parts)
    ]
    name, whole = part.whole
    verdict = (
        f'<span class="balances">{escape(name)} ✓</span>'
        if part.difference == 0
        else f'<span class="differs">✗ {escape(name)} were {count(whole)}: {count(abs(part.difference))}'
        f" {'missing' if part.difference > 0 else 'too many'}</span>"
    )
    rows.append(
        f'<tr class="sum"><td class="sign">=</td><td>{verdict}</td><td class="number">{count(part.total)}</td></tr>'
    )
    return card(part.title, f"<table><tbody>{''.join(rows)}</tbody></table>")


def dead_letters(folder: RunFolder) -> str:
    """The refused records by reason; nothing where there are none."""
    reasons = folder.run.verification.dead_letters
    if not reasons:
        return ""
    rows = [(reason.reason, reason.first, count(reason.records)) for reason in reasons]
    told = table(("reason", "first of them", "records"), rows, numbers_from=2)
    return f'<section><h2>Dead letters</h2><div class="card wrapped">{told}</div></section>'


COST_COLUMNS = ("cpu_s_per_million_docs", "cpu_cores_mean", "rss_bytes_max", "disk_write_bytes", "major_page_faults")
INDEX_ROWS = (
    ("Merges", "merge_count", "merge_time_ms"),
    ("Merges throttled", None, "merge_throttled_time_ms"),
    ("Refreshes", "refresh_count", "refresh_time_ms"),
    ("Flushes", "flush_count", "flush_time_ms"),
    ("Indexing throttled", None, "indexing_throttle_time_ms"),
)


def cost(result: Result) -> str:
    """CPU, memory and disk by process, background work of the index, garbage collection by node."""
    scopes = {metric.scope for metric in result.metrics if metric.name in {"rss_bytes_max", "cpu_s_per_million_docs"}}
    processes = table(
        ("process", *(BY_NAME[name].label for name in COST_COLUMNS)),
        [
            (scope, *(figure(value_of(result.metrics, name, scope), BY_NAME[name].unit) for name in COST_COLUMNS))
            for scope in sorted(
                scopes, key=lambda name: (-(value_of(result.metrics, COST_COLUMNS[0], name) or 0), name)
            )
        ],
    )
    work = table(
        ("background work on primaries, over the run", "times", "time"),
        [
            (
                label,
                count(value_of(result.metrics, times, "primaries")) if times else "",
                duration(_seconds(value_of(result.metrics, time_ms, "primaries"))),
            )
            for label, times, time_ms in INDEX_ROWS
        ],
    )
    below = f'<div class="columns below">{card("Index", work)}{_nodes(result)}</div>'
    return f'<div class="card">{processes}{elsewhere(result)}</div>{below}'


def elsewhere(result: Result) -> str:
    """Why there is no figure of a server's process, where they ran on other machines."""
    told = [found for found in result.warnings if found.kind == WarningKind.SERVERS_ELSEWHERE]
    return "".join(paragraph(f"{found.seen}: {found.likely_cause}.", "note") for found in told)


def _nodes(result: Result) -> str:
    names = [metric.scope for metric in result.metrics if metric.name == "heap_used_bytes_max"]

    def row(name: str) -> tuple[str, ...]:
        def value(metric: str) -> float | None:
            return value_of(result.metrics, metric, name)

        collections = (
            f"{count(value(f'gc_{generation}_count'))} in {duration(_seconds(value(f'gc_{generation}_time_ms')))}"
            for generation in ("young", "old")
        )
        return (name, bytes_text(value("heap_used_bytes_max")), *collections, count(value("write_rejected")))

    head = ("node", "heap, most", "young GC", "old GC", "rejected")
    return card("Elasticsearch nodes", table(head, [row(name) for name in names])) if names else ""


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def phases(result: Result) -> str:
    """Wall time of each phase."""
    walls = {phase.name: duration(phase.ended_s - phase.started_s) for phase in result.phases}
    whole = duration(result.ended_s - result.started_s)
    return f'<div class="card">{table((*walls, "whole run"), [(*walls.values(), whole)], numbers_from=99)}</div>'


def environment(folder: RunFolder) -> str:
    """Everything another run must share for the two to be compared."""
    profile = folded("Effective profile", _json(without_secrets(folder.profile))) if folder.profile else ""
    return environment_cards(folder.run.environment) + profile


def environment_cards(found: Environment) -> str:
    """Machine and software, and the settings of servers, index and connector."""
    machine = [
        ("Machine", found.machine),
        ("CPU", f"{found.cpu_model}, {found.cpu_cores} cores"),
        ("Memory", bytes_text(found.memory_bytes)),
        ("Kernel", found.kernel),
        ("Target", found.target),
    ]
    software = [
        ("Sluice", found.sluice_version + (f" ({found.git_commit[:12]})" if found.git_commit else "")),
        ("Python", found.python_version),
        *((f"Java for {name}", version) for name, version in found.java_versions.items()),
        *((server.name, server.version) for server in found.servers),
    ]
    options = "".join(
        card(server.name, preformatted(" ".join(shlex.quote(word) for word in server.command_line_options)))
        for server in found.servers
        if server.command_line_options
    )
    return (
        f'<div class="columns">{card("Machine", pairs(machine))}{card("Software", pairs(software))}</div>'
        + folded("Effective index settings", _json(found.index_settings))
        + (folded("Cluster settings", _json(found.cluster_settings)) if found.cluster_settings else "")
        + (folded("Connector configuration", _json(without_secrets(found.connector))) if found.connector else "")
        + (folded("Server options", options) if options else "")
    )


def _json(tree: dict[str, object]) -> str:
    return preformatted(orjson.dumps(tree, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode())


def reproduce(folder: RunFolder) -> str:
    """The exact command."""
    run = folder.run
    command = run.command or ("./sluice", "run", run.profile)
    commit = run.environment.git_commit
    text = (f"git checkout {commit}\n" if commit else "") + " ".join(shlex.quote(word) for word in command)
    dataset = (folder.profile or {}).get("dataset")
    if isinstance(dataset, dict) and dataset.get("name") == "file":
        known = f" (BLAKE2b of its documents: {run.content_hash})" if run.content_hash else ""
        origin = f"The documents were read from a file{known}: the command loads them again if the file is the same."
    else:
        origin = "The documents are a pure function of the profile's seed: the same command makes the same ones again."
    return preformatted(text) + paragraph(
        f"{origin} Compare only with runs on the same machine and versions, and with servers as warm as these were.",
        "note",
    )


def glossary() -> str:
    """The words that a reader of this field may know otherwise."""
    return f'<div class="card">{pairs(TERMS.items())}</div>'
