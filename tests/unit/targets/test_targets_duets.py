"""Two runs at the same time, on two sets of servers."""

import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from lab.clients.target import Target
from lab.endpoints import Endpoints
from lab.errors import AbortError, SluiceError, StackError
from lab.records.result import Result
from lab.records.run import PhaseName
from lab.records.suite import Variant
from lab.run.abort import Condition
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
        calls: What it was told, in order.
    """

    def __init__(
        self, seconds: float = 1.0, *, fails_in: PhaseName | None = None, slow_in: PhaseName | None = None, **pids: int
    ) -> None:
        self.result = a_result(seconds=seconds)
        self.fails_in, self.slow_in = fails_in, slow_in
        self.error: SluiceError = StackError("the broker has ended")
        self.target = a_target(**pids)
        self.run_ids: set[str] = set()
        self.abort_on: Sequence[Condition] = ()
        self.calls: list[tuple[object, ...]] = []
        self.began: dict[str, float] = {}
        self.concluded_at = 0.0
        self.ended_at = 0.0

    def prepare(self, variant: Variant) -> frozenset[str]:
        """One process."""
        self.calls.append(("prepare", variant.name))
        return frozenset({str(id(self))})

    def replace(self, *words: object) -> None:
        """Take note of other profiles."""
        self.calls.append(("replace", *words))

    def restart(self) -> None:
        """Take note of a stop."""
        self.calls.append(("restart", time.monotonic()))

    def change_part(self, *words: object) -> None:
        """Take note of another part."""
        self.calls.append(("change_part", *words))

    def record(self, variant: Variant, _: RunFolder, *, warm_up: bool, short: bool, gate: Gate, **__: Any) -> None:
        """Go through the phases."""
        self.calls.append(("record", variant.name, warm_up, short))
        for phase in PHASES:
            gate(phase)
            self.began[phase] = time.monotonic()
            self.target.check()
            if phase == self.fails_in:
                raise self.error
            time.sleep(0.2 if phase == self.slow_in else 0.0)
        self.ended_at = time.monotonic()

    def concluded(self, variant: Variant, _: RunFolder, *, short: bool) -> Result:
        """That of a run which took so long."""
        self.calls.append(("concluded", variant.name, short))
        self.concluded_at = time.monotonic()
        return self.result


def bench_of(*sides: Side) -> DuetBench:
    """Both sets of servers."""
    return DuetBench(cast("tuple[VariantBench, VariantBench]", sides))


def outcomes_of(tmp_path: Path, *sides: Side) -> tuple[object, ...]:
    """What comes of a pair on two sets."""
    bench = bench_of(*sides)
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
        bench = bench_of(*sides)
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
    bench = bench_of(*sides)
    assert bench.run(STATIC, folder, warm_up=True, short=True, display=nullcontext(SilentProgress())) == sides[0].result
    assert all(set(side.began) == set(PHASES) for side in sides)
    with pytest.raises(StackError, match="the broker has ended"):
        bench_of(Side(), Side(fails_in="load")).run(
            STATIC,
            RunFolder.create(tmp_path, "static"),
            warm_up=True,
            short=True,
            display=nullcontext(SilentProgress()),
        )


@pytest.mark.parametrize("warm_up", [True, False])
def test_both_sets_run_the_same_variant_in_the_same_way(tmp_path: Path, *, warm_up: bool) -> None:
    """Prepared, recorded and concluded; a short run stays one."""
    sides = Side(), Side()
    folder = RunFolder.create(tmp_path, "static")
    bench_of(*sides).run(STATIC, folder, warm_up=warm_up, short=not warm_up, display=nullcontext(SilentProgress()))
    told = [("prepare", "static"), ("record", "static", warm_up, not warm_up), ("concluded", "static", not warm_up)]
    assert [side.calls for side in sides] == [told, told]


def test_a_pair_of_two_variants_is_counted_in_full(tmp_path: Path) -> None:
    """Each on its own set, and none of them is short."""
    sides = Side(), Side()
    outcomes_of(tmp_path, *sides)
    for side, name in zip(sides, ("static", "flat"), strict=True):
        assert side.calls == [("prepare", name), ("record", name, False, False), ("concluded", name, False)]


def test_what_a_suite_asks_of_its_servers_reaches_both_sets() -> None:
    """The second set stops first: the first one has what outlives a suite."""
    sides = Side(), Side()
    bench = bench_of(*sides)
    assert bench.prepare(STATIC) == {str(id(side)) for side in sides}
    bench.replace({}, {})
    bench.change_part("one node", "two nodes")
    bench.restart()
    assert [[call[0] for call in side.calls] for side in sides] == [
        ["prepare", "replace", "change_part", "restart"]
    ] * 2
    assert [side.calls[1:3] for side in sides] == [[("replace", {}, {}), ("change_part", "one node", "two nodes")]] * 2
    stopped = [cast("float", side.calls[-1][1]) for side in sides]
    assert stopped[1] < stopped[0]


def test_runs_of_either_set_are_runs_of_the_suite(tmp_path: Path) -> None:
    """Their ids are in one set, and the suite's conditions hold on both."""
    sides = Side(), Side()
    bench = bench_of(*sides)
    condition = Condition("lag > 1", "lag_records_max", ">", 1.0)
    bench.abort_on = (condition,)
    bench.run_ids.add("1")
    folders = [RunFolder.create(tmp_path, variant.name) for variant in (STATIC, FLAT)]
    bench.run_both((STATIC, FLAT), folders, warm_up=False, display=nullcontext(SilentProgress()))
    assert [side.run_ids for side in sides] == [{"1"}, {"1"}]
    assert [side.abort_on for side in sides] == [(condition,), (condition,)]


def test_a_phase_that_disturbs_nobody_is_not_waited_for() -> None:
    """One run may prepare while the other one still reads back."""
    meeting = Meeting()
    with ThreadPoolExecutor() as pool:
        pool.submit(meeting.gate, "settle").result(timeout=5)


def test_the_check_of_a_run_is_that_of_its_servers() -> None:
    """Until the pair is interrupted."""
    target = replace(a_target(), check=lambda: "elasticsearch has ended")
    assert Meeting().watched(target, a_target()).check() == "elasticsearch has ended"


class Endless(Side):
    """A run that loads until it is ended; the one that is given a thread interrupts it first."""

    def __init__(self, interrupted: int | None = None) -> None:
        super().__init__()
        self.interrupted = interrupted

    def record(self, *_: object, gate: Gate, **__: Any) -> None:
        """Load, and look at the servers."""
        gate("load")
        if self.interrupted:
            signal.pthread_kill(self.interrupted, signal.SIGINT)
        while True:
            self.target.check()
            time.sleep(0.01)


def test_an_interrupt_while_both_run_reaches_both(tmp_path: Path) -> None:
    """Ctrl-C comes to the main thread, which waits for the runs: they end at their next look at the servers."""
    # A shell's background job has Ctrl-C ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            outcomes_of(tmp_path, Endless(threading.get_ident()), Endless())
    finally:
        signal.signal(signal.SIGINT, before)
