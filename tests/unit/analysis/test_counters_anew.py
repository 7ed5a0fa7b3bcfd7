"""Counters that begin again within the measured window: shards that move, nodes that are started again or vanish.

Elasticsearch counts by copy of a shard, so that a primary on another node begins anew. 32 primary shards are on two
nodes, 5003 documents are indexed a second, and one shard moves 20 s into the load, of which the first 3 index nothing.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.load_figures import load_figures
from lab.analysis.report_page.report import write_report
from lab.analysis.result import analyse
from lab.records.result import Result
from lab.records.run import Run, RunWarning, WarningKind
from lab.records.samples import ElasticsearchSample, Sample
from tests.unit.analysis.synthetic import Truth, directly, run, samples, with_samples, written
from tests.unit.messages import MakeMessage

TRUTH = Truth(replicas=1)
SHARDS = 32
HOME, AWAY, THIRD = "elasticsearch-1", "elasticsearch-2", "elasticsearch-3"
MOVED_S = TRUTH.load_starts_s + 20.5
RESTARTS = (WarningKind.SERVER_RESTARTED, WarningKind.SHARD_MOVED)


def seen(change: Callable[[Sample, ElasticsearchSample], dict[str, object]] = lambda *_: {}) -> list[Sample]:
    """Samples of a run on three nodes, whose shards are on the first two, with what `change` makes of them."""

    def on_nodes(sample: Sample) -> dict[str, object]:
        assert sample.elasticsearch
        (node,) = sample.elasticsearch.nodes.values()
        nodes = dict.fromkeys((HOME, AWAY, THIRD), node.model_copy(update={"index_total": 7 + int(sample.at_s)}))
        copies = {f"sluice-books/{number}": (HOME, AWAY) for number in range(SHARDS)}
        whole = sample.elasticsearch.model_copy(update={"nodes": nodes, "shard_copies": copies})
        return {"elasticsearch": whole.model_copy(update=change(sample, whole))}

    return with_samples(samples(TRUTH), on_nodes)


def counted_less(whole: ElasticsearchSample, lost: int) -> dict[str, object]:
    """Counters of the index without those that were lost."""
    primaries = whole.primaries.model_copy(update={"index_total": whole.primaries.index_total - lost})
    return {"primaries": primaries}


def primary_moves(sample: Sample, whole: ElasticsearchSample) -> dict[str, object]:
    """One of 32 primaries moves: what it had counted is lost, and growth elsewhere hides it."""
    if sample.at_s < MOVED_S:
        return {}
    copies = whole.shard_copies | {"sluice-books/7": (THIRD, AWAY)}
    return {**counted_less(whole, 17 * 5003 // SHARDS), "shard_copies": copies}


def result_of(folder: Path, sampled: list[Sample], made: Run | None = None) -> Result:
    """The result of a run with these samples."""
    return analyse(written(folder, made or run(TRUTH), sampled)).result


def direct(sampled: list[Sample]) -> tuple[Run, list[Sample]]:
    """The same load without a sink that counts."""
    made, _ = directly(TRUTH)
    return made, with_samples(sampled, lambda _: {"kafka": None, "sink": None})


def rate(result: Result, scope: str = "primaries") -> float | None:
    """The indexing rate."""
    return value_of(result.metrics, "indexing_rate_docs_per_s", scope)


def told(result: Result) -> list[RunWarning]:
    """What is said of counters that began again."""
    return [warning for warning in result.warnings if warning.kind in RESTARTS]


def test_a_primary_that_moves_unseen_by_the_sum_is_told_and_the_sink_has_counted(
    tmp_path: Path, message: MakeMessage
) -> None:
    """The sum of the primaries never falls; its growth over the window would be 2.5 % below the truth."""
    sampled = seen(primary_moves)
    totals = [sample.elasticsearch.primaries.index_total for sample in sampled if sample.elasticsearch]
    assert totals == sorted(totals)
    assert (totals[-1] - 2 * 5003) / 21 < 0.976 * 5003
    result = result_of(tmp_path, sampled)
    assert rate(result) == pytest.approx(5003)
    assert rate(result, "total") is None
    assert value_of(result.metrics, "indexing_latency_ms", "primaries") == pytest.approx(0.31, rel=0.001)
    assert result.measured_window is not None
    (warning,) = told(result)
    assert (warning.kind, warning.seen) == (WarningKind.SHARD_MOVED, message("sink counted"))


def test_without_a_sink_that_counts_the_window_is_void(tmp_path: Path, message: MakeMessage) -> None:
    """Then the rate is documents by the whole time that they took, which verification has counted."""
    made, sampled = direct(seen(primary_moves))
    result = result_of(tmp_path, sampled, made)
    assert (result.measured_window, rate(result), result.limited_by) == (None, None, None)
    assert (load_figures(result).is_rough, load_figures(result).rate_docs_per_s) == (
        True,
        pytest.approx(TRUTH.indexed / 26.017),
    )
    (warning,) = told(result)
    assert warning.seen == message("void")
    assert not any(warning.kind is WarningKind.SHORT_WINDOW for warning in result.warnings)


def test_the_report_says_why_there_is_no_window(tmp_path: Path) -> None:
    """The load was long enough."""
    made, sampled = direct(seen(primary_moves))
    page = write_report(analyse(written(tmp_path, made, sampled))).read_text("utf-8")
    assert "no measured window: counters of the index began again in it" in page
    assert "too little of the load could be measured" not in page


def test_figures_of_counters_that_began_again_are_not_known(tmp_path: Path) -> None:
    """A part of the merges and refreshes is lost, over the window as over the run."""
    result = result_of(tmp_path, seen(primary_moves))
    lost = ("merge_count", "refresh_time_ms", "window_merge_count", "window_refresh_time_ms")
    assert {value_of(result.metrics, name, scope) for name in lost for scope in ("primaries", "total")} == {None}
    whole = result_of(tmp_path / "whole", seen())
    assert None not in {value_of(whole.metrics, name, scope) for name in lost for scope in ("primaries", "total")}


def test_a_sink_that_began_again_as_well_leaves_no_rate(tmp_path: Path) -> None:
    """Its worker was started again, too."""

    def anew(sample: Sample) -> dict[str, object]:
        if sample.sink is None or sample.at_s < MOVED_S + 3:
            return {}
        return {"sink": sample.sink.model_copy(update={"records_indexed": sample.sink.records_indexed - 19 * 5003})}

    result = result_of(tmp_path, with_samples(seen(primary_moves), anew))
    assert (result.measured_window, rate(result)) == (None, None)


def test_a_replica_that_moves_costs_only_the_figures_of_all_shards(tmp_path: Path) -> None:
    """The primaries have counted on."""

    def replica_moves(sample: Sample, whole: ElasticsearchSample) -> dict[str, object]:
        return {"shard_copies": whole.shard_copies | {"sluice-books/7": (HOME, THIRD)}} if sample.at_s > MOVED_S else {}

    result = result_of(tmp_path, seen(replica_moves))
    assert (rate(result), rate(result, "total"), told(result)) == (pytest.approx(5003), None, [])


def test_a_replica_that_is_added_costs_nothing(tmp_path: Path) -> None:
    """What it counts, it has done."""

    def added(sample: Sample, whole: ElasticsearchSample) -> dict[str, object]:
        early = dict.fromkeys(whole.shard_copies, (HOME,))
        return {"shard_copies": early} if sample.at_s < MOVED_S else {}

    result = result_of(tmp_path, seen(added))
    assert (rate(result, "total"), told(result)) == (pytest.approx(2 * 5003), [])


@pytest.mark.parametrize(("gone", "is_told"), [(THIRD, False), (HOME, True)])
def test_a_node_that_vanishes_matters_where_it_held_a_primary(tmp_path: Path, gone: str, *, is_told: bool) -> None:
    """Its shards are then on other nodes, or nowhere; and a node without any costs nothing."""

    def vanishes(sample: Sample, whole: ElasticsearchSample) -> dict[str, object]:
        if sample.at_s < MOVED_S:
            return {}
        nodes = {name: node for name, node in whole.nodes.items() if name != gone}
        copies = {shard: tuple(name for name in names if name != gone) for shard, names in whole.shard_copies.items()}
        return {"nodes": nodes, "shard_copies": copies}

    result = result_of(tmp_path, seen(vanishes))
    assert bool(told(result)) == is_told
    assert rate(result) == pytest.approx(5003)


def test_a_node_that_began_again_between_two_samples_is_told(tmp_path: Path, message: MakeMessage) -> None:
    """Its own counter, over all of its shards, has fallen; the sum over the index need not."""

    def restarted(sample: Sample, whole: ElasticsearchSample) -> dict[str, object]:
        if sample.at_s < MOVED_S:
            return {}
        node = whole.nodes[HOME].model_copy(update={"index_total": 0})
        return {**counted_less(whole, 4999), "nodes": whole.nodes | {HOME: node}}

    (warning,) = told(result_of(tmp_path, seen(restarted)))
    assert (warning.kind, warning.seen) == (WarningKind.SERVER_RESTARTED, message("sink counted"))


def test_shards_that_did_not_answer_once_are_no_growth_when_they_are_back(tmp_path: Path) -> None:
    """Half of the sum is gone in one sample and back in the next; as growth it would be a third more than the truth."""

    def half(sample: Sample, whole: ElasticsearchSample) -> dict[str, object]:
        is_then = MOVED_S < sample.at_s < MOVED_S + 1
        return counted_less(whole, whole.primaries.index_total // 2) if is_then else {}

    result = result_of(tmp_path, seen(half))
    assert rate(result) == pytest.approx(5003)
    assert len(told(result)) == 1


def test_a_shard_that_moves_before_the_window_leaves_its_rate_to_the_index(tmp_path: Path) -> None:
    """Counters go on through the whole window, and nothing is said of them."""

    def early(sample: Sample, whole: ElasticsearchSample) -> dict[str, object]:
        is_early = sample.at_s < TRUTH.load_starts_s + 2
        return {"shard_copies": whole.shard_copies | {"sluice-books/7": (THIRD, AWAY)}} if is_early else {}

    result = result_of(tmp_path, seen(early))
    (warning,) = told(result)
    assert rate(result) == pytest.approx(5003)
    assert "sink" not in warning.seen
    assert "void" not in warning.seen


def test_nothing_is_said_where_nothing_moved(tmp_path: Path) -> None:
    """All figures are there."""
    result = result_of(tmp_path, seen())
    assert (told(result), rate(result), rate(result, "total")) == ([], pytest.approx(5003), pytest.approx(2 * 5003))
