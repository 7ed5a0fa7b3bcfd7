"""Query loads that cannot be: refused with a line each, before any server starts."""

import json
import shutil

import pytest

from lab.errors import ProfileError
from lab.profiles import load_profile
from lab.profiles.loader import REPOSITORY
from lab.profiles.questions import FOLDER
from tests.unit.messages import MakeMessage
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
    ("before", "after", "facts"),
    [
        ("{duration_s: 7}", "{}", ("asks.yaml:3: load.queries", "duration_s", "requests")),
        (
            "{duration_s: 7}",
            "{duration_s: 7, requests: 11}",
            ("asks.yaml:3: load.queries.requests", "duration_s"),
        ),
        (
            "{duration_s: 7}",
            "{duration_s: 7, rate_per_s: 11, think_time_s: 1}",
            ("asks.yaml:3: load.queries.think_time_s", "rate_per_s"),
        ),
        (
            "{duration_s: 7}",
            "{clients: 3}, ramp: {p99_ms: 50}",
            ("asks.yaml:3: load.ramp", "load.queries.rate_per_s"),
        ),
        (
            "{duration_s: 7}",
            "{duration_s: 11}, timeout_s: 13",
            ("asks.yaml:3: load.queries.duration_s", 11, 8, "load.timeout_s"),
        ),
        (
            "{duration_s: 7}",
            "{requests: 101, rate_per_s: 10}, timeout_s: 13",
            ("asks.yaml:3: load.queries.requests", 101, 80, "load.timeout_s"),
        ),
        (
            "{duration_s: 7}",
            "{rate_per_s: 11}, ramp: {p99_ms: 50, step_s: 7}",
            ("asks.yaml:3: load.ramp.step_s", 7, 9.09091, "p99", 100),
        ),
        (
            "queries:\n  questions: [ratings, top-organizations-exact]\n  window: {seconds: 5}\n",
            "",
            ("asks.yaml:3: load.queries", "queries.questions"),
        ),
        (
            "window: {seconds: 5}",
            "repeats: 7",
            ("asks.yaml:6: queries.repeats", "load.queries"),
        ),
        (
            "seconds: 5",
            "seconds: 10.008",
            ("asks.yaml:6: queries.window.seconds", 10.008, 10.007),
        ),
        (
            "seconds: 5",
            "seconds: 5, place: drawn, within: 0.25",
            ("asks.yaml:6: queries.window.within", 0.25, 0.5),
        ),
        (
            "documents: 10007",
            "documents: 10007, interval_us: 0",
            ("asks.yaml:6: queries.window.seconds", 5, 0.001),
        ),
        (
            "ratings, top-organizations-exact",
            "events-of-an-instant",
            ("asks.yaml:5: queries.questions", "events-of-an-instant", 100, "5,000", "queries.window.seconds"),
        ),
        (
            "  window: {seconds: 5}",
            "  model: sauce",
            ("asks.yaml:5: queries.questions", "ratings", "sauce", "source"),
        ),
    ],
)
def test_a_query_load_that_cannot_be_says_why(
    asks: Repository, before: str, after: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Line, key, and what was expected."""
    assert message(*facts) in changed(asks, before, after)


@pytest.mark.parametrize("interval", ["-1", "0", "0s", "0S", "0 ms"])
def test_documents_that_never_become_searchable_are_not_asked_for(
    asks: Repository, interval: str, message: MakeMessage
) -> None:
    """Elasticsearch takes 0 for never, too."""
    streams = EVENTS.replace("query, queries: {duration_s: 7}", "stream, rate_docs_per_s: 7, queries: {}")
    assert refusals(asks, streams, f"index.refresh_interval={interval}") == [
        message("--set index.refresh_interval", interval, "1s")
    ]


def test_events_are_asked_about_by_a_query_load_only(asks: Repository) -> None:
    """The questions after a run draw books."""
    assert refusals(asks, EVENTS.replace("load: {mode: query, queries: {duration_s: 7}}\n", "")) == [
        f'asks.yaml:4: queries.questions: "{name}" is about a window of events, expected `load.queries`, which draws '
        "one"
        for name in ("ratings", "top-organizations-exact")
    ]


def test_a_question_that_joins_is_no_query(asks: Repository, message: MakeMessage) -> None:
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
        message("asks.yaml:5: queries.questions", "shop-below-price", 2, "flat"),
        message("asks.yaml:6: queries.window", "aladin"),
    ]
    streams = text.replace("mode: query", "mode: stream, rate_docs_per_s: 7").replace("model: flat", "model: nested")
    assert refusals(asks, streams.replace("  window: {seconds: 5}", "")) == [
        message("asks.yaml:5: queries.questions", "shop-below-price", "load.mode: query")
    ]


def test_a_mapping_without_doc_values_answers_from_the_source_only(asks: Repository, message: MakeMessage) -> None:
    """Elasticsearch would refuse the first with status 400, once the servers are up."""
    text = EVENTS.replace("queries:\n", "mapping: events.no-doc-values\nqueries:\n")
    text = text.replace("ratings, top-organizations-exact", "ratings, total-events")
    assert refusals(asks, text) == [
        message("asks.yaml:6: queries.questions", "ratings", "Rating", "events.no-doc-values", "queries.model: source")
    ]
    asks.write("asks", text.replace("  window:", "  model: source\n  window:"))
    assert asks.load("asks").queries is not None


def test_fields_that_the_mapping_does_not_have_are_named(asks: Repository, message: MakeMessage) -> None:
    """In a strict mapping those of the query, too; text is not counted without fielddata."""
    mapping = {"dynamic": "strict", "properties": {"Rating": {"type": "text"}}}
    (asks.root / "mappings" / "small.json").write_text(json.dumps({"settings": {}, "mappings": mapping}))
    text = EVENTS.replace("queries:\n", "mapping: small\nqueries:\n")
    instant = "asks for `DateTimeReceivedUtc`, which mapping small does not have"
    assert refusals(asks, text) == [
        message("asks.yaml:6: queries.questions", "ratings", "Rating", "queries.model: source"),
        f'asks.yaml:6: queries.questions: "ratings" {instant}',
        message("asks.yaml:6: queries.questions", "top-organizations-exact", "Organization", "queries.model: source"),
        f'asks.yaml:6: queries.questions: "top-organizations-exact" {instant}',
    ]
    mapping["properties"] = {"Rating": {"type": "text", "fielddata": True}}  # type: ignore[dict-item]
    mapping["dynamic"] = "true"
    (asks.root / "mappings" / "small.json").write_text(json.dumps({"settings": {}, "mappings": mapping}))
    asks.write("asks", text.replace(", top-organizations-exact", ""))
    assert asks.load("asks").mapping == "small"


@pytest.mark.parametrize(
    ("mapping", "dimensions", "facts"),
    [
        ("vectors.bbq-hnsw", 63, (63, 64, "bbq_hnsw", "vectors.bbq-hnsw")),
        ("vectors.int4-hnsw", 97, (97, "int4_hnsw", "vectors.int4-hnsw")),
    ],
)
def test_dimensions_that_an_index_type_refuses_are_told_before_the_load(
    mapping: str, dimensions: int, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Elasticsearch would refuse every document by itself."""
    with pytest.raises(ProfileError) as refusal:
        load_profile("vectors/append", overrides=(f"mapping={mapping}", f"dataset.dimensions={dimensions}"))
    assert str(refusal.value) == message("--set dataset.dimensions", *facts)


def test_only_updates_may_stream_while_the_nearest_are_asked_for(message: MakeMessage) -> None:
    """Whether a search finds a vector that has just come is chance; an updated one stays where it was."""
    load_profile("vectors/updates")
    with pytest.raises(ProfileError) as refusal:
        load_profile("vectors/updates", overrides=("dataset.updates=0",))
    assert str(refusal.value) == message(
        "vectors/updates.yaml:19: queries.questions", "nearest-10", "dataset.updates", "load.mode: query"
    )


@pytest.mark.parametrize(("mapping", "dimensions"), [("vectors.bbq-hnsw", 64), ("vectors.int4-hnsw", 96)])
def test_dimensions_that_an_index_type_takes_are_fine(mapping: str, dimensions: int) -> None:
    """The least for one, and the default for the other."""
    load_profile("vectors/append", overrides=(f"mapping={mapping}", f"dataset.dimensions={dimensions}"))
