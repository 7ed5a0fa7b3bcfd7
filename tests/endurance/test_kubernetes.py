"""Kubernetes' own API server, with the operators' definitions, takes what deploy/kubernetes holds.

It knows what stored schemas do not: the operators' rules in CEL, defaults, which fields may change. Of the operators,
ECK runs; no pod does.
"""

import json
import os
import re
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.profiles import load_profile
from lab.stack.places import ROOT
from lab.stream.kubernetes import resources
from tests.compose.machine import needed_program
from tests.endurance.say import say
from tests.unit.deploy.resources import FOLDER, OVERLAYS, Resource, profiles, rendered

READY_WITHIN_S = 180
STRICT = ("apply", "--dry-run=server", "--validate=strict")
PAGE = ROOT / "docs" / "kubernetes.md"
FIRST = "kubectl apply -f deploy/kubernetes/base/namespace.yaml"
CHANGED = "the object has been modified; please apply your changes to the latest version and try again"
OF_AN_OVERLAY = "elasticsearch,kibana,statefulset,secret,configmap,service,event"
TRIED = re.compile(r"^(?:start=|for user in |kubectl (?:apply|create|-n sluice (?:create|delete|patch)) )")
"""Commands of the page that need an API server and nothing behind it."""
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: tried
clusters: [{{name: tried, cluster: {{server: '{url}', certificate-authority: '{folder}/certificates/apiserver.crt'}}}}]
users: [{{name: tried, user: {{token: '{token}'}}}}]
contexts: [{{name: tried, context: {{cluster: tried, user: tried}}}}]
"""


@dataclass(frozen=True)
class ApiServer:
    """A server that is up.

    Attributes:
        environment: By which kubectl finds it.
    """

    environment: Mapping[str, str]

    def sh(self, line: str, text_in: str = "") -> subprocess.CompletedProcess[str]:
        """A command line, in the folder of the checkout, run to its end."""
        return subprocess.run(
            ["sh", "-euc", line],
            cwd=ROOT,
            env=self.environment,
            input=text_in,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def kubectl(self, *words: str | Path, text_in: str = "") -> list[str]:
        """The lines that it printed; warnings of the server are errors."""
        done = self.sh(" ".join(("kubectl", *map(str, words))), text_in)
        assert (done.returncode, done.stderr) == (0, ""), words
        return done.stdout.splitlines()

    def stored(self, *what: str) -> Resource:
        """A resource as the server has it, or the list of a kind's."""
        resource: Resource = json.loads("\n".join(self.kubectl("-n", "sluice", "get", *what, "-o", "json")))
        return resource

    def replicas(self) -> dict[str, int]:
        """How many pods each StatefulSet wants."""
        items = self.stored("statefulset")["items"]
        return {each["metadata"]["name"]: each["spec"]["replicas"] for each in items}

    def has_metricbeat(self, stateful_set: str) -> bool:
        """Whether each of its pods will have one."""
        containers = self.stored("statefulset", stateful_set)["spec"]["template"]["spec"]["containers"]
        return "metricbeat" in {each["name"] for each in containers}

    def complaints(self) -> list[str]:
        """What an operator has against our resources."""
        events = self.stored("events")["items"]
        # An association is not there yet when what refers to it is looked at for the first time.
        grave = (each for each in events if each["type"] == "Warning" and each["reason"] != "AssociationError")
        # A resource that somebody else has just changed is read again, and then taken.
        return [f"{each['reason']}: {each['message']}" for each in grave if not each["message"].endswith(CHANGED)]


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


@contextmanager
def running(
    log: Path, *words: str | Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A server, until the block ends."""
    with log.open("wb") as output:
        process = subprocess.Popen([str(word) for word in words], stdout=output, stderr=output, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def server(api_server_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server with etcd, the operators' definitions and the namespace."""
    folder = tmp_path_factory.mktemp("kubernetes")
    etcd, peer, port, token = free_port(), free_port(), free_port(), secrets.token_hex(16)
    url = f"https://127.0.0.1:{port}"
    subprocess.run([needed_program("openssl", package="openssl"), "genrsa", "-out", folder / "key", "2048"], check=True)
    (folder / "tokens.csv").write_text(f'{token},tester,1,"system:masters"\n')
    (folder / "kubeconfig").write_text(KUBECONFIG.format(url=url, token=token, folder=folder))
    with ExitStack() as leaving:
        leaving.enter_context(
            running(
                folder / "etcd.log",
                *(api_server_programs / "etcd", "--data-dir", folder / "etcd", "--unsafe-no-fsync"),
                *(f"--{which}-client-urls=http://127.0.0.1:{etcd}" for which in ("listen", "advertise")),
                *(f"--{which}-peer-urls=http://127.0.0.1:{peer}" for which in ("listen", "initial-advertise")),
                f"--initial-cluster=default=http://127.0.0.1:{peer}",
            )
        )
        process = leaving.enter_context(
            running(
                folder / "server.log",
                *(api_server_programs / "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd}"),
                *(
                    "--bind-address=127.0.0.1",
                    "--advertise-address=127.0.0.1",
                    f"--secure-port={port}",
                    f"--cert-dir={folder / 'certificates'}",
                ),
                *(
                    "--service-account-issuer=https://kubernetes.default.svc",
                    f"--service-account-key-file={folder / 'key'}",
                ),
                *(f"--service-account-signing-key-file={folder / 'key'}", f"--token-auth-file={folder / 'tokens.csv'}"),
                *(
                    "--authorization-mode=RBAC",
                    "--service-cluster-ip-range=10.0.0.0/24",
                    "--endpoint-reconciler-type=none",
                ),
                # Its controller, which would make the account of a namespace, does not run.
                "--disable-admission-plugins=ServiceAccount",
            )
        )
        made = ApiServer({**os.environ, "KUBECONFIG": str(folder / "kubeconfig"), "HOME": str(folder)})
        deadline = time.monotonic() + READY_WITHIN_S
        while made.sh("kubectl get --raw /readyz").returncode:
            assert process.poll() is None, (folder / "server.log").read_text()[-2000:]
            assert time.monotonic() < deadline, (folder / "server.log").read_text()[-2000:]
            time.sleep(1)
        made.kubectl("apply", "--server-side", "-f", api_server_programs / "crds")
        made.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        made.kubectl(*FIRST.split()[1:])
        # On standard error kubectl warns of a server that is much newer than itself.
        say(made.sh("kubectl version").stdout)
        yield made


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_taken_whole(server: ApiServer, overlay: str) -> None:
    """With no unknown field and no warning."""
    lines = server.kubectl(*STRICT, "-k", FOLDER / "overlays" / overlay)
    assert len(lines) == len(rendered(overlay))
    say(f"{overlay}: {len(lines)} resources taken")


def test_every_profile_is_taken(server: ApiServer) -> None:
    """Its ConfigMap, topics and connector."""
    for file in profiles():
        assert server.kubectl("-n", "sluice", *STRICT, "-f", file)
    say(f"{len(profiles())} profiles taken")


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (("spec", "tasksMaxx"), 3, 'unknown field "spec.tasksMaxx"'),
        (("spec", "tasksMax"), 0, "should be greater than or equal to 1"),
    ],
)
def test_a_wrong_connector_is_refused(server: ApiServer, place: tuple[str, str], value: Any, reason: str) -> None:
    """Or the tests above would say nothing."""
    connector = resources(ROOT, load_profile("quickstart"))[-1]
    connector[place[0]][place[1]] = value
    done = server.sh(" ".join(("kubectl", "-n", "sluice", *STRICT, "-f", "-")), json.dumps(connector))
    assert done.returncode == 1
    assert reason in done.stderr


def commands() -> list[str]:
    """The page's, in their order; each part of a line that goes on in the next one is joined."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    lines = re.sub(r"\\\n\s*", "", "\n".join(blocks)).splitlines()
    return [line.partition("   #")[0].rstrip() for line in lines if TRIED.match(line)]


def test_the_commands_of_the_page_work(server: ApiServer) -> None:
    """From the namespace to the producers that begin at an instant; those that need pods or images are left out."""
    first, *others = commands()
    assert first == FIRST
    done = server.sh("\n".join(others))
    assert (done.returncode, done.stderr) == (0, "")
    say(f"{1 + len(others)} commands of the page worked")
    job = server.stored("job", "producers")
    assert job["spec"]["suspend"] is False
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", job["spec"]["template"]["metadata"]["annotations"]["sluice/start-at"]
    )


@pytest.fixture
def eck(server: ApiServer, api_server_programs: Path, tmp_path: Path) -> Iterator[Path]:
    """Elastic's operator at work, with nothing of an overlay before; its log."""
    server.sh("kubectl create namespace elastic-system")
    # No controller removes what belongs to a resource that is gone, and volumes of a StatefulSet cannot change.
    server.sh(f"kubectl -n sluice delete {OF_AN_OVERLAY} --all")
    (secret,) = [line for line in commands() if "create secret" in line]
    assert server.sh(secret).returncode == 0
    options = {
        "namespaces": "sluice",
        "operator-namespace": "elastic-system",
        "enable-leader-election": "false",
        "disable-telemetry": "true",
        "metrics-port": "0",
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    with running(tmp_path / "eck.log", api_server_programs / "eck", "manager", *words, environment=server.environment):
        yield tmp_path / "eck.log"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_elastics_operator_makes_the_nodes_of_an_overlay(server: ApiServer, eck: Path, overlay: str) -> None:
    """With Metricbeat beside each node under test, and without a complaint about our resources."""
    elasticsearches = [each for each in rendered(overlay) if each["kind"] == "Elasticsearch"]
    wanted = {
        f"{each['metadata']['name']}-es-{nodes['name']}": nodes["count"]
        for each in elasticsearches
        for nodes in each["spec"]["nodeSets"]
    }
    server.kubectl(
        "-n",
        "sluice",
        "apply",
        "-f",
        "-",
        text_in=json.dumps(
            {
                "kind": "List",
                "apiVersion": "v1",
                "items": [each for each in rendered(overlay) if each["kind"] in {"Elasticsearch", "Kibana", "Secret"}],
            }
        ),
    )
    deadline = time.monotonic() + 120
    while (made := server.replicas()) != wanted or not server.has_metricbeat("sluice-es-data"):
        assert time.monotonic() < deadline, (made, server.complaints(), eck.read_text()[-2000:])
        time.sleep(2)
    assert server.complaints() == []
