"""The whole program on a machine whose Elasticsearch is the played server: commands, what they store, and the truth."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson

from lab.analysis.figures.definitions import value_of
from lab.records.result import Result
from tests.worlds import stand_in

VERSION = "8.19.21"
COMMAND_TIMEOUT_S = 3600


@dataclass(frozen=True)
class Row:
    """One figure that a command has told, beside the truth.

    Attributes:
        truth: What it should be.
        tolerance: As a share of the truth, for a figure without an interval.
        low, high: The interval that was told.
    """

    case: str
    figure: str
    truth: float | str
    told: float | str | None
    tolerance: float = 0.0
    low: float | None = None
    high: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the truth lies in the interval, or what was told is near enough to it.

        Nothing told is not false, nor what was told of a window that the run does not name.
        """
        if self.told is None or self.truth != self.truth:
            return True
        if isinstance(self.truth, str) or not isinstance(self.told, float | int):
            return self.told == self.truth
        if self.low is not None and self.high is not None:
            return self.low <= self.truth <= self.high
        return abs(self.told - self.truth) <= self.tolerance * abs(self.truth)

    def text(self) -> str:
        """A line of the table."""
        interval = "" if self.low is None or self.high is None else f"{self.low:,.4g} to {self.high:,.4g}"
        bound = interval or (f"±{100 * self.tolerance:.2g} %" if self.tolerance else "")
        cells = (self.case, self.figure, number(self.truth), number(self.told), bound)
        return "{:28} {:44} {:>18} {:>18} {:>20}  {}".format(*cells, "holds" if self.holds else "FALSE")


def number(value: float | str | None) -> str:
    """A value in the table."""
    return f"{value:,.4g}" if isinstance(value, float | int) else str(value)


class Bench:
    """A cache, a state folder and a folder of runs of its own.

    Attributes:
        said: The output of each command, for whoever looks for what was told.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.said: list[str] = []

    @property
    def environment(self) -> dict[str, str]:
        """What a command sees."""
        places = {"SLUICE_CACHE": str(self.folder / "cache"), "SLUICE_STATE": str(self.folder / "state")}
        return {**os.environ, **places, "COLUMNS": "200", "CI": "1"}

    def __call__(self, *words: str, expect: int | None = 0) -> str:
        """Run a command to its end; what it has printed.

        Args:
            expect: Its exit status; `None` for any.

        Raises:
            RuntimeError: It ended otherwise than expected.
        """
        command = [str(stand_in.ROOT / "sluice"), *words]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False
        )
        output = f"$ ./sluice {' '.join(words)}\n{done.stdout}{done.stderr}"
        self.said.append(output)
        if expect is not None and done.returncode != expect:
            raise RuntimeError(f"exit status {done.returncode}: {output}")
        return output

    def measure(self, *words: str, expect: int | None = 0) -> str:
        """Run a command that writes into the folder of runs."""
        return self(*words, "--runs", str(self.runs), expect=expect)

    def tell(self, *arguments: str) -> None:
        """Have servers whose Elasticsearch serves at this pace, and has forgotten all that it did before."""
        stand_in.make(self.folder / "cache", VERSION, arguments)
        is_there = (self.folder / "state" / "kept").is_dir()
        self(*(("restart", "elasticsearch-1") if is_there else ("up",)))

    @property
    def elasticsearch(self) -> str:
        """The address of the played server."""
        match = re.search(r"ELASTICSEARCH_URL=(\S+)", self("env"))
        if match is None:
            raise RuntimeError("no address")
        return match[1]

    def truth(self) -> dict[str, Any]:
        """What the played server did since it was told its pace."""
        return dict(httpx.get(f"{self.elasticsearch}/_truth", timeout=60).json())

    def latest(self, *folders: str) -> Path:
        """The newest folder of a profile, a suite or a tune."""
        return max(path for path in self.runs.joinpath(*folders).iterdir() if path.name[0].isdigit())

    def result(self, profile: str = "quickstart") -> "Told":
        """The newest run of a profile."""
        return told(self.latest(profile), self.truth())


@dataclass(frozen=True)
class Told:
    """What a run says of itself, and the truth about it."""

    result: Result
    truth: Mapping[str, Any]
    used_cpu_s: Sequence[Sequence[float]]

    @property
    def cpu_us(self) -> float:
        """CPU that the played server used for a document, from the start of the load to the end of its merges."""
        ends_s = {phase.name: phase.ended_s for phase in self.result.phases}
        began_s = next(phase.started_s for phase in self.result.phases if phase.name == "load")
        at_s, cpu_s = zip(*self.used_cpu_s, strict=True)
        used_s = np.interp([began_s, ends_s.get("settle", ends_s["load"])], at_s, cpu_s)
        return float(1e6 * (used_s[1] - used_s[0]) / self.truth["documents"])

    def value(self, name: str, scope: str = "run") -> float | None:
        """A figure that it tells."""
        return value_of(self.result.metrics, name, scope)

    @property
    def served_docs_per_s(self) -> float:
        """The rate at which documents were served in the measured window."""
        window = self.result.measured_window
        return self.served("documents") / (window.ended_s - window.started_s) if window else nan

    @property
    def served_latency_ms(self) -> float:
        """How long each document of the measured window occupied a worker."""
        return 1000 * self.served("busy_s") / self.served("documents") if self.result.measured_window else nan

    @property
    def saturation(self) -> float:
        """The share of the measured window in which the workers had something to do."""
        window = self.result.measured_window
        return (
            self.served("busy_s") / (window.ended_s - window.started_s) / self.truth["pace"]["workers"]
            if window
            else nan
        )

    def served(self, name: str) -> float:
        """What the played server counted in the measured window; of a bin that it cuts, its share."""
        window = self.result.measured_window
        assert window is not None
        return sum(
            float(each[name] * overlap_s / (each["ended_s"] - each["at_s"]))
            for each in self.truth["bins"]
            if (overlap_s := min(window.ended_s, each["ended_s"]) - max(window.started_s, each["at_s"])) > 0
        )


def told(folder: Path, truth: Mapping[str, Any]) -> Told:
    """What the run in a folder says, and the truth about the index that it filled."""
    result = Result.model_validate_json((folder / "result.json").read_bytes())
    (load,) = (phase for phase in result.phases if phase.name == "load")
    (index,) = (each for each in truth["indices"] if load.started_s <= each["began_s"] <= load.ended_s)
    return Told(result, index, truth["used_cpu_s"])


def counted_runs(suite: Path, truth: Mapping[str, Any]) -> list[tuple[str, Told]]:
    """The runs of a suite that count, by variant, with the truth about each."""
    runs = [orjson.loads(line) for line in (suite / "runs.ndjson").read_bytes().splitlines()]
    counted = [run for run in runs if run["block"] and run["status"] == "verified"]
    return [(run["variant"], told(suite / run["folder"], truth)) for run in counted]


@contextmanager
def bench() -> Iterator[Bench]:
    """A bench in a temporary folder that the servers' user may enter; its servers end with it."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-played-"))
    folder.chmod(0o755)
    made = Bench(folder)
    try:
        yield made
    finally:
        made("down")
        shutil.rmtree(folder, ignore_errors=True)


def table(rows: Sequence[Row]) -> str:
    """All rows, and how many hold."""
    head = Row("case", "figure", "truth", "told").text().replace("FALSE", "")
    return "\n".join([head, *(row.text() for row in rows), f"{sum(row.holds for row in rows)} of {len(rows)} hold"])
