"""The sink in a Kafka Connect worker of the release line before the lab's own."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.stack import server
from lab.stack.artifacts import read_lock
from lab.stack.jdk import JavaRange, choose_jdk, find_jdks
from lab.stack.kafka import connect_spec
from lab.stack.local import Endpoints, StackShape
from lab.stack.places import ROOT
from lab.stack.plugin import plugin_folder, source_fingerprint
from lab.stack.ports import LOOPBACK, allot_ports
from lab.stack.readiness import wait_until_ready
from tests.integration.conftest import Sluice
from tests.integration.keyed_drain import keyed_drain

OLDER = "3.9.1"
RECORDS = 10_007
LOG4J = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


@pytest.fixture
def older_worker(sluice: Sluice, tmp_path: Path) -> Iterator[Endpoints]:
    """A worker of the older line on the session's broker, a group of its own, plugins found by `service_load`."""
    newer = sluice.stack.ensure(StackShape(), kept=True)
    lock = read_lock()
    jars = sluice.stack.cache.fetch(lock.sets[f"connect-{OLDER}"])
    ports = allot_ports(("http", "metrics"), tmp_path / "ports.json", asked={}, in_use={})
    (tmp_path / "log4j.properties").write_text(LOG4J)
    spec = connect_spec(
        folder=tmp_path,
        cache=tmp_path,
        jdk=choose_jdk(find_jdks(), JavaRange(17, 23), f"Kafka Connect {OLDER}"),
        jars=(tmp_path, *jars),
        agent=sluice.stack.cache.file(lock.sets["jolokia"][0]),
        version=OLDER,
        heap_mb=512,
        ports=ports,
        kafka_port=int(newer.kafka_bootstrap.rpartition(":")[2]),
        plugin_path=plugin_folder(ROOT / "connect"),
        plugin_version=source_fingerprint(ROOT / "connect"),
    )
    properties = tmp_path / "worker.properties"
    properties.write_text(properties.read_text().replace("sluice-connect", "sluice-older-connect"))
    launched = server.start(spec, sluice.state)
    try:
        wait_until_ready(launched, lambda _daemon: None)
        yield dataclasses.replace(
            newer,
            connect_url=f"http://{LOOPBACK}:{ports['http']}",
            metrics_url=f"http://{LOOPBACK}:{ports['metrics']}/jolokia",
        )
    finally:
        server.stop([launched])


def test_the_plugin_runs_in_a_worker_of_the_release_line_before(older_worker: Endpoints) -> None:
    """Updates and deletes arrive through two tasks, and the plugin's metrics are there."""
    with keyed_drain(older_worker, partitions=3, keys=1_009, index_settings={}) as drain:
        drain.fill(RECORDS)
        drain.connector.configure(tasks__max=2)

        drain.check_everything_arrived(tasks=2)
