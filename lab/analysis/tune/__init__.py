"""Analysis of a tune: goal, estimates over stages, result and report; reads folders alone."""
