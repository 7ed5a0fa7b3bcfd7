"""What is shown of each factor, and at which places a level wins: told from the verdicts alone."""

from collections.abc import Sequence
from math import log

import pytest

from lab.analysis.statistics.effects import verdict
from lab.analysis.suite.charts import crossing_chart
from lab.analysis.suite.comparisons import published_of
from lab.analysis.suite.factors import factor_sentences
from lab.records.suite import (
    Crossing,
    Effect,
    MetricKey,
    PublishedStep,
    SuitePlan,
    SuiteResult,
    Variant,
    VariantMetric,
    Verdict,
)
from tests.unit.analysis.suite.made_effects import Interval, a_result, an_effect
from tests.unit.messages import MakeMessage

TIME = MetricKey(name="indexing_latency_ms", scope="primaries")
OF_ONE = MetricKey(name="indexing_latency_ms", scope="ratings")
RATIO = MetricKey(name="store_size_bytes", scope="primaries")


def in_time(
    variant: str, ends: Interval, verdict: Verdict, *, against: str = "control", scope: str = "primaries"
) -> Effect:
    """What a variant does to the time of a scope."""
    return an_effect(variant, TIME.model_copy(update={"scope": scope}), ends, verdict, against=against)


def findings(
    variants: list[Variant], effects: list[Effect], figures: Sequence[VariantMetric] = (), *, crossing: bool = False
) -> SuiteResult:
    """What a suite of these variants has found."""
    crossings = (Crossing(factor="codec", metric=TIME, over=RATIO),) if crossing else ()
    plan = SuitePlan(
        suite="made up",
        suite_id="1",
        question="Which?",
        started_s=0,
        seed=1,
        repeats=5,
        control="control",
        repetition=None,
        variants=(Variant(name="control", profile="p", fingerprint="c"), *variants),
        order=(),
        metrics=(TIME, OF_ONE, RATIO),
        crossings=crossings,
    )
    return a_result(plan, effects, figures)


def turned(name: str, factor: str) -> Variant:
    """A variant that turns a factor."""
    return Variant(name=name, profile="p", fingerprint=name, against="control", factor=factor)


def a_step(*, confounded: str | None = None) -> PublishedStep:
    """A figure of a source about six nodes."""
    return PublishedStep(
        variant="6 nodes",
        against="control",
        metric=TIME.name,
        scope="ratings",
        published_value=1,
        published_against=2,
        published_ratio=0.5,
        agreement="opposite",
        source="a source, a place",
        confounded=confounded,
    )


def test_verdicts_of_factors_are_left_to_the_tables() -> None:
    """Counts of them repeated these, and took the figures of another part for those of another question."""
    variants = [turned("1 node", "nodes"), turned("2 replicas", "replicas")]
    effects = [
        in_time("1 node", (0.98, 1.0, 1.02), "same within 5 %"),
        in_time("2 replicas", (1.1, 1.2, 1.3), "slower", scope="connect"),
    ]
    assert factor_sentences(findings(variants, effects)) == ()


@pytest.mark.parametrize(
    ("read_bytes", "facts"),
    [
        pytest.param(
            (0.0, 11.0),
            ("read per query", 11),
            id="no reads",
        ),
        pytest.param((0.0, 8192.0), (), id="reads of one of both"),
        pytest.param((None, None), (), id="not measured"),
        pytest.param((0.0, None), (), id="of the control alone"),
        pytest.param((None, 0.0), (), id="of the variant alone"),
    ],
)
def test_a_factor_that_had_nothing_to_act_on_is_told(
    read_bytes: tuple[float | None, float | None], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """A bound of page cache above what is read says nothing of memory."""
    bound = turned("64 MB", "memory").model_copy(update={"overrides": ("elasticsearch.page_cache_mb=64",)})
    figures = [
        VariantMetric(
            variant=variant,
            name="query_read_bytes",
            scope="elasticsearch",
            unit="bytes",
            values=(value,),
            median=value,
            low=value,
            high=value,
        )
        for variant, value in zip(("control", "64 MB"), read_bytes, strict=True)
    ]
    told = factor_sentences(findings([bound], [in_time("64 MB", (0.98, 1.0, 1.02), "same within 5 %")], figures))

    assert told == ((message("Memory", *facts),) if facts else ())


@pytest.mark.parametrize("of_the_second", [8000.0, None])
def test_one_run_of_a_block_that_read_is_enough_to_have_acted(of_the_second: float | None) -> None:
    """What is told is the highest of all runs, not the mean of a block; of one that is not known it may be any."""
    bound = turned("64 MB", "memory").model_copy(update={"overrides": ("elasticsearch.page_cache_mb=64",)})
    runs: dict[str, dict[str, float | None]] = {"control": {"a": 0.0, "b": of_the_second}, "64 MB": {"c": 0.0}}
    figures = [
        VariantMetric(
            variant=variant, name="query_read_bytes", scope="elasticsearch", unit="bytes", values=(mean,), median=mean,
            low=mean, high=mean, by_run=runs[variant],
        )
        for variant, mean in (("control", 4000.0), ("64 MB", 0.0))
    ]  # fmt: skip
    assert factor_sentences(findings([bound], [in_time("64 MB", (0.98, 1.0, 1.02), "same within 5 %")], figures)) == ()


@pytest.mark.parametrize(
    ("shares", "facts"),
    [
        ((0.002, None), ()),
        ((None, 0.002), ("hits", "0.20")),
        ((0.5, 0.002), ()),
    ],
)
def test_a_cache_that_gave_no_answer_is_told_if_the_variant_had_it(
    shares: tuple[float | None, float | None], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """The control's first: one without the cache has no share, and a variant whose share is unknown tells nothing."""
    cached = turned("cache", "request cache").model_copy(update={"overrides": ("queries.request_cache=true",)})
    figures = [
        VariantMetric(
            variant=variant, name="request_cache_hit_share", scope="run", unit="", values=(value,), median=value,
            low=value, high=value,
        )
        for variant, value in zip(("control", "cache"), shares, strict=True)
    ]  # fmt: skip
    told = factor_sentences(findings([cached], [in_time("cache", (0.98, 1.0, 1.02), "same within 5 %")], figures))

    assert told == ((message("Request cache", *facts),) if facts else ())


@pytest.mark.parametrize(
    ("ratios", "agreement"),
    [
        ((0.5, 2.0), "the source contradicts itself"),
        ((0.5, 0.8), "opposite"),
        ((1.02, 0.5), "opposite"),
    ],
)
def test_a_source_with_two_figures_is_shown_with_both(ratios: tuple[float, float], agreement: str) -> None:
    """Of two machines, say; it contradicts itself by its own figures. A confounded one is left out beside others."""
    steps = (
        a_step(confounded="another machine").model_copy(update={"published_ratio": 9.0}),
        *(
            a_step().model_copy(
                update={
                    "published_ratio": ratio,
                    "agreement": "published as no change" if ratio == 1.02 else a_step().agreement,
                }
            )
            for ratio in ratios
        ),
    )
    shown = published_of(steps, ("6 nodes", "control"), OF_ONE)

    assert shown is not None
    assert (shown.agreement, shown.published_low, shown.published_high) == (agreement, min(ratios), max(ratios))


def test_a_variant_that_failed_is_not_called_idle() -> None:
    """That the reference read nothing says nothing of a bound under which no run came to its end."""
    bound = turned("64 MB", "memory").model_copy(update={"overrides": ("elasticsearch.page_cache_mb=64",)})
    failed = in_time("64 MB", (1.0, 1.0, 1.0), "too few runs")

    assert factor_sentences(findings([bound], [failed])) == ()


def test_a_factor_of_another_profile_is_not_called_idle() -> None:
    """What the profiles differ in is in no override."""
    bound = turned("64 MB", "memory").model_copy(
        update={"overrides": ("elasticsearch.page_cache_mb=64",), "profile": "another"}
    )
    figures = [
        VariantMetric(
            variant=variant, name="query_read_bytes", scope="elasticsearch", unit="bytes", values=(0.0,), median=0.0,
            low=0.0, high=0.0,
        )
        for variant in ("control", "64 MB")
    ]  # fmt: skip
    told = factor_sentences(findings([bound], [in_time("64 MB", (0.98, 1.0, 1.02), "same within 5 %")], figures))

    assert told == ()


def three_levels(*ends: tuple[float, float, float]) -> SuiteResult:
    """Levels at working sets of 1×, 4× and 16× the page cache."""
    shares = (1 / 16, 1 / 4, 1.0)
    variants, effects, figures = [], [], []
    for share, three in zip(shares, ends, strict=False):
        reference, name = f"default {share}", f"best {share}"
        variants.append(Variant(name=reference, profile="p", fingerprint=reference, working_set=share))
        variants.append(Variant(name=name, profile="p", fingerprint=name, against=reference, factor="codec"))
        low, mean, high = map(log, three)
        effects.append(in_time(name, three, verdict(TIME.name, mean, low, high), against=reference))
        figures.append(
            VariantMetric(
                variant=reference,
                name=RATIO.name,
                scope=RATIO.scope,
                unit="",
                values=(16.0,),
                median=16,
                low=16,
                high=16,
            )
        )
    return findings(variants, effects, figures, crossing=True)


def crossing_of(*ends: tuple[float, float, float]) -> str:
    """The sentence about three levels."""
    return factor_sentences(three_levels(*ends))[0]


def test_a_crossing_is_drawn_with_its_levels_and_told_beside_it() -> None:
    """Three points with their bars, and the sentence for who cannot see them."""
    found = three_levels((1.05, 1.1, 1.15), (1.05, 1.1, 1.15), (0.85, 1 / 1.1, 0.95))
    chart = crossing_chart(found, found.plan.crossings[0])

    assert "it wins at 16×" in chart.summary
    assert chart.svg is not None
    assert [text for text in ("1×", "4×", "16×", "size on disk (the part asked about)") if text not in chart.svg] == []


def test_a_crossing_of_one_level_is_not_drawn() -> None:
    """There is no line through one point."""
    found = three_levels((1.05, 1.1, 1.15))

    assert crossing_chart(found, found.plan.crossings[0]).svg is None


@pytest.mark.parametrize(
    ("ends", "facts"),
    [
        pytest.param(
            [(1.05, 1.1, 1.15), (1.05, 1.1, 1.15), (0.85, 1 / 1.1, 0.95)],
            ("wins at 16×", "loses at 1×, 4×"),
            id="between two levels",
        ),
        pytest.param(
            [(1.05, 1.1, 1.15), (0.8, 0.9, 1.1), (0.7, 0.8, 0.9)],
            ("wins at 16×", "loses at 1×", "shown at 4×"),
            id="undecided between them",
        ),
        pytest.param(
            [(0.9, 0.95, 1.3), (0.8, 0.9, 1.1), (0.7, 0.8, 0.9)],
            ("wins at 16×", "shown at 1×, 4×"),
            id="undecided at first",
        ),
        pytest.param([(0.7, 0.8, 0.9)] * 3, ("wins at 1×, 4×, 16×",), id="wins everywhere"),
        pytest.param([(0.9, 1.0, 1.1)] * 3, ("shown at 1×, 4×, 16×",), id="never shown"),
        pytest.param(
            [(0.7, 0.8, 0.9), (0.7, 0.8, 0.9), (1.1, 1.2, 1.3)],
            ("wins at 1×, 4×", "loses at 16×"),
            id="wins, wins, loses",
        ),
    ],
)
def test_a_level_wins_and_loses_at_the_places_measured(
    ends: list[tuple[float, float, float]], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Between them it turns: a line drawn there would name a place that nobody measured."""
    assert crossing_of(*ends) == message(*facts)


def test_a_level_of_too_few_runs_wins_nowhere(message: MakeMessage) -> None:
    """Two blocks have an interval, and no verdict."""
    found = three_levels((1.1, 1.2, 1.3), (1.1, 1.2, 1.3), (0.7, 0.8, 0.9))
    few = [*found.effects[:2], found.effects[2].model_copy(update={"verdict": "too few runs"})]

    assert factor_sentences(found.model_copy(update={"effects": few}))[0] == message("loses at 1×, 4×")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"verdict": "undecided"}, "it wins at 1×, 4×; neither is shown at 16×"),
        ({"low": None, "high": None}, "it wins at 1×, 4×, 16×"),
        ({"low": None, "high": None, "ratio": 1.2, "verdict": "slower"}, "it wins at 1×, 4×; it loses at 16×"),
    ],
)
def test_a_level_wins_by_its_verdict(change: dict[str, object], told: str) -> None:
    """Blocks that were lost may turn it round, so that it is undecided; of equal ratios there is no interval."""
    found = three_levels(*[(0.7, 0.8, 0.9)] * 3)
    effects = (*found.effects[:2], found.effects[2].model_copy(update=change))

    assert factor_sentences(found.model_copy(update={"effects": effects}))[0].endswith(f": {told}.")
