"""The servers of this machine: whose they are, how a run sees them, and what a user is told when they end."""

import contextlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.errors import ProfileError, StackError
from lab.profiles import load_profile
from lab.records.run import Server
from lab.stack.groups import Bounds
from lab.stack.local import LocalStack, StackProgress
from lab.stack.server import STACK_MARKER
from lab.targets import local
from lab.targets.local import Local, ServerWatch, shape_of
from tests.unit.clients.rest_server import Time
from tests.unit.messages import MakeMessage, Naming
from tests.unit.stack.three_servers import ALL, Wanted, kill, owned_by, pids, start

QUICKSTART = load_profile("quickstart")

# --- whose they are ---------------------------------------------------------------------------------------------------


def test_only_servers_of_up_are_found(stack: LocalStack, message: MakeMessage) -> None:
    """Those of a run are about to be stopped."""
    ours = Local(stack)
    for begin in (lambda: None, lambda: start(stack, kept=False)):
        begin()
        with pytest.raises(StackError) as error:
            ours.endpoints()
        assert str(error.value) == message("./sluice up")
    start(stack)
    assert ours.endpoints() == stack.endpoints()


def test_servers_of_up_that_have_ended_are_named(stack: LocalStack, message: MakeMessage) -> None:
    """With what to do of the first."""
    start(stack)
    for name in ("kafka", "connect"):
        kill(stack, name)
    with pytest.raises(StackError) as error:
        Local(stack).endpoints()
    assert str(error.value) == message("connect and kafka", "./sluice restart connect")


@pytest.mark.parametrize("kept", [True, False], ids=["of up", "of the command"])
def test_servers_outlive_a_command_if_up_has_started_them(stack: LocalStack, *, kept: bool) -> None:
    """However the command ends."""
    if kept:
        start(stack)
    ours = Local(stack)
    with contextlib.suppress(KeyboardInterrupt), ours.held():
        ours.target(QUICKSTART)
        assert ours.may_be_started_anew() is not kept
        raise KeyboardInterrupt
    assert (ours.stay, bool(pids(stack)), stack.state() is not None) == (kept, kept, kept)


def test_servers_of_a_command_that_was_killed_are_stopped_first(stack: LocalStack) -> None:
    """They are neither those of `up`, nor warm."""
    start(stack, kept=False)
    owned_by(stack, 1, kept=False)
    ours = Local(stack)
    with ours.held():
        assert (pids(stack), ours.stay) == ({}, False)


def test_servers_are_held_by_one_command(stack: LocalStack) -> None:
    """Until it ends."""
    with Local(stack).held(), pytest.raises(StackError, match="another sluice command"), Local(stack).held():
        pass
    with Local(stack).held():
        pass


def test_a_user_sees_what_happens_to_the_servers(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """From their start to their end."""
    seen: list[tuple[str, str]] = []
    progress = StackProgress(step=lambda *step: seen.append(step))
    monkeypatch.setattr(
        local, "StackDisplay", lambda: SimpleNamespace(showing=lambda: contextlib.nullcontext(progress))
    )
    ours = Local(stack)
    with ours.held():
        ours.target(QUICKSTART)
    assert [what for name, what in seen if name == "kafka"] == ["starting", "ready", "stopping", "stopped"]


# --- as a run uses them -----------------------------------------------------------------------------------------------


def test_a_run_records_its_servers_as_they_were_started(stack: LocalStack, wanted: Wanted, tmp_path: Path) -> None:
    """Only a node tells vector instructions, in a log of its own."""
    log = tmp_path / "node.log"
    log.write_text("JVM arguments [-Xmx1g]\nUsing native vector library\n")
    wanted.change("elasticsearch-1", product="OpenSearch", server_log=log, environment={"ES_JAVA_OPTS": "-Xmx7m"})
    wanted.change("kafka", version="4.1.0", java_version="21.0.5")
    target = Local(stack).target(QUICKSTART)
    ran = pids(stack)
    assert list(target.servers) == [
        Server(
            name="elasticsearch-1",
            product="OpenSearch",
            version="1.0",
            pid=ran["elasticsearch-1"],
            command_line_options=("-Xmx7m",),
            vector_instructions=("native library",),
        ),
        Server(name="kafka", version="4.1.0", pid=ran["kafka"], command_line_options=()),
        Server(name="connect", version="1.0", pid=ran["connect"], command_line_options=()),
    ]
    assert target.java_versions == {"elasticsearch-1": "17.0.15", "kafka": "21.0.5", "connect": "17.0.15"}
    assert (target.name, target.endpoints, target.process_ids()) == ("local", stack.endpoints(), ran)


def test_a_run_finds_what_it_has_started_and_learns_what_has_ended(stack: LocalStack) -> None:
    """By the mark of these servers; memory and disk reads are bounded of them alone."""
    target = Local(stack).target(QUICKSTART)
    assert target.child_environment == {STACK_MARKER: str(stack.folder)}
    with pytest.raises(ProfileError, match="no control group"), target.bounded(Bounds(memory_limit_mb=3001)):
        pass
    stack.stop()
    with pytest.raises(StackError, match="were stopped"):
        target.check()


def test_servers_are_warm_if_all_of_them_ran_before_the_command(stack: LocalStack) -> None:
    """One that is started anew is cold, and all are taken for it."""
    start(stack)
    fresh = []
    for _ in range(2):
        ours = Local(stack)
        with ours.held():
            fresh.append(ours.target(QUICKSTART).fresh)
            kill(stack, "kafka")
            fresh.append(ours.target(QUICKSTART).fresh)
    assert fresh == [False, True, False, True]


def test_the_worker_has_the_plugins_of_all_profiles_that_share_it(
    stack: LocalStack, wanted: Wanted, tmp_path: Path
) -> None:
    """It is not restarted between their runs."""
    first, second = (load_profile("quickstart", overrides=(f"sink.plugin_path={tmp_path / name}",)) for name in "ab")
    Local(stack).target(first, (first, second))
    assert wanted.shapes == [replace(shape_of(first), plugin_folders=(tmp_path / "a", tmp_path / "b"))]


# --- while a run uses them --------------------------------------------------------------------------------------------


def test_servers_that_run_are_no_word_worth(stack: LocalStack) -> None:
    """However often it is asked."""
    stack.ensure(ALL, kept=True)
    time = Time()
    watch = ServerWatch(stack, time.clock)
    for _ in range(7):
        assert watch.check() == ""
        time.sleep(11)


def test_a_server_that_has_ended_is_named_at_once_and_may_come_back(stack: LocalStack, message: MakeMessage) -> None:
    """With what to do; a server that ends later has half a minute of its own."""
    stack.ensure(ALL, kept=True)
    time = Time()
    watch = ServerWatch(stack, time.clock)
    watch.check()
    for _ in range(3):
        kill(stack, "kafka")
        time.sleep(1)
        assert watch.check() == message("kafka ended", "./sluice restart")
        time.sleep(30)
        assert watch.check() == message("kafka ended", "./sluice restart")
        stack.restart("kafka")
        time.sleep(1)
        assert watch.check() == ""


def test_a_server_that_stays_away_is_an_error_with_the_end_of_its_log(
    stack: LocalStack, wanted: Wanted, message: MakeMessage
) -> None:
    """After half a minute, not after the two that a server which does not answer is asked again."""
    stack.ensure(ALL, kept=True)
    time = Time()
    watch = ServerWatch(stack, time.clock)
    log = wanted.specs["connect"].log_file
    log.write_text("OutOfMemoryError\n")
    kill(stack, "connect")
    watch.check()
    time.sleep(31)
    with pytest.raises(StackError) as failure:
        watch.check()
    assert str(failure.value) == message("connect", log)
    assert failure.value.log_lines == ("OutOfMemoryError",)


def test_servers_that_were_stopped_are_said_to_be(stack: LocalStack, message: MakeMessage) -> None:
    """Nobody starts those again, so that there is nothing to wait for."""
    stack.ensure(ALL, kept=True)
    watch = ServerWatch(stack, Time().clock)
    stack.stop()
    with pytest.raises(StackError) as failure:
        watch.check()
    assert str(failure.value) == message()


def test_servers_are_looked_at_once_a_second(stack: LocalStack) -> None:
    """What was found holds until then."""
    start(stack)
    time = Time()
    watch = ServerWatch(stack, time.clock)
    assert watch.check() == ""
    kill(stack, "kafka")
    time.sleep(0.5)
    assert watch.check() == ""
    time.sleep(0.5)
    assert watch.check() == Naming("kafka")
    stack.restart("kafka")
    time.sleep(0.5)
    assert watch.check() == Naming("kafka")
