"""Sends dead letters through the sink again, with the id and version of the record that was refused first."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from lab.clients.connect import ConnectWorker
from lab.clients.kafka import BROKERS_DEFAULT
from lab.clients.target import topics_of, worker_of
from lab.endpoints import HIDDEN, Endpoints
from lab.errors import ProfileError, StackError
from lab.records.fates import FATES
from lab.records.verification import DeadLetterGroup, Ledger
from lab.replay.dead_letters import (
    EVERYTHING,
    REPLAY_OF,
    REPLAY_VERSION,
    SENT,
    Choice,
    DeadLetterTopic,
    Letter,
    each_once,
    groups_of,
)
from lab.replay.transaction import MarkedWriter, Outgoing, marks_of
from lab.run.names import consumer_group
from lab.run.verify.sink_ledger import read_settled_ledger

AT_ONCE = 5_000

REFUSED = "dead_lettered"
OUTCOMES = {"refused" if fate.name == REFUSED else fate.heading: fate.name for fate in FATES}
ACCEPTED = (*(fate.heading for fate in FATES if fate.is_stored), "deleted", "accepted")
POLL_S = 0.5
STALLED_S = 120.0


@dataclass(frozen=True)
class Replay:
    """Outcome of a replay: the fates of the letters that were sent again.

    Attributes:
        sent: Letters that this replay has sent.
        earlier: Records that an earlier replay had sent and that the sink had not read before this one.
        outcomes: What became of all of them: `indexed`, `updated`, `deleted`, `already there` (or nothing to delete),
            `stale` (a newer version is stored), `redirected`, `dropped by pipeline`, `dropped`, `refused`; `accepted`
            where the sink keeps no ledger.
        refused: Those that were refused again, by reason. They are dead letters again.
    """

    sent: int
    earlier: int = 0
    outcomes: Mapping[str, int] = field(default_factory=Counter)
    refused: tuple[DeadLetterGroup, ...] = ()

    @property
    def accepted(self) -> int:
        """Records whose document, or a newer one, is stored."""
        return sum(self.outcomes.get(outcome, 0) for outcome in ACCEPTED)


def replay_config(recorded: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """The connector's configuration for a replay: that of the run, with what is given in place of it.

    Raises:
        ProfileError: A secret of the run is missing; it was not written down.
    """
    config = {name: str(value) for name, value in recorded.items()} | dict(given)
    hidden = sorted(name for name, value in config.items() if value == HIDDEN)
    if hidden:
        raise ProfileError(
            f"connector: {', '.join(hidden)}: is missing, because a run records no secrets; name an environment "
            f"variable that holds it with --set-env {hidden[0]}=VARIABLE"
        )
    return config


def chunks(letters: Iterable[Letter]) -> Iterator[tuple[Letter, ...]]:
    """The letters, so many at once as are sent and marked together."""
    left = iter(letters)
    while chunk := tuple(islice(left, AT_ONCE)):
        yield chunk


def mark_letters(endpoints: Endpoints, topic: DeadLetterTopic, letters: Iterable[Letter], mark: str) -> None:
    """Mark single letters as `discarded` or `waiting`; they stay in their topic."""
    topic.prepare_marks()
    with MarkedWriter(endpoints.kafka_bootstrap, topic.topic, endpoints.access.kafka) as writer:
        for chunk in chunks(letters):
            writer.write((), {}, marks_of(chunk, topic, mark))


def mark_after(letters: Iterable[Letter], before: Mapping[int, int]) -> dict[int, int]:
    """The mark that says these have been sent; it never goes back."""
    mark = dict(before)
    for letter in letters:
        mark[letter.at.partition] = max(mark.get(letter.at.partition, 0), letter.at.offset + 1)
    return mark


@dataclass(frozen=True)
class Route:
    """Way of dead letters into the index: the topic that they are sent into, and the connector that reads it.

    Attributes:
        config: The connector's configuration.
        is_temporary: True for a topic with one partition that is made for the replay and removed after it.
    """

    config: Mapping[str, str]
    topic: str
    is_temporary: bool = False


class TopicReplay:
    """Sends dead letters into a topic while a connector of the replay's own reads it."""

    def __init__(
        self, endpoints: Endpoints, letters: DeadLetterTopic, route: Route, choice: Choice = EVERYTHING
    ) -> None:
        self._endpoints = endpoints
        self._letters = letters
        self._topic = route.topic
        self._is_temporary = route.is_temporary
        self._connector = route.config["name"]
        self._config = route.config
        self._choice = choice
        self._kafka = topics_of(endpoints)

    def run(self, *, again: bool) -> Replay:
        """Send the letters, wait until the sink has decided every one of them, and say what became of them."""
        if self._topic not in self._kafka.names():
            if not self._is_temporary:
                raise ProfileError(f"topic {self._topic}: no longer on these servers; run the profile again")
            self._kafka.create(self._topic, partitions=1, replication_factor=BROKERS_DEFAULT, config={})
        try:
            return self._replayed(again=again)
        finally:
            # What a replay that fails has sent stays there for the next one.
            if self._is_temporary and not self.unread()[1]:
                self._kafka.delete([self._topic])

    def _replayed(self, *, again: bool) -> Replay:
        end_before = self._letters.end()
        worker = worker_of(self._endpoints)
        try:
            # A wrong setting is told before anything is sent.
            worker.validate(self._config)
            ends, earlier = self.unread()
            sent = self.send(ends, again=again)
            if not sent and not earlier:
                return Replay(sent=0)
            worker.create(self._connector, self._config)
            worker.wait_until_running(self._connector)
            self.wait(worker, ends)
            return self.outcome(sent, earlier, end_before)
        finally:
            # Also one that an earlier replay, which was killed, has left behind.
            worker.delete(self._connector)
            worker.close()

    def unread(self) -> tuple[dict[int, int], int]:
        """Records that an earlier replay, broken off, has left in the topic: the offsets after them, and how many."""
        ends: dict[int, int] = {}
        count = 0
        for message in self._kafka.records(self._topic, self.committed()):
            ends[message.partition() or 0] = (message.offset() or 0) + 1
            count += 1
        return ends, count

    def send(self, ends: dict[int, int], *, again: bool) -> int:
        """Send the letters; how many there were. The offsets after them are written into `ends`."""
        sent = 0
        mark = self._letters.sent_up_to()
        is_marked_singly = not self._choice.is_everything or bool(self._letters.marks())
        if is_marked_singly:
            self._letters.prepare_marks()
        with MarkedWriter(self._endpoints.kafka_bootstrap, self._letters.topic, self._endpoints.access.kafka) as writer:
            for chunk in chunks(self._letters.to_send(self._choice, again=again)):
                mark = mark_after(chunk, mark) if self._choice.is_everything else mark
                records = [record_of(letter, self._topic) for letter in chunk]
                if self._is_temporary:
                    records = [replace(record, partition=0) for record in records]
                ends.update(writer.write(records, mark, marks_of(chunk, self._letters, SENT) * is_marked_singly))
                sent += len(chunk)
        return sent

    def committed(self) -> dict[int, int]:
        """Committed offset of each partition."""
        return self._kafka.committed_offsets(self._topic, consumer_group(self._connector))

    def wait(self, worker: ConnectWorker, ends: Mapping[int, int]) -> None:
        """Return once the sink has committed everything before these offsets.

        Raises:
            StackError: A task failed, or nothing moved for two minutes.
        """
        committed, moved_s = self.committed(), time.monotonic()
        while any(committed.get(partition, 0) < end for partition, end in ends.items()):
            if time.monotonic() - moved_s > STALLED_S:
                raise StackError(
                    f"connector {self._connector}: no progress for {STALLED_S:.0f} s; the dead letters are in "
                    f"topic {self._topic}; run the same command again to continue; check `./sluice logs connect`"
                )
            worker.running_tasks(self._connector)
            time.sleep(POLL_S)
            before, committed = committed, self.committed()
            moved_s = time.monotonic() if committed != before else moved_s

    def outcome(self, sent: int, earlier: int, end_before: Mapping[int, int]) -> Replay:
        """Outcome by the sink's ledger if it covers all records, otherwise by the new dead letters."""
        refused = list(each_once(self._letters.letters(end_before, content=False)))
        reading = read_settled_ledger(
            self._endpoints.metrics_url, self._connector, access=self._endpoints.access.metrics
        )
        totals = [task.total for task in reading.ledger.tasks.values()] if reading.ledger else []
        outcomes = outcomes_of(totals)
        if sum(outcomes.values()) != sent + earlier or outcomes["refused"] != len(refused):
            outcomes = Counter({"accepted": sent + earlier - len(refused), "refused": len(refused)})
        return Replay(sent, earlier, outcomes, groups_of(refused))


def sum_of(replays: Iterable[Replay]) -> Replay:
    """The sum of replays of several topics."""
    total = Replay(sent=0)
    for each in replays:
        outcomes = Counter(total.outcomes) + Counter(each.outcomes)
        total = Replay(total.sent + each.sent, total.earlier + each.earlier, outcomes, total.refused + each.refused)
    return total


def outcomes_of(totals: list[Ledger]) -> Counter[str]:
    """Number of records by outcome, summed over the tasks."""
    return Counter({outcome: sum(getattr(total, name) for total in totals) for outcome, name in OUTCOMES.items()})


def connector_for_replay(config: Mapping[str, str], endpoints: Endpoints) -> dict[str, str]:
    """The configuration with which a run's connector reads replayed records, on servers that may be elsewhere now."""
    urls = endpoints.access.sink.get("connection.url") or ",".join(endpoints.elasticsearch_urls)
    return replayed({**config, "connection.url": urls})


def replayed(config: Mapping[str, str]) -> dict[str, str]:
    """The configuration with which a connector reads replayed records.

    A record at the end of the topic has the highest offset, so that it would win over every later document of its key.
    Its version therefore comes from a header, unless the connector's own versions did so already. Where ids are made of
    offsets, its id is that of the record in the header that names it.
    """
    return {
        **config,
        "external.version.header": config.get("external.version.header") or REPLAY_VERSION,
        "consumer.override.isolation.level": "read_committed",
        "id.origin.header": REPLAY_OF,
        # What is refused again must come back as a dead letter, and stop nothing.
        "errors.deadletterqueue.context.headers.enable": "true",
    }


def record_of(letter: Letter, topic: str) -> Outgoing:
    """The record that replays a letter: in the partition of the first one, so that the order of its key is kept."""
    own = tuple(header for header in letter.headers if header[0] not in {REPLAY_OF, REPLAY_VERSION})
    replays = ((REPLAY_OF, str(letter.origin).encode()), (REPLAY_VERSION, str(letter.origin.offset).encode()))
    return Outgoing(topic, letter.origin.partition, letter.key, letter.value, (*own, *replays), letter.timestamp_ms)
