"""The figures on top of a run's report: the one that the run was made for, and those beside it."""

from typing import NamedTuple

from lab.analysis.figures.badges import badges
from lab.analysis.figures.definitions import figure_of, label_of, meaning_of, value_of
from lab.analysis.figures.limits import requested_rate_docs_per_s
from lab.analysis.figures.load_figures import is_measured, load_figures
from lab.analysis.figures.warnings import shortfall
from lab.analysis.report_page.sections import DELAYS, IF_KNOWN, OF_STAGES, told_twice
from lab.analysis.report_page.summary import window_phrase
from lab.analysis.text import NARROW_SPACE, duration, figure, pace_text
from lab.records.result import Result
from lab.records.run import Course, Run, WarningKind

HEROES = (
    ("deployment_s", "run"),
    ("knee_rate_per_s", "run"),
    ("query_latency_ms_p99", "run"),
    ("query_rate_per_s", "run"),
    ("consumed_rate_docs_per_s", "run"),
    ("indexing_rate_docs_per_s", "primaries"),
)
"""What a run is made for; the first that it has is its main figure."""
PACED = ("end_to_end_latency_ms_p99", "run")
"""The main figure of a stream at a set rate that was kept."""

TILES = (
    ("limit_docs_per_s", "run"),
    ("catch_up_s", "run"),
    ("indexing_rate_docs_per_s", "primaries"),
    ("query_rate_per_s", "run"),
    ("query_latency_ms_p50", "run"),
    ("query_latency_ms_p99", "run"),
    ("query_service_time_ms_p50", "run"),
    ("query_service_time_ms_p99", "run"),
    ("end_to_end_latency_ms_p50", "run"),
    ("end_to_end_latency_ms_p99", "run"),
    *((name, "run") for name in DELAYS),
    ("indexing_latency_ms", "primaries"),
    ("source_mb_per_s", "run"),
    ("entities_per_s", "run"),
    ("delivery_rate_docs_per_s", "run"),
    ("index_finish_spread_percent", "run"),
    ("indexing_fairness", "run"),
    ("lag_records_max", "run"),
    ("bulk_service_time_ms_p99", "run"),
    ("bulk_size_docs_mean", "run"),
    ("drain_s", "run"),
    ("search_rate_per_s", "total"),
    ("search_latency_ms", "total"),
    ("store_size_bytes", "primaries"),
    ("data_to_cache_ratio", "run"),
    ("deployment_bytes_per_s", "run"),
)
ROUGH_RATE = (
    "Documents indexed, each update counted, ÷ the time from the start of the load phase, connector start included, to "
    "the last growth of the index; shown where there is no measured window."
)
NOT_OF_A_DRAIN = ("end_to_end", "lag_records", "delivery_rate")
"""Its topic is filled beforehand: they say how long that took, how much it holds, and how long a record lay there."""


class Tile(NamedTuple):
    """A key figure with the warnings that touch it."""

    label: str
    value: str
    meaning: str
    badges: tuple[WarningKind, ...]


def hero(run: Run, result: Result) -> Tile:
    """The figure that the run was made for; without a measured window, documents by the time that they took."""
    chosen = _hero_metric(run, result)
    if chosen is not None:
        return _tile(result, *chosen)
    rough, kind = load_figures(result), badges(result.warnings, "indexing_rate")
    if rough.is_rough:
        return Tile("Documents ÷ drain time", rough.rate_text.replace(" ", NARROW_SPACE), ROUGH_RATE, kind)
    name = f"{'consumed' if run.verification.expect == 'consumed' else 'indexing'}_rate_docs_per_s"
    return Tile(label_of(name), "not measured", meaning_of(name), kind)


def hero_caption(run: Run, result: Result) -> str:
    """Over which time, or under which load, the main figure was measured."""
    chosen = _hero_metric(run, result)
    if chosen == PACED:
        pace = run.delivery.pace if run.delivery else None
        at = f"at {pace_text(pace) if pace else figure(requested_rate_docs_per_s(run), 'docs/s')}"
        warm_up = f"after {duration(run.sink_histograms.warm_up_s or 0.0)} of warm-up"
        return f"{at}, {warm_up}"
    if chosen and run.course and chosen[0] in OF_STAGES:
        return _stage_caption(run.course, chosen[0])
    if chosen and chosen[0] == "deployment_s":
        return "until the last copy was in place"
    return window_phrase(run, result)


def _stage_caption(course: Course, name: str) -> str:
    if name == "limit_docs_per_s":
        return "while the first stage was drained"
    if name == "catch_up_s":
        return "after the nodes' pause" if course.resumed_s else "after documents that came all at once"
    rate = course.stages[-1].rate_docs_per_s
    at = f" at {figure(rate, 'docs/s')}" if rate else ""
    return f"in the last stage{at}"


def _hero_metric(run: Run, result: Result) -> tuple[str, str] | None:
    is_timed = requested_rate_docs_per_s(run) or (run.delivery and run.delivery.pace)
    is_paced = run.load == "stream" and is_timed and shortfall(result) is None
    of_stages = [(name, "run") for name in OF_STAGES if run.course]
    candidates = (*of_stages, *HEROES[:-1], PACED, HEROES[-1]) if is_paced else (*of_stages, *HEROES)
    known = (chosen for chosen in candidates if value_of(result.metrics, *chosen) is not None)
    return next((chosen for chosen in known if is_measured(result, chosen[0])), None)


def _tile(result: Result, name: str, scope: str) -> Tile:
    return Tile(label_of(name), figure_of(result, name, scope), meaning_of(name), badges(result.warnings, name))


def tiles(run: Run, result: Result) -> list[Tile]:
    """The key figures of this kind of load beside the main one."""
    main = _hero_metric(run, result)
    return [
        _tile(result, name, scope)
        for name, scope in TILES
        if (name, scope) != main
        and value_of(result.metrics, name, scope) is not None
        and is_measured(result, name)
        and not _says_nothing(run, result, name)
    ]


def not_measured(run: Run, result: Result) -> list[str]:
    """The key figures that this kind of load has and that could not be measured."""
    return [
        label_of(metric.name).lower()
        for metric in result.metrics
        if metric.key in TILES
        and (metric.value is None or not is_measured(result, metric.name))
        and metric.name not in IF_KNOWN
        and not _says_nothing(run, result, metric.name)
    ]


def _says_nothing(run: Run, result: Result, name: str) -> bool:
    if name.startswith(told_twice(result)):
        return True
    if name == "entities_per_s":  # one document for each
        return run.entities == run.documents.loaded
    return run.load == "drain" and name.startswith(NOT_OF_A_DRAIN)
