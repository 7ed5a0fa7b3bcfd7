"""What is planned of runs that only ask, or that go at a rate: which share an index, and how long they take."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp
from pathlib import Path

import pytest

from lab.analysis.statistics.effects import effect
from lab.profiles import Profile
from lab.profiles.suites import Measures, Suite, SuiteVariant
from lab.records.suite import MetricKey, SuiteResult, SuiteRun, Variant
from lab.records.verification import Verification
from lab.suite.plan import (
    block_s,
    earlier_wall_s,
    estimate,
    kind_of,
    layout_of,
    load_s,
    make_plan,
    noise,
    server_shape,
    suite_walls_s,
)
from tests.unit.analysis.synthetic import Truth, run, written

VERSIONS = {"a": "8.19.21", "b": "9.5.3", "c": "8.19.21", "d": "9.5.3"}


def a_profile(**sections: object) -> Profile:
    """Queries alone, for 8 s after 2 s of warm-up."""
    load = {"mode": "query", "queries": {"warm_up_s": 2.0, "duration_s": 8.0}}
    dataset = {"name": "events", "documents": 120_000}
    made = {"name": "p", "question": "?", "mapping": "m", "dataset": dataset, "load": load, **sections}
    return Profile.model_validate(made)


def of_clients(clients: int, **load: object) -> dict[str, object]:
    """A load section with so many clients."""
    return {"mode": "query", "queries": {"clients": clients, "warm_up_s": 2.0, "duration_s": 8.0}, **load}


def test_only_what_is_stored_decides_which_index_is_read() -> None:
    """Clients, bounds and windows leave it as it is; documents, settings, route and nodes do not."""
    window = {"questions": ["q"], "window": {"seconds": 1.0, "within": 0.5}}
    same = [
        a_profile(load=of_clients(3)),
        a_profile(elasticsearch={"memory_limit_mb": 900, "read_iops_limit": 500}),
        a_profile(queries=window),
    ]
    others = [
        a_profile(dataset={"name": "events", "documents": 7}),
        a_profile(index={"codec": "best_compression"}),
        a_profile(load=of_clients(1, route="reindexed")),
        a_profile(elasticsearch={"data_nodes": 3}),
    ]
    control = layout_of(a_profile())
    assert ({layout_of(each) for each in same}, len({layout_of(each) for each in others} - {control})) == ({control}, 4)


def test_a_server_must_compile_anew_for_other_documents_mappings_and_ways_of_writing() -> None:
    """Not for another size, number of shards or bulk size: such a variant needs no run that does not count."""
    filled = {"load": {"mode": "drain", "via": "direct"}}
    same = [
        a_profile(load={"mode": "drain", "via": "direct", "batch_documents": 7}),
        a_profile(**filled, dataset={"name": "events", "documents": 7, "seed": 3}),
        a_profile(**filled, index={"number_of_shards": 4}),
    ]
    others = [
        a_profile(load={"mode": "drain"}),
        a_profile(**filled, mapping="other"),
        a_profile(**filled, dataset={"name": "events", "documents": 7, "payload_chars": 9}),
    ]
    kind = kind_of(a_profile(**filled))
    assert ({kind_of(each) for each in same}, len({kind_of(each) for each in others} - {kind})) == ({kind}, 3)


def test_bounds_are_set_on_servers_that_run() -> None:
    """They are no reason to start others, as another heap is."""
    bounded = a_profile(elasticsearch={"memory_limit_mb": 900, "read_iops_limit": 500})
    assert server_shape(bounded) == server_shape(a_profile())
    assert server_shape(a_profile(elasticsearch={"heap_mb": 384})) != server_shape(a_profile())


def test_another_engine_means_other_servers_and_other_indices() -> None:
    """Whatever their settings; Elasticsearch reads no index of OpenSearch's."""
    engines = [{}, {"elasticsearch": {"version": "9.0.0"}}, {"opensearch": "2.19.1"}, {"opensearch": "3.0.0"}]
    assert len({server_shape(a_profile(**engine)) for engine in engines}) == 4
    assert len({layout_of(a_profile(load=of_clients(1), **engine)) for engine in engines}) == 4


def test_a_load_at_a_rate_takes_as_long_as_it_says() -> None:
    """Queries their warm-up and duration, a stream its documents; a drain does not say."""
    stream = a_profile(load={"mode": "stream", "rate_docs_per_s": 1000.0})
    loads = [load_s(profile, 120_000) for profile in (a_profile(), stream, a_profile(load={"mode": "drain"}))]
    assert loads == [10.0, 120.0, None]


def test_an_index_that_is_kept_is_loaded_once(tmp_path: Path) -> None:
    """Two variants read one index of 120,000 documents, which takes 10 s, and 10 s beside; each run takes 17 s."""
    variants = tuple(
        SuiteVariant(name, a_profile(load=of_clients(clients)), (), against)
        for name, clients, against in (("one", 1, None), ("two", 2, "one"))
    )
    suite = Suite("s", "?", "one", None, variants, Measures(5), 1, (("query_rate_per_s", "run"),), None)
    documents = dict.fromkeys(("one", "two"), 120_000)
    plan = make_plan(suite, measures=None, seed=None, skipped={}, documents=documents, command=())
    expected = estimate(plan, tmp_path)
    assert (expected.each, expected.seconds) == ({"one": 17.0, "two": 17.0}, 10 * 17 + 3 * 17 + 17 + 10 + 10)


def test_a_drain_is_expected_to_last_as_long_as_the_window(tmp_path: Path) -> None:
    """Its documents are multiplied until it does: 60,000 of them alone would take 5 s; 6 s come beside."""
    variants = tuple(
        SuiteVariant(name, a_profile(load={"mode": "drain"}), (), against)
        for name, against in (("one", None), ("two", "one"))
    )
    suite = Suite("s", "?", "one", None, variants, Measures(5), 1, (("query_rate_per_s", "run"),), None)
    documents = dict.fromkeys(("one", "two"), 60_000)
    for window_s, run_s in ((None, 11.0), (20.0, 26.0)):
        sized = replace(suite, window_s=window_s)
        plan = make_plan(sized, measures=None, seed=None, skipped={}, documents=documents, command=())
        assert estimate(plan, tmp_path).each == {"one": run_s, "two": run_s}


def test_a_failed_run_of_the_profile_tells_nothing_of_a_good_one(tmp_path: Path) -> None:
    """It may be over in seconds."""
    good, documents = run(Truth()), run(Truth()).documents.produced
    failed = good.model_copy(
        update={"ended_s": good.started_s + 3, "verification": Verification(verified=False, problems=("7 missing",))}
    )
    variant = Variant(name="books", profile="books", fingerprint="books", documents=documents)
    for number, made in enumerate((good, failed, failed)):
        written(tmp_path / "books" / str(number), made, [])
    assert earlier_wall_s(tmp_path, variant) == good.ended_s - good.started_s


@pytest.mark.parametrize(("duets", "together_s"), [(False, 30.0), (True, 20.0)])
def test_a_pair_takes_as_long_as_its_longer_run(*, duets: bool, together_s: float) -> None:
    """Its runs go at the same time."""
    variants = tuple(
        SuiteVariant(name, a_profile(load={"mode": "drain"}), (), against)
        for name, against in (("one", None), ("two", "one"))
    )
    suite = Suite("s", "?", "one", None, variants, Measures(None, 10, 0.05), 1, (("query_rate_per_s", "run"),), None)
    plan = make_plan(suite, measures=None, seed=None, skipped={}, documents={}, command=(), duets=duets)
    assert block_s(plan, ("two", "one"), {"one": 20.0, "two": 10.0}) == together_s


def test_two_runs_at_the_same_time_share_the_cores(tmp_path: Path) -> None:
    """Drains of 60,000 documents that last 10 s: a pair of them took 22 s, and the warm-up 2:20 of 4 minutes."""
    variants = tuple(
        SuiteVariant(name, a_profile(load={"mode": "drain"}), (), against)
        for name, against in (("one", None), ("two", "one"))
    )
    suite = Suite("s", "?", "one", None, variants, Measures(None, 4, 0.05), 1, (("query_rate_per_s", "run"),), None)
    documents = dict.fromkeys(("one", "two"), 60_000)
    sized = replace(suite, window_s=10.0)
    plan = make_plan(sized, measures=None, seed=None, skipped={}, documents=documents, command=(), duets=True)
    expected = estimate(plan, tmp_path)
    assert (expected.each, expected.warm_up_s) == ({"one": 22.0, "two": 22.0}, 5 * 22 + 2 * 22)


def test_each_set_of_servers_is_started_and_warmed_up(tmp_path: Path) -> None:
    """Three drains of 11 s more, and 15 s, where the second variant has servers of its own."""
    taken = []
    for other in ({}, {"opensearch": "3.0.0"}):
        variants = (
            SuiteVariant("one", a_profile(load={"mode": "drain"}), (), None),
            SuiteVariant("two", a_profile(load={"mode": "drain"}, mapping="other", **other), (), "one"),
        )
        suite = Suite("s", "?", "one", None, variants, Measures(5), 1, (("query_rate_per_s", "run"),), None)
        documents = dict.fromkeys(("one", "two"), 60_000)
        plan = make_plan(suite, measures=None, seed=None, skipped={}, documents=documents, command=())
        taken.append(estimate(plan, tmp_path).warm_up_s)
    assert taken[1] - taken[0] == 3 * 11 + 15


def test_runs_take_as_long_as_in_the_last_suite_of_this_name(tmp_path: Path) -> None:
    """With what came before them, whatever the sizes of their documents; one that ran in another way tells nothing."""
    a_suite_that_ran(tmp_path, "20260101-000001", (1.0, 1.02, 1.04), walls=((0, 10), (13, 20), (320, 350)))
    variants = tuple(SuiteVariant(name, a_profile(), (), None) for name in ("one", "two"))
    suite = Suite("s", "?", "one", None, variants, Measures(3), 1, (("query_rate_per_s", "run"),), None)
    plan = make_plan(suite, measures=None, seed=None, skipped={}, documents={}, command=())
    assert suite_walls_s(tmp_path, plan) == {"one": 20.0}
    assert suite_walls_s(tmp_path, plan.model_copy(update={"window_s": 20.0})) == {}


def test_the_control_s_repetition_serves_every_other_comparison_with_it() -> None:
    """Ratios are to both: the control of three comparisons and of A/A runs once in a block, and so does the other."""
    against = {"one": None, "one (again)": "one", "two": "one", "three": "one"}
    variants = tuple(
        SuiteVariant(name, a_profile(load={"mode": "drain"}), (), other) for name, other in against.items()
    )
    metrics = (("query_rate_per_s", "run"),)
    suite = Suite("s", "?", "one", "one (again)", variants, Measures(7), 1, metrics, None)
    plan = make_plan(suite, measures=None, seed=None, skipped={}, documents={}, command=())
    for block in plan.order:
        assert sorted(block) == sorted(against)
        assert {"one", "one (again)"} & set(neighbours(block, "two"))
        assert {"one", "one (again)"} & set(neighbours(block, "three"))


def neighbours(block: tuple[str, ...], name: str) -> list[str]:
    """What runs just before it and just after it."""
    return [other for pair in pairwise(block) if name in pair for other in pair if other != name]


def test_the_order_heeds_no_servers_that_run_side_by_side() -> None:
    """Two versions take turns, where otherwise each block would run one after the other."""
    profiles = {name: a_profile(elasticsearch={"version": version}) for name, version in VERSIONS.items()}
    variants = tuple(
        SuiteVariant(name, profile, (), None if name == "a" else "a") for name, profile in profiles.items()
    )
    suite = Suite("s", "?", "a", None, variants, Measures(11), 1, (("query_rate_per_s", "run"),), None)
    plans = [
        make_plan(suite, measures=None, seed=None, skipped={}, documents={}, command=(), side_by_side=together)
        for together in (False, True)
    ]
    changes = [
        {sum(VERSIONS[one] != VERSIONS[other] for one, other in pairwise(block)) for block in plan.order}
        for plan in plans
    ]
    assert changes[0] == {1}
    assert max(changes[1]) == 3


def a_suite_that_ran(
    runs: Path, name: str, *samples: tuple[float, ...], walls: Sequence[tuple[float, float]] = ()
) -> None:
    """What is left of a suite: the query rates of its comparisons, as ratios by block.

    Args:
        walls: When runs of its first variant began and ended; the first one is a warm-up.
    """
    folder = runs / "suites" / "s" / name
    folder.mkdir(parents=True)
    variants = tuple(SuiteVariant(each, a_profile(), (), None) for each in ("one", "two"))
    suite = Suite("s", "?", "one", None, variants, Measures(3), 1, (("query_rate_per_s", "run"),), None)
    plan = make_plan(suite, measures=None, seed=None, skipped={}, documents={}, command=())
    effects = [effect("two", "one", plan.metrics[0], [(ratio, 1.0) for ratio in ratios]) for ratios in samples]
    ended = tuple(
        SuiteRun(block=number, variant="one", attempt=1, folder=None, status="verified", started_s=begin, ended_s=end)
        for number, (begin, end) in enumerate(walls)
    )
    result = SuiteResult(
        plan=plan, ended_s=1, wall_time_s=1, complete=True, runs=ended, figures=(), effects=tuple(effects)
    )
    (folder / "suite.json").write_text(result.model_dump_json(), "utf-8")


def test_the_noise_of_this_machine_is_that_of_the_last_suite_with_the_metric(tmp_path: Path) -> None:
    """The median over its comparisons; of one with two blocks nothing is known, and another metric tells nothing."""
    rate, other = (MetricKey(name=name, scope="run") for name in ("query_rate_per_s", "drain_s"))
    assert noise(tmp_path, rate) is None
    a_suite_that_ran(tmp_path, "20260101-000001", (exp(0.5), exp(0.7), exp(0.6)))
    a_suite_that_ran(tmp_path, "20260101-000002", (1.0, exp(0.02), exp(0.04)), (1.0, exp(0.06), exp(0.12)), (1.0, 9.0))
    assert noise(tmp_path, rate) == pytest.approx(0.04)
    assert noise(tmp_path, other) is None


def test_a_suite_that_tells_nothing_is_passed_over(tmp_path: Path) -> None:
    """Such as one of an earlier version, or of a single block."""
    rate = MetricKey(name="query_rate_per_s", scope="run")
    a_suite_that_ran(tmp_path, "20260101-000001", (1.0, exp(0.02), exp(0.04)))
    a_suite_that_ran(tmp_path, "20260101-000002", (1.0,))
    (tmp_path / "suites" / "s" / "20260101-000003").mkdir()
    (tmp_path / "suites" / "s" / "20260101-000003" / "suite.json").write_text("{}")
    assert noise(tmp_path, rate) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("pipelines", "minutes", "warm_up_s"),
    [
        pytest.param((None, None), None, 3 * 11 + 11, id="one way: three drains more than the first"),
        pytest.param((None, "other"), None, 2 * 3 * 11 + 11, id="each of two ways is warmed"),
        pytest.param((None, "other"), 2.0, 30 + 11, id="within a quarter of the time"),
    ],
)
def test_servers_are_warmed_for_each_way_of_using_them(
    tmp_path: Path, pipelines: tuple[str | None, str | None], minutes: float | None, warm_up_s: float
) -> None:
    """Another pipeline runs code that is cold. A drain takes 11 s here; both variants are of one kind."""
    profiles = [
        profile.model_copy(update={"sink": profile.sink.model_copy(update={"pipeline": pipeline})})
        for profile, pipeline in ((a_profile(load={"mode": "drain"}), pipeline) for pipeline in pipelines)
    ]
    variants = tuple(
        SuiteVariant(name, profile, (), against)
        for name, profile, against in zip(("one", "two"), profiles, (None, "one"), strict=True)
    )
    suite = Suite("s", "?", "one", None, variants, Measures(5, minutes), 1, (("query_rate_per_s", "run"),), None)
    plan = make_plan(
        suite, measures=None, seed=None, skipped={}, documents=dict.fromkeys(("one", "two"), 60_000), command=()
    )
    assert estimate(plan, tmp_path).warm_up_s == warm_up_s


def test_a_plan_holds_commands_and_settings_without_their_secrets() -> None:
    """It is written down, and shown to others; the profile that runs keeps them."""
    sink = a_profile(load={"mode": "drain"}).sink.model_copy(update={"command": ["copy", "--password=hunter2", "-v"]})
    profile = a_profile(load={"mode": "drain"}).model_copy(update={"sink": sink})
    one = SuiteVariant("one", profile, ("sink.config.connection.password=hunter2", "sink.tasks=2"), None)
    suite = Suite("s", "?", "one", None, (one,), Measures(5), 1, (("query_rate_per_s", "run"),), None)
    plan = make_plan(suite, measures=None, seed=None, skipped={}, documents={"one": 60_000}, command=())
    (variant, *_) = plan.variants
    assert (variant.way.startswith("copy --password="), variant.overrides[1]) == (True, "sink.tasks=2")
    assert "hunter2" not in plan.model_dump_json()
