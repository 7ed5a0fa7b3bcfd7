"""Conditions that end a run while it loads."""

from collections.abc import Sequence

import pytest

from lab.cli.expectations import condition
from lab.errors import AbortError, ProfileError
from lab.records.samples import Sample
from lab.run.abort import COUNTS, RATES, AbortWatch, Condition, unjudged
from tests.unit.analysis.synthetic import Truth, samples
from tests.unit.messages import MakeMessage


def ended(conditions: Sequence[str], seen: Sequence[Sample]) -> tuple[float | None, str]:
    """When a run of these samples would end by the conditions, in seconds from the first of its load, and why."""
    watch = AbortWatch([condition(text) for text in conditions])
    load = [sample for sample in seen if sample.phase == "load"]
    for sample in seen:
        watch.take(sample)
        try:
            watch.check()
        except AbortError as error:
            return round(sample.at_s - load[0].at_s, 1), str(error)
    return None, ""


def with_letters(seen: Sequence[Sample], letters: int) -> list[Sample]:
    """The samples, with so many more dead letters in each."""
    return [
        sample.model_copy(
            update={"sink": sample.sink and sample.sink.model_copy(update={"records_dead_lettered": letters * place})}
        )
        for place, sample in enumerate(seen)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rejected > 100", Condition("rejected > 100", "rejected_docs", ">", 100.0)),
        ("indexing_rate<1_000", Condition("indexing_rate<1_000", "indexing_rate_docs_per_s", "<", 1000.0)),
        ("lag >= 1e6", Condition("lag >= 1e6", "lag_records_max", ">=", 1e6)),
    ],
)
def test_a_condition_names_a_figure_by_its_beginning(text: str, expected: Condition) -> None:
    """As an expectation does."""
    assert condition(text) == expected


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("rejected", ("rejected",)),
        ("rejekted>1", ("rejekted", "rejected_docs")),
        ("bulk>1", ("bulk_requests_failed", "bulk_retries")),
        ("indexing_rate/total<1", ("indexing_rate/total<1",)),
        ("indexing_rate<0.9 baseline", ("baseline",)),
        ("segments_count>5", ("segments_count", "heap_used_bytes_max")),
    ],
)
def test_what_is_no_condition_is_refused(text: str, facts: tuple[str, ...], message: MakeMessage) -> None:
    """Before a server is started, with what was meant."""
    with pytest.raises(ProfileError) as refused:
        condition(text)
    assert str(refused.value) == message("--abort-on", *facts)


def test_a_count_ends_the_run_at_once(message: MakeMessage) -> None:
    """By the first sample that is beyond the bound."""
    load = [sample for sample in samples(Truth()) if sample.phase == "load"]
    seen = with_letters(load, 60)
    assert ended(["rejected > 100"], seen) == (seen[2].at_s - seen[0].at_s, message("rejected > 100", 120))


def test_a_rate_is_judged_after_the_warm_up() -> None:
    """10 s after the first document, by the 10 s after that."""
    seen = samples(Truth(ticks=40))
    assert ended(["indexing_rate > 100000"], seen) == (None, "")
    after_s, why = ended(["indexing_rate < 100000"], seen)
    assert after_s is not None
    assert after_s >= 15
    assert "5,000/s" in why


def test_nothing_is_judged_outside_of_the_load() -> None:
    """What servers did before is none of the run's."""
    seen = [sample.model_copy(update={"phase": "fill"}) for sample in with_letters(samples(Truth()), 60)]
    assert ended(["rejected > 100", "lag > 0"], seen) == (None, "")


@pytest.mark.parametrize("name", [*COUNTS, *RATES])
def test_each_figure_may_be_unknown(name: str) -> None:
    """A sample in which no server answered ends no run."""
    nothing = [Sample(at_s=float(second), phase="load") for second in range(40)]
    assert ended([f"{name} >= 0"], nothing) == (None, "")


def test_a_condition_that_no_sample_could_tell_is_named(message: MakeMessage) -> None:
    """As of our sink's figures where another loads, or of a rate in a load of seconds: it guarded nothing."""
    direct = [sample.model_copy(update={"sink": None}) for sample in samples(Truth(ticks=5))]
    conditions = [condition(text) for text in ("dead_letters>0", "rejected>0", "indexing_rate<1")]
    told = unjudged(conditions, direct)
    assert list(told) == ["--abort-on dead_letters>0", "--abort-on indexing_rate<1"]
    assert "; ".join(told.values()) == message("no sample of the load has this figure", "ended too soon")
