"""What page and terminal show of a stream in stages: its own figures, for its rate is a mean over all of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from lab.analysis.figures.badges import badges
from lab.analysis.report_page import key_figures
from lab.analysis.report_page.sections import OF_STAGES
from lab.analysis.report_page.summary import load_sentence
from lab.analysis.report_page.terminal import figure_rows, verdict_line
from lab.analysis.result import RunAnalysis, analyse
from lab.records.queries import DocumentRamp
from lab.records.run import Course, RunWarning, StageRecord, WarningKind
from tests.unit.analysis.synthetic import Truth, in_stages, run, samples, written

P99 = "From topic to index, p99"
MEDIANS = {"End to end, median", "From topic to index, median"}


def with_figures(folder: Path, **values: float | None) -> RunAnalysis:
    """A stream in two stages, of which these figures are known."""
    analysis = analyse(written(folder, in_stages(Truth()), samples(Truth())))
    metrics = [metric.model_copy(update={"value": values.get(metric.name)}) for metric in analysis.result.metrics]
    return replace(analysis, result=analysis.result.model_copy(update={"metrics": metrics}))


@pytest.mark.parametrize(
    ("known", "label", "caption"),
    [
        ({"limit_docs_per_s": 900.0}, "Limit of the pipeline", "while the first stage was drained"),
        ({"limit_docs_per_s": 900.0, "catch_up_s": 4.0}, "Caught up after", "after documents that came all at once"),
        (
            {"limit_docs_per_s": 900.0, "index_delay_ms_p99": 50.0},
            P99,
            "in the last stage",
        ),
    ],
    ids=["drain", "spike", "delay"],
)
def test_the_main_figure_is_what_the_stages_are_for(
    tmp_path: Path, known: dict[str, float], label: str, caption: str
) -> None:
    """Not the rate, in which one stage hides the others."""
    analysis = with_figures(tmp_path, indexing_rate_docs_per_s=500.0, **known)
    assert key_figures.hero(analysis.folder.run, analysis.result).label == label
    assert key_figures.hero_caption(analysis.folder.run, analysis.result).startswith(caption)
    line = verdict_line(analysis.result, (), 120).plain
    assert "900/s at most" in line
    assert "500/s" not in line


def test_a_ramp_of_documents_was_not_as_fast_as_possible() -> None:
    """Its steps had several rates, of which the record has none."""
    ramp = DocumentRamp(p99_bound_ms=100.0, steps=())
    made = run(Truth(load="stream")).model_copy(update={"document_ramp": ramp})
    assert "streamed at a rate that rose step by step through Kafka" in load_sentence(made)


def test_stages_are_told_as_they_came() -> None:
    """A stream whose documents had several rates was not as fast as possible."""
    run = in_stages(Truth())
    assert run.course is not None
    assert "streamed in stages (10 all at once, 10 all at once) through Kafka" in load_sentence(run)
    stages = (*run.course.stages[:1], StageRecord(documents=7, rate_docs_per_s=656.4, started_s=2.0, ended_s=9.0))
    paused = run.model_copy(update={"course": Course(stages=stages, paused_s=3.0, resumed_s=63.0)})
    assert "(10 all at once, 7 at 656/s; nodes paused for 60\u202fs)" in load_sentence(paused)


@pytest.mark.parametrize(("own", "shown"), [(40.0, "End to end, median"), (None, "From topic to index, median")])
def test_a_delay_is_told_once(tmp_path: Path, own: float | None, shown: str) -> None:
    """By the sink's own measure where there is one, else as seen from outside."""
    analysis = with_figures(tmp_path, end_to_end_latency_ms_p50=own, index_delay_ms_p50=20.0)
    assert {label for label, _, _ in figure_rows(analysis.result, [])} & MEDIANS == {shown}
    assert {tile.label for tile in key_figures.tiles(analysis.folder.run, analysis.result)} & MEDIANS == {shown}


@pytest.mark.parametrize("name", OF_STAGES)
@pytest.mark.parametrize("kind", [WarningKind.BUSY_MACHINE, WarningKind.COLD_SERVERS])
def test_what_disturbs_rates_and_times_is_a_badge_on_figures_of_stages(name: str, kind: WarningKind) -> None:
    """Else the page would be green on a machine that others have used."""
    assert badges([RunWarning(kind=kind, seen="s", likely_cause="c", remedy="r")], name) == (kind,)
