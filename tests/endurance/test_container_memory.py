"""Memory of each container under full load and at rest, beside its limit: what the limits of `compose/` rest on.

`pytest tests/endurance/test_container_memory.py -s --container-memory 5`; `-k 9.5.3` measures one version.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab.engines import DEFAULT
from lab.profiles.memory import NEEDS, least_mb
from lab.stack.artifacts import read_lock
from tests.compose.engine import Engine
from tests.compose.images import StandIns
from tests.compose.project import Project, checkout_name, free_ports, own_images
from tests.endurance.container_memory import Usage, killed_for_memory, most, parts_of_jvm, running
from tests.endurance.say import say

pytestmark = pytest.mark.timeout(7200)

EVERY_S = 1.0
REST_S = 60.0
HOUR_S = 3600.0
FILES = "compose.yaml:tests/endurance/memory.yaml"
RELEASES = read_lock().releases(DEFAULT.engine)
JVMS = ("kafka", "connect", "elasticsearch", "observer")


@pytest.fixture(params=[release.version for release in (DEFAULT, RELEASES[-1], RELEASES[0])])
def project(
    request: pytest.FixtureRequest, engine: Engine, stand_ins: Mapping[str, str], memory_minutes: float
) -> Iterator[Project]:
    """The default way up, but for Kibana and Metricbeat, of which there is no stand-in."""
    del memory_minutes  # asked for first: without it nothing is built
    name, _, version = StandIns(engine).elasticsearch(request.param).rpartition(":")
    settings = {"ELASTICSEARCH_IMAGE": name, "ELASTICSEARCH_VERSION": version, "OBSERVER_VERSION": version}
    ours = {"COMPOSE_FILE": FILES, "MONITORING": "observer", "EXPERIMENT": "quickstart", "RATE": "max"}
    made = Project(
        engine, f"{checkout_name()}-memory", {**stand_ins, **free_ports(), **own_images(), **ours, **settings}
    )
    made.remove()
    yield made
    made.remove()


def test_no_limit_is_reached_by_what_cannot_be_given_back(
    project: Project, memory_minutes: float, report: Path
) -> None:
    """Under the fastest stream, at rest, and while all documents are verified."""
    called(project, "up", "--build", "--detach", "--wait")
    load = watched(project, after(memory_minutes * 60))
    parts = {each.service: parts_of_jvm(project.engine, each) for each in running(project.engine, project.name)}
    project("stop", "producer")
    with ThreadPoolExecutor(1) as other:
        verified = other.submit(called, project, "run", "--rm", "verify")
        load["verify"] = watched(project, verified.done)["verify"]
    say(verified.result().strip())
    rest = watched(project, after(REST_S))
    lines = [*table(load, rest), "", *table_of_parts(parts)]
    say("\n" + "\n".join(lines))
    version = project.settings["ELASTICSEARCH_VERSION"]
    (report / f"container-memory-{version}.md").write_text("\n".join(lines) + "\n")
    assert killed_for_memory(project.engine, project.name) == []
    assert {name for name, usage in load.items() if usage.own >= usage.limit} == set()
    least = {name: least_mb(name, need.heap_mb) for name, need in NEEDS.items() if name in load}
    assert {name for name, needed_mb in least.items() if load[name].own > needed_mb} == set()


def called(project: Project, *arguments: str) -> str:
    """What a command of Compose prints, which may take as long as it needs."""
    done = project.called(*arguments, timeout_s=HOUR_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def after(seconds: float) -> Callable[[], bool]:
    """Whether this time has passed, from now on."""
    until_s = time.monotonic() + seconds
    return lambda: time.monotonic() >= until_s


def watched(project: Project, is_over: Callable[[], bool]) -> dict[str, Usage]:
    """Service → the most that its containers take until it is over."""
    usages: dict[str, list[Usage]] = {}
    while not is_over():
        for each in running(project.engine, project.name):
            usages.setdefault(each.service, []).append(each.usage())
        time.sleep(EVERY_S)
    return {service: most(every) for service, every in usages.items()}


def table(load: Mapping[str, Usage], rest: Mapping[str, Usage]) -> Iterator[str]:
    """A line for each container, in MiB."""
    yield "| container | limit | own, load | own, rest | page cache in use | page cache | peak | major faults |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, used in sorted(load.items()):
        at_rest = f"{rest[name].own:.0f}" if name in rest else ""
        yield (
            f"| `{name}` | {used.limit:.0f} | {used.own:.0f} | {at_rest} | {used.file_active:.0f} | {used.file:.0f} "
            f"| {used.peak:.0f} | {used.major_faults:,} |"
        )


def table_of_parts(parts: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """A line for each JVM, in MiB that it has committed."""
    names = next(parts[name] for name in JVMS if parts.get(name))
    yield f"| JVM | {' | '.join(names)} |"
    yield "| --- |" + " --- |" * len(names)
    for name in JVMS:
        if part := parts.get(name):
            yield f"| `{name}` | {' | '.join(f'{mib:.0f}' for mib in part.values())} |"
