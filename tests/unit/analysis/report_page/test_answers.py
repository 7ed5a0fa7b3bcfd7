"""The questions of a run in figures and in the report."""

from pathlib import Path

import pytest

from lab.analysis.report_page.report import write_report
from lab.analysis.report_page.sections import compared_questions, question_verdict
from lab.analysis.report_page.summary import outcome_sentence
from lab.analysis.result import analyse
from lab.records.verification import Verification
from tests.unit.analysis.synthetic import Truth, question, run, samples, written
from tests.unit.messages import MakeMessage


def test_each_question_has_its_figures_under_its_name(tmp_path: Path) -> None:
    """Means are per answer; percentiles are those of the histograms, in ms; 7 answers have no p90."""
    written(tmp_path, run(Truth()), samples(Truth()))
    values = {metric.name: metric.value for metric in analyse(tmp_path).result.metrics if metric.scope == "cheap-books"}
    assert values == {
        "query_service_time_ms_mean": pytest.approx(197 / 7, rel=0.001),
        "query_service_time_ms_p50": 29.007,
        "query_service_time_ms_p90": None,
        "query_service_time_ms_p99": None,
        "query_service_time_ms_p99_9": None,
        "query_service_time_ms_max": 41.023,
        "query_took_ms_mean": pytest.approx(75 / 7, rel=0.001),
        "query_took_ms_p50": 11.007,
        "query_took_ms_p99": None,
        "requests_per_answer": 3,
        "ids_joined_per_answer": 11,
        "books_per_answer": 13,
        "answers": 7,
        "answers_wrong": 0,
    }


def test_a_run_that_asked_nothing_has_no_section(tmp_path: Path) -> None:
    """Most profiles ask nothing, and their reports do not say so."""
    written(tmp_path, run(Truth()).model_copy(update={"questions": ()}), [])
    assert "What it answers" not in write_report(analyse(tmp_path)).read_text()


def test_the_report_tells_right_answers_from_wrong_ones(tmp_path: Path) -> None:
    """The question in words, and whether to believe its answers."""
    written(tmp_path, run(Truth()), samples(Truth()))
    text = write_report(analyse(tmp_path)).read_text()
    assert "Which books cost less than that? 0 of 7 compared answers differ from the dataset." in text


def test_a_wrong_answer_is_told_with_its_first_difference(message: MakeMessage) -> None:
    """An expected one is told as such."""
    wrong = question().model_copy(update={"wrong": 2, "first_wrong": "answer 3: got 5 books, expected 7"})
    assert question_verdict(wrong) == message(2, 7, wrong.first_wrong)
    assert question_verdict(wrong.model_copy(update={"expected_wrong": True})) == message(
        2, 7, wrong.first_wrong, "profile"
    )


def test_a_run_that_could_not_be_verified_is_not_said_to_have_stored_something_else(
    tmp_path: Path, message: MakeMessage
) -> None:
    """What it stored is not known; that it is void is."""
    unread = Verification(verified=False, problems=("the topic could not be read",))
    made = run(Truth()).model_copy(update={"verification": unread})
    result = analyse(written(tmp_path, made, samples(Truth()))).result
    assert outcome_sentence(made, result) == message("void", *unread.problems)


def test_answers_that_were_compared_with_each_other_are_not_called_right() -> None:
    """The reason stands in the report, and on the terminal."""
    apart = question().model_copy(update={"not_computed": "`match` is not computed"})
    text = question_verdict(apart)
    assert (
        "0 of 7 compared answers differ from the first answer of this run to the same request" in text,
        "`match` is not computed" in text,
        "right" in text,
    ) == (True, True, False)
    (line,) = compared_questions(run(Truth()).model_copy(update={"questions": (question(), apart)}))
    assert line == f"{apart.name}: {text}"


def test_what_right_answers_leave_out_is_told() -> None:
    """In the report and on the terminal."""
    without = question().model_copy(update={"left_out": 113})
    text = (
        "0 of 7 compared answers differ from the dataset without the rejected documents (dead letters), which are 113."
    )
    assert question_verdict(without) == text
    (line,) = compared_questions(run(Truth()).model_copy(update={"questions": (question(), without)}))
    assert line == f"{without.name}: {text}"


def test_wrong_answers_that_are_expected_are_told_as_such() -> None:
    """Beside the check mark of a verified run, a red number of them would be a riddle."""
    expected = question().model_copy(update={"wrong": 2, "expected_wrong": True})
    (line,) = compared_questions(run(Truth()).model_copy(update={"questions": (expected,)}))
    assert line == f"{expected.name}: 2 of 7 compared answers differ from the dataset; the profile expects that."
