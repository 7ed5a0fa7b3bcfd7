"""The machine and the software of a run: what another run must share for the two to be compared."""

from lab.records.base import Count, Record


class Server(Record):
    """One server of the run."""

    name: str
    version: str
    pid: int | None
    command_line_options: tuple[str, ...] = ()


class Environment(Record):
    """The machine and the software of a run: what another run must share for the two to be compared.

    Attributes:
        cpu_cores: Those that the run could use, by affinity, cpuset and CPU quota; a quota may allow a part of one.
        cluster_settings: Those in force, persistent or transient; `None` in records of 0.2.0 and before.
    """

    sluice_version: str
    git_commit: str | None
    machine: str
    kernel: str
    cpu_model: str
    cpu_cores: Count | float
    memory_bytes: Count
    python_version: str
    java_versions: dict[str, str]
    target: str
    servers: tuple[Server, ...]
    index_settings: dict[str, object]
    connector: dict[str, object]
    cluster_settings: dict[str, object] | None = None
