"""The documents of a run on their way into Kafka."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lab.analysis.text import number
from lab.clients.kafka import kafka_text
from lab.endpoints import Endpoints
from lab.errors import ProfileError, StackError
from lab.monitor import CLOCK
from lab.profiles import Profile
from lab.profiles.models import Recorded
from lab.records.run import PhaseName
from lab.run.phases import RunContext
from producers.delivery import Delivered, ProduceError, Progress
from producers.produce import produce


@dataclass
class Producing:
    """Puts the whole dataset into the topic.

    Attributes:
        produced: Records acknowledged by Kafka so far; `None` when nothing produces. Read by the sampler's thread.
        first_due_s: When the first document of all was due; `None` before the first word of the producers.
    """

    run: RunContext
    produced: int | None = field(default=None, init=False)
    first_due_s: float | None = field(default=None, init=False)
    _check_sink: Callable[[], None] | None = field(default=None, init=False)

    @property
    def since_due_s(self) -> float:
        """Time since the first document of all was due; 0 before it."""
        return 0.0 if self.first_due_s is None else max(0.0, CLOCK.now_s() - self.first_due_s)

    def fill(self) -> Delivered:
        """Fill the topic as fast as possible."""
        return self.produce("fill", "filling the topic", None)

    def stream(self, check_sink: Callable[[], None]) -> Delivered:
        """Produce at the profile's rate, or as recorded, while the sink runs; an error of `check_sink` ends it."""
        self._check_sink = check_sink
        return self.produce("load", "streaming", self.run.profile.load.rate_docs_per_s)

    def step(self, start: int, stop: int, rate_docs_per_s: float | None, check_sink: Callable[[], None]) -> Delivered:
        """Produce some of the documents while the sink runs, at a rate or as fast as possible."""
        self._check_sink = check_sink
        return self.produce("load", "streaming", rate_docs_per_s, start, stop)

    def produce(
        self, phase: PhaseName, what: str, rate_docs_per_s: float | None, start: int = 0, stop: int | None = None
    ) -> Delivered:
        """Produce documents at a rate, or as fast as possible.

        Raises:
            ProfileError: No producer can be made with these settings.
            StackError: Kafka did not take it.
        """
        stop = self.run.dataset.documents if stop is None else stop
        self.run.progress.begin(phase, what, stop - start)
        try:
            return produce(
                self.run.dataset,
                self.run.names.topics,
                client=client_settings(self.run.profile, self.run.target.endpoints),
                start=start,
                stop=stop,
                processes=self.run.profile.producer.processes,
                rate_docs_per_s=rate_docs_per_s,
                pace=load.speed if isinstance(load := self.run.profile.load, Recorded) else None,
                progress=lambda progress: self.on_produced(progress, start),
            )
        except ProduceError as error:
            raise StackError(f"producer: {error}") from error
        except ValueError as error:
            raise ProfileError(f"producer: {error}") from error
        finally:
            self.produced = None

    def on_produced(self, progress: Progress, earlier: int = 0) -> None:
        """Pass the producers' progress on, which begins anew with each step."""
        self.produced = earlier + progress.delivered
        if self.first_due_s is None:
            self.first_due_s = CLOCK.now_s() - progress.elapsed_s
        late = f", {progress.late_documents:,} late" if progress.late_documents else ""
        self.run.progress.update(progress.delivered, f"{number(progress.delivery_rate_docs_per_s)}/s into Kafka{late}")
        if self._check_sink and progress.delivered + progress.failed < progress.documents:
            self._check_sink()


def client_settings(profile: Profile, endpoints: Endpoints) -> dict[str, str]:
    """Settings of a producers' Kafka client, as text: the profile's, and how to reach the servers."""
    own = {name: kafka_text(value) for name, value in profile.producer.client.items()}
    return {**own, **endpoints.access.kafka, "bootstrap.servers": endpoints.kafka_bootstrap}
