"""The report of a suite, and what lies beside it for other tools."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from jsonschema import Draft202012Validator
from rich.console import Console
from rich.table import Table

from lab.analysis.schema import json_schema
from lab.analysis.suite.charts import rate_over_time
from lab.analysis.suite.folder import read_suite
from lab.analysis.suite.report import write_suite_report
from lab.analysis.suite.result import analyse_suite
from lab.analysis.suite.sections import difference_counts, limit_rows, shown_metrics
from lab.analysis.suite.tables import suite_table
from lab.errors import ProfileError
from lab.records.suite import NO_LIMIT, MetricKey, SuitePlan, SuiteResult, SuiteRun, VariantLimit
from tests.unit.analysis.query_truth import QueryTruth, query_run, query_samples
from tests.unit.analysis.report_page.test_report import HOSTILE, Page, plain
from tests.unit.analysis.suite.suite_folders import AGAIN, CPU, LADDER, LATENCY, RATE, Rung, small, suite_folder
from tests.unit.analysis.synthetic import Truth, written
from tests.unit.messages import MakeMessage

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite with a repeated run, a run that is lost and published figures, drawn once."""
    made = suite_folder(
        tmp_path_factory.mktemp("suite"),
        small(
            repeats=5,
            noise=0.002,
            metrics=(RATE, LATENCY),
            published="aladin-indexing",
            failing={(1, "aladin/flat"): ("void", "verified"), (3, "aladin/static"): ("broken", "broken")},
        ),
    )
    analyse_suite(made)
    write_suite_report(made)
    return made


@pytest.fixture(scope="module")
def html(folder: Path) -> str:
    """The page."""
    return (folder / "report.html").read_text("utf-8")


def test_the_page_is_whole_and_fetches_nothing(html: str) -> None:
    """It opens on a machine without a network, every element is closed, and its one script lies in it."""
    page = Page(html)
    assert page.open == []
    assert page.fetched == []
    assert len(set(page.ids)) == len(page.ids)
    assert page.seen.count("script") == 1


def test_results_stand_before_warnings(html: str) -> None:
    """The answer with links to what it warns of, each comparison, then what to know before believing it."""
    text = plain(html)
    places = [
        text.index(part)
        for part in (
            "Indexing rate 2 of 2 comparisons show a difference · 5 repeats",
            "What each variant changes",
            "Warnings Runs failed",
            "Method check (A/A)",
        )
    ]
    assert places == sorted(places)
    assert 'href="#warning-runs_failed"' in html[: html.index("What each variant changes")]


def test_limits_are_named_as_sentences_name_them_and_runs_that_show_none_apart(folder: Path) -> None:
    """A run without a limit is no stage."""
    limits = (
        VariantLimit(variant="aladin/flat", limits={"elasticsearch": 4, "machine": 1}, evidence=None),
        VariantLimit(variant="aladin/static", limits={NO_LIMIT: 2}, evidence=None),
    )
    result = analyse_suite(folder).model_copy(update={"limits": limits})
    assert [row[1] for row in limit_rows(result)] == ["Elasticsearch (4), the machine (1)", "not known (2)"]


def test_books_and_bytes_a_second_are_shown_where_documents_differ(folder: Path, tmp_path: Path) -> None:
    """Of variants with the same documents they are the same rate in another unit."""
    rungs = {"aladin/control": Rung(against=None), "aladin/static": Rung()}
    alike = analyse_suite(suite_folder(tmp_path, small(rungs=rungs, metrics=(RATE,), noise=0.002)))
    units = {"entities_per_s", "source_mb_per_s"}
    assert {metric.name for metric in shown_metrics(analyse_suite(folder))} >= units
    assert {metric.name for metric in shown_metrics(alike)} & units == set()


def test_what_the_table_says_is_not_said_again(html: str) -> None:
    """Above it stands what differs, and what no ratio says: that variants count otherwise."""
    answer, _, text = plain(html).partition("What each variant changes")
    assert "An entity is 3 documents in flat and 1 in static" in answer
    assert " against control" not in text


@pytest.mark.parametrize(
    ("rate", "again", "kind", "figure"),
    [
        (1.25, 1.0, "answer good", "1 of 1 comparison shows a difference"),
        (1.0, 1.0, "answer ", "0 of 1 comparisons show a difference"),
        (1.25, 1.5, "answer care", "The control shows a difference from itself (A/A)"),
    ],
)
def test_green_is_for_what_was_found(tmp_path: Path, rate: float, again: float, kind: str, figure: str) -> None:
    """A suite that shows nothing has not succeeded, and one whose control differs from itself warns."""
    rungs = {
        "aladin/control": Rung(against=None),
        AGAIN: Rung(rate=again),
        "aladin/static": Rung(rate=rate),
    }
    made = suite_folder(tmp_path, small(rungs=rungs, repeats=5, noise=0.002, metrics=(RATE,)))
    analyse_suite(made)
    html = write_suite_report(made).read_text("utf-8")
    assert f'<div class="{kind}">' in html
    assert figure in plain(html)


def test_the_first_figure_is_of_what_was_measured(tmp_path: Path) -> None:
    """CPU of servers elsewhere is asked for first and not known: nothing stood above a rate that differs."""

    def elsewhere(truth: Truth) -> Truth:
        return replace(truth, cores=())

    rungs = {
        "aladin/control": Rung(against=None, change=elsewhere),
        "aladin/static": Rung(rate=1.25, change=elsewhere),
    }
    made = suite_folder(tmp_path, small(rungs=rungs, repeats=5, noise=0.002, metrics=(CPU, RATE)))
    analyse_suite(made)
    html = plain(write_suite_report(made).read_text("utf-8"))
    assert "Indexing rate 1 of 1 comparison shows a difference" in html


def test_pairs_at_the_same_time_are_told_to_have_shared_the_cores(tmp_path: Path) -> None:
    """Above the comparisons, in the page as in Markdown; runs one after the other have the machine for themselves."""
    made = suite_folder(tmp_path, small(repeats=2, noise=0.0))
    plan = SuitePlan.model_validate_json((made / "plan.json").read_bytes())
    for duets in (True, False):
        (made / "plan.json").write_text(plan.model_copy(update={"duets": duets}).model_dump_json())
        analyse_suite(made)
        write_suite_report(made)
        texts = [(made / name).read_text("utf-8") for name in ("report.html", "suite.md")]
        assert ["shared the cores" in text for text in texts] == [duets] * 2


def test_a_comparison_of_too_few_runs_counts_among_those_that_show_no_difference(tmp_path: Path) -> None:
    """One of two, not one of one; where all have too few, nothing was compared."""
    twice = {(3, "aladin/flat"): ("broken", "broken")}
    assert difference_counts(analyse_suite(suite_folder(tmp_path / "a", small(failing=twice))), RATE) == (1, 2)
    assert difference_counts(analyse_suite(suite_folder(tmp_path / "b", small(after=2))), RATE) == (0, 0)


def test_every_metric_has_a_panel_and_one_is_shown(html: str) -> None:
    """The two that were asked for, then the units that do not depend on documents."""
    labels = re.findall(r'<label for="metric-\d">([^<]+)</label>', html)
    assert labels == ["Indexing rate", "Indexing latency", "Entities indexed", "Source indexed"]
    assert html.count(" checked>") == 1
    assert all(f"#metric-{place}:checked ~ .panels > #panel-{place}" in html for place in range(4))


def test_a_row_says_all_that_a_comparison_has(html: str) -> None:
    """Median with extremes, ratio, verdict with interval, what could have been seen, and the source."""
    row = re.search(
        r'<tr class="better"><th scope="row">static <small>÷ control</small></th>(.*?)</tr>', html, re.DOTALL
    )
    assert row is not None
    along, *texts = [" ".join(plain(cell).split()) for cell in re.findall(r"<td.*?</td>", row[1], re.DOTALL)]
    verdict, median, detectable, published = texts
    assert along == ""
    assert 'title="ratio 1.25; by block 1.25, ' in row[1]
    assert verdict == "faster by 25 % (+25 % to +26 %)"
    assert re.fullmatch(r"6,2\d0/s \[6,2\d0–6,2\d0\]", median)
    assert re.fullmatch(r"0\.\d % \(0\.\d–\d\.\d %\)", detectable)
    assert published == "1.06 same direction (outside)"


def test_a_run_that_was_repeated_and_one_that_was_lost_are_listed(html: str) -> None:
    """With the reason, which is text from outside."""
    text = plain(html)
    assert "block 1: void" in text
    assert "block 1, attempt 2: verified" in text
    assert "block 3, attempt 2: broken · 39 s · 7 documents are missing from the index" in text


def test_the_page_is_drawn_again_from_the_folder_alone(folder: Path, html: str) -> None:
    """The same, but for a link to the report that a run has now; a link to nothing would be worse than none."""
    report = next((folder / "runs").glob("2-1-aladin-static")) / "report.html"
    report.write_text("", "utf-8")
    drawn = write_suite_report(folder).read_text("utf-8")
    assert Page(drawn).fetched == ["runs/2-1-aladin-static/report.html"]
    assert plain(drawn).replace(" · report", "") == plain(html)


def test_samples_that_are_gone_leave_the_other_runs(tmp_path: Path, message: MakeMessage) -> None:
    """Who sends the folder on may leave the large files out."""
    made = read_suite(suite_folder(tmp_path, small()))
    runs = [counted.run for counted in made.of_variant("aladin/static")]
    next((tmp_path / "runs").glob("2-1-aladin-static")).joinpath("samples.ndjson").unlink()
    drawn = rate_over_time(tmp_path, "static", runs, of_queries=False)
    assert (list(drawn.colours), drawn.summary) == (["block 1", "block 3"], message(2, 3))
    assert rate_over_time(tmp_path / "elsewhere", "static", runs, of_queries=False).svg is None


def test_each_run_of_a_block_has_a_line(tmp_path: Path) -> None:
    """The control may run twice in one, and a disturbed run is repeated: of two, one line was drawn and counted."""
    made = read_suite(suite_folder(tmp_path, small()))
    first, second, third = (counted.run for counted in made.of_variant("aladin/static"))
    runs = [
        first,
        second.model_copy(update={"block": 1, "turn": 2}),
        third.model_copy(update={"block": 1, "attempt": 2}),
    ]
    drawn = rate_over_time(tmp_path, "static", runs, of_queries=False)
    assert (list(drawn.colours), drawn.summary[:6]) == (["block 1", "block 1, run 2", "block 1, attempt 2"], "3 of 3")


def test_of_queries_alone_the_answers_are_drawn_over_time(tmp_path: Path, message: MakeMessage) -> None:
    """Nothing is indexed meanwhile: a line at zero would say nothing."""
    written(tmp_path / "runs" / "one", query_run(QueryTruth()), query_samples(QueryTruth()))
    run = SuiteRun(
        block=1, variant="seven", attempt=1, folder="runs/one", status="verified", started_s=1.0, ended_s=2.0
    )
    drawn = rate_over_time(tmp_path, "seven", [run], of_queries=True)

    assert (drawn.title, drawn.summary) == (message("seven"), message(1))
    assert drawn.svg is not None
    assert "queries/s" in drawn.svg


def test_the_command_and_the_seed_to_run_it_again_are_there(html: str) -> None:
    """Word by word, at its commit, with the order of the runs."""
    text = plain(html)
    assert "git checkout 0123456789abcdef0123456789abcdef01234567 ./sluice suite synthetic --repeats 5" in text
    assert "Seed of the order 7" in text
    assert "Plan: the order of the runs block 1: " in text


def test_secrets_are_not_shown(html: str) -> None:
    """A report is made to be passed on."""
    assert "correct horse" not in html
    assert "(hidden)" in html


def test_text_from_outside_is_escaped(tmp_path: Path) -> None:
    """Names and questions are not markup, neither in the page nor in Markdown."""
    made = suite_folder(
        tmp_path, small(rungs={"aladin/control": Rung(against=None), f"aladin/{HOSTILE}": Rung()}, after=1)
    )
    analyse_suite(made)
    html = write_suite_report(made).read_text("utf-8")
    assert HOSTILE not in html
    assert HOSTILE not in (made / "suite.md").read_text("utf-8")
    assert "&lt;script&gt;" in html


def test_a_folder_that_was_not_analysed_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """The report makes no figures of its own."""
    made = suite_folder(tmp_path, small(after=0))
    with pytest.raises(ProfileError) as caught:
        write_suite_report(made)
    assert str(caught.value) == message(f"{made}/suite.json")


def test_the_reason_of_a_verdict_stands_below_the_table(tmp_path: Path) -> None:
    """A comparison that lost blocks says so where its verdict stands."""
    made = suite_folder(tmp_path, small(metrics=(RATE,), failing={(3, "aladin/static"): ("broken", "broken")}))
    analyse_suite(made)
    text = plain(write_suite_report(made).read_text("utf-8"))
    assert "static ÷ control : 2 of at least 3 blocks; 1 block without both values." in text


def test_what_the_source_leaves_open_is_beside_its_figures(html: str) -> None:
    """Once for all of them, with what is not known of its readings."""
    text = plain(html)
    for part in ("no spread and no number of readings is stated", "does not say whether its latency counts replicas"):
        assert text.count(part) == 1
    assert "0.18 ÷ 0.32 = 0.54–0.59" in text


# --- beside the page ------------------------------------------------------------------------------------------------


def test_the_table_has_one_row_for_each_run_and_metric(folder: Path) -> None:
    """All runs, of which those that do not count have no value."""
    with (folder / "suite.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == (1 + 20 + 2) * 4
    assert {row["value"] for row in rows if row["counted"] == "false"} == {""}
    assert sum(row["counted"] == "true" for row in rows) == 19 * 4
    counted = [
        row for row in rows if (row["variant"], row["block"], row["metric"]) == ("aladin/static", "1", RATE.name)
    ]
    assert [(row["against"], row["scope"], row["unit"], round(float(row["value"]), -2)) for row in counted] == [
        ("aladin/control", "primaries", "docs/s", 6300.0)
    ]


def test_the_summary_holds_the_answer_and_a_table_for_each_metric(folder: Path) -> None:
    """For a note or a pull request."""
    text = (folder / "suite.md").read_text("utf-8")
    result = SuiteResult.model_validate_json((folder / "suite.json").read_bytes())
    assert f"**{result.answer}**" in text
    assert (
        text.count("| variant | against | median [min–max] | ratio | verdict (interval) | smallest detectable |") == 2
    )
    assert "    ./sluice suite synthetic --repeats 5\n" in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {9}


def test_the_schema_in_the_repository_is_that_of_the_record(folder: Path) -> None:
    """Other programs read suite.json by it."""
    schema = json_schema(SuiteResult)
    assert (ROOT / "docs/suite.schema.json").read_text("utf-8") == schema
    Draft202012Validator(orjson.loads(schema)).validate(orjson.loads((folder / "suite.json").read_bytes()))


@pytest.mark.parametrize("published", [None, "aladin-indexing"])
def test_columns_of_a_source_are_there_if_one_is_cited(tmp_path: Path, published: str | None) -> None:
    """Otherwise they would be two columns of dashes, in the page as in Markdown."""
    made = suite_folder(tmp_path, small(repeats=2, noise=0.01, published=published))
    analyse_suite(made)
    write_suite_report(made)
    columns = [
        ('<th scope="col">published</th>' in (made / "report.html").read_text("utf-8")),
        ("| published | agreement (our interval) |" in (made / "suite.md").read_text("utf-8")),
    ]
    assert columns == [published is not None] * 2


def test_what_the_source_measured_stands_at_the_top(html: str) -> None:
    """Before any figure that is laid beside it."""
    sentence = "its cluster was never saturated, and its rates say what it was fed"
    assert html.index('class="answer') < html.index(sentence) < html.index("What each variant changes")


def limit(docs_per_s: float, half_width: float) -> dict[str, float]:
    """A limit that five drains have told."""
    ends = {"limit_low": docs_per_s / half_width, "limit_high": docs_per_s * half_width}
    return {"limit_docs_per_s": docs_per_s, "limit_drains": 5, **ends}


@pytest.mark.parametrize(
    ("rate", "known", "heading"),
    [
        (None, {}, "synthetic"),
        ("600", {}, "synthetic at 600 documents/s"),
        ("6000", {}, "synthetic at 6,000 documents/s, not reached in 4 of 8 runs"),
        ("70 %", {"rate_docs_per_s": None}, "synthetic at 70 % of the limit"),
        ("70 %", limit(7150, 1.04), "synthetic at 70 % of the limit (5,004 documents/s)"),
        ("70 %", limit(7150, 1.1), "synthetic at 64 to 77 % of the limit (5,004 documents/s)"),
        ("70 %", limit(8000, 1.01), "synthetic at 62 to 63 % of the limit (5,004 documents/s)"),
        ("70 %", {"limit_docs_per_s": 7150}, "synthetic at 5,004 documents/s"),
    ],
    ids=[
        "drains",
        "a rate",
        "a rate that some do not reach",
        "not yet known",
        "as asked",
        "a wide interval",
        "not reached",
        "a rough rate",
    ],
)
def test_the_heading_says_at_which_rate_the_suite_streamed(
    tmp_path: Path, rate: str | None, known: dict[str, float], heading: str
) -> None:
    """In the page, in Markdown and in the terminal; what the control's streams reached is its share of the limit."""
    made = suite_folder(tmp_path, small(repeats=2, noise=0.0))
    plan = SuitePlan.model_validate_json((made / "plan.json").read_bytes())
    plan = plan.model_copy(update={"rate": rate, "rate_docs_per_s": 5005.0 if rate else None, **known})
    (made / "plan.json").write_text(plan.model_dump_json())
    result = analyse_suite(made)
    write_suite_report(made)
    table = suite_table(result)
    assert f"<h1>{heading}</h1>" in (made / "report.html").read_text("utf-8")
    assert (made / "suite.md").read_text("utf-8").startswith(f"# {heading}\n")
    assert isinstance(table, Table)
    assert str(table.title).startswith(f"{heading} · ")


@pytest.mark.parametrize("known", [limit(7150, 1.04), {"limit_docs_per_s": 7150}], ids=["measured", "a rough rate"])
def test_the_limit_is_told_with_its_interval_where_it_was_measured(tmp_path: Path, known: dict[str, float]) -> None:
    """A rough rate sizes drains, and is no limit."""
    made = suite_folder(tmp_path, small(repeats=2, noise=0.0))
    plan = SuitePlan.model_validate_json((made / "plan.json").read_bytes())
    (made / "plan.json").write_text(plan.model_copy(update={"rate": "70 %", **known}).model_dump_json())
    analyse_suite(made)
    write_suite_report(made)
    told = "The limit is 7,150/s (6,880 to 7,440): what the control indexed in 5 drains before the first block."
    for name in ("report.html", "suite.md"):
        assert (told in (made / name).read_text("utf-8")) == ("limit_drains" in known)


@pytest.mark.parametrize("metric", [None, LATENCY, CPU], ids=["the first metric", "rounded", "another"])
def test_the_terminals_table_fits_eighty_columns(tmp_path: Path, metric: MetricKey | None) -> None:
    """Fourteen variants, one of them with a long name, beside their published ratios."""
    rungs = {name: rung for name, rung in LADDER.items() if name != AGAIN}
    made = suite_folder(tmp_path, small(rungs=rungs, noise=0.1, published="aladin-indexing"))
    console = Console(width=80, record=True, file=(tmp_path / "out").open("w"))
    console.print(suite_table(analyse_suite(made), metric))
    text = console.export_text().replace("\u202f", " ")
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "…" not in text
    assert "flat ÷ primaries-2" in text
    assert ("3.04 " in text) == (metric is None)
    assert ("0.32–0.38 " in text) == (metric == LATENCY)
