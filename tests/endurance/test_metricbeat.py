"""The real Metricbeat with our file: by Kibana's queries, its documents draw what our sampler counted.

Tried with 7.17.29, built with the modules elasticsearch, kafka, jolokia, http and system.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pytest

from lab.analysis.figures.rates import answered, read_s, shards
from lab.analysis.folder import read_run
from lab.clients.target import cluster_of
from lab.endpoints import Endpoints
from lab.publish import monitoring
from lab.publish.monitoring import LEAST_BUCKET_S
from lab.records.samples import Sample
from lab.stack.metrics_agent import USER
from tests.endurance.say import say
from tests.integration.conftest import Sluice
from tests.kibana import OVERVIEW, drawn_series
from tests.kibana_charts import Bucket, Counted, as_kibana_draws
from tests.metricbeat import settings_text

VERSION = "7.17.7"
"""The stripped server of this version has `derivative`, by which Kibana itself asks."""
DOCUMENTS, RATE = 80_021, 1_009
INDEX = ".monitoring-es-7-mb-sluice"
LATE_S = 0.25
"""By how much the instant that Metricbeat writes down may miss the one at which the server has counted."""
LEAST_STEADY = 5


@contextmanager
def collecting(binary: Path, folder: Path, there: Endpoints) -> Iterator[Path]:
    """Run Metricbeat with our file; the folder for its documents. Options replace the output and nothing else."""
    options = {
        "output.elasticsearch.enabled": "false",
        "output.file.path": folder / "out",
        "output.file.filename": "metricbeat",
        "output.file.rotate_every_kb": "1000000",
        "path.data": folder / "data",
        "path.logs": folder / "logs",
    }
    variables = {
        "ELASTICSEARCH_URL": there.elasticsearch_urls[0],
        "JOLOKIA_URL": str(there.metrics_url).removesuffix("/jolokia"),
        "JOLOKIA_USERNAME": USER,
        "JOLOKIA_PASSWORD": next(iter(there.access.secrets)),
    }
    words = [word for name, value in options.items() for word in ("-E", f"{name}={value}")]
    settings = folder / "metricbeat.yml"
    settings.write_text(settings_text())
    with (folder / "metricbeat.log").open("wb") as log:
        process = subprocess.Popen(
            [binary, "-e", "--strict.perms=false", "-c", settings, *words],
            env={**os.environ, **variables},
            stdout=log,
            stderr=log,
        )
    try:
        yield folder / "out"
        assert process.poll() is None, (folder / "metricbeat.log").read_text()[-2000:]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def events_in(folder: Path) -> list[dict[str, Any]]:
    """What Metricbeat has written."""
    return [orjson.loads(line) for file in sorted(folder.iterdir()) for line in file.read_bytes().splitlines()]


def feed(server: httpx.Client, events: Sequence[dict[str, Any]]) -> None:
    """Index the documents with the types that Kibana's queries need."""
    server.put(f"/{INDEX}", json={"mappings": monitoring.TEMPLATE["template"]["mappings"]}).raise_for_status()
    lines = [part for event in events for part in ({"index": {}}, {k: v for k, v in event.items() if k != "@metadata"})]
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    answer = server.post(f"/{INDEX}/_bulk?refresh=true", content=body, headers={"Content-Type": "application/x-ndjson"})
    assert answer.json()["errors"] is False, answer.text[:2000]


def counted_at(samples: Sequence[Sample], instants_s: Sequence[float]) -> list[Counted]:
    """Our counters of the primaries at other instants than ours, on the straight line between two samples.

    Instants before the first sample or after the last are left out.
    """
    known = [(read_s(sample), shards(sample, "primaries")) for sample in answered(samples)]
    at_s = [instant_s for instant_s, _ in known]
    within = [instant_s for instant_s in instants_s if at_s[0] <= instant_s <= at_s[-1]]
    documents = np.interp(within, at_s, [primaries.index_total for _, primaries in known])
    time_ms = np.interp(within, at_s, [primaries.index_time_ms for _, primaries in known])
    return [
        Counted(instant_s, round(total), round(ms))
        for instant_s, total, ms in zip(within, documents, time_ms, strict=True)
    ]


def summed_at_s(events: Sequence[dict[str, Any]]) -> list[float]:
    """When Metricbeat has summed up all indices, by its own documents."""
    summed = (event["timestamp"] for event in events if "indices_stats" in event)
    return sorted(datetime.fromisoformat(instant).timestamp() for instant in summed)


def both(drawn: Sequence[Bucket], ours: Sequence[Bucket]) -> list[tuple[Bucket, Bucket]]:
    """The points that both draw while documents are indexed, Metricbeat's and ours."""
    of_ours = {point.start_s: point for point in ours}
    pairs = [(point, of_ours[point.start_s]) for point in drawn if point.start_s in of_ours]
    return [(theirs, own) for theirs, own in pairs if theirs.rate_per_s and own.rate_per_s]


def in_words(point: Bucket) -> str:
    """Rate and latency of a point."""
    return f"{point.rate_per_s or 0:.0f}/s {point.latency_ms or 0:.3f} ms"


def task_states(events: Sequence[dict[str, Any]]) -> set[str]:
    """States that tasks of connectors have had, by Jolokia."""
    tasks = (event.get("jolokia", {}).get("connect", {}).get("task", {}) for event in events)
    return {str(task["status"]).lower() for task in tasks if "status" in task}


@pytest.mark.timeout(900)
def test_kibanas_charts_of_metricbeats_documents_are_those_of_our_sampler(
    own_sluice: Sluice, metricbeat: Path, tmp_path: Path
) -> None:
    """Indexing rate and latency in every bucket of a load at a rate; and the state of the sink's task."""
    up = own_sluice("up", "--elasticsearch", VERSION)
    assert up.status == 0, up.errors
    there = own_sluice.stack.endpoints()
    with collecting(metricbeat, tmp_path, there) as folder:
        time.sleep(2 * LEAST_BUCKET_S)
        words = ("--elasticsearch", VERSION, "--documents", str(DOCUMENTS), "--rate", str(RATE))
        done = own_sluice.run("quickstart", *words)
        assert done.status == 0, done.errors
        time.sleep(2 * LEAST_BUCKET_S)
    events, samples = events_in(folder), read_run(own_sluice.latest()).samples
    of_cluster = [event for event in events if "cluster_uuid" in event]
    window = (samples[0].at_s - LEAST_BUCKET_S, samples[-1].at_s + LEAST_BUCKET_S)
    with httpx.Client(base_url=there.elasticsearch_urls[0], timeout=60) as server:
        feed(server, of_cluster)

        def search(index: str, body: Any) -> Any:
            return server.post(f"/{index}/_search", json=body).raise_for_status().json()

        uuid = cluster_of(there).cluster_uuid()
        drawn = drawn_series(search, f"{OVERVIEW}.primaries", uuid, window, LEAST_BUCKET_S, derivative=True)
    ours = as_kibana_draws(counted_at(samples, summed_at_s(of_cluster)), LEAST_BUCKET_S, *window)
    pairs = both(drawn, ours)
    for theirs, own in pairs:
        say(f"Metricbeat {in_words(theirs)}, sampler {in_words(own)}")

    steady = [(theirs, own) for theirs, own in pairs if own.rate_per_s > RATE / 2]
    assert len(steady) >= LEAST_STEADY
    rates = [theirs.rate_per_s for theirs, _ in pairs]
    assert rates == pytest.approx([own.rate_per_s for _, own in pairs], abs=2 * RATE * LATE_S / LEAST_BUCKET_S)
    assert sum(rates) == pytest.approx(sum(own.rate_per_s for _, own in pairs), rel=0.01)
    latencies_ms = [theirs.latency_ms for theirs, _ in steady]
    assert latencies_ms == pytest.approx([own.latency_ms for _, own in steady], rel=0.1)
    assert "running" in task_states(events)
