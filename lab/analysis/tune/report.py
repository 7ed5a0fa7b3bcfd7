"""The report of a tune: one HTML file that needs nothing else."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from lab.analysis.folder import content_of, parsed
from lab.analysis.statistics.effects import change_text, interval_text, verdict_text
from lab.analysis.suite.comparison_table import verdict_kind
from lab.analysis.suite.names import metric_label, ratio_text
from lab.analysis.text import UNKNOWN, duration, quantity
from lab.analysis.tune.folder import A_TUNE
from lab.analysis.tune.goals import LABELS
from lab.analysis.tune.paste import BEST, CONNECTOR, CURL, DEV_TOOLS, INDEX
from lab.analysis.tune.result import RESULT
from lab.analysis.tune.screening import ANSWERS, OF_THE_SCREENING, group_of, grouped, rate_of
from lab.analysis.tune.sentences import OF_THE_MIX, TRIED, change, is_shown
from lab.files import write_whole
from lab.profiles.suites import AGAIN
from lab.records.marks import marks_text
from lab.records.suite import Effect
from lab.records.tune import START, TuneResult, combination_name

KINDS = {
    "mixed": "all settings at once",
    "together": "the best of the mix side by side",
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
    from lab.analysis.report_page.templates import PAGES  # noqa: PLC0415
    from lab.analysis.tune.charts import pareto_chart  # noqa: PLC0415

    plan = result.plan
    began = datetime.fromtimestamp(plan.started_s, UTC)
    return PAGES.get_template("tune/tune.html").render(
        title=f"{'screen' if plan.screens else 'tune'} {plan.profile}: {LABELS[plan.goal.name]}",
        heading=f"{'screen' if plan.screens else 'tune'} {plan.profile}",
        question=plan.question,
        marks=marks_text(plan.labels, plan.note),
        plan=plan,
        result=result,
        goal=LABELS[plan.goal.name],
        change=change_text(result.gain.ratio) if result.gain else UNKNOWN,
        recommended=combination_name(result.recommended),
        confirmed=table_of_confirmation(result),
        mix=table_of_screening(result) if plan.screens else table_of_mix(result),
        of_the_mix=OF_THE_SCREENING if plan.screens else OF_THE_MIX,
        matter=sum(group_of(each) == "matters" for each in result.mixed) if result.mixed else UNKNOWN,
        tried=table_of_tried(result),
        of_tried="Ratios to the start." if plan.screens else TRIED,
        pareto=None if plan.screens else pareto_chart(result),
        files=[(name, what, text) for name, what in SHOWN.items() if (text := text_of(folder / name))],
        stages=list(stage_lines(result)),
        footer=f"Tune {plan.tune_id}, begun {began:%Y-%m-%d %H:%M} UTC.",
    )


def text_of(path: Path) -> str:
    """Content of a file; empty without one."""
    return path.read_text("utf-8") if path.is_file() else ""


def ratio_and_verdict(effect: Effect) -> tuple[str, str]:
    """Ratio and verdict of an effect."""
    if effect.ratio is None:
        return UNKNOWN, "not measured"
    return ratio_text(effect.ratio), verdict_text(effect.verdict, effect.ratio, effect.low, effect.high)


def table_of_confirmation(result: TuneResult) -> dict[str, object]:
    """Table of the choice against the start by every metric, and of the start against itself."""
    effects = {(each.variant, each.key): each for each in result.confirmation}
    rows, kinds = [], []
    for variant, prefix in ((combination_name(result.chosen or ()), ""), (START + AGAIN, "A/A: ")):
        for metric in result.plan.metrics:
            if effect := effects.get((variant, metric.key)):
                rows.append((prefix + metric_label(metric), *ratio_and_verdict(effect)))
                kinds.append(verdict_kind(effect.verdict))
    return {"head": ("figure", "ratio", "verdict (interval)"), "rows": rows, "kinds": kinds}


def table_of_mix(result: TuneResult) -> dict[str, object]:
    """Table of each candidate's effect on average over the values of the other knobs."""
    rows = [
        (each.candidate, ratio_text(each.ratio), interval_text(each.low, each.high, UNKNOWN), str(each.runs))
        for each in result.mixed
    ]
    gains = (result.plan.goal.gain(each.ratio) > 1 if is_shown(each) else None for each in result.mixed)
    kinds = ["none" if gain is None else "better" if gain else "worse" for gain in gains]
    return {"head": ("setting", "ratio", "interval", "runs"), "rows": rows, "kinds": kinds}


def table_of_screening(result: TuneResult) -> dict[str, object]:
    """Table of each setting by group, with its effect on the goal and on the indexing rate."""
    rows, kinds, plan = [], [], result.plan
    for group, effects in grouped(result.mixed).items():
        for each in effects:
            value = plan.start_values.get(plan.candidate(each.candidate).setting)
            at_start = "default" if value is None else str(value)
            rows.append((each.candidate, at_start, ANSWERS[group], change(each), change(rate_of(each), UNKNOWN)))
            gives = "better" if plan.goal.gain(each.ratio) > 1 else "worse"
            kinds.append(gives if group == "matters" else "none")
    head = ("setting", "at the start", "CPU per document", "change", "indexing rate")
    columns = len(head) if any(map(rate_of, result.mixed)) else len(head) - 1
    return {"head": head[:columns], "rows": [row[:columns] for row in rows], "kinds": kinds}


def table_of_tried(result: TuneResult) -> dict[str, object]:
    """Every combination by all metrics, the goal first."""
    head = ("combination", *map(metric_label, result.plan.metrics), "blocks")
    rows = []
    for each in result.tried:
        known = {effect.key: ratio_text(effect.ratio) for effect in each.effects}
        ratios = [known.get(metric.key, UNKNOWN) for metric in result.plan.metrics]
        rows.append((combination_name(each.combination), *ratios, str(max(len(one.ratios) for one in each.effects))))
    return {"head": head, "rows": rows, "kinds": ["none"] * len(rows)}


def stage_lines(result: TuneResult) -> Iterator[tuple[str, str]]:
    """Each stage in words, with the place of its report."""
    for each in result.stages:
        stage = each.stage
        what = f"{len(stage.combinations)} against the start, {KINDS[stage.kind]}"
        took = f"{quantity(each.blocks, 'block')}, {duration(each.wall_time_s)}"
        yield f"Stage {stage.number}: {what}; {took}", f"{each.folder}/report.html"
