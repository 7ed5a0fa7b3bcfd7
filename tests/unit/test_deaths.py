"""Whoever comes after a command that was killed at any of its changes finds whole files, and can do it again."""

import errno
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from lab.analysis.folder import read_run
from lab.analysis.report_page import report
from lab.analysis.report_page.report import write_report
from lab.analysis.result import analyse, write_csv, write_result
from lab.analysis.suite.folder import read_runs
from lab.cli.app import main
from lab.errors import ProfileError, WritingError
from lab.files import remove_folder, write_new, write_whole
from lab.identity import identity_of
from lab.page.history import History
from lab.page.serve import KeptPage
from lab.page.tree import RunTree
from lab.records.result import Result
from lab.records.suite import SuiteRun
from lab.run.folder import RunFolder, become_latest, find_run
from lab.stack.artifacts import unpack
from lab.stack.local import LocalStack, StackState
from lab.stack.ports import allot_ports
from lab.suite.folder import SuiteFolder
from tests.dying import deaths, dies, room_for
from tests.unit.analysis.synthetic import Truth, run, samples, written
from tests.unit.page.run_folders import progress
from tests.unit.stack.test_stack_specs import broker, node
from tests.unit.suite.test_suite_execution import a_plan

TEXT = "all of it\n" * 101


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_file_is_the_old_or_the_new_one_wherever_its_writer_dies(tmp_path: Path) -> None:
    """Never a part of it, and never none."""
    path = tmp_path / "plan.json"
    write_whole(path, "before")

    def check() -> None:
        assert path.read_text() in {"before", TEXT}

    assert deaths(lambda: write_whole(path, TEXT), tmp_path, check) >= 5
    assert path.read_text() == TEXT


def test_a_new_file_is_whole_or_not_there_wherever_its_writer_dies(tmp_path: Path) -> None:
    """And one that is there is not replaced."""
    path = tmp_path / "books.json"

    def check() -> None:
        assert not path.exists() or path.read_text() == TEXT

    def make() -> None:
        path.unlink(missing_ok=True)
        write_new(path, TEXT)

    assert deaths(make, tmp_path, check) >= 5
    with pytest.raises(FileExistsError):
        write_new(path, "another")
    assert path.read_text() == TEXT


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_new_file_is_made_where_there_are_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Each file system says so in its own way: FAT, SMB, and some in user space."""

    def refused(_path: Path, _target: Path) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "hardlink_to", refused)
    write_new(tmp_path / "books.json", TEXT)
    assert (tmp_path / "books.json").read_text() == TEXT
    with pytest.raises(OSError, match=r"books\.json"):
        write_new(tmp_path / "books.json", "another")
    assert [path.name for path in tmp_path.iterdir()] == ["books.json"]
    assert (tmp_path / "books.json").read_text() == TEXT


def test_a_folder_that_cannot_be_renamed_loses_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a volume that is mounted there, of which `clean --cache` says that it is gone."""

    def busy(_path: Path, _target: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(Path, "rename", busy)
    (tmp_path / "mounted").mkdir()
    (tmp_path / "mounted" / "a.jar").touch()
    remove_folder(tmp_path / "mounted")
    assert not (tmp_path / "mounted" / "a.jar").exists()


def test_a_link_to_a_folder_stays_where_it_is(tmp_path: Path) -> None:
    """Somebody has put the cache on another disk."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "artifacts").symlink_to("disk")
    remove_folder(tmp_path / "artifacts")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["artifacts", "disk"]


def test_a_folder_is_whole_or_not_there_wherever_it_is_removed(tmp_path: Path) -> None:
    """Half of an unpacked server would be taken for all of it."""
    folder = tmp_path / "unpacked"

    def make() -> None:
        for name in ("bin/start", "lib/a.jar", "lib/b.jar"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()

    def check() -> None:
        assert not folder.exists() or len([*folder.rglob("*")]) == 5
        make()

    make()
    assert deaths(lambda: remove_folder(folder), tmp_path, check) >= 6
    remove_folder(folder)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size_bytes", [0, 7])
def test_what_cannot_be_written_whole_leaves_what_was_there(tmp_path: Path, size_bytes: int) -> None:
    """And nothing else."""
    path = tmp_path / "plan.json"
    write_whole(path, "before")
    with pytest.raises(WritingError, match=r"plan\.json: cannot be written: File too large"), room_for(size_bytes):
        write_whole(path, TEXT)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


# --- runs and suites -------------------------------------------------------------------------------------------------


def test_a_run_is_finished_or_not_wherever_its_command_dies(tmp_path: Path) -> None:
    """`latest` names one that can be read; the page's history counts it."""
    record = run(Truth())

    def finish() -> None:
        folder = RunFolder.create(tmp_path, "books", lambda: 1.8e9, taken=())
        folder.write_text("profile.json", "{}")
        folder.write("progress.json", progress())
        folder.samples.write_bytes(b"")
        folder.write("run.json", record)
        folder.write("progress.json", progress(ended="verified"))
        become_latest(folder.path, tmp_path)

    def check() -> None:
        for path in tmp_path.glob("books/*/run.json"):
            read_run(path.parent)
        latest = tmp_path / "latest"
        if latest.is_symlink():
            read_run(find_run(tmp_path, "latest"))
        history = History(RunTree(tmp_path))
        history.refresh()
        assert len(history.rows) == len([*tmp_path.glob("books/*/progress.json")])
        for path in tmp_path.glob("books/*"):
            if path != latest.resolve():
                shutil.rmtree(path)

    assert deaths(finish, tmp_path, check) >= 20


def test_result_report_and_tables_are_whole_wherever_they_are_drawn_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of before are there until then."""
    folder = written(tmp_path / "books" / "20270115-080000", run(Truth()), samples(Truth()))
    analysis = analyse(folder)

    def draw() -> None:
        write_result(analysis)
        write_report(analysis)
        write_csv(analysis)

    # What draws charts has threads, which a forked process has not.
    html = report.report(analysis)
    monkeypatch.setattr(report, "report", lambda _: html)

    def check() -> None:
        Result.model_validate_json((folder / "result.json").read_bytes())
        assert (folder / "report.html").read_text().rstrip().endswith("</html>")
        assert (folder / "samples.csv").read_text().count("\n") == len(analysis.folder.samples) + 1

    draw()
    assert deaths(draw, tmp_path, check) >= 20


def test_a_suite_goes_on_wherever_its_command_dies(tmp_path: Path) -> None:
    """Its plan can be read, and every run that ended is in its list once."""
    plan = a_plan()
    folder = SuiteFolder.begin(tmp_path, plan)
    facts = {"block": 1, "variant": "control", "attempt": 1, "status": "verified", "started_s": 1, "ended_s": 2}

    def go_on() -> None:
        done = len(read_runs(folder.path))
        new = folder.new_run(plan.variants[0], warm_up=False)
        folder.append(SuiteRun.model_validate({**facts, "attempt": done + 1, "folder": new.run_id}))
        folder.add_block(("control",), 1)

    def check() -> None:
        begun = folder.plan()
        assert len(begun.order) >= 2
        attempts = [each.attempt for each in folder.runs()]
        assert attempts == [*range(1, len(attempts) + 1)]

    assert deaths(go_on, tmp_path, check) >= 8


def test_a_page_is_found_or_not_wherever_up_dies(tmp_path: Path) -> None:
    """Its file can be read."""
    page = KeptPage(identity_of(), "http://127.0.0.1:7/#token=a", "/runs")

    def check() -> None:
        assert not (tmp_path / "page.json").exists() or KeptPage.find(tmp_path) == page

    assert deaths(lambda: page._write(tmp_path), tmp_path, check) >= 4


# --- servers ---------------------------------------------------------------------------------------------------------


def test_the_state_of_the_servers_can_be_read_wherever_a_command_dies(tmp_path: Path) -> None:
    """Their ports, too, and the folder is free again."""
    stack = LocalStack(tmp_path / "state", tmp_path / "cache")

    def use() -> None:
        with stack.exclusively():
            allot_ports(("kafka.client",), stack.folder / "ports.json", requested={}, in_use={})
            stack._write(StackState(kept=True, owner=identity_of()))

    def check() -> None:
        stack.state()
        with stack.exclusively():
            pass

    assert deaths(use, tmp_path, check) >= 8


def test_a_folder_is_ours_until_it_is_clean_wherever_clean_dies(tmp_path: Path) -> None:
    """The next command uses it, and the next `clean` removes the rest; half of a broker's data is never used."""
    stack = LocalStack(tmp_path / "state", tmp_path / "cache")

    def fill() -> None:
        with stack.exclusively():
            for name in ("kept/kafka/data/meta.properties", "kept/kafka/data/log", "run/log", "state.json"):
                (stack.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (stack.folder / name).touch()
            (tmp_path / "cache/unpacked/server/bin").mkdir(parents=True, exist_ok=True)
            (tmp_path / "cache/unpacked/server/lib").mkdir(parents=True, exist_ok=True)

    def check() -> None:
        with stack.exclusively():
            kept, unpacked = stack.folder / "kept", tmp_path / "cache/unpacked/server"
            assert not kept.exists() or len([*kept.rglob("*")]) == 4
            assert not unpacked.exists() or len([*unpacked.iterdir()]) == 2
        fill()

    fill()
    assert deaths(lambda: stack.clean(cache=True), tmp_path, check) >= 12
    stack.clean(cache=True)
    assert not stack.folder.exists()
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_server_that_is_unpacked_is_whole_wherever_that_dies(tmp_path: Path) -> None:
    """What is left of the one before is removed."""
    with zipfile.ZipFile(tmp_path / "server.zip", "w") as archive:
        for name in ("bin/elasticsearch", "config/jvm.options", "lib/a.jar"):
            archive.writestr(f"server-8/{name}", TEXT)
    home = tmp_path / "unpacked" / "server"
    home.parent.mkdir()

    def check() -> None:
        assert not home.exists() or len([path for path in home.rglob("*") if path.is_file()]) == 3
        shutil.rmtree(home, ignore_errors=True)

    def make() -> None:
        unpack(tmp_path / "server.zip", home)

    assert deaths(make, tmp_path, check) >= 12
    unpack(tmp_path / "server.zip", home)
    assert [path.name for path in home.parent.iterdir()] == ["server"]


def test_the_configuration_of_servers_is_whole_wherever_up_dies(tmp_path: Path) -> None:
    """A node's folder of it that lacks a file, or a broker's empty `meta.properties`, would stay for good."""
    (tmp_path / "home/config").mkdir(parents=True)
    for name in ("jvm.options", "log4j2.properties", "users"):
        (tmp_path / "home/config" / name).write_text(TEXT)
    folder = tmp_path / "servers"

    def configure() -> None:
        node(tmp_path / "home", folder)
        broker(folder)

    def check() -> None:
        config, meta = folder / "node-1/config", folder / "kafka/data/meta.properties"
        assert not config.exists() or len([*config.iterdir()]) >= 3
        assert not meta.exists() or meta.read_text().count("\n") == 4
        shutil.rmtree(folder, ignore_errors=True)

    assert deaths(configure, tmp_path, check) >= 20


# --- what a user gets ------------------------------------------------------------------------------------------------


def test_init_leaves_nothing_half_wherever_it_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of it is whole, and what it names is there; the next `init` says what exists, or writes it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "books.ndjson").write_text('{"isbn":"1","title":"a"}\n{"isbn":"2","title":"b"}\n')
    monkeypatch.setattr(sys, "argv", ["sluice", "init", "books.ndjson"])
    written_files = [tmp_path / name for name in ("mappings/books.json", *EXPERIMENTS)]
    assert main() == 0
    whole = {path: path.read_bytes() for path in written_files}

    def begin() -> None:
        assert main() == 0

    def check() -> None:
        there = [path for path in written_files if path.exists()]
        assert there == written_files[: len(there)]
        assert {path: path.read_bytes() for path in there} == {path: whole[path] for path in there}
        if there:
            assert main() == 2
        for path in there:
            path.unlink()

    check()
    assert deaths(begin, tmp_path, check) >= 6


EXPERIMENTS = ("experiments/profiles/books.yaml", "experiments/suites/books.yaml")


def test_the_harness_sees_a_writer_that_leaves_half_a_file(tmp_path: Path) -> None:
    """As all of ours did that wrote into the place."""
    path = tmp_path / "plan.json"
    path.write_text("before")
    assert dies(lambda: path.write_text(TEXT), tmp_path, 1, half=7)
    assert path.read_text() == TEXT[:7]
    assert not dies(lambda: path.write_text(TEXT), tmp_path, 2)


def test_the_harness_fails_with_what_it_runs(tmp_path: Path) -> None:
    """An error is no death."""

    def fail() -> None:
        raise ProfileError("no")

    with pytest.raises(AssertionError, match="it failed by itself: status 1"):
        dies(fail, tmp_path, 1)
