"""Warnings of a query load, to read before its figures."""

from collections import Counter
from collections.abc import Iterator

from lab.analysis.figures.limits import (
    BUSY_SENDER,
    is_sender_limited,
    keeps_rate,
    no_slack_text,
    sender_share,
    sender_text,
)
from lab.analysis.text import count, number
from lab.records.queries import QueryLoadResult
from lab.records.result import Limit
from lab.records.run import RunWarning, WarningKind

DISAGREE = 0.05


def query_warnings(load: QueryLoadResult, limit: Limit | None) -> Iterator[RunWarning | None]:
    """Warnings from the record of the query load alone.

    Args:
        limit: What limited queries alone; `None` where documents streamed meanwhile.
    """
    yield queries_did_not_keep_up(load, limit)
    yield clients_disagree(load)
    yield query_sender_limited(load)
    yield query_errors(load)


def queries_did_not_keep_up(load: QueryLoadResult, limit: Limit | None) -> RunWarning | None:
    """An open loop that was answered more slowly than it asked, so that its latencies tell how long it ran."""
    if keeps_rate(load) or load.rate_per_s is None:
        return None
    return RunWarning(
        kind=WarningKind.DID_NOT_KEEP_UP,
        seen=f"did NOT keep up with {number(load.rate_per_s)} queries/s: {number(load.answers_per_s)}/s were answered",
        likely_cause=no_slack_text(limit)
        if limit
        else f"{load.clients} clients are too few for that rate, or Elasticsearch has no room left",
        remedy="read no latency of these queries as the server's own, it grows with the length of the run; ask for a"
        " lower rate, or for more clients",
    )


def clients_disagree(load: QueryLoadResult) -> RunWarning | None:
    """Little's law: rate × time in the system is the number in it. Other clients than these were at work, or fewer."""
    expected = load.clients_expected
    if not expected or abs(load.clients_busy_mean - expected) <= DISAGREE * expected:
        return None
    busy = load.clients_busy_mean
    return RunWarning(
        kind=WarningKind.CLIENTS_DISAGREE,
        seen=f"{busy:.2f} clients had a query under way on average (service times added up ÷ time), where the settings"
        f" make {expected:.2f}",
        likely_cause="the sender could not keep all clients busy, or queries with errors took time that is in no"
        " service time"
        if busy < expected
        else "queries that began in the warm-up count whole: the measured part is short beside one query",
        remedy="do not compare these times with those of another number of clients; look at the sender's CPU time and"
        " at the errors, or send queries for longer",
    )


def query_sender_limited(load: QueryLoadResult) -> RunWarning | None:
    """Times that the sending process made itself."""
    if not is_sender_limited(load):
        return None
    return RunWarning(
        kind=WarningKind.QUERY_SENDER_LIMITED,
        seen=sender_text(load),
        likely_cause="one process sends all queries, and this rate is the most that it can do here"
        if sender_share(load) > BUSY_SENDER
        else "the servers and other programs left the sender no core when a query was due",
        remedy="do not read these rates and times as Elasticsearch's own; ask for a lower rate, or give the sender a"
        " core of its own",
    )


def query_errors(load: QueryLoadResult) -> RunWarning | None:
    """Queries without an answer, which no figure of time contains."""
    errors: Counter[str] = Counter()
    for question in load.questions:
        errors.update(question.errors)
    if not errors:
        return None
    kinds = ", ".join(f"{kind}: {count(times)}" for kind, times in errors.most_common())
    return RunWarning(
        kind=WarningKind.QUERY_ERRORS,
        seen=f"{count(errors.total())} of {count(load.requests)} queries were not answered ({kinds})",
        likely_cause="Elasticsearch rejected or failed them, or gave no answer in time; 429 means that its search queue"
        " was full",
        remedy="failed queries are in no percentile; fix the cause or lower the rate, and run again",
    )
