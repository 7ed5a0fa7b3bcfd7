"""Rate and latency of a load, as every place shows them."""

from pathlib import Path

import pytest

from lab.analysis.figures.load_figures import LoadFigures, load_figures, recorded_load_figures, why_no_window
from lab.analysis.result import analyse
from lab.records.result import Result
from lab.records.samples import Sample
from tests.unit.analysis.synthetic import Truth, run, samples, with_samples, written


def result(folder: Path, truth: Truth, **changes: object) -> Result:
    """That of a synthetic run, with something otherwise."""
    return analyse(written(folder, run(truth), samples(truth))).result.model_copy(update=changes)


def test_a_load_with_a_measured_window_has_the_rate_and_the_latency_of_the_window(tmp_path: Path) -> None:
    """As Elasticsearch counts them."""
    shown = load_figures(result(tmp_path, Truth()))
    assert shown == LoadFigures(pytest.approx(5003), pytest.approx(0.31, rel=0.01), is_rough=False)
    assert (shown.rate_text, shown.explained_rate) == ("5,000/s", "5,000/s")


def test_a_load_too_short_for_a_window_has_documents_by_the_whole_time_and_no_latency(tmp_path: Path) -> None:
    """115,069 documents in 26.017 s; what its few samples say of the rate is told nowhere."""
    shown = load_figures(result(tmp_path, Truth(), measured_window=None))
    assert shown == LoadFigures(pytest.approx(115_069 / 26.017), None, is_rough=True)
    assert (shown.rate_text, shown.explained_rate) == ("≈ 4,420/s", "≈ 4,420/s (documents ÷ drain time)")


def test_a_rough_rate_counts_each_update_as_the_measured_one_does(tmp_path: Path) -> None:
    """38,357 books and 76,712 updates of them are 115,069 operations in 26.017 s."""
    truth = Truth()
    updates = run(truth).documents.model_copy(update={"indexed": 38_357, "already_there": 76_712})
    made = result(tmp_path, truth, documents=updates)
    short = made.model_copy(update={"measured_window": None})
    assert load_figures(made).rate_docs_per_s == pytest.approx(5003)
    for rough in (load_figures(short), recorded_load_figures(short.model_dump(mode="json"))):
        assert rough == LoadFigures(pytest.approx(115_069 / 26.017), None, is_rough=True)


def test_a_load_that_the_sampler_hardly_saw_is_not_called_short(tmp_path: Path) -> None:
    """23 s of growth, of which Elasticsearch told two instants."""
    truth = Truth()
    seen_s = {truth.load_starts_s + at for at in (0, 8, 20)}

    def change(sample: Sample) -> dict[str, object]:
        return {"elasticsearch": None} if sample.phase == "load" and sample.at_s not in seen_s else {}

    found = analyse(written(tmp_path, run(truth), with_samples(samples(truth), change))).result
    assert found.measured_window is None
    assert why_no_window(found) == "too little of the load could be measured"


def test_a_stream_too_short_for_a_window_has_no_rate(tmp_path: Path) -> None:
    """Its documents by its time would be the rate that was asked for."""
    stream = Truth(load="stream", rate_docs_per_s=5003.0)
    shown = load_figures(result(tmp_path, stream, measured_window=None))
    assert (shown, shown.rate_text) == (LoadFigures(None, None), "–")


@pytest.mark.parametrize("has_window", [True, False])
def test_a_recorded_result_says_the_same(tmp_path: Path, *, has_window: bool) -> None:
    """Lists read thousands of them as plain JSON."""
    made = result(tmp_path, Truth())
    made = made if has_window else made.model_copy(update={"measured_window": None})
    assert recorded_load_figures(made.model_dump(mode="json")) == load_figures(made)
