"""The phases of one run, in order: prepare → fill → load → settle → maintain → verify → query → collect."""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.clients.target import Target, cluster_of, topics_of, worker_of
from lab.errors import SluiceError
from lab.monitor import CLOCK, Sampler, Sources
from lab.profiles import Direct, Profile, QueryOnly, Rally
from lab.records.deployment import Deployment
from lab.records.drivers import Driver
from lab.records.queries import DocumentRamp, QueryLoadResult, QuestionAnswers
from lab.records.run import Delivery, DirectLoad, Environment, Layout, RallyLoad, Run, RunWarning, SinkHistograms
from lab.records.verification import Documents, Verification
from lab.run.environment import cold_servers, describe_environment, servers_elsewhere, shards_unassigned
from lab.run.folder import RunFolder
from lab.run.load.direct import load_directly, refusals
from lab.run.load.drain import wait_for_sample_after
from lab.run.load.driven import DrivenStream
from lab.run.load.drivers import Drivers
from lab.run.load.inputs import Inputs
from lab.run.load.produce import Producing
from lab.run.load.rally.race import RallyRace, race_errors
from lab.run.load.ramp import RisingStream
from lab.run.load.sink import Sink
from lab.run.load.warm_up import StreamWarmUp
from lab.run.maintain.deploy import deploy, remove_leftovers
from lab.run.maintain.guard import Guard
from lab.run.maintain.nodes import checked_targets
from lab.run.maintain.repository import remove_repository
from lab.run.names import Names
from lab.run.paging import pages_taken_away
from lab.run.phases import Gate, PhaseClock, RunContext, RunProgress, WatchedProgress, open_gate, wait_for_merges
from lab.run.prepare import create_indices, create_topics, remove_connectors, remove_earlier, remove_topics
from lab.run.progress import ProgressFile
from lab.run.query.ask import ask_questions, problems_of, try_questions_out
from lab.run.query.layout import have_layout, put_away
from lab.run.query.send import QuerySending, refresh_interval_s, wrong_answers
from lab.run.verify.accounting import DeliveredRecords
from lab.run.verify.parts import verify_parts
from lab.run.verify.sink_ledger import (
    LedgerEvidence,
    LedgerReading,
    samples_in,
    tasks_restarted,
    unindexed_records,
    with_ledger,
)
from lab.run.verify.verify import VerificationTarget, verify_consumed
from lab.stack.groups import Bounds
from lab.stack.server import uninterrupted
from producers.dataset import Dataset
from producers.delivery import Delivered

CLEANUP_TIMEOUT_S = 5.0
NO_HISTOGRAMS = SinkHistograms(record_age=None, bulk_service_time=None)


def run_profile(
    profile: Profile,
    dataset: Dataset,
    target: Target,
    folder: RunFolder,
    *,
    root: Path,
    progress: RunProgress,
    command: Sequence[str] = (),
    inputs: Inputs | None = None,
    drivers: Drivers | None = None,
    gate: Gate = open_gate,
) -> Run:
    """Run a profile on running servers and write its records into the folder.

    Args:
        dataset: That of the profile, made (and so checked) before any server was started.
        root: The checkout, for mappings and connector templates.
        command: The command line, for whoever wants to do it again.
        inputs: What earlier runs of a suite have filled and made; this one adds to it.
        drivers: Those on other hosts that send a stream; this process sends it itself by default.
        gate: What each phase waits at.

    Returns:
        What was done; its `verification` says whether to believe it.

    Raises:
        ProfileError: A server refuses a setting of the profile.
        StackError: A server, the connector, a task or a driver failed for good.
        VerificationError: A driver on another host could not keep the schedule.
    """
    clock = PhaseClock(gate)
    with ProgressFile(folder, profile, progress, clock) as written:
        watched = WatchedProgress(written, target.check)
        context = RunContext(
            profile, dataset, target, folder, root, watched, clock=clock, inputs=inputs, drivers=drivers
        )
        run = _RunUnderWay(context, watched.sleep)
        try:
            record = run.record_of(command)
            folder.write("run.json", record)
            written.end(record.verification)
        finally:
            run.close()
    return record


@dataclass(frozen=True)
class LoadOutcome:
    """What came of the load.

    Attributes:
        delivered: `None` for a load that knows no Kafka; `direct` for every one but a direct load.
        reading: The sink's ledger; `None` where there is no sink that could keep one.
        queries: `None` where none were sent side by side.
    """

    delivered: Delivered | None
    direct: DirectLoad | None
    histograms: SinkHistograms
    reading: LedgerReading | None
    queries: QueryLoadResult | None = None


class _RunUnderWay:
    """One run while it runs: the clients it uses and what it has found out so far."""

    def __init__(self, context: RunContext, sleep: Callable[[float], None]) -> None:
        self.context = context
        self.profile = context.profile
        self.target = context.target
        self.clock = context.clock
        self.progress = context.progress
        self.cluster = cluster_of(self.target.endpoints, sleep=sleep)
        self.worker = worker_of(self.target.endpoints, sleep=sleep)
        self.kafka = topics_of(self.target.endpoints)
        self.uses_kafka = self.profile.load.via == "kafka"
        self.kept: tuple[Layout, Documents, Verification] | None = None
        self.document_ramp: DocumentRamp | None = None
        self.drivers: tuple[Driver, ...] = ()
        self.index_documents: Mapping[str, Documents] = {}
        self.deploys_to: tuple[str, ...] = ()
        self.deployment: Deployment | None = None
        self.guard = Guard(self.target)
        self.warnings: list[RunWarning] = []
        self.producing = Producing(context)
        self.sink = Sink(context, self.worker)
        self.warm_up = StreamWarmUp(self.sink.histograms)
        load = self.profile.load
        self.race = RallyRace(context, load, self.cluster) if isinstance(load, Rally) else None

    def record_of(self, command: Sequence[str]) -> Run:
        """Do everything; the record of it."""
        started_s = CLOCK.now_s()
        if self.target.fresh:
            self.warnings.append(cold_servers(self.target.name))
        if all(server.pid is None for server in self.target.servers):
            self.warnings.append(servers_elsewhere())
        with self.clock.phase("prepare"):
            self.prepare()
        if self.reads_kept_index:
            with self.clock.phase("fill"):
                self.kept = self.layout()
        filled_s = time.monotonic()
        with self.sampler() as sampler:
            loaded = self.load(sampler)
            with self.clock.phase("settle"):
                self.settle()
                if self.kept is None:
                    # What merges cost is charged to the run that has caused them.
                    wait_for_sample_after(CLOCK.now_s(), lambda: sampler.latest)
        if self.deploys_to:
            with self.clock.phase("maintain"):
                self.deployment = deploy(self.context, self.cluster, self.deploys_to, self.guard)
        # Queries change nothing on disk.
        settled_s = filled_s if self.kept else time.monotonic()
        with self.clock.phase("verify"):
            documents, verification = self.verify(loaded)
        questions, verification = self.query(verification)
        if loaded.queries:
            verification = with_problems(verification, wrong_answers(loaded.queries.questions))
        for sent in self.deployment.checked_queries if self.deployment else ():
            verification = with_problems(verification, wrong_answers(sent.questions, "maintain"))
        with self.clock.phase("collect"):
            environment = self.collect()
            if warning := pages_taken_away(environment.paging, Bounds(**self.profile.elasticsearch.bounds)):
                self.warnings.append(warning)
            store_size_bytes = self.cluster.store_size_bytes(self.names.index, settled_s)
        filled = self.context.filled
        delivery = loaded.delivered and Delivery(
            **{name: getattr(loaded.delivered, name) for name in Delivery.model_fields if name != "earlier_run"},
            earlier_run=filled.filled_by if filled else None,
        )
        return Run(
            run_id=self.context.folder.run_id,
            profile=self.profile.name,
            question=self.profile.question,
            started_s=started_s,
            ended_s=CLOCK.now_s(),
            phases=tuple(self.clock.phases),
            load=self.profile.load.mode,
            via=self.profile.load.via,
            index=self.names.index,
            topic=self.topic,
            content_hash=self.context.dataset.content_hash,
            documents=documents,
            index_documents=dict(self.index_documents),
            verification=verification,
            delivery=delivery,
            direct=loaded.direct,
            rally=self.rally_load,
            sink_histograms=loaded.histograms,
            sink_ledger=loaded.reading.ledger if loaded.reading else None,
            environment=environment,
            warnings=tuple(self.warnings),
            command=tuple(command),
            questions=questions,
            query_load=loaded.queries,
            layout=self.kept[0] if self.kept else None,
            document_ramp=self.document_ramp,
            deployment=self.deployment,
            drivers=self.drivers,
            store_size_bytes=store_size_bytes,
        )

    def close(self) -> None:
        """Remove the connector and the cluster settings of this run, however it ended, and close the connections."""
        with uninterrupted(), contextlib.ExitStack() as leaving:
            leaving_worker = worker_of(self.target.endpoints, CLEANUP_TIMEOUT_S)
            leaving_cluster = cluster_of(self.target.endpoints, CLEANUP_TIMEOUT_S)
            for client in (self.cluster, self.worker, leaving_cluster, leaving_worker):
                leaving.callback(client.close)
            leaving.callback(self.sink.stop_command)
            if self.race:
                leaving.callback(self.race.stop)
            # A server that is gone has nothing left to remove, and what ended the run is the error to report.
            with contextlib.suppress(SluiceError):
                leaving_worker.delete(self.names.connector)
            # Where this fails, the guard tries it again, and longer.
            is_clean = False
            with contextlib.suppress(SluiceError):
                # Without settings of its own nothing is to be taken back, and no dead server waited for.
                if self.profile.elasticsearch.cluster_settings:
                    leaving_cluster.own_cluster_settings({})
                if self.guard.repository and self.deployment is None:
                    remove_repository(leaving_cluster, self.guard.repository)
                is_clean = True
            if not self.guard.close(all_is_well=is_clean):
                left = "cluster settings or a snapshot repository may be left; the next run removes them"
                self.progress.begin("collect", left, None)

    @property
    def names(self) -> Names:
        """What indices, topic and connector are called now."""
        return self.context.names

    @property
    def topic(self) -> str | None:
        """The topic of this run; `None` for a load that knows no Kafka."""
        return self.names.topic if self.uses_kafka else None

    @property
    def rally_load(self) -> RallyLoad | None:
        """What Rally did; `None` for every other load."""
        return self.race.record if self.race else None

    @property
    def reads_kept_index(self) -> bool:
        """Whether the run fills no index of its own."""
        return isinstance(self.profile.load, QueryOnly)

    # --- phases -----------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make index and topics, and configure the sink."""
        self.progress.begin("prepare", "creating index and topic", None)
        if self.uses_kafka:
            self.sink.configure()
        remove_connectors(self.worker, self.kafka, self.names, shared=self.target.name == "remote")
        if self.profile.elasticsearch.cluster_settings:
            self.guard.watch_settings()
        self.cluster.own_cluster_settings(self.profile.elasticsearch.cluster_settings)
        if self.target.name != "remote":
            put_away(self.context, self.cluster)
        if self.reads_kept_index:
            return
        remove_earlier(self.cluster, self.names)
        if self.profile.maintain or self.target.name == "local":
            remove_leftovers(self.context, self.cluster)
        if self.profile.maintain:
            self.deploys_to = checked_targets(self.context, self.cluster)
        unassigned = create_indices(
            self.cluster,
            self.profile,
            self.names,
            self.context.folder.run_id,
            target_settings=self.target.index_settings,
        )
        if unassigned:
            self.warnings.append(shards_unassigned(unassigned, self.profile))
        try_questions_out(self.context)
        remove_topics(self.kafka, self.names, kept=self.context.inputs.topic_names if self.context.inputs else ())
        if self.uses_kafka:
            create_topics(self.kafka, self.profile, self.names, filled=self.context.filled is not None)

    def layout(self) -> tuple[Layout, Documents, Verification]:
        """Have the index that queries alone read: found as an earlier run has left it, or made."""
        kept = have_layout(self.context, self.cluster, lambda: try_questions_out(self.context))
        _, unassigned = self.cluster.index_health(self.names.index, "yellow", 1)
        if unassigned:
            self.warnings.append(shards_unassigned(unassigned, self.profile))
        return kept

    def sampler(self) -> Sampler:
        """The sampler of this run."""
        sources = Sources(
            endpoints=self.target.endpoints,
            index=self.names.index,
            topic=self.topic,
            consumer_group=self.names.consumer_group,
            connector=self.names.connector if self.sink.keeps_ledger else None,
            containers=self.target.containers,
            any_connector=self.names.connector if self.uses_kafka and self.profile.sink.is_connector else None,
            # Of a drain it is the time that records have waited in the topic.
            reads_ages=self.profile.load.mode == "stream",
        )
        return Sampler(
            sources,
            self.context.folder.samples,
            self.profile.sampling.interval_s,
            processes=lambda: {**self.target.process_ids(), **self.context.children},
            beside_ids=self.target.beside_ids,
            phase=lambda: self.clock.current,
            produced=lambda: self.producing.produced,
        )

    def load(self, sampler: Sampler) -> LoadOutcome:
        """Bring every document into the index, the way that the profile says."""
        if self.kept is not None:
            return LoadOutcome(None, None, NO_HISTOGRAMS, None, self.send_queries(self.kept[2]))
        if isinstance(self.profile.load, Direct):
            direct, histograms = load_directly(self.context, self.profile.load, lambda: sampler.latest)
            return LoadOutcome(None, direct, histograms, None)
        if self.race:
            self.race.load(lambda: sampler.latest)
            return LoadOutcome(None, None, NO_HISTOGRAMS, None)
        if self.profile.load.mode == "stream":
            delivered, query_load = self.stream(sampler)
        else:
            with self.clock.phase("fill"):
                delivered, query_load = self.fill(), None
            with self.clock.phase("load"):
                self.sink.start()
                self.sink.drain(sampler, delivered.delivered)
        self.sink.stop_command()
        histograms = self.warm_up.cut(self.sink.histograms())
        if self.context.filled:  # then a record is as old as the topic, which an earlier run has filled
            histograms = histograms.model_copy(update={"record_age": None})
        return LoadOutcome(delivered, None, histograms, self.sink.ledger(), query_load)

    def fill(self) -> Delivered:
        """Fill the topics, unless an earlier run of the suite has filled them with the same documents."""
        if self.context.filled:
            return self.context.filled.delivered
        delivered = self.producing.fill()
        self.context.keep_topics(delivered)
        return delivered

    def stream(self, sampler: Sampler) -> tuple[Delivered, QueryLoadResult | None]:
        """Produce while the sink reads, and send queries meanwhile where the profile has some."""
        queries = self.profile.load.queries
        with contextlib.ExitStack() as leaving:
            sending = None
            if queries:
                refresh_s = refresh_interval_s(self.cluster.index_settings(self.names.index))
                sending = leaving.enter_context(QuerySending(self.context, queries, refresh_s))
            with self.clock.phase("load"):
                self.sink.start()
                if sending:
                    sending.go()
                delivered = self.produce_stream(sampler, sending)
                if sending:
                    sending.stop()
                self.sink.drain(sampler, delivered.delivered)
            return delivered, sending.result() if sending else None

    def produce_stream(self, sampler: Sampler, sending: QuerySending | None) -> Delivered:
        """Produce at the profile's rate, or at one that rises, or have drivers on other hosts do so."""

        def check() -> None:
            self.sink.refuse_end()
            if sending:
                sending.follow()
            self.warm_up.follow(self.producing.since_due_s)

        if self.context.drivers:
            driven = DrivenStream(self.producing, self.context.drivers, lambda: sampler.latest, check)
            delivered = driven.run()
            self.drivers = driven.drivers
            return delivered
        load = self.profile.load
        if load.ramp is None or load.rate_docs_per_s is None:
            return self.producing.stream(check)
        rising = RisingStream(
            self.producing, self.sink, load.ramp, load.rate_docs_per_s, latest=lambda: sampler.latest, check=check
        )
        delivered, self.document_ramp = rising.run()
        return delivered

    def send_queries(self, verification: Verification) -> QueryLoadResult | None:
        """Send the queries of the profile to the kept index; none to one that is not verified."""
        load = self.profile.load.queries
        if load is None or not verification.verified:
            return None
        with (
            QuerySending(self.context, load, None) as sending,
            self.target.bounded(Bounds(**self.profile.elasticsearch.bounds)),
            self.clock.phase("load"),
        ):
            self.progress.begin("load", "sending queries", None)
            sending.go()
            return sending.result()

    def settle(self) -> None:
        """Refresh, and wait a while for merges to end, so that the counters are final; Rally reads them before."""
        if self.race:
            self.race.finish()
        if self.kept is None:
            self.progress.begin("settle", "waiting for merges", None)
            wait_for_merges(self.context, self.cluster, self.names.index)

    def verify(self, loaded: LoadOutcome) -> tuple[Documents, Verification]:
        """Compare what is stored with what was produced, and the sink's ledger with both."""
        if self.kept is not None:
            return self.kept[1:]
        self.progress.begin("verify", "reading every id back", self.context.dataset.documents)
        delivered = loaded.delivered
        if delivered is None:
            records = DeliveredRecords(self.context.dataset.documents)
        else:
            records = DeliveredRecords(
                delivered.produced, delivered.delivered, delivered.failed, failures=delivered.failures
            )
        ends = {topic: self.kafka.end_offsets(topic) for topic in self.names.topics} if loaded.reading else {}
        in_topic = {f"{topic}-{number}": end for topic, of in ends.items() for number, end in of.items()}
        restarted = loaded.reading is not None and tasks_restarted(samples_in(self.context.folder.samples))
        target = VerificationTarget(
            dataset=self.context.dataset,
            names=self.names,
            records=records,
            key_is_id=self.sink.key_is_id,
            ids_are_generated=self.sink.ids_are_generated,
            id_prefix=self.sink.id_prefix,
            as_stored=self.sink.stored,
            sample=self.profile.verify.sample,
            seed=self.context.folder.run_id,
            refusals=refusals(loaded.direct) if loaded.direct else race_errors(self.rally_load),
            unindexed=unindexed_records(loaded.reading, in_topic, restarted=restarted),
            compared_topics=self.context.inputs.compared_topics if self.context.inputs else {},
        )
        if self.profile.verify.expect == "consumed":
            documents, verification = verify_consumed(target, self.kafka, self.cluster, self.progress.update)
        else:
            documents, verification, by_index = verify_parts(target, self.kafka, self.cluster, self.progress.update)
            # By the names that the samples know; a deployment may have given others.
            self.index_documents = dict(zip(self.context.first_names.indices, by_index.values(), strict=False))
        if loaded.reading:
            evidence = LedgerEvidence(in_topic=in_topic, documents=documents, restarted=restarted)
            verification = with_ledger(verification, loaded.reading, evidence)
        return documents, verification

    def query(self, verification: Verification) -> tuple[tuple[QuestionAnswers, ...], Verification]:
        """Ask the profile's questions; a wrong answer is a problem. What is not verified is not asked."""
        queries = self.profile.queries
        beside = self.profile.load.queries or (self.profile.maintain and self.profile.maintain.queries)
        if queries is None or beside or not verification.verified:
            return (), verification
        with self.clock.phase("query"):
            self.progress.begin("query", "asking questions", queries.repeats)
            questions = ask_questions(self.context, queries)
        return questions, with_problems(verification, problems_of(questions))

    def collect(self) -> Environment:
        """What another run must share with this one."""
        self.progress.begin("collect", "writing down", None)
        return describe_environment(
            self.context.root,
            target=self.target.name,
            servers=self.target.servers,
            java_versions=self.target.java_versions,
            index_settings=self.cluster.index_settings(self.names.index),
            cluster_settings=self.cluster.cluster_settings(),
            connector=self.sink.config,
            vector_options=self.cluster.vector_options(self.names.index),
        )


def with_problems(verification: Verification, more: Iterable[str]) -> Verification:
    """The verification with what else was wrong."""
    problems = (*verification.problems, *more)
    return verification.model_copy(update={"verified": verification.verified and not problems, "problems": problems})
