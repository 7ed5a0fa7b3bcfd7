"""The report of a tune: one HTML file that needs nothing else."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from lab.analysis.folder import content_of, parsed
from lab.analysis.statistics.effects import change_text, verdict_text
from lab.analysis.suite.names import metric_label, ratio_text
from lab.analysis.suite.rows import verdict_kind
from lab.analysis.text import UNKNOWN, duration
from lab.analysis.tune.folder import A_TUNE
from lab.analysis.tune.goals import LABELS
from lab.analysis.tune.paste import BEST, CONNECTOR, CURL, DEV_TOOLS, INDEX
from lab.analysis.tune.result import RESULT, effect_of
from lab.analysis.tune.sentences import change
from lab.files import write_whole
from lab.profiles.suites import AGAIN
from lab.records.suite import Effect, MetricKey
from lab.records.tune import START, MixedEffect, TuneResult, combination_name

KINDS = {
    "alone": "candidates alone",
    "mixed": "combinations drawn at random",
    "together": "several at once, and all but one",
    "confirm": "the choice against the start, by other blocks",
}
SHOWN = {BEST: "as a profile", INDEX: "index", CONNECTOR: "connector", DEV_TOOLS: "Kibana Dev Tools", CURL: "curl"}


def write_tune_report(folder: Path) -> Path:
    """The file `report.html` in the tune's folder, drawn from that folder alone.

    Raises:
        ProfileError: The folder is not a tune's, or it has not been analysed.
    """
    result = parsed(TuneResult, content_of(folder / RESULT, A_TUNE), str(folder / RESULT))
    path, html = folder / "report.html", tune_report(folder, result)
    write_whole(path, html)
    return path


def tune_report(folder: Path, result: TuneResult) -> str:
    """The page."""
    # To import Altair and Jinja2 takes half a second, which commands that draw nothing are spared.
    from lab.analysis.page.templates import PAGES  # noqa: PLC0415
    from lab.analysis.tune.charts import pareto_chart  # noqa: PLC0415

    plan = result.plan
    began = datetime.fromtimestamp(plan.started_s, UTC)
    goal = goal_effect(result)
    return PAGES.get_template("tune/tune.html").render(
        title=f"tune {plan.profile}: {LABELS[plan.goal.name]}",
        heading=f"tune {plan.profile}",
        question=plan.question,
        plan=plan,
        result=result,
        goal=LABELS[plan.goal.name],
        change=change(goal).partition(" (")[0] if goal and result.is_confirmed else UNKNOWN,
        recommended=combination_name(result.recommended),
        confirmed=table_of_confirmation(result),
        contributions=table_of_contributions(result),
        mix=table_of_mix(result),
        base=combination_name(result.base) if result.base else "the start",
        tried=table_of_tried(result),
        pareto=pareto_chart(result),
        files=[(name, what, text) for name, what in SHOWN.items() if (text := text_of(folder / name))],
        stages=list(stage_lines(result)),
        footer=f"Tune {plan.tune_id}, begun {began:%Y-%m-%d %H:%M} UTC.",
    )


def goal_effect(result: TuneResult) -> Effect | None:
    """The confirmation of what was chosen, by the goal."""
    if result.chosen is None:
        return None
    return effect_of(result.confirmation, combination_name(result.chosen), result.plan.goal.metric)


def text_of(path: Path) -> str:
    """What a file holds; empty where there is none."""
    return path.read_text("utf-8") if path.is_file() else ""


def ratio_and_verdict(effect: Effect | None) -> tuple[str, str]:
    """Ratio and verdict of an effect."""
    if effect is None or effect.ratio is None:
        return UNKNOWN, "not measured"
    return ratio_text(effect.ratio), verdict_text(effect.verdict, effect.ratio, effect.low, effect.high)


def table_of_confirmation(result: TuneResult) -> dict[str, object]:
    """What was chosen against the start by every metric, and the start against itself."""
    lines = []
    for variant in (combination_name(result.chosen or ()), START + AGAIN):
        for metric in result.plan.metrics:
            if effect := effect_of(result.confirmation, variant, metric):
                label = metric_label(metric)
                lines.append((f"A/A: {label}" if variant == START + AGAIN else label, effect))
    return _table(("figure", "ratio", "verdict (interval)"), lines)


def table_of_contributions(result: TuneResult) -> dict[str, object]:
    """What each candidate of the choice gives, and given what."""
    lines = [(f"{each.candidate}, given {each.given}", each.effect) for each in result.contributions]
    return _table(("setting", "ratio", "verdict (interval)"), lines)


def table_of_mix(result: TuneResult) -> dict[str, object]:
    """What each candidate gives on average over the values of the other knobs."""
    rows, kinds = [], []
    for each in result.mixed:
        is_told = each.low is not None and each.high is not None and (each.low > 1 or each.high < 1)
        rows.append((each.candidate, ratio_text(each.ratio), interval_text(each), str(each.runs)))
        kinds.append(("better" if result.plan.goal.gain(each.ratio) > 1 else "worse") if is_told else "none")
    return {"head": ("setting", "ratio", "interval", "runs"), "rows": rows, "kinds": kinds}


def interval_text(effect: MixedEffect) -> str:
    """`-5.3 % to +8.8 %`."""
    if effect.low is None or effect.high is None:
        return UNKNOWN
    return f"{change_text(effect.low)} to {change_text(effect.high)}"


def table_of_tried(result: TuneResult) -> dict[str, object]:
    """Every combination by the goal, with its other figures and what became of it."""
    metrics = [metric for metric in result.plan.metrics if metric != result.plan.goal.metric]
    head = ("combination", "ratio", "verdict (interval)", "blocks", *map(metric_label, metrics), "outcome")
    rows, kinds = [], []
    for each in result.tried:
        by_metric = {(one.metric, one.scope): one for one in each.effects}
        goal = by_metric.get((result.plan.goal.metric.name, result.plan.goal.metric.scope))
        others = [ratio_of(by_metric, metric) for metric in metrics]
        blocks = str(len(goal.ratios)) if goal else "0"
        name = combination_name(each.combination)
        rows.append((name, *ratio_and_verdict(goal), blocks, *others, each.dropped or "chosen"))
        kinds.append(verdict_kind(goal.verdict if goal else ""))
    return {"head": head, "rows": rows, "kinds": kinds}


def ratio_of(by_metric: dict[tuple[str, str], Effect], metric: MetricKey) -> str:
    """The ratio by a metric."""
    effect = by_metric.get((metric.name, metric.scope))
    return ratio_text(effect.ratio) if effect else UNKNOWN


def _table(head: tuple[str, ...], lines: list[tuple[str, Effect]]) -> dict[str, object]:
    rows = [(name, *ratio_and_verdict(effect)) for name, effect in lines]
    return {"head": head, "rows": rows, "kinds": [verdict_kind(effect.verdict) for _, effect in lines]}


def stage_lines(result: TuneResult) -> Iterator[tuple[str, str]]:
    """Each stage in words, with the place of its report."""
    for each in result.stages:
        stage = each.stage
        blocks = f"{each.blocks} block{'' if each.blocks == 1 else 's'}"
        what = f"{len(stage.combinations)} against the start, {KINDS[stage.kind]}"
        yield f"Stage {stage.number}: {what}; {blocks}, {duration(each.wall_time_s)}", f"{each.folder}/report.html"
