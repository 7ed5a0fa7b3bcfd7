"""Three trivial servers that stand for those of a checkout, and what is to be seen of them."""

import dataclasses
import os
import signal
from pathlib import Path

from lab.errors import StackError
from lab.identity import ProcessIdentity
from lab.stack import server
from lab.stack.local import LocalStack
from lab.stack.server import ServerSpec
from lab.stack.shape import StackShape
from tests.unit.stack.trivial_servers import wait_until

NAMES = ("elasticsearch-1", "kafka", "connect")
ALL = StackShape()


@dataclasses.dataclass
class Wanted:
    """What the stack is told that its servers shall be.

    Attributes:
        shapes: What was asked for, in this order.
    """

    folder: Path
    specs: dict[str, ServerSpec] = dataclasses.field(default_factory=dict)
    unready: set[str] = dataclasses.field(default_factory=set)
    refusal: StackError | None = None
    shapes: list[StackShape] = dataclasses.field(default_factory=list)

    def change(self, name: str, **changes: object) -> None:
        """Another specification for one server."""
        self.specs[name] = self.specs[name].model_copy(update=changes)

    def answer(self, shape: StackShape, **_: object) -> tuple[ServerSpec, ...]:
        """The specifications, or the refusal."""
        self.shapes.append(shape)
        if self.refusal:
            raise self.refusal
        return tuple(self.specs.values())


def start(stack: LocalStack, *, kept: bool = True) -> None:
    """Start servers as `./sluice up` does, or a run."""
    with stack.exclusively():
        stack.ensure(ALL, kept=kept)


def pids(stack: LocalStack) -> dict[str, int]:
    """The running servers."""
    return {entry.spec.name: entry.pid for entry in stack.servers()}


def kill(stack: LocalStack, name: str) -> None:
    """End a server as a machine short of memory would, and wait until that is seen."""
    os.kill(pids(stack)[name], signal.SIGKILL)
    wait_until(lambda: name not in pids(stack))


def strays(stack: LocalStack) -> list[int]:
    """Every process on the machine that belongs to the stack."""
    return [process.pid for process in server.marked_processes(stack.folder)]


def owned_by(stack: LocalStack, owner_pid: int, *, kept: bool) -> None:
    """Write the state as another command would have written it."""
    state = stack.state()
    assert state is not None
    stack._write(state.model_copy(update={"owner": ProcessIdentity(owner_pid), "kept": kept}))
