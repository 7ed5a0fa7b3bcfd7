"""Streams that drivers on other hosts send: by hand and over ssh, with clocks that differ, and too late."""

import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
import pytest

from lab.analysis.figures.definitions import value_of
from lab.clients.kafka import KafkaTopics
from lab.records.run import Run, WarningKind
from lab.stack.shape import StackShape
from tests.integration.conftest import NOT_TRIED, Sluice, on
from tests.integration.hosts import BRIDGE_ADDRESS, Host, NoHostsError, clock_ahead, hosts, ssh_servers

pytestmark = pytest.mark.long

DOCUMENTS = 16_411
STREAM = ("quickstart", "--documents", str(DOCUMENTS), "--rate", "1000")
"""Sixteen seconds, of which the drivers take turns: blocks of 1,024 documents go round them. In a shorter load, clocks
300 ms apart are refused, and one pause of the machine is more than 1 % late."""
LISTENERS = """
listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller},BRIDGE://{bridge}
advertised.listeners=PLAINTEXT://127.0.0.1:{client},BRIDGE://{bridge}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,BRIDGE:PLAINTEXT
"""
TARGET = """
kafka: {{bootstrap_servers: '{bootstrap}'}}
connect: {{url: '{there.connect_url}'}}
elasticsearch: {{urls: ['{there.elasticsearch_urls[0]}']}}
metrics: {{url: '{there.metrics_url}', username: sluice, password: {{file: metrics.password}}}}
"""


@dataclass(frozen=True)
class Network:
    """Two hosts, and the session's servers as they see them.

    Attributes:
        bootstrap: The broker, at an address that they reach.
        target: The file that describes all of the servers.
        folder: For whatever the hosts need.
    """

    hosts: list[Host]
    bootstrap: str
    target: Path
    folder: Path


@pytest.fixture(scope="module")
def network(sluice: Sluice, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """Two hosts, and a broker that advertises an address which they reach."""
    folder = tmp_path_factory.mktemp("hosts")
    with ExitStack() as leaving:
        try:
            there = leaving.enter_context(hosts(2, folder))
        except NoHostsError as error:
            NOT_TRIED.append(f"drivers on other hosts: {error}")
            pytest.skip(str(error))
        bootstrap = leaving.enter_context(bridged(sluice))
        target = folder / "target.yaml"
        (folder / "metrics.password").write_text(next(iter(sluice.stack.endpoints().access.secrets)))
        target.write_text(TARGET.format(bootstrap=bootstrap, there=sluice.stack.endpoints()))
        yield Network(there, bootstrap, target, folder)


@contextmanager
def bridged(sluice: Sluice) -> Iterator[str]:
    """Give the broker a listener at the bridge; its address."""
    sluice.stack.ensure(StackShape(), kept=True)
    state = sluice.stack.state()
    broker = state.server("kafka") if state else None
    assert broker is not None
    with socket.create_server((BRIDGE_ADDRESS, 0)) as free:
        bridge = f"{BRIDGE_ADDRESS}:{free.getsockname()[1]}"
    config = Path(broker.spec.command[-1])
    before = config.read_text()
    try:
        restart_with(sluice, config, before + LISTENERS.format(bridge=bridge, **broker.spec.ports))
        yield bridge
    finally:
        restart_with(sluice, config, before)


def restart_with(sluice: Sluice, config: Path, text: str) -> None:
    """Start the broker anew with another configuration."""
    config.write_text(text)
    done = sluice("restart", "kafka")
    assert (done.status, done.errors) == (0, "")


def record_of(driver: Sluice) -> Run:
    """What the last run has written down."""
    return Run.model_validate_json((driver.latest() / "run.json").read_bytes())


@dataclass(frozen=True)
class Printed:
    """What a run told whoever starts its drivers: each command, and where its record belongs."""

    commands: list[str]
    places: list[Path]

    @classmethod
    def by(cls, run: subprocess.Popen[str], number: int) -> "Printed":
        """Read it from the output of a run."""
        assert run.stdout is not None
        commands: list[str] = []
        places: list[Path] = []
        output = ""
        while len(places) < number:
            line = run.stdout.readline()
            output += line
            assert line, output
            if line.startswith("  ./sluice produce "):
                commands.append(line.strip())
            elif commands and line.rstrip().endswith(".json") and " " not in line.strip():
                places.append(Path(line.strip()))
        return cls(commands, places)

    @property
    def starts_s(self) -> float:
        """When the first document is due."""
        found = re.search(r"--start-at (\S+)", self.commands[0])
        assert found is not None
        return datetime.fromisoformat(found[1]).timestamp()


def test_drivers_that_somebody_starts_by_hand_send_one_verified_load(driver: Sluice, network: Network) -> None:
    """Each in a network of its own, by the command that was printed; no document is sent twice, none is missing.

    Their clocks are this machine's, and so are found to be the worker's within a few milliseconds.
    """
    run = driver.start(
        "run", *STREAM, "--runs", str(driver.runs), *on(network.target), "--drivers", "2", "--start-in", "20"
    )
    printed = Printed.by(run, 2)
    started = [host.start(command) for host, command in zip(network.hosts, printed.commands, strict=True)]
    said = [process.communicate(timeout=90)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    for number, (host, place) in enumerate(zip(network.hosts, printed.places, strict=True), start=1):
        shutil.copy(host.folder / f"{number}.json", place)
    output, _ = run.communicate(timeout=120)

    assert run.returncode == 0, output
    made, result = record_of(driver), driver.result()
    assert (result.status, made.documents.produced, made.documents.indexed) == ("verified", DOCUMENTS, DOCUMENTS)
    assert KafkaTopics(network.bootstrap).records_held(str(made.topic)) == DOCUMENTS
    assert sum(each.delivered for each in made.drivers) == DOCUMENTS
    assert min(each.delivered for each in made.drivers) > DOCUMENTS // 3
    for each in made.drivers:
        assert each.clock is not None
        assert abs(each.clock.ahead_ms) <= each.clock.bound_ms < 50
        assert (each.host, each.clock_of) == (None, "worker")
    assert "<h2>Drivers</h2>" in (driver.latest() / "report.html").read_text()


def test_a_driver_whose_clock_is_ahead_is_named_and_no_latency_counts_that_it_may_have_made(
    driver: Sluice, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over ssh; the second host's clock is 300 ms ahead, which is found within the bound that is told."""
    with ExitStack() as leaving:
        try:
            ahead_of_others = clock_ahead(network.folder)
            programs = leaving.enter_context(ssh_servers(network.hosts, network.folder))
        except NoHostsError as error:
            NOT_TRIED.append(f"drivers over ssh: {error}")
            pytest.skip(str(error))
        monkeypatch.setenv("PATH", str(programs), prepend=":")
        network.hosts[1].launcher(*ahead_of_others)
        there = [("--driver", f"{host.address}:{host.folder}") for host in network.hosts]

        done = driver.run(*STREAM, *on(network.target), *there[0], *there[1], "--start-in", "20")

    assert done.errors == ""
    made, result = record_of(driver), driver.result()
    assert (result.status, made.documents.indexed) == ("verified", DOCUMENTS)
    right, ahead = made.drivers
    assert right.clock is not None
    assert ahead.clock is not None
    assert abs(right.clock.ahead_ms) <= right.clock.bound_ms < 50
    assert abs(ahead.clock.ahead_ms - 300) <= ahead.clock.bound_ms < 50
    assert [each.host for each in made.drivers] == [host.address for host in network.hosts]
    (warning,) = [warning for warning in result.warnings if warning.kind is WarningKind.CLOCK_SKEW]
    assert f"(share 2 ({network.hosts[1].address}): " in warning.seen
    assert value_of(result.metrics, "end_to_end_latency_ms_p50") is None
    assert value_of(result.metrics, "delivery_latency_ms_p50") is not None


def test_a_run_has_no_figures_where_a_driver_could_not_keep_its_schedule(
    sluice: Sluice, driver: Sluice, open_target: Path, tmp_path: Path
) -> None:
    """One that stood still for a second: the run ends with that sentence, and leaves no result."""
    run = driver.start(
        "run", *STREAM, "--runs", str(driver.runs), *on(open_target), "--drivers", "2", "--start-in", "8"
    )
    printed = Printed.by(run, 2)
    started = []
    for command, place in zip(printed.commands, printed.places, strict=True):
        words = command.rpartition(" --record ")[0].split()
        started.append(sluice.start(*words[1:], "--record", str(tmp_path / place.name)))
    time.sleep(max(0.0, printed.starts_s + 0.2 - time.time()))
    stand_still(f"--record {tmp_path / printed.places[0].name}", 1.2)
    assert [process.wait(60) for process in started] == [0, 0]
    for place in printed.places:
        shutil.copy(tmp_path / place.name, place)
    output, _ = run.communicate(timeout=60)

    assert run.returncode == 4, output
    last = output.strip().splitlines()[-1]
    assert last.startswith("sluice: this run has no figures: share 1/2: "), output
    assert last.endswith("could not keep the schedule; lower the rate, or use more drivers")
    assert not list(driver.runs.rglob("result.json"))


def stand_still(words: str, seconds: float) -> None:
    """Stop a command, known by words of its line, and all that it has started, for so long."""
    (command,) = [found for found in psutil.process_iter() if words in " ".join(words_of(found))]
    processes = [command, *command.children(recursive=True)]
    for process in processes:
        process.suspend()
    time.sleep(seconds)
    for process in processes:
        process.resume()


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; none of one that has ended."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_no_driver_outlives_a_run_that_was_interrupted(
    driver: Sluice, network: Network, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It would fill a topic that nobody reads."""
    with ExitStack() as leaving:
        try:
            programs = leaving.enter_context(ssh_servers(network.hosts, tmp_path))
        except NoHostsError as error:
            NOT_TRIED.append(f"drivers over ssh: {error}")
            pytest.skip(str(error))
        monkeypatch.setenv("PATH", str(programs), prepend=":")
        network.hosts[1].launcher()
        host = network.hosts[1]
        run = driver.start(
            *("run", *STREAM, "--runs", str(driver.runs), *on(network.target)),
            *("--driver", f"{host.address}:{host.folder}", "--start-in", "120"),
        )
        await_that(lambda: producing(host) > 1, 60)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        await_that(lambda: producing(host) == 0, 20)
    assert run.returncode == 130


def await_that(happened: Callable[[], bool], within_s: float) -> None:
    """Return as soon as it has happened."""
    deadline = time.monotonic() + within_s
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)


def producing(host: Host) -> int:
    """How many processes of a driver there are in a host."""
    done = subprocess.run(["ip", "netns", "pids", host.name], check=True, capture_output=True, text=True)
    lines = [" ".join(words_of(psutil.Process(int(pid)))) for pid in done.stdout.split() if psutil.pid_exists(int(pid))]
    return sum("lab.cli produce" in line or "producers.worker" in line for line in lines)
