"""A suite at a share of the limit streams at that share, whatever the start of a drain takes."""

from pathlib import Path

import pytest

from lab.analysis.statistics.warm_up import is_warm
from lab.errors import ProfileError, StackError
from lab.records.result import Metric, Result
from lab.records.suite import Variant
from lab.run.folder import RunFolder
from lab.suite.limit import FEWEST_DRAINS, LEAST_DRAINS, MOST_DRAINS, measured_limit
from tests.unit.messages import MakeMessage
from tests.unit.suite.drained import DrainedServers, streaming
from tests.unit.suite.test_suite_execution import a_result

LIMITS = (10_000.0, 20_000.0, 40_000.0, 60_000.0)


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_the_start_and_the_ramp_of_drains_are_no_part_of_the_limit(tmp_path: Path, limit: float) -> None:
    """By documents ÷ load phase of short drains, streams at 70 % were at 51, 41, 29 and 23 %."""
    plan = streaming(tmp_path, DrainedServers(limit, between=0.0, within=0.0, seed=1))
    assert plan.rate_docs_per_s is not None
    assert plan.rate_docs_per_s / limit == pytest.approx(0.7, rel=0.01)


def test_19_of_20_suites_on_noisy_servers_stream_within_5_percent_of_the_share(tmp_path: Path) -> None:
    """Runs that scatter by 3 to 8 %, and seconds by 5 %; the interval that is told holds the limit as often."""
    noises = (0.03, 0.05, 0.08)
    worlds = [(limit, noises[seed % 3], seed) for limit in LIMITS for seed in range(9)]
    plans = {
        (limit, seed): streaming(
            tmp_path / f"{limit}-{seed}", DrainedServers(limit, between=between, within=0.05, seed=seed)
        )
        for limit, between, seed in worlds
    }
    off = [abs((plan.rate_docs_per_s or 0.0) / limit / 0.7 - 1) for (limit, _), plan in plans.items()]
    held = [(plan.limit_low or 0.0) <= limit <= (plan.limit_high or 0.0) for (limit, _), plan in plans.items()]
    assert sum(each <= 0.05 for each in off) >= 0.95 * len(worlds)
    assert sum(held) >= 0.9 * len(worlds)


def test_the_limit_is_of_full_drains_of_the_control_alone(tmp_path: Path) -> None:
    """They are the last runs before the first stream; where runs scatter by 3 %, few of them tell it."""
    bench = DrainedServers(40_000.0, between=0.03, within=0.05, seed=5)
    plan = streaming(tmp_path, bench)
    assert plan.limit_low is not None
    assert plan.limit_high is not None
    assert plan.limit_drains is not None
    assert plan.limit_drains >= LEAST_DRAINS
    assert (plan.limit_high / plan.limit_low) ** 0.5 < 1.05
    first_stream = next(place for place, (_, _, rate) in enumerate(bench.ran) if rate)
    of_limit = [name for name, _, _ in bench.ran[first_stream - plan.limit_drains : first_stream]]
    assert of_limit == ["control"] * plan.limit_drains


def test_each_variant_streams_once_uncounted(tmp_path: Path) -> None:
    """After the limit, before the first block."""
    bench = DrainedServers(40_000.0, between=0.0, within=0.0, seed=1)
    streaming(tmp_path, bench)
    streams = [(name, warm_up) for name, warm_up, rate in bench.ran if rate]
    assert streams == [("control", True), ("static", True), ("control", False), ("static", False)]


def test_a_rate_in_documents_needs_no_limit(tmp_path: Path) -> None:
    """No drain of full size is run for it."""
    bench = DrainedServers(40_000.0, between=0.0, within=0.0, seed=1)
    plan = streaming(tmp_path, bench, "600")
    assert (plan.rate_docs_per_s, plan.limit_drains, bench.times) == (600.0, None, 1)


def test_drains_end_when_a_share_of_the_time_is_over(tmp_path: Path) -> None:
    """However much they scatter; the interval then says how well the limit is known."""
    bench = DrainedServers(40_000.0, between=0.3, within=0.05, seed=1)
    plan = streaming(tmp_path, bench, minutes=10)
    assert plan.limit_drains == FEWEST_DRAINS
    assert LEAST_DRAINS < (streaming(tmp_path / "b", bench).limit_drains or 0) <= MOST_DRAINS


def test_drains_too_short_for_a_measured_window_tell_no_limit(tmp_path: Path, message: MakeMessage) -> None:
    """Such as those of a file, which is as long as it is."""

    class OfAFile(DrainedServers):
        def drain(self, documents: int, rate_docs_per_s: float) -> Result:  # noqa: ARG002
            return super().drain(self.documents, rate_docs_per_s)

    with pytest.raises(ProfileError) as refusal:
        streaming(tmp_path, OfAFile(40_000.0, between=0.0, within=0.0, seed=1))
    assert str(refusal.value) == message("60,000")


def test_drains_that_fail_tell_no_limit(tmp_path: Path, message: MakeMessage) -> None:
    """Nor do they go on for ever."""

    class Failing(DrainedServers):
        def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool, short: bool, **_: object) -> Result:
            self.ran.append((variant.name, warm_up, 0.0))
            return super().run(variant, folder, warm_up=warm_up, short=short) if short else a_result(verified=False)

    bench = Failing(40_000.0, between=0.0, within=0.0, seed=1)
    with pytest.raises(StackError) as error:
        streaming(tmp_path, bench)
    assert str(error.value) == message(0, 3)
    limit_drains = [name for name, _, _ in bench.ran[-FEWEST_DRAINS:]]
    assert limit_drains == ["control"] * FEWEST_DRAINS
    assert len(bench.ran) < 16


def test_drains_that_still_rise_are_no_part_of_the_limit() -> None:
    """The first ones on servers that were just warmed; the limit is that of those from which on they are alike."""
    rates = iter([30_000.0, 45_000.0, 54_000.0, *[60_000.0 + (-1) ** number * 300 for number in range(16)]])

    def drain(_number: int) -> Result:
        rate = Metric(name="indexing_rate_docs_per_s", scope="primaries", unit="docs/s", value=next(rates))
        return a_result().model_copy(update={"metrics": (rate,)})

    limit, drains = measured_limit(drain, is_warm=is_warm, is_late=lambda: False)
    assert limit.value == pytest.approx(60_000, rel=0.01)
    assert drains >= 3
