"""Queries before, during and after a deployment."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lab.profiles.models import QueryLoad
from lab.records.queries import QueryLoadResult
from lab.run.phases import RunContext
from lab.run.query.send import QuerySending


def nothing() -> None:
    """Nothing is to be looked after."""


@dataclass
class DeploymentQueries:
    """The queries of a deployment; none where the profile has none.

    Attributes:
        results: `before`, `while`, `after` → what came of them.
    """

    run: RunContext
    load: QueryLoad | None
    results: dict[str, QueryLoadResult] = field(default_factory=dict)

    def send(self, when: str) -> None:
        """Send queries for as long as the profile says."""
        if self.load is None:
            return
        with QuerySending(self.run, self.load, None, "maintain") as sending:
            self.run.progress.begin("maintain", f"sending queries {when} it", None)
            sending.go()
            self.results[when] = sending.result()

    @contextlib.contextmanager
    def sent_meanwhile(self) -> Iterator[Callable[[], None]]:
        """Send queries until the block ends; call what is given now and then.

        Warmed up by those before, all of them count.
        """
        if self.load is None:
            yield nothing
            return
        load = self.load.model_copy(update={"duration_s": None, "warm_up_s": 0.0})
        with QuerySending(self.run, load, None, "maintain") as sending:
            sending.go()
            yield sending.follow
            sending.stop()
            self.results["while"] = sending.result()
