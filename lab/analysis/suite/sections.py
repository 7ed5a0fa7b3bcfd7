"""Content of the sections of a suite's report; `suite.html` lays them out."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from lab.analysis.figures.definitions import meaning_of
from lab.analysis.figures.limits import stage_text
from lab.analysis.folder import read_run
from lab.analysis.report_page.svg import Chart
from lab.analysis.suite.charts import crossing_chart, drift_chart, rate_over_time, run_name
from lab.analysis.suite.comparison_table import HEAD, agreement_text, rows, verdict_kind
from lab.analysis.suite.comparisons import is_detected, of_pair, verdict_of
from lab.analysis.suite.figures import PER_DOCUMENT, PER_ENTITY, PER_MB, by_variant, compared_metrics
from lab.analysis.suite.folder import last_attempts
from lab.analysis.suite.forest_plot import axis, plot_row
from lab.analysis.suite.names import metric_label, published_text, ratio_text, short_name
from lab.analysis.suite.scope_table import MetricScopes, lines, scope_names, scopes_label, scopes_of
from lab.analysis.suite.summary import TOO_FEW, compared_effects
from lab.analysis.text import UNKNOWN, count, duration, figure
from lab.engines import DEFAULT
from lab.errors import ProfileError
from lab.profiles.mapping import leaves
from lab.records.suite import NO_LIMIT, MetricKey, SuitePlan, SuiteResult, SuiteRun

SAME_UNIT = 1.001
"""How far the unit may vary from run to run: documents are as large as chance makes them."""


def shown_metrics(result: SuiteResult) -> list[MetricKey]:
    """Metrics of the plan, and others that a run has and that say more than the rate."""
    known = {figure.key for figure in result.figures if figure.median is not None}
    return [
        metric
        for metric in compared_metrics(result.plan)
        if metric in result.plan.metrics or (metric.key in known and not _is_the_rate_again(result, metric))
    ]


def _is_the_rate_again(result: SuiteResult, metric: MetricKey) -> bool:
    """Check that entities or bytes a second are only another unit of documents a second, for all variants."""
    if metric not in {PER_ENTITY, PER_MB}:
        return False
    rates, others = by_variant(result.figures, PER_DOCUMENT), by_variant(result.figures, metric)
    units = [
        value / rate
        for variant in rates.keys() & others.keys()
        for value, rate in zip(others[variant].values, rates[variant].values, strict=False)
        if value and rate
    ]
    return bool(units) and max(units) <= SAME_UNIT * min(units)


def difference_counts(result: SuiteResult, metric: MetricKey) -> tuple[int, int]:
    """Comparisons that show a difference by a metric, and comparisons in all; 0 of all if each has too few runs."""
    compared = compared_effects(result, metric)
    is_measured = any(effect.verdict != TOO_FEW for effect in compared)
    return sum(map(is_detected, compared)), len(compared) if is_measured else 0


def switch(result: SuiteResult) -> list[dict[str, object]]:
    """Choices of the reader, in groups: a metric by itself, or a metric with many scopes, the table of all first.

    Each choice shows one panel; their numbers go through all groups.
    """
    metrics, groups = shown_metrics(result), list[dict[str, object]]()
    for metric in metrics:
        scopes = scopes_of(metrics, metric)
        if scopes is None:
            groups.append({"label": "", "panels": [panel(result, metric)]})
        elif metric == scopes[0]:
            single = [
                panel(result, each) | {"label": name} for each, name in zip(scopes, scope_names(scopes), strict=True)
            ]
            groups.append({"label": scopes_label(scopes), "panels": [scopes_panel(result, scopes), *single]})
    return groups


def crossings(result: SuiteResult) -> list[Chart]:
    """One chart for each place from which a level of a factor begins to win."""
    return [crossing_chart(result, wanted) for wanted in result.plan.crossings]


def scopes_panel(result: SuiteResult, scopes: MetricScopes) -> dict[str, object]:
    """Panel of a metric with many scopes: one table of comparisons by scopes."""
    compared = lines(result, scopes)
    return {
        "label": "all",
        "title": scopes_label(scopes),
        "meaning": meaning_of(scopes[0].name),
        "scopes": scope_names(scopes),
        "lines": compared,
        "has_published": any(cell.published for line in compared for cell in line.cells),
    }


def check_table(result: SuiteResult) -> dict[str, object]:
    """The control against itself, by every metric."""
    checks = [
        (metric_label(metric), ratio_text(row.effect.ratio), row)
        for metric in shown_metrics(result)
        for row in rows(result, metric)
        if row.is_check and row.effect is not None
    ]
    return {
        "head": ("metric", *HEAD[3:5]),
        "rows": [(label, ratio, row.verdict_text) for label, ratio, row in checks],
        "kinds": [verdict_kind(row.verdict) for *_, row in checks],
    }


def panel(result: SuiteResult, metric: MetricKey) -> dict[str, object]:
    """Panel of one metric: charts, the planned comparisons, and the comparisons that only the source draws."""
    every = rows(result, metric)
    planned = [row for row in every if row.is_planned]
    extra = [row for row in every if not row.is_planned and row.published is not None]
    along = axis(planned, metric.name)
    return {
        "label": metric_label(metric),
        "title": metric_label(metric),
        "meaning": meaning_of(metric.name),
        "axis": along,
        "has_published": any(row.published for row in planned),
        "comparisons": [
            (row, verdict_kind(row.verdict), plot_row(row, along), dict(zip(HEAD, row.texts, strict=True)))
            for row in planned
        ],
        "drift": drift_chart(result, metric),
        "notes": [
            f"`{row.variant}` ÷ `{row.against}`: {row.effect.explained}."
            for row in planned
            if row.effect is not None and row.effect.explained
        ],
        "extra": {
            "head": ("comparison", *HEAD[3:5], HEAD[6]),
            "rows": [(f"{row.variant} ÷ {row.against}", *row.texts[3:5], ", ".join(row.texts[-2:])) for row in extra],
            "kinds": [verdict_kind(row.verdict) for row in extra],
        },
    }


def limit_rows(result: SuiteResult) -> Iterator[tuple[str, ...]]:
    """Limits of each variant's runs, with the evidence of one of them."""
    product = result.environment.product if result.environment else DEFAULT.engine.title
    for limit in result.limits:
        named = (
            (stage if stage == NO_LIMIT else stage_text(stage, product), runs) for stage, runs in limit.limits.items()
        )
        stages = ", ".join(f"{stage} ({runs})" for stage, runs in named)
        yield short_name(result.plan, limit.variant), stages, limit.evidence.evidence if limit.evidence else UNKNOWN


def published_rows(result: SuiteResult) -> Iterator[tuple[str, ...]]:
    """Every figure of the source with its place, beside ours; a confounded one says so and why."""
    plan = result.plan
    for step in result.published:
        metric = MetricKey(name=step.metric, scope=step.scope)
        effect = of_pair(result.effects, (step.variant, step.against), metric)
        yield (
            f"{short_name(plan, step.variant)} ÷ {short_name(plan, step.against)}",
            metric_label(metric),
            f"{step.published_value:g} ÷ {step.published_against:g} = {published_text(step)}",
            verdict_of(effect) if effect and effect.ratio is not None else UNKNOWN,
            agreement_text(step),
            step.source.rpartition("), ")[2],
            " ".join(filter(None, (step.confounded and f"Confounded: {step.confounded}", step.note))),
        )


def document_of(source: str) -> str:
    """The document of a published step's source, without the place in it."""
    document, closing, _ = source.rpartition("), ")
    return f"{document})" if closing else source


def variant_runs(folder: Path, result: SuiteResult) -> Iterator[tuple[str, Chart, list[tuple[str, str | None]]]]:
    """By variant that has run: a summary, its rate over time, and a line for each run with the run's own report."""
    final = last_attempts(result.runs)
    for variant in result.plan.variants:
        statuses = Counter(run.status for (_, name, _), run in final.items() if name == variant.name)
        if not statuses:
            continue
        attempts = sorted(
            (run for run in result.runs if run.variant == variant.name and not run.warm_up),
            key=lambda run: (run.block, run.turn, run.attempt),
        )
        name = short_name(result.plan, variant.name)
        verified = [run for run in attempts if run.status == "verified"]
        yield (
            f"{name}: {', '.join(f'{times} {status}' for status, times in statuses.items())}",
            rate_over_time(folder, name, verified, of_queries=variant.layout is not None),
            [(run_text(result, run, counts=run in final.values()), report_of(folder, run)) for run in attempts],
        )


def vector_indices(folder: Path, result: SuiteResult) -> Iterator[tuple[str, str]]:
    """By variant: what Elasticsearch has made of its mapping, by its first run whose records are there."""
    for variant in result.plan.variants:
        runs = (run for run in result.runs if run.variant == variant.name and run.status == "verified" and run.folder)
        for run in runs:
            try:
                of_run = read_run(folder / str(run.folder)).run
            except ProfileError:
                continue
            options = of_run.environment.vector_options or {}
            if options:
                text = "; ".join(options_text(each) for each in options.values())
                yield short_name(result.plan, variant.name), text
            break


def options_text(options: Mapping[str, object]) -> str:
    """`bbq_hnsw, m 16, rescore_vector.oversample 3.0`."""
    others = [f"{name} {value}" for name, value in leaves(options) if name != "type"]
    return ", ".join([str(options.get("type", UNKNOWN)), *others])


def run_text(result: SuiteResult, run: SuiteRun, *, counts: bool) -> str:
    """One run: its place, its outcome, its values of the first metrics if it counts, its wall time."""
    values = [
        figure(metric.by_run[str(run.folder)], metric.unit)
        for wanted in result.plan.metrics[:2]
        if (metric := by_variant(result.figures, wanted).get(run.variant))
        and metric.by_run.get(str(run.folder)) is not None
    ]
    parts = [
        f"{run_name(run)}: {run.status}",
        *(values if counts else ()),
        duration(run.ended_s - run.started_s),
        run.reason,
        run.disturbed,
    ]
    return " · ".join(part for part in parts if part)


def report_of(folder: Path, run: SuiteRun) -> str | None:
    """The place of a run's own report; `None` where there is none."""
    report = f"{run.folder}/report.html"
    return report if run.folder and (folder / report).is_file() else None


def variant_rows(plan: SuitePlan) -> Iterator[tuple[str, ...]]:
    """The variants as they were planned."""
    for variant in plan.variants:
        yield (
            variant.name,
            variant.profile,
            " ".join(variant.overrides) or UNKNOWN,
            count(variant.documents),
            variant.question,
        )
