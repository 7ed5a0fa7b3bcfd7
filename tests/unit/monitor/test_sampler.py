"""The sampler against sources that answer, hang, fail and come back."""

import contextlib
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.monitor.elasticsearch import ElasticsearchReader
from lab.monitor.probe import Probe
from lab.monitor.sampler import Reader, Sampler, Sources, SystemClock
from lab.records.base import Record
from lab.records.samples import KafkaSample, Sample
from tests.dying import room_for
from tests.unit.messages import MakeMessage
from tests.unit.monitor.servers import elasticsearch, server

SOURCES = Sources(
    endpoints=Endpoints("127.0.0.1:9", "http://127.0.0.1:9", ("http://127.0.0.1:9",), None),
    index="books",
    topic="books",
    consumer_group="connect-sluice-books",
    connector=None,
)


class CountedClock(SystemClock):
    """A clock that jumps to each tick and stops the sampler after so many of them.

    Args:
        ticks: How many.
        late_s: Tick → seconds by which it is served too late.
        before: Tick → what happens just before it.
    """

    def __init__(
        self, ticks: int, late_s: dict[int, float] | None = None, before: dict[int, Callable[[], object]] | None = None
    ) -> None:
        self.before = before or {}
        self.time_s = 1000.0
        self.ticks = ticks
        self.served = 0
        self.late_s = late_s or {}
        self.done = threading.Event()

    def now_s(self) -> float:
        """The instant the test has reached."""
        return self.time_s

    def wait(self, _stop: threading.Event, seconds: float) -> bool:
        """Jump to the tick, at once."""
        if self.served == self.ticks:
            self.done.set()
            return True
        self.time_s += max(0.0, seconds) + self.late_s.get(self.served, 0.0)
        self.before.get(self.served, lambda: None)()
        self.served += 1
        return False


class Answering:
    """A reader that gives, tick by tick, what a test says; an exception is raised."""

    def __init__(self, *answers: Record | Exception) -> None:
        self.answers = iter(answers)
        self.closed = False

    def read(self) -> Record:
        """The next answer."""
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """Nothing to close."""
        self.closed = True


class Hanging:
    """A reader that does not answer until it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def read(self) -> Record:
        """The next answer."""
        self.let_go.wait(30)
        return offsets(0)

    def close(self) -> None:
        """Nothing to close."""


class Others:
    """Programs that are nobody's here, and always as busy."""

    def read(self, servers: list[int]) -> float:
        """17 %, beside this process."""
        assert servers == [os.getpid()]
        return 17.0


def offsets(end: int) -> KafkaSample:
    """A topic so long, of which nothing is committed."""
    return KafkaSample(end_offset=end, committed_offset=0)


def sampled(
    path: Path,
    readers: dict[str, Reader],
    clock: CountedClock,
    *,
    interval_s: float = 1.0,
    phase: Callable[[], str] = lambda: "load",
    produced: Callable[[], int | None] = lambda: None,
    processes: Callable[[], dict[str, int]] = dict,
    probe: Probe | None = None,
) -> tuple[Sampler, list[Sample]]:
    """The sampler, stopped, and what it has written."""
    with Sampler(
        SOURCES,
        path,
        interval_s,
        phase=phase,
        produced=produced,
        processes=processes,
        clock=clock,
        readers=readers,
        probe=probe,
    ) as sampler:
        assert clock.done.wait(30)
    return sampler, [Sample.model_validate_json(line) for line in path.read_bytes().splitlines()]


def test_a_sample_is_a_line_with_everything_seen(tmp_path: Path) -> None:
    """What the file holds is what the record says, and `latest` is its last line."""
    path = tmp_path / "samples.ndjson"
    with server(elasticsearch) as url:
        reader = ElasticsearchReader([url], "books", timeout_s=2, now=lambda: 1000.0)
        sampler, samples = sampled(
            path,
            {"elasticsearch": reader, "kafka": Answering(offsets(101))},
            CountedClock(1),
            interval_s=10,
            produced=lambda: 97,
            processes=lambda: {"kafka": os.getpid()},
        )
    (sample,) = samples
    assert sampler.latest == sample
    assert sample.elasticsearch is not None
    assert sample.elasticsearch.primaries.index_total == 1002
    assert (sample.at_s, sample.phase, sample.produced, sample.kafka) == (1000.0, "load", 97, offsets(101))
    assert list(sample.processes) == ["kafka"]
    assert sample.lost == {}


def test_ticks_keep_to_the_schedule(tmp_path: Path) -> None:
    """A tick that is served late does not delay the ones after it."""
    clock = CountedClock(4, late_s={1: 0.3})
    _, samples = sampled(tmp_path / "samples.ndjson", {}, clock)
    assert [sample.at_s for sample in samples] == pytest.approx([1000.0, 1001.3, 1002.0, 1003.0])


def test_a_tick_that_is_a_whole_interval_late_is_left_out(tmp_path: Path) -> None:
    """Two samples in a row, to make up for one, would show a rate that never was."""
    clock = CountedClock(3, late_s={1: 2.5})
    _, samples = sampled(tmp_path / "samples.ndjson", {}, clock)
    assert [sample.at_s for sample in samples] == [1000.0, 1003.5, 1004.0]


def test_the_probe_is_done_before_anything_is_asked_and_delays_no_tick(tmp_path: Path) -> None:
    """A tick's instant is that of the question, also where the work before it took 300 ms for want of a core."""
    clock = CountedClock(3)

    def work() -> None:
        clock.time_s += 0.3

    probe = Probe(work, wall_s=clock.now_s, cpu_s=lambda: 0.0)
    _, samples = sampled(tmp_path / "samples.ndjson", {}, clock, probe=probe)
    assert [sample.at_s for sample in samples] == pytest.approx([1000.3, 1001.3, 1002.3])
    assert [sample.probe_wall_ms for sample in samples] == pytest.approx([300.0] * 3)
    assert [sample.probe_cpu_ms for sample in samples] == [0.0] * 3


def test_what_else_was_at_work_is_in_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 8 core-seconds the hypervisor took 2: 25 %. This process stands for Elasticsearch."""
    stolen = iter([(11.0, 400.0), (13.0, 408.0)])
    monkeypatch.setattr("lab.monitor.sampler.stolen_and_all_cpu_s", lambda: next(stolen))
    monkeypatch.setattr("lab.monitor.sampler.OtherPrograms", Others)
    _, samples = sampled(
        tmp_path / "samples.ndjson", {}, CountedClock(2), processes=lambda: {"elasticsearch-1": os.getpid()}
    )
    assert [sample.machine_steal_percent for sample in samples] == [None, 25.0]
    assert [sample.other_cpu_percent for sample in samples] == [17.0, 17.0]


def test_nothing_is_said_of_other_programs_where_servers_are_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only their sender is here."""
    monkeypatch.setattr("lab.monitor.sampler.OtherPrograms", Others)
    _, samples = sampled(tmp_path / "samples.ndjson", {}, CountedClock(1), processes=lambda: {"direct": os.getpid()})
    assert samples[0].other_cpu_percent is None


def test_a_source_that_fails_is_lost_with_its_reason_and_comes_back(tmp_path: Path) -> None:
    """A killed server costs its own samples and no others."""
    kafka = Answering(offsets(101), ConnectionError("broker is\ngone"), offsets(103))
    _, samples = sampled(tmp_path / "samples.ndjson", {"kafka": kafka}, CountedClock(3))
    assert [sample.kafka for sample in samples] == [offsets(101), None, offsets(103)]
    assert [sample.lost for sample in samples] == [{}, {"kafka": "ConnectionError: broker is gone"}, {}]
    assert kafka.closed


def test_a_server_that_is_started_again_is_sampled_again(tmp_path: Path) -> None:
    """The same over HTTP: read, refused while the server is down, and read again once it is up on its old port."""
    first, second = contextlib.ExitStack(), contextlib.ExitStack()
    url = first.enter_context(server(elasticsearch))
    port = int(url.rpartition(":")[2])
    clock = CountedClock(3, before={1: first.close, 2: lambda: second.enter_context(server(elasticsearch, port))})
    reader = ElasticsearchReader([url], "books", timeout_s=2, now=clock.now_s)
    with second:
        # An interval in which even a busy machine answers; the clock does not wait for it.
        _, samples = sampled(tmp_path / "samples.ndjson", {"elasticsearch": reader}, clock, interval_s=10)
    assert [sample.elasticsearch is not None for sample in samples] == [True, False, True]
    assert samples[1].lost == {"elasticsearch": "ConnectError: [Errno 111] Connection refused"}


def test_a_source_that_hangs_delays_no_other_and_is_not_asked_twice(tmp_path: Path, message: MakeMessage) -> None:
    """Its samples say so; those of the others are whole."""
    hanging = Hanging()
    kafka = Answering(offsets(101), offsets(103))
    threading.Timer(0.5, hanging.let_go.set).start()
    _, samples = sampled(
        tmp_path / "samples.ndjson", {"sink": hanging, "kafka": kafka}, CountedClock(2), interval_s=0.05
    )
    assert [sample.kafka for sample in samples] == [offsets(101), offsets(103)]
    assert [sample.lost for sample in samples] == [{"sink": message(0.04)}, {"sink": message()}]


def test_callbacks_that_fail_do_not_stop_the_sampler(tmp_path: Path) -> None:
    """The sampler outlives every mistake of those who call it."""

    def fail() -> int:
        raise ZeroDivisionError("oops")

    def fail_too() -> str:
        raise ZeroDivisionError("oops")

    def fail_three() -> dict[str, int]:
        raise ZeroDivisionError("oops")

    _, samples = sampled(
        tmp_path / "samples.ndjson", {}, CountedClock(1), produced=fail, phase=fail_too, processes=fail_three
    )
    assert samples[0].phase == "unknown"
    assert samples[0].lost == dict.fromkeys(("phase", "producer", "processes"), "ZeroDivisionError: oops")


def test_samples_are_appended(tmp_path: Path) -> None:
    """A run that is taken up again keeps what it has seen before."""
    path = tmp_path / "samples.ndjson"
    sampled(path, {}, CountedClock(2))
    _, samples = sampled(path, {}, CountedClock(3))
    assert len(samples) == 5


def test_a_sample_that_cannot_be_written_is_told_in_the_next(tmp_path: Path, message: MakeMessage) -> None:
    """A full disk is a counted fact too."""
    path = tmp_path / "samples.ndjson"
    path.symlink_to("/dev/full")
    with Sampler(SOURCES, path, phase=lambda: "load", clock=(clock := CountedClock(2)), readers={}) as sampler:
        assert clock.done.wait(30)
    assert sampler.latest is not None
    assert sampler.latest.lost == {"samples": message(28)}


@pytest.mark.parametrize("size_bytes", [7, 107])
def test_a_sample_that_is_written_in_part_is_taken_back(tmp_path: Path, size_bytes: int) -> None:
    """A nearly full disk takes a part of a line; the next one would go on in it, and the run could not be read."""
    path = tmp_path / "samples.ndjson"
    with room_for(size_bytes):
        sampler, _ = sampled(path, {}, CountedClock(7))
    assert sampler.latest is not None
    assert "samples" in sampler.latest.lost
    _, samples = sampled(path, {}, CountedClock(1))
    assert len(samples) >= 1


def test_an_interval_of_nothing_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """It would be a busy loop against the servers under test."""
    with pytest.raises(ValueError, match="interval_s") as error:
        Sampler(SOURCES, tmp_path / "samples.ndjson", 0, phase=lambda: "load", readers={})
    assert str(error.value) == message("sampler: interval_s", 0)


def test_a_file_that_cannot_be_written_ends_the_run_at_once(tmp_path: Path, message: MakeMessage) -> None:
    """Not a thread of which nobody hears, so that a load would seem to stand still."""
    path = tmp_path / "gone" / "samples.ndjson"
    with pytest.raises(StackError) as failure, Sampler(SOURCES, path, phase=lambda: "load", readers={}):
        pass
    assert str(failure.value) == message(path)


def test_a_file_system_without_locks_takes_samples_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only `watch` empties the file meanwhile, and needs them."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("lab.monitor.sampler.fcntl.flock", refuse)
    path = tmp_path / "samples.ndjson"
    sampled(path, {}, CountedClock(3))
    assert len(path.read_bytes().splitlines()) == 3
