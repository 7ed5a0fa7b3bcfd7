"""Rally's reports: read in every form, refused where two measured unlike things, and written of our own runs."""

import json
from pathlib import Path

import pytest

from lab.analysis.figures.definitions import value_of
from lab.analysis.rally.beside import Beside, beside
from lab.analysis.rally.of_run import rally_lines, running_rates
from lab.analysis.rally.summary import HEAD, Line, csv_text, markdown_text, read_summary
from lab.analysis.result import analyse
from lab.errors import ProfileError
from lab.records.samples import Sample
from tests.unit.analysis.query_truth import PROFILE, QueryTruth, query_run, query_samples
from tests.unit.analysis.synthetic import Truth, run, samples, through_rally, with_samples, written
from tests.unit.messages import MakeMessage

HERE = Path(__file__).parent
OLDER, NEWER = HERE / "dense-vector-8.17.4.md", HERE / "dense-vector-9.0.0.md"


def rows() -> list[Beside]:
    """The published comparison of two versions, row by row."""
    return beside(read_summary(OLDER), read_summary(NEWER))


def row(metric: str, task: str) -> Beside:
    """One row of it."""
    return next(each for each in rows() if (each.metric, each.task) == (metric, task))


def test_rows_about_clusters_with_other_data_are_refused() -> None:
    """One cluster held 38 GB of other indices, too: every row about a whole cluster, and no other, is refused."""
    refused = [each for each in rows() if each.refused]

    assert {each.task for each in refused} == {""}
    assert [each for each in rows() if not each.task and not each.refused] == []
    assert len(refused) == 44
    assert {each.refused for each in refused} == {
        "counts all indices of the cluster, which held 38.3 and 1.33 GB (dataset size)"
    }


@pytest.mark.parametrize(
    ("metric", "task", "percent"),
    [
        ("Mean Throughput", "index-append", 23),
        ("Mean Throughput", "index-update-concurrent-with-searches", -43),
        ("Mean Throughput", "knn-search-100-1000-concurrent-with-indexing", -55),
        ("Mean Throughput", "knn-search-10-100", 68),
        ("Mean Throughput", "knn-search-100-1000", 10),
        ("100th percentile service time", "force-merge", 78),
    ],
)
def test_rows_of_one_task_are_compared(metric: str, task: str, percent: int) -> None:
    """What the published text tells of them, and what it does not."""
    change = row(metric, task).change

    assert change is not None
    assert round(100 * change) == percent


def test_latency_without_a_rate_is_told_to_be_the_service_time(message: MakeMessage) -> None:
    """It is no second measurement."""
    assert row("90th percentile latency", "knn-search-10-100").note == message()
    assert row("90th percentile service time", "knn-search-10-100").note == ""


def test_clusters_with_the_same_data_are_compared_as_a_whole() -> None:
    """Within 5 % of their size."""
    first = [Line("Dataset size", "", 10.0, "GB"), Line("Segment count", "", 7.0, "")]
    second = [Line("Dataset size", "", 10.4, "GB"), Line("Segment count", "", 14.0, "")]

    assert [(each.change, each.refused) for each in beside(first, second)] == [(pytest.approx(0.04), None), (1.0, None)]


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([Line("error rate", "index", 0, "%")], [], "only in the first"),
        ([], [Line("error rate", "index", 0, "%")], "only in the second"),
        (
            [Line("Mean Throughput", "a", 1, "docs/s")],
            [Line("Mean Throughput", "a", 1, "ops/s")],
            "in docs/s and ops/s",
        ),
        (
            [Line("Segment count", "", 7.0, "")],
            [Line("Segment count", "", 7.0, "")],
            "counts all indices of the cluster, and one of the two does not say how much it held (dataset size)",
        ),
    ],
)
def test_a_row_that_cannot_be_compared_says_why(first: list[Line], second: list[Line], reason: str) -> None:
    """Nothing is compared because its name is alike."""
    assert [(each.refused, each.change) for each in beside(first, second)] == [(reason, None)]


@pytest.mark.parametrize(("suffix", "text"), [(".csv", csv_text), (".md", markdown_text)])
def test_what_is_written_is_read_again(tmp_path: Path, suffix: str, text: object) -> None:
    """All digits in CSV, six in Markdown, as Rally's own."""
    lines = read_summary(OLDER)
    file = tmp_path / f"report{suffix}"
    file.write_text(text(lines), "utf-8", newline="")  # type: ignore[operator]

    assert read_summary(file) == lines
    assert file.read_text("utf-8").replace("|", ",").replace(" ", "").lstrip(",").startswith(",".join(HEAD))


def test_a_race_is_read_in_the_units_of_its_report(tmp_path: Path) -> None:
    """Milliseconds become minutes or seconds, bytes GB, shares percent; percentiles have dots again."""
    file = tmp_path / "race.json"
    results = {
        "total_time": 90_000,
        "total_time_per_shard": {"min": 30_000, "median": 45_000, "max": 60_000, "unit": "ms"},
        "young_gc_time": 1500,
        "store_size": 3 * 1024**3,
        "segment_count": 7,
        "op_metrics": [
            {
                "task": "index",
                "operation": "bulk",
                "throughput": {"min": 1, "mean": 2, "median": 3, "max": 4, "unit": "docs/s"},
                "service_time": {"50_0": 5.0, "99_9": 9.0, "100_0": 10.0, "mean": 6.0, "unit": "ms"},
                "error_rate": 0.25,
            }
        ],
    }
    file.write_text(json.dumps({"race-id": "x", "results": results}), "utf-8")

    assert read_summary(file) == [
        Line("Cumulative indexing time of primary shards", "", 1.5, "min"),
        Line("Min cumulative indexing time across primary shards", "", 0.5, "min"),
        Line("Median cumulative indexing time across primary shards", "", 0.75, "min"),
        Line("Max cumulative indexing time across primary shards", "", 1.0, "min"),
        Line("Total Young Gen GC time", "", 1.5, "s"),
        Line("Store size", "", 3.0, "GB"),
        Line("Segment count", "", 7.0, ""),
        Line("Min Throughput", "index", 1, "docs/s"),
        Line("Mean Throughput", "index", 2, "docs/s"),
        Line("Median Throughput", "index", 3, "docs/s"),
        Line("Max Throughput", "index", 4, "docs/s"),
        Line("50th percentile service time", "index", 5.0, "ms"),
        Line("99.9th percentile service time", "index", 9.0, "ms"),
        Line("100th percentile service time", "index", 10.0, "ms"),
        Line("error rate", "index", 25.0, "%"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "Metric,Task,Value,Unit\nSegment count,,many,\n", 'a.csv:2: Value: got "many", expected a number'),
        ("a.csv", "one,two\n", "a.csv: no summary of Rally's: expected rows under Metric, Task, Value, Unit"),
        ("race.json", "{", "race.json: not JSON"),
        ("race.json", '{"results": {"op_metrics": [7]}}', "race.json: results: not as Rally 2.12 writes them"),
        ("a.csv", "Metric,Task,Value,Unit\nDataset size,,inf,GB\n", 'a.csv:2: Value: got "inf", expected a number'),
        ("a.md", "x" * 200_000 + "\n", "a.md: cannot be read"),
        ("a.csv", 2 * "Metric,Task,Value,Unit\nSegment count,,7,\n", "a.csv: 1 rows stand twice, expected one report"),
        ("race.json", "[" * 200_000, "race.json: cannot be read"),
        (
            "race.json",
            '{"results": {"op_metrics": [{"task": "a", "throughput": {"mean": "5"}}]}}',
            'race.json: Mean Throughput a: Value: got "5", expected a number',
        ),
        ("race.json", "[]", "race.json: no summary of Rally's"),
    ],
)
def test_what_is_no_summary_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    """With the file, and the line where there is one."""
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(ProfileError) as refusal:
        read_summary(tmp_path / name)
    assert str(refusal.value).startswith(f"{tmp_path}/{message}")


def test_a_run_in_rallys_words_has_its_own_figures(tmp_path: Path) -> None:
    """Of its own index alone, in Rally's units."""
    analysis = analyse(written(tmp_path, run(Truth()), samples(Truth())))
    told = {(line.metric, line.task): (line.value, line.unit) for line in rally_lines(analysis)}
    last = analysis.windows.run[-1].elasticsearch
    assert last

    assert told["Cumulative indexing time of primary shards", ""] == (last.primaries.index_time_ms / 60_000, "min")
    assert told["Segment count", ""] == (last.primaries.segments_count, "")
    rate = value_of(analysis.result.metrics, "indexing_rate_docs_per_s", "primaries")
    assert told["Mean Throughput", "index-append"] == (rate, "docs/s")


def test_a_race_and_its_report_say_the_same() -> None:
    """Of Rally 2.13.0 on Elasticsearch 7.17.7, one bulk task; the report rounds what was measured of the task."""
    report, whole = (
        {(line.metric, line.task, line.unit): line.value for line in read_summary(HERE / name)}
        for name in ("index-append.csv", "index-append-race.json")
    )

    assert report.keys() == whole.keys()
    assert {key: pytest.approx(value, abs=0.005) for key, value in whole.items()} == report
    assert len(report) == 57


def test_a_run_that_rally_loaded_has_the_rows_of_rallys_own_report(tmp_path: Path) -> None:
    """As far as counters tell them: least, median and largest of one shard are that shard's, sizes have replicas."""
    made, seen = through_rally(Truth(replicas=1))
    analysis = analyse(written(tmp_path, made, seen))
    ours = {(line.metric, line.task): line for line in rally_lines(analysis)}
    own = {(line.metric, line.task): line for line in read_summary(HERE / "index-append.csv")}

    assert ours.keys() <= own.keys()
    assert {key: line.unit for key, line in ours.items()} == {key: own[key].unit for key in ours}
    only_rallys = {metric for metric, task in own.keys() - ours.keys() if not task}
    assert {metric.partition(" for ")[0] for metric in only_rallys} == {
        "Heap used",
        "Total Ingest Pipeline count",
        "Total Ingest Pipeline time",
        "Total Ingest Pipeline failed",
    }
    last = analysis.windows.load[-1].elasticsearch
    assert last
    assert ours["Max cumulative merge time across primary shards", ""].value == last.primaries.merges_time_ms / 60_000
    for size in ("Dataset size", "Store size"):
        assert ours[size, ""].value == last.total.store_size_bytes / 1024**3


def test_counters_that_change_after_rally_has_read_them_are_not_counted(tmp_path: Path) -> None:
    """Verification refreshes the index; two seconds after the load Rally has read everything."""
    made, seen = through_rally(Truth())

    def refreshed(sample: Sample) -> dict[str, object]:
        elasticsearch = sample.elasticsearch
        if sample is not seen[-1] or elasticsearch is None:
            return {}
        later = elasticsearch.primaries.model_copy(update={"segments_count": 7919})
        return {"elasticsearch": elasticsearch.model_copy(update={"primaries": later})}

    told = rally_lines(analyse(written(tmp_path, made, with_samples(seen, refreshed))))

    assert seen[-1].at_s > seen[-4].at_s + 2
    assert next(line.value for line in told if line.metric == "Segment count") != 7919


def test_throughput_is_the_rate_since_the_task_began() -> None:
    """5,003 documents in the first second and 1,009 in the next: 5,003/s, then 3,006/s."""
    _, seen = through_rally(Truth())

    def at(place: int, indexed: int) -> Sample:
        elasticsearch = seen[place].elasticsearch
        assert elasticsearch
        primaries = elasticsearch.primaries.model_copy(update={"index_total": indexed})
        return seen[place].model_copy(
            update={"elasticsearch": elasticsearch.model_copy(update={"primaries": primaries})}
        )

    load = [at(place, indexed) for place, indexed in enumerate((0, 0, 5003, 6012, 6012))]
    assert running_rates(load) == pytest.approx([5003.0, 3006.0])
    assert running_rates(load[:2]) == []


def test_questions_are_tasks_in_rallys_words(tmp_path: Path) -> None:
    """340 answers of 20 to 80 ms: p99.9 would be a maximum by another name, for Rally as for us."""
    folder = written(tmp_path, query_run(QueryTruth()), query_samples(QueryTruth()), PROFILE)
    told = {line.metric: line.value for line in rally_lines(analyse(folder)) if line.task == "rating"}

    assert told["Mean Throughput"] == pytest.approx(20.0)
    assert told["50th percentile service time"] == pytest.approx(40.0, rel=0.001)
    assert told["99th percentile latency"] == told["99th percentile service time"] == pytest.approx(80.0, rel=0.01)
    assert told["error rate"] == 0.0
    assert "99.9th percentile service time" not in told


def test_rows_of_our_index_are_told_from_those_of_a_cluster(message: MakeMessage) -> None:
    """A run beside a report: not the same data. Two runs: what they differ in is what was compared."""
    first, second = [Line("Dataset size", "", 1.0, "GB")], [Line("Dataset size", "", 2.0, "GB")]

    assert [each.refused for each in beside(first, second, of_rally=1)] == [message(1, 2)]
    assert [each.change for each in beside(first, second, of_rally=0)] == [1.0]
