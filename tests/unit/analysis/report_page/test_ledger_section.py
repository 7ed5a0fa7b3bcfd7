"""The accounting in report and terminal; the sink's ledger, in the terminal only when it does not balance."""

import re
from pathlib import Path

import pytest
from rich.console import Console

from lab.analysis.report_page.accounting import run_sums
from lab.analysis.report_page.report import write_report
from lab.analysis.report_page.summary import absent_documents
from lab.analysis.report_page.terminal import document_rows, terminal_table, verdict_line
from lab.analysis.result import analyse, write_result
from lab.records.result import Result
from lab.records.run import Run
from lab.records.verification import Ledger, LedgerCheck, LedgerVerdict, SinkLedger, StoredOnly, TaskLedger
from tests.unit.analysis.synthetic import Truth, run, samples, written
from tests.unit.messages import MakeMessage

PART = Ledger(
    read=1079,
    indexed=1009,
    updated=11,
    deleted=2,
    already_there=3,
    stale=5,
    redirected=13,
    dropped_by_pipeline=17,
    dead_lettered=7,
    dropped=12,
    in_flight=0,
)
BALANCES = LedgerCheck(law="balance", outcome="holds", found="1 partition balances")
BROKEN = LedgerCheck(law="topic", outcome="broken", found="1,049 read by the sink, 1,051 in the topic")


def with_ledger(*checks: LedgerCheck) -> Run:
    """A run whose sink kept this ledger, judged so."""
    made = run(Truth())
    verdict = LedgerVerdict(covers="each record once", checks=checks)
    return made.model_copy(
        update={
            "sink_ledger": SinkLedger(tasks={"3": TaskLedger(total=PART, partitions={"books-17": PART})}),
            "verification": made.verification.model_copy(update={"ledger": verdict}),
        }
    )


def words(folder: Path, made: Run) -> str:
    """The report's text."""
    html = write_report(analyse(written(folder, made, samples(Truth())))).read_text("utf-8")
    return " ".join(re.sub(r"<[^>]*>", " ", html).replace("\u202f", " ").split())


def terminal(folder: Path, made: Run) -> str:
    """The terminal's table."""
    console = Console(width=80, record=True, file=(folder / "out").open("w"))
    console.print(terminal_table(analyse(written(folder, made, samples(Truth()))).result))
    return console.export_text()


def test_the_report_has_a_row_for_each_partition_and_each_law(tmp_path: Path) -> None:
    """The row's parts add up to what was read."""
    text = words(tmp_path, with_ledger(BALANCES, BROKEN))
    assert "3 books-17 1,079 1,009 11 2 3 5 13 17 7 12 0" in text
    assert "✓ balance 1 partition balances ✗ topic 1,049 read by the sink, 1,051 in the topic" in text
    assert (
        "✓ 1,079 read by the sink = 1,009 indexed as new + 11 updated + 2 deleted + 3 already there + 5 stale"
        " + 13 redirected + 17 dropped by an ingest pipeline + 7 dead-lettered + 12 dropped"
    ) in text


@pytest.mark.parametrize(("checks", "is_open"), [((BALANCES,), False), ((BALANCES, BROKEN), True)])
def test_a_ledger_that_holds_is_folded(tmp_path: Path, checks: tuple[LedgerCheck, ...], is_open: bool) -> None:  # noqa: FBT001
    """One that does not is there for all to see."""
    html = write_report(analyse(written(tmp_path, with_ledger(*checks), samples(Truth())))).read_text("utf-8")
    assert ("<details open><summary>The sink's ledger</summary>" in html) is is_open
    assert ("<details><summary>The sink's ledger: all checks hold</summary>" in html) is not is_open


def test_a_law_that_was_not_checked_is_in_the_report_with_its_reason(tmp_path: Path) -> None:
    """Nobody may take it for one that holds."""
    why = LedgerCheck(law="index", outcome="not checked", found="the worker offers no metrics")
    assert "– index the worker offers no metrics" in words(tmp_path, with_ledger(why))


@pytest.mark.parametrize(("checks", "is_shown"), [((BALANCES,), False), ((BALANCES, BROKEN), True)])
def test_the_terminal_tells_of_a_ledger_that_does_not_balance(
    tmp_path: Path,
    checks: tuple[LedgerCheck, ...],
    is_shown: bool,  # noqa: FBT001
) -> None:
    """And of no other."""
    assert ("Sink's ledger" in terminal(tmp_path, with_ledger(*checks))) is is_shown


def test_the_result_has_the_ledger_and_the_verdict(tmp_path: Path) -> None:
    """As the run's record has them."""
    made = with_ledger(BALANCES)
    folder = written(tmp_path, made, samples(Truth()))
    write_result(analyse(folder))
    result = Result.model_validate_json((folder / "result.json").read_bytes())
    assert (result.sink_ledger, result.verification.ledger) == (made.sink_ledger, made.verification.ledger)


def test_a_run_of_an_earlier_version_is_drawn_without_a_ledger(tmp_path: Path) -> None:
    """Its record says nothing of one."""
    assert "The sink's ledger" not in words(tmp_path, run(Truth()))


# --- how contents were compared -------------------------------------------------------------------------------------


def compared(contents: str, sampled: int, *not_compared: str) -> Run:
    """A verified run whose contents were compared so."""
    made = run(Truth())
    how = {"contents": contents, "not_compared": not_compared}
    return made.model_copy(
        update={
            "documents": made.documents.model_copy(update={"sampled": sampled}),
            "verification": made.verification.model_copy(update=how),
        }
    )


def test_a_run_of_which_only_ids_were_compared_says_so_first(tmp_path: Path) -> None:
    """In the line of the terminal, in the answer of the report, and where every document went."""
    made = compared("ids only", 0)
    analysis = analyse(written(tmp_path, made, samples(Truth())))
    assert verdict_line(analysis.result, (), 120).plain.startswith("✓ verified · ids only · 5,000/s")
    text = words(tmp_path, made)
    assert "All documents are in the index, and only their ids were compared." in text
    assert "0 unexpected ; only ids were compared" in text
    assert "drawn at random" not in text


def test_a_run_whose_index_rebuilds_its_source_says_by_which_rules_it_was_compared(tmp_path: Path) -> None:
    """And which fields no rule is known for."""
    made = compared("as rebuilt", 1000, "range", "area.shape")
    text = words(tmp_path, made)
    assert (
        "1,000 drawn at random equal what was sent, by the rules of an index that rebuilds _source, but for range,"
        " area.shape." in text
    )
    rows = [line.split() for line in terminal(tmp_path, made).splitlines()]
    assert ["Compared", "as", "rebuilt", "documents", "1,000"] in rows
    assert ["Not", "compared", "fields", "range,", "area.shape"] in rows


def test_a_run_whose_index_keeps_what_it_is_sent_says_nothing_of_it(tmp_path: Path) -> None:
    """That is the usual case."""
    told = terminal(tmp_path, compared("as stored", 1000))
    assert "ompared" not in told
    assert "ids only" not in told


def test_documents_with_a_value_that_is_stored_only_stand_in_the_accounting(tmp_path: Path) -> None:
    """On the page, with the fields, and on the terminal; a run without any says nothing of them."""
    truth = Truth()
    made = run(truth)
    found = StoredOnly(documents=1009, fields={"price": 1009})
    verification = made.verification.model_copy(update={"stored_only": found})
    folder = analyse(written(tmp_path / "a", made.model_copy(update={"verification": verification}), samples(truth)))
    section = write_report(folder).read_text("utf-8").partition("Where every document went")[2]
    assert f"{found.text}." in section
    assert ("A value only stored", "documents", "1,009") in set(document_rows(folder.result))
    without = analyse(written(tmp_path / "b", made, samples(truth)))
    assert "not indexed in its field" not in write_report(without).read_text("utf-8")


def test_what_is_elsewhere_is_named_and_belongs_to_the_sum(message: MakeMessage) -> None:
    """A verified run does not say that all documents are in the index."""
    documents = run(Truth(dead_lettered=13)).documents
    gone = {"redirected": 3, "dropped_by_pipeline": 1, "skipped": 2}
    made = documents.model_copy(update={"indexed": documents.indexed - 6, **gone})
    assert [part.difference for part in run_sums(made)] == [0, 0]
    assert absent_documents(made) == [message(13, f"{made.produced:,}"), message(3), message(1), message(2)]
    assert absent_documents(made.model_copy(update={"dead_lettered": 0, "redirected": 0, "skipped": 0})) == [
        message(1, f"{made.produced:,}")
    ]
    twice = run(Truth()).documents
    twice = twice.model_copy(update={"indexed": twice.indexed - 315, "already_there": 315})
    assert absent_documents(twice) == [message(315, f"{twice.produced:,}")]
    assert absent_documents(twice.model_copy(update={"deleted": 7})) == [message(315, f"{twice.produced:,}", "deleted")]
