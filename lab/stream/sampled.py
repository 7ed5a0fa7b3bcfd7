"""A stream under way as the live page follows it: samples and progress in a folder that is not kept."""

import contextlib
import fcntl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab.endpoints import Endpoints
from lab.monitor import Sampler, Sources
from lab.profiles import Profile
from lab.run.environment import profile_without_secrets
from lab.run.folder import RunFolder
from lab.run.names import Names
from lab.run.phases import NoDisplay, PhaseClock
from lab.run.progress import ProgressFile
from lab.stream.laps import Watcher

MOST_BYTES = 16 << 20
"""Of samples: a stream has no end, and the page shows its last ten minutes."""


@dataclass
class SampledStream:
    """Writes down how a stream goes, for the page, before another watcher hears of it.

    Attributes:
        documents: Sent since the stream began; `None` before the first word.
    """

    watcher: Watcher
    progress: ProgressFile
    samples: Path
    documents: int | None = field(default=None, init=False)

    def sending(self, documents: int, lag: int) -> None:
        """So many documents have been sent since the stream began."""
        self._write(documents, lag)
        self.watcher.sending(documents, lag)

    def waiting(self, documents: int, lag: int) -> None:
        """The sink is too far behind, or Kafka does not answer."""
        self._write(documents, lag)
        self.watcher.waiting(documents, lag)

    def _write(self, documents: int, lag: int) -> None:
        self.documents = documents
        self.progress.update(documents, f"{documents:,} documents sent, lag {lag:,}" if lag >= 0 else "")
        keep_small(self.samples)


@contextlib.contextmanager
def sampled_stream(
    profile: Profile, endpoints: Endpoints, names: Names, runs: Path, watcher: Watcher
) -> Iterator[SampledStream]:
    """Sample a stream while it is sent, into a folder below `runs` that looks like a run's.

    Args:
        watcher: Hears everything, too.
    """
    folder, clock = RunFolder.create(runs, profile.name), PhaseClock()
    folder.write_text("profile.json", profile_without_secrets(profile).model_dump_json() + "\n")
    sources = Sources(
        endpoints=endpoints,
        index=names.index,
        topic=names.topic,
        consumer_group=names.consumer_group,
        connector=names.connector,
        any_connector=names.connector,
        reads_ages=True,
    )
    with ProgressFile(folder, profile, NoDisplay(), clock) as progress, clock.phase("load"):
        progress.begin("load", "streaming", None)
        stream = SampledStream(watcher, progress, folder.samples)
        with Sampler(
            sources,
            folder.samples,
            profile.sampling.interval_s,
            phase=lambda: "load",
            produced=lambda: stream.documents,
        ):
            yield stream


def keep_small(samples: Path) -> None:
    """Empty a file of samples that has become large; who reads along has read all but the last of it."""
    with contextlib.suppress(OSError):
        if samples.stat().st_size > MOST_BYTES:
            with samples.open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.truncate(0)
