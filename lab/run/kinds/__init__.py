"""One object per kind of load: its own part in each phase of a run."""

from collections.abc import Callable, Mapping
from typing import Any

from lab.profiles.models import Direct, Drain, QueryOnly, Rally, Stream
from lab.run.kinds.base import Clients, Loading
from lab.run.kinds.direct import DirectLoading
from lab.run.kinds.kafka import Draining, Streaming
from lab.run.kinds.queries import QueryLoading
from lab.run.kinds.rally import RallyLoading
from lab.run.phases import RunContext

KINDS: Mapping[type, Callable[[RunContext, Clients, Any], Loading[Any]]] = {
    Drain: Draining,
    Stream: Streaming,
    Direct: DirectLoading,
    Rally: RallyLoading,
    QueryOnly: QueryLoading,
}
"""Section `load` of a profile → the load of a run."""


def loading_of(run: RunContext, clients: Clients) -> Loading[Any]:
    """The load that a run's profile asks for."""
    load = run.profile.load
    return KINDS[type(load)](run, clients, load)
