"""The snapshot repository of a run: registered for one deployment, and removed with all that hangs on it."""

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.clients.elasticsearch import ElasticsearchClient, error_reason
from lab.errors import ProfileError
from lab.run.prepare import RESTORED, restored_name

SNAPSHOT = "deployment"
RATE = "indices.recovery.max_bytes_per_sec"


@dataclass(frozen=True)
class Repository:
    """A repository of type `fs`, in the first folder that the nodes may keep snapshots in.

    Attributes:
        name: Begins with `sluice-` and ends with the id of its run.
        folder: Its folder, if that is on this machine.
    """

    name: str
    folder: str | None

    @property
    def path(self) -> str:
        """Where requests find its one snapshot."""
        return f"/_snapshot/{self.name}/{SNAPSHOT}"

    def words(self) -> dict[str, Any]:
        """What another process must be told of it."""
        return asdict(self)


def register(cluster: ElasticsearchClient, repository: Repository, rate: object | None) -> None:
    """Register the repository.

    Args:
        rate: `indices.recovery.max_bytes_per_sec` of the profile: one limit for all routes. `None` for both defaults.

    Raises:
        ProfileError: The nodes cannot share it.
    """
    settings = {"location": repository.name} | ({} if rate is None else {"max_snapshot_bytes_per_sec": rate})
    body = {"type": "fs", "settings": settings}
    status, answer = cluster.request("PUT", f"/_snapshot/{repository.name}", body, accept=(400, 404, 500))
    if status != 200:
        raise ProfileError(f"maintain.route: the cluster rejects a snapshot repository: {error_reason(answer)}")


def remove_repository(cluster: ElasticsearchClient, repository: Repository, *, keep_restored: bool = False) -> None:
    """Remove the repository with its snapshot and its folder; nothing of it need be there.

    One that is being restored from cannot be removed, so that what its run has restored goes first.

    Args:
        keep_restored: The deployment is over: what was restored stays.
    """
    status, _ = cluster.request("GET", f"/_snapshot/{repository.name}", accept=(404,))
    if status == 200:
        for index, mark in () if keep_restored else cluster.marks(f"sluice-*{RESTORED}").items():
            if "index" in mark and index == restored_name(mark["index"]) and repository.name.endswith(mark["run"]):
                cluster.delete_index(index)
        cluster.request("DELETE", repository.path, accept=(404,))
        cluster.request("DELETE", f"/_snapshot/{repository.name}", accept=(404,))
    if repository.folder:
        shutil.rmtree(repository.folder, ignore_errors=True)


def remove_left_repositories(
    cluster: ElasticsearchClient, is_ours: Callable[[str], bool], repository_of: Callable[[str], Repository]
) -> None:
    """Remove the repositories that runs which were killed have left; who may not see any has left none."""
    status, answer = cluster.request("GET", "/_snapshot", accept=(403,))
    for name in filter(is_ours, answer if status == 200 and answer else {}):
        remove_repository(cluster, repository_of(name))


def folder_of(name: str, repositories: str) -> str:
    """The folder of a repository on this machine."""
    return str(Path(repositories) / name)
