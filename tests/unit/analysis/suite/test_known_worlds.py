"""What a suite says is held against servers whose truth is known, from samples to verdicts."""

from dataclasses import replace
from statistics import fmean, stdev

import pytest

from lab.analysis.suite.figures import figures
from lab.analysis.suite.folder import SuiteRecords
from lab.records.run import WarningKind
from lab.records.suite import VariantMetric
from tests.worlds.cases import CASES, QUIET, held_against, streams, updates, world
from tests.worlds.recorded import CPU, FINISH, RATE, judged, suite_records
from tests.worlds.streams import P50, P99

SUITES = 50
LEAST_COVERED, MOST_FALSE = 0.89, 0.12
"""What a true 93 % and 5 % come to in so few suites; `python -m tests.worlds.cases --suites 1000` tells them apart."""
MOST_BIAS = 0.01
ERRORS = 2.6
"""Standard errors of a mean that chance exceeds once in a hundred."""


@pytest.mark.parametrize("case", ["large effects", "few blocks", "noise that lasts, drift", "duets"])
def test_95_of_100_intervals_hold_the_truth(case: str) -> None:
    """And one suite in twenty has a false difference at most: of CPU per document as of the rate."""
    told = held_against(CASES[case], SUITES)
    for metric in CASES[case].metrics:
        assert told[metric.name].coverage >= LEAST_COVERED
        assert told[metric.name].false_alarms <= MOST_FALSE
        assert told[metric.name].unknown == 0


@pytest.mark.parametrize(("ratio", "drain_s"), [(1.05, 10.0), (1.176, 6.0), (2.0, 6.0), (4.0, 10.0), (0.5, 6.0)])
def test_no_ratio_is_shifted_by_more_than_a_hundredth_of_the_effect(ratio: float, drain_s: float) -> None:
    """By a warm-up of three seconds, by the last requests, or by when counters were read."""
    of = world(ratio, machine=QUIET, drain_s=drain_s)
    told = held_against(of, 12)
    for metric in (CPU, RATE):
        errors = told[metric.name].errors[1::2]
        by_chance = ERRORS * stdev(errors) / len(errors) ** 0.5
        assert abs(fmean(errors)) <= MOST_BIAS * abs(told[metric.name].sizes[-1]) + by_chance
        assert by_chance < 0.01


def test_updates_count_as_often_as_they_are_sent() -> None:
    """Where three operations of four replace a document, and in what it is compared with one of two."""
    told = held_against(updates(world(1.176, machine=QUIET, blocks=4)), 6)
    for metric in (CPU, RATE):
        assert max(map(abs, told[metric.name].errors)) < 0.03


def test_documents_that_come_in_bursts_are_told_to_wait_as_long_as_they_do() -> None:
    """At the median, which sees no queue, and at p99, which is made of queues; against the model without histograms."""
    told = held_against(replace(streams(1.25, blocks=4), machine=QUIET), 8)
    for metric in (CPU, P50, P99):
        errors, size = told[metric.name].errors[1::2], told[metric.name].sizes[-1]
        assert abs(fmean(errors)) <= MOST_BIAS * abs(size) + ERRORS * stdev(errors) / len(errors) ** 0.5
        assert stdev(errors) < 0.12
        assert told[metric.name].unknown == 0


def test_each_of_several_indices_is_full_when_it_was() -> None:
    """Half of the documents, three tenths and two tenths go into three of them, all alike until one is full."""
    of = replace(world(1.176, machine=QUIET, blocks=4), shares=(0.5, 0.3, 0.2))
    errors = held_against(of, 3)[FINISH].errors
    assert len(errors) == 3 * 3 * 2
    assert max(map(abs, errors)) < 0.03


def test_rates_that_still_rise_after_the_warm_up_are_not_compared() -> None:
    """A fast variant's drain is over while servers are less warm: twice the rate would be told as 1.6 times."""
    result = judged(CASES["a ramp that lasts"], seed=1)
    known = {effect.metric for effect in result.effects if effect.ratio}
    assert (CPU.name in known, RATE.name in known) == (True, False)
    (told,) = (warning.seen for warning in result.warnings if warning.kind == WarningKind.RATES_RISE)
    # Those of queries beside them are.
    assert told.endswith("; no rates of documents are compared")


def test_rates_that_still_rise_may_choose_what_runs_next() -> None:
    """A suite under way waits for narrower intervals of them, and a search chooses by them: warm-up may end."""
    records = suite_records(CASES["a ramp that lasts"], seed=1)
    of_rate = [[figure.median for figure in made if figure.name == RATE.name] for made in both(records)]
    assert (all(of_rate[0]), any(of_rate[1])) == (True, False)


def both(records: SuiteRecords) -> tuple[tuple[VariantMetric, ...], tuple[VariantMetric, ...]]:
    """The figures with rates that rise, and without."""
    return figures(records), figures(records, rising=False)
