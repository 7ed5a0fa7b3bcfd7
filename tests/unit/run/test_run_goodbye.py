"""How a run ends: its record is written first, and no failure of the goodbye costs what was measured."""

import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.clients.target import Target
from lab.errors import ProfileError, StackError
from lab.profiles import load_profile
from lab.records.run import Run
from lab.run import runner
from lab.run.folder import RunFolder
from lab.run.phases import RunRequest
from lab.stack.server import uninterrupted
from tests.unit.analysis.synthetic import Truth, run
from tests.unit.messages import MakeMessage
from tests.unit.run.contexts import Recorder, context_of
from tests.unit.run.displays import SilentProgress


class Server:
    """A client of a server that is asked to forget a run.

    Attributes:
        calls: What it was asked for, in order.
        failing: What it raises, by method.
        unanswered: As `ConnectWorker` has it.
    """

    unanswered: str | None = None

    def __init__(self, calls: list[str], failing: dict[str, BaseException]) -> None:
        self.calls = calls
        self.failing = failing

    def delete(self, _connector: str, *, made_within_s: float) -> None:
        """The user presses Ctrl-C once more while the connector is removed."""
        signal.raise_signal(signal.SIGINT)
        self._do(f"delete, made within {made_within_s:g} s" if made_within_s else "delete")

    def own_cluster_settings(self, _settings: dict[str, None]) -> None:
        """Take settings back."""
        self._do("reset")

    def close(self) -> None:
        """Close the connection."""
        self._do("close")

    def _do(self, what: str) -> None:
        self.calls.append(what)
        if what in self.failing:
            raise self.failing[what]


SETTING = "elasticsearch.cluster_settings={indices.recovery.max_bytes_per_sec: 7mb}"


def ended_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, outcome: Run | BaseException, **failing: BaseException
) -> list[str]:
    """Run a profile whose phases end so, on servers that fail so; what the servers were asked for."""
    calls: list[str] = []
    for client in ("cluster_of", "worker_of", "topics_of"):
        monkeypatch.setattr(runner, client, lambda *_, **__: Server(calls, failing))

    def make(_run: object) -> Run:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(runner._RunUnderWay, "make", make)
    target = cast(
        "Target", SimpleNamespace(child_environment={}, access=None, endpoints=None, check=str, cluster_settings={})
    )
    profile = load_profile("quickstart", overrides=[SETTING])
    try:
        request = RunRequest(profile, cast("Any", None), target, RunFolder(folder, "1"), folder)
        runner.run_profile(request, SilentProgress())
    except KeyboardInterrupt:
        pytest.fail("the second Ctrl-C got through")
    finally:
        (folder / "calls").write_text(" ".join(calls))
    return calls


@pytest.mark.parametrize("error", [ProfileError("refused"), StackError("gone")])
def test_a_second_ctrl_c_or_a_server_that_refuses_costs_no_finished_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The record is there, and every connection is closed."""
    calls = ended_run(tmp_path, monkeypatch, run(Truth()), delete=error, reset=error)
    assert calls == ["delete", "reset", "close", "close", "close", "close"]
    assert Run.model_validate_json((tmp_path / "run.json").read_bytes()) == run(Truth())


def test_one_connection_that_cannot_be_closed_leaves_none_of_the_others_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure is seen, after all four."""
    with pytest.raises(OSError, match="no socket"):
        ended_run(tmp_path, monkeypatch, run(Truth()), close=OSError("no socket"))
    assert (tmp_path / "calls").read_text() == "delete reset close close close close"
    assert (tmp_path / "run.json").is_file()


def test_what_ended_a_run_is_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that the settings could not be taken back from a server that is gone; there is no record."""
    with pytest.raises(StackError, match="kafka has ended"):
        ended_run(tmp_path, monkeypatch, StackError("kafka has ended"), reset=ProfileError("refused"))
    assert not (tmp_path / "run.json").exists()


def test_a_connector_whose_creation_was_not_answered_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C came while the worker was making it: it would run on, and no run of others could begin."""
    monkeypatch.setattr(Server, "unanswered", "sluice-quickstart-1")

    calls = ended_run(tmp_path, monkeypatch, run(Truth()))

    assert f"delete, made within {runner.CLEANUP_TIMEOUT_S:g} s" in calls


@pytest.mark.parametrize(
    ("deployed", "failing", "removed", "is_well"),
    [
        (False, {}, ["books"], True),
        (True, {}, [], True),
        (False, {"reset": StackError("gone")}, [], False),
    ],
    ids=["cut before the deployment ended", "deployed", "servers are gone"],
)
def test_what_a_run_has_set_is_taken_back_or_left_to_its_guard(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failing: dict[str, BaseException],
    removed: list[str],
    *,
    deployed: bool,
    is_well: bool,
) -> None:
    """A deployment that has ended has removed its repository itself. What even the guard leaves is said."""
    for client in ("cluster_of", "worker_of", "topics_of"):
        monkeypatch.setattr(runner, client, lambda *_, **__: Server([], failing))
    repositories: list[str] = []
    monkeypatch.setattr(runner, "remove_repository", lambda _, repository: repositories.append(repository))
    context = context_of(tmp_path, "quickstart", SETTING)
    begun: list[str] = []
    progress = Recorder([], "", begin=lambda _, what, __: begun.append(what))
    run = runner._RunUnderWay(replace(context, progress=cast("Any", progress)), sleep=lambda _: None)
    told: list[bool] = []
    run.guard = cast("Any", Recorder([], "", close=lambda *, all_is_well: told.append(all_is_well) or all_is_well))
    run.guard.__dict__["repository"] = "books"
    run.deployment = cast("Any", "deployed" if deployed else None)
    run.close()
    assert (repositories, told, len(begun)) == (removed, [is_well], 0 if is_well else 1)


def test_a_handler_that_was_not_set_from_python_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be put back; the others are."""
    before = signal.getsignal(signal.SIGINT)
    of_python = signal.getsignal
    monkeypatch.setattr(signal, "getsignal", lambda number: None if number == signal.SIGHUP else of_python(number))
    touched: list[int] = []
    set_handler = signal.signal

    def touch(number: int, handler: Any) -> Any:
        touched.append(number)
        return set_handler(number, handler)

    monkeypatch.setattr(signal, "signal", touch)
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
    assert set(touched) == {signal.SIGINT, signal.SIGTERM}
    assert of_python(signal.SIGINT) is before


def test_what_cannot_be_stopped_does_not_hide_why_the_run_ends(message: MakeMessage) -> None:
    """A suite would begin its next run after a StackError, and an interrupted one must not."""
    told: list[str] = []
    progress = SimpleNamespace(begin=lambda _phase, what, _total: told.append(what))

    def stop() -> None:
        raise StackError("sink.pipeline: copy: port closed")

    under_way = SimpleNamespace(load=SimpleNamespace(stop=stop), run=SimpleNamespace(progress=progress))
    runner._RunUnderWay.stop_load(cast("Any", under_way))
    assert told == [message("sink.pipeline")]
