"""An uncounted drain before a run, on servers that have just started and still compile their code."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from lab.console import console
from lab.display import RunDisplay
from lab.profiles.models import Drain
from lab.run.environment import profile_without_secrets
from lab.run.folder import RunFolder
from lab.run.phases import RunRequest
from lab.run.prepare import remove_traces
from lab.run.runner import run_profile
from producers.part import Part


def warmed_up(request: RunRequest) -> RunRequest:
    """The request of a run, once the profile's warm-up is over where its servers have just started.

    The warm-up drains the first documents, as the run would, into an index of its own; nothing of it stays. Documents
    whose keys repeat are not drained twice: the first of them are not the last of their keys.
    """
    load, dataset = request.profile.load, request.dataset
    documents = load.warm_up_documents if isinstance(load, Drain) else None
    if not documents or not request.target.fresh:
        return request
    numbers = np.arange(min(documents, dataset.documents), dtype=np.int64)
    if dataset.groups(numbers) is not None:
        return request
    with tempfile.TemporaryDirectory() as folder:
        runs = RunFolder.create(Path(folder), request.profile.name)
        warm_up = replace(request, dataset=Part.of(dataset, numbers), folder=runs)
        runs.write_text("profile.json", profile_without_secrets(request.profile).model_dump_json(indent=1) + "\n")
        console.print(f"warm-up: {len(numbers):,} documents, not counted")
        try:
            with RunDisplay(("warm-up", "not counted")).showing() as shown:
                run_profile(warm_up, shown)
        finally:
            remove_traces(request.target, request.profile, runs.run_id)
    return replace(request, target=replace(request.target, fresh=False))
