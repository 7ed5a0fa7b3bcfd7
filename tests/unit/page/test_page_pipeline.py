"""The picture of the pipeline: each stage as its newest sample has it."""

from typing import Any

from lab.monitor.connect import EVERY
from lab.page.pipeline import pipeline
from lab.page.points import points_of
from lab.page.so_far import judged
from lab.profiles import load_profile
from lab.records.samples import ConnectorSample, Sample, TaskSample
from tests.unit.analysis.synthetic import Truth, samples, with_samples

PROFILE = load_profile("quickstart", overrides=["load.mode=stream", "load.rate_docs_per_s=5003"])


def picture(seen: list[Sample]) -> dict[str, Any]:
    """The picture at the last of these samples."""
    point = points_of(seen, 2)[-1]
    return pipeline(PROFILE, seen, point, judged(PROFILE, 2, seen))


def in_the_middle(truth: Truth) -> list[Sample]:
    """Samples up to the middle of the load."""
    return samples(truth)[:20]


def test_partitions_have_their_own_ends_and_lags() -> None:
    """Of one topic by number, of several by name."""
    seen = in_the_middle(Truth())

    def offsets(**partitions: tuple[int, int]) -> list[Sample]:
        named = {name.replace("_", "-"): pair for name, pair in partitions.items()}
        return with_samples(seen, lambda s: {"kafka": s.kafka and s.kafka.model_copy(update={"partitions": named})})

    assert picture(offsets(books_0=(101, 97), books_1=(7, 11)))["topic"] == {
        "name": "books",
        "partitions": [{"id": "0", "end": 101, "lag": 4}, {"id": "1", "end": 7, "lag": 0}],
    }
    several = picture(offsets(books_0=(101, 97), shops_0=(7, 5)))["topic"]
    assert (several["name"], [each["id"] for each in several["partitions"]]) == ("books, shops", ["books-0", "shops-0"])


def test_tasks_are_as_they_were_last_seen() -> None:
    """A worker that rebalances does not answer for a while."""
    seen = in_the_middle(Truth())
    failed = TaskSample(id=0, state="FAILED", worker="a:1", reason="gave up")
    seen[-2] = seen[-2].model_copy(update={"connector": ConnectorSample(state="RUNNING", tasks=(failed,))})
    assert picture(seen)["tasks"] == [{"id": 0, "state": "FAILED", "worker": "a:1", "reason": "gave up"}]
    assert picture(in_the_middle(Truth()))["tasks"] == []


def test_tasks_are_there_between_two_questions_that_are_far_apart() -> None:
    """At a sample each ten seconds, a connector is asked twice a minute; the page would say that none is running."""
    seen = in_the_middle(Truth())
    seen = [sample.model_copy(update={"at_s": seen[0].at_s + 10 * place}) for place, sample in enumerate(seen)]
    task = TaskSample(id=0, state="RUNNING", worker="a:1")
    seen[-EVERY] = seen[-EVERY].model_copy(update={"connector": ConnectorSample(state="RUNNING", tasks=(task,))})
    assert [each["state"] for each in picture(seen)["tasks"]] == ["RUNNING"]


def test_bulk_requests_are_counted_and_their_means_are_of_the_last_seconds() -> None:
    """Each takes 89 ms; 5,003 documents a second in requests of 1,009."""
    shown = picture(in_the_middle(Truth(bulks_in_flight=5)))["bulk"]
    assert (shown["in_flight"], shown["failed"], shown["mean_service_time_ms"]) == (5, 0, 89.0)
    assert 960 < shown["mean_documents"] < 1060


def test_a_stage_that_the_load_does_not_have_is_empty() -> None:
    """A direct load knows neither topic nor sink."""
    seen = with_samples(in_the_middle(Truth()), lambda _: {"kafka": None, "sink": None, "produced": None})
    shown = picture(seen)
    assert (shown["topic"], shown["bulk"], shown["tasks"]) == (None, None, [])
    assert shown["producers"] == {"rate": None, "target_rate": 5003, "delivered": None}


def test_a_node_has_the_growth_since_the_reading_before() -> None:
    """And its counts as they stand."""
    seen = in_the_middle(Truth())

    def counted(sample: Sample) -> dict[str, Any]:
        assert sample.elasticsearch is not None
        place = seen.index(sample)
        node = sample.elasticsearch.nodes["elasticsearch-1"].model_copy(
            update={"index_total": 503 * place, "segments_count": 7, "merges_current": 2}
        )
        return {"elasticsearch": sample.elasticsearch.model_copy(update={"nodes": {"elasticsearch-1": node}})}

    (node,) = picture(with_samples(seen, counted))["nodes"]
    assert (node["name"], node["rate"], node["segments"], node["merges"]) == ("elasticsearch-1", 503.0, 7, 2)
    assert (node["write_queue"], node["cpu_percent"], node["heap_percent"]) == (3, 80, 27.9)


def test_the_rate_of_a_node_is_by_when_its_counters_were_read() -> None:
    """A slow server answers late: 1006 documents in the two seconds from its answer to the next one's."""
    seen = in_the_middle(Truth())
    late_s = {seen[-1].at_s: 1.0}

    def counted(sample: Sample) -> dict[str, Any]:
        assert sample.elasticsearch is not None
        index_total = 1006 if sample.at_s in late_s else 0
        node = sample.elasticsearch.nodes["elasticsearch-1"].model_copy(update={"index_total": index_total})
        read_s = sample.at_s + late_s.get(sample.at_s, 0.0)
        return {
            "elasticsearch": sample.elasticsearch.model_copy(
                update={"nodes": {"elasticsearch-1": node}, "read_s": read_s}
            )
        }

    (node,) = picture(with_samples(seen, counted))["nodes"]
    assert node["rate"] == 503.0


def test_the_slow_place_has_its_reason_beside_it() -> None:
    """The same sentence as the limit."""
    shown = picture(in_the_middle(Truth(throttled_ms_per_tick=503)))
    assert shown["slow"] == "nodes"
    assert shown["why"].startswith("indexing throttled for 50.3 %")


def test_the_producers_of_a_drain_have_delivered_what_its_topic_holds() -> None:
    """They have ended before the first sample; a direct load has none."""
    partitions = {"books-0": (101, 97), "books-1": (7, 7)}
    seen = with_samples(
        in_the_middle(Truth()),
        lambda s: {"produced": None, "kafka": s.kafka and s.kafka.model_copy(update={"partitions": partitions})},
    )
    drain = load_profile("quickstart")
    shown = pipeline(drain, seen, points_of(seen, 2)[-1], judged(drain, 2, seen))
    assert (shown["producers"]["rate"], shown["producers"]["delivered"]) == (None, 108)
