"""A deployment with known figures: two shards, each moved from the index node and then copied once."""

from lab.records.deployment import Deployment, DeploymentProgress, IndexDeployment, NodeWork, Recovery
from lab.records.run import Run
from tests.unit.analysis.query_truth import QueryTruth, query_load
from tests.unit.analysis.synthetic import START_S, Truth, run

INDEX = "sluice-a"
TO = ("elasticsearch-2", "elasticsearch-3")


def recovery(shard: int, source: str, target: str, copied_bytes: int) -> Recovery:
    """A recovery that waited 0.5 s at its source and 1 s at its target."""
    return Recovery(
        index=INDEX,
        shard=shard,
        primary=source == "elasticsearch-1",
        kind="PEER",
        source=source,
        target=target,
        copied_bytes=copied_bytes,
        total_ms=2_000,
        source_throttle_ms=500,
        target_throttle_ms=1_000,
        started_s=START_S + shard,
        ended_s=START_S + shard + 2,
    )


def deployment() -> Deployment:
    """31 MB out of the index node, and 31 MB between the others, in 8 s."""
    ways = [(0, "elasticsearch-1", *TO), (1, "elasticsearch-1", *reversed(TO))]
    recoveries = tuple(
        each
        for (shard, source, first, second), size in zip(ways, (11_000_000, 20_000_000), strict=True)
        for each in (recovery(shard, source, first, size), recovery(shard, first, second, size))
    )
    return Deployment(
        route="exclude",
        index_node="elasticsearch-1",
        to=TO,
        number_of_replicas=1,
        settings={"indices.recovery.max_bytes_per_sec": "1024mb"},
        started_s=START_S,
        ended_s=START_S + 8,
        polls=2,
        retries=0,
        most_from_index_node=2,
        indices=(
            IndexDeployment(
                index=INDEX,
                became=INDEX,
                seconds=8.0,
                copied_bytes=62_000_000,
                source_throttle_ms=2_000,
                target_throttle_ms=4_000,
                recoveries=4,
            ),
        ),
        recoveries=recoveries,
        copied_bytes={
            "elasticsearch-1": {TO[0]: 11_000_000, TO[1]: 20_000_000},
            TO[0]: {TO[1]: 11_000_000},
            TO[1]: {TO[0]: 20_000_000},
        },
        progress=(
            DeploymentProgress(at_s=START_S + 2, copied_bytes=14_000_000, active=2),
            DeploymentProgress(at_s=START_S + 8, copied_bytes=62_000_000, active=0),
        ),
        nodes={
            "elasticsearch-1": NodeWork(cpu_s=3.25, disk_read_bytes=None, disk_write_bytes=None),
            TO[0]: NodeWork(cpu_s=5.5, disk_read_bytes=0, disk_write_bytes=31_000_000),
        },
        queries={when: query_load(QueryTruth()) for when in ("before", "while", "after")},
    )


def deployed_run() -> Run:
    """A run that ends with it."""
    return run(Truth()).model_copy(update={"deployment": deployment()})
