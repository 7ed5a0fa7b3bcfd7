"""Reads what the tasks of our sink say of themselves, through the JMX agent (Jolokia) in each Connect worker.

Where a function takes a URL, it takes those of several workers of one group as well, separated by commas. The tasks are
on whichever of them take a connection: one that is down has none, and one that takes it has to answer, since its tasks
are not known otherwise.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import orjson
from hdrh.histogram import HdrHistogram

from lab.endpoints import METRICS_ORIGIN, OPEN, HttpAccess, urls_of
from lab.records.run import SinkHistograms
from lab.records.samples import SinkSample
from lab.records.verification import Ledger, SinkLedger, TaskLedger

OTHER_FIELDS = frozenset({"tasks", "jit_time_ms", "record_age_ms_p50", "record_age_ms_p99"})
LEDGER_FIELDS = tuple(name for name in SinkSample.model_fields if name not in OTHER_FIELDS)
BY_PARTITION = "LedgerByPartition"
SKIPPED = "RecordsSkipped"
FILTERED = "RecordsFiltered"
RECORD_AGE = "RecordAgeHistogram"
BULK_SERVICE_TIME = "BulkServiceTimeHistogram"
AGES_EVERY = 5
"""Readings: to encode the histogram keeps a task waiting for a millisecond or two."""
TASKS = "sluice.connect:type=sink-task-metrics,connector={connector},task=*"
COMPILATION = "java.lang:type=Compilation"
COMPILATION_TIME = "TotalCompilationTime"
READ: Mapping[str, tuple[str, ...]] = {TASKS.format(connector="*"): ("*",), COMPILATION: (COMPILATION_TIME,)}
"""What this module reads, attributes by MBean; tools/metrics_policy.py allows a worker's agent to show that."""
TASK = re.compile(r"[:,]task=(\w+)")


class SinkNotRegisteredError(LookupError):
    """The worker answers, but no task of the connector has registered its metrics."""


class JolokiaError(LookupError):
    """The agent answers with an error of its own."""


class SinkReader:
    """Sums the ledger over the tasks of one connector; two small requests to each worker per reading.

    Args:
        reads_ages: Whether the ages of records are read as well, at every fifth reading.
    """

    def __init__(
        self, url: str, connector: str, *, timeout_s: float, access: HttpAccess = OPEN, reads_ages: bool = False
    ) -> None:
        self._url = url
        self._connector = connector
        self._reads_ages = reads_ages
        self._readings = 0
        self._tasks: frozenset[str] = frozenset()
        self._client = access.client(timeout=timeout_s / len(urls_of(url)))

    def read(self) -> SinkSample:
        """The ledger at this instant; of the histograms, which are costly to encode, at most one and now and then.

        Raises:
            LookupError: A worker is down, and its tasks are nowhere else: their counts would seem to fall, and to grow
                once it answers.
            httpx.HTTPError, SinkNotRegisteredError, JolokiaError: As for `read_workers`.
        """
        attributes = {field: attribute(field) for field in LEDGER_FIELDS}
        wants_ages = self._reads_ages and self._readings % AGES_EVERY == 0
        self._readings += 1
        wanted = [*attributes.values(), *([RECORD_AGE] if wants_ages else [])]
        workers = read_workers(self._client, self._url, self._connector, wanted)
        named = beans_of(workers)
        expected = len(urls_of(self._url))
        if len(workers) < expected and not self._tasks <= named.keys():
            raise LookupError(f"{len(workers)} of {expected} workers answered, and a task is of none of these")
        self._tasks, beans = frozenset(named), named.values()
        spent_ms = [worker.jit_time_ms for worker in workers if worker.jit_time_ms is not None]
        sums = {field: sum(int(bean[name]) for bean in beans) for field, name in attributes.items()}
        p50, p99 = percentiles_ms(bean.get(RECORD_AGE) for bean in beans)
        return SinkSample(
            tasks=len(beans),
            jit_time_ms=sum(spent_ms) if spent_ms else None,
            record_age_ms_p50=p50,
            record_age_ms_p99=p99,
            **sums,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def read_sink_ledger(url: str, connector: str, *, timeout_s: float = 10.0, access: HttpAccess = OPEN) -> SinkLedger:
    """The ledger of every task of the connector, by partition, at this instant.

    Raises:
        httpx.HTTPError: The agent does not answer.
        LookupError: No task of the connector has registered, or a bean keeps no such ledger.
        ValueError: What it keeps is no ledger.
    """
    totals = {field: attribute(f"records_{field}") for field in Ledger.model_fields}
    with access.client(timeout=timeout_s) as client:
        beans = read_beans(client, url, connector, [*totals.values(), SKIPPED, FILTERED, BY_PARTITION])
    tasks = {}
    for name, bean in sorted(beans.items()):
        number = TASK.search(name)
        tasks[number[1] if number else name] = TaskLedger(
            total=Ledger(**{field: bean[of_bean] for field, of_bean in totals.items()}),
            partitions=orjson.loads(bean[BY_PARTITION]),
            skipped=known(bean.get(SKIPPED)),
            filtered=known(bean.get(FILTERED)),
        )
    return SinkLedger(tasks=tasks)


def known(count: int | None) -> int | None:
    """A count of the worker's; the sink says -1 where it cannot read that."""
    return None if count is None or count < 0 else count


def read_sink_histograms(
    url: str, connector: str, *, timeout_s: float = 10.0, access: HttpAccess = OPEN
) -> SinkHistograms:
    """The sink's histograms now, merged over its tasks; both `None` when no task has registered.

    Raises:
        httpx.HTTPError: The agent does not answer.
        JolokiaError: It answers with an error.
    """
    with access.client(timeout=timeout_s) as client:
        try:
            beans = read_beans(client, url, connector, [RECORD_AGE, BULK_SERVICE_TIME]).values()
        except SinkNotRegisteredError:
            return SinkHistograms(record_age=None, bulk_service_time=None)
    return SinkHistograms(
        record_age=merged_histogram(bean.get(RECORD_AGE) for bean in beans),
        bulk_service_time=merged_histogram(bean.get(BULK_SERVICE_TIME) for bean in beans),
    )


def percentiles_ms(encoded: Iterable[str | None]) -> tuple[float | None, float | None]:
    """Median and p99 of all values of these histograms in µs; `None` when nothing was recorded."""
    whole = merged(encoded)
    if whole is None or not whole.get_total_count():
        return None, None
    values_us = whole.get_percentile_to_value_dict([50.0, 99.0])
    return values_us[50.0] / 1000, values_us[99.0] / 1000


def merged_histogram(encoded: Iterable[str | None]) -> str | None:
    """One histogram that holds the values of all, in the same encoding; `None` when there is none to merge."""
    whole = merged(encoded)
    if whole is None:
        return None
    text: bytes = whole.encode()
    return text.decode("ascii")


def merged(encoded: Iterable[str | None]) -> HdrHistogram | None:
    """One histogram that holds the values of all; `None` when there is none to merge."""
    histograms = [HdrHistogram.decode(text) for text in encoded if text]
    if not histograms:
        return None
    # Into the widest one, so that every value of the others fits.
    histograms.sort(key=lambda histogram: int(histogram.highest_trackable_value), reverse=True)
    widest, *others = histograms
    for other in others:
        widest.add(other)
    return widest


def attribute(field: str) -> str:
    """Name of the bean's attribute that holds a field of `SinkSample`.

    The record names the unit of a time `ms`, Java's name spells it out: `time_blocked_ms_total` →
    `TimeBlockedMillisTotal`.
    """
    return "".join({"ms": "Millis"}.get(word, word.capitalize()) for word in field.split("_"))


class Worker(NamedTuple):
    """Answer of one worker's agent.

    Attributes:
        beans: Those of the connector's tasks that run there, by name; none where none does.
        jit_time_ms: What its virtual machine has spent on compiling so far; `None` where it does not say.
    """

    beans: dict[str, dict[str, Any]]
    jit_time_ms: int | None


def read_beans(client: httpx.Client, url: str, connector: str, attributes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """These attributes of the connector's tasks, one dictionary per task, by the bean's name.

    Raises:
        httpx.HTTPError, SinkNotRegisteredError, JolokiaError: As for `read_workers`.
    """
    return beans_of(read_workers(client, url, connector, attributes))


def beans_of(workers: Iterable[Worker]) -> dict[str, dict[str, Any]]:
    """The beans of all workers by name: a task that moves is shown by two of them for a while, and counts once."""
    return {name: bean for worker in workers for name, bean in worker.beans.items()}


def read_workers(client: httpx.Client, url: str, connector: str, attributes: Sequence[str]) -> list[Worker]:
    """These attributes of the connector's tasks, of every worker that is there.

    Raises:
        httpx.HTTPError: No worker is there, or one that is does not answer.
        SinkNotRegisteredError: There is no such bean yet.
        JolokiaError: Any other refusal.
    """
    workers: list[Worker] = []
    failures: list[Exception] = []
    for agent in urls_of(url):
        try:
            workers.append(_worker(client, agent, connector, attributes))
        except (httpx.ConnectError, httpx.ConnectTimeout) as failure:
            failures.append(failure)
    if not workers:
        raise failures[0]
    if not any(worker.beans for worker in workers):
        raise SinkNotRegisteredError(f"no task of connector {connector} has registered its metrics")
    return workers


def _worker(client: httpx.Client, url: str, connector: str, attributes: Sequence[str]) -> Worker:
    of_tasks = _read(client, url, TASKS.format(connector=connector), attributes)
    of_machine = _read(client, url, COMPILATION, [COMPILATION_TIME])
    compiling_ms = of_machine.get("value")
    return Worker(_beans_in(of_tasks), compiling_ms if isinstance(compiling_ms, int) else None)


def _read(client: httpx.Client, url: str, bean: str, attributes: Sequence[str]) -> Mapping[str, Any]:
    """The agent's answer, be it an error of its own. By GET: our policy refuses what Jolokia takes by POST."""
    # Jolokia's escape is `!`, and the slash of a name would part it even where it is percent-encoded.
    escaped = bean.replace("!", "!!").replace("/", "!/")
    path = f"/read/{quote(escaped, safe='!,=:*')}/{','.join(attributes)}"
    response = client.get(f"{url}{path}", headers={"Origin": METRICS_ORIGIN}).raise_for_status()
    answer = orjson.loads(response.content)
    if not isinstance(answer, dict):
        raise JolokiaError("the answer is none to what was asked")
    return answer


def _beans_in(answer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    if answer.get("status") == 404:
        return {}
    if answer.get("status") != 200:
        raise JolokiaError(f"{answer.get('error_type', 'error')}: {answer.get('error', 'no reason given')}")
    return dict(answer["value"])
