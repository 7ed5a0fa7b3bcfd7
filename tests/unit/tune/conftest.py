"""A tune that is over, and one that has not begun."""

from pathlib import Path

import pytest

from lab.analysis.tune.paste import write_recommended
from lab.analysis.tune.report import write_tune_report
from lab.analysis.tune.result import analyse_tune
from lab.profiles.spaces import Start
from lab.records.tune import TunePlan, TuneResult
from lab.tune.folder import TuneFolder
from tests.unit.tune.benches import GAINS, OVERRIDES, Bench, a_plan, execution


@pytest.fixture
def start() -> Start:
    """Nested books."""
    return Start.of("quickstart", OVERRIDES)


@pytest.fixture
def plan(tmp_path: Path, start: Start) -> TunePlan:
    """Three candidates, 20 minutes."""
    return a_plan(tmp_path, start)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TuneResult, Bench]:
    """A tune that has come to its end: two settings gain, one loses."""
    path = tmp_path_factory.mktemp("tune")
    begun = Start.of("quickstart", OVERRIDES)
    folder, bench = TuneFolder.begin(path, a_plan(path, begun)), Bench(GAINS)
    execution(folder, begun, bench).execute()
    result = analyse_tune(folder.path, ended=True)
    write_recommended(folder.path, result)
    write_tune_report(folder.path)
    return folder.path, result, bench


@pytest.fixture
def no_stage_reports(finished: object, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - that one has them
    """To draw them takes longer than all else."""
    monkeypatch.setattr("lab.tune.execution.write_suite_report", lambda _: None)
