"""Seeing that a server has ended while a command uses it."""

import time
from collections.abc import Callable

from lab.errors import StackError
from lab.stack.local import LocalStack
from lab.stack.server import last_log_lines

LOOK_EVERY_S = 1.0
RESTART_WITHIN_S = 30.0
"""A server that has ended is waited for so long: somebody may start it again."""


class ServerWatch:
    """Looks whether the servers of a stack still run."""

    def __init__(self, stack: LocalStack, clock: Callable[[], float] = time.monotonic) -> None:
        self._stack = stack
        self._clock = clock
        self._looked_s = float("-inf")
        self._ended_s: dict[str, float] = {}
        self._finding = ""

    def check(self) -> str:
        """The server that has ended and what to do about it, in a few words; empty if all run.

        Raises:
            StackError: They were stopped, or nobody has started it again in time; with the last lines of its log.
        """
        now_s = self._clock()
        if now_s - self._looked_s < LOOK_EVERY_S:
            return self._finding
        self._looked_s = now_s
        state = self._stack.state()
        if state is None:
            raise StackError("the servers of this checkout were stopped while they were in use")
        ended = {entry.spec.name: entry.spec for entry in state.servers if not entry.alive}
        self._ended_s = {name: self._ended_s.get(name, now_s) for name in ended}
        for name, ended_s in self._ended_s.items():
            if now_s - ended_s > RESTART_WITHIN_S:
                log = ended[name].server_log or ended[name].log_file
                raise StackError(f"{name}: ended while it was in use; its log is {log}", last_log_lines(ended[name]))
        names = " and ".join(ended)
        self._finding = f"{names} ended: ./sluice restart {next(iter(ended))}" if ended else ""
        return self._finding
