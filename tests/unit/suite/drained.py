"""Servers whose limit is known: each drain has the start of its connector, a ramp, and noise."""

from collections.abc import Hashable
from pathlib import Path

import numpy as np

from lab.analysis.result import analysed
from lab.analysis.statistics.warm_up import is_warm
from lab.records.result import Result
from lab.records.suite import SuitePlan, Variant
from lab.run.folder import RunFolder
from lab.suite.execution import SuiteExecution
from lab.suite.folder import SuiteFolder
from lab.suite.loads import LoadSizes
from tests.unit.suite.test_suite_execution import Silent, a_plan
from tests.worlds.recorded import Known, Machine, recorded_run

CONNECTOR_STARTS_S = 1.43
"""From the start of the load to the first document, in recorded runs."""
RAMP = (0.5, 0.8, 0.95)
"""Share of the limit in the first seconds of a drain, while caches fill and code is compiled."""
AROUND_S = 9.0
BASE_DOCUMENTS = 60_000
NAMES = ("control", "static")


class DrainedServers:
    """A bench that takes so many documents per second.

    Attributes:
        within: Standard deviation of a second's rate.
        between: That of a run's, around the limit.
        times: By what the documents of runs that are not short are multiplied.
        rate_docs_per_s: Of streams in place of drains; `None` for drains.
    """

    def __init__(
        self, limit_docs_per_s: float, *, between: float, within: float, seed: int, documents: int = BASE_DOCUMENTS
    ) -> None:
        self.limit_docs_per_s, self.between, self.within, self.documents = limit_docs_per_s, between, within, documents
        self.draw = np.random.default_rng(seed)
        self.times, self.rate_docs_per_s = 1.0, None
        self.now_s = 1_800_000_000.0
        self.run_ids: set[str] = set()
        self.ran: list[tuple[str, bool, float]] = []

    def prepare(self, variant: Variant) -> frozenset[Hashable]:  # noqa: ARG002 - as a bench has it
        """One server."""
        return frozenset({"elasticsearch"})

    def replace(self, *_: object) -> None:
        """The test does it."""

    def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool, short: bool, **_: object) -> Result:  # noqa: ARG002 - as a bench has it
        """A drain, or a stream, that is analysed as every run is."""
        rate = None if short else self.rate_docs_per_s
        self.ran.append((variant.name, warm_up, rate or 0.0))
        documents = round(self.documents * (1 if short else self.times)) if rate is None else round(20 * rate)
        return self.drain(documents, rate or self.limit_docs_per_s * self.draw_run())

    def draw_run(self) -> float:
        """How fast this run is, against the limit."""
        return float(np.exp(self.draw.normal(0, self.between)))

    def drain(self, documents: int, rate_docs_per_s: float) -> Result:
        """Figures of a run."""
        machine = Machine(start_s=CONNECTOR_STARTS_S, ramp=RAMP, within=self.within, sample_s=1.0)
        made = recorded_run(Known(rate_per_s=rate_docs_per_s), machine, documents, self.draw)
        load = next(phase for phase in made.run.phases if phase.name == "load")
        self.now_s += AROUND_S + load.ended_s - load.started_s
        return analysed(made).result


def streaming(tmp_path: Path, bench: DrainedServers, rate: str = "70 %", **changes: object) -> SuitePlan:
    """The plan of a suite of one block at a rate, once it has run on the bench."""
    plan = a_plan(names=NAMES, repeats=1)
    variants = tuple(variant.model_copy(update={"documents": bench.documents}) for variant in plan.variants)
    folder = SuiteFolder.begin(tmp_path, plan.model_copy(update={"variants": variants, "rate": rate, **changes}))

    def resize(wanted: LoadSizes) -> SuitePlan:
        bench.times, bench.rate_docs_per_s = wanted.times or 1, wanted.rate_docs_per_s
        folder.write_plan(folder.plan().model_copy(update=vars(wanted)))
        return folder.plan()

    SuiteExecution(folder, bench, Silent(), is_warm=is_warm, resize=resize, clock=lambda: bench.now_s).execute()
    return folder.plan()
