"""Reads the folder of a run, and writes what is made of it."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import ValidationError

from lab.errors import ProfileError
from lab.files import write_whole
from lab.records.base import Record
from lab.records.run import Run
from lab.records.samples import Sample

Kind = TypeVar("Kind", bound=Record)

A_RUN = "a run's folder, such as runs/latest"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Records of a run in its folder.

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
    run = read_record(path / "run.json")
    samples = sorted(parsed_lines(Sample, path / "samples.ndjson", A_RUN), key=lambda sample: sample.at_s)
    return RunFolder(path, run, tuple(samples), read_profile(path / "profile.json"))


def read_record(path: Path) -> Run:
    """Record of a run, from its `run.json`; raises ProfileError if it is not there, or no such record."""
    return parsed(Run, content_of(path, A_RUN), str(path))


def read_profile(path: Path) -> dict[str, object] | None:
    """The effective profile of a run, out of its `profile.json`; `None` where that is not there.

    Raises:
        ProfileError: It is not JSON.
    """
    if not path.exists():
        return None
    try:
        profile = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise ProfileError(f"{path}: not JSON: {error}; was the file edited?") from error
    return profile if isinstance(profile, dict) else None


def content_of(path: Path, expected: str) -> bytes:
    """Content of a file.

    Args:
        expected: What the folder was taken for, in the words of a message.

    Raises:
        ProfileError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ProfileError(f"{path}: cannot be read: {error.strerror}; expected {expected}") from error


def parsed_lines(kind: type[Kind], path: Path, expected: str) -> list[Kind]:
    """One record per line of a file; what follows the last line feed was cut off while it was being written.

    Raises:
        ProfileError: The file cannot be read, or one of its lines is no such record.
    """
    lines = content_of(path, expected).split(b"\n")
    whole = [(number, line) for number, line in enumerate(lines[:-1], start=1) if line.strip()]
    return [parsed(kind, line, f"{path}:{number}") for number, line in whole]


def write_record(path: Path, record: Record) -> None:
    """Write a record for programs; raises WritingError if it cannot be written."""
    write_whole(path, json_text(record.model_dump(mode="json")))


def json_text(tree: object) -> str:
    """JSON as it is read, with a line feed at its end."""
    return json.dumps(tree, ensure_ascii=False, indent=2) + "\n"


def in_words(kind: type[Record]) -> str:
    """Name of a record in a sentence: `delivery record` for `DeliveryRecord`."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).lower()


def parsed(kind: type[Kind], content: bytes, where: str) -> Kind:
    """A record as it was written down; raises ProfileError if it is no such record, or one of another version."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ProfileError(
            f"{where}: not a {in_words(kind)}: {field + ': ' if field else ''}{first['msg']};"
            " was it written by another version of Sluice?"
        ) from error
