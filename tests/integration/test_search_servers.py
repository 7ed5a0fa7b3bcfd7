"""The plugin's own checks, and the sink against an older and a newer Elasticsearch and against OpenSearch."""

import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lab.engines import DEFAULT, Release
from lab.engines.elasticsearch import ELASTICSEARCH
from lab.engines.opensearch import OPENSEARCH
from lab.errors import StackError
from lab.stack.artifacts import read_lock
from lab.stack.jdk import JVM_OPTIONS
from tests.integration.plugin_builds import copy_of_the_project
from tests.integration.search_servers import java_for, running, servers_folder, spec_of
from tools.maven import maven

pytestmark = pytest.mark.timeout(900)

USUAL = DEFAULT
ELASTICSEARCHES, OPENSEARCHES = (read_lock().releases(engine) for engine in (ELASTICSEARCH, OPENSEARCH))
SERVERS = (ELASTICSEARCHES[0], ELASTICSEARCHES[-1], *OPENSEARCHES)
SIDE_BY_SIDE = 2
REPORTS = "failsafe-reports"
TESTS = ("Real*IT", "PlayedElasticsearchIT")
OF_DATA_STREAMS = {"aReplayIntoADataStreamIsAlreadyThere", "itAnswersForDataStreamsWhatARealOneDoes"}
OF_PIPELINES = "RealPipelinesIT"
WITH_PROCESSORS = OPENSEARCHES[-1]
OF_SHAPES = {"shapesAreFoundWhereTheyAre"}
OF_NEWER_SERVERS = {"pointsAreFoundWhereTheyAre", "theClusterParsesAsManyLevelsAsAreWritten"}
OLDER = (ELASTICSEARCHES[0], OPENSEARCHES[0])
OF_CHANGED_DOCUMENTS = {"aPipelinesOwnFieldsAreNoConflict", "aDerivedSourceIsComparedByItsFields"}


@dataclass(frozen=True)
class Case:
    """What became of one Java test, which is `of` a class: `skipped` and `failed` hold the reason, or are `None`."""

    name: str
    of: str
    skipped: str | None
    failed: str | None


def verify(project: Path, *arguments: str, url: str) -> None:
    """Run Maven for tests against the server at this URL."""
    options = {"JDK_JAVA_OPTIONS": os.environ[JVM_OPTIONS], "SLUICE_TEST_ELASTICSEARCH_URL": url}
    maven(project, *arguments, environment=options)


def cases(report: Path) -> list[Case]:
    """The tests of a JUnit report."""

    def reason(case: ElementTree.Element, *tags: str) -> str | None:
        told = [entry.text or entry.get("message") or "no reason given" for tag in tags for entry in case.iter(tag)]
        return told[0] if told else None

    suite = ElementTree.parse(report).getroot()  # noqa: S314 - written by our own tests
    return [
        Case(
            case.attrib["name"],
            case.attrib["classname"].rpartition(".")[2],
            reason(case, "skipped"),
            reason(case, "failure", "error"),
        )
        for case in suite.iter("testcase")
    ]


def outcome(wanted: Release, folder: Path) -> list[Case]:
    """The plugin's tests against a server that is started for them."""
    # Runs side by side would write and delete each other's temporary files below one `target`.
    project = folder / f"connect-{wanted.set_name}"
    shutil.copytree(folder / "connect", project, ignore=shutil.ignore_patterns(REPORTS))
    with running(spec_of(wanted, folder / wanted.set_name), folder) as url:
        # Failed tests are in the report, which says more than Maven does.
        verify(project, "failsafe:integration-test", f"-Dit.test={','.join(TESTS)}", url=url)
    reports = project / "target" / REPORTS
    done = [case for name in TESTS for report in reports.glob(f"TEST-*.{name}.xml") for case in cases(report)]
    assert done, (reports / "failsafe-summary.xml").read_text()
    return done


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where the servers' files are, which Elasticsearch's unprivileged user may not have below pytest's own."""
    with servers_folder() as made:
        yield made


@pytest.fixture(scope="module")
def verified(folder: Path) -> None:
    """`mvn verify` is green; its classes are those that meet the other servers."""
    target = copy_of_the_project(folder) / "target"
    target.mkdir()
    (target / "sluice-connect-elasticsearch-0.0.7.zip").touch()
    with running(spec_of(USUAL, folder / USUAL.set_name), folder) as url:
        verify(folder / "connect", "verify", url=url)
    assert list(target.glob("*-0.0.7.*")) == []


@pytest.fixture(scope="module")
def outcomes(folder: Path, verified: None) -> Iterator[Mapping[Release, Future[list[Case]]]]:  # noqa: ARG001
    """The plugin's tests on their way against all servers, two at a time."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        yield {wanted: pool.submit(outcome, wanted, folder) for wanted in SERVERS}


@pytest.mark.usefixtures("verified")
def test_the_plugin_keeps_its_promises() -> None:
    """`mvn verify` is green with the tests that need a real Elasticsearch, and leaves no archive of another version."""


@pytest.mark.parametrize("wanted", SERVERS, ids=lambda wanted: wanted.set_name)
def test_the_sink_keeps_its_promises_with(
    wanted: Release, outcomes: Mapping[Release, Future[list[Case]]], subtests: pytest.Subtests
) -> None:
    """Bulks, versions, deletes, upserts, rejections, routing, dates; what a server lacks is skipped, and says so."""
    try:
        java_for(wanted)
    except StackError as error:
        pytest.skip(str(error))

    done = outcomes[wanted].result()

    for case in done:
        with subtests.test(case.name):
            assert case.failed is None
            if case.skipped is not None:
                pytest.skip(case.skipped.partition("\n")[0])
    # Elasticsearch's plain build has no API for data streams, OpenSearch's has.
    may_lack = set(OF_DATA_STREAMS if wanted.engine is ELASTICSEARCH else ())
    # The newest OpenSearch's build alone has processors and a derived source.
    if wanted != WITH_PROCESSORS:
        may_lack |= OF_CHANGED_DOCUMENTS | {case.name for case in done if case.of == OF_PIPELINES}
    # Few builds have shapes; older servers take no GeoJSON as a point, and documents of any depth.
    may_lack |= OF_SHAPES | (OF_NEWER_SERVERS if wanted in OLDER else set())
    assert {case.name for case in done if case.skipped is not None} <= may_lack
    assert {case.name for case in done} >= OF_DATA_STREAMS | OF_CHANGED_DOCUMENTS
    assert OF_PIPELINES in {case.of for case in done}
