"""What a tune has found: its goal, estimates over its stages, its result and its report; reads folders alone."""
