"""The page on disks that are full, that fail, and that go away: real ones. No server is needed."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lab.errors import StackError
from lab.page.serve import STATE, KeptPage
from tests.integration.bare_page import BarePage, bare_page, wait_until
from tests.unit.page.run_folders import begun

FAILS = {"kind": "run", "name": "quickstart", "settings": ["elasticsearch.version=1.2.3"]}
"""A run that passes the page's checks, and ends at once: no such release is pinned."""
UNREADABLE = Path("/proc/self/mem")
"""A file that can be opened, and whose first bytes give EIO."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own, with all temporary files on it."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "none", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"NOT TESTED: a full disk; no file system can be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture
def page(disk: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BarePage]:
    """The page of a run on that disk."""
    monkeypatch.setenv("TMPDIR", str(disk))
    monkeypatch.setenv("SLUICE_STATE", str(disk / "state"))
    begun(disk / "runs/quickstart/20260101-000007", ended="interrupted")
    with bare_page(disk / "runs") as served:
        yield served


def fill(disk: Path) -> Path:
    """A file that leaves no byte free."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            return filler
    raise AssertionError(disk)


def trouble(page: BarePage) -> str | None:
    """What the page says is wrong."""
    status, now = page.ask("/api/now")
    assert status == 200
    told: str | None = now["trouble"]
    return told


def begin_and_fail(page: BarePage) -> None:
    """Start the run that ends at once, and read why."""
    status, answer = page.ask("/api/start", FAILS)
    assert status == 200, answer
    wait_until(lambda: not page.ask("/api/now")[1]["child"]["running"])
    child = page.ask("/api/now")[1]["child"]
    assert child["exit_status"] != 0
    assert "1.2.3" in " ".join(child["said"]), child


def test_a_full_disk_is_said_and_ends_when_there_is_room(page: BarePage, disk: Path) -> None:
    """The page goes on showing meanwhile, refuses to start, and then starts again: it is never started anew."""
    begin_and_fail(page)
    filler = fill(disk)
    wait_until(lambda: "disk is full" in (trouble(page) or ""))

    status, answer = page.ask("/api/start", FAILS)
    assert (status, "disk is full" in answer["error"]) == (409, True)
    _, now = page.ask("/api/now")
    assert (now["run"]["id"], "1.2.3" in " ".join(now["child"]["said"])) == ("20260101-000007", True)
    assert page.ask("/api/history")[1]["total"] == 1
    assert page.ask("/static/page.css")[0] == 200
    assert list((disk / "runs").glob(".*.part")) == []

    filler.unlink()
    wait_until(lambda: trouble(page) is None)
    begin_and_fail(page)
    begun(disk / "runs/quickstart/20260101-000008", ended="interrupted")
    assert page.ask("/api/history")[1]["total"] == 2


def test_a_command_that_runs_while_the_disk_fills_up_keeps_its_voice(page: BarePage, disk: Path) -> None:
    """What it says is held in no file of a disk."""
    status, _ = page.ask("/api/start", FAILS)
    fill(disk)
    assert status == 200
    wait_until(lambda: not page.ask("/api/now")[1]["child"]["running"])
    assert page.ask("/api/now")[1]["child"]["said"]


def test_a_run_that_cannot_be_read_is_told_and_not_made_up(page: BarePage, disk: Path) -> None:
    """Its row says so, and is right again as soon as it can be read, though nothing was written."""
    folder = disk / "runs/quickstart/20260101-000007"
    kept = folder.parent / "kept.json"
    (folder / "progress.json").rename(kept)
    (folder / "progress.json").symlink_to(UNREADABLE)
    (row,) = page.ask("/api/history")[1]["rows"]
    assert (row["id"], row["status"]) == ("quickstart/20260101-000007", "unknown")
    assert page.ask("/api/now")[0] == 200
    (folder / "progress.json").unlink()
    kept.rename(folder / "progress.json")
    (row,) = page.ask("/api/history")[1]["rows"]
    assert row["status"] == "interrupted"


def test_runs_that_are_removed_are_not_shown_and_those_that_come_are(page: BarePage, disk: Path) -> None:
    """One by one, and the whole folder."""
    shutil.rmtree(disk / "runs/quickstart")
    wait_until(lambda: page.ask("/api/now")[1]["run"] is None)
    assert page.ask("/api/history")[1]["total"] == 0
    shutil.rmtree(disk / "runs")
    assert page.ask("/api/history")[1]["total"] == 0
    assert trouble(page) is None
    begun(disk / "runs/quickstart/20260101-000009", ended="interrupted")
    wait_until(lambda: (page.ask("/api/now")[1]["run"] or {}).get("id") == "20260101-000009")
    assert page.ask("/api/history")[1]["total"] == 1


def test_a_report_that_cannot_be_read_is_an_error_and_no_empty_page(page: BarePage, disk: Path) -> None:
    """With the system's word for it."""
    folder = disk / "runs/quickstart/20260101-000007"
    assert page.ask("/runs/quickstart/20260101-000007/report.html")[0] == 404
    (folder / "report.html").mkdir()
    assert page.ask("/runs/quickstart/20260101-000007/report.html")[0] == 404


def test_a_page_that_cannot_be_written_down_does_not_stay(disk: Path) -> None:
    """`down` would not find it, and nobody has its address."""
    fill(disk)
    before = {child.pid for child in psutil.Process().children()}
    with pytest.raises(StackError, match="No space left"):
        KeptPage.start(disk, disk / "runs")
    assert {child.pid for child in psutil.Process().children()} == before
    assert list(disk.glob(f"{STATE}*")) == []
