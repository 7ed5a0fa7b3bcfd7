"""The sink's own ledger in a report: by task and partition, and which of its laws hold."""

from lab.analysis.page.markup import card, folded, paragraph, table
from lab.analysis.text import UNKNOWN, count
from lab.records import Ledger, LedgerVerdict, Run

COLUMNS = {
    "read": "read",
    "indexed": "indexed",
    "updated": "updated",
    "deleted": "deleted",
    "already_there": "already there",
    "stale": "stale",
    "dead_lettered": "dead-lettered",
    "dropped": "dropped",
    "in_flight": "in flight",
}
MARKS = {"holds": "✓", "broken": "✗", "not checked": UNKNOWN}


def section(run: Run) -> str:
    """The ledger's table, and the laws with what was seen; nothing for a run that was verified without them."""
    verdict = run.verification.ledger
    if verdict is None:
        return ""
    return f'<div class="below">{laws(verdict)}{by_partition(run)}</div>'


def laws(verdict: LedgerVerdict) -> str:
    """Each law, whether it holds, and what was seen or why it could not be checked."""
    rows = [(MARKS[check.outcome], check.law, check.found) for check in verdict.checks]
    told = table(("", "law", "seen"), rows, numbers_from=99)
    covers = f"It has counted {verdict.covers}." if verdict.covers else "There is none."
    return card("The sink's ledger against topic and index", paragraph(covers, "note") + told)


def by_partition(run: Run) -> str:
    """One row for each partition of each task."""
    if run.sink_ledger is None:
        return ""
    rows = [
        (number, name, *figures(ledger))
        for number, task in run.sink_ledger.tasks.items()
        for name, ledger in task.partitions.items()
    ]
    return folded(
        "The sink's ledger by task and partition",
        f'<div class="card">{table(("task", "partition", *COLUMNS.values()), rows, numbers_from=2)}</div>',
    )


def figures(ledger: Ledger) -> tuple[str, ...]:
    """The row's counts."""
    return tuple(count(getattr(ledger, field)) for field in COLUMNS)


def broken_laws(verdict: LedgerVerdict | None) -> list[str]:
    """What was seen of each law that does not hold."""
    return [check.found for check in verdict.checks if check.outcome == "broken"] if verdict else []
