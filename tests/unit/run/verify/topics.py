"""Records of a topic, for tests of what verification reads back."""

from dataclasses import dataclass

from producers.dataset import Record


@dataclass(frozen=True)
class Message:
    """A record as Kafka's client gives it."""

    record: Record

    def key(self) -> bytes:
        """Its key."""
        return self.record[0]

    def value(self) -> bytes:
        """Its value."""
        return self.record[1]
