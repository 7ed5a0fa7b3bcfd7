"""The table of a metric with many scopes, such as the query time of seven questions: a row for each comparison."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

from lab.analysis.figures.definitions import label_of
from lab.analysis.statistics.effects import interval_text
from lab.analysis.suite.comparison_table import Row, rows
from lab.analysis.suite.comparisons import is_detected
from lab.analysis.suite.names import SIGNS, published_text, ratio_text, short_name
from lab.analysis.suite.summary import TOO_FEW
from lab.analysis.text import UNKNOWN, figure
from lab.records.suite import MetricKey, SuiteResult

MetricScopes = tuple[MetricKey, ...]
"""The keys of one metric, one for each scope."""

HEAD = "variant ÷ control"
LEAST_SCOPES = 3
STRONGEST = 2.0
"""A ratio of this, or its inverse, has the full colour."""
UNDETECTED = {"same within 5 %": "=", "undecided": "?"}
KEY = "▲ higher, ▼ lower, = same within 5 %, ? undecided"


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell of the table: one comparison in one scope.

    Attributes:
        text: The ratio, or the median of what nothing is compared with.
        interval: Of the verdict, as changes in percent; empty where there is none.
        published: The source's ratio with a sign of its agreement; empty without one.
        kind: The verdict.
        mark: The verdict in one character.
        strength: From 0 for no change to 1 for a ratio of 2 or a half; 0 for what is not decided.
    """

    text: str
    interval: str = ""
    published: str = ""
    kind: str = ""
    mark: str = ""
    strength: float = 0.0

    @property
    def marked(self) -> str:
        """The ratio with its verdict in one character, for where there is no colour."""
        return f"{self.text} {self.mark}".rstrip()


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison over all scopes.

    Attributes:
        factor: What the variant turns, in words; empty where the suite names no factors.
    """

    name: str
    factor: str
    is_check: bool
    cells: tuple[Cell, ...]


def metrics_with_scopes(metrics: Iterable[MetricKey]) -> list[MetricScopes]:
    """Metrics of three scopes or more, which share one table."""
    by_name: dict[str, list[MetricKey]] = defaultdict(list)
    for metric in metrics:
        by_name[metric.name].append(metric)
    return [tuple(those) for those in by_name.values() if len(those) >= LEAST_SCOPES]


def scopes_of(metrics: Iterable[MetricKey], metric: MetricKey) -> MetricScopes | None:
    """Scopes of this metric; `None` for a metric with a table of its own."""
    return next((scopes for scopes in metrics_with_scopes(metrics) if metric in scopes), None)


def scopes_label(scopes: MetricScopes) -> str:
    """`Query service time, median`."""
    return label_of(scopes[0].name)


def scope_names(scopes: MetricScopes) -> list[str]:
    """The names of the scopes without their common prefix, such as `events-`."""
    names = [metric.scope for metric in scopes]
    prefixes = {name.partition("-")[0] for name in names}
    if len(prefixes) > 1 or not all("-" in name for name in names):
        return names
    return [name.partition("-")[2] for name in names]


def lines(result: SuiteResult, scopes: MetricScopes) -> list[Line]:
    """The control with its medians, then every planned comparison."""
    by_scope = [{key_of(row): row for row in rows(result, metric) if row.is_planned} for metric in scopes]
    every = dict.fromkeys(key for of_scope in by_scope for key in of_scope)
    first = {key: next(of_scope[key] for of_scope in by_scope if key in of_scope) for key in every}
    plan = result.plan
    control = short_name(plan, plan.control)
    factors = {short_name(plan, variant.name): variant.factor or "" for variant in plan.variants}
    return [
        Line(
            name=_comparison(row, control),
            factor="" if row.is_check else factors.get(row.variant, ""),
            is_check=row.is_check,
            # A question that got no answer at all has no row.
            cells=tuple(_cell(of_scope[key]) if key in of_scope else Cell(UNKNOWN) for of_scope in by_scope),
        )
        for key, row in first.items()
    ]


def key_of(row: Row) -> tuple[str, str, bool]:
    """Key of a comparison, the same in all scopes."""
    return row.variant, row.against, row.is_check


def _comparison(row: Row, control: str) -> str:
    """Name of a comparison; a comparison with the control names only the variant."""
    if row.is_check:
        return "A/A: control twice"
    return row.variant if row.against in {"", control} else f"{row.variant} ÷ {row.against}"


def _cell(row: Row) -> Cell:
    if not row.against:
        return Cell(figure(row.figure.median, row.figure.unit) if row.figure else UNKNOWN, kind="control")
    effect, step = row.effect, row.published
    published = f"{published_text(step)} {SIGNS.get(step.agreement, '?')}" if step else ""
    if effect is None or effect.ratio is None:
        return Cell(UNKNOWN, published=published, kind=row.verdict)
    return Cell(
        text=ratio_text(effect.ratio),
        interval="" if effect.verdict == TOO_FEW else interval_text(effect.low, effect.high),
        published=published,
        kind=row.verdict,
        mark=("▲" if effect.ratio > 1 else "▼") if is_detected(effect) else UNDETECTED.get(effect.verdict, ""),
        strength=max(0.2, min(1.0, abs(log(effect.ratio)) / log(STRONGEST))) if is_detected(effect) else 0.0,
    )


def table_texts(names: Sequence[str], chosen: Sequence[Line]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and cells for a table of plain text."""
    return (HEAD, *names), [(line.name, *(cell.marked for cell in line.cells)) for line in chosen]
