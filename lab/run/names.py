"""What the things of one run are called in the servers."""

from dataclasses import dataclass

from lab.profiles import Profile
from lab.run.index import index_name


@dataclass(frozen=True)
class Names:
    """The names of one run. All begin with `sluice-`, and nothing else is touched.

    A topic is never used twice: the consumer group's offsets, and the ids and versions made of offsets, belong to it.
    """

    index: str
    topic: str
    connector: str

    @classmethod
    def of(cls, profile: Profile, run_id: str) -> "Names":
        """The names for a run of the profile."""
        index = index_name(profile)
        return cls(index=index, topic=f"{index}-{run_id}", connector=f"{index}-{run_id}")

    @property
    def dead_letter_topic(self) -> str:
        """Where refused records go."""
        return f"{self.topic}-dead-letters"

    @property
    def consumer_group(self) -> str:
        """The sink's, as Kafka Connect names it."""
        return f"connect-{self.connector}"
