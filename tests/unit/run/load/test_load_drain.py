"""Watching a drain: done, stalled, out of time, and what is shown of it."""

import pytest

from lab.errors import StackError
from lab.records.samples import ElasticsearchSample, KafkaSample, Sample, ShardCounters
from lab.run.load.drain import DrainWatch
from tests.unit.messages import MakeMessage


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1009.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    """A clock that stands."""
    return Clock()


def sample(at_s: float, *, committed: int | None = None, indexed: int | None = None) -> Sample:
    """A sample; a source without a value was lost."""
    elasticsearch = None
    if indexed is not None:
        shards = ShardCounters(**(dict.fromkeys(ShardCounters.model_fields, 0) | {"index_total": indexed}))
        elasticsearch = ElasticsearchSample(primaries=shards, total=shards, nodes={})
    kafka = None if committed is None else KafkaSample(end_offset=1009, committed_offset=committed)
    return Sample(at_s=at_s, phase="load", kafka=kafka, elasticsearch=elasticsearch)


def test_a_drain_is_done_when_every_record_is_committed(clock: Clock) -> None:
    """Not when every document is indexed: a refused one never is."""
    watch = DrainWatch(1009, 60, clock)
    assert not watch.done(sample(1, committed=1008, indexed=1009))
    assert watch.done(sample(2, committed=1009, indexed=1001))


def test_a_direct_load_is_watched_by_what_is_indexed(clock: Clock, message: MakeMessage) -> None:
    """Nothing is ever committed; the message names the server that is waited for."""
    watch = DrainWatch(1009, 601, clock, goal="indexed")
    assert not watch.done(sample(1, indexed=503))
    assert watch.detail == ""
    clock.now_s += 301
    with pytest.raises(StackError) as caught:
        watch.done(None)
    assert str(caught.value) == message("load", 300, 503, "1,009", "./sluice logs elasticsearch-1")
    assert watch.done(sample(2, indexed=1009))


@pytest.mark.parametrize("counted", ["committed", "indexed"])
def test_a_pipeline_is_done_when_it_has_committed_or_indexed_everything_and_stands_still(
    clock: Clock, counted: str
) -> None:
    """One that commits what it has only read is given time to store it, and one that never commits is not awaited."""
    watch = DrainWatch(1009, 60, clock, goal="either")
    others = {"indexed": 503} if counted == "committed" else {}
    assert not watch.done(sample(1, **{"indexed": 1, counted: 1008}))
    assert not watch.done(sample(2, **(others | {counted: 1009})))
    assert not watch.done(sample(3, **(others | {counted: 1009})))
    assert watch.done(sample(4, **(others | {counted: 1009})))


def test_a_drain_of_nothing_is_done(clock: Clock) -> None:
    """There is nothing to wait for."""
    assert DrainWatch(0, 60, clock).done(None)


def test_a_lost_source_does_not_undo_what_was_seen(clock: Clock) -> None:
    """The commit that was seen stays seen."""
    watch = DrainWatch(1009, 60, clock)
    watch.done(sample(1, committed=1009, indexed=7))
    assert watch.done(sample(2))
    assert watch.indexed == 7


def test_a_drain_in_which_nothing_moves_is_given_up(clock: Clock, message: MakeMessage) -> None:
    """After five minutes, with how far it came and where to look."""
    watch = DrainWatch(1009, 3600, clock)
    watch.done(sample(1, committed=7, indexed=11))
    clock.now_s += 301
    with pytest.raises(StackError) as failure:
        watch.done(sample(2, committed=7, indexed=11))
    assert str(failure.value) == message("load", 300, 7, "1,009", "./sluice logs connect")


@pytest.mark.parametrize(("committed", "indexed"), [(8, 11), (7, 12)])
def test_whatever_moves_keeps_a_drain_alive(clock: Clock, committed: int, indexed: int) -> None:
    """A commit or a document."""
    watch = DrainWatch(1009, 3600, clock)
    watch.done(sample(1, committed=7, indexed=11))
    clock.now_s += 299
    watch.done(sample(2, committed=committed, indexed=indexed))
    clock.now_s += 299
    assert not watch.done(sample(3, committed=committed, indexed=indexed))


def test_a_sample_that_was_seen_before_is_no_movement(clock: Clock, message: MakeMessage) -> None:
    """The sampler may have died."""
    watch = DrainWatch(1009, 3600, clock)
    newest = sample(1, committed=7, indexed=11)
    watch.done(newest)
    clock.now_s += 301
    with pytest.raises(StackError) as error:
        watch.done(newest)
    assert str(error.value) == message(300)


def test_a_drain_that_takes_too_long_is_given_up(clock: Clock, message: MakeMessage) -> None:
    """The message names the profile's key."""
    watch = DrainWatch(1009, 61.5, clock)
    clock.now_s += 62
    with pytest.raises(StackError) as failure:
        watch.done(sample(1, committed=7, indexed=11))
    assert str(failure.value) == message("load", "load.timeout_s", 61.5, 7, "1,009")


def test_a_drain_that_ends_with_its_time_is_done(clock: Clock) -> None:
    """What is finished is not too late."""
    watch = DrainWatch(1009, 60, clock)
    clock.now_s += 3600
    assert watch.done(sample(1, committed=1009, indexed=1009))


def test_the_detail_has_rate_and_lag(clock: Clock) -> None:
    """The rate is that between the last two samples."""
    watch = DrainWatch(10_007, 60, clock)
    assert watch.detail == "lag 10,007"
    watch.done(sample(1, committed=0, indexed=11))
    assert watch.detail == "lag 10,007"
    watch.done(sample(3, committed=7, indexed=5_011))
    assert watch.detail == "2,500/s indexed, lag 10,000"


def test_a_counter_that_falls_gives_no_rate(clock: Clock) -> None:
    """A shard that was started anew counts from zero; its loss is not negative work."""
    watch = DrainWatch(10_007, 60, clock)
    watch.done(sample(1, committed=7, indexed=5_011))
    watch.done(sample(2, committed=7, indexed=3))
    assert watch.detail == "lag 10,000"
    assert watch.indexed == 3
    watch.done(sample(3, committed=7, indexed=1_003))
    assert watch.detail == "1,000/s indexed, lag 10,000"


def test_the_lag_is_never_negative(clock: Clock) -> None:
    """A topic may hold more than was delivered by this run."""
    watch = DrainWatch(7, 60, clock)
    watch.done(sample(1, committed=11, indexed=11))
    assert watch.detail == "lag 0"
