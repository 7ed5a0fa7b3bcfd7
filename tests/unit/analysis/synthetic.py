"""A run whose every figure is known beforehand, because it is made from them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import orjson
from hdrh.histogram import HdrHistogram

from lab.records.queries import QuestionAnswers
from lab.records.run import (
    Course,
    Delivery,
    DirectLoad,
    Environment,
    Phase,
    RallyLoad,
    Run,
    RunWarning,
    Server,
    SinkHistograms,
    StageRecord,
)
from lab.records.samples import (
    ElasticsearchSample,
    IndexCounters,
    KafkaSample,
    NodeCounters,
    ProcessSample,
    Sample,
    ShardCounters,
    SinkSample,
)
from lab.records.verification import Documents, Verification
from lab.run.environment import servers_elsewhere

START_S = 1_800_000_000.0
GIB = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What is so in a synthetic run, and what its figures must therefore say.

    Attributes:
        docs_per_tick: Documents indexed from each sample of the load to the next, once the sink has started.
        ms_per_1000_docs: What Elasticsearch spends on primaries; replicas cost as much again.
        fill_s: Length of the phase in which the topic is filled.
        warm_up_s: From the start of the load until the first document is indexed.
        settle_s: Length of the phase after the load.
        cores: Cores that each server keeps busy during the load.
        shape: Makes the rate of each tick vary, for a picture; 1.0 changes nothing.
    """

    load: Literal["drain", "stream"] = "drain"
    rate_docs_per_s: float | None = None
    docs_per_tick: int = 5003
    ticks: int = 23
    ms_per_1000_docs: int = 310
    replicas: int = 0
    bytes_per_doc: int = 797
    docs_per_entity: int = 1
    fill_s: int = 4
    warm_up_s: int = 3
    settle_s: int = 3
    cores: tuple[tuple[str, float], ...] = (("elasticsearch-1", 1.5), ("connect", 0.25), ("kafka", 0.125))
    machine_cpu_percent: float = 97.0
    write_threads: int = 2
    write_active: int = 2
    bulks_in_flight: int = 5
    throttled_ms_per_tick: int = 0
    gc_ms_per_tick: int = 11
    dead_lettered: int = 0
    late_documents: int = 0
    lag_records: int | None = None
    bulk_docs: int = 1009
    bulk_ms: tuple[int, ...] = (83, 89, 97, 101, 401)
    shape: Callable[[int], float] = lambda _tick: 1.0

    @property
    def indexed_per_tick(self) -> list[int]:
        """Documents indexed in each tick of the load that indexes any."""
        return [round(self.docs_per_tick * self.shape(tick)) for tick in range(self.ticks)]

    @property
    def indexed(self) -> int:
        """Documents in the index at the end."""
        return sum(self.indexed_per_tick)

    @property
    def delivered(self) -> int:
        """Records in the topic at the end."""
        return self.indexed + self.dead_lettered

    @property
    def load_s(self) -> int:
        """Length of the load phase."""
        return self.warm_up_s + self.ticks

    @property
    def load_starts_s(self) -> float:
        """When the load phase begins."""
        return START_S + self.fill_s


def samples(truth: Truth) -> list[Sample]:
    """One sample per second of the run."""
    end = truth.fill_s + truth.load_s + truth.settle_s
    return [_sample(truth, tick) for tick in range(end + 1)]


def _sample(truth: Truth, tick: int) -> Sample:
    since_load = tick - truth.fill_s
    phase = "fill" if since_load < 0 else "load" if since_load <= truth.load_s else "settle"
    loaded_ticks = min(max(0, since_load - truth.warm_up_s), truth.ticks)
    indexed = sum(truth.indexed_per_tick[:loaded_ticks])
    busy_s = min(max(0, since_load), truth.load_s)
    delivered = truth.delivered if truth.load == "drain" else min(truth.delivered, indexed + (truth.lag_records or 0))
    if since_load < 0 and truth.load == "drain":
        delivered = truth.delivered * tick // max(1, truth.fill_s)
    primaries = _shards(truth, indexed, loaded_ticks, copies=1)
    return Sample(
        at_s=START_S + tick,
        phase=phase,
        produced=delivered,
        elasticsearch=ElasticsearchSample(
            primaries=primaries,
            total=_shards(truth, indexed, loaded_ticks, copies=1 + truth.replicas),
            nodes={"elasticsearch-1": _node(truth, loaded_ticks, working=0 < loaded_ticks < truth.ticks)},
            read_s=START_S + tick + 0.017,
        ),
        kafka=KafkaSample(end_offset=delivered, committed_offset=indexed),
        sink=_sink(truth, indexed) if since_load >= 1 else None,
        processes={name: _process(100 + place, cores * busy_s) for place, (name, cores) in enumerate(truth.cores)},
        machine_cpu_percent=truth.machine_cpu_percent if 0 < since_load <= truth.load_s else 3.0,
    )


def _shards(truth: Truth, indexed: int, ticks: int, *, copies: int) -> ShardCounters:
    return ShardCounters(
        index_total=indexed * copies,
        index_time_ms=indexed * truth.ms_per_1000_docs // 1000 * copies,
        index_failed=0,
        throttle_time_ms=ticks * truth.throttled_ms_per_tick,
        docs_count=indexed * copies,
        store_size_bytes=indexed * 503 * copies,
        refresh_total=ticks * copies,
        refresh_time_ms=ticks * 13 * copies,
        flush_total=ticks // 10,
        flush_time_ms=ticks // 10 * 101,
        merges_current=0,
        merges_total=ticks // 3,
        merges_time_ms=ticks // 3 * 211,
        merges_throttled_time_ms=0,
        segments_count=7,
        translog_size_bytes=55,
        query_total=0,
        query_time_ms=0,
    )


def _node(truth: Truth, ticks: int, *, working: bool) -> NodeCounters:
    return NodeCounters(
        cpu_percent=80,
        heap_used_bytes=300_000_007 + ticks,
        heap_max_bytes=GIB,
        gc_young_count=11 + ticks,
        gc_young_time_ms=113 + ticks * truth.gc_ms_per_tick,
        gc_old_count=0,
        gc_old_time_ms=0,
        write_queue=3 if working else 0,
        write_rejected=0,
        write_completed=17 + ticks,
        write_threads=truth.write_threads,
        write_active=truth.write_active if working else 0,
    )


def _sink(truth: Truth, indexed: int) -> SinkSample:
    refused = truth.dead_lettered if indexed else 0
    bulks = math.ceil(indexed / truth.bulk_docs)
    return SinkSample(
        tasks=1,
        records_read=indexed + refused,
        records_indexed=indexed,
        records_updated=0,
        records_deleted=0,
        records_already_there=0,
        records_stale=0,
        records_dead_lettered=refused,
        records_dropped=0,
        records_in_flight=0,
        bytes_acknowledged=indexed * truth.bytes_per_doc,
        bulk_requests=bulks,
        bulk_requests_failed=0,
        bulk_retries=0,
        item_retries=0,
        bulk_requests_in_flight=truth.bulks_in_flight,
        bulk_service_time_ms_total=bulks * 89,
        bulk_documents_total=indexed,
        bulk_bytes_total=indexed * (truth.bytes_per_doc + 61),
        time_blocked_ms_total=0,
    )


def _process(pid: int, cpu_s: float) -> ProcessSample:
    return ProcessSample(
        pid=pid,
        cpu_s=29.0 + cpu_s,
        rss_bytes=pid * 10_000_019,
        major_page_faults=2,
        disk_read_bytes=None,
        disk_write_bytes=int(cpu_s * 1_000_003),
    )


def encoded(values_ms: Sequence[float], times: int = 1) -> str:
    """A histogram in µs, as the sink encodes it."""
    return _encoded(tuple(values_ms), times)


@cache
def _encoded(values_ms: tuple[float, ...], times: int) -> str:
    """Of the runs of one suite most have the same."""
    histogram = HdrHistogram(1, 3_600_000_000, 3)
    for value in values_ms:
        histogram.record_value(round(value * 1000), times)
    text: bytes = histogram.encode()
    return text.decode()


def run(truth: Truth) -> Run:
    """The record of the synthetic run."""
    ends_s = truth.load_starts_s + truth.load_s + truth.settle_s
    waits_ms = [1000 * (truth.warm_up_s + place / 97) for place in range(97 * truth.ticks)]
    return Run(
        run_id="20270115-080000-synthetic",
        profile="aladin/synthetic",
        question="Does a run whose figures are known give back those figures?",
        started_s=START_S,
        ended_s=ends_s,
        phases=(
            Phase(name="prepare", started_s=START_S, ended_s=truth.load_starts_s),
            Phase(name="load", started_s=truth.load_starts_s, ended_s=truth.load_starts_s + truth.load_s),
            Phase(name="settle", started_s=truth.load_starts_s + truth.load_s, ended_s=ends_s),
        ),
        load=truth.load,
        index="sluice-books",
        topic="sluice-books",
        documents=Documents(
            produced=truth.delivered,
            delivered=truth.delivered,
            failed=0,
            indexed=truth.indexed,
            already_there=0,
            dead_lettered=truth.dead_lettered,
            missing=0,
            unexpected=0,
            sampled=1000,
            sample_mismatches=0,
        ),
        verification=Verification(verified=True, problems=()),
        delivery=Delivery(
            source_bytes=truth.delivered * truth.bytes_per_doc,
            entities=truth.delivered // truth.docs_per_entity,
            rate_docs_per_s=truth.rate_docs_per_s,
            first_intended_s=START_S,
            last_acknowledged_s=START_S + truth.fill_s,
            late_documents=truth.late_documents,
            latency_ms={"p50": 7.0, "p99": 71.0},
            cpu_s=1.75,
        ),
        sink_histograms=SinkHistograms(
            record_age=encoded(waits_ms, times=53),
            bulk_service_time=encoded(truth.bulk_ms, times=23),
            # Of a stream nothing was acknowledged in its warm-up: what counts is all that there is.
            **({"warm_up_record_age": encoded(()), "warm_up_s": 5.0} if truth.load == "stream" else {}),
        ),
        environment=environment(),
        command=("./sluice", "run", "aladin/synthetic", "--set", "index.number_of_replicas=0"),
        questions=(question(),),
        store_size_bytes={"primaries": 503 * truth.indexed, "total": 2 * 503 * truth.indexed},
    )


def question() -> QuestionAnswers:
    """Seven answers by joins of three requests, each joining 11 ids and telling of 13 books; none is wrong."""
    return QuestionAnswers(
        name="cheap-books",
        question="Which books cost less than that?",
        model="flat",
        fingerprint="0123456789abcdef",
        answers=7,
        wrong=0,
        expected_wrong=False,
        first_wrong=None,
        requests=21,
        ids_joined=77,
        books=91,
        service_time=encoded((17, 19, 23, 29, 31, 37, 41), times=1),
        took=encoded((3, 5, 7, 11, 13, 17, 19), times=1),
    )


def into_indices(truth: Truth, *shares: int) -> tuple[Run, list[Sample]]:
    """The same load into several indices, each with its share of every tick's documents until it has all of its own.

    Args:
        shares: What each of them gets of a tick, in parts of their sum; all have equally many documents in the end.
    """
    made = run(truth)
    names = [f"sluice-books--{number}" for number in range(1, len(shares) + 1)]
    own = truth.indexed // len(shares)

    def counted(sample: Sample) -> dict[str, Any]:
        assert sample.elasticsearch is not None
        grown = sample.elasticsearch.primaries.index_total
        counters = {
            name: IndexCounters(
                index_total=min(own, grown * share // sum(shares)) if grown < truth.indexed else own,
                index_time_ms=0,
            )
            for name, share in zip(names, shares, strict=True)
        }
        return {"elasticsearch": sample.elasticsearch.model_copy(update={"indices": counters})}

    books = {name: made.documents.model_copy(update={"indexed": own}) for name in names}
    changes = {"index": ",".join(names), "index_documents": books}
    return made.model_copy(update=changes), with_samples(samples(truth), counted)


def directly(truth: Truth) -> tuple[Run, list[Sample]]:
    """The same load past Kafka and the sink: ready-made bulk requests over two connections."""
    made = run(truth)
    documents = made.documents.model_copy(
        update={"produced": truth.indexed, "delivered": None, "failed": None, "dead_lettered": None}
    )
    load = DirectLoad(
        connections=2,
        source_bytes=truth.indexed * truth.bytes_per_doc,
        entities=truth.indexed // truth.docs_per_entity,
        body_bytes=truth.indexed * (truth.bytes_per_doc + 61),
        prepared_s=truth.fill_s,
        started_s=truth.load_starts_s,
        ended_s=truth.load_starts_s + truth.load_s,
        bulk_requests=101,
        bulk_requests_failed=3,
        bulk_retries=2,
        bulk_documents=truth.indexed,
        bulk_bytes=truth.indexed * (truth.bytes_per_doc + 61),
        item_retries=7,
        accepted=truth.indexed,
        already_there=0,
        refused={},
    )
    histograms = made.sink_histograms.model_copy(update={"record_age": None})
    changes = {
        "via": "direct",
        "topic": None,
        "delivery": None,
        "direct": load,
        "documents": documents,
        "sink_histograms": histograms,
        "environment": made.environment.model_copy(update={"connector": {}}),
    }
    seen = with_samples(samples(truth), lambda _: {"kafka": None, "sink": None, "produced": None})
    return made.model_copy(update=changes), seen


def through_rally(truth: Truth) -> tuple[Run, list[Sample]]:
    """The same documents, sent by Rally's bulk task, whose processes keep half a core busy."""
    made, seen = directly(truth)
    load = RallyLoad(
        version="2.13.0",
        clients=3,
        bulk_size=997,
        source_bytes=truth.indexed * truth.bytes_per_doc,
        entities=truth.indexed,
        corpus_bytes=truth.indexed * (truth.bytes_per_doc + 97),
        prepared_s=23.0,
        error_percent=0.0,
    )
    changes = {
        "via": "rally",
        "direct": None,
        "rally": load,
        "sink_histograms": made.sink_histograms.model_copy(update={"bulk_service_time": None}),
    }
    return made.model_copy(update=changes), with_samples(
        seen,
        lambda sample: {
            "processes": {**sample.processes, "rally": _process(107, sample.processes["elasticsearch-1"].cpu_s / 3)}
        },
    )


def environment() -> Environment:
    """A machine with two cores."""
    return Environment(
        sluice_version="0.1.0",
        git_commit="0123456789abcdef0123456789abcdef01234567",
        machine="x86_64",
        kernel="Linux 6.1.0",
        cpu_model="Example CPU @ 2.80GHz",
        cpu_cores=2,
        memory_bytes=24_000_000_000,
        python_version="3.11.7",
        java_versions={"elasticsearch": "21.0.5", "kafka": "21.0.5"},
        target="local",
        servers=(
            Server(name="elasticsearch-1", version="8.19.21", pid=100, command_line_options=("-Xms1g", "-Xmx1g")),
            Server(name="connect", version="4.1.0", pid=101),
            Server(name="kafka", version="4.1.0", pid=102),
        ),
        index_settings={"index.number_of_shards": "1", "index.number_of_replicas": "0"},
        connector={"max.in.flight.requests": "5", "tasks.max": "1", "connection.password": "correct horse"},
    )


def written(folder: Path, made: Run, seen: Sequence[Sample], profile: dict[str, Any] | None = None) -> Path:
    """A run's folder with these records in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(made.model_dump_json(indent=2), "utf-8")
    (folder / "samples.ndjson").write_bytes(b"".join(orjson.dumps(sample.model_dump()) + b"\n" for sample in seen))
    (folder / "profile.json").write_bytes(orjson.dumps(profile or {"question": made.question}))
    return folder


def with_samples(seen: Sequence[Sample], change: Callable[[Sample], dict[str, Any]]) -> list[Sample]:
    """The same samples, each with the fields that `change` gives for it."""
    return [sample.model_copy(update=change(sample)) for sample in seen]


def with_warnings(made: Run, *warnings: RunWarning) -> Run:
    """The same run, which has warned already."""
    return made.model_copy(update={"warnings": warnings})


def varied(truth: Truth) -> Truth:
    """The same with a rate that rises as servers grow warm, and dips now and then, for a picture."""
    return replace(
        truth,
        shape=lambda tick: (
            (0.55 + 0.45 * (1 - math.exp(-tick / 8))) * (0.72 if tick % 17 == 16 else 1.0) + 0.04 * math.sin(tick * 1.7)
        ),
    )


def elsewhere(truth: Truth) -> tuple[Run, list[Sample]]:
    """The same run on remote servers: no process of theirs is known, and the machine that was sampled is another."""
    here = environment()
    servers = tuple(server.model_copy(update={"pid": None}) for server in here.servers)
    moved = here.model_copy(update={"target": "remote", "servers": servers})
    made = run(truth).model_copy(update={"environment": moved})
    return with_warnings(made, servers_elsewhere()), with_samples(samples(truth), lambda _: {"processes": {}})


def in_stages(truth: Truth) -> Run:
    """A stream whose first stage was drained, and whose second one came at once."""
    drained, spike = (
        StageRecord(documents=10, rate_docs_per_s=None, started_s=began_s, ended_s=began_s + 1)
        for began_s in (1.0, 2.0)
    )
    course = Course(stages=(drained, spike), limit_docs_per_s=100.0)
    return run(truth).model_copy(update={"load": "stream", "course": course})
