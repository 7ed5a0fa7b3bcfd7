"""`--target compose`: runs and suites on the containers of this checkout, with the same records as everywhere."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.analysis.figures.definitions import value_of
from lab.records.result import Result
from lab.records.run import WarningKind
from lab.records.suite import SuiteResult
from lab.stack.places import ROOT
from lab.suite.folder import find_suite
from tests.compose.engine import Engine
from tests.compose.project import Project, checkout_name, free_ports

pytestmark = pytest.mark.timeout(1500)

DOCUMENTS = 2003
COMMAND_TIMEOUT_S = 900
SUITE = """
question: Does a second primary shard make small drains faster?
control: one shard
variants:
  - {profile: quickstart, name: one shard}
  - {profile: quickstart, name: two shards, set: {index.number_of_shards: 2}}
  - {profile: quickstart, name: others', set: {sink.config: {connector.class: org.example.TheirSink}}}
set: {dataset.documents: 503}
repeats: 1
repeat_control: false
"""


@dataclass(frozen=True)
class Launcher:
    """Calls `./sluice` as somebody does who has a project of containers here."""

    project: Project
    folder: Path

    @property
    def runs(self) -> Path:
        """Where its records are."""
        return self.folder / "runs"

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command on the containers to its end."""
        return subprocess.run(
            [str(ROOT / "sluice"), *arguments, "--target", "compose", "--runs", str(self.runs)],
            env={
                **self.project.engine.environment,
                **self.project.settings,
                "COMPOSE_PROJECT_NAME": self.project.name,
                "SLUICE_STATE": str(self.folder / "state"),
                "COLUMNS": "200",
            },
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )

    def result(self) -> Result:
        """The result of the last run."""
        return Result.model_validate_json((self.runs / "latest" / "result.json").read_bytes())


@pytest.fixture(scope="module")
def launcher(engine: Engine, stand_ins: Mapping[str, str]) -> Iterator[Launcher]:
    """One project for the whole module."""
    name = f"{checkout_name()}-target"
    own = {"LAB_IMAGE": f"{name}/lab", "CONNECT_IMAGE": f"{name}/connect", "MONITORING": "off"}
    project = Project(engine, name, {**stand_ins, **free_ports(), **own})
    # Images of this checkout as it is now.
    project("build", "preflight", "connect")
    folder = Path(tempfile.mkdtemp(prefix="sluice-target-"))
    try:
        yield Launcher(project, folder)
    finally:
        project.called("down", "--volumes", "--remove-orphans", "--timeout", "5")
        shutil.rmtree(folder, ignore_errors=True)


def running(project: Project) -> dict[str, str]:
    """The id of the container of each service that runs."""
    return {str(one["Service"]): str(one["ID"]) for one in project.containers(stopped=False)}


def test_a_run_starts_containers_measures_them_and_stops_them(launcher: Launcher) -> None:
    """It is verified and reported like any other, with the CPU of each container."""
    done = launcher("run", "quickstart", "--documents", str(DOCUMENTS))

    assert (done.returncode, done.stderr) == (0, "")
    result = launcher.result()
    assert (result.status, result.documents.indexed) == ("verified", DOCUMENTS)
    environment = result.environment
    assert environment.target == "compose"
    assert [server.name for server in environment.servers] == ["elasticsearch-1", "kafka", "connect"]
    assert environment.servers[0].version == "8.19.21"
    assert all(server.pid for server in environment.servers)
    for name in ("elasticsearch", "kafka", "connect"):
        assert value_of(result.metrics, "cpu_s_per_million_docs", name) is not None, name
    assert value_of(result.metrics, "end_to_end_latency_ms_p99") is not None
    assert WarningKind.COLD_SERVERS in {warning.kind for warning in result.warnings}
    assert WarningKind.SERVERS_ELSEWHERE not in {warning.kind for warning in result.warnings}
    assert running(launcher.project) == {}


@pytest.mark.long
def test_a_suite_uses_warm_containers(launcher: Launcher, tmp_path: Path) -> None:
    """It leaves out what they cannot run, and nothing is started again for the rest."""
    launcher.project("up", "--detach", "--wait", "kafka", "elasticsearch", "connect")
    before = running(launcher.project)
    suite = tmp_path / "shards.yaml"
    suite.write_text(SUITE)

    done = launcher("suite", str(suite))

    assert (done.returncode, done.stderr) == (0, "")
    assert "left out: others'" in done.stdout
    folder = find_suite(launcher.runs, "shards")
    result = SuiteResult.model_validate_json((folder.path / "suite.json").read_bytes())
    assert result.complete
    assert {run.status for run in result.runs} == {"verified"}
    assert running(launcher.project) == before


@pytest.mark.long
def test_containers_that_run_already_stay_as_far_as_they_fit(launcher: Launcher) -> None:
    """Another heap is another Elasticsearch; Kafka and the worker go on. All stay when the run is over."""
    launcher.project("up", "--detach", "--wait", "kafka", "elasticsearch", "connect")
    before = running(launcher.project)

    done = launcher("run", "quickstart", "--documents", str(DOCUMENTS), "--set", "elasticsearch.heap_mb=769")

    assert (done.returncode, done.stderr) == (0, "")
    assert launcher.result().documents.indexed == DOCUMENTS
    after = running(launcher.project)
    assert after.keys() == before.keys()
    assert {service for service in before if after[service] != before[service]} == {"elasticsearch"}


def test_node_settings_that_containers_do_not_have_are_refused(launcher: Launcher) -> None:
    """With one sentence, and nothing is started."""
    before = running(launcher.project)
    done = launcher("run", "quickstart", "--set", "elasticsearch.node_settings={thread_pool.write.size: 1}")
    assert (done.returncode, done.stderr) == (
        2,
        "sluice: quickstart: elasticsearch.node_settings: containers have only those of a profile in "
        "experiments/profiles, as `./sluice compose-env` wrote them; run it without --target compose\n",
    )
    assert running(launcher.project) == before
