"""The documents of a run on their way into Kafka."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lab.clients.kafka import kafka_text
from lab.errors import ProfileError, StackError
from lab.profiles import Profile
from lab.records import Delivery
from lab.run.phases import RunContext
from producers.delivery import Delivered, ProduceError, Progress
from producers.produce import produce


@dataclass
class Producing:
    """Puts the whole dataset into the topic.

    Attributes:
        produced: Records acknowledged by Kafka so far; `None` when nothing produces. Read by the sampler's thread.
    """

    run: RunContext
    produced: int | None = field(default=None, init=False)
    _check_sink: Callable[[], None] | None = field(default=None, init=False)

    def fill(self) -> Delivered:
        """Fill the topic as fast as possible."""
        self.run.progress.begin("fill", "filling the topic", self.run.dataset.documents)
        return self.produce(None)

    def stream(self, check_sink: Callable[[], None]) -> Delivered:
        """Produce at the profile's rate, while the sink runs; an error of `check_sink` ends it."""
        self._check_sink = check_sink
        self.run.progress.begin("load", "streaming", self.run.dataset.documents)
        return self.produce(self.run.profile.load.rate_docs_per_s)

    def produce(self, rate_docs_per_s: float | None) -> Delivered:
        """Produce at a rate, or as fast as possible.

        Raises:
            ProfileError: No producer can be made with these settings.
            StackError: Kafka did not take it.
        """
        try:
            return produce(
                self.run.dataset,
                self.run.names.topic,
                client={
                    **client_settings(self.run.profile),
                    **self.run.target.access.kafka,
                    "bootstrap.servers": self.run.target.endpoints.kafka_bootstrap,
                },
                processes=self.run.profile.producer.processes,
                rate_docs_per_s=rate_docs_per_s,
                progress=self.on_produced,
            )
        except ProduceError as error:
            raise StackError(f"producer: {error}") from error
        except ValueError as error:
            raise ProfileError(f"producer: {error}") from error
        finally:
            self.produced = None

    def on_produced(self, progress: Progress) -> None:
        """Pass the producers' progress on."""
        self.produced = progress.delivered
        late = f", {progress.late_documents} late" if progress.late_documents else ""
        self.run.progress.update(progress.delivered, f"{progress.delivery_rate_docs_per_s:,.0f}/s into Kafka{late}")
        if self._check_sink and progress.delivered + progress.failed < progress.documents:
            self._check_sink()


def client_settings(profile: Profile) -> dict[str, str]:
    """The profile's settings for the producers' Kafka client, as text."""
    return {name: kafka_text(value) for name, value in profile.producer.client.items()}


def delivery_record(delivered: Delivered) -> Delivery:
    """What the producers did, for the run's record."""
    return Delivery(
        source_bytes=delivered.source_bytes,
        entities=delivered.entities,
        rate_docs_per_s=delivered.rate_docs_per_s,
        first_intended_s=delivered.first_intended_s,
        last_acknowledged_s=delivered.last_acknowledged_s,
        late_documents=delivered.late_documents,
        latency_ms=delivered.latency_ms,
        latency_samples=delivered.latency_samples,
        latencies_clamped=delivered.latencies_clamped,
        cpu_s=delivered.cpu_s,
    )
