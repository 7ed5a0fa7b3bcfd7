"""A pipeline that is watched: servers that exist already, with the run that is under way on them."""

import contextlib
from collections.abc import Mapping
from typing import Any

from lab.clients.target import cluster_of, worker_of
from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.monitor import Sources
from lab.profiles import Profile
from lab.publish.watch import Subject
from lab.run.index import index_name
from lab.run.names import Names

ONCE_S = 0.0
"""A server that does not answer is asked again at the next sample."""


class RemotePipeline:
    """The servers of a target, on which a profile runs."""

    def __init__(self, profile: Profile, endpoints: Endpoints) -> None:
        self._profile = profile
        self._endpoints = endpoints
        self._index = index_name(profile)
        self._cluster = cluster_of(endpoints, ONCE_S)
        self._worker = worker_of(endpoints, ONCE_S)

    def close(self) -> None:
        """Close the connections."""
        self._cluster.close()
        self._worker.close()

    def subject(self) -> Subject | None:
        """The run that has made the index; `None` when there is no such index, or no answer."""
        with contextlib.suppress(StackError):
            run_id = self._cluster.index_owner(self._index)
            made_s = self._cluster.index_made_s(self._index) if run_id else None
            if run_id and made_s is not None:
                return Subject(run_id, made_s)
        return None

    def sources(self, subject: Subject) -> Sources:
        """The servers, and what the things of the run are called in them."""
        names = Names.of(self._profile, subject.run_id)
        return Sources(
            endpoints=self._endpoints,
            index=names.index,
            topic=names.topic,
            consumer_group=names.consumer_group,
            connector=names.connector,
        )

    def state(self, subject: Subject) -> Mapping[str, Any]:
        """State of the connector, and how many of its tasks run and have failed; nothing without an answer."""
        try:
            found = self._worker.states(Names.of(self._profile, subject.run_id).connector)
        except StackError:
            return {}
        if found is None:
            return {}
        connector, tasks = found
        return {
            "connector_state": connector,
            "tasks_running": tasks.count("RUNNING"),
            "tasks_failed": tasks.count("FAILED"),
        }
