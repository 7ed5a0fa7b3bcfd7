"""Reads the folder of a run."""

from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import ValidationError

from lab.errors import ProfileError
from lab.records import Record, Run, Sample


@dataclass(frozen=True, slots=True)
class RunFolder:
    """What a run has left behind.

    Attributes:
        samples: In the order of their instants.
        profile: The effective profile; `None` where the folder holds none.
    """

    path: Path
    run: Run
    samples: tuple[Sample, ...]
    profile: dict[str, object] | None


def read_run(path: Path) -> RunFolder:
    """The records of the run's folder.

    Raises:
        ProfileError: The folder, or a file in it, is not what a run leaves behind.
    """
    return RunFolder(path, _run(path / "run.json"), _samples(path / "samples.ndjson"), _profile(path / "profile.json"))


def _run(path: Path) -> Run:
    run = _parsed(Run, _bytes(path), str(path))
    assert isinstance(run, Run)  # noqa: S101 - tells the type checker, not the reader
    return run


def _samples(path: Path) -> tuple[Sample, ...]:
    content = _bytes(path)
    lines = content.split(b"\n")
    # What follows the last line feed was cut off in the middle of being written.
    whole = [(number, line) for number, line in enumerate(lines[:-1], start=1) if line.strip()]
    samples = [_parsed(Sample, line, f"{path}:{number}") for number, line in whole]
    return tuple(sorted((sample for sample in samples if isinstance(sample, Sample)), key=lambda sample: sample.at_s))


def _profile(path: Path) -> dict[str, object] | None:
    if not path.exists():
        return None
    try:
        profile = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise ProfileError(f"{path}: not JSON: {error}; was the file edited?") from error
    return profile if isinstance(profile, dict) else None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ProfileError(
            f"{path}: cannot be read: {error.strerror}; expected a run's folder, such as runs/latest"
        ) from error


def _parsed(kind: type[Record], content: bytes, where: str) -> Record:
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ProfileError(
            f"{where}: not a {kind.__name__.lower()}: {field + ': ' if field else ''}{first['msg']};"
            " was it written by another version of Sluice?"
        ) from error
