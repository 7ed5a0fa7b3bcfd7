"""The report of a suite: one HTML file that needs nothing else; a table and a summary for other tools beside it."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from lab.analysis.folder import content_of, parsed
from lab.analysis.suite.comparisons import differs_from_itself
from lab.analysis.suite.figures import primary_metrics
from lab.analysis.suite.folder import SuiteRecords, last_attempts, planned_runs, read_suite
from lab.analysis.suite.names import (
    SUITE_TERMS,
    common_prefix,
    limit_text,
    metric_label,
    short_name,
    suite_title,
)
from lab.analysis.suite.summary import shows
from lab.analysis.suite.tables import suite_csv, suite_markdown
from lab.files import write_whole
from lab.records.marks import marks_text
from lab.records.suite import SuiteResult


def write_suite_report(folder: Path) -> Path:
    """The file `report.html` in the suite's folder, with `suite.csv` and `suite.md`, drawn from that folder alone.

    Raises:
        ProfileError: The folder is not a suite's, or it has not been analysed.
    """
    result = parsed(SuiteResult, content_of(folder / "suite.json", "an analysed suite"), str(folder / "suite.json"))
    suite = read_suite(folder)
    texts = {
        "suite.csv": suite_csv(suite),
        "suite.md": suite_markdown(result),
        "report.html": suite_report(suite, result),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)
    return folder / "report.html"


def suite_report(suite: SuiteRecords, result: SuiteResult) -> str:
    """The page."""
    # To import Altair and Jinja2 takes half a second, which commands that draw nothing are spared.
    from lab.analysis.report_page.templates import PAGES, terms_in  # noqa: PLC0415
    from lab.analysis.suite import sections  # noqa: PLC0415
    from lab.analysis.suite.recall import recall_charts  # noqa: PLC0415

    plan, folder = result.plan, suite.path
    # CPU of servers elsewhere is not known: then the rate is what was compared.
    primary = primary_metrics(plan)
    metric = next((each for each in primary if sections.difference_counts(result, each)[1]), plan.metrics[0])
    differences, compared = sections.difference_counts(result, metric)
    began = datetime.fromtimestamp(plan.started_s, UTC)
    page = partial(
        PAGES.get_template("suite/suite.html").render,
        title=f"{suite_title(plan, result.figures)}: {result.repeats}",
        heading=suite_title(plan, result.figures),
        question=plan.question,
        marks=marks_text(plan.labels, plan.note),
        plan=plan,
        limit=limit_text(plan),
        result=result,
        check_failed=bool(differs_from_itself(plan, result.effects, [metric])),
        differences=differences,
        shown=shows(differences, compared).removeprefix(f"{differences} of {compared} "),
        compared=compared,
        metric=metric_label(metric),
        progress=f"{len(last_attempts(result.runs))} of {len(planned_runs(plan))} planned runs have ended",
        check=sections.check_table(result),
        crossings=sections.crossings(result),
        recalls=recall_charts(result),
        vector_indices=list(sections.vector_indices(folder, result)),
        groups=sections.switch(result),
        limits=list(sections.limit_rows(result)),
        published=list(sections.published_rows(result)),
        published_in=sections.document_of(result.published[0].source) if result.published else "",
        runs=list(sections.variant_runs(folder, result)),
        variants=list(sections.variant_rows(plan)),
        order="\n".join(
            f"block {block}: {'  '.join(short_name(plan, name) for name in names)}"
            for block, names in enumerate(plan.order, 1)
        ),
        prefix=common_prefix(plan),
        footer=f"Suite {plan.suite_id}, begun {began:%Y-%m-%d %H:%M} UTC.",
    )
    return page(terms=terms_in(page(terms={}), SUITE_TERMS))
