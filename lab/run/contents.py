"""Contents behind the names in a profile: the same name with another content is another run."""

import contextlib
import hashlib
import json
import shutil
import string
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lab.extensions import PIPELINES
from lab.profiles import Profile
from lab.profiles.mapping import load_template
from lab.run.load.command import own_values
from producers.registry import DATASETS

MOST_BYTES = 16 << 20
"""A larger file that a command names is what it reads, and no program."""


def contents_of(profile: Profile, mappings: Mapping[str, object], root: Path) -> dict[str, str]:
    """Key of the profile → 16 hexadecimal digits of the file that it names, or package and version.

    Questions and documents of a file have fingerprints of their own; what comes with Sluice is told by its commit.

    Args:
        mappings: As they are sent to create the index; `_meta` is what its author notes, and changes nothing.
        root: The checkout, for connector templates and commands.
    """
    effective = {key: value for key, value in mappings.items() if key != "_meta"}
    contents = {"mapping": _digest(json.dumps(effective, sort_keys=True).encode())}
    if profile.dataset.name not in DATASETS.built_in:
        contents["dataset.name"] = DATASETS.package(profile.dataset.name)
    sink = profile.sink
    if not profile.load.uses_kafka:
        return contents
    if sink.pipeline:
        contents["sink.pipeline"] = PIPELINES.package(sink.pipeline)
    elif sink.command:
        contents["sink.command"] = _digest(*_programs(sink.command, root))
    else:
        contents["sink.connector"] = _digest(json.dumps(load_template(sink.connector, root), sort_keys=True).encode())
    return contents


def _programs(command: Sequence[str], root: Path) -> Iterator[bytes]:
    """Content of the program that a command names, and of the files among its arguments, bare or as `--config=FILE`.

    Not of what these start or read, of files within a word (`sh -c 'python3 x.py'`), nor of a folder's.
    """
    for word in command:
        name = string.Template(word).safe_substitute(own_values(root))
        if name.startswith("-"):
            name = name.partition("=")[2] or name
        file = root / name if "/" in name else Path(shutil.which(name) or name)
        with contextlib.suppress(OSError):
            if file.is_file() and file.stat().st_size <= MOST_BYTES:
                yield file.read_bytes()


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]
