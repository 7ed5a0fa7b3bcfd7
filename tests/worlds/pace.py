"""The rate model of a played server: what it is told, and when each bulk request is then served.

A server has workers, as Elasticsearch has write threads. They take bulk requests in the order in which these came. A
request of n documents occupies its worker for `request_ms` and then until the worker's share of the rate, which
changes with time, has served n documents. So all workers together serve at most `docs_per_s`. The answer leaves
`latency_ms` later, which occupies nobody.
"""

import argparse
import fnmatch
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

STEP_S = 0.02
"""The rate is constant for so long."""
NOISE_STEPS = 50
"""Steps for which one draw of the noise holds: a second, which is as long as the lab's samples are apart."""


@dataclass(frozen=True)
class Pace:
    """How fast an index takes documents, and what goes wrong with them.

    Attributes:
        docs_per_s: The rate that is reached once the ramp is over, outside of bursts.
        workers: Bulk requests that are served at a time.
        latency_ms: Time that an answer takes beside the service.
        request_ms: Time of a worker for each request, however small.
        ramp_s: How long the rate takes to rise, in a straight line, after the first document.
        ramp_from: Share of the rate with which it begins.
        burst_every_s: Seconds from one burst of merges to the next; 0 for none.
        burst_s: How long a burst lasts; it ends the period.
        burst_rate: Share of the rate that is left in a burst.
        noise: Standard deviation of the rate from second to second, as a share of it.
        run_noise: Likewise from one index to the next.
        cpu_us: CPU that one document costs.
        stored_share: Bytes on disk for one byte of source.
        lose_every: Of so many new documents one is acknowledged and not kept; 0 for none.
        alter_every: Of so many new documents one is kept with another text in it.
        forget_after_s: When the counters begin again from 0, as after the restart of a node; 0 for never.
    """

    docs_per_s: float = 20_000.0
    workers: int = 2
    latency_ms: float = 3.0
    request_ms: float = 0.0
    ramp_s: float = 0.0
    ramp_from: float = 1.0
    burst_every_s: float = 0.0
    burst_s: float = 0.0
    burst_rate: float = 1.0
    noise: float = 0.0
    run_noise: float = 0.0
    cpu_us: float = 50.0
    stored_share: float = 0.5
    lose_every: int = 0
    alter_every: int = 0
    forget_after_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what would serve nothing.

        Raises:
            ValueError: A rate or a number of workers is not above 0.
        """
        for name in ("docs_per_s", "workers", "ramp_from", "burst_rate"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name}: got {getattr(self, name)}, expected a number above 0")
        if self.burst_every_s and self.burst_s >= self.burst_every_s:
            raise ValueError(f"burst_s: got {self.burst_s}, expected less than burst_every_s, {self.burst_every_s}")

    def ramp(self, age_s: float) -> float:
        """The share of the rate that is reached at an age."""
        if age_s >= self.ramp_s:
            return 1.0
        return self.ramp_from + (1.0 - self.ramp_from) * max(0.0, age_s) / self.ramp_s

    def in_burst(self, age_s: float) -> bool:
        """Whether merges take their share at an age."""
        return bool(self.burst_every_s) and age_s % self.burst_every_s >= self.burst_every_s - self.burst_s

    @property
    def mean_docs_per_s(self) -> float:
        """The rate after the ramp over whole periods of bursts; noise has the mean 1."""
        share = self.burst_s / self.burst_every_s if self.burst_every_s else 0.0
        return self.docs_per_s * (1.0 - share * (1.0 - self.burst_rate))


@dataclass(frozen=True)
class Rule:
    """Another pace for some indices: `name=control* index.refresh_interval=30s: docs_per_s=x1.3 cpu_us=40`.

    Attributes:
        conditions: Patterns by `name` or a setting's name; all of them have to match.
        effects: Field of the pace → its value, or the factor after an `x`.
    """

    conditions: Mapping[str, str]
    effects: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """Read a rule.

        Raises:
            argparse.ArgumentTypeError: It has no effect, or one that is no field of a pace.
        """
        conditions, separator, effects = text.partition(": ")
        rule = cls(*(dict(word.split("=", 1) for word in part.split()) for part in (conditions, effects)))
        unknown = rule.effects.keys() - {field.name for field in fields(Pace)}
        if not separator or not rule.effects or unknown:
            raise argparse.ArgumentTypeError(f"got {text}, expected CONDITION=PATTERN …: FIELD=VALUE …")
        return rule

    def holds(self, name: str, settings: Mapping[str, Any]) -> bool:
        """Whether it is about an index of this name with these settings, flat."""
        of_index = {"name": name, **settings}
        return all(fnmatch.fnmatch(str(of_index.get(key, "")), pattern) for key, pattern in self.conditions.items())

    def applied(self, pace: Pace) -> Pace:
        """The pace with its effects."""
        changed: dict[str, Any] = {}
        for name, text in self.effects.items():
            before = getattr(pace, name)
            value = before * float(text[1:]) if text.startswith("x") else float(text)
            changed[name] = type(before)(value)
        return replace(pace, **changed)


def pace_of(base: Pace, rules: Sequence[Rule], name: str, settings: Mapping[str, Any]) -> Pace:
    """The pace of an index: that of the server, changed by each rule that is about the index."""
    for rule in rules:
        if rule.holds(name, settings):
            base = rule.applied(base)
    return base


class Capacity:
    """The documents per second that an index would be served at each instant if there were always some waiting.

    Args:
        seed: Of the noise; the same one gives the same rates.
    """

    def __init__(self, pace: Pace, seed: str) -> None:
        self.pace = pace
        self.began_s: float | None = None
        self._seed = seed
        self._noise: dict[int, float] = {}
        self.factor = drawn(random.Random(seed), pace.run_noise)  # noqa: S311 - noise, no secret

    def begin(self, now_s: float) -> None:
        """Note the first document, with which the ramp and the bursts begin."""
        self.began_s = now_s if self.began_s is None else self.began_s

    def at(self, step: int) -> float:
        """Documents per second in a step after the beginning."""
        age_s, second = (step + 0.5) * STEP_S, step // NOISE_STEPS
        if second not in self._noise:
            draw = random.Random(f"{self._seed}/{second}")  # noqa: S311 - noise, no secret
            self._noise[second] = drawn(draw, self.pace.noise)
        burst = self.pace.burst_rate if self.pace.in_burst(age_s) else 1.0
        return self.pace.docs_per_s * self.factor * self.pace.ramp(age_s) * burst * self._noise[second]

    def documents(self, from_s: float, to_s: float) -> float:
        """What could be served between two instants."""
        if self.began_s is None or to_s <= from_s:
            return 0.0
        first, last = from_s - self.began_s, to_s - self.began_s
        steps = range(max(0, int(first / STEP_S)), int(last / STEP_S) + 1)
        return sum(
            self.at(step) * max(0.0, min(last, (step + 1) * STEP_S) - max(first, step * STEP_S)) for step in steps
        )

    def until(self, from_s: float, documents: float) -> float:
        """When so many are served, counted from an instant."""
        began_s = from_s if self.began_s is None else self.began_s
        at_s = from_s - began_s
        step, left = int(at_s / STEP_S), documents
        while True:
            end_s = (step + 1) * STEP_S
            if (in_step := self.at(step) * (end_s - at_s)) >= left:
                return began_s + at_s + left / self.at(step)
            left, at_s, step = left - in_step, end_s, step + 1


def drawn(draw: random.Random, deviation: float) -> float:
    """A factor with the mean 1 and this standard deviation, from the lognormal distribution."""
    if not deviation:
        return 1.0
    spread = math.sqrt(math.log1p(deviation**2))
    return draw.lognormvariate(-(spread**2) / 2, spread)


@dataclass(frozen=True, slots=True)
class Service:
    """One bulk request and when it is served, by the event loop's clock.

    Attributes:
        operations: All that it holds; each takes the time of a document.
        indexed: Those that Elasticsearch counts as indexed: the others delete, fail or change nothing.
        created: Those by which there is one document more.
        started_s: When a worker took it.
        work_s: When the worker began with its documents.
        ended_s: When the worker was done.
        share: Of the capacity, that of one worker.
    """

    capacity: Capacity
    operations: int
    indexed: int
    created: int
    received_s: float
    started_s: float
    work_s: float
    ended_s: float
    share: float

    @property
    def answered_s(self) -> float:
        """When the answer leaves."""
        return self.ended_s + self.capacity.pace.latency_ms / 1000

    def served(self, now_s: float) -> float:
        """Indexed documents of it by now, between none and all."""
        if now_s >= self.ended_s or not self.operations:
            return self.indexed
        done = min(1.0, self.capacity.documents(self.work_s, now_s) * self.share / self.operations)
        return self.indexed * done

    def busy_s(self, from_s: float, to_s: float) -> float:
        """For how long it occupied its worker between two instants."""
        return max(0.0, min(self.ended_s, to_s) - max(self.started_s, from_s))


class Workers:
    """The workers of a server, and when each will be free."""

    def __init__(self) -> None:
        self._free_s: list[float] = []

    def take(self, capacity: Capacity, operations: int, now_s: float, *, indexed: int, created: int) -> Service:
        """Put a request at the end of the queue; when it will be served is known at once."""
        workers = capacity.pace.workers
        self._free_s += [0.0] * (workers - len(self._free_s))
        worker = min(range(workers), key=self._free_s.__getitem__)
        started_s = max(now_s, self._free_s[worker])
        capacity.begin(started_s)
        work_s = started_s + capacity.pace.request_ms / 1000
        ended_s = capacity.until(work_s, operations * workers)
        self._free_s[worker] = ended_s
        return Service(capacity, operations, indexed, created, now_s, started_s, work_s, ended_s, 1 / workers)
