"""What the Compose files ask for, and what the list of their settings says of it."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest
import yaml

from lab.cli.containers import limits_of_variable, size_mb
from lab.profiles.containers import environment
from lab.profiles.loader import load_profile
from lab.profiles.memory import NEEDS, memory_settings, variables
from lab.stack.artifacts import read_lock
from lab.stack.places import ROOT
from lab.stack.shape import StackShape, kafka_version
from tools.lock_images import ARCHIVES, IMAGES

OVERLAYS = frozenset({"secure.yaml", "cluster.yaml"})
"""Files that change services of the others, each for another way up."""
FILES = sorted([ROOT / "compose.yaml", *(ROOT / "compose").glob("*.yaml")])
CONNECT = ROOT / "compose/images/connect.Dockerfile"
VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)(?::?([-+])([^}]*))?\}")
EXPANSION = re.compile(r"(?<!\$)\$\{([A-Z0-9_]+)(?::?([-+]))?")
"""Where a variable is expanded, within the default of another one too."""
LISTED = re.compile(r"^#([A-Z0-9_]+)=(.*)$", re.MULTILINE)
DECIDED_BY_CHOICES = {
    *(f"ELASTICSEARCH_{what}" for what in ("2", "3", "4", "NODES", "URLS", "BOOTSTRAP", "MODULE")),
    *("OBSERVERS", "KIBANAS", "METRICBEATS", "OBSERVER_PULL", "KIBANA_PULL", "METRICBEAT_PULL"),
    "CONNECT_PLUGIN_DISCOVERY",
    *(f"{name}_LOCKED" for name in (*IMAGES, *ARCHIVES)),
}
"""Variables that an experiment, a sink, a way of monitoring or the lock file sets, and nobody else."""
EXAMPLES = {"RATE", "DATASET_FOLDER", "DATASET_FILE", "DATASET_KEY"}
"""Settings whose value in the list is an example: they have no default, or the experiment decides."""


HEAPS_AND_LIMITS = {name for server in NEEDS for name in variables(server)} | set(memory_settings())
"""Settings that have no default in the Compose files: compose/memory.env has all of them, or the experiment's file."""


def used() -> Iterator[tuple[str, str]]:
    """Every variable of the Compose files, with its default, once for each place."""
    decided = {**environment(load_profile("quickstart")), **memory_settings()}
    for file in FILES:
        text = file.read_text()
        for found in EXPANSION.finditer(text):
            if found[2] != "+":
                default = default_at(text[found.end() :]) if found[2] else ""
                yield found[1], decided[found[1]] if found[1] in HEAPS_AND_LIMITS and not found[2] else default


def default_at(text: str) -> str:
    """The default that begins a text: what stands there, or else the default of the variable that stands there."""
    inner = EXPANSION.match(text)
    return default_at(text[inner.end() :]) if inner else re.split(r":?\$\{|\}", text, maxsplit=1)[0]


def listed() -> dict[str, str]:
    """The settings that `.env.example` lists."""
    return dict(LISTED.findall((ROOT / ".env.example").read_text()))


def services() -> dict[str, dict[str, object]]:
    """Every service, whichever file it is in."""
    return {
        name: service
        for file in FILES
        if file.name not in OVERLAYS
        for name, service in yaml.safe_load(file.read_text()).get("services", {}).items()
    }


def test_every_setting_is_listed_and_none_besides() -> None:
    """`.env.example` is where a user looks."""
    assert set(listed()) == {name for name, _ in used()} - DECIDED_BY_CHOICES


def test_the_list_says_what_holds() -> None:
    """A default that stands in two places could differ."""
    known = listed()
    different = {
        (name, default) for name, default in used() if name in known and name not in EXAMPLES and known[name] != default
    }
    assert different == set()


def test_heaps_and_limits_have_one_place() -> None:
    """A default beside it would hide a value that is missing there."""
    with_default = {
        name
        for file in FILES
        for name, kind, _ in VARIABLE.findall(file.read_text())
        if name in HEAPS_AND_LIMITS and kind
    }
    assert with_default == set()


def test_the_first_container_is_told_every_heap() -> None:
    """Beside the limits, by the same settings as the servers."""
    told = str(services()["preflight"]["environment"]["SLUICE_HEAPS"])  # type: ignore[index]
    assert dict(word.split("=") for word in told.split()) == {
        server: f"${{{variables(server)[0]}}}{'m' if server == 'kibana' else ''}" for server in NEEDS
    }


def test_the_versions_are_the_lab_s_own() -> None:
    """What runs in containers is what runs without."""
    known = listed()
    assert known["ELASTICSEARCH_VERSION"] == known["OBSERVER_VERSION"] == StackShape().release.version
    assert known["KAFKA_VERSION"] == kafka_version(read_lock())
    (agent,) = read_lock().sets["jolokia"]
    built_with = dict(re.findall(r"^ARG (JOLOKIA_\w+)=(\S+)$", CONNECT.read_text(), re.MULTILINE))
    assert built_with == {"JOLOKIA_VERSION": agent.path.split("/")[-2], "JOLOKIA_SHA256": agent.sha256}


@pytest.mark.parametrize("name", sorted(services()))
def test_every_service_is_bounded_and_restarts_as_it_should(name: str) -> None:
    """Memory has a limit; what is measured is not restarted behind one's back."""
    service = services()[name]
    assert "mem_limit" in service
    watches = name in {"observer", "kibana", "metricbeat", "watch"}
    assert service["restart"] == ("unless-stopped" if watches else "no")


def test_ports_are_bound_to_this_machine() -> None:
    """Unless somebody asks for more."""
    ports = [str(port) for service in services().values() for port in service.get("ports", [])]  # type: ignore[attr-defined]
    assert len(ports) == 6
    assert all(port.startswith("${BIND_ADDRESS:-127.0.0.1}:") for port in ports)


def test_services_that_stay_have_a_health_check() -> None:
    """Those that end say how it went by their exit status."""
    stay = {name for name, service in services().items() if "healthcheck" in service}
    assert set(services()) - stay == {"preflight", "setup", "verify"}


def test_a_cluster_publishes_to_this_machine_alone_and_takes_as_much_as_the_pages_say() -> None:
    """With everything else that runs beside it, by the limits that are listed."""
    known, cluster = listed(), yaml.safe_load((ROOT / "compose" / "cluster.yaml").read_text())["services"]
    ports = [port for service in cluster.values() for port in service.get("ports", [])]
    assert len(ports) == 6
    assert all(port.startswith("${BIND_ADDRESS:-127.0.0.1}:") for port in ports)
    limits = {**services()["preflight"]["environment"], **cluster["preflight"]["environment"]}  # type: ignore[dict-item]
    words = VARIABLE.sub(lambda found: known.get(found[1], found[3] or ""), str(limits["SLUICE_LIMITS"]))
    assert sum(limits_of_variable(words, str(limits["SLUICE_AT_LEAST"])).values()) == 14_336


def test_a_remedy_for_too_little_memory_gives_more_than_there_is() -> None:
    """The page is read by somebody whose container was killed with the default."""
    page = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    remedies = re.findall(r"`([A-Z]+_MEMORY)=(\w+)`", page)
    assert len(remedies) == 3
    assert [name for name, size in remedies if size_mb(size) <= size_mb(listed()[name])] == []


def test_a_cluster_starts_what_it_counts() -> None:
    """As many of each kind as the first container is told."""
    cluster = yaml.safe_load((ROOT / "compose" / "cluster.yaml").read_text())["services"]
    counts = dict(word.split("=") for word in cluster["preflight"]["environment"]["SLUICE_AT_LEAST"].split())
    started = Counter(re.sub(r"-\d$", "", name) for name, service in cluster.items() if service.get("scale") == 1)
    assert {kind: started[kind] + 1 for kind in counts} == {kind: int(count) for kind, count in counts.items()}


def test_no_image_is_the_latest() -> None:
    """A version that moves is none."""
    texts = [file.read_text() for file in (*FILES, *(ROOT / "compose/images").glob("*.Dockerfile"))]
    assert not any("latest" in text for text in texts)
