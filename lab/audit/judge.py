"""Verdict on one id: its records in the topic against its documents in the index. Each record gets one fate."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Fate(StrEnum):
    """The final state of a record, of which it has exactly one."""

    DOCUMENT = "documents"
    SUPERSEDED = "superseded"
    DELETE = "deletes"
    IGNORED = "ignored tombstones"
    DEAD_LETTER = "dead letters"
    IN_FLIGHT = "in flight"
    MISSING = "missing"
    STALE = "stale"
    RESURRECTED = "resurrected"


class Kind(StrEnum):
    """A way in which the index differs from the topic."""

    MISSING = "missing"
    STALE = "stale"
    RESURRECTED = "resurrected"
    DOUBLED = "doubled"
    DIFFERENT = "different"
    UNEXPECTED = "unexpected"


@dataclass(frozen=True)
class Row:
    """A record, as far as it is compared.

    Attributes:
        hash: Digest of its document; `None` where contents are not compared.
        is_newer: It was written after the audit began: it explains documents, and has no fate.
        reason: Why it is a dead letter; `None` if it is none.
        is_open: The consumer group has not committed past it.
    """

    partition: int
    offset: int
    version: int
    timestamp_ms: int = 0
    hash: str | None = None
    is_tombstone: bool = False
    is_newer: bool = False
    reason: str | None = None
    is_open: bool = False


@dataclass(frozen=True)
class Stored:
    """A document, as far as it is compared; of one id each index may hold one."""

    index: str
    version: int
    seq_no: int = 0
    hash: str | None = None


@dataclass(frozen=True)
class Terms:
    """Rules that hold for all ids of an audit.

    Attributes:
        by_content: Ids are digests of documents.
        versions: Stored versions are those of the records.
        deletes: A tombstone deletes its document.
        whole: Only this topic feeds the index and all of it was read: a document without a record is unexpected.
    """

    by_content: bool = False
    versions: bool = True
    deletes: bool = True
    whole: bool = True


@dataclass(frozen=True)
class Finding:
    """One difference.

    Attributes:
        row: The record that should be stored; `None` for a document without one.
        stored: The document that is stored.
    """

    kind: Kind
    row: Row | None
    stored: Stored | None
    detail: str


@dataclass(frozen=True)
class Judgement:
    """The fates of the records of an id, and how it differs.

    Attributes:
        foreign: Documents without a record, where that says nothing.
    """

    fates: Counter[Fate]
    findings: tuple[Finding, ...] = ()
    foreign: int = 0

    @property
    def kinds(self) -> frozenset[Kind]:
        """Kinds of its findings."""
        return frozenset(finding.kind for finding in self.findings)


def judged(rows: Sequence[Row], stored: Sequence[Stored], terms: Terms) -> Judgement:
    """Judge the records and documents of one id."""
    if not rows:
        if not terms.whole:
            return Judgement(Counter(), foreign=len(stored))
        detail = "not from this topic"
        return Judgement(Counter(), tuple(Finding(Kind.UNEXPECTED, None, each, detail) for each in stored))
    return by_content(rows, stored) if terms.by_content else by_id(rows, stored, terms)


def without_id(row: Row) -> Judgement:
    """Judge a record that the rule gives no id, such as one without a key."""
    if row.is_newer:
        return Judgement(Counter())
    if row.reason is not None:
        return Judgement(Counter({Fate.DEAD_LETTER: 1}))
    if row.is_open or row.is_tombstone:
        return Judgement(Counter({Fate.IN_FLIGHT if row.is_open else Fate.IGNORED: 1}))
    return Judgement(Counter({Fate.MISSING: 1}), (Finding(Kind.MISSING, row, None, "has no id by this rule"),))


def by_content(rows: Sequence[Row], stored: Sequence[Stored]) -> Judgement:
    """Judge records of equal content, of which any may be any of the documents."""
    inside = [row for row in rows if not row.is_newer]
    dead = [row for row in inside if row.reason is not None]
    settled = [row for row in inside if row.reason is None and not row.is_open]
    opened = [row for row in inside if row.reason is None and row.is_open]
    found = len(stored)
    from_open = min(len(opened), max(0, found - len(settled)))
    after_open = max(0, found - len(settled) - from_open - (len(rows) - len(inside)))
    from_dead = min(len(dead), after_open)
    missing = max(0, len(settled) - found)
    fates = Counter(
        {
            Fate.DOCUMENT: min(found, len(settled)) + from_open + from_dead,
            Fate.IN_FLIGHT: len(opened) - from_open,
            Fate.DEAD_LETTER: len(dead) - from_dead,
            Fate.MISSING: missing,
        }
    )
    of = f"one of {len(rows)} equal records" if len(rows) > 1 else "its content is in no document"
    lacking = [Finding(Kind.MISSING, row, None, of) for row in settled[len(settled) - missing :]]
    extra = stored[found - (after_open - from_dead) :]
    doubled = [Finding(Kind.DOUBLED, rows[0], each, f"{found} documents of {len(rows)} records") for each in extra]
    return Judgement(+fates, (*lacking, *doubled))


def by_id(rows: Sequence[Row], stored: Sequence[Stored], terms: Terms) -> Judgement:
    """Judge the records of an id, of which the newest is to be stored, or deleted."""
    best = max(stored, key=lambda each: rank(each, rows, terms), default=None)
    ignored = [row for row in rows if row.is_tombstone and not terms.deletes and not row.is_newer]
    alive = [row for row in rows if row not in ignored]
    present = stored_row(alive, best, terms) if best else None
    settled = [row for row in alive if row.reason is None and not (row.is_open or row.is_newer)]
    heads = list({row.partition: row for row in sorted(settled, key=age)}.values())
    finding = difference(heads, present, best, terms) if heads and not any(row.is_newer for row in rows) else None
    if finding and finding.kind is Kind.MISSING and any(row.is_open and row.is_tombstone for row in alive):
        # The sink may have deleted it already, and not have committed that.
        finding = None
    fates = Counter({Fate.IGNORED: len(ignored)})
    for row in alive:
        if not row.is_newer:
            fates[fate_of(row, heads, present, finding)] += 1
    findings = [finding] if finding else []
    others = [each for each in stored if each is not best]
    findings += [Finding(Kind.DOUBLED, present, each, f"also in {best.index if best else ''}") for each in others]
    return Judgement(+fates, tuple(findings))


def age(row: Row) -> tuple[int, int]:
    """Order of an id's records within a partition."""
    return row.version, row.offset


def rank(each: Stored, rows: Sequence[Row], terms: Terms) -> tuple[int, tuple[int, int]]:
    """Order of the documents of an id that several indices hold: the one of the newest record is the last."""
    same = [age(row) for row in rows if row.hash is not None and row.hash == each.hash]
    return each.version if terms.versions else 0, max(same, default=(-1, -1))


def stored_row(alive: Sequence[Row], best: Stored, terms: Terms) -> Row | None:
    """The record that a document was made of; `None` if it is none that was read."""
    documents = [row for row in alive if not row.is_tombstone]
    if terms.versions:
        found = [row for row in documents if row.version == best.version]
        # A replayed dead letter has the version of the record that was rejected first.
        return max(found, key=lambda row: (row.hash == best.hash, row.reason is None, age(row)), default=None)
    if best.hash is None:
        # Nothing tells: it is taken for the newest, and a tombstone's document for one before it.
        return max((row for row in documents if row.reason is None), key=age, default=None)
    return max((row for row in documents if row.hash == best.hash), key=age, default=None)


def difference(heads: Sequence[Row], present: Row | None, best: Stored | None, terms: Terms) -> Finding | None:
    """The difference between the newest committed record of each partition and what is stored.

    Offsets do not order records of several partitions: the newest of any of them may be stored.
    """
    newest = max(heads, key=lambda row: (row.timestamp_ms, *age(row)))
    if best is None:
        is_lost = not any(row.is_tombstone for row in heads)
        return Finding(Kind.MISSING, newest, None, "not in the index") if is_lost else None
    is_after = present and present.reason and age(present) > age(newest)
    if present and (present in heads or present.is_open or is_after):
        differs = terms.versions and None not in {present.hash, best.hash} and present.hash != best.hash
        return Finding(Kind.DIFFERENT, present, best, "other content than its record") if differs else None
    if all(row.is_tombstone for row in heads):
        since = f"deleted by {newest.partition}@{newest.offset}, stored as version {best.version}"
        return Finding(Kind.RESURRECTED, newest, best, since)
    if present:
        return Finding(Kind.STALE, newest, best, f"holds the older record {present.partition}@{present.offset}")
    return of_no_record(newest, best, terms)


def of_no_record(newest: Row, best: Stored, terms: Terms) -> Finding:
    """The difference of a document that is of no record that was read."""
    if terms.versions and best.version < newest.version:
        return Finding(Kind.STALE, newest, best, f"holds version {best.version}, of an older record than those read")
    detail = f"version {best.version} is of no record" if terms.versions else "other content than any of its records"
    return Finding(Kind.DIFFERENT, newest, best, detail)


def fate_of(row: Row, heads: Sequence[Row], present: Row | None, finding: Finding | None) -> Fate:
    """Fate of a record among those of its id.

    Args:
        present: The record that is stored; `None` if none of them is.
    """
    kinds = {Kind.MISSING: Fate.MISSING, Kind.STALE: Fate.STALE, Kind.RESURRECTED: Fate.RESURRECTED}
    if finding and row is finding.row and finding.kind in kinds:
        return kinds[finding.kind]
    if row is present or (finding and finding.kind is Kind.DIFFERENT and row is finding.row):
        # Of a stale or resurrected document the record was stored, and is superseded.
        return Fate.SUPERSEDED if finding and finding.kind in kinds else Fate.DOCUMENT
    if row.reason is not None:
        return Fate.DEAD_LETTER
    if row.is_open:
        return Fate.IN_FLIGHT
    return Fate.DELETE if row.is_tombstone and row in heads else Fate.SUPERSEDED
