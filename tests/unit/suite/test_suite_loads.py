"""What a suite's drains become: longer, or streams at a rate."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from lab.profiles import Profile
from lab.profiles.suites import Measures, Suite, SuiteVariant
from lab.suite.loads import LoadSizes, may_stream, resized
from tests.unit.suite.test_suite_plan import a_profile

DRAIN = {"mode": "drain"}
DIRECT = {"mode": "drain", "via": "direct"}
STREAM = {"mode": "stream", "rate_docs_per_s": 1000.0}
DOCUMENTS = {"one": 120_000}
MULTIPLIED = LoadSizes(30_000.0, times=3)
AT_600 = LoadSizes(30_000.0, rate_docs_per_s=600.0)


def a_suite(profile: Profile, overrides: tuple[str, ...] = ()) -> Suite:
    """A suite of one variant."""
    variant = SuiteVariant("one", profile, overrides, None)
    metrics = (("query_rate_per_s", "run"),)
    return Suite("s", "?", "one", None, (variant,), Measures(3), 1, metrics, None, window_s=20.0)


def variant_of(
    profile: Profile, sizes: LoadSizes, documents: Mapping[str, int] = DOCUMENTS, overrides: tuple[str, ...] = ()
) -> SuiteVariant:
    """The only variant, resized."""
    (variant,) = resized(a_suite(profile, overrides), sizes, documents).variants
    return variant


@pytest.mark.parametrize(
    ("dataset", "expected"), [(None, (360_000, None)), ({"name": "aladin", "books": 7}, (None, 21))], ids=str
)
@pytest.mark.parametrize("load", [DRAIN, DIRECT], ids=str)
def test_drains_are_given_more_documents(load: object, dataset: object, expected: tuple[int | None, ...]) -> None:
    """And what counts in books more books."""
    profile = a_profile(load=load, **({"dataset": dataset} if dataset else {}))
    section = variant_of(profile, MULTIPLIED).profile.dataset
    assert (section.documents, section.books) == expected


@pytest.mark.parametrize("sizes", [MULTIPLIED, AT_600], ids=["longer", "streams"])
@pytest.mark.parametrize("load", [STREAM, DIRECT | {"rate_docs_per_s": 1000.0}], ids=str)
def test_what_is_no_drain_stays_as_it_is(load: object, sizes: LoadSizes) -> None:
    """A load at a rate lasts as long as it says."""
    profile = a_profile(load=load)
    assert not may_stream(profile)
    assert variant_of(profile, sizes).profile == profile


@pytest.mark.parametrize(("load", "mode"), [(DRAIN, "stream"), (DIRECT, "drain")], ids=str)
def test_a_drain_becomes_a_load_at_the_rate_for_as_long_as_the_window(load: object, mode: str) -> None:
    """Through the topic a stream; of bulk requests those that are due."""
    profile = variant_of(a_profile(load=load), AT_600).profile
    assert (profile.load.mode, profile.load.rate_docs_per_s) == (mode, 600.0)
    assert profile.dataset.documents == 20 * 600


def test_a_stream_lasts_long_enough_for_a_measured_window() -> None:
    """Of the 10 s of a race 4.9 s were seen to be left; drains of such a window grow beyond it."""
    profile = a_profile(load=DRAIN)
    short = replace(a_suite(profile), window_s=10.0)
    (variant,) = resized(short, AT_600, DOCUMENTS).variants
    assert variant.profile.dataset.documents == 12 * 600


def test_books_are_as_many_as_have_the_documents() -> None:
    """Of the drain's 120,000 documents from 48,000 books, 12,000 come from 4,800."""
    profile = a_profile(load=DRAIN, dataset={"name": "aladin", "books": 48_000})
    assert variant_of(profile, AT_600).profile.dataset.books == 4800


def test_what_was_changed_is_stated_with_the_variant() -> None:
    """So that the run can be had again; the size that was stated before is gone."""
    stated = ("dataset.documents=7", "index.number_of_shards=2")
    assert variant_of(a_profile(load=DRAIN), LoadSizes(1.0, times=2), overrides=stated).overrides == (
        "index.number_of_shards=2",
        "dataset.documents=240000",
    )
    assert variant_of(a_profile(load=DRAIN), AT_600, overrides=stated).overrides == (
        "index.number_of_shards=2",
        "dataset.documents=12000",
        "load.rate_docs_per_s=600.0",
        'load.mode="stream"',
    )
