"""What a long test says while it runs."""

import sys
import time


def say(what: str) -> None:
    """Show with `pytest -s` what has happened."""
    sys.stdout.write(f"{time.strftime('%X')} {what}\n")
    sys.stdout.flush()
