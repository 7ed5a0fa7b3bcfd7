"""The Compose files mean the same to the oldest Compose that we ask for and to the newest that we know."""

from collections.abc import Mapping

import pytest

from lab.cli.containers import NEEDED_COMPOSE
from tests.compose.compose_loader import LIBRARY_OF, Loader, loader_of
from tests.compose.conftest import MISSING
from tests.compose.engine import own_engine
from tests.compose.machine import EngineMissingError

pytestmark = pytest.mark.timeout(1300)

RELEASES = tuple(LIBRARY_OF)
WAYS_UP = {
    "default": (("compose.yaml",), {}),
    "nodes-3": (("compose.yaml",), {"EXPERIMENT": "aladin/nodes-3"}),
    "another version": (("compose.yaml",), {"ELASTICSEARCH_VERSION": "9.5.3", "OBSERVER_VERSION": "9.5.3"}),
    "secure": (("compose.yaml", "compose/secure.yaml"), {}),
    "cluster": (("compose.yaml", "compose/cluster.yaml"), {}),
}
ELASTICSEARCH = "docker.elastic.co/elasticsearch/elasticsearch"
DIGEST = f"sha256:{64 * 'a'}"
LOCKED = {
    "ELASTICSEARCH_LOCKED": f"8.19.21@{DIGEST}",
    "OBSERVER_LOCKED": f"8.19.21@{DIGEST}",
    "KAFKA_LOCKED": f"4.4.0@{DIGEST}",
    # As an experiment has it that leaves the version to the files.
    "ELASTICSEARCH_VERSION": "",
}


@pytest.fixture(scope="module")
def loaders() -> Mapping[str, Loader]:
    """The releases; where they cannot be built, tests are skipped."""
    try:
        return {release: loader_of(own_engine().folder, release) for release in RELEASES}
    except EngineMissingError as error:
        MISSING.append(str(error))
        pytest.skip(str(error))


def test_the_oldest_is_the_one_that_users_are_asked_for() -> None:
    """`doctor --compose` refuses older ones."""
    assert RELEASES[0] == ".".join(map(str, NEEDED_COMPOSE))


@pytest.mark.parametrize("monitoring", ["metricbeat", "internal", "observer", "off"])
@pytest.mark.parametrize("way", WAYS_UP)
def test_oldest_and_newest_understand_the_same(loaders: Mapping[str, Loader], way: str, monitoring: str) -> None:
    """Every service, volume and setting, and not only that both accept the files."""
    files, settings = WAYS_UP[way]
    oldest, newest = (loaders[name].load(files, {**settings, "MONITORING": monitoring}) for name in RELEASES)
    assert len(oldest["services"]) >= 17
    assert oldest == newest


@pytest.mark.parametrize(
    ("settings", "elasticsearch", "kafka"),
    [
        ({}, f"{ELASTICSEARCH}:8.19.21@{DIGEST}", f"apache/kafka:4.4.0@{DIGEST}"),
        (
            {"ELASTICSEARCH_VERSION": "9.5.3", "OBSERVER_VERSION": "9.5.3", "KAFKA_VERSION": "4.2.0"},
            f"{ELASTICSEARCH}:9.5.3",
            "apache/kafka:4.2.0",
        ),
        ({"ELASTICSEARCH_IMAGE": "mirror/e", "KAFKA_IMAGE": "mirror/k"}, "mirror/e:8.19.21", "mirror/k:4.4.0"),
        (
            {
                "ELASTICSEARCH_IMAGE": "mirror/e",
                "ELASTICSEARCH_VERSION": "9.5.3",
                "OBSERVER_VERSION": "9.5.3",
                "KAFKA_IMAGE": "mirror/k",
                "KAFKA_VERSION": f"4.2.0@{DIGEST}",
            },
            "mirror/e:9.5.3",
            f"mirror/k:4.2.0@{DIGEST}",
        ),
    ],
    ids=["neither", "version", "image", "both"],
)
@pytest.mark.parametrize("release", RELEASES)
def test_a_digest_goes_with_its_version_alone(
    loaders: Mapping[str, Loader], release: str, settings: Mapping[str, str], elasticsearch: str, kafka: str
) -> None:
    """Docker ignores the tag beside a digest: 9.5.3 with that of 8.19.21 would run 8.19.21 on the data of 9.5.3."""
    services = loaders[release].load(("compose.yaml",), {**LOCKED, **settings})["services"]
    assert {services[name]["image"] for name in ("elasticsearch", "elasticsearch-4", "observer")} == {elasticsearch}
    assert {services["kafka"]["image"], services["connect"]["build"]["args"]["KAFKA"]} == {kafka}
    version = elasticsearch.rpartition("/")[2].split(":")[1].partition("@")[0]
    assert services["elasticsearch"]["environment"]["path.data"].endswith(f"/data/{version}")
