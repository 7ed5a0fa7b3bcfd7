"""The history: every run, suite and tune, from an index beside them."""

import errno
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.analysis.figures.rates import indexing_rate_docs_per_s
from lab.analysis.result import analyse, write_result
from lab.analysis.suite.result import analyse_suite
from lab.errors import ProfileError
from lab.page.history import INDEX, MAKERS, SPARKS, History, Question, spark
from lab.page.tree import RunTree
from tests.unit.analysis.suite.suite_folders import small, suite_folder
from tests.unit.analysis.synthetic import START_S, Truth, run, samples, written
from tests.unit.messages import MakeMessage
from tests.unit.page.run_folders import begun

MANY = 2003
OTHER_ROWS = b'{"version": 4, "rows": {"profile-1/20260101-000001": {"stamp": [1, 2], "row": {"kind": "run"}}}}'


def small_result(number: int, *, has_window: bool = True, stage: str = "sink", product: str | None = None) -> bytes:
    """As much of a result as the history reads."""
    metrics = [
        {"name": "indexing_rate_docs_per_s", "scope": "primaries", "value": 1000.0 + number},
        {"name": "indexing_latency_ms", "scope": "primaries", "value": 0.25},
        {"name": "drain_s", "scope": "run", "value": 7.0},
    ]
    return orjson.dumps(
        {
            "profile": f"profile-{number % 7}",
            "started_s": START_S + number,
            "ended_s": START_S + number + 7,
            "status": "failed" if number % 101 == 0 else "verified",
            "metrics": metrics,
            "measured_window": {} if has_window else None,
            "documents": {"indexed": 707},
            "limited_by": {"stage": stage, "evidence": "it was"},
            "warnings": [],
            "environment": {"servers": [{"product": product}]},
            "verification": {"problems": ["7 documents are missing"]},
        }
    )


def many_runs(runs: Path, count: int = MANY) -> Path:
    """So many runs that have ended."""
    for number in range(count):
        folder = runs / f"profile-{number % 7}" / f"20260101-{number:06}"
        folder.mkdir(parents=True)
        (folder / "result.json").write_bytes(small_result(number))
    return runs


def history(runs: Path) -> History:
    """That of the runs, read."""
    read = History(RunTree(runs))
    read.refresh()
    return read


def test_what_has_not_changed_is_not_opened_again(tmp_path: Path) -> None:
    """A page of 2,003 runs opens the index, and of the runs only the one that is new."""
    runs = many_runs(tmp_path)
    assert history(runs).opened == MANY
    again = history(runs)
    assert (again.opened, again.answer(Question())["total"]) == (0, MANY)
    assert len(again.answer(Question())["rows"]) == 100
    changed = runs / "profile-3" / "20260101-000003" / "result.json"
    changed.write_bytes(small_result(3).replace(b"sink", b"producer"))
    again.refresh()
    assert again.opened == 1
    assert again.rows["profile-3/20260101-000003"]["verdict"] == "limited by the producer"


@pytest.mark.parametrize(
    "content", [None, b"{", b"[]", b'{"version": 0, "rows": {}}', b'{"version": 4, "rows": 7}', OTHER_ROWS]
)
def test_an_index_that_is_missing_broken_or_old_is_made_anew(tmp_path: Path, content: bytes | None) -> None:
    """The runs are the only store."""
    runs = many_runs(tmp_path, 7)
    history(runs)
    if content is None:
        (runs / INDEX).unlink()
    else:
        (runs / INDEX).write_bytes(content)
    again = history(runs)
    assert (again.opened, len(again.rows)) == (7, 7)


def test_a_run_that_was_removed_is_gone(tmp_path: Path) -> None:
    """From the index, too."""
    runs = many_runs(tmp_path, 7)
    read = history(runs)
    (runs / "profile-3/20260101-000003/result.json").unlink()
    read.refresh()
    assert len(read.rows) == 6
    assert "profile-3/20260101-000003" not in orjson.loads((runs / INDEX).read_bytes())["rows"]


def test_when_time_is_over_the_newest_are_there_and_the_rest_is_counted(tmp_path: Path) -> None:
    """The next question takes up what is left."""
    runs = many_runs(tmp_path, 11)
    looks = iter([False, False, True])
    read = History(RunTree(runs))
    read.refresh(lambda: next(looks))
    assert (read.opened, read.left) == (3, 8)
    read.refresh()
    assert (read.opened, read.left) == (11, 0)


def test_an_index_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    """As in an archive of somebody else's."""
    runs = many_runs(tmp_path, 7)
    (runs / INDEX).mkdir()
    assert len(history(runs).rows) == 7
    assert list(runs.glob(".*.part")) == []


def test_a_record_that_cannot_be_read_once_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nothing about its file changes when it can be; the row says meanwhile that it is not known."""
    runs = many_runs(tmp_path, 1)
    with monkeypatch.context() as broken:
        broken.setitem(MAKERS, "run", {"result.json": fails})
        read = history(runs)
        assert [row["status"] for row in read.rows.values()] == ["unknown"]
    read.refresh()
    assert [row["status"] for row in read.rows.values()] == ["failed"]
    assert [row["status"] for row in history(runs).rows.values()] == ["failed"]


def fails(file: Path, _name: str) -> Any:
    """A disk that fails."""
    raise OSError(errno.EIO, "Input/output error", str(file))


def test_rows_are_found_sorted_and_cut(tmp_path: Path) -> None:
    """By words, kind, any column; those without a value come last."""
    read = history(many_runs(tmp_path, 23))

    def ids(**query: str) -> list[str]:
        return [row["id"] for row in read.answer(Question.of(query))["rows"]]

    assert ids(limit="2") == ["profile-1/20260101-000022", "profile-0/20260101-000021"]
    assert ids(order="asc", offset="1", limit="1") == ["profile-1/20260101-000001"]
    assert ids(q="PROFILE-3 000010") == ["profile-3/20260101-000010"]
    assert ids(sort="indexing_rate_docs_per_s", limit="1") == ["profile-1/20260101-000022"]
    assert ids(q="void") == ["profile-0/20260101-000000"]
    assert ids(q="failed") == []
    assert ids(kind="suite") == []
    read.rows["profile-1/20260101-000022"]["indexing_rate_docs_per_s"] = None
    assert ids(sort="indexing_rate_docs_per_s", order="asc")[-1] == "profile-1/20260101-000022"


@pytest.mark.parametrize(
    ("query", "facts"),
    [
        ({"sort": "colour"}, ("sort", "colour", "started_s")),
        ({"order": "up"}, ("order", "up")),
        ({"kind": "race"}, ("kind", "race")),
        ({"limit": "501"}, ("limit", 501, 0, 500)),
        ({"offset": "-1"}, ("offset", -1, 0, "1,000,000,000")),
        ({"limit": "٣"}, ("limit", "٣", 0, 500)),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    query: dict[str, str], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """With what was expected."""
    with pytest.raises(ProfileError) as refusal:
        Question.of(query)
    assert str(refusal.value) == message(*facts)


def test_a_real_run_has_the_figures_of_its_result(tmp_path: Path) -> None:
    """And a report once that is drawn."""
    folder = written(tmp_path / "aladin/synthetic/20270115-080000", run(Truth()), samples(Truth()))
    analysis = analyse(folder)
    write_result(analysis)
    read = history(tmp_path)
    row = read.answer(Question())["rows"][0]
    assert row["indexing_rate_docs_per_s"] == pytest.approx(
        indexing_rate_docs_per_s(analysis.windows.window, "primaries")
    )
    assert (row["profile"], row["status"], row["kind"]) == ("aladin/synthetic", "verified", "run")
    assert row["verdict"].startswith("limited by Elasticsearch")
    assert row["report"] is None
    (folder / "report.html").write_text("<html>", "utf-8")
    assert read.answer(Question())["rows"][0]["report"] == "/runs/aladin/synthetic/20270115-080000/report.html"


def test_the_rate_of_a_load_too_short_to_measure_is_marked_and_has_no_latency(tmp_path: Path) -> None:
    """Documents by their time, as at the end of the run itself."""
    folder = tmp_path / "quickstart/20260101-000007"
    folder.mkdir(parents=True)
    for has_window, figures in ((True, (1007.0, 0.25, False)), (False, (101.0, None, True))):
        (folder / "result.json").write_bytes(small_result(7, has_window=has_window))
        (row,) = history(tmp_path).answer(Question())["rows"]
        assert (row["indexing_rate_docs_per_s"], row["indexing_latency_ms"], row["is_rough"]) == figures


def test_a_run_on_opensearch_is_limited_by_opensearch(tmp_path: Path) -> None:
    """As its report says."""
    folder = tmp_path / "quickstart/20260101-000007"
    folder.mkdir(parents=True)
    (folder / "result.json").write_bytes(small_result(7, stage="elasticsearch", product="OpenSearch"))
    (row,) = history(tmp_path).answer(Question())["rows"]
    assert row["verdict"] == "limited by OpenSearch"


def test_a_sparkline_is_the_rate_over_the_load(tmp_path: Path) -> None:
    """At most 24 stretches, whose mean is that of the load."""
    truth = Truth(ticks=97, warm_up_s=0)
    folder = written(tmp_path / "x", run(truth), samples(truth))
    values = spark(folder / "samples.ndjson")
    assert len(values) == SPARKS
    assert values == pytest.approx([5003.0] * SPARKS, rel=0.3)
    assert spark(tmp_path / "gone") == []


@pytest.mark.parametrize(
    ("ended", "reason", "status", "verdict"),
    [
        ("interrupted", None, "interrupted", "interrupted in “load”"),
        ("broken", "kafka has ended", "broken", "broken in “load”: kafka has ended"),
        (None, None, "unfinished", "last seen in “load”"),
    ],
)
def test_a_run_without_a_result_says_how_far_it_came(
    tmp_path: Path, ended: str | None, reason: str | None, status: str, verdict: str
) -> None:
    """Broken off, or under way."""
    begun(tmp_path / "quickstart/20260101-000007", ended=ended, reason=reason)
    row = history(tmp_path).answer(Question())["rows"][0]
    assert (row["profile"], row["status"], row["verdict"]) == ("quickstart", status, verdict)


def test_a_suite_is_one_row_with_the_figures_of_its_control(tmp_path: Path) -> None:
    """Not one for each of its runs."""
    folder = suite_folder(tmp_path / "suites/synthetic/20270115-080000", small())
    read = history(tmp_path)
    assert [row["status"] for row in read.answer(Question())["rows"]] == ["unfinished"]
    analyse_suite(folder)
    read.refresh()
    (row,) = read.answer(Question.of({"kind": "suite"}))["rows"]
    assert (row["id"], row["profile"], row["status"]) == ("suites/synthetic/20270115-080000", "synthetic", "complete")
    assert len(row["spark"]) == 3
    assert row["indexing_rate_docs_per_s"] == pytest.approx(5004, rel=0.01)


def test_a_record_that_cannot_be_read_is_a_row_all_the_same(tmp_path: Path) -> None:
    """With what its folder tells."""
    folder = tmp_path / "quickstart/20260101-000007"
    folder.mkdir(parents=True)
    (folder / "result.json").write_bytes(b"{}")
    row: dict[str, Any] = history(tmp_path).answer(Question())["rows"][0]
    assert (row["profile"], row["status"], row["started_s"]) == ("quickstart", "unknown", None)


def test_rows_are_found_by_labels_and_note(tmp_path: Path) -> None:
    """As the list shows them beside the profile."""
    for number, branch in enumerate(("main", "other")):
        made = run(Truth(ticks=2)).model_copy(update={"labels": {"branch": branch}, "note": "before the upgrade"})
        write_result(analyse(written(tmp_path / "books" / f"20260101-00000{number}", made, samples(Truth(ticks=2)))))
    rows = history(tmp_path).answer(Question.of({"q": "branch=main upgrade"}))["rows"]
    assert [(row["id"], row["marks"]) for row in rows] == [("books/20260101-000000", "branch=main: before the upgrade")]
