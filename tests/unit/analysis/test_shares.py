"""Delivery records put together: one load, whole, and sent when it was due, or no figures."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.analysis.shares import gathered, read_delivery
from lab.errors import ProfileError, VerificationError
from lab.records.drivers import ClockOffset
from lab.records.shares import PLAN, DeliveryRecord
from producers.delivery import Delivered, Failure
from producers.latency import Latencies
from tests.unit.messages import MakeMessage


def latencies(*values_ms: int) -> Latencies:
    """These latencies in a histogram."""
    histogram = Latencies()
    for value_ms in values_ms:
        histogram.record(value_ms * 1_000_000)
    return histogram


def delivered(documents: int = 1009, *, late: int = 0, ended_s: float = 110.0, ms: tuple[int, ...] = (7,)) -> Delivered:
    """What a driver did."""
    histogram = latencies(*ms)
    return Delivered(
        produced=documents,
        delivered=documents,
        failed=0,
        source_bytes=documents * 800,
        entities=documents,
        rate_docs_per_s=200.0,
        first_intended_s=100.0,
        last_acknowledged_s=ended_s,
        late_documents=late,
        latency_ms=histogram.percentiles_ms(),
        latency_samples=histogram.samples,
        latencies_clamped=0,
        cpu_s=1.5,
        failures=(),
        latencies=histogram.encoded(),
    )


def record(share: int, *, of: int = 2, documents: int = 2018, **changes: Any) -> DeliveryRecord:
    """The record of a share."""
    values: dict[str, Any] = {
        "sluice_version": "0.2.0",
        "topic": "books",
        "dataset": {"name": "aladin", "seed": 1},
        "content_hash": None,
        "documents": documents,
        "share": share,
        "of": of,
        "processes": 1,
        "rate_docs_per_s": 200.0,
        "start_at_s": 100.0,
        "delivered": delivered(),
    }
    return DeliveryRecord(**values | changes)


def test_counts_add_up_and_the_load_lasts_from_the_first_to_the_last() -> None:
    """In whatever order the files are named; percentiles are those of all documents."""
    both = gathered(
        {
            "b": record(2, delivered=delivered(ended_s=111.5, ms=(97,))),
            "a": record(1, delivered=delivered(late=10, ended_s=112.5, ms=(3, 5, 7))),
        }
    )
    assert (both.delivered, both.source_bytes, both.entities, both.cpu_s) == (2018, 2018 * 800, 2018, 3.0)
    assert (both.first_intended_s, both.last_acknowledged_s, both.rate_docs_per_s) == (100.0, 112.5, 200.0)
    assert (both.late_documents, both.latency_samples) == (10, 4)
    assert both.latency_ms["p50"] == pytest.approx(5, rel=0.001)
    assert both.latency_ms["max"] == pytest.approx(97, rel=0.001)


@pytest.mark.parametrize(
    ("records", "facts"),
    [
        (
            {"a": record(1, of=3), "c": record(3, of=3)},
            ("2/3",),
        ),
        (
            {"a": record(1), "b": record(2), "c": record(2)},
            ("2/2",),
        ),
        (
            {"a": record(1), "b": record(2, rate_docs_per_s=100.0)},
            ("b: rate_docs_per_s", 100.0, 200.0),
        ),
        (
            {"a": record(1), "b": record(2, start_at_s=101.0, content_hash="5f")},
            ("b: content_hash", "5f", "start_at_s", 101.0, 100.0),
        ),
    ],
    ids=["missing", "doubled", "another rate", "another file and start"],
)
def test_what_is_not_one_whole_load_is_refused(
    records: dict[str, DeliveryRecord], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """The input is wrong: exit status 2, and every problem in one sentence."""
    with pytest.raises(ProfileError) as refusal:
        gathered(records)
    assert str(refusal.value) == message(*facts)


PLANNED = {name: getattr(record(1), name) for name in PLAN}


def test_records_of_another_load_than_the_planned_one_are_refused(message: MakeMessage) -> None:
    """Though they agree with each other, as those of an earlier run do."""
    records = {"a": record(1), "b": record(2)}
    assert gathered(records, PLANNED).delivered == 2018
    with pytest.raises(ProfileError) as refusal:
        gathered(records, {**PLANNED, "topic": "books-2"})
    assert str(refusal.value) == message("a", "books-2")


def test_a_driver_that_was_late_voids_the_load(message: MakeMessage) -> None:
    """Its figures would be those of another load; 1 % late is borne, since a run bears as much."""
    assert gathered({"a": record(1, delivered=delivered(late=10)), "b": record(2)}).late_documents == 10
    with pytest.raises(VerificationError) as refusal:
        gathered({"a": record(1, delivered=delivered(late=11)), "b": record(2)})
    assert str(refusal.value) == message("1/2", 11, "1,009", 1.1, 100)


def test_documents_that_were_given_up_void_the_load(message: MakeMessage) -> None:
    """With Kafka's reason."""
    lost = replace(
        delivered(), delivered=1006, failed=3, failures=(Failure("_MSG_TIMED_OUT", "Local: Message timed out", 3),)
    )
    with pytest.raises(VerificationError) as error:
        gathered({"a": record(1), "b": record(2, delivered=lost)})
    assert str(error.value) == message("2/2", 3, "1,009", "_MSG_TIMED_OUT")


def test_shares_that_do_not_make_the_dataset_void_the_load(message: MakeMessage) -> None:
    """Every document must be somebody's."""
    with pytest.raises(VerificationError) as error:
        gathered({"a": record(1, documents=2019), "b": record(2, documents=2019)})
    assert str(error.value) == message("2,018", "2,019")


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    """One line of JSON; a file that is none is named."""
    file = tmp_path / "1.json"
    file.write_text(record(1).model_dump_json() + "\n")
    assert read_delivery(file) == record(1)
    with_clock = record(1, clock=ClockOffset(ahead_ms=300.0, bound_ms=2.5))
    file.write_text(with_clock.model_dump_json() + "\n")
    assert read_delivery(file) == with_clock
    file.write_text("{}\n")
    with pytest.raises(ProfileError, match=rf"^{file}: not a delivery record: sluice_version: Field required"):
        read_delivery(file)


@pytest.mark.parametrize(("ahead_ms", "are_apart"), [(60_000.0, True), (-60_000.0, True), (300.0, False)])
def test_drivers_that_did_not_send_at_the_same_time_have_no_figures(
    ahead_ms: float, message: MakeMessage, *, are_apart: bool
) -> None:
    """Each kept the schedule, by a clock of its own: the broker never had the rate of both."""
    clocks = ClockOffset(ahead_ms=0.0, bound_ms=2.0), ClockOffset(ahead_ms=ahead_ms, bound_ms=2.0)
    records = {f"{share}.json": record(share, clock=clock) for share, clock in enumerate(clocks, 1)}
    if not are_apart:
        assert gathered(records).produced == 2018
        return
    with pytest.raises(VerificationError) as error:
        gathered(records)
    assert str(error.value) == message(60)
