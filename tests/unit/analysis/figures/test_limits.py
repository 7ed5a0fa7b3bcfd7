"""Which stage had no slack, told from the samples."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lab.analysis.figures.limits import limited_by
from lab.analysis.figures.warnings import not_indexed, values_stored_only, warnings
from lab.analysis.figures.windows import windows
from lab.records.result import Limit
from lab.records.run import RunWarning, WarningKind
from lab.records.samples import Sample
from lab.records.verification import StoredOnly
from tests.unit.analysis.synthetic import Truth, run, samples, with_samples, with_warnings
from tests.unit.messages import MakeMessage

STREAM = Truth(load="stream", rate_docs_per_s=5003.0, lag_records=101, machine_cpu_percent=53.0)
IDLE_DRAIN = Truth(machine_cpu_percent=53.0, write_active=0)


def limit(truth: Truth) -> Limit | None:
    """What limited a synthetic run."""
    return limited_by(run(truth), windows(samples(truth)).window)


def told(truth: Truth) -> dict[WarningKind, str]:
    """What a synthetic run warns of, and what was seen."""
    cut = windows(samples(truth))
    return {warning.kind: warning.seen for warning in warnings(run(truth), cut, limited_by(run(truth), cut.window))}


def test_a_stream_that_keeps_up_is_limited_by_the_rate_asked_for(message: MakeMessage) -> None:
    """It is not the most that the pipeline can do, and the report says so."""
    assert limit(STREAM) == Limit.model_construct(
        stage="requested rate", evidence=message("5,000 of 5,000", "documents/s", 101)
    )
    assert WarningKind.DRIVER_LIMITED not in told(STREAM)


def test_a_stream_that_was_delivered_as_asked_and_not_indexed_so_did_not_keep_up(message: MakeMessage) -> None:
    """The driver did what it was told; more of it would only make the backlog grow faster."""
    slow = replace(STREAM, rate_docs_per_s=9001.0, lag_records=39_427, write_active=0)
    found = told(slow)
    assert found[WarningKind.DID_NOT_KEEP_UP] == message("NOT", "9,000", "5,000", "39,427")
    assert WarningKind.DRIVER_LIMITED not in found
    assert WarningKind.DID_NOT_KEEP_UP not in told(STREAM)


def test_a_stream_that_falls_behind_its_schedule_without_lag_is_limited_by_the_producer(message: MakeMessage) -> None:
    """The sink waits for documents that come late."""
    late = replace(STREAM, rate_docs_per_s=9001.0, late_documents=7919)
    assert limit(late) == Limit.model_construct(stage="producer", evidence=message(101, "7,919", 100))
    assert told(late)[WarningKind.LATE_PRODUCER] == message("7,919", "115,069", 100)
    assert WarningKind.DRIVER_LIMITED in told(late)


def test_a_producer_that_kept_its_schedule_is_not_the_limit_however_small_the_lag() -> None:
    """One that asks for 6,000/s of a pipeline that takes 5,000: a short run ends before two seconds of work wait."""
    kept_schedule = replace(STREAM, rate_docs_per_s=6007.0, lag_records=7919, write_active=0)
    assert limit(kept_schedule) is None
    assert told(kept_schedule).keys() == {WarningKind.DID_NOT_KEEP_UP}


def test_nothing_is_said_to_wait_in_a_topic_whose_lag_is_not_known() -> None:
    """Kafka did not answer, so that a sink without records looks as one that cannot send them."""
    assert limit_of(IDLE_DRAIN, lambda _sample: {"kafka": None}) is None


def test_requests_that_wait_are_those_of_all_nodes(message: MakeMessage) -> None:
    """Three on each of two nodes are six."""

    def on_two_nodes(sample: Sample) -> dict[str, Any]:
        assert sample.elasticsearch is not None
        (node,) = sample.elasticsearch.nodes.values()
        nodes = {f"elasticsearch-{place}": node for place in (1, 2)}
        return {"elasticsearch": sample.elasticsearch.model_copy(update={"nodes": nodes})}

    found = limit_of(replace(IDLE_DRAIN, write_active=2), on_two_nodes)
    assert found is not None
    assert found.evidence == message("6 requests")


def test_elasticsearch_that_takes_most_of_a_saturated_machine_is_the_limit(message: MakeMessage) -> None:
    """Indexing experiments aim at this limit."""
    assert limit(Truth()) == Limit.model_construct(
        stage="elasticsearch",
        evidence=message(97, "elasticsearch-1 1.50", "connect 0.25", "kafka 0.12", "unknown processes 0.06"),
    )
    assert told(Truth()) == {}


def test_a_saturated_machine_that_all_share_is_said_to_be_shared(message: MakeMessage) -> None:
    """With as much for the driver as for Elasticsearch, the rate is not Elasticsearch's own."""
    shared = Truth(cores=(("elasticsearch-1", 0.75), ("connect", 0.75), ("kafka", 0.25)))
    assert limit(shared) == Limit.model_construct(
        stage="machine",
        evidence=message(97, "connect 0.75", "elasticsearch-1 0.75", "kafka 0.25", "unknown processes 0.19"),
    )
    assert WarningKind.DRIVER_LIMITED in told(shared)


def test_cores_that_no_known_process_took_are_named_as_such(message: MakeMessage) -> None:
    """Elasticsearch that gets less than half of a busy machine is not at its limit."""
    crowded = Truth(cores=(("elasticsearch-1", 0.47), ("connect", 0.11), ("kafka", 0.04)), machine_cpu_percent=100.0)
    assert limit(crowded) == Limit.model_construct(
        stage="machine", evidence=message(100, "unknown processes 1.38", "elasticsearch-1 0.47")
    )
    assert told(crowded) == {WarningKind.BUSY_MACHINE: message("unknown processes", 69)}


def test_the_producers_of_a_stream_are_no_other_programs(message: MakeMessage) -> None:
    """They count their own CPU time: 1.75 CPU-s in the 4 s of the synthetic delivery are 0.44 cores."""
    crowded = replace(STREAM, machine_cpu_percent=115.0, late_documents=7919)
    assert limit(crowded) == Limit.model_construct(
        stage="machine",
        evidence=message(115, "elasticsearch-1 1.50", "producer 0.44"),
    )


def test_a_backlog_before_idle_write_threads_is_the_sinks(message: MakeMessage) -> None:
    """Records wait while Elasticsearch has nothing to do."""
    assert limit(IDLE_DRAIN) == Limit.model_construct(stage="sink", evidence=message(0, 53, "5 of 5"))
    assert told(IDLE_DRAIN)[WarningKind.DRIVER_LIMITED] == message("sink", 0, 53, "5 of 5")


def test_busy_write_threads_on_a_machine_with_room_are_elasticsearchs(message: MakeMessage) -> None:
    """One shard, or a disk, can hold it back without all cores being busy."""
    found = limit(replace(IDLE_DRAIN, write_active=2))
    assert found is not None
    assert found.stage == "elasticsearch"
    assert found.evidence == message("3 requests")


def test_throttled_indexing_is_told_before_all_else_that_looks_like_it(message: MakeMessage) -> None:
    """Merges that cannot keep up hold indexing back, whatever the cores do."""
    found = limit(Truth(throttled_ms_per_tick=250))
    assert found == Limit.model_construct(stage="merge throttling", evidence=message(25))


def test_shards_that_are_throttled_at_the_same_time_are_a_sum(message: MakeMessage) -> None:
    """Two of them for 75 % of the time were told as 150 % of the measured window."""
    found = limit(Truth(throttled_ms_per_tick=1500))
    assert found is not None
    assert found.evidence == message(150)


def test_one_sample_tells_no_limit() -> None:
    """No window, no verdict."""
    assert limit(Truth(ticks=1)) is None


def test_dead_letters_are_warned_of(message: MakeMessage) -> None:
    """Even a verified run has refused records."""
    assert told(Truth(dead_lettered=13))[WarningKind.DEAD_LETTERS] == message(13, "115,082")


def test_documents_that_are_not_in_the_index_are_warned_of(message: MakeMessage) -> None:
    """Nothing is lost, and queries do not find them."""
    made = run(Truth())
    documents = made.documents.model_copy(update={"redirected": 1009, "skipped": 2})
    warned = not_indexed(made.model_copy(update={"documents": documents}))
    assert warned is not None
    assert (warned.kind, warned.seen) == (WarningKind.NOT_INDEXED, message("1,011", "115,069", "1,009", 2))
    assert not_indexed(made) is None


def test_values_that_are_stored_only_are_warned_of() -> None:
    """Of a run that has none, or has not counted them, nothing is said."""
    made = run(Truth())

    def warned(found: StoredOnly | None) -> RunWarning | None:
        verification = made.verification.model_copy(update={"stored_only": found})
        return values_stored_only(made.model_copy(update={"verification": verification}))

    found = StoredOnly(documents=1009, fields={"price": 1009})
    told = warned(found)
    assert told is not None
    assert (told.kind, told.seen) == (WarningKind.STORED_ONLY, found.text)
    assert warned(StoredOnly(documents=0)) is warned(None) is None


def test_garbage_collection_for_a_tenth_of_the_time_is_memory_pressure(message: MakeMessage) -> None:
    """101 ms of each second."""
    assert told(Truth(gc_ms_per_tick=101))[WarningKind.MEMORY_PRESSURE] == message("elasticsearch-1", 10.1)


def test_the_runs_own_warning_stands_before_the_samples() -> None:
    """Who saw it happen knows more; nobody is warned twice of one thing."""
    own = RunWarning(kind=WarningKind.DEAD_LETTERS, seen="seen", likely_cause="cause", remedy="remedy")
    truth = Truth(dead_lettered=13, ticks=3)
    found = warnings(with_warnings(run(truth), own), windows(samples(truth)), None)
    assert found[0] == own
    assert [warning.kind for warning in found] == [WarningKind.DEAD_LETTERS, WarningKind.SHORT_WINDOW]


@pytest.mark.parametrize("phase", ["fill", "settle"])
def test_only_the_load_phase_is_measured(phase: str) -> None:
    """What grows before and after it is not the load."""
    seen = [sample.model_copy(update={"phase": phase}) for sample in samples(Truth())]
    assert windows(seen).growing == ()


def waiting(percent: float) -> Callable[[Sample], dict[str, Any]]:
    """Cores that are idle for a disk."""
    return lambda _sample: {"machine_iowait_percent": percent}


def limit_of(truth: Truth, change: Callable[[Sample], dict[str, Any]]) -> Limit | None:
    """What limited a run whose samples are changed so."""
    return limited_by(run(truth), windows(with_samples(samples(truth), change)).window)


def test_cores_that_wait_for_a_disk_name_it(message: MakeMessage) -> None:
    """53 % busy and 44 % waiting: nothing else could have run."""
    found = limit_of(IDLE_DRAIN, waiting(44.0))
    assert found is not None
    assert (found.stage, found.evidence) == ("disk", message(53, 44, "1.88\u202fMB/s"))


@pytest.mark.parametrize("percent", [11.0, 31.0])
def test_a_disk_is_not_named_while_cores_are_left(percent: float) -> None:
    """Waiting for it now and then holds nothing up."""
    found = limit_of(IDLE_DRAIN, waiting(percent))
    assert found is not None
    assert found.stage == "sink"


def test_a_busy_broker_that_leaves_the_sink_with_room_is_the_limit(message: MakeMessage) -> None:
    """One core of two for the broker, and one bulk request of five under way."""
    busy = replace(IDLE_DRAIN, cores=(("elasticsearch-1", 0.25), ("connect", 0.25), ("kafka", 1.0)), bulks_in_flight=1)
    found = limit(busy)
    assert found is not None
    assert (found.stage, found.evidence) == ("broker", message("kafka 1.00", 2, "1 of 5"))
    full = limit(replace(busy, bulks_in_flight=5))
    assert full is not None
    assert full.stage == "sink"
