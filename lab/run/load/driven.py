"""A stream that drivers on other hosts send: told when to start, waited for, their records put together."""

import contextlib
import json
import os
import shlex
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO

from lab import VERSION
from lab.analysis.folder import parsed
from lab.analysis.shares import gathered
from lab.analysis.text import duration
from lab.clients.clocks import BROKERS_TIME, ahead_of_agent, ahead_of_broker
from lab.clients.target import topics_of
from lab.console import console
from lab.endpoints import urls_of
from lab.errors import StackError, VerificationError
from lab.records.drivers import ClockOffset, Driver, covering_offset
from lab.records.samples import Sample
from lab.records.shares import DeliveryRecord
from lab.run.load.drivers import CLIENT_FILE, Drivers, Host, SharedLoad
from lab.run.load.produce import Producing, client_settings
from producers.children import last_lines
from producers.delivery import Delivered
from producers.produce import instant
from producers.share import Share

POLL_S = 0.2
LOG_LINES_SHOWN = 6
GRACE_S = 10.0


class Way(ABC):
    """How drivers are started, and how their records come back: as files of one folder, by the share's number."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, share: Share) -> Path:
        """Where a record ends up."""
        return self._folder / f"{share.number}.json"

    @abstractmethod
    def start(self, load: SharedLoad, shares: list[Share]) -> None:
        """Have a driver of each share started."""

    def content(self, share: Share) -> bytes | None:
        """The record of a share; `None` as long as there is none, or not all of it.

        Raises:
            StackError: There will be none.
        """
        with contextlib.suppress(FileNotFoundError):
            content = self.file(share).read_bytes()
            return content if content.endswith(b"\n") else None
        return None

    @abstractmethod
    def stop(self) -> None:
        """End the drivers that still run, as far as that can be done from here."""


class ByHand(Way):
    """Somebody starts each with a command that is printed, and copies its record here."""

    def start(self, load: SharedLoad, shares: list[Share]) -> None:
        """Print what is to be done."""
        in_s = datetime.fromisoformat(load.start_at).timestamp() - time.time()
        lines = [f"Start each of these on a host of its own within {duration(max(0.0, round(in_s)))}:"]
        lines += [f"  {shlex.join(load.by_hand(share))}" for share in shares]
        if load.secrets:
            names = ", ".join(load.secrets)
            lines.append(f"with a file {CLIENT_FILE} beside it, of lines NAME=VALUE or a JSON object, with: {names}")
        lines += ["Then copy what each has written here:", *(f"  {self.file(share)}" for share in shares)]
        for line in lines:
            console.print(line, soft_wrap=True, markup=False, emoji=False)

    def stop(self) -> None:
        """Whoever has started them ends them."""


class OverSsh(Way):
    """Each is started over ssh. It ends with its standard input, so that none outlives this process."""

    def __init__(self, folder: Path, hosts: tuple[Host, ...], environment: Mapping[str, str]) -> None:
        super().__init__(folder)
        self._hosts = hosts
        self._environment = environment
        self._processes: dict[Share, subprocess.Popen[bytes]] = {}

    def start(self, load: SharedLoad, shares: list[Share]) -> None:
        """Start them all, each with a log of its own."""
        # In one line: a key in PEM has several.
        settings = json.dumps(load.secrets)
        for share, host in zip(shares, self._hosts, strict=True):
            with self.file(share).open("wb") as record, self._log(share).open("wb") as log:
                self._processes[share] = process = self._started(host.ssh_words(load.over_ssh(share)), record, log)
            assert process.stdin is not None  # noqa: S101 - a pipe
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(f"{settings}\n".encode())
                process.stdin.flush()

    def _started(self, command: list[str], record: IO[bytes], log: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=record,
                stderr=log,
                env={**os.environ, **self._environment},
                # A session of its own: Ctrl-C reaches this process only, which then ends them all.
                start_new_session=True,
            )
        except OSError as error:
            raise StackError(f"drivers: {command[0]}: cannot be started: {error.strerror}") from error

    def _log(self, share: Share) -> Path:
        return self.file(share).with_suffix(".log")

    def content(self, share: Share) -> bytes | None:
        """The record of a share once its driver has ended; raises StackError if that has failed."""
        status = self._processes[share].poll()
        if status is None:
            return None
        if status:
            log = self._log(share)
            with log.open("rb") as file:
                lines = last_lines(file, LOG_LINES_SHOWN)
            address = self._hosts[share.number - 1].address
            raise StackError(f"driver {address} (share {share}): ended with status {status}; its log is {log}", lines)
        return self.file(share).read_bytes()

    def stop(self) -> None:
        """Close their standard input, and end what is left of ssh here after a while."""
        for process in self._processes.values():
            assert process.stdin is not None  # noqa: S101 - a pipe
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        for process in self._processes.values():
            try:
                process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@dataclass
class DrivenStream:
    """The stream of a run that drivers on other hosts send.

    Attributes:
        latest: The newest sample.
        check: Raises an error if what takes part in the run has ended.
        drivers: What is known of each, once they have sent.
    """

    producing: Producing
    plan: Drivers
    latest: Callable[[], Sample | None]
    check: Callable[[], None]
    drivers: tuple[Driver, ...] = field(default=(), init=False)

    def run(self) -> Delivered:
        """Have them send all documents; what they delivered together.

        Raises:
            ProfileError: A record is of another load.
            StackError: A driver failed, or its record did not come in time.
            VerificationError: One could not keep the schedule, so that the run has no figures.
        """
        run = self.producing.run
        run.progress.begin("load", "comparing clocks", None)
        topics_of(run.target.endpoints).create(
            run.names.clock_topic,
            partitions=1,
            replication_factor=run.profile.topic.replication_factor,
            config=BROKERS_TIME,
        )
        before = self.worker_ahead_of_broker()
        load = self.shared_load()
        try:
            records = self.records(load)
        finally:
            self.producing.produced = None
        try:
            delivered = gathered(records, self.planned(load))
        except VerificationError as error:
            raise VerificationError(f"this run has no figures: {error}") from error
        worker = covering_offset([before, self.worker_ahead_of_broker()])
        self.drivers = tuple(self.driver_of(record, worker) for record in records.values())
        return delivered

    def shared_load(self) -> SharedLoad:
        """What every driver sends; from here on, time runs."""
        run = self.producing.run
        client = client_settings(run.profile, run.target.endpoints)
        return SharedLoad(
            profile=run.profile,
            bootstrap_servers=client.pop("bootstrap.servers"),
            topic=run.names.topic,
            clock_topic=run.names.clock_topic,
            start_at=instant(time.time() + self.plan.start_in_s),
            client=client,
        )

    def planned(self, load: SharedLoad) -> dict[str, object]:
        """What each record must say of the load."""
        run = self.producing.run
        dataset = run.profile.dataset
        options = {name: value for name, value in dataset.options.items() if name != "path" and value is not None}
        return {
            "sluice_version": VERSION,
            "topic": load.topic,
            "dataset": {"name": dataset.name, "seed": dataset.seed, **options},
            "content_hash": run.dataset.content_hash,
            "documents": run.dataset.documents,
            "of": self.plan.number,
            "processes": run.profile.producer.processes,
            "rate_docs_per_s": run.profile.load.rate_docs_per_s,
            "start_at_s": datetime.fromisoformat(load.start_at).timestamp(),
        }

    # --- records -----------------------------------------------------------------------------------------------------

    def records(self, load: SharedLoad) -> dict[str, DeliveryRecord]:
        """The delivery record of each share, by its file, in the order of the shares."""
        run = self.producing.run
        folder = run.folder.path / "drivers"
        folder.mkdir()
        environment = run.target.child_environment
        way = OverSsh(folder, self.plan.hosts, environment) if self.plan.hosts else ByHand(folder)
        shares = [Share(number, self.plan.number) for number in range(1, self.plan.number + 1)]
        try:
            way.start(load, shares)
            contents = dict(self.awaited(way, shares, load))
        finally:
            way.stop()
        return {str(way.file(share)): parsed(DeliveryRecord, contents[share], str(way.file(share))) for share in shares}

    def awaited(self, way: Way, shares: list[Share], load: SharedLoad) -> Iterator[tuple[Share, bytes]]:
        """Each record as it comes."""
        run = self.producing.run
        run.progress.begin("load", "drivers stream", run.dataset.documents)
        waiting = list(shares)
        starts_s = self.producing.first_due_s = datetime.fromisoformat(load.start_at).timestamp()
        lasts_s = run.dataset.documents / (run.profile.load.rate_docs_per_s or 1) + run.profile.load.timeout_s
        while waiting:
            for share in tuple(waiting):
                if (content := way.content(share)) is not None:
                    waiting.remove(share)
                    yield share, content
            self.show(len(shares) - len(waiting), starts_s - time.time())
            if waiting and time.time() > starts_s + lasts_s:
                names = ", ".join(map(str, waiting))
                raise StackError(
                    f"drivers: no delivery record of share {names} after load.timeout_s = "
                    f"{run.profile.load.timeout_s:g} s; expected {way.file(waiting[0])}"
                )
            time.sleep(POLL_S)

    def show(self, done: int, starts_in_s: float) -> None:
        """Tell the display how far they are, by the topic, and look after the sink until all documents are there."""
        run = self.producing.run
        sample = self.latest()
        arrived = sample.kafka.end_offset if sample and sample.kafka else 0
        self.producing.produced = arrived
        detail = f"{done} of {self.plan.number} drivers done"
        run.progress.update(arrived, f"starts in {duration(round(starts_in_s))}" if starts_in_s > 0 else detail)
        if arrived < run.dataset.documents:
            self.check()

    # --- clocks ------------------------------------------------------------------------------------------------------

    def worker_ahead_of_broker(self) -> ClockOffset | None:
        """The worker's clock against that of the broker that drivers ask, both by way of ours; `None` if unknown.

        Of several workers each may end a latency, so the answer covers all of them.
        """
        run = self.producing.run
        endpoints = run.target.endpoints
        if endpoints.metrics_url is None:
            return None
        ours = ahead_of_broker(run.names.clock_topic, client_settings(run.profile, endpoints))
        agents = urls_of(endpoints.metrics_url)
        of_agent = covering_offset([ahead_of_agent(url, endpoints.access.metrics) for url in agents])
        return None if ours is None or of_agent is None else ours.minus(of_agent)

    def driver_of(self, record: DeliveryRecord, worker: ClockOffset | None) -> Driver:
        """What is known of the driver that has written a record.

        Args:
            worker: How far the worker's clock is ahead of the broker's.
        """
        has_worker = self.producing.run.target.endpoints.metrics_url is not None
        clock = record.clock
        if has_worker:
            clock = None if clock is None or worker is None else clock.minus(worker)
        sent = record.delivered
        return Driver(
            share=record.share,
            host=self.plan.hosts[record.share - 1].address if self.plan.hosts else None,
            delivered=sent.delivered,
            late_documents=sent.late_documents,
            latency_ms=sent.latency_ms,
            cpu_s=sent.cpu_s,
            clock=clock,
            clock_of="worker" if has_worker else "broker",
        )
