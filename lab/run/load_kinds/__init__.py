"""One object per kind of load: its own part in each phase of a run."""

from collections.abc import Callable, Mapping
from typing import Any

from lab.profiles.models import Direct, Drain, QueryOnly, Rally, Recorded, Stream
from lab.run.load_kinds.base import Clients, Loading
from lab.run.load_kinds.direct import DirectLoading
from lab.run.load_kinds.kafka import Draining, Streaming
from lab.run.load_kinds.queries import QueryLoading
from lab.run.load_kinds.rally import RallyLoading
from lab.run.phases import RunContext

KINDS: Mapping[type, Callable[[RunContext, Clients, Any], Loading[Any]]] = {
    Drain: Draining,
    Stream: Streaming,
    Recorded: Streaming,
    Direct: DirectLoading,
    Rally: RallyLoading,
    QueryOnly: QueryLoading,
}
"""Section `load` of a profile → the load of a run."""


def loading_of(run: RunContext, clients: Clients) -> Loading[Any]:
    """The load that a run's profile asks for."""
    load = run.profile.load
    return KINDS[type(load)](run, clients, load)
