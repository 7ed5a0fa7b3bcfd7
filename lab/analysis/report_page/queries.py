"""Section of a report on a query load: its loop, its times, its answers."""

from collections.abc import Iterable

from lab.analysis.figures.definitions import figure_of, value_of
from lab.analysis.report_page.sections import Row, compared_text, question_verdict
from lab.analysis.text import NARROW_SPACE, UNKNOWN, bytes_text, count, duration, figure, number, quantity
from lab.records.queries import QueryLoadResult, RampStep
from lab.records.result import Result
from lab.records.run import Layout, Run

ALL = "all of them"
TIMES = ("mean", "p50", "p90", "p99", "p99_9", "max")
COST_METRICS = {
    "query_cpu_ms": "CPU per query",
    "query_read_bytes": "read per query",
    "query_major_faults": "major faults per query",
    "query_read_bytes_per_s": "read",
    "query_major_faults_per_min": "major faults",
    "page_cache_bytes_mean": "page cache",
}


def times_name(load: QueryLoadResult) -> str:
    """Name of the queries' times: latency or service time."""
    return "Latency" if load.is_open_loop else "Service time"


def questions_text(load: QueryLoadResult) -> str:
    """`7 questions`."""
    return quantity(len(load.questions), "question")


def clients_text(load: QueryLoadResult) -> str:
    """Clients and loop: `8 clients in a closed loop, each 5 s after its answer`."""
    clients = quantity(load.clients, "client")
    if load.steps:
        return f"at most {clients} in an open loop whose rate rose step by step"
    if load.rate_per_s is not None:
        return f"at most {clients} in an open loop, {number(load.rate_per_s)} queries due per second"
    if not load.think_time_s:
        return f"{clients} in a closed loop, each query sent as soon as the one before it was answered"
    return f"{clients} in a closed loop, each query sent {duration(load.think_time_s)} after the answer before it"


def asked_about(load: QueryLoadResult) -> str:
    """Part of the data that each query asked about."""
    if load.window_s is None:
        return "all of the data"
    documents = load.window_documents_mean
    window = window_text(load.window_s)
    holds = f" ({number(documents)} documents on average)" if documents is not None else ""
    if load.window_place == "newest":
        return f"the newest {window} of the data{holds}"
    within = load.window_within
    share = f" the oldest {number(100 * within)} % of" if within is not None and within < 1 else ""
    return f"{window} drawn from{share} the data{holds}"


def window_text(window_s: float) -> str:
    """A length of the documents' own time: `15 min`, `90 s`."""
    whole, rest = divmod(window_s, 60)
    return f"{number(whole)}{NARROW_SPACE}min" if whole >= 2 and not rest else duration(window_s)


def answers_text(load: QueryLoadResult) -> str:
    """Sentence on the answers compared with the dataset, and one for each question of which none could be."""
    known = [each for each in load.questions if not each.not_computed]
    wrong = next((each for each in known if each.wrong and not each.expected_wrong), None)
    told = compared_text(
        sum(each.checked for each in known),
        sum(each.wrong for each in known),
        f"`{wrong.name}`: {wrong.first_wrong}" if wrong else None,
        expected=wrong is None,
    )
    apart = [f"`{each.name}`: {question_verdict(each)}" for each in load.questions if each.not_computed]
    return " ".join([*([told] if known else []), *apart])


def load_pairs(load: QueryLoadResult) -> list[tuple[str, str]]:
    """Names and values of a load: what it asked about, how many clients were busy, how new the documents were."""
    lag = load.searchable_lag_s
    return [
        ("Each query asked about", asked_about(load)),
        ("Request cache", "on" if load.request_cache else "off"),
        ("Clients with a query under way", f"{number(load.clients_busy_mean)} of {load.clients} on average"),
        *(
            [("Newest searchable document", f"{duration(lag)} behind the newest in Kafka on average")]
            if lag is not None
            else []
        ),
    ]


# --- tables ---------------------------------------------------------------------------------------------------------


def times_rows(result: Result, load: QueryLoadResult) -> list[Row]:
    """Each question with its times, and all of them together."""
    rows = [(each.name, *_times(result, load.times_metric, each.name)) for each in load.questions]
    return rows if len(rows) == 1 else [*rows, (ALL, *_times(result, load.times_metric, "run"))]


def _times(result: Result, stem: str, scope: str) -> Row:
    return (
        count(value_of(result.metrics, "query_requests", scope)),
        count(value_of(result.metrics, "query_errors", scope)),
        number(value_of(result.metrics, "query_rate_per_s", scope)),
        *(figure_of(result, f"{stem}_{name}", scope) for name in TIMES),
        figure_of(result, "query_took_ms_p50", scope),
    )


def answers_rows(load: QueryLoadResult) -> list[Row]:
    """Each question with how much of its answers is right."""
    return [
        (
            each.name,
            number(each.hits_mean),
            count(each.checked),
            count(each.wrong)
            + (" (expected)" if each.wrong and each.expected_wrong else "")
            + (" differ from the first" if each.not_computed else ""),
            _share(each.rows_right),
            _share(each.values_right),
        )
        for each in load.questions
    ]


def question_pairs(load: QueryLoadResult) -> list[tuple[str, str]]:
    """Each question in words, with the first wrong answer to it."""
    return [
        (each.name, each.question + (f" The first wrong answer: {each.first_wrong}." if each.first_wrong else ""))
        for each in load.questions
    ]


def _share(share: float | None) -> str:
    return UNKNOWN if share is None else f"{number(100 * share)} %"


def cost_table(result: Result) -> tuple[Row, list[Row]]:
    """Table of the queries' cost by process: head and rows, with the columns that are known of any."""
    known = [metric for metric in result.metrics if metric.name in COST_METRICS and metric.value is not None]
    names = [name for name in COST_METRICS if any(metric.name == name for metric in known)]
    scopes = sorted({metric.scope for metric in known})
    rows = [(scope, *(figure_of(result, name, scope) for name in names)) for scope in scopes]
    return ("process", *(COST_METRICS[name] for name in names)), rows


def steps_rows(steps: Iterable[RampStep]) -> list[Row]:
    """The steps of a ramp."""
    return [
        (
            number(step.rate_per_s),
            number(step.answered / (step.ended_s - step.started_s)) if step.ended_s > step.started_s else UNKNOWN,
            count(step.errors),
            figure(step.latency_ms.get("p50"), "ms"),
            figure(step.latency_ms.get("p99"), "ms"),
        )
        for step in steps
    ]


# --- the kept index -------------------------------------------------------------------------------------------------

ROUTES = {
    "loaded": "loaded with the settings that it has",
    "reindexed": "reindexed by a client from an index with another codec",
    "rewritten": "closed, given another codec, opened and force-merged",
}


def layout_pairs(run: Run, layout: Layout) -> list[tuple[str, str]]:
    """Names and values of a kept index: origin, route, segments, codec, layout."""
    codecs = ", ".join(f"{mode} in {count(segments)}" for mode, segments in layout.codecs.items())
    made = "made by this run" if layout.made_by == run.run_id else f"made and verified by run {layout.made_by}"
    size = run.store_size_bytes.get("primaries")
    return [
        ("Index", f"{run.index}: {made} in {duration(layout.made_in_s)}, and kept for runs with the same layout"),
        ("Route", f"{layout.route}: {ROUTES.get(layout.route, 'unknown to this version')}"),
        ("Segments", count(layout.segments) + ("" if size is None else f", {bytes_text(size)} on primaries")),
        ("Codec of stored fields", f"{codecs} segments" if codecs else UNKNOWN),
        ("Layout", layout.fingerprint),
    ]


def section(run: Run, result: Result, load: QueryLoadResult) -> dict[str, object]:
    """Values for `queries.html`, charts aside."""
    cost_head, cost = cost_table(result)
    return {
        # Of queries alone, the page says on top who sent them and what was right.
        "headline": ""
        if run.load == "query"
        else f"{questions_text(load)} by {clients_text(load)}, while documents streamed. {answers_text(load)}",
        "load": load_pairs(load),
        "times_name": times_name(load),
        "times": times_rows(result, load),
        "answers_rows": answers_rows(load),
        "pairs": question_pairs(load),
        "errors": [(each.name, kind, count(times)) for each in load.questions for kind, times in each.errors.items()],
        "cost_head": cost_head,
        "cost": cost,
        "layout": layout_pairs(run, run.layout) if run.layout else None,
    }
