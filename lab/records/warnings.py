"""What a reader must know before believing a figure."""

from enum import StrEnum

from lab.records.base import Record


class WarningKind(StrEnum):
    """What a report may warn of."""

    COLD_SERVERS = "cold_servers"
    SAMPLES_LOST = "samples_lost"
    SERVER_RESTARTED = "server_restarted"
    DEAD_LETTERS = "dead_letters"
    SHORT_WINDOW = "short_window"
    DID_NOT_KEEP_UP = "did_not_keep_up"
    DRIVER_LIMITED = "driver_limited"
    BUSY_MACHINE = "busy_machine"
    LATE_PRODUCER = "late_producer"
    SHARDS_UNASSIGNED = "shards_unassigned"
    SERVERS_ELSEWHERE = "servers_elsewhere"
    MEMORY_PRESSURE = "memory_pressure"
    NO_STEADY_STATE = "no_steady_state"
    ENVIRONMENTS_DIFFER = "environments_differ"
    REPETITION_DIFFERS = "repetition_differs"
    RUNS_FAILED = "runs_failed"


class RunWarning(Record):
    """Something that a reader must know before believing a figure: what was seen, its likely cause, the remedy."""

    kind: WarningKind
    seen: str
    likely_cause: str
    remedy: str
