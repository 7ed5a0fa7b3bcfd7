"""What is said of a run whose servers were on other machines."""

from dataclasses import replace
from pathlib import Path

from lab.analysis.figures.cost import servers_are_here
from lab.analysis.figures.limits import limited_by
from lab.analysis.figures.windows import windows
from lab.analysis.report_page.report import write_report
from lab.analysis.result import analyse
from lab.records.result import Result
from lab.records.run import WarningKind
from tests.unit.analysis.synthetic import Truth, elsewhere, run, written

SATURATED = Truth(machine_cpu_percent=97.0)


def result(folder: Path, truth: Truth) -> Result:
    """The result of such a run."""
    return analyse(written(folder, *elsewhere(truth))).result


def test_what_the_processes_used_is_not_known(tmp_path: Path) -> None:
    """It is there and has no value, instead of being left out or 0; the rates are as they were."""
    values = {(metric.name, metric.scope): metric.value for metric in result(tmp_path, SATURATED).metrics}
    costs = {scope: value for (name, scope), value in values.items() if name == "cpu_s_per_million_docs"}
    assert {scope for scope, value in costs.items() if value is None} == {"connect", "elasticsearch", "kafka"}
    assert values["machine_cpu_percent_mean", "run"] is None
    assert values["indexing_rate_docs_per_s", "primaries"] == 5003.0


def test_the_report_says_why(tmp_path: Path) -> None:
    """Below the table that has the gaps."""
    folder = written(tmp_path, *elsewhere(SATURATED))
    page = write_report(analyse(folder)).read_text("utf-8")
    why = "CPU, memory and disk of the servers&#39; processes are not known: they ran on other machines."
    assert why in page
    assert "on the machine that drove the run" in page


def test_the_load_of_this_machine_is_not_taken_for_that_of_the_servers(tmp_path: Path) -> None:
    """Neither does it limit them, nor do programs on it disturb them."""
    made, seen = elsewhere(replace(SATURATED, write_active=0))
    limit = limited_by(made, windows(seen).window)
    assert limit is not None
    assert limit.stage == "sink"
    assert "machine" not in limit.evidence
    warned = {warning.kind for warning in result(tmp_path, SATURATED).warnings}
    assert WarningKind.SERVERS_ELSEWHERE in warned
    assert warned.isdisjoint({WarningKind.BUSY_MACHINE, WarningKind.DRIVER_LIMITED})


def test_servers_with_a_process_id_are_here() -> None:
    """Whatever their target is called."""
    assert servers_are_here(run(Truth()))
    assert not servers_are_here(elsewhere(Truth())[0])
