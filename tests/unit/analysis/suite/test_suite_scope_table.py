"""A metric of many scopes: one table of comparisons by scopes, on the page, in Markdown and on a terminal."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from lab.analysis.suite.report import write_suite_report
from lab.analysis.suite.result import analyse_suite
from lab.analysis.suite.scope_table import lines, metrics_with_scopes, scope_names
from lab.analysis.suite.tables import suite_table
from lab.records.run import Run
from lab.records.suite import MetricKey, SuiteResult
from tests.unit.analysis.report_page.test_report import Page, plain
from tests.unit.analysis.suite.suite_folders import CPU, Rung, small, suite_folder
from tests.unit.analysis.synthetic import encoded, question

QUESTIONS = ("events-by-rating", "events-over-time", "events-total")
SCOPES = tuple(MetricKey(name="query_service_time_ms_p50", scope=name) for name in QUESTIONS)


def asked(*times_ms: float) -> Callable[[Run], Run]:
    """A run whose three questions took so long."""
    answers = [
        question().model_copy(update={"name": name, "service_time": encoded([ms])})
        for name, ms in zip(QUESTIONS, times_ms, strict=True)
    ]
    return lambda made: made.model_copy(update={"questions": tuple(answers)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of a variant whose first question takes twice, its second half as long."""
    rungs = {
        "aladin/control": Rung(against=None, change_run=asked(10, 20, 40)),
        "aladin/nodes-3": Rung(against="aladin/control", change_run=asked(20, 10, 40)),
        "aladin/nodes-6": Rung(against="aladin/nodes-3", change_run=asked(20, 10, 40)),
    }
    return suite_folder(tmp_path_factory.mktemp("suite"), small(rungs=rungs, metrics=(*SCOPES, CPU)))


@pytest.fixture(scope="module")
def result(folder: Path) -> SuiteResult:
    """What it says."""
    return analyse_suite(folder)


def test_a_metric_of_three_scopes_has_one_table_and_one_of_two_has_not() -> None:
    """Primaries and all shards stay apart, as they always were."""
    shards = tuple(MetricKey(name="search_rate_per_s", scope=scope) for scope in ("primaries", "total"))
    assert metrics_with_scopes((*shards, *SCOPES, CPU)) == [SCOPES]


def test_scopes_are_named_without_what_they_share() -> None:
    """Their first word, if all of them have the same one and another behind it."""
    assert scope_names(SCOPES) == ["by-rating", "over-time", "total"]
    assert scope_names((*SCOPES, MetricKey(name="query_service_time_ms_p50", scope="run")))[-2:] == [
        "events-total",
        "run",
    ]


def test_a_line_has_a_cell_for_each_scope(result: SuiteResult) -> None:
    """The control with its medians, then each comparison; what is not compared with the control says so."""
    texts = {line.name: [cell.text for cell in line.cells] for line in lines(result, SCOPES)}
    assert texts == {
        "control": ["10.0\u202fms", "20.0\u202fms", "40.0\u202fms"],
        "nodes-3": ["2.00", "0.50", "1.00"],
        "nodes-6 ÷ nodes-3": ["1.00", "1.00", "1.00"],
    }


@pytest.mark.parametrize(("verdict", "interval"), [("undecided", "-50 % to +200 %"), ("too few runs", "")])
def test_a_cell_has_the_interval_that_its_verdict_is_taken_from(
    result: SuiteResult, verdict: str, interval: str
) -> None:
    """Two blocks have one that rests on an assumption alone, and stood below the ratio as if it were that."""
    update = {"low": 0.5, "high": 3.0, "verdict": verdict}
    changed = result.model_copy(update={"effects": tuple(each.model_copy(update=update) for each in result.effects)})
    assert [cell.interval for cell in lines(changed, SCOPES)[1].cells] == [interval] * 3


def test_rows_are_grouped_by_the_factor_that_they_turn(result: SuiteResult) -> None:
    """Where the suite names factors; the control turns none."""
    turned = tuple(
        variant.model_copy(update={"factor": "nodes" if "nodes" in variant.name else None})
        for variant in result.plan.variants
    )
    changed = result.model_copy(update={"plan": result.plan.model_copy(update={"variants": turned})})
    assert [line.factor for line in lines(changed, SCOPES)] == ["", "nodes", "nodes"]


def test_the_page_shows_all_scopes_first_and_lets_choose_one_scope(folder: Path, result: SuiteResult) -> None:
    """A label for all of them, one for each, and then the other metrics."""
    assert result.complete
    html = write_suite_report(folder).read_text("utf-8")
    page = Page(html)
    labels = re.findall(r'<label for="metric-\d+">([^<]+)</label>', html)
    assert labels[:5] == ["all", "by-rating", "over-time", "total", "CPU per million documents (elasticsearch)"]
    assert html.count('<div class="card heat">') == 1
    first = "Query service time, median (events-by-rating)"
    assert f"{first} 1 of 2 comparisons shows a difference" in plain(html)
    assert (page.open, len(set(page.ids))) == ([], len(page.ids))
    assert "## Query service time, median\n" in (folder / "suite.md").read_text("utf-8")
    assert "## Query service time, median (" not in (folder / "suite.md").read_text("utf-8")


def test_the_first_line_may_turn_a_factor_too(folder: Path, tmp_path: Path) -> None:
    """As the control of a suite of pairs does: one heading for all lines of that factor."""
    own = shutil.copytree(folder, tmp_path / "suite")
    plan = json.loads((own / "plan.json").read_text("utf-8"))
    for variant in plan["variants"]:
        variant["factor"] = "nodes"
    (own / "plan.json").write_text(json.dumps(plan), "utf-8")
    analyse_suite(own)
    html = write_suite_report(own).read_text("utf-8")
    assert html.count('<tr class="factor">') == 1


def test_seven_scopes_fit_into_eighty_columns(tmp_path: Path) -> None:
    """And the eighth gets a table of its own, so that none is left out."""
    names = [f"events-question-number-{place}" for place in range(8)]
    answers = tuple(question().model_copy(update={"name": name}) for name in names)
    rungs = {
        "aladin/control": Rung(against=None, change_run=lambda made: made.model_copy(update={"questions": answers})),
        "aladin/nodes-3": Rung(
            against="aladin/control", change_run=lambda made: made.model_copy(update={"questions": answers})
        ),
    }
    metrics = tuple(MetricKey(name="query_service_time_ms_p50", scope=name) for name in names)
    made = analyse_suite(suite_folder(tmp_path / "suite", small(rungs=rungs, metrics=metrics)))
    console = Console(width=80, record=True, file=(tmp_path / "out").open("w"))
    console.print(suite_table(made))
    text = console.export_text()
    assert max(len(line) for line in text.splitlines()) <= 80
    assert text.count("29.0\u202fms") == 8
