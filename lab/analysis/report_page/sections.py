"""Content of the sections of a run's report; `run.html` lays them out."""

from collections.abc import Iterator

from lab.analysis.figures.definitions import figure_of, label_of, value_of
from lab.analysis.text import UNKNOWN, bytes_text, clock_text, count, duration, figure, number
from lab.records.queries import QueryTimes, QuestionAnswers
from lab.records.result import Result
from lab.records.run import Run

Row = tuple[str, ...]

IF_KNOWN = ("data_to_cache_ratio", "request_cache_hit_share")
"""Of a run without a memory limit, or whose queries cannot be cached, there is nothing to be measured."""

DELAYS = ("index_delay_ms_p50", "index_delay_ms_p99")
OF_STAGES = ("catch_up_s", DELAYS[1], "limit_docs_per_s")
"""What a stream in stages is made for: its rate is a mean over all of them."""


def told_twice(result: Result) -> str | tuple[()]:
    """Beginnings of the names of delays that others tell better: the sink's own, if known, else those from outside."""
    if value_of(result.metrics, "end_to_end_latency_ms_p50") is not None:
        return "index_delay"
    return "end_to_end" if value_of(result.metrics, DELAYS[0]) is not None else ()


INDEX_METRICS = ("index_finish_s", "indexing_rate_docs_per_s", "indexing_latency_ms")


def index_loads(result: Result) -> list[Row]:
    """Each of several indices with its figures."""
    names = [metric.scope for metric in result.metrics if metric.name == "index_finish_s" and metric.scope != "run"]
    return [(name, *(figure_of(result, metric, name) for metric in INDEX_METRICS)) for name in names]


def questions(run: Run, result: Result) -> list[Row]:
    """Each question with its figures."""
    rows = []
    for question in run.questions:
        values = {metric.name: metric.value for metric in result.metrics if metric.scope == question.name}
        means = [number(values[f"{name}_per_answer"]) for name in ("books", "requests", "ids_joined")]
        times = [f"query_service_time_ms_{name}" for name in ("p50", "p90", "p99")]
        times_ms = [figure(values[name], "ms") for name in (*times, "query_took_ms_p50")]
        rows.append((question.name, count(question.answers), count(question.wrong), *means, *times_ms))
    return rows


def compared_text(
    compared: int,
    differing: int,
    first: str | None = None,
    *,
    why: str | None = None,
    left_out: int = 0,
    expected: bool = False,
) -> str:
    """Sentence on answers that were compared, and with what: with each other only, none is called right.

    Args:
        first: How the first of those that differ does so.
        why: Why no right answer could be computed; `None` if it could.
        left_out: Rejected documents, of which no right answer tells.
        expected: Whether the profile expects that they differ.
    """
    right = f"the first answer of this run to the same request ({why})" if why else "the dataset"
    if left_out:
        right += f" without the rejected documents (dead letters), which are {count(left_out)}"
    if not compared:
        return f"No answer was compared with {right}."
    such_as = f", such as {first}" if differing and first else ""
    as_expected = "; the profile expects that" if differing and expected else ""
    return f"{count(differing)} of {count(compared)} compared answers differ from {right}{such_as}{as_expected}."


def compared_questions(run: Run) -> Iterator[str]:
    """A sentence for each question of a run with answers that are not simply right or wrong."""
    sent = run.query_load.questions if run.query_load else ()
    questions: list[QuestionAnswers | QueryTimes] = [*run.questions, *sent]
    for each in questions:
        has_left_out = isinstance(each, QuestionAnswers) and each.left_out
        if each.not_computed or has_left_out or (each.wrong and each.expected_wrong):
            yield f"{each.name}: {question_verdict(each)}"


def question_verdict(question: QuestionAnswers | QueryTimes) -> str:
    """Sentence on the answers to a question."""
    if isinstance(question, QuestionAnswers):
        compared, left_out = question.answers, question.left_out
    else:
        compared, left_out = question.checked, 0
    return compared_text(
        compared,
        question.wrong,
        question.first_wrong,
        why=question.not_computed,
        left_out=left_out,
        expected=question.expected_wrong,
    )


COST_METRICS = ("cpu_s_per_million_docs", "cpu_cores_mean", "rss_bytes_max", "disk_write_bytes", "major_page_faults")
COST_COLUMNS = ("process", *map(label_of, COST_METRICS))


def processes(result: Result) -> list[Row]:
    """CPU, memory and disk by process, the busiest first; a single node of Elasticsearch stands for all of it."""
    names = {metric.scope for metric in result.metrics if metric.name in {"rss_bytes_max", "cpu_s_per_million_docs"}}
    if sum(name.startswith("elasticsearch-") for name in names) == 1:
        names.discard("elasticsearch")
    names.discard("sender")  # it is there under its own name, too
    busiest_first = sorted(names, key=lambda name: (-(value_of(result.metrics, COST_METRICS[0], name) or 0), name))
    return [(name, *(figure_of(result, metric, name) for metric in COST_METRICS)) for name in busiest_first]


def drivers(run: Run) -> list[Row]:
    """Each driver of a stream from other hosts: its clock, what it delivered, and how fast Kafka acknowledged it."""
    return [
        (
            f"{driver.share}/{len(run.drivers)}",
            driver.host or "started by hand",
            f"{clock_text(driver.clock)} the {driver.clock_of}'s" if driver.clock else UNKNOWN,
            count(driver.delivered),
            count(driver.late_documents),
            *(figure(driver.latency_ms.get(name), "ms") for name in ("p50", "p99")),
        )
        for driver in run.drivers
    ]


MACHINE_METRICS = (
    "machine_cpu_percent_mean",
    "machine_steal_percent_mean",
    "other_cpu_percent_mean",
    "probe_slowdown",
)


def machine_cpu(result: Result) -> str:
    """Line of the machine's CPU metrics; empty where none is known."""
    known = [name for name in MACHINE_METRICS if value_of(result.metrics, name) is not None]
    text = ", ".join(f"{label_of(name).lower()} {figure_of(result, name)}" for name in known)
    span = "In the measured window" if result.measured_window else "During the load"
    return f"{span}: {text}." if text else ""


def index_work(result: Result) -> list[Row]:
    """Background work on primaries: how often, and how long."""
    values = {metric.name: metric.value for metric in result.metrics if metric.scope == "primaries"}
    return [
        ("Merges", count(values.get("merge_count")), _time(values.get("merge_time_ms"))),
        ("Merges throttled", "", _time(values.get("merge_throttled_time_ms"))),
        ("Refreshes", count(values.get("refresh_count")), _time(values.get("refresh_time_ms"))),
        ("Flushes", count(values.get("flush_count")), _time(values.get("flush_time_ms"))),
        ("Indexing throttled", "", _time(values.get("indexing_throttle_time_ms"))),
    ]


def nodes(result: Result) -> list[Row]:
    """Heap, garbage collection and rejections by Elasticsearch node."""
    rows = []
    for node in (metric.scope for metric in result.metrics if metric.name == "heap_used_bytes_max"):
        values = {metric.name: metric.value for metric in result.metrics if metric.scope == node}
        collections = (
            f"{count(values.get(f'gc_{generation}_count'))} in {_time(values.get(f'gc_{generation}_time_ms'))}"
            for generation in ("young", "old")
        )
        rows.append(
            (node, bytes_text(values["heap_used_bytes_max"]), *collections, count(values.get("write_rejected")))
        )
    return rows


def _time(milliseconds: float | None) -> str:
    return duration(None if milliseconds is None else milliseconds / 1000)


def phases(result: Result) -> list[Row]:
    """Wall time of each phase, and of the whole run."""
    walls = [(phase.name, duration(phase.ended_s - phase.started_s)) for phase in result.phases]
    return [*walls, ("whole run", duration(result.ended_s - result.started_s))]
