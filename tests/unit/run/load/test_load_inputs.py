"""What runs of a suite load from: filled and made once, where it is the same."""

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.endpoints import Endpoints
from lab.profiles import Direct, Profile
from lab.profiles.loader import load_profile
from lab.run.folder import RunFolder
from lab.run.load.bodies import BulkBodies, Span
from lab.run.load.inputs import Inputs, bodies_key, topics_key
from lab.run.load.shards import ShardTable
from lab.run.phases import RunContext
from lab.run.verify.topic import TopicComparison
from producers.delivery import Delivered
from producers.part import parts_of
from producers.registry import make_dataset
from tests.unit.run.displays import SilentProgress

HERE = Endpoints("127.0.0.1:9092", "http://127.0.0.1:1", ("http://127.0.0.1:2",), None)
THERE = Endpoints("127.0.0.1:9093", "http://127.0.0.1:1", ("http://127.0.0.1:2",), None)
DOCUMENTS = make_dataset("aladin", documents=7)


def key(*overrides: str, endpoints: Endpoints = HERE) -> str | None:
    """What the topics of a quickstart with these settings are known by."""
    return topics_key(load_profile("quickstart", overrides=overrides), DOCUMENTS, endpoints)


def delivered(documents: int, failed: int = 0) -> Delivered:
    """So many documents, of which some were given up."""
    return Delivered(documents, documents - failed, failed, 1, 1, None, 0, 1, 0, {}, 0, 0, 0.1, ())


def run_with(inputs: Inputs | None, run_id: str, *overrides: str) -> RunContext:
    """A run of the quickstart in a suite."""
    profile, target = load_profile("quickstart", overrides=overrides), cast("Any", SimpleNamespace(endpoints=HERE))
    folder = RunFolder(Path(), run_id)
    return RunContext(profile, DOCUMENTS, target, folder, Path(), inputs=inputs, progress=SilentProgress())


def test_the_same_documents_in_the_same_partitions_are_the_same_topic() -> None:
    """However they are indexed."""
    same = ("index.number_of_shards=4", "sink.tasks=1", "mapping=dynamic", "sink.config.batch.size=7")
    assert {key(setting) for setting in same} == {key()}


@pytest.mark.parametrize(
    "other", ["dataset.seed=2", "dataset.documents=7", "topic.partitions=3", "indices=2", "producer.processes=2"]
)
def test_others_are_another(other: str) -> None:
    """Whatever decides which record lies where."""
    assert key(other) != key()


def test_another_broker_has_topics_of_its_own() -> None:
    """Two versions may run side by side, each with its Kafka."""
    assert key(endpoints=THERE) != key()


@pytest.mark.parametrize(
    "load", [("load.mode=stream", "load.rate_docs_per_s=100"), ("load.via=direct",)], ids=["stream", "direct"]
)
def test_a_load_that_drains_no_filled_topic_keeps_none(load: tuple[str, ...]) -> None:
    """A stream fills its topic while the sink reads."""
    assert key(*load) is None


def test_a_later_run_drains_the_topic_of_an_earlier_one() -> None:
    """With its own connector and dead letters, whose offsets begin anew."""
    inputs = Inputs()
    first = run_with(inputs, "20260101-000007")
    assert first.filled is None
    first.keep_topics(delivered(7))
    second = run_with(inputs, "20260101-000011", "index.number_of_shards=4")
    assert second.filled is not None
    assert second.filled.filled_by == "20260101-000007"
    assert second.names.topic == first.names.topic
    assert second.names.connector != first.names.connector
    assert inputs.topic_names == {first.names.topic}


def test_the_run_that_fills_a_topic_keeps_its_names() -> None:
    """Kept or not, it goes on with what it has made."""
    run = run_with(Inputs(), "20260101-000007")
    before = run.names
    run.keep_topics(delivered(7))
    assert (run.names, run.filled) == (before, None)


def test_a_topic_that_lacks_documents_is_not_kept() -> None:
    """The next run fills one anew."""
    inputs = Inputs()
    run_with(inputs, "20260101-000007").keep_topics(delivered(7, failed=1))
    assert inputs.topics == {}


def test_a_single_run_keeps_nothing() -> None:
    """Nobody comes after it."""
    run = run_with(None, "20260101-000007")
    run.keep_topics(delivered(7))
    assert run.filled is None


def test_bodies_are_the_same_for_the_same_documents_and_bulk_sizes() -> None:
    """Indices are named by the request, so that their names and settings do not matter; their number does."""

    def of(*overrides: str, indices: int = 1) -> str:
        profile: Profile = load_profile("sink/direct", overrides=overrides)
        assert isinstance(profile.load, Direct)
        return bodies_key(profile, profile.load, parts_of(DOCUMENTS, indices))

    assert of("index.number_of_shards=4", "load.connections=2") == of()
    others = [of("load.batch_documents=7"), of("load.bulk_size_bytes=70000"), of("dataset.seed=7"), of(indices=2)]
    assert len({of(), *others}) == 5


def test_bodies_of_one_shard_are_others_for_another_number_of_shards() -> None:
    """Which nodes hold the shards does not matter."""
    profile = load_profile("sink/direct", overrides=("load.bulk_by_shard=true",))
    assert isinstance(profile.load, Direct)
    tables = ([], *([ShardTable(1024, nodes)] for nodes in (("a", "a"), ("a", "b"), ("a", "a", "b", "b"))))
    mixed, two, elsewhere, four = (bodies_key(profile, profile.load, [DOCUMENTS], table) for table in tables)
    assert two == elsewhere
    assert len({mixed, two, four}) == 3


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A disk with so much room beside what is kept."""
    made = SimpleNamespace(free=0)
    monkeypatch.setattr("lab.run.load.inputs.shutil.disk_usage", lambda _: made)
    return made


def test_bodies_are_kept_in_a_quarter_of_the_free_disk(disk: SimpleNamespace, tmp_path: Path) -> None:
    """Of more, the oldest are given up: Elasticsearch needs room for its index."""
    disk.free = 210
    inputs, files = Inputs(), [io.BytesIO() for _ in range(5)]
    for number, file in enumerate(files):
        inputs.add_bodies(str(number), BulkBodies(file, (Span(0, 30, 1),), 0), tmp_path)
    assert [file.closed for file in files] == [True, True, True, False, False]
    inputs.close()
    assert all(file.closed for file in files)


def test_the_bodies_of_the_run_itself_stay_however_large_they_are(disk: SimpleNamespace, tmp_path: Path) -> None:
    """It is about to send them."""
    disk.free = 7
    inputs, file = Inputs(), io.BytesIO()
    inputs.add_bodies("one", BulkBodies(file, (Span(0, 997, 1),), 0), tmp_path)
    assert not file.closed


class Kafka:
    """Topics that hold so many records each."""

    def __init__(self, held: dict[str, int]) -> None:
        self.held = held

    def names(self) -> list[str]:
        """All topics."""
        return list(self.held)

    def records_held(self, topic: str) -> int:
        """Those of one."""
        return self.held[topic]


@pytest.mark.parametrize(
    ("held", "is_kept"), [(7, True), (6, False), (None, False)], ids=["whole", "records are gone", "gone"]
)
def test_a_topic_that_is_not_whole_any_more_is_filled_anew(
    monkeypatch: pytest.MonkeyPatch, *, held: int | None, is_kept: bool
) -> None:
    """Retention, or another user, may have taken it away while the suite ran."""
    inputs = Inputs()
    run = run_with(inputs, "20260101-000007")
    run.keep_topics(delivered(7))
    topics = {} if held is None else {run.names.topic: held}
    monkeypatch.setattr("lab.run.load.inputs.topics_of", lambda _: Kafka(topics))
    inputs.forget_broken(run.profile, DOCUMENTS, HERE)
    assert (run_with(inputs, "20260101-000011").filled is not None) is is_kept


@pytest.mark.parametrize(("doubled", "is_kept"), [(0, True), (3, False)])
def test_a_topic_that_was_found_to_hold_other_documents_is_filled_anew(
    monkeypatch: pytest.MonkeyPatch, *, doubled: int, is_kept: bool
) -> None:
    """Every run that drains it would be void."""
    inputs = Inputs()
    run = run_with(inputs, "20260101-000007")
    run.keep_topics(delivered(7))
    monkeypatch.setattr("lab.run.load.inputs.topics_of", lambda _: Kafka({run.names.topic: 7}))
    inputs.compared_topics[run.names.topic] = TopicComparison(lacking=doubled, doubled=doubled, strange=0)
    inputs.forget_broken(run.profile, DOCUMENTS, HERE)
    assert (run_with(inputs, "20260101-000011").filled is not None) is is_kept
