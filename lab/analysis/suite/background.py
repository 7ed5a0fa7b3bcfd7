"""The sections of a suite's report that say what lies behind its comparisons: limits, sources, runs, environment."""

import shlex
from collections import Counter
from html import escape
from pathlib import Path

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.page.markup import box, folded, pairs, paragraph, preformatted, prose, table
from lab.analysis.page.sections import chart_figure, environment_cards
from lab.analysis.page.svg import Chart
from lab.analysis.suite.charts import rate_over_time
from lab.analysis.suite.folder import last_attempts
from lab.analysis.suite.names import SUITE_TERMS, common_prefix, published_text, short_name
from lab.analysis.text import UNKNOWN, duration, figure
from lab.records.suite import SuiteResult, SuiteRun


def limits(result: SuiteResult) -> str:
    """What limited the runs of each variant, with the evidence of one of them."""
    if not result.limits:
        return paragraph("No run has ended that could tell.")
    told = [
        (
            short_name(result.plan, limit.variant),
            ", ".join(f"{stage} ({runs})" for stage, runs in limit.limits.items()),
            limit.evidence.evidence if limit.evidence else UNKNOWN,
        )
        for limit in result.limits
    ]
    return box(table(("variant", "limited by (runs)", "as seen in one of them"), told, numbers_from=99))


def published(result: SuiteResult) -> str:
    """Where the published figures stand, what they leave open, and where our runs are not what was measured."""
    if not result.published:
        return ""
    plan = result.plan
    told = [
        (
            f"{short_name(plan, step.variant)} ÷ {short_name(plan, step.against)}",
            BY_NAME[step.metric].label if step.metric in BY_NAME else step.metric,
            f"{step.published_value:g} ÷ {step.published_against:g} = {published_text(step)}",
            step.agreement,
            step.source.rpartition("), ")[2],
            step.note or "",
        )
        for step in result.published
    ]
    caveats = "".join(f"<li>{prose(text)}</li>" for text in result.caveats)
    document = step_document(result.published[0].source)
    inner = table(("step", "metric", "published", "agreement", "where", "note"), told, numbers_from=99)
    return (
        f"<section><h2>Published figures</h2><p>{escape(document)}.</p>"
        f"{folded('What it leaves open, and where our runs differ', box(f'<ul>{caveats}</ul>', 'plain'))}"
        f"{folded('Every figure with its place', box(inner, 'places'))}</section>"
    )


def step_document(source: str) -> str:
    """The document of a published step's source, without the place in it."""
    document, closing, _ = source.rpartition("), ")
    return f"{document})" if closing else source


# --- the runs behind the figures ------------------------------------------------------------------------------------


def runs(folder: Path, result: SuiteResult) -> str:
    """Every run of every variant, folded: its rate over time, and a link to its own report where there is one."""
    final = last_attempts(result.runs)
    return "".join(
        folded(
            f"{short_name(result.plan, variant.name)}: {_ended(mine)}",
            _variant_runs(folder, result, variant.name, f"runs-{place}"),
        )
        for place, variant in enumerate(result.plan.variants)
        if (mine := [run for (_, name), run in sorted(final.items()) if name == variant.name])
    )


def _ended(mine: list[SuiteRun]) -> str:
    statuses = Counter(run.status for run in mine)
    return ", ".join(f"{times} {status}" for status, times in statuses.items())


def _variant_runs(folder: Path, result: SuiteResult, variant: str, name: str) -> str:
    attempts = sorted(
        (run for run in result.runs if run.variant == variant and not run.warm_up),
        key=lambda run: (run.block, run.attempt),
    )
    verified = [run for run in attempts if run.status == "verified"]
    chart: Chart = rate_over_time(folder, short_name(result.plan, variant), verified)
    listed = "".join(_run_line(folder, result, run) for run in attempts)
    return f'<div class="charts">{chart_figure(chart, name)}{box(f"<ul>{listed}</ul>", "plain")}</div>'


def _run_line(folder: Path, result: SuiteResult, run: SuiteRun) -> str:
    again = f", attempt {run.attempt}" if run.attempt > 1 else ""
    told = [
        f"block {run.block}{again}: {run.status}",
        *_run_figures(result, run),
        duration(run.ended_s - run.started_s),
    ]
    told += [run.reason] if run.reason else []
    text = escape(" · ".join(told))
    report = f"{run.folder}/report.html"
    if run.folder and (folder / report).is_file():
        text += f' · <a href="{escape(report, quote=True)}">report</a>'
    return f"<li>{text}</li>"


def _run_figures(result: SuiteResult, run: SuiteRun) -> list[str]:
    """The run's values of the metrics that the plan asks for; none for a run that does not count."""
    if last_attempts(result.runs).get((run.block, run.variant)) != run:
        return []
    return [
        figure(found.values[run.block - 1], found.unit)
        for asked in result.plan.metrics[:2]
        for found in result.figures
        if (found.variant, found.name, found.scope) == (run.variant, asked.name, asked.scope)
        and found.values[run.block - 1] is not None
    ]


# --- where it ran, and how to run it again --------------------------------------------------------------------------


def environment(result: SuiteResult) -> str:
    """Machine and software of the control's first run that counts."""
    if result.environment is None:
        return paragraph("No run has ended that could tell.")
    note = paragraph("Of the control's first run; what other runs do not share with it is among the warnings.", "note")
    return environment_cards(result.environment) + note


def reproduce(result: SuiteResult) -> str:
    """The command, the seed of the order, and the order itself."""
    plan = result.plan
    commit = result.environment.git_commit if result.environment else None
    command = " ".join(shlex.quote(word) for word in plan.command or ("./sluice", "suite", plan.suite))
    order = "\n".join(
        f"block {block}: {'  '.join(short_name(plan, name) for name in names)}"
        for block, names in enumerate(plan.order, 1)
    )
    variants = table(
        ("variant", "profile", "set", "documents", "question"),
        [
            (
                variant.name,
                variant.profile,
                " ".join(variant.overrides) or UNKNOWN,
                UNKNOWN if variant.documents is None else f"{variant.documents:,}".replace(",", "\u202f"),
                variant.question,
            )
            for variant in plan.variants
        ],
        numbers_from=99,
    )
    told = pairs(
        [
            ("Repeats", str(plan.repeats)),
            ("Seed of the order", str(plan.seed)),
            ("Wall time", duration(result.wall_time_s)),
            ("Warm-up drains", str(sum(run.warm_up for run in result.runs)) + ", which do not count"),
            *((f"Left out: {name}", reason) for name, reason in plan.skipped.items()),
        ]
    )
    return (
        preformatted((f"git checkout {commit}\n" if commit else "") + command)
        + box(told)
        + folded("Plan: the variants", box(variants, "wrapped"))
        + folded("Plan: the order of the runs", preformatted(order))
        + paragraph("The same seed gives the same order, and each profile's seed the same documents.", "note")
    )


def glossary(result: SuiteResult) -> str:
    """The words used here."""
    prefix = common_prefix(result.plan)
    note = paragraph(f"Names of variants are written without `{prefix}`.", "note") if prefix else ""
    return box(pairs(SUITE_TERMS.items()) + note)
