"""What a doctor finds, and how a program is asked."""

import subprocess
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["good", "optional", "bad"]
MARKS = {"good": "[green]✓[/green]", "optional": "[yellow]–[/yellow]", "bad": "[red]✗[/red]"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `bad` keeps Sluice from working, `optional` only from one way of working."""

    what: str
    verdict: Verdict
    sentence: str


def said_by(*command: str) -> str | None:
    """The first line of what a command prints; `None` if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip().partition("\n")[0] or None
