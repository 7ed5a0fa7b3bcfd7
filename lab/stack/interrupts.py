"""Stopping servers must not be stopped itself."""

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let nothing but SIGKILL keep us from putting things in order. Without effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # A handler that was not set from Python is `None` and could not be set again.
    ours = [number for number in numbers if signal.getsignal(number) is not None]
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
