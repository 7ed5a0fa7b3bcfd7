"""Turns a run's folder into figures, a verdict on what limited them, and a report for a reader."""
