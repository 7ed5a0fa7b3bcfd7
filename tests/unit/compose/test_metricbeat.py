"""What Metricbeat is told, as far as it can be judged without one."""

import re

import pytest
import yaml

from lab.endpoints import METRICS_ORIGIN
from lab.stack.places import ROOT
from tests.metricbeat import settings, settings_text

TOLD = settings()
MODULES = {module["module"]: module for module in TOLD["metricbeat.modules"]}
KIBANAS_BUCKET = "10s"


def test_each_server_is_asked_once_per_bucket_of_kibanas_charts() -> None:
    """More seldom, and charts have gaps; more often, and nobody sees it."""
    assert {name: module["period"] for name, module in MODULES.items()} == dict.fromkeys(
        ("elasticsearch", "kafka", "jolokia"), KIBANAS_BUCKET
    )


def test_elasticsearch_is_asked_for_stack_monitoring_of_the_whole_cluster() -> None:
    """With metricsets of one's own beside it, or for one node only, charts would be empty or wrong."""
    module = MODULES["elasticsearch"]
    assert (module["xpack.enabled"], module["scope"]) == (True, "cluster")
    assert "metricsets" not in module


def test_everything_goes_to_the_observer() -> None:
    """And never to the cluster that is measured."""
    outputs = {name: value["hosts"] for name, value in TOLD.items() if name.startswith("output.")}
    assert outputs == {"output.elasticsearch": ["${OBSERVER_URL:http://observer:9200}"]}


@pytest.mark.parametrize(
    ("name", "places"),
    [("username", 3), ("password", 3), ("certificate_authorities", 4), ("certificate", 1), ("key", 1)],
)
def test_no_credential_has_a_default(name: str, places: int) -> None:
    """They are variables of the container, and empty unless given."""
    defaults = re.findall(rf'{name}: "?\$\{{\w+:(.*?)\}}', settings_text())
    assert len(defaults) == places
    assert set(defaults) <= {"", "[]"}


def test_metricbeat_asks_the_metrics_agent_as_its_policy_wants() -> None:
    """By GET, whose address Metricbeat ends itself: a slash or a query of ours before that would make it another one.

    Source: metricbeat/module/jolokia/jmx/config.go: `buildJolokiaGETUri` and `Fetch` of 7.17.29, `SetUpdatedURL` of the
        main branch.
    """
    module = MODULES["jolokia"]
    assert (module["http_method"], module["path"], "query" in module) == ("GET", "/jolokia", False)
    assert module["headers"] == {"Origin": METRICS_ORIGIN}


def test_every_address_that_metricbeat_gets_is_one_that_it_reads() -> None:
    """A variable that nothing reads looks like a setting."""
    given = yaml.safe_load((ROOT / "compose/monitoring.yaml").read_text())["services"]["metricbeat"]["environment"]
    assert set(given) - {"NO_PROXY"} <= set(re.findall(r"\$\{(\w+):", settings_text()))


def test_metricbeat_asks_no_proxy() -> None:
    """Compose gives a container the proxies of ~/.docker/config.json, and Go's client would take them."""
    given = yaml.safe_load((ROOT / "compose/monitoring.yaml").read_text())["services"]["metricbeat"]["environment"]
    assert given["NO_PROXY"] == "*"
