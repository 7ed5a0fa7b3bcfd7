"""A run as Markdown, for the summary of a CI job."""

from collections.abc import Mapping
from pathlib import Path

from lab.analysis.report_page.markdown import run_markdown
from lab.analysis.result import RunAnalysis, analyse
from lab.run.environment import cold_servers
from tests.unit.analysis.query_truth import QueryTruth, analysed
from tests.unit.analysis.synthetic import Truth, run, samples, with_warnings, written
from tests.unit.messages import MakeMessage

NOTHING: Mapping[str, str | None] = {}


def lines_of(analysis: RunAnalysis, checks: Mapping[str, str | None] = NOTHING) -> list[str]:
    """The summary of a run, with plain spaces."""
    text = run_markdown(analysis.folder.run, analysis.result, analysis.folder.samples, checks)
    assert text.endswith("\n\n"), "another summary may follow"
    return text.replace("\u202f", " ").splitlines()


def test_a_summary_has_the_verdict_the_checks_the_figures_and_the_command(tmp_path: Path, message: MakeMessage) -> None:
    """In the words of the terminal; nothing in it begins HTML or another column."""
    made = run(Truth()).model_copy(update={"question": "<b>How fast\n| is it?", "command": ("./sluice", "run", "a b")})
    analysis = analyse(written(tmp_path, made, samples(Truth())))

    lines = lines_of(analysis, {"verified": None, "drain_s<1": "drain_s<1: it was 23.0 s"})

    assert lines[:6] == ["## aladin/synthetic", "", message("5,000", 0.31), "", "&lt;b>How fast | is it?", ""]
    assert lines[6:12] == [
        "- ✓ verified",
        "- ✗ drain_s&lt;1: it was 23.0 s",
        "",
        "| metric | scope | value |",
        "| --- | --- | --- |",
        "| Indexing rate | primaries | 5,000/s |",
    ]
    assert "| Missing | documents | 0 |" in lines
    assert lines[-2:] == ["    ./sluice run 'a b'", ""]


def test_a_summary_ends_with_the_warnings_and_the_machine(tmp_path: Path) -> None:
    """What was seen and what to do, each a line."""
    made = with_warnings(run(Truth()), cold_servers("local"))
    analysis = analyse(written(tmp_path, made, samples(Truth())))

    lines = lines_of(analysis)

    warnings = analysis.result.warnings
    first = lines.index("| Missing | documents | 0 |") + 2
    assert lines[first : first + len(warnings)] == [
        f"- **{each.kind.heading}**: {each.seen}. What to do: {each.remedy}.".replace("\u202f", " ")
        for each in warnings
    ]
    assert warnings
    assert lines[first + len(warnings) + 1].startswith(f"Run {analysis.result.run_id}: ")


def test_a_summary_of_queries_has_a_table_of_the_questions(tmp_path: Path) -> None:
    """Before the figures of the run."""
    lines = lines_of(analysed(tmp_path, QueryTruth()))

    head = lines.index("| question | rate | median | p99 | longest | took | errors | wrong |")
    assert lines[head + 2].startswith("| rating | 20/s |")
    assert lines[head + 3].startswith("| total | 10/s |")
