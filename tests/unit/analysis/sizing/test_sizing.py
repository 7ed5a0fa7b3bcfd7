"""From what a document costs to machines, by hand."""

from dataclasses import replace
from typing import Any

import pytest

from lab.analysis.sizing.assumptions import Assumptions
from lab.analysis.sizing.measured import Costs, Measured
from lab.analysis.sizing.ranges import Range, estimated, largest
from lab.analysis.sizing.sizing import Part, Sizing, Target, sizing
from lab.cli.size import cut_rows, range_text
from lab.errors import ProfileError
from tests.unit.messages import MakeMessage

COSTS = Costs(
    elasticsearch_cpu_us=Range(40),
    connect_cpu_us=Range(4),
    kafka_cpu_us=Range(1),
    producer_cpu_us=Range(10),
    source_bytes=Range(800),
    stored_bytes=Range(400),
    written_bytes=Range(1000),
    bulk_docs=Range(2000),
    request_us=Range(125),
)
TARGET = Target(rate_docs_per_s=500_000, days=30, replicas=1)


def sized(target: Target = TARGET, *assumptions: str, **costs: Any) -> Sizing:
    """The sizing of a rate by these costs."""
    found = Measured(
        profile="aladin/static",
        runs=("20261123-100000",),
        cpu_model="Example CPU @ 2.80GHz",
        costs=replace(COSTS, **costs),
        requests_in_flight=5,
        unsteady=(),
    )
    return sizing(target, found, Assumptions().with_stated(assumptions))


def demands(part: Part) -> dict[str, float]:
    """Resource → what all machines of the kind need."""
    return {demand.resource: pytest.approx(demand.amount.value) for demand in part.demands}


def test_a_worked_example() -> None:
    """500,000 documents/s for 30 days on machines of 16 cores, 4 TB and 10 Gbit/s, each half used, disks to 85 %."""
    outcome = sized()
    data, brokers, workers, drivers = outcome.parts

    # 0.5 million × 40 µs × 2 copies; 1.296e12 documents × 400 bytes × 2; 400 MB/s × 3; 500 MB/s × 2
    assert demands(data) == {"CPU": 40, "disk": 1036.8, "network": 1200, "disk writes": 1000}
    # 1036.8 TB ÷ (4 × 0.85) = 304.9, and one to spare
    assert (data.machines.value, data.decided_by) == (306, "disk")
    # 400 MB/s × 3 copies, for a day
    assert demands(brokers) == {"CPU": 1.5, "disk": 103.68, "network": 1200, "disk writes": 1200}
    assert (brokers.machines.value, brokers.decided_by) == (32, "disk")
    assert demands(workers) == {"CPU": 2, "network": 400}
    assert demands(drivers) == {"CPU": 5, "network": 400}
    assert (workers.machines.value, drivers.machines.value) == (2, 1)
    # 125 µs × 500,000 ÷ 5 requests = 12.5, at half 25; one core at half would do for 125,000 documents/s
    assert (outcome.tasks.value, outcome.tasks_decided_by) == (25, "requests in flight")
    # twice the tasks are 50; 400 MB/s at 10 MB/s each are 40
    assert outcome.partitions == 50
    # 518.4 TB in shards of 50 GB; half as many as nodes are written; 7.65 TB at 200 MB/s
    assert (outcome.primaries.value, outcome.primaries_written) == (10_368, 153)
    assert outcome.rollover_hours == pytest.approx(10.625)
    assert (outcome.source_tb_per_day.value, outcome.stored_tb.value) == pytest.approx((34.56, 1036.8))


def test_an_interval_is_carried_to_the_machines() -> None:
    """Demands are proportional to what was measured, so their ends are those of the costs."""
    one_day = replace(TARGET, days=0.1)
    data, *_ = sized(one_day, elasticsearch_cpu_us=Range(80, 64, 100)).parts
    cpu = data.demands[0]
    assert (cpu.amount.value, cpu.amount.low, cpu.amount.high) == pytest.approx((80, 64, 100))
    # 80 cores ÷ 8 = 10 machines, 8 to 12.5, and one to spare
    assert data.machines == Range(11, 9, 14)
    assert data.decided_by == "CPU"


@pytest.mark.parametrize(
    ("assumption", "nodes"),
    [("disk_tb=8", 154), ("disk_fill=0.425", 611), ("spare=0", 305)],
)
def test_an_assumption_is_the_users(assumption: str, nodes: int) -> None:
    """Twice the disk, half the machines."""
    assert sized(TARGET, assumption).nodes.value == nodes


def test_a_faster_core_makes_fewer_machines_of_cpu_alone() -> None:
    """Bytes stay what they are."""
    slow, fast = (sized(TARGET, f"core_speed={speed}").parts[0].demands for speed in (1, 2))
    assert [demand.amount.value for demand in fast] == [slow[0].amount.value / 2, *(d.amount.value for d in slow[1:])]


def test_few_documents_need_machines_for_redundancy() -> None:
    """Three nodes and brokers, two workers."""
    outcome = sized(Target(rate_docs_per_s=10, days=1, replicas=1))
    assert [(part.machines.value, part.decided_by) for part in outcome.parts[:3]] == [
        (3, "redundancy"),
        (3, "redundancy"),
        (2, "redundancy"),
    ]
    assert outcome.tasks == Range(2)


def test_a_cost_that_was_not_measured_decides_nothing() -> None:
    """It is missing, not nothing."""
    outcome = sized(kafka_cpu_us=None, written_bytes=None)
    assert "CPU" not in demands(outcome.parts[1])
    assert "disk writes" not in demands(outcome.parts[0])


def test_what_machines_do_not_help_against_is_said() -> None:
    """A cluster too large, a group too large, shards too many, shards full too soon."""
    assert [limit.partition(":")[0] for limit in sized().limits] == ["nodes"]
    huge = sized(replace(TARGET, rate_docs_per_s=500_000_000), "disk_tb=4000")
    assert [limit.partition(":")[0] for limit in huge.limits] == ["shards", "primaries", "rollover", "tasks", "nodes"]
    assert [limit.partition(":")[0] for limit in sized(replace(TARGET, days=0.1)).limits] == ["rollover"]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("core=3", ("--assume core", "cores")),
        ("cores=many", ("--assume cores", "many", 0)),
        ("cores", ("--assume cores", 0)),
        ("spare=1.9", ("--assume spare", 1.9)),
        ("kafka_copies=inf", ("--assume kafka_copies", "inf")),
        ("utilisation=1.5", ("--assume utilisation", 1.5, 0)),
    ],
)
def test_a_wrong_assumption_is_refused(text: str, facts: tuple[object, ...], message: MakeMessage) -> None:
    """By its name, with what is expected."""
    with pytest.raises(ProfileError) as refusal:
        Assumptions().with_stated([text])
    assert str(refusal.value) == message(*facts)


def test_every_assumption_has_a_unit_and_a_source() -> None:
    """The output shows them."""
    assert all(unit and source for _, _, unit, source in Assumptions().table())


def test_several_runs_give_an_interval() -> None:
    """By Student's t of the logarithms; one run, or equal ones, give none."""
    three = estimated([32, 35, 38])
    assert (three.value, three.low, three.high) == pytest.approx((34.91, 28.20, 43.22), abs=0.01)
    assert estimated([35]) == Range(pytest.approx(35))
    assert estimated([35, 35]).high is None


def test_the_largest_of_several_ranges_holds_all() -> None:
    """A value without an interval counts with both its ends."""
    assert largest([Range(5), Range(4, 3, 6)]) == Range(5, 5, 6)
    assert largest([Range(5), Range(4)]) == Range(5)


def test_rounding_does_not_make_a_machine() -> None:
    """3 × 0.1 is 0.30000000000000004."""
    assert Range(0.1 * 3 / 0.3).whole() == Range(1)
    assert Range(1.2, 0.4, 2.1).whole(2, spare=1) == Range(3, 2, 4)


def test_whole_things_are_told_to_the_last_one() -> None:
    """3,051 nodes and 3,050 are not the same; a measured value is rounded."""
    huge = sized(replace(TARGET, rate_docs_per_s=5_000_000))
    rows = dict(cut_rows(huge))
    assert (range_text(huge.nodes), rows["primary shards"], range_text(Range(3051.0))) == (
        "3,051",
        "103,680 over all days",
        "3,050",
    )
    assert rows["written at a time"].startswith("1,526 primary shards")


def test_more_shards_than_a_node_may_hold_are_told_as_more() -> None:
    """Of 67.1 on average a node has 68: it was said that 67 are more than 67."""
    told = next(limit for limit in sized(replace(TARGET, days=10), "shards_per_node=67").limits if "shards" in limit)
    assert told.startswith("shards: 68 on a node, Elasticsearch allows 67:")
