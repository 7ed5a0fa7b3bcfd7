"""The sampler: one `Sample` per interval into a file, whatever becomes of the servers."""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import orjson

from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.monitor.connect import ConnectorReader
from lab.monitor.containers import ContainerReader, Containers
from lab.monitor.control_groups import OwnGroups
from lab.monitor.elasticsearch import ElasticsearchReader
from lab.monitor.kafka import KafkaReader
from lab.monitor.others import OtherPrograms, servers_here
from lab.monitor.probe import Probe
from lab.monitor.processes import (
    MachineReader,
    ProcessReader,
    busy_and_all_cpu_s,
    reason,
    stolen_and_all_cpu_s,
    waiting_and_all_cpu_s,
)
from lab.monitor.sink import SinkReader
from lab.records.samples import Sample

T = TypeVar("T")

ANSWER_WITHIN = 0.8
"""Part of the interval that a source has for its answer."""


class SystemClock:
    """The wall clock as it stood at the start, carried on by the monotonic one: setting the clock makes no rate."""

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return self._offset_s + time.monotonic()

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Wait until `seconds` have passed or `stop` is set; whether it is set."""
        return stop.wait(max(0.0, seconds))


CLOCK = SystemClock()
"""Of this process: phases, samples and runs are laid beside each other by their instants."""


class Reader(Protocol):
    """One source of a sample."""

    def read(self) -> object:
        """Its part of the sample at this instant; any exception is a lost reading."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """The servers that a sampler asks.

    Attributes:
        endpoints: Any node that answers is asked. Without `metrics_url` the sink's ledger is not sampled.
        index: The index under test.
        topic: The topic under test; `None` where there is none, and Kafka is then not asked.
        consumer_group: Whose committed offset counts; a sink connector's is `connect-<connector>`.
        connector: Name of the sink connector; `None` where the sink keeps no ledger of ours.
        any_connector: Name of the sink connector, whoever made it; `None` where there is none: its state is asked for.
        reads_ages: Whether the sink is asked for the ages of its records now and then, as of a stream.
        containers: `None` for servers that are processes of this machine, or are elsewhere.
        is_pulled: Whether the index reads the topic itself.
    """

    endpoints: Endpoints
    index: str
    topic: str | None
    consumer_group: str
    connector: str | None
    containers: Containers | None = None
    any_connector: str | None = None
    reads_ages: bool = False
    is_pulled: bool = False


def open_readers(sources: Sources, *, timeout_s: float, now: Callable[[], float]) -> dict[str, Reader]:
    """The readers of a run's sources; nothing is asked yet, so servers that are not up yet are no error."""
    endpoints, access = sources.endpoints, sources.endpoints.access
    readers: dict[str, Reader] = {
        "elasticsearch": ElasticsearchReader(
            endpoints.elasticsearch_urls,
            sources.index,
            timeout_s=timeout_s,
            now=now,
            access=access.elasticsearch,
            is_pulled=sources.is_pulled,
        )
    }
    if sources.topic:
        readers["kafka"] = KafkaReader(
            endpoints.kafka_bootstrap, sources.topic, sources.consumer_group, timeout_s=timeout_s, client=access.kafka
        )
    if endpoints.metrics_url and sources.connector:
        readers["sink"] = SinkReader(
            endpoints.metrics_url,
            sources.connector,
            timeout_s=timeout_s,
            access=access.metrics,
            reads_ages=sources.reads_ages,
        )
    if sources.any_connector:
        readers["connector"] = ConnectorReader(
            endpoints.connect_url, sources.any_connector, timeout_s=timeout_s, access=access.connect, hide=access.hide
        )
    if sources.containers:
        readers["containers"] = ContainerReader(sources.containers, timeout_s=timeout_s)
    return readers


class Sampler:
    """Writes a sample per interval from entering the `with` block to leaving it.

    Ticks keep to an absolute schedule; one that comes too late is left out, never made up for. A source that fails or
    does not answer in time is `None` in that sample, with its reason in `lost`, and is asked again at the next tick.

    Args:
        sources: The servers.
        path: The file that samples are appended to.
        interval_s: From tick to tick, > 0.
        processes: Server name → pid; asked at each tick, since servers may be started again.
        phase: The phase of the run that is under way.
        beside_ids: Pids of servers that are the suite's, though not this run's.
        produced: Records acknowledged by Kafka so far; `None` when nothing produces.
        clock: Time.
        readers: By their name in a sample, stand-ins for the readers of `sources`.
        probe: Done at each tick before servers are asked, so that their answers do not slow it down.
        seen: Takes each sample once it is written, in the sampler's thread.
    """

    def __init__(
        self,
        sources: Sources,
        path: Path,
        interval_s: float = 1.0,
        *,
        processes: Callable[[], Mapping[str, int]] = dict,
        beside_ids: Callable[[], Collection[int]] = tuple,
        phase: Callable[[], str],
        produced: Callable[[], int | None] = lambda: None,
        clock: SystemClock | None = None,
        readers: Mapping[str, Reader] | None = None,
        probe: Probe | None = None,
        seen: Callable[[Sample], None] = lambda _: None,
    ) -> None:
        if interval_s <= 0:
            raise ValueError(f"sampler: interval_s: got {interval_s}, expected more than 0")
        self.latest: Sample | None = None
        self._path = path
        self._interval_s = interval_s
        self._clock = clock or CLOCK
        self._answer_within_s = interval_s * ANSWER_WITHIN
        if readers is None:
            readers = open_readers(sources, timeout_s=self._answer_within_s, now=self._clock.now_s)
        self._readers = readers
        self._processes = ProcessReader(processes)
        self._machine_busy = MachineReader(busy_and_all_cpu_s)
        self._machine_waits = MachineReader(waiting_and_all_cpu_s)
        self._machine_stolen = MachineReader(stolen_and_all_cpu_s)
        self._others = OtherPrograms()
        self._own_groups = OwnGroups()
        self._beside_ids = beside_ids
        self._probe = probe or Probe()
        self._phase = phase
        self._produced = produced
        self._seen = seen
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._futures: dict[str, Future[object]] = {}

    def __enter__(self) -> Self:
        """Start sampling; raises StackError if the file cannot be written to."""
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise StackError(f"{self._path}: samples cannot be written: {error.strerror}") from error
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End after the sample under way, if any; the file is complete and closed when this returns."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        # A thread for each source: one that hangs delays no other.
        self._pools = {name: ThreadPoolExecutor(1, thread_name_prefix=f"sampler-{name}") for name in self._readers}
        try:
            with self._file as file:
                self._tick_until_stopped(file)
        finally:
            for name, reader in self._readers.items():
                self._pools[name].shutdown(wait=True)
                reader.close()

    def _tick_until_stopped(self, file: FileIO) -> None:
        due_s = self._clock.now_s()
        unwritten: str | None = None
        while not self._clock.wait(self._stop, due_s - self._clock.now_s()):
            sample = self._sample()
            if unwritten:
                sample = sample.model_copy(update={"lost": {**sample.lost, "samples": unwritten}})
            unwritten = self._write(file, sample)
            self.latest = sample
            self._seen(sample)
            late_ticks = max(0, int((self._clock.now_s() - due_s) / self._interval_s))
            due_s += (1 + late_ticks) * self._interval_s

    def _write(self, file: FileIO, sample: Sample) -> str | None:
        """Append one line; why that could not be done."""
        line = orjson.dumps(sample.model_dump(exclude_defaults=True), option=orjson.OPT_APPEND_NEWLINE)
        # Whoever reads along may empty the file, though never a line that it has not seen. Not all disks have locks.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            # A disk that is nearly full takes a part of it, after which the next line must not go on.
            if (written := file.write(line)) != len(line):
                file.truncate(file.seek(0, os.SEEK_END) - (written or 0))
                return "the sample before could not be written: the disk is full"
        except OSError as error:
            return f"the sample before could not be written: {reason(error)}"
        finally:
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)
        return None

    def _sample(self) -> Sample:
        lost: dict[str, str] = {}
        probe = _or_lost("probe", self._probe.read, lost)
        # After the probe: rates are taken between these instants, and servers are asked at them.
        at_s = self._clock.now_s()
        futures = self._ask(lost)
        phase = _or_lost("phase", self._phase, lost) or "unknown"
        produced = _or_lost("producer", self._produced, lost)
        machine_cpu_percent = _or_lost("machine", self._machine_busy.read, lost)
        machine_iowait_percent = _or_lost("machine", self._machine_waits.read, lost)
        machine_steal_percent = _or_lost("machine", self._machine_stolen.read, lost)
        processes, lost_processes = _or_lost("processes", self._processes.read, lost) or ({}, {})
        answers = self._answers(futures, lost)
        containers, container_groups, lost_containers = answers.pop("containers", ({}, {}, {}))
        servers = servers_here(processes, containers, container_groups)

        def read_others() -> float | None:
            return self._others.read([*servers, *self._beside_ids()])

        other_cpu_percent = _or_lost("other programs", read_others, lost) if servers else None
        return Sample(
            at_s=at_s,
            phase=phase,
            produced=produced,
            **answers,
            processes={**processes, **containers},
            control_groups={**self._own_groups.read(processes), **container_groups},
            machine_cpu_percent=machine_cpu_percent,
            machine_iowait_percent=machine_iowait_percent,
            machine_steal_percent=machine_steal_percent,
            other_cpu_percent=other_cpu_percent,
            probe_wall_ms=probe and probe.wall_ms,
            probe_cpu_ms=probe and probe.cpu_ms,
            lost={**lost, **lost_processes, **lost_containers},
        )

    def _ask(self, lost: dict[str, str]) -> dict[str, Future[object]]:
        """Ask every source that has answered, or failed, since it was last asked."""
        futures = {}
        for name, reader in self._readers.items():
            before = self._futures.get(name)
            if before is not None and not before.done():
                lost[name] = "still waiting for the answer to an earlier tick"
                continue
            self._futures[name] = futures[name] = self._pools[name].submit(reader.read)
        return futures

    def _answers(self, futures: Mapping[str, Future[object]], lost: dict[str, str]) -> dict[str, Any]:
        done, _ = wait_for(futures.values(), timeout=self._answer_within_s)
        answers: dict[str, Any] = {}
        for name, future in futures.items():
            if future not in done:
                lost[name] = f"no answer within {self._answer_within_s:g} s"
            elif (error := future.exception()) is not None:
                lost[name] = reason(error)
            else:
                answers[name] = future.result()
        return answers


def _or_lost(name: str, read: Callable[[], T], lost: dict[str, str]) -> T | None:
    try:
        return read()
    except Exception as error:
        lost[name] = reason(error)
        return None
