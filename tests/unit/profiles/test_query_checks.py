"""Query loads that cannot be: refused with a line each, before any server starts."""

import json
import shutil

import pytest

from lab.errors import ProfileError
from lab.profiles import load_profile
from lab.profiles.loader import REPOSITORY
from lab.profiles.questions import FOLDER
from tests.unit.profiles.profile_repository import Repository

EVENTS = """
question: How fast are they counted?
dataset: {name: events, documents: 10007}
load: {mode: query, queries: {duration_s: 7}}
queries:
  questions: [ratings, top-organizations-exact]
  window: {seconds: 5}
"""


@pytest.fixture
def asks(repository: Repository) -> Repository:
    """A repository with the questions and the mappings of this one."""
    shutil.copytree(REPOSITORY / FOLDER, repository.root / FOLDER)
    name = "events.no-doc-values.json"
    shutil.copy(REPOSITORY / "mappings" / name, repository.root / "mappings" / name)
    return repository


def refusals(asks: Repository, text: str, *overrides: str) -> list[str]:
    """The lines with which a profile is refused."""
    asks.write("asks", text)
    return asks.refusal("asks", *overrides)


def changed(asks: Repository, before: str, after: str) -> list[str]:
    """The same of the profile above, once `before` is replaced."""
    assert before in EVENTS
    return refusals(asks, EVENTS.replace(before, after))


def test_a_query_load_that_can_be_is_read(asks: Repository) -> None:
    """Nothing else is missing."""
    asks.write("asks", EVENTS)
    profile = asks.load("asks")
    assert profile.queries is not None
    assert profile.queries.questions == ["ratings", "top-organizations-exact"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("{duration_s: 7}", "{}", "asks.yaml:3: load.queries: has no end, expected `duration_s` or `requests`"),
        (
            "{duration_s: 7}",
            "{duration_s: 7, requests: 11}",
            "asks.yaml:3: load.queries.requests: `duration_s` is given already, expected one of the two",
        ),
        (
            "{duration_s: 7}",
            "{duration_s: 7, rate_per_s: 11, think_time_s: 1}",
            "asks.yaml:3: load.queries.think_time_s: got a think time beside `rate_per_s` (open loop), expected one "
            "of the two",
        ),
        (
            "{duration_s: 7}",
            "{clients: 3}, ramp: {p99_ms: 50}",
            "asks.yaml:3: load.ramp: has no rate to start from, expected `load.queries.rate_per_s`",
        ),
        (
            "{duration_s: 7}",
            "{duration_s: 11}, timeout_s: 13",
            "asks.yaml:3: load.queries.duration_s: got 11, expected less than 8, which `load.timeout_s` leaves after "
            "the warm-up",
        ),
        (
            "{duration_s: 7}",
            "{requests: 101, rate_per_s: 10}, timeout_s: 13",
            "asks.yaml:3: load.queries.requests: got 101, expected less than 80, for which `load.timeout_s` leaves "
            "time at that rate",
        ),
        (
            "{duration_s: 7}",
            "{rate_per_s: 11}, ramp: {p99_ms: 50, step_s: 7}",
            "asks.yaml:3: load.ramp.step_s: got 7, expected 9.09091 or more: p99 needs 100 queries",
        ),
        (
            "queries:\n  questions: [ratings, top-organizations-exact]\n  window: {seconds: 5}\n",
            "",
            "asks.yaml:3: load.queries: a query load has no question to send, expected `queries.questions`",
        ),
        (
            "window: {seconds: 5}",
            "repeats: 7",
            "asks.yaml:6: queries.repeats: `load.queries` says how many are sent, expected none",
        ),
        (
            "seconds: 5",
            "seconds: 10.008",
            "asks.yaml:6: queries.window.seconds: got 10.008, expected at most 10.007, which is how long the documents "
            "last",
        ),
        (
            "seconds: 5",
            "seconds: 5, place: drawn, within: 0.25",
            "asks.yaml:6: queries.window.within: got 0.25, expected at least 0.5, which holds one window",
        ),
        (
            "documents: 10007",
            "documents: 10007, interval_us: 0",
            "asks.yaml:6: queries.window.seconds: got 5, expected at most 0.001, which is how long the documents last",
        ),
        (
            "ratings, top-organizations-exact",
            "events-of-an-instant",
            'asks.yaml:5: queries.questions: "events-of-an-instant" returns 100 events, and a window holds 5,000; '
            "expected a shorter `queries.window.seconds`",
        ),
        (
            "  window: {seconds: 5}",
            "  model: sauce",
            'asks.yaml:5: queries.questions: "ratings" has no request for model `sauce`, did you mean `source`?',
        ),
    ],
)
def test_a_query_load_that_cannot_be_says_why(asks: Repository, before: str, after: str, expected: str) -> None:
    """Line, key, and what was expected."""
    assert expected in changed(asks, before, after)


@pytest.mark.parametrize("interval", ["-1", "0", "0s", "0S", "0 ms"])
def test_documents_that_never_become_searchable_are_not_asked_for(asks: Repository, interval: str) -> None:
    """Elasticsearch takes 0 for never, too."""
    streams = EVENTS.replace("query, queries: {duration_s: 7}", "stream, rate_docs_per_s: 7, queries: {}")
    assert refusals(asks, streams, f"index.refresh_interval={interval}") == [
        f"--set index.refresh_interval: got {interval}, with which no document becomes searchable; expected a time "
        "such as 1s"
    ]


def test_events_are_asked_about_by_a_query_load_only(asks: Repository) -> None:
    """The questions after a run draw books."""
    assert refusals(asks, EVENTS.replace("load: {mode: query, queries: {duration_s: 7}}\n", "")) == [
        f'asks.yaml:4: queries.questions: "{name}" is about a window of events, expected `load.queries`, which draws '
        "one"
        for name in ("ratings", "top-organizations-exact")
    ]


def test_a_question_that_joins_is_no_query(asks: Repository) -> None:
    """What a client does between two requests is not Elasticsearch's; and books have no window."""
    text = """
    question: How fast are they found?
    dataset: {name: aladin, model: flat, books: 1009}
    load: {mode: query, queries: {duration_s: 7}}
    queries:
      questions: [shop-below-price]
      window: {seconds: 5}
    """
    assert refusals(asks, text) == [
        'asks.yaml:5: queries.questions: "shop-below-price" takes 2 requests with model `flat`, expected one in a '
        "query load",
        "asks.yaml:6: queries.window: documents of `aladin` are not in order of time, expected none",
    ]
    streams = text.replace("mode: query", "mode: stream, rate_docs_per_s: 7").replace("model: flat", "model: nested")
    assert refusals(asks, streams.replace("  window: {seconds: 5}", "")) == [
        'asks.yaml:5: queries.questions: "shop-below-price" cannot be checked while documents stream, expected '
        "`load.mode: query`"
    ]


def test_a_mapping_without_doc_values_answers_from_the_source_only(asks: Repository) -> None:
    """Elasticsearch would refuse the first with status 400, once the servers are up."""
    text = EVENTS.replace("queries:\n", "mapping: events.no-doc-values\nqueries:\n")
    text = text.replace("ratings, top-organizations-exact", "ratings, total-events")
    assert refusals(asks, text) == [
        'asks.yaml:6: queries.questions: "ratings" sorts or counts by `Rating`, which mapping events.no-doc-values has '
        "without doc values; expected `queries.model: source` or another mapping"
    ]
    asks.write("asks", text.replace("  window:", "  model: source\n  window:"))
    assert asks.load("asks").queries is not None


def test_fields_that_the_mapping_does_not_have_are_named(asks: Repository) -> None:
    """In a strict mapping those of the query, too; text is not counted without fielddata."""
    mapping = {"dynamic": "strict", "properties": {"Rating": {"type": "text"}}}
    (asks.root / "mappings" / "small.json").write_text(json.dumps({"settings": {}, "mappings": mapping}))
    text = EVENTS.replace("queries:\n", "mapping: small\nqueries:\n")
    instant = "asks for `DateTimeReceivedUtc`, which mapping small does not have"
    assert refusals(asks, text) == [
        'asks.yaml:6: queries.questions: "ratings" sorts or counts by `Rating`, which mapping small has as text '
        "without fielddata; expected `queries.model: source` or another mapping",
        f'asks.yaml:6: queries.questions: "ratings" {instant}',
        'asks.yaml:6: queries.questions: "top-organizations-exact" sorts or counts by `Organization`, which mapping '
        "small does not have; expected `queries.model: source` or another mapping",
        f'asks.yaml:6: queries.questions: "top-organizations-exact" {instant}',
    ]
    mapping["properties"] = {"Rating": {"type": "text", "fielddata": True}}  # type: ignore[dict-item]
    mapping["dynamic"] = "true"
    (asks.root / "mappings" / "small.json").write_text(json.dumps({"settings": {}, "mappings": mapping}))
    asks.write("asks", text.replace(", top-organizations-exact", ""))
    assert asks.load("asks").mapping == "small"


@pytest.mark.parametrize(
    ("mapping", "dimensions", "expected"),
    [
        ("vectors.bbq-hnsw", 63, "got 63, expected at least 64 for `bbq_hnsw` of mapping vectors.bbq-hnsw"),
        ("vectors.int4-hnsw", 97, "got 97, expected an even number for `int4_hnsw` of mapping vectors.int4-hnsw"),
    ],
)
def test_dimensions_that_an_index_type_refuses_are_told_before_the_load(
    mapping: str, dimensions: int, expected: str
) -> None:
    """Elasticsearch would refuse every document by itself."""
    with pytest.raises(ProfileError) as refusal:
        load_profile("vectors/append", overrides=(f"mapping={mapping}", f"dataset.dimensions={dimensions}"))
    assert str(refusal.value) == f"--set dataset.dimensions: {expected}"


def test_only_updates_may_stream_while_the_nearest_are_asked_for() -> None:
    """Whether a search finds a vector that has just come is chance; an updated one stays where it was."""
    load_profile("vectors/updates")
    with pytest.raises(ProfileError) as refusal:
        load_profile("vectors/updates", overrides=("dataset.updates=0",))
    assert str(refusal.value).endswith(
        'vectors/updates.yaml:19: queries.questions: "nearest-10" cannot be checked while new vectors stream, expected '
        "`dataset.updates`, with which queries begin when only updates are left, or `load.mode: query`"
    )


@pytest.mark.parametrize(("mapping", "dimensions"), [("vectors.bbq-hnsw", 64), ("vectors.int4-hnsw", 96)])
def test_dimensions_that_an_index_type_takes_are_fine(mapping: str, dimensions: int) -> None:
    """The least for one, and the default for the other."""
    load_profile("vectors/append", overrides=(f"mapping={mapping}", f"dataset.dimensions={dimensions}"))
