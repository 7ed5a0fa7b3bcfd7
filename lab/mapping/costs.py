"""Rows of a suite of `sluice mapping`: the cost of each field, or a mapping beside dynamic mapping."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from lab.analysis.suite.folder import SuiteRecords
from lab.analysis.suite.names import percent, ratio_with_interval
from lab.analysis.text import UNKNOWN, bytes_text, figure
from lab.mapping.suites import CPU, DYNAMIC, RATE, SIZE, WITHOUT
from lab.mapping.units import Unit
from lab.records.suite import Effect, SuiteResult

TOO_FEW = "too few runs"
UNDECIDED = "undecided"


@dataclass(frozen=True)
class Cost:
    """Cost of a unit.

    Attributes:
        size, cpu: Effects of leaving it out; `None` where its runs failed.
    """

    unit: Unit
    size: Effect | None
    cpu: Effect | None

    @property
    def rank(self) -> tuple[float, float]:
        """The dearest first: by the larger of the costs that are decided, then by size."""
        return min(_decided(self.cpu), _decided(self.size)), _ratio(self.size)

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """Field, type, estimated bytes, and both costs with their intervals."""
        estimated = UNKNOWN if self.unit.disk_bytes is None else bytes_text(self.unit.disk_bytes)
        return (self.unit.name, self.unit.type, estimated, cost_text(self.size), cost_text(self.cpu))


def costs_of(result: SuiteResult, units: Iterable[Unit]) -> list[Cost]:
    """The costs of the units, the dearest first."""
    by_variant = {(effect.variant, *effect.key): effect for effect in result.effects}
    costs = [
        Cost(unit, *(by_variant.get((f"{WITHOUT}{unit.name}", *metric)) for metric in (SIZE, CPU))) for unit in units
    ]
    return sorted(costs, key=lambda cost: cost.rank)


def cost_text(effect: Effect | None) -> str:
    """The share that leaving a field out saves, with its interval: `12 % (10 to 14)`.

    A ratio r of the mapping without it to the whole one is a cost of 1 - r; the interval's ends change places.
    """
    if effect is None or effect.ratio is None or effect.low is None or effect.high is None:
        return TOO_FEW
    if effect.verdict == TOO_FEW:
        return TOO_FEW
    ends = f"{_share(1 - effect.high)} to {_share(1 - effect.low)}"
    if not _is_decided(effect):
        return f"{UNDECIDED} ({ends})"
    return f"{_share(1 - effect.ratio)} % ({ends})"


def _is_decided(effect: Effect) -> bool:
    """Check that its interval excludes "no cost"."""
    return effect.low is not None and effect.high is not None and not effect.low <= 1 <= effect.high


def _decided(effect: Effect | None) -> float:
    return 1.0 if effect is None or effect.verdict == TOO_FEW or not _is_decided(effect) else _ratio(effect)


def _ratio(effect: Effect | None) -> float:
    return 1.0 if effect is None or effect.ratio is None else effect.ratio


def _share(share: float) -> str:
    # Rounded first: 1 - 0.9 is less than a tenth.
    shown = percent(round(abs(share), 6)).removesuffix(" %")
    return f"-{shown}" if share < 0 and shown.strip("0.") else shown


def beside_dynamic(result: SuiteResult, mapping: str) -> list[tuple[str, str, str, str]]:
    """Metric, dynamic mapping, the mapping, and their ratio with its interval or why there is none."""
    rows = []
    for label, key in (("size on disk", SIZE), ("indexing rate", RATE), ("CPU per million", CPU)):
        values = {of.variant: figure(of.median, of.unit) for of in result.figures if of.key == key}
        effect = next((each for each in result.effects if (each.variant, each.key) == (mapping, key)), None)
        rows.append((label, values.get(DYNAMIC, UNKNOWN), values.get(mapping, UNKNOWN), _compared(effect)))
    return rows


def _compared(effect: Effect | None) -> str:
    if effect is None or effect.verdict == TOO_FEW:
        return TOO_FEW
    text = ratio_with_interval(effect)
    return f"{UNDECIDED}: {text}" if effect.verdict == UNDECIDED else text


def rejected(suite: SuiteRecords, variants: Sequence[str]) -> tuple[str, ...]:
    """Documents of a run that were rejected, by variant: the median of its runs that count."""
    counts = ([run.result.documents.dead_lettered for run in suite.of_variant(name)] for name in variants)
    return tuple(f"{median(known):,.0f}" if (known := [each or 0 for each in of]) else UNKNOWN for of in counts)
