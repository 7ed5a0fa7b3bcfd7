"""Folders of runs as a run leaves them at some instant of its way."""

from pathlib import Path

import orjson

from lab.identity import identity_of
from lab.profiles import load_profile
from lab.records.progress import Progress
from lab.records.samples import Sample
from tests.unit.analysis.synthetic import START_S

RUN_ID = "20261123-101010"


def progress(**changes: object) -> Progress:
    """That of a quickstart which this process runs."""
    facts = {
        "run_id": RUN_ID,
        "profile": "quickstart",
        "question": "How fast is it?",
        "identity": identity_of(),
        "started_s": START_S,
        "updated_s": START_S + 7,
        "sample_interval_s": 1.0,
        "phase": "load",
        "step": "indexing",
        "step_started_s": START_S + 5,
        "done": 11,
        "total": 101,
        **changes,
    }
    return Progress.model_validate(facts)


def begun(folder: Path, *overrides: str, **changes: object) -> Path:
    """The folder of a run that has just begun."""
    folder.mkdir(parents=True, exist_ok=True)
    profile = load_profile("quickstart", overrides=overrides)
    (folder / "profile.json").write_text(profile.model_dump_json(), "utf-8")
    goes_on(folder, **changes)
    return folder


def goes_on(folder: Path, **changes: object) -> None:
    """Write how far it is, as a run does: another file in place of the one before."""
    partial = folder / "progress.json.part"
    partial.write_text(progress(run_id=folder.name, **changes).model_dump_json(), "utf-8")
    partial.rename(folder / "progress.json")


def line(sample: Sample) -> bytes:
    """A sample as the sampler writes it."""
    return orjson.dumps(sample.model_dump(exclude_defaults=True), option=orjson.OPT_APPEND_NEWLINE)


def append(folder: Path, *samples: Sample) -> None:
    """Write some samples more."""
    with (folder / "samples.ndjson").open("ab") as file:
        file.write(b"".join(map(line, samples)))
