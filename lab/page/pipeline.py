"""The pipeline at one instant, stage by stage: producers → topic → tasks → bulk requests → nodes."""

from collections.abc import Callable, Sequence
from typing import Any

from lab.analysis.figures.rates import growth, rate_per_s, read_s
from lab.monitor.connect import EVERY
from lab.page.points import LivePoint
from lab.page.so_far import Judgement, last_seconds
from lab.profiles import Profile
from lab.records.samples import NodeCounters, Sample, SinkSample

Stage = dict[str, Any]


def pipeline(profile: Profile, samples: Sequence[Sample], point: LivePoint, judgement: Judgement) -> Stage:
    """Pipeline with the present work of each stage; a stage that the load does not have is `None` or empty.

    Args:
        samples: Oldest first, at least one.
        point: That of the newest sample.
        judgement: What limits; its evidence is why a stage is the slow one.
    """
    window = last_seconds(samples)
    return {
        "producers": producers(profile, window, point),
        "topic": topic(window),
        # A connector is not asked at each tick: with seldom ticks, ten seconds may hold no answer.
        "tasks": tasks(max(window, tuple(samples[-3 * EVERY :]), key=len)),
        "bulk": bulk(window),
        "nodes": nodes(window),
        "slow": judgement.slow,
        "why": judgement.limit.evidence if judgement.limit else None,
    }


def producers(profile: Profile, window: Sequence[Sample], point: LivePoint) -> Stage:
    """The producers' rate, what they were asked for, and what they have delivered; `None` while nothing produces.

    A drain is measured once its topic is filled: what they have delivered is what the topic holds.
    """
    delivered, read = window[-1].produced, topic(window)
    if delivered is None and profile.load.mode == "drain" and read is not None:
        delivered = sum(partition["end"] for partition in read["partitions"])
    return {
        "rate": point.produced_docs_per_s,
        "target_rate": profile.load.one_rate_docs_per_s,
        "delivered": delivered,
    }


def topic(window: Sequence[Sample]) -> Stage | None:
    """Each partition's end and lag, as last read; `None` without Kafka."""
    read = next((sample.kafka for sample in reversed(window) if sample.kafka), None)
    if read is None:
        return None
    names = sorted({partition.rpartition("-")[0] for partition in read.partitions})
    partitions = [
        {
            "id": partition if len(names) > 1 else partition.rpartition("-")[2],
            "end": end,
            "lag": max(0, end - committed),
        }
        for partition, (end, committed) in read.partitions.items()
    ]
    return {"name": ", ".join(names), "partitions": partitions}


def tasks(window: Sequence[Sample]) -> list[Stage]:
    """The connector's tasks, as their worker last said; none without a connector."""
    read = next((sample.connector for sample in reversed(window) if sample.connector), None)
    return [task.model_dump() for task in read.tasks] if read else []


def bulk(window: Sequence[Sample]) -> Stage | None:
    """The sink's bulk requests: counts so far, and the means of the last seconds; `None` where no sink counts them."""
    read = [sample.sink for sample in window if sample.sink]
    if not read:
        return None

    def grown(counter: Callable[[SinkSample], int]) -> int | None:
        return growth(map(counter, read))

    requests = grown(lambda sink: sink.bulk_requests)
    return {
        "in_flight": read[-1].bulk_requests_in_flight,
        "requests": read[-1].bulk_requests,
        "failed": read[-1].bulk_requests_failed,
        "retries": read[-1].bulk_retries,
        "item_retries": read[-1].item_retries,
        "mean_service_time_ms": ratio(grown(lambda sink: sink.bulk_service_time_ms_total), requests),
        "mean_documents": ratio(grown(lambda sink: sink.bulk_documents_total), requests),
    }


def ratio(part: int | None, whole: int | None) -> float | None:
    """Part ÷ whole; `None` where one is not known, or nothing is the whole."""
    return part / whole if part is not None and whole else None


def nodes(window: Sequence[Sample]) -> list[Stage]:
    """Each node of Elasticsearch, by name; its rate is of all that it indexes, replicas included."""
    read = [sample for sample in window if sample.elasticsearch]
    if not read or read[-1].elasticsearch is None:
        return []
    before = read[-2] if len(read) > 1 else None
    earlier = before.elasticsearch.nodes if before and before.elasticsearch else {}
    elapsed_s = read_s(read[-1]) - read_s(before) if before else 0.0
    return [node(name, now, earlier.get(name), elapsed_s) for name, now in sorted(read[-1].elasticsearch.nodes.items())]


def node(name: str, now: NodeCounters, earlier: NodeCounters | None, elapsed_s: float) -> Stage:
    """One node, and its growth since the reading before."""
    return {
        "name": name,
        "rate": rate_per_s(earlier.index_total if earlier else None, now.index_total, elapsed_s),
        "segments": now.segments_count,
        "merges": now.merges_current,
        "write_queue": now.write_queue,
        "write_rejected": now.write_rejected,
        "cpu_percent": now.cpu_percent,
        "heap_percent": round(100 * now.heap_used_bytes / now.heap_max_bytes, 1) if now.heap_max_bytes else None,
    }
