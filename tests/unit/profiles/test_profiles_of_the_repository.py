"""Every profile in the repository."""

import pytest

from lab.profiles import Profile, list_profiles, load_profile, profile_names

FROM_THE_COMMAND_LINE = {"file": ("dataset.path=books.ndjson", "dataset.key=isbn13")}


def _loaded(name: str) -> Profile:
    return load_profile(name, overrides=FROM_THE_COMMAND_LINE.get(name, ()))


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_loads_and_goes_through_json(name: str) -> None:
    """A profile that cannot be loaded is no use to anyone."""
    profile = _loaded(name)
    assert profile.name == name
    assert Profile.model_validate(profile.model_dump(mode="json")) == profile


def test_every_profile_asks_a_question_of_its_own() -> None:
    """A question that two profiles share tells a reader nothing about their difference."""
    questions = [listed.question for listed in list_profiles()]
    assert all(question.endswith("?") for question in questions)
    assert len(set(questions)) == len(questions)


def test_the_quickstart_is_small_and_plain() -> None:
    """The first run on a new machine: one node, one shard, no replica, a drain."""
    profile = load_profile("quickstart")
    assert (profile.dataset.documents, profile.dataset.options["model"]) == (600_000, "nested")
    assert (profile.elasticsearch.data_nodes, profile.number_of_shards, profile.number_of_replicas) == (1, 1, 0)
    assert (profile.load.mode, profile.mapping) == ("drain", "aladin.nested.static")


def test_the_ladder_turns_one_knob_at_a_time() -> None:
    """Each rung differs from the one that it is compared with in exactly what its name says."""
    rungs = {
        "aladin/static": ("aladin/control", {"mapping"}),
        "aladin/replicas-0": ("aladin/static", {"index.number_of_replicas"}),
        "aladin/primaries-2": ("aladin/static", {"index.number_of_shards"}),
        "aladin/primaries-4": ("aladin/static", {"index.number_of_shards"}),
        "aladin/primaries-8": ("aladin/static", {"index.number_of_shards"}),
        "aladin/primaries-16": ("aladin/static", {"index.number_of_shards"}),
        "aladin/nodes-2": ("aladin/primaries-2", set()),
        "aladin/nodes-3": ("aladin/nodes-2", {"elasticsearch.data_nodes"}),
        "aladin/nodes-4": ("aladin/nodes-2", {"elasticsearch.data_nodes"}),
        "aladin/stream": ("aladin/static", {"load.mode", "load.rate_docs_per_s"}),
        "events/no-doc-values": ("events/static", {"mapping"}),
        "events/standard": ("events/static", {"dataset.time_field", "mapping"}),
        "events/synthetic-source": ("events/standard", {"index.mapping.source.mode"}),
        "events/logsdb": ("events/standard", {"index.mode", "index.sort.field", "index.sort.order"}),
        "events/columnar": ("events/standard", {"index.mode", "elasticsearch.version"}),
        "events/logsdb-columnar": ("events/columnar", {"index.mode", "index.sort.field", "index.sort.order"}),
        "events/generated-ids": ("events/standard", {"sink.config"}),
        "events/time-series": (
            "events/generated-ids",
            {f"index.{name}" for name in ("mode", "routing_path", "time_series.start_time", "time_series.end_time")},
        ),
    }
    for name, (below, changed) in rungs.items():
        assert (name, _differences(below, name)) == (name, changed)


def _differences(one: str, other: str) -> set[str]:
    before, after = _settings(_loaded(one)), _settings(_loaded(other))
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _settings(profile: Profile) -> dict[str, object]:
    settings = {}
    for section, values in profile.model_dump(mode="json", exclude={"name", "question", "where"}).items():
        for key, value in values.items() if isinstance(values, dict) else [("", values)]:
            settings[f"{section}.{key}".rstrip(".")] = value
    return settings


def test_every_rung_can_assign_all_of_its_replicas() -> None:
    """A replica that no node can take costs nothing, and a comparison with it is void."""
    for name in profile_names():
        profile = _loaded(name)
        assert profile.number_of_replicas < profile.elasticsearch.data_nodes, name
