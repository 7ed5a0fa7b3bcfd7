"""The report of a run: one HTML file that needs nothing else, not even a network."""

from datetime import UTC, datetime
from html import escape
from pathlib import Path
from string import Template

from lab.analysis.figures.windows import windows
from lab.analysis.folder import RunFolder, read_run
from lab.analysis.page import answers, ledger, sections
from lab.analysis.page.charts import charts
from lab.analysis.result import result_of
from lab.records import Result

HERE = Path(__file__).parent


def write_report(run_dir: Path) -> Path:
    """The file `report.html` in the run's folder, drawn from that folder alone.

    Raises:
        ProfileError: The folder is not a run's.
    """
    folder = read_run(run_dir)
    path = run_dir / "report.html"
    path.write_text(report(folder, result_of(folder)), "utf-8")
    return path


def report(folder: RunFolder, result: Result) -> str:
    """The page."""
    run = folder.run
    began = datetime.fromtimestamp(run.started_s, UTC)
    template = Template((HERE / "report.html.template").read_text("utf-8"))
    return template.substitute(
        title=escape(f"{run.profile}: {result.status}"),
        style=(HERE / "report.css").read_text("utf-8"),
        heading=escape(run.profile),
        question=escape(run.question),
        answer=sections.answer(folder, result),
        tiles=sections.tiles(folder, result),
        limit=sections.limit(result),
        warnings=sections.warnings(result),
        charts=sections.charts(charts(run, windows(folder.samples, run.verification.expect)), result),
        books=sections.books(folder) + ledger.section(run),
        dead_letters=sections.dead_letters(folder),
        questions=answers.section(run),
        cost=sections.cost(result),
        phases=sections.phases(result),
        environment=sections.environment(folder),
        reproduce=sections.reproduce(folder),
        glossary=sections.glossary(),
        footer=escape(f"Run {run.run_id}, begun {began:%Y-%m-%d %H:%M} UTC. All figures are in result.json beside it."),
    )
