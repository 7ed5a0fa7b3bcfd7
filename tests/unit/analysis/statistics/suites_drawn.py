"""Suites in the shape of the source's ladder whose truth is known, and what the estimators say of them."""

import json
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.analysis.statistics.effects import holm_levels
from lab.analysis.statistics.means import SIGNIFICANCE, Mean, critical, means

Floats = NDArray[np.float64]

REFERENCES = (0, 1, 1, 1, 1, 1, 3, 3, 3, 3, 10)
"""By comparison: what variants 1 to 11 are compared with; 0 is the control, which runs once more as variant 12."""
COMPARISONS = len(REFERENCES)
HICCUP, HICCUPS = log(2), 0.1


def white(draw: np.random.Generator, shape: tuple[int, int, int], noise: float) -> Floats:
    """Noise as in a textbook, run by run."""
    return draw.normal(0, noise, shape)


def lasting(draw: np.random.Generator, shape: tuple[int, int, int], noise: float) -> Floats:
    """Noise that goes on from run to run, in the order in which they are drawn: AR(1), 0.6."""
    suites, blocks, variants = shape
    in_order = draw.normal(0, noise, (suites, blocks * variants))
    for run in range(1, blocks * variants):
        in_order[:, run] = 0.6 * in_order[:, run - 1] + 0.8 * in_order[:, run]
    order = np.argsort(draw.random(shape), axis=2)
    return np.take_along_axis(in_order.reshape(shape), order, axis=2)


def hiccups(draw: np.random.Generator, shape: tuple[int, int, int], noise: float) -> Floats:
    """Noise, and one run in ten takes twice as long."""
    return draw.normal(0, noise, shape) - HICCUP * (draw.random(shape) < HICCUPS)


def recorded(draw: np.random.Generator, shape: tuple[int, int, int], noise: float) -> Floats:
    """Noise of a real machine, as long as it lasted: stretches of runs of real suites, as they followed each other."""
    suites, blocks, variants = shape
    record = json.loads(Path(__file__).with_name("recorded_noise.json").read_text("utf-8"))
    series = np.concatenate([np.array(each) for each in record["suites"]])
    starts = draw.integers(0, len(series), suites)
    places = (starts[:, None] + np.arange(blocks * variants)) % len(series)
    in_order = series[places] / series.std() * noise
    order = np.argsort(draw.random(shape), axis=2)
    return np.take_along_axis(in_order.reshape(shape), order, axis=2)


NOISES = {"white": white, "lasting": lasting, "hiccups": hiccups, "unequal": white, "recorded": recorded}


def log_ratios(noise: str, suites: int, blocks: int, *, size: float = 0.08, seed: int = 1) -> Floats:
    """What each comparison finds in each block where nothing differs, A/A last: suites × comparisons × blocks.

    Args:
        noise: One of `NOISES`; `unequal`: the fourth comparison scatters a tenth and the eighth ten times as much.
        size: Standard deviation of one run.
    """
    runs = NOISES[noise](np.random.default_rng(seed), (suites, blocks, COMPARISONS + 2), size)
    references = runs[:, :, REFERENCES].copy()
    references[:, :, 0] = (runs[:, :, 0] + runs[:, :, -1]) / 2
    ratios = np.concatenate([runs[:, :, 1:-1] - references, runs[:, :, -1:] - runs[:, :, :1]], axis=2)
    if noise == "unequal":
        ratios[:, :, 3] *= 0.1
        ratios[:, :, 7] *= 10
    return ratios.transpose(0, 2, 1)


@dataclass(frozen=True, slots=True)
class Judged:
    """One suite's comparisons, A/A left out.

    Attributes:
        means: As the estimators give them.
        reaches: Half of the 95 % interval of each.
        held: Half of the interval after Holm.
    """

    means: tuple[Mean, ...]
    reaches: list[float]
    held: list[float]

    @property
    def detected(self) -> list[bool]:
        """Whether each interval leaves out no change."""
        return [abs(one.mean) > reach for one, reach in zip(self.means, self.held, strict=True)]


def judged(samples: list[list[float]]) -> Judged:
    """What the estimators say of one suite; the last comparison is A/A, which counts for the noise only."""
    known = means(samples)[:-1]
    levels = holm_levels([one.p_value or 0.0 for one in known])
    errors = [one.error or 0.0 for one in known]
    reaches = [critical(SIGNIFICANCE, one.freedom) * error for one, error in zip(known, errors, strict=True)]
    at = [critical(level, one.freedom) for level, one in zip(levels, known, strict=True)]
    return Judged(known, reaches, [bound * error for bound, error in zip(at, errors, strict=True)])
