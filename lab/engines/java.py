"""Ranges of Java releases."""

from dataclasses import dataclass

NEWEST_KNOWN = 26


@dataclass(frozen=True)
class JavaRange:
    """The feature releases that a server runs on, both ends included.

    Attributes:
        needs_jdk: Whether the server lacks something on runtimes that are smaller than a JDK.
    """

    oldest: int
    newest: int
    needs_jdk: bool = False

    @property
    def features(self) -> range:
        """All of them."""
        return range(self.oldest, self.newest + 1)

    def __str__(self) -> str:
        """As it reads in a sentence."""
        return f"{self.oldest} to {self.newest}"
