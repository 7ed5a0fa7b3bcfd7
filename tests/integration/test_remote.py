"""Runs and suites on servers that somebody else has started."""

from pathlib import Path

import httpx
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lab.analysis.figures.definitions import value_of
from lab.records.run import WarningKind
from lab.records.suite import SuiteResult
from lab.suite.folder import find_suite
from tests.integration.conftest import Sluice, on

DOCUMENTS = 2003
SUITE = """
question: Does a second primary shard make small drains faster?
control: one shard
variants:
  - {profile: quickstart, name: one shard}
  - {profile: quickstart, name: two shards, set: {index.number_of_shards: 2}}
  - {profile: quickstart, name: seven gigabytes, set: {elasticsearch.heap_mb: 7000}}
set: {dataset.documents: 2003}
repeats: 2
repeat_control: false
"""


def test_a_run_uses_servers_that_somebody_else_has_started(
    sluice: Sluice, driver: Sluice, open_target: Path, elasticsearch: httpx.Client
) -> None:
    """It is verified and reported like any other; nothing is started or stopped, and nothing else is touched."""
    admin = AdminClient({"bootstrap.servers": sluice.stack.endpoints().kafka_bootstrap})
    admin.create_topics([NewTopic("orders", num_partitions=1)])["orders"].result()
    elasticsearch.put("/orders").raise_for_status()
    before = sluice.stack.process_ids()
    settings = elasticsearch.get("/_cluster/settings").json()

    done = driver.run("quickstart", "--documents", str(DOCUMENTS), *on(open_target))

    assert (done.status, done.errors) == (0, "")
    result = driver.result()
    assert (result.status, result.documents.indexed) == ("verified", DOCUMENTS)
    assert result.environment.target == "remote"
    first = result.environment.servers[0]
    assert (first.name, first.version, first.pid) == ("elasticsearch-1", "8.19.21", None)
    assert value_of(result.metrics, "end_to_end_latency_ms_p99") is not None
    assert value_of(result.metrics, "cpu_s_per_million_docs", "elasticsearch") is None
    assert WarningKind.SERVERS_ELSEWHERE in {warning.kind for warning in result.warnings}
    assert "they ran on other machines" in (driver.latest() / "report.html").read_text()
    assert sluice.stack.process_ids() == before
    assert elasticsearch.get("/_cluster/settings").json() == settings
    assert "orders" in admin.list_topics(timeout=10).topics
    assert elasticsearch.head("/orders").status_code == 200
    elasticsearch.delete("/orders").raise_for_status()
    admin.delete_topics(["orders"])["orders"].result()


@pytest.mark.usefixtures("elasticsearch")
def test_variables_lead_to_the_same_servers(sluice: Sluice, driver: Sluice, monkeypatch: pytest.MonkeyPatch) -> None:
    """A direct load, for which Kafka and the worker only have to be there."""
    there = sluice.stack.endpoints()
    monkeypatch.setenv("SLUICE_KAFKA_BOOTSTRAP_SERVERS", there.kafka_bootstrap)
    monkeypatch.setenv("SLUICE_CONNECT_URL", there.connect_url)
    monkeypatch.setenv("SLUICE_ELASTICSEARCH_URLS", ",".join(there.elasticsearch_urls))
    done = driver.run("quickstart", "--documents", str(DOCUMENTS), "--set", "load.via=direct", "--target", "remote")
    assert (done.status, done.errors) == (0, "")
    assert driver.result().documents.indexed == DOCUMENTS


def test_a_profile_that_needs_other_servers_is_refused(driver: Sluice, open_target: Path) -> None:
    """With one sentence, before anything is made."""
    done = driver.run("quickstart", "--elasticsearch", "9.5.3", *on(open_target))
    assert (done.status, done.errors) == (
        2,
        "sluice: --elasticsearch: got 9.5.3, expected 8.19.21, which the cluster runs; remote servers are "
        "used as they are: leave it out, or run without --target remote\n",
    )
    assert not driver.runs.exists()


@pytest.mark.long
def test_a_suite_runs_what_can_run(sluice: Sluice, driver: Sluice, open_target: Path, tmp_path: Path) -> None:
    """The variant that needs other servers is left out, and nothing of the others' runs stays in the servers."""
    suite = tmp_path / "shards.yaml"
    suite.write_text(SUITE)

    done = driver("suite", str(suite), "--runs", str(driver.runs), *on(open_target))

    assert (done.status, done.errors) == (0, "")
    assert "left out: seven gigabytes" in done.output
    folder = find_suite(driver.runs, "shards")
    result = SuiteResult.model_validate_json((folder.path / "suite.json").read_bytes())
    assert result.complete
    assert {effect.variant for effect in result.effects} == {"two shards"}
    there = sluice.stack.endpoints()
    topics = AdminClient({"bootstrap.servers": there.kafka_bootstrap}).list_topics(timeout=10).topics
    assert not [name for name in topics if name.startswith("sluice-quickstart-")]
    assert httpx.get(f"{there.connect_url}/connectors").json() == []
