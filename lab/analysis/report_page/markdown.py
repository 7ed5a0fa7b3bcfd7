"""A run as Markdown, for the summary of a CI job: the sentences and the table of the terminal."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lab.analysis.report_page.terminal import (
    QUERY_COLUMNS,
    document_rows,
    figure_rows,
    load_questions,
    query_cells,
    query_stem,
    verdict_line,
)
from lab.analysis.text import bytes_text
from lab.records.marks import marks_text
from lab.records.result import Result
from lab.records.run import Environment, Run
from lab.records.samples import Sample

LINE_WIDTH = 120
"""For the verdict with the rate's course; a page breaks longer lines itself."""


def run_markdown(
    run: Run,
    result: Result,
    samples: Sequence[Sample],
    checks: Mapping[str, str | None],
    undecided: Mapping[str, str] | None = None,
) -> str:
    """Verdict, what was expected, figures, warnings, and how to run it again.

    Args:
        checks: What was expected → why it is not so; `None` where it is.
        undecided: What was expected → why nothing tells whether it is so.
    """
    questions = load_questions(result)
    lines = [f"## {plain_line(result.profile)}", "", f"**{verdict_line(result, samples, LINE_WIDTH).plain}**", ""]
    marks = marks_text(result.labels, result.note)
    lines += [plain_line(result.question), "", *([plain_line(marks), ""] if marks else [])]
    lines += check_lines(checks, undecided or {})
    if questions:
        stem = query_stem(result)
        cells = ([question, *(cell.plain for cell in query_cells(result, stem, question))] for question in questions)
        lines += [*markdown_table(("question", *QUERY_COLUMNS), cells), ""]
    rows = (*figure_rows(result, questions), *document_rows(result))
    lines += [*markdown_table(("metric", "scope", "value"), rows), ""]
    lines += [
        f"- **{warning.kind.heading}**: {plain_line(warning.seen)}. What to do: {plain_line(warning.remedy)}."
        for warning in result.warnings
    ]
    lines += ["", f"Run {result.run_id}: {machine_text(result.environment)}", "", f"    {shlex.join(run.command)}", ""]
    return "\n".join(lines) + "\n"


def check_lines(checks: Mapping[str, str | None], undecided: Mapping[str, str]) -> Iterator[str]:
    """A line for each thing that was expected: held, missed, or not to be told."""
    for name, failure in checks.items():
        yield f"- ✗ {plain_line(failure)}" if failure else f"- ✓ {plain_line(name)}"
    for name, why in undecided.items():
        yield f"- ? {plain_line(name)}: cannot tell: {plain_line(why)}"
    yield ""


def machine_text(environment: Environment) -> str:
    """Machine, servers and version of a run, in one line."""
    servers = ", ".join(dict.fromkeys(f"{server.name} {server.release}" for server in environment.servers))
    commit = f" ({environment.git_commit})" if environment.git_commit else ""
    return (
        f"{plain_line(environment.cpu_model)}, {environment.cpu_cores} cores, {bytes_text(environment.memory_bytes)};"
        f" {servers}; Sluice {environment.sluice_version}{commit}."
    )


def plain_line(text: str) -> str:
    """Text from outside as one line that begins no HTML."""
    return " ".join(text.split()).replace("<", "&lt;")


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(plain_line(text).replace('|', chr(92) + '|') for text in row)} |"
