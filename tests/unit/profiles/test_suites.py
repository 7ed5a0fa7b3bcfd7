"""Suites: what their files say, how they are expanded, and how they are refused."""

import textwrap
from pathlib import Path

import pytest

from lab.errors import ProfileError
from lab.profiles.suites import Measures, Suite, list_suites, load_suite, rate_docs_per_s, suite_names
from tests.unit.messages import MakeMessage
from tests.unit.profiles.profile_repository import Repository


def write(repository: Repository, text: str) -> Path:
    """A suite called `ladder`."""
    path = repository.root / "experiments" / "suites" / "ladder.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return path


def load(repository: Repository, text: str, *overrides: str, control: str = "books") -> Suite:
    """The suite whose third line is the first of the text; the others every suite has."""
    write(repository, f"question: Which?\ncontrol: {control}\n" + textwrap.dedent(text).lstrip("\n"))
    return load_suite("ladder", overrides=overrides, root=repository.root)


def refusal(repository: Repository, text: str, control: str = "books") -> list[str]:
    """The lines with which it is refused."""
    with pytest.raises(ProfileError) as caught:
        load(repository, text, control=control)
    return [line.removeprefix("experiments/suites/") for line in str(caught.value).splitlines()]


def test_the_control_comes_first_and_once_more(repository: Repository) -> None:
    """The second one is the check of the method."""
    suite = load(
        repository,
        """
        variants:
          - {profile: books, name: two shards, set: {index.number_of_shards: 2}}
          - books
        """,
    )
    assert [variant.name for variant in suite.variants] == ["books", "books (again)", "two shards"]
    assert [variant.against for variant in suite.variants] == [None, "books", "books"]
    assert suite.variants[0].profile.fingerprint() == suite.variants[1].profile.fingerprint()


def test_a_variant_sets_values_of_its_profile(repository: Repository) -> None:
    """Those of the variant win over those of the suite, and the command line over both."""
    suite = load(
        repository,
        """
        repeat_control: false
        set: {dataset.documents: 7, index.number_of_shards: 3}
        variants:
          - books
          - {profile: books, name: other, set: {index.number_of_shards: 5}}
        """,
        "dataset.documents=11",
    )
    assert [(variant.profile.dataset.documents, variant.profile.number_of_shards) for variant in suite.variants] == [
        (11, 3),
        (11, 5),
    ]


def test_a_grid_has_a_variant_for_each_combination(repository: Repository) -> None:
    """Named by what differs."""
    suite = load(
        repository,
        """
        repeat_control: false
        grid:
          profile: books
          factors:
            index.number_of_shards: [1, 2]
            index.refresh_interval: [30s, 1s]
        """,
        control="number_of_shards=1 refresh_interval=30s",
    )
    assert [variant.name for variant in suite.variants] == [
        "number_of_shards=1 refresh_interval=30s",
        "number_of_shards=1 refresh_interval=1s",
        "number_of_shards=2 refresh_interval=30s",
        "number_of_shards=2 refresh_interval=1s",
    ]


def test_every_problem_is_reported_at_once(repository: Repository, message: MakeMessage) -> None:
    """With its line and the nearest key."""
    assert refusal(
        repository,
        """
        variants:
          - {profile: books, agains: x}
          - 7
        repeats: 0
        seeds: 1
        """,
    ) == [
        message("ladder.yaml:4: variants[0].agains", "against"),
        message("ladder.yaml:5: variants[1]", 7, "profile"),
        message("ladder.yaml:6: repeats", 0),
        message("ladder.yaml:7: seeds", "seed"),
    ]


def test_names_that_lead_nowhere_are_reported(repository: Repository, message: MakeMessage) -> None:
    """The control's, and what a variant is compared with."""
    assert refusal(
        repository,
        """
        variants:
          - books
          - {profile: books, name: other, against: boks}
        """,
        control="bookz",
    ) == [
        message("ladder.yaml:2: control", "bookz", "books"),
        message("ladder.yaml:5: variants[1].against", "boks", "books"),
    ]


def test_problems_of_its_profiles_are_reported_with_the_variants_line(
    repository: Repository, message: MakeMessage
) -> None:
    """Before anything is started."""
    assert refusal(
        repository,
        """
        variants:
          - books
          - {profile: boks}
          - {profile: books, name: c, set: {index.refresh_intervall: 1s}}
        """,
    ) == [
        message("ladder.yaml:5", "boks", "books"),
        message("ladder.yaml:6", "--set", "index.refresh_intervall", "refresh_interval"),
    ]


def test_two_variants_of_one_name_are_refused(repository: Repository, message: MakeMessage) -> None:
    """Their runs could not be told apart."""
    same = "variants: [books, {profile: books, set: {index.number_of_shards: 2}}]"
    assert refusal(repository, same) == [message("ladder.yaml:3: variants", "books", "name")]


def test_a_variant_cannot_have_the_name_of_the_second_control(repository: Repository, message: MakeMessage) -> None:
    """Unless the control runs only once."""
    variants = 'variants: [books, {profile: books, name: "books (again)"}]'
    assert refusal(repository, variants) == [message("ladder.yaml:3: variants", "books (again)", "name")]
    assert len(load(repository, f"repeat_control: false\n{variants}").variants) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("index.number_of_shards: 2", 'index.number_of_shards: "2"'),
        ("sink.config.batch.size: 2000", "sink.tasks: 1"),
        ("sink.config.key.ignore: false", 'sink.config.key.ignore: "false"'),
        ("mapping: aladin.nested.static", "mapping: aladin.nested.dynamic"),
        ('sink.config.batch.size: " 02000 "', "sink.tasks: 1"),
        ("sink.config.write.method: INSERT", "sink.config.key.ignore: 'FALSE'"),
        (
            "sink.config.consumer.override.max.poll.records: 500",
            'sink.config.consumer.override.max.poll.records: "0500"',
        ),
        ("index.refresh_interval: 60s", "index.refresh_interval: 1m"),
        ("load.warm_up_documents: 1", "load.warm_up_documents: 200000"),
        (
            "dataset: {name: file, path: a.ndjson, key: id, documents: 7}, mapping: dynamic",
            "dataset: {name: file, path: ./b/../a.ndjson, key: id, documents: 7}, mapping: dynamic",
        ),
    ],
    ids=[
        "number and text",
        "default of the sink",
        "flag and text",
        "files with one content",
        "blanks and zeros",
        "case",
        "number of a client",
        "units of a time",
        "warm-up of a run",
        "paths of one file",
    ],
)
def test_variants_that_are_the_same_in_effect_are_refused(
    repository: Repository, message: MakeMessage, one: str, other: str
) -> None:
    """Whatever words they use; with their names, before anything starts."""
    template = '{"connector.class": "io.sluice.connect.ElasticsearchSinkConnector"}'
    (repository.root / "connect" / "connectors" / "elasticsearch.json").write_text(template, encoding="utf-8")
    variants = f"""
        variants:
          - {{profile: books, name: one, set: {{{one}}}}}
          - {{profile: books, name: other, set: {{{other}}}}}
    """

    assert refusal(repository, variants, control="one") == [
        message("ladder.yaml:5: variants[1]", "one", "other", "A/A")
    ]


def test_pairs_that_are_the_same_in_effect_are_refused_by_their_own_place(
    repository: Repository, message: MakeMessage
) -> None:
    """Which is no line of a grid."""
    pairs = """
        variants: [books]
        pairs:
          - profile: books
            factor: replicas
            levels: {one: {index.number_of_replicas: 1}, text: {index.number_of_replicas: "1"}}
            at: {small: {index.number_of_shards: 2}}
    """
    assert refusal(repository, pairs) == [message("ladder.yaml:5: pairs[0]", "one, small", "text, small")]


def test_values_that_another_build_of_our_sink_may_have_as_defaults_are_compared(repository: Repository) -> None:
    """Nothing here knows its defaults."""
    template = '{"connector.class": "io.sluice.connect.ElasticsearchSinkConnector"}'
    (repository.root / "connect" / "connectors" / "elasticsearch.json").write_text(template, encoding="utf-8")
    variants = """
        set: {sink.plugin_path: /old/build}
        variants:
          - books
          - {profile: books, name: other, set: {sink.config.batch.size: 2000}}
    """
    assert [variant.name for variant in load(repository, variants).variants][-1] == "other"


def test_mappings_that_differ_in_their_notes_are_the_same_in_effect(
    repository: Repository, message: MakeMessage
) -> None:
    """Elasticsearch keeps `_meta`, and does nothing with it."""
    path = repository.root / "mappings" / "aladin.nested.dynamic.json"
    path.write_text('{"mappings": {"_meta": {"by": "hand"}}}', encoding="utf-8")
    variants = "variants: [books, {profile: books, name: other, set: {mapping: aladin.nested.dynamic}}]"
    assert refusal(repository, variants) == [message("ladder.yaml:3: variants[1]", "books", "other")]


def test_a_refresh_interval_of_one_second_is_not_the_default(repository: Repository) -> None:
    """With it, Elasticsearch also refreshes shards that nobody searches."""
    suite = load(
        repository,
        """
        variants:
          - books
          - {profile: books, name: every second, set: {index.refresh_interval: 1s}}
        """,
    )
    assert [variant.name for variant in suite.variants] == ["books", "books (again)", "every second"]


def test_values_of_the_command_line_that_make_variants_equal_are_refused(
    repository: Repository, message: MakeMessage
) -> None:
    """They win over those of the variants."""
    variants = """
        variants:
          - books
          - {profile: books, name: two shards, set: {index.number_of_shards: 2}}
    """
    with pytest.raises(ProfileError) as caught:
        load(repository, variants, "index.number_of_shards=3")
    assert str(caught.value) == message("variants[1]", "books", "two shards")


def test_a_metric_has_a_scope(repository: Repository, message: MakeMessage) -> None:
    """Rates of primaries and of all shards are different things."""
    assert refusal(repository, "variants: [books]\nmetrics: [indexing_latency_ms]") == [
        message("ladder.yaml:4: metrics[0]", "indexing_latency_ms", "name/scope", "indexing_rate_docs_per_s/primaries")
    ]


def test_an_unknown_suite_is_refused_with_the_nearest_one(repository: Repository, message: MakeMessage) -> None:
    """As a profile is."""
    write(repository, "question: Which?")
    with pytest.raises(ProfileError) as error:
        load_suite("lader", root=repository.root)
    assert str(error.value) == message("lader", "ladder")


def test_a_file_that_is_none_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """By its path."""
    with pytest.raises(ProfileError) as error:
        load_suite(str(tmp_path / "mine.yaml"))
    assert str(error.value) == message(tmp_path / "mine.yaml")


def test_a_suite_that_is_no_text_is_refused_and_listed_with_the_reason(
    repository: Repository, message: MakeMessage
) -> None:
    """One sentence, and the other suites are still listed."""
    write(repository, "").write_bytes(b"question: \xff\n")
    why = "experiments/suites/ladder.yaml: is not UTF-8: got byte 0xff at offset 10"
    with pytest.raises(ProfileError) as caught:
        load_suite("ladder", root=repository.root)
    assert str(caught.value) == why
    assert list_suites(repository.root) == [("ladder", message(why))]


def test_a_suite_is_listed_with_its_question(repository: Repository) -> None:
    """Whether it can be planned is not asked."""
    write(repository, "question: Which?")
    assert list_suites(repository.root) == [("ladder", "Which?")]


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_of_the_repository_can_be_planned(name: str) -> None:
    """Its profiles included."""
    assert load_suite(name).variants


LEVELS = """
control: one, small
pairs:
  - profile: books
    factor: shards
    levels:
      one: {index.number_of_shards: 1}
      two: {index.number_of_shards: 2}
    at:
      small: {dataset.documents: 7}
      large: {dataset.documents: 700}
"""


def test_levels_are_compared_with_the_first_in_every_setting(repository: Repository) -> None:
    """The first one of another setting is compared with nothing; the control once more turns no factor."""
    suite = load(repository, LEVELS.replace("control: one, small\n", ""), control="one, small")
    assert [(variant.name, variant.against, variant.factor) for variant in suite.variants] == [
        ("one, small", None, "shards"),
        ("one, small (again)", "one, small", None),
        ("two, small", "one, small", "shards"),
        ("one, large", None, "shards"),
        ("two, large", "one, large", "shards"),
    ]
    two = suite.variants[-1].profile
    assert (two.number_of_shards, two.dataset.documents) == (2, 700)


def test_a_reference_is_compared_with_nothing(repository: Repository) -> None:
    """It is there for others, which name it."""
    suite = load(
        repository,
        """
        repeat_control: false
        variants:
          - books
          - {profile: books, name: many, reference: true, set: {dataset.documents: 70}}
          - {profile: books, name: many in two, against: many, set: {index.number_of_shards: 2}}
        """,
    )
    assert [variant.against for variant in suite.variants] == [None, None, "many"]


def test_a_crossing_names_a_factor_and_metrics_of_the_suite(repository: Repository, message: MakeMessage) -> None:
    """What is not measured can pass nothing."""
    assert refusal(
        repository,
        """
        variants:
          - books
          - {profile: books, name: two, factor: shards, set: {index.number_of_shards: 2}}
        crossings:
          - {factor: shard, metric: indexing_latency_ms/primaries, over: store_size_bytes/primaries}
        """,
    ) == [
        message("ladder.yaml:7: crossings[0].factor", "shard", "shards"),
        message(
            "ladder.yaml:7: crossings[0].over",
            "store_size_bytes/primaries",
            "metrics",
            "indexing_latency_ms/primaries",
            "indexing_rate_docs_per_s/primaries",
        ),
    ]


def test_repeats_and_a_width_exclude_each_other(repository: Repository, message: MakeMessage) -> None:
    """Only one of them can end a suite."""
    both = "variants: [books]\nrepeats: 3\nminutes: 9\n"
    assert refusal(repository, both) == [message("ladder.yaml:4: repeats", "minutes", "precision")]


@pytest.mark.parametrize(
    ("stated", "measures"),
    [
        ("", Measures(repeats=5)),
        ("repeats: 2", Measures(repeats=2)),
        ("minutes: 9", Measures(minutes=9, precision=0.05)),
        ("precision: 0.02", Measures(precision=0.02)),
    ],
)
def test_what_ends_a_suite(repository: Repository, stated: str, measures: Measures) -> None:
    """Five repeats, where its file says nothing; 5 % is narrow enough, where it states a time alone."""
    assert load(repository, f"variants: [books]\n{stated}\n").measures == measures


@pytest.mark.parametrize(
    ("stated", "rate", "of_10_000"),
    [("600", "600", 600.0), ("70 %", "70 %", 7000.0), ("12.5%", "12.5 %", 1250.0), ("1_500", "1500", 1500.0)],
)
def test_a_suite_may_stream_at_a_rate_or_at_a_share_of_the_limit(
    repository: Repository, stated: str, rate: str, of_10_000: float
) -> None:
    """In place of its drains."""
    suite = load(repository, f"variants: [books]\nrate: {stated}\n")
    assert suite.rate == rate
    assert rate_docs_per_s(suite.rate, 10_000.0) == pytest.approx(of_10_000)


def test_a_rate_that_is_none_is_refused(repository: Repository, message: MakeMessage) -> None:
    """By its line."""
    assert refusal(repository, "variants: [books]\nrate: fast\n") == [
        message("ladder.yaml:4: rate", "fast", 600, "70 %")
    ]


def test_what_is_compared_is_of_one_part(repository: Repository, message: MakeMessage) -> None:
    """Parts run one after the other, on servers of their own."""
    apart = """
        variants:
          - books
          - {profile: books, name: four, part: nodes}
    """
    assert refusal(repository, apart) == [message("ladder.yaml:5: variants[1].part", "four", "nodes", "books")]
    reference = """
        variants:
          - books
          - {profile: books, name: two, part: nodes, reference: true}
          - {profile: books, name: four, part: nodes, against: two, set: {index.number_of_shards: 2}}
    """
    assert load(repository, reference).parts == {"books": "", "books (again)": "", "two": "nodes", "four": "nodes"}


@pytest.mark.parametrize(
    ("stated", "changed"),
    [
        (Measures(), Measures(minutes=40, precision=0.02)),
        (Measures(minutes=9), Measures(minutes=9, precision=0.02)),
        (Measures(precision=0.1), Measures(minutes=40, precision=0.1)),
        (Measures(repeats=3), Measures(repeats=3)),
    ],
)
def test_what_somebody_states_leaves_the_rest_of_the_file(stated: Measures, changed: Measures) -> None:
    """Another time keeps the width, and another width the time."""
    assert Measures(minutes=40, precision=0.02).changed(stated) == changed


def test_a_time_instead_of_repeats_is_for_five_per_cent() -> None:
    """Of a suite whose file states repeats."""
    assert Measures(repeats=3).changed(Measures(minutes=9)) == Measures(minutes=9, precision=0.05)
