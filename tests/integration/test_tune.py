"""A tune on the real servers: searched, confirmed, and what it recommends is a profile."""

import pytest

from lab.cli.app import main
from lab.profiles import load_profile
from lab.records.tune import TuneResult
from lab.tune.folder import find_tune
from tests.integration.conftest import Sluice

SPACE = """
question: Which of two settings makes small drains faster?
knobs:
  sink.tasks:
    values: [2]
    requires: {topic.partitions: "${value}"}
  index.refresh_interval:
    values: [30s]
"""
START = ("quickstart", "--set", "dataset.documents=2003", "--seed", "3")


def test_a_tune_goes_from_candidates_to_a_profile(
    sluice: Sluice,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Two knobs of two values each; whatever it recommends has been confirmed, or is the start. It has a page."""
    space = tmp_path_factory.mktemp("space") / "two.yaml"
    space.write_text(SPACE)
    # Drains of an instant: the estimates of a plan are for those of seconds. They have a cost, and no rate.
    monkeypatch.setattr("lab.tune.plan.RUN_BASE_S", 1.0)
    monkeypatch.setattr("lab.tune.plan.BETWEEN_S", 0.5)
    monkeypatch.setattr("lab.tune.plan.WINDOW_S", 0.1)
    monkeypatch.setattr("lab.suite.execution.LEAST_DRAIN_S", 0.1)
    # Drains of an instant never have alike rates, and each takes some seconds around it.
    monkeypatch.setattr("lab.suite.execution.MOST_WARM_UPS", 2)
    for name, value in sluice.environment.items():
        monkeypatch.setenv(name, value)
    words = (
        "tune",
        *START,
        "--goal",
        "cpu",
        "--space",
        str(space),
        "--minutes",
        "1.5",
        "--runs",
        str(sluice.runs),
        "--page",
    )
    monkeypatch.setattr("sys.argv", ["sluice", *words])

    assert main() == 0

    assert "page: http://127.0.0.1:" in capsys.readouterr().out
    folder = find_tune(sluice.runs, "quickstart").path
    result = TuneResult.model_validate_json((folder / "tune.json").read_bytes())
    assert result.complete
    assert {name for each in result.tried for name in each.combination} >= {"tasks=2", "refresh_interval=30s"}
    assert all(effect.ratio for each in result.tried for effect in each.effects if effect.metric == "store_size_bytes")
    best = load_profile(str(folder / "best.yaml"))
    assert (best.sink.tasks == 2) is ("tasks=2" in result.recommended)
    assert best.dataset.documents == 2003
    assert (folder / "report.html").is_file()
    assert (folder / "index.json").is_file()
    done = sluice("report", "tunes/quickstart", "--runs", str(sluice.runs))
    assert (done.status, result.headline.split(":")[0] in done.output) == (0, True)
