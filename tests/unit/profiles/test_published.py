"""Published figures: those of the repository are what their source says, and a wrong file is refused by line."""

import textwrap
from pathlib import Path

import pytest

from lab.analysis.figures.definitions import BY_NAME
from lab.errors import ProfileError
from lab.profiles import profile_names
from lab.profiles.published import load_published, published_names
from lab.profiles.suites import load_suite, suite_names
from tests.unit.messages import MakeMessage

LADDER = "aladin-indexing"


def refusal(root: Path, text: str) -> list[str]:
    """The lines with which a file of published figures is refused."""
    folder = root / "experiments" / "published"
    folder.mkdir(parents=True)
    (folder / "ladder.yaml").write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")
    with pytest.raises(ProfileError) as caught:
        load_published("ladder", root)
    return [line.removeprefix("experiments/published/") for line in str(caught.value).splitlines()]


def test_every_published_figure_has_a_profile_and_a_metric_of_ours() -> None:
    """A step that names no profile, and no variant of a suite that cites the file, could never be laid beside a run."""
    suites = [load_suite(name) for name in suite_names()]
    for name in published_names():
        published = load_published(name)
        ours = {variant.name for suite in suites if suite.published == name for variant in suite.variants}
        assert published.variants - {*profile_names(), *ours} == set()
        assert published.metrics.keys() - set(BY_NAME) == set()


def test_the_ladder_has_every_step_of_its_source() -> None:
    """Rate in documents per second and latency in ms, as its slides show them."""
    steps = {
        step.variant.removeprefix("aladin/"): tuple(
            step.values[metric][0] for metric in ("indexing_rate_docs_per_s", "indexing_latency_ms")
        )
        for step in load_published(LADDER).steps
    }
    assert steps == {
        "control": (604.83, 0.32),
        "static": (638.24, 0.18),
        "replicas-0": (686.9, 0.16),
        "primaries-2": (653.18, 0.20),
        "primaries-4": (640.79, 0.23),
        "primaries-8": (647.39, 0.34),
        "primaries-16": (640.91, 0.44),
        "nodes-2": (653.18, 0.20),
        "nodes-3": (590.86, 0.26),
        "nodes-4": (554.23, 0.32),
        "flat": (1983.51, 0.07),
    }


def test_the_overall_gain_is_that_of_the_source() -> None:
    """3.28 times the rate, and a latency 4.57 times lower."""
    comparisons = {
        (comparison.variant, comparison.against, comparison.metric): comparison
        for comparison in load_published(LADDER).comparisons
    }
    rate = comparisons["aladin/flat", "aladin/control", "indexing_rate_docs_per_s"]
    latency = comparisons["aladin/flat", "aladin/control", "indexing_latency_ms"]
    assert (round(rate.ratio, 2), round(1 / latency.ratio, 2)) == (3.28, 4.57)
    assert rate.source == (
        "실시간 데이터를 이용한 ElasticSearch Indexing 성능 최적화 (team 중고책나라, 17th BOAZ Conference), "
        "05 Conclusion: 성능 향상"
    )


def test_two_steps_that_the_source_does_not_compare_are_compared_by_their_values(message: MakeMessage) -> None:
    """It holds the latency of two primaries against the control only; against the static mapping it has risen."""
    (comparison,) = load_published(LADDER).unstated("aladin/primaries-2", "aladin/static")
    assert (comparison.metric, round(comparison.ratio, 3)) == ("indexing_latency_ms", 1.111)
    assert comparison.note == message()


def test_they_are_in_the_order_of_the_source(tmp_path: Path) -> None:
    """A set would give the metrics another order in every process."""
    metrics = [f"query_took_ms_{name}" for name in "hgfedcba"]
    folder = tmp_path / "experiments" / "published"
    folder.mkdir(parents=True)
    values = ", ".join(f"{name}: 1" for name in metrics)
    (folder / "ladder.yaml").write_text(
        "title: A ladder\npublished_by: somebody\nmeasured_on: a machine\nmetrics:\n"
        + "".join(f"  {name}: {{scope: run, unit: ms}}\n" for name in metrics)
        + "steps:\n"
        + "".join(f"  - {{variant: {name}, heading: {name}, values: {{{values}}}}}\n" for name in ("control", "flat")),
        "utf-8",
    )
    drawn = load_published("ladder", tmp_path).unstated("flat", "control")
    assert [comparison.metric for comparison in drawn] == metrics


def test_every_problem_of_a_file_is_reported_with_its_line(tmp_path: Path, message: MakeMessage) -> None:
    """The nearest key is named, and nothing is read as something else."""
    assert refusal(
        tmp_path,
        """
        title: A ladder
        published_by: somebody
        metrics:
          indexing_rate_docs_per_s: {scope: primaries, units: docs/s}
        steps:
          - variant: control
            headings: first
            values: {indexing_rate_docs_per_s: fast}
            compared:
              - {metric: indexing_rate_docs_per_s, against: static, times: 0.9, change: rise}
        """,
    ) == [
        message("ladder.yaml:1: measured_on"),
        message("ladder.yaml:4: metrics.indexing_rate_docs_per_s.unit"),
        message("ladder.yaml:4: metrics.indexing_rate_docs_per_s.units", "unit"),
        message("ladder.yaml:6: steps[0].heading"),
        message("ladder.yaml:7: steps[0].headings", "heading"),
        message("ladder.yaml:8: steps[0].values.indexing_rate_docs_per_s", "fast"),
        message("ladder.yaml:10: steps[0].compared[0].times", 0.9, 1),
        message("ladder.yaml:10: steps[0].compared[0].change", "rise"),
    ]


def test_a_figure_that_contradicts_its_source_needs_a_note(tmp_path: Path, message: MakeMessage) -> None:
    """Either it was copied wrongly, or the source is wrong and somebody has to say so; names must stand for a step."""
    assert refusal(
        tmp_path,
        """
        title: A ladder
        published_by: somebody
        measured_on: a laptop
        metrics:
          indexing_latency_ms: {scope: primaries, unit: ms}
        steps:
          - variant: control
            heading: first
            values: {indexing_latency_ms: 0.18}
          - variant: static
            heading: second
            values: {indexing_latency_ms: 0.16, indexing_latency: 0}
            compared:
              - {metric: indexing_latency_ms, against: control, times: 1.3, change: decrease}
              - {metric: indexing_latency_ms, against: control, times: 1.3, change: decrease, note: wrong there}
              - {metric: indexing_latency_ms, against: controll, times: 1.3, change: decrease}
          - variant: control
            heading: third
            values: {indexing_latency_ms: -1}
        """,
    ) == [
        message("ladder.yaml:12: steps[1].values.indexing_latency", "indexing_latency_ms"),
        message("ladder.yaml:14: steps[1].compared[0].times", 1.3, 1.125, "note"),
        message("ladder.yaml:16: steps[1].compared[2].against", "controll", "control"),
        message("ladder.yaml:17: steps[2].variant", "control"),
        message("ladder.yaml:19: steps[2].values.indexing_latency_ms", -1, 0),
    ]


def test_a_quotient_that_was_cut_off_needs_a_note_and_a_value_is_more_than_its_rounding(
    tmp_path: Path, message: MakeMessage
) -> None:
    """1.1785 is 1.18 and not 1.17, and a value of 0 to 0.01 has no ratio."""
    assert refusal(
        tmp_path,
        """
        title: A ladder
        published_by: somebody
        measured_on: a laptop
        metrics:
          indexing_rate_docs_per_s: {scope: primaries, unit: docs/s}
          indexing_latency_ms: {scope: primaries, unit: ms, rounded_to: 0.01}
        steps:
          - variant: primaries-2
            heading: first
            values: {indexing_rate_docs_per_s: 653.18, indexing_latency_ms: 0.005}
          - variant: nodes-4
            heading: second
            values: {indexing_rate_docs_per_s: 554.23}
            compared:
              - {metric: indexing_rate_docs_per_s, against: primaries-2, times: 1.17, change: decrease}
        """,
    ) == [
        message("ladder.yaml:10: steps[0].values.indexing_latency_ms", 0.005),
        message("ladder.yaml:15: steps[1].compared[0].times", 1.17, 1.179, "note"),
    ]


@pytest.mark.parametrize("name", ["aladin-indexin", "../published/aladin-indexing"])
def test_unknown_figures_name_the_nearest(name: str, message: MakeMessage) -> None:
    """A name is no path."""
    with pytest.raises(ProfileError) as error:
        load_published(name)
    assert str(error.value) == message("aladin-indexing")


SEVEN = "azure-queries"


def test_one_line_of_a_table_holds_the_values_of_all_questions() -> None:
    """Rating and unique addresses on one node against three, as the table of nodes has them."""
    compared = {
        (each.variant, each.scope): (each.value, each.against_value)
        for each in load_published(SEVEN).comparisons
        if (each.variant, each.metric) == ("1 node", "query_service_time_ms_mean")
    }
    assert (len(compared), compared["1 node", "ratings"], compared["1 node", "unique-addresses"]) == (
        7,
        (6216, 3427),
        (54203, 12516),
    )


def test_what_compares_three_clients_with_eight_is_confounded() -> None:
    """All that the source says of the request cache while indexing; what it says of replicas is not."""
    comparisons = list(load_published(SEVEN).comparisons)
    cached = [each.confounded is not None for each in comparisons if each.variant == "ingest, cache"]
    copied = [each.confounded is not None for each in comparisons if each.variant == "ingest, 2 replicas"]
    assert (cached, copied) == ([True] * 16, [False] * 16)


def test_a_row_of_another_machine_is_confounded_with_its_arithmetic() -> None:
    """The sum of the seven numbers of requests with five primaries is that of the row with 13."""
    (step,) = [
        each
        for each in load_published(SEVEN).comparisons
        if (each.variant, each.against) == ("23 primaries", "13 primaries")
    ]
    assert "1,054 + 1,054 + 1,053 + 1,055 + 1,051 + 1,051 + 1,051 = 7,369" in (step.confounded or "")
    assert sum((1054, 1054, 1053, 1055, 1051, 1051, 1051)) == step.against_value == 7369


def test_scopes_and_percentages_are_checked(tmp_path: Path, message: MakeMessage) -> None:
    """A value for each scope, scopes that there are, and a change that the values give, or a note."""
    assert refusal(
        tmp_path,
        """
        title: A table
        published_by: somebody
        measured_on: a cluster
        metrics:
          query_service_time_ms_mean: {scopes: [ratings, total-events], unit: ms}
          query_rate_per_s: {unit: 1/s}
        steps:
          - variant: one
            heading: first
            values: {query_service_time_ms_mean: [100, 200]}
        """,
    ) == [message("ladder.yaml:6: metrics.query_rate_per_s", "scope", "scopes")]


def test_a_misprinted_percentage_needs_a_note(tmp_path: Path, message: MakeMessage) -> None:
    """-14 for what is -23.5; rounded or cut off it may be, by less than a point."""
    assert refusal(
        tmp_path,
        """
        title: A table
        published_by: somebody
        measured_on: a cluster
        metrics:
          query_service_time_ms_mean: {scopes: [ratings, total-events], unit: ms}
        steps:
          - variant: one
            heading: first
            values: {query_service_time_ms_mean: [1000, 1000]}
          - variant: two
            name: two, the other machine
            heading: second
            values: {query_service_time_ms_mean: [765, 1009]}
            compared:
              - {metric: query_service_time_ms_mean, against: one, percent: [-14, 0]}
              - {metric: query_service_time_ms_mean, against: one, percent: -24}
              - {metric: query_service_time_ms_mean, against: one, scopes: [rating]}
              - {metric: query_service_time_ms_mean, against: one, percent: [-14, 0], note: Misprinted.}
          - variant: two
            heading: third
            values: {query_service_time_ms_mean: 7}
        """,
    ) == [
        message("ladder.yaml:15: steps[1].compared[0].percent", -14, -23.5, "note"),
        message("ladder.yaml:16: steps[1].compared[1].percent", 2),
        message("ladder.yaml:17: steps[1].compared[2].scopes[0]", "rating", "ratings"),
        message("ladder.yaml:21: steps[2].values.query_service_time_ms_mean", 1),
    ]
