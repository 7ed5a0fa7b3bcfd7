"""A pipeline of an installed package as the sink of a run: awaited, followed, stopped, and what it says of itself."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.errors import ProfileError, StackError
from lab.extensions import PIPELINES, Ids, Pipeline, PipelineContext
from lab.profiles import load_profile
from lab.run.load import sink as sink_module
from lab.run.load.availability import missing_pipeline
from lab.run.load.sink import Sink
from lab.stack.places import ROOT
from tests.unit.messages import MakeMessage
from tests.unit.run.load.test_load_sink import DOCUMENTS, sink_of

MakeSink = Callable[[type[Pipeline]], Sink]


class Copy(Pipeline):
    """Is ready when asked for the third time, and has copied all when asked for the fifth."""

    def __init__(self, context: PipelineContext) -> None:
        super().__init__(context)
        self.calls: list[str] = []
        self.left = 5

    def ids(self) -> Ids:
        """Made of offsets."""
        return "offsets"

    def id_prefix(self) -> str:
        """Its own."""
        return "copy-"

    def description(self) -> Mapping[str, str]:
        """A version."""
        return {"version": "7"}

    def start(self) -> int:
        """Start nothing."""
        self.calls.append("start")
        return 997

    def is_ready(self) -> bool:
        """Not at first."""
        self.calls.append("is_ready")
        return self.calls.count("is_ready") == 3

    def lag(self, delivered: int) -> int:
        """Fewer each time."""
        assert delivered == DOCUMENTS
        self.left -= 1
        return self.left

    def stop(self) -> None:
        """Stop nothing."""
        self.calls.append("stop")


class Broken(Copy):
    """Cannot be started."""

    def start(self) -> int:
        """Fail."""
        raise ConnectionError("no route to host")


class Slow(Copy):
    """Is never ready."""

    def is_ready(self) -> bool:
        """Never."""
        return False


class Short(Copy):
    """Ends by itself."""

    def lag(self, delivered: int) -> int:
        """All is left."""
        return delivered

    def has_ended(self) -> bool:
        """At once."""
        return True


@pytest.fixture
def sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeSink:
    """Makes the sink of a run whose profile names a pipeline; nobody waits."""
    now_s = [0.0]

    def sleep(seconds: float) -> None:
        now_s[0] += seconds

    monkeypatch.setattr(sink_module, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=sleep))
    monkeypatch.setattr(sink_module, "wait_for_sample_after", lambda _s, _latest: None)

    def made(kind: type[Pipeline]) -> Sink:
        monkeypatch.setattr(PIPELINES, "built_in", {"copy": kind})
        return sink_of(tmp_path, "http://127.0.0.1:1", "sink.pipeline=copy", "sink.config.api.key=hunter5")

    return made


def drain(followed: Sink) -> None:
    """Follow it without a sample."""
    followed.drain(lambda: None, DOCUMENTS)


def test_it_is_awaited_followed_to_its_end_and_stopped_once(sink: MakeSink) -> None:
    """A run stops it after the load, and again when it is over."""
    followed = sink(Copy)
    followed.start()
    assert followed.run.children == {"sink": 997}
    drain(followed)
    followed.stop_command()
    followed.stop_command()
    assert isinstance(followed.pipeline, Copy)
    assert followed.pipeline.calls == ["start", "is_ready", "is_ready", "is_ready", "stop"]
    assert (followed.pipeline.left, followed.run.children) == (0, {})


def test_one_whose_end_ctrl_c_broke_off_is_stopped_again(sink: MakeSink, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would go on writing after the run."""
    followed, stops = sink(Copy), iter([KeyboardInterrupt(), None])

    def stop(pipeline: Copy) -> None:
        pipeline.calls.append("stop")
        if (error := next(stops)) is not None:
            raise error

    monkeypatch.setattr(Copy, "stop", stop)
    followed.start()
    with pytest.raises(KeyboardInterrupt):
        followed.stop_command()
    followed.stop_command()
    followed.stop_command()
    assert isinstance(followed.pipeline, Copy)
    assert followed.pipeline.calls.count("stop") == 2


def test_what_was_never_started_is_not_stopped(sink: MakeSink) -> None:
    """A run may end before its load."""
    unused = sink(Copy)
    unused.stop_command()
    assert isinstance(unused.pipeline, Copy)
    assert unused.pipeline.calls == []


def test_its_ids_are_those_to_verify(sink: MakeSink) -> None:
    """As with a connector."""
    verified = sink(Copy)
    assert (verified.key_is_id, verified.ids_are_generated, verified.id_prefix) == (False, False, "copy-")
    assert (verified.keeps_ledger, verified.ledger()) == (False, None)


def test_its_name_package_settings_and_version_are_recorded(sink: MakeSink) -> None:
    """Secrets among the settings are hidden later, with all others."""
    recorded = sink(Copy)
    recorded.configure()
    assert recorded.config == {"pipeline": "copy", "package": "Sluice", "api.key": "hunter5", "version": "7"}


def test_what_goes_wrong_in_it_is_one_sentence(sink: MakeSink, message: MakeMessage) -> None:
    """With the name of the pipeline, and the kind of error."""
    with pytest.raises(StackError) as failure:
        sink(Broken).start()
    assert str(failure.value) == message("sink.pipeline")


def test_what_is_never_ready_ends_the_run_with_its_log(sink: MakeSink, tmp_path: Path, message: MakeMessage) -> None:
    """After two minutes."""
    log = tmp_path / "sink.log"
    log.write_text("looking for a broker\n")
    with pytest.raises(StackError) as failure:
        sink(Slow).start()
    assert str(failure.value) == message("sink.pipeline", 120, log)
    assert failure.value.log_lines == ("looking for a broker",)


def test_the_load_of_one_that_ends_by_itself_is_over(sink: MakeSink) -> None:
    """What it has left in the topic, verification finds."""
    ended = sink(Short)
    ended.run.children["sink"] = 997
    drain(ended)
    assert ended.run.children == {}


def test_a_pipeline_that_cannot_judge_its_settings_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Before a server is started."""

    class Careless(Copy):
        @classmethod
        def lacks(cls, settings: Mapping[str, str | int | float | bool]) -> str | None:
            """Look for a setting that the profile has not."""
            return str(settings["batch.documents"])

    monkeypatch.setattr(PIPELINES, "built_in", {"copy": Careless})
    profile = load_profile("quickstart", overrides=("sink.pipeline=copy",))
    with pytest.raises(ProfileError) as refusal:
        missing_pipeline(profile, ROOT)
    assert str(refusal.value) == message("sink.pipeline", "batch.documents")
