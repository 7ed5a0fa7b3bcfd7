"""What went into a run: what two runs must share for their figures to be compared, and what may differ on purpose."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TypeAlias

from lab.analysis.folder import RunFolder
from lab.records import Environment

Inputs: TypeAlias = dict[str, str]
"""By name, as a reader sees them."""

UNKNOWN_INPUT = "not known"
SIZE_KEYS = {"documents", "books", "duration", "name", "seed"}
OF_ONE_INDEX = {"index.uuid", "index.creation_date", "index.provided_name", "index.version.created"}
TRIED_SECTIONS = ("mapping", "topic", "producer", "sink", "elasticsearch", "load", "sampling")

LOAD = "load.mode"
"""The one setting that is no matter of choice: a stream goes at its own rate, and a drain as fast as it can."""

PER_DOCUMENT = frozenset({"documents", "bytes", "dataset.model"})
"""Inputs that only matter to figures that count documents: books nested or flat are the same books."""


def inputs(folder: RunFolder) -> Inputs:
    """What another run must share with this one: documents, machine, versions; what is tried is not in here."""
    run = folder.run
    dataset = _section(folder, "dataset")
    return {
        "status": "verified" if run.verification.verified else "failed",
        "dataset": str(dataset.get("name", UNKNOWN_INPUT)),
        "seed": str(dataset.get("seed", UNKNOWN_INPUT)),
        "entities": _known(run.entities),
        **({"dataset.content": run.content_hash} if run.content_hash else {}),
        "documents": str(run.documents.produced),
        "bytes": _known(run.source_bytes),
        **{f"dataset.{key}": str(value) for key, value in sorted(dataset.items()) if key not in SIZE_KEYS},
        LOAD: run.load,
        **_machine(run.environment),
    }


def tried(folder: RunFolder) -> Inputs:
    """What a profile may try: its settings, and those of the index as Elasticsearch gives them."""
    profile = {name: _section(folder, name) or _plain(folder, name) for name in TRIED_SECTIONS}
    index = {name: value for name, value in folder.run.environment.index_settings.items() if name not in OF_ONE_INDEX}
    settings = {**dict(_flat("", profile)), **dict(_flat("", index))}
    return {name: value for name, value in settings.items() if name != LOAD}


def differences(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The inputs that are not the same, with both values, in the order of the first."""
    names = [*first, *(name for name in second if name not in first)]
    pairs = {name: (first.get(name, UNKNOWN_INPUT), second.get(name, UNKNOWN_INPUT)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def together(sides: Iterable[Inputs]) -> Inputs:
    """The inputs of several runs as one; where the runs themselves differ, every value that occurs."""
    seen: dict[str, list[str]] = {}
    for side in sides:
        for name, value in side.items():
            seen.setdefault(name, []).append(value)
    return {name: " and ".join(sorted(set(values))) for name, values in seen.items()}


def _machine(environment: Environment) -> Inputs:
    servers = [(_kind(server.name), server.version) for server in environment.servers]
    javas = [(_kind(name), version) for name, version in environment.java_versions.items()]
    return {
        "machine": environment.machine,
        "cpu_model": environment.cpu_model,
        "cpu_cores": str(environment.cpu_cores),
        "memory": f"{environment.memory_bytes / 1e9:.1f} GB",
        "kernel": environment.kernel,
        "target": environment.target,
        **{f"version.{kind}": versions for kind, versions in _by_kind(servers)},
        **{f"java.{kind}": versions for kind, versions in _by_kind(javas)},
        "python": environment.python_version,
        "sluice": environment.sluice_version,
        "commit": environment.git_commit or UNKNOWN_INPUT,
    }


def _by_kind(named: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    grouped = groupby(sorted(set(named)), key=lambda pair: pair[0])
    return [(kind, " and ".join(value for _, value in pairs)) for kind, pairs in grouped]


def _kind(server: str) -> str:
    """`elasticsearch` for `elasticsearch-2`: how many nodes there are is something to be tried."""
    stem, _, number = server.rpartition("-")
    return stem if number.isdigit() else server


def _known(value: int | None) -> str:
    return UNKNOWN_INPUT if value is None else str(value)


def _section(folder: RunFolder, name: str) -> dict[str, object]:
    section = (folder.profile or {}).get(name)
    return section if isinstance(section, dict) else {}


def _plain(folder: RunFolder, name: str) -> object:
    return (folder.profile or {}).get(name, UNKNOWN_INPUT)


def _flat(prefix: str, value: object) -> Iterable[tuple[str, str]]:
    if not isinstance(value, Mapping):
        yield prefix, str(value)
        return
    for key, inner in value.items():
        yield from _flat(f"{prefix}.{key}" if prefix else str(key), inner)
