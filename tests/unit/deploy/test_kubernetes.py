"""What Kubernetes is told: by the operators' own schemas, and by what our commands need."""

import base64
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from lab import VERSION
from lab.profiles import load_profile
from lab.run.load.drivers import produce_words
from lab.run.names import Names
from lab.stack.places import ROOT
from lab.stream.kubernetes import FOLDER as PROFILES
from lab.stream.kubernetes import manifests, resources, stream_id
from tests.unit.deploy.resources import FOLDER, KUSTOMIZE, OVERLAYS, Resource, documents, profiles, rendered, the

SCHEMAS = {path.stem: json.loads(path.read_text("utf-8")) for path in Path(__file__).parent.glob("schemas/*.json")}
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
"""A DNS subdomain, as Kubernetes wants names to be."""

needs_kustomize = pytest.mark.skipif(KUSTOMIZE is None, reason="no kubectl here, which puts overlays together")


def was_left_out(*_: Any) -> Iterator[ValidationError]:
    """Refuse a field that the stored schemas do not have."""
    yield ValidationError("is no field that was used before: make the schemas anew, see tools/kubernetes_schemas.py")


Strict = extend(Draft202012Validator, {"x-left-out": was_left_out})


def problems(resource: Resource) -> list[str]:
    """What an API server would not take, or drop without a word."""
    found = list(Strict(SCHEMAS[resource["kind"]]).iter_errors(resource))
    if "k8s.elastic.co" in resource["apiVersion"]:
        spec = resource["spec"]
        for holder in (spec, *spec.get("nodeSets", ())):
            found += Strict(SCHEMAS["PodTemplateSpec"]).iter_errors(holder.get("podTemplate", {}))
    return [f"{resource['kind']} {error.json_path}: {error.message}" for error in found]


@needs_kustomize
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_operators_know_every_field_of_an_overlay(overlay: str) -> None:
    """By their own schemas and Kubernetes' OpenAPI: no unknown field, no wrong type, nothing missing."""
    kinds = {resource["kind"] for resource in rendered(overlay)}
    assert {"Kafka", "KafkaNodePool", "KafkaTopic", "KafkaConnect", "KafkaConnector", "Elasticsearch", "Kibana"} < kinds
    assert [problem for resource in rendered(overlay) for problem in problems(resource)] == []


@pytest.mark.parametrize("file", profiles(), ids=lambda file: str(file.relative_to(FOLDER / "profiles")))
def test_the_operators_know_every_field_of_a_profile(file: Path) -> None:
    """Of each of them, chosen or not; and their names are such that Kubernetes takes them."""
    assert [problem for resource in documents(file) for problem in problems(resource)] == []
    assert all(NAME.fullmatch(resource["metadata"]["name"]) for resource in documents(file))


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        (("spec", "tasksMaxx"), 3, "Additional properties are not allowed ('tasksMaxx' was unexpected)"),
        (("spec", "tasksMax"), "three", "'three' is not of type 'integer'"),
        (("spec", "autoRestart"), {"enabled": True}, "is no field that was used before"),
    ],
)
def test_a_wrong_field_is_found(place: tuple[str, str], value: object, problem: str) -> None:
    """Or the tests above would say nothing."""
    connector = resources(ROOT, load_profile("quickstart"))[-1]
    assert problems(connector) == []
    connector[place[0]][place[1]] = value
    assert [problem in found for found in problems(connector)] == [True]


def test_the_files_of_the_repository_are_those_of_its_profiles() -> None:
    """`./sluice compose-env` was called after the last change of a profile, and nothing else lies there."""
    present = {path.relative_to(ROOT): path.read_text("utf-8") for path in profiles()}
    assert present == dict(manifests(ROOT))


def test_a_profile_decides_topic_connector_and_cluster() -> None:
    """All that a run of it would be given."""
    overrides = ("elasticsearch.data_nodes=3", "topic.partitions=7", "sink.tasks=5", "sink.config.batch.size=997")
    profile = load_profile("aladin/stream", overrides=overrides)
    config, topic, dead_letters, clock, connector = resources(ROOT, profile)
    name = Names.of(profile, stream_id(profile)).topic

    assert config["data"] == {
        "PROFILE": "aladin/stream",
        "ELASTICSEARCH_VERSION": profile.elasticsearch.version,
        "ELASTICSEARCH_NODES": "3",
        "ELASTICSEARCH_JAVA_OPTIONS": "-Xms1024m -Xmx1024m",
        "ELASTICSEARCH_MEMORY": "2048Mi",
        "TOPIC": name,
        "CLOCK_TOPIC": f"{name}-clock",
        "PRODUCE": "--dataset aladin --seed 1 --documents 200000 --option model=nested --option shops_mean=1.5 "
        "--option shops_max=50 --option updates=0.0 --option key_order=shuffled --processes 1 --rate 2000",
    }
    assert (topic["metadata"]["name"], topic["spec"]) == (name, {"partitions": 7})
    assert dead_letters["metadata"]["name"] == f"{name}-dead-letters"
    assert clock["metadata"]["name"] == f"{name}-clock"
    spec = connector["spec"]
    assert (spec["tasksMax"], spec["config"]["topics"], spec["config"]["batch.size"]) == (5, name, "997")
    assert spec["config"]["connection.password"] == "${directory:/mnt/sink:password}"
    assert spec["config"]["errors.deadletterqueue.topic.name"] == f"{name}-dead-letters"


@pytest.mark.parametrize(("asked", "stated"), [(1, "-1"), (2, "2")])
def test_dead_letters_have_the_copies_of_the_documents_whoever_makes_their_topic(asked: int, stated: str) -> None:
    """Operator or worker; one copy is what a profile says that leaves it to the brokers."""
    profile = load_profile("quickstart", overrides=(f"topic.replication_factor={asked}",))
    connector = resources(ROOT, profile)[-1]
    assert connector["spec"]["config"]["errors.deadletterqueue.topic.replication.factor"] == stated


def test_a_changed_profile_is_another_stream() -> None:
    """Its index, topic and connector begin anew; the same one goes on."""
    ids = {stream_id(load_profile("quickstart", overrides=(f"sink.tasks={tasks}",))) for tasks in (1, 1, 2)}
    assert len(ids) == 2


def test_profiles_that_no_stream_of_ours_can_be_have_no_file() -> None:
    """No connector, no topic, nodes of certain names or settings, a file of the user's."""
    names = {str(path.relative_to(PROFILES).with_suffix("")) for path in dict(manifests(ROOT))}
    assert {"quickstart", "aladin/nodes-3", "sink/empty"} < names
    assert not names & {
        "sink/direct",
        "sink/naive-python",
        "sink/rejecting",
        "products/deploy",
        "file",
        "vectors/append",
    }


@pytest.mark.parametrize("file", profiles(), ids=lambda file: str(file.relative_to(FOLDER / "profiles")))
def test_what_producers_are_told_is_words_for_a_shell(file: Path) -> None:
    """It is taken apart at its spaces, and nothing in it means something to a shell."""
    profile = load_profile(str(file.relative_to(FOLDER / "profiles").with_suffix("")))
    assert all(re.fullmatch(r"[\w./=:,-]+", word) for word in produce_words(profile))


@needs_kustomize
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_producer_is_told_of_all_shares(overlay: str) -> None:
    """As many shares as pods, all at once, or documents would be missing."""
    job = the("Job", "producers", rendered(overlay))["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert job["completionMode"] == "Indexed"
    assert job["suspend"] is True
    assert job["completions"] == job["parallelism"] == int(container["env"][0]["value"])
    assert container["env"][0]["name"] == "SHARES"


@needs_kustomize
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_chosen_profile_arrives_in_the_cluster(overlay: str) -> None:
    """Numbers stay numbers, whatever a ConfigMap holds."""
    all_of_it = rendered(overlay)
    chosen = the("ConfigMap", "sluice-profile", all_of_it)["data"]
    spec = the("Elasticsearch", "sluice", all_of_it)["spec"]
    (container,) = spec["nodeSets"][0]["podTemplate"]["spec"]["containers"]
    assert (spec["version"], spec["nodeSets"][0]["count"]) == (
        chosen["ELASTICSEARCH_VERSION"],
        int(chosen["ELASTICSEARCH_NODES"]),
    )
    assert container["env"] == [{"name": "ES_JAVA_OPTS", "value": chosen["ELASTICSEARCH_JAVA_OPTIONS"]}]
    assert set(container["resources"]["limits"].values()) == {chosen["ELASTICSEARCH_MEMORY"]}


@needs_kustomize
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_our_pods_see_no_variables_of_services(overlay: str) -> None:
    """Kubernetes would set SLUICE_KAFKA_BOOTSTRAP_SERVICE_HOST, which our commands would take for a setting."""
    ours = [each for each in rendered(overlay) if each["kind"] in {"Job", "Deployment"}]
    assert len(ours) == 4
    assert {each["spec"]["template"]["spec"]["enableServiceLinks"] for each in ours} == {False}


@needs_kustomize
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_all_images_are_of_this_version(overlay: str) -> None:
    """Ours; those of the operators are theirs."""
    pods = [each["spec"]["template"]["spec"] for each in rendered(overlay) if each["kind"] in {"Job", "Deployment"}]
    images = {container["image"] for pod in pods for container in pod["containers"]}
    images.add(the("KafkaConnect", "sluice", rendered(overlay))["spec"]["image"])
    assert {image.rpartition("/")[2] for image in images} == {f"lab:{VERSION}", f"connect:{VERSION}"}


@needs_kustomize
def test_a_cluster_survives_the_loss_of_one_of_each() -> None:
    """Three brokers that keep three copies and ask for two, two workers, three masters."""
    cluster = rendered("cluster")
    config = the("Kafka", "sluice", cluster)["spec"]["kafka"]["config"]
    assert (config["default.replication.factor"], config["min.insync.replicas"]) == (3, 2)
    assert the("KafkaNodePool", "brokers", cluster)["spec"]["replicas"] == 3
    assert the("KafkaConnect", "sluice", cluster)["spec"]["replicas"] == 2
    sets = {each["name"]: each for each in the("Elasticsearch", "sluice", cluster)["spec"]["nodeSets"]}
    assert (sets["masters"]["count"], sets["masters"]["config"]["node.roles"]) == (3, ["master"])
    assert sets["data"]["config"]["node.roles"] == ["data", "ingest"]


def test_the_page_builds_images_of_this_version() -> None:
    """Others would not be found by the cluster."""
    named = re.findall(r"sluice/(?:lab|connect):([\d.]+\d)", (ROOT / "docs/kubernetes.md").read_text("utf-8"))
    assert set(named) == {VERSION}


# --- who may do what ------------------------------------------------------------------------------------------------

CLOSED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
OF_A_POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


@needs_kustomize
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_our_pods_have_no_privileges(overlay: str) -> None:
    """No root, no capability, no token, nothing to write but /tmp; and a limit of memory."""
    pods = [each["spec"]["template"]["spec"] for each in rendered(overlay) if each["kind"] in {"Job", "Deployment"}]
    assert len(pods) == 4
    for pod in pods:
        (container,) = pod["containers"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"] == {**OF_A_POD, "runAsUser": 1000}
        assert container["securityContext"] == CLOSED
        assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp"]  # noqa: S108 - of the container
        assert container["resources"]["limits"]["memory"]


@needs_kustomize
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_strimzi_s_containers_have_no_privileges(overlay: str) -> None:
    """By container: what Strimzi says of the pod, such as who owns its volumes, stays."""
    kafka = the("Kafka", "sluice", rendered(overlay))["spec"]
    containers = [
        kafka["kafka"]["template"]["kafkaContainer"],
        kafka["entityOperator"]["template"]["topicOperatorContainer"],
        the("KafkaConnect", "sluice", rendered(overlay))["spec"]["template"]["connectContainer"],
    ]
    assert [each["securityContext"] for each in containers] == [CLOSED | OF_A_POD] * 3


@needs_kustomize
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nothing_runs_as_the_superuser(overlay: str) -> None:
    """ECK keeps its password in a Secret of its own, which nothing refers to; users have the roles that are defined."""
    assert "elastic-user" not in json.dumps(rendered(overlay))
    for name, users in (("sluice", {"sluice-sink", "sluice-lab"}), ("observer", {"sluice-lab"})):
        auth = the("Elasticsearch", name, rendered(overlay))["spec"]["auth"]
        (roles,) = (the("Secret", each["secretName"], rendered(overlay)) for each in auth["roles"])
        assert {each["secretName"] for each in auth["fileRealm"]} == users
        assert {role.replace("_", "-") for role in yaml.safe_load(roles["stringData"]["roles.yml"])} == users


PODS = {
    "lab": ("sluice", {"app.kubernetes.io/name": "sluice-lab"}),
    "kafka": ("sluice", {"strimzi.io/cluster": "sluice", "strimzi.io/kind": "Kafka"}),
    "connect": ("sluice", {"strimzi.io/cluster": "sluice", "strimzi.io/kind": "KafkaConnect"}),
    "elasticsearch": (
        "sluice",
        {
            "common.k8s.elastic.co/type": "elasticsearch",
            "elasticsearch.k8s.elastic.co/cluster-name": "sluice",
        },
    ),
    "observer": (
        "sluice",
        {
            "common.k8s.elastic.co/type": "elasticsearch",
            "elasticsearch.k8s.elastic.co/cluster-name": "observer",
        },
    ),
    "kibana": ("sluice", {"common.k8s.elastic.co/type": "kibana", "kibana.k8s.elastic.co/name": "observer"}),
    "eck": ("elastic-system", {"control-plane": "elastic-operator"}),
    "stranger": ("sluice", {"app": "something-else"}),
    "other-namespace": ("default", {"app.kubernetes.io/name": "sluice-lab"}),
}
"""Pods as their operators label them: namespace and labels."""


def matches(selector: Resource | None, labels: dict[str, str]) -> bool:
    """A selector without conditions, or with all of them met."""
    return (selector or {}).get("matchLabels", {}).items() <= labels.items()


def is_peer(peer: Resource, pod: str) -> bool:
    """A pod that an entry of `from` names: without a namespace, one of the policy's own."""
    namespace, labels = PODS[pod]
    if "namespaceSelector" in peer:
        there = {"kubernetes.io/metadata.name": namespace}
        return matches(peer["namespaceSelector"], there) and matches(peer.get("podSelector"), labels)
    return namespace == "sluice" and matches(peer["podSelector"], labels)


def let_in(overlay: str, target: str, port: int) -> set[str]:
    """The pods that may connect to a port of a pod; all, if no policy is about it."""
    about = [
        each["spec"]
        for each in rendered(overlay)
        if each["kind"] == "NetworkPolicy" and matches(each["spec"]["podSelector"], PODS[target][1])
    ]
    if not about:
        return set(PODS)
    rules = [
        rule for spec in about for rule in spec.get("ingress", ()) if port in {each["port"] for each in rule["ports"]}
    ]
    return {pod for pod in PODS for rule in rules for peer in rule["from"] if is_peer(peer, pod)}


REACHED = {
    ("lab", 8080): set(),
    ("connect", 8083): {"lab"},
    ("connect", 9404): set(),
    ("elasticsearch", 9200): {"lab", "connect", "elasticsearch", "eck"},
    ("elasticsearch", 9300): {"elasticsearch"},
    ("observer", 9200): {"lab", "elasticsearch", "observer", "kibana", "eck"},
    ("observer", 9300): {"observer"},
    ("kibana", 5601): {"lab"},
}
"""Pod and port → who may connect; Strimzi's own policies add its operators."""


@needs_kustomize
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_only_who_needs_a_server_reaches_it(overlay: str) -> None:
    """Its own kind, what sends to it or asks it, and its operator."""
    assert {(target, port): let_in(overlay, target, port) for target, port in REACHED} == REACHED
    (listener,) = the("Kafka", "sluice", rendered(overlay))["spec"]["kafka"]["listeners"]
    clients = {pod for pod in PODS for peer in listener["networkPolicyPeers"] if is_peer(peer, pod)}
    assert clients == {"lab", "connect"}


@needs_kustomize
def test_the_page_makes_secrets_that_no_other_process_sees() -> None:
    """Every user of the machine reads command lines. Without a server, kubectl shows what it would make."""
    page = (ROOT / "docs/kubernetes.md").read_text("utf-8")
    (command,) = re.findall(r"^for user in .*?; done", page, re.MULTILINE | re.DOTALL)
    shown = command.replace("--from-file", "--dry-run=client -o json --from-file")
    done = subprocess.run(["sh", "-euc", shown], capture_output=True, text=True, check=True)
    made = [json.loads(text) for text in re.findall(r"^\{.*?^\}", done.stdout, re.MULTILINE | re.DOTALL)]
    assert [each["metadata"]["name"] for each in made] == ["sluice-sink", "sluice-lab"]
    passwords = {base64.b64decode(each["data"]["password"]).decode() for each in made}
    assert len(passwords) == 2
    assert all(re.fullmatch(r"[0-9a-f]{48}", password) for password in passwords)
    assert "literal=password" not in page
