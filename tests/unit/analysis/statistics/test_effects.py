"""Effects and their verdicts."""

import random
from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import NormalDist, fmean, stdev

import pytest

from lab.analysis.statistics.effects import DETECTED, among_comparisons, effect, holm_levels, is_speed, verdict_text
from lab.analysis.suite.names import SUITE_TERMS
from lab.records.suite import Effect, MetricKey
from tests.unit.messages import MakeMessage

RATE = MetricKey(name="indexing_rate_docs_per_s", scope="primaries")
LATENCY = MetricKey(name="indexing_latency_ms", scope="primaries")
CPU = MetricKey(name="cpu_s_per_million_docs", scope="connect")

TWICE = [(20_011.0, 10_007.0), (41_999.0, 21_001.0), (31_013.0, 15_493.0), (26_003.0, 12_997.0), (18_013.0, 9_001.0)]
SAME = [(10_007.0, 9_901.0), (20_011.0, 20_101.0), (15_013.0, 14_951.0), (12_011.0, 12_101.0), (9_001.0, 9_041.0)]
WIDE = [(10_007.0, 7_001.0), (20_011.0, 30_011.0), (15_013.0, 14_951.0), (12_011.0, 9_001.0), (9_001.0, 12_007.0)]


def of(pairs: Sequence[tuple[float | None, float | None]], metric: MetricKey = RATE) -> Effect:
    """The effect of a variant on a metric."""
    return effect("flat", "control", metric, pairs)


def test_the_ratio_is_the_geometric_mean_and_turns_over_with_its_pairs() -> None:
    """Twice and a half make one, and A against B is one over B against A, interval included."""
    there = of([(2.0, 1.0), (1.0, 2.0), (3.0, 1.5), (4.0, 8.0)])
    assert there.ratio == pytest.approx(1.0)
    forth, back = of(TWICE), of([(other, own) for own, other in TWICE])
    assert forth.ratio is not None
    assert back.ratio == pytest.approx(1 / forth.ratio)
    assert forth.high is not None
    assert back.low == pytest.approx(1 / forth.high)


def test_students_sleep_data_give_an_interval_like_the_published_one() -> None:
    """Student 1908: ten differences of mean 1.58, 95 % interval 0.70 to 2.46 by the t-test, p = 0.0028."""
    differences = (1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4)
    found = of([(exp(difference), 1.0) for difference in differences])
    assert found.ratio == pytest.approx(exp(1.58))
    assert found.low == pytest.approx(exp(0.70), rel=0.01)
    assert found.high == pytest.approx(exp(2.46), rel=0.01)
    assert found.p_value == pytest.approx(0.0028, abs=0.0001)
    assert found.half_width == pytest.approx(exp(0.88) - 1, rel=0.01)
    assert found.verdict == "faster"


@pytest.mark.parametrize(
    ("metric", "twice", "half"),
    [(RATE, "faster", "slower"), (LATENCY, "slower", "faster"), (CPU, "higher", "lower")],
)
def test_a_verdict_knows_which_way_is_faster(metric: MetricKey, twice: str, half: str) -> None:
    """More documents a second are faster, more milliseconds slower, and more CPU is only more."""
    assert of(list(TWICE), metric).verdict == twice
    assert of([(other, own) for own, other in TWICE], metric).verdict == half
    assert of(list(SAME), metric).verdict == "same within 5 %"
    assert of(list(WIDE), metric).verdict == "undecided"


def test_an_effect_says_what_could_have_been_seen() -> None:
    """Five blocks with a spread of 0.72 % show 1.2 % four times in five, if it is their true spread."""
    found = of(list(SAME))
    assert found.smallest_detectable == pytest.approx(0.0123, abs=0.0005)
    assert list(found.smallest_detectable_range or ()) == pytest.approx([0.0075, 0.037], abs=0.002)
    assert found.explained is None


def test_a_block_without_both_values_is_dropped_and_counted(message: MakeMessage) -> None:
    """A run that failed takes its block out of this comparison, not out of the suite's memory."""
    for lost in ((None, 9_001.0), (17.0, None), (0.0, 13.0), (13.0, 0.0)):
        found = of([*TWICE[:3], lost])
        assert (len(found.ratios), found.dropped_blocks) == (3, 1)
        assert found.explained == message(1)
        assert found.verdict == "faster"


def test_a_difference_that_lost_blocks_might_have_undone_is_undecided() -> None:
    """A run may have failed because it was slow; a difference that is large enough stands all the same."""
    faster = [(1.04, 1.0), (1.06, 1.0), (1.05, 1.0), (0.97, 1.0), (1.05, 1.0), (1.06, 1.0)]
    assert of(faster).verdict == "faster"
    undone = of([*faster, (None, 1.0), (None, 1.0)])
    assert undone.verdict == "undecided"
    assert undone.low is not None
    assert undone.low > 1
    assert "blocks that were lost might undo the difference" in SUITE_TERMS["verdict"]
    assert of([*TWICE[:3], (None, 1.0)]).verdict == "faster"


def test_an_end_beyond_5_percent_is_not_rounded_to_it() -> None:
    """What is undecided for it was told with the interval of what is the same."""
    assert verdict_text("same within 5 %", 1.02, 0.99, 1.0496) == "same within 5 % (-1.0 % to +5.0 %)"
    assert verdict_text("undecided", 1.02, 0.99, 1.0504) == "undecided (-1.0 % to +5.04 %)"


def test_where_many_blocks_lack_a_value_there_is_no_verdict(message: MakeMessage) -> None:
    """Those that have one may be the slow ones, whose drains were long enough for a rate."""
    found = of([*TWICE[:3], (None, 9_001.0), (None, 9_001.0)])
    assert (found.verdict, found.explained) == ("too few runs", message(2))


def test_two_blocks_have_an_interval_but_no_verdict(message: MakeMessage) -> None:
    """However far apart: their spread is a guess."""
    found = of(list(TWICE[:2]))
    assert found.low is not None
    assert found.verdict == "too few runs"
    assert found.explained == message(2, 3)


def test_one_block_has_a_ratio_and_nothing_else(message: MakeMessage) -> None:
    """A single run has no spread."""
    found = of([(3.0, 2.0), (None, 2.0)])
    assert found.ratio == pytest.approx(1.5)
    assert (found.low, found.high, found.p_value) == (None, None, None)
    assert (found.smallest_detectable, found.smallest_detectable_range) == (None, None)
    assert found.verdict == "too few runs"
    assert found.explained == message(1, 3)


def test_no_block_at_all_is_no_ratio(message: MakeMessage) -> None:
    """Nothing is known, and that is said."""
    found = of([(None, 1.0), (None, None)])
    assert (found.ratio, found.verdict) == (None, "too few runs")
    assert found.explained == message(2)
    assert of([]).explained == "no block was run"


def test_ratios_that_are_all_equal_are_a_fact_without_a_spread(message: MakeMessage) -> None:
    """Seven segments and seven segments: the same; seven and three: lower, by counting."""
    segments = MetricKey(name="segments_count", scope="primaries")
    assert of([(7.0, 7.0)] * 3, segments).verdict == "same within 5 %"
    fewer = of([(3.0, 7.0)] * 3, segments)
    assert (fewer.verdict, fewer.low, fewer.smallest_detectable) == ("lower", None, None)
    assert fewer.explained == message()


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ((1.21, 1.2, 1.22, 1.21, 1.2), "faster by 21 % (+20 % to +22 %)"),
        ((0.62, 0.63, 0.61, 0.62, 0.62), "slower by 38 % (-39 % to -37 %)"),
        ((1.02, 1.021, 1.019, 1.02, 1.02), "faster by 2.0 % (+1.9 % to +2.1 %)"),
        ((1.01, 0.99, 1.02, 1.0, 0.99), "same within 5 % (-1.4 % to +1.8 %)"),
        ((1.5, 0.7, 0.9, 1.2, 0.8), "undecided (-33 % to +44 %)"),
        ((1.5, 0.7), "too few runs"),
        ((3.0, 3.0, 3.0), "faster by 200 %"),
    ],
)
def test_a_verdict_is_told_with_its_size_and_its_interval(ratios: tuple[float, ...], expected: str) -> None:
    """What is claimed, how much, and between what; a claim of no change only where the interval is narrow."""
    found = of([(ratio, 1.0) for ratio in ratios])
    assert verdict_text(found.verdict, found.ratio, found.low, found.high) == expected


def ladder(sizes: list[float], metric: MetricKey = RATE) -> list[Effect]:
    """Effects of as many variants that scatter alike, so that the largest is the clearest."""
    noise = (0.99, 1.012, 1.004, 0.985, 1.009)
    return [
        effect(f"v{place}", "control", metric, [(size * one, 1.0) for one in noise]) for place, size in enumerate(sizes)
    ]


def test_the_interval_of_each_comparison_is_that_of_its_step_in_holms_procedure() -> None:
    """Of four, the clearest at 1 - 5 %/4, the next at 1 - 5 %/3; what is not detected at 1 - 5 %/4 again."""
    held = among_comparisons(ladder([1.0, 1.3, 1.2, 1.001]))
    assert [found.verdict for found in held] == ["same within 5 %", "faster", "faster", "same within 5 %"]
    assert [round(found.confidence, 4) for found in held] == [0.9875, 0.9875, 0.9833, 0.9875]


def test_a_verdict_that_chance_explains_among_many_is_taken_back_with_its_interval() -> None:
    """1.9 % are detected by a comparison alone, but not as one of fourteen; then the interval holds no change, too."""
    alone = ladder([1.019])[0]
    held = among_comparisons(ladder([1.019] * 14))[0]
    assert (alone.verdict, held.verdict) == ("faster", "same within 5 %")
    assert alone.low is not None
    assert held.low is not None
    assert held.low < 1 < alone.low
    assert held.smallest_detectable is not None
    assert alone.smallest_detectable is not None
    assert held.smallest_detectable > 1.2 * alone.smallest_detectable


def test_verdicts_are_those_of_holms_procedure_on_the_p_values() -> None:
    """Whatever the sizes: an interval leaves out 1 where the procedure rejects, and nowhere else."""
    draw = random.Random(3)  # noqa: S311 - noise, no secret
    for _ in range(40):
        pairs = [[(exp(draw.gauss(size, 0.05)), 1.0) for _ in range(5)] for size in (0, 0, 0.08, 0.12, 0.2, 0.3)]
        alone = [effect(f"v{place}", "control", RATE, ratios) for place, ratios in enumerate(pairs)]
        found = among_comparisons(alone)
        ordered = sorted(one.p_value or 0.0 for one in found)
        kept = [p_value > 0.05 / (6 - rank) for rank, p_value in enumerate(ordered)]
        detected = kept.index(True) if True in kept else 6
        assert sum(one.verdict in DETECTED for one in found) == detected
        for one in found:
            assert one.low is not None
            assert one.high is not None
            assert (one.low <= 1 <= one.high) == (one.verdict not in DETECTED)


def test_each_metric_is_a_family_and_the_repetition_of_the_control_is_none_of_it() -> None:
    """Two metrics with one comparison each are no crowd; A/A checks the method and stands apart."""
    alone = [*ladder([1.017]), *ladder([1.017], LATENCY)]
    assert list(among_comparisons(alone)) == alone
    pair = ladder([1.001, 1.001])
    assert {round(found.confidence, 3) for found in among_comparisons(pair, repetition="v1")} == {0.95}
    assert {round(found.confidence, 3) for found in among_comparisons(pair)} == {0.975}


def test_the_repetition_of_the_control_tells_how_noisy_the_others_are() -> None:
    """An interval beside an A/A is narrower than alone, although the A/A scatters as much."""
    alone = ladder([1.3])[0]
    beside = among_comparisons(ladder([1.3, 1.0]), repetition="v1")[0]
    assert beside.half_width is not None
    assert alone.half_width is not None
    assert beside.half_width < 0.9 * alone.half_width


def test_a_comparison_that_only_happens_to_scatter_little_claims_less_among_others() -> None:
    """1.07 within 1 % is a false alarm where its siblings scatter by 24 %: so it was in a suite of three blocks."""
    narrow = effect("narrow", "control", RATE, [(1.06, 1.0), (1.07, 1.0), (1.08, 1.0)])
    wide = [
        effect(f"v{place}", "control", RATE, [(size * one, 1.0) for one in (0.76, 1.0, 1.27)])
        for place, size in enumerate((1.0, 1.1, 0.9, 1.05))
    ]
    assert narrow.verdict == "faster"
    assert among_comparisons([narrow, *wide])[0].verdict == "undecided"


def test_blocks_of_one_start_count_as_one_where_there_are_several() -> None:
    """Three starts of two blocks each: the interval is that of the three means, by Student's t with 2 degrees."""
    ratios, starts = (1.10, 1.12, 1.20, 1.22, 1.02, 1.04), (1, 1, 2, 2, 3, 3)
    found = effect("flat", "control", RATE, [(ratio, 1.0) for ratio in ratios], starts)
    means = [fmean(map(log, pair)) for pair in ((1.10, 1.12), (1.20, 1.22), (1.02, 1.04))]
    reach = 4.3027 * stdev(means) / sqrt(3)
    assert found.ratio == pytest.approx(exp(fmean(means)))
    assert (found.low, found.high) == pytest.approx((exp(fmean(means) - reach), exp(fmean(means) + reach)), rel=1e-4)
    assert (found.starts, found.within_one_start, found.verdict) == (starts, False, "undecided")
    within = effect("flat", "control", RATE, [(ratio, 1.0) for ratio in ratios])
    assert (within.starts, within.within_one_start, within.verdict) == ((1,) * 6, True, "faster")


def test_effects_of_folders_without_starts_are_of_one() -> None:
    """Older suites ran on one start and did not say so."""
    assert of(list(TWICE)).model_copy(update={"starts": ()}).within_one_start


def test_a_dropped_block_takes_its_start_along() -> None:
    """Ratios and starts stay in step."""
    found = effect("flat", "control", RATE, [(2.0, 1.0), (None, 1.0), (2.2, 1.0), (2.1, 1.0)], (1, 1, 2, 2))
    assert found.starts == (1, 2, 2)


def test_of_two_starts_alone_nothing_is_known_of_what_could_be_detected() -> None:
    """One degree of freedom; the interval is honest, and as wide as that makes it."""
    found = effect("flat", "control", RATE, [(ratio, 1.0) for ratio in (1.1, 1.12, 1.2, 1.22)], (1, 1, 2, 2))
    assert found.half_width is not None
    assert found.half_width > 0.5
    assert (found.smallest_detectable, found.smallest_detectable_range) == (None, None)


def test_slow_runs_are_left_out_where_they_widen_half_of_the_suite(message: MakeMessage) -> None:
    """Ten blocks, of which one of each comparison took twice as long; the effect says what is left out."""
    noise = [NormalDist(0, 0.02).inv_cdf((2 * rank + 1) / 20) for rank in range(10)]
    slow = [
        effect(
            f"v{place}", "control", RATE, [(exp(one) / (1 + (block == place)), 1.0) for block, one in enumerate(noise)]
        )
        for place in range(6)
    ]
    held = among_comparisons(slow)
    (explained,) = {found.explained for found in held}
    assert explained == message("2 lowest", "2 highest")
    assert all(found.half_width is not None and found.half_width < 0.05 for found in held)
    assert {found.explained for found in among_comparisons(slow[:5])} == {None}


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ([0.02, 0.01, 0.4], [1 / 2, 1 / 3, 1 / 3]),
        ([0.01, 0.02, 0.04], [1 / 3, 1 / 2, 1]),
        ([0.02, 0.02, 0.001], [1 / 2, 1, 1 / 3]),
        ([0.02, 0.2, 0.03], [1 / 3, 1 / 3, 1 / 3]),
        ([], []),
    ],
)
def test_levels_are_holms(p_values: list[float], expected: list[float]) -> None:
    """In shares of 5 %; from the first p-value that is not below its step, all are judged at the first step."""
    assert holm_levels(p_values) == pytest.approx([0.05 * share for share in expected])


def test_an_effect_of_too_few_blocks_makes_no_crowd() -> None:
    """What has no verdict cannot be a false alarm, and makes no other one less sure."""
    pair = [*ladder([1.022]), of(list(TWICE[:2])).model_copy(update={"p_value": 0.04})]
    assert list(among_comparisons(pair)) == pair


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("entities_per_s", 1),
        ("source_mb_per_s", 1),
        ("end_to_end_latency_ms_p99", -1),
        ("bulk_service_time_ms_p50", -1),
        ("drain_s", -1),
        ("wall_time_s", -1),
        ("query_rate_per_s", 1),
        ("knee_rate_per_s", 1),
        ("query_latency_ms_p99_9", -1),
        ("query_took_ms_mean", -1),
        ("search_latency_ms", -1),
        ("search_rate_per_s", 0),
        ("query_read_bytes_per_s", 0),
        ("query_major_faults_per_min", 0),
        ("query_cpu_ms", 0),
        ("gc_young_time_ms", 0),
        ("store_size_bytes", 0),
    ],
)
def test_what_counts_as_speed(metric: str, expected: int) -> None:
    """Rates and waiting times do; what it cost does not."""
    assert is_speed(metric) == expected
