"""Brings a corrected mapping file into the index of a run, so that what it rejected can be sent again."""

from contextlib import closing
from pathlib import Path

from lab.clients.target import cluster_of
from lab.endpoints import Endpoints
from lab.errors import ProfileError
from lab.profiles.files import REPOSITORY
from lab.profiles.mapping import load_mapping
from lab.records.run import Run


def update_mapping(run: Run, name: str, endpoints: Endpoints, root: Path = REPOSITORY) -> None:
    """Add what the mapping file of this name says to the mapping of the run's indices.

    The file's `_meta` stays out: that of the index says which run has made it.

    Raises:
        ProfileError: There is no such file, the index is not the run's, or Elasticsearch refuses the change.
    """
    mapping = dict(load_mapping(name, root).get("mappings", {}))
    mapping.pop("_meta", None)
    with closing(cluster_of(endpoints)) as cluster:
        for index in run.index.split(","):
            if cluster.index_owner(index) != run.run_id:
                raise ProfileError(f"index {index}: is not that of run {run.run_id} any more; run the profile again")
        cluster.put_mapping(run.index, {"properties": {}, **mapping})
