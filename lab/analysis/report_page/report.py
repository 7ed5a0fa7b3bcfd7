"""The report of a run: one HTML file that needs nothing else, not even a network."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from lab.analysis.figures.badges import COSTS, DOCUMENTS, SAMPLES, badges
from lab.analysis.figures.definitions import TERMS
from lab.analysis.figures.limits import stage_text
from lab.analysis.figures.warnings import shortfall
from lab.analysis.report_page import accounting, key_figures, sections
from lab.analysis.report_page.queries import section as query_section
from lab.analysis.report_page.queries import steps_rows
from lab.analysis.report_page.summary import load_sentence, outcome_sentence
from lab.analysis.result import RunAnalysis
from lab.analysis.text import count
from lab.files import write_whole
from lab.records.marks import marks_text
from lab.records.result import Result
from lab.records.run import Run


def write_report(analysis: RunAnalysis) -> Path:
    """The file `report.html` in the run's folder."""
    path, html = analysis.folder.path / "report.html", report(analysis)
    write_whole(path, html)
    return path


def report(analysis: RunAnalysis) -> str:
    """The page."""
    # To import Altair and Jinja2 takes half a second, which commands that draw nothing are spared.
    from lab.analysis.report_page.charts import charts  # noqa: PLC0415
    from lab.analysis.report_page.deployment import section as deployment_section  # noqa: PLC0415
    from lab.analysis.report_page.query_charts import latencies, ramp, right_answers  # noqa: PLC0415
    from lab.analysis.report_page.templates import PAGES, terms_in  # noqa: PLC0415

    folder, result = analysis.folder, analysis.result
    run = folder.run
    began = datetime.fromtimestamp(run.started_s, UTC)
    load = run.query_load
    dataset = (folder.profile or {}).get("dataset")
    ledger = run.verification.ledger
    page = partial(
        PAGES.get_template("report_page/run.html").render,
        **_answer(run, result),
        marks=marks_text(run.labels, run.note),
        profile=folder.profile,
        charts=charts(run, analysis.windows),
        ramp=run.ramp and ramp(run.ramp.steps, run.ramp.p99_bound_ms, "documents" if run.document_ramp else "queries"),
        steps=steps_rows(run.ramp.steps if run.ramp else ()),
        queries=load and query_section(run, result, load) | {"charts": [latencies(load), right_answers(load)]},
        deployment=run.deployment and deployment_section(run.deployment, result),
        run_sums=accounting.run_sums(run.documents),
        sink_sum=accounting.last_sink_sum(run, folder.samples),
        laws=accounting.law_rows(ledger),
        ledger_holds=ledger is not None and all(check.outcome == "holds" for check in ledger.checks),
        partitions_head=accounting.PARTITIONS_HEAD,
        partitions=accounting.partition_rows(run.sink_ledger),
        dead_letters=[(reason.reason, reason.first, count(reason.records)) for reason in run.verification.dead_letters],
        questions=sections.questions(run, result),
        question_verdict=sections.question_verdict,
        drivers=sections.drivers(run),
        processes_head=sections.COST_COLUMNS,
        processes=sections.processes(result),
        machine_cpu=sections.machine_cpu(result),
        index_work=sections.index_work(result),
        indices=sections.index_loads(result),
        nodes=sections.nodes(result),
        phases=sections.phases(result),
        reads_a_file=isinstance(dataset, dict) and dataset.get("name") == "file",
        footer=f"Run {run.run_id}, begun {began:%Y-%m-%d %H:%M} UTC.",
    )
    return page(terms=terms_in(page(terms={}), TERMS))


def _answer(run: Run, result: Result) -> dict[str, object]:
    """Values for the top of the page: the main figure with its verdict and badges, and the other figures."""
    hero = key_figures.hero(run, result)
    doubts = dict.fromkeys((*hero.badges, *badges(result.warnings, DOCUMENTS)))
    return {
        "title": f"{run.profile}: {result.status}",
        "heading": run.profile,
        "question": run.question,
        "run": run,
        "result": result,
        "failed": result.status == "failed",
        "behind": shortfall(result),
        "load_sentence": load_sentence(run),
        "outcome_sentence": outcome_sentence(run, result),
        "caption": key_figures.hero_caption(run, result),
        "hero": hero,
        "limiting": result.limited_by and stage_text(result.limited_by.stage, run.environment.product),
        "doubts": doubts,
        "is_doubtful": bool(doubts or run.documents.dead_lettered or run.documents.elsewhere),
        "tiles": key_figures.tiles(run, result),
        "not_measured": key_figures.not_measured(run, result),
        "touching": {
            section: badges(result.warnings, name)
            for section, name in (("costs", COSTS), ("documents", DOCUMENTS), ("samples", SAMPLES))
        },
    }
