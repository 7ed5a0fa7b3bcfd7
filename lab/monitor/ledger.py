"""Reads the sink's ledger by task and partition."""

import re

import orjson

from lab.endpoints import OPEN, HttpAccess
from lab.monitor.jolokia import attribute, read_beans
from lab.records import Ledger, SinkLedger, TaskLedger

BY_PARTITION = "LedgerByPartition"
TOTALS = {field: attribute(f"records_{field}") for field in Ledger.model_fields}
TASK = re.compile(r"[:,]task=(\w+)")


def read_sink_ledger(
    jolokia_url: str, connector: str, *, timeout_s: float = 10.0, access: HttpAccess = OPEN
) -> SinkLedger:
    """The ledger of every task of the connector at this instant.

    Raises:
        httpx.HTTPError: The agent does not answer.
        LookupError: No task of the connector has registered, or a bean keeps no such ledger.
        ValueError: What it keeps is no ledger.
    """
    with access.client(timeout=timeout_s) as client:
        beans = read_beans(client, jolokia_url, connector, [*TOTALS.values(), BY_PARTITION])
    return SinkLedger(
        tasks={
            task_number(name): TaskLedger(
                total=Ledger(**{field: bean[asked] for field, asked in TOTALS.items()}),
                partitions=orjson.loads(bean[BY_PARTITION]),
            )
            for name, bean in sorted(beans.items())
        }
    )


def task_number(bean_name: str) -> str:
    """The number of the task, out of the name of its bean."""
    found = TASK.search(bean_name)
    return found[1] if found else bean_name
