"""A suite in Markdown, for a note or a pull request."""

import shlex
from collections.abc import Iterator, Sequence

from lab.analysis.suite.comparison_rows import head_and_cells, rows
from lab.analysis.suite.names import metric_label, short_name
from lab.analysis.text import bytes_text, duration
from lab.records.suite import SuiteResult


def suite_markdown(result: SuiteResult) -> str:
    """Answer, tables, conclusions, warnings, what limited the variants, and how to run it again."""
    plan = result.plan
    lines = [f"# {_plain(plan.suite)}", "", _plain(plan.question), "", f"**{_plain(result.answer)}**", ""]
    for asked in plan.metrics:
        lines += [f"## {metric_label(asked)}", "", *_table(*head_and_cells(rows(result, asked))), ""]
    lines += ["## Comparisons", "", *(f"- {_plain(text)}" for text in result.conclusions), ""]
    if result.warnings:
        lines += ["## Warnings", "", *_warnings(result), ""]
    lines += ["## What limited each variant", "", *_limits(result), ""]
    lines += ["## Where, and how to run it again", "", *_where(result)]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Text from outside as one line that begins no HTML."""
    return " ".join(text.split()).replace("<", "&lt;")


def _table(head: Sequence[str], texts: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in texts:
        yield f"| {' | '.join(_plain(text).replace('|', chr(92) + '|') for text in row)} |"


def _warnings(result: SuiteResult) -> Iterator[str]:
    for warning in result.warnings:
        name = warning.kind.value.replace("_", " ").capitalize()
        yield f"- **{name}**: {_plain(warning.seen)}. Likely cause: {_plain(warning.likely_cause)}. What to do:" + (
            f" {_plain(warning.remedy)}."
        )


def _limits(result: SuiteResult) -> Iterator[str]:
    for limit in result.limits:
        stages = ", ".join(f"{stage} ({runs})" for stage, runs in limit.limits.items())
        yield f"- {_plain(short_name(result.plan, limit.variant))}: {stages}"


def _where(result: SuiteResult) -> Iterator[str]:
    plan, found = result.plan, result.environment
    if found is not None:
        servers = ", ".join(dict.fromkeys(f"{server.name} {server.version}" for server in found.servers))
        yield (
            f"{_plain(found.cpu_model)}, {found.cpu_cores} cores, {bytes_text(found.memory_bytes)}; {servers}; Sluice"
            f" {found.sluice_version}{f' ({found.git_commit})' if found.git_commit else ''}."
        )
    ended = "" if result.complete else " The suite is not finished."
    yield f"{result.repeats}, seed {plan.seed}, {duration(result.wall_time_s)}.{ended}"
    yield ""
    yield f"    {shlex.join(plan.command or ('./sluice', 'suite', plan.suite))}"
