"""Builds what deploy/kubernetes is tried against: Kubernetes' API server with etcd, the operators' CRDs, ECK itself.

    PYTHONPATH=. PYTHON -m tools.api_server FOLDER

Needs Go, Maven, a JDK of 21 or later, 5 GB of disk and some 20 CPU minutes; everything comes from Go's module proxy and
from Maven Central. Then: `pytest tests/endurance -s --api-server FOLDER`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from lab.engines.java import NEWEST_KNOWN, JavaRange
from lab.stack.jdk import choose_jdk, find_jdks

KUBERNETES = "v1.37.2"
LIBRARIES = "v0.37.2"
"""Kubernetes' own go.mod takes its libraries from folders beside it; they are published under this version."""
ETCD = "v3.7.3"
ECK = "v3.5.0"
STRIMZI = "1.2.0"
STRIMZI_KINDS = {
    "Kafka": "kafka.Kafka",
    "KafkaNodePool": "nodepool.KafkaNodePool",
    "KafkaTopic": "topic.KafkaTopic",
    "KafkaConnect": "connect.KafkaConnect",
    "KafkaConnector": "connector.KafkaConnector",
}
"""Kind → its class below `io.strimzi.api.kafka.model`."""
JAVA_OF_GENERATOR = JavaRange(21, NEWEST_KNOWN)
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sluice</groupId><artifactId>crds</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>io.strimzi</groupId><artifactId>api</artifactId><version>{version}</version></dependency>
    <dependency><groupId>io.strimzi</groupId><artifactId>crd-generator</artifactId><version>{version}</version></dependency>
  </dependencies>
</project>
"""


def run(*words: str | Path, folder: Path) -> str:
    """What a command printed; the tool ends where it fails."""
    # go.sum is made here, of what the proxy gave: there is none to compare with.
    environment = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false", "CGO_ENABLED": "0"}
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


def downloaded(module: str, version: str, folder: Path) -> dict[str, str]:
    """Where a module of the proxy is: `Dir`, `GoMod`."""
    paths: dict[str, str] = json.loads(run("go", "mod", "download", "-json", f"{module}@{version}", folder=folder))
    return paths


def build(program: Path, module: str, version: str, package: str, *, replaces: str = "", flags: str = "") -> None:
    """Build a module's program in a module of our own, since `replace` in theirs names folders that we lack."""
    folder = program.parent / f"build-{program.name}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text(f"module built\ngo 1.26.0\nrequire {module} {version}\n{replaces}")
    run("go", "build", "-trimpath", "-ldflags", f"-s -w {flags}", "-o", program, package, folder=folder)


def build_api_server(folder: Path) -> None:
    """`kube-apiserver` and `etcd`."""
    of_module = Path(downloaded("k8s.io/kubernetes", KUBERNETES, folder)["GoMod"]).read_text("utf-8")
    libraries = re.findall(r"^\t(\S+) => \./staging/", of_module, re.MULTILINE)
    replaces = "".join(f"replace {library} => {library} {LIBRARIES}\n" for library in libraries)
    major, minor = KUBERNETES.removeprefix("v").split(".")[:2]
    variables = {"gitVersion": KUBERNETES, "gitMajor": major, "gitMinor": minor}
    flags = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in variables.items())
    package = "k8s.io/kubernetes/cmd/kube-apiserver"
    build(folder / "kube-apiserver", "k8s.io/kubernetes", KUBERNETES, package, replaces=replaces, flags=flags)
    build(folder / "etcd", "go.etcd.io/etcd/server/v3", ETCD, "go.etcd.io/etcd/server/v3")


def build_eck(folder: Path) -> None:
    """`eck`, the operator of Elasticsearch and Kibana."""
    module = "github.com/elastic/cloud-on-k8s/v3"
    flags = f"-X {module}/pkg/about.version={ECK.removeprefix('v')}"
    build(folder / "eck", module, ECK, f"{module}/cmd", flags=flags)


def write_crds(folder: Path) -> None:
    """The operators' `CustomResourceDefinition`s, a file for each of Strimzi's and one of all of ECK's."""
    crds = folder / "crds"
    crds.mkdir(exist_ok=True)
    eck = Path(downloaded("github.com/elastic/cloud-on-k8s/v3", ECK, folder)["Dir"])
    (crds / "eck.yaml").write_bytes((eck / "config" / "crds" / "v1" / "all-crds.yaml").read_bytes())
    maven = folder / "build-crds"
    maven.mkdir(exist_ok=True)
    (maven / "pom.xml").write_text(POM.format(version=STRIMZI))
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
    run("mvn", "-q", "-B", goal, "-Dmdep.outputFile=classpath", folder=maven)
    outputs = [
        f"io.strimzi.api.kafka.model.{name}={crds / f'strimzi-{kind}.yaml'}" for kind, name in STRIMZI_KINDS.items()
    ]
    classpath = (maven / "classpath").read_text("utf-8").strip()
    java = choose_jdk(find_jdks(), JAVA_OF_GENERATOR, "Strimzi's generator").java
    run(java, "-cp", classpath, "io.strimzi.crdgenerator.CrdGenerator", "--yaml", *outputs, folder=maven)


def main() -> None:
    """Fill the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    sys.stderr.write(f"writing the operators' definitions to {folder / 'crds'} …\n")
    write_crds(folder)
    sys.stderr.write(f"building kube-apiserver {KUBERNETES} and etcd {ETCD} (about ten minutes on two cores) …\n")
    build_api_server(folder)
    sys.stderr.write(f"building ECK {ECK} …\n")
    build_eck(folder)


if __name__ == "__main__":
    main()
