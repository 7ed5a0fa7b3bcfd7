"""Loads without Kafka: what a direct load, a race of Rally's and queries alone do in each phase of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.profiles.models import KINDS_OF_LOAD
from lab.records.run import SinkHistograms
from lab.records.verification import Verification
from lab.run.load_kinds import KINDS, base, direct, loading_of, queries
from lab.run.load_kinds.base import Loading
from lab.stack.groups import Bounds
from tests.unit.run.contexts import DOCUMENTS, Recorder, clients, context_of, phases_of

SETTLE = ["wait for merges", "wait for a sample"]


def loading(folder: Path, calls: list[str], name: str, **others: Any) -> Loading[Any]:
    """A load of a profile on stand-ins."""
    return loading_of(context_of(folder, name, **others), clients(calls))


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Waiting for servers takes no time, and is kept."""
    kept: list[str] = []
    monkeypatch.setattr(base, "wait_for_merges", lambda *_: kept.append("wait for merges"))
    for module in (base, direct):
        monkeypatch.setattr(module, "wait_for_sample_after", lambda *_: kept.append("wait for a sample"))
    return kept


def test_each_kind_of_load_has_an_object() -> None:
    """One that a profile can ask for could not run otherwise."""
    assert set(KINDS) == set(KINDS_OF_LOAD)


@pytest.mark.parametrize("name", ["sink/direct", "sink/rally", "events/search"])
def test_loads_without_kafka_have_no_topic_no_connector_and_no_producers(
    tmp_path: Path, calls: list[str], name: str
) -> None:
    """Neither in the samples, nor in the record."""
    load = loading(tmp_path, calls, name)
    sources = load.sources()
    assert (sources.topic, sources.connector, sources.any_connector, load.produced) == (None, None, None, None)
    assert sources.index == load.run.names.index
    load.configure()
    assert (calls, load.connector_config) == ([], {})


class Sender:
    """The process that sends ready-made bulk requests."""

    def __init__(self, calls: list[str], monkeypatch: pytest.MonkeyPatch, refused: dict[str, int]) -> None:
        self.calls = calls
        self.refused = refused
        monkeypatch.setattr(direct, "ready_sender", self.ready)
        monkeypatch.setattr(direct, "send_bodies", self.send)

    @contextmanager
    def ready(self, *_: object) -> Iterator[Any]:
        """Stand ready in a `with` block."""
        self.calls.append("sender ready")
        yield SimpleNamespace(record=lambda _, entities: SimpleNamespace(entities=entities, refused=self.refused))
        self.calls.append("sender gone")

    def send(self, *_: object, phase: str) -> dict[str, str]:
        """Send all."""
        self.calls.append(f"send in {phase}")
        return {"service_times": "times"}


def test_a_direct_load_makes_its_bodies_first_and_its_sender_ends_after_the_load(
    tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service times of the connections are in the record."""
    Sender(calls, monkeypatch, {})
    load = loading(tmp_path, calls, "sink/direct")
    phases_of(load, calls)
    assert calls == ["[fill]", "sender ready", "[load]", "send in load", "wait for a sample", "sender gone"]
    made = load.record()
    assert made["sink_histograms"] == SinkHistograms(record_age=None, bulk_service_time="times")
    assert made["direct"].entities == load.run.dataset.entities(0, DOCUMENTS)
    assert (made["topic"], made["delivery"]) == (None, None)


def test_documents_that_elasticsearch_rejects_void_a_direct_load(
    tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every document is expected under its id of the dataset, and no delivery to Kafka."""
    Sender(calls, monkeypatch, {"400 mapper_parsing_exception": 7})
    load = loading(tmp_path, calls, "sink/direct")
    phases_of(load, calls)
    target = load.verification_target()
    assert len(target.refusals) == 1
    assert "400 mapper_parsing_exception (7)" in target.refusals[0]
    assert (target.records.produced, target.records.delivered, target.key_is_id) == (DOCUMENTS, None, True)


def test_rally_is_waited_for_before_merges_are(
    tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rally reads the counters of the index before it ends."""
    load = loading(tmp_path, calls, "sink/rally")
    for step in ("start", "follow", "finish"):
        monkeypatch.setattr(load, step, lambda *_, _step=step: calls.append(_step))
    phases_of(load, calls)
    load.settle(lambda: None)
    assert calls == ["[fill]", "start", "[load]", "follow", "finish", *SETTLE]


class Kept:
    """A kept index, and the process that sends queries to it.

    Attributes:
        bounds: Bounds that the servers were given.
    """

    def __init__(self, calls: list[str], monkeypatch: pytest.MonkeyPatch, *, verified: bool) -> None:
        self.calls = calls
        self.bounds: list[Bounds] = []
        self.accounting = ("documents", Verification(verified=verified, problems=()))
        monkeypatch.setattr(queries, "have_layout", self.have)
        monkeypatch.setattr(queries, "QuerySending", self.ready)
        monkeypatch.setattr(queries, "try_questions_out", lambda _: calls.append("try questions out"))

    def have(self, _run: object, _cluster: object, try_out: Any) -> tuple[Any, ...]:
        """Find or make the index."""
        self.calls.append("have index")
        try_out()
        return ("layout", *self.accounting)

    @contextmanager
    def ready(self, *_: object) -> Iterator[Recorder]:
        """Have the process stand ready."""
        self.calls.append("queries ready")
        yield Recorder(self.calls, "queries", result="what came of them")
        self.calls.append("queries gone")

    @contextmanager
    def bounded(self, bounds: Bounds) -> Iterator[None]:
        """Bound the servers."""
        self.bounds.append(bounds)
        self.calls.append("bounded")
        yield
        self.calls.append("unbounded")

    def load(self, folder: Path) -> Any:
        """Queries alone."""
        load = loading(folder, self.calls, "events/search", target={"bounded": self.bounded})
        cast("Any", load.clients.cluster).answers["index_health"] = ("yellow", 3)
        return load


def test_queries_alone_are_sent_to_an_index_that_is_kept(
    tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers are bounded meanwhile, and only then."""
    kept = Kept(calls, monkeypatch, verified=True)
    load = kept.load(tmp_path)
    phases_of(load, calls)
    index = ["[fill]", "have index", "try questions out", "cluster.index_health"]
    sending = ["[load]", "queries.go", "queries.result"]
    assert calls == [*index, "queries ready", "bounded", *sending, "unbounded", "queries gone"]
    assert kept.bounds == [Bounds(**load.run.profile.elasticsearch.bounds)]
    made = load.record()
    assert (made["query_load"], made["layout"], load.unassigned) == ("what came of them", "layout", 3)


def test_no_query_is_sent_to_an_index_that_is_void(
    tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run has no phase `load`, and the problems of the index."""
    kept = Kept(calls, monkeypatch, verified=False)
    load = kept.load(tmp_path)
    phases_of(load, calls)
    assert "[load]" not in calls
    assert load.verify() == kept.accounting
    assert load.record()["query_load"] is None


def test_queries_alone_neither_create_nor_remove_nor_wait(
    tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries change nothing on disk, so that the size is final after phase `fill`."""
    load = Kept(calls, monkeypatch, verified=True).load(tmp_path)
    asked: list[tuple[object, ...]] = []
    load.clients.cluster.answers["index_health"] = lambda *given: asked.append(given) or ("yellow", 3)
    monkeypatch.setattr(queries.time, "monotonic", lambda: 1013.0)
    phases_of(load, [])
    del calls[:]
    load.clear()
    load.create()
    load.settle(lambda: None)
    assert (calls, load.unchanged_since_s) == ([], 1013.0)
    assert asked == [(load.run.names.index, "yellow", 1)], "replicas of a kept index are not waited for"


def test_indices_are_made_with_the_settings_of_the_target(
    tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on the first nodes of a suite's servers, which other variants need all of."""
    monkeypatch.setattr(base, "try_questions_out", lambda _: calls.append("try questions out"))
    monkeypatch.setattr(base, "create_index", lambda *_, target_settings: calls.append(target_settings) or 0)
    load = loading(tmp_path, calls, "sink/direct", target={"index_settings": {"refresh_interval": "7s"}})
    cast("Any", load.clients.kafka).answers["names"] = ()
    assert load.unassigned == 0
    load.create()
    assert calls == [{"refresh_interval": "7s"}, "try questions out", "kafka.names", "kafka.delete"]


def test_containers_of_the_target_are_sampled(tmp_path: Path, calls: list[str]) -> None:
    """Whatever the load."""
    containers = cast("Any", object())
    assert loading(tmp_path, calls, "sink/direct", target={"containers": containers}).sources().containers is containers


def test_a_load_that_fills_an_index_removes_those_of_earlier_runs(
    tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Merges are waited for in the end."""
    monkeypatch.setattr(base, "remove_earlier", lambda *_: calls.append("remove earlier"))
    load = loading(tmp_path, calls, "sink/direct")
    load.clear()
    load.settle(lambda: None)
    assert (calls, load.unchanged_since_s) == (["remove earlier", *SETTLE], None)
