"""Two runs at the same time, on two sets of servers."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from lab.clients.target import Target
from lab.endpoints import Endpoints
from lab.errors import AbortError, SluiceError, StackError
from lab.records.result import Result
from lab.records.run import PhaseName
from lab.records.suite import Variant
from lab.run.folder import RunFolder
from lab.run.phases import Gate
from lab.targets import duets
from lab.targets.duets import DuetBench, Meeting
from lab.targets.servers import VariantBench
from tests.unit.messages import MakeMessage
from tests.unit.run.displays import SilentProgress
from tests.unit.suite.test_suite_execution import a_result

STATIC, FLAT = (Variant(name=name, profile=name, fingerprint=name) for name in ("static", "flat"))
PHASES: tuple[PhaseName, ...] = ("prepare", "fill", "load", "settle", "verify")


def a_target(**pids: int) -> Target:
    """Servers with these processes."""
    endpoints = Endpoints("127.0.0.1:1", "http://127.0.0.1:1", ("http://127.0.0.1:1",), None)
    return Target("local", endpoints, process_ids=lambda: pids, servers=(), java_versions={}, fresh=False)


class Side:
    """A set of servers whose runs take as long in each phase as a test says.

    Attributes:
        error: Of the phase that fails.
        began: Phase → when it began.
    """

    def __init__(
        self, seconds: float = 1.0, *, fails_in: PhaseName | None = None, slow_in: PhaseName | None = None, **pids: int
    ) -> None:
        self.result = a_result(seconds=seconds)
        self.fails_in, self.slow_in = fails_in, slow_in
        self.error: SluiceError = StackError("the broker has ended")
        self.target = a_target(**pids)
        self.run_ids: set[str] = set()
        self.began: dict[str, float] = {}
        self.concluded_at = 0.0
        self.ended_at = 0.0

    def prepare(self, _: Variant) -> frozenset[str]:
        """One process."""
        return frozenset({str(id(self))})

    def record(self, _: Variant, __: RunFolder, *, gate: Gate, **___: Any) -> None:
        """Go through the phases."""
        for phase in PHASES:
            gate(phase)
            self.began[phase] = time.monotonic()
            self.target.check()
            if phase == self.fails_in:
                raise self.error
            time.sleep(0.2 if phase == self.slow_in else 0.0)
        self.ended_at = time.monotonic()

    def concluded(self, *_: object, **__: object) -> Result:
        """That of a run which took so long."""
        self.concluded_at = time.monotonic()
        return self.result


def outcomes_of(tmp_path: Path, *sides: Side) -> tuple[object, ...]:
    """What comes of a pair on two sets."""
    bench = DuetBench(cast("tuple[VariantBench, VariantBench]", sides))
    folders = [RunFolder.create(tmp_path, variant.name) for variant in (STATIC, FLAT)]
    return bench.run_both((STATIC, FLAT), folders, warm_up=False, display=nullcontext(SilentProgress()))


@pytest.mark.parametrize("slow_in", ["fill", "settle"])
def test_both_runs_load_and_are_read_back_at_the_same_time(tmp_path: Path, slow_in: PhaseName) -> None:
    """Whichever of them is earlier waits."""
    early, late = Side(2.0), Side(3.0, slow_in=slow_in)
    assert outcomes_of(tmp_path, early, late) == (early.result, late.result)
    phase = "load" if slow_in == "fill" else "verify"
    after: PhaseName = "fill" if slow_in == "fill" else "settle"
    assert early.began[phase] >= late.began[after] + 0.2
    assert min(early.concluded_at, late.concluded_at) >= max(early.ended_at, late.ended_at)


def test_a_run_that_fails_holds_the_other_one_up_for_no_time(tmp_path: Path) -> None:
    """Which goes on to its end alone."""
    good, bad = Side(), Side(fails_in="fill")
    outcomes = outcomes_of(tmp_path, good, bad)
    assert outcomes[0] == good.result
    assert str(outcomes[1]) == "the broker has ended"
    assert set(good.began) == set(PHASES)


def test_a_run_that_is_aborted_ends_the_other_one_too(tmp_path: Path) -> None:
    """At its next look at the servers: the suite ends, and needs neither."""
    for place in range(2):
        other, aborted = Side(slow_in="load"), Side(fails_in="load")
        aborted.error = AbortError("aborted by --abort-on lag>1")
        with pytest.raises(AbortError):
            outcomes_of(tmp_path, *((other, aborted), (aborted, other))[place])
        assert "verify" not in other.began


def test_a_run_fails_whose_other_one_never_comes(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """Alone it would load faster than in a pair."""
    monkeypatch.setattr(duets, "WAIT_S", 0.01)
    meeting = Meeting()
    with pytest.raises(StackError) as error:
        meeting.gate("load")
    assert str(error.value) == message("load", 0)


def test_a_warm_up_that_is_void_on_either_set_is_void(tmp_path: Path) -> None:
    """Its rate would say that both are warm."""
    good, bad = Side(), Side()
    bad.result = a_result(verified=False)
    for sides in ((good, bad), (bad, good)):
        bench = DuetBench(cast("tuple[VariantBench, VariantBench]", sides))
        folder = RunFolder.create(tmp_path, "static")
        assert bench.run(STATIC, folder, warm_up=True, short=True, display=nullcontext(SilentProgress())) == bad.result


def test_a_run_knows_the_servers_of_the_other_one(tmp_path: Path) -> None:
    """What these use is no other program's."""
    sides = Side(kafka=41), Side(kafka=42)
    outcomes_of(tmp_path, *sides)
    assert [list(side.target.beside_ids()) for side in sides] == [[42], [41]]


def test_an_interrupt_ends_both_runs() -> None:
    """At their next look at the servers, even while they wait for each other."""
    meeting, ended = Meeting(), []
    target = meeting.watched(a_target(), a_target())

    def waiting() -> None:
        meeting.gate("load")
        try:
            target.check()
        except StackError as error:
            ended.append(str(error))

    with ThreadPoolExecutor() as pool:
        under_way = pool.submit(waiting)
        threading.Event().wait(0.05)
        meeting.cancel()
        under_way.result(timeout=5)
    assert ended == ["interrupted"]


def test_a_warm_up_runs_on_both_sets(tmp_path: Path) -> None:
    """And fails if either does."""
    folder = RunFolder.create(tmp_path, "static")
    sides = Side(), Side()
    bench = DuetBench(cast("tuple[VariantBench, VariantBench]", sides))
    assert bench.run(STATIC, folder, warm_up=True, short=True, display=nullcontext(SilentProgress())) == sides[0].result
    assert all(set(side.began) == set(PHASES) for side in sides)
    with pytest.raises(StackError, match="the broker has ended"):
        DuetBench(cast("tuple[VariantBench, VariantBench]", (Side(), Side(fails_in="load")))).run(
            STATIC,
            RunFolder.create(tmp_path, "static"),
            warm_up=True,
            short=True,
            display=nullcontext(SilentProgress()),
        )
