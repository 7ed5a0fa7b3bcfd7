"""Two runs beside each other: what may be compared, and what must not."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.analysis.compare import Comparison, Row, Side, compare, depends_on, difference_text, side
from lab.analysis.result import RunAnalysis, analyse
from lab.records.result import Metric
from lab.records.run import Environment, RunWarning, WarningKind
from tests.unit.analysis.query_truth import QueryTruth, analysed, query_load, step
from tests.unit.analysis.synthetic import Truth, question, run, samples, written

PROFILE: dict[str, Any] = {
    "dataset": {"name": "aladin", "model": "nested", "documents": 100_003, "seed": 1},
    "mapping": "aladin.nested.static",
    "index": {"number_of_replicas": 0},
    "sink": {"connector": "elasticsearch", "config": {"batch.size": "2000"}},
    "load": {"mode": "drain"},
}


def folder(
    path: Path, truth: Truth, profile: dict[str, Any] | None = None, environment: dict[str, Any] | None = None
) -> RunAnalysis:
    """A run whose environment differs so."""
    made = run(truth)
    changed = Environment.model_validate(made.environment.model_dump() | (environment or {}))
    return analyse(
        written(path, made.model_copy(update={"environment": changed}), samples(truth), {**PROFILE, **(profile or {})})
    )


def compared(first: RunAnalysis, second: RunAnalysis, **options: Any) -> Comparison:
    """The two runs beside each other."""
    return compare(side("one", [first]), side("two", [second]), **options)


def row(comparison: Comparison, name: str, scope: str = "run") -> Row:
    """One row."""
    return next(row for row in comparison.rows if (row.name, row.scope) == (name, scope))


def test_a_run_that_gives_two_warnings_of_one_kind_counts_once(tmp_path: Path) -> None:
    """Its documents did not keep up, nor the queries beside them."""
    behind = [
        RunWarning(kind=WarningKind.DID_NOT_KEEP_UP, seen=f"did NOT keep up with {what}", likely_cause="", remedy="")
        for what in ("9,000/s", "30 queries/s")
    ]
    made = folder(tmp_path, Truth())
    both = replace(made, result=made.result.model_copy(update={"warnings": tuple(behind)}))
    (warning,) = side("one", [both, made]).warnings
    assert warning.seen == "in 1 of 2 runs; the first of them: did NOT keep up with 9,000/s"


def test_two_runs_of_the_same_inputs_have_ratios_and_no_verdict(tmp_path: Path) -> None:
    """The index settings are what is tried; one run each has no spread."""
    slow, fast = Truth(ms_per_1000_docs=400), Truth(ms_per_1000_docs=200)
    comparison = compared(
        folder(tmp_path / "a", slow),
        folder(tmp_path / "b", fast, environment={"index_settings": {"index.number_of_replicas": "1"}}),
    )
    assert comparison.differing == {}
    assert comparison.compared == {
        "index.number_of_shards": ("1", "not set"),
        "index.number_of_replicas": ("0", "1"),
    }
    latency = row(comparison, "indexing_latency_ms", "primaries")
    assert latency.ratio == pytest.approx(0.5, rel=0.01)
    assert (latency.verdict, latency.low, comparison.has_verdicts) == ("too few runs", None, False)


def test_how_indices_are_deployed_and_how_many_they_are_is_tried(tmp_path: Path) -> None:
    """A run of an older version has one, and none of it deployed."""
    deployed = {"indices": 2, "maintain": {"action": "deploy", "route": "exclude"}}
    comparison = compared(folder(tmp_path / "a", Truth()), folder(tmp_path / "b", Truth(), profile=deployed))
    assert comparison.compared["indices"] == ("1", "2")
    assert comparison.compared["maintain.route"] == ("not set", "exclude")


@pytest.mark.parametrize(
    ("environment", "name", "values"),
    [
        ({"cpu_model": "Another CPU"}, "cpu_model", ("Example CPU @ 2.80GHz", "Another CPU")),
        ({"memory_bytes": 8_000_000_000}, "memory", ("24.0 GB", "8.0 GB")),
        ({"target": "compose"}, "target", ("local", "compose")),
        ({"distribution": "official"}, "distribution", ("integ-test-zip", "official")),
        ({"distribution": "/opt/a"}, "distribution", ("integ-test-zip", "/opt/a")),
        ({"sluice_version": "0.2.0"}, "sluice", ("0.1.0", "0.2.0")),
        ({"java_versions": {"elasticsearch": "17.0.1", "kafka": "21.0.5"}}, "java.elasticsearch", ("21.0.5", "17.0.1")),
        (
            {"servers": [{"name": "elasticsearch-1", "version": "9.0.0", "pid": 1}]},
            "version.elasticsearch",
            ("8.19.21", "9.0.0"),
        ),
    ],
)
def test_another_machine_or_version_takes_every_ratio_away(
    tmp_path: Path, environment: dict[str, Any], name: str, values: tuple[str, str]
) -> None:
    """Named with both values; no row has a ratio."""
    comparison = compared(folder(tmp_path / "a", Truth()), folder(tmp_path / "b", Truth(), environment=environment))
    assert comparison.differing[name] == values
    assert comparison.comparable == 0
    assert name in row(comparison, "drain_s").differing


def test_a_file_that_has_changed_is_another_input(tmp_path: Path) -> None:
    """Of the same name, with as many documents of the same size; a run that knows no hash is no proof either."""
    contents = ("c0ffee", "beef", None)
    made = [run(Truth()).model_copy(update={"content_hash": content}) for content in contents]
    one, other, old = (
        analyse(written(tmp_path / str(number), each, samples(Truth()), PROFILE)) for number, each in enumerate(made)
    )
    assert compared(one, other).differing == {"dataset.content": ("c0ffee", "beef")}
    assert compared(one, old).differing == {"dataset.content": ("c0ffee", "not known")}
    assert compared(one, one).differing == compared(old, old).differing == {}


def test_files_of_one_content_are_one_input_wherever_they_lie(tmp_path: Path) -> None:
    """The hash tells; without one, the path does."""
    one, other, third, fourth = (
        analyse(
            written(
                tmp_path / name,
                run(Truth()).model_copy(update={"content_hash": content}),
                samples(Truth()),
                {**PROFILE, "dataset": {"name": "file", "path": f"{name}.ndjson"}},
            )
        )
        for name, content in (("a", "c0ffee"), ("b", "c0ffee"), ("c", None), ("d", None))
    )

    assert compared(one, other).differing == {}
    assert compared(third, fourth).differing == {"dataset.path": ("c.ndjson", "d.ndjson")}


def of_mapping(path: Path, content: str | None, properties: dict[str, Any] | None = None) -> RunAnalysis:
    """A run that has sent a mapping with this hash and these fields."""
    contents = None if content is None else {"mapping": content, "sink.connector": "c0ffee"}
    made = folder(path, Truth(), environment={"contents": contents})
    if properties is not None:
        request = {"settings": {}, "mappings": {"dynamic": "strict", "properties": properties}}
        (path / "index.json").write_text(json.dumps(request), encoding="utf-8")
    return made


def test_two_mappings_of_one_name_are_told_with_their_fields(tmp_path: Path) -> None:
    """Their types and parameters; what both have alike is left out."""
    nested = {"type": "nested", "properties": {"price": {"type": "float"}}}
    title = {"type": "text", "fields": {"raw": {"type": "keyword"}}}
    one = of_mapping(tmp_path / "a", "beef", {"id": {"type": "keyword"}, "items": nested, "title": title})
    stored = {"type": "object", "enabled": False}
    other = of_mapping(tmp_path / "b", "f00d", {"id": {"type": "keyword"}, "items": stored, "title": {"type": "text"}})

    comparison = compared(one, other)

    assert comparison.compared == {"mapping.content": ("beef", "f00d")}
    assert comparison.fields == {
        "items": ("nested", "object, enabled: false"),
        "items.price": ("float", "not set"),
        "title.raw": ("keyword", "not set"),
    }
    assert (comparison.not_recorded, row(comparison, "drain_s").ratio) == ((), pytest.approx(1.0))


def test_mappings_of_two_names_are_one_difference(tmp_path: Path) -> None:
    """Their contents are no second one."""
    one = of_mapping(tmp_path / "a", "beef")
    other = of_mapping(tmp_path / "b", "f00d")
    profile = {**PROFILE, "mapping": "another"}
    (tmp_path / "b" / "profile.json").write_text(json.dumps(profile), encoding="utf-8")

    comparison = compared(one, analyse(other.folder.path))

    assert comparison.compared == {"mapping": ("aladin.nested.static", "another")}


@pytest.mark.parametrize(
    ("contents", "unknown"), [((None, None), ("mapping",)), ((None, "beef"), ("mapping", "sink.connector"))]
)
def test_a_run_without_a_record_of_its_files_is_not_called_equal(
    tmp_path: Path, contents: tuple[str | None, str | None], unknown: tuple[str, ...]
) -> None:
    """Runs of older versions have none, of any file that the other run names."""
    one, other = (of_mapping(tmp_path / str(place), content) for place, content in enumerate(contents))

    assert compared(one, other).compared == {}
    assert compared(one, other).not_recorded == unknown


def test_controls_with_two_mappings_of_one_name_are_not_the_same() -> None:
    """Two suites are then compared without a verdict."""
    rates = [9_973.0, 10_007.0, 10_037.0]
    one, other = (beside(series("a", rates), rates) for _ in range(2))
    assert compare(one, other).has_verdicts
    controls = [replace(side.control or side, contents={"mapping": text}) for side, text in ((one, "a"), (other, "b"))]
    first, second = (replace(side, control=control) for side, control in zip((one, other), controls, strict=True))
    assert not compare(first, second).has_verdicts


def test_what_varies_on_purpose_is_compared(tmp_path: Path) -> None:
    """Two versions of Elasticsearch: named, so that they are the question."""
    newer = {"servers": [{"name": "elasticsearch-1", "version": "9.0.0", "pid": 1}]}
    one, two = folder(tmp_path / "a", Truth()), folder(tmp_path / "b", Truth(), environment=newer)
    comparison = compared(one, two, vary=["version.elasticsearch", "version.connect", "version.kafka"])
    assert comparison.differing == {}
    assert row(comparison, "drain_s").ratio == pytest.approx(1.0)


def test_nested_and_flat_books_are_compared_by_book_and_by_megabyte_but_not_by_document(tmp_path: Path) -> None:
    """The same books in three times the documents: documents a second would only count differently."""
    nested, flat = Truth(), Truth(docs_per_tick=15_009, docs_per_entity=3, bytes_per_doc=307)
    model = {"dataset": {**PROFILE["dataset"], "model": "flat"}}
    comparison = compared(folder(tmp_path / "a", nested), folder(tmp_path / "b", flat, profile=model))
    assert list(comparison.differing) == ["documents", "bytes", "dataset.model"]
    assert row(comparison, "entities_per_s").ratio == pytest.approx(1.0)
    assert row(comparison, "source_mb_per_s").ratio == pytest.approx(3 * 307 / 797)
    for name, scope in (("indexing_rate_docs_per_s", "primaries"), ("cpu_s_per_million_docs", "connect")):
        counted = row(comparison, name, scope)
        assert (counted.ratio, counted.differing) == (None, tuple(comparison.differing))


def test_force_gives_a_ratio_that_stays_marked_and_without_a_verdict(tmp_path: Path) -> None:
    """However many runs there are."""
    one = side("one", [folder(tmp_path / "a", Truth())] * 3)
    two = side("two", [folder(tmp_path / "b", Truth(), environment={"cpu_cores": 4})] * 3)
    rate = row(compare(one, two, force=True), "indexing_rate_docs_per_s", "primaries")
    assert rate.ratio == pytest.approx(1.0)
    assert (rate.differing, rate.verdict, rate.low) == (("cpu_cores",), "too few runs", None)


def test_a_failed_run_is_an_input_that_differs(tmp_path: Path) -> None:
    """Its figures are void."""
    good = folder(tmp_path / "a", Truth())
    made = good.folder.run.model_copy(
        update={
            "verification": good.folder.run.verification.model_copy(
                update={"verified": False, "problems": ("7 missing",)}
            )
        }
    )
    assert compared(good, replace(good, folder=replace(good.folder, run=made))).differing == {
        "status": ("verified", "failed")
    }


def test_what_ran_beside_the_same_control_has_an_interval_and_a_verdict() -> None:
    """The machine is half as fast in the second session, and the variant twice as fast against its control."""
    first = beside(series("one", [9_973.0, 10_007.0, 10_037.0]), [10_000.0] * 3)
    second = beside(series("two", [10_011.0, 9_997.0, 10_101.0, 9_891.0]), [5_000.0] * 4)
    comparison = compare(first, second)
    only = comparison.rows[0]
    assert (only.verdict, only.ratio) == ("faster", pytest.approx(2.0, rel=0.01))
    assert only.low is not None
    assert only.high is not None
    assert only.low < 2.0 < only.high
    assert comparison.has_verdicts


def test_blocks_of_one_start_of_the_servers_are_no_comparison_of_two_suites() -> None:
    """What was drawn when it started is in all of them."""
    rates = [9_973.0, 10_007.0, 10_037.0, 9_990.0]
    sides = [replace(beside(series("one", rates), rates), starts=(1, 1, 2, 2)) for _ in range(2)]
    assert not compare(*sides).has_verdicts


@pytest.mark.parametrize("mapping", [None, "another"])
def test_without_the_same_control_in_both_there_is_no_verdict(mapping: str | None) -> None:
    """Rates that do not overlap may be two days of one machine, or a control that is half as fast itself."""
    rates = [9_973.0, 10_007.0, 10_037.0, 9_990.0]
    first, second = beside(series("one", rates), rates), series("two", [2 * rate for rate in rates])
    if mapping:
        other = beside(second, rates)
        second = replace(other, control=replace(series("control", rates), tried={"mapping": mapping}))
    comparison = compare(first, second)
    assert (comparison.rows[0].verdict, comparison.has_verdicts) == ("too few runs", False)
    assert comparison.rows[0].ratio == pytest.approx(2.0)


def test_the_more_metrics_are_judged_the_more_is_asked_of_each() -> None:
    """A difference of 3 % is detected as the one metric that is judged, but not as one of four (Holm)."""
    first, second = (
        Side(
            label,
            {},
            {},
            tuple(of_four_metrics(factor, run) for run in range(5)),
            control=Side("control", {}, {}, ()),
            beside=(tuple(metric.model_copy(update={"value": 1.0}) for metric in of_four_metrics(1.0, 0)),) * 5,
            starts=(1, 2, 3, 4, 5),
        )
        for label, factor in (("one", 1.0), ("two", 1.03))
    )
    alone = compare(first, second, judged={"indexing_rate_docs_per_s"})
    assert [row.verdict for row in alone.rows] == ["faster", *["too few runs"] * 3]
    assert compare(first, second).rows[0].verdict == "undecided"


def of_four_metrics(factor: float, run: int) -> tuple[Metric, ...]:
    """One run's; the factor is in the first of them."""
    noise = (0.98, 1.01, 1.0, 1.02, 0.99)
    names = ("indexing_rate_docs_per_s", "drain_s", "wall_time_s", "entities_per_s")
    return tuple(
        Metric(
            name=name,
            value=10_007.0 * noise[(run * (place + 1)) % 5] * (factor if place == 0 else 1),
            unit="",
            scope="run",
        )
        for place, name in enumerate(names)
    )


def test_a_metric_that_is_zero_or_not_known_has_no_ratio() -> None:
    """Values are shown all the same; nothing is divided by zero."""
    comparison = compare(series("one", [0.0]), series("two", [17.0]))
    assert (comparison.rows[0].first, comparison.rows[0].second, comparison.rows[0].ratio) == (0.0, 17.0, None)
    assert compare(series("one", [None]), series("two", [17.0])).comparable == 0


def series(label: str, rates: list[float] | list[None]) -> Side:
    """Runs of which only the rate is known."""
    metrics = tuple(
        (Metric(name="indexing_rate_docs_per_s", value=rate, unit="docs/s", scope="primaries"),) for rate in rates
    )
    return Side(label, {}, {}, metrics)


def beside(of: Side, rates: list[float]) -> Side:
    """The same beside runs of a control with such rates."""
    control = series("control", rates)
    starts = tuple(range(len(rates)))
    return replace(of, control=replace(control, metrics=()), beside=control.metrics, starts=starts)


def test_only_what_counts_documents_depends_on_their_shape() -> None:
    """A machine matters to everything."""
    assert depends_on("indexing_latency_ms", "ms", "documents")
    assert not depends_on("entities_per_s", "entities/s", "bytes")
    assert depends_on("entities_per_s", "entities/s", "cpu_model")
    assert not depends_on("query_service_time_ms_p50", "ms", "dataset.model")


def test_a_difference_is_told_with_both_values() -> None:
    """Large numbers in groups of three."""
    assert difference_text("documents", ("100000", "400000")) == "documents: 100,000 and 400,000"
    assert difference_text("seed", ("1", "2")) == "seed: 1 and 2"
    assert difference_text("mapping.content", ("beef", "1111111")) == "mapping.content: beef and 1111111"


@pytest.mark.parametrize(
    ("truth", "changes", "name", "values"),
    [
        (QueryTruth(clients=8), {}, "load.queries.clients", ("3", "8")),
        (QueryTruth(rate_per_s=31.0), {}, "load.queries.rate_per_s", ("closed loop", "31.0")),
        (QueryTruth(think_time_s=5.0), {}, "load.queries.think_time_s", ("0.0", "5.0")),
        (QueryTruth(), {"window_s": 60.0}, "queries.window.seconds", ("900.0", "60.0")),
        (QueryTruth(), {"window_s": None}, "queries.window.seconds", ("900.0", "all")),
        (QueryTruth(), {"window_within": 0.25}, "queries.window.within", ("1.0", "0.25")),
    ],
)
def test_another_load_of_queries_takes_their_ratios_away(
    tmp_path: Path, truth: QueryTruth, changes: dict[str, Any], name: str, values: tuple[str, str]
) -> None:
    """3 clients and 8 are two loads, as the source document proves by hiding it; what the processes used is shown."""
    comparison = compared(analysed(tmp_path / "a", QueryTruth()), analysed(tmp_path / "b", truth, **changes))
    assert comparison.differing == {name: values}
    rate = row(comparison, "query_rate_per_s")
    assert (rate.ratio, rate.differing) == (None, (name,))
    assert row(comparison, "cpu_cores_mean", "elasticsearch-1").ratio == pytest.approx(1.0)


def test_other_questions_are_not_compared_with_these(tmp_path: Path) -> None:
    """In a mix, the times of a question depend on all others."""
    comparison = compared(
        analysed(tmp_path / "a", QueryTruth()), analysed(tmp_path / "b", QueryTruth(fingerprint="fedcba9876543210"))
    )
    assert list(comparison.differing) == ["queries.fingerprint"]
    assert row(comparison, "query_service_time_ms_p99", "rating").differing == ("queries.fingerprint",)


def test_the_same_queries_of_another_index_are_compared(tmp_path: Path) -> None:
    """Half the CPU per query has a ratio; what varies on purpose is named, as for any other input."""
    slow, fast = analysed(tmp_path / "a", QueryTruth()), analysed(tmp_path / "b", QueryTruth(cpu_ms=10.0))
    more = analysed(tmp_path / "c", QueryTruth(clients=8))
    assert row(compared(slow, fast), "query_cpu_ms", "elasticsearch-1").ratio == pytest.approx(0.5)
    assert row(compared(slow, more, vary=["load.queries.clients"]), "query_rate_per_s").ratio == pytest.approx(1.0)


def test_a_question_asked_by_itself_is_compared_with_the_same_one_only(tmp_path: Path) -> None:
    """Its own figures have no ratio; those of the load have."""
    other = question().model_copy(update={"fingerprint": "fedcba9876543210"})
    both = [
        analyse(
            written(tmp_path / name, run(Truth()).model_copy(update={"questions": (asked,)}), samples(Truth()), PROFILE)
        )
        for name, asked in (("a", question()), ("b", other))
    ]
    comparison = compared(*both)
    assert comparison.differing == {"question cheap-books": ("0123456789abcdef", "fedcba9876543210")}
    assert row(comparison, "query_took_ms_p50", "cheap-books").ratio is None
    assert row(comparison, "drain_s").ratio == pytest.approx(1.0)


def test_the_knees_of_two_bounds_are_two_figures(tmp_path: Path) -> None:
    """A knee at 100 ms says nothing of one at 50 ms; the times of the queries are compared all the same."""
    ramp = (step(40.0, 30.0), step(60.0, 200.0))
    one, two = (
        analysed(tmp_path / str(bound_ms), QueryTruth(rate_per_s=40.0, steps=ramp), p99_bound_ms=bound_ms)
        for bound_ms in (100.0, 50.0)
    )
    comparison = compared(one, two)
    assert comparison.differing == {"load.ramp.p99_ms": ("100.0", "50.0")}
    assert row(comparison, "knee_rate_per_s").ratio is None
    assert row(comparison, "query_latency_ms_p99").ratio == pytest.approx(1.0)


def test_a_run_without_queries_is_compared_with_one_that_has_them(tmp_path: Path) -> None:
    """What queries cost those who index is a question, too."""
    with_queries = run(Truth()).model_copy(update={"query_load": query_load(QueryTruth())})
    comparison = compared(
        folder(tmp_path / "a", Truth()), analyse(written(tmp_path / "b", with_queries, samples(Truth()), PROFILE))
    )
    assert comparison.differing == {}
    assert row(comparison, "drain_s").ratio == pytest.approx(1.0)
