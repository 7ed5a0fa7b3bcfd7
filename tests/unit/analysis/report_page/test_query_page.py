"""What a report says and draws of a query load."""

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lab.analysis.figures.cost import node_sums, process_series
from lab.analysis.figures.rates import counter_series
from lab.analysis.figures.windows import query_windows
from lab.analysis.report_page.charts import charts
from lab.analysis.report_page.queries import (
    answers_text,
    asked_about,
    clients_text,
    layout_pairs,
    load_pairs,
    times_name,
)
from lab.analysis.report_page.query_charts import latencies, ramp, right_answers
from lab.analysis.report_page.report import write_report
from lab.analysis.report_page.terminal import terminal_table
from lab.records.queries import DocumentRamp, QueryLoadResult
from lab.records.samples import Sample
from tests.unit.analysis.query_truth import QueryTruth, analysed, query_load, query_run, query_samples, step
from tests.unit.analysis.report_page.test_report import Page, plain
from tests.unit.analysis.synthetic import START_S, with_samples
from tests.unit.messages import MakeMessage

CLOSED, OPEN = QueryTruth(), QueryTruth(rate_per_s=30.0)
STEPS = (step(40, 76.8), step(50, 92.1), step(62.5, 122.8))


def load(truth: QueryTruth = CLOSED, **changes: Any) -> QueryLoadResult:
    """A query load with some facts changed."""
    return query_load(truth).model_copy(update=changes)


def wrong(times: int, *, expected: bool) -> QueryLoadResult:
    """A load with so many wrong answers to its first question, and none to the second."""
    first, second = query_load(CLOSED).questions
    questions = (
        first.model_copy(update={"wrong": times, "expected_wrong": expected}),
        second.model_copy(update={"wrong": 0, "expected_wrong": False}),
    )
    return load(questions=questions)


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of queries alone, drawn once."""
    return write_report(analysed(tmp_path_factory.mktemp("queried"), CLOSED)).read_text("utf-8")


# --- the page -------------------------------------------------------------------------------------------------------


def test_the_page_is_whole_and_fetches_nothing(html: str) -> None:
    """Every element is closed, every id is there once."""
    shown = Page(html)
    assert (shown.open, shown.fetched) == ([], [])
    assert len(set(shown.ids)) == len(shown.ids)


def test_the_answer_tells_what_was_asked_and_how_fast_it_was_answered(html: str) -> None:
    """Not how documents were indexed, which an earlier run may have done."""
    text = plain(html)
    assert "2 questions were asked about 115,069 documents in Elasticsearch 8.19.21 by 3 clients in a closed" in text
    assert (
        "Query rate Queries answered per second of the measured part of a query load. 30 /s over 17 s after 5 s" in text
    )
    assert "4 of 102 compared answers differ from the dataset; the profile expects that." in text
    assert "Indexing rate" not in text


def test_each_question_has_its_times_and_all_of_them_together(html: str) -> None:
    """Requests, errors, rate, mean and percentiles of the service time, took."""
    text = plain(html)
    assert "rating 340 0 20 50 ms 40.0 ms 80.1 ms 80.1 ms – 80.1 ms 20.0 ms" in text
    assert "all of them 510 0 30 36.7 ms" in text
    assert "closed loop Each client sends its next query once it has read an answer." in text


def test_a_run_without_queries_has_no_such_section(tmp_path: Path) -> None:
    """Most runs ask nothing while they measure."""
    changed = analysed(tmp_path, CLOSED)
    without = changed.folder.run.model_copy(update={"query_load": None, "layout": None})
    titles = {chart.title for chart in charts(without, changed.windows)}
    assert not titles & {"Search rate", "Search latency", "Request cache"}


def test_the_kept_index_says_which_run_made_it(message: MakeMessage) -> None:
    """Its own run, or an earlier one."""
    made = query_run(CLOSED)
    assert made.layout
    assert dict(layout_pairs(made, made.layout)) == {
        "Index": message("sluice-books", "20270115-070000-earlier", 61),
        "Route": message("loaded"),
        "Segments": "7, 1\u202fGB on primaries",
        "Codec of stored fields": "BEST_SPEED in 7 segments",
        "Layout": "fedcba9876543210",
    }
    own = made.layout.model_copy(update={"made_by": made.run_id})
    assert dict(layout_pairs(made, own))["Index"].startswith("sluice-books: made by this run in 61\u202fs")


# --- sentences ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({}, (3,)),
        (
            {"clients": 1, "think_time_s": 5.0},
            (1, 5),
        ),
        ({"rate_per_s": 30.0}, (3, 30)),
        ({"steps": STEPS}, (3,)),
    ],
)
def test_the_kind_of_loop_is_told(changes: dict[str, Any], facts: tuple[object, ...], message: MakeMessage) -> None:
    """With the clients, since one without the other says little."""
    assert clients_text(load(**changes)) == message(*facts)


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        (
            {},
            (15, "90,000"),
        ),
        (
            {"window_within": 0.25, "window_s": 90.0, "window_documents_mean": None},
            (90, 25),
        ),
        (
            {"window_place": "newest", "window_documents_mean": None},
            (15,),
        ),
        ({"window_s": None}, ()),
    ],
)
def test_the_part_of_the_data_is_told(changes: dict[str, Any], facts: tuple[object, ...], message: MakeMessage) -> None:
    """It decides what a time means."""
    assert asked_about(load(**changes)) == message(*facts)


def test_only_an_open_loop_has_a_latency() -> None:
    """Queries of a closed loop are due when they are sent."""
    assert [times_name(load(truth)) for truth in (CLOSED, OPEN)] == ["Service time", "Latency"]


def test_answers_are_right_or_wrong_or_wrong_as_expected(message: MakeMessage) -> None:
    """One that may not be wrong is told with its first difference."""
    assert answers_text(wrong(0, expected=False)) == message(102)
    assert answers_text(wrong(2, expected=True)) == message(2, 102)
    assert answers_text(wrong(2, expected=False)) == message(2, 102, "rating", 1, 7, 11)


def test_the_load_is_told_by_name_and_value(message: MakeMessage) -> None:
    """How many clients were to be expected stands in the warning of a run in which others were busy."""
    pairs = dict(load_pairs(load(searchable_lag_s=1.7)))
    assert pairs["Request cache"] == "on"
    assert pairs["Clients with a query under way"] == message(2.97, 3)
    assert pairs["Newest searchable document"].startswith("1.70\u202fs behind")
    assert "Newest searchable document" not in dict(load_pairs(load(searchable_lag_s=None)))


# --- charts ---------------------------------------------------------------------------------------------------------


def test_a_query_run_draws_what_the_servers_did_meanwhile(tmp_path: Path) -> None:
    """In the measured part of the load; nothing of Kafka, and memory against its limit only where there is one."""
    analysis = analysed(tmp_path / "bounded", CLOSED)
    drawn = {chart.title: chart.svg is not None for chart in charts(analysis.folder.run, analysis.windows)}
    assert drawn == dict.fromkeys(
        [
            "Queries answered",
            "Search rate",
            "Search latency",
            "Request cache",
            "Query cache",
            "Major page faults",
            "Read from disk",
            "Page cache against the limit",
            "Search threads",
            "CPU by process",
        ],
        True,
    )
    free = analysed(tmp_path / "free", QueryTruth(cache_bytes=None))
    titles = [chart.title for chart in charts(free.folder.run, free.windows)]
    assert "Page cache against the limit" not in titles


def test_latencies_are_drawn_by_question(message: MakeMessage) -> None:
    """With what a reader who cannot see them must know."""
    chart = latencies(load())
    assert chart.title == "Service time by question"
    assert chart.summary == message("rating", 40.0, "p99", 80.1, 10.0)
    assert latencies(load(OPEN)).title == "Latency by question"


def test_a_load_without_an_answer_draws_nothing() -> None:
    """And says so."""
    nothing = [each.model_copy(update={"service_time": "", "checked": 0}) for each in load().questions]
    unanswered = load(questions=tuple(nothing))
    assert [(chart.svg, chart.summary) for chart in (latencies(unanswered), right_answers(unanswered))] == [
        (None, "Nothing was answered."),
        (None, "No answer was compared."),
    ]


def test_the_limit_of_the_page_cache_is_that_of_the_nodes() -> None:
    """Where all servers are containers, the first by name is the Connect worker, which holds no index."""

    def of_containers(sample: Sample) -> dict[str, object]:
        node = sample.control_groups["elasticsearch-1"]
        worker = node.model_copy(update={"memory_limit_bytes": 7_000_000_000})
        return {"control_groups": {"connect": worker, "elasticsearch-1": node}}

    seen = with_samples(query_samples(CLOSED), of_containers)
    made = query_run(CLOSED)
    assert made.query_load
    (chart,) = (each for each in charts(made, query_windows(seen, made.query_load)) if each.title.startswith("Page c"))
    assert list(chart.colours) == ["page cache of elasticsearch-1", "heap and other memory of elasticsearch-1", "limit"]
    assert chart.readings is not None
    assert {mb for _, mb in chart.readings.series["limit"]} == {1100.0}


def test_a_ramp_shows_its_knee(message: MakeMessage) -> None:
    """The worked example of the knee: nearly 54 per second for a bound of 100 ms."""
    chart = ramp(STEPS, 100.0, "queries")
    assert chart.svg is not None
    assert chart.reading == message(100, "p99", "54.0/s", 50, "62.5/s")
    assert ramp(STEPS[:2], 100.0, "queries").reading == message("no knee")


def test_a_ramp_of_documents_has_its_curve_too(tmp_path: Path) -> None:
    """Though nothing was asked."""
    analysis = analysed(tmp_path, CLOSED)
    rising = DocumentRamp(p99_bound_ms=100.0, steps=STEPS)
    made = analysis.folder.run.model_copy(update={"query_load": None, "layout": None, "document_ramp": rising})
    changed = replace(analysis, folder=replace(analysis.folder, run=made))
    text = plain(write_report(changed).read_text("utf-8"))
    assert "The ramp p99 against the rate" in text
    assert "40 40 0 11.6 ms 76.8 ms" in text


# --- series ---------------------------------------------------------------------------------------------------------


def test_counters_grow_per_second() -> None:
    """Thirty queries a second, each with four misses of the request cache and two faults."""
    seen = [sample for sample in query_samples(CLOSED) if START_S + 8 <= sample.at_s <= START_S + 20]
    assert {point.value for point in counter_series(seen, "total", "request_cache_misses")} == {120.0}
    assert {point.value for point in process_series(seen, "elasticsearch-1", "major_page_faults")} == {60.0}
    assert {point.value for point in node_sums(seen, lambda node: node.search_active)} == {2}


def test_a_server_that_was_started_again_leaves_a_gap() -> None:
    """Its counters began again, so that their growth is not known."""
    before, after = query_samples(CLOSED)[9:11]
    process = after.processes["elasticsearch-1"].model_copy(update={"pid": 101})
    again = after.model_copy(update={"processes": {"elasticsearch-1": process}})
    (point,) = process_series([before, again], "elasticsearch-1", "disk_read_bytes")
    assert point.value is None


# --- the terminal ---------------------------------------------------------------------------------------------------


def test_the_terminal_has_a_row_for_each_question_in_eighty_columns(tmp_path: Path, message: MakeMessage) -> None:
    """Above the key figures."""
    console = Console(width=80, record=True, file=StringIO())
    console.print(terminal_table(analysed(tmp_path, CLOSED).result))
    rows = console.export_text().replace("\u202f", " ").splitlines()
    assert max(map(len, rows)) <= 80
    assert rows[0].strip() == message("events/synthetic")
    assert rows[3].split() == ["rating", "20/s", "40.0", "ms", "80.1", "ms", "80.1", "ms", "20.0", "ms", "0", "2"]
