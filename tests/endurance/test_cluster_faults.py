"""Every part of a cluster killed, cut off and paused while updates and deletes stream, one by one and in pairs.

`pytest tests/endurance/test_cluster_faults.py -s --faults 60`, as root; after each case the index is compared with the
stream: nothing may be lost, stale, doubled or undead.
"""

import random
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.monitor.kafka import KafkaReader
from lab.stack.places import ROOT
from tests.compose.cluster import BROKERS, NODES, PRODUCERS, WORKERS, Cluster, answer_of, cluster_of, wait_until
from tests.compose.engine import Engine
from tests.compose.faults import FAULTS, why_not
from tests.endurance.lookout import Reading, Series, caught_up_s, longest_standstill_s
from tests.integration.keyed_stream import Comparison, KeyedStream, stored_documents
from tests.integration.sink_connector import SinkConnector

NAME = "sluice-faults"
KEYS = 10_007
RECORDS_PER_S = 211
PARTITIONS = 6
TASKS = 2
KINDS: Mapping[str, Sequence[str]] = {"broker": BROKERS, "worker": WORKERS, "node": NODES, "producer": PRODUCERS}
INSIDE = ",".join(f"http://{node}:9200" for node in NODES)
USUAL_S = 10
"""So long before a fault, the largest lag is the usual one."""
RECOVERED_WITHIN_S = 300
MOVED_WITHIN_S = 40
"""The group misses a worker after 10 s, and has 60 s at most to share its tasks anew; it takes a few."""
TABLE = ROOT / "runs" / "cluster-faults.md"

INDEX = {
    # A copy of each shard: one node may be lost. Deletes are remembered for Elasticsearch's own minute.
    "settings": {"number_of_shards": 2, "number_of_replicas": 1, "refresh_interval": "1s"},
    "mappings": {"properties": {"number": {"type": "long"}, "key": {"type": "keyword"}, "text": {"enabled": False}}},
}


@dataclass(frozen=True)
class Case:
    """What happens at once: nothing, a fault of a part, or faults of two parts of different kinds."""

    faults: tuple[tuple[str, str], ...]

    @property
    def services(self) -> frozenset[str]:
        """The parts."""
        return frozenset(service for _, service in self.faults)

    @property
    def words(self) -> frozenset[str]:
        """What it is chosen by: `none`, `pair`, or else its fault, its part and the kind of it."""
        if len(self.faults) != 1:
            return frozenset({"pair" if self.faults else "none"})
        ((fault, service),) = self.faults
        return frozenset({fault, service, *(kind for kind, services in KINDS.items() if service in services)})


@dataclass(frozen=True)
class Row:
    """What came of a case, in seconds.

    Attributes:
        gap_s: The longest time without a newly stored document.
        stall_s: The longest time in which the sink committed nothing of some partition.
        recovery_s: From the end of the fault until the lag was as usual; 0 if it was so by then.
        moved_s: Until the other worker ran all tasks; `None` where no worker failed, or they had not moved by the end.
        comparison: What was stored after it, against all that had been produced.
    """

    case: Case
    gap_s: float
    stall_s: float
    recovery_s: float
    moved_s: float | None
    comparison: Comparison

    def __str__(self) -> str:
        faults = self.case.faults or (("none", ""),)
        fault, part = (" + ".join(words) for words in zip(*faults, strict=True))
        moved = "" if self.moved_s is None else f"{self.moved_s:.0f}"
        seconds = (f"{self.gap_s:.1f}", f"{self.stall_s:.1f}", f"{self.recovery_s:.1f}", moved)
        books = self.comparison
        wrong = (books.lost, books.stale, books.undead, books.duplicates)
        return f"| {' | '.join((fault, part, *seconds, *map(str, wrong)))} |"


@dataclass
class Trial:
    """The cluster under the stream, with who looks on.

    Attributes:
        ailing: Parts that are not asked just now.
        commits: By topic and partition, what the sink has committed at each look.
    """

    cluster: Cluster
    stream: KeyedStream
    fault_s: float
    ailing: frozenset[str] = frozenset()
    rows: list[Row] = field(default_factory=list)
    commits: dict[tuple[str, int], list[Reading]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        patience = {"socket.timeout.ms": "4000", "topic.metadata.refresh.interval.ms": "2000"}
        self._kafka = KafkaReader(
            self.cluster.endpoints.kafka_bootstrap, NAME, f"connect-{NAME}", timeout_s=3, client=patience
        )
        self.newest = Series(self.newest_stored)
        self.lags = Series(self.lag)

    def newest_stored(self) -> int | None:
        """The number of the newest document that searches see on the nodes that are well."""
        well = [node for node in NODES if node not in self.ailing]
        names = ",".join("elasticsearch-1" if node == NODES[0] else node for node in well)
        url = f"{self.cluster.node_url(well[0])}/{NAME}/_search?preference=_only_nodes:{names}"
        found = answer_of(url, {"size": 0, "aggs": {"newest": {"max": {"field": "number"}}}}, within_s=2)
        value = found and found["aggregations"]["newest"]["value"]
        return None if value is None else int(value)

    def lag(self) -> int | None:
        """Records that were produced and that the sink has not committed."""
        try:
            committed = self._kafka.committed_offsets()
            lag = self.stream.produced - sum(committed.values())
        except (KafkaException, RuntimeError):
            return None
        for place, offset in committed.items():
            self.commits[place].append(Reading(time.monotonic(), offset))
        return lag

    def undergo(self, case: Case) -> None:
        """Have the case happen to a cluster that is whole under the stream, see it whole again, and compare."""
        self.cluster.wait_until_whole()
        with sending(self.stream):
            measured = self.measured(case)
            self.cluster.wait_until_whole()
        self.ailing = frozenset()
        self.rows.append(Row(case, *measured, self.compared()))
        say(f"{self.rows[-1]} {self.stream.produced:,} records so far")

    def measured(self, case: Case) -> tuple[float, float, float, float | None]:
        """Gap, stall, recovery and move of a case, in seconds."""
        usual = self.usual_lag()
        begin_s = time.monotonic()
        self.ailing = case.services
        with ExitStack() as stack:
            for fault, service in case.faults:
                stack.enter_context(FAULTS[fault](self.cluster.project, service))
            moved_s = self.seconds_to_move(case, begin_s)
            time.sleep(max(0.0, begin_s + self.fault_s - time.monotonic()))
            end_s = time.monotonic()
        recovered_s = self.recovered_s(end_s, usual)
        gap_s = longest_standstill_s(self.newest.readings, begin_s, recovered_s)
        stall_s = max(longest_standstill_s(seen, begin_s, recovered_s) for seen in self.commits.values())
        return gap_s, stall_s, recovered_s - end_s, moved_s

    def compared(self) -> Comparison:
        """All that is stored against all that was produced, once the sink has committed it."""
        self.stream.finish()
        wait_until(lambda: self.lag() == 0, lambda: f"lag {self.lag()}", RECOVERED_WITHIN_S)
        elasticsearch = ElasticsearchClient(self.cluster.endpoints.elasticsearch_urls)
        return self.stream.compared_with(stored_documents(elasticsearch, NAME))

    def usual_lag(self) -> int:
        """The largest lag of some seconds without a fault."""
        from_s = time.monotonic()
        time.sleep(USUAL_S)
        lags: list[Reading] = self.lags.since(from_s)
        assert lags, "Kafka does not say how far the sink is"
        return max(lag.value for lag in lags)

    def seconds_to_move(self, case: Case, begin_s: float) -> float | None:
        """How long it took the other worker to run all tasks, before the fault ends; `None` where there is no other."""
        well = [worker for worker in WORKERS if worker not in case.services]
        if len(well) != 1:
            return None
        while time.monotonic() < begin_s + self.fault_s:
            places = [self.cluster.places(name, well[0]) for name in self.cluster.connectors()]
            if places and {place for tasks in places for place in tasks.values()} == {("RUNNING", well[0])}:
                return time.monotonic() - begin_s
            time.sleep(0.5)
        assert self.fault_s < MOVED_WITHIN_S, f"{case}: {well[0]} does not have the tasks after {self.fault_s:.0f} s"
        return None

    def recovered_s(self, end_s: float, usual: int) -> float:
        """When the lag was as usual again after a fault that ended then."""
        wait_until(
            lambda: caught_up_s(self.lags.readings, end_s, usual) is not None,
            lambda: f"lag {self.lags.readings[-1:]}, usually {usual}; {self.cluster.unwhole()}",
            RECOVERED_WITHIN_S,
        )
        return caught_up_s(self.lags.readings, end_s, usual) or end_s


@pytest.fixture
def cluster(fault_s: float, engine: Engine, stand_ins: Mapping[str, str]) -> Iterator[Cluster]:  # noqa: ARG001 - asked for
    """The cluster, up and whole, with two producers of its own stream."""
    if why := why_not():
        pytest.skip(why)
    stream = {"EXPERIMENT": "quickstart", "RATE": "101", "DOCUMENTS": "20011"}
    with cluster_of(engine, stand_ins, "faults", **stream) as made:
        made.project("up", "--build", "--detach", "--wait")
        yield made


@contextmanager
def sending(stream: KeyedStream) -> Iterator[None]:
    """The stream under way."""
    over = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        sender = pool.submit(stream.send_at, RECORDS_PER_S, over.is_set)
        try:
            yield
        finally:
            over.set()
            # A stream that broke off would have nothing to lose.
            sender.result()


def say(what: str) -> None:
    """Show with `pytest -s` what has happened."""
    sys.stdout.write(f"{time.strftime('%X')} {what}\n")
    sys.stdout.flush()


def cases(only: str, pairs: int, chance: random.Random) -> list[Case]:
    """No fault, every fault of every part, one part of each kind first, then pairs: never two brokers or two nodes."""
    ranks = ([part for part in parts if part] for parts in zip_longest(*KINDS.values()))
    singles = [Case(()), *(Case(((fault, part),)) for parts in ranks for fault in FAULTS for part in parts)]
    several = []
    for _ in range(pairs):
        both = [chance.choice(KINDS[kind]) for kind in chance.sample(list(KINDS), 2)]
        several.append(Case(tuple((chance.choice(list(FAULTS)), part) for part in both)))
    wanted = [frozenset(words.split("/")) for words in only.split(",") if words]
    return [case for case in (*singles, *several) if all(words & case.words for words in wanted)]


def connector_of(cluster: Cluster) -> SinkConnector:
    """The sink of the keyed stream, with the settings of the lab's template."""
    endpoints = cluster.endpoints
    ElasticsearchClient(endpoints.elasticsearch_urls).create_index(NAME, INDEX)
    KafkaTopics(endpoints.kafka_bootstrap).create(NAME, partitions=PARTITIONS, replication_factor=3, config={})
    connector = SinkConnector(endpoints, NAME)
    connector.configure(tasks__max=TASKS, connection__url=INSIDE)
    return connector


HEAD = "fault | part | gap, s | stall, s | recovery, s | tasks moved after, s | lost | stale | undead | doubled"


def table(rows: Sequence[Row], fault_s: float, stream: KeyedStream) -> str:
    """What came of all cases, as Markdown."""
    lines = "\n".join((f"| {HEAD} |", "| --- " * (1 + HEAD.count("|")) + "|", *map(str, rows)))
    sent = ", ".join(f"{records:,} {kind}" for kind, records in stream.sent.items())
    return f"Each fault lasted {fault_s:.0f} s, at {RECORDS_PER_S} records/s ({sent}).\n\n{lines}\n"


@pytest.mark.timeout(0)
def test_a_part_that_fails_costs_no_update_and_no_delete(
    fault_s: float, seed: int, cluster: Cluster, request: pytest.FixtureRequest
) -> None:
    """After each fault every document is the last one produced for its key, and what was deleted is gone."""
    chance = random.Random(seed)  # noqa: S311 - a test that can be repeated
    options = request.config
    chosen = cases(options.getoption("--only"), options.getoption("--pairs"), chance)
    end_s = time.monotonic() + 60 * options.getoption("--faults-for")
    connector = connector_of(cluster)
    stream = KeyedStream(cluster.endpoints.kafka_bootstrap, NAME, keys=KEYS, seed=seed)
    trial = Trial(cluster, stream, fault_s)
    with trial.newest, trial.lags:
        for case in chosen:
            if time.monotonic() > end_s:
                break
            trial.undergo(case)
            write(TABLE, table(trial.rows, fault_s, stream))

    assert [row for row in trial.rows if row.comparison != Comparison(compared=row.comparison.compared)] == []
    connector.wait_until(lambda: len(connector.ledgers()) == TASKS, "seen in the metrics")
    assert connector.balance() == [0] * TASKS
    cluster.project("stop", *PRODUCERS)
    say(f"{cluster.project.verified({}):,} documents of the two producers: verified")


def write(file: Path, text: str) -> None:
    """Keep what is known so far."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
