"""The pipeline under test: started, stopped, killed and joined by a second one, as an operator or a crash would."""

import os
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.clients.connect import ConnectWorker
from lab.clients.kafka import KafkaTopics, Place, as_text, headers_of
from lab.errors import SluiceError, StackError
from lab.prove.history import Sent
from lab.prove.judge import Claims
from lab.run.load.connector import Connector
from lab.run.load.sink import Sink
from lab.run.phases import RunContext
from lab.stack.elasticsearch import node_name
from lab.stack.local import LocalStack

MOST_RESTARTS = 3
MOST_LOG_BYTES = 64 << 20
SECOND = "second"


@dataclass
class Subject:
    """One pipeline of one case.

    Attributes:
        run: Its topic, index, folder and servers, of which the cluster is the proxy.
        stopped: Its words, each time that it stopped and said so.
        ended: True once it has ended by itself as if all were done.
    """

    run: RunContext
    worker: ConnectWorker
    stack: LocalStack
    stopped: list[str] = field(default_factory=list)
    ended: bool = False
    _sink: Sink | None = None
    _second: "Subject | None" = None
    _log_from: int = 0

    def __post_init__(self) -> None:
        log = self._server_log
        self._log_from = log.stat().st_size if log and log.is_file() else 0

    @property
    def sink(self) -> Sink:
        """As it was started last."""
        assert self._sink is not None  # noqa: S101 - `start` comes first
        return self._sink

    @property
    def is_connector(self) -> bool:
        """True for a connector of the worker."""
        return isinstance(self.sink.pipeline, Connector)

    def claims(self) -> Claims:
        """Its promises."""
        pipeline = self.sink.pipeline
        return Claims(pipeline.ids(), pipeline.deletes(), self.sink.stored)

    def configure(self) -> None:
        """Check its settings; nothing is started."""
        self._sink = Sink(self.run, self.worker)
        self.sink.configure()

    def start(self) -> None:
        """Start it."""
        self.configure()
        self.sink.start()

    def stop(self) -> None:
        """Stop it as an operator does; its committed offsets stay."""
        if self._second is not None:
            self._second.stop()
            self._second = None
        if self._sink is None:
            return
        if self.is_connector:
            self.worker.delete(self.run.names.connector, made_within_s=1.0)
        else:
            self.sink.stop_command()

    def restart(self) -> None:
        """Stop it and start it again."""
        self.stop()
        self.start()

    def kill(self) -> None:
        """End it by SIGKILL, a connector with its worker, and start it again."""
        if self.is_connector:
            self.kill_server("connect")
            return
        if (pid := self.run.children.get("sink")) is None:
            raise StackError(f"{self.sink.pipeline.context.name}: cannot be killed: `start` gave no process")
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        with suppress(SluiceError):
            self.sink.stop_command()
        self.start()

    def join(self) -> None:
        """Have a second one share its work: another task of the connector, or another program of the same group."""
        if isinstance(self.sink.pipeline, Connector):
            self.sink.pipeline.config["tasks.max"] = "2"
            self.sink.pipeline.start()
            return
        folder = replace(self.run.folder, path=self.run.folder.path / SECOND)
        folder.path.mkdir()
        self._second = Subject(replace(self.run, folder=folder, children={}), self.worker, self.stack)
        self._second.start()

    def kill_server(self, name: str) -> None:
        """End a server by SIGKILL and start it again."""
        os.kill(self.stack.process_ids()[name], signal.SIGKILL)
        self.stack.restart(name)

    def look(self) -> None:
        """See whether it still runs; one that has stopped and said so is started again, three times at most."""
        if self.ended or len(self.stopped) > MOST_RESTARTS:
            return
        try:
            self.ended = self.sink.ended_s() is not None
        except StackError as error:
            self.stopped.append(str(error))
            if len(self.stopped) <= MOST_RESTARTS:
                with suppress(SluiceError):
                    self.stop()
                self._start_again()

    def _start_again(self) -> None:
        try:
            self.start()
        except SluiceError as error:
            self.stopped.append(str(error))

    @property
    def has_stopped(self) -> str:
        """Its last words, if it was not started again; empty while it runs."""
        return self.stopped[-1] if len(self.stopped) > MOST_RESTARTS else ""

    # --- what it says -----------------------------------------------------------------------------------------------

    @property
    def _server_log(self) -> Path | None:
        """Log of the server that the pipeline is a part of: of a connector the worker, else a node that pulls."""
        with suppress(SluiceError):
            spec = self.stack.server("connect" if self.run.profile.sink.is_connector else node_name(1)).spec
            return spec.server_log or spec.log_file
        return None

    def texts(self) -> Iterator[bytes]:
        """Texts that the pipeline has written: files right in its folder, and the log of the server it is part of."""
        folder = self.run.folder.path
        for file in sorted((*folder.glob("*"), *folder.glob(f"{SECOND}/*"))):
            if file.is_file():
                with file.open("rb") as content:
                    yield content.read(MOST_LOG_BYTES)
        is_in_server = self.is_connector or self.sink.pipeline.pulls
        if is_in_server and (log := self._server_log) and log.is_file():
            with log.open("rb") as content:
                content.seek(self._log_from if log.stat().st_size >= self._log_from else 0)
                yield content.read(MOST_LOG_BYTES)

    def worded(self, records: Sequence[Sent]) -> set[int]:
        """Numbers of the records that it names in its log or files, by content, by key or by place."""
        told: set[int] = set()
        topic = re.escape(self.run.names.topic)
        places = re.compile(
            rf"{topic}\W{{1,4}}(?:partition\W{{1,3}})?(\d+)\W{{1,4}}(?:offset\W{{1,3}})?(\d+)"
            # As the poller and the processor of OpenSearch's pull-based ingestion log a record that they drop.
            rf"|Index={re.escape(self.run.names.index)}, Shard=(\d+), (?:_id:\S+ )?pointer[:=](\d+)".encode()
        )
        of_place = {(record.partition, record.offset): record.number for record in records}
        for text in self.texts():
            named = {(int(a or c), int(b or d)) for a, b, c, d in places.findall(text)}
            told |= {of_place[place] for place in named & of_place.keys()}
            for record in records:
                is_named = record.odd and record.key and record.key.startswith(b"odd-") and record.key in text
                if is_named or record.mark.encode() in text:
                    told.add(record.number)
        return told

    def letters(self, topics: KafkaTopics, records: Sequence[Sent]) -> set[int]:
        """Numbers of the records in its dead-letter topic, known by their headers or their content."""
        told: set[int] = set()
        of_place = {(record.partition, record.offset): record.number for record in records}
        of_mark = {record.mark.encode(): record.number for record in records}
        mark = re.compile(rb"mark\d+n\d{6}x")
        for message in topics.records(self.run.names.dead_letter_topic):
            if place := Place.rejected({name: as_text(value) for name, value in headers_of(message)}):
                told.add(of_place.get((place.partition, place.offset), -1))
            value = message.value()
            if isinstance(value, bytes):
                told |= {of_mark[found] for found in mark.findall(value) if found in of_mark}
        return told - {-1}
