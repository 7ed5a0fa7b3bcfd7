"""The folder of a run: its name, what is in it, and how it is found again."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.errors import ProfileError, WritingError
from lab.records.result import Window
from lab.run.folder import RunFolder, become_latest, find_run
from tests.dying import room_for
from tests.unit.messages import MakeMessage

NEW_YEAR_S = 1_767_225_600.0  # 2026-01-01 00:00:00 UTC


def make_run(runs: Path, profile: str, at_s: float = NEW_YEAR_S) -> RunFolder:
    """The folder of a run that has come to its end."""
    folder = RunFolder.create(runs, profile, lambda: at_s)
    folder.write_text("run.json", "{}\n")
    become_latest(folder.path, runs)
    return folder


def test_a_run_is_named_after_its_second_in_utc(tmp_path: Path) -> None:
    """Names sort as time passes, wherever the machine stands."""
    folder = RunFolder.create(tmp_path, "aladin/static", lambda: NEW_YEAR_S + 61)
    assert folder.run_id == "20260101-000101"
    assert folder.path == tmp_path / "aladin" / "static" / "20260101-000101"
    assert folder.path.is_dir()


def test_runs_of_one_second_have_numbers(tmp_path: Path) -> None:
    """None of them overwrites another."""
    ids = [RunFolder.create(tmp_path, "books", lambda: NEW_YEAR_S).run_id for _ in range(3)]
    assert ids == ["20260101-000000", "20260101-000000-2", "20260101-000000-3"]


def test_latest_points_to_the_last_run_that_has_finished(tmp_path: Path) -> None:
    """Relative, so that the folder of runs can be moved; nothing else is left beside it."""
    make_run(tmp_path, "books")
    last = make_run(tmp_path, "aladin/static", NEW_YEAR_S + 1)
    RunFolder.create(tmp_path, "books", lambda: NEW_YEAR_S + 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aladin", "books", "latest"]
    assert (tmp_path / "latest").resolve() == last.path.resolve()
    assert not (tmp_path / "latest").readlink().is_absolute()


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path, message: MakeMessage) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "runs").write_text("")
    with pytest.raises(ProfileError) as refusal:
        RunFolder.create(tmp_path / "runs", "books", lambda: NEW_YEAR_S)
    assert str(refusal.value) == message(f"{tmp_path}/runs/books/20260101-000000")


def test_a_record_is_written_whole(tmp_path: Path) -> None:
    """Nothing is left of the partial file."""
    folder = RunFolder.create(tmp_path, "books", lambda: NEW_YEAR_S)
    window = Window(started_s=1.5, ended_s=2.5, samples=7)
    path = folder.write("window.json", window)
    assert Window.model_validate_json(path.read_bytes()) == window
    assert [found.name for found in folder.path.iterdir()] == ["window.json"]


def test_a_record_that_cannot_be_written_is_named(tmp_path: Path, message: MakeMessage) -> None:
    """What the system says of a disk without room lacks the file's name."""
    folder = RunFolder.create(tmp_path, "books", lambda: NEW_YEAR_S)
    with pytest.raises(WritingError) as failure, room_for(0):
        folder.write_text("run.json", "{}\n")
    assert str(failure.value) == message(f"{folder.path}/run.json")


@pytest.mark.parametrize(
    "name", ["latest", "20260101-000001", "aladin/static/20260101-000001", "aladin/static"],
    ids=["latest", "run id", "profile and run id", "profile"],
)  # fmt: skip
def test_a_run_is_found_by_any_of_its_names(tmp_path: Path, name: str) -> None:
    """`latest`, its id, its profile, or both."""
    make_run(tmp_path, "books")
    make_run(tmp_path, "aladin/static")
    run = make_run(tmp_path, "aladin/static", NEW_YEAR_S + 1)
    assert find_run(tmp_path, name) == run.path.resolve()


def test_a_run_is_found_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Absolute or from where one stands, wherever the runs are."""
    run = make_run(tmp_path / "elsewhere", "books")
    assert find_run(tmp_path / "runs", str(run.path)) == run.path.resolve()
    monkeypatch.chdir(tmp_path)
    assert find_run(tmp_path / "runs", "elsewhere/books/20260101-000000") == run.path.resolve()


def test_the_last_run_of_a_profile_is_the_last_that_came_to_its_end(tmp_path: Path) -> None:
    """One that was interrupted has nothing to show."""
    finished = make_run(tmp_path, "books")
    RunFolder.create(tmp_path, "books", lambda: NEW_YEAR_S + 1)
    assert find_run(tmp_path, "books") == finished.path.resolve()


@pytest.mark.parametrize("name", ["books", "20260101-000000", "/no/such/folder", "*", "**x", "["])
def test_a_run_that_is_not_there_is_one_sentence(tmp_path: Path, name: str, message: MakeMessage) -> None:
    """It says what could have been meant; a pattern is a name like any other."""
    make_run(tmp_path / "runs", "other", NEW_YEAR_S + 7)
    with pytest.raises(ProfileError) as refusal:
        find_run(tmp_path / "runs", name)
    assert str(refusal.value) == message(name, f"{tmp_path}/runs", "latest", "other/20260101-000007")


def test_the_run_that_is_recommended_is_one_that_the_user_has_made(tmp_path: Path, message: MakeMessage) -> None:
    """As `latest` is: those of suites and tunes are later, and mean nothing by themselves."""
    make_run(tmp_path, "books")
    for folder in ("suites/sizes/20260101-000001/runs/small", "tunes/books/20260101-000001/stages/screen/runs/small"):
        RunFolder.create(tmp_path, folder, lambda: NEW_YEAR_S + 2).write_text("run.json", "{}\n")
    with pytest.raises(ProfileError) as refusal:
        find_run(tmp_path, "nope")
    assert str(refusal.value) == message("nope", tmp_path, "latest", "books/20260101-000000")


@pytest.mark.parametrize("name", ["latest", "books", "books/20260101-000001", "20260101-000001"])
@pytest.mark.parametrize("has_finished_one", [True, False])
def test_a_run_without_a_result_is_told_apart_from_one_that_is_not_there(
    tmp_path: Path, name: str, message: MakeMessage, *, has_finished_one: bool
) -> None:
    """The word that is refused is not the word that is recommended, also where an older version linked it."""
    if has_finished_one:
        make_run(tmp_path, "other")
    RunFolder.create(tmp_path, "books", lambda: NEW_YEAR_S + 1)
    become_latest(tmp_path / "books" / "20260101-000001", tmp_path)
    last = "last finished run: other/20260101-000000" if has_finished_one else "no run has finished yet"
    with pytest.raises(ProfileError) as refusal:
        find_run(tmp_path, name)
    assert str(refusal.value) == message(name, tmp_path, last)


def test_before_the_first_run_there_is_no_latest(tmp_path: Path, message: MakeMessage) -> None:
    """The sentence says how to make one."""
    with pytest.raises(ProfileError) as refusal:
        find_run(tmp_path / "runs", "latest")
    assert str(refusal.value) == message("latest", tmp_path / "runs", "./sluice run")


def test_a_record_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    """Another machine, with another locale, reads it."""
    program = (
        "from pathlib import Path; from lab.run.folder import RunFolder; "
        f"RunFolder(Path({str(tmp_path)!r}), '1').write_text('note', '\\ucc45 \\u2192 1')"
    )
    posix = {"PYTHONPATH": ":".join(sys.path), "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", program], env=posix, check=True)
    assert (tmp_path / "note").read_text("utf-8") == "책 → 1"
