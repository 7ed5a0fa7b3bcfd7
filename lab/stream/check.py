"""Whether the index holds what a stream has sent: every id, a sample of documents, and nothing else."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.clients.target import cluster_of, topics_of
from lab.endpoints import Endpoints
from lab.errors import ProfileError, StackError
from lab.profiles import Profile
from lab.run.names import Names
from lab.run.verify.accounting import NAMED, Hashes, altered, compare, distinct_letters, hashes_of, index_problems
from lab.run.verify.contents import SourceRules
from lab.run.verify.verify import first_places, key_hashes, stored_hashes
from lab.stream.laps import PositionStore
from lab.stream.shares import SentDocuments
from producers.dataset import Dataset
from producers.share import Share

POLL_S = 1.0
STALLED_S = 120.0


@dataclass(frozen=True)
class StreamAccounting:
    """What a stream comes to.

    Attributes:
        sent: Documents over all laps.
        distinct: Documents with an id of their own among them.
        problems: A sentence for each sum that does not add up.
    """

    sent: int
    distinct: int
    stored: int
    dead_lettered: int
    sampled: int
    problems: tuple[str, ...]


def check_stream(
    profile: Profile,
    dataset: Dataset,
    endpoints: Endpoints,
    names: Names,
    *,
    shares: int = 1,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> StreamAccounting:
    """Wait until the sink has read everything, and compare what is stored with what was sent.

    Args:
        shares: How many producers send the stream.

    Raises:
        ProfileError: The stream cannot be compared.
        StackError: It is still being sent, or the sink does not move.
    """
    if str(profile.sink.config.get("key.ignore", "false")).lower() == "true":
        raise ProfileError(
            "sink.config.key.ignore: got true, expected false: every lap would store its documents again"
        )
    topics = topics_of(endpoints)
    each = [Share(number, shares) for number in range(1, shares + 1)]
    marks = [PositionStore(endpoints.kafka_bootstrap, names, endpoints.access.kafka, share) for share in each]
    cluster = cluster_of(endpoints)
    try:
        sent = SentDocuments.by(dataset, settled(topics, marks, names))
        wait_until_read(topics, names, sum(topics.end_offsets(names.topic).values()), sleep=sleep, clock=clock)
        if profile.verify.expect == "consumed":
            stored = cluster.count(names.index)
            problem = f"{stored} documents are in the index, although the sink was to store none"
            return StreamAccounting(sent.total, 0, stored, 0, 0, (problem,) if stored else ())
        return stored_accounting(profile, dataset, names, sent, cluster=cluster, topics=topics)
    finally:
        for mark in marks:
            mark.close()
        cluster.close()


def settled(topics: KafkaTopics, marks: Sequence[PositionStore], names: Names) -> list[int]:
    """How far each producer of the stream is, in documents over all laps, if nobody sends any more.

    Raises:
        StackError: One goes on, or there are records that none of them has written down.
    """
    sent = [mark.read() for mark in marks]
    records = sum(topics.end_offsets(names.topic).values())
    # The last one to stop has counted the records of all.
    counted = [position.records for position in sent if position.records is not None]
    is_known = len(counted) == len(sent)
    if not is_known or records != max(counted):
        expected = f"{max(counted):,} that its producer has written" if is_known else "number that its producer writes"
        raise StackError(
            f"{names.topic}: got {records:,} records, expected the {expected} down: it is still sending, or was "
            "killed; start it again if it was, then stop it (docker compose stop producer)"
        )
    return [position.documents for position in sent]


def wait_until_read(
    topics: KafkaTopics,
    names: Names,
    records: int,
    *,
    sleep: Callable[[float], None],
    clock: Callable[[], float],
) -> None:
    """Return when the sink has committed every record; raises StackError if nothing has moved for two minutes."""
    before, moved_s = -1, clock()
    while (read := sum(topics.committed_offsets(names.topic, names.consumer_group).values())) < records:
        if read != before:
            before, moved_s = read, clock()
        if clock() - moved_s > STALLED_S:
            raise StackError(
                f"connector {names.connector}: has committed {read:,} of {records:,} records, no progress for "
                f"{STALLED_S:.0f} s; its state: GET /connectors/{names.connector}/status"
            )
        sleep(POLL_S)


def stored_accounting(
    profile: Profile,
    dataset: Dataset,
    names: Names,
    sent: SentDocuments,
    *,
    cluster: ElasticsearchClient,
    topics: KafkaTopics,
) -> StreamAccounting:
    """The accounting for a sink that stores every document."""
    hashes, was_sent = key_hashes(dataset, len(sent.reached)), sent.times > 0
    expected = hashes[was_sent]
    dead = hashes_of(letter.key for letter in distinct_letters(topics.dead_letters(names.dead_letter_topic)))
    cluster.refresh(names.index)
    # Dead letters are those of all laps, so records are counted over all laps.
    comparison = compare(expected, stored_hashes(cluster, names.index), dead, sent.times[was_sent])
    draw = random.Random(names.topic)  # noqa: S311 - a sample, no secret
    places = np.flatnonzero(was_sent)
    drawn = draw.sample(range(len(places)), min(len(places), profile.verify.sample))
    numbers: list[int] = places[np.array(drawn, dtype=np.int64)].tolist()
    rules = SourceRules.of_all(cluster.described(names.index))
    sample = latest_documents(dataset, hashes, numbers, sent, dead) if rules.kind != "none" else {}
    different = altered(sample, cluster.sources(names.index, list(sample)), rules)
    missing = [dataset.key(place).decode() for place in first_places(comparison.missing[:NAMED], hashes)]
    return StreamAccounting(
        sent=sent.total,
        distinct=len(np.unique(expected)),
        stored=comparison.indexed + comparison.unexpected,
        dead_lettered=len(dead),
        sampled=len(sample),
        problems=tuple(index_problems(comparison, missing, different, len(sample), "this stream")),
    )


def latest_documents(
    dataset: Dataset, hashes: Hashes, numbers: list[int], sent: SentDocuments, dead: Hashes
) -> dict[str, bytes]:
    """For each of these documents the one of the same key that was sent last; those with dead letters are left out.

    Args:
        hashes: The hash of each document's key, by number.
    """
    gone = set(dead.tolist())
    latest: set[int] = set()
    for number in numbers:
        if int(hashes[number]) not in gone:
            same_key = np.flatnonzero((hashes == hashes[number]) & (sent.times > 0))
            latest.add(last_sent(same_key, int(sent.reached[number]), dataset.documents))
    records = dataset.records(np.array(sorted(latest), dtype=np.int64)) if latest else ()
    return {key.decode(): document for key, document in records}


def last_sent(numbers: NDArray[np.int64], sent: int, lap_documents: int) -> int:
    """Which of these documents was sent last; the lap under way has sent only those below its position."""
    in_this_lap = numbers[numbers < sent % lap_documents] if sent >= lap_documents else numbers
    return int((in_this_lap if len(in_this_lap) else numbers).max())
