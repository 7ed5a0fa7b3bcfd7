"""`docker compose up` for real: everything but Kibana and Metricbeat, on the same servers as the embedded ones."""

from collections.abc import Iterator, Mapping

import pytest

from tests.compose.engine import Engine
from tests.compose.project import Project, free_ports

# The first test also makes the engine and the images, which a fresh machine has neither of.
pytestmark = pytest.mark.timeout(1500)

EXPERIMENT = "quickstart"
WITH_TWO_NODES = "aladin/nodes-2"
SERVERS = {"kafka", "elasticsearch", "connect", "observer"}
ARRIVE_TIMEOUT_S = 120


@pytest.fixture(scope="module")
def project(engine: Engine, stand_ins: Mapping[str, str]) -> Iterator[Project]:
    """One project for the whole module: its tests tell one story, in their order."""
    without = {"KIBANAS": "0", "METRICBEATS": "0"}
    pace = {"RATE": "1009", "EXPERIMENT": EXPERIMENT}
    made = Project(engine, "sluice-test", {**stand_ins, **free_ports(), **without, **pace})
    try:
        yield made
    finally:
        made.called("down", "--volumes", "--remove-orphans", "--timeout", "5")
