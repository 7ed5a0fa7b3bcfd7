"""The records of a suite: what was planned, which runs there were, and what they say together.

A folder `runs/suites/<suite>/<suite-id>/` holds

    plan.json         `SuitePlan`: the variants and the order of all runs, fixed before the first one started
    runs.ndjson       one `SuiteRun` per line, in the order in which they ended, warm-up drains and failed ones included
    runs/             the folders of the runs, as `lab.records` describes them
    suite.json        `SuiteResult`: the figures of all variants and the comparisons
    suite.csv, suite.md, report.html

Instants are seconds since the Unix epoch. `None` means "not known", never zero.
"""

from collections.abc import Iterable
from math import sqrt
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, model_validator

from lab.records.base import Count, Record
from lab.records.result import Limit
from lab.records.run import Environment, RunWarning


class Variant(Record):
    """One cell of a suite: a profile with some values set otherwise.

    Attributes:
        name: Unique in the suite; begins with the profile's name unless the suite names it.
        overrides: `dotted.key=value`, as for `--set`.
        against: The variant that this one is compared with, run by run within a block; `None` for the control.
        question: The profile's.
        fingerprint: Two variants that ask for the same run share it, such as the control and its repetition (A/A).
        kind: What a server must have done once, uncounted, before a run of the variant counts.
        part: Parts of a suite run one after the other, each on servers of its own.
        servers: Variants that run on the same servers share it; all of them where different ones run side by side.
        data_nodes: Elasticsearch nodes that it uses.
        documents: Documents of one run, where the dataset says so beforehand.
        factor: What it turns, in words; `None` where the suite names no factors.
        load_s: How long its load takes at least, where the profile says so: queries for so long, a stream at a rate.
        layout: Variants of queries alone share it exactly when they may read the same index, which is loaded once.
        working_set: Share of the documents that its queries ask about.
        way: How it uses the servers, such as the connector: code that only another way has run is cold for it.
    """

    name: str
    profile: str
    overrides: tuple[str, ...] = ()
    against: str | None = None
    question: str = ""
    fingerprint: str
    kind: str
    part: str = ""
    servers: str = ""
    data_nodes: Count = 1
    documents: Count | None = None
    factor: str | None = None
    load_s: float | None = None
    layout: str | None = None
    working_set: float = 1.0
    way: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_older_versions(cls, fields: Any) -> Any:
        """Whose kind was what they read, or all that they asked for."""
        return {"kind": fields.get("layout") or fields.get("fingerprint"), **fields}


class MetricKey(Record):
    """A metric that the suite compares, as `lab.records.Metric` names it."""

    name: str
    scope: str

    @property
    def key(self) -> tuple[str, str]:
        """Name and scope of its metric."""
        return self.name, self.scope


class Crossing(Record):
    """Search for the place at which one level of a factor begins to win.

    Attributes:
        factor: That of the variants which are held against each other.
        metric: What decides.
        over: What it is looked for along, as measured of what the variant is compared with.
    """

    factor: str
    metric: MetricKey
    over: MetricKey


class SuitePlan(Record):
    """Everything that a suite is going to do: fixed before it starts, but for the blocks that time allows.

    Attributes:
        repeats: Blocks; each runs every comparison once. `None` where time and width decide how many there are.
        minutes: How long the suite may take, its warm-up included; `None`: until its intervals are narrow enough.
        precision: Relative half-width (0.05 for 5 %) of an interval of the first metric that is narrow enough; `None`
            with a number of repeats.
        window_s: How long a drain shall take at least; `None` where sizes are as profiles state them.
        times: By what the documents of drains are multiplied for that; `None` until a warm-up has told.
        rate: Of the streams in place of drains: documents per second, or `70 %` of the control's limit.
        rate_docs_per_s: What that came to; `None` until it is known.
        limit_docs_per_s: What drains reached, in documents of the control; `None` until a warm-up has told. Where
            streams are at a share of it, its mean indexing rate in drains of full size; otherwise a rough rate.
        limit_low: With `limit_high`, the 95 % interval of that limit; `None` before it is measured, in a suite that
            needs none, in older records, and where all drains were equal.
        limit_drains: How many drains that limit was measured by; `None` likewise.
        order: Per block the names of the variants, in the order of their runs; with `repeats` all of them, otherwise
            those that have begun. A reference of several comparisons may run several times in a block.
        starts: How often the servers are started: every start has blocks of its own.
        started: By block, the start that it runs on; empty in plans of older versions.
        duets: Whether both runs of a comparison go at the same time, on two sets of servers; a block is then one
            comparison, whose first variant runs on the first set.
        seed: The same seed gives the same order.
        control: The variant that stands for "nothing changed".
        repetition: The variant that is the control once more (A/A); `None` where the suite has none.
        metrics: What is compared, most important first.
        published: Names a file of `experiments/published`, without .yaml.
        skipped: Variant → why it cannot run on this machine.
        command: The command line, word by word.
        labels: Names and values that the user gave the suite; `baseline` names it for comparisons.
        note: Text that the user gave the suite; empty without any.
    """

    suite: str
    suite_id: str
    question: str
    started_s: float
    seed: int
    repeats: Count | None
    minutes: float | None = None
    precision: float | None = None
    window_s: float | None = None
    times: Count | None = None
    rate: str | None = None
    rate_docs_per_s: float | None = None
    limit_docs_per_s: float | None = None
    limit_low: float | None = None
    limit_high: float | None = None
    limit_drains: Count | None = None
    control: str
    repetition: str | None
    variants: tuple[Variant, ...]
    order: tuple[tuple[str, ...], ...]
    starts: Count = 1
    started: tuple[Count, ...] = ()
    duets: bool = False
    metrics: tuple[MetricKey, ...]
    published: str | None = None
    crossings: tuple[Crossing, ...] = ()
    skipped: dict[str, str] = {}
    command: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    note: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts in the order in which they run."""
        return tuple(dict.fromkeys(variant.part for variant in self.variants if variant.name not in self.skipped))

    def start_of(self, block: int) -> int:
        """The start of the servers that a block, counted from 1, runs on."""
        return self.started[block - 1] if self.started else 1

    def variant(self, name: str) -> Variant:
        """The variant of that name."""
        return next(variant for variant in self.variants if variant.name == name)


class SuiteRun(Record):
    """One run of a suite that has ended, well or not.

    Attributes:
        block: Counted from 1; 0 for a warm-up drain.
        turn: 1, or 2 for the second run of the variant in its block, and so on.
        attempt: 1, or 2 for the repetition of a run that failed.
        folder: Of the run, relative to the suite's; `None` where it did not come to one.
        status: `verified`; `void`: what is stored is not what was produced; `broken`: it came to no end.
        reason: Why it is not verified, in one sentence, or what was taken from it although it is not repeated.
        disturbed: What was taken from it while it was measured, if that was more than a run may lose. Such a run is
            repeated once, whatever it says.
    """

    block: Count
    variant: str
    turn: Count = 1
    attempt: Count
    folder: str | None
    status: Literal["verified", "void", "broken"]
    reason: str | None = None
    disturbed: str | None = None
    warm_up: bool = False
    started_s: float
    ended_s: float

    @property
    def cell(self) -> tuple[int, str, int]:
        """Its block, its variant, and which of the variant's runs in the block it is."""
        return self.block, self.variant, self.turn

    @property
    def is_sound(self) -> bool:
        """Check that the run need not be repeated."""
        return self.status == "verified" and self.disturbed is None


class VariantMetric(Record):
    """One metric of one variant over all blocks.

    Attributes:
        values: By block, of several runs in a block their geometric mean; `None` where the runs failed, the variant was
            not to run any more, or the metric could not be measured.
        median, low, high: Of the values that there are; `None` without any.
        by_run: Folder of a run that counts → its own value; empty in records of older versions.
    """

    variant: str
    name: str
    scope: str
    unit: str
    values: tuple[float | None, ...]
    median: float | None
    low: float | None
    high: float | None
    by_run: dict[str, float | None] = {}

    @property
    def key(self) -> tuple[str, str]:
        """Name and scope of its metric."""
        return self.name, self.scope


Verdict = Annotated[
    Literal["faster", "slower", "higher", "lower", "same within 5 %", "undecided", "too few runs"],
    BeforeValidator(lambda word: "undecided" if word == "no difference detectable" else word),
]
"""What an effect's interval says. It leaves out 1: `faster` and `slower` for metrics of which more (or less) is better,
`higher` and `lower` for all others. It holds 1 and lies between 1/1.05 and 1.05: `same within 5 %`. Neither,
or lost blocks might undo the difference: `undecided`. Version 1 had one word for the last two."""


class Effect(Record):
    """Effect of a variant on one metric, as its ratio to another variant within each block.

    Attributes:
        ratios: Variant / other, one for each block in which both have a value. Where the other is the control and ran
            twice in the block, it is the geometric mean of both runs. Of pairs at the same time, without what the two
            sets of servers differ by.
        starts: By ratio, which start of the servers it came from; empty in folders of older versions, which had one.
        dropped_blocks: Blocks without one of the two values.
        freedom_lost: Degrees of freedom that the estimate of that difference has taken.
        ratio: Geometric mean of the ratios, the outermost left out where `explained` says so; `None` without any.
        low, high: Interval of the ratio that the verdict is taken from; `None` with fewer than two ratios.
        confidence: Of that interval: 0.95, or more where Holm's procedure demands it of many comparisons.
        smallest_detectable: Smallest relative effect (0.03 for 3 %) that so many repeats show four times in five, among
            all comparisons of the metric; `None` where the spread is not known.
        smallest_detectable_range: Where that lies in 95 of 100 cases: its spread is itself estimated from the blocks.
        explained: What became of the blocks, where not all of them count.
        p_value: Of no effect at all, for this comparison alone; `None` where the spread is not known.

    With several starts of the servers ratio and interval are those of the starts' means: blocks of one start do not
    say how much another one differs.
    """

    variant: str
    against: str
    metric: str
    scope: str
    ratios: tuple[float, ...]
    starts: tuple[int, ...] = ()
    dropped_blocks: Count
    freedom_lost: float = 0.0
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float = 0.95
    verdict: Verdict
    smallest_detectable: float | None
    smallest_detectable_range: tuple[float, float] | None = None
    explained: str | None = None
    p_value: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_version_1(cls, fields: Any) -> Any:
        """Without what is told no more: 5 repeats tell the repeats that 5 % need to no better than a factor of 20."""
        return {name: value for name, value in fields.items() if name != "repeats_for_5_percent"}

    @property
    def key(self) -> tuple[str, str]:
        """Name and scope of its metric."""
        return self.metric, self.scope

    @property
    def half_width(self) -> float | None:
        """Half-width of the interval, relative (0.05 for 5 %); `None` without an interval."""
        return None if self.low is None or self.high is None else sqrt(self.high / self.low) - 1

    @property
    def within_one_start(self) -> bool:
        """Check that all ratios are of one start of the servers, so that the interval says nothing of another start."""
        return len(set(self.starts)) < 2


Agreement = Annotated[
    Literal[
        "same direction",
        "opposite",
        "published as no change",
        "the source contradicts itself",
        "ours is undecided",
        "ours is the same",
        "ours has too few runs",
        "not measured",
    ],
    BeforeValidator(lambda word: "ours is undecided" if word == "not detectable" else word),
]


class PublishedStep(Record):
    """A step of a source document beside ours.

    Attributes:
        published_value, published_against: The source's two figures.
        published_ratio: Their quotient.
        published_low, published_high: Between which two it lies, as both figures are rounded.
        agreement: Whether our effect goes the same way, where both claim a change. A published change of less than 5 %
            is none.
        is_inside: Whether our interval holds a ratio between those two; `None` without an interval.
        source: Document and place.
        confounded: What else differs between the source's two figures, with the arithmetic; such a figure says nothing
            of the factor, whichever way it goes.
    """

    variant: str
    against: str
    metric: str
    scope: str
    published_value: float
    published_against: float
    published_ratio: float
    published_low: float | None = None
    published_high: float | None = None
    agreement: Agreement
    is_inside: bool | None = None
    source: str
    note: str | None = None
    confounded: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Name and scope of its metric."""
        return self.metric, self.scope


NO_LIMIT = "not known"


class VariantLimit(Record):
    """Limits of a variant's runs.

    Attributes:
        limits: Stage → in how many of its runs; `NO_LIMIT` where their samples showed none.
    """

    variant: str
    limits: dict[str, Count]
    evidence: Limit | None


class SuiteResult(Record):
    """Result of a suite: `suite.json`.

    Attributes:
        headline: Of pairs at the same time, what their rates are.
        answer: The question's answer: a sentence for each primary metric, and how far they can be believed.
        factors: A sentence for each factor that had nothing to act on, and one for the places at which a level wins.
        conclusions: Empty: the tables have them. Earlier versions wrote a sentence for each comparison.
        in_short: What the source measured, and what the suite does instead.
        caveats: What the source leaves open, and where our runs are not what it measured.
        warnings: Of the suite as a whole, and of each kind of its runs' warnings the first.
    """

    schema_version: Literal[1, 2] = 2
    plan: SuitePlan
    ended_s: float | None
    wall_time_s: float | None
    complete: bool
    runs: tuple[SuiteRun, ...]
    figures: tuple[VariantMetric, ...]
    effects: tuple[Effect, ...]
    published: tuple[PublishedStep, ...] = ()
    in_short: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    limits: tuple[VariantLimit, ...] = ()
    headline: str = ""
    answer: str = ""
    factors: tuple[str, ...] = ()
    conclusions: tuple[str, ...] = ()
    warnings: tuple[RunWarning, ...] = ()
    environment: Environment | None = None

    @property
    def verified(self) -> frozenset[str]:
        """Variants of which a run is verified that is no warm-up."""
        return frozenset(run.variant for run in self.runs if run.status == "verified" and not run.warm_up)

    @property
    def repeats(self) -> str:
        """Number of blocks, as `repeats_text` writes it."""
        return repeats_text(self.plan, self.runs)


def repeats_text(plan: SuitePlan, runs: Iterable[SuiteRun]) -> str:
    """`5 repeats`, `3 of 5 repeats` of a suite that has not come to its last one, `7 blocks` where a width decides.

    Of a suite in parts, or of several starts, each with blocks of its own: `3 of 10 blocks`. Of runs at the same time:
    `16 pairs`.
    """
    begun, drawn = len({run.block for run in runs if not run.warm_up}), len(plan.order)
    if plan.repeats is None:
        what = "pair" if plan.duets else "block"
        return f"{begun} {what}{'' if begun == 1 else 's'}"
    if begun >= drawn:
        return f"{plan.repeats} {'repeat' if plan.repeats == 1 else 'repeats'}"
    return f"{begun} of {drawn} {'repeats' if drawn == plan.repeats else 'blocks'}"
