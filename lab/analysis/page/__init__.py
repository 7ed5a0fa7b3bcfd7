"""The report of a run: its text, its charts, its table."""
