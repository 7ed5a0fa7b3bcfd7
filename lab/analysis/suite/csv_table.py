"""A suite as a table for spreadsheets and statistics programs: one row for each run and metric."""

import csv
import io

from lab.analysis.suite.figures import compared_metrics, unit_of, value_asked
from lab.analysis.suite.folder import SuiteFolder
from lab.records.suite import SuiteRun

COLUMNS = (
    "suite_id",
    "block",
    "variant",
    "against",
    "attempt",
    "status",
    "warm_up",
    "counted",
    "started_s",
    "ended_s",
    "folder",
    "metric",
    "scope",
    "unit",
    "value",
)


def suite_csv(folder: SuiteFolder) -> str:
    """The rows, in the order in which the runs ended; `value` is empty for a run that does not count."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in folder.runs:
        writer.writerows(_rows(folder, run))
    return text.getvalue()


def _rows(folder: SuiteFolder, run: SuiteRun) -> list[tuple[object, ...]]:
    counted = folder.counted.get((run.block, run.variant))
    result = counted.result if counted is not None and counted.run == run else None
    against = next((variant.against for variant in folder.plan.variants if variant.name == run.variant), None)
    about = (folder.plan.suite_id, run.block, run.variant, against, run.attempt, run.status)
    times = (str(run.warm_up).lower(), str(result is not None).lower(), run.started_s, run.ended_s, run.folder)
    return [
        (
            *about,
            *times,
            asked.name,
            asked.scope,
            unit_of([result] if result else [], asked),
            value_asked(result.metrics, asked) if result else None,
        )
        for asked in compared_metrics(folder.plan)
    ]
