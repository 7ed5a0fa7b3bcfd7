"""What a document costs, from runs whose every figure is known beforehand; and the command that sizes from them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from lab.analysis.result import analyse
from lab.analysis.sizing.assumptions import Assumptions
from lab.analysis.sizing.measured import measured
from lab.analysis.sizing.sizing import Target, sizing
from lab.cli.app import app
from lab.cli.size import notes
from lab.errors import ProfileError
from lab.records.queries import QueryLoadResult
from lab.records.run import Run
from lab.records.samples import Sample
from tests.unit.analysis.synthetic import Truth, directly, elsewhere, run, samples, with_samples, written
from tests.unit.messages import MakeMessage

TRUTH = Truth(replicas=1, cores=(("elasticsearch-1", 1.5), ("connect", 0.25), ("kafka", 0.125)))


def folder(place: Path, truth: Truth = TRUTH, **changes: Any) -> Path:
    """The folder of a run."""
    return written(place, run(truth).model_copy(update=changes), samples(truth))


def test_costs_are_those_of_one_copy_of_one_document(tmp_path: Path) -> None:
    """A replica indexes anew: of two copies each costs half. The sink works once for both."""
    costs = measured([analyse(folder(tmp_path / "a"))]).costs

    documents, load_s = TRUTH.indexed, TRUTH.load_s
    assert costs.elasticsearch_cpu_us.value == pytest.approx(1.5 * load_s / documents * 1e6 / 2)
    assert costs.connect_cpu_us.value == pytest.approx(0.25 * load_s / documents * 1e6, rel=0.05)
    assert costs.kafka_cpu_us is not None
    assert costs.kafka_cpu_us.value == pytest.approx(0.125 * load_s / documents * 1e6, rel=0.05)
    assert costs.producer_cpu_us is not None
    assert costs.producer_cpu_us.value == pytest.approx(1.75 / documents * 1e6)
    assert (costs.source_bytes.value, costs.stored_bytes.value) == pytest.approx((797, 503))
    # 115 requests of 89 ms on average; the median of the histogram is 97.
    assert costs.request_us.value == pytest.approx(115 * 89_000 / documents)
    assert costs.elasticsearch_cpu_us.high is None


def test_brokers_pay_for_the_fill_of_a_drain_as_well(tmp_path: Path) -> None:
    """Records go in before the load begins; what the broker does for that is no gift."""
    made = run(TRUTH)

    def busier(sample: Sample) -> dict[str, Any]:
        kafka = sample.processes["kafka"]
        spent_s = kafka.cpu_s + min(TRUTH.fill_s, sample.at_s - made.started_s)
        return {"processes": {**sample.processes, "kafka": kafka.model_copy(update={"cpu_s": spent_s})}}

    plain = measured([analyse(folder(tmp_path / "a"))]).costs.kafka_cpu_us
    filled = measured([analyse(written(tmp_path / "b", made, with_samples(samples(TRUTH), busier)))]).costs.kafka_cpu_us
    assert plain is not None
    assert filled is not None
    # A core for the seconds between the first sample of the fill and its last.
    assert (filled.value - plain.value) * TRUTH.indexed / 1e6 == pytest.approx(TRUTH.fill_s, abs=1)


def test_a_topic_that_another_run_filled_tells_nothing_of_the_broker(tmp_path: Path) -> None:
    """Its fill is in that run."""
    delivery = run(TRUTH).delivery
    assert delivery is not None
    changed = delivery.model_copy(update={"earlier_run": "20261123-090000"})
    assert measured([analyse(folder(tmp_path / "a", delivery=changed))]).costs.kafka_cpu_us is None


def test_several_runs_tell_the_spread(tmp_path: Path) -> None:
    """Bytes that are the same in both have none."""
    slower = Truth(replicas=1, cores=(("elasticsearch-1", 1.8), ("connect", 0.25), ("kafka", 0.125)))
    places = [folder(tmp_path / "a"), folder(tmp_path / "b", slower, run_id="20270115-080001")]
    costs = measured([analyse(place) for place in places]).costs
    spread = costs.elasticsearch_cpu_us
    assert spread.low is not None
    assert spread.high is not None
    assert spread.low < spread.value < spread.high
    assert costs.source_bytes.high is None


@pytest.mark.parametrize(
    ("made", "facts"),
    [
        (lambda: unverified(TRUTH), ()),
        (lambda: directly(TRUTH), ()),
        (lambda: elsewhere(TRUTH), ()),
        (
            lambda: (run(Truth(ticks=9)), samples(Truth(ticks=9))),
            (5,),
        ),
        (
            lambda: (run(Truth(ticks=2)), samples(Truth(ticks=2))),
            (5,),
        ),
        (
            lambda: (run(TRUTH), with_samples(samples(TRUTH), lambda _: {"sink": None})),
            (),
        ),
        (
            lambda: (run(TRUTH), sent_again(item_retries=11_507)),
            ("11,507", "115,069"),
        ),
        (
            lambda: (run(TRUTH), sent_again(bulk_requests_failed=3)),
            (3, 115),
        ),
    ],
    ids=[
        "not verified",
        "direct",
        "elsewhere",
        "short",
        "over at once",
        "another sink",
        "rejections",
        "failed requests",
    ],
)
def test_a_run_that_does_not_serve_is_refused(
    tmp_path: Path, made: Any, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """With what it lacks."""
    place = written(tmp_path / "a", *made())
    with pytest.raises(ProfileError) as error:
        measured([analyse(place)])
    assert str(error.value).partition(": ")[2] == message(*facts)


def sent_again(**counters: int) -> list[Sample]:
    """Samples of a run in which so much was sent more than once."""

    def change(sample: Sample) -> dict[str, object]:
        return {"sink": sample.sink and sample.sink.model_copy(update=counters if sample.sink.bulk_requests else {})}

    return with_samples(samples(TRUTH), change)


def unverified(truth: Truth) -> tuple[Run, list[Sample]]:
    """A run in which something was lost."""
    made = run(truth)
    return made.model_copy(update={"verification": made.verification.model_copy(update={"verified": False})}), samples(
        truth
    )


def test_a_record_that_overwrites_a_document_adds_no_bytes(tmp_path: Path) -> None:
    """Half of them updates: a rate of all records fills a disk half as fast as one of new documents."""
    made = analyse(folder(tmp_path / "a"))
    stored = made.result.documents.indexed
    counts = made.result.documents.model_copy(update={"indexed": stored // 2, "already_there": stored - stored // 2})
    updates = replace(made, result=made.result.model_copy(update={"documents": counts}))
    assert updates.result.documents.loaded == made.result.documents.loaded
    assert measured([updates]).costs.stored_bytes == measured([made]).costs.stored_bytes


def test_a_load_with_queries_beside_it_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """Their CPU is in that of the nodes."""
    made = analyse(folder(tmp_path / "a"))
    queried = made.folder.run.model_copy(update={"query_load": QueryLoadResult.model_construct()})
    with pytest.raises(ProfileError) as error:
        measured([replace(made, folder=replace(made.folder, run=queried))])
    assert str(error.value) == message("queries")


def test_runs_that_differ_are_not_put_together(tmp_path: Path, message: MakeMessage) -> None:
    """Two processors, two costs."""
    other = run(TRUTH).environment.model_copy(update={"cpu_model": "Other CPU"})
    places = [folder(tmp_path / "a"), folder(tmp_path / "b", run_id="20270115-080001", environment=other)]
    with pytest.raises(ProfileError) as error:
        measured([analyse(place) for place in places])
    assert str(error.value) == message("20270115-080001")


def test_runs_of_other_settings_are_not_put_together(tmp_path: Path, message: MakeMessage) -> None:
    """What best_compression saves is no uncertainty; nor is what a slow stream costs more."""
    places = [folder(tmp_path / "a"), folder(tmp_path / "b", run_id="20270115-080001")]
    for place, codec in zip(places, ("default", "best_compression"), strict=True):
        (place / "profile.json").write_bytes(orjson.dumps({"name": place.name, "index": {"codec": codec}}))
    with pytest.raises(ProfileError) as error:
        measured([analyse(place) for place in places])
    assert str(error.value) == message("20270115-080001", "index.codec", "best_compression")


def test_a_setting_that_only_one_run_has_is_a_difference(tmp_path: Path, message: MakeMessage) -> None:
    """Whichever of the two it is."""
    places = [folder(tmp_path / "a"), folder(tmp_path / "b", run_id="20270115-080001")]
    for place, index in zip(places, ({}, {"codec": "best_compression"}), strict=True):
        (place / "profile.json").write_bytes(orjson.dumps({"name": place.name, "index": index}))
    with pytest.raises(ProfileError) as error:
        measured([analyse(place) for place in places])
    assert str(error.value) == message("20270115-080001", "index.codec", "best_compression")


def test_a_stream_is_said_to_be_one(tmp_path: Path) -> None:
    """At 600 documents per second most CPU is overhead of the second, not of the document."""
    delivery = run(TRUTH).delivery
    assert delivery is not None
    place = folder(tmp_path / "a", delivery=delivery.model_copy(update={"rate_docs_per_s": 600}))
    shown = CliRunner().invoke(app, ["size", "--rate", "5000", "--run", str(place)], env={"COLUMNS": "200"})
    assert "measured on a stream of 600 documents/s" in shown.output
    assert "size from a drain" in shown.output


@pytest.mark.parametrize("wrong", [("--rate", "nan"), ("--rate", "inf"), ("--rate", "5", "--days", "inf")])
def test_a_rate_is_a_number(wrong: tuple[str, ...]) -> None:
    """And a time, too."""
    done = CliRunner().invoke(app, ["size", "--profile", "quickstart", *wrong])
    assert "expected numbers above 0" in str(done.exception)


def test_the_command_sizes_from_the_last_run_of_a_profile(tmp_path: Path) -> None:
    """And says what it measured, what follows, what it assumed; as JSON, too."""
    place = folder(tmp_path / "runs" / "aladin" / "synthetic" / "20270115-080000")
    words = ["size", "--rate", "500000", "--days", "30", "--runs", str(tmp_path / "runs")]

    shown = CliRunner().invoke(app, [*words, "--profile", run(TRUTH).profile], env={"COLUMNS": "200"})
    answer = CliRunner().invoke(app, [*words, "--run", str(place), "--assume", "disk_tb=8", "--json"])

    assert shown.exit_code == 0, shown.output
    assert "one run gives no interval: how far this is off is unknown" in shown.output
    assert "data nodes" in shown.output
    assert "cluster.routing.allocation.disk.watermark.low" in shown.output
    sized = orjson.loads(answer.stdout)
    assert sized["assumptions"]["disk_tb"] == 8
    assert sized["stored_tb"]["value"] == pytest.approx(500_000 * 86_400 * 30 * 503 * 2 / 1e12)
    assert [part["name"] for part in sized["parts"]] == ["data nodes", "brokers", "workers", "drivers"]


def test_runs_are_named_as_by_compare_and_the_last_one_that_serves_is_taken(tmp_path: Path) -> None:
    """A void run after it does not stop a sizing, and is named."""
    profile = tmp_path / "runs" / "aladin" / "synthetic"
    folder(profile / "20270115-080000")
    written(profile / "20270116-080000", *unverified(TRUTH))
    words = ["size", "aladin/synthetic", "--rate", "5000", "--runs", str(tmp_path / "runs")]

    shown = CliRunner().invoke(app, words, env={"COLUMNS": "200"})

    assert shown.exit_code == 0, shown.exception
    assert "sized from 20270115-080000; its last run, 20270116-080000: got a run that is not verified" in shown.output


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("--rate", "0", "--profile", "x"), ("--rate", "--days", 0, 30)),
        (("--rate", "5"), ("--profile", "--run")),
        (("--rate", "5", "--profile", "x", "--assume", "cpus=3"), ("--assume cpus",)),
    ],
)
def test_a_wrong_question_is_refused(words: tuple[str, ...], facts: tuple[object, ...], message: MakeMessage) -> None:
    """Before a run is read."""
    with pytest.raises(ProfileError) as refusal:
        CliRunner().invoke(app, ["size", *words], standalone_mode=False, catch_exceptions=False)
    assert str(refusal.value) == message(*facts)


def test_of_a_window_too_short_to_tell_no_steady_state_is_shown(tmp_path: Path) -> None:
    """It may have had one: it was said that there was none."""
    analysis = analyse(folder(tmp_path / "a"))
    window = analysis.result.measured_window
    assert window is not None
    short = window.model_copy(update={"steady": None})
    found = measured([replace(analysis, result=analysis.result.model_copy(update={"measured_window": short}))])
    told = list(notes(sizing(Target(5000, 30, 1), found, Assumptions())))
    assert any(note.startswith("no steady state is shown in 1 of 1 runs") for note in told)


def test_a_stream_that_did_not_keep_up_is_of_what_it_reached(tmp_path: Path) -> None:
    """No document was indexed at the rate that was asked for."""
    delivery = run(TRUTH).delivery
    assert delivery is not None
    place = folder(tmp_path / "a", delivery=delivery.model_copy(update={"rate_docs_per_s": 90_000}))
    assert measured([analyse(place)]).stream_docs_per_s == pytest.approx(5000, rel=0.01)
