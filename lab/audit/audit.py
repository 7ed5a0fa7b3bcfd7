"""One audit: reads topic and index, compares them, and looks at each difference a second time before it is told."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from lab.audit.ids import CONTENT, NO_DOCUMENT, IdRule, Record
from lab.audit.index import LONGEST_REFRESH_S, Contents, Index, stored_of
from lab.audit.judge import Fate, Finding, Judgement, Kind, Row, Terms, age, judged, without_id
from lab.audit.pipeline import Pipeline
from lab.audit.store import Store
from lab.audit.topic import SAMPLED, Range, Topic
from lab.clients.kafka import KafkaTopics
from lab.errors import ProfileError, StackError, VerificationError
from lab.run.verify.verify import COMPARED_WHOLE

AT_ONCE = 5_000
"""Ids that are looked at again together."""
SAMPLE_STRETCHES, SAMPLE_STRETCH = 50, 20
AFTER_REFRESH_S = 0.5
COMPARED = "hash IS NOT NULL AND id IN (SELECT id FROM records WHERE hash IS NOT NULL)"

Steps = Callable[[str, int, int], None]
"""Told of the step under way, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Plan:
    """Parts of one audit.

    Attributes:
        content: `none`, `sample` or `all`.
        ignored: Fields that are not compared.
        topic_id: Of the topic that the audit began with.
    """

    topic: Topic
    index: Index
    kafka: KafkaTopics
    inside: Range
    rule: IdRule
    pipeline: Pipeline
    content: str = "sample"
    ignored: Sequence[str] = ()
    topic_id: str = ""

    @property
    def compares_all(self) -> bool:
        """Check that every document's content is compared."""
        is_small = self.content == "sample" and self.inside.offsets <= COMPARED_WHOLE
        return self.rule.name == CONTENT or self.content == "all" or (is_small and not self.pipeline.is_upsert)


@dataclass
class Outcome:
    """Result of an audit.

    Attributes:
        fates: Of the records of the range; each has one.
        findings: Number of each kind.
        compared: Documents whose contents were compared.
        foreign: Documents without a record of the range, which may be of another source or of records before it.
        oldest_in_flight_ms: When the oldest record that is in flight was written.
        notes: What was assumed or found out, a sentence each.
    """

    documents: int = 0
    records: int = 0
    fates: Counter[Fate] = field(default_factory=Counter)
    findings: Counter[Kind] = field(default_factory=Counter)
    compared: int = 0
    foreign: int = 0
    oldest_in_flight_ms: int | None = None
    notes: list[str] = field(default_factory=list)

    def add(self, judgement: Judgement) -> None:
        """Count what was judged of one id."""
        self.fates.update(judgement.fates)
        self.findings.update(finding.kind for finding in judgement.findings)
        self.foreign += judgement.foreign


class Audit:
    """An audit under way.

    Args:
        on_finding: Told of each difference, with its id.
        on_step: Told of the progress.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        on_finding: Callable[[str, Finding], None],
        on_step: Steps,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.plan = plan
        self.outcome = Outcome()
        self._store = store
        self._tell = on_finding
        self._step = on_step
        self._sleep = sleep
        contents = plan.index.contents(plan.ignored)
        self._compared = None if contents.rules.kind == "none" or plan.content == "none" else contents
        self._hashed = contents if plan.compares_all and contents.rules.kind != "none" else None
        if plan.rule.name == CONTENT and self._hashed is None:
            raise ProfileError(
                f"index {plan.index.name}: keeps no _source, expected it where the cluster makes the ids"
            )

    def run(self) -> Outcome:
        """Read both sides, compare them, and look again at what differs."""
        self._read_topic("reading the topic")
        self._read_committed()
        self._note_limits()
        self._read_index()
        self._read_topic("reading what came since")
        terms = self._terms()
        self.outcome.fates.update(self._store.compare(terms))
        self.outcome.documents = self._store.count("documents")
        self.outcome.compared = self._store.count("documents", COMPARED)
        if terms.by_content:
            self._judge_contents(terms)
        else:
            self._judge_ids(terms)
        for row in self._store.without_id():
            self._count("", [row], without_id(row))
        if self._compared and not self.plan.compares_all and not self.plan.pipeline.is_upsert:
            self._compare_sample(self._compared, terms)
        self.outcome.records = self._store.count("records", "NOT newer")
        if self.outcome.records != self.outcome.fates.total():
            raise VerificationError(
                f"the audit does not balance: got {self.outcome.records:,} records, accounted for "
                f"{self.outcome.fates.total():,}"
            )
        return self.outcome

    # --- reading ----------------------------------------------------------------------------------------------------

    def _read_topic(self, what: str) -> None:
        refuse_another(self.plan.topic, self.plan.topic_id)
        reached, total = self._store.reached(), self.plan.inside.offsets
        done = self._store.count("records")
        for rows in self.plan.topic.rows(self.plan.inside, reached, self.plan.rule, self._hashed):
            self._store.add("records", rows)
            done += len(rows)
            self._step(what, done, max(total, done))

    def _read_letters(self) -> None:
        self._store.clear("letters")
        self._note(self.plan.pipeline.doubt)
        if name := self.plan.pipeline.dead_letters:
            letters, nameless = self.plan.topic.letters(name)
            self._store.add("letters", [(*place, each.reason, each.timestamp_ms) for place, each in letters.items()])
            if nameless:
                self._note(
                    f"{nameless:,} dead letters do not name their record, which counts as missing: set "
                    "errors.deadletterqueue.context.headers.enable=true"
                )

    def _read_committed(self) -> None:
        """Read the group's offsets and then its dead letters: a sink commits past a record after its dead letter."""
        self._store.clear("committed")
        if group := self.plan.pipeline.group:
            committed = self.plan.kafka.committed_offsets(self.plan.topic.name, group)
            self._store.add("committed", list(committed.items()))
        else:
            self._note(
                "no consumer group is known, so that records in flight count as missing (--group; Kafka hides groups "
                "that this user may not describe)"
            )
        self._read_letters()

    def _note(self, text: str) -> None:
        if text and text not in self.outcome.notes:
            self.outcome.notes.append(text)

    def _read_index(self) -> None:
        if self._store.note("index") == "read":
            return
        place = self._store.note("index") or None
        try:
            self._read_pages(place)
        except StackError:
            if place is None:
                raise
            self.outcome.notes.append(
                "the index was read from its beginning, since the place where it was broken off is gone"
            )
            self._store.clear("documents")
            self._read_pages(None)
        self._store.set_note("index", "read")

    def _read_pages(self, place: str | None) -> None:
        total, done = self.plan.index.count(), self._store.count("documents")
        if place is None and done:
            self._store.clear("documents")
            done = 0
        for page in self.plan.index.pages(sources=self._hashed is not None, place=place):
            rows = [document_row(hit, self._hashed, self.plan.rule) for hit in page.hits]
            self._store.add("documents", rows, ("index", page.place))
            done += len(rows)
            self._step("reading the index", done, max(total, done))

    def _note_limits(self) -> None:
        for text in self.plan.index.restrictions():
            self._note(text)
        slow = sorted(name for name, each in self.plan.index.backing.items() if not 0 <= each <= LONGEST_REFRESH_S)
        if slow:
            effect = "counts as missing" if self.plan.rule.name == CONTENT else "is only found by the ids of records"
            self._note(
                f"index {slow[0]} is refreshed seldom or never, and what was written since {effect}: "
                f"POST /{slow[0]}/_refresh, and audit again"
            )

    def _has_versions(self) -> bool:
        known = self._store.has_versions_of_records()
        if known is not None:
            return known
        # No search sees a document yet, as before the first refresh; a get does.
        names = self._store.some_ids(SAMPLED)
        found, rows = self.plan.index.find(names), self._store.rows_of(names)
        same = [hit["_version"] in {row.version for row in rows[name]} for name, hits in found.items() for hit in hits]
        return 2 * sum(same) > len(same)

    def _terms(self) -> Terms:
        pipeline, by_content = self.plan.pipeline, self.plan.rule.name == CONTENT
        versions = not (by_content or pipeline.is_upsert) and self._has_versions()
        deletes = pipeline.deletes
        if deletes is None:
            deleted, present = self._store.deleted_share()
            deletes = 2 * present <= deleted
            if deleted:
                verb = "delete" if deletes else "do not delete"
                self.outcome.notes.append(
                    f"assumed that tombstones {verb}: of {deleted:,} ids that end with one, {present:,} are in the "
                    "index (--deletes, --no-deletes)"
                )
        if not (versions or by_content or self._hashed):
            self.outcome.notes.append("versions are not offsets, so that only compared documents can be stale")
        # Retention may have removed the topic's head while it was read.
        is_whole = self.plan.inside.whole and self.plan.topic.is_whole()
        return Terms(by_content, versions, deletes, is_whole and not pipeline.shared)

    # --- judging ----------------------------------------------------------------------------------------------------

    def _count(self, name: str, rows: Sequence[Row], judgement: Judgement) -> None:
        self.outcome.add(judgement)
        for finding in judgement.findings:
            self._tell(name, finding)
        if judgement.fates[Fate.IN_FLIGHT]:
            oldest = min(row.timestamp_ms for row in rows if row.is_open)
            self.outcome.oldest_in_flight_ms = min(oldest, self.outcome.oldest_in_flight_ms or oldest)

    def _judge_ids(self, terms: Terms) -> None:
        self._store.clear("suspects")
        odd = self._store.odd()
        while some := list(islice(odd, AT_ONCE)):
            suspects = []
            for name, rows, stored in some:
                judgement = judged(rows, stored, terms)
                if judgement.findings:
                    suspects.append((name,))
                else:
                    self._count(name, rows, judgement)
            self._store.add("suspects", suspects)
        done, total = 0, self._store.count("suspects")
        if total:
            self._read_committed()
            self._wait_for_refresh()
        for names in self._store.suspects(AT_ONCE):
            self._look_again(names, terms)
            done += len(names)
            self._step("looking again at what differs", done, total)

    def _look_again(self, names: Sequence[str], terms: Terms) -> None:
        """Judge ids by documents as they are now, and with the records that have come since."""
        found = self.plan.index.find(names, sources=self._compared is not None)
        self._read_topic("looking again at what differs")
        records = self._store.rows_of(names)
        stored = {name: [stored_of(hit, self._hashed) for hit in found.get(name, ())] for name in names}
        judgements = {name: judged(records.get(name, []), stored[name], terms) for name in names}
        doubtful = {name: each for name, each in judgements.items() if Kind.DIFFERENT in each.kinds}
        judgements |= self._with_differences(doubtful, found)
        for name, judgement in judgements.items():
            self._count(name, records.get(name, []), judgement)

    def _with_differences(
        self, doubtful: Mapping[str, Judgement], found: Mapping[str, Sequence[Mapping[str, Any]]]
    ) -> dict[str, Judgement]:
        """Judgements of documents that may differ, with the fields that do; without the finding where none does."""
        rows = [finding.row for each in doubtful.values() for finding in each.findings]
        values = self._records_at({(row.partition, row.offset) for row in rows if row})

        def seen_again(name: str, finding: Finding) -> Finding | None:
            if finding.kind is not Kind.DIFFERENT or not (self._compared and finding.row and finding.stored):
                return finding
            hit = next(each for each in found[name] if each["_index"] == finding.stored.index)
            paths = differing(values.get((finding.row.partition, finding.row.offset)), hit, self._compared)
            return replace(finding, detail=f"{finding.detail}; differs in {', '.join(paths)}") if paths else None

        return {
            name: replace(each, findings=tuple(filter(None, (seen_again(name, finding) for finding in each.findings))))
            for name, each in doubtful.items()
        }

    def _records_at(self, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], Record]:
        return {(record.place.partition, record.place.offset): record for record in self.plan.topic.at(places)}

    def _judge_contents(self, terms: Terms) -> None:
        """Judge documents without ids of their own: one that differs is looked at by reading the index again."""
        if any(judged(rows, stored, terms).findings for _, rows, stored in self._store.odd()):
            self._wait_for_refresh()
            self._read_committed()
            self._store.set_note("index", "")
            self._store.clear("documents")
            self._read_index()
            self._read_topic("reading what came since")
            self.outcome.fates.clear()
            self.outcome.fates.update(self._store.compare(terms))
            self.outcome.documents = self._store.count("documents")
        for name, rows, stored in self._store.odd():
            self._count(name, rows, judged(rows, stored, terms))

    def _wait_for_refresh(self) -> None:
        self._sleep(min(max(0.0, *self.plan.index.backing.values()), LONGEST_REFRESH_S) + AFTER_REFRESH_S)

    def _compare_sample(self, contents: Contents, terms: Terms) -> None:
        """Compare the contents of documents in stretches of offsets that lie evenly in the range."""
        rows = {name: (partition, offset) for name, partition, offset in self._store.range_rows(self._stretches())}
        found = self.plan.index.find(list(rows), sources=True)
        self._read_topic("comparing contents")
        records = self._store.rows_of(list(rows))
        values = self._records_at(set(rows.values()))
        for name, place in rows.items():
            hits = found.get(name, ())
            newest = newest_at(place, records[name], terms)
            if newest is None or len(hits) != 1 or (terms.versions and hits[0]["_version"] != newest.version):
                continue
            record = values.get(place)
            self.outcome.compared += record is not None and record.document is not NO_DOCUMENT
            if paths := differing(record, hits[0], contents):
                finding = Finding(Kind.DIFFERENT, newest, stored_of(hits[0], None), f"differs in {', '.join(paths)}")
                self.outcome.findings[Kind.DIFFERENT] += 1
                self._tell(name, finding)

    def _stretches(self) -> dict[int, list[tuple[int, int]]]:
        inside, offsets = self.plan.inside, self.plan.inside.offsets
        stretches: dict[int, list[tuple[int, int]]] = {}
        for partition, last in inside.last.items():
            first = inside.first[partition]
            number = max(1, round(SAMPLE_STRETCHES * (last - first) / max(1, offsets)))
            step = max(SAMPLE_STRETCH, (last - first) // number)
            stretches[partition] = [(at, min(last, at + SAMPLE_STRETCH) - 1) for at in range(first, last, step)]
        return stretches


def refuse_another(topic: Topic, topic_id: str) -> None:
    """Raise ProfileError for a topic that was deleted and made again: offsets of the two say nothing of each other."""
    if topic.identity() != topic_id:
        raise ProfileError(
            f"topic {topic.name}: was deleted and made again since the audit began; begin anew without --resume"
        )


def document_row(hit: Mapping[str, Any], contents: Contents | None, rule: IdRule) -> tuple[Any, ...]:
    """A document as a row of `documents`."""
    stored = stored_of(hit, contents)
    name = stored.hash if rule.name == CONTENT else hit["_id"]
    return name, stored.index, stored.version, stored.seq_no, stored.hash


def newest_at(place: tuple[int, int], rows: Sequence[Row], terms: Terms) -> Row | None:
    """The record at this place if its document must be what is stored of its id; `None` where that is not certain."""
    newest = max(rows, key=age)
    is_ordered = terms.versions or len({row.partition for row in rows}) == 1
    is_settled = not newest.is_open and newest.reason is None
    return newest if is_ordered and is_settled and (newest.partition, newest.offset) == place else None


def differing(record: Record | None, hit: Mapping[str, Any], contents: Contents) -> list[str]:
    """Fields that are stored otherwise than a record has them; none of a record that cannot be compared."""
    if record is None or record.document is NO_DOCUMENT:
        return []
    return contents.differences(record.document, hit["_source"])
