"""A stream in real servers, watched from beside it."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.endpoints import METRICS_ORIGIN, Endpoints
from lab.publish.samples import INDEX
from tests.integration.conftest import Sluice
from tools.metrics_policy import read_by_metricbeat

DOCUMENTS = 7_001
RATE = 503
"""Documents per second: 14 s of load."""


@contextlib.contextmanager
def under_way(sluice: Sluice, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs meanwhile; it is told to stop if it has not ended by itself."""
    process = sluice.start(*arguments)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)


def until(seen: Callable[[], bool], timeout_s: float = 120.0) -> None:
    """Wait for something that is about to happen."""
    deadline = time.monotonic() + timeout_s
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.25)


def found(elasticsearch: httpx.Client, kind: str) -> list[dict[str, Any]]:
    """The documents of a kind that the watch has sent, in their order."""
    elasticsearch.post(f"/{INDEX}/_refresh")
    body = {"size": 1000, "query": {"term": {"kind": kind}}, "sort": ["@timestamp"]}
    hits = elasticsearch.post(f"/{INDEX}/_search", json=body).json()["hits"]["hits"]
    return [hit["_source"] for hit in hits]


@pytest.fixture
def target(elasticsearch: httpx.Client, open_target: Path) -> Iterator[Path]:
    """The same file; what was sent is removed in the end."""
    yield open_target
    elasticsearch.delete(f"/{INDEX}")
    elasticsearch.delete(f"/_index_template/{INDEX}")


def answers_meanwhile(there: Endpoints, run: subprocess.Popen[str]) -> dict[str, Any]:
    """The agent's answers to Metricbeat's requests, once it has all of them or the run has ended.

    Source: metricbeat/module/jolokia/jmx/config.go: `buildJolokiaGETUri` of 7.17.29, `SetUpdatedURL` of the main
        branch.
    """
    answers: dict[str, Any] = {}
    options = "?ignoreErrors=true&canonicalNaming=false"

    def all_there() -> bool:
        with there.access.metrics.client(headers={"Origin": METRICS_ORIGIN}) as metricbeat:
            for bean, attributes in read_by_metricbeat().items():
                url = f"{there.metrics_url}/read/{bean}/{','.join(attributes)}"
                older, newer = metricbeat.get(f"{url}{options}").json(), metricbeat.get(f"{url}/{options}").json()
                if older["status"] != newer["status"]:
                    # The bean has come, or gone, between the two requests.
                    older, newer = metricbeat.get(f"{url}{options}").json(), metricbeat.get(f"{url}/{options}").json()
                assert older["status"] == newer["status"]
                answers[bean] = newer
        return all(answer["status"] == 200 for answer in answers.values())

    until(lambda: all_there() or run.poll() is not None)
    return answers


def check_every_question_was_answered(answers: dict[str, Any]) -> None:
    """A name that the worker does not know would be an empty chart and no error."""
    for bean, attributes in read_by_metricbeat().items():
        # Metricbeat finds the fields of an answer by the MBean that was asked for, as it stands there.
        assert answers[bean]["request"]["mbean"] == bean
        value = answers[bean]["value"]
        if "*" not in bean:
            assert (len(attributes), type(value)) == (1, int)
            continue
        assert value
        assert [each.keys() for each in value.values()] == [set(attributes)] * len(value)


def test_a_stream_is_shown_while_it_runs(sluice: Sluice, elasticsearch: httpx.Client, target: Path) -> None:
    """Rate, lag, tasks and latencies, for us and for Metricbeat, of the run under way; the watch ends when told to."""
    url = str(elasticsearch.base_url).rstrip("/")
    options = ("--to", url, "--target-file", str(target), "--interval", "1")
    load = ("--documents", str(DOCUMENTS), "--rate", str(RATE), "--runs", str(sluice.runs))
    with (
        under_way(sluice, "watch", "quickstart", *options) as watch,
        under_way(sluice, "run", "quickstart", *load) as run,
    ):
        answers = answers_meanwhile(sluice.stack.endpoints(), run)
        until(lambda: run.poll() is not None)
        os.killpg(watch.pid, signal.SIGTERM)
        told, _ = watch.communicate(timeout=60)

    everything = found(elasticsearch, "sample")
    name = everything[-1]["run"]["name"]
    samples = [
        sample for sample in everything if sample["run"]["name"] == name
    ]  # an earlier run may have left an index
    rates = [sample.get("indexing_rate_docs_per_s_primaries") for sample in samples]
    curves = [curve for curve in found(elasticsearch, "curve") if curve["run"]["name"] == name]
    assert (watch.returncode, told.splitlines()[-1]) == (0, "stopped")
    assert name.endswith("-live")
    assert max(sample.get("documents_indexed", 0) for sample in samples) == DOCUMENTS
    assert max(sample.get("records_in_topic", 0) for sample in samples) == DOCUMENTS
    assert {sample.get("tasks_running") for sample in samples} >= {1}
    assert max(rate for rate in rates if rate is not None) >= RATE / 2
    assert {curve["latency"] for curve in curves} == {"end to end", "bulk service time"}
    check_every_question_was_answered(answers)
