"""`docker compose up` for real: everything but Kibana and Metricbeat, on the same servers as the embedded ones.

The tests tell one story, in their order, with one project; where one fails, those after it may fail as well.
"""

import json
import time
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import httpx
import pytest

from lab.profiles.containers import FOLDER, env_files
from lab.stack.places import ROOT
from tests.compose.conftest import SEEN
from tests.compose.engine import Engine
from tests.compose.materials import DEFAULT_ELASTICSEARCH
from tests.compose.project import Project, checkout_name, documents, free_ports, own_images, wait_until
from tests.integration.metrics_attacks import ORIGIN, PAGES, Attacker, figures_shown, succeeded

# The first test also makes the engine and the images, which a fresh machine has neither of.
pytestmark = pytest.mark.timeout(1800)

ONE_NODE = {"EXPERIMENT": "quickstart", "RATE": "5003"}
TWO_NODES = {"EXPERIMENT": "aladin/nodes-2", "RATE": "499"}
OVERLAYS = ((), *(("--file", "compose.yaml", "--file", f"compose/{name}.yaml") for name in ("secure", "cluster")))
"""The ways up, as Compose is told of them."""
SERVERS = ("kafka", "connect", "elasticsearch", "observer")


@pytest.fixture(scope="module")
def project(engine: Engine, stand_ins: Mapping[str, str]) -> Iterator[Project]:
    """The pipeline as its user has it, but for Kibana and Metricbeat; the images of the checkout's own name."""
    name = checkout_name()
    made = Project(engine, name, {**stand_ins, **free_ports(), **own_images(), "MONITORING": "observer"})
    # What a session that was killed has left.
    made.remove()
    yield made
    made.remove()


@pytest.fixture(scope="module")
def cluster(project: Project) -> Iterator[httpx.Client]:
    """The cluster under test, at the port that the project publishes."""
    with httpx.Client(base_url=f"http://localhost:{project.settings['ELASTICSEARCH_PORT']}", timeout=30) as client:
        yield client


@pytest.fixture(autouse=True)
def _timed(request: pytest.FixtureRequest) -> Iterator[None]:
    started_s = time.monotonic()
    yield
    SEEN.append(f"{time.monotonic() - started_s:4.0f} s  {request.node.name}")


EXPERIMENTS = [
    str(path.relative_to(FOLDER).with_suffix("")) for path, _ in env_files(ROOT) if ".settings" not in path.suffixes
]


def test_the_configuration_of_every_experiment_is_clean(project: Project) -> None:
    """Compose takes the files with each profile's settings, and has nothing to remark."""
    said = {
        name: (done.returncode, done.stderr)
        for name in EXPERIMENTS
        if (done := project.called("config", "--quiet", settings={"EXPERIMENT": name})).returncode or done.stderr
    }
    assert said == {}


def test_no_server_of_others_gets_a_setting_without_a_value(project: Project) -> None:
    """An empty variable is not an unset one: Elasticsearch from 8 on does not start with it."""
    empty = set()
    for experiment, overlay in product(("quickstart", "aladin/nodes-3", "sink/rejecting"), OVERLAYS):
        said = project.called(*overlay, "config", "--format", "json", settings={"EXPERIMENT": experiment}).stdout
        for name, service in json.loads(said)["services"].items():
            if name.startswith(("elasticsearch", "observer", "kafka", "connect", "kibana", "metricbeat")):
                empty |= {(name, key) for key, value in service["environment"].items() if value == ""}
    assert empty == set()


def test_elasticsearch_s_own_scripts_read_the_settings_of_a_container(project: Project) -> None:
    """Else the stand-in would decide what its official image leaves to them, and no test could see a false belief."""
    image = f"{project.settings['ELASTICSEARCH_IMAGE']}:{DEFAULT_ELASTICSEARCH}"
    started = project.engine.docker(
        *("run", "--rm", "--env", "cluster.initial_master_nodes=", image), timeout_s=120, check=False
    )
    assert started.returncode != 0
    assert "null-valued setting found for key [cluster.initial_master_nodes]" in started.stdout + started.stderr


@pytest.mark.parametrize("monitoring", ["metricbeat", "internal", "observer", "off"])
def test_the_configuration_of_every_way_to_watch_is_clean(project: Project, monitoring: str) -> None:
    """So it does with each way of monitoring, alone, secured and as a cluster."""
    for files in OVERLAYS:
        done = project.called(*files, "config", "--quiet", settings={"MONITORING": monitoring})
        assert (done.returncode, done.stderr) == (0, "")


def test_a_heap_that_its_container_cannot_hold_is_refused_before_a_server_starts(project: Project) -> None:
    """By one sentence, in place of a server that the kernel kills."""
    too_large = {**ONE_NODE, "ELASTICSEARCH_HEAP": "2g", "ELASTICSEARCH_MEMORY": "2g"}
    done = project.called("up", "--build", "--detach", "--wait", settings=too_large)
    assert done.returncode != 0
    assert {project.states()[server] for server in SERVERS} == {"created 0"}
    said = " ".join(project("logs", "--no-log-prefix", "preflight").split())
    assert "ELASTICSEARCH_MEMORY: got 2,048 MB with a heap of 2,048 MB, expected at least" in said


def test_up_starts_everything_and_documents_arrive(project: Project, cluster: httpx.Client) -> None:
    """One command builds what is ours and starts all; it ends when every service is healthy or done."""
    project("up", "--build", "--detach", "--wait", settings=ONE_NODE)
    states = project.states()
    assert states == {
        **dict.fromkeys((*SERVERS, "producer", "watch"), "healthy"),
        **dict.fromkeys(("preflight", "setup"), "exited 0"),
    }
    wait_until(lambda: documents(cluster, "sluice-quickstart") > 20_011)
    SEEN.append(f"MB under load: {memory(project)}")


def test_what_is_stored_is_what_was_sent(project: Project, cluster: httpx.Client) -> None:
    """The check finds every document, each once, and does not overlook one that is missing."""
    project("stop", "producer", settings=ONE_NODE)
    assert project.verified(ONE_NODE) > 20_011
    SEEN.append(f"MB at rest: {memory(project)}")
    lost = cluster.get("/sluice-quickstart/_search", params={"size": 1}).json()["hits"]["hits"][0]["_id"]
    cluster.delete(f"/sluice-quickstart/_doc/{lost}", params={"refresh": "true"}).raise_for_status()
    assert project.called("run", "--rm", "verify", settings=ONE_NODE).returncode == 4


def test_the_workers_metrics_are_figures_and_no_way_in(project: Project, tmp_path: Path) -> None:
    """A local program reads figures and does nothing else; a page does not even that."""
    url = f"http://localhost:{project.settings['JOLOKIA_PORT']}/jolokia"
    local = Attacker(url, tmp_path, ORIGIN)
    assert (succeeded(local), figures_shown(local)) == (set(), True)
    for headers in PAGES.values():
        page = Attacker(url, tmp_path, headers)
        assert (succeeded(page), figures_shown(page)) == (set(), False)


def test_documents_make_no_index_to_be_measured(cluster: httpx.Client) -> None:
    """After a switch of versions the sink of the experiment before must not write into a cluster not its own."""
    refused = cluster.post("/sluice-stranger/_doc", json={"title": "어린 왕자"})
    assert (refused.status_code, refused.json()["error"]["type"]) == (404, "index_not_found_exception")


def test_another_experiment_adds_a_data_node_and_keeps_the_data(project: Project, cluster: httpx.Client) -> None:
    """The same command with another profile: a node joins, a new index is filled, the old one and the observer stay."""
    stored, observer = documents(cluster, "sluice-quickstart"), project.container("observer")
    project("up", "--detach", "--wait", settings=TWO_NODES)
    nodes = cluster.get("/_cat/nodes", params={"h": "name", "s": "name"}).text.split()
    assert nodes == ["elasticsearch-1", "elasticsearch-2"]
    wait_until(lambda: documents(cluster, "sluice-aladin-nodes-2") > 1009)
    assert documents(cluster, "sluice-quickstart") == stored
    assert project.container("observer") == observer


def test_what_is_killed_comes_back_and_nothing_is_lost(project: Project, cluster: httpx.Client) -> None:
    """Elasticsearch's first node and the worker are killed while documents stream; `up` brings them back."""
    for service in ("elasticsearch", "connect"):
        project.engine.docker("kill", project.container(service))
    assert {name: project.states()[name] for name in ("elasticsearch", "connect")} == {
        "elasticsearch": "exited 137",
        "connect": "exited 137",
    }
    project("up", "--detach", "--wait", settings=TWO_NODES)
    back_with = documents(cluster, "sluice-aladin-nodes-2")
    wait_until(lambda: documents(cluster, "sluice-aladin-nodes-2") > back_with)
    project("stop", "producer", settings=TWO_NODES)
    assert project.verified(TWO_NODES) > back_with


def test_stopping_and_starting_again_loses_nothing(project: Project, cluster: httpx.Client) -> None:
    """After `stop`, `up` goes on with the next document."""
    sent = documents(cluster, "sluice-aladin-nodes-2")
    project("stop", settings=TWO_NODES)
    assert set(project.states().values()) <= {"exited 0", "exited 143"}
    project("up", "--detach", "--wait", settings=TWO_NODES)
    project("stop", "producer", settings=TWO_NODES)
    assert project.verified(TWO_NODES) > sent


def test_down_leaves_nothing(project: Project) -> None:
    """Neither containers nor networks, nor volumes where they are to go as well; none is without a name."""
    assert project.unnamed_volumes() == []
    project("down", settings=TWO_NODES)
    assert (project.left("container"), project.left("network")) == ([], [])
    assert project.left("volume") != []
    project("down", "--volumes", settings=TWO_NODES)
    assert project.left("volume") == []


def memory(project: Project) -> str:
    """Each container's memory in one line."""
    return ", ".join(f"{service} {used_mb:.0f}" for service, used_mb in sorted(project.memory_mb().items()))
