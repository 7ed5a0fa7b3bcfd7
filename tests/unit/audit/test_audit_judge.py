"""Verdicts on one id, case by case: what is found, and the fate of each record."""

from collections import Counter

import pytest

from lab.audit.judge import Fate, Judgement, Kind, Row, Stored, Terms, judged, without_id

KEYED = Terms()
UNVERSIONED = Terms(versions=False)
CONTENT = Terms(by_content=True, versions=False)
OLD, NEW = Row(0, 11, 11, hash="old"), Row(0, 13, 13, hash="new")
TOMBSTONE = Row(0, 17, 17, is_tombstone=True)


def stored(version: int, content: str | None = None, index: str = "books") -> Stored:
    """A document of that version."""
    return Stored(index, version, hash=content)


def rejected(row: Row) -> Row:
    """The record as a dead letter."""
    return Row(row.partition, row.offset, row.version, hash=row.hash, reason="status 400")


def opened(row: Row) -> Row:
    """The record beyond the committed offset."""
    return Row(row.partition, row.offset, row.version, hash=row.hash, is_tombstone=row.is_tombstone, is_open=True)


def newer(row: Row) -> Row:
    """The record as one written after the audit began."""
    return Row(row.partition, row.offset, row.version, hash=row.hash, is_tombstone=row.is_tombstone, is_newer=True)


def outcome(judgement: Judgement) -> tuple[dict[str, int], list[str]]:
    """Fates and kinds, as text."""
    fates = {fate.value: number for fate, number in judgement.fates.items()}
    return fates, [finding.kind.value for finding in judgement.findings]


CASES = {
    "the newest record is stored": ([OLD, NEW], [stored(13)], {"documents": 1, "superseded": 1}, []),
    "no record is stored": ([OLD, NEW], [], {"missing": 1, "superseded": 1}, ["missing"]),
    "an older record is stored": ([OLD, NEW], [stored(11)], {"stale": 1, "superseded": 1}, ["stale"]),
    "a record that compaction removed is stored": ([NEW], [stored(5)], {"stale": 1}, ["stale"]),
    "a version of no record is stored": ([NEW], [stored(14)], {"documents": 1}, ["different"]),
    "the record has other content": ([NEW], [stored(13, "x")], {"documents": 1}, ["different"]),
    "a tombstone has deleted": ([NEW, TOMBSTONE], [], {"deletes": 1, "superseded": 1}, []),
    "a deleted document is stored": (
        [NEW, TOMBSTONE],
        [stored(13)],
        {"resurrected": 1, "superseded": 1},
        ["resurrected"],
    ),
    "two indices hold it": (
        [OLD, NEW],
        [stored(13), stored(11, index="books-1")],
        {"documents": 1, "superseded": 1},
        ["doubled"],
    ),
    "the newest is a dead letter": ([OLD, rejected(NEW)], [stored(11)], {"documents": 1, "dead letters": 1}, []),
    "a dead letter hides no loss": ([OLD, rejected(NEW)], [], {"missing": 1, "dead letters": 1}, ["missing"]),
    "a dead letter was accepted later": ([rejected(NEW)], [stored(13)], {"documents": 1}, []),
    "the newest is in flight": ([OLD, opened(NEW)], [stored(11)], {"documents": 1, "in flight": 1}, []),
    "the newest is stored and not committed": ([OLD, opened(NEW)], [stored(13)], {"documents": 1, "superseded": 1}, []),
    "all are in flight": ([opened(OLD), opened(NEW)], [], {"in flight": 2}, []),
    "a loss before what is in flight": ([OLD, opened(NEW)], [], {"missing": 1, "in flight": 1}, ["missing"]),
    "a tombstone in flight may have deleted": ([NEW, opened(TOMBSTONE)], [], {"superseded": 1, "in flight": 1}, []),
    "a later record explains its document": ([OLD, newer(NEW)], [stored(13)], {"superseded": 1}, []),
    "a later tombstone explains an absence": ([NEW, newer(TOMBSTONE)], [], {"superseded": 1}, []),
    "no record has the id": ([], [stored(3)], {}, ["unexpected"]),
}


@pytest.mark.parametrize("case", CASES)
def test_each_record_has_one_fate_and_each_difference_a_kind(case: str) -> None:
    """Of a sink that stores offsets as versions."""
    rows, documents, fates, kinds = CASES[case]
    assert outcome(judged(rows, documents, KEYED)) == (fates, kinds)
    assert sum(fates.values()) == sum(not row.is_newer for row in rows)


def test_a_replayed_dead_letter_is_the_record_that_is_stored() -> None:
    """It has the version of the one that was rejected first."""
    replayed = Row(0, 23, 13, hash="new")
    assert outcome(judged([rejected(NEW), replayed], [stored(13, "new")], KEYED)) == (
        {"documents": 1, "dead letters": 1},
        [],
    )


def test_offsets_do_not_order_records_of_several_partitions() -> None:
    """The newest record of any partition may be stored, and no older one."""
    other = Row(1, 5, 5)
    assert judged([OLD, NEW, other], [stored(5)], KEYED).findings == ()
    assert judged([OLD, NEW, other], [stored(13)], KEYED).findings == ()
    assert judged([OLD, NEW, other], [stored(11)], KEYED).kinds == {Kind.STALE}


@pytest.mark.parametrize(
    ("content", "kinds"), [("new", []), ("old", ["stale"]), ("x", ["different"]), (None, [])], ids=str
)
def test_without_versions_contents_tell_which_record_is_stored(content: str | None, kinds: list[str]) -> None:
    """And nothing tells where they are not compared."""
    assert outcome(judged([OLD, NEW], [stored(2, content)], UNVERSIONED))[1] == kinds


def test_of_several_documents_of_an_id_that_of_its_newest_record_counts() -> None:
    """The others are doubled, and nothing else."""
    documents = [stored(1, "x"), stored(1, "new", "books-1"), stored(1, "old", "books-2")]
    judgement = judged([OLD, NEW], documents, UNVERSIONED)
    assert outcome(judgement) == ({"documents": 1, "superseded": 1}, ["doubled", "doubled"])
    assert [each.stored for each in judgement.findings] == [documents[0], documents[2]]


def test_tombstones_that_the_sink_ignores_leave_the_document() -> None:
    """They are counted by themselves."""
    terms = Terms(deletes=False)
    assert outcome(judged([NEW, TOMBSTONE], [stored(13)], terms)) == ({"documents": 1, "ignored tombstones": 1}, [])
    assert outcome(judged([NEW, TOMBSTONE], [], terms))[1] == ["missing"]


def test_a_document_without_record_says_nothing_where_others_feed_the_index() -> None:
    """Nor where retention has removed records: it is counted, and is no finding."""
    judgement = judged([], [stored(3)], Terms(whole=False))
    assert (judgement.findings, judgement.foreign) == ((), 1)


@pytest.mark.parametrize(
    ("rows", "documents", "fates", "kinds"),
    [
        ([OLD, NEW], 2, {"documents": 2}, []),
        ([OLD, NEW], 1, {"documents": 1, "missing": 1}, ["missing"]),
        ([OLD], 3, {"documents": 1}, ["doubled", "doubled"]),
        ([OLD, opened(NEW)], 1, {"documents": 1, "in flight": 1}, []),
        ([OLD, opened(NEW)], 2, {"documents": 2}, []),
        ([OLD, rejected(NEW)], 1, {"documents": 1, "dead letters": 1}, []),
        ([OLD, newer(NEW)], 2, {"documents": 1}, []),
    ],
)
def test_equal_documents_without_ids_are_counted(
    rows: list[Row], documents: int, fates: dict[str, int], kinds: list[str]
) -> None:
    """Which of them is missing, a count cannot tell."""
    assert outcome(judged(rows, [stored(1)] * documents, CONTENT)) == (fates, kinds)


def test_a_record_without_an_id_is_missing_unless_something_explains_it() -> None:
    """A tombstone without a key deletes nothing."""
    rows = (NEW, rejected(NEW), opened(NEW), TOMBSTONE, newer(NEW))
    fates = [without_id(row).fates for row in rows]
    expected = [{Fate.MISSING: 1}, {Fate.DEAD_LETTER: 1}, {Fate.IN_FLIGHT: 1}, {Fate.IGNORED: 1}, {}]
    assert fates == list(map(Counter, expected))
