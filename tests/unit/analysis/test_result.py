"""The figures of a run made from known figures are those figures."""

from pathlib import Path

import orjson
import pytest
from jsonschema import Draft202012Validator

from lab.analysis.figures.definitions import DEFINITIONS, value_of
from lab.analysis.figures.scopes import is_scope_of, kinds_of
from lab.analysis.result import analyse, write_result
from lab.analysis.schema import json_schema
from lab.errors import ProfileError
from lab.records.result import Result, Window
from lab.records.run import SinkHistograms, WarningKind
from lab.records.samples import ElasticsearchSample, ProcessSample, Sample
from tests.unit.analysis.deployment_truth import deployed_run
from tests.unit.analysis.query_truth import QueryTruth, analysed, step
from tests.unit.analysis.synthetic import START_S, Truth, in_stages, into_indices, run, samples, with_samples, written
from tests.unit.messages import MakeMessage

ROOT = Path(__file__).parents[3]


def result_of(folder: Path, truth: Truth, sampled: list[Sample] | None = None) -> Result:
    """The result of a synthetic run."""
    return analyse(written(folder, run(truth), samples(truth) if sampled is None else sampled)).result


def kinds(result: Result) -> set[WarningKind]:
    """What the result warns of."""
    return {warning.kind for warning in result.warnings}


def test_every_figure_is_what_the_run_was_made_from(tmp_path: Path) -> None:
    """The truth goes in, the truth comes out."""
    truth = Truth(replicas=1, docs_per_entity=7)
    result = result_of(tmp_path, truth)
    rate = 5003.0
    documents = 5003 * 23
    expected = {
        ("indexing_rate_docs_per_s", "primaries"): rate,
        ("indexing_rate_docs_per_s", "total"): 2 * rate,
        ("indexing_latency_ms", "primaries"): 0.31,
        ("indexing_latency_ms", "total"): 0.31,
        ("source_mb_per_s", "run"): rate * 797 / 1e6,
        ("entities_per_s", "run"): rate / 7,
        ("delivery_rate_docs_per_s", "run"): documents / 4,
        ("delivery_latency_ms_p99", "run"): 71.0,
        ("bulk_service_time_ms_p50", "run"): 97.0,
        ("bulk_service_time_ms_p99", "run"): 401.0,
        ("bulk_size_docs_mean", "run"): documents / 115,
        ("bulk_size_bytes_mean", "run"): documents * 858 / 115,
        ("bulk_requests", "run"): 115.0,
        ("bulk_retries", "run"): 0.0,
        ("lag_records_max", "run"): documents,
        ("cpu_s_per_million_docs", "elasticsearch-1"): 1.5 * 26 / documents * 1e6,
        ("cpu_s_per_million_docs", "connect"): 0.25 * 26 / documents * 1e6,
        ("cpu_s_per_million_docs", "producer"): 1.75 / documents * 1e6,
        ("cpu_cores_mean", "elasticsearch-1"): 1.5,
        ("machine_cpu_percent_mean", "run"): 97.0,
        ("rss_bytes_max", "connect"): 101 * 10_000_019,
        ("major_page_faults", "kafka"): 0.0,
        ("gc_young_count", "elasticsearch-1"): 23.0,
        ("gc_young_time_ms", "elasticsearch-1"): 253.0,
        ("gc_old_count", "elasticsearch-1"): 0.0,
        ("heap_used_bytes_max", "elasticsearch-1"): 300_000_030,
        ("write_rejected", "elasticsearch-1"): 0.0,
        ("merge_count", "primaries"): 7.0,
        ("merge_time_ms", "primaries"): 7 * 211.0,
        ("refresh_count", "primaries"): 23.0,
        ("refresh_count", "total"): 46.0,
        ("flush_time_ms", "primaries"): 202.0,
        ("segments_count", "primaries"): 7.0,
        ("store_size_bytes", "total"): 2 * 503 * documents,
        ("phase_wall_time_s", "load"): 26.0,
        ("drain_s", "run"): 26.0,
    }
    actual = {key: value_of(result.metrics, *key) for key in expected}
    assert actual == {key: pytest.approx(value, rel=0.001) for key, value in expected.items()}


def test_the_measured_window_is_from_three_seconds_after_the_first_growth_to_the_last_but_one(tmp_path: Path) -> None:
    """The sink's start, the warm-up, the interval in which indexing ended, and settling are outside."""
    truth = Truth()
    # Counters are read 17 ms after the tick, and rates taken between these instants.
    first_s = truth.load_starts_s + truth.warm_up_s + 1.017 + 3
    assert result_of(tmp_path, truth).measured_window == Window(
        started_s=first_s,
        ended_s=truth.load_starts_s + truth.load_s - 0.983,
        samples=truth.ticks - 4,
        warm_up_s=3.0,
        steady=True,
    )


def test_end_to_end_latency_of_a_drain_contains_the_waiting(tmp_path: Path) -> None:
    """Records that waited 3 to 26 s have a median of 14.5 s."""
    result = result_of(tmp_path, Truth())
    assert value_of(result.metrics, "end_to_end_latency_ms_p50") == pytest.approx(14_500, rel=0.002)


def test_a_short_window_is_none_and_warned_of(tmp_path: Path, message: MakeMessage) -> None:
    """Two seconds of growth are its warm-up and its end; there is no rate to be had."""
    result = result_of(tmp_path, Truth(ticks=3))
    assert result.measured_window is None
    assert value_of(result.metrics, "indexing_rate_docs_per_s", "primaries") is None
    (warning,) = [warning for warning in result.warnings if warning.kind is WarningKind.SHORT_WINDOW]
    assert warning.seen == message(2, 3, 5)


def test_a_window_that_is_short_without_its_ends_says_what_is_left(tmp_path: Path, message: MakeMessage) -> None:
    """Eight seconds of growth would do, but not the four that remain of them."""
    (warning,) = [
        warning for warning in result_of(tmp_path, Truth(ticks=9)).warnings if warning.kind is WarningKind.SHORT_WINDOW
    ]
    assert warning.seen == message(4, 5, 3)


def test_growth_after_the_sink_has_read_all_is_not_told_as_long_enough(tmp_path: Path, message: MakeMessage) -> None:
    """Eight seconds of growth, of which the sink read for one: nothing is left between warm-up and end."""
    truth = Truth(ticks=9)
    read_s = truth.load_starts_s + truth.warm_up_s + 2

    def change(sample: Sample) -> dict[str, object]:
        all_read = {"records_read": truth.indexed if sample.at_s >= read_s else 1}
        return {"sink": sample.sink.model_copy(update=all_read)} if sample.sink else {}

    found = analyse(written(tmp_path, run(truth), with_samples(samples(truth), change))).result
    (warning,) = [warning for warning in found.warnings if warning.kind is WarningKind.SHORT_WINDOW]
    assert warning.seen == message("at most 0\u202fs (0 samples)", 5, 3)


def test_an_index_that_never_grew_has_no_rate(tmp_path: Path) -> None:
    """None, and not zero."""
    result = result_of(tmp_path, Truth(ticks=0))
    assert result.measured_window is None
    assert value_of(result.metrics, "indexing_rate_docs_per_s", "primaries") is None
    assert value_of(result.metrics, "indexing_latency_ms", "primaries") is None
    assert result.limited_by is None


def test_a_run_without_samples_has_a_result(tmp_path: Path) -> None:
    """Its books are worth reading even so."""
    result = result_of(tmp_path, Truth(), [])
    assert result.status == "verified"
    assert value_of(result.metrics, "indexing_rate_docs_per_s", "primaries") is None
    assert value_of(result.metrics, "lag_records_max") is None
    assert value_of(result.metrics, "merge_count", "primaries") is None


def restarted(sample: Sample, lost: ElasticsearchSample) -> dict[str, object]:
    """A sample after the server was killed: its counters and its CPU time began again."""
    assert sample.elasticsearch
    before, now = lost.primaries, sample.elasticsearch.primaries
    primaries = now.model_copy(
        update={
            "index_total": now.index_total - before.index_total,
            "index_time_ms": now.index_time_ms - before.index_time_ms,
        }
    )
    process: ProcessSample = sample.processes["elasticsearch-1"]
    return {
        "elasticsearch": sample.elasticsearch.model_copy(update={"primaries": primaries}),
        "processes": sample.processes
        | {"elasticsearch-1": process.model_copy(update={"pid": 4711, "cpu_s": process.cpu_s - 29 - 15.0})},
    }


def test_a_killed_server_is_told_and_the_sink_has_counted_meanwhile(tmp_path: Path, message: MakeMessage) -> None:
    """Killed 10 s into the load, back at 13 s: the sink's rate stands, and the CPU of both processes counts."""
    truth = Truth()
    sampled = samples(truth)
    killed_s = truth.load_starts_s + 10
    lost = sampled[truth.fill_s + 13].elasticsearch
    assert lost is not None

    def change(sample: Sample) -> dict[str, object]:
        if killed_s < sample.at_s < killed_s + 3:
            gone = {name: process for name, process in sample.processes.items() if name != "elasticsearch-1"}
            return {"elasticsearch": None, "processes": gone, "lost": {"elasticsearch": "ConnectError"}}
        return restarted(sample, lost) if sample.at_s >= killed_s + 3 else {}

    result = result_of(tmp_path, truth, with_samples(sampled, change))
    # Every document is stored in the end, those of the three seconds too, of which the new server's counter knows none.
    assert value_of(result.metrics, "indexing_rate_docs_per_s", "primaries") == pytest.approx(5003)
    assert value_of(result.metrics, "indexing_latency_ms", "primaries") == pytest.approx(0.31, rel=0.001)
    # 15 s until the last look at the old one; the new one has used 1.5 × 26 − 15 s since its start.
    assert value_of(result.metrics, "cpu_s_per_million_docs", "elasticsearch-1") == pytest.approx(
        (15 + 24) / truth.delivered * 1e6
    )
    assert {WarningKind.SERVER_RESTARTED, WarningKind.SAMPLES_LOST} <= kinds(result)
    assert [warning.seen for warning in result.warnings if warning.kind is WarningKind.SERVER_RESTARTED] == [
        message("elasticsearch-1")
    ]


def test_what_a_cluster_costs_is_the_sum_of_its_nodes(tmp_path: Path) -> None:
    """So that one node and several can be compared."""
    truth = Truth(cores=(("elasticsearch-1", 1.0), ("elasticsearch-2", 0.5), ("connect", 0.25)))
    result = result_of(tmp_path, truth, samples(truth))
    assert value_of(result.metrics, "cpu_s_per_million_docs", "elasticsearch") == pytest.approx(
        1.5 * truth.load_s / truth.delivered * 1e6
    )


def test_merges_after_the_load_are_charged_to_elasticsearch(tmp_path: Path) -> None:
    """They are work that the load has left behind; what the worker does meanwhile is none of it."""
    truth = Truth(cores=(("elasticsearch-1", 1.0), ("connect", 0.25)), settle_s=7)

    def change(sample: Sample) -> dict[str, object]:
        if sample.phase != "settle":
            return {}
        later_s = sample.at_s - START_S - truth.fill_s - truth.load_s
        return {
            "processes": {
                name: process.model_copy(update={"cpu_s": process.cpu_s + later_s})
                for name, process in sample.processes.items()
            }
        }

    before, after = (
        result_of(tmp_path / name, truth, sampled)
        for name, sampled in (("without", samples(truth)), ("with", with_samples(samples(truth), change)))
    )
    grown = {
        scope: value_of(after.metrics, "cpu_s_per_million_docs", scope)
        - value_of(before.metrics, "cpu_s_per_million_docs", scope)
        for scope in ("elasticsearch", "connect")
    }
    assert grown == {"elasticsearch": pytest.approx(7 / truth.delivered * 1e6), "connect": 0}


def test_lost_samples_are_counted_by_source(tmp_path: Path, message: MakeMessage) -> None:
    """Two without the sink, and one that was not taken at all."""
    truth = Truth()
    sampled = samples(truth)
    del sampled[20]
    result = result_of(
        tmp_path,
        truth,
        with_samples(sampled, lambda sample: {"lost": {"sink": "TimeoutError"}} if sample in sampled[12:14] else {}),
    )
    assert [warning.seen for warning in result.warnings if warning.kind is WarningKind.SAMPLES_LOST] == [
        message(23, 2, 1)
    ]


@pytest.mark.parametrize(
    ("target", "facts"),
    [
        ("local", ("./sluice up",)),
        ("compose", ()),
        ("remote", ()),
    ],
)
def test_dead_letters_are_looked_at_on_servers_that_still_run(
    tmp_path: Path, target: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Those that a run here has started itself are gone, and the dead letters with them."""
    made = run(Truth(dead_lettered=13))
    made = made.model_copy(update={"environment": made.environment.model_copy(update={"target": target})})
    result = analyse(written(tmp_path, made, samples(Truth(dead_lettered=13)))).result
    assert [warning.remedy for warning in result.warnings if warning.kind is WarningKind.DEAD_LETTERS] == [
        message(*facts, "./sluice dead-letters show", "./sluice dead-letters replay --update-mapping")
    ]


def test_the_result_is_written_as_it_is_returned(tmp_path: Path) -> None:
    """What programs read is what the caller has."""
    analysis = analyse(written(tmp_path, run(Truth()), samples(Truth())))
    write_result(analysis)
    assert Result.model_validate_json((tmp_path / "result.json").read_bytes()) == analysis.result


def test_the_result_fits_its_schema(tmp_path: Path) -> None:
    """The published schema describes the file that is written."""
    truth = Truth(dead_lettered=13)
    write_result(analyse(written(tmp_path, run(truth), samples(truth))))
    schema = orjson.loads((ROOT / "docs/result.schema.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(orjson.loads((tmp_path / "result.json").read_bytes()))


def test_the_published_schema_is_the_records() -> None:
    """Drawn again with: python -m lab.analysis.schema >docs/result.schema.json."""
    assert (ROOT / "docs/result.schema.json").read_text("utf-8") == json_schema(Result)


def test_every_metric_is_on_its_page_with_its_unit() -> None:
    """The page says of each metric what the report says; there, `_{p50,p99}` stands for two metrics."""
    page = (ROOT / "docs/metrics.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    heads = [(name.strip("`}").partition("{"), unit, meaning) for name, unit, _, meaning in rows]
    on_page = [
        (stem + share, unit, meaning, brace)
        for (stem, brace, all_), unit, meaning in heads
        for share in all_.split(",")
    ]
    assert on_page == [
        (of.name, of.unit, f"{of.meaning.rpartition(': ')[0]}." if brace else of.meaning, brace)
        for of, (*_, brace) in zip(DEFINITIONS, on_page, strict=True)
    ]


def test_every_metric_is_on_its_page_with_its_scopes() -> None:
    """What a bound of `--expect` may name."""
    page = (ROOT / "docs/metrics.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    on_page = {
        stem + share: scopes
        for (stem, _, all_), scopes in ((name.strip("`}").partition("{"), scopes) for name, _, scopes, _ in rows)
        for share in all_.split(",")
    }
    assert on_page == {of.name: ", ".join(kind.documented for kind in kinds_of(of.name)) for of in DEFINITIONS}


def test_nothing_is_said_to_limit_a_stream_in_stages(tmp_path: Path) -> None:
    """A drained stage and a paused cluster have limits of their own."""
    assert analyse(written(tmp_path, in_stages(Truth()), samples(Truth()))).result.limited_by is None


def test_every_definition_is_measured_and_no_figure_is_there_twice(tmp_path: Path) -> None:
    """Names and scopes together tell figures apart, and each scope is one that its metric may have."""
    ramp = (step(40.0, 76.8), step(62.5, 122.8))
    results = [
        result_of(tmp_path / "documents", Truth()),
        analysed(tmp_path / "queries", QueryTruth(rate_per_s=30.0, steps=ramp)).result,
        analyse(written(tmp_path / "indices", *into_indices(Truth(), 5, 3))).result,
        analyse(written(tmp_path / "deployed", deployed_run(), samples(Truth()))).result,
        analyse(written(tmp_path / "stages", in_stages(Truth()), samples(Truth()))).result,
    ]
    named = {metric.name for result in results for metric in result.metrics}
    of_an_empty_sink = {"consumed_rate_docs_per_s"}
    assert named == {definition.name for definition in DEFINITIONS} - of_an_empty_sink
    for result in results:
        assert len({(metric.name, metric.scope) for metric in result.metrics}) == len(result.metrics)
        assert [metric for metric in result.metrics if not is_scope_of(metric.name, metric.scope)] == []


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    """A run that was killed while writing keeps all of its whole samples."""
    written(tmp_path, run(Truth()), samples(Truth()))
    with (tmp_path / "samples.ndjson").open("ab") as file:
        file.write(b'{"at_s": 18000')
    assert analyse(tmp_path).result.measured_window is not None


def test_a_folder_that_is_no_runs_is_one_sentence(tmp_path: Path, message: MakeMessage) -> None:
    """It names the file and what to give instead."""
    with pytest.raises(ProfileError) as failure:
        analyse(tmp_path)
    assert str(failure.value) == message(f"{tmp_path}/run.json", "runs/latest")


def test_a_sample_that_is_none_is_told_by_its_line(tmp_path: Path, message: MakeMessage) -> None:
    """File, line, field."""
    written(tmp_path, run(Truth()), samples(Truth()))
    (tmp_path / "samples.ndjson").write_bytes(b'{"at_s": 1, "phase": "load"}\n{"phase": "load"}\n')
    with pytest.raises(ProfileError) as failure:
        analyse(tmp_path)
    assert str(failure.value) == message(f"{tmp_path}/samples.ndjson:2", "at_s")


def test_the_size_on_disk_is_never_that_of_a_sample(tmp_path: Path) -> None:
    """A run of an older version has only sizes out of a cache, which are as good as none."""
    made = run(Truth())
    older = made.model_copy(update={"store_size_bytes": {}})
    results = [
        analyse(written(tmp_path / str(place), which, samples(Truth()))).result
        for place, which in enumerate((made, older))
    ]
    assert [value_of(one.metrics, "store_size_bytes", "total") for one in results] == [
        2 * 503 * made.documents.indexed,
        None,
    ]


def test_latencies_of_the_sink_that_were_lost_are_warned_of(tmp_path: Path, message: MakeMessage) -> None:
    """A dash in the report would look like a sink that keeps none."""
    made = run(Truth())
    lost = SinkHistograms(record_age=None, bulk_service_time=None, lost="ReadTimeout: timed out")
    result = analyse(written(tmp_path, made.model_copy(update={"sink_histograms": lost}), samples(Truth()))).result
    assert [warning.seen for warning in result.warnings if warning.kind is WarningKind.SAMPLES_LOST] == [
        message(lost.lost)
    ]
