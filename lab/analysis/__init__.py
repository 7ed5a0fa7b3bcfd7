"""Turns a run's folder into figures, a verdict on what limited them, and a report for a reader."""

from lab.analysis.page.report import write_report
from lab.analysis.page.terminal import terminal_table
from lab.analysis.result import analyse

__all__ = ["analyse", "terminal_table", "write_report"]
