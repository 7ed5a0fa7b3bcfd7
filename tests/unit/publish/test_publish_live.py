"""A run that is sent while it is under way."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.endpoints import OPEN, Endpoints
from lab.errors import StackError
from lab.monitor import Sources
from lab.profiles import load_profile
from lab.publish.samples import label_of, sample_documents
from lab.publish.server import Server
from lab.publish.watch import CurrentRun, Pipeline, SampleFeed, Watch, samples_from
from lab.records.samples import Sample
from tests.unit.analysis.synthetic import START_S, Truth, run
from tests.unit.analysis.synthetic import samples as synthetic_samples
from tests.unit.messages import MakeMessage
from tests.unit.publish.recorder import Recorder, recorder

TRUTH = Truth(ticks=13)
SAMPLES = synthetic_samples(TRUTH)
LABEL = label_of(run(TRUTH))
ACCEPTED: tuple[int, Any] = (200, {"items": []})
FIRST, SECOND = CurrentRun("20270115-080000", START_S), CurrentRun("20270115-081700", START_S + 1020)


ENDPOINTS = Endpoints("127.0.0.1:9", "http://127.0.0.1:9", ("http://127.0.0.1:9",), None)
"""None that is asked."""


def lines(samples: list[Sample]) -> bytes:
    """As the sampler writes them."""
    return b"".join(orjson.dumps(sample.model_dump(exclude_defaults=True)) + b"\n" for sample in samples)


def append(file: Path, content: bytes) -> None:
    """Write as the sampler does."""
    with file.open("ab") as opened:
        opened.write(content)


def received(server: Recorder) -> dict[str, dict[str, Any]]:
    """Id → document of all bulk requests that the server has accepted."""
    documents: dict[str, dict[str, Any]] = {}
    for request in server.requests:
        parts = [orjson.loads(line) for line in request.body.splitlines()]
        documents |= {action["index"]["_id"]: source for action, source in zip(parts[::2], parts[1::2], strict=True)}
    return documents


# --- what has been written since the last time ----------------------------------------------------------------------


def test_a_line_is_sent_when_it_is_whole(tmp_path: Path) -> None:
    """Half a line is left until the rest of it is there."""
    file = tmp_path / "samples.ndjson"
    written = lines(SAMPLES[:3])
    file.write_bytes(written[:-7])

    first, place = samples_from(file, 0)
    file.write_bytes(written)
    second, end = samples_from(file, place)

    assert (first, second) == (SAMPLES[:2], SAMPLES[2:3])
    assert end == len(written)


def test_a_file_that_is_not_there_yet_holds_no_sample(tmp_path: Path) -> None:
    """The sampler makes it with its first sample."""
    assert samples_from(tmp_path / "samples.ndjson", 0) == ([], 0)


def test_a_run_sent_as_it_goes_is_the_run_sent_at_once(tmp_path: Path) -> None:
    """Rates go on from one sending to the next."""
    file = tmp_path / "samples.ndjson"
    with recorder(ACCEPTED) as server:
        live = SampleFeed(LABEL, Server(server.url, OPEN), file)
        for begin, end in ((0, 1), (1, 2), (2, 7), (7, len(SAMPLES))):
            append(file, lines(SAMPLES[begin:end]))
            live.send_samples({})
    assert received(server) == {document.id: document.source for document in sample_documents(LABEL, SAMPLES)}


def test_what_a_server_did_not_take_is_sent_again(tmp_path: Path) -> None:
    """With everything that was written meanwhile; nothing is missing."""
    file = tmp_path / "samples.ndjson"
    with recorder(ACCEPTED, (503, {"error": {"type": "unavailable"}}), ACCEPTED) as server:
        live = SampleFeed(LABEL, Server(server.url, OPEN), file)
        file.write_bytes(lines(SAMPLES[:5]))
        assert live.send_samples({}) == 5
        append(file, lines(SAMPLES[5:11]))
        with pytest.raises(StackError, match="status 503"):
            live.send_samples({})
        append(file, lines(SAMPLES[11:]))
        assert live.send_samples({}) == len(SAMPLES) - 5
    assert received(server) == {document.id: document.source for document in sample_documents(LABEL, SAMPLES)}


def test_what_was_sent_takes_no_room(tmp_path: Path) -> None:
    """A stream has no end, and a disk has; half a line keeps the file until the rest of it is there."""
    file = tmp_path / "samples.ndjson"
    written = lines(SAMPLES[:3])
    with recorder(ACCEPTED) as server:
        live = SampleFeed(LABEL, Server(server.url, OPEN), file)
        sizes = []
        for part in (written[:-7], written[-7:], lines(SAMPLES[3:])):
            append(file, part)
            live.send_samples({})
            sizes.append(file.stat().st_size)
    assert sizes == [len(written) - 7, 0, 0]
    assert received(server) == {document.id: document.source for document in sample_documents(LABEL, SAMPLES)}


def test_the_latest_sample_tells_the_state_of_the_connector(tmp_path: Path) -> None:
    """And none of those before it, whose state is not known."""
    file = tmp_path / "samples.ndjson"
    file.write_bytes(lines(SAMPLES[:3]))
    with recorder(ACCEPTED) as server:
        SampleFeed(LABEL, Server(server.url, OPEN), file).send_samples({"tasks_failed": 1})
    sent = [document for document in received(server).values() if document["kind"] == "sample"]
    assert [document.get("tasks_failed") for document in sent] == [None, None, 1]


# --- watching -------------------------------------------------------------------------------------------------------


class Looks(threading.Event):
    """An event that lets so many intervals pass, at once, and is then set."""

    def __init__(self, intervals: int) -> None:
        super().__init__()
        self.left = intervals

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - no time passes here
        """The end of an interval."""
        self.left -= 1
        if self.left < 0:
            self.set()
        return self.is_set()


class Scripted(Pipeline):
    """A pipeline on which one run follows another, and of which nothing else is known."""

    def __init__(self, *runs: CurrentRun | None) -> None:
        super().__init__(load_profile("quickstart"), ENDPOINTS)
        self.runs = list(runs)

    def current_run(self) -> CurrentRun | None:
        """The next one; the last one again and again."""
        return self.runs.pop(0) if len(self.runs) > 1 else self.runs[0]

    def state(self, run: CurrentRun) -> dict[str, Any]:  # noqa: ARG002 - of no run
        """Nothing is known."""
        return {}


def watched(
    pipeline: Scripted,
    server: Recorder,
    intervals: int,
    sampled: Callable[[Sources], list[Sample]],
    heartbeat: Callable[[], object] = object,
) -> list[str]:
    """The sentences that are told in so many intervals."""
    log: list[str] = []

    @contextlib.contextmanager
    def sampler(sources: Sources, file: Path) -> Iterator[None]:
        file.write_bytes(lines(sampled(sources)))
        yield

    connection = Server(server.url, OPEN)
    watch = Watch(
        "aladin/flat", pipeline, connection, interval_s=10, log=log.append, heartbeat=heartbeat, sampler=sampler
    )
    watch.run(Looks(intervals))
    return [sentence.replace(server.url, "http://observer") for sentence in log]


def test_an_index_is_waited_for_and_told_once(message: MakeMessage) -> None:
    """The stream may begin long after whoever watches it."""
    with recorder(ACCEPTED) as server:
        log = watched(Scripted(None, None, None, FIRST), server, 7, lambda _: SAMPLES)
    assert log == [message("aladin/flat"), message("aladin/flat", "20270115-080000", 10, "http://observer")]


def test_a_run_whose_index_is_made_anew_is_another_run() -> None:
    """Each has its own name and its own zero; an index that cannot be seen for a while is the same one."""
    with recorder(ACCEPTED) as server:
        watched(Scripted(FIRST, FIRST, None, FIRST, SECOND), server, 9, lambda _: SAMPLES[-1:])
    runs = {document["run"]["name"]: document["since_load_s"] for document in received(server).values()}
    last_s = SAMPLES[-1].at_s - START_S
    assert runs == {"aladin/flat 20270115-080000-live": last_s, "aladin/flat 20270115-081700-live": last_s - 1020}


def written_until_the_end(sources: Sources, file: Path) -> AbstractContextManager[None]:  # noqa: ARG001
    """A sampler that writes twice: at its beginning, and as it ends."""

    @contextlib.contextmanager
    def sampler() -> Iterator[None]:
        file.write_bytes(lines(SAMPLES[:5]))
        try:
            yield
        finally:
            append(file, lines(SAMPLES[5:]))

    return sampler()


@pytest.mark.parametrize("intervals", [0, 1])
def test_the_last_samples_of_a_run_are_sent_when_another_one_takes_its_place(intervals: int) -> None:
    """Those since the sending before would be missing, and with a server that was away, all since then."""
    runs = [FIRST] * (intervals + 1)
    with recorder(ACCEPTED) as server:
        pipeline, connection = Scripted(*runs, SECOND), Server(server.url, OPEN)
        watch = Watch("aladin/flat", pipeline, connection, interval_s=10, log=len, sampler=written_until_the_end)
        watch.run(Looks(intervals + 1))
    of_first = {name: source for name, source in received(server).items() if FIRST.run_id in name}
    assert of_first == {each.id: each.source for each in sample_documents(FIRST.label("aladin/flat"), SAMPLES)}


class Interrupted(Looks):
    """An event at whose last wait somebody presses Ctrl-C."""

    def wait(self, timeout: float | None = None) -> bool:
        """The end of an interval."""
        if super().wait(timeout):
            raise KeyboardInterrupt
        return False


def test_the_last_samples_of_a_run_are_sent_when_the_watch_is_ended() -> None:
    """By Ctrl-C, as it is meant to end; those since the sending before would be missing."""
    with recorder(ACCEPTED) as server:
        pipeline, connection = Scripted(FIRST), Server(server.url, OPEN)
        watch = Watch("aladin/flat", pipeline, connection, interval_s=10, log=len, sampler=written_until_the_end)
        with pytest.raises(KeyboardInterrupt):
            watch.run(Interrupted(1))
    assert received(server) == {each.id: each.source for each in sample_documents(FIRST.label("aladin/flat"), SAMPLES)}


def test_samples_that_cannot_be_sent_before_their_run_has_gone_are_told(message: MakeMessage) -> None:
    """They were said to be kept."""
    log: list[str] = []
    with recorder((503, {"error": {"type": "unavailable"}})) as server:
        pipeline, connection = Scripted(FIRST), Server(server.url, OPEN)
        watch = Watch("aladin/flat", pipeline, connection, interval_s=10, log=log.append, sampler=written_until_the_end)
        watch.run(Looks(1))
    told = [sentence.replace(server.url, "http://observer") for sentence in log]
    assert told == [message(503, "are kept"), message(503, "20270115-080000", "are lost")]


def test_a_server_that_takes_nothing_for_a_while_is_told_once(message: MakeMessage) -> None:
    """And that it takes samples again; meanwhile nobody is told that all is well."""
    refused = (503, {"error": {"type": "unavailable"}})
    beats: list[None] = []
    with recorder(refused, refused, ACCEPTED) as server:
        log = watched(Scripted(FIRST), server, 5, lambda _: SAMPLES, lambda: beats.append(None))
    assert log == [
        message("http://observer", "/sluice-samples/_bulk", 503),
        message("aladin/flat", "20270115-080000", 10, "http://observer"),
    ]
    assert len(beats) == 5 - 2
