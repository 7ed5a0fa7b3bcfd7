"""Runs are found without walking through all of them each time."""

import os
from pathlib import Path

from lab.page.tree import RunTree


def made(folder: Path, *names: str) -> list[Path]:
    """Folders of these names."""
    paths = [folder / name for name in names]
    for path in paths:
        path.mkdir(parents=True)
    return paths


def test_runs_of_all_profiles_are_found_and_those_of_suites_are_not(tmp_path: Path) -> None:
    """However deep a profile's name is; links and hidden folders are none."""
    runs = made(tmp_path, "quickstart/20260101-000007", "aladin/static/20260101-000011", "aladin/x/y/20260101-000013")
    suites = made(tmp_path, "suites/a-a/20260101-000017/runs/control/20260101-000019", ".old/20260101-000023")
    (tmp_path / "latest").symlink_to(runs[0])
    tree = RunTree(tmp_path)
    assert sorted(tree.run_folders()) == sorted(runs)
    assert tree.suite_folders() == [suites[0].parents[2]]


def test_the_newest_run_may_be_a_suites(tmp_path: Path) -> None:
    """Its warm-up drains too."""
    tree = RunTree(tmp_path)
    assert tree.newest_run() is None
    (single,) = made(tmp_path, "quickstart/20260101-000007")
    assert tree.newest_run() == single
    (warm_up,) = made(tmp_path, "suites/a-a/20260101-000008/warm-up/control/20260101-000009")
    assert tree.newest_run() == warm_up
    (counted,) = made(tmp_path, "suites/a-a/20260101-000008/runs/control/20260101-000011")
    assert tree.newest_run() == counted


def test_the_tenth_run_of_a_second_comes_after_the_ninth(tmp_path: Path) -> None:
    """A folder's name is no text to be sorted by."""
    made(tmp_path, *(f"quickstart/20260101-000007{suffix}" for suffix in ("", "-2", "-9", "-10")))
    assert RunTree(tmp_path).newest_run() == tmp_path / "quickstart/20260101-000007-10"


def test_a_suite_that_is_resumed_is_the_newest_again(tmp_path: Path) -> None:
    """Its folder is written to."""
    older, newer = made(tmp_path, "suites/a-a/20260101-000007", "suites/ladder/20260101-000011")
    os.utime(older, (1000, 1000))
    os.utime(newer, (2000, 2000))
    tree = RunTree(tmp_path)
    assert tree.newest_suite() == newer
    (older / "runs.ndjson").touch()
    assert tree.newest_suite() == older


def test_a_stage_of_a_tune_is_followed_as_a_suite_and_the_tune_is_no_run(tmp_path: Path) -> None:
    """Its folder is called as a run's is."""
    (single,) = made(tmp_path, "quickstart/20260101-000007")
    (tune,) = made(tmp_path, "tunes/quickstart/20260101-000011")
    tree = RunTree(tmp_path)
    assert tree.newest_run() == single
    (run,) = made(tune, "stages/1-alone/runs/start/20260101-000013")
    assert (tree.newest_suite(), tree.newest_run()) == (tune / "stages/1-alone", run)
    assert (tree.run_folders(), tree.suite_folders()) == ([single], [])


def test_folders_in_which_nothing_is_new_are_not_listed_again(tmp_path: Path) -> None:
    """2,003 runs cost a look at the folders above them."""
    made(tmp_path, *(f"profile-{number % 7}/20260101-{number:06}" for number in range(2003)))
    tree = RunTree(tmp_path)
    assert len(tree.run_folders()) == 2003
    first = tree.listed
    assert first == 1 + 7
    tree.newest_run()
    tree.run_folders()
    assert tree.listed == first
    made(tmp_path, "profile-3/20260102-000000")
    assert tree.newest_run() == tmp_path / "profile-3/20260102-000000"
    assert tree.listed == first + 1
