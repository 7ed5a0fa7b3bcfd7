"""What the runs of a suite do not have in common, although they should."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from lab.analysis.suite.folder import CountedRun, SuiteFolder
from lab.analysis.text import bytes_text

FactsOf: TypeAlias = Callable[[CountedRun], Mapping[str, object]]


def differences(folder: SuiteFolder) -> list[str]:
    """What differs, with the values: machine and Sluice over all runs, servers and documents within a variant."""
    everywhere = list(folder.counted.values())
    found = [*_differing("", everywhere, _machine)]
    for variant in folder.plan.variants:
        found += _differing(f"{variant.name}: ", folder.of_variant(variant.name), _of_variant)
    return found


def _machine(counted: CountedRun) -> Mapping[str, object]:
    environment = counted.result.environment
    return {
        "machine": environment.machine,
        "CPU model": environment.cpu_model,
        "CPU cores": environment.cpu_cores,
        "memory": bytes_text(environment.memory_bytes),
        "kernel": environment.kernel,
        "target": environment.target,
        "Python": environment.python_version,
        "Sluice": environment.sluice_version,
        "commit of Sluice": environment.git_commit,
    }


def _of_variant(counted: CountedRun) -> Mapping[str, object]:
    environment = counted.result.environment
    return {
        "documents": counted.result.documents.produced,
        "cluster settings": environment.cluster_settings or "none",
        **{f"version of {server.name}": server.version for server in environment.servers},
        **{f"Java for {name}": version for name, version in environment.java_versions.items()},
    }


def _differing(where: str, runs: list[CountedRun], facts_of: FactsOf) -> Iterator[str]:
    seen: dict[str, list[str]] = {}
    for counted in runs:
        for name, value in facts_of(counted).items():
            seen.setdefault(name, []).append(str(value))
    for name, values in seen.items():
        distinct = sorted(set(values))
        if len(distinct) > 1:
            yield f"{where}{name}: {' and '.join(distinct)}"
