"""The page's process: it ends with the command that it belongs to, whatever ends that."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest

from lab.errors import StackError
from lab.identity import marked
from lab.page import serve
from lab.page.serve import KeptPage, ended, listening, page_beside, started
from lab.stack.places import ROOT
from tests.unit.messages import MakeMessage
from tests.unit.page.run_folders import begun

WITHIN_S = 20.0


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return once it is so."""
    ends_s = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < ends_s
        threading.Event().wait(0.02)


def now(address: str) -> httpx.Response:
    """What a page answers."""
    return httpx.get(address.partition("#")[0] + "api/now", trust_env=False, timeout=WITHIN_S)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))


def test_a_page_is_there_as_long_as_the_command(tmp_path: Path) -> None:
    """It says which one; afterwards nobody listens, and no process is left."""
    lines: list[str] = []
    with page_beside(tmp_path, "./sluice run quickstart", lines.append):
        (line,) = lines
        address = line.removeprefix("page: ")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=[\w-]{32}", address)
        answer = now(address).json()
        (child,) = [each for each in psutil.Process().children() if "lab.page" in each.cmdline()]
        assert address.partition("token=")[2] not in " ".join(child.cmdline())
    assert answer["page"] == {"command": "./sluice run quickstart", "ends_with_it": True}
    assert not child.is_running()
    with pytest.raises(httpx.TransportError):
        now(address)


def test_a_run_that_began_before_the_browser_came_stays_when_it_has_ended(tmp_path: Path) -> None:
    """The page's server is loaded for the first browser; the run of its command may be half done by then."""
    begun(tmp_path / "quickstart/20260101-000007", started_s=time.time() - 60, ended="verified")
    lines: list[str] = []
    with page_beside(tmp_path, "./sluice run quickstart", lines.append):
        begun(tmp_path / "quickstart/20270115-090100", started_s=time.time(), ended="verified")
        answer = now(lines[0].removeprefix("page: ")).json()
    assert answer["run"]["id"] == "20270115-090100"


def test_a_page_that_nobody_opens_loads_no_server() -> None:
    """Until a browser comes its process has read next to nothing."""
    program = "import sys, lab.page.__main__; print({'starlette', 'pydantic', 'altair'} & sys.modules.keys())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=WITHIN_S, check=True
    )
    assert done.stdout == "set()\n"


def test_a_page_that_nobody_opens_ends_with_its_command(tmp_path: Path) -> None:
    """By itself, as soon as the pipe has no writer."""
    _, child = started(tmp_path, "./sluice run quickstart")
    ended(child)
    assert child.returncode == 0


def test_a_page_ends_when_its_command_is_killed(tmp_path: Path) -> None:
    """Kill -9 leaves no word to anybody; the pipe has lost its writer all the same."""
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from lab.page.serve import started\n"
        "address, child = started(Path(sys.argv[1]), './sluice run quickstart')\n"
        "print(address, child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], env=environment, stdout=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None
        address, pid = command.stdout.readline().split()
        page = psutil.Process(int(pid))
        assert now(address).status_code == 200
        command.kill()
    wait_until(lambda: not page.is_running() or page.status() == psutil.STATUS_ZOMBIE)


def test_a_page_that_cannot_be_served_fails_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """It is said, and the command goes on."""

    def fail(*_: object) -> None:
        raise StackError("page: 127.0.0.1, port 0: cannot be listened at: Too many open files")

    monkeypatch.setattr(serve, "listening", fail)
    lines: list[str] = []
    with page_beside(tmp_path, "./sluice run quickstart", lines.append):
        assert lines == [message("127.0.0.1")]


def test_a_port_that_is_taken_is_refused(message: MakeMessage) -> None:
    """With the system's own words."""
    with listening() as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StackError) as refusal:
            listening(port=port)
    assert str(refusal.value) == message("page", "127.0.0.1", port=port)


def test_the_page_of_up_stays_and_is_found_again(tmp_path: Path) -> None:
    """By commands that come after it, which start no other; until it is stopped."""
    folder = tmp_path / "state"
    folder.mkdir()
    runs = tmp_path / "runs"
    runs.mkdir()
    page = KeptPage.start(folder, runs)
    try:
        assert KeptPage.find(folder) == page
        assert KeptPage.start(folder, runs) == page
        assert ((folder / "page.json").stat().st_mode & 0o777) == 0o600
        lines: list[str] = []
        with page_beside(runs, "./sluice run quickstart", lines.append):
            assert lines == [f"page: {page.address}"]
        assert now(page.address).json()["page"] == {"command": "./sluice up", "ends_with_it": False}
    finally:
        assert KeptPage.stop(folder)
    assert KeptPage.find(folder) is None
    assert not KeptPage.stop(folder)
    wait_until(lambda: not page.identity.is_alive)


def test_a_page_that_was_killed_is_not_found(tmp_path: Path) -> None:
    """Though its file is still there."""
    page = KeptPage.start(tmp_path, tmp_path)
    os.kill(page.identity.pid, signal.SIGKILL)
    wait_until(lambda: KeptPage.find(tmp_path) is None)
    assert (tmp_path / "page.json").exists()


@pytest.mark.parametrize("pid", [-1, 10**20])
def test_a_damaged_record_of_a_page_is_none(tmp_path: Path, pid: int) -> None:
    """The next command starts another page, and does not end with a traceback."""
    facts = {"identity": {"pid": pid, "started_s": 1.0}, "address": "http://127.0.0.1:9", "runs": str(tmp_path)}
    (tmp_path / serve.STATE).write_text(json.dumps(facts))
    assert KeptPage.find(tmp_path) is None


def test_a_page_that_up_had_no_time_to_write_down_is_stopped(tmp_path: Path) -> None:
    """By its marker, which the commands that it starts do not inherit."""
    page = KeptPage.start(tmp_path, tmp_path)
    now(page.address)  # A program that the system is still laying out has no environment yet.
    (tmp_path / "page.json").unlink()
    assert KeptPage.find(tmp_path) is None
    assert KeptPage.stop(tmp_path)
    assert not page.identity.is_alive


def test_a_page_that_cannot_be_written_down_does_not_stay(tmp_path: Path, message: MakeMessage) -> None:
    """Nobody would find it again."""
    (tmp_path / "page.json").mkdir()
    with pytest.raises(StackError) as error:
        KeptPage.start(tmp_path, tmp_path)
    assert str(error.value) == message("page")
    assert not [value for _, value in marked("SLUICE_PAGE_OF") if value == str(tmp_path)]


def test_a_page_whose_environment_is_not_there_yet_does_not_stay_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """As between the moment in which the system takes a program and the one in which it has laid it out."""
    (tmp_path / "page.json").mkdir()
    monkeypatch.setattr(serve, "marked", lambda _variable: iter(()))
    before = psutil.Process().children()
    with pytest.raises(StackError) as error:
        KeptPage.start(tmp_path, tmp_path)
    assert str(error.value) == message("page")
    assert psutil.Process().children() == before


def test_a_page_that_does_not_end_when_asked_has_ended_when_it_counts_as_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed then, and the kernel needs a moment too."""
    monkeypatch.setattr(serve, "END_WITHIN_S", 0.5)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
    environment = {**os.environ, serve.KEPT_OF: str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", deaf], env=environment, stdout=subprocess.PIPE) as page:
        assert page.stdout is not None
        page.stdout.readline()
        assert KeptPage.stop(tmp_path)
        assert not psutil.pid_exists(page.pid)
