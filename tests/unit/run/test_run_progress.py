"""How far a run is, as its folder says it while it works and when it has ended."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import StackError
from lab.identity import identity_of
from lab.profiles import load_profile
from lab.records.progress import Progress
from lab.records.verification import Verification
from lab.run.folder import RunFolder
from lab.run.phases import PhaseClock
from lab.run.progress import FILE, ProgressFile
from tests.unit.run.displays import SilentProgress


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time_s = 1000.0

    def now_s(self) -> float:
        """The instant that the test has reached."""
        return self.time_s


def progress_file(folder: Path, now_s: Callable[[], float], phases: PhaseClock | None = None) -> ProgressFile:
    """That of a quickstart into the folder."""
    clock = phases or PhaseClock()
    return ProgressFile(RunFolder(folder, "7"), load_profile("quickstart"), SilentProgress(), clock, now_s)


def written(folder: Path) -> Progress:
    """What the file says."""
    return Progress.model_validate_json((folder / FILE).read_bytes())


def test_a_step_is_written_when_it_begins_with_who_runs_it(tmp_path: Path) -> None:
    """The process by its pid and its start."""
    clock = Clock()
    with progress_file(tmp_path, clock.now_s) as progress:
        clock.time_s += 3
        progress.begin("fill", "filling the topic", 20_011)
        seen = written(tmp_path)
    assert (seen.run_id, seen.profile, seen.started_s, seen.updated_s) == ("7", "quickstart", 1000.0, 1003.0)
    assert seen.identity == identity_of()
    assert (seen.phase, seen.step, seen.step_started_s) == ("fill", "filling the topic", 1003.0)
    assert (seen.done, seen.total, seen.ended) == (0, 20_011, None)


def test_within_a_step_it_is_written_once_a_second_at_most(tmp_path: Path) -> None:
    """Displays are told far more often."""
    clock = Clock()
    seen = []
    with progress_file(tmp_path, clock.now_s) as progress:
        progress.begin("load", "indexing", 101)
        for done in range(1, 8):
            clock.time_s += 0.5
            progress.update(done, f"lag {101 - done}")
            seen.append(written(tmp_path).done)
    assert seen == [0, 2, 2, 4, 4, 6, 6]
    assert written(tmp_path).detail == "lag 94"


def test_phases_have_their_instants_and_the_one_under_way_no_end(tmp_path: Path) -> None:
    """As the run's record will have them."""
    phases = PhaseClock()
    with progress_file(tmp_path, Clock().now_s, phases) as progress:
        with phases.phase("prepare"):
            progress.begin("prepare", "creating index and topic", None)
        with phases.phase("load"):
            progress.begin("load", "starting the sink", None)
            under_way = written(tmp_path)
    past = phases.phases[0]
    assert [(phase.name, phase.ended_s) for phase in under_way.phases] == [("prepare", past.ended_s), ("load", None)]
    assert [phase.ended_s for phase in written(tmp_path).phases] == [phase.ended_s for phase in phases.phases]


@pytest.mark.parametrize(
    ("problems", "ended", "reason"),
    [((), "verified", None), (("7 documents are missing", "2 differ"), "failed", "7 documents are missing; 2 differ")],
)
def test_a_run_that_comes_to_its_end_says_whether_it_counts(
    tmp_path: Path, problems: tuple[str, ...], ended: str, reason: str | None
) -> None:
    """With what was wrong."""
    with progress_file(tmp_path, Clock().now_s) as progress:
        progress.end(Verification(verified=not problems, problems=problems))
    assert (written(tmp_path).ended, written(tmp_path).reason) == (ended, reason)


@pytest.mark.parametrize(
    ("error", "ended", "reason"),
    [
        (KeyboardInterrupt(), "interrupted", None),
        (StackError("kafka: ended while it was in use"), "broken", "kafka: ended while it was in use"),
    ],
)
def test_a_run_that_is_broken_off_says_so(tmp_path: Path, error: BaseException, ended: str, reason: str | None) -> None:
    """The error goes on its way."""
    with pytest.raises(type(error)), progress_file(tmp_path, Clock().now_s):
        raise error
    assert (written(tmp_path).ended, written(tmp_path).reason) == (ended, reason)


def test_a_folder_that_cannot_be_written_fails_no_run(tmp_path: Path) -> None:
    """Nobody measures by this file."""
    with progress_file(tmp_path / "gone", Clock().now_s) as progress:
        progress.begin("load", "indexing", 7)
        progress.update(3, "")
    assert not (tmp_path / "gone").exists()
