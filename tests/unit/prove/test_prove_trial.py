"""The order of what a case does: an act meets a pipeline at work."""

from types import SimpleNamespace
from typing import Any

import pytest

from lab.prove import trial as module
from lab.prove.cases import Case
from lab.prove.judge import Finding, Judgement
from lab.prove.subject import MOST_RESTARTS
from lab.prove.trial import Trial

INDEX = "books"


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A case before servers that note, in `did`, what is done to them."""
    clock = SimpleNamespace(now_s=0.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: clock.now_s)
    monkeypatch.setattr(module.time, "sleep", lambda time_s: setattr(clock, "now_s", clock.now_s + time_s))
    bench: Any = SimpleNamespace(seed=1, say=lambda _: None, patience_s=60.0)
    run: Any = SimpleNamespace(names=SimpleNamespace(index=INDEX, topic="books"))
    did: list[str] = []
    proxy: Any = SimpleNamespace(writes=3, faults=0, holds=False)
    made: Any = Trial(bench, Case("case", "?", acts={1: lambda _: did.append("act")}), run, proxy)
    made.did, made.clock = did, clock
    stored = iter((0, 0, 7))
    made.cluster = SimpleNamespace(
        operations=lambda _: did.append("asked") or next(stored),
        put_settings=lambda _, settings: did.append(f"block {next(iter(settings.values()))}"),
    )
    made.subject = SimpleNamespace(
        has_stopped="",
        sink=SimpleNamespace(pipeline=SimpleNamespace(pulls=False)),
        configure=lambda: None,
        start=lambda: did.append("start"),
        kill=lambda: did.append(f"killed while requests wait: {proxy.holds}"),
        look=lambda: None,
    )
    made.sender = SimpleNamespace(send=lambda _: did.append("send"))
    made.claims = SimpleNamespace(deletes=False)
    return made


def test_an_act_waits_until_something_is_stored(trial: Any) -> None:
    """Else a pipeline that starts slowly would be stopped before it has begun, and lose nothing."""
    trial.load()
    assert trial.did[:7] == ["send", "start", "send", "asked", "asked", "asked", "act"]


def test_a_block_is_lifted_once_a_request_has_met_it(trial: Any) -> None:
    """Some pipelines send a request every few seconds."""
    trial.set_block("index.blocks.write", on=True)

    def look() -> None:
        trial.did.append("look")
        trial.proxy.writes += 1

    trial.subject.look = look
    trial.set_block("index.blocks.write", on=False)
    assert trial.did == ["block True", "look", "block None"]


def test_a_pipeline_is_killed_while_a_request_waits(trial: Any) -> None:
    """Records come once requests are held, so that there is one."""
    trial.waves = iter([[], []])

    def look() -> None:
        trial.did.append("look")
        trial.proxy.faults += 1

    trial.subject.look = look
    trial.kill()
    assert (trial.did, trial.proxy.holds) == (["send", "look", "killed while requests wait: True"], False)


def test_one_that_is_started_again_has_its_patience_anew(trial: Any) -> None:
    """The session of the one before it times out first, after 45 s."""
    trial.topics = SimpleNamespace(end_offsets=lambda _: {0: 9})
    trial.committed = lambda: {0: 0}
    trial.cluster.operations = lambda _: 0
    trial.judge = lambda: Judgement((Finding("stuck", 9),) if not trial.subject.has_stopped else ())
    trial.subject.stopped, trial.subject.ended = [], False

    def look() -> None:
        if trial.clock.now_s >= 50 * (len(trial.subject.stopped) + 1):
            trial.subject.stopped.append("refused")
            trial.subject.has_stopped = "refused" if len(trial.subject.stopped) > MOST_RESTARTS else ""

    trial.subject.look = look
    assert trial.wait() == Judgement()
    assert len(trial.subject.stopped) == MOST_RESTARTS + 1
