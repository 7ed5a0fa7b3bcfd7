"""Findings of a case: what is stored and committed, held against the history and against what a pipeline claims."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from lab.extensions import Ids
from lab.prove.history import Sent
from lab.run.verify.contents import is_same_json
from producers.json_values import loaded

Kind = Literal["lost", "doubled", "stale", "resurrected", "changed", "stuck", "dead without a word", "told wrongly"]
PASSED: Final = frozenset({"lost", "stale", "resurrected"})
"""Kinds of records that are committed and not as they must be in the cluster."""
EXAMPLES = 3


@dataclass(frozen=True)
class Claims:
    """Promises of a pipeline.

    Attributes:
        ids: Where ids come from.
        deletes: True if a tombstone deletes the document of its key.
        stored: The document that must be stored for a produced one.
    """

    ids: Ids
    deletes: bool
    stored: Callable[[bytes], bytes] = lambda document: document


@dataclass(frozen=True)
class Outcome:
    """State of the servers at the end of a case, and what the pipeline has said.

    Attributes:
        documents: Id and source of each stored document.
        committed: By partition.
        letters: Numbers of the records in the dead-letter topic.
        worded: Numbers of the records that its log or a file of its folder names.
        stopped: Its words where it has stopped and said so; empty while it runs.
        ended: True where it has ended by itself as if all were done.
    """

    documents: Sequence[tuple[str, Mapping[str, Any]]]
    committed: Mapping[int, int]
    letters: Collection[int] = ()
    worded: Collection[int] = ()
    stopped: str = ""
    ended: bool = False


@dataclass(frozen=True)
class Finding:
    """Records that had a wrong end.

    Attributes:
        records: How many.
        first: The first few, as `topic partition@offset` and key.
    """

    kind: Kind
    records: int
    first: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """Findings, and what is worth knowing and within what the pipeline claims."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Judge:
    claims: Claims
    outcome: Outcome
    by_number: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    by_id: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    found: dict[Kind, list[Sent]] = field(default_factory=lambda: defaultdict(list))
    waiting: list[Sent] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for document_id, source in self.outcome.documents:
            self.by_id[document_id] = source
            self.by_number[number_of(source)].append(document_id)

    def is_passed(self, record: Sent) -> bool:
        """Check that its offset is committed."""
        return record.offset < self.outcome.committed.get(record.partition, 0)

    def judge_keyed(self, records: Sequence[Sent]) -> None:
        """Each key's document must be that of its newest record."""
        newest: dict[bytes, Sent] = {}
        for record in sorted(records, key=lambda each: (each.partition, each.offset)):
            if record.key is not None and not record.odd and (record.value is not None or self.claims.deletes):
                newest[record.key] = record
        for key, record in newest.items():
            self.judge_newest(record, self.by_id.get(key.decode()))

    def judge_newest(self, record: Sent, source: Mapping[str, Any] | None) -> None:
        """The newest record of a key against the document of its id."""
        is_there = source is not None and number_of(source) == record.number
        if record.value is None:
            if source is not None:
                self.miss(record, "resurrected")
        elif source is None:
            self.miss(record, "lost")
        elif not is_there:
            self.miss(record, "stale")
        else:
            self.judge_content(record, source)

    def judge_each(self, records: Sequence[Sent]) -> None:
        """Each record with a value must be a document, and one alone."""
        for record in records:
            if record.odd or record.value is None:
                continue
            ids = self.by_number.get(record.number, [])
            if not ids:
                self.miss(record, "lost")
                continue
            self.judge_content(record, self.by_id[ids[0]])
            if len(ids) > 1 and self.claims.ids == "generated":
                self.notes["stored twice or more, as at-least-once delivery may (the cluster makes the ids)"] += 1
            elif len(ids) > 1:
                self.found["doubled"].append(record)

    def judge_content(self, record: Sent, source: Mapping[str, Any]) -> None:
        """A stored document against its record's."""
        try:
            is_same = is_same_json(loaded(self.claims.stored(record.value or b"")), source)
        except ValueError:
            # No JSON was produced.
            is_same = False
        if not is_same:
            self.found["changed"].append(record)
        if record.number in self.outcome.letters:
            self.found["told wrongly"].append(record)

    def miss(self, record: Sent, kind: Kind) -> None:
        """Sort a record whose document is not as it must be."""
        if record.number in self.outcome.letters:
            self.found["told wrongly"].append(record)
        elif not self.is_passed(record):
            self.waiting.append(record)
        else:
            self.found["told wrongly" if record.number in self.outcome.worded else kind].append(record)

    def judge_odd(self, record: Sent) -> None:
        """A record that cannot be stored, or need not be, must be stored or told."""
        told = record.number in self.outcome.letters or record.number in self.outcome.worded
        if ids := self.by_number.get(record.number):
            self.judge_content(record, self.by_id[ids[0]])
        elif told:
            return
        elif self.is_passed(record):
            self.found["dead without a word"].append(record)
        else:
            self.waiting.append(record)

    def judgement(self) -> Judgement:
        """Findings with their first records, and notes."""
        self.judge_waiting()
        findings = [
            Finding(kind, len(records), tuple(map(place_of, records[:EXAMPLES])))
            for kind, records in self.found.items()
        ]
        return Judgement(tuple(findings), tuple(self.texts()))

    def judge_waiting(self) -> None:
        """Records that are neither stored nor passed: of a pipeline that has stopped, or of one that is stuck."""
        if not self.waiting:
            return
        if self.outcome.stopped:
            self.notes["wait, as it stopped and said so"] += len(self.waiting)
        elif self.outcome.ended:
            self.found["dead without a word"] += self.waiting
        else:
            self.found["stuck"] += self.waiting

    def texts(self) -> Iterator[str]:
        """Notes with their counts."""
        for text, count in self.notes.items():
            yield f"{count:,} {text}"


def judge(records: Sequence[Sent], claims: Claims, outcome: Outcome) -> Judgement:
    """Hold a history against what is stored, committed and told."""
    made = _Judge(claims, outcome)
    if claims.ids == "keys":
        made.judge_keyed(records)
        strangers = made.by_id.keys() - {(record.key or b"").decode(errors="replace") for record in records}
        known = {record.number: record for record in records}
        for number, ids in made.by_number.items():
            if (len(ids) > 1 or strangers.intersection(ids)) and number in known and not known[number].odd:
                made.found["doubled"].append(known[number])
    else:
        made.judge_each(records)
    for record in records:
        if record.odd:
            made.judge_odd(record)
    return made.judgement()


def with_held(found: Judgement, later: Judgement) -> Judgement:
    """Findings of a pipeline that commits what it only holds: what has come once the faults had ended was stuck.

    Args:
        later: Findings after the faults.
    """
    missed, missed_later = (
        [finding for finding in judgement.findings if finding.kind in PASSED | {"stuck"}]
        for judgement in (found, later)
    )
    held = sum(finding.records for finding in missed) - sum(finding.records for finding in missed_later)
    stuck = [Finding("stuck", held, missed[0].first)] if held > 0 else []
    return replace(later, findings=(*later.findings, *stuck))


def number_of(source: Mapping[str, Any]) -> int:
    """The number of the record that a document was made of; -1 for none."""
    number = source.get("number", -1)
    return number if isinstance(number, int) else -1


def place_of(record: Sent) -> str:
    """A record as a reader finds it."""
    key = "none" if record.key is None else record.key.decode(errors="replace")
    return f"{record.partition}@{record.offset} key {key[:40]}"
