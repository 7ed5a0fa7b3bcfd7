"""Loads through Kafka: what a drain and a stream do in each phase of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.errors import StackError
from lab.records.run import SinkHistograms
from lab.records.verification import Verification
from lab.run.load.drivers import Drivers
from lab.run.load.inputs import Inputs
from lab.run.load_kinds import kafka, loading_of
from lab.run.load_kinds.kafka import Draining, KafkaLoading, Streaming
from lab.run.verify.topic import TopicComparison
from producers.delivery import Delivered
from tests.unit.run.contexts import DOCUMENTS, Recorder, clients, context_of, phases_of

STREAM = ("load.mode=stream", "load.rate_docs_per_s=100")
RAMP = (*STREAM, "load.ramp={p99_ms: 1000}")
QUERIES = ("events/ingest-queries",)
HISTOGRAMS = SinkHistograms(record_age="ages", bulk_service_time="times")


def delivered(failed: int = 0) -> Delivered:
    """Counts of producers that have given some documents up."""
    return Delivered(DOCUMENTS, DOCUMENTS - failed, failed, 7, 5, 100.0, 11.0, 13.0, 3, {"p50": 7.0}, 17, 0, 0.1, ())


def loading(
    folder: Path, calls: list[str], *profile: str, sink: dict[str, Any] | None = None, **others: Any
) -> KafkaLoading[Any]:
    """A load whose producers, sink and servers are stand-ins; `sink` has methods and attributes of the sink."""
    name, *overrides = profile or ("quickstart",)
    made = cast("KafkaLoading[Any]", loading_of(context_of(folder, name, *overrides, **others), clients(calls)))
    settings = {"key_is_id": True, "ids_are_generated": False, "id_prefix": "", "keeps_ledger": True}
    made.sink = cast("Any", Recorder(calls, "sink", histograms=HISTOGRAMS))
    made.sink.__dict__.update({"config": {"tasks.max": "1"}, **settings, **(sink or {})})
    made.producing = cast("Any", Recorder(calls, "producing", fill=delivered(), stream=delivered()))
    made.producing.__dict__.update(since_due_s=7.0, produced=1013)
    return made


READ = ["sink.stop_command", "sink.histograms", "sink.ledger"]
"""The sink's figures are read after phase `load`, of a command once it has ended."""


def test_a_drain_fills_its_topic_before_the_sink_starts(tmp_path: Path) -> None:
    """The topic is kept for the runs to come."""
    calls: list[str] = []
    inputs = Inputs()
    load = loading(tmp_path, calls, inputs=inputs)
    phases_of(load, calls)
    assert calls == ["[fill]", "producing.fill", "[load]", "sink.start", "sink.drain", *READ]
    assert inputs.topic_names == {load.run.names.topic}
    assert (load.delivered, load.histograms) == (delivered(), HISTOGRAMS)


def test_a_drain_of_a_topic_that_an_earlier_run_has_filled_produces_nothing(tmp_path: Path) -> None:
    """The record names the run that has filled it."""
    inputs = Inputs()
    first, calls = loading(tmp_path, [], inputs=inputs), list[str]()
    first.run.keep_topics(delivered())
    second = loading(tmp_path, calls, inputs=inputs)
    phases_of(second, calls)
    assert calls == ["[fill]", "[load]", "sink.start", "sink.drain", *READ]
    made = second.record()
    assert made["delivery"].earlier_run == first.run.folder.run_id
    assert (made["topic"], made["delivery"].entities) == (first.run.names.topic, delivered().entities)


def test_records_of_a_topic_that_an_earlier_run_has_filled_have_no_age(tmp_path: Path) -> None:
    """Such records are as old as the topic. Bulk requests are the run's own."""
    inputs = Inputs()
    loading(tmp_path, [], inputs=inputs).run.keep_topics(delivered())
    reused, own = loading(tmp_path, [], inputs=inputs), loading(tmp_path, [], inputs=Inputs())
    for load in (reused, own):
        phases_of(load, [])
    assert reused.record()["sink_histograms"] == SinkHistograms(record_age=None, bulk_service_time="times")
    assert own.record()["sink_histograms"] == HISTOGRAMS
    assert own.record()["delivery"].earlier_run is None


def test_a_drain_waits_for_what_kafka_has_acknowledged(tmp_path: Path) -> None:
    """Records that a producer has given up never arrive."""
    drained: list[int] = []
    load = loading(tmp_path, [], sink={"drain": lambda _, records: drained.append(records)})
    cast("Any", load.producing).answers["fill"] = delivered(failed=7)
    phases_of(load, [])
    assert drained == [DOCUMENTS - 7]


def test_a_stream_is_produced_while_the_sink_runs(tmp_path: Path) -> None:
    """A stream has no phase `fill`."""
    calls: list[str] = []
    phases_of(loading(tmp_path, calls, "quickstart", *STREAM), calls)
    assert calls == ["[load]", "sink.start", "producing.stream", "sink.drain", *READ]


def test_the_ages_of_a_streams_warm_up_are_told_apart(tmp_path: Path) -> None:
    """The sink is read once more when the warm-up ends."""
    load = cast("Streaming", loading(tmp_path, [], "quickstart", *STREAM))
    load.warm_up.histograms, load.warm_up.ended_s = SinkHistograms(record_age="early", bulk_service_time=None), 5.5
    phases_of(load, [])
    made = load.record()["sink_histograms"]
    assert (made.record_age, made.warm_up_record_age, made.warm_up_s) == ("ages", "early", 5.5)


class Queries:
    """The process that sends queries.

    Attributes:
        refresh_s: Refresh interval of the index as the process was given it.
    """

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.refresh_s: float | None = None

    @contextmanager
    def ready(self, _run: object, _queries: object, refresh_s: float | None) -> Iterator[Recorder]:
        """Stand ready in a `with` block."""
        self.refresh_s = refresh_s
        self.calls.append("queries ready")
        try:
            yield Recorder(self.calls, "queries", result="what came of them")
        finally:
            self.calls.append("queries gone")


def test_queries_are_sent_while_documents_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sending process starts before the phase, and checks answers after it."""
    calls: list[str] = []
    queries = Queries(calls)
    monkeypatch.setattr(kafka, "QuerySending", queries.ready)
    load = loading(tmp_path, calls, *QUERIES)
    cast("Any", load.clients.cluster).answers["index_settings"] = {"index.refresh_interval": "3s"}
    phases_of(load, calls)
    during = ["sink.start", "queries.go", "producing.stream", "queries.stop", "sink.drain"]
    ready = ["cluster.index_settings", "queries ready"]
    assert calls == [*ready, "[load]", *during, "queries.result", "queries gone", *READ]
    assert load.record()["query_load"] == "what came of them"
    assert queries.refresh_s == 3.0


def test_the_process_that_sends_queries_ends_with_a_stream_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner closes what it goes through; no figure of a sink is read that is not there."""
    calls: list[str] = []
    monkeypatch.setattr(kafka, "QuerySending", Queries(calls).ready)
    load = loading(tmp_path, calls, *QUERIES)
    cast("Any", load.clients.cluster).answers["index_settings"] = {}
    phases = load.phases(lambda: None)
    next(phases)
    phases.close()
    assert calls == ["cluster.index_settings", "queries ready", "queries gone"]


def test_while_documents_stream_the_sink_and_the_queries_are_looked_after(tmp_path: Path) -> None:
    """The end of the warm-up is not missed."""
    calls: list[str] = []
    load = cast("Streaming", loading(tmp_path, calls, "quickstart", *STREAM))
    followed: list[float] = []
    load.warm_up = cast("Any", Recorder(calls, "warm-up", follow=followed.append))
    load.sending = cast("Any", Recorder(calls, "queries"))
    load.check()
    load.sending = None
    load.check()
    assert calls == ["sink.refuse_end", "queries.follow", "warm-up.follow", "sink.refuse_end", "warm-up.follow"]
    assert followed == [7.0, 7.0]


def test_a_stream_ends_with_a_sink_that_has_ended(tmp_path: Path) -> None:
    """The exception ends the producers."""

    def refuse() -> None:
        raise StackError("ended")

    with pytest.raises(StackError, match=r"^ended$"):
        cast("Streaming", loading(tmp_path, [], "quickstart", *STREAM, sink={"refuse_end": refuse})).check()


def test_a_ramp_raises_the_rate_of_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record has the steps."""
    rates: list[float] = []

    given: dict[str, Any] = {}

    def rising(_producing: object, _sink: object, ramp: Any, rate: float, **named: Any) -> Recorder:
        rates.extend((ramp.p99_ms, rate))
        given.update(named)
        return Recorder([], "", run=(delivered(), "steps"))

    monkeypatch.setattr(kafka, "RisingStream", rising)
    load = loading(tmp_path, [], "quickstart", *RAMP)
    phases_of(load, [])
    assert (rates, load.record()["document_ramp"], load.delivered) == ([1000, 100], "steps", delivered())
    assert (given["latest"](), given["check"]) == (None, cast("Streaming", load).check)


def test_drivers_on_other_hosts_send_a_stream_where_there_are_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record has each driver; this process produces nothing."""
    calls: list[str] = []
    driven = SimpleNamespace(run=delivered, drivers=("one", "two"))
    monkeypatch.setattr(kafka, "DrivenStream", lambda *_: driven)
    load = loading(tmp_path, calls, "quickstart", *STREAM, drivers=Drivers(2))
    phases_of(load, calls)
    assert calls == ["[load]", "sink.start", "sink.drain", *READ]
    assert load.record()["drivers"] == ("one", "two")


def test_topic_and_connector_are_sampled_and_ages_of_a_stream_alone(tmp_path: Path) -> None:
    """In a drain, an age is the time that a record has waited in the topic."""
    drain, stream = loading(tmp_path, []), loading(tmp_path, [], "quickstart", *STREAM)
    names = drain.run.names
    sources = drain.sources()
    assert (sources.topic, sources.connector, sources.any_connector) == (names.topic, names.connector, names.connector)
    assert (sources.index, sources.consumer_group) == (names.index, names.consumer_group)
    assert (sources.reads_ages, stream.sources().reads_ages) == (False, True)
    assert drain.produced == 1013


def test_of_a_sink_of_others_no_ledger_is_sampled_and_of_a_command_no_state(tmp_path: Path) -> None:
    """Nobody could tell them."""
    other = loading(tmp_path, [], sink={"keeps_ledger": False}).sources()
    command = loading(tmp_path, [], "sink/naive-python", sink={"keeps_ledger": False}).sources()
    assert (other.connector, other.any_connector is None) == (None, False)
    assert (command.connector, command.any_connector) == (None, None)


def test_indices_are_there_before_topics_and_a_filled_topic_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Topics of earlier runs are removed, but for those that runs of the suite drain; dead letters have a new one."""
    calls: list[str] = []
    inputs = Inputs()
    loading(tmp_path, [], inputs=inputs).run.keep_topics(delivered())
    for name in ("create_index", "try_questions_out"):
        monkeypatch.setattr(f"lab.run.load_kinds.base.{name}", lambda *_, _name=name, **__: calls.append(_name) or 3)
    load = loading(tmp_path, calls, inputs=inputs)
    old = load.run.names.topic.replace("000007", "000005")
    kafka_client = cast("Any", load.clients.kafka)
    created: list[str] = []
    deleted: list[str] = []
    kafka_client.answers.update(
        names={load.run.names.topic, old}, create=lambda name, **_: created.append(name), delete=deleted.extend
    )
    load.create()
    assert calls == ["create_index", "try_questions_out", "kafka.names", "kafka.delete", "kafka.create"]
    assert (created, deleted, load.unassigned) == ([load.run.names.dead_letter_topic], [old], 3)


class Verifying:
    """Verification that keeps its targets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.targets: list[Any] = []
        self.by_index: dict[str, str] = {}
        self.verification = Verification(verified=True, problems=())
        for module, name, more in (
            ("base", "verify_parts", (self.by_index,)),
            ("kafka", "verify_consumed", ()),
        ):
            monkeypatch.setattr(
                f"lab.run.load_kinds.{module}.{name}", lambda *given, _more=more: self.verify(given, _more)
            )

    def verify(self, given: tuple[Any, ...], more: tuple[Any, ...]) -> tuple[Any, ...]:
        """Keep what is verified."""
        self.targets.append(given[0])
        return ("documents", self.verification, *more)


def test_what_kafka_has_acknowledged_is_to_be_stored_under_the_ids_of_the_sink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failed records are known, and comparisons of topics shared by the suite."""
    verifying, inputs = Verifying(monkeypatch), Inputs()
    inputs.compared_topics["books"] = TopicComparison(lacking=0, doubled=0, strange=0)
    ids = {"key_is_id": False, "ids_are_generated": True, "id_prefix": "shop-"}
    load = loading(tmp_path, [], inputs=inputs, sink=ids)
    load.delivered = replace(delivered(failed=7), failures=(cast("Any", "timed out"),))
    assert load.verify() == ("documents", verifying.verification)
    (target,) = verifying.targets
    records = target.records
    assert (records.produced, records.delivered, records.failed) == (DOCUMENTS, DOCUMENTS - 7, 7)
    assert records.failures == ("timed out",)
    assert (target.key_is_id, target.ids_are_generated, target.id_prefix) == (False, True, "shop-")
    assert (target.seed, target.sample) == (load.run.folder.run_id, load.run.profile.verify.sample)
    assert target.compared_topics is inputs.compared_topics
    assert target.refusals == ()
    assert load.record()["index_documents"] == {}


def test_each_of_several_indices_is_accounted_for_by_its_first_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples know that one; a deployment may have given another."""
    verifying = Verifying(monkeypatch)
    verifying.by_index.update(one="accounting of one", two="accounting of two")
    load = loading(tmp_path, [], "quickstart", "indices=2")
    load.delivered = delivered()
    load.verify()
    first, second = load.run.names.indices
    assert load.record()["index_documents"] == {first: "accounting of one", second: "accounting of two"}


def test_a_display_is_told_that_ids_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading ids takes the longest, whichever way a run is verified."""
    Verifying(monkeypatch)
    begun: list[tuple[object, ...]] = []
    for expected in ("stored", "consumed"):
        load = loading(tmp_path, [], "quickstart", f"verify.expect={expected}")
        progress = Recorder([], "", begin=lambda *step: begun.append(step))
        progress.__dict__["update"] = None
        load.run, load.delivered = replace(load.run, progress=cast("Any", progress)), delivered()
        load.verify()
    assert begun == [("verify", "reading every id back", DOCUMENTS)] * 2


def test_a_sink_that_is_to_store_nothing_is_held_against_what_it_has_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a run has no accounting by index."""
    verifying = Verifying(monkeypatch)
    load = loading(tmp_path, [], "quickstart", "verify.expect=consumed")
    load.delivered = delivered()
    assert load.verify() == ("documents", verifying.verification)
    assert load.record()["index_documents"] == {}


def test_the_ledger_is_held_against_topic_and_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger says beforehand which records are not to be in the index."""
    verifying = Verifying(monkeypatch)
    load = loading(tmp_path, [])
    load.delivered, load.reading = delivered(), cast("Any", SimpleNamespace(ledger=None))
    cast("Any", load.clients.kafka).answers["end_offsets"] = {0: 503, 1: 506}
    seen: dict[str, Any] = {}

    def unindexed(_reading: object, in_topic: object, *, restarted: bool) -> dict[str, int]:
        seen.update(in_topic=in_topic, restarted=restarted)
        return {load.run.names.topic: 3}

    monkeypatch.setattr(kafka, "samples_in", lambda _: ())
    monkeypatch.setattr(kafka, "tasks_restarted", lambda _: True)
    monkeypatch.setattr(kafka, "unindexed_records", unindexed)
    monkeypatch.setattr(kafka, "with_ledger", lambda _verification, _reading, evidence: evidence)
    documents, evidence = cast("Any", load.verify())
    topic = load.run.names.topic
    assert seen == {"in_topic": {f"{topic}-0": 503, f"{topic}-1": 506}, "restarted": True}
    assert verifying.targets[0].unindexed == {topic: 3}
    assert (documents, evidence.documents, evidence.in_topic) == ("documents", "documents", seen["in_topic"])
    assert evidence.restarted


def test_settings_of_the_sink_are_approved_before_anything_is_created_and_are_in_the_record(tmp_path: Path) -> None:
    """A command is stopped, however the run ends."""
    calls: list[str] = []
    load = loading(tmp_path, calls)
    load.configure()
    load.stop()
    assert calls == ["sink.configure", "sink.stop_command"]
    assert load.connector_config == {"tasks.max": "1"}


def test_the_ledger_is_in_the_record_where_there_is_one(tmp_path: Path) -> None:
    """A command keeps no ledger."""
    load = loading(tmp_path, [])
    load.delivered = delivered()
    assert load.record()["sink_ledger"] is None
    load.reading = cast("Any", SimpleNamespace(ledger="ledger"))
    assert load.record()["sink_ledger"] == "ledger"
    assert isinstance(load, Draining)
