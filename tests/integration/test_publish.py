"""A recorded run in real servers, asked for as Kibana asks for it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import vl_convert

from lab.analysis.folder import RunFolder, read_run
from lab.engines import DEFAULT
from lab.publish import monitoring, samples
from lab.publish.dashboard import Panel, panels
from lab.publish.monitoring import Reading, resampled
from lab.records.samples import Sample
from lab.stack.artifacts import read_lock
from lab.stack.shape import StackShape
from tests.integration.conftest import Sluice
from tests.kibana import INDEX_PAGE, OVERVIEW, Search, answered_spec, drawn_series, panel_query
from tests.kibana_charts import Bucket, as_kibana_draws, counted

BUCKET_S = 10
DOCUMENTS = 20_011
OLDEST = read_lock().releases(DEFAULT.engine)[0]
RATE = 2003
SLOWED = 5
"""Documents per second, and how much slower the clocks are made: 50 s of load, which are four buckets at the least."""
CLOCKS = {"at_s", "read_s", "started_s", "ended_s"}


@pytest.fixture(scope="session")
def recorded(sluice: Sluice) -> RunFolder:
    """A run long enough for Stack Monitoring's charts to have points, as if every second of it had lasted longer."""
    sluice.stack.ensure(StackShape(), kept=True)
    done = sluice.run("quickstart", "--documents", str(DOCUMENTS), "--rate", str(RATE))
    assert done.status == 0, done.errors
    folder = sluice.latest()
    begun_s = read_run(folder).samples[0].at_s
    for name in ("run.json", "samples.ndjson"):
        lines = (
            (folder / name).read_bytes().splitlines() if name == "samples.ndjson" else [(folder / name).read_bytes()]
        )
        slow = [slowed(orjson.loads(line), begun_s) for line in lines]
        (folder / name).write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in slow))
    return read_run(folder)


def slowed(record: Any, begun_s: float) -> Any:
    """The record with all of its instants moved away from the beginning."""
    if isinstance(record, list):
        return [slowed(entry, begun_s) for entry in record]
    if not isinstance(record, dict):
        return record
    return {
        name: begun_s + (value - begun_s) * SLOWED if name in CLOCKS and value is not None else slowed(value, begun_s)
        for name, value in record.items()
    }


@dataclass(frozen=True)
class Server:
    """A real server that the run was published into."""

    url: str
    version: str


@pytest.fixture(
    scope="module",
    params=[DEFAULT, pytest.param(OLDEST, marks=pytest.mark.shape(f"version {OLDEST.version}"))],
    ids=str,
)
def server(request: pytest.FixtureRequest, sluice: Sluice, recorded: RunFolder) -> Iterator[Server]:
    """A server of that version, the run published into it twice."""
    sluice.stack.ensure(StackShape(release=request.param), kept=True)
    url = sluice.stack.endpoints().elasticsearch_urls[0]
    for _ in range(2):
        done = sluice("publish", str(recorded.path), "--to", url)
        assert (done.status, done.errors) == (0, "")
    yield Server(url, request.param.version)
    for index in (samples.INDEX, monitoring.INDEX):
        httpx.delete(f"{url}/{index}", timeout=30)
    for template in (samples.INDEX, monitoring.TEMPLATE_NAME):
        httpx.delete(f"{url}/_index_template/{template}", timeout=30)


@pytest.fixture
def search(server: Server) -> Search:
    """Asks the server."""

    def ask(index: str, body: Any) -> Any:
        answer = httpx.post(f"{server.url}/{index}/_search", json=body, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return ask


def readings_as_samples(readings: list[Reading]) -> list[Sample]:
    """The published readings, in the shape of samples."""
    return [Sample(at_s=reading.at_s, phase="load", elasticsearch=reading.elasticsearch) for reading in readings]


def figures(points: list[Bucket]) -> list[tuple[float, float | None, float | None]]:
    """Start, rate and latency of the points that are drawn; an empty bucket at either end is none."""
    return [(point.start_s, point.rate_per_s, point.latency_ms) for point in points if point.rate_per_s is not None]


@pytest.mark.parametrize("scope", ["primaries", "total"])
@pytest.mark.parametrize("page", [OVERVIEW, INDEX_PAGE])
def test_kibanas_two_charts_are_our_series(
    server: Server, search: Search, recorded: RunFolder, page: str, scope: Any
) -> None:
    """Rate and latency, bucket by bucket, on both pages; where the server has `derivative`, by it."""
    derivative = server.version.startswith("7.")  # the stripped 8.x knows no such aggregation
    readings = resampled(recorded.samples, BUCKET_S)
    window = (readings[0].at_s - 2 * BUCKET_S, readings[-1].at_s + 2 * BUCKET_S)
    index = recorded.run.index if page == INDEX_PAGE else None

    drawn = drawn_series(
        search, f"{page}.{scope}", monitoring.CLUSTER_UUID, window, BUCKET_S, index=index, derivative=derivative
    )

    ours = as_kibana_draws(counted(readings_as_samples(readings), scope), BUCKET_S, *window)
    assert figures(drawn) == [pytest.approx(point) for point in figures(ours)]
    assert sum(1 for point in drawn if point.rate_per_s) >= 4


def test_kibanas_search_charts_are_our_series(server: Server, search: Search, recorded: RunFolder) -> None:
    """On all shards, which is what Kibana draws of searches."""
    derivative = server.version.startswith("7.")
    readings = resampled(recorded.samples, BUCKET_S)
    window = (readings[0].at_s - 2 * BUCKET_S, readings[-1].at_s + 2 * BUCKET_S)
    part = f"{OVERVIEW}.total"

    drawn = drawn_series(search, part, monitoring.CLUSTER_UUID, window, BUCKET_S, derivative=derivative, work="search")

    ours = as_kibana_draws(counted(readings_as_samples(readings), "total", "search"), BUCKET_S, *window)
    assert len(figures(drawn)) >= 4
    assert figures(drawn) == [pytest.approx(point) for point in figures(ours)]


def test_what_was_counted_is_what_kibana_counts(search: Search, recorded: RunFolder) -> None:
    """The growth over all of its points is the growth of `index_total`: resampling loses and makes up nothing."""
    readings = resampled(recorded.samples, BUCKET_S)
    window = (readings[0].at_s - 2 * BUCKET_S, readings[-1].at_s + 2 * BUCKET_S)
    ours = as_kibana_draws(counted(readings_as_samples(readings), "primaries"), BUCKET_S, *window)

    asked = search(
        monitoring.INDEX, {"size": 0, "aggs": {"n": {"max": {"field": f"{OVERVIEW}.primaries.indexing.index_total"}}}}
    )

    grown = sum((point.rate_per_s or 0) * BUCKET_S for point in ours)
    assert asked["aggregations"]["n"]["value"] == recorded.run.documents.indexed == round(grown)


def test_a_second_sending_changes_nothing(search: Search, recorded: RunFolder) -> None:
    """As many documents as one sending makes, each with the run's own id."""
    ours = sum(1 for _ in samples.run_documents(recorded.run, recorded.samples))
    readings = resampled(recorded.samples, BUCKET_S)
    theirs = sum(1 for _ in monitoring.monitoring_documents(recorded.run, readings, BUCKET_S))

    found = {
        index: search(index, {"size": 0, "track_total_hits": True})["hits"]["total"]["value"]
        for index in (samples.INDEX, monitoring.INDEX)
    }

    assert found == {samples.INDEX: ours, monitoring.INDEX: theirs}


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel.name)
def test_every_panel_finds_its_samples_and_is_drawn(
    search: Search, recorded: RunFolder, panel: Panel, tmp_path: Path
) -> None:
    """The search of each panel has hits for the run that is chosen, none for another, and Vega draws a line of them."""
    name = f"{recorded.run.profile} {recorded.run.run_id}"
    answer = search(*panel_query(panel, {"match_phrase": {"run.name": name}}))
    nothing = search(*panel_query(panel, {"match_phrase": {"run.name": "no such run"}}))

    svg = vl_convert.vegalite_to_svg(answered_spec(panel, answer), vl_version="5.8")

    (tmp_path / f"{panel.name}.svg").write_text(svg)
    empty = vl_convert.vegalite_to_svg(answered_spec(panel, nothing), vl_version="5.8")
    assert ("nothing to draw" in svg, "nothing to draw" in empty) == (False, True)
    assert re.search(r'role-mark [^"]*marks.*?<path[^>]* d="M[^"]{100,}"', svg, re.DOTALL)
    assert ("NaN" in svg, "undefined" in svg) == (False, False)


def test_an_index_without_its_template_is_refused(server: Server, sluice: Sluice, recorded: RunFolder) -> None:
    """Kibana finds nothing in one, and does not say so."""
    httpx.delete(f"{server.url}/{monitoring.INDEX}", timeout=30)
    httpx.delete(f"{server.url}/_index_template/{monitoring.TEMPLATE_NAME}", timeout=30)
    httpx.post(f"{server.url}/{monitoring.INDEX}/_doc", json={"cluster_uuid": "text"}, timeout=30)

    done = sluice("publish", str(recorded.path), "--to", server.url)

    assert done.status == 3
    assert done.errors == (
        f"sluice: {server.url}: {monitoring.INDEX}: cluster_uuid: got text, expected keyword; the index was "
        "created without its template, so Kibana would find nothing in it: delete it and publish again\n"
    )
    httpx.delete(f"{server.url}/{monitoring.INDEX}", timeout=30)
    assert sluice("publish", str(recorded.path), "--to", server.url).status == 0
