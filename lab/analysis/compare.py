"""Lays two runs, or two series of runs, beside each other, as far as what went into them allows it."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import exp, log
from statistics import fmean, geometric_mean
from typing import Any

from lab.analysis.contents import contents_of, mapping_fields, unknown_contents, unlike_contents
from lab.analysis.figures.badges import badges
from lab.analysis.figures.definitions import is_of_queries, value_of
from lab.analysis.folder import RunFolder
from lab.analysis.result import RunAnalysis
from lab.analysis.statistics.effects import LEAST_BLOCKS, holm_levels, verdict
from lab.analysis.statistics.means import Mean, difference
from lab.analysis.text import count
from lab.profiles.mapping import leaves
from lab.records.result import Metric
from lab.records.run import Environment, Run, RunWarning
from lab.records.suite import Verdict

Inputs = dict[str, str]
"""What went into a run: by name, as a reader sees it."""

UNKNOWN_INPUT = "not known"
NOT_SET = "not set"
SIZE_KEYS = {"documents", "books", "duration", "name", "seed"}
OF_ONE_INDEX = {"index.uuid", "index.creation_date", "index.provided_name", "index.version.created"}
TRIED_SECTIONS = (
    "mapping",
    "topic",
    "producer",
    "sink",
    "elasticsearch",
    "load",
    "indices",
    "maintain",
    "queries",
    "sampling",
)

OF_OLDER_PROFILES: Mapping[str, object] = {"indices": 1, "maintain": None}
"""What profiles had before there were these keys."""

LOAD = "load.mode"
"""The one setting that is no matter of choice: a stream goes at its own rate, and a drain as fast as it can."""

PER_DOCUMENT = frozenset({"documents", "bytes", "dataset.model"})
"""Inputs that only matter to figures that count documents: books nested or flat are the same books."""

LOAD_OF_QUERIES = ("load.queries.", "queries.")
"""Before inputs that only matter to figures of a query load: 3 clients and 8 are two loads, not two servers."""

RAMP_BOUND = "load.ramp.p99_ms"
QUESTION = "question "
"""Before the name of a question that was asked by itself; its fingerprint only matters to its own figures."""

DOCUMENT_UNITS = {"docs", "docs/s", "records", "requests", "CPU-s"}
DOCUMENT_METRICS = ("latency_ms", "service_time_ms", "bulk_size")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: a run, or all runs of a variant that count.

    Attributes:
        metrics: Of each run.
        control: All runs of the control of its suite that count; `None` of a run, and of the control itself.
        beside: Of each run the metrics of the control's run in the same block; empty without a control.
        starts: Of each run, which start of the servers it ran on.
        contents: Hash of each file that the profile names; see `lab.analysis.contents`.
        fields: Of the mapping that was sent, with type and parameters.
        warnings: Of the runs, one of each kind.
    """

    label: str
    inputs: dict[str, str]
    tried: dict[str, str]
    metrics: tuple[tuple[Metric, ...], ...]
    control: "Side | None" = None
    beside: tuple[tuple[Metric, ...], ...] = ()
    starts: tuple[int, ...] = ()
    contents: Inputs = field(default_factory=dict)
    fields: Inputs = field(default_factory=dict)
    warnings: tuple[RunWarning, ...] = ()

    def values(self, name: str, scope: str) -> list[float]:
        """The values of a metric that are known, by run."""
        return [
            metric.value
            for metrics in self.metrics
            for metric in metrics
            if metric.key == (name, scope) and metric.value is not None
        ]

    def log_ratios(self, name: str, scope: str) -> list[float]:
        """By start of the servers the mean logarithm of the variant's value over the control's in the same block.

        Blocks of one start share what was drawn when it started, which differs between variant and control; and two
        suites never share a start.
        """
        by_start: dict[int, list[float]] = defaultdict(list)
        for runs, other_runs, start in zip(self.metrics, self.beside, self.starts, strict=False):
            own, other = value_of(runs, name, scope), value_of(other_runs, name, scope)
            if own and other and min(own, other) > 0:
                by_start[start].append(log(own / other))
        return [fmean(values) for values in by_start.values()]


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of both sides.

    Attributes:
        first, second: Geometric mean of the runs' values, the arithmetic one where some are zero; `None`: not known.
        ratio: second / first, or where both ran beside the same control, of their ratios to it; `None` where the two
            must not be compared, or one of them is not above zero.
        difference: Of the mean logarithms of these, with at least 3 starts on either side; `None` without a control:
            machines change from session to session, by how much only what both contain can tell.
        low, high, verdict: As one of all metrics that are judged (Holm); a difference without a spread has no interval.
        differing: The inputs that this metric depends on and that are not the same.
        warned: Kinds of warnings of either side that touch this metric.
    """

    name: str
    scope: str
    unit: str
    first: float | None
    second: float | None
    ratio: float | None = None
    difference: Mean | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = "too few runs"
    differing: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides beside each other.

    Attributes:
        differing: Inputs that ought to be the same and are not, with both values.
        compared: Settings that differ, and files of one name that have other contents: what a difference may come from.
        fields: Of two mappings of one name that differ, the fields that do.
        not_recorded: Keys of files of which one side does not say whether their contents are the other's.
    """

    first: Side
    second: Side
    differing: dict[str, tuple[str, str]]
    compared: dict[str, tuple[str, str]]
    rows: tuple[Row, ...]
    fields: dict[str, tuple[str, str]] = field(default_factory=dict)
    not_recorded: tuple[str, ...] = ()

    @property
    def has_verdicts(self) -> bool:
        """Check that a row has more than two figures and their ratio."""
        return any(row.difference for row in self.rows)

    @property
    def comparable(self) -> int:
        """Rows that have a ratio."""
        return sum(row.ratio is not None for row in self.rows)


def side(label: str, runs: Sequence[RunAnalysis]) -> Side:
    """One side, made from its runs."""
    return Side(
        label=label,
        inputs=merged_inputs(inputs(run.folder) for run in runs),
        tried=merged_inputs(tried(run.folder) for run in runs),
        metrics=tuple(run.result.metrics for run in runs),
        contents=merged_inputs(contents_of(run.folder.run.environment) for run in runs),
        fields=merged_inputs(mapping_fields(run.folder.path) for run in runs),
        warnings=tuple(_warnings(runs)),
    )


def _warnings(runs: Sequence[RunAnalysis]) -> Iterator[RunWarning]:
    """One warning of each kind; of several runs, with how many of them gave it."""
    given = [warning for run in runs for warning in run.result.warnings]
    # Documents and the queries beside them may both have fallen behind, in one run.
    times = Counter(kind for run in runs for kind in {warning.kind for warning in run.result.warnings})
    for kind, first in {warning.kind: warning for warning in reversed(given)}.items():
        where = f"in {times[kind]} of {len(runs)} runs; the first of them: "
        yield first if len(runs) == 1 else first.model_copy(update={"seen": f"{where}{first.seen}"})


def compare(
    first: Side,
    second: Side,
    *,
    vary: Collection[str] = (),
    force: bool = False,
    judged: Collection[str] | None = None,
) -> Comparison:
    """The two beside each other; a row whose inputs differ has no ratio.

    Args:
        vary: Inputs that differ on purpose, such as `version.elasticsearch`.
        force: Give rows whose inputs differ a ratio all the same, but never a verdict.
        judged: Metrics that a reader sees, all if not given: the more there are, the more is asked of each.
    """
    differing = {
        name: pair
        for name, pair in differences(first.inputs, second.inputs).items()
        if name not in vary and not (_is_of_queries(name) and UNKNOWN_INPUT in pair)
    }
    named = {metric.key: metric.unit for metrics in (*first.metrics, *second.metrics) for metric in metrics}
    rows = [_row(first, second, key, unit, differing, force=force) for key, unit in named.items()]
    compared = {
        name: pair for name, pair in differences(first.tried, second.tried, NOT_SET).items() if name not in differing
    }
    # Where the names differ, so do contents.
    unlike = {
        key: pair for key, pair in unlike_contents(first.contents, second.contents).items() if key not in compared
    }
    compared |= {f"{key}.content": pair for key, pair in unlike.items()}
    return Comparison(
        first,
        second,
        differing,
        compared,
        _among_metrics(rows, judged),
        fields=differences(first.fields, second.fields, NOT_SET) if "mapping" in unlike else {},
        not_recorded=tuple(key for key in unknown_contents(first.contents, second.contents) if key not in compared),
    )


def _among_metrics(rows: Sequence[Row], judged: Collection[str] | None) -> tuple[Row, ...]:
    """The rows with their verdicts, so that in 95 of 100 comparisons none of them is a false alarm."""
    differences = {
        place: row.difference
        for place, row in enumerate(rows)
        if row.difference and (judged is None or row.name in judged)
    }
    p_values = {place: one.p_value for place, one in differences.items() if one.p_value is not None}
    levels = dict(zip(p_values, holm_levels(list(p_values.values())), strict=True))
    return tuple(
        _judged(row, differences[place], levels.get(place)) if place in differences else row
        for place, row in enumerate(rows)
    )


def _judged(row: Row, difference: Mean, level: float | None) -> Row:
    """The row with its interval at 1 − `level`; a difference without a spread has a verdict and no interval."""
    interval = None if level is None else difference.interval(level)
    if interval is None:
        return replace(row, verdict=verdict(row.name, difference.mean, None, None))
    low, high = interval
    return replace(row, low=exp(low), high=exp(high), verdict=verdict(row.name, difference.mean, low, high))


def depends_on(metric: str, unit: str, name: str, scope: str = "run") -> bool:
    """Check that a metric depends on an input: a metric that counts documents on all, any other not on their shape.

    How queries were sent, and which, matters to their own figures only. These do not depend on what counts as a
    document: a question is one of the same books, however many documents they are. A knee may be one of documents or
    of queries.
    """
    if metric == "knee_rate_per_s":
        return True
    if name.startswith(LOAD_OF_QUERIES):
        return is_of_queries(metric)
    if name.startswith(QUESTION):
        return scope == name.removeprefix(QUESTION)
    if name == RAMP_BOUND:
        return False
    if name not in PER_DOCUMENT:
        return True
    return not is_of_queries(metric) and (unit in DOCUMENT_UNITS or any(part in metric for part in DOCUMENT_METRICS))


def _is_of_queries(name: str) -> bool:
    """Check that an input is one of queries, which a run without them need not share."""
    return name == RAMP_BOUND or name.startswith((*LOAD_OF_QUERIES, QUESTION))


def difference_text(name: str, pair: tuple[str, str]) -> str:
    """An input that differs, as a reader sees it: `documents: 100 000 and 400 000`; a hash is no number."""
    is_hash = name.endswith(("content", "fingerprint")) or name.startswith(QUESTION)
    first, second = (
        count(int(value)) if value.isdigit() and len(value) > 4 and not is_hash else value for value in pair
    )
    return f"{name}: {first} and {second}"


def _typical(values: Sequence[float]) -> float:
    """The geometric mean; of one value itself, which a logarithm would not give back to its last digit."""
    return values[0] if len(values) == 1 else geometric_mean(values)


def _row(
    first: Side,
    second: Side,
    key: tuple[str, str],
    unit: str,
    differing: dict[str, tuple[str, str]],
    *,
    force: bool,
) -> Row:
    name, scope = key
    flagged = tuple(other for other in differing if depends_on(name, unit, other, scope))
    warned = tuple(dict.fromkeys(kind.value for kind in badges((*first.warnings, *second.warnings), name)))
    row = Row(name=name, scope=scope, unit=unit, first=None, second=None, differing=flagged, warned=warned)
    firsts, seconds = (side.values(name, scope) for side in (first, second))
    if not (firsts and seconds and min(firsts + seconds) > 0):
        return replace(row, first=fmean(firsts) if firsts else None, second=fmean(seconds) if seconds else None)
    typical, other = _typical(firsts), _typical(seconds)
    row = replace(row, first=typical, second=other)
    if flagged and not force:
        return row
    has_control = not flagged and has_same_control(first, second)
    ratios = [side.log_ratios(name, scope) if has_control else [] for side in (second, first)]
    if min(map(len, ratios)) < LEAST_BLOCKS:
        return replace(row, ratio=other / typical)
    log_ratio = difference(*ratios)
    return replace(row, ratio=exp(log_ratio.mean), difference=log_ratio)


def has_same_control(first: Side, second: Side) -> bool:
    """Check that both sides ran beside the same control, by all its inputs."""
    one, other = first.control, second.control
    if one is None or other is None or unlike_contents(one.contents, other.contents):
        return False
    return (one.inputs, one.tried) == (other.inputs, other.tried)


def control_text(first: Side, second: Side) -> str:
    """Clause on why a figure has no interval beside the controls of two suites; empty if more starts would give one."""
    one, other = first.control, second.control
    if one is None or other is None:
        return ""
    if not has_same_control(first, second):
        names = (
            *differences(one.inputs, other.inputs),
            *differences(one.tried, other.tried, NOT_SET),
            *(f"{key}.content" for key in unlike_contents(one.contents, other.contents)),
        )
        return f"the controls differ, too ({', '.join(names)}): ratios to them would hide what changed both alike"
    if min(len(set(side.starts)) for side in (first, second)) < LEAST_BLOCKS:
        return ""
    return "the control, or the variant, has it above zero in fewer than three starts of a suite"


# --- what went into a run --------------------------------------------------------------------------------------------


def inputs(folder: RunFolder) -> Inputs:
    """Inputs that another run must share with this one: documents, machine, versions; without the tried settings."""
    run = folder.run
    section = (folder.profile or {}).get("dataset")
    dataset: Mapping[str, Any] = section if isinstance(section, dict) else {}
    # A file of the same content elsewhere holds the same documents.
    told = SIZE_KEYS | ({"path"} if run.content_hash else set())
    return {
        "status": "verified" if run.verification.verified else "failed",
        "dataset": str(dataset.get("name", UNKNOWN_INPUT)),
        "seed": str(dataset.get("seed", UNKNOWN_INPUT)),
        "entities": _known(run.entities),
        **({"dataset.content": run.content_hash} if run.content_hash else {}),
        "documents": str(run.documents.produced),
        "bytes": _known(run.source_bytes),
        **{f"dataset.{key}": str(value) for key, value in sorted(dataset.items()) if key not in told},
        LOAD: run.load,
        **_queries(run),
        **_machine(run.environment),
    }


def _queries(run: Run) -> Inputs:
    """Inputs of queries: other queries, or other clients, are another load."""
    questions = {f"{QUESTION}{question.name}": question.fingerprint for question in run.questions}
    bound = {RAMP_BOUND: str(run.ramp.p99_bound_ms)} if run.ramp else {}
    load = run.query_load
    if load is None:
        return questions | bound
    return questions | {
        "load.queries.clients": str(load.clients),
        "load.queries.rate_per_s": "closed loop" if load.rate_per_s is None else str(load.rate_per_s),
        "load.queries.think_time_s": str(load.think_time_s),
        "queries.window.seconds": "all" if load.window_s is None else str(load.window_s),
        "queries.window.place": load.window_place or "all",
        "queries.window.within": str(load.window_within or "all"),
        "queries.fingerprint": _digest(question.fingerprint for question in load.questions),
        **bound,
    }


def _digest(fingerprints: Iterable[str]) -> str:
    """One fingerprint for all questions: in a mix, each one's times depend on the others."""
    return hashlib.sha256(" ".join(fingerprints).encode()).hexdigest()[:16]


def tried(folder: RunFolder) -> Inputs:
    """Settings that a profile may try: its own, and those of the index as Elasticsearch gives them."""
    stated = {} if folder.profile is None else {**OF_OLDER_PROFILES, **folder.profile}
    profile = {name: stated.get(name, NOT_SET) for name in TRIED_SECTIONS}
    index = {name: value for name, value in folder.run.environment.index_settings.items() if name not in OF_ONE_INDEX}
    return {name: str(value) for name, value in (*leaves(profile), *leaves(index)) if name != LOAD}


def differences(
    first: Mapping[str, str], second: Mapping[str, str], absent: str = UNKNOWN_INPUT
) -> dict[str, tuple[str, str]]:
    """The inputs that are not the same, with both values, in the order of the first; `absent` where there is none."""
    names = [*first, *(name for name in second if name not in first)]
    pairs = {name: (first.get(name, absent), second.get(name, absent)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def merged_inputs(runs: Iterable[Inputs]) -> Inputs:
    """Each input with every value that it has in these runs, joined by `and`."""
    values: dict[str, set[str]] = {}
    for run in runs:
        for name, value in run.items():
            values.setdefault(name, set()).add(value)
    return {name: " and ".join(sorted(each)) for name, each in values.items()}


def _machine(environment: Environment) -> Inputs:
    servers = [(_kind(server.name), server.release) for server in environment.servers]
    javas = [(_kind(name), version) for name, version in environment.java_versions.items()]
    return {
        "machine": environment.machine,
        "cpu_model": environment.cpu_model,
        "cpu_cores": str(environment.cpu_cores),
        "memory": f"{environment.memory_bytes / 1e9:.1f} GB",
        "kernel": environment.kernel,
        "target": environment.target,
        **({"distribution": environment.local_distribution} if environment.local_distribution else {}),
        **{f"version.{kind}": versions for kind, versions in _by_kind(servers)},
        **{f"java.{kind}": versions for kind, versions in _by_kind(javas)},
        "python": environment.python_version,
        "sluice": environment.sluice_version,
        "commit": environment.git_commit or UNKNOWN_INPUT,
    }


def _by_kind(named: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    grouped = groupby(sorted(set(named)), key=lambda pair: pair[0])
    return [(kind, " and ".join(value for _, value in pairs)) for kind, pairs in grouped]


def _kind(server: str) -> str:
    """`elasticsearch` for `elasticsearch-2`: how many nodes there are is something to be tried."""
    stem, _, number = server.rpartition("-")
    return stem if number.isdigit() else server


def _known(value: int | None) -> str:
    return UNKNOWN_INPUT if value is None else str(value)
