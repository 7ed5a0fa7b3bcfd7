"""The outcome of a run for programs."""

import json
from pathlib import Path

from lab.analysis.figures.limits import limited_by
from lab.analysis.figures.metrics import metrics
from lab.analysis.figures.warnings import warnings
from lab.analysis.figures.windows import windows
from lab.analysis.folder import RunFolder, read_run
from lab.records import Result


def analyse(run_dir: Path) -> Result:
    """The result of a run, made from its folder alone and written there as `result.json`.

    Raises:
        ProfileError: The folder is not a run's.
    """
    result = result_of(read_run(run_dir))
    text = json.dumps(result.model_dump(mode="json"), ensure_ascii=False, indent=2)
    (run_dir / "result.json").write_text(text + "\n", "utf-8")
    return result


def result_of(folder: RunFolder) -> Result:
    """The result of a run."""
    run = folder.run
    cut = windows(folder.samples, run.verification.expect)
    limit = limited_by(run, cut.window)
    return Result(
        run_id=run.run_id,
        profile=run.profile,
        question=run.question,
        status="verified" if run.verification.verified else "failed",
        started_s=run.started_s,
        ended_s=run.ended_s,
        content_hash=run.content_hash,
        phases=run.phases,
        measured_window=cut.measured,
        documents=run.documents,
        verification=run.verification,
        sink_ledger=run.sink_ledger,
        metrics=metrics(run, cut),
        environment=run.environment,
        warnings=warnings(run, cut, limit),
        limited_by=limit,
    )
