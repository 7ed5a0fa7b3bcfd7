"""What the nodes use while indices are deployed: their CPU time and what they read from and write to their disks."""

from lab.monitor.processes import ProcessReader
from lab.records.deployment import NodeWork
from lab.records.samples import ProcessSample
from lab.run.phases import RunContext

NODES = "elasticsearch-"


class WorkOfNodes:
    """The use of every node from one instant on."""

    def __init__(self, run: RunContext) -> None:
        def nodes() -> dict[str, int]:
            return {name: pid for name, pid in run.target.process_ids().items() if name.startswith(NODES)}

        self._reader = ProcessReader(nodes)
        self._before, _ = self._reader.read()

    def since(self) -> dict[str, NodeWork]:
        """What each has used since; a node whose process is another one now is left out."""
        now, _ = self._reader.read()
        return {
            name: used(self._before[name], sample)
            for name, sample in now.items()
            if name in self._before and self._before[name].pid == sample.pid
        }


def used(before: ProcessSample, now: ProcessSample) -> NodeWork:
    """The growth of a process's counters."""

    def grown(first: int | None, last: int | None) -> int | None:
        return None if first is None or last is None else last - first

    return NodeWork(
        cpu_s=round(now.cpu_s - before.cpu_s, 2),
        disk_read_bytes=grown(before.disk_read_bytes, now.disk_read_bytes),
        disk_write_bytes=grown(before.disk_write_bytes, now.disk_write_bytes),
    )
