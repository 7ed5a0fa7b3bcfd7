"""Turns a run's folder into figures, a verdict on what limited them, and a report for a reader."""

from lab.analysis.report import write_report
from lab.analysis.result import analyse
from lab.analysis.terminal import terminal_table

__all__ = ["analyse", "terminal_table", "write_report"]
