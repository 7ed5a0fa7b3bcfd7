"""The load of a run in each of its phases, with the defaults of a load that fills an index without Kafka."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from lab.clients.connect import ConnectWorker
from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.monitor import CLOCK, Sources
from lab.profiles.models import Section
from lab.records.queries import QueryLoadResult
from lab.records.run import PhaseName, SinkHistograms
from lab.records.samples import Sample
from lab.records.verification import Documents
from lab.run.load.drain import wait_for_sample_after
from lab.run.phases import RunContext, wait_for_merges
from lab.run.prepare import create_index, remove_earlier, remove_topics
from lab.run.query.ask import try_questions_out
from lab.run.verify.accounting import DeliveredRecords
from lab.run.verify.parts import Accounting, verify_parts
from lab.run.verify.verify import VerificationTarget

L = TypeVar("L", bound=Section)

NO_HISTOGRAMS: Final = SinkHistograms(record_age=None, bulk_service_time=None)

Steps: TypeAlias = Generator[tuple[PhaseName, Callable[[], None]], None, None]
"""Phases in order, each with its work. What is done between two of them counts for neither."""

Latest: TypeAlias = Callable[[], Sample | None]
"""The newest sample of a run."""


@dataclass(frozen=True)
class Clients:
    """Clients of the servers of one run."""

    cluster: ElasticsearchClient
    worker: ConnectWorker
    kafka: KafkaTopics


class Loading(ABC, Generic[L]):
    """The load of one run. Methods are called in the order in which they stand here.

    Attributes:
        section: The profile's section `load`.
        unassigned: Shards of the run's indices that no node holds.
        unchanged_since_s: When the indices were last written to, by the monotonic clock; `None` for a load that writes
            until the run is verified.
        query_load: Result of the queries that were sent side by side; `None` where none were.
        index_documents: Accounting of each index, where there are several.
    """

    def __init__(self, run: RunContext, clients: Clients, section: L) -> None:
        self.run = run
        self.clients = clients
        self.section = section
        self.unassigned = 0
        self.unchanged_since_s: float | None = None
        self.query_load: QueryLoadResult | None = None
        self.index_documents: Mapping[str, Documents] = {}

    # --- prepare ----------------------------------------------------------------------------------------------------

    def configure(self) -> None:
        """Have the servers approve of the load's settings before anything is created; nothing by default."""

    def clear(self) -> None:
        """Remove the indices of earlier runs of the profile."""
        remove_earlier(self.clients.cluster, self.run.names)

    def create(self) -> None:
        """Create the indices, and try the profile's questions out while they are empty.

        Raises:
            ProfileError: A server refuses a setting, the mapping or a question.
        """
        run, cluster, settings = self.run, self.clients.cluster, self.run.target.index_settings
        self.unassigned = sum(
            create_index(cluster, run.profile, index, run.folder.run_id, target_settings=settings)
            for index in run.names.indices
        )
        try_questions_out(run)
        remove_topics(self.clients.kafka, run.names, kept=run.inputs.topic_names if run.inputs else ())

    # --- fill, load, settle -----------------------------------------------------------------------------------------

    def phases_before_samples(self) -> Steps:
        """Phases that the run's sampler does not see; none by default."""
        yield from ()

    def sources(self) -> Sources:
        """Servers, index and topic that the sampler reads."""
        return Sources(
            endpoints=self.run.target.endpoints,
            index=self.run.names.index,
            topic=None,
            consumer_group=self.run.names.consumer_group,
            connector=None,
            containers=self.run.target.containers,
        )

    @property
    def produced(self) -> int | None:
        """Records that Kafka has acknowledged so far; `None` while nothing produces. The sampler's thread reads it."""
        return None

    @abstractmethod
    def phases(self, latest: Latest) -> Steps:
        """Phases `fill` and `load`, as far as the load has them."""

    def settle(self, latest: Latest) -> None:
        """Refresh, and wait a while for merges to end, so that the counters are final."""
        self.run.progress.begin("settle", "waiting for merges", None)
        wait_for_merges(self.run, self.clients.cluster, self.run.names.index)
        # What merges cost is charged to the run that has caused them.
        wait_for_sample_after(CLOCK.now_s(), latest)

    # --- verify, collect --------------------------------------------------------------------------------------------

    def verify(self) -> Accounting:
        """Compare what is stored with what was loaded."""
        return self.verify_stored(self.verification_target())

    def verification_target(self) -> VerificationTarget:
        """Documents and ids that verification expects."""
        return VerificationTarget(
            dataset=self.run.dataset,
            names=self.run.names,
            records=DeliveredRecords(self.run.dataset.documents),
            key_is_id=True,
            sample=self.run.profile.verify.sample,
            seed=self.run.folder.run_id,
            refusals=self.refusals(),
        )

    def refusals(self) -> tuple[str, ...]:
        """Problems that the load itself has seen, a sentence each; none by default."""
        return ()

    def verify_stored(self, target: VerificationTarget) -> Accounting:
        """Compare each index with the documents that are meant for it."""
        self.run.progress.begin("verify", "reading every id back", self.run.dataset.documents)
        kafka, cluster = self.clients.kafka, self.clients.cluster
        documents, verification, by_index = verify_parts(target, kafka, cluster, self.run.progress.update)
        # By the names that the samples know; a deployment may have given others.
        self.index_documents = dict(zip(self.run.first_names.indices, by_index.values(), strict=False))
        return documents, verification

    @property
    def connector_config(self) -> dict[str, str]:
        """The connector's configuration, or the command in its place; empty without Kafka."""
        return {}

    @property
    def unread_settings(self) -> tuple[str, ...]:
        """Settings of the connector that the connector does not have; none without Kafka."""
        return ()

    def record(self) -> dict[str, Any]:
        """The load's own fields of `Run`."""
        return {
            "topic": None,
            "delivery": None,
            "sink_histograms": NO_HISTOGRAMS,
            "query_load": self.query_load,
            "index_documents": dict(self.index_documents),
        }

    # --- however the run ended --------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop every process of the load that still runs; nothing by default."""
