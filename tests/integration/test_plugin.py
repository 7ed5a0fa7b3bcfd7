"""The sink plugin's own checks: formatting, unit tests, and its integration tests against the session's server."""

import os
import subprocess

from lab.stack.artifacts import ArtifactCache, read_lock
from lab.stack.jdk import JVM_OPTIONS, choose_jdk, find_jdks, java_for_kafka
from lab.stack.places import cache_dir
from lab.stack.plugin import find_maven
from tests.integration.conftest import ROOT, Sluice


def test_the_plugin_keeps_its_promises(sluice: Sluice) -> None:
    """`mvn verify` is green, with the tests that need a real Elasticsearch among them."""
    mvn = find_maven(ArtifactCache(cache_dir()), read_lock().sets["maven"][0])
    jdk = choose_jdk(find_jdks(), java_for_kafka(), "Maven")
    environment = {
        **os.environ,
        "JAVA_HOME": str(jdk.home),
        "JDK_JAVA_OPTIONS": os.environ[JVM_OPTIONS],
        "SLUICE_TEST_ELASTICSEARCH_URL": sluice.stack.endpoints().elasticsearch_urls[0],
    }

    done = subprocess.run(
        [str(mvn), "-B", "--no-transfer-progress", "-f", str(ROOT / "connect" / "pom.xml"), "verify"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-8000:]
