"""What a tune plans before it runs: sizes of loads, streams for a latency, how many candidates there is time for."""

from pathlib import Path

import pytest

from lab.analysis.tune.goals import compared_metrics, parsed_goal
from lab.cli.tune import OneDataset
from lab.errors import ProfileError
from lab.profiles.spaces import Start, candidates_of, load_space
from lab.records.tune import START, Stage, TunePlan
from lab.suite.limit import LEAST_DRAINS, LIMIT_S
from lab.suite.loads import LoadSizes
from lab.suite.plan import RUN_BASE_S
from lab.tune.execution import Profiles, first_suite
from lab.tune.plan import BASE_DOCUMENTS, BETWEEN_S, STARTING_S, expected, sized, window_of
from lab.tune.search import Search, Times
from tests.unit.messages import MakeMessage

NODE_OF_ITS_OWN = "heap_mb=2048"


def profiles(start: Start, goal: str, documents: int | None = None) -> Profiles:
    """The combinations of a search from a start."""
    wanted = parsed_goal(goal)
    tried, _ = candidates_of(load_space("default"), start)
    plan = TunePlan(
        tune="t",
        question="?",
        started_s=0,
        profile=start.reference,
        fingerprint=start.profile.fingerprint(),
        space="default",
        goal=wanted,
        minutes=60,
        window_s=window_of(wanted.rate),
        seed=1,
        metrics=compared_metrics(wanted),
        candidates=tried[:3],
    )
    return Profiles(plan, start, lambda profile: profile, OneDataset(), documents)


def test_a_latency_is_measured_by_streams_at_the_rate() -> None:
    """Of every combination, for as long as a suite's; the warm-up stays a drain."""
    start = Start.of("quickstart", ("dataset.documents=7001",))
    made = profiles(start, "latency at 500")
    suite = first_suite(made)
    assert {variant.profile.load.mode for variant in suite.variants} == {"drain"}
    streams = made.with_sizes(suite, LoadSizes(4000.0, 500.0))
    assert [variant.name for variant in streams.variants] == [START, "tasks=2", "tasks=4", "refresh_interval=30s"]
    assert {(v.profile.load.mode, v.profile.load.rate_docs_per_s) for v in streams.variants} == {("stream", 500.0)}
    assert {v.profile.dataset.documents for v in streams.variants} == {10_000}
    assert (suite.rate, suite.metrics[0]) == ("500", ("end_to_end_latency_ms_p99", "run"))


def test_only_the_confirmation_has_the_start_twice() -> None:
    """And as many blocks as there is time for."""
    made = profiles(Start.of("quickstart"), "rate")
    search = made.suite(Stage(number=1, kind="mixed", blocks=((("tasks=2",),),) * 3), None)
    confirm = made.suite(Stage(number=2, kind="confirm", blocks=((("tasks=2",),),)), 7.0)
    assert (search.repetition, search.measures.repeats, [v.name for v in search.variants]) == (
        None,
        3,
        [START, "tasks=2"],
    )
    assert (confirm.repetition, confirm.measures.minutes) == ("start (again)", 7.0)
    assert [v.name for v in confirm.variants] == [START, "start (again)", "tasks=2"]
    assert search.seed != confirm.seed


def test_a_search_begins_with_no_more_documents_than_a_warm_up_needs() -> None:
    """Of books that many, too; a small start stays as it is."""
    many = sized(Start.of("quickstart"), 600_000)
    assert many.profile.dataset.documents == BASE_DOCUMENTS
    books = sized(Start.of("aladin/flat"), 500_000)
    assert (books.profile.dataset.books, books.profile.dataset.documents) == (24_000, None)
    small = Start.of("quickstart", ("dataset.documents=1009",))
    assert sized(small, 1009) is small


def test_a_file_is_read_from_its_beginning_and_no_further_than_its_end(tmp_path: Path) -> None:
    """Longer drains have more of its documents, as far as there are some."""
    path = tmp_path / "many.ndjson"
    path.write_text("".join(f'{{"id": {number}}}\n' for number in range(BASE_DOCUMENTS * 2 + 7)))
    whole = Start.of("file", (f"dataset.path={path}",))
    start = sized(whole, BASE_DOCUMENTS * 2 + 7)
    assert start.profile.dataset.documents == BASE_DOCUMENTS
    made = profiles(start, "rate", documents=BASE_DOCUMENTS * 2 + 7)
    assert made.capped(LoadSizes(9000.0, times=5)) == LoadSizes(9000.0, times=2)
    assert made.capped(LoadSizes(9000.0, times=1)) == LoadSizes(9000.0, times=1)


def test_a_stream_of_a_small_file_ends_after_its_time(tmp_path: Path, message: MakeMessage) -> None:
    """It sends as many of its documents as rate and time ask for; at a share of the limit, too few are refused."""
    path = tmp_path / "few.ndjson"
    path.write_text("".join(f'{{"id": {number}}}\n' for number in range(4001)))
    start = sized(Start.of("file", (f"dataset.path={path}",)), 4001, streams=True)
    assert start.profile.dataset.documents == 4001
    made = profiles(start, "latency at 50%", documents=4001)
    stream = made.with_sizes(first_suite(made), LoadSizes(200.0, rate_docs_per_s=100.0)).variants[0].profile
    assert (stream.dataset.documents, stream.load.rate_docs_per_s) == (2000, 100.0)
    with pytest.raises(ProfileError) as refusal:
        made.capped(LoadSizes(900.0, rate_docs_per_s=450.0))
    assert str(refusal.value) == message("--goal", 50, "4,001", "9,000", "22 %")


def test_the_least_time_holds_a_block_of_combinations_and_a_confirmation() -> None:
    """Of all candidates; nothing is left of it then."""
    tried, _ = candidates_of(load_space("default"), Start.of("quickstart"))
    takes, search = expected(BASE_DOCUMENTS, None, 8.0, started=False), Search(tried, parsed_goal("rate"), ())
    budget_s = 60 * takes.least_minutes(search.runs_of_block)
    times = Times(budget_s - takes.starting_s, budget_s, takes.run_s)
    stage = search.next_stage([], times)
    assert stage is not None
    assert len(stage.blocks) == 1
    assert times.left_s - times.block_s(stage.combinations) == pytest.approx(times.confirm_s, abs=takes.run_s)


def test_servers_that_run_already_need_no_time_to_start() -> None:
    """Only to become warm."""
    begun, not_begun = (expected(2003, 2003, 8.0, started=started).starting_s for started in (True, False))
    assert not_begun - begun == pytest.approx(STARTING_S)


def test_a_share_of_the_limit_takes_the_drains_that_measure_it() -> None:
    """Before the first run that counts; a rate in documents takes none."""
    share, stated = (expected(2003, None, 20.0, started=True, rate=rate).starting_s for rate in ("70%", "600"))
    assert share - stated == pytest.approx(LEAST_DRAINS * (RUN_BASE_S + BETWEEN_S + LIMIT_S))
