"""Streams in stages: rates, the limit, and a cluster that is paused."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pydantic import ValidationError

import lab.run.load.stages
from lab.errors import ProfileError, StackError
from lab.profiles.loads import Stream
from lab.run.load.stages import Stages, limit_of
from producers.delivery import Delivered
from tests.unit.run.displays import SilentProgress
from tests.unit.run.load.test_load_ramp import PART

NODE = 4711


@dataclass
class World:
    """A clock, a topic that takes all at once, a pipeline, and a sampler that sees 100 documents more in each second.

    Attributes:
        told: What was done, in order.
    """

    documents: int
    target: str = "local"
    now: float = 1000.0
    indexed: int = 0
    told: list[Any] = field(default_factory=list)

    @property
    def run(self) -> Any:
        """What stages look at of their run."""
        made = type("Run", (), {})()
        made.dataset, made.progress = type("Documents", (), {"documents": self.documents}), SilentProgress()
        made.target = type("Target", (), {"name": self.target, "process_ids": lambda _: {"elasticsearch-1": NODE}})()
        return made

    def step(self, start: int, stop: int, rate: float | None, check: Callable[[], None]) -> Delivered:
        """Produce some documents, with a look at all that takes part in each second."""
        self.told.append((start, stop, rate))
        for _ in range(round((stop - start) / rate) if rate else 1):
            self.sleep(1)
            check()
        return replace(PART, produced=stop - start, delivered=stop - start, failed=0)

    def start(self) -> None:
        """Start the pipeline."""
        self.told.append("started")

    def sleep(self, _seconds: float) -> None:
        """Let a second pass."""
        self.now += 1

    def now_s(self) -> float:
        """Now."""
        return self.now

    def kill(self, pid: int, number: int) -> None:
        """Note a signal."""
        self.told.append((pid, signal.Signals(number).name, self.now))

    def latest(self) -> Any:
        """A sample of this second."""
        self.indexed = min(self.documents, self.indexed + 100)
        sample = type("Sample", (), {})()
        sample.at_s, sample.kafka = self.now, None
        sample.elasticsearch = type("Read", (), {"read_s": self.now})()
        sample.elasticsearch.primaries = type("Shards", (), {"index_total": self.indexed})()
        return sample


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stages]:
    """Stages of a world, from a section `load`."""

    def made(world: World, check: Callable[[], None] = lambda: None, **load: Any) -> Stages:
        monkeypatch.setattr(lab.run.load.stages, "CLOCK", world)
        monkeypatch.setattr(lab.run.load.stages.time, "sleep", world.sleep)
        monkeypatch.setattr(lab.run.load.stages.os, "kill", world.kill)
        section = Stream.model_validate({"mode": "stream", "rate_docs_per_s": 10.0, **load})
        return Stages(world, world, section, latest=world.latest, check=check)  # type: ignore[arg-type]

    return made


def test_a_share_is_one_of_what_the_pipeline_itself_has_drained(stages: Callable[..., Stages]) -> None:
    """The topic is filled before the pipeline starts; it indexes 100 documents in a second, and gets 70 of them."""
    world = World(1350)
    sent, course = stages(world, stages=[{"documents": 1000, "rate": "fast"}, {"rate": "70 %"}]).run()
    assert world.told == [(0, 1000, None), "started", (1000, 1350, 70.0)]
    assert (sent.delivered, course.limit_docs_per_s) == (1350, 100)
    assert [stage.documents for stage in course.stages] == [1000, 350]


def test_a_spike_comes_while_the_pipeline_runs(stages: Callable[..., Stages]) -> None:
    """Its documents go into the topic as fast as that takes them; the last stage has the rest."""
    world = World(100)
    stages(world, stages=[{"documents": 20}, {"documents": 50, "rate": "fast"}, {"rate": "5"}]).run()
    assert world.told == ["started", (0, 20, 10.0), (20, 70, None), (70, 100, 5.0)]


def test_nodes_are_paused_for_as_long_as_is_stated(stages: Callable[..., Stages]) -> None:
    """Also where no documents are left by then: the run goes on once they answer."""
    world = World(50)
    _, course = stages(world, stages=[{}], pause={"after_s": 2.0, "seconds": 30.0}).run()
    assert world.told[2:] == [(NODE, "SIGSTOP", 1002.0), (NODE, "SIGCONT", 1032.0)]
    assert (course.paused_s, course.resumed_s) == (1002, 1032)


def test_nodes_go_on_however_the_run_ends(stages: Callable[..., Stages]) -> None:
    """A pipeline may end because the cluster is away."""
    world = World(500)

    def fail() -> None:
        if world.now > 1010:
            raise StackError("the pipeline has ended")

    with pytest.raises(StackError, match="has ended"):
        stages(world, fail, stages=[{}], pause={"after_s": 2.0, "seconds": 30.0}).run()
    assert world.told[-1] == (NODE, "SIGCONT", 1011.0)


def test_a_node_that_has_died_before_its_pause_ends_the_run(
    stages: Callable[..., Stages], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ran when the run began. Nodes elsewhere are refused by their target, before anything is produced."""
    world = World(50)
    running = iter([{"elasticsearch-1": NODE}, {}])
    target = type("Target", (), {"name": "local", "process_ids": lambda _: next(running)})()
    run = world.run
    run.target = target
    monkeypatch.setattr(World, "run", run)
    with pytest.raises(StackError, match=r"load\.pause: no node of the cluster is running"):
        stages(world, stages=[{}], pause={"after_s": 2.0, "seconds": 30.0}).run()


def test_a_node_that_dies_just_then_is_no_defect(
    stages: Callable[..., Stages], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the pipeline bears it is for the run to tell."""

    def gone(_pid: int, _number: int) -> None:
        raise ProcessLookupError

    world = World(50)
    paused = stages(world, stages=[{}], pause={"after_s": 2.0, "seconds": 30.0})
    monkeypatch.setattr(lab.run.load.stages.os, "kill", gone)
    assert paused.run()[0].delivered == 50


@pytest.mark.parametrize("documents", [1000, 900])
def test_a_last_stage_without_documents_is_refused(stages: Callable[..., Stages], documents: int) -> None:
    """Its figures would be missing without a word, as after `--set dataset.documents=900`."""
    world = World(documents)
    with pytest.raises(ProfileError, match=rf"load\.stages: got 1,000 documents .* fewer than the {documents:,} "):
        stages(world, stages=[{"documents": 1000, "rate": "fast"}, {"rate": "70 %"}]).run()
    assert world.told == []


def test_a_limit_needs_some_seconds() -> None:
    """A drain that is over at once says nothing of it."""
    assert limit_of([(0.0, 10), (1.0, 100), (2.0, 300), (6.0, 1100)]) == 200
    too_short = [([(0.0, 10)], "0.0"), ([(0.0, 10), (1.0, 100)], "0.0"), ([(0.0, 10), (1.0, 100), (5.98, 1100)], "4.9")]
    for grown, lasted_s in too_short:
        with pytest.raises(StackError, match=rf"for {lasted_s} s after its first second, expected at least 5 s"):
            limit_of(grown)


@pytest.mark.parametrize(
    "load",
    [
        {"stages": [{}, {"rate": "5"}]},
        {"stages": [{"documents": 5}, {"documents": 5}]},
        {"stages": [{"documents": 5}, {"rate": "70 %"}]},
        {"stages": [{"documents": 5, "rate": "quick"}]},
        {"stages": [{}], "ramp": {"p99_ms": 5}},
        {"pause": {"after_s": 5, "seconds": 5}},
    ],
)
def test_stages_that_cannot_be_produced_are_refused(load: dict[str, Any]) -> None:
    """A profile says so before servers start, with the key."""
    with pytest.raises(ValidationError) as refused:
        Stream.model_validate({"mode": "stream", "rate_docs_per_s": 10.0, **load})
    assert refused.value.errors()[0]["loc"][0] == next(iter(load))


def test_a_stream_without_stages_is_written_as_before_there_were_some() -> None:
    """So are its records and fingerprints."""
    plain = Stream.model_validate({"mode": "stream", "rate_docs_per_s": 10.0})
    assert not {"stages", "pause"} & plain.model_dump().keys()
    staged = Stream.model_validate({"mode": "stream", "rate_docs_per_s": 10.0, "stages": [{}]})
    assert Stream.model_validate(staged.model_dump()) == staged


def test_a_stream_in_stages_has_no_rate_that_all_documents_share() -> None:
    """The page holds what is produced against such a rate."""
    load = {"mode": "stream", "rate_docs_per_s": 10.0}
    assert Stream.model_validate(load).one_rate_docs_per_s == 10
    assert Stream.model_validate({**load, "stages": [{"documents": 5}, {"rate": "5"}]}).one_rate_docs_per_s is None
