"""The sections of a suite's report."""

from collections import Counter
from html import escape

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.page.markup import box, card, paragraph, prose, table
from lab.analysis.page.sections import chart_figure
from lab.analysis.suite.charts import drift_chart, ladder_chart
from lab.analysis.suite.comparisons import is_detected
from lab.analysis.suite.figures import compared_metrics
from lab.analysis.suite.folder import last_attempts
from lab.analysis.suite.names import metric_label, ratio_text
from lab.analysis.suite.rows import HEAD, Row, head_and_cells, rows
from lab.records.suite import MetricAsked, SuiteResult


def answer(result: SuiteResult) -> str:
    """The two sentences on top; red when the control differs from itself."""
    first, _, second = result.answer.partition(". ")
    kind = "answer failed" if _check_failed(result) else "answer"
    unfinished = "" if result.complete else paragraph(f"Not finished: {_progress(result)}.", "unfinished")
    second = f"<p>{prose(second)}</p>" if second else ""
    return f'<div class="{kind}"><p>{prose(first)}{"." if second else ""}</p>{second}{unfinished}</div>'


def _check_failed(result: SuiteResult) -> bool:
    asked = result.plan.metrics[0]
    return any(row.is_check and is_detected(row.effect) for row in rows(result, asked))


def _progress(result: SuiteResult) -> str:
    return f"{len(last_attempts(result.runs))} of {sum(map(len, result.plan.order))} planned runs have ended"


def check(result: SuiteResult) -> str:
    """The control against itself, by every metric."""
    found = [
        (metric_label(asked), ratio_text(row.effect.ratio), row.verdict_text)
        for asked in compared_metrics(result.plan)
        for row in rows(result, asked)
        if row.is_check and row.effect is not None
    ]
    if not found:
        return paragraph(
            "The suite has no A/A check: nothing shows what the method finds where there is no difference."
        )
    kinds = [_kind(verdict.partition(" by ")[0]) for *_, verdict in found]
    told = table(("metric", *HEAD[3:5]), found, numbers_from=99, kinds=kinds)
    note = paragraph(
        "The control ran twice in each block, as if it were two variants. A difference here is a false one, which one"
        " metric in twenty may show by chance. What is compared with the control is compared with the geometric mean of"
        " both runs.",
        "note",
    )
    return box(told + note, "verdicts")


def metrics(result: SuiteResult) -> str:
    """A panel for each metric, one of which is shown."""
    asked = compared_metrics(result.plan)
    switches = "".join(_switch(place, metric) for place, metric in enumerate(asked))
    panels = "".join(_panel(result, place, metric) for place, metric in enumerate(asked))
    return f'<div class="switch">{switches}<div class="panels">{panels}</div></div>'


def switch_rules(result: SuiteResult) -> str:
    """Style that shows the panel of the chosen metric."""
    return "\n".join(
        f"#metric-{place}:checked ~ .panels > #panel-{place} {{ display: block; }}"
        for place in range(len(compared_metrics(result.plan)))
    )


def _switch(place: int, asked: MetricAsked) -> str:
    checked = " checked" if place == 0 else ""
    return (
        f'<input type="radio" name="metric" id="metric-{place}"{checked}>'
        f'<label for="metric-{place}">{escape(metric_label(asked))}</label>'
    )


def _panel(result: SuiteResult, place: int, asked: MetricAsked) -> str:
    found = rows(result, asked)
    meaning = BY_NAME[asked.name].meaning if asked.name in BY_NAME else ""
    figures = (
        chart_figure(ladder_chart([row for row in found if row.is_planned], asked), f"ladder-{place}"),
        chart_figure(drift_chart(result, asked), f"drift-{place}"),
    )
    return (
        f'<div class="panel" id="panel-{place}"><h3>{escape(metric_label(asked))}</h3>'
        f"<p>{prose(meaning)}{escape(_agreements(found))}</p>"
        f'<div class="charts">{figures[0]}<div class="stack">{figures[1]}{_only_published(found)}</div></div>'
        f"{box(_table([row for row in found if row.is_planned]), 'verdicts below')}</div>"
    )


def _table(found: list[Row]) -> str:
    kinds = [_kind(row.verdict) + (" check" if row.is_check else "") for row in found]
    head, cells = head_and_cells(found)
    return table(head, cells, numbers_from=99, kinds=kinds) + _notes(found)


def _notes(found: list[Row]) -> str:
    """The reasons of verdicts that the interval alone does not tell."""
    told = [
        f"`{row.variant}` ÷ `{row.against}`: {row.effect.explained}."
        for row in found
        if row.effect is not None and row.effect.explained
    ]
    return "".join(f'<p class="note">{prose(text)}</p>' for text in told)


def _only_published(found: list[Row]) -> str:
    """Comparisons that the plan does not ask for, but the source draws."""
    extra = [row for row in found if not row.is_planned and row.published is not None]
    if not extra:
        return ""
    texts = [(f"{row.variant} ÷ {row.against}", *row.texts[3:5], ", ".join(row.texts[-2:])) for row in extra]
    kinds = [_kind(row.verdict) for row in extra]
    told = table(("comparison", *HEAD[3:5], HEAD[6]), texts, numbers_from=99, kinds=kinds)
    return f'<div class="verdicts">{card("Compared by the source only: each judged alone, at 95 %", told)}</div>'


def _agreements(found: list[Row]) -> str:
    agreed = Counter(row.published.agreement for row in found if row.published and row.is_planned)
    if not agreed:
        return ""
    told = ", ".join(f"{times} {name}" for name, times in agreed.most_common())
    return f" Of {agreed.total()} published ratios beside ours: {told}."


def _kind(verdict: str) -> str:
    """The class of a table's row."""
    return {"faster": "better", "slower": "worse", "higher": "other", "lower": "other"}.get(verdict, "none")


def conclusions(result: SuiteResult) -> str:
    """One sentence for each comparison."""
    return f"<ul>{''.join(f'<li>{prose(text)}</li>' for text in result.conclusions)}</ul>" if result.conclusions else ""
