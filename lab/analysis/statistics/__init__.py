"""Statistics of repeated runs: intervals, effects, power, warm-up."""
