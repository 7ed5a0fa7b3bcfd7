"""A suite: its plan, and its execution."""
