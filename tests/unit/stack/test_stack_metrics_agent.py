"""The configuration of a worker's JMX agent; tests/integration/test_metrics_agent.py attacks the real one."""

import stat
import xml.etree.ElementTree as Xml
from pathlib import Path

import pytest

from lab.endpoints import METRICS_ORIGIN
from lab.monitor.sink import READ
from lab.stack.metrics_agent import POLICY, SETTINGS, configure, jvm_option, password
from lab.stack.places import ROOT
from tools.metrics_policy import policy, read_by_metricbeat

RULES = Xml.parse(POLICY).getroot()  # noqa: S314 - our own file


def settings_in(text: str) -> dict[str, str]:
    """Settings of a Java properties file."""
    lines = text.replace("\\\n", "").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_the_policy_allows_what_our_readers_read() -> None:
    """A new metric is one line in its reader, and `python -m tools.metrics_policy`."""
    assert POLICY.read_text("utf-8") == policy({**READ, **read_by_metricbeat()})


def test_the_policy_allows_no_command_and_nothing_to_be_written() -> None:
    """A command in the list would be allowed for every MBean; an attribute without a mode may be set."""
    (commands,) = RULES.iter("commands")
    assert list(commands) == []
    assert {attribute.get("mode") for attribute in RULES.iter("attribute")} == {"read"}
    assert not list(RULES.iter("operation"))


def test_one_origin_is_let_in_which_no_page_has() -> None:
    """Strict checking without an origin would let every page in (Jolokia 2.6.0, `CorsChecker`)."""
    (cors,) = RULES.iter("cors")
    assert [(part.tag, part.text) for part in cors] == [("allow-origin", METRICS_ORIGIN), ("strict-checking", None)]
    assert not METRICS_ORIGIN.startswith(("http:", "https:"))


def test_no_two_patterns_of_the_policy_match_the_same_mbean() -> None:
    """Of two, Jolokia applies any (`MBeanPolicyConfig.findMatchingMBeanPattern`)."""
    names = [name.text or "" for name in RULES.iter("name")]
    kinds = [(name.partition(":")[0], *(part for part in name.split(",") if "type=" in part)) for name in names]
    assert len(set(kinds)) == len(kinds)


def test_the_agent_runs_no_proxy_no_discovery_and_no_notifications() -> None:
    """Its proxy would connect before it looks at the policy, to wherever a request says."""
    enabled = settings_in(SETTINGS.read_text("utf-8"))["enabledServices"].replace(" ", "").split(",")
    assert [name.rpartition(".")[2] for name in enabled] == [
        "VersionRequestHandler",
        "LocalRequestHandler",
        "JolokiaSerializer",
    ]


def test_a_worker_has_a_password_that_nobody_else_may_read_and_keeps_it(tmp_path: Path) -> None:
    """In a file: other users see a command line. Started again meanwhile, it answers a run as before."""
    config = tmp_path / "jolokia.properties"
    configure(config, 9109)
    first = password(config)
    configure(config, 9109)
    settings = settings_in(config.read_text("utf-8"))
    assert first == password(config) == settings["password"]
    assert len(first) >= 32
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert (settings["host"], settings["port"], settings["user"]) == ("127.0.0.1", "9109", "sluice")
    assert settings["policyLocation"] == POLICY.as_uri()
    assert settings["enabledServices"] == settings_in(SETTINGS.read_text("utf-8"))["enabledServices"]


def test_a_comma_in_the_path_does_not_part_the_agents_options() -> None:
    """Jolokia would start without its configuration, and so open to all."""
    option = jvm_option(Path("/jars/agent.jar"), Path("/a,b/jolokia.properties"))
    assert option == "-javaagent:/jars/agent.jar=config=/a\\,b/jolokia.properties"


@pytest.mark.parametrize("line", ["cat /opt/sluice/jolokia.properties", "file:///opt/sluice/jolokia-access.xml"])
def test_containers_have_the_same_policy(line: str) -> None:
    """And the same services."""
    assert line in (ROOT / "compose/images/connect.sh").read_text("utf-8")
    copied = "COPY connect/etc/jolokia.properties connect/etc/jolokia-access.xml /sluice/\n"
    assert copied in (ROOT / "compose/images/connect.Dockerfile").read_text("utf-8")
