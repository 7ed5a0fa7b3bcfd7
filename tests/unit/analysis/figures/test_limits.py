"""Which stage had no slack, told from the samples."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lab.analysis.figures.limits import limited_by
from lab.analysis.figures.warnings import not_indexed, values_stored_only, warnings
from lab.analysis.figures.windows import windows
from lab.records.result import Limit, Stage
from lab.records.run import RunWarning, WarningKind
from lab.records.samples import Sample
from lab.records.verification import StoredOnly
from tests.unit.analysis.synthetic import Truth, in_stages, run, samples, with_samples, with_warnings
from tests.unit.messages import MakeMessage

STREAM = Truth(load="stream", rate_docs_per_s=5003.0, lag_records=101, machine_cpu_percent=53.0)
IDLE_DRAIN = Truth(machine_cpu_percent=53.0, write_active=0)


def told(truth: Truth) -> dict[WarningKind, str]:
    """What a synthetic run warns of, and what was seen."""
    cut = windows(samples(truth))
    return {warning.kind: warning.seen for warning in warnings(run(truth), cut, limited_by(run(truth), cut.window))}


Change = Callable[[Sample], dict[str, Any]]


def unchanged(_: Sample) -> dict[str, Any]:
    """Samples as they were made."""
    return {}


def waiting(percent: float) -> Change:
    """Cores that are idle for a disk."""
    return lambda _: {"machine_iowait_percent": percent}


def without_kafka(_: Sample) -> dict[str, Any]:
    """A broker that does not answer the sampler."""
    return {"kafka": None}


def reading_the_topic_itself(sample: Sample) -> dict[str, Any]:
    """An index whose documents no write thread stores, and whose time is not counted."""
    assert sample.elasticsearch is not None
    primaries = sample.elasticsearch.primaries.model_copy(update={"index_time_ms": 0})
    return {"elasticsearch": sample.elasticsearch.model_copy(update={"primaries": primaries})}


def standing_still(sample: Sample) -> dict[str, Any]:
    """An index that nothing was written to."""
    assert sample.elasticsearch is not None
    primaries = sample.elasticsearch.primaries.model_copy(update={"index_time_ms": 0, "index_total": 1009})
    return {"elasticsearch": sample.elasticsearch.model_copy(update={"primaries": primaries})}


def on_two_nodes(sample: Sample) -> dict[str, Any]:
    """Two nodes that both count so."""
    assert sample.elasticsearch is not None
    (node,) = sample.elasticsearch.nodes.values()
    nodes = {f"elasticsearch-{place}": node for place in (1, 2)}
    return {"elasticsearch": sample.elasticsearch.model_copy(update={"nodes": nodes})}


def with_cores(elasticsearch: float, connect: float, kafka: float, **changes: Any) -> Truth:
    """A drain of which the servers took these cores."""
    cores = (("elasticsearch-1", elasticsearch), ("connect", connect), ("kafka", kafka))
    return replace(Truth(), cores=cores, **changes)


LATE = replace(STREAM, rate_docs_per_s=9001.0, late_documents=7919)
KEPT_SCHEDULE = replace(STREAM, rate_docs_per_s=6007.0, lag_records=7919, write_active=0)
CROWDED = with_cores(0.47, 0.11, 0.04, machine_cpu_percent=100.0)
BUSY_BROKER = with_cores(0.25, 0.25, 1.0, machine_cpu_percent=53.0, write_active=0, bulks_in_flight=1)


@pytest.mark.parametrize(
    ("truth", "change", "stage", "facts"),
    [
        pytest.param(STREAM, unchanged, "requested rate", ("5,000 of 5,000", 101), id="a stream that keeps up"),
        pytest.param(
            LATE, unchanged, "producer", (101, "7,919", 100), id="a producer behind its schedule, without lag"
        ),
        pytest.param(KEPT_SCHEDULE, unchanged, None, (), id="a producer on schedule, before less than 2 s of work"),
        pytest.param(IDLE_DRAIN, unchanged, "sink", (0, 53, "5 of 5"), id="a backlog before idle write threads"),
        pytest.param(IDLE_DRAIN, without_kafka, None, (), id="no known lag before idle write threads"),
        pytest.param(IDLE_DRAIN, reading_the_topic_itself, None, (), id="an index that reads the topic itself"),
        pytest.param(
            replace(IDLE_DRAIN, write_active=2), unchanged, "elasticsearch", ("3 requests",), id="busy write threads"
        ),
        pytest.param(
            replace(IDLE_DRAIN, write_active=2), on_two_nodes, "elasticsearch", ("6 requests",), id="of two nodes"
        ),
        pytest.param(
            Truth(),
            unchanged,
            "elasticsearch",
            (97, "elasticsearch-1 1.50", "connect 0.25", "kafka 0.12", "unknown processes 0.06"),
            id="Elasticsearch takes most of a saturated machine",
        ),
        pytest.param(
            with_cores(0.75, 0.75, 0.25),
            unchanged,
            "machine",
            (97, "connect 0.75", "elasticsearch-1 0.75", "kafka 0.25", "unknown processes 0.19"),
            id="all share a saturated machine",
        ),
        pytest.param(
            CROWDED,
            unchanged,
            "machine",
            (100, "unknown processes 1.38", "elasticsearch-1 0.47"),
            id="no known process takes most of it",
        ),
        pytest.param(
            replace(STREAM, machine_cpu_percent=115.0, late_documents=7919),
            unchanged,
            "machine",
            (115, "elasticsearch-1 1.50", "producer 0.44"),  # 1.75 CPU-s in the 4 s of the delivery
            id="the producers of a stream are no other programs",
        ),
        pytest.param(
            Truth(throttled_ms_per_tick=250), unchanged, "merge throttling", (25,), id="throttled, whatever else"
        ),
        pytest.param(
            Truth(throttled_ms_per_tick=1500), unchanged, "merge throttling", (150,), id="throttled shards are a sum"
        ),
        pytest.param(
            IDLE_DRAIN, waiting(44.0), "disk", (53, 44, "1.88\u202fMB/s"), id="no core is left but those of the disk"
        ),
        pytest.param(IDLE_DRAIN, waiting(11.0), "sink", (), id="a disk that is waited for now and then"),
        pytest.param(IDLE_DRAIN, waiting(31.0), "sink", (), id="a disk while cores are left"),
        pytest.param(BUSY_BROKER, unchanged, "broker", ("kafka 1.00", 2, "1 of 5"), id="a sink with room"),
        pytest.param(replace(BUSY_BROKER, bulks_in_flight=5), unchanged, "sink", (), id="a busy broker, no room"),
        pytest.param(Truth(ticks=1), unchanged, None, (), id="one sample"),
    ],
)
def test_the_stage_without_slack_is_named_with_its_readings(
    truth: Truth, change: Change, stage: Stage | None, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """The first predicate that applies decides, and none does where a reading is not known."""
    found = limited_by(run(truth), windows(with_samples(samples(truth), change)).window)
    expected = Limit.model_construct(stage=stage, evidence=message(*facts)) if stage else None
    assert found == expected


def test_an_index_at_rest_is_not_taken_for_one_that_reads_its_topic_itself() -> None:
    """In neither is time of indexing counted; here records wait for a sink that sends nothing, as the page shows."""
    at_rest = limited_by(run(IDLE_DRAIN), with_samples(samples(IDLE_DRAIN), standing_still))
    assert (at_rest and at_rest.stage) == "sink"


@pytest.mark.parametrize(
    ("truth", "is_told"),
    [(STREAM, False), (LATE, True), (KEPT_SCHEDULE, False), (with_cores(0.75, 0.75, 0.25), True), (CROWDED, False)],
)
def test_a_rate_of_the_drivers_own_is_warned_of(truth: Truth, is_told: bool) -> None:  # noqa: FBT001
    """Not where the driver did what was asked of it, or had little of the machine."""
    assert (WarningKind.DRIVER_LIMITED in told(truth)) == is_told


def test_a_driver_without_slack_is_named_with_its_readings(message: MakeMessage) -> None:
    """Records wait while Elasticsearch has nothing to do."""
    assert told(IDLE_DRAIN)[WarningKind.DRIVER_LIMITED] == message("sink", 0, 53, "5 of 5")


def test_a_sound_run_warns_of_nothing() -> None:
    """Indexing experiments aim at Elasticsearch's limit."""
    assert told(Truth()) == {}


def test_a_stream_that_was_delivered_as_asked_and_not_indexed_so_did_not_keep_up(message: MakeMessage) -> None:
    """The driver did what it was told; more of it would only make the backlog grow faster."""
    slow = replace(STREAM, rate_docs_per_s=9001.0, lag_records=39_427, write_active=0)
    assert told(slow)[WarningKind.DID_NOT_KEEP_UP] == message("NOT", "9,000", "5,000", "39,427")
    assert WarningKind.DRIVER_LIMITED not in told(slow)
    assert WarningKind.DID_NOT_KEEP_UP not in told(STREAM)
    assert told(KEPT_SCHEDULE).keys() == {WarningKind.DID_NOT_KEEP_UP}


def test_a_stream_whose_nodes_are_paused_is_not_said_to_fall_behind_its_rate() -> None:
    """All of its stages may have the same: what they are for is how it catches up."""
    slow = replace(STREAM, rate_docs_per_s=9001.0, lag_records=39_427, write_active=0)
    assert warnings(in_stages(slow), windows(samples(slow)), None) == ()


def test_a_stream_without_a_measured_window_is_not_said_to_fall_behind() -> None:
    """Nothing follows from a second of growth: it may lie between two bulk requests."""
    in_bursts = replace(STREAM, ticks=6, shape=lambda tick: 1.9 if tick % 2 else 0.1)
    assert told(in_bursts).keys() == {WarningKind.SHORT_WINDOW}


def test_a_stream_that_falls_behind_its_schedule_is_told(message: MakeMessage) -> None:
    """The sink waits for documents that come late."""
    assert told(LATE)[WarningKind.LATE_PRODUCER] == message("7,919", "115,069", 100)


def test_cores_that_no_known_process_took_are_warned_of(message: MakeMessage) -> None:
    """As other programs are, where they were measured."""
    assert told(CROWDED) == {WarningKind.BUSY_MACHINE: message("unknown processes", 69)}


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


def test_a_second_of_garbage_collection_is_no_memory_pressure_of_a_load_without_a_window() -> None:
    """0.15 s of its last second, and of 5 s of growth."""
    short = Truth(ticks=6)
    paused_s = short.load_starts_s + short.warm_up_s + 5

    def change(sample: Sample) -> dict[str, Any]:
        assert sample.elasticsearch is not None
        (node,) = sample.elasticsearch.nodes.values()
        paused = node.model_copy(update={"gc_young_time_ms": 150 if sample.at_s >= paused_s else 0})
        return {"elasticsearch": sample.elasticsearch.model_copy(update={"nodes": {"elasticsearch-1": paused}})}

    found = warnings(run(short), windows(with_samples(samples(short), change)), None)
    assert [warning.kind for warning in found] == [WarningKind.SHORT_WINDOW]


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
