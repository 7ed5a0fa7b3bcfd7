"""A run on the real servers, from a topic to a verified report."""

import json
from dataclasses import dataclass
from pathlib import Path

import httpx
import jsonschema
import orjson
import pytest

from lab.clients.elasticsearch import ElasticsearchClient
from lab.engines.elasticsearch import ELASTICSEARCH
from lab.engines.opensearch import OPENSEARCH
from lab.records.result import Result
from lab.records.run import Run
from lab.stack.artifacts import read_lock
from lab.stack.shape import StackShape
from tests.integration.conftest import ROOT, Finished, Sluice, write_ndjson

BOOKS = 20_011


def metric(result: Result, name: str, scope: str) -> float | None:
    """One figure of a result."""
    return next(found.value for found in result.metrics if (found.name, found.scope) == (name, scope))


def cat_bytes(sluice: Sluice) -> int:
    """Size of the quickstart's index as `_cat/indices` gives it."""
    url = sluice.stack.endpoints().elasticsearch_urls[0]
    return int(httpx.get(f"{url}/_cat/indices/sluice-quickstart?bytes=b&h=store.size", trust_env=False).text)


def files_bytes(sluice: Sluice) -> int:
    """Size of the files in the folders of its shards."""
    url = sluice.stack.endpoints().elasticsearch_urls[0]
    uuid = httpx.get(f"{url}/_cat/indices/sluice-quickstart?h=uuid", trust_env=False).text.strip()
    return sum(file.stat().st_size for file in sluice.state.rglob(f"indices/{uuid}/*/index/*"))


@dataclass(frozen=True)
class Drained:
    """What one drain has left, for the tests that only look at it; `settings` are the cluster's, afterwards."""

    done: Finished
    folder: Path
    settings: dict[str, object]

    @property
    def result(self) -> Result:
        """Its result."""
        return Result.model_validate_json((self.folder / "result.json").read_bytes())


@pytest.fixture(scope="module")
def drained(sluice: Sluice) -> Drained:
    """Two tasks drain the quickstart's books, on servers whose settings an earlier run has changed and not reset."""
    sluice.stack.ensure(StackShape(), kept=True)
    cluster = ElasticsearchClient(sluice.stack.endpoints().elasticsearch_urls)
    cluster.own_cluster_settings({"indices.recovery.max_bytes_per_sec": "7mb"})
    own = "elasticsearch.cluster_settings={cluster.routing.allocation.node_concurrent_recoveries: 3}"
    settings = (own, "topic.partitions=3", "sink.tasks=2")
    done = sluice.run("quickstart", "--documents", str(BOOKS), *(word for each in settings for word in ("--set", each)))
    return Drained(done, sluice.latest(), cluster.cluster_settings())


def test_a_drain_is_verified_measured_and_reported(drained: Drained, sluice: Sluice) -> None:
    """A drain ends with every book in the index, figures that add up, and a report."""
    done, result = drained.done, drained.result

    assert (done.status, done.errors) == (0, "")
    assert result.status == "verified"
    assert result.documents.model_dump() == {
        "produced": BOOKS,
        "delivered": BOOKS,
        "failed": 0,
        "indexed": BOOKS,
        "already_there": 0,
        "deleted": 0,
        "dead_lettered": 0,
        "dropped": 0,
        "redirected": 0,
        "dropped_by_pipeline": 0,
        "skipped": 0,
        "missing": 0,
        "unexpected": 0,
        "sampled": 1000,
        "sample_mismatches": 0,
    }
    assert [phase.name for phase in result.phases] == ["prepare", "fill", "load", "settle", "verify", "collect"]
    assert "verified" in done.output
    assert str(sluice.runs / "quickstart" / result.run_id / "report.html") in done.output
    assert "<svg" in (drained.folder / "report.html").read_text()


def test_a_drain_is_measured_under_its_own_cluster_settings(drained: Drained) -> None:
    """What a killed run has left is taken back before, what it set itself afterwards, and the record says so."""
    assert drained.result.environment.cluster_settings == {"cluster.routing.allocation.node_concurrent_recoveries": "3"}
    assert drained.settings == {}


def test_the_result_keeps_to_its_published_schema(drained: Drained) -> None:
    """The result of a real run is valid by docs/result.schema.json."""
    schema = json.loads((ROOT / "docs" / "result.schema.json").read_text())
    jsonschema.validate(json.loads((drained.folder / "result.json").read_text()), schema)


def laws(result: Result) -> dict[str, str]:
    """How each law of the sink's ledger came out."""
    assert result.verification.ledger is not None
    return {check.law: check.outcome for check in result.verification.ledger.checks}


ALL_HOLD = dict.fromkeys(("balance", "totals", "topic", "index", "dead letters"), "holds")


def test_the_sinks_own_ledger_agrees_with_topic_and_index(drained: Drained) -> None:
    """By task and partition: what the sink says it read and indexed is what the topic holds and the index has."""
    result = drained.result
    assert result.sink_ledger is not None
    tasks = result.sink_ledger.tasks
    # The task that starts first may have had every partition for a moment.
    named = {name.rpartition("-")[2] for task in tasks.values() for name in task.partitions}
    assert (sorted(tasks), sorted(named)) == (["0", "1"], ["0", "1", "2"])
    assert sum(task.total.indexed for task in tasks.values()) >= BOOKS
    assert set(laws(result).values()) == {"holds"}


def test_a_report_is_drawn_again_from_the_folder_alone(sluice: Sluice, drained: Drained) -> None:
    """Deleting result and report loses nothing: both come back equal, with no server asked."""
    folder = drained.folder
    result, report = (folder / "result.json").read_text(), (folder / "report.html").read_text()
    for name in ("result.json", "report.html"):
        (folder / name).unlink()

    done = sluice("report", str(folder))

    assert (done.status, done.errors) == (0, "")
    assert (folder / "result.json").read_text() == result
    assert (folder / "report.html").read_text() == report


def test_a_stream_keeps_its_rate_and_measures_latency_from_the_due_time(sluice: Sluice) -> None:
    """Documents due at 2,003 a second are delivered at that rate, and the sink's latency counts from there."""
    done = sluice.run("quickstart", "--documents", "12007", "--rate", "2003")

    assert done.status == 0
    result = sluice.result()
    run = Run.model_validate_json((sluice.latest() / "run.json").read_bytes())
    assert [phase.name for phase in result.phases] == ["prepare", "load", "settle", "verify", "collect"]
    lasted_s = run.delivery.last_acknowledged_s - run.delivery.first_intended_s
    assert lasted_s >= 12006 / 2003
    median_ms = metric(result, "end_to_end_latency_ms_p50", "run")
    assert median_ms is not None
    # From the intended send time; a drain's would hold the seconds for which the topic waited to be drained.
    assert 0 < median_ms < lasted_s * 1000


def test_updates_leave_the_last_version_of_each_book(sluice: Sluice) -> None:
    """A stream of re-priced books ends with one document per book, the last one, and the rest counted."""
    done = sluice.run(
        "aladin/updates-nested", "--set", "dataset.books=5003", "--set", "elasticsearch.data_nodes=1",
        "--set", "topic.partitions=3", "--set", "producer.processes=2",
    )  # fmt: skip

    assert (done.status, done.errors) == (0, "")
    documents = sluice.result().documents
    assert documents.indexed == 5003
    assert documents.already_there == documents.delivered - 5003 > 0
    assert documents.sample_mismatches == 0
    assert laws(sluice.result()) == ALL_HOLD


def test_ids_made_of_topic_partition_and_offset_are_verified_too(sluice: Sluice) -> None:
    """With key.ignore=true every record is a document of its own, found again by its place in the topic."""
    settings = "sink.config={key.ignore: true, behavior.on.null.values: ignore}"

    done = sluice.run("quickstart", "--documents", "3001", "--set", settings, "--set", "topic.partitions=3")

    assert (done.status, done.errors) == (0, "")
    assert (sluice.result().documents.indexed, sluice.result().documents.sampled) == (3001, 3001)
    assert laws(sluice.result()) == ALL_HOLD


def test_ids_that_the_cluster_makes_are_verified_by_contents(sluice: Sluice) -> None:
    """Every document is read back, in pages that the index allows, and held against the dataset, whatever its id."""
    settings = "sink.config={key.ignore: true, use.autogenerated.ids: true, behavior.on.null.values: ignore}"
    window = "index.max_result_window=700"

    done = sluice.run("quickstart", "--documents", "3001", "--set", settings, "--set", window)

    assert (done.status, done.errors) == (0, "")
    assert (sluice.result().documents.indexed, sluice.result().documents.sampled) == (3001, 3001)
    assert laws(sluice.result()) == ALL_HOLD


def test_an_index_that_rebuilds_its_source_is_verified_by_its_rules(sluice: Sluice, tmp_path: Path) -> None:
    """Elasticsearch sorts tags, drops what is doubled, moves arrays to the leaves, and writes dates anew."""
    books = [
        {
            "id": str(number),
            "tags": ["z", f"t{number}", "z"],
            "offers": [{"price": 9 - number % 7}, {"price": number % 7, "used": True}],
            "seen": "2027-01-15",
        }
        for number in range(1009)
    ]
    path = write_ndjson(tmp_path / "books.ndjson", books)

    done = sluice.run("file", "--path", str(path), "--key", "id", "--set", "index.mapping.source.mode=synthetic")

    assert (done.status, done.errors) == (0, "")
    assert (sluice.result().verification.contents, sluice.result().documents.sampled) == ("as rebuilt", 1009)
    assert "Compared as rebuilt" in done.output


def test_an_index_of_time_series_is_verified_by_contents_and_rules(sluice: Sluice) -> None:
    """Elasticsearch makes the ids and rebuilds the documents; each of them is compared."""
    done = sluice.run("events/time-series", "--documents", "1009")

    assert (done.status, done.errors) == (0, "")
    assert (sluice.result().verification.contents, sluice.result().documents.sampled) == ("as rebuilt", 1009)
    assert laws(sluice.result()) == ALL_HOLD


def test_events_are_indexed_by_their_own_mapping(sluice: Sluice) -> None:
    """The monitoring events' profile runs like that of the books."""
    done = sluice.run("events/no-doc-values", "--documents", "5003")

    assert (done.status, done.errors) == (0, "")
    assert sluice.result().documents.indexed == 5003


def test_a_file_of_the_users_own_is_indexed(sluice: Sluice, tmp_path: Path, elasticsearch: httpx.Client) -> None:
    """Any NDJSON file runs with a key field named; a later line of the same key replaces an earlier one."""
    books = [{"isbn13": f"97889{number % 997:08}", "제목": f"책 {number}", "쪽": number} for number in range(1009)]
    path = write_ndjson(tmp_path / "BOOKS.ndjson", books)

    done = sluice.run("quickstart", "--dataset", "file", "--path", str(path), "--key", "isbn13")

    assert (done.status, done.errors) == (0, "")
    documents = sluice.result().documents
    assert (documents.indexed, documents.already_there) == (997, 12)
    stored = elasticsearch.get("/sluice-quickstart/_doc/9788900000003").json()["_source"]
    assert stored == {"isbn13": "9788900000003", "제목": "책 1000", "쪽": 1000}


def test_documents_that_the_mapping_rejects_are_dead_lettered_and_named(sluice: Sluice, tmp_path: Path) -> None:
    """Three documents of the wrong shape are counted with their reason, and their neighbours are indexed."""
    lines = [{"isbn13": str(number), "pages": "many" if number in {7, 500, 1000} else number} for number in range(1009)]
    path = write_ndjson(tmp_path / "mixed.ndjson", lines)

    done = sluice.run("file", "--path", str(path), "--key", "isbn13")

    assert (done.status, done.errors) == (0, "")
    result = sluice.result()
    assert (result.documents.indexed, result.documents.dead_lettered) == (1006, 3)
    (reason,) = result.verification.dead_letters
    assert reason.records == 3
    assert reason.first.endswith("-0@7")
    assert "400" in reason.reason
    assert "pages" in reason.reason
    assert "many" not in reason.reason
    assert laws(result) == ALL_HOLD
    assert reason.reason[:40] in (sluice.latest() / "report.html").read_text()


def test_a_run_that_loses_documents_is_void(sluice: Sluice) -> None:
    """A transformation that drops the records ends with exit status 4, and result and report say what is missing."""
    dropping = (
        "sink.config={transforms: drop, transforms.drop.type: org.apache.kafka.connect.transforms.Filter, "
        "transforms.drop.predicate: every, predicates: every, predicates.every.pattern: sluice-.*, "
        "predicates.every.type: org.apache.kafka.connect.transforms.predicates.TopicNameMatches}"
    )

    done = sluice.run("quickstart", "--documents", "1009", "--set", dropping)

    assert done.status == 4
    assert "sluice: this run is void: 1,009 documents are missing" in done.errors
    result = sluice.result()
    assert (result.status, result.documents.missing, result.documents.indexed) == ("failed", 1009, 0)
    assert (laws(result)["balance"], laws(result)["topic"]) == ("holds", "not checked")
    assert "1,009 documents are missing from the index" in (sluice.latest() / "report.html").read_text()


@pytest.mark.parametrize(
    "version",
    [
        pytest.param(release.version, marks=pytest.mark.shape(f"version {release.version}"))
        for release in (read_lock().releases(ELASTICSEARCH)[0], read_lock().releases(ELASTICSEARCH)[-1])
    ],
)
def test_one_plugin_serves_every_elasticsearch_version(sluice: Sluice, version: str) -> None:
    """The same plugin and mapping run on the oldest and the newest version; only Elasticsearch is restarted."""
    broker = sluice.stack.process_ids()["kafka"]

    # Not `sluice.run`, so that the size on disk is read past Elasticsearch's cache of 10 s.
    options = ("--elasticsearch", version, "--documents", str(BOOKS), "--runs", str(sluice.runs))
    done = sluice("run", "quickstart", *options)

    assert (done.status, done.errors) == (0, "")
    result = sluice.result()
    assert (result.status, result.documents.indexed) == ("verified", BOOKS)
    assert {server.version for server in result.environment.servers if "elastic" in server.name} == {version}
    assert metric(result, "store_size_bytes", "primaries") == files_bytes(sluice) == cat_bytes(sluice)
    assert sluice.stack.process_ids()["kafka"] == broker


@pytest.mark.shape("opensearch")
def test_a_run_on_opensearch_is_verified_measured_and_called_so(sluice: Sluice) -> None:
    """In place of Elasticsearch, with the same plugin, mapping and figures; only its node is restarted."""
    broker = sluice.stack.process_ids()["kafka"]

    release = read_lock().releases(OPENSEARCH)[-1]
    options = ("--opensearch", release.version, "--documents", str(BOOKS), "--runs", str(sluice.runs))
    done = sluice("run", "quickstart", *options)

    assert (done.status, done.errors) == (0, "")
    assert str(release) in done.output
    result = sluice.result()
    assert (result.status, result.documents.indexed) == ("verified", BOOKS)
    assert laws(result) == ALL_HOLD
    assert {server.release for server in result.environment.servers if server.pid} >= {str(release)}
    assert metric(result, "store_size_bytes", "primaries") == files_bytes(sluice) == cat_bytes(sluice)
    assert metric(result, "cpu_s_per_million_docs", "elasticsearch-1") is not None
    assert f"into {release}, on one machine" in (sluice.latest() / "report.html").read_text()
    assert sluice.stack.process_ids()["kafka"] == broker


@pytest.mark.shape("a second node")
def test_a_second_data_node_joins_and_takes_the_replica(sluice: Sluice) -> None:
    """With two nodes and one replica nothing is unassigned, and both nodes are sampled."""
    sluice.stack.ensure(StackShape(), kept=True)
    first_node = sluice.stack.process_ids()["elasticsearch-1"]

    done = sluice.run(
        "quickstart", "--documents", str(BOOKS), "--set", "elasticsearch.data_nodes=2",
        "--set", "index.number_of_replicas=1",
    )  # fmt: skip

    assert (done.status, done.errors) == (0, "")
    result = sluice.result()
    assert "shards_unassigned" not in {warning.kind.value for warning in result.warnings}
    samples = [orjson.loads(line) for line in (sluice.latest() / "samples.ndjson").open()]
    last = next(sample["elasticsearch"] for sample in reversed(samples) if sample.get("elasticsearch"))
    assert set(last["nodes"]) == {"elasticsearch-1", "elasticsearch-2"}
    assert last["total"]["index_total"] == 2 * last["primaries"]["index_total"] == 2 * BOOKS
    assert sluice.stack.process_ids()["elasticsearch-1"] == first_node
