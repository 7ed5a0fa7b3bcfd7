"""Turns a suite's folder into figures, comparisons, a summary, and a report for a reader."""
