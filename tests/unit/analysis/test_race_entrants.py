"""A direct load and an empty sink in result, report and terminal: what is comparable with a drain, and what is not."""

from pathlib import Path

from rich.console import Console

from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.rates import consumed_rate_docs_per_s
from lab.analysis.figures.windows import windows
from lab.analysis.report_page.key_figures import hero
from lab.analysis.report_page.report import write_report
from lab.analysis.report_page.terminal import figure_rows, terminal_table
from lab.analysis.result import RunAnalysis, analyse
from lab.records.result import Result
from lab.records.samples import Sample, ShardCounters
from lab.records.verification import Verification
from tests.unit.analysis.synthetic import Truth, directly, run, samples, through_rally, with_samples, written
from tests.unit.messages import MakeMessage

TRUTH = Truth()
COMPARABLE = (
    ("indexing_rate_docs_per_s", "primaries"),
    ("indexing_latency_ms", "primaries"),
    ("source_mb_per_s", "run"),
    ("entities_per_s", "run"),
    ("drain_s", "run"),
    ("cpu_s_per_million_docs", "elasticsearch-1"),
)
OF_KAFKA = {
    "delivery_rate_docs_per_s",
    "delivery_latency_ms_p50",
    "end_to_end_latency_ms_p99",
    "lag_records_max",
}


def analysed(folder: Path) -> tuple[Result, Result]:
    """The result of a drain, and that of the same load sent directly."""
    drained = analyse(written(folder / "drain", run(TRUTH), samples(TRUTH))).result
    return drained, analyse(written(folder / "direct", *directly(TRUTH))).result


def test_a_direct_loads_figures_are_those_of_a_drain(tmp_path: Path) -> None:
    """Same window, same definitions: their quotient means something."""
    drained, direct = analysed(tmp_path)

    assert direct.measured_window == drained.measured_window
    for name, scope in COMPARABLE:
        assert value_of(direct.metrics, name, scope) == value_of(drained.metrics, name, scope) is not None, name


def test_what_only_kafka_has_is_not_there(tmp_path: Path) -> None:
    """Neither as a zero nor as a figure that was not measured."""
    drained, direct = analysed(tmp_path)

    assert {metric.name for metric in drained.metrics} >= OF_KAFKA
    assert not OF_KAFKA & {metric.name for metric in direct.metrics}
    assert "producer" not in {metric.scope for metric in direct.metrics}
    assert (direct.documents.delivered, direct.documents.failed, direct.documents.dead_lettered) == (None, None, None)


def test_bulk_figures_come_from_the_connections(tmp_path: Path) -> None:
    """The load counts them itself, since nobody samples it."""
    _, direct = analysed(tmp_path)

    assert value_of(direct.metrics, "bulk_requests") == 101
    assert value_of(direct.metrics, "bulk_requests_failed") == 3
    assert value_of(direct.metrics, "item_retries") == 7
    assert value_of(direct.metrics, "bulk_size_docs_mean") == TRUTH.indexed / 101


def test_report_and_terminal_speak_of_no_kafka(tmp_path: Path) -> None:
    """The first sentence says how the documents came in; the books have one law; no chart is empty."""
    _, direct = analysed(tmp_path)

    page = write_report(analyse(tmp_path / "direct")).read_text("utf-8")
    assert "sent as ready-made bulk requests over 2 connections, without Kafka and Kafka Connect, straight to" in page
    assert '<span class="balances">✓</span> <span><b>115,069</b> documents made ready = ' in page
    assert "delivered" not in page
    assert "Not measured" not in page
    console = Console(width=80, record=True, file=(tmp_path / "terminal").open("w"))
    console.print(terminal_table(direct))
    text = console.export_text()
    assert ("Produced" in text, "Delivered" in text, "Dead-lettered" in text) == (True, False, False)


def test_report_and_result_say_that_requests_were_of_one_shard(tmp_path: Path) -> None:
    """A mixed load, and a drain, are told apart from it."""
    drained, mixed = analysed(tmp_path)
    made, sampled = directly(TRUTH)
    load = made.direct.model_copy(update={"bulk_by_shard": True}) if made.direct else None
    analysis = analyse(written(tmp_path / "by shard", made.model_copy(update={"direct": load}), sampled))

    assert (drained.bulk_by_shard, mixed.bulk_by_shard, analysis.result.bulk_by_shard) == (None, False, True)
    page = write_report(analysis).read_text("utf-8")
    assert "requests of one shard each, to the node of its primary, over 2 connections, without Kafka" in page


def of_an_empty_sink(folder: Path, truth: Truth) -> RunAnalysis:
    """A run whose sink reads all, and stores nothing."""
    made = run(truth)
    consumed = made.model_copy(
        update={
            "verification": Verification(verified=True, expect="consumed", problems=()),
            "documents": made.documents.model_copy(update={"indexed": 0, "dropped": truth.indexed, "sampled": 0}),
        }
    )
    empty = ShardCounters(**dict.fromkeys(ShardCounters.model_fields, 0))

    def unindexed(sample: Sample) -> dict[str, object]:
        assert sample.elasticsearch is not None
        return {"elasticsearch": sample.elasticsearch.model_copy(update={"primaries": empty, "total": empty})}

    return analyse(written(folder, consumed, with_samples(samples(truth), unindexed)))


def test_an_empty_sink_without_a_measured_window_has_no_rate(tmp_path: Path) -> None:
    """The few samples of a short load tell none, as of one that stores."""
    analysis = of_an_empty_sink(tmp_path, Truth(ticks=7))
    assert analysis.result.measured_window is None
    top = hero(analysis.folder.run, analysis.result)
    assert (top.label, top.value) == ("Consumed rate", "not measured")
    assert "Consumed rate" not in {label for label, _, _ in figure_rows(analysis.result, ())}


def test_an_empty_sink_is_measured_by_what_it_reads(tmp_path: Path) -> None:
    """Its own count grows by 5,003 a second, so that is its rate; Elasticsearch, which gets nothing, has none."""
    analysis = of_an_empty_sink(tmp_path, TRUTH)
    result = analysis.result

    assert value_of(result.metrics, "consumed_rate_docs_per_s") == TRUTH.docs_per_tick
    assert "indexing_rate_docs_per_s" not in {metric.name for metric in result.metrics}
    assert result.measured_window is not None
    assert result.measured_window.ended_s - result.measured_window.started_s == TRUTH.ticks - 2 - 3
    assert "driver_limited" not in {warning.kind.value for warning in result.warnings}
    page = write_report(analysis).read_text("utf-8")
    assert "were put into Kafka and then read by a sink that stores nothing" in page
    assert "The sink committed all 115,069 records, and nothing is in the index." in page
    assert '<abbr title="read and discarded, as this sink should">dropped</abbr>' in page
    assert "Consumed rate" in page


def test_what_a_sink_without_a_ledger_has_read_is_what_it_has_committed() -> None:
    """Other people's sinks keep no count of ours."""
    seen = with_samples(samples(TRUTH), lambda _: {"sink": None})
    window = windows(seen, "consumed").growing

    assert consumed_rate_docs_per_s(window) == TRUTH.docs_per_tick


def test_connections_that_leave_elasticsearch_idle_are_named_as_the_limit(tmp_path: Path, message: MakeMessage) -> None:
    """Then the rate is not Elasticsearch's own, and a warning says so."""
    idle = Truth(machine_cpu_percent=53.0, write_threads=4, write_active=1)

    result = analyse(written(tmp_path, *directly(idle))).result

    assert result.limited_by is not None
    assert (result.limited_by.stage, result.limited_by.evidence) == ("sender", message(25, 53))
    assert "driver_limited" in {warning.kind.value for warning in result.warnings}


def test_a_load_through_rally_is_told_as_such_with_the_cpu_of_all_its_processes(
    tmp_path: Path, message: MakeMessage
) -> None:
    """Its requests are in no figure: only Rally has seen them. The sender's CPU has one name whoever sends."""
    idle = Truth(machine_cpu_percent=53.0, write_threads=4, write_active=1)
    analysis = analyse(written(tmp_path / "rally", *through_rally(idle)))
    result = analysis.result
    direct = analyse(written(tmp_path / "direct", *directly(idle))).result

    names = {(metric.name, metric.scope): metric.value for metric in result.metrics}
    assert names["cpu_s_per_million_docs", "sender"] == names["cpu_s_per_million_docs", "rally"] is not None
    assert "bulk_service_time_ms_p50" not in {name for name, _ in names}
    assert value_of(direct.metrics, "bulk_service_time_ms_p50", "run") is not None
    assert result.limited_by is not None
    assert result.limited_by.evidence == message(25, 53)
    assert "sent by 3 clients of Rally 2.13.0&#39;s bulk task" in write_report(analysis).read_text().replace(
        "'", "&#39;"
    )


def test_servers_that_no_document_passed_have_no_cost_per_document(tmp_path: Path) -> None:
    """An idle worker's half a second would be compared from run to run, and differ by half."""
    direct = analyse(written(tmp_path / "direct", *directly(TRUTH))).result
    drained = analyse(written(tmp_path / "drain", run(TRUTH), samples(TRUTH))).result

    def costs(result: Result) -> set[str]:
        return {metric.scope for metric in result.metrics if metric.name == "cpu_s_per_million_docs"}

    assert {"connect", "kafka"} <= {metric.scope for metric in direct.metrics if metric.name == "cpu_cores_mean"}
    assert costs(drained) >= {"connect", "kafka", "elasticsearch"}
    assert costs(direct) == {"elasticsearch-1", "elasticsearch"}
