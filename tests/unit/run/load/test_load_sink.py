"""A sink that ends while documents are still being produced ends the run, not the last document."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.clients.target import Target, worker_of
from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.profiles import load_profile
from lab.run.folder import RunFolder
from lab.run.load import produce as producing
from lab.run.load.command import CommandPipeline
from lab.run.load.produce import Producing
from lab.run.load.sink import Sink
from lab.run.phases import RunContext
from lab.stack.places import ROOT
from producers.delivery import Delivered, Progress
from tests.unit.clients.rest_server import rest
from tests.unit.messages import MakeMessage
from tests.unit.producers.fakes import NumberedDocuments
from tests.unit.run.displays import SilentProgress
from tests.unit.stack.trivial_servers import wait_until

DOCUMENTS = 1009
FAILED = {
    "connector": {"state": "RUNNING"},
    "tasks": [{"id": 0, "state": "FAILED", "trace": "org.apache.X: outer\nCaused by: Z: index not found"}],
}


def target_with(connect_url: str) -> Target:
    """Servers of which only the worker answers."""
    endpoints = Endpoints("127.0.0.1:1", connect_url, ("http://127.0.0.1:1",), None)
    return Target("local", endpoints, process_ids=dict, servers=(), java_versions={}, fresh=False)


def sink_of(folder: Path, connect_url: str, *overrides: str) -> Sink:
    """The sink of a run."""
    profile = load_profile("quickstart", overrides=overrides)
    documents = NumberedDocuments(DOCUMENTS)
    target, progress = target_with(connect_url), SilentProgress()
    run = RunContext(profile, documents, target, RunFolder(folder, "7"), ROOT, progress=progress)
    return Sink(run, worker_of(run.target.endpoints, 0))


def producing_for(monkeypatch: pytest.MonkeyPatch, sink: Sink, first: int = 0) -> Producing:
    """Produces the documents of the sink one by one; progress is told from the `first` on."""

    def produce(*_: object, progress: Callable[[Progress], None], **__: object) -> Delivered:
        for delivered in range(first, DOCUMENTS + 1):
            progress(Progress(DOCUMENTS, delivered, delivered, 0, 0, 1.0, 7.0))
        return Delivered.__new__(Delivered)

    monkeypatch.setattr(producing, "produce", produce)
    return Producing(sink.run)


def stream(monkeypatch: pytest.MonkeyPatch, sink: Sink, first: int = 0) -> None:
    """Stream the documents to the sink."""
    try:
        producing_for(monkeypatch, sink, first).stream(sink.refuse_end)
    finally:
        sink.stop_command()


def ended_command(folder: Path, script: str) -> Sink:
    """A command in place of a sink that has ended at once."""
    sink = sink_of(folder, "http://127.0.0.1:1", f"sink.command=[sh, -c, '{script}']")
    sink.configure()
    sink.start()
    assert isinstance(sink.pipeline, CommandPipeline)
    program = sink.pipeline._program
    wait_until(lambda: program is not None and program._process is not None and program._process.poll() is not None)
    return sink


def test_a_task_that_fails_at_once_ends_the_stream_with_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """And the producers: a stream of hours would find nobody to read it."""
    with rest((200, FAILED)) as worker, pytest.raises(StackError) as failure:
        stream(monkeypatch, sink_of(tmp_path, worker.url))
    assert str(failure.value) == message("sluice-quickstart-7", 0)


@pytest.mark.parametrize(
    ("script", "facts"),
    [
        ("echo no broker; exit 7", ("sh", 7)),
        ("echo no broker", ("sh",)),
    ],
)
def test_a_command_that_ends_at_once_ends_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """However it ended; with what it said last."""
    with pytest.raises(StackError) as failure:
        stream(monkeypatch, ended_command(tmp_path, script))
    assert str(failure.value) == message("sink.command", tmp_path / "sink.log", *facts)
    assert failure.value.log_lines == ("no broker",)


def test_a_command_may_end_with_the_last_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has read everything then."""
    stream(monkeypatch, ended_command(tmp_path, "exit 0"), first=DOCUMENTS)


def test_the_topic_of_a_drain_is_filled_without_a_sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which starts only then."""
    with rest((200, FAILED)) as worker:
        producing_for(monkeypatch, sink_of(tmp_path, worker.url)).fill()
    assert worker.requests == []
