"""One case from an empty topic to its findings."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lab.clients.connect import ConnectWorker
from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.clients.target import Target, cluster_of, topics_of, worker_of
from lab.errors import SluiceError
from lab.profiles import Profile
from lab.prove.cases import Case
from lab.prove.faults import Proxy
from lab.prove.history import MAPPINGS, MOST_MESSAGE_BYTES, Sender, Sent, waves
from lab.prove.judge import PASSED, Claims, Judgement, Outcome, judge, with_held
from lab.prove.subject import Subject
from lab.run.folder import RunFolder
from lab.run.phases import NoDisplay, RunContext
from lab.run.prepare import create_topics, remove_connectors, remove_earlier, remove_topics, remove_traces
from lab.stack.elasticsearch import node_name
from lab.stack.local import LocalStack
from lab.stack.server import uninterrupted
from producers.dataset import Dataset

WAVE_EVERY_S = 0.15
POLL_S = 1.0
MET_POLL_S = 0.1
SETTLED_S = 8.0
"""Time without a change after which a pipeline that has stopped is taken to be done."""
PAGE = 200
RECOVERED_WITHIN_S = 60
HELD_S = 6.0
"""Longer than the 5 s after which Kafka's clients commit by themselves (`auto.commit.interval.ms`)."""
MET_WITHIN_S = 15.0
"""Time that a pipeline has to meet what is done to it: some send a request every few seconds."""


@dataclass(frozen=True)
class Bench:
    """Servers, settings and folder that the cases of a pipeline share.

    Attributes:
        patience_s: Time without progress after which a pipeline counts as stuck.
        say: Called with what happens.
    """

    profile: Profile
    dataset: Dataset
    target: Target
    stack: LocalStack
    folder: Path
    seed: int
    patience_s: float
    say: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class Result:
    """Result of a case.

    Attributes:
        faults: Write requests that were answered by a fault.
        stops: Times that the pipeline stopped and said so.
        failure: Why the case could not be judged; empty where it was.
    """

    case: str
    judgement: Judgement
    records: int
    faults: int
    stops: int
    seconds: float
    failure: str = ""


@dataclass
class Trial:
    """One case under way.

    Attributes:
        waves: Records that are still to be sent.
        blocked_at: Write requests so far when the index was blocked.
    """

    bench: Bench
    case: Case
    run: RunContext
    proxy: Proxy
    waves: Iterator[list[Sent]] = field(default_factory=lambda: iter(()))
    blocked_at: int = 0

    @cached_property
    def cluster(self) -> ElasticsearchClient:
        """The real cluster."""
        return cluster_of(self.bench.target.endpoints)

    @cached_property
    def topics(self) -> KafkaTopics:
        """Kafka."""
        return topics_of(self.bench.target.endpoints)

    @cached_property
    def worker(self) -> ConnectWorker:
        """The Connect worker."""
        return worker_of(self.bench.target.endpoints)

    @cached_property
    def subject(self) -> Subject:
        """The pipeline."""
        return Subject(self.run, self.worker, self.bench.stack)

    @cached_property
    def sender(self) -> Sender:
        """The history so far."""
        return Sender(self.bench.target.endpoints.kafka_bootstrap, self.run.names.topic)

    @cached_property
    def claims(self) -> Claims:
        """Promises of the pipeline."""
        return self.subject.claims()

    def wait_until(self, is_met: Callable[[], bool]) -> None:
        """Wait until the pipeline has come so far, if it does in time: else an act would meet none of its work."""
        ends_s = time.monotonic() + MET_WITHIN_S
        while not is_met() and time.monotonic() < ends_s and not self.subject.has_stopped:
            self.subject.look()
            time.sleep(MET_POLL_S)

    def set_block(self, setting: str, *, on: bool) -> None:
        """Block the index, or lift the block once it was met."""
        if on:
            self.blocked_at = self.proxy.writes
        elif not self.subject.sink.pipeline.pulls:
            self.wait_until(lambda: self.proxy.writes > self.blocked_at)
        self.cluster.put_settings(self.run.names.index, {setting: True if on else None})

    def kill(self) -> None:
        """Kill the pipeline while its requests wait: a record of them that it has committed by then is lost."""
        faults = self.proxy.faults
        self.proxy.holds = True
        try:
            self.sender.send(next(self.waves))
            self.wait_until(lambda: self.proxy.faults > faults)
            time.sleep(HELD_S)
            self.subject.kill()
        finally:
            self.proxy.holds = False

    def kill_node(self) -> None:
        """End the search node by SIGKILL and start it again; return when it serves the index."""
        self.subject.kill_server(node_name(1))
        self.cluster.index_health(self.run.names.index, "yellow", RECOVERED_WITHIN_S)

    def prepare(self) -> None:
        """Make topic and index, empty."""
        names = self.run.names
        remove_connectors(self.worker, self.topics, names)
        remove_topics(self.topics, names)
        remove_earlier(self.cluster, names)
        create_topics(self.topics, self.run.profile, names)
        mappings = {**MAPPINGS, "_meta": {"sluice": {"run": self.run.folder.run_id}}}
        self.cluster.create_index(names.index, {"settings": {"number_of_replicas": 0}, "mappings": mappings})

    def load(self) -> None:
        """Send the waves, and act between them; the first one is there before the pipeline starts."""
        self.subject.configure()
        deletes = self.claims.deletes or self.case.deletes
        self.waves = waves(self.bench.seed, deletes=deletes, odd=self.case.odd)
        for number, wave in enumerate(self.waves):
            self.sender.send(wave)
            if number == 0:
                self.bench.say("starting")
                self.subject.start()
            if act := self.case.acts.get(number):
                self.bench.say("acting")
                self.wait_until(lambda: self.cluster.operations(self.run.names.index) > 0)
                act(self)
            self.bench.say(f"wave {number + 1}")
            self.subject.look()
            time.sleep(WAVE_EVERY_S)

    def committed(self) -> Mapping[int, int]:
        """Committed offsets of its group, by partition."""
        return self.topics.committed_offsets(self.run.names.topic, self.run.names.consumer_group)

    def judge(self) -> Judgement:
        """Findings as of now."""
        index, records = self.run.names.index, self.sender.sent
        committed = self.committed()
        self.cluster.refresh(index)
        documents: list[tuple[str, Mapping[str, Any]]] = [
            (hit["_id"], hit["_source"])
            for hits in self.cluster.scrolled(index, {"size": PAGE}, ("_id", "_source"))
            for hit in hits
        ]
        outcome = Outcome(
            documents,
            committed,
            self.subject.letters(self.topics, records),
            self.subject.worded(records),
            self.subject.has_stopped,
            self.subject.ended,
        )
        return judge(records, self.claims, outcome)

    def wait(self) -> Judgement:
        """Wait until the pipeline is done, stuck, or has stopped; the findings then."""
        ends = self.topics.end_offsets(self.run.names.topic)
        position: object = None
        began_s = moved_s = time.monotonic()
        while True:
            committed = self.committed()
            # One that was started again begins anew: its group may have to wait until the session before has timed out.
            starts = len(self.subject.stopped)
            now, before = (dict(committed), self.cluster.operations(self.run.names.index), starts), position
            if now != before:
                position, moved_s = now, time.monotonic()
            still_s = time.monotonic() - moved_s
            is_done = all(committed.get(partition, 0) >= end for partition, end in ends.items())
            is_over = bool(self.subject.has_stopped) or self.subject.ended
            if is_done or is_over or still_s >= SETTLED_S:
                found = self.judge()
                if not found.findings and (is_done or is_over):
                    return found
                # One that has committed what it only read may hold it back for a while, before it tries again.
                if still_s >= (SETTLED_S if is_over else self.bench.patience_s):
                    return found
            if time.monotonic() - began_s > 4 * self.bench.patience_s:
                return self.judge()
            self.bench.say(f"waiting, {sum(ends.values()) - sum(committed.values()):,} records not committed")
            self.subject.look()
            time.sleep(POLL_S)

    def close(self) -> None:
        """Stop the pipeline and remove what the case has made."""
        with uninterrupted():
            for step in (
                self.subject.stop,
                lambda: remove_traces(self.bench.target, self.run.profile, self.run.folder.run_id),
            ):
                with contextlib.suppress(SluiceError):
                    step()
            self.cluster.close()
            self.worker.close()


@contextlib.contextmanager
def trial_of(bench: Bench, case: Case) -> Iterator[Trial]:
    """A case with its proxy, whose pipeline is stopped in the end."""
    endpoints = bench.target.endpoints
    with Proxy(endpoints.elasticsearch_urls[0], case.faults) as proxy:
        target = replace(bench.target, endpoints=replace(endpoints, elasticsearch_urls=(proxy.url,)))
        folder = RunFolder.create(bench.folder, case.name)
        run = RunContext(bench.profile, bench.dataset, target, folder, progress=NoDisplay())
        trial = Trial(bench, case, run, proxy)
        try:
            yield trial
        finally:
            trial.close()


def prove(bench: Bench, case: Case) -> Result:
    """Put a pipeline to one case."""
    began_s = time.monotonic()
    with trial_of(bench, case) as trial:
        failure, found = "", Judgement()
        try:
            trial.prepare()
            trial.load()
            found = trial.wait()
            if trial.proxy.is_faulty and any(finding.kind in PASSED for finding in found.findings):
                trial.proxy.lift()
                found = with_held(found, trial.wait())
            stored = trial.cluster.count(trial.run.names.index)
            failure = idleness(trial.committed(), stored, trial.subject.stopped)
        except SluiceError as error:
            failure = str(error)
        return Result(
            case.name,
            found,
            len(trial.sender.sent),
            trial.proxy.faults,
            len(trial.subject.stopped),
            time.monotonic() - began_s,
            failure,
        )


def idleness(committed: Mapping[int, int], stored: int, stopped: Sequence[str]) -> str:
    """Why nothing can be said of a pipeline that has done nothing: else it would seem to lose nothing; or empty."""
    if stored or any(committed.values()):
        return ""
    return f"nothing was stored or committed{f'; it said: {stopped[-1]}' if stopped else ''}"


def profile_for(profile: Profile) -> Profile:
    """The profile of a pipeline as its cases run it: two partitions, and room for huge records."""
    topic = profile.topic.model_copy(update={"partitions": 2, "config": {"max.message.bytes": MOST_MESSAGE_BYTES}})
    return profile.model_copy(update={"name": "prove", "topic": topic, "indices": 1})
