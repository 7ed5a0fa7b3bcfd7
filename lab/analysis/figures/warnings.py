"""Warnings of a run, to read before its figures."""

from collections import Counter
from collections.abc import Sequence
from math import floor
from statistics import fmean

from lab.analysis.figures.clocks import clock_skew
from lab.analysis.figures.cost import by_node, gc_time_ms, process_names, restarted, servers_are_here, used
from lab.analysis.figures.disturbance import (
    MOST_OTHER_CPU_PERCENT,
    losses,
    machine_steal_percent,
    other_cpu_percent,
    taken_text,
)
from lab.analysis.figures.limits import (
    UNKNOWN_PROCESSES,
    driver_share,
    evidence,
    is_delivered_late,
    keeps_up,
    late_text,
    no_slack_text,
    requested_rate_docs_per_s,
)
from lab.analysis.figures.query_warnings import query_warnings
from lab.analysis.figures.rates import (
    answered,
    answered_s,
    counts,
    go_on,
    growth,
    has_fallen,
    have_primaries_moved,
    index_totals,
    indexing_rate_docs_per_s,
    sampling_interval_s,
)
from lab.analysis.figures.windows import LEAST_S, LEAST_SAMPLES, Windows, is_long_enough, under_load
from lab.analysis.text import count, duration, number, quantity
from lab.records.result import Limit, Result
from lab.records.run import Run, RunWarning, WarningKind
from lab.records.samples import Sample

GC_SHARE = 0.10
MAJOR_FAULTS_PER_S = 100.0
DRIVER_MOST = 0.5
OF_NO_FIGURE = "connector"
"""Source of samples that only the live page shows."""


def warnings(run: Run, cut: Windows, limit: Limit | None) -> tuple[RunWarning, ...]:
    """The run's own warnings and those that its samples give; of each kind the run's own comes first."""
    alone = run.load == "query"
    of_samples = (
        *(() if alone else (did_not_keep_up(run, cut, limit), short_window(cut), no_steady_state(run, cut))),
        server_restarted(cut),
        samples_lost(run, cut),
        dead_letters(run),
        not_indexed(run),
        values_stored_only(run),
        driver_limited(run, cut.window, limit),
        busy_machine(run, cut),
        late_producer(run),
        clock_skew(run),
        memory_pressure(cut.of_machine),
        *(query_warnings(run.query_load, limit if alone else None) if run.query_load else ()),
    )
    own = {warning.kind for warning in run.warnings}
    return (*run.warnings, *(warning for warning in of_samples if warning and warning.kind not in own))


def did_not_keep_up(run: Run, cut: Windows, limit: Limit | None) -> RunWarning | None:
    """A stream that was indexed more slowly than it was asked for, so that its latencies only tell how long it ran.

    Of a few samples nothing follows: between two of them there may be one bulk request more or less.
    """
    requested = requested_rate_docs_per_s(run)
    rate = indexing_rate_docs_per_s(cut.window, "primaries") if cut.measured else None
    if run.verification.expect == "consumed" or not requested or rate is None or keeps_up(requested, rate):
        return None
    lag = max((sample.kafka.lag_records for sample in cut.load if sample.kafka), default=None)
    return RunWarning(
        kind=WarningKind.DID_NOT_KEEP_UP,
        seen=f"did NOT keep up with {number(requested)}/s:"
        f" {number(rate)}/s were indexed" + ("" if lag is None else f", up to {count(lag)} records waited"),
        likely_cause=no_slack_text(limit) if limit else "a stage had no room left; the samples do not show which",
        remedy="ignore this run's latencies: they grow with its length; lower the rate, or give that stage more"
        " resources",
    )


def shortfall(result: Result) -> str | None:
    """First words on a stream that did not keep up; `None` if it did."""
    own = (warning for warning in result.warnings if warning.kind is WarningKind.DID_NOT_KEEP_UP)
    return next((warning.seen.partition(":")[0] for warning in own), None)


def short_window(cut: Windows) -> RunWarning | None:
    """Too little was seen of the growing index."""
    if is_long_enough(cut.window):
        return None
    left = answered(cut.window) or answered(under_load(cut.growing))
    # A sink may have read all within the warm-up, long before the last document is indexed.
    remaining = left or (() if is_long_enough(cut.growing) else answered(cut.growing))
    # Rounded down: 4.998 s would read as the 5 s that are enough.
    remaining_s = floor(10 * answered_s(remaining)) / 10
    text = f"{duration(remaining_s)} ({quantity(len(remaining), 'sample')})"
    return RunWarning(
        kind=WarningKind.SHORT_WINDOW,
        seen=f"at most {text} of the load could be measured, and a measured window needs {number(LEAST_S)} s and"
        f" {LEAST_SAMPLES} samples",
        likely_cause="the load was over too soon, or Elasticsearch did not answer the sampler",
        remedy="load more documents (`--documents`, or a longer file); until then, trust only CPU time and the duration"
        " of the load",
    )


def no_steady_state(run: Run, cut: Windows) -> RunWarning | None:
    """The rate rose or fell all along, so that its mean is that of no state at all; a ramp's is meant to."""
    if cut.measured is None or cut.is_steady is not False or run.document_ramp is not None or run.course is not None:
        return None
    rates = cut.rates_per_s
    half = len(rates) // 2
    are_cold = any(warning.kind is WarningKind.COLD_SERVERS for warning in run.warnings)
    warm = "" if are_cold else "discard a warm-up run first, or "
    return RunWarning(
        kind=WarningKind.NO_STEADY_STATE,
        seen=f"the rate was {number(fmean(rates[:half]))}/s in the first half of the measured window and"
        f" {number(fmean(rates[-half:]))}/s in the second, from {number(min(rates))}/s to {number(max(rates))}/s",
        likely_cause="servers that were still warming up, merges that began, or something else at work on the machine",
        remedy=f"do not compare this run's rates with others; {warm}load more documents",
    )


def server_restarted(cut: Windows) -> RunWarning | None:
    """Counters began again in the middle of the load, since a server did or a shard moved."""
    names = restarted(cut.load)
    if not names and go_on(cut.load) and not has_fallen(counts(cut.growing, "primaries", "query_total")):
        return None
    is_move = not names and have_primaries_moved(cut.load)
    who = ", ".join(names) or "a shard or a node of Elasticsearch"
    return RunWarning(
        kind=WarningKind.SHARD_MOVED if is_move else WarningKind.SERVER_RESTARTED,
        seen=f"{'a primary shard moved to another node' if is_move else f'{who} restarted'} during the load"
        f"{_counted_anew(cut)}",
        likely_cause="Elasticsearch balanced its shards, or a node was gone"
        if is_move
        else "it was stopped or killed, by a test or because memory ran out",
        remedy="do not compare this run's rates with others"
        + ("; to keep shards where they are, set `index.routing.rebalance.enable: none`" if is_move else ""),
    )


def _counted_anew(cut: Windows) -> str:
    """Clause on the indexing rate if counters of the index began again in the measured window."""
    if go_on(cut.window) or not growth(index_totals(cut.window)):
        return ""
    if indexing_rate_docs_per_s(cut.window, "primaries") is None:
        return ", so that counters of the index began again in the measured window, which is void"
    return ", so that the indexing rate is what the sink counted as stored"


def samples_lost(run: Run, cut: Windows) -> RunWarning | None:
    """Sources that did not answer, and ticks that did not take place, while the index grew; latencies, at the end."""
    losses = []
    interval_s = sampling_interval_s(cut.growing)
    if interval_s:
        expected = floor((cut.growing[-1].at_s - cut.growing[0].at_s) / interval_s + 0.5) + 1
        lost = Counter(source for sample in cut.growing for source in sample.lost if source != OF_NO_FIGURE)
        lost["whole samples"] = max(0, expected - len(cut.growing))
        sources = ", ".join(f"{source} {times}" for source, times in sorted(lost.items()) if times)
        if sources:
            meanwhile = "while queries were sent" if run.load == "query" else "while the index grew"
            losses.append(f"of {expected} samples due {meanwhile}, some were lost: {sources}")
    if run.sink_histograms.lost:
        losses.append(f"the sink's latencies could not be read: {run.sink_histograms.lost}")
    if not losses:
        return None
    return RunWarning(
        kind=WarningKind.SAMPLES_LOST,
        seen="; ".join(losses),
        likely_cause="a server was down or too busy to answer within the sampling interval",
        remedy="the charts have gaps there; a figure is missing only where all of its samples are",
    )


def dead_letters(run: Run) -> RunWarning | None:
    """Records that can never be indexed."""
    refused = run.documents.dead_lettered
    if not refused:
        return None
    first = run.verification.dead_letters[0].reason if run.verification.dead_letters else "not recorded"
    # Whether its servers outlive a run here, its records do not say.
    is_here = run.environment.target == "local"
    kept = "if the run stopped its servers, start some with `./sluice up` and run again; " if is_here else ""
    return RunWarning(
        kind=WarningKind.DEAD_LETTERS,
        seen=_absent_text(run, (("in the dead-letter topic", refused),)),
        likely_cause=f"Elasticsearch rejected them; the most frequent reason: {first}",
        remedy=f"{kept}look at them with `./sluice dead-letters show`; correct the mapping and send them again with"
        " `./sluice dead-letters replay --update-mapping`, or correct the documents and run again",
    )


def not_indexed(run: Run) -> RunWarning | None:
    """Records whose documents are accounted for, and not where queries look."""
    if not (elsewhere := run.documents.elsewhere):
        return None
    return RunWarning(
        kind=WarningKind.NOT_INDEXED,
        seen=_absent_text(run, elsewhere),
        likely_cause="the data stream keeps rejected documents in its failure store, a pipeline drops documents, or a"
        " converter or transform of the connector failed on them or removed them",
        remedy="look into the failure store (`GET NAME::failures/_search`), at the pipeline, or into the worker's log"
        " (`errors.log.enable`); `errors.deadletterqueue.topic.name` keeps what a converter fails on",
    )


def _absent_text(run: Run, places: Sequence[tuple[str, int]]) -> str:
    """Some of the records that are not in the index: there may be others, in other places."""
    records = sum(number for _, number in places)
    kinds = " and ".join(f"{count(number)} {place}" for place, number in places)
    where = places[0][0] if len(places) == 1 else kinds
    are = "is" if records == 1 else "are"
    return f"{count(records)} of {count(run.documents.loaded)} records, {where}, {are} not in the index"


def values_stored_only(run: Run) -> RunWarning | None:
    """Documents of which queries find every field but one or a few."""
    found = run.verification.stored_only
    if found is None or not found.documents:
        return None
    return RunWarning(
        kind=WarningKind.STORED_ONLY,
        seen=found.text,
        likely_cause="such values are malformed for their field (`ignore_malformed`) or longer than its `ignore_above`",
        remedy="queries do not find them: correct the mapping or the documents, or leave it so if nobody searches them;"
        " the search `_exists_:_ignored` gives the documents",
    )


def driver_limited(run: Run, window: Sequence[Sample], limit: Limit | None) -> RunWarning | None:
    """The rate is the load driver's and not Elasticsearch's."""
    if run.verification.expect == "consumed" or (run.load == "query" and limit and limit.stage == "sender"):
        return None  # Of queries, another warning tells it.
    if limit is None or limit.stage not in {"producer", "broker", "sink", "sender", "machine"}:
        return None
    requested, rate = requested_rate_docs_per_s(run), indexing_rate_docs_per_s(window, "primaries")
    if requested and rate is not None and not keeps_up(requested, rate) and not is_delivered_late(run):
        return None  # The documents came as asked: it is the pipeline that did not keep up.
    share = driver_share(evidence(run, window))
    if limit.stage == "machine" and (share is None or share < DRIVER_MOST):
        return None
    return RunWarning(
        kind=WarningKind.DRIVER_LIMITED,
        seen=no_slack_text(limit),
        likely_cause="the load driver lacks tasks, connections or cores",
        remedy="do not read this rate, or `same` of two such rates, as Elasticsearch's own; give the driver more tasks,"
        " requests in flight or cores, or run it on another machine",
    )


def busy_machine(run: Run, cut: Windows) -> RunWarning | None:
    """Programs that have nothing to do with the run, or other machines on the same host, took cores from it."""
    taken = _taken(run, cut.of_machine, in_window=cut.measured is not None) if servers_are_here(run) else None
    if taken is None:
        return None
    return RunWarning(
        kind=WarningKind.BUSY_MACHINE,
        seen=taken,
        likely_cause="another run, a build or a browser on this machine, or other virtual machines on its host",
        remedy="do not compare this run's rates with others; end the other programs, or take a machine that shares no"
        " cores, and run again",
    )


def _taken(run: Run, samples: Sequence[Sample], *, in_window: bool) -> str | None:
    others = other_cpu_percent(samples)
    lost = losses(machine_steal_percent(samples), others, in_window=in_window)
    if lost or others is not None or not is_long_enough(samples):
        return lost
    # Not measured: in records before 0.2.0, and where a container is not seen from here. In one or two samples no
    # process is known well enough to be told from others.
    percent = 100 * evidence(run, samples).other_cores / run.environment.cpu_cores
    return taken_text({UNKNOWN_PROCESSES: percent} if percent >= MOST_OTHER_CPU_PERCENT else {}, in_window=in_window)


def late_producer(run: Run) -> RunWarning | None:
    """Documents that were sent after they were due."""
    late = run.delivery.late_documents if run.delivery else 0
    if run.delivery is None or not (run.delivery.rate_docs_per_s or run.delivery.pace) or not late:
        return None
    return RunWarning(
        kind=WarningKind.LATE_PRODUCER,
        seen=late_text(late, run.documents.produced, "documents", 100),
        likely_cause="the producers cannot make that rate here, or Kafka held them back",
        remedy="latencies count from the due time and include this delay; ask for a lower rate or for more producers",
    )


def is_bounded_on_purpose(sample: Sample, server: str) -> bool:
    """Check that a server has a control group that limits its memory, as only a profile asks for."""
    group = sample.control_groups.get(server)
    return group is not None and group.memory_limit_bytes is not None


def memory_pressure(window: Sequence[Sample]) -> RunWarning | None:
    """Elasticsearch spent its time on collecting garbage or on waiting for pages of its files.

    That pages are waited for is no news where the profile itself bounds the memory.
    """
    elapsed_s = window[-1].at_s - window[0].at_s if window else 0.0
    if not elapsed_s:
        return None
    signs = []
    for name, readings in by_node(window).items():
        paused_s = (gc_time_ms(readings) or 0) / 1000
        if paused_s >= GC_SHARE * elapsed_s:
            signs.append(f"{name} paused for garbage collection {number(100 * paused_s / elapsed_s)} % of the time")
    for name in process_names(window):
        faults = used(window, name, lambda process: process.major_page_faults) or 0
        is_bounded = any(is_bounded_on_purpose(sample, name) for sample in window)
        if name.startswith("elasticsearch") and not is_bounded and faults >= MAJOR_FAULTS_PER_S * elapsed_s:
            signs.append(f"{name} waited for the disk at {number(faults / elapsed_s)} page faults a second")
    if not signs:
        return None
    return RunWarning(
        kind=WarningKind.MEMORY_PRESSURE,
        seen="; ".join(signs),
        likely_cause="heap or page cache is too small for this index",
        remedy="give Elasticsearch more heap, or the machine more memory, and run again",
    )
