"""A process that takes back what a run has set in the cluster if the run cannot do so itself, as after `kill -9`.

Its standard input closes when the run ends, however it ends. Unless it was told before that all is well, it puts the
cluster settings back and removes the snapshot repository. Both ends of the protocol stand here.
"""

import contextlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.target import Target
from lab.endpoints import HttpAccess
from lab.errors import SluiceError, StackError
from lab.run.maintain.repository import Repository, remove_repository
from producers.children import Answers, ChildError, Children, serve

READY_WITHIN_S = 60.0
PATIENCE_S = 20.0
"""How long it asks servers that do not answer; those that are stopped have nothing to take back."""

LONGEST_S = 8 * PATIENCE_S
"""How long all that it asks may take: a few requests for the settings, the restored indices and the repository."""

DONE = b"done\n"


class Guard:
    """The guard of one run, started when there is something to take back. Leaving the context ends it."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._settings = False
        self._process: Children | None = None
        self.repository: Repository | None = None

    def watch_settings(self) -> None:
        """Cluster settings are about to be set."""
        self._settings = True
        self._tell()

    def watch_repository(self, repository: Repository) -> None:
        """A repository is about to be registered."""
        self.repository = repository
        self._tell()

    def _task(self) -> dict[str, Any]:
        access = self._target.access.elasticsearch
        return {
            "urls": list(self._target.endpoints.elasticsearch_urls),
            "authorization": access.authorization,
            "ca": None if access.ca is None else str(access.ca),
            "settings": self._settings,
            "repository": self.repository and self.repository.words(),
        }

    def _tell(self) -> None:
        if self._process is None:
            self._process = Children(
                "lab.run.maintain.guard",
                "the process that guards cluster settings",
                # Found by the next command if this one is killed, which then takes back everything itself.
                environment=self._target.child_environment,
                grace_s=LONGEST_S,
            )
            self._process.__enter__()
        self._process.tell(0, json.dumps(self._task()).encode() + b"\n")
        try:
            if self._process.answer(READY_WITHIN_S) is None:
                raise StackError(f"the process that guards cluster settings was not ready after {READY_WITHIN_S:g} s")
        except ChildError as error:
            raise StackError(str(error)) from error

    def close(self, *, all_is_well: bool) -> bool:
        """Let it go; unless all is well it then takes back what it was told of. Whether nothing is left."""
        if self._process is None:
            return all_is_well
        if all_is_well:
            self._process.tell(0, DONE)
        (process,) = self._process.processes
        self._process.__exit__(None, None, None)
        self._process = None
        return process.returncode == 0


# --- in the child ---------------------------------------------------------------------------------------------------


def take_back(task: Mapping[str, Any]) -> None:
    """Put cluster settings back, and remove the repository; where one fails, the other is done all the same.

    Raises:
        StackError: One of them failed.
    """
    failures = []
    access = HttpAccess(task["authorization"], task["ca"] and Path(task["ca"]))
    with contextlib.closing(ElasticsearchClient(task["urls"], access=access, patience_s=PATIENCE_S)) as cluster:
        if task["settings"]:
            try:
                cluster.own_cluster_settings({})
            except SluiceError as error:
                failures.append(str(error))
        if task["repository"]:
            try:
                remove_repository(cluster, Repository(**task["repository"]))
            except SluiceError as error:
                failures.append(str(error))
    if failures:
        raise StackError("; ".join(failures))


def work(commands: BinaryIO, answers: Answers) -> None:
    """Be told what there is to take back until the run ends."""
    task: dict[str, Any] | None = None
    for line in commands:
        if line == DONE:
            answers.write("done")
            return
        task = json.loads(line)
        answers.write("ready")
    if task is not None:
        take_back(task)


if __name__ == "__main__":
    sys.exit(serve(work, (SluiceError, OSError, ValueError)))
