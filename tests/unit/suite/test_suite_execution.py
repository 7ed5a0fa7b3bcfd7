"""A suite under way: order, warm-up, repetition of failed runs, resumption."""

import itertools
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from lab.analysis.suite.folder import last_attempts, runs_left
from lab.errors import ProfileError, StackError
from lab.records.result import Metric, Result
from lab.records.run import Phase
from lab.records.suite import MetricKey, SuitePlan, SuiteRun, Variant
from lab.records.verification import Documents, Verification
from lab.run.folder import RunFolder
from lab.suite.execution import LEAST_REPEATED, SuiteExecution
from lab.suite.folder import SuiteFolder, find_suite
from tests.unit.messages import MakeMessage, Naming

NAMES = ("control", "static", "flat")
STEADY = (7.0, 11.0, 13.0, 13.0)


def a_plan(*, repeats: int = 2, names: Sequence[str] = NAMES) -> SuitePlan:
    """A plan of `repeats` blocks in which the variants stand in their own order."""
    return SuitePlan(
        suite="ladder",
        suite_id="1",
        question="Which one?",
        started_s=0,
        seed=1,
        repeats=repeats,
        control=names[0],
        repetition=None,
        variants=tuple(Variant(name=name, profile=f"aladin/{name}", fingerprint=name) for name in names),
        order=tuple(tuple(names) for _ in range(repeats)),
        metrics=(MetricKey(name="indexing_rate_docs_per_s", scope="primaries"),),
    )


def a_result(
    *, verified: bool = True, seconds: float = 1.0, steal_percent: float = 0.0, documents: int = 1009
) -> Result:
    """A result whose load took so long."""
    stolen = Metric(name="machine_steal_percent_mean", scope="run", unit="%", value=steal_percent)
    problems = () if verified else ("3 documents are missing",)
    counts = dict.fromkeys(Documents.model_fields, 0) | {"produced": documents}
    return Result.model_construct(
        status="verified" if verified else "failed",
        phases=(Phase(name="load", started_s=0, ended_s=seconds),),
        measured_window=None,
        documents=Documents(**counts),
        verification=Verification(verified=verified, problems=problems),
        metrics=(stolen,),
    )


class Bench:
    """Servers that do as a test says.

    Attributes:
        outcomes: Of the counted runs in turn; verified when there are no more.
        processes: Of the servers at present.
    """

    def __init__(self, outcomes: Sequence[Result | BaseException] = (), warm_up_s: Sequence[float] = (1.0,)) -> None:
        self.outcomes = list(outcomes)
        self.warm_up_s = list(warm_up_s)
        self.processes = frozenset({1, 2})
        self.ran: list[tuple[str, bool]] = []
        self.short: list[str] = []
        self.restarts: list[int] = []
        self.changes: list[tuple[str, str, int]] = []
        self.run_ids: set[str] = set()

    def prepare(self, variant: Variant) -> frozenset[Hashable]:  # noqa: ARG002 - as a bench has it
        """The servers as they are."""
        return frozenset(("elasticsearch", pid) for pid in self.processes)

    def restart(self) -> None:
        """Other servers from here on."""
        self.restarts.append(len(self.counted))
        self.processes = frozenset(pid + 100 for pid in self.processes)

    def change_part(self, before: str, after: str) -> None:
        """The same servers are what the next part needs."""
        self.changes.append((before, after, len(self.counted)))

    def replace(self, *_: object) -> None:
        """The same, whatever they load."""

    def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool, short: bool, **_: object) -> Result:  # noqa: ARG002 - as a bench has it
        """The next outcome."""
        self.ran.append((variant.name, warm_up))
        self.short += [variant.name] if short else []
        if warm_up:
            return a_result(seconds=self.warm_up_s.pop(0) if len(self.warm_up_s) > 1 else self.warm_up_s[0])
        outcome = self.outcomes.pop(0) if self.outcomes else a_result()
        if isinstance(outcome, BaseException):
            self.processes = frozenset(pid + 10 for pid in self.processes)
            raise outcome
        return outcome

    @property
    def counted(self) -> list[str]:
        """Variants of the runs that were no warm-up."""
        return [name for name, warm_up in self.ran if not warm_up]

    @property
    def warm_ups(self) -> int:
        """Runs that were."""
        return sum(warm_up for _, warm_up in self.ran)


class Silent:
    """Shows nothing."""

    def begins(self, what: str, variant: Variant, done: int, total: int) -> None:
        """Show nothing."""

    def of_run(self) -> AbstractContextManager[None]:
        """Show nothing."""
        return nullcontext()

    def ended(self, run: SuiteRun, result: Result | None) -> None:
        """Show nothing."""

    def narrowed(self, folder: Path) -> None:
        """Show nothing."""

    def warned(self, text: str) -> None:
        """Show nothing."""


@pytest.fixture
def folder(tmp_path: Path) -> SuiteFolder:
    """A folder with a plan of two blocks."""
    return SuiteFolder.begin(tmp_path, a_plan())


def suite(folder: SuiteFolder, bench: Bench) -> SuiteExecution:
    """The suite of the folder, warm after two equal warm-up drains."""
    return SuiteExecution(folder, bench, Silent(), is_warm=lambda rates: len(rates) > 1 and rates[-1] == rates[-2])


def test_a_suite_runs_its_plan_in_order(folder: SuiteFolder) -> None:
    """And writes each run down."""
    bench = Bench()
    suite(folder, bench).execute()
    assert list(NAMES) * 2 == bench.counted
    counted = [(run.block, run.variant) for run in folder.runs() if not run.warm_up]
    assert [(block, name) for block in (1, 2) for name in NAMES] == counted


def test_servers_are_warmed_once_until_their_rate_is_stable(folder: SuiteFolder) -> None:
    """Drains that do not count, before the first that does."""
    bench = Bench(warm_up_s=STEADY)
    suite(folder, bench).execute()
    assert bench.ran[:7] == [*[("control", True)] * 4, ("static", True), ("flat", True), ("control", False)]
    assert bench.warm_ups == 4 + 2


def test_the_first_run_of_each_kind_does_not_count(folder: SuiteFolder) -> None:
    """Warm servers still have to compile what a variant is the first to ask for, for as long as a run that counts."""
    bench = Bench()
    suite(folder, bench).execute()
    assert bench.ran[2:4] == [("static", True), ("flat", True)]
    assert bench.short == ["control"] * 2
    assert bench.ran[4:] == [(name, False) for name in NAMES * 2]


def test_a_variant_that_asks_for_the_same_run_is_of_the_same_kind(tmp_path: Path) -> None:
    """Such as the repetition of the control."""
    plan = a_plan()
    same = tuple(variant.model_copy(update={"kind": "one"}) for variant in plan.variants)
    folder = SuiteFolder.begin(tmp_path, plan.model_copy(update={"variants": same}))
    bench = Bench()
    suite(folder, bench).execute()
    assert bench.warm_ups == 2


def test_servers_that_never_become_stable_are_used_after_eight_drains(folder: SuiteFolder) -> None:
    """A noisy machine must not hold a suite up for ever."""
    bench = Bench(warm_up_s=[float(prime) for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23)])
    suite(folder, bench).execute()
    assert bench.warm_ups == 8 + 2


def test_warm_up_ends_after_minutes_however_few_drains_they_were(folder: SuiteFolder) -> None:
    """A load of minutes has compiled what there is to compile; three more of them would cost more than the suite."""
    bench, instants = Bench(warm_up_s=[2.0, 3.0, 5.0, 7.0]), itertools.count(step=31)
    SuiteExecution(folder, bench, Silent(), is_warm=lambda _: False, clock=lambda: float(next(instants))).execute()
    assert bench.warm_ups == 2 + 2


def test_a_server_that_was_restarted_is_warmed_anew(folder: SuiteFolder) -> None:
    """A broken run leaves cold servers behind."""
    bench = Bench([a_result(), StackError("elasticsearch-1 has ended")])
    suite(folder, bench).execute()
    assert bench.ran[4:9] == [
        ("control", False),
        ("static", False),
        ("static", True),
        ("static", True),
        ("static", False),
    ]
    assert bench.ran[9:13] == [("flat", True), ("flat", False), ("control", True), ("control", False)]


def test_a_run_from_which_others_took_too_much_is_repeated_once(folder: SuiteFolder) -> None:
    """By a rule that knows no result; the repetition counts, whatever was taken from it."""
    bench = Bench([a_result(steal_percent=11), a_result(steal_percent=12)])
    suite(folder, bench).execute()
    assert bench.counted == ["control", "control", "static", "flat", *NAMES]
    final = last_attempts(folder.runs())[1, "control", 1]
    assert (final.attempt, final.disturbed) == (2, Naming("hypervisor", 12))


def test_on_a_machine_that_is_always_busy_few_runs_are_repeated(tmp_path: Path) -> None:
    """All of them would take twice the time, and be no better."""
    folder = SuiteFolder.begin(tmp_path, a_plan(repeats=5))
    suite(folder, Bench([a_result(steal_percent=11)] * 99)).execute()
    runs = [run for run in folder.runs() if run.block]
    assert sum(run.attempt == 2 for run in runs) == LEAST_REPEATED // 2 + LEAST_REPEATED % 2
    assert runs[-1].reason == Naming("hypervisor", 11)
    assert runs_left(folder.plan(), folder.runs()) == []


def test_a_disturbed_run_counts_where_its_repetition_fails(folder: SuiteFolder) -> None:
    """It is whole, and nothing better is to be had."""
    suite(folder, Bench([a_result(steal_percent=11), a_result(verified=False)])).execute()
    final = last_attempts(folder.runs())[1, "control", 1]
    assert (final.attempt, final.status) == (1, "verified")
    assert runs_left(folder.plan(), folder.runs()) == []


def test_every_start_of_the_servers_has_blocks_and_a_warm_up_of_its_own(tmp_path: Path) -> None:
    """What comes before it is over when it begins."""
    plan = a_plan(repeats=2).model_copy(update={"starts": 2, "started": (1, 2)})
    bench = Bench()
    suite(SuiteFolder.begin(tmp_path, plan), bench).execute()
    assert bench.restarts == [3]
    assert bench.counted == list(NAMES) * 2
    first = bench.ran.index(("flat", False)) + 1
    warm = [("control", True), ("control", True), ("static", True), ("flat", True)]
    assert bench.ran[first : first + 5] == [*warm, ("control", False)]


def test_servers_are_warmed_by_drains_and_not_by_streams_of_minutes(folder: SuiteFolder) -> None:
    """Whichever the block begins with: a stream with a pause took seven minutes until its rate was stable."""
    bench = Bench()
    execution = suite(folder, bench)
    execution.expected = {"control": 90.0, "static": 20.0, "flat": 25.0}
    execution.execute()
    assert bench.ran[:4] == [("static", True), ("static", True), ("flat", True), ("control", True)]
    assert bench.counted == list(NAMES) * 2


def test_a_suite_that_is_resumed_on_its_second_start_stops_no_servers(tmp_path: Path) -> None:
    """They have just been started for it."""
    plan = a_plan(repeats=2).model_copy(update={"starts": 2, "started": (1, 2)})
    folder = SuiteFolder.begin(tmp_path, plan)
    with pytest.raises(KeyboardInterrupt):
        suite(folder, Bench([a_result()] * 4 + [KeyboardInterrupt()])).execute()
    bench = Bench()
    suite(folder, bench).execute()
    assert (bench.restarts, len(bench.counted)) == ([], 2)


def test_a_run_that_is_not_verified_is_repeated_once(folder: SuiteFolder) -> None:
    """And not a third time."""
    bench = Bench([a_result(verified=False)] * 2)
    suite(folder, bench).execute()
    assert bench.counted[:3] == ["control", "control", "static"]
    first, second = [run for run in folder.runs() if run.variant == "control" and run.block == 1]
    assert (first.status, first.attempt, first.reason) == ("void", 1, "3 documents are missing")
    assert (second.status, second.attempt) == ("void", 2)


def test_a_broken_run_is_written_down_with_its_reason(folder: SuiteFolder) -> None:
    """The suite goes on."""
    bench = Bench([StackError("kafka has ended")])
    suite(folder, bench).execute()
    broken = next(run for run in folder.runs() if not run.warm_up)
    assert (broken.status, broken.reason) == ("broken", "kafka has ended")
    assert runs_left(folder.plan(), folder.runs()) == []


def test_a_setting_that_a_server_refuses_ends_the_suite(folder: SuiteFolder) -> None:
    """No repetition would change that."""
    with pytest.raises(ProfileError, match=r"index\.codec"):
        suite(folder, Bench([ProfileError("index.codec: unknown")])).execute()


def test_an_interrupted_suite_goes_on_where_it_was(folder: SuiteFolder) -> None:
    """What is verified is not run again; the servers, which are new, are warmed again."""
    with pytest.raises(KeyboardInterrupt):
        suite(folder, Bench([a_result(), a_result(), KeyboardInterrupt()])).execute()
    bench = Bench()
    suite(folder, bench).execute()
    assert bench.counted == ["flat", *NAMES]
    assert bench.ran[0] == ("control", True)


def test_a_resumed_suite_knows_the_runs_of_its_first_part(folder: SuiteFolder) -> None:
    """What they have left in the servers is the suite's, to be used and to be removed."""
    with pytest.raises(KeyboardInterrupt):
        suite(folder, Bench([a_result(), KeyboardInterrupt()])).execute()
    (folder.path / "runs" / "flat" / "20260101-000017").mkdir(parents=True)
    bench = Bench()
    suite(folder, bench)
    assert bench.run_ids >= {Path(str(run.folder)).name for run in folder.runs()} != set()
    assert "20260101-000017" in bench.run_ids, "the one that was under way when the suite was killed"


def test_a_line_cut_short_by_a_kill_is_done_again(folder: SuiteFolder) -> None:
    """Half a record is no record, and does not spoil the next one."""
    with pytest.raises(KeyboardInterrupt):
        suite(folder, Bench([a_result(), KeyboardInterrupt()])).execute()
    runs_file = folder.path / "runs.ndjson"
    lines = runs_file.read_bytes()
    runs_file.write_bytes(lines + lines.splitlines()[-1][:31])
    bench = Bench()
    suite(folder, bench).execute()
    assert bench.counted == ["static", "flat", *NAMES]
    assert len([run for run in folder.runs() if not run.warm_up]) == 6


def test_the_last_folder_of_a_suite_is_found(tmp_path: Path, message: MakeMessage) -> None:
    """By the suite's name."""
    for _ in range(2):
        made = SuiteFolder.begin(tmp_path, a_plan())
    assert find_suite(tmp_path, "ladder").path == made.path
    with pytest.raises(ProfileError) as error:
        find_suite(tmp_path, "stairs")
    assert str(error.value) == message("stairs")
