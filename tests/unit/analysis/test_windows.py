"""Where a run is cut: the load, what grew in it, and the window that rates are taken from."""

from typing import Literal

import pytest

from lab.analysis.figures.windows import Windows, windows
from lab.records.result import Window
from lab.records.samples import KafkaSample, Sample
from tests.unit.analysis.synthetic import START_S, Truth, samples

Phase = Literal["fill", "load", "settle"]
TEMPLATE = samples(Truth())[-1]


def seen(at_s: float, indexed: int | None, phase: Phase = "load") -> Sample:
    """A sample of a run that has indexed so many; `None` for one that Elasticsearch did not answer."""
    lost = TEMPLATE.model_copy(update={"at_s": START_S + at_s, "phase": phase, "elasticsearch": None, "sink": None})
    if indexed is None or TEMPLATE.elasticsearch is None:
        return lost
    primaries = TEMPLATE.elasticsearch.primaries.model_copy(update={"index_total": indexed})
    answered = TEMPLATE.elasticsearch.model_copy(update={"primaries": primaries, "read_s": START_S + at_s})
    return lost.model_copy(update={"elasticsearch": answered})


def run(*indexed: int | None, step_s: float = 1.0) -> list[Sample]:
    """A load whose first sample is at second 0, one second apart from the sample before it and the one after it."""
    load = [seen(step_s * place, count) for place, count in enumerate(indexed)]
    known = [count for count in indexed if count is not None]
    return [seen(-step_s, 0, "fill"), *load, seen(step_s * len(load), known[-1], "settle")]


def seconds(part: tuple[Sample, ...]) -> list[float]:
    """When its samples were taken, from the first one of the load."""
    return [sample.at_s - START_S for sample in part]


def test_a_run_is_cut_where_its_load_begins_and_where_it_stops_to_grow() -> None:
    """The load has one sample before it; the window is without three seconds of warm-up and without the last one."""
    found = windows(run(0, 0, 101, 211, 307, 401, 499, 601, 701, 709, 709))
    assert seconds(found.run) == [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert seconds(found.load) == [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert seconds(found.growing) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert seconds(found.window) == [5, 6, 7, 8]
    assert found.rates_per_s == (98, 102, 100)
    assert found.is_steady is None


def test_what_grew_before_the_load_is_none_of_it() -> None:
    """Documents that were indexed while the topic was filled are in the count from which the load grows."""
    before = [seen(-3, 0, "fill"), seen(-2, 307, "fill")]
    found = windows([*before, *run(401, 503, 601, 701, 797)[1:], seen(6, 907, "settle")])
    assert seconds(found.load) == [-2, 0, 1, 2, 3, 4]
    assert seconds(found.growing) == [0, 1, 2, 3, 4]


def test_a_load_from_the_first_sample_on_has_none_before_it() -> None:
    """And none from the end of the run, either."""
    found = windows(run(0, 101, 211, 307, 401)[1:])
    assert seconds(found.load) == [0, 1, 2, 3, 4]
    assert seconds(found.growing) == [1, 2, 3, 4]


def test_a_run_without_a_load_or_without_growth_has_no_window() -> None:
    """It has samples, and no figures."""
    idle = [seen(0, 0, "fill"), seen(1, 0, "settle")]
    assert windows(idle) == Windows(tuple(idle), (), (), (), (), None)
    still = windows(run(0, 0, 0))
    assert (still.growing, still.window, still.measured) == ((), (), None)


def test_lost_samples_are_in_the_window_and_in_no_rate() -> None:
    """The rate goes on from the sample before to the one after; a fall is in no rate and does not end the growth."""
    found = windows(run(0, 1, 2, 3, 101, None, 307, 11, 211, 401, 503))
    assert seconds(found.window) == [4, 5, 6, 7, 8, 9]
    assert found.rates_per_s == (103, 200, 190)


def test_what_is_over_within_the_warm_up_has_no_rate() -> None:
    """Two samples a second apart have one, whose counts are exact."""
    assert seconds(windows(run(0, 101, 211, 307, 401, 503)).window) == []
    assert seconds(windows(run(0, 101, 211, 307, 401, 503, 601)).window) == [4, 5]


@pytest.mark.parametrize("pace", [101, 307])
def test_as_much_is_cut_of_a_fast_load_as_of_a_slow_one(pace: int) -> None:
    """The first three seconds after the first document: of 20 s, and of 6.5."""
    found = windows(run(*range(0, 2020, pace)))
    assert seconds(found.growing)[0] == 1
    assert seconds(found.window)[0] == 4


def test_the_end_of_a_load_is_cut_from_where_the_sink_has_read_all() -> None:
    """From then on fewer and fewer of its requests are on their way."""
    assert TEMPLATE.sink is not None
    sinks = [TEMPLATE.sink.model_copy(update={"records_read": min(2000, 201 * at + 400)}) for at in range(12)]
    load = [seen(at, 201 * at).model_copy(update={"sink": sink}) for at, sink in enumerate(sinks)]
    assert seconds(windows(load).window) == [4, 5, 6, 7]


@pytest.mark.parametrize(
    ("indexed", "step_s", "is_measured"),
    [
        ((0, 101, 211, 307, 401, 499, 601), 2.5, True),
        ((0, 101, 211, 307, 401, 499), 2.25, False),
        ((0, 101, 211, 307), 7.0, False),
        ((0, 101, 211, None, 307, 401), 7.0, False),
    ],
    ids=["three samples over 5 s", "over 4.5 s", "two samples", "two that were answered"],
)
def test_a_window_of_three_answers_over_five_seconds_is_measured(
    indexed: tuple[int | None, ...],
    step_s: float,
    is_measured: bool,  # noqa: FBT001
) -> None:
    """Whatever is shorter is not believed."""
    assert (windows(run(*indexed, step_s=step_s)).measured is not None) == is_measured


def test_the_measured_window_is_told_from_its_first_answer_to_its_last() -> None:
    """With the warm-up that was cut from the growth, and whether what is left is steady."""
    slow, level = range(0, 306, 51), range(356, 2021, 101)
    found = windows(run(*slow, *level))
    assert found.measured == Window(started_s=START_S + 5, ended_s=START_S + 21, samples=17, warm_up_s=4.0, steady=True)
    assert set(found.rates_per_s) == {101}


def test_a_longer_warm_up_leaves_a_measured_window() -> None:
    """Of eight rates the last four are the surest, which last 4 s; a cut leaves 5 s, and a level run its figures."""
    found = windows(run(0, 101, 211, 307, 401, 496, 603, 696, 801, 901, 1001, 1101, 1201, 1301))
    assert (seconds(found.window)[0], seconds(found.window)[-1]) == (7, 12)
    assert (found.is_steady, found.measured is not None) == (True, True)


def consumer(at_s: float, committed: int, *, read: int | None = None) -> Sample:
    """A sample of a sink that is to store nothing; it counts what it reads, or only commits it."""
    sink = None if read is None or TEMPLATE.sink is None else TEMPLATE.sink.model_copy(update={"records_read": read})
    kafka = KafkaSample(end_offset=5003, committed_offset=committed)
    return seen(at_s, 0).model_copy(update={"kafka": kafka, "sink": sink})


def test_where_nothing_is_to_be_stored_what_was_read_grows() -> None:
    """By the sink's count, although a sample was lost; commits come in bursts and are judged for no steady state."""
    counted = windows([consumer(at, 0, read=None if at == 5 else 101 * at) for at in range(18)], "consumed")
    assert seconds(counted.window) == [float(at) for at in range(4, 17)]
    assert counted.is_steady
    committed = windows([consumer(at, 101 * at) for at in range(18)], "consumed")
    assert (committed.window[0].at_s, committed.is_steady) == (START_S + 4, None)
