"""Labels and a note that a user gives a run, a suite or a tune."""

from collections.abc import Mapping
from dataclasses import dataclass, field

BASELINE = "baseline"
"""The label whose value names a run or a suite for `--baseline`."""


@dataclass(frozen=True)
class Marks:
    """Facts that only the user knows of a run: branch, commit, machine, reason."""

    labels: dict[str, str] = field(default_factory=dict)
    note: str = ""


NO_MARKS = Marks()


def marks_text(labels: Mapping[str, str], note: str = "") -> str:
    """Labels and note in one line: `branch=main, commit=abc: before the upgrade`; empty without either."""
    of_labels = ", ".join(f"{name}={value}" for name, value in labels.items())
    return ": ".join(filter(None, (of_labels, note)))
