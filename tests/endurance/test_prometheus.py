"""A real Prometheus beside a run: each value that it stores is one of a sample, and none stays after the end.

Such as Debian's 2.42.0: `apt-get download prometheus`, `dpkg -x`.
"""

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from lab import ROOT
from lab.analysis.figures.rates import index_totals
from lab.analysis.folder import read_run
from lab.records.samples import Sample
from tests.endurance.say import say
from tests.integration.conftest import Sluice

EVERY_S = 1.0
OLDEST_S = 2.5
"""A sample of each second, looked for each second; the machine may be busy."""
FIGURES: dict[str, Callable[[Sample], float | None]] = {
    'sluice_documents_indexed_total{shards="primaries"}': lambda sample: index_totals([sample])[0],
    "sluice_lag_records": lambda sample: sample.kafka.lag_records if sample.kafka else None,
    "sluice_bulk_requests_total": lambda sample: sample.sink.bulk_requests if sample.sink else None,
    'sluice_process_cpu_seconds_total{process="elasticsearch-1"}': lambda sample: (
        sample.processes["elasticsearch-1"].cpu_s if "elasticsearch-1" in sample.processes else None
    ),
}


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def scraping(binary: Path, folder: Path, port: int) -> Iterator[httpx.Client]:
    """Run Prometheus, which asks the page each second; a client of its API."""
    own = free_port()
    settings = folder / "prometheus.yml"
    settings.write_text(
        f"scrape_configs: [{{job_name: sluice, scrape_interval: {EVERY_S:g}s, scrape_timeout: {EVERY_S:g}s,"
        f' static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}]\n'
    )
    words = (f"--config.file={settings}", f"--storage.tsdb.path={folder / 'data'}")
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [binary, *words, f"--web.listen-address=127.0.0.1:{own}"], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{own}/api/v1", timeout=30) as client:
            yield client
        assert process.poll() is None, (folder / "prometheus.log").read_text()[-2000:]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def series(client: httpx.Client, query: str, at_s: float) -> list[dict[str, Any]]:
    """The series of a query at an instant."""
    answer = client.get("/query", params={"query": query, "time": at_s})
    return list(answer.raise_for_status().json()["data"]["result"])


def drawn(run_id: str) -> list[str]:
    """Expressions of the dashboard as Grafana sends them; `$__rate_interval` is four intervals of the data source.

    Source: `calculateRateInterval` of Grafana's `pkg/promlib/models/query.go`.
    """
    board = orjson.loads((ROOT / "deploy" / "grafana" / "sluice.json").read_bytes())
    return [
        target["expr"].replace("$run", run_id).replace("$__rate_interval", f"{4 * EVERY_S:g}s")
        for panel in board["panels"]
        for target in panel["targets"]
    ]


def ages_s(scraped: Sequence[Sequence[Any]], samples: Sequence[Sample], value: Callable[[Sample], float | None]) -> Any:
    """How old the youngest sample with that value was at each scrape; endless where no sample has it."""
    return [
        min(
            (
                at_s - sample.at_s
                for sample in samples
                if value(sample) == pytest.approx(float(text), rel=1e-9) and sample.at_s <= at_s
            ),
            default=float("inf"),
        )
        for at_s, text in scraped
    ]


@pytest.mark.timeout(900)
def test_prometheus_stores_what_the_sampler_has_read(own_sluice: Sluice, prometheus: Path, tmp_path: Path) -> None:
    """During a drain, figure by figure; once the run has ended, its figures are stale.

    The dashboard's expressions have values then, but for the end-to-end latency and the rate of production: those are
    of a stream, and a drain's topic is full before it is sampled.
    """
    assert own_sluice("up").status == 0
    port = free_port()
    own_sluice.start("page", "--port", str(port), "--runs", str(own_sluice.runs))
    with scraping(prometheus, tmp_path, port) as client:
        done = own_sluice.run("quickstart", "--documents", "100003")
        assert done.status == 0, done.errors
        folder = own_sluice.latest()
        samples = read_run(folder).samples
        time.sleep(3 * EVERY_S)
        now_s, of_run = time.time(), f'run="{folder.name}"'
        span_s = round(now_s - samples[0].at_s)
        for name, value in FIGURES.items():
            chosen = name.replace("{", f"{{{of_run},") if "{" in name else f"{name}{{{of_run}}}"
            (stored,) = series(client, f"{chosen}[{span_s}s]", now_s)
            ages = ages_s(stored["values"], samples, value)
            say(f"{name}: {len(ages)} values, the oldest from {max(ages):.2f} s before")
            assert max(ages) <= OLDEST_S
            assert series(client, chosen, now_s) == []
        loaded = [sample.at_s for sample in samples if sample.phase == "load"]
        empty = [each for each in drawn(folder.name) if not series(client, each, loaded[len(loaded) // 2])]
        assert set(empty) <= {
            f'sluice_end_to_end_latency_seconds{{run=~"{folder.name}"}}',
            f'rate(sluice_records_produced_total{{run=~"{folder.name}"}}[{4 * EVERY_S:g}s])',
        }
        (under_way,) = series(client, f"sluice_run_under_way{{{of_run}}}", now_s)
        assert under_way["value"][1] == "0"
