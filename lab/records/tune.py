"""The records of a tune: what was to be searched, what each stage tried, and what was found.

A folder `runs/tunes/<profile>/<tune-id>/` holds

    plan.json         `TunePlan`: candidates, goal and budget, fixed before the first run
    stages/<n>-<kind> each a suite's folder, as `lab.records.suite` describes it, with `stage.json`: `Stage`
    tune.json         `TuneResult`: what was found
    best.yaml         what is recommended, as a profile
    index.json, connector.json, dev-tools.txt, curl.txt
                      the same for the servers themselves
    report.html

Instants are seconds since the Unix epoch. `None` means "not known", never zero.
"""

from itertools import chain
from typing import Literal

from pydantic import Field, JsonValue

from lab.records.base import Count, Record
from lab.records.run import Environment
from lab.records.suite import Effect, MetricKey

START = "start"
"""The variant in which nothing is changed."""

GoalName = Literal["rate", "cpu", "size", "latency"]
StageKind = Literal["mixed", "together", "confirm"]


class Goal(Record):
    """Figure that a tune improves.

    Attributes:
        more_is_better: Whether a larger value is.
        rate: Documents per second of the streams whose latency counts; `None` for drains.
    """

    name: GoalName
    metric: MetricKey
    more_is_better: bool
    rate: str | None = None

    def gain(self, ratio: float) -> float:
        """A ratio to the start as what it is better by: above 1 is better, whatever the metric."""
        return ratio if self.more_is_better else 1 / ratio


class Bound(Record):
    """Bound on another figure, as a ratio to the start.

    Attributes:
        most, least: One of them is set.
        text: As it was given: `size<=1.1x`.
    """

    name: GoalName
    metric: MetricKey
    most: float | None = None
    least: float | None = None
    text: str

    def is_broken(self, ratio: float) -> bool:
        """Check that a ratio breaks the bound."""
        return (self.most is not None and ratio > self.most) or (self.least is not None and ratio < self.least)


class Candidate(Record):
    """One value of one knob.

    Attributes:
        name: Unique in the tune: `refresh_interval=30s`.
        setting: Dotted key of a profile.
        requires: What must move with it, by dotted key.
        risk: What is risked by it, if it weakens a guarantee; it was allowed by name then.
        note: What else changes for those who use the index.
    """

    name: str
    setting: str
    value: JsonValue
    requires: dict[str, JsonValue] = {}
    risk: str | None = None
    note: str | None = None


class LeftOut(Record):
    """Candidate that is not tried, with the reason."""

    name: str
    reason: str


class TunePlan(Record):
    """Everything that decides what a tune does.

    Attributes:
        profile: The start: a profile's name, or the path of its file.
        overrides: `dotted.key=value` of the start, as the user states them.
        sized: The same for its size while it is searched.
        fingerprint: Of the start, so that another profile of the same name is not taken for it.
        minutes: How long it may take.
        window_s: How long a drain shall take at least, or a stream takes.
        metrics: What is compared, the goal first.
        candidates: By their knobs, the most promising ones first.
        screens: Whether it ends with its mix, a design of two levels that tells which settings matter.
        start_values: Of a screening: setting → value of the start, `None` for the server's own default.
        target: Where the servers are.
        command: The command line, word by word.
        labels: Names and values that the user gave the tune.
        note: Text that the user gave the tune; empty without any.
    """

    tune: str
    tune_id: str = "not begun"
    question: str
    started_s: float
    profile: str
    overrides: tuple[str, ...] = ()
    sized: tuple[str, ...] = ()
    fingerprint: str
    space: str
    goal: Goal
    bounds: tuple[Bound, ...] = ()
    minutes: float
    window_s: float
    seed: Count
    allowed: tuple[str, ...] = ()
    metrics: tuple[MetricKey, ...]
    candidates: tuple[Candidate, ...]
    left_out: tuple[LeftOut, ...] = ()
    screens: bool = False
    start_values: dict[str, JsonValue] = Field(default_factory=dict)
    target: str = "local"
    command: tuple[str, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    note: str = ""

    def candidate(self, name: str) -> Candidate:
        """The candidate of that name."""
        return next(each for each in self.candidates if each.name == name)


Combination = tuple[str, ...]
"""Names of candidates, in the order of the plan; none is the start."""


def combination_name(combination: Combination) -> str:
    """Name of a combination, as a variant of a suite."""
    return " + ".join(combination) or START


class Stage(Record):
    """One suite of a tune.

    Attributes:
        kind: `mixed`: combinations drawn at random; `together`: the best few of them, side by side; `confirm`: the
            choice against the start, by runs that did not choose it.
        blocks: By block the combinations that run beside the start. The empty one, which is the start, is in a block of
            a mix that has drawn it. A confirmation states one block, and has as many as there is time for.
        settings: By a combination's name what it sets, with all that its candidates require.
    """

    number: Count
    kind: StageKind
    blocks: tuple[tuple[Combination, ...], ...]
    settings: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the folder."""
        return f"{self.number}-{self.kind}"

    @property
    def combinations(self) -> tuple[Combination, ...]:
        """Combinations that run beside the start, each once."""
        return tuple(dict.fromkeys(filter(None, chain(*self.blocks))))


class Tried(Record):
    """One combination that was measured while the search went on; the confirmation is not among it.

    Attributes:
        settings: What it sets, with all that its candidates require.
        effects: Its ratio to the start by each metric, over all blocks of the search that it was in.
    """

    combination: Combination
    settings: dict[str, JsonValue]
    effects: tuple[Effect, ...]


class MixedEffect(Record):
    """Effect of one candidate on average over the combinations of the mix: a least-squares fit to all of its runs.

    Attributes:
        ratio: By the goal, with and without it.
        low, high: Its interval, 95 %; `None` where too few runs tell.
        runs: Runs of the mix that have it.
        rate: Its effect on the indexing rate, of a screening.
    """

    candidate: str
    ratio: float
    low: float | None
    high: float | None
    runs: Count
    rate: "Gain | None" = None


class Gain(Record):
    """Confirmed gain, as a ratio of the goal's figure to the start's.

    Attributes:
        ratio, low, high: Estimate and 95 % interval, given that only what shows is confirmed; `None` where all blocks
            gave the same ratio.
    """

    ratio: float
    low: float | None
    high: float | None


class TuneStage(Record):
    """A stage that has been run.

    Attributes:
        blocks: How many have begun.
        folder: Relative to the tune's.
    """

    stage: Stage
    blocks: Count
    folder: str
    wall_time_s: float


class TuneResult(Record):
    """Result of a tune: `tune.json`.

    Attributes:
        chosen: The combination that the search has chosen; `None` where nothing looked better than the start.
        is_confirmed: Whether the confirmation shows a gain, all bounds are kept, and nothing speaks against either.
        recommended: `chosen` if it is better than the start and no bound is broken, or else the start: empty.
        gain: Of what is recommended; `None` for the start.
        settings: What is recommended to change, by dotted key.
        confirmation: Chosen against start by every metric, and the start against itself (A/A), from the last stage.
        mixed: What each candidate gives in the mix, the best first.
        is_known: Whether a gain of more than 15 % is excluded where none is recommended.
        headline: What was confirmed, in one or two sentences.
        findings: One sentence each.
        not_tried: Candidates that no run gave a figure of, with the reason.
        risks: What is risked by what is recommended; a sentence each.
        notes: What else changes by it.
    """

    schema_version: Literal[2] = 2
    plan: TunePlan
    ended_s: float | None
    wall_time_s: float | None
    complete: bool
    stages: tuple[TuneStage, ...]
    tried: tuple[Tried, ...]
    chosen: Combination | None = None
    is_confirmed: bool = False
    recommended: Combination = ()
    gain: Gain | None = None
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    confirmation: tuple[Effect, ...] = ()
    mixed: tuple[MixedEffect, ...] = ()
    is_known: bool = True
    headline: str
    findings: tuple[str, ...] = ()
    not_tried: tuple[LeftOut, ...] = ()
    risks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    environment: Environment | None = None
