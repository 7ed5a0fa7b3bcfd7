"""Reads the sink's JMX beans through the JMX agent's HTTP interface in the Connect worker."""

from collections.abc import Sequence
from typing import Any

import httpx
import orjson

from lab.endpoints import OPEN, HttpAccess
from lab.records import SinkSample

LEDGER_FIELDS = tuple(name for name in SinkSample.model_fields if name not in {"tasks", "jit_time_ms"})


class SinkNotRegisteredError(LookupError):
    """The worker answers, but no task of the connector has registered its metrics."""


class JolokiaError(LookupError):
    """The agent answers with an error of its own."""


def attribute(field: str) -> str:
    """Name of the bean's attribute that holds a field of `SinkSample`.

    The record names the unit of a time `ms`, Java's name spells it out: `time_blocked_ms_total` →
    `TimeBlockedMillisTotal`.
    """
    return "".join({"ms": "Millis"}.get(word, word.capitalize()) for word in field.split("_"))


def task_beans(connector: str) -> str:
    """ObjectName pattern of the beans of all tasks of a connector."""
    return f"sluice.connect:type=sink-task-metrics,connector={connector},task=*"


def read_beans(client: httpx.Client, url: str, connector: str, attributes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The attributes asked for, one dictionary per task, by the bean's name.

    Raises:
        httpx.HTTPError: No answer.
        SinkNotRegisteredError: There is no such bean yet.
        JolokiaError: Any other refusal.
    """
    asked = {"type": "read", "mbean": task_beans(connector), "attribute": list(attributes)}
    # The agent answers below its context path only, which ends with a slash.
    response = client.post(
        f"{url.rstrip('/')}/", content=orjson.dumps(asked), headers={"Content-Type": "application/json"}
    )
    response.raise_for_status()
    answer = orjson.loads(response.content)
    if answer.get("status") == 404 or answer.get("value") == {}:
        raise SinkNotRegisteredError(f"no task of connector {connector} has registered its metrics")
    if answer.get("status") != 200:
        raise JolokiaError(f"{answer.get('error_type', 'error')}: {answer.get('error', 'no reason given')}")
    return dict(answer["value"])


def jit_time_ms(client: httpx.Client, url: str) -> int | None:
    """What the worker's virtual machine has spent on compiling so far; `None` where it does not say.

    Raises:
        httpx.HTTPError: No answer.
    """
    asked = {"type": "read", "mbean": "java.lang:type=Compilation", "attribute": "TotalCompilationTime"}
    response = client.post(
        f"{url.rstrip('/')}/", content=orjson.dumps(asked), headers={"Content-Type": "application/json"}
    )
    spent_ms = orjson.loads(response.content).get("value") if response.is_success else None
    return spent_ms if isinstance(spent_ms, int) else None


class SinkReader:
    """Sums the ledger over the tasks of one connector; two small requests per reading."""

    def __init__(self, url: str, connector: str, *, timeout_s: float, access: HttpAccess = OPEN) -> None:
        self._url = url
        self._connector = connector
        self._client = access.client(timeout=timeout_s)

    def read(self) -> SinkSample:
        """The ledger at this instant; the histograms, which are costly to encode, are not read."""
        asked = [attribute(field) for field in LEDGER_FIELDS]
        beans = read_beans(self._client, self._url, self._connector, asked).values()
        sums = {field: sum(int(bean[attribute(field)]) for bean in beans) for field in LEDGER_FIELDS}
        return SinkSample(tasks=len(beans), jit_time_ms=jit_time_ms(self._client, self._url), **sums)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
