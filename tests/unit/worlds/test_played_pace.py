"""A played server serves at the pace that it is told."""

import argparse
from dataclasses import replace
from itertools import pairwise
from statistics import fmean, stdev

import pytest

from tests.worlds.indices import Index
from tests.worlds.pace import Capacity, Pace, Rule, Service, Workers, pace_of

PACE = Pace(docs_per_s=7_000, workers=2, latency_ms=5)
REQUESTS, DOCUMENTS = 40, 997
START_S = 100.3


def saturated(pace: Pace, requests: int = REQUESTS) -> list[Service]:
    """Requests that are all there at the start, as they are served."""
    workers, capacity = Workers(), Capacity(pace, "1")
    return [workers.take(capacity, DOCUMENTS, START_S, indexed=DOCUMENTS, created=DOCUMENTS) for _ in range(requests)]


def took_s(services: list[Service]) -> float:
    """From the first request's start to the last one's end."""
    return max(service.ended_s for service in services) - START_S


def test_where_requests_always_wait_the_rate_is_the_one_told() -> None:
    """However many workers there are."""
    rates = [
        REQUESTS * DOCUMENTS / took_s(saturated(replace(PACE, workers=workers, docs_per_s=rate)))
        for workers, rate in ((1, 7_000), (2, 7_000), (4, 90_000))
    ]
    assert rates == pytest.approx([7_000, 7_000, 90_000])


def test_one_request_at_a_time_has_one_worker() -> None:
    """As a bulk request to one shard has one write thread."""
    (service,) = saturated(PACE, 1)
    assert took_s([service]) == pytest.approx(DOCUMENTS / 3_500)
    assert service.answered_s - service.ended_s == pytest.approx(0.005)


def test_a_request_costs_its_worker_the_time_told() -> None:
    """However small it is, so that larger requests are faster by a known ratio."""
    services = saturated(replace(PACE, request_ms=50))
    assert took_s(services) == pytest.approx(REQUESTS / 2 * (0.050 + DOCUMENTS / 3_500))


def test_the_rate_rises_in_a_straight_line_from_the_first_document() -> None:
    """From half of it: after 4 s, 75 % of what the rate would have served."""
    capacity = Capacity(replace(PACE, ramp_s=4, ramp_from=0.5), "1")
    capacity.begin(START_S)
    assert capacity.documents(START_S, START_S + 4) == pytest.approx(0.75 * 4 * 7_000, rel=1e-3)
    assert capacity.documents(START_S + 4, START_S + 5) == pytest.approx(7_000)


def test_bursts_of_merges_take_their_share() -> None:
    """Of each 10 s the last 2 at half of the rate: 90 % over a period."""
    pace = replace(PACE, burst_every_s=10, burst_s=2, burst_rate=0.5)
    capacity = Capacity(pace, "1")
    capacity.begin(START_S)
    assert pace.mean_docs_per_s == pytest.approx(6_300)
    assert capacity.documents(START_S, START_S + 20) == pytest.approx(20 * 6_300, rel=1e-3)


def test_noise_has_the_deviation_told_and_changes_no_mean() -> None:
    """From second to second, and from index to index."""
    noisy = Capacity(replace(PACE, noise=0.1), "1")
    noisy.begin(0.0)
    rates = [noisy.documents(second, second + 1) for second in range(2_000)]
    factors = [Capacity(replace(PACE, run_noise=0.1), str(seed)).factor for seed in range(2_000)]
    assert (fmean(rates), fmean(factors)) == pytest.approx((7_000, 1), rel=0.01)
    assert (stdev(rates), stdev(factors)) == pytest.approx((700, 0.1), rel=0.05)


def test_counters_grow_with_the_documents_served_and_end_at_their_number() -> None:
    """Within requests, too; bin by bin the truth has the same."""
    services = saturated(replace(PACE, ramp_s=2, ramp_from=0.3, noise=0.2, request_ms=7))
    index = Index("i", "u", {}, {}, services[0].capacity, START_S)
    for service in services:
        index.add(service)
    end_s = START_S + took_s(services)
    counted = [index.served(START_S + tenth / 10) for tenth in range(int(10 * took_s(services)) + 2)]
    steps = [after - before for before, after in pairwise(counted)]
    assert (min(steps) >= 0, max(steps) < DOCUMENTS * 2) == (True, True)
    assert counted[-1] == REQUESTS * DOCUMENTS
    assert sum(each.documents for each in index.bins.values()) == pytest.approx(REQUESTS * DOCUMENTS)
    assert index.busy_s(end_s) == pytest.approx(sum(each.busy_s for each in index.bins.values()))


def test_a_rule_changes_the_pace_of_the_indices_that_it_is_about() -> None:
    """By name and by settings; a factor of the pace before it, or a value of its own."""
    rules = [
        Rule.parse("index.refresh_interval=30s: docs_per_s=x1.3 cpu_us=40"),
        Rule.parse("name=sluice-slow*: docs_per_s=2000"),
    ]
    settings = {"index.refresh_interval": "30s"}
    paces = [pace_of(PACE, rules, *index) for index in (("a", {}), ("a", settings), ("sluice-slow-1", settings))]
    assert [(pace.docs_per_s, pace.cpu_us) for pace in paces] == [(7_000, 50), (pytest.approx(9_100), 40), (2_000, 40)]


@pytest.mark.parametrize("text", ["docs_per_s=2", "name=a: ", "name=a: rate=3"])
def test_a_rule_without_an_effect_is_refused(text: str) -> None:
    """And one whose effect is no field of a pace."""
    with pytest.raises(argparse.ArgumentTypeError):
        Rule.parse(text)


def test_faults_are_those_told() -> None:
    """Of ten documents one is lost, of four one altered; counters begin again from 0."""
    pace = replace(PACE, lose_every=10, alter_every=4, forget_after_s=1.0)
    capacity = Capacity(pace, "1")
    index = Index("i", "u", {}, {}, capacity, START_S)
    body = b'{"a":"b"}'
    for number in range(20):
        assert index.write("index", {"_id": str(number)}, body, index.keep(body)).status == 201
    kept = [index.source(stored) for stored in index.documents.values()]
    assert (len(kept), kept.count(b'{"a":"~b"}')) == (18, 4)
    index.add(Workers().take(capacity, 20_000, START_S, indexed=20_000, created=18))
    counted = [index.counted(START_S + age_s)[0] for age_s in (0.9, 1.1, 2.1)]
    assert counted == pytest.approx([3_150, 0, 3_500], abs=1)
