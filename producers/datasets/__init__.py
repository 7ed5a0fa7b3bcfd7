"""The datasets: each one a frozen object whose documents are pure functions of a seed and a number."""
