"""What the runs of a suite load from: topics that are filled and bulk bodies that are made, once for all of them."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from lab.endpoints import Endpoints
from lab.profiles import Direct, Profile
from lab.run.load.bodies import BulkBodies
from producers.dataset import Dataset
from producers.delivery import Delivered

MOST_BODIES = 4
"""Files of bulk bodies that are kept at the same time; of more, the oldest is given up."""


@dataclass(frozen=True)
class FilledTopics:
    """The topics that hold a whole dataset, one for each index.

    Attributes:
        topic: Their names, separated by commas, as a connector takes them.
        delivered: What the producers did.
        filled_by: The run that filled them.
    """

    topic: str
    delivered: Delivered
    filled_by: str


@dataclass
class Inputs:
    """Topics and bodies, by what decides what is in them."""

    topics: dict[str, FilledTopics] = field(default_factory=dict)
    bodies: dict[str, BulkBodies] = field(default_factory=dict)

    @property
    def topic_names(self) -> frozenset[str]:
        """Every topic that is kept."""
        return frozenset(name for filled in self.topics.values() for name in filled.topic.split(","))

    def add_bodies(self, key: str, bodies: BulkBodies) -> None:
        """Keep another file of bodies."""
        self.bodies[key] = bodies
        while len(self.bodies) > MOST_BODIES:
            self.bodies.pop(next(iter(self.bodies))).file.close()

    def close(self) -> None:
        """Close the files of bodies, which have no names and are gone with that."""
        with ExitStack() as leaving:
            for bodies in self.bodies.values():
                leaving.callback(bodies.file.close)
            self.bodies.clear()


def topics_key(profile: Profile, dataset: Dataset, endpoints: Endpoints) -> str | None:
    """What two runs must share to drain the same topics; `None` for one whose topics are filled while it drains."""
    if profile.load.via != "kafka" or profile.load.mode != "drain":
        return None
    parts = (profile.dataset, profile.topic, profile.producer)
    decisive = [part.model_dump(mode="json") for part in parts]
    return json.dumps([*decisive, dataset.content_hash, profile.indices, endpoints.kafka_bootstrap], sort_keys=True)


def bodies_key(profile: Profile, load: Direct, parts: Sequence[Dataset]) -> str:
    """What two runs must share to send the same bulk bodies."""
    sizes = [part.documents for part in parts]
    decisive = [profile.dataset.model_dump(mode="json"), parts[0].content_hash, sizes]
    return json.dumps([*decisive, load.batch_documents, load.bulk_size_bytes], sort_keys=True)
