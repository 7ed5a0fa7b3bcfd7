"""Turns a suite's folder into figures, comparisons, an answer, and a report for a reader."""

from lab.analysis.suite.comparisons import EffectOf
from lab.analysis.suite.result import analyse_suite

__all__ = ["EffectOf", "analyse_suite"]
