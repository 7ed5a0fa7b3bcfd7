"""Verification: reads back the topic, every id and a random sample of documents, and accounts for every document."""

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import DeadLetter, KafkaTopics, offset_id
from lab.errors import StackError
from lab.records.verification import Documents, Verification
from lab.run.names import Names
from lab.run.verify.accounting import (
    NAMED,
    NONE_UNINDEXED,
    DeliveredRecords,
    Found,
    Hashes,
    Unindexed,
    account_for,
    altered,
    compare,
    compare_contents,
    compare_deleted,
    counted,
    dead_letter_reasons,
    delivery_problems,
    distinct_letters,
    hash_of,
    hashes_of,
    recorded,
)
from lab.run.verify.contents import FormlessError, SourceRules
from lab.run.verify.topic import TopicComparison, compare_topic
from producers.dataset import Dataset
from producers.json_values import loaded
from producers.part import parts_of

COMPARED_WHOLE, COMPARED_BYTES = 20_000, 256_000_000
"""An index of so many documents and bytes is compared in seconds; of a larger one a sample is drawn."""
FIRST_FEW = 50
READINGS = 3


@dataclass(frozen=True)
class VerificationTarget:
    """What is to be verified.

    Attributes:
        key_is_id: Whether the record's key is the document's id; otherwise it is `topic+partition+offset`.
        ids_are_generated: Whether the cluster has made the ids, so that documents are known by their contents alone.
        id_prefix: What stands before `topic+partition+offset`.
        sample: Documents to draw at random from an index of more than 20,000, of which each is compared else; 0: none.
        seed: Another seed draws others.
        refusals: Problems that the load itself has seen, a sentence each.
        shares_dead_letters: Whether the topic of dead letters has those of other topics, too.
        unindexed: By topic, records that the sink's ledger accounts for elsewhere.
        compared_topics: By topic, what was found when it was held against its dataset; verification adds to it. Runs
            that drain the same topic share it.
        as_stored: The document that must be stored for a produced one; itself by default.
    """

    dataset: Dataset
    names: Names
    records: DeliveredRecords
    key_is_id: bool
    sample: int
    seed: str
    refusals: tuple[str, ...] = ()
    shares_dead_letters: bool = False
    ids_are_generated: bool = False
    id_prefix: str = ""
    unindexed: Mapping[str, Unindexed] = field(default_factory=dict)
    compared_topics: dict[str, TopicComparison] = field(default_factory=dict)
    as_stored: Callable[[bytes], bytes] = bytes

    @property
    def parts(self) -> tuple["VerificationTarget", ...]:
        """The same of each of its indices, with the documents that are meant for it."""
        datasets = parts_of(self.dataset, len(self.names.parts))
        return tuple(
            replace(self, names=names, dataset=dataset)
            for names, dataset in zip(self.names.parts, datasets, strict=True)
        )

    def topic_problems(self, kafka: KafkaTopics, on_progress: Callable[[int, str], None]) -> tuple[str, ...]:
        """How its one topic differs from its dataset, in at most one sentence.

        Documents that are gone from it, as by retention, are a problem only where ids are made of their offsets: which
        document such an id stands for is then not known.
        """
        topic = self.names.topic
        if topic not in self.compared_topics:
            self.compared_topics[topic] = compare_topic(kafka, topic, self.dataset, on_progress)
        found = self.compared_topics[topic]
        gone = found.lacking - max(0, self.dataset.documents - sum(kafka.end_offsets(topic).values()))
        problem = found.problem
        if problem is None and gone > 0 and not (self.key_is_id or self.ids_are_generated):
            problem = (
                f"{counted(gone, 'is', 'are')} gone from the topic, so that their ids, made of offsets, tell nothing"
            )
        return (problem,) if problem else ()


@dataclass(frozen=True)
class KeyIds:
    """Documents whose id is their record's key."""

    dataset: Dataset

    def hashes(self) -> Hashes:
        """The id of each record."""
        return key_hashes(self.dataset, self.dataset.documents)

    def dead(self, letter: DeadLetter) -> bytes:
        """The id that a dead-lettered record would have had."""
        return letter.key

    def name(self, position: int) -> str:
        """The id of the record at this position of `hashes`."""
        return self.dataset.key(position).decode(errors="replace")

    def sample(self, count: int, draw: random.Random, dead: Hashes) -> dict[str, bytes]:
        """Documents drawn at random, by id: of each key the last one. Ids with dead letters are not drawn."""
        latest = self.dataset.latest()
        numbers = latest[np.sort(np.array(draw.sample(range(len(latest)), min(count, len(latest))), dtype=np.int64))]
        drawn = {key.decode(): document for key, document in self.dataset.records(numbers)}
        gone = set(dead.tolist())
        return {name: document for name, document in drawn.items() if hash_of(name) not in gone}


@dataclass(frozen=True)
class OffsetIds:
    """Documents whose id is `topic+partition+offset` after a prefix."""

    dataset: Dataset
    topic: str
    kafka: KafkaTopics
    end_offsets: Mapping[int, int]
    prefix: str = ""

    def hashes(self) -> Hashes:
        """The id of each record."""
        return hashes_of(
            self.prefix + offset_id(self.topic, partition, offset)
            for partition, end in self.end_offsets.items()
            for offset in range(end)
        )

    def dead(self, letter: DeadLetter) -> bytes:
        """The id that a dead-lettered record would have had."""
        place = letter.place
        return (self.prefix + offset_id(place.topic, place.partition, place.offset)).encode()

    def place(self, position: int) -> tuple[int, int]:
        """Partition and offset of the record at this position of `hashes`."""
        for partition, end in self.end_offsets.items():
            if position < end:
                return partition, position
            position -= end
        raise IndexError(position)

    def name(self, position: int) -> str:
        """The id of the record at this position of `hashes`."""
        return self.prefix + offset_id(self.topic, *self.place(position))

    def sample(self, count: int, draw: random.Random, dead: Hashes) -> dict[str, bytes]:
        """Documents drawn at random, by id: the dataset's document whose key the record at that offset has."""
        total = sum(self.end_offsets.values())
        drawn = sorted(draw.sample(range(total), min(count, total)))
        gone = set(dead.tolist())
        places = [self.place(position) for position in drawn if hash_of(self.name(position)) not in gone]
        keys = key_hashes(self.dataset, self.dataset.documents)
        order = np.argsort(keys)
        documents = {}
        for (partition, offset), (key, value) in self.kafka.records_at(self.topic, set(places)).items():
            at = np.searchsorted(keys, hash_of(key), sorter=order)
            numbers = order[at : at + 1]
            # Several documents may share a key; then the record itself says which of them it is.
            in_dataset = len(numbers) and keys[numbers[0]] == hash_of(key)
            document = self.dataset.document(int(numbers[0])) if in_dataset else b"null"
            shared = int((keys == hash_of(key)).sum()) > 1
            documents[self.prefix + offset_id(self.topic, partition, offset)] = value if shared else document
        return documents


def key_hashes(dataset: Dataset, documents: int) -> Hashes:
    """The hash of the key of each of the first documents, by document number."""
    return hashes_of(key for numbers in dataset.blocks(0, documents) for key in dataset.keys(numbers))


def verify(
    target: VerificationTarget,
    kafka: KafkaTopics,
    cluster: ElasticsearchClient,
    on_progress: Callable[[int, str], None],
) -> tuple[Documents, Verification]:
    """Compare what is stored with what was produced.

    Args:
        on_progress: Told of documents read back so far, and of what is being done.

    Returns:
        The accounting, and whether it adds up.
    """
    topic, records, refusals = target.names.topic, target.records, target.refusals
    letters: list[DeadLetter] = []
    ids: KeyIds | OffsetIds = KeyIds(target.dataset)
    if records.delivered is not None:
        end_offsets = kafka.end_offsets(topic)
        records = replace(records, in_topic=sum(end_offsets.values()))
        refusals = (*refusals, *target.topic_problems(kafka, on_progress))
        letters = distinct_letters(kafka.dead_letters(target.names.dead_letter_topic))
        if target.shares_dead_letters:
            letters = [letter for letter in letters if letter.place.topic == topic]
        if not target.key_is_id:
            ids = OffsetIds(target.dataset, topic, kafka, end_offsets, target.id_prefix)
    if target.ids_are_generated:
        found = by_contents(target, letters, kafka, cluster, on_progress)
    else:
        found = by_ids(target, ids, letters, cluster, on_progress)
    documents, verification = account_for(
        records, found, letters, refusals=refusals, unindexed=target.unindexed.get(topic, NONE_UNINDEXED)
    )
    return documents, verification.model_copy(update={"contents": found.contents, "not_compared": found.not_compared})


def by_ids(
    target: VerificationTarget,
    ids: KeyIds | OffsetIds,
    letters: Sequence[DeadLetter],
    cluster: ElasticsearchClient,
    on_progress: Callable[[int, str], None],
) -> Found:
    """Hold every id against those of the records, and some documents against the dataset."""
    index = target.names.index
    expected, dead = ids.hashes(), hashes_of(ids.dead(letter) for letter in letters)
    stored_ids = stored_hashes(cluster, index, on_progress)
    tombstones = target.dataset.tombstones(np.arange(target.dataset.documents)) if target.key_is_id else None
    if tombstones is None:
        comparison = compare(expected, stored_ids, dead)
    else:
        comparison = compare_deleted(expected, stored_ids, dead, tombstones)
    unindexed = target.unindexed.get(target.names.topic, NONE_UNINDEXED)
    gone = np.concatenate([dead, comparison.missing]) if unindexed.records(len(letters)) else dead
    rules = SourceRules.of_all(cluster.described(index))
    draw = random.Random(target.seed)  # noqa: S311 - a sample, no secret
    wanted = len(expected) if target.sample and is_small(target.dataset, len(expected)) else target.sample
    drawn = ids.sample(wanted, draw, gone) if rules.kind != "none" else {}
    sample = {name: target.as_stored(document) for name, document in drawn.items()}
    on_progress(comparison.indexed, f"comparing {len(sample):,} documents")
    stored = cluster.sources(index, list(sample), routings_of(target.dataset, sample))
    return Found(
        comparison,
        contents=f"as {rules.kind}" if sample else "ids only",
        missing_named=[ids.name(position) for position in first_places(comparison.missing[:NAMED], expected)],
        sampled=len(sample),
        mismatches=altered(sample, stored, rules),
        not_compared=rules.not_compared if sample else (),
    )


def is_small(dataset: Dataset, documents: int) -> bool:
    """True if so many documents, as large as its first ones, are compared without a sample."""
    few = dataset.records(np.arange(min(FIRST_FEW, dataset.documents)))
    each = sum(len(value) for _, value in few) / max(1, len(few))
    return documents <= COMPARED_WHOLE and documents * each <= COMPARED_BYTES


def by_contents(
    target: VerificationTarget,
    letters: Sequence[DeadLetter],
    kafka: KafkaTopics,
    cluster: ElasticsearchClient,
    on_progress: Callable[[int, str], None],
) -> Found:
    """Hold every document against the dataset by its contents, since its id tells nothing of it.

    Of an index that keeps no `_source`, or documents without a form (`SourceRules.form`), only the number is compared.
    """
    index, dataset = target.names.index, target.dataset
    rules = SourceRules.of_all(cluster.described(index))
    hashes = produced_hashes(target, letters, kafka, rules)
    if hashes is None:
        numbers = (dataset.documents, cluster.count(index), len(letters))
        alike = (np.zeros(number, dtype=np.int64) for number in numbers)
        return Found(compare_contents(*alike), contents="counts only")
    produced, dead = hashes
    stored = all_read(
        lambda: (content_hashes(page, rules) for page in cluster.contents(index)),
        lambda done: on_progress(done, "reading every document back"),
    )
    comparison = compare_contents(produced, stored, dead)
    return Found(
        comparison,
        contents=f"as {rules.kind}",
        missing_named=[
            dataset.key(position).decode() for position in first_places(comparison.missing[:NAMED], produced)
        ],
        sampled=len(stored),
        not_compared=rules.not_compared,
    )


def produced_hashes(
    target: VerificationTarget, letters: Sequence[DeadLetter], kafka: KafkaTopics, rules: SourceRules
) -> tuple[Hashes, Hashes] | None:
    """Hashes of the documents that must be stored, and of those that were refused; `None` if one has no form."""
    refused = kafka.records_at(
        target.names.topic, {(letter.place.partition, letter.place.offset) for letter in letters}
    )
    records = chain.from_iterable(target.dataset.batches(0, target.dataset.documents))
    values = ((value for _, value in pairs) for pairs in (records, refused.values()))
    try:
        produced, dead = (content_hashes((loaded(target.as_stored(v)) for v in each), rules) for each in values)
    except FormlessError:
        return None
    return produced, dead


def content_hashes(documents: Iterable[object], rules: SourceRules) -> Hashes:
    """A hash of the form of each document, whatever the order of its names, good within this process."""
    return np.fromiter((hash(rules.form(document)) for document in documents), dtype=np.int64)


def first_places(wanted: Hashes, hashes: Hashes) -> list[int]:
    """Where each of these hashes is first: several records may share an id, and the first one names it."""
    return [int(np.flatnonzero(hashes == one)[0]) for one in wanted]


def stored_hashes(
    cluster: ElasticsearchClient, index: str, on_progress: Callable[[int, str], None] = lambda _documents, _what: None
) -> Hashes:
    """The id of every stored document, as hashes."""
    return all_read(lambda: map(hashes_of, cluster.ids(index)), lambda done: on_progress(done, "reading every id back"))


def all_read(pages: Callable[[], Iterator[Hashes]], on_progress: Callable[[int], None]) -> Hashes:
    """What all pages hold. A reading that breaks off is begun anew, a few times."""
    for attempts_left in reversed(range(READINGS)):
        read: list[Hashes] = []
        try:
            for page in pages():
                read.append(page)
                on_progress(sum(map(len, read)))
        except StackError:
            if not attempts_left:
                raise
        else:
            break
    return np.concatenate(read) if read else np.empty(0, dtype=np.int64)


def routings_of(dataset: Dataset, ids: Collection[str]) -> dict[str, str]:
    """The routing of those of these keys whose documents have one."""
    if not dataset.is_routed:
        return {}
    described = (
        zip(dataset.keys(numbers), dataset.routings(numbers), strict=True)
        for numbers in dataset.blocks(0, dataset.documents)
    )
    return {
        name: routing
        for key, routing in chain.from_iterable(described)
        if routing is not None and (name := key.decode()) in ids
    }


def verify_consumed(
    target: VerificationTarget,
    kafka: KafkaTopics,
    cluster: ElasticsearchClient,
    on_progress: Callable[[int, str], None] = lambda _records, _what: None,
) -> tuple[Documents, Verification]:
    """Compare what a sink that is to store nothing has committed with what the topic holds, and that with the dataset.

    Returns:
        The accounting, and whether it adds up. Of a sampled document nothing is compared: none is stored.
    """
    names, records = target.names, target.records
    in_topic = sum(sum(kafka.end_offsets(topic).values()) for topic in names.topics)
    committed = sum(sum(kafka.committed_offsets(topic, names.consumer_group).values()) for topic in names.topics)
    letters = distinct_letters(kafka.dead_letters(names.dead_letter_topic))
    stored = cluster.count(names.index)
    documents = Documents(
        produced=records.produced,
        delivered=records.delivered,
        failed=records.failed,
        indexed=0,
        already_there=0,
        dead_lettered=len(letters),
        dropped=max(0, committed - len(letters)),
        missing=0,
        unexpected=stored,
        sampled=0,
        sample_mismatches=0,
    )
    in_parts = [problem for part in target.parts for problem in part.topic_problems(kafka, on_progress)]
    problems = [*delivery_problems(documents, in_topic, records.failures), *in_parts]
    if committed != in_topic:
        problems.append(f"the sink has committed {committed} records, but the topic holds {in_topic}")
    if stored:
        problems.append(f"{stored} documents are in the index, although the sink was to store none")
    return documents, Verification(
        verified=not problems,
        expect="consumed",
        problems=tuple(problems),
        dead_letters=dead_letter_reasons(letters),
        delivery_failures=recorded(records.failures),
    )
