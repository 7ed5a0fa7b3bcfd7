"""Millions of documents drained: the last tenth takes as long as the second, and the lab needs no more memory."""

import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from lab.analysis.figures.rates import answered, index_totals, read_s
from lab.analysis.folder import RunFolder, read_run
from lab.records.run import Phase
from tests.endurance.footprint import Command, footprint, running
from tests.endurance.say import say
from tests.endurance.slopes import Slope, Verdict, slope_of_blocks
from tests.endurance.tenths import TENTHS, tenth_rates, trend
from tests.integration.conftest import Sluice

PROFILE = "quickstart"
BYTES_A_DOCUMENT = 4_000
"""Of disk, at most: its record in the topic, its copies in the index before and after a merge."""
SPARE_BYTES = 10e9
"""Of disk that stay free: others use it, too, and Elasticsearch makes indices read-only at the end of a disk."""
EVERY_S = 2.0
SLOWER = 0.05
LAST_SLOWER = 0.2
"""Of the last two tenths together: more than tenths scatter, and a slump at the end is far from any line."""
MORE_MEMORY = 0.02
"""Growth of the lab's memory over the whole load, as a share, that nobody minds."""
WARM_UP = 0.1
"""Part of the load in which the lab's memory is not judged, as the first tenth of the documents is not."""


def refuse_without_room(documents: int, folder: Path) -> None:
    """Fail before anything is started on a disk that is too small."""
    needed, free = documents * BYTES_A_DOCUMENT + SPARE_BYTES, shutil.disk_usage(folder).free
    if free < needed:
        pytest.fail(f"--drain {documents}: {folder}: got {free / 1e9:.0f} GB of disk, expected {needed / 1e9:.0f} GB")


def memory_of(command: Command) -> list[tuple[float, float]]:
    """Resident memory of a command in MB, again and again until it ends, each with its instant."""
    read = []
    while not command.has_ended:
        at_s = time.time()
        taken = footprint(command.pid)["resident memory"]
        if taken:  # none is left of a process that has ended and that nobody has waited for
            read.append((at_s, taken))
        time.sleep(EVERY_S)
    return read


def phase_of(run: RunFolder, name: str) -> Phase:
    """When a phase was."""
    return next(phase for phase in run.run.phases if phase.name == name)


def peak_mb(read: list[tuple[float, float]], phase: Phase) -> float | None:
    """The most memory in a phase; `None` where it was over between two readings."""
    return max((mb for at_s, mb in read if phase.started_s <= at_s <= phase.ended_s), default=None)


def in_load(read: list[tuple[float, float]], load: Phase) -> Slope:
    """Growth of memory over the whole load, as a share of its mean, of 1 for all of it."""
    seconds = load.ended_s - load.started_s
    kept = [(at_s, mb) for at_s, mb in read if load.started_s + WARM_UP * seconds <= at_s <= load.ended_s]
    mean = sum(mb for _, mb in kept) / len(kept)
    return slope_of_blocks([at_s / seconds for at_s, _ in kept], [mb / mean for _, mb in kept])


def percent(slope: Slope) -> str:
    """A growth with its interval."""
    low, high = slope.interval()
    return f"{slope.growth:+.1%} ({low:+.1%} to {high:+.1%})"


@pytest.mark.timeout(0)
def test_a_drain_is_as_fast_at_its_end_as_at_its_beginning(
    drain_documents: int, own_sluice: Sluice, report: Path
) -> None:
    """Not slower by more than 5 % from the second tenth to the last, in the same memory."""
    refuse_without_room(drain_documents, own_sluice.state.parent)
    words = ("run", PROFILE, "--documents", str(drain_documents), "--no-page", "--runs", str(own_sluice.runs))
    with running(own_sluice, report / "run.txt", *words, "--set", "load.timeout_s=36000") as command:
        read = memory_of(command)
        assert command.stop() == 0, command.text()
    run, result = read_run(own_sluice.latest()), own_sluice.result()
    load = phase_of(run, "load")
    loaded = [sample for sample in answered(run.samples) if sample.at_s >= load.started_s]
    totals = [total or 0 for total in index_totals(loaded)]
    rates = tenth_rates([read_s(sample) for sample in loaded], totals, drain_documents)
    slowing, memory = trend(rates), in_load(read, load)
    peaks = {phase.name: peak_mb(read, phase) for phase in run.run.phases}
    lines = [
        f"# A drain of {drain_documents:,} documents",
        "",
        f"- load: {load.ended_s - load.started_s:,.0f} s; {result.status}",
        f"- documents/s, second tenth to last: {', '.join(f'{rate:,.0f}' for rate in rates)}",
        f"- last tenth against second: {rates[-1] / rates[0] - 1:+.1%}; by a line through all: {percent(slowing)}",
        f"- memory of the lab over the load: {memory.verdict(MORE_MEMORY)}, {percent(memory)}",
        f"- its peak by phase, in MB: {', '.join(f'{name} {mb:,.0f}' for name, mb in peaks.items() if mb is not None)}",
        "",
    ]
    (report / "drain.md").write_text("\n".join(lines), "utf-8")
    say("\n".join(lines))
    assert result.status == "verified"
    assert len(rates) == TENTHS - 1
    assert slowing.interval()[1] >= -SLOWER
    assert np.mean(rates[-2:]) >= (1 - LAST_SLOWER) * np.median(rates[:-2])
    assert memory.verdict(MORE_MEMORY) is not Verdict.GROWS
