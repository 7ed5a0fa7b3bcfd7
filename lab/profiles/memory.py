"""Memory of the servers in containers: their heaps, and what a container needs beside one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

STEP_MB: Final = 64
"""Limits are multiples of it."""


@dataclass(frozen=True)
class Need:
    """What a container of one kind of server needs, in MiB.

    Attributes:
        heap_mb: The default heap.
        own_mb: What its processes take beside the heap and cannot give back: compiled code, classes, threads, direct
            buffers, the kernel's memory for them.
        heap_share: What they take of that kind in proportion to the heap, such as the collector's tables.
        page_cache_mb: What the default limit has besides, for files that are read or written again and again.
    """

    heap_mb: int
    own_mb: int
    heap_share: float
    page_cache_mb: int


JVM_SHARE: Final = 0.06
"""The collector's tables and marks."""

NEEDS: Final[Mapping[str, Need]] = {
    "elasticsearch": Need(heap_mb=1024, own_mb=480, heap_share=JVM_SHARE, page_cache_mb=448),
    "observer": Need(heap_mb=512, own_mb=480, heap_share=JVM_SHARE, page_cache_mb=192),
    "kafka": Need(heap_mb=384, own_mb=180, heap_share=JVM_SHARE, page_cache_mb=256),
    "connect": Need(heap_mb=512, own_mb=200, heap_share=JVM_SHARE, page_cache_mb=64),
    # Elastic gives three quarters of a container to Kibana's heap: scripts/kibana of 9.4 (elastic/kibana#246073).
    "kibana": Need(heap_mb=1024, own_mb=0, heap_share=1 / 3, page_cache_mb=128),
}
"""Source: docs/compose.md, Memory: what is measured and what is derived. Repeated by
`pytest tests/endurance/test_container_memory.py -s --container-memory 5`."""

WITHOUT_HEAP: Final = {"METRICBEAT_MEMORY": "320m", "LAB_MEMORY": "256m", "VERIFY_MEMORY": "1g"}
"""Limits of containers whose processes have no heap of a fixed size."""


def least_mb(server: str, heap_mb: float) -> int:
    """The limit below which the kernel may kill the server, in MiB."""
    need = NEEDS[server]
    return round(heap_mb * (1 + need.heap_share)) + need.own_mb


def limit_mb(server: str, heap_mb: float) -> int:
    """The limit that also leaves page cache, so that figures are true, in MiB."""
    return -(-(least_mb(server, heap_mb) + NEEDS[server].page_cache_mb) // STEP_MB) * STEP_MB


def variables(server: str) -> tuple[str, str]:
    """The settings of Compose that are a server's heap and its container's limit."""
    name = server.upper()
    return f"{name}_HEAP_MB" if server == "kibana" else f"{name}_HEAP", f"{name}_MEMORY"


def memory_settings() -> dict[str, str]:
    """The settings of Compose for all servers but Elasticsearch, whose heap a profile decides."""
    settings = {}
    for server, need in NEEDS.items():
        if server != "elasticsearch":
            heap, memory = variables(server)
            # Node.js takes a number of MB.
            settings[heap] = str(need.heap_mb) if server == "kibana" else f"{need.heap_mb}m"
            settings[memory] = f"{limit_mb(server, need.heap_mb)}m"
    return settings | WITHOUT_HEAP
