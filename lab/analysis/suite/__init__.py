"""Turns a suite's folder into figures, comparisons, an answer, and a report for a reader."""

from lab.analysis.suite.comparisons import EffectOf
from lab.analysis.suite.report import write_suite_report
from lab.analysis.suite.result import analyse_suite
from lab.analysis.suite.terminal import suite_table

__all__ = ["EffectOf", "analyse_suite", "suite_table", "write_suite_report"]
