"""What repeats of a run say together: intervals, effects, power, warm-up."""
