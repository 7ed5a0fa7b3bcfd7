"""Two summaries in Rally's words beside each other: what may be compared, and row by row why the rest may not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lab.analysis.rally.summary import Line
from lab.analysis.text import number

SAME_SIZE: Final = 0.05
"""Clusters whose data differ by less hold the same data."""
SIZES: Final = ("Dataset size", "Store size")
LATENCY, SERVICE_TIME = "latency", "service time"

Key = tuple[str, str]
"""Metric and task."""


@dataclass(frozen=True, slots=True)
class Beside:
    """One row of both.

    Attributes:
        change: second / first - 1; `None` where the row must not be compared, or the first value is 0.
        refused: Why it must not be compared; `None` where it may.
        note: What to know of a row that may be.
    """

    metric: str
    task: str
    unit: str
    first: float | None
    second: float | None
    change: float | None = None
    refused: str | None = None
    note: str = ""


def beside(first: Sequence[Line], second: Sequence[Line], *, of_rally: int = 2) -> list[Beside]:
    """Every row of either, in the order of the first.

    Args:
        of_rally: How many of the two are Rally's own; ours have the rows of one index where Rally's have all.
    """
    ours, theirs = ({(line.metric, line.task): line for line in lines} for lines in (first, second))
    unlike = unlike_clusters(ours, theirs, of_rally=of_rally) if of_rally else None
    keys = dict.fromkeys((*ours, *theirs))
    return [_row(key, ours.get(key), theirs.get(key), unlike, _repeats(key, ours, theirs)) for key in keys]


def unlike_clusters(first: Mapping[Key, Line], second: Mapping[Key, Line], *, of_rally: int = 2) -> str | None:
    """Why rows about a whole cluster are not of the same data; `None` where they are.

    Rally counts all indices of a cluster, those of others included.
    """
    counts = "counts all indices of the cluster" if of_rally > 1 else "is of one index on our side, of all on Rally's"
    for metric in SIZES:
        sizes = [lines[metric, ""] for lines in (first, second) if (metric, "") in lines]
        values = [line.value for line in sizes if line.value is not None]
        if len(values) < 2:
            continue
        if abs(values[0] - values[1]) <= SAME_SIZE * max(values):
            return None
        return f"{counts}, which held {number(values[0])} and {number(values[1])} {sizes[0].unit} ({metric.lower()})"
    return f"{counts}, and one of the two does not say how much it held (dataset size)"


def _repeats(key: Key, first: Mapping[Key, Line], second: Mapping[Key, Line]) -> bool:
    """Check that a latency repeats the service time on both sides, as it does without a target rate."""
    metric, task = key
    other = (metric.replace(LATENCY, SERVICE_TIME), task)
    return metric.endswith(LATENCY) and all(
        key in lines and other in lines and lines[key].value == lines[other].value for lines in (first, second)
    )


def _row(key: Key, ours: Line | None, theirs: Line | None, unlike: str | None, repeats: bool) -> Beside:  # noqa: FBT001
    metric, task = key
    line = ours or theirs
    assert line is not None  # noqa: S101 - the key is of one of them
    row = Beside(metric, task, line.unit, ours.value if ours else None, theirs.value if theirs else None)
    refused = next(_reasons(row, ours, theirs, unlike), None)
    if refused or row.first is None or row.second is None:
        return replace(row, refused=refused)
    change = row.second / row.first - 1 if row.first else None
    return replace(row, change=change, note="the service time again: no target rate" if repeats else "")


def _reasons(row: Beside, ours: Line | None, theirs: Line | None, unlike: str | None) -> Iterator[str]:
    if ours is None or theirs is None:
        yield f"only in the {'second' if ours is None else 'first'}"
    elif ours.value is None or theirs.value is None:
        yield f"the {'first' if ours.value is None else 'second'} has no value"
    elif ours.unit != theirs.unit:
        yield f"in {ours.unit or 'no unit'} and {theirs.unit or 'no unit'}"
    elif not row.task and unlike:
        yield unlike
