"""Waiting for servers: until they are ready, have died, or are given up."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from lab.errors import StackError
from lab.stack import readiness, server
from lab.stack.readiness import answers, wait_for_all, wait_until_ready
from lab.stack.server import ServerProcess, start
from tests.unit.monitor.servers import server as http_server
from tests.unit.stack.trivial_servers import shell, spec_of, wait_until


@pytest.fixture(autouse=True)
def _quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "POLL_S", 0.002)


def all_are_ready(monkeypatch: pytest.MonkeyPatch, *but: str) -> None:
    """Every server is ready at once, except these."""
    monkeypatch.setattr(readiness, "is_ready", lambda entry: entry.spec.name not in but)


def launcher(folder: Path, script: str) -> tuple[str, ...]:
    """A launcher as Elasticsearch has one; `$pid_file` is where the server's pid belongs."""
    return shell(f"pid_file={folder}/pid; {script}")


def test_a_server_is_returned_once_it_is_ready(tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked until it says so."""
    looks = iter([False, False, True])
    monkeypatch.setattr(readiness, "is_ready", lambda _: next(looks))
    entry = start(spec_of(tmp_path), marker)
    assert wait_until_ready(entry, lambda _: None) == entry
    assert list(looks) == []


def test_the_server_behind_a_launcher_is_the_one_of_the_pid_file(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told of as soon as it is known, so that it can be written down."""
    all_are_ready(monkeypatch)
    spec = spec_of(
        tmp_path,
        "elasticsearch-1",
        launcher(tmp_path, "sleep 997 & echo $! > $pid_file"),
        pid_file=tmp_path / "pid",
    )
    told: list[ServerProcess] = []
    ready = wait_until_ready(start(spec, marker), told.append)
    assert told == [ready]
    wait_until(lambda: psutil.Process(ready.pid).cmdline() == ["sleep", "997"])


def test_a_launcher_may_end_before_the_server_writes_its_pid_file(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elasticsearch 7 starts its JVM in the background and leaves."""
    all_are_ready(monkeypatch)
    server_script = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo $$ > {tmp_path}/pid; exec sleep 997"
    spec = spec_of(
        tmp_path,
        "elasticsearch-1",
        launcher(tmp_path, f"sh -c '{server_script}' & exit 0"),
        pid_file=tmp_path / "pid",
    )
    launched = start(spec, marker)
    looked: list[int] = []

    def go_after_some_looks() -> bool:
        looked.append(1)
        if len(looked) == 31:
            (tmp_path / "go").touch()
        return False

    ready = wait_until_ready(launched, lambda _: None, cancelled=go_after_some_looks)
    assert ready.pid == int((tmp_path / "pid").read_text())


def test_a_launcher_that_leaves_nothing_behind_has_failed(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ended before it wrote its pid file; nobody waits three minutes to say so."""
    all_are_ready(monkeypatch)
    spec = spec_of(tmp_path, "elasticsearch-1", shell("echo no such option; exit 0"), pid_file=tmp_path / "pid")
    with pytest.raises(StackError) as failure:
        wait_until_ready(start(spec, marker), lambda _: None)
    assert str(failure.value) == f"elasticsearch-1: ended while starting; its log is {spec.log_file}"
    assert failure.value.log_lines == ("no such option",)


def test_a_launcher_that_fails_says_how(tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exit status is that of the server it could not start."""
    all_are_ready(monkeypatch)
    spec = spec_of(tmp_path, "elasticsearch-1", shell("echo no memory; exit 78"), pid_file=tmp_path / "pid")
    with pytest.raises(StackError) as failure:
        wait_until_ready(start(spec, marker), lambda _: None)
    assert str(failure.value) == (
        f"elasticsearch-1: ended with exit status 78 while starting; its log is {spec.log_file}"
    )


def test_a_pid_file_of_an_earlier_start_is_not_believed(tmp_path: Path, marker: Path) -> None:
    """It would name a process that is gone, or a stranger."""
    (tmp_path / "pid").write_text(str(os.getpid()))
    launched = start(spec_of(tmp_path, "elasticsearch-1", pid_file=tmp_path / "pid"), marker)
    assert server.daemon(launched) is None


@pytest.mark.parametrize("text", ["", "\n", "no number", "4194304"])
def test_a_pid_file_without_a_running_process_is_waited_for(tmp_path: Path, marker: Path, text: str) -> None:
    """It may be half-written."""
    launched = start(spec_of(tmp_path, "elasticsearch-1", pid_file=tmp_path / "pid"), marker)
    (tmp_path / "pid").write_text(text)
    assert server.daemon(launched) is None


def test_a_server_that_ends_while_starting_is_one_sentence_with_its_last_lines(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is in its log."""
    all_are_ready(monkeypatch, "kafka")
    spec = spec_of(tmp_path, command=shell("echo cannot bind; exit 7"))
    with pytest.raises(StackError) as failure:
        wait_until_ready(start(spec, marker), lambda _: None)
    assert str(failure.value) == f"kafka: ended with exit status 7 while starting; its log is {spec.log_file}"
    assert failure.value.log_lines == ("cannot bind",)


def test_a_daemon_that_dies_after_its_launcher_has_left_is_noticed(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launcher's 0 is not the server's."""
    all_are_ready(monkeypatch, "elasticsearch-1")
    spec = spec_of(
        tmp_path,
        "elasticsearch-1",
        launcher(tmp_path, "sleep 997 & echo $! > $pid_file"),
        pid_file=tmp_path / "pid",
    )
    with pytest.raises(StackError) as failure:
        wait_until_ready(start(spec, marker), lambda entry: os.kill(entry.pid, signal.SIGKILL))
    assert str(failure.value) == f"elasticsearch-1: ended while starting; its log is {spec.log_file}"


def test_a_server_that_is_not_ready_in_time_is_one_sentence(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the place of its log."""
    all_are_ready(monkeypatch, "kafka")
    spec = spec_of(tmp_path)
    with pytest.raises(StackError) as failure:
        wait_until_ready(start(spec, marker), lambda _: None, timeout_s=0)
    assert str(failure.value) == f"kafka: not ready after 0 s; its log is {spec.log_file}"


def test_the_first_failure_ends_the_waiting_for_all(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is that of the server that failed, not of the one that was given up."""
    all_are_ready(monkeypatch, "kafka", "connect")
    launched = [
        start(spec_of(tmp_path, "connect"), marker),
        start(spec_of(tmp_path, "kafka", shell("exit 7")), marker),
    ]
    with pytest.raises(StackError, match=r"^kafka: ended with exit status 7 while starting"):
        wait_for_all(launched, lambda _: None, lambda _: None)


def test_every_server_is_announced_when_it_is_ready(
    tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And returned in the order of the specifications."""
    all_are_ready(monkeypatch)
    launched = [start(spec_of(tmp_path, name), marker) for name in ("elasticsearch-1", "kafka", "connect")]
    announced: list[str] = []
    assert wait_for_all(launched, lambda _: None, announced.append) == tuple(launched)
    assert sorted(announced) == ["connect", "elasticsearch-1", "kafka"]


def test_no_servers_are_ready_at_once() -> None:
    """Everything that was wanted ran already."""
    assert wait_for_all([], lambda _: None, lambda _: None) == ()


@pytest.mark.parametrize(("status", "answered"), [(200, True), (404, False), (503, False)])
def test_a_server_answers_if_its_status_is_200(status: int, answered: bool) -> None:  # noqa: FBT001
    """A worker that is still joining its group says 503."""
    with http_server(lambda _path, _body: (status, {})) as url:
        assert answers(url) is answered


def test_a_server_that_is_not_there_does_not_answer() -> None:
    """Which is no error while it starts."""
    with http_server(lambda _path, _body: (200, {})) as url:
        pass
    assert not answers(url)


def test_the_servers_of_this_machine_are_not_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that the downloads need cannot reach them."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with http_server(lambda _path, _body: (200, {})) as url:
        assert answers(url)


def test_a_stopped_server_is_waited_for_no_longer(tmp_path: Path, marker: Path) -> None:
    """Its session is empty once it has ended."""
    entry = start(spec_of(tmp_path, command=shell("exit 0")), marker)
    wait_until(lambda: server.reap(entry.pid) is not None)
    assert not server.session_lives(entry.pid)
