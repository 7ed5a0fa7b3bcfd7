"""`compose/cluster.yaml` for real: a broker and a worker die at once, and the stream goes on without them.

The tests tell one story, in their order, with one project; where one fails, those after it may fail as well. It takes a
few minutes on a small machine: `pytest tests/endurance --faults 60`, or any other number of seconds, which it ignores.
Each part, every kind of failure: test_cluster_faults.py.
"""

from collections.abc import Iterator, Mapping

import pytest

from tests.compose.cluster import BROKERS, NODES, PRODUCERS, WORKERS, Cluster, answer_of, cluster_of, wait_until
from tests.compose.engine import Engine
from tests.compose.project import WAIT_S

pytestmark = pytest.mark.timeout(900)

INDEX = "sluice-quickstart"
STREAM = {"EXPERIMENT": "quickstart", "RATE": "1009", "DOCUMENTS": "20011"}


@pytest.fixture(scope="module")
def cluster(fault_s: float, engine: Engine, stand_ins: Mapping[str, str]) -> Iterator[Cluster]:  # noqa: ARG001 - asked for
    """The cluster, but for what only monitors."""
    with cluster_of(engine, stand_ins, "cluster", **STREAM) as made:
        yield made


def newest(cluster: Cluster) -> int:
    """How many operations the primary shard has taken, by a node that no test here kills."""
    shards = answer_of(f"{cluster.node_url(NODES[1])}/{INDEX}/_stats/indexing?level=shards")
    copies = shards["indices"][INDEX]["shards"]["0"] if shards else []
    return max((int(copy["seq_no"]["max_seq_no"]) for copy in copies), default=0)


def grows(cluster: Cluster) -> bool:
    """Whether documents arrive."""
    before = newest(cluster)
    wait_until(lambda: newest(cluster) > before + 101, lambda: f"{newest(cluster)} after {before}", WAIT_S)
    return True


def test_up_starts_three_brokers_two_workers_three_nodes_two_producers(cluster: Cluster) -> None:
    """One command; every copy of everything is there, and both workers have work."""
    cluster.project("up", "--build", "--detach", "--wait")
    stay = (*BROKERS, *WORKERS, *NODES, *PRODUCERS)
    assert cluster.project.states() == {
        **dict.fromkeys(stay, "healthy"),
        **dict.fromkeys(("preflight", "setup"), "exited 0"),
    }
    cluster.wait_until_whole(WAIT_S)
    (connector,) = cluster.connectors()
    assert {worker for _, worker in cluster.places(connector, "connect").values()} == set(WORKERS)
    roles = answer_of(f"{cluster.node_url(NODES[2])}/_cat/nodes?format=json&h=node.role")
    assert [node["node.role"] for node in roles] == ["dim"] * 3


def test_a_broker_and_a_worker_that_die_hold_nothing_up(cluster: Cluster) -> None:
    """Killed at once: the other worker has all tasks, and documents go on arriving."""
    (connector,) = cluster.connectors()
    for service in ("kafka", "connect"):
        cluster.project.engine.docker("kill", cluster.project.container(service))
    all_there = {("RUNNING", "connect-2")}
    wait_until(
        lambda: set(cluster.places(connector, "connect-2").values()) == all_there,
        lambda: str(cluster.places(connector, "connect-2")),
        WAIT_S,
    )
    assert grows(cluster)


def test_after_all_of_that_what_is_stored_is_what_both_producers_have_sent(cluster: Cluster) -> None:
    """The dead come back with `up`; the check finds every document once, in its last version."""
    cluster.project("up", "--detach", "--wait")
    assert grows(cluster)
    cluster.project("stop", *PRODUCERS)
    assert cluster.project.verified({}) > 10_007


def test_down_leaves_nothing(cluster: Cluster) -> None:
    """Neither containers nor networks nor volumes."""
    cluster.project("down", "--volumes")
    assert [cluster.project.left(kind) for kind in ("container", "network", "volume")] == [[], [], []]
