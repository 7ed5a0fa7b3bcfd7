"""The forest plot of a metric: ratios with intervals along one axis, as places in percent of its width."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lab.analysis.statistics.effects import change_text, is_speed
from lab.analysis.suite.comparison_table import Row
from lab.analysis.suite.names import ratio_text
from lab.analysis.suite.summary import TOO_FEW
from lab.records.suite import Effect

TICKS = (0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 0.95, 0.98, 1, 1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20)
BEYOND = 1.5
"""How far an interval may stretch the axis beyond the outermost ratio."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis of ratios.

    Attributes:
        less, more: What a ratio below 1 and one above it mean.
    """

    first: float
    last: float
    less: str
    more: str

    def place(self, ratio: float) -> float:
        """Place of a ratio, from 0 on the left to 100 on the right; a ratio beyond an end is placed at it."""
        share = math.log(ratio / self.first) / math.log(self.last / self.first)
        return round(100 * min(1.0, max(0.0, share)), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places of round ratios, with the changes that they are."""
        return [
            (self.place(tick), "0" if tick == 1 else change_text(tick).replace(".0", ""))
            for tick in ticks(self.first, self.last, gap=0.11)
        ]


@dataclass(frozen=True, slots=True)
class PlotRow:
    """A row of the plot: one comparison.

    Attributes:
        low, high: Ends of the interval; `None` without one that the verdict is taken from.
        is_cut: Whether the interval goes on beyond the left and the right end of the axis.
        blocks: The ratio in each block, as far as the axis holds it.
        is_beyond: Whether a block lies beyond the left and the right end of the axis.
        words: The same for those who point at it or cannot see it.
    """

    point: float
    low: float | None
    high: float | None
    is_cut: tuple[bool, bool]
    blocks: tuple[float, ...]
    is_beyond: tuple[bool, bool]
    published: float | None
    words: str


def axis(rows: Sequence[Row], metric: str) -> Axis:
    """From the smallest to the largest ratio, ours and published, and as much of intervals and blocks as is of use."""
    ratios = [1.0, *(row.effect.ratio for row in rows if row.effect and row.effect.ratio)]
    ratios += [row.published.published_ratio for row in rows if row.published]
    least, most = min(ratios), max(ratios)
    effects = [row.effect for row in rows if row.effect]
    ends = [end for effect in effects for end in (*_interval(effect), *effect.ratios) if end]
    first = max(least / BEYOND, min([least, *ends]))
    last = min(most * BEYOND, max([most, *ends]))
    margin = max(1.01, (last / first) ** 0.04)
    words = {1: ("slower", "faster"), -1: ("faster", "slower"), 0: ("lower", "higher")}[is_speed(metric)]
    return Axis(first / margin, last * margin, *words)


def plot_row(row: Row, along: Axis) -> PlotRow | None:
    """A comparison along an axis; `None` where nothing was measured."""
    effect = row.effect
    if effect is None or not effect.ratio:
        return None
    low, high = _interval(effect)
    blocks = tuple(ratio for ratio in effect.ratios if ratio)
    return PlotRow(
        point=along.place(effect.ratio),
        low=along.place(low) if low else None,
        high=along.place(high) if high else None,
        is_cut=(low is not None and low < along.first, high is not None and high > along.last),
        blocks=tuple(along.place(ratio) for ratio in blocks if along.first <= ratio <= along.last),
        is_beyond=(min(blocks, default=1) < along.first, max(blocks, default=1) > along.last),
        published=along.place(row.published.published_ratio) if row.published else None,
        words=f"ratio {ratio_text(effect.ratio)}; by block {', '.join(map(ratio_text, blocks))}",
    )


def _interval(effect: Effect) -> tuple[float | None, float | None]:
    """The interval that the verdict is taken from: none of too few runs, as in the cell beside the plot."""
    return (None, None) if effect.verdict == TOO_FEW else (effect.low, effect.high)


def ticks(first: float, last: float, gap: float = 0.085) -> list[float]:
    """Round ratios within an axis, 1 among them, that leave room for their labels.

    Args:
        gap: Smallest part of the axis between two labels.
    """
    least = gap * math.log(last / first)
    chosen = [1.0]
    for tick in sorted(TICKS, key=lambda tick: abs(math.log(tick))):
        if first <= tick <= last and all(abs(math.log(tick / other)) >= least for other in chosen):
            chosen.append(tick)
    return sorted(chosen)
