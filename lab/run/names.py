"""What the things of one run are called in the servers."""

import hashlib
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

from lab.profiles import Profile, QueryOnly
from lab.profiles.mapping import mapping_for
from producers.dataset import Dataset

RUN_ID = r"\d{8}-\d{6}(-\d{1,2})?(-stream-[0-9a-f]{8})?"
"""What the id of a run or of a stream looks like. Names are matched from end to end: `books-2` is not of `books`."""


KEPT = "sluice-kept-"
"""What the names of kept indices begin with."""

STAGING = "-staging"
"""What the name of a kept index ends in while its documents wait there to be reindexed."""

SET_IN_PLACE = ("requests.cache.enable",)
"""Index settings that a kept index takes from each run: what is stored is the same with and without them."""


def index_name(profile: Profile) -> str:
    """The index of a profile: `sluice-` and its name in the characters that Elasticsearch and Kafka both take.

    Where that changes more than a slash, a hash of the name keeps two profiles apart.
    """
    taken = re.sub(r"[^a-z0-9_.]+", "-", profile.name.lower()).strip("-.")
    if re.fullmatch(r"[a-z0-9_./-]+", profile.name) and not is_kept(f"sluice-{taken}"):
        return f"sluice-{taken}"
    return "-".join(filter(None, ("sluice", taken, hashlib.sha256(profile.name.encode()).hexdigest()[:8])))


def is_kept(index: str) -> bool:
    """Whether an index is a kept one, or what one is made of; `sluice-kept-books` is that of a profile."""
    return re.fullmatch(f"{KEPT}[0-9a-f]{{12}}({STAGING})?", index) is not None


def kept_index(profile: Profile, dataset: Dataset, root: Path) -> str | None:
    """The kept index that a run of the profile reads; `None` for a run that fills one of its own."""
    fingerprint = layout_fingerprint(profile, dataset, root)
    return fingerprint and f"{KEPT}{fingerprint[:12]}"


def layout_fingerprint(profile: Profile, dataset: Dataset, root: Path) -> str | None:
    """16 hexadecimal digits that two runs share exactly when they may read the same kept index.

    All that decides what is stored, and how: documents, mapping, index settings, route, codec, segments, version and
    nodes. Clients, questions, bounds and the settings of `SET_IN_PLACE` decide nothing of it. `None` for a run that
    fills an index of its own.
    """
    load = profile.load
    if not isinstance(load, QueryOnly):
        return None
    section = profile.elasticsearch
    first, last = dataset.document(0), dataset.document(dataset.documents - 1)
    decisive = {
        "dataset": profile.dataset.model_dump(mode="json"),
        # A changed generator, or a changed file, makes other documents of the same settings.
        "documents": [dataset.content_hash, dataset.documents, hashlib.sha256(first + last).hexdigest()],
        "mapping": mapping_for(profile, root),
        "index": {name: value for name, value in profile.index.items() if name not in SET_IN_PLACE},
        "load": [load.route, load.codec_before, load.segments],
        "elasticsearch": [profile.release.recorded, section.data_nodes],
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Names:
    """The names of one run. All begin with `sluice-`, and nothing else is touched.

    A topic is never used twice: the consumer group's offsets, and the ids and versions made of offsets, belong to it.

    Attributes:
        index: All indices of the run, separated by commas, as a request takes them; mostly one.
        topic: All topics of the run, one for each index in the same order, as a connector takes them.
    """

    index: str
    topic: str
    connector: str

    @classmethod
    def of(cls, profile: Profile, run_id: str) -> "Names":
        """The names for a run of the profile."""
        name = index_name(profile)
        indices = [name]
        if profile.indices > 1:
            # Two hyphens in a row are in no profile's index: its own are single.
            indices = [f"{name}--{number}" for number in range(1, profile.indices + 1)]
        topics = [f"{index}-{run_id}" for index in indices]
        return cls(index=",".join(indices), topic=",".join(topics), connector=f"{name}-{run_id}")

    def is_topic(self, name: str) -> bool:
        """Whether a topic is one that a run of this profile made, for documents, for dead letters or for clocks."""
        return (
            re.fullmatch(rf"{re.escape(self.base)}(--\d+)?-{RUN_ID}(-dead-letters(-marks)?|-clock)?", name) is not None
        )

    def is_index(self, name: str) -> bool:
        """Whether an index has a name that a run of this profile gives, with however many of them."""
        return re.fullmatch(rf"{re.escape(self.base)}(--\d+)?", name) is not None

    @property
    def base(self) -> str:
        """What the names of the profile's indices begin with: that of a single one."""
        return re.sub(r"--\d+$", "", self.indices[0])

    @property
    def indices(self) -> tuple[str, ...]:
        """The indices one by one."""
        return tuple(self.index.split(","))

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics one by one, in the order of the indices."""
        return tuple(self.topic.split(","))

    @property
    def parts(self) -> tuple["Names", ...]:
        """The same run as it looks from each of its indices."""
        return tuple(
            replace(self, index=index, topic=topic) for index, topic in zip(self.indices, self.topics, strict=True)
        )

    @property
    def dead_letter_topic(self) -> str:
        """Where refused records of all topics go."""
        return f"{self.connector}-dead-letters"

    @property
    def clock_topic(self) -> str:
        """Where drivers on other hosts compare their clocks with the broker's."""
        return f"{self.connector}-clock"

    @property
    def consumer_group(self) -> str:
        """The sink's."""
        return consumer_group(self.connector)


def consumer_group(connector: str) -> str:
    """The consumer group of a connector, as Kafka Connect names it."""
    return f"connect-{connector}"


def is_our_connector(name: str) -> bool:
    """Whether a connector is one that a run made, of whichever profile."""
    return re.fullmatch(f"sluice-.*{RUN_ID}", name) is not None
