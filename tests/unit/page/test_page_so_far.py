"""What limits at this moment, by the report's rules."""

import pytest

from lab.analysis.figures.limits import limited_by
from lab.page.so_far import Judgement, connector_settings, judged
from lab.profiles import Profile, load_profile
from lab.records.run import WarningKind
from lab.records.samples import Sample
from tests.unit.analysis.synthetic import Truth, run, samples, with_samples
from tests.unit.messages import MakeMessage, Naming

CORES = 2
QUICKSTART = load_profile("quickstart")
STREAM = load_profile("quickstart", overrides=["load.mode=stream", "load.rate_docs_per_s=5003"])


def in_load(truth: Truth, sample_count: int = 20) -> list[Sample]:
    """Samples from the middle of a load."""
    return [sample for sample in samples(truth) if sample.phase == "load"][:sample_count]


@pytest.mark.parametrize(
    ("profile", "truth"),
    [
        (QUICKSTART, Truth(machine_cpu_percent=97.0)),
        (QUICKSTART, Truth(machine_cpu_percent=41.0)),
        (QUICKSTART, Truth(machine_cpu_percent=41.0, write_active=0, bulks_in_flight=1)),
        (QUICKSTART, Truth(throttled_ms_per_tick=503)),
        (STREAM, Truth(load="stream", rate_docs_per_s=5003, lag_records=7, machine_cpu_percent=41.0)),
    ],
    ids=["machine", "write threads", "sink", "merge throttling", "requested rate"],
)
def test_the_limit_is_the_reports_of_the_same_seconds(profile: Profile, truth: Truth) -> None:
    """In the same words, but for those that name the window."""
    seen = in_load(truth)
    ended = run(truth)
    settings = connector_settings(profile)
    alike = ended.model_copy(update={"environment": ended.environment.model_copy(update={"connector": settings})})
    expected = limited_by(alike, seen[-11:])
    live = judged(profile, CORES, seen).limit
    assert expected is not None
    assert live is not None
    assert live.stage == expected.stage
    assert live.evidence == expected.evidence.replace("the measured window", "the last 10 s")


def test_nothing_limits_outside_of_a_load() -> None:
    """Before it, after it, nor when it has just begun."""
    of_fill = [sample for sample in samples(Truth(fill_s=23)) if sample.phase == "fill"]
    assert judged(QUICKSTART, CORES, of_fill) == Judgement()
    assert judged(QUICKSTART, CORES, samples(Truth())) == Judgement()
    assert judged(QUICKSTART, CORES, [*of_fill, *in_load(Truth(), 2)]) == Judgement()
    assert judged(QUICKSTART, CORES, []) == Judgement()


def test_a_load_that_has_just_begun_is_judged_by_itself() -> None:
    """Not by what came before it."""
    throttled = in_load(Truth(throttled_ms_per_tick=503))[10:15]
    before = [sample.model_copy(update={"phase": "fill"}) for sample in in_load(Truth())[:10]]
    limit = judged(QUICKSTART, CORES, [*before, *throttled]).limit
    assert limit is not None
    assert (limit.stage, limit.evidence) == ("merge throttling", Naming("the last 4 s"))


def test_where_no_limit_is_found_the_seconds_that_were_searched_are_known() -> None:
    """Four in a load that has just begun, ten later on; of queries alone none is searched for."""
    unknown = with_samples(in_load(Truth()), lambda _: {"elasticsearch": None})
    found = [judged(QUICKSTART, CORES, unknown[:count]) for count in (1, 5, 20)]
    assert [(each.limit, each.asked_s) for each in found] == [(None, None), (None, 4.0), (None, 10.0)]
    assert judged(load_profile("events/queries"), CORES, unknown).asked_s is None


def test_what_is_warned_of_is_told_in_words_for_now(message: MakeMessage) -> None:
    """Other programs on the machine, as the report would say, of the last seconds."""
    seen = with_samples(in_load(Truth()), lambda _: {"other_cpu_percent": 31.0})
    (warning,) = judged(QUICKSTART, CORES, seen).warnings
    assert warning.seen == message(31, 10)
    assert warning.kind is WarningKind.BUSY_MACHINE


def test_the_last_seconds_are_named_as_such_where_elasticsearch_does_not_answer() -> None:
    """They are not the whole load, which may be an hour old."""
    seen = with_samples(in_load(Truth()), lambda _: {"other_cpu_percent": 31.0, "elasticsearch": None})
    (warning,) = judged(QUICKSTART, CORES, seen).warnings
    assert warning.seen == Naming(31, "the last 10 s")


def test_the_slow_stage_has_a_place_in_the_picture() -> None:
    """Elasticsearch is its nodes; the machine as a whole has none."""
    assert judged(QUICKSTART, CORES, in_load(Truth(throttled_ms_per_tick=503))).slow == "nodes"
    alone = Truth(load="stream", rate_docs_per_s=5003, lag_records=7, machine_cpu_percent=41.0)
    assert judged(STREAM, CORES, in_load(alone)).slow is None


def test_opensearch_is_called_by_its_name(message: MakeMessage) -> None:
    """As in its report."""
    profile = load_profile("quickstart", overrides=["opensearch=3.0.0"])
    limit = judged(profile, CORES, in_load(Truth(machine_cpu_percent=53.0, write_active=2))).limit
    assert limit is not None
    assert limit.evidence == message("OpenSearch's write threads", 100, 3)


def test_the_settings_of_the_connector_are_those_of_template_and_profile() -> None:
    """As many tasks as the profile asks for; its own settings win."""
    profile = load_profile("quickstart", overrides=["sink.tasks=3", "sink.config={max.in.flight.requests: 7}"])
    settings = connector_settings(profile)
    assert (settings["tasks.max"], settings["max.in.flight.requests"]) == ("3", 7)
