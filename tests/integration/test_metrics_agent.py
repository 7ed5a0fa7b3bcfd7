"""The metrics agent of a worker, attacked: whoever comes executes, sets, loads and dumps nothing; the figures stay."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lab.endpoints import Endpoints
from lab.stack.artifacts import ArtifactCache, read_lock
from lab.stack.jdk import find_jdks
from lab.stack.metrics_agent import POLICY, SETTINGS, configure, jvm_option
from lab.stack.places import cache_dir
from lab.stack.ports import accepts_connections
from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice
from tests.integration.metrics_attacks import (
    ATTACKS,
    ORIGIN,
    PAGES,
    STRANGERS,
    Attacker,
    figures_shown,
    succeeded,
    worked,
)

IDLE = ("--add-modules", "ALL-SYSTEM", "-m", "java.base/sun.security.tools.keytool.Main", "-printcert")
"""A program that every Java runtime has, and that waits for its input."""
STARTED_WITHIN_S = 30
NOBODY_UID = 65534


@pytest.fixture
def start_agent() -> Iterator[Callable[[str, int], str]]:
    """Starts a small Java program with the agent and an option of its own; the agent's URL."""
    (jar,) = ArtifactCache(cache_dir()).fetch(read_lock().sets["jolokia"])
    with ExitStack() as running:

        def start(option: str, port: int) -> str:
            words = [str(find_jdks()[0].java), "-Xmx64m", option.replace("AGENT", str(jar)), *IDLE]
            process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            running.callback(process.wait)
            running.callback(process.kill)
            deadline = time.monotonic() + STARTED_WITHIN_S
            while not accepts_connections(port):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
            return f"http://127.0.0.1:{port}/jolokia"

        yield start


@pytest.fixture
def there(sluice: Sluice) -> Endpoints:
    """The session's servers."""
    return sluice.stack.ensure(StackShape(), kept=True)


def free_port() -> int:
    """A port that is free just now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def test_the_attacks_succeed_on_an_agent_without_a_policy(
    start_agent: Callable[[str, int], str], tmp_path: Path
) -> None:
    """As we and others have started it: so what fails below fails for a reason."""
    port = free_port()
    url = start_agent(f"-javaagent:AGENT=host=127.0.0.1,port={port}", port)
    assert succeeded(Attacker(url, tmp_path)) == {attack.__name__ for attack in ATTACKS}
    assert figures_shown(Attacker(url, tmp_path))


@pytest.mark.parametrize("who", STRANGERS)
def test_a_stranger_has_nothing_of_a_worker(there: Endpoints, tmp_path: Path, who: str) -> None:
    """Neither an effect nor a figure."""
    stranger = Attacker(str(there.metrics_url), tmp_path, STRANGERS[who])
    assert succeeded(stranger) == set()
    assert not figures_shown(stranger)


def test_who_has_the_password_reads_figures_and_does_nothing_else(there: Endpoints, tmp_path: Path) -> None:
    """A reader that somebody has broken into is no way into the worker."""
    reader = Attacker(str(there.metrics_url), tmp_path, {**ORIGIN, **there.access.metrics.headers()})
    assert succeeded(reader) == set()
    assert figures_shown(reader)
    assert worked(reader.get("/version"))


def content_of(file: Path) -> bytes:
    """Bytes of a file; none of one that is gone: Kafka removes those of a deleted topic a minute later."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def test_the_password_is_in_one_file_that_others_cannot_read(sluice: Sluice, there: Endpoints) -> None:
    """In no command line, state file, log or record."""
    (secret,) = there.access.secrets
    folders = (sluice.state, sluice.runs)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    holding = [path for path in files if path.suffix not in {".log", ".index"} and secret.encode() in content_of(path)]
    logs = [path for path in files if path.name == "connect.log" and secret.encode() in content_of(path)]
    assert [path.name for path in holding] == ["jolokia.properties"]
    assert logs == []
    assert not [process for process in sluice.processes() if secret in " ".join(process.cmdline())]
    if os.geteuid() == 0:
        stranger = subprocess.run(
            ["cat", holding[0]], user=NOBODY_UID, group=NOBODY_UID, capture_output=True, check=False
        )
        assert stranger.returncode != 0


def configured(folder: Path, port: int, *, policy: str, with_password: bool) -> str:
    """The JVM option of an agent with our settings."""
    config = folder / "jolokia.properties"
    if with_password:
        configure(config, port)
        config.write_text(config.read_text().replace(POLICY.as_uri(), policy))
    else:
        config.write_text(f"{SETTINGS.read_text()}\npolicyLocation={policy}\nhost=127.0.0.1\nport={port}\n")
    return jvm_option(Path("AGENT"), config)


def test_without_a_password_figures_are_all_there_is_and_pages_have_none(
    start_agent: Callable[[str, int], str], tmp_path: Path
) -> None:
    """As in containers without compose/secure.yaml."""
    port = free_port()
    url = start_agent(configured(tmp_path, port, policy=POLICY.as_uri(), with_password=False), port)
    local = Attacker(url, tmp_path, ORIGIN)
    assert (succeeded(local), figures_shown(local)) == (set(), True)
    for who, headers in PAGES.items():
        page = Attacker(url, tmp_path, headers)
        assert (succeeded(page), figures_shown(page)) == (set(), False), who


def test_an_agent_whose_policy_is_missing_denies_everything(
    start_agent: Callable[[str, int], str], tmp_path: Path
) -> None:
    """Jolokia allows everything where a policy of its class path is missing; ours is a file."""
    port = free_port()
    url = start_agent(configured(tmp_path, port, policy=f"file://{tmp_path}/none.xml", with_password=False), port)
    local = Attacker(url, tmp_path, ORIGIN)
    assert (succeeded(local), figures_shown(local)) == (set(), False)
