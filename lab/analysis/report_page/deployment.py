"""Section of a report on a deployment: time of each index, source of each copy, rate of copying."""

from collections.abc import Sequence

from lab.analysis.figures.definitions import figure_of
from lab.analysis.figures.deployment import copy_rate_series
from lab.analysis.figures.rates import Point
from lab.analysis.report_page.looks import BLUE, ORANGE
from lab.analysis.report_page.sections import Row
from lab.analysis.report_page.svg import Axis, Chart, extent, in_units, line_chart
from lab.analysis.text import UNKNOWN, bytes_text, count, duration, figure
from lab.records.deployment import Deployment
from lab.records.result import Result

ACTIVE = "recoveries under way"
RATE = "MB/s"
MEGABYTE = 1e6


def section(deployment: Deployment, result: Result) -> dict[str, object]:
    """Values for the template of the section."""
    targets = targets_of(deployment)
    return {
        "settings": setting_pairs(deployment),
        "indices": indices(deployment, result),
        "ways_head": ("from \\ to", *targets, "all"),
        "ways": ways(deployment, targets),
        "charts": charts(deployment),
        "nodes": nodes(deployment),
        "queries": queries(deployment, result),
    }


def setting_pairs(deployment: Deployment) -> list[tuple[str, str]]:
    """Names and values: route, replicas, recovery settings, retries and so on."""
    settings = ", ".join(f"`{name}: {value}`" for name, value in sorted(deployment.settings.items()))
    rows = [
        ("From", deployment.index_node),
        ("To", ", ".join(deployment.to)),
        ("Route", deployment.route),
        ("Replicas", str(deployment.number_of_replicas)),
        ("Recoveries at once out of the index node", f"{count(deployment.most_from_index_node)} at most, as seen"),
        ("Recovery settings", settings or "Elasticsearch's defaults"),
    ]
    if deployment.retries:
        given_up = f"{count(deployment.retries)} times, for allocations that Elasticsearch had given up"
        rows.append(("Asked again", given_up))
    if (snapshot := deployment.snapshot) is not None:
        rows += [
            ("Snapshot", f"{bytes_text(snapshot.written_bytes)} written in {duration(snapshot.snapshot_s)}"),
            (
                "Restore",
                f"{bytes_text(snapshot.restored_bytes)} read in {duration(snapshot.restore_s)}, until the last replica "
                "was in place",
            ),
        ]
    return rows


def indices(deployment: Deployment, result: Result) -> list[Row]:
    """One row for each index, and one for all of them together."""

    def row(name: str, became: str, seconds: float, scope: str, recoveries: int) -> Row:
        names = ("bytes", "bytes_per_s", "bytes_from_index_node", "throttle_s")
        figures = (figure_of(result, f"deployment_{name}", scope) for name in names)
        return name, became, duration(seconds), *figures, count(recoveries)

    rows = [
        row(
            each.index,
            each.became if each.became != each.index else "the same",
            each.seconds,
            each.index,
            each.recoveries,
        )
        for each in deployment.indices
    ]
    recoveries = sum(each.recoveries for each in deployment.indices)
    return rows if len(rows) == 1 else [*rows, row("all of them", "", deployment.seconds, "run", recoveries)]


def targets_of(deployment: Deployment) -> list[str]:
    """Every node that has copied something."""
    return sorted({target for targets in deployment.copied_bytes.values() for target in targets})


def ways(deployment: Deployment, targets: Sequence[str]) -> list[Row]:
    """A row for each source, a column for each target."""
    return [
        (
            source,
            *(bytes_text(copied[target]) if target in copied else UNKNOWN for target in targets),
            bytes_text(sum(copied.values())),
        )
        for source, copied in deployment.copied_bytes.items()
    ]


def nodes(deployment: Deployment) -> list[Row]:
    """Rows of CPU time and disk bytes, one for each node."""
    return [
        (name, figure(work.cpu_s, "CPU-s"), bytes_text(work.disk_read_bytes), bytes_text(work.disk_write_bytes))
        for name, work in sorted(deployment.nodes.items())
    ]


def queries(deployment: Deployment, result: Result) -> list[Row]:
    """Rows of query times before, during and after the deployment."""
    rows = []
    for when, sent in deployment.queries.items():
        times = (figure_of(result, f"{sent.times_metric}_{name}", when) for name in ("p50", "p99"))
        rows.append((when, count(sent.answers), count(sent.requests - sent.answers), *times))
    return rows


def charts(deployment: Deployment) -> list[Chart]:
    """Charts of bytes copied per second and of recoveries at once."""
    axis = Axis(
        zero_s=deployment.started_s,
        first=0.0,
        last=max(1.0, deployment.seconds),
        phases=(),
        window=None,
        warm_up=None,
        since="the deployment was asked for",
    )
    rates = {RATE: in_units(copy_rate_series(deployment), MEGABYTE)}
    active_rows = axis.rows({ACTIVE: [Point(each.at_s, each.active) for each in deployment.progress]})
    return [
        axis.chart("Copied per second", "By all nodes.", rates, {RATE: BLUE}, "MB/s", filled=True),
        Chart(
            "Recoveries under way",
            "Copies of shards being made; those that wait for their turn are not counted.",
            extent(active_rows, "recoveries"),
            line_chart(active_rows, {ACTIVE: ORANGE}, axis, "recoveries"),
            {},
            axis.readings(active_rows, "recoveries"),
        ),
    ]
