"""The report of a suite: one HTML file that needs nothing else; a table and a summary for other tools beside it."""

from datetime import UTC, datetime
from html import escape
from pathlib import Path
from string import Template

from lab.analysis.folder import content_of, parsed
from lab.analysis.page.sections import warning_section
from lab.analysis.suite import background, sections
from lab.analysis.suite.folder import read_suite
from lab.analysis.suite.tables import suite_csv, suite_markdown
from lab.records.suite import SuiteResult

HERE = Path(__file__).parent


def write_suite_report(folder: Path) -> Path:
    """The file `report.html` in the suite's folder, with `suite.csv` and `suite.md`, drawn from that folder alone.

    Raises:
        ProfileError: The folder is not a suite's, or it has not been analysed.
    """
    result = parsed(SuiteResult, content_of(folder / "suite.json", "an analysed suite"), str(folder / "suite.json"))
    (folder / "suite.csv").write_text(suite_csv(read_suite(folder)), "utf-8")
    (folder / "suite.md").write_text(suite_markdown(result), "utf-8")
    path = folder / "report.html"
    path.write_text(suite_report(folder, result), "utf-8")
    return path


def suite_report(folder: Path, result: SuiteResult) -> str:
    """The page."""
    plan = result.plan
    began = datetime.fromtimestamp(plan.started_s, UTC)
    style = (HERE.parent / "page" / "report.css").read_text("utf-8") + (HERE / "suite.css").read_text("utf-8")
    return Template((HERE / "suite.html.template").read_text("utf-8")).substitute(
        title=escape(f"{plan.suite}: {result.repeats}"),
        style=style + sections.switch_rules(result),
        heading=escape(plan.suite),
        question=escape(plan.question),
        answer=sections.answer(result),
        check=sections.check(result),
        metrics=sections.metrics(result),
        conclusions=sections.conclusions(result),
        warnings=warning_section(result.warnings),
        limits=background.limits(result),
        published=background.published(result),
        runs=background.runs(folder, result),
        environment=background.environment(result),
        reproduce=background.reproduce(result),
        glossary=background.glossary(result),
        footer=escape(
            f"Suite {plan.suite_id}, begun {began:%Y-%m-%d %H:%M} UTC. All figures are in suite.json, one line for each"
            " run and metric in suite.csv."
        ),
    )
