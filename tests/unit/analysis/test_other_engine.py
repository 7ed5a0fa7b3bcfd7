"""What is said of a run whose servers were OpenSearch."""

from pathlib import Path

from lab.analysis.compare import compare, side
from lab.analysis.report_page.report import write_report
from lab.analysis.report_page.terminal import terminal_table, verdict_line
from lab.analysis.result import RunAnalysis, analyse
from lab.console import console
from lab.records.run import Run, RunWarning, WarningKind
from tests.unit.analysis.synthetic import Truth, run, samples, with_warnings, written

WARNED = RunWarning(
    kind=WarningKind.DEAD_LETTERS, seen="29 documents", likely_cause="Elasticsearch refused them", remedy="none"
)


def on_opensearch() -> Run:
    """A run on two servers of Kafka's and one of OpenSearch's."""
    made = with_warnings(run(Truth()), WARNED)
    node, *others = made.environment.servers
    other = node.model_copy(update={"product": "OpenSearch", "version": "3.0.0"})
    environment = made.environment.model_copy(update={"servers": (other, *others)})
    return made.model_copy(update={"environment": environment})


def analysed(folder: Path, made: Run) -> RunAnalysis:
    """What such a run comes to."""
    return analyse(written(folder, made, samples(Truth())))


def test_the_report_names_the_product_wherever_it_names_a_version(tmp_path: Path) -> None:
    """In its first sentences and beside the server; what stays is said once."""
    page = write_report(analysed(tmp_path, on_opensearch())).read_text("utf-8")
    assert "into OpenSearch 3.0.0, on one machine" in page
    assert "<dd>OpenSearch 3.0.0</dd>" in page
    assert "OpenSearch ran in place of Elasticsearch." in page
    assert "ran in place of" not in write_report(analysed(tmp_path, run(Truth()))).read_text("utf-8")


def test_the_table_has_the_product_in_its_title(tmp_path: Path) -> None:
    """That of Elasticsearch is as short as ever."""
    with console.capture() as shown:
        console.print(terminal_table(analysed(tmp_path, on_opensearch()).result))
    assert "OpenSearch 3.0.0" in shown.get()


def test_warnings_and_the_limit_blame_the_product_that_ran(tmp_path: Path) -> None:
    """The stage keeps its name, as the processes do."""
    result = analysed(tmp_path, on_opensearch()).result
    warned = next(warning for warning in result.warnings if warning.kind is WarningKind.DEAD_LETTERS)
    assert warned.likely_cause == "OpenSearch refused them"
    assert result.limited_by is not None
    assert "Elasticsearch" not in result.limited_by.evidence


def test_the_line_of_a_run_names_the_product_as_its_limit(tmp_path: Path) -> None:
    """As the report does."""
    made = analysed(tmp_path, on_opensearch())
    assert " · limited by OpenSearch · " in verdict_line(made.result, made.folder.samples, 80).plain


def test_runs_on_two_engines_are_compared_on_purpose_only(tmp_path: Path) -> None:
    """Their versions differ, product and number, whatever the number is."""
    sides = [
        side("one", [analysed(tmp_path / "one", run(Truth()))]),
        side("two", [analysed(tmp_path / "two", on_opensearch())]),
    ]
    assert compare(*sides).differing == {"version.elasticsearch": ("8.19.21", "OpenSearch 3.0.0")}
    assert compare(*sides).comparable == 0
    assert compare(*sides, vary={"version.elasticsearch"}).comparable > 0
