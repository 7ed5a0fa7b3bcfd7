"""Figures of a window, out of readings whose truth is known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lab.inspect.figures import Figures, Processor, figures_of, of_partition
from lab.inspect.readings import Copy, Node, Reading
from lab.records.samples import KafkaSample, SinkSample


def kafka(*partitions: tuple[int, int]) -> KafkaSample:
    """Offsets of partitions: (end, committed)."""
    return KafkaSample(
        end_offset=sum(end for end, _ in partitions),
        committed_offset=sum(committed for _, committed in partitions),
        partitions={f"orders-{number}": pair for number, pair in enumerate(partitions)},
    )


def offsets(*samples: KafkaSample) -> list[Reading]:
    """Readings of offsets each two seconds."""
    return [Reading(at_s=1_009.0 + 2 * number, kafka=sample) for number, sample in enumerate(samples)]


def copy(shard: str, *, node: str = "n1", primary: bool = True, **counters: int) -> Copy:
    """A copy of a shard."""
    return Copy(shard, node, primary, counters)


Ingest = Mapping[tuple[int, str], int]


def ingest(documents: int, time_ms: int, processors: Ingest | None = None) -> Ingest:
    """Documents that passed an ingest pipeline, their time in it, and in each processor by place and name."""
    return {(0, "count"): documents, (0, "time_in_millis"): time_ms, **(processors or {})}


def node(pipelines: Mapping[str, Ingest] | None = None, **figures: int) -> Node:
    """A data node."""
    passed = {(name, *place): value for name, of in (pipelines or {}).items() for place, value in of.items()}
    return Node("es-1", "10.0.0.1", ("ingest", "data_hot"), figures, passed)


def ingesting(before: Mapping[str, Ingest], after: Mapping[str, Ingest]) -> Figures:
    """Figures of a window in which 500 documents are indexed."""
    return figures_of(
        [
            Reading(at_s=at_s, nodes={"n1": node(pipelines)}, copies=(copy("orders/0", index_total=documents),))
            for at_s, pipelines, documents in ((1_009.0, before, 0), (1_019.0, after, 500))
        ]
    )


def sink_metrics(bulk_requests: int) -> SinkSample:
    """The sink's ledger after so many requests."""
    return SinkSample(**{**dict.fromkeys(SinkSample.model_fields, 0), "bulk_requests": bulk_requests})


def at(at_s: float, reading: Reading) -> Reading:
    """The same reading at another instant."""
    return replace(reading, at_s=at_s)


def shards(before: Sequence[Copy], after: Sequence[Copy]) -> list[Reading]:
    """Two readings of shards, ten seconds apart."""
    return [Reading(at_s=1_009.0, copies=tuple(before)), Reading(at_s=1_019.0, copies=tuple(after))]


def test_rates_of_a_topic_are_by_its_end_and_by_the_commits() -> None:
    """7 records/s arrive; between the first commit and the last, 4 s, 60 are committed."""
    figures = figures_of(offsets(kafka((100, 0)), kafka((114, 40)), kafka((128, 40)), kafka((142, 100))))

    assert (figures.arrival_rate, figures.commit_rate, figures.lag) == (7.0, 15.0, 42)
    assert figures.lag_trend == (42 - 74) / 4


def test_tasks_that_commit_one_after_the_other_have_the_rate_of_each() -> None:
    """Both partitions commit 30 records each 6 s, the second one two seconds after the first: 10/s, as they arrive."""
    committed = [(0, 0), (30, 0), (30, 30), (30, 30), (60, 30), (60, 60), (60, 60)]
    ends = [40 + 10 * number for number in range(len(committed))]
    samples = [kafka(*((end, each) for each in pair)) for end, pair in zip(ends, committed, strict=True)]

    figures = figures_of(offsets(*samples))
    assert (figures.commit_rate, figures.lag_trend) == (10.0, 0.0)
    assert figures_of(offsets(*samples[:4])).commit_rate is None


def test_offsets_without_records_are_no_backlog() -> None:
    """The end of a transaction has an offset, which nobody commits."""
    readings = offsets(kafka((100, 99), (50, 0)), kafka((100, 99), (70, 30)), kafka((100, 99), (70, 60)))

    assert figures_of(readings).backlog is None
    assert figures_of(readings, {"orders-0"}).backlog == 10
    assert figures_of(readings, {"orders-0", "orders-1"}).commit_rate == 15.0


def test_a_rate_is_of_the_time_in_which_its_source_was_read() -> None:
    """Of a cluster that stopped to answer after two seconds of twenty."""
    first, second, last = (Reading(at_s=1_000.0 + at_s) for at_s in (0, 2, 20))

    figures = figures_of(
        [
            replace(first, copies=(copy("orders/0", index_total=0),), nodes={"n1": node(disk_time_ms=0)}),
            replace(
                second,
                copies=(copy("orders/0", index_total=500),),
                nodes={"n1": node(disk_time_ms=1_000)},
            ),
            last,
        ]
    )

    assert (figures.indexing_rate, figures.nodes[0].disk_busy) == (250.0, 0.5)


def test_what_is_rejected_was_sent_too() -> None:
    """By the sink; without its metrics, documents of dead letters beside those that are indexed."""
    sinks = [replace(each, sink=sink_metrics(requests)) for each, requests in zip(shards([], []), (7, 9), strict=True)]
    sinks[1] = replace(
        sinks[1], sink=sinks[1].sink and sinks[1].sink.model_copy(update={"bulk_documents_total": 3_000})
    )
    indexed = shards([copy("orders/0", index_total=0)], [copy("orders/0", index_total=2_400)])
    letters = [replace(each, dead_letters=written) for each, written in zip(indexed, (11, 611), strict=True)]
    assert (figures_of(sinks).sent_rate, figures_of(letters).sent_rate) == (300.0, 300.0)


@pytest.mark.parametrize(
    ("pairs", "backlog"),
    [
        ([(100, 40), (120, 40)], None),
        ([(100, 40), (120, 90), (140, 90)], 30),
        ([(100, 100), (100, 100)], 0),
        ([(100, 40), (100, 100)], 0),
        ([None, (100, 40), (120, 90)], 30),
    ],
    ids=["no commit", "one commit", "drained before", "drained now", "lost"],
)
def test_records_that_wait_are_counted_right_after_a_commit(
    pairs: list[tuple[int, int] | None], backlog: int | None
) -> None:
    """Between two commits, records that are indexed look like records that wait."""
    assert of_partition(list(enumerate(pairs)))[1] == backlog


def test_one_partition_without_a_commit_leaves_the_backlog_unknown() -> None:
    """Its 50 records may be indexed or may wait."""
    figures = figures_of(offsets(kafka((100, 0), (50, 0)), kafka((100, 90), (50, 0))))

    assert (figures.backlog, figures.lags) == (None, {"orders-0": 10, "orders-1": 50})


def test_figures_of_documents_are_of_primary_shards_alone() -> None:
    """Time alone is summed over replicas, which keep threads busy as well."""
    counters = {"index_total": 0, "index_time_ms": 0, "bulks": 0, "bulk_time_ms": 0, "bulk_bytes": 0}
    grown = {"index_total": 1_000, "index_time_ms": 500, "bulks": 8, "bulk_time_ms": 800, "bulk_bytes": 125_000}
    replica = {"index_total": 1_000, "index_time_ms": 700}

    figures = figures_of(
        shards(
            [copy("orders/0", **counters), copy("orders/0", node="n2", primary=False, index_total=0, index_time_ms=0)],
            [copy("orders/0", **grown), copy("orders/0", node="n2", primary=False, **replica)],
        )
    )

    assert (figures.indexing_rate, figures.index_ms, figures.index_time_s) == (100.0, 0.5, 1.2)
    assert (figures.bulk_documents, figures.bulk_bytes, figures.bulk_ms) == (125.0, 15_625.0, 100.0)
    assert figures.replicated == ["orders"]


FILLED = copy("orders/0", node="n2", primary=False, index_total=5_000)
"""A replica that has been filled for a while."""


@pytest.mark.parametrize(
    ("again", "name"),
    [
        ({"copies": (copy("orders/0", index_total=999),)}, "orders/0"),
        ({"copies": (copy("orders/0", node="n2", index_total=2_000),)}, "orders/0"),
        ({"copies": (copy("orders/0", primary=False, index_total=2_000),)}, "orders/0"),
        ({"copies": (copy("orders/1", index_total=2_000),)}, "orders/0"),
        ({"copies": (copy("orders/0", index_total=1_000), FILLED)}, "orders/0"),
        ({"nodes": {"n1": node(uptime_ms=700)}}, "es-1"),
        ({"nodes": {"n1": node({"parse": ingest(10, 8)}, uptime_ms=90_000)}}, "es-1"),
        ({"nodes": {"n1": node({"parse": ingest(12, 8, {(1, "set"): 6})}, uptime_ms=90_000)}}, "es-1"),
        ({"kafka": kafka((30, 20))}, "orders-0"),
        ({"sink": sink_metrics(10)}, "the sink's metrics"),
    ],
    ids=["fell", "moved", "demoted", "lost", "filled", "node", "pipeline", "processor", "topic", "task"],
)
def test_what_begins_to_count_again_is_named_and_figures_are_of_the_longest_stretch_without_it(
    again: dict[str, Any], name: str
) -> None:
    """Two seconds before it and ten after it; counters that have grown past their old value may have begun again."""
    before = Reading(
        at_s=1_000.0,
        copies=(copy("orders/0", index_total=1_000),),
        nodes={"n1": node({"parse": ingest(11, 7, {(1, "set"): 7})}, uptime_ms=90_000)},
        kafka=kafka((100, 90)),
        sink=sink_metrics(11),
    )
    after = replace(before, **again)

    figures = figures_of([before, at(1_002.0, before), at(1_004.0, after), at(1_014.0, after)])
    assert (figures.begun_again, figures.window_s, figures.watched_s) == ([name], 10.0, 14.0)
    assert figures_of([before, at(1_002.0, before)]).begun_again == []


def test_a_rate_is_not_too_small_for_a_restart_within_the_watch() -> None:
    """100/s before it and 50/s after it; the node's last documents before it are in no counter."""
    counted = [(0, 1_000), (2, 1_200), (4, 1_400), (6, 100), (16, 600)]
    readings = [
        Reading(at_s=1_000.0 + at_s, copies=(copy("orders/0", index_total=documents),)) for at_s, documents in counted
    ]

    assert figures_of(readings).indexing_rate == 50.0
    assert figures_of(readings[:4]).indexing_rate == 100.0


def test_a_node_that_is_away_for_a_while_began_again_where_its_uptime_fell() -> None:
    """Its shards, which are back with larger counters, do not tell."""
    there = Reading(at_s=1_000.0, nodes={"n1": node(uptime_ms=90_000)})
    away = Reading(at_s=1_002.0)
    back = Reading(at_s=1_004.0, nodes={"n1": node(uptime_ms=1_500)})

    assert figures_of([there, away, back, at(1_014.0, back)]).begun_again == ["es-1"]


def test_a_copy_that_comes_later_counts_from_nothing() -> None:
    """As of an index that is made while its topic is watched."""
    figures = figures_of(
        shards([copy("orders/0", index_total=70)], [copy("orders/0", index_total=70), copy("orders/1", index_total=30)])
    )

    assert (figures.shard_documents, figures.begun_again) == ({"orders/0": 0, "orders/1": 30}, [])


def test_refreshes_and_merges_are_of_all_copies_and_a_merge_s_pauses_are_no_work() -> None:
    """Of the merges' 900 ms, 300 were paused; two were under way at the first reading, and one at the last."""
    spent = {
        "refresh_time_ms": 70,
        "merges_time_ms": 900,
        "merges_throttled_time_ms": 200,
        "merges_stopped_time_ms": 100,
    }
    none = dict.fromkeys(spent, 0)

    figures = figures_of(
        shards(
            [copy("orders/0", **none, merges_current=2), copy("orders/0", node="n2", primary=False, **none)],
            [
                copy("orders/0", **spent, merges_current=1),
                copy("orders/0", node="n2", primary=False, refresh_time_ms=30),
            ],
        )
    )

    assert (figures.refresh_time_s, figures.merge_time_s, figures.merging) == (0.1, 0.6, 1.5)


def test_disks_of_one_node_are_busy_on_average() -> None:
    """Elasticsearch sums up their times: two that worked for 9 s of ten each are 90 % busy."""
    readings = [
        Reading(at_s=1_000.0 + at_s, nodes={"n1": node(disk_time_ms=ms)._replace(disks=2)})
        for at_s, ms in ((0, 100), (10, 18_100))
    ]

    assert figures_of(readings).nodes[0].disk_busy == 0.9


def test_a_node_is_as_busy_as_its_samples_on_average() -> None:
    """Gauges are averaged, counters have grown; a request is rejected for the queue or for the memory."""
    first, second = (
        node(
            {"p": ingest(0, ms)},
            write_threads=4,
            write_active=active,
            write_rejected=rejected,
            coordinating_rejected=too_large,
        )
        for active, rejected, too_large, ms in ((4, 11, 2, 100), (1, 24, 19, 350))
    )

    figures = figures_of(
        [
            Reading(at_s=1_009.0, nodes={"n1": first}, copies=(copy("orders/0", index_total=0),)),
            Reading(at_s=1_019.0, nodes={"n1": second}, copies=(copy("orders/0", index_total=500),)),
        ]
    )

    assert (figures.write_busy, figures.rejected) == (0.625, 13 + 17)
    assert (figures.ingest_time_s, figures.ingest_ms) == (0.25, 0.5)


def test_nodes_of_a_tier_that_the_index_is_not_on_do_not_count() -> None:
    """A warm node is idle while the hot one has no thread left."""
    hot = node(write_threads=8, write_active=8)
    nodes = {"n1": hot, "n2": node(write_threads=8, write_active=0)._replace(name="es-2", roles=("data_warm",))}
    reading = Reading(at_s=1_009.0, nodes=nodes)
    holding = replace(reading, copies=(copy("orders/0", index_total=7),))

    assert [each.name for each in figures_of([reading, at(1_019.0, reading)]).nodes] == ["es-1", "es-2"]
    assert figures_of([holding, at(1_019.0, holding)]).write_busy == 1.0


def test_what_was_not_read_is_not_known() -> None:
    """Nothing is taken for zero."""
    figures = figures_of([Reading(at_s=1_009.0), Reading(at_s=1_019.0)])

    assert figures.window_s == 10.0
    assert (figures.lag, figures.indexing_rate, figures.write_busy, figures.rejected) == (None, None, None, None)


@pytest.mark.parametrize(("passed", "ingest_time_s"), [(500, 0.25), (5_000, 0.025), (50, 0.25)])
def test_of_a_pipeline_that_other_indices_share_the_time_per_document_counts(passed: int, ingest_time_s: float) -> None:
    """500 documents are indexed here, and so many pass the pipeline in 250 ms."""
    figures = ingesting({"p": ingest(7, 100)}, {"p": ingest(7 + passed, 350)})

    assert figures.ingest_time_s == ingest_time_s


def test_the_slowest_processor_is_named_with_its_share_of_the_time_in_all_pipelines() -> None:
    """Of two with the same name by its place; of a pipeline that ten times as many documents pass, a tenth counts."""
    parse = {(1, "set"): 7, (2, "script:enrich"): 900, (3, "set"): 11}
    figures = ingesting(
        {"parse": ingest(7, 1_000, parse), "shared": ingest(7, 50, {(1, "grok"): 50})},
        {
            "parse": ingest(507, 1_100, {**parse, (1, "set"): 27, (3, "set"): 71}),
            "shared": ingest(5_007, 550, {(1, "grok"): 540}),
        },
    )

    assert figures.slowest_processor == Processor("parse", "set", 3, share=0.4)


@pytest.mark.parametrize(
    "after",
    [{}, {(1, "grok"): 900}, {(1, "set"): 100}],
    ids=["a server that lists none", "a pipeline replaced meanwhile", "processors that did nothing"],
)
def test_no_processor_is_named_where_the_figures_tell_of_none(after: Mapping[tuple[int, str], int]) -> None:
    """What a replaced one took is not known."""
    before = {(1, "set"): 100} if after else {}

    assert ingesting({"p": ingest(7, 100, before)}, {"p": ingest(507, 1_000, after)}).slowest_processor is None
