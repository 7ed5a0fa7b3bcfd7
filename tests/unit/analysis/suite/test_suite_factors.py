"""Which factors are real, and where a level begins to win: told from the verdicts alone."""

from dataclasses import replace

import pytest

from lab.analysis.suite.answer import Findings
from lab.analysis.suite.charts import crossing_chart
from lab.analysis.suite.comparisons import planned_pairs, published_of
from lab.analysis.suite.crossings import passing
from lab.analysis.suite.factors import factor_sentences
from lab.records.suite import (
    Crossing,
    Effect,
    MetricKey,
    PublishedStep,
    SuitePlan,
    Variant,
    VariantMetric,
    Verdict,
)
from tests.unit.analysis.suite.made_effects import Interval, an_effect

TIME = MetricKey(name="indexing_latency_ms", scope="primaries")
OF_ONE = MetricKey(name="indexing_latency_ms", scope="ratings")
RATIO = MetricKey(name="store_size_bytes", scope="primaries")


def in_time(
    variant: str, ends: Interval, verdict: Verdict, *, against: str = "control", scope: str = "primaries"
) -> Effect:
    """What a variant does to the time of a scope."""
    return an_effect(variant, TIME.model_copy(update={"scope": scope}), ends, verdict, against=against)


def findings(
    variants: list[Variant], effects: list[Effect], *published: PublishedStep, crossing: bool = False
) -> Findings:
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
    return Findings(plan, "5 repeats", planned_pairs(plan), effects, published, {})


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


def test_a_factor_is_real_if_a_comparison_shows_a_difference() -> None:
    """One sentence for each, with the verdict, that of each question, and what the source says."""
    variants = [turned("1 node", "nodes"), turned("6 nodes", "nodes"), turned("2 replicas", "replicas")]
    effects = [
        in_time("1 node", (0.98, 1.0, 1.02), "same within 5 %"),
        in_time("6 nodes", (1.1, 1.2, 1.3), "slower"),
        in_time("6 nodes", (0.9, 1.2, 1.5), "undecided", scope="ratings"),
        in_time("2 replicas", (0.98, 1.0, 1.02), "same within 5 %"),
    ]
    steps = (a_step(), a_step(confounded="another machine"))
    assert factor_sentences(findings(variants, effects, *steps), ()) == (
        "Nodes makes a difference (indexing latency): `1 node` against `control` same within 5 % (-2.0 % to +2.0 %);"
        " `6 nodes` against `control` slower by 20 % (+10 % to +30 %), by question 1 undecided; published ratios:"
        " 1 opposite, 1 opposite (confounded).",
        "Replicas makes no difference of more than 5 % (indexing latency): `2 replicas` against `control`"
        " same within 5 % (-2.0 % to +2.0 %).",
    )


@pytest.mark.parametrize(
    ("read_bytes", "told"),
    [
        pytest.param(
            (0.0, 11.0),
            "Memory could not act here, since queries read less than a page (4 KiB) each from the disk",
            id="no reads",
        ),
        pytest.param((0.0, 8192.0), "Memory makes no difference of more than 5 %", id="reads of one of both"),
        pytest.param((None, None), "Memory makes no difference of more than 5 %", id="not measured"),
        pytest.param((0.0, None), "Memory makes no difference of more than 5 %", id="of one of both alone"),
    ],
)
def test_a_factor_with_nothing_to_act_on_is_not_called_the_same(
    read_bytes: tuple[float | None, float | None], told: str
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
    (sentence,) = factor_sentences(findings([bound], [in_time("64 MB", (0.98, 1.0, 1.02), "same within 5 %")]), figures)

    assert sentence.startswith(f"{told} (indexing latency): ")


def test_a_difference_is_told_whatever_it_acted_through() -> None:
    """Fewer than a page was read for a query, and yet it took longer."""
    bound = turned("64 MB", "memory").model_copy(update={"overrides": ("elasticsearch.page_cache_mb=64",)})
    told = factor_sentences(findings([bound], [in_time("64 MB", (1.1, 1.2, 1.3), "slower")]), ())

    assert told[0].startswith("Memory makes a difference")


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

    assert factor_sentences(findings([bound], [failed]), ())[0].startswith("Memory was not measured")


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
    told = factor_sentences(findings([bound], [in_time("64 MB", (0.98, 1.0, 1.02), "same within 5 %")]), figures)

    assert told[0].startswith("Memory makes no difference")


def test_a_difference_is_told_however_little_the_control_is_known() -> None:
    """A wide interval of the A/A is no difference of the control from itself."""
    variants = [turned("again", ""), turned("reindexed", "made anew")]
    found = findings(
        [variants[0].model_copy(update={"factor": None}), variants[1]],
        [in_time("again", (0.84, 1.01, 1.21), "undecided"), in_time("reindexed", (1.01, 1.12, 1.24), "slower")],
    )
    found = replace(found, plan=found.plan.model_copy(update={"repetition": "again"}))

    assert factor_sentences(found, ())[0].startswith("Made anew makes a difference")


def test_a_factor_that_did_not_run_is_told() -> None:
    """It is neither real nor none."""
    assert factor_sentences(findings([turned("6 nodes", "nodes")], []), ()) == ("Nodes was not measured.",)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([0.5, 0.1, -0.1], 2.0 * 2**0.5, id="halfway, by log place, between 2 and 4"),
        pytest.param([-0.5, 0.1, -0.1], 2.0 * 2**0.5, id="a gain that is lost again does not count"),
        pytest.param([-0.5, -0.1, -0.1], 1.0, id="all below zero"),
        pytest.param([0.5, -0.1, 0.1], None, id="not at the end"),
    ],
)
def test_a_line_passes_zero_where_it_stays_below(values: list[float], expected: float | None) -> None:
    """At places 1, 2 and 4."""
    place = passing(list(zip((1.0, 2.0, 4.0), values, strict=True)))
    assert place == (expected if expected is None else pytest.approx(expected))


def three_levels(*ends: tuple[float, float, float]) -> tuple[Findings, list[VariantMetric]]:
    """Levels at working sets of 1×, 4× and 16× the page cache."""
    shares = (1 / 16, 1 / 4, 1.0)
    variants, effects, figures = [], [], []
    for share, three in zip(shares, ends, strict=False):
        reference, name = f"default {share}", f"best {share}"
        variants.append(Variant(name=reference, profile="p", fingerprint=reference, working_set=share))
        variants.append(Variant(name=name, profile="p", fingerprint=name, against=reference, factor="codec"))
        effects.append(in_time(name, three, "undecided", against=reference))
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
    return findings(variants, effects, crossing=True), figures


def crossing_of(*ends: tuple[float, float, float]) -> str:
    """The sentence about three levels."""
    return factor_sentences(*three_levels(*ends))[0]


def test_a_crossing_is_drawn_with_its_levels_and_told_beside_it() -> None:
    """Three points with their bars, and the sentence for who cannot see them."""
    found, figures = three_levels((1.05, 1.1, 1.15), (1.05, 1.1, 1.15), (0.85, 1 / 1.1, 0.95))
    chart = crossing_chart(found, found.plan.crossings[0], figures)

    assert "it wins from 8.00× on" in chart.summary
    assert chart.svg is not None
    assert [text for text in ("1×", "4×", "16×", "size on disk (the part asked about)") if text not in chart.svg] == []


def test_a_crossing_of_one_level_is_not_drawn() -> None:
    """There is no line through one point."""
    found, figures = three_levels((1.05, 1.1, 1.15))

    assert crossing_chart(found, found.plan.crossings[0], figures).svg is None


ABOUT = "`best` along size on disk (the part asked about), by indexing latency: "
LEVELS = "levels 1×, 4×, 16×"


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        pytest.param(
            [(1.05, 1.1, 1.15), (1.05, 1.1, 1.15), (0.85, 1 / 1.1, 0.95)],
            f"it wins from 8.00× on, interpolated between levels (interval 5.51× to 11.0×; {LEVELS}).",
            id="between two levels",
        ),
        pytest.param(
            [(0.9, 1.1, 1.3), (0.8, 0.9, 1.1), (0.7, 0.8, 0.9)],
            f"it wins from 1.93× on, interpolated between levels (at the latest from 7.73×, no lower end, since 1× is"
            f" undecided; {LEVELS}).",
            id="undecided at first",
        ),
        pytest.param(
            [(0.9, 0.95, 1.3), (0.8, 0.9, 1.1), (0.7, 0.8, 0.9)],
            f"it wins at the latest from 7.73× on; only bracketed, since the mean ratio is a gain at every level"
            f" ({LEVELS}).",
            id="a gain by the mean everywhere",
        ),
        pytest.param([(0.7, 0.8, 0.9)] * 3, f"it wins at every level, from 1× on ({LEVELS}).", id="wins everywhere"),
        pytest.param(
            [(0.9, 1.1, 1.3), (0.8, 0.9, 1.1), (0.7, 0.8, 1.1)],
            f"it is not shown to win here, up to 16× ({LEVELS}).",
            id="never shown",
        ),
        pytest.param(
            [(1.1, 1.2, 1.3)] * 3,
            f"it does not win here, and loses at the largest level, 16× ({LEVELS}).",
            id="loses",
        ),
        pytest.param(
            [(0.7, 0.8, 0.9), (0.9, 1.02, 1.3), (0.7, 0.8, 0.9)],
            f"it wins from 4.48× on, interpolated between levels (at the latest from 10.8×, no lower end, since it wins"
            f" at 1× already; {LEVELS}).",
            id="wins, undecided, wins",
        ),
        pytest.param(
            [(0.9, 1.0, 1.1), (1.1, 1.2, 1.3), (0.7, 0.8, 0.9)],
            f"it wins from 7.46× on, interpolated between levels (interval 5.36× to 10.8×; {LEVELS}).",
            id="undecided, loses, wins",
        ),
        pytest.param(
            [(0.7, 0.8, 0.9), (0.7, 0.8, 0.9), (1.1, 1.2, 1.3)],
            f"it wins at some levels but not at the largest, 16×: no crossing can be given ({LEVELS}).",
            id="wins, wins, loses",
        ),
    ],
)
def test_the_place_from_which_a_level_wins_has_an_interval(
    ends: list[tuple[float, float, float]], expected: str
) -> None:
    """Where the mean passes 1, and where the ends of the intervals do; said to be bracketed where that is all."""
    assert crossing_of(*ends) == ABOUT + expected
