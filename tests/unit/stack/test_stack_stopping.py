"""Servers are stopped and restarted, and what they leave on the disk is removed."""

from pathlib import Path

import pytest

from lab.errors import ProfileError
from lab.stack.local import LocalStack, StackProgress
from tests.unit.stack.three_servers import ALL, NAMES, kill, pids, strays
from tests.unit.stack.trivial_servers import spec_of, started


def test_stopping_says_how_many_ran(stack: LocalStack) -> None:
    """Those that had died are not counted."""
    stack.ensure(ALL, kept=True)
    kill(stack, "kafka")
    assert stack.stop() == 2
    assert stack.stop() == 0


def test_stopping_sweeps_up_strays(stack: LocalStack, tmp_path: Path) -> None:
    """What carries our marker goes, and is counted."""
    stack.ensure(ALL, kept=True)
    started(spec_of(tmp_path, "elasticsearch-2"), stack.folder)
    assert stack.stop() == 4
    assert strays(stack) == []


def test_the_worker_is_stopped_before_what_it_depends_on(stack: LocalStack) -> None:
    """Otherwise it would fill its log with complaints."""
    stack.ensure(ALL, kept=True)
    told: list[tuple[str, str]] = []
    stack.stop(StackProgress(step=lambda name, what: told.append((name, what))))
    assert told[:2] == [("connect", "stopping"), ("connect", "stopped")]
    assert sorted(told[2:]) == sorted((name, what) for name in NAMES[:2] for what in ("stopping", "stopped"))


def test_a_server_is_restarted_as_it_was(stack: LocalStack) -> None:
    """Another process of the same specification; the others stay."""
    stack.ensure(ALL, kept=True)
    before = {entry.spec.name: entry for entry in stack.servers()}
    stack.restart("kafka")
    after = {entry.spec.name: entry for entry in stack.servers()}
    assert after["kafka"].spec == before["kafka"].spec
    assert after["kafka"].pid != before["kafka"].pid
    assert {name: after[name] for name in ("connect", "elasticsearch-1")} == {
        name: before[name] for name in ("connect", "elasticsearch-1")
    }


def test_a_server_that_was_killed_is_restarted(stack: LocalStack) -> None:
    """That is what `restart` is there for."""
    stack.ensure(ALL, kept=True)
    kill(stack, "kafka")
    stack.restart("kafka")
    assert pids(stack).keys() == set(NAMES)


def test_an_unknown_name_cannot_be_restarted(stack: LocalStack) -> None:
    """The sentence names those that there are."""
    stack.ensure(ALL, kept=True)
    with pytest.raises(ProfileError) as refusal:
        stack.restart("kibana")
    assert str(refusal.value) == "kibana: no such server here, expected one of: connect, elasticsearch-1, kafka"


def test_nothing_can_be_restarted_where_nothing_runs(stack: LocalStack) -> None:
    """Not even a name that is known elsewhere."""
    with pytest.raises(ProfileError) as refusal:
        stack.restart("kafka")
    assert str(refusal.value) == "kafka: no servers are running here; start them with: ./sluice up"


def test_a_restarted_server_uses_the_archive_that_its_first_end_wrote(tmp_path: Path) -> None:
    """Its command said to write one."""
    archive = tmp_path / "kafka.jsa"
    spec = spec_of(tmp_path, command=("java", f"-XX:ArchiveClassesAtExit={archive}.pending", "Kafka"), archive=archive)
    assert spec.for_restart() == spec
    archive.write_text("classes")
    assert spec.for_restart().command == ("java", f"-XX:SharedArchiveFile={archive}", "Kafka")


def test_cleaning_removes_data_and_leaves_the_cache(stack: LocalStack, tmp_path: Path) -> None:
    """What was downloaded is needed again."""
    with stack.exclusively():
        pass
    for folder in ("cache/artifacts", "cache/unpacked", "cache/class-data", "cache/python", "state/kept"):
        (tmp_path / folder).mkdir(parents=True)
    assert stack.clean() == [stack.folder]
    assert not stack.folder.exists()
    assert (tmp_path / "cache/artifacts").is_dir()


def test_a_folder_with_other_files_is_neither_used_nor_removed(stack: LocalStack) -> None:
    """SLUICE_STATE may name a folder that somebody keeps other things in."""
    stack.folder.mkdir()
    (stack.folder / "thesis.tex").touch()
    with pytest.raises(ProfileError) as refusal, stack.exclusively():
        pass
    assert str(refusal.value) == (
        f"SLUICE_STATE: {stack.folder}: holds files that Sluice did not create, expected a folder of its own, which "
        "`./sluice clean` removes"
    )
    assert stack.clean() == []
    assert [path.name for path in stack.folder.iterdir()] == ["thesis.tex"]


def test_cleaning_the_cache_leaves_the_python_environment(stack: LocalStack, tmp_path: Path) -> None:
    """The running tests use that environment."""
    for folder in ("cache/artifacts", "cache/unpacked", "cache/java", "cache/python"):
        (tmp_path / folder).mkdir(parents=True)
    assert stack.clean(cache=True) == [tmp_path / f"cache/{name}" for name in ("artifacts", "unpacked", "java")]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["python"]
