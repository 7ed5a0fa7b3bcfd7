"""Goals of a tune, and bounds that it keeps."""

import re
from collections.abc import Sequence

from pydantic_core import PydanticCustomError

from lab.analysis.suite.figures import CPU_PER_DOCUMENT, PER_DOCUMENT
from lab.errors import ProfileError
from lab.profiles.loads import checked_rate
from lab.profiles.problems import suggestion
from lab.records.suite import MetricKey
from lab.records.tune import Bound, Goal, GoalName

SIZE = MetricKey(name="store_size_bytes", scope="primaries")
LATENCY = MetricKey(name="end_to_end_latency_ms_p99", scope="run")
METRICS: dict[GoalName, MetricKey] = {"rate": PER_DOCUMENT, "cpu": CPU_PER_DOCUMENT, "size": SIZE, "latency": LATENCY}
LABELS: dict[GoalName, str] = {
    "rate": "indexing rate",
    "cpu": "Elasticsearch's CPU per document",
    "size": "size on disk",
    "latency": "end-to-end latency (p99)",
}
EXPECTED = "rate, cpu, size, or latency at a rate, such as `latency at 5000`"
A_BOUND = re.compile(r"\s*(\w+)\s*(<=|>=)\s*(\d+(?:\.\d*)?|\.\d+)\s*x?\s*")


def parsed_goal(text: str) -> Goal:
    """The goal that a command line states: `rate`, `cpu`, `size` or `latency at 5000`.

    Raises:
        ProfileError: It is none of them, or latency without a rate or at none that is one.
    """
    word, _, rest = " ".join(text.split()).partition(" ")
    at, _, rate = rest.partition(" ")
    if word == "latency" and at == "at" and rate:
        try:
            return Goal(name="latency", metric=LATENCY, more_is_better=False, rate=checked_rate(rate))
        except PydanticCustomError as error:
            raise ProfileError(f"--goal: latency at: got {rate}, expected {error.message()}") from None
    if rest or word not in METRICS or word == "latency":
        raise ProfileError(f'--goal: got "{text}", expected {EXPECTED}')
    return Goal(name=word, metric=METRICS[word], more_is_better=word == "rate")


def parsed_bounds(texts: Sequence[str], goal: Goal) -> tuple[Bound, ...]:
    """The bounds that a command line states, relative to the start: `size<=1.1x`, `rate>=0.95x`.

    Raises:
        ProfileError: One of them is none, or of the goal itself, or of what these loads do not have.
    """
    return tuple(_bound(text, goal) for text in texts)


def _bound(text: str, goal: Goal) -> Bound:
    match = A_BOUND.fullmatch(text)
    if match is None:
        raise ProfileError(f"--keep: got \"{text}\", expected a bound relative to the start, such as 'size<=1.1x'")
    name, sign, number = match[1], match[2], float(match[3])
    if name not in METRICS:
        raise ProfileError(f'--keep: unknown figure "{name}", {suggestion(name, METRICS, "one of")}')
    wanted, worth = (">=", "better") if name == "rate" else ("<=", "worse")
    if sign != wanted:
        raise ProfileError(f'--keep: got "{text}", expected {name}{wanted}{number:g}x: more of it is {worth}')
    if number <= 0:
        raise ProfileError(f'--keep: got "{text}", expected a factor above 0')
    if name == goal.name:
        raise ProfileError(f'--keep: got "{text}", expected another figure than the goal, which is {goal.name}')
    if (goal.rate is not None and name == "rate") or (goal.rate is None and name == "latency"):
        load = "streams at a set rate have none of their own" if goal.rate else "drains have none"
        raise ProfileError(f'--keep: got "{text}", expected another figure: {load}')
    most, least = (None, number) if wanted == ">=" else (number, None)
    shown = f"{name}{wanted}{number:g}x"
    return Bound(name=name, metric=METRICS[name], most=most, least=least, text=shown)


def compared_metrics(goal: Goal) -> tuple[MetricKey, ...]:
    """The goal, and what else is to be seen beside it."""
    others: tuple[GoalName, ...] = ("cpu", "size") if goal.rate else ("rate", "cpu", "size")
    return (goal.metric, *(METRICS[name] for name in others if name != goal.name))
