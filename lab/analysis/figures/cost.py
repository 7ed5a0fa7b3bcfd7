"""Costs of the servers: CPU, memory, disk."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from lab.analysis.figures.rates import Point, differences, growth, rate_per_s, read_s, sum_of_all
from lab.records.run import Run
from lab.records.samples import NodeCounters, ProcessSample, Sample


def servers_are_here(run: Run) -> bool:
    """Check that the servers shared the sampled machine; of servers elsewhere no process is known."""
    return any(server.pid is not None for server in run.environment.servers)


def process_names(samples: Iterable[Sample]) -> list[str]:
    """The servers seen, in alphabetical order."""
    return sorted({name for sample in samples for name in sample.processes})


def used(samples: Iterable[Sample], name: str, counter: Callable[[ProcessSample], float | None]) -> float | None:
    """Use of one server from the first sample to the last, piecewise by pid.

    A server that was started again begins at zero, so that all its new process has used counts; what the old one used
    after the last look at it is not known. `None` when there is nothing to take a difference of.
    """
    by_pid: dict[int, list[float]] = {}
    for sample in samples:
        process = sample.processes.get(name)
        value = counter(process) if process else None
        if process and value is not None:
            by_pid.setdefault(process.pid, []).append(value)
    first, *others = by_pid.values() or ([],)
    if len(first) < 2 and not others:
        return None
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
    return used_per_s(window, name, lambda process: process.cpu_s)


def used_per_s(window: Sequence[Sample], name: str, counter: Callable[[ProcessSample], float | None]) -> float | None:
    """Use of one server per second, from the first sample of the window that knows it to the last."""
    spent = used(window, name, counter)
    instants_s = [
        sample.at_s for sample in window if (process := sample.processes.get(name)) and counter(process) is not None
    ]
    if spent is None or instants_s[-1] <= instants_s[0]:
        return None
    return spent / (instants_s[-1] - instants_s[0])


def process_series(samples: Sequence[Sample], name: str, counter: str) -> list[Point]:
    """Growth per second of a counter of one server, such as `major_page_faults`; `None` where it was started again."""

    def rate(before: Sample, after: Sample) -> float | None:
        first, last = before.processes.get(name), after.processes.get(name)
        if first is None or last is None or first.pid != last.pid:
            return None
        return rate_per_s(getattr(first, counter), getattr(last, counter), after.at_s - before.at_s)

    return [
        Point(after.at_s, point.value) for point, after in zip(differences(samples, rate), samples[1:], strict=True)
    ]


def cpu_cores_series(samples: Sequence[Sample], name: str) -> list[Point]:
    """Cores that one server kept busy from each sample to the next; `None` where it was started again."""
    return process_series(samples, name, "cpu_s")


def other_cores_series(samples: Sequence[Sample], processes: Sequence[Sequence[Point]], cores: float) -> list[Point]:
    """Cores that the machine kept busy beside the processes that are sampled, from each sample to the next.

    Args:
        processes: `cpu_cores_series` of each of them.
        cores: Those that the run may use.
    """
    others = []
    for place, sample in enumerate(samples[1:]):
        percent = sample.machine_cpu_percent
        taken = sum(points[place].value or 0.0 for points in processes)
        others.append(Point(sample.at_s, None if percent is None else max(0.0, percent / 100 * cores - taken)))
    return others


def restarted(samples: Sequence[Sample]) -> list[str]:
    """The servers whose pid changed."""
    pids = {(name, process.pid) for sample in samples for name, process in sample.processes.items()}
    processes = Counter(name for name, _ in pids)
    return sorted(name for name in processes if processes[name] > 1)


def by_node(samples: Iterable[Sample]) -> dict[str, list[NodeCounters]]:
    """Statistics of each Elasticsearch node, by its name in alphabetical order, oldest first."""
    readings = defaultdict(list)
    for sample in samples:
        for name, counters in (sample.elasticsearch.nodes if sample.elasticsearch else {}).items():
            readings[name].append(counters)
    return dict(sorted(readings.items()))


def node_sums(samples: Sequence[Sample], value: Callable[[NodeCounters], int | None]) -> list[Point]:
    """A figure of the nodes, summed over them, at each sample; `None` where one of them does not tell it."""
    nodes = ((sample, sample.elasticsearch.nodes.values() if sample.elasticsearch else ()) for sample in samples)
    return [Point(read_s(sample), sum_of_all(map(value, of_sample))) for sample, of_sample in nodes]


def gc_time_ms(readings: Iterable[NodeCounters]) -> int | None:
    """Pauses of a node, young and old together; `None` under a collector that does not count them so."""
    pauses = [(counters.gc_young_time_ms, counters.gc_old_time_ms) for counters in readings]
    return growth(None if pair == (None, None) else sum(spent or 0 for spent in pair) for pair in pauses)
