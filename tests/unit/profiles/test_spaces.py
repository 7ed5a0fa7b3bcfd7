"""Spaces: what their files say, how they are refused, and which candidates they give from a start."""

import textwrap

import pytest

from lab.errors import ProfileError
from lab.profiles.spaces import Space, Start, allowed_problem, candidates_of, load_space, space_names
from tests.unit.messages import MakeMessage
from tests.unit.profiles.profile_repository import Repository

SMALL = """
knobs:
  sink.tasks:
    values: [2, 4]
    requires: {topic.partitions: "${value}"}
  index.refresh_interval: {values: [30s], note: documents become searchable later}
  index.translog.durability:
    name: async-translog
    values: [async]
    unsafe: true
    risk: documents are lost
    requires: {index.translog.sync_interval: 10s}
"""


def write(repository: Repository, text: str) -> None:
    """A space called `small`."""
    path = repository.root / "experiments" / "spaces" / "small.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("question: Which?\n" + textwrap.dedent(text).lstrip("\n"), encoding="utf-8")


def load(repository: Repository, text: str) -> Space:
    """The space whose second line is the first of the text."""
    write(repository, text)
    return load_space("small", root=repository.root)


def refusal(repository: Repository, text: str) -> list[str]:
    """The lines with which it is refused."""
    with pytest.raises(ProfileError) as caught:
        load(repository, text)
    return [line.removeprefix("experiments/spaces/") for line in str(caught.value).splitlines()]


def start(repository: Repository, *overrides: str, name: str = "books") -> Start:
    """The repository's profile as a start."""
    return Start.of(name, overrides, repository.root)


def names(repository: Repository, space: Space, *overrides: str, allowed: tuple[str, ...] = ()) -> list[str]:
    """The candidates from a start."""
    return [each.name for each in candidates_of(space, start(repository, *overrides), allowed)[0]]


def test_a_candidate_is_a_value_of_a_knob_with_what_moves_with_it(repository: Repository, message: MakeMessage) -> None:
    """`${value}` is its own value."""
    tried, left_out = candidates_of(load(repository, SMALL), start(repository))
    assert [(each.name, each.setting, each.value, each.requires) for each in tried] == [
        ("tasks=2", "sink.tasks", 2, {"topic.partitions": 2}),
        ("tasks=4", "sink.tasks", 4, {"topic.partitions": 4}),
        ("refresh_interval=30s", "index.refresh_interval", "30s", {}),
    ]
    assert [(each.name, each.reason) for each in left_out] == [("translog.durability=async", message("--allow"))]


def test_an_unsafe_knob_is_tried_when_it_is_allowed_by_name(repository: Repository, message: MakeMessage) -> None:
    """With what it risks."""
    space = load(repository, SMALL)
    assert names(repository, space, allowed=("async-translog",))[-1] == "translog.durability=async"
    assert candidates_of(space, start(repository), ("async-translog",))[0][-1].risk == "documents are lost"
    assert allowed_problem(space, ["async-translog"]) is None
    assert allowed_problem(space, ["async"]) == message("async", "async-translog")


def test_what_the_start_has_already_is_no_candidate(repository: Repository) -> None:
    """Neither tried nor left out."""
    space = load(repository, SMALL)
    overrides = ("index.refresh_interval=30s", "sink.tasks=2", "topic.partitions=2", "index.translog.durability=async",
                 "index.translog.sync_interval=10s")  # fmt: skip
    tried, left_out = candidates_of(space, start(repository, *overrides))
    assert ([each.name for each in tried], left_out) == (["tasks=4"], ())


def test_a_replica_is_tried_where_a_second_node_holds_it(repository: Repository) -> None:
    """It weakens nothing, unlike none, which has to be allowed."""
    space = load(
        repository,
        """
        knobs:
          index.number_of_replicas: {name: none, values: [0, 1], safe: [1], unsafe: true, risk: lost}
        """,
    )
    two_nodes = "elasticsearch.data_nodes=2"
    assert names(repository, space, "index.number_of_replicas=0") == []
    assert names(repository, space, "index.number_of_replicas=0", two_nodes) == ["number_of_replicas=1"]
    assert names(repository, space, "index.number_of_replicas=1", two_nodes) == []
    with_it = names(repository, space, "index.number_of_replicas=1", two_nodes, allowed=("none",))
    assert with_it == ["number_of_replicas=0"]


def test_values_that_are_the_same_in_effect_are_one_candidate(repository: Repository) -> None:
    """A number and its text, and what the start has by default."""
    template = '{"connector.class": "io.sluice.connect.ElasticsearchSinkConnector"}'
    (repository.root / "connect" / "connectors" / "elasticsearch.json").write_text(template, encoding="utf-8")
    space = load(repository, 'knobs: {sink.config.batch.size: {values: [2000, 500, "500"]}}')
    assert names(repository, space) == ["batch.size=500"]


def test_a_number_that_is_required_is_the_least(repository: Repository) -> None:
    """More partitions than tasks stay, whoever has set them."""
    space = load(repository, SMALL + "  topic.partitions: {values: [8]}\n")
    of = start(repository)
    by_name = {each.name: each for each in candidates_of(space, of)[0]}
    assert of.settings([by_name["tasks=2"]]) == {"sink.tasks": 2, "topic.partitions": 2}
    assert of.settings([by_name["tasks=2"], by_name["partitions=8"]]) == {"sink.tasks": 2, "topic.partitions": 8}
    larger = start(repository, "topic.partitions=6")
    assert larger.settings([by_name["tasks=4"]]) == {"sink.tasks": 4, "topic.partitions": 6}
    changed = larger.changed(larger.settings([by_name["tasks=4"]]))
    assert (changed.profile.sink.tasks, changed.profile.topic.partitions) == (4, 6)


def test_a_direct_load_has_no_use_for_settings_of_the_sink(repository: Repository) -> None:
    """They are left out with the reason, and the others are tried."""
    repository.write("straight", "question: How fast?\nextends: books\nload: {via: direct}\n")
    space = load(repository, SMALL)
    tried, left_out = candidates_of(space, start(repository, name="straight"))
    assert [each.name for each in tried] == ["refresh_interval=30s"]
    assert ("tasks=2", "a load via direct has no `sink`") in [(each.name, each.reason) for each in left_out]


def test_a_value_that_no_profile_takes_is_refused(repository: Repository, message: MakeMessage) -> None:
    """With the words of the profile."""
    space = load(repository, "knobs:\n  index.refresh_interval: {values: [fast]}\n")
    with pytest.raises(ProfileError) as caught:
        candidates_of(space, start(repository))
    assert str(caught.value) == message("refresh_interval=fast", "--set", "index.refresh_interval", "5s", -1)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "knob:\n  sink.tasks: {values: [2]}\n",
            [("small.yaml:3: knob", "knobs")],
        ),
        (
            "knobs:\n  sink.tasks: {value: [2], values: [2]}\n",
            [("small.yaml:3: knobs.sink.tasks.value", "values")],
        ),
        (
            "knobs:\n  sink.taks: {values: [2]}\n  index.refresh_intervall: {values: [5s]}\n",
            [
                ("small.yaml:3: knobs.sink.taks", "tasks"),
                ("small.yaml:4: knobs.index.refresh_intervall", "refresh_interval"),
            ],
        ),
        (
            "knobs:\n  sink.tasks: {values: [2], requires: {topic.partition: 2}}\n",
            [("small.yaml:3: knobs.sink.tasks.requires.topic.partition", "partitions")],
        ),
        (
            "knobs:\n  sink.tasks: {values: [2, 2]}\n",
            [("small.yaml:3: knobs.sink.tasks.values[1]", 2)],
        ),
        (
            "knobs:\n  index.number_of_replicas: {values: [0], unsafe: true}\n",
            [("small.yaml:3: knobs.index.number_of_replicas.risk",)],
        ),
        (
            "knobs:\n  index.codec: {values: [default], risk: none}\n",
            [("small.yaml:3: knobs.index.codec.risk", "unsafe: true")],
        ),
        (
            "knobs:\n  sink: {values: [2]}\n",
            [("small.yaml:3: knobs.sink",)],
        ),
        (
            "knobs:\n  sink.tasks: {values: [2], name: index.codec}\n  index.codec: {values: [default]}\n",
            [("small.yaml:4: knobs.index.codec", "name")],
        ),
    ],
    ids=["key", "key of a knob", "settings", "required", "twice", "no risk", "no danger", "section", "name"],
)
def test_a_space_that_is_wrong_is_refused(
    repository: Repository, text: str, facts: list[tuple[object, ...]], message: MakeMessage
) -> None:
    """Each problem with its line and the nearest word."""
    found = refusal(repository, text)
    assert [line for line in found if "missing, expected by dotted" not in line] == [message(*each) for each in facts]


def test_documents_and_engine_are_no_knobs(repository: Repository, message: MakeMessage) -> None:
    """All candidates are compared on the same."""
    for setting in ("dataset.documents", "load.mode", "elasticsearch.version"):
        (line,) = refusal(repository, f"knobs:\n  {setting}: {{values: [1]}}\n")
        assert line == message(f"small.yaml:3: knobs.{setting}", "mapping")


def test_an_unknown_space_is_refused_with_the_nearest_one(repository: Repository, message: MakeMessage) -> None:
    """As a suite is."""
    write(repository, SMALL)
    with pytest.raises(ProfileError) as error:
        load_space("smal", root=repository.root)
    assert str(error.value) == message("smal", "small")


def test_every_space_has_a_question() -> None:
    """Those of the repository."""
    assert set(space_names()) >= {"default", "aladin", "events"}
    assert all(load_space(name).question.endswith("?") for name in space_names())


@pytest.mark.parametrize(
    ("name", "profile"), [("default", "quickstart"), ("aladin", "aladin/control"), ("events", "events/static")]
)
def test_every_candidate_of_the_repository_is_a_profile(name: str, profile: str) -> None:
    """Alone, and the first value of each knob together."""
    space, of = load_space(name), Start.of(profile)
    allowed = tuple(knob.name for knob in space.knobs if knob.risk)
    tried, left_out = candidates_of(space, of, allowed)
    firsts = {each.setting: each for each in reversed(tried)}
    assert len(tried) >= 10
    assert left_out == ()
    assert of.changed(of.settings(firsts.values())).profile.fingerprint() != of.profile.fingerprint()
