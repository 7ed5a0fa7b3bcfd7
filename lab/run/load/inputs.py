"""What the runs of a suite load from: topics that are filled and bulk bodies that are made, once for all of them."""

import contextlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.clients.target import topics_of
from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.profiles import Profile
from lab.profiles.models import Direct, Drain
from lab.run.load.bodies import BulkBodies
from lab.run.load.shards import ShardTable
from lab.run.verify.topic import TopicComparison
from producers.dataset import Dataset
from producers.delivery import Delivered

KEPT_SHARE = 0.25
"""Most of the free disk that kept bodies take; of more, the oldest are given up."""


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
    """Topics and bodies, by what decides what is in them.

    Attributes:
        compared_topics: By the name of a topic, what verification has found in it.
    """

    topics: dict[str, FilledTopics] = field(default_factory=dict)
    bodies: dict[str, BulkBodies] = field(default_factory=dict)
    compared_topics: dict[str, TopicComparison] = field(default_factory=dict)

    @property
    def topic_names(self) -> frozenset[str]:
        """Every topic that is kept."""
        return frozenset(name for filled in self.topics.values() for name in filled.topic.split(","))

    def forget_broken(self, profile: Profile, dataset: Dataset, endpoints: Endpoints) -> None:
        """Give up the topics of such a run if they are gone, hold other documents, or have lost some by retention."""
        key = topics_key(profile, dataset, endpoints)
        filled = self.topics.get(key or "")
        if filled is None:
            return
        held: int | None = None
        with contextlib.suppress(StackError):
            kafka = topics_of(endpoints)
            present = set(kafka.names())
            names = filled.topic.split(",")
            held = sum(map(kafka.records_held, names)) if present.issuperset(names) else None
        compared = [self.compared_topics[name] for name in filled.topic.split(",") if name in self.compared_topics]
        if held != filled.delivered.delivered or any(topic.problem for topic in compared):
            self.forget(profile, dataset, endpoints)

    def forget(self, profile: Profile, dataset: Dataset, endpoints: Endpoints) -> None:
        """Have the next such run fill topics of its own."""
        self.topics.pop(topics_key(profile, dataset, endpoints) or "", None)

    def add_bodies(self, key: str, bodies: BulkBodies, folder: Path) -> None:
        """Keep another file of bodies, as long as all of them leave room on the folder's disk."""
        self.bodies[key] = bodies
        while len(self.bodies) > 1 and self.kept_bytes > KEPT_SHARE * (
            shutil.disk_usage(folder).free + self.kept_bytes
        ):
            self.drop_oldest()

    @property
    def kept_bytes(self) -> int:
        """What the kept bodies take on disk."""
        return sum(bodies.body_bytes for bodies in self.bodies.values())

    def drop_oldest(self) -> None:
        """Give up the file of bodies that was made first."""
        self.bodies.pop(next(iter(self.bodies))).file.close()

    def close(self) -> None:
        """Close the files of bodies, which have no names and are gone with that."""
        with contextlib.ExitStack() as leaving:
            for bodies in self.bodies.values():
                leaving.callback(bodies.file.close)
            self.bodies.clear()


def topics_key(profile: Profile, dataset: Dataset, endpoints: Endpoints) -> str | None:
    """What two runs must share to drain the same topics; `None` for one whose topics are filled while it drains."""
    if not isinstance(profile.load, Drain):
        return None
    parts = (profile.dataset, profile.topic, profile.producer)
    decisive = [part.model_dump(mode="json") for part in parts]
    return json.dumps([*decisive, dataset.content_hash, profile.indices, endpoints.kafka_bootstrap], sort_keys=True)


def bodies_key(profile: Profile, load: Direct, parts: Sequence[Dataset], tables: Sequence[ShardTable] = ()) -> str:
    """What two runs must share to send the same bulk bodies; tables where these are grouped by shard."""
    sizes = [part.documents for part in parts]
    decisive = [profile.dataset.model_dump(mode="json"), parts[0].content_hash, sizes]
    shards = [(table.routing_shards, len(table.urls)) for table in tables]
    return json.dumps([*decisive, load.batch_documents, load.bulk_size_bytes, shards], sort_keys=True)
