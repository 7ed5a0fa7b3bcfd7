"""Recall against time and size: which variants share a chart, and where their names stand."""

import itertools

import pytest

from lab.analysis.suite.recall import LABEL_HEIGHT, comparable, label_at, recall_charts, ticks
from lab.records.suite import MetricKey, SuitePlan, SuiteResult, Variant, VariantMetric
from tests.unit.analysis.report_page.test_report import plain
from tests.unit.analysis.synthetic import START_S
from tests.unit.messages import MakeMessage

AGAINST = {
    "hnsw": None,
    "hnsw (again)": "hnsw",
    "int8": "hnsw",
    "int8, rescored": "int8",
    "long": None,
    "long int8": "long",
    "long bbq": "long",
}
TIME, RECALL, SIZE = "query_service_time_ms_mean", "rows_right_share", "store_size_bytes"


def plan() -> SuitePlan:
    """Two groups of variants: each is compared with another one, up to one that is compared with nothing."""
    return SuitePlan(
        suite="vectors",
        suite_id="20270115-080000",
        question="Which?",
        started_s=START_S,
        seed=7,
        repeats=3,
        control="hnsw",
        repetition="hnsw (again)",
        variants=tuple(
            Variant(name=name, profile="p", against=against, question="Which?", fingerprint=name)
            for name, against in AGAINST.items()
        ),
        order=(),
        metrics=(MetricKey(name=TIME, scope="nearest-10"),),
    )


def measured(variant: str, name: str, scope: str, *values: float | None) -> VariantMetric:
    """By block, the middle one of them the median."""
    known = sorted(value for value in values if value is not None)
    ends = (known[len(known) // 2], known[0], known[-1]) if known else (None, None, None)
    return VariantMetric(
        variant=variant, name=name, scope=scope, unit="", values=values, median=ends[0], low=ends[1], high=ends[2]
    )


def result(*figures: VariantMetric) -> SuiteResult:
    """A suite with these figures."""
    return SuiteResult(plan=plan(), ended_s=None, wall_time_s=None, complete=True, runs=(), figures=figures, effects=())


def answered(variant: str, recall: float, time_ms: float, question: str = "nearest-10") -> list[VariantMetric]:
    """What is known of a variant's answers to a question, and of its size."""
    return [
        measured(variant, RECALL, question, recall, recall, recall),
        measured(variant, TIME, question, time_ms, 0.9 * time_ms, 1.3 * time_ms),
        measured(variant, SIZE, "primaries", 7e6 * time_ms),
    ]


def test_variants_that_read_other_vectors_have_a_chart_of_their_own() -> None:
    """A chain of comparisons leads to what reads the same; the control's repetition is no variant."""
    assert comparable(plan()) == {"hnsw": ["hnsw", "int8", "int8, rescored"], "long": ["long", "long int8", "long bbq"]}
    names = [name for name in AGAINST if not name.endswith("(again)")]
    figures = [figure for place, name in enumerate(names, 1) for figure in answered(name, 1 - place / 100, place)]

    assert [chart.title for chart in recall_charts(result(*figures))] == [
        "nearest-10: recall against mean service time",
        "nearest-10: recall against size",
        "nearest-10: recall against mean service time, compared with long",
        "nearest-10: recall against size, compared with long",
    ]


def test_a_chart_says_in_words_what_it_shows(message: MakeMessage) -> None:
    """Each variant with its recall, and the median of its blocks; the drawing has their names."""
    figures = [*answered("hnsw", 1.0, 2.03), *answered("int8", 0.77, 1.01), *answered("int8, rescored", 0.999, 3.07)]
    by_time, by_size = recall_charts(result(*figures))

    assert plain(by_time.summary) == message("nearest-10", "1.000", 2.03, "int8", "0.770", 1.01, 0.999, 3.07)
    assert "recall 0.770 at 7.07 MB" in plain(by_size.summary)
    for chart in (by_time, by_size):
        assert list(chart.colours) == ["hnsw", "int8", "int8, rescored"]
        assert chart.svg is not None
        assert all(f">{name}</text>" in chart.svg for name in chart.colours)


def test_numbers_of_candidates_are_points_of_one_curve(message: MakeMessage) -> None:
    """`nearest-10-of-20` belongs to `nearest-10`; in bytes they are one point, at the best recall."""
    figures = [
        figure
        for place, name in enumerate(("hnsw", "int8", "int8, rescored"), 1)
        for question, more in (("nearest-10", 0.05), ("nearest-10-of-20", 0.0), ("nearest-10-of-200", 0.09))
        for figure in answered(name, 0.9 + more, place * (1 + more), question)
    ]
    by_time, by_size = recall_charts(result(*figures))
    assert by_time.reading == message("candidates")
    assert by_time.summary.count("recall") == 9
    assert by_size.summary.count("recall 0.990") == by_size.summary.count("recall") == 3


def test_fewer_than_three_variants_make_no_chart() -> None:
    """A table says it; and one whose runs have failed is no point."""
    failed = measured("int8, rescored", RECALL, "nearest-10", None, None, None)
    assert recall_charts(result(*answered("hnsw", 1.0, 2), *answered("int8", 0.77, 1), failed)) == []


def test_rows_of_other_questions_are_no_recall() -> None:
    """Of counts by country, some may be wrong, too."""
    figures = [each for name in ("hnsw", "int8", "int8, rescored") for each in answered(name, 0.9, 2, "ratings")]
    assert recall_charts(result(*figures)) == []


def test_labels_of_points_that_are_close_do_not_cover_each_other() -> None:
    """Each takes the nearest place that is free."""
    points = [(200.0, 20.0), (214.0, 21.0), (203.0, 24.0), (230.0, 20.0)]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in points]
    for point in points:
        left, top = label_at(point, 90, taken)
        taken.append((left, top, left + 90, top + LABEL_HEIGHT))

    labels = taken[len(points) :]
    for one, other in itertools.combinations(labels, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    assert all(left >= 0 and top >= 0 for left, top, _, _ in labels)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((0.8, 24.0), [1, 2, 5, 10, 20]),
        ((3.48, 4.19), [3.6, 3.8, 4.0]),
        ((2.1, 7.2), [3, 4, 5, 6, 7]),
        ((45.1, 46.0), [45.2, 45.4, 45.6, 45.8, 46.0]),
    ],
)
def test_an_axis_has_round_values(bounds: tuple[float, float], expected: list[float]) -> None:
    """Of sizes that are nearly the same, too."""
    assert ticks(*bounds) == pytest.approx(expected)
