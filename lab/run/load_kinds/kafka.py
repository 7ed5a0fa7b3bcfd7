"""Loads through Kafka and a sink: a drain, whose topic is filled first, and a stream, which the sink follows."""

import contextlib
from dataclasses import replace
from typing import Any

from lab.extensions import PIPELINES
from lab.monitor import Sources
from lab.profiles.index_settings import refresh_interval_s
from lab.profiles.models import Drain, Recorded, Stream
from lab.records.drivers import Driver
from lab.records.queries import DocumentRamp
from lab.records.run import Course, Delivery
from lab.run.load.driven import DrivenStream
from lab.run.load.produce import Producing
from lab.run.load.ramp import RisingStream
from lab.run.load.sink import Sink
from lab.run.load.stages import Stages
from lab.run.load.warm_up import StreamWarmUp
from lab.run.load_kinds.base import NO_HISTOGRAMS, Clients, L, Latest, Loading, Steps
from lab.run.phases import RunContext
from lab.run.prepare import create_topics
from lab.run.query.send import QuerySending
from lab.run.verify.accounting import DeliveredRecords
from lab.run.verify.parts import Accounting
from lab.run.verify.sink_ledger import (
    LedgerEvidence,
    LedgerReading,
    samples_in,
    tasks_restarted,
    unindexed_records,
    with_ledger,
)
from lab.run.verify.verify import VerificationTarget, verify_consumed
from producers.delivery import Delivered


class KafkaLoading(Loading[L]):
    """A load through topics and the sink.

    Attributes:
        delivered: Counts of the producers; there from the end of phase `fill` or `load` on.
        reading: The sink's ledger; `None` where there is no sink that could keep one.
    """

    delivered: Delivered

    def __init__(self, run: RunContext, clients: Clients, section: L) -> None:
        super().__init__(run, clients, section)
        self.sink = Sink(run, clients.worker)
        self.producing = Producing(run)
        self.histograms = NO_HISTOGRAMS
        self.reading: LedgerReading | None = None

    def configure(self) -> None:
        """Have the worker approve of the connector's configuration."""
        self.sink.configure()

    def create(self) -> None:
        """Create indices and topics."""
        super().create()
        run = self.run
        create_topics(self.clients.kafka, run.profile, run.names, filled=run.filled is not None)

    def sources(self) -> Sources:
        """Servers, index, topic and connector that the sampler reads."""
        connector, sink = self.run.names.connector, self.run.profile.sink
        return replace(
            super().sources(),
            topic=self.run.names.topic,
            connector=connector if self.sink.keeps_ledger else None,
            any_connector=connector if sink.is_connector else None,
            is_pulled=sink.pipeline is not None and PIPELINES[sink.pipeline].pulls,
        )

    @property
    def produced(self) -> int | None:
        """Records that Kafka has acknowledged so far."""
        return self.producing.produced

    def read_sink(self) -> None:
        """Read what the sink has measured and counted; a command in its place is stopped first."""
        self.sink.stop_command()
        self.histograms = self.sink.histograms()
        self.reading = self.sink.ledger()

    def verify(self) -> Accounting:
        """Compare what is stored with what was delivered, and the sink's ledger with both."""
        if self.reading is None:
            return self.verify_stored(self.verification_target())
        ends = {topic: self.clients.kafka.end_offsets(topic) for topic in self.run.names.topics}
        in_topic = {f"{topic}-{number}": end for topic, of in ends.items() for number, end in of.items()}
        restarted = tasks_restarted(samples_in(self.run.folder.samples))
        unindexed = unindexed_records(self.reading, in_topic, restarted=restarted)
        documents, verification = self.verify_stored(replace(self.verification_target(), unindexed=unindexed))
        evidence = LedgerEvidence(in_topic=in_topic, documents=documents, restarted=restarted)
        return documents, with_ledger(verification, self.reading, evidence)

    def verification_target(self) -> VerificationTarget:
        """Records that Kafka has acknowledged, under the ids that the sink gives."""
        sent = self.delivered
        return replace(
            super().verification_target(),
            records=DeliveredRecords(sent.produced, sent.delivered, sent.failed, failures=sent.failures),
            key_is_id=self.sink.key_is_id,
            ids_are_generated=self.sink.ids_are_generated,
            id_prefix=self.sink.id_prefix,
            as_stored=self.sink.stored,
            compared_topics=self.run.inputs.compared_topics if self.run.inputs else {},
        )

    def verify_stored(self, target: VerificationTarget) -> Accounting:
        """Compare what is stored; or what was consumed, of a sink that is to store nothing."""
        if self.run.profile.verify.expect == "stored":
            return super().verify_stored(target)
        self.run.progress.begin("verify", "reading every id back", self.run.dataset.documents)
        return verify_consumed(target, self.clients.kafka, self.clients.cluster, self.run.progress.update)

    @property
    def connector_config(self) -> dict[str, str]:
        """The connector's configuration, or the command in its place."""
        return self.sink.config

    @property
    def unread_settings(self) -> tuple[str, ...]:
        """Settings of the connector that the connector does not have."""
        return self.sink.unread_settings

    def record(self) -> dict[str, Any]:
        """The fields of `Run` about topic, producers and sink."""
        filled = self.run.filled
        counted = {name: getattr(self.delivered, name) for name in Delivery.model_fields if name != "earlier_run"}
        return {
            **super().record(),
            "topic": self.run.names.topic,
            "delivery": Delivery(**counted, earlier_run=filled.filled_by if filled else None),
            "sink_histograms": self.histograms,
            "sink_ledger": self.reading.ledger if self.reading else None,
        }

    def stop(self) -> None:
        """Stop a command in place of the sink."""
        self.sink.stop_command()


class Draining(KafkaLoading[Drain]):
    """A drain: the topics are filled first, or were filled by an earlier run of the suite; then the sink starts."""

    def phases(self, latest: Latest) -> Steps:
        """Fill the topics, then drain them."""
        yield "fill", self.fill
        yield "load", lambda: self.drain(latest)
        self.read_sink()

    def fill(self) -> None:
        """Fill the topics, unless an earlier run of the suite has filled them with the same documents."""
        if self.run.filled:
            self.delivered = self.run.filled.delivered
            return
        self.delivered = self.producing.fill()
        self.run.keep_topics(self.delivered)

    def drain(self, latest: Latest) -> None:
        """Start the sink, and wait until it has committed every record."""
        self.sink.start()
        self.sink.drain(latest, self.delivered.delivered)

    def read_sink(self) -> None:
        """Read the sink's figures, without the age of records that have waited in a topic since an earlier run."""
        super().read_sink()
        if self.run.filled:
            self.histograms = self.histograms.model_copy(update={"record_age": None})


class Streaming(KafkaLoading[Stream | Recorded]):
    """A stream: documents are produced while the sink runs, here or by drivers, and queries may be sent meanwhile."""

    def __init__(self, run: RunContext, clients: Clients, section: Stream | Recorded) -> None:
        super().__init__(run, clients, section)
        self.warm_up = StreamWarmUp(self.sink.histograms)
        self.sending: QuerySending | None = None
        self.document_ramp: DocumentRamp | None = None
        self.course: Course | None = None
        self.drivers: tuple[Driver, ...] = ()

    def sources(self) -> Sources:
        """Sources of a load through Kafka, and ages of records; in a drain these are the time spent in the topic."""
        return replace(super().sources(), reads_ages=True)

    def phases(self, latest: Latest) -> Steps:
        """Stream while the process that sends queries, if any, stands ready."""
        with contextlib.ExitStack() as leaving:
            if self.section.queries:
                refresh_s = refresh_interval_s(self.clients.cluster.index_settings(self.run.names.index))
                self.sending = leaving.enter_context(QuerySending(self.run, self.section.queries, refresh_s))
            yield "load", lambda: self.stream(latest)
            if self.sending:
                self.query_load = self.sending.result()
        self.read_sink()

    def stream(self, latest: Latest) -> None:
        """Start the sink, produce every document, and wait until the sink has committed all records."""
        if isinstance(self.section, Stream) and self.section.stages:
            stages = Stages(self.producing, self.sink, self.section, latest=latest, check=self.check)
            self.delivered, self.course = stages.run()
            self.sink.drain(latest, self.delivered.delivered)
            return
        self.sink.start()
        if self.sending:
            self.sending.go()
        self.delivered = self.produce(latest)
        if self.sending:
            self.sending.stop()
        self.sink.drain(latest, self.delivered.delivered)

    def produce(self, latest: Latest) -> Delivered:
        """Produce at the profile's rate, at one that rises, or as recorded, or have drivers on other hosts do so."""
        if self.run.drivers:
            driven = DrivenStream(self.producing, self.run.drivers, latest, self.check)
            delivered = driven.run()
            self.drivers = driven.drivers
            return delivered
        if isinstance(self.section, Recorded) or self.section.ramp is None:
            return self.producing.stream(self.check)
        rate = self.section.rate_docs_per_s
        rising = RisingStream(self.producing, self.sink, self.section.ramp, rate, latest=latest, check=self.check)
        delivered, self.document_ramp = rising.run()
        return delivered

    def check(self) -> None:
        """Look after what takes part while documents are produced.

        Raises:
            StackError: The sink, or the process that sends queries, has ended or failed.
        """
        self.sink.refuse_end()
        if self.sending:
            self.sending.follow()
        self.warm_up.follow(self.producing.since_due_s)

    def read_sink(self) -> None:
        """Read the sink's figures, with what is to be left out of them for the warm-up."""
        super().read_sink()
        self.histograms = self.warm_up.cut(self.histograms)

    def record(self) -> dict[str, Any]:
        """The fields of `Run` about a load through Kafka, and those of a stream."""
        return {**super().record(), "document_ramp": self.document_ramp, "course": self.course, "drivers": self.drivers}
