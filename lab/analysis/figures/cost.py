"""What the servers have used: CPU, memory, disk."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from lab.analysis.figures.rates import Point, differences
from lab.records import ProcessSample, Run, Sample


def servers_are_here(run: Run) -> bool:
    """Whether the servers shared the machine that the samples tell of; of servers elsewhere no process is known."""
    return any(server.pid is not None for server in run.environment.servers)


def process_names(samples: Iterable[Sample]) -> list[str]:
    """The servers seen, in alphabetical order."""
    return sorted({name for sample in samples for name in sample.processes})


def used(samples: Iterable[Sample], name: str, counter: Callable[[ProcessSample], float | None]) -> float | None:
    """What one server has used from the first sample to the last, piecewise by pid.

    A server that was started again begins at zero, so that all its new process has used counts; what the old one used
    after the last look at it is not known. `None` when there is nothing to take a difference of.
    """
    seen: dict[int, list[float]] = {}
    for sample in samples:
        process = sample.processes.get(name)
        value = counter(process) if process else None
        if process and value is not None:
            seen.setdefault(process.pid, []).append(value)
    if not seen or (len(seen) == 1 and len(next(iter(seen.values()))) < 2):
        return None
    first, *others = seen.values()
    return first[-1] - first[0] + sum(values[-1] for values in others)


def cpu_s_used(samples: Iterable[Sample], name: str) -> float | None:
    """CPU seconds, user and system, that one server has used from the first sample to the last."""
    return used(samples, name, lambda process: process.cpu_s)


def cpu_s_per_million_docs(cpu_s: float | None, documents: int) -> float | None:
    """CPU seconds for a million documents: the figure that does not change with the number of idle cores.

    Source: 3.9 CPU-s for 100 000 documents = 39 CPU-s per million.
    """
    if cpu_s is None or not documents:
        return None
    return cpu_s / documents * 1e6


def cpu_cores_mean(window: Sequence[Sample], name: str) -> float | None:
    """Cores that one server kept busy over the window, on average."""
    seen = [sample for sample in window if name in sample.processes]
    cpu_s = cpu_s_used(seen, name)
    if cpu_s is None or seen[-1].at_s <= seen[0].at_s:
        return None
    return cpu_s / (seen[-1].at_s - seen[0].at_s)


def cpu_cores_series(samples: Sequence[Sample], name: str) -> list[Point]:
    """Cores that one server kept busy from each sample to the next; `None` where it was started again."""

    def cores(before: Sample, after: Sample) -> float | None:
        first, last = before.processes.get(name), after.processes.get(name)
        if first is None or last is None or first.pid != last.pid:
            return None
        return max(0.0, last.cpu_s - first.cpu_s) / (after.at_s - before.at_s)

    return [
        Point(after.at_s, point.value) for point, after in zip(differences(samples, cores), samples[1:], strict=True)
    ]


def restarted(samples: Sequence[Sample]) -> list[str]:
    """The servers whose pid changed."""
    return [name for name in process_names(samples) if _pid_changed(samples, name)]


def _pid_changed(samples: Sequence[Sample], name: str) -> bool:
    pids = [sample.processes[name].pid for sample in samples if name in sample.processes]
    return any(before != after for before, after in pairwise(pids))
