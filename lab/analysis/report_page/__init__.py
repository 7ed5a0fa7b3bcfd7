"""A run's report: `run.html` is the page, `charts.py` its charts, `sections.py` its tables, `answer.py` its words."""
