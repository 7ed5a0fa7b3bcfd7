"""Check the containers for real: every version of Elasticsearch in every way up, on the images that a user gets.

`PYTHONPATH=. PYTHON -m tools.compose_check` on a machine with Docker and internet, about ten minutes for each version;
a release is checked with it. It prints a row for each thing that has to hold, and ends with 4 where one does not.
With `--stand-ins` it runs on the images of the tests, which have neither Kibana nor Metricbeat.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

import typer

from lab.profiles.containers import DEFAULT_VERSION
from tests.compose.engine import DockerError, Engine, docker_engine, with_compose
from tests.compose.images import StandIns
from tests.compose.machine import EngineMissingError, last_lines
from tests.compose.project import ComposeError, Project, checkout_name, free_ports, own_images

VERSIONS = "7.17.29,8.19.21,9.5.3"
STREAM_S = 30
FETCH_TIMEOUT_S = 1800
"""Images of 2.5 GB, over a slow line too."""
VERIFY_RATE = "997"
ONE_SHOTS = {"preflight", "setup", "secrets", "access"}
SECRETS = "/usr/share/elasticsearch/config/secrets"
MONITORED = {
    "Elasticsearch's figures": ".monitoring-es-*",
    "the worker's figures": "metricbeat-*",
    "our samples": "sluice-samples*",
}
"""What the observer must have received, by the indices that hold it."""


@dataclass(frozen=True)
class Way:
    """One way up.

    Attributes:
        files: As in `COMPOSE_FILE`; whatever `.env` chooses must not get among them.
        producers: The services to stop before the index is verified.
    """

    experiment: str = "quickstart"
    files: str = "compose.yaml"
    producers: tuple[str, ...] = ("producer",)


WAYS = {
    "default": Way(),
    "nodes-3": Way(experiment="aladin/nodes-3"),
    "secure": Way(files="compose.yaml:compose/secure.yaml"),
    "cluster": Way(files="compose.yaml:compose/cluster.yaml", producers=("producer", "producer-2")),
}


@dataclass
class Table:
    """What held, row by row, printed as it is known."""

    failed: int = 0
    _head: bool = field(default=False)

    def row(self, case: str, what: str, result: str, *, held: bool) -> None:
        """Print a row."""
        if not self._head:
            say("| Elasticsearch, way up | what must hold | | seen |\n| --- | --- | --- | --- |")
            self._head = True
        self.failed += not held
        say(f"| {case} | {what} | {'held' if held else '**FAILED**'} | {result} |")


@dataclass(frozen=True)
class Case:
    """One version in one way up, and the project that it runs as."""

    project: Project
    way: Way
    version: str

    def checks(self, *, pull: bool) -> Iterator[tuple[str, Callable[[], str]]]:
        """What must hold, in order; each returns what was seen, or raises."""
        if pull:
            yield "the images can be pulled", self.pulled
        yield "ours are built", self.built
        yield "all start and are healthy", self.up
        yield "each document is in the index once", self.verified
        yield "the observer has the figures", self.monitored
        yield "no container was killed or restarted", self.unharmed
        yield "each has memory to spare", self.memory
        yield "`down --volumes` leaves nothing", self.down

    def pulled(self) -> str:
        """All images but ours; which versions of them."""
        self.project("pull", "--quiet", "--ignore-buildable", timeout_s=FETCH_TIMEOUT_S)
        return "ok"

    def built(self) -> str:
        """The worker's image and the lab's."""
        self.project("build", "--quiet", timeout_s=FETCH_TIMEOUT_S)
        return "ok"

    def up(self) -> str:
        """Every service is healthy or has ended well; how long it took."""
        started_s = time.monotonic()
        self.project("up", "--detach", "--wait")
        states = self.project.states()
        ill = {
            name: state for name, state in states.items() if state != ("exited 0" if name in ONE_SHOTS else "healthy")
        }
        if ill:
            raise ComposeError(f"{ill}: {self.project.ailing()}")
        return f"{time.monotonic() - started_s:.0f} s, {len(states)} containers"

    def verified(self) -> str:
        """Documents, after some of streaming; how many."""
        time.sleep(STREAM_S)
        self.project("stop", *self.way.producers)
        return f"{self.project.verified({}):,} documents"

    def monitored(self) -> str:
        """What each part has sent to the observer; how many documents."""
        running = self.project.states()
        expected = {
            what: indices
            for what, indices in MONITORED.items()
            if indices.startswith("sluice") or "metricbeat" in running
        }
        counts = {what: self._observed(indices) for what, indices in expected.items()}
        if missing := [what for what, count in counts.items() if count == 0]:
            raise ComposeError(f"none of: {', '.join(missing)}")
        untried = "" if "metricbeat" in running else "; Kibana and Metricbeat not tried"
        return ", ".join(f"{what}: {count:,}" for what, count in counts.items()) + untried

    def _observed(self, indices: str) -> int:
        if "secure" in self.way.files:
            ask = (
                f'printf \'user = "elastic:%s"\' "$(cat {SECRETS}/elastic.password)" | '
                f"curl --noproxy '*' --silent --config - --cacert {SECRETS}/ca.pem 'https://localhost:9200/{indices}/_count'"
            )
        else:
            ask = f"curl --noproxy '*' --silent 'http://localhost:9200/{indices}/_count'"
        said = self.project("exec", "--no-TTY", "observer", "bash", "-c", ask)
        return int(json.loads(said).get("count", 0))

    def unharmed(self) -> str:
        """Neither out of memory nor started again."""
        states = self.inspected("{{.Name}} {{.State.OOMKilled}} {{.RestartCount}}")
        if harmed := [state for state in states if state.split()[1:] != ["false", "0"]]:
            raise ComposeError(f"name, out of memory, restarts: {'; '.join(harmed)}")
        return f"{len(states)} containers"

    def inspected(self, template: str) -> list[str]:
        """What the engine says of each container."""
        said = self.project.engine.docker("inspect", "--format", template, *self.project.left("container"))
        return said.stdout.splitlines()

    def memory(self) -> str:
        """The fullest three containers, as parts of their limits; page cache is not counted."""
        limits = dict(line.split() for line in self.inspected("{{.Id}} {{.HostConfig.Memory}}"))
        services = {str(one["ID"]): str(one["Service"]) for one in self.project.containers(stopped=False)}
        limit_mb = {
            service: int(next(limit for name, limit in limits.items() if name.startswith(short))) / 1e6
            for short, service in services.items()
        }
        used = self.project.memory_mb()
        fullest = sorted(used, key=lambda service: used[service] / limit_mb[service], reverse=True)[:3]
        seen = ", ".join(f"{service} {used[service]:.0f} of {limit_mb[service]:.0f} MB" for service in fullest)
        if used[fullest[0]] > 0.9 * limit_mb[fullest[0]]:
            raise ComposeError(f"above 90 %: {seen}")
        return seen

    def down(self) -> str:
        """Nothing of the project is left."""
        self.project("--profile", "tools", "down", "--volumes", "--remove-orphans")
        if left := [kind for kind in ("container", "network", "volume") if self.project.left(kind)]:
            raise ComposeError(f"left: {', '.join(left)}")
        return "ok"


def case_of(engine: Engine, version: str, name: str, more: Mapping[str, str]) -> Case:
    """The case of a version and a way up, on free ports, beside whatever else runs."""
    way = WAYS[name]
    settings = {
        # Empty: that of the Compose files, by the digest that is locked, as a user gets it.
        "ELASTICSEARCH_VERSION": "" if version == DEFAULT_VERSION else version,
        "OBSERVER_VERSION": "" if version == DEFAULT_VERSION else version,
        "EXPERIMENT": way.experiment,
        "RATE": VERIFY_RATE,
        "COMPOSE_FILE": way.files,
        **free_ports(),
        **own_images(),
        **more,
    }
    return Case(Project(engine, f"{checkout_name()}-check", settings), way, version)


def stand_in_settings(engine: Engine, version: str) -> dict[str, str]:
    """The settings that choose the images of the tests, with that version of Elasticsearch."""
    images = StandIns(engine)
    images.elasticsearch(version)
    return {"MONITORING": "observer", **images.settings()}


def check(case: Case, name: str, table: Table, *, pull: bool) -> None:
    """Go through a case; what follows on something that failed is tried all the same, for its own reason."""
    try:
        for what, held in case.checks(pull=pull):
            try:
                table.row(f"{case.version}, {name}", what, held(), held=True)
            except (AssertionError, DockerError, EngineMissingError, StopIteration, ValueError) as error:
                table.row(f"{case.version}, {name}", what, last_lines(str(error), 8), held=False)
                if held == case.up:
                    break
    finally:
        case.project.remove()


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(
    versions: Annotated[str, typer.Option(help="Of Elasticsearch, Kibana and Metricbeat.")] = VERSIONS,
    ways: Annotated[str, typer.Option(help=f"Some of: {','.join(WAYS)}.")] = ",".join(WAYS),
    *,
    stand_ins: Annotated[bool, typer.Option("--stand-ins", help="Use the images of the tests.")] = False,
) -> None:
    """Start every version in every way up, and print what held."""
    if unknown := sorted(set(ways.split(",")) - set(WAYS)):
        raise typer.BadParameter(f"got {', '.join(unknown)}, expected some of: {', '.join(WAYS)}", param_hint="--ways")
    table = Table()
    with docker_engine() as found:
        engine = with_compose(found)
        for version in versions.split(","):
            more = stand_in_settings(engine, version) if stand_ins else {}
            for name in ways.split(","):
                check(case_of(engine, version, name, more), name, table, pull=not stand_ins)
    say(f"\n{table.failed} failed")
    if table.failed:
        raise typer.Exit(4)


if __name__ == "__main__":
    typer.run(main)
