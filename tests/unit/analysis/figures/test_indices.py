"""Figures of several indices that are filled at once."""

import pytest

from lab.analysis.figures.definitions import meaning_of, value_of
from lab.analysis.figures.indices import indexing_fairness, of_indices
from lab.analysis.figures.windows import windows
from lab.records.samples import Sample
from tests.unit.analysis.synthetic import Truth, directly, into_indices, run, samples, with_samples
from tests.unit.messages import Naming


def test_an_index_is_full_when_it_has_all_of_its_documents() -> None:
    """Of 23 ticks of 5003 documents the quicker index gets five eighths: it has its half four tenths into the 19th."""
    made, seen = into_indices(Truth(), 5, 3)
    figures = tuple(of_indices(made, windows(seen)))
    assert value_of(figures, "index_finish_s", "index-1") == pytest.approx(18.4, rel=0.001)
    assert value_of(figures, "index_finish_s", "index-2") == pytest.approx(23, rel=0.001)
    assert value_of(figures, "index_finish_s", "run") == pytest.approx(23, rel=0.001)
    assert value_of(figures, "index_finish_spread_percent", "run") == pytest.approx(100 * 4.6 / 23, rel=0.001)
    assert value_of(figures, "indexing_rate_docs_per_s", "index-1") == pytest.approx(57_534 / 18.4, rel=0.001)


def test_the_rate_of_an_index_counts_each_update() -> None:
    """57,534 operations on 19,178 books: by `index_total`, which says when the index was full, as by the rate.

    Its definition says so: the rate is one of all of its load, and not of the measured window.
    """
    assert meaning_of("indexing_rate_docs_per_s") == Naming("of one of several indices", "index_finish_s")
    made, seen = into_indices(Truth(), 5, 3)
    updates = {
        name: documents.model_copy(update={"indexed": 19_178, "already_there": 38_356})
        for name, documents in made.index_documents.items()
    }
    figures = tuple(of_indices(made.model_copy(update={"index_documents": updates}), windows(seen)))
    assert value_of(figures, "indexing_rate_docs_per_s", "index-1") == pytest.approx(57_534 / 18.4, rel=0.001)


@pytest.mark.parametrize("late_s", [0.0, 0.3, 0.7])
def test_when_samples_are_taken_moves_no_rate(late_s: float) -> None:
    """From the last sample without a document to the first with all of them it is up to two intervals more."""
    made, seen = into_indices(Truth(), 1, 1)
    step = Truth().docs_per_tick

    def later(sample: Sample) -> dict[str, object]:
        assert sample.elasticsearch is not None
        since_s = sample.at_s - Truth().load_starts_s - Truth().warm_up_s + late_s
        total = min(Truth().indexed, max(0, round(since_s * step)))
        counters = {
            name: each.model_copy(update={"index_total": total // 2})
            for name, each in sample.elasticsearch.indices.items()
        }
        primaries = sample.elasticsearch.primaries.model_copy(update={"index_total": total})
        read_s = sample.at_s
        return {
            "elasticsearch": sample.elasticsearch.model_copy(
                update={"indices": counters, "primaries": primaries, "read_s": read_s}
            )
        }

    figures = tuple(of_indices(made, windows(with_samples(seen, later))))
    assert value_of(figures, "index_finish_s", "index-1") == pytest.approx(23, rel=0.001)


def test_fairness_is_that_of_the_source() -> None:
    """(50 + 30 + 10)² ÷ (3 × (50² + 30² + 10²)) = 0.771, up to the instant at which the first one is full."""
    _, seen = into_indices(Truth(), 50, 30, 10)
    assert indexing_fairness(seen) == pytest.approx(0.771, abs=0.001)
    _, even = into_indices(Truth(), 1, 1, 1)
    assert indexing_fairness(even) == pytest.approx(1)


def test_a_direct_load_says_itself_when_an_index_had_its_last_answer() -> None:
    """To the millisecond, where samples know it to the second."""
    made, seen = into_indices(Truth(), 5, 3)
    direct, _ = directly(Truth())
    assert direct.direct is not None
    began_s = direct.direct.started_s
    load = direct.direct.model_copy(update={"index_ended_s": (began_s + 17.25, began_s + 21.5)})
    figures = tuple(of_indices(made.model_copy(update={"direct": load}), windows(seen)))
    assert value_of(figures, "index_finish_s", "index-1") == pytest.approx(17.25)
    assert value_of(figures, "index_finish_s", "index-2") == pytest.approx(21.5)


def test_what_was_not_seen_is_not_known() -> None:
    """No sample of an index: no instant, no rate, no fairness."""
    made, seen = into_indices(Truth(), 5, 3)
    blind: list[Sample] = [sample.model_copy(update={"elasticsearch": None}) for sample in seen]
    figures = tuple(of_indices(made, windows(blind)))
    assert value_of(figures, "index_finish_s", "run") is None
    assert value_of(figures, "indexing_fairness", "run") is None


def test_counters_that_began_again_tell_nothing_of_any_index() -> None:
    """A shard has moved after 20 s: when an index was full, and what it had by when, its counter does not know."""
    made, seen = into_indices(Truth(), 5, 3)

    def moved(sample: Sample) -> dict[str, object]:
        assert sample.elasticsearch
        node = "elasticsearch-1" if sample.at_s < Truth().load_starts_s + 20 else "elasticsearch-2"
        return {
            "elasticsearch": sample.elasticsearch.model_copy(update={"shard_copies": {"sluice-books--1/0": (node,)}})
        }

    sampled = with_samples(seen, moved)
    figures = tuple(of_indices(made, windows(sampled)))
    assert {value_of(figures, metric.name, metric.scope) for metric in figures} == {None}


def test_a_single_index_has_none_of_these_figures() -> None:
    """Those of the run are its own."""
    assert tuple(of_indices(run(Truth()), windows(samples(Truth())))) == ()
