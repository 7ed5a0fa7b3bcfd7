"""The phases of one run, in order: prepare → fill → load → settle → verify → query → collect."""

import contextlib
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

import producers.delivery
from lab.errors import StackError
from lab.monitor import Sampler, Sources, read_sink_histograms
from lab.profiles import Direct, Profile
from lab.records import (
    Delivery,
    DirectLoad,
    Documents,
    Phase,
    PhaseName,
    QuestionAsked,
    Run,
    RunWarning,
    SinkHistograms,
    Verification,
)
from lab.run.cautions import cold_servers, servers_elsewhere, shards_unassigned
from lab.run.command import CommandSink, filled_command, own_values
from lab.run.connector import ConnectWorker, connector_config
from lab.run.consumed import verify_consumed
from lab.run.direct import load_directly, refusals, wait_for_sample_after
from lab.run.drain import DrainWatch, Goal
from lab.run.elasticsearch import ElasticsearchClient
from lab.run.entrants import OURS
from lab.run.environment import describe_environment, words_without_secrets
from lab.run.folder import RunFolder
from lab.run.index import create_index, index_name
from lab.run.kafka import KafkaTopics, kafka_text
from lab.run.progress import RunProgress
from lab.run.queries import ask_questions, problems_of, try_questions_out
from lab.run.sink_ledger import Found, LedgerReading, read_settled_ledger, samples_in, tasks_restarted, with_ledger
from lab.run.target import Target
from lab.run.verify import Subject, verify
from producers.dataset import Dataset
from producers.delivery import Delivered, ProduceError
from producers.produce import produce

POLL_S = 0.2
STATUS_EVERY_S = 2.0
SETTLE_S = 60.0
PATIENCE_S = 120.0
GOODBYE_S = 5.0


@dataclass(frozen=True)
class Names:
    """What the things of one run are called in the servers. All begin with `sluice-`, and nothing else is touched.

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


def run_profile(
    profile: Profile,
    dataset: Dataset,
    target: Target,
    folder: RunFolder,
    *,
    root: Path,
    progress: RunProgress,
    command: Sequence[str] = (),
) -> Run:
    """Run a profile on running servers and write its records into the folder.

    Args:
        dataset: That of the profile, made (and so checked) before any server was started.
        root: The checkout, for mappings and connector templates.
        command: The command line, for whoever wants to do it again.

    Returns:
        What was done; its `verification` says whether to believe it.

    Raises:
        ProfileError: A server refuses a setting of the profile.
        StackError: A server, the connector or a task failed for good.
    """
    run = _RunUnderWay(profile, dataset, target, folder, root=root, progress=progress)
    try:
        record = run.record_of(command)
    finally:
        run.close()
    folder.write("run.json", record)
    return record


@dataclass
class _Clock:
    """The phases so far. `current` is read by the sampler's thread."""

    phases: list[Phase] = field(default_factory=list)
    current: PhaseName = "prepare"

    @contextlib.contextmanager
    def phase(self, name: PhaseName) -> Iterator[None]:
        """Time a phase."""
        self.current = name
        started_s = time.time()
        try:
            yield
        finally:
            self.phases.append(Phase(name=name, started_s=started_s, ended_s=time.time()))


class _RunUnderWay:
    """One run while it runs: the clients it uses and what it has found out so far."""

    def __init__(
        self,
        profile: Profile,
        dataset: Dataset,
        target: Target,
        folder: RunFolder,
        *,
        root: Path,
        progress: RunProgress,
    ) -> None:
        self.profile = profile
        self.dataset = dataset
        self.target = target
        self.folder = folder
        self.root = root
        self.progress = progress
        self.names = Names.of(profile, folder.run_id)
        self.clock = _Clock()
        self.cluster = self.elasticsearch_client()
        self.worker = ConnectWorker(target.endpoints.connect_url, access=target.access)
        self.kafka = KafkaTopics(target.endpoints.kafka_bootstrap, target.access.kafka)
        self.is_direct = isinstance(profile.load, Direct)
        self.pipeline: CommandSink | None = None
        self.counts_itself = False
        self.children: dict[str, int] = {}
        self.warnings: list[RunWarning] = []
        self.produced: int | None = None

    def record_of(self, command: Sequence[str]) -> Run:
        """Do everything; the record of it."""
        started_s = time.time()
        if self.target.fresh:
            self.warnings.append(cold_servers())
        if not self.target.process_ids():
            self.warnings.append(servers_elsewhere())
        with self.clock.phase("prepare"):
            connector = self.prepare()
        delivered: Delivered | None = None
        direct: DirectLoad | None = None
        with self.sampler() as sampler:
            if isinstance(self.profile.load, Direct):
                direct, histograms = self.send_directly(self.profile.load, sampler)
            elif self.profile.load.mode == "drain":
                with self.clock.phase("fill"):
                    delivered = self.fill()
                with self.clock.phase("load"):
                    self.start_sink(connector)
                    self.drain(sampler, delivered.delivered)
            else:
                with self.clock.phase("load"):
                    self.start_sink(connector)
                    delivered = self.stream()
                    self.drain(sampler, delivered.delivered)
            self.stop_pipeline()
            reading: LedgerReading | None = None
            if delivered:
                histograms = self.histograms()
                if self.pipeline is None:
                    reading = read_settled_ledger(
                        self.target.endpoints.metrics_url, self.names.connector, access=self.target.access.metrics
                    )
            with self.clock.phase("settle"):
                self.settle()
        with self.clock.phase("verify"):
            key_is_id = connector.get("key.ignore", "false") != "true"
            documents, verification = self.verify(delivered, direct, key_is_id=key_is_id)
            if reading:
                verification = with_ledger(verification, reading, self.found(documents))
        questions, verification = self.query(verification)
        with self.clock.phase("collect"):
            self.progress.begin("collect", "writing down", None)
            environment = describe_environment(
                self.root,
                target=self.target.name,
                servers=self.target.servers,
                java_versions=self.target.java_versions,
                index_settings=self.cluster.index_settings(self.names.index),
                connector=connector,
            )
        return Run(
            run_id=self.folder.run_id,
            profile=self.profile.name,
            question=self.profile.question,
            started_s=started_s,
            ended_s=time.time(),
            phases=tuple(self.clock.phases),
            load=self.profile.load.mode,
            via=self.profile.load.via,
            index=self.names.index,
            topic=self.topic,
            documents=documents,
            verification=verification,
            delivery=delivery_record(delivered) if delivered else None,
            direct=direct,
            sink_histograms=histograms,
            sink_ledger=reading.ledger if reading else None,
            environment=environment,
            warnings=tuple(self.warnings),
            command=tuple(command),
            questions=questions,
        )

    def close(self) -> None:
        """Remove the connector and the cluster settings of this run, however it ended, and close the connections."""
        leaving_worker = ConnectWorker(
            self.target.endpoints.connect_url, access=self.target.access, patience_s=GOODBYE_S
        )
        leaving_cluster = self.elasticsearch_client(GOODBYE_S)
        self.stop_pipeline()
        # A server that is gone has nothing left to remove, and what ended the run is the error to report.
        with contextlib.suppress(StackError):
            leaving_worker.delete(self.names.connector)
        with contextlib.suppress(StackError):
            leaving_cluster.put_cluster_settings(dict.fromkeys(self.profile.elasticsearch.cluster_settings))
        for client in (self.cluster, self.worker, leaving_cluster, leaving_worker):
            client.close()

    # --- phases -----------------------------------------------------------------------------------------------------

    def elasticsearch_client(self, patience_s: float = PATIENCE_S) -> ElasticsearchClient:
        """A client of the cluster that asks again for so long."""
        return ElasticsearchClient(
            self.target.endpoints.elasticsearch_urls,
            access=self.target.access.elasticsearch,
            patience_s=patience_s,
        )

    @property
    def topic(self) -> str | None:
        """The topic of this run; a direct load has none."""
        return None if self.is_direct else self.names.topic

    def prepare(self) -> dict[str, str]:
        """Make index and topics; the configuration of the sink, empty where there is none."""
        self.progress.begin("prepare", "making index and topic", None)
        connector = {} if self.is_direct else self.valid_sink()
        unassigned = create_index(self.cluster, self.profile, self.names.index, self.folder.run_id)
        if unassigned:
            self.warnings.append(shards_unassigned(unassigned, self.profile))
        try_questions_out(
            self.profile,
            self.target.endpoints.elasticsearch_urls[0],
            self.names.index,
            root=self.root,
            access=self.target.access.elasticsearch,
        )
        self.remove_earlier_runs()
        self.cluster.put_cluster_settings(self.profile.elasticsearch.cluster_settings)
        if not self.is_direct:
            self.create_topics()
        return connector

    def valid_sink(self) -> dict[str, str]:
        """The configuration for the connector, which the worker has approved of, or the command in its place."""
        values = self.placeholders()
        if self.profile.sink.command:
            command = filled_command(self.profile.sink.command, {**values, **own_values(self.root)})
            self.pipeline = CommandSink(
                command,
                log=self.folder.path / "sink.log",
                folder=self.root,
                environment=self.target.child_environment,
            )
            return {"command": shlex.join(words_without_secrets(command))}
        connector = connector_config(self.root / "connect" / "connectors", self.profile, values, self.target.access)
        self.worker.validate(connector)
        self.counts_itself = connector.get("connector.class", "").startswith(OURS)
        return connector

    def placeholders(self) -> dict[str, str]:
        """What a connector template or a command may ask for."""
        urls = self.target.endpoints.elasticsearch_urls
        return {
            "connector": self.names.connector,
            "topic": self.names.topic,
            "index": self.names.index,
            "elasticsearch_url": urls[0],
            "elasticsearch_urls": ",".join(urls),
            "dead_letter_topic": self.names.dead_letter_topic,
            "tasks": str(self.profile.sink.tasks),
            "kafka_bootstrap": self.target.endpoints.kafka_bootstrap,
            "group": self.names.consumer_group,
        }

    def create_topics(self) -> None:
        """Make the run's topic and the one for its dead letters."""
        topic = self.profile.topic
        self.kafka.create(
            self.names.topic,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            config=topic.config,
        )
        self.kafka.create(
            self.names.dead_letter_topic, partitions=1, replication_factor=topic.replication_factor, config={}
        )

    def remove_earlier_runs(self) -> None:
        """Remove connectors and topics that earlier runs of this profile left behind."""
        prefix = f"{self.names.index}-"
        for connector in self.worker.connectors():
            if connector.startswith("sluice-"):
                self.worker.delete(connector)
        stamps = tuple(name for name in self.kafka.names() if name.startswith(prefix) and name[len(prefix)].isdigit())
        self.kafka.delete(stamps)

    def sampler(self) -> Sampler:
        """The sampler of this run."""
        endpoints = self.target.endpoints
        sources = Sources(
            elasticsearch_urls=endpoints.elasticsearch_urls,
            index=self.names.index,
            kafka_bootstrap=endpoints.kafka_bootstrap,
            topic=self.topic,
            consumer_group=self.names.consumer_group,
            jolokia_url=endpoints.metrics_url,
            connector=self.names.connector if self.counts_itself else None,
            access=self.target.access,
        )
        return Sampler(
            sources,
            self.folder.samples,
            self.profile.sampling.interval_s,
            processes=lambda: {**self.target.process_ids(), **self.children},
            phase=lambda: self.clock.current,
            produced=lambda: self.produced,
        )

    def send_directly(self, load: Direct, sampler: Sampler) -> tuple[DirectLoad, SinkHistograms]:
        """Make bulk bodies of the whole dataset and send them."""
        return load_directly(
            load,
            self.dataset,
            index=self.names.index,
            urls=self.target.endpoints.elasticsearch_urls,
            folder=self.folder.path,
            environment=self.target.child_environment,
            access=self.target.access.elasticsearch,
            phase=self.clock.phase,
            progress=self.progress,
            latest=lambda: sampler.latest,
            children=self.children,
        )

    def fill(self) -> Delivered:
        """Fill the topic as fast as possible."""
        self.progress.begin("fill", "filling the topic", self.dataset.documents)
        return self.produce(None)

    def stream(self) -> Delivered:
        """Produce at the profile's rate, while the sink runs."""
        self.progress.begin("load", "streaming", self.dataset.documents)
        return self.produce(self.profile.load.rate_docs_per_s)

    def produce(self, rate_docs_per_s: float | None) -> Delivered:
        """Produce the whole dataset."""
        try:
            return produce(
                self.dataset,
                self.names.topic,
                client={
                    **client_settings(self.profile),
                    **self.target.access.kafka,
                    "bootstrap.servers": self.target.endpoints.kafka_bootstrap,
                },
                processes=self.profile.producer.processes,
                rate_docs_per_s=rate_docs_per_s,
                progress=self.on_produced,
            )
        except ProduceError as error:
            raise StackError(f"producer: {error}") from error
        finally:
            self.produced = None

    def on_produced(self, progress: producers.delivery.Progress) -> None:
        """Pass the producers' progress on."""
        self.produced = progress.delivered
        late = f", {progress.late_documents} late" if progress.late_documents else ""
        self.progress.update(progress.delivered, f"{progress.delivery_rate_docs_per_s:,.0f}/s into Kafka{late}")

    def start_sink(self, config: Mapping[str, str]) -> None:
        """Start the connector and wait until its tasks run; or the command that takes its place."""
        self.progress.begin("load", "starting the sink", None)
        if self.pipeline is not None:
            self.children["sink"] = self.pipeline.start()
            return
        self.worker.create(self.names.connector, config)
        self.worker.wait_until_running(self.names.connector)

    def drain(self, sampler: Sampler, delivered: int) -> None:
        """Wait until the sink has committed every record.

        Raises:
            StackError: A task failed, nothing moved for too long, or the profile's time was over.
        """
        self.progress.begin("load", "indexing", delivered)
        goal: Goal = "either" if self.pipeline else "committed"
        watch = DrainWatch(delivered, self.profile.load.timeout_s, goal=goal)
        checked_s = time.monotonic()
        while not watch.done(sampler.latest):
            if time.monotonic() - checked_s > STATUS_EVERY_S:
                checked_s = time.monotonic()
                if self.has_ended(sampler):
                    break
            self.progress.update(watch.seen, watch.detail)
            time.sleep(POLL_S)
        self.progress.update(delivered, "")

    def has_ended(self, sampler: Sampler) -> bool:
        """Whether the sink is a command that has ended by itself; what is missing then, verification finds.

        Raises:
            StackError: A task, or the command, has failed.
        """
        if self.pipeline is None:
            self.worker.running_tasks(self.names.connector)
            return False
        self.pipeline.check()
        if self.pipeline.ended_s is None:
            return False
        self.children.pop("sink", None)
        wait_for_sample_after(self.pipeline.ended_s, lambda: sampler.latest)
        return True

    def stop_pipeline(self) -> None:
        """Stop the command that stands for the sink, if there is one."""
        self.children.pop("sink", None)
        if self.pipeline is not None:
            self.pipeline.stop()

    def histograms(self) -> SinkHistograms:
        """The sink's histograms; without a value where the worker offers none."""
        url = self.target.endpoints.metrics_url
        if url is None or self.pipeline is not None:
            return SinkHistograms(record_age=None, bulk_service_time=None)
        try:
            return read_sink_histograms(url, self.names.connector, access=self.target.access.metrics)
        except (httpx.HTTPError, LookupError, ValueError):
            # A sink that is not ours keeps none, and the run is none the worse for it.
            return SinkHistograms(record_age=None, bulk_service_time=None)

    def settle(self) -> None:
        """Refresh, and wait a while for merges to end, so that the counters are final."""
        self.progress.begin("settle", "waiting for merges", None)
        self.cluster.refresh(self.names.index)
        deadline = time.monotonic() + SETTLE_S
        while (merges := self.cluster.merges_current(self.names.index)) and time.monotonic() < deadline:
            self.progress.update(0, f"{merges} merges under way")
            time.sleep(POLL_S)

    def verify(
        self, delivered: Delivered | None, direct: DirectLoad | None, *, key_is_id: bool
    ) -> tuple[Documents, Verification]:
        """Compare what is stored with what was produced."""
        self.progress.begin("verify", "reading every id back", self.dataset.documents)
        subject = Subject(
            dataset=self.dataset,
            topic=self.topic,
            dead_letter_topic=self.names.dead_letter_topic,
            index=self.names.index,
            produced=delivered.produced if delivered else self.dataset.documents,
            delivered=delivered.delivered if delivered else None,
            failed=delivered.failed if delivered else None,
            refusals=refusals(direct) if direct else (),
            key_is_id=key_is_id,
            sample=self.profile.verify.sample,
            seed=self.folder.run_id,
        )
        if self.profile.verify.expect == "consumed":
            return verify_consumed(subject, self.names.topic, self.names.consumer_group, self.kafka, self.cluster)
        return verify(subject, self.kafka, self.cluster, self.progress.update)

    def found(self, documents: Documents) -> Found:
        """What the sink's ledger is held against."""
        ends = self.kafka.end_offsets(self.names.topic)
        return Found(
            in_topic={f"{self.names.topic}-{partition}": end for partition, end in ends.items()},
            documents=documents,
            restarted=tasks_restarted(samples_in(self.folder.samples)),
        )

    def query(self, verification: Verification) -> tuple[tuple[QuestionAsked, ...], Verification]:
        """Ask the profile's questions; a wrong answer is a problem. What is not verified is not asked."""
        queries = self.profile.queries
        if queries is None or not verification.verified:
            return (), verification
        with self.clock.phase("query"):
            self.progress.begin("query", "asking questions", queries.repeats)
            url = self.target.endpoints.elasticsearch_urls[0]
            questions = ask_questions(
                self.profile,
                self.dataset,
                url,
                self.names.index,
                root=self.root,
                on_progress=self.progress.update,
                access=self.target.access.elasticsearch,
            )
        problems = (*verification.problems, *problems_of(questions))
        return questions, verification.model_copy(update={"verified": not problems, "problems": problems})


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
        cpu_s=delivered.cpu_s,
    )
