"""The phases of one run, in order: prepare → fill → load → settle → maintain → verify → query → collect."""

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator

from lab.clients.target import cluster_of, topics_of, worker_of
from lab.errors import SluiceError
from lab.monitor import CLOCK, Sampler
from lab.records.deployment import Deployment
from lab.records.queries import QuestionAnswers
from lab.records.run import INDEX_REQUEST, Environment, Run, RunWarning
from lab.records.verification import Documents, Verification
from lab.run.abort import AbortWatch
from lab.run.contents import contents_of
from lab.run.environment import (
    cold_servers,
    describe_environment,
    servers_elsewhere,
    shards_unassigned,
    unread_settings,
)
from lab.run.load_kinds import loading_of
from lab.run.load_kinds.base import Clients, Steps
from lab.run.maintain.deploy import deploy, remove_leftovers
from lab.run.maintain.guard import Guard
from lab.run.maintain.nodes import checked_targets
from lab.run.maintain.repository import remove_repository
from lab.run.paging import pages_taken_away
from lab.run.phases import PhaseClock, RunContext, RunProgress, RunRequest, WatchedProgress
from lab.run.prepare import index_request, remove_connectors
from lab.run.progress import ProgressFile
from lab.run.query.ask import ask_questions, problems_of
from lab.run.query.layout import put_away
from lab.run.query.send import wrong_answers
from lab.stack.groups import Bounds
from lab.stack.server import uninterrupted

CLEANUP_TIMEOUT_S = 5.0


def run_profile(request: RunRequest, shown: RunProgress) -> Run:
    """Make a run on running servers and write its records into its folder.

    Returns:
        What was done; its `verification` says whether to believe it.

    Raises:
        ProfileError: A server refuses a setting of the profile.
        StackError: A server, the connector, a task or a driver failed for good.
        VerificationError: A driver on another host could not keep the schedule.
        AbortError: A condition of the request holds.
    """
    clock = PhaseClock(request.gate)
    with ProgressFile(request.folder, request.profile, shown, clock) as written:
        abort = AbortWatch(request.abort_on)
        progress = WatchedProgress(written, lambda: abort.check() or request.target.check())
        run = _RunUnderWay(RunContext(**vars(request), progress=progress, clock=clock), progress.sleep, abort)
        try:
            record = run.make()
            request.folder.write("run.json", record)
            written.end(record.verification)
        finally:
            run.close()
    return record


class _RunUnderWay:
    """One run while it runs: its load, the clients it uses and what it has found out so far."""

    documents: Documents
    verification: Verification
    environment: Environment
    contents: dict[str, str]
    store_size_bytes: dict[str, int]
    settled_s: float

    def __init__(self, run: RunContext, sleep: Callable[[float], None], abort: AbortWatch | None = None) -> None:
        endpoints = run.target.endpoints
        self.run = run
        self.abort = abort or AbortWatch(())
        self.cluster = cluster_of(endpoints, sleep=sleep)
        self.worker = worker_of(endpoints, sleep=sleep)
        self.kafka = topics_of(endpoints)
        self.load = loading_of(run, Clients(self.cluster, self.worker, self.kafka))
        self.guard = Guard(run.target)
        self.deploys_to: tuple[str, ...] = ()
        self.deployment: Deployment | None = None
        self.questions: tuple[QuestionAnswers, ...] = ()

    def make(self) -> Run:
        """Go through the phases; the record of the run."""
        started_s = CLOCK.now_s()
        # Closed, so that processes and samples of a phase that fails end with it.
        with contextlib.closing(self.phases()) as phases:
            for name, work in phases:
                with self.run.clock.phase(name):
                    work()
        return self.record(started_s)

    def phases(self) -> Steps:
        """The phases of this run, in order."""
        yield "prepare", self.prepare
        yield from self.load.phases_before_samples()
        with self.sampler() as sampler:
            yield from self.load.phases(lambda: sampler.latest)
            yield "settle", lambda: self.load.settle(lambda: sampler.latest)
        if self.deploys_to:
            yield "maintain", self.maintain
        self.settled_s = time.monotonic()
        yield "verify", self.verify
        if self.asks_questions:
            yield "query", self.query
        yield "collect", self.collect

    # --- phases -----------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Remove what earlier runs left, and create what the load needs."""
        profile, target = self.run.profile, self.run.target
        self.run.progress.begin("prepare", "creating index and topic", None)
        self.load.configure()
        remove_connectors(self.worker, self.kafka, self.run.names, shared=target.name == "remote")
        if profile.elasticsearch.cluster_settings:
            self.guard.watch_settings()
        self.cluster.own_cluster_settings(profile.elasticsearch.cluster_settings)
        if target.name != "remote":
            put_away(self.run, self.cluster)
        self.load.clear()
        if profile.maintain or target.name == "local":
            remove_leftovers(self.run, self.cluster)
        if profile.maintain:
            self.deploys_to = checked_targets(self.run, self.cluster)
        self.load.create()
        # As they are now: a file may be edited while the run lasts.
        request = index_request(self.cluster, profile, target.index_settings)
        self.run.folder.write_text(
            INDEX_REQUEST, json.dumps(request, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        )
        self.contents = contents_of(profile, request["mappings"], self.run.root)

    def sampler(self) -> Sampler:
        """The sampler of this run."""
        run = self.run
        return Sampler(
            self.load.sources(),
            run.folder.samples,
            run.profile.sampling.interval_s,
            processes=lambda: {**run.target.process_ids(), **run.children},
            beside_ids=run.target.beside_ids,
            phase=lambda: run.clock.current,
            produced=lambda: self.load.produced,
            seen=self.abort.take,
        )

    def maintain(self) -> None:
        """Deploy the indices."""
        self.deployment = deploy(self.run, self.cluster, self.deploys_to, self.guard)

    def verify(self) -> None:
        """Compare what is stored with what was loaded; wrong answers of queries so far are problems, too."""
        self.documents, self.verification = self.load.verify()
        if self.load.query_load:
            self.void_for(wrong_answers(self.load.query_load.questions))
        for sent in self.deployment.checked_queries if self.deployment else ():
            self.void_for(wrong_answers(sent.questions, "maintain"))

    @property
    def asks_questions(self) -> bool:
        """True if the profile's questions are asked one after the other, as of an index that is verified."""
        profile = self.run.profile
        sends_them = profile.load.queries or (profile.maintain and profile.maintain.queries)
        return profile.queries is not None and not sends_them and self.verification.verified

    def query(self) -> None:
        """Ask the profile's questions; a wrong answer is a problem."""
        queries = self.run.profile.queries
        assert queries is not None  # noqa: S101 - or the run would not be here
        self.run.progress.begin("query", "asking questions", queries.repeats)
        self.questions = ask_questions(self.run, queries, self.documents.dead_lettered or 0)
        self.void_for(problems_of(self.questions))

    def collect(self) -> None:
        """Read what another run must share with this one, and the size on disk."""
        run, index = self.run, self.run.names.index
        run.progress.begin("collect", "writing down", None)
        self.environment = describe_environment(
            run.root,
            target=run.target.name,
            servers=run.target.servers,
            java_versions=run.target.java_versions,
            index_settings=self.cluster.index_settings(index),
            cluster_settings=self.cluster.cluster_settings(),
            connector=self.load.connector_config,
            vector_options=self.cluster.vector_options(index),
            distribution=run.profile.elasticsearch.distribution,
            contents=self.contents,
        )
        unchanged_since_s = self.load.unchanged_since_s or self.settled_s
        self.store_size_bytes = self.cluster.store_size_bytes(index, unchanged_since_s)

    # --- record -----------------------------------------------------------------------------------------------------

    def void_for(self, problems: Iterable[str]) -> None:
        """Add problems to the verification; with any of them the run is void."""
        found = (*self.verification.problems, *problems)
        verified = self.verification.verified and not found
        self.verification = self.verification.model_copy(update={"verified": verified, "problems": found})

    def warnings(self) -> Iterator[RunWarning]:
        """Facts about the servers that a reader must know before believing a figure."""
        profile, target = self.run.profile, self.run.target
        if target.fresh:
            yield cold_servers(target.name)
        if all(server.pid is None for server in target.servers):
            yield servers_elsewhere()
        if self.load.unassigned:
            yield shards_unassigned(self.load.unassigned, profile)
        if self.load.unread_settings:
            yield unread_settings(self.load.unread_settings)
        if warning := pages_taken_away(self.environment.paging, Bounds(**profile.elasticsearch.bounds)):
            yield warning

    def record(self, started_s: float) -> Run:
        """The record of the run, `run.json`."""
        run, profile = self.run, self.run.profile
        return Run(
            run_id=run.folder.run_id,
            profile=profile.name,
            question=profile.question,
            started_s=started_s,
            ended_s=CLOCK.now_s(),
            phases=tuple(run.clock.phases),
            load=profile.load.mode,
            via=profile.load.via,
            index=run.names.index,
            content_hash=run.dataset.content_hash,
            documents=self.documents,
            verification=self.verification,
            environment=self.environment,
            warnings=tuple(self.warnings()),
            command=tuple(run.command),
            questions=self.questions,
            deployment=self.deployment,
            store_size_bytes=self.store_size_bytes,
            **vars(run.marks),
            **self.load.record(),
        )

    # --- however it ended -------------------------------------------------------------------------------------------

    def stop_load(self) -> None:
        """Stop what the load has started; a failure is told, and does not replace the reason why the run ends."""
        try:
            self.load.stop()
        except SluiceError as error:
            self.run.progress.begin("collect", f"not stopped: {error}", None)

    def close(self) -> None:
        """Remove the connector and the cluster settings of this run, however it ended, and close the connections."""
        endpoints = self.run.target.endpoints
        with uninterrupted(), contextlib.ExitStack() as leaving:
            leaving_worker = worker_of(endpoints, CLEANUP_TIMEOUT_S)
            leaving_cluster = cluster_of(endpoints, CLEANUP_TIMEOUT_S)
            for client in (self.cluster, self.worker, leaving_cluster, leaving_worker):
                leaving.callback(client.close)
            leaving.callback(self.stop_load)
            # A server that is gone has nothing left to remove, and what ended the run is the error to report.
            with contextlib.suppress(SluiceError):
                is_coming = self.worker.unanswered == self.run.names.connector
                made_within_s = CLEANUP_TIMEOUT_S if is_coming else 0.0
                leaving_worker.delete(self.run.names.connector, made_within_s=made_within_s)
            # Where this fails, the guard tries it again, and longer.
            is_clean = False
            with contextlib.suppress(SluiceError):
                # Without settings of its own nothing is to be taken back, and no dead server waited for.
                if self.run.profile.elasticsearch.cluster_settings:
                    leaving_cluster.own_cluster_settings({})
                if self.guard.repository and self.deployment is None:
                    remove_repository(leaving_cluster, self.guard.repository)
                is_clean = True
            if not self.guard.close(all_is_well=is_clean):
                left = "cluster settings or a snapshot repository may be left; the next run removes them"
                self.run.progress.begin("collect", left, None)
