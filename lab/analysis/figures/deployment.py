"""The figures of a deployment: how long it took, how much was copied, and what queries took meanwhile."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from lab.analysis.figures.definitions import metric
from lab.analysis.figures.latency import added
from lab.analysis.figures.queries import of_histogram
from lab.analysis.figures.rates import Point
from lab.records.deployment import Deployment, DeploymentProgress, Recovery
from lab.records.queries import QueryLoadResult
from lab.records.result import Metric
from lab.records.run import Run

TOLD = ("p50", "p99")


def of_deployment(run: Run) -> Iterator[Metric]:
    """Every figure of a run's deployment; nothing where there was none."""
    deployment = run.deployment
    if deployment is None:
        return
    yield from _figures(deployment, deployment.recoveries, deployment.seconds, "run")
    for index in deployment.indices:
        own = [each for each in deployment.recoveries if each.index in {index.index, index.became}]
        yield from _figures(deployment, own, index.seconds, index.index)
    for node, work in deployment.nodes.items():
        yield metric("deployment_cpu_s", work.cpu_s, node)
    for when, sent in deployment.queries.items():
        yield from query_times(sent, when)


def _figures(deployment: Deployment, recoveries: Sequence[Recovery], seconds: float, scope: str) -> Iterator[Metric]:
    copied = sum(each.copied_bytes for each in recoveries)
    throttled_ms = sum(each.source_throttle_ms + each.target_throttle_ms for each in recoveries)
    from_index_node = sum(each.copied_bytes for each in recoveries if each.source == deployment.index_node)
    yield metric("deployment_s", seconds, scope)
    yield metric("deployment_bytes", copied, scope)
    yield metric("deployment_bytes_per_s", copied / seconds if seconds > 0 else None, scope)
    yield metric("deployment_throttle_s", throttled_ms / 1000, scope)
    yield metric("deployment_bytes_from_index_node", from_index_node, scope)


def query_times(sent: QueryLoadResult, when: str) -> Iterator[Metric]:
    """Median and p99 of the queries sent before, during or after it, over all questions."""
    histograms = (each.latency if sent.is_open_loop else each.service_time for each in sent.questions)
    for figure in of_histogram(sent.times_metric, added(histograms), when):
        if figure.name.rpartition("_")[2] in TOLD:
            yield figure


def copy_rate_series(deployment: Deployment) -> list[Point]:
    """Bytes copied per second from the request to the first poll, and from each poll to the next, at the later one."""
    start = DeploymentProgress(at_s=deployment.started_s, copied_bytes=0, active=0)
    return [
        Point(now.at_s, max(0, now.copied_bytes - before.copied_bytes) / (now.at_s - before.at_s))
        for before, now in pairwise((start, *deployment.progress))
        if now.at_s > before.at_s
    ]
