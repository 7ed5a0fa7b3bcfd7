"""What a run tells whoever watches it."""

from typing import Protocol

from lab.records import PhaseName


class RunProgress(Protocol):
    """A display of a run's phases; none of its methods may fail."""

    def begin(self, phase: PhaseName, what: str, total: int | None) -> None:
        """A phase, or a step of one, begins.

        Args:
            what: The step in a few words, such as `filling the topic`.
            total: How many units there are to do; `None` if that is not known.
        """
        ...

    def update(self, done: int, detail: str = "") -> None:
        """So many of the units are done by now; `detail` has what else is worth seeing, such as the lag."""
        ...


class SilentProgress:
    """Nobody watches."""

    def begin(self, phase: PhaseName, what: str, total: int | None) -> None:
        """Show nothing."""

    def update(self, done: int, detail: str = "") -> None:
        """Show nothing."""
