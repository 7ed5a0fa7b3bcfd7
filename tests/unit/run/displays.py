"""Displays of a run that tests look at."""

from lab.records.run import PhaseName


class SilentProgress:
    """Nobody watches."""

    def begin(self, phase: PhaseName, what: str, total: int | None) -> None:
        """Show nothing."""

    def update(self, done: int, detail: str = "") -> None:
        """Show nothing."""
