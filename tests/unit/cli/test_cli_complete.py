"""What the shell offers while a command is typed."""

from pathlib import Path

import orjson
import pytest

from lab.cli.app import main
from lab.stack.local import LocalStack

SPEC = {
    "kind": "kafka",
    "name": "kafka",
    "version": "4.3.1",
    "java_version": "17",
    "command": [],
    "ports": {},
    "shape": "",
}


def offered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str) -> list[str]:
    """What bash is told for the last word of a line."""
    monkeypatch.setenv("_SLUICE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split(" ")) - 1))
    monkeypatch.setattr("sys.argv", ["sluice"])
    with pytest.raises(SystemExit):
        main()
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("sluice ru", ["run", "runs"]),
        ("sluice run quick", ["quickstart"]),
        ("sluice show aladin/primaries-1", ["aladin/primaries-16"]),
        ("sluice suite a-", ["a-a"]),
        ("sluice run quickstart --set load.ra", ["load.ramp.factor=", "load.ramp.p99_ms=", "load.ramp.step_s="]),
        ("sluice run quickstart --set index.number_of_rep", ["index.number_of_replicas="]),
        ("sluice run quickstart --elasticsearch-", []),
    ],
)
def test_names_and_keys_are_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, expected: list[str]
) -> None:
    """Those that begin as what is typed."""
    found = offered(monkeypatch, capsys, typed)
    assert [name for name in found if name != "load.rate_docs_per_s="] == expected


def test_runs_are_offered_by_profile_and_id(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Those below the working directory; the runs of a suite are not."""
    for run in ("quickstart/20260101-000001", "aladin/flat/20260101-000002", "suites/s/1/runs/v/20260101-000003"):
        (tmp_path / "runs" / run).mkdir(parents=True)
        (tmp_path / "runs" / run / "run.json").touch()
    monkeypatch.chdir(tmp_path)
    found = offered(monkeypatch, capsys, "sluice report ")
    assert found == ["latest", "aladin/flat", "20260101-000002", "quickstart", "20260101-000001"]
    assert offered(monkeypatch, capsys, "sluice dead-letters show q") == ["quickstart"]


def test_servers_are_offered_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Those that are written down, running or not; none where there are none."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    assert offered(monkeypatch, capsys, "sluice logs ") == []
    entry = {"pid": 7, "process_started_s": 0.0, "spec": {**SPEC, "log_file": str(tmp_path / "log")}}
    LocalStack().state_file.write_bytes(orjson.dumps({"kept": True, "owner_pid": 7, "servers": [entry]}))
    assert offered(monkeypatch, capsys, "sluice logs ka") == ["kafka"]
