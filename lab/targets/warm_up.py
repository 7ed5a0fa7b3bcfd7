"""An uncounted drain before a run, on servers that have hardly indexed anything and still compile their code."""

import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from lab.clients.target import Target, cluster_of
from lab.console import console
from lab.display import RunDisplay
from lab.profiles import Profile
from lab.profiles.models import Drain
from lab.run.environment import profile_without_secrets
from lab.run.folder import RunFolder
from lab.run.phases import RunRequest
from lab.run.prepare import remove_traces
from lab.run.runner import run_profile
from producers.dataset import Dataset
from producers.part import Part

WARM_DOCUMENTS = 100_000
"""Servers are cold if no node has indexed so many since its start; a warm-up of fewer leaves them so."""


def warmed_up(profile: Profile, dataset: Dataset, target: Target) -> Target:
    """The servers of a run, once the profile's warm-up is over where they are cold.

    The warm-up drains the first documents, as the run would, into an index of its own; nothing of it stays once it is
    over. Documents whose keys repeat are not drained twice: the first of them are not the last of their keys.
    """
    load = profile.load
    documents = load.warm_up_documents if isinstance(load, Drain) else None
    if not documents or not (target.fresh or indexed_since_start(target) < WARM_DOCUMENTS):
        return target
    numbers = np.arange(min(documents, dataset.documents), dtype=np.int64)
    if dataset.groups(numbers) is not None:
        console.print("no warm-up: documents have the same keys as others")
        return target
    with tempfile.TemporaryDirectory() as runs:
        folder = RunFolder.create(Path(runs), profile.name)
        folder.write_text("profile.json", profile_without_secrets(profile).model_dump_json(indent=1) + "\n")
        console.print(f"warm-up: the first {len(numbers):,} of {dataset.documents:,} documents, not counted")
        with RunDisplay(("warm-up", "not counted")).showing() as shown:
            run_profile(RunRequest(profile, Part.of(dataset, numbers), target, folder), shown)
        # Not of one that was interrupted: a request of its sink still under way would make the index anew, without our
        # mark. The next run removes what it has left.
        remove_traces(target, profile, folder.run_id)
    return replace(target, fresh=target.fresh and len(numbers) < WARM_DOCUMENTS)


def indexed_since_start(target: Target) -> int:
    """Documents that the busiest node has indexed since it was started, in indices that are gone, too.

    Others may hold no shard of any run, as a dedicated master does, and would be cold for ever.
    Source: `IndicesService.OldShardsStats` keeps the indexing of shards that have been closed.
    """
    with closing(cluster_of(target.endpoints)) as cluster:
        shown = "filter_path=nodes.*.indices.indexing.index_total"
        _, answer = cluster.request("GET", f"/_nodes/stats/indices/indexing?{shown}")
    return max((int(node["indices"]["indexing"]["index_total"]) for node in answer["nodes"].values()), default=0)
