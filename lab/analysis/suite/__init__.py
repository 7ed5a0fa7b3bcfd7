"""Turns a suite's folder into figures, comparisons, an answer, and a report for a reader."""
