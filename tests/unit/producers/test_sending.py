"""Sending: due times, exact counts, latencies, order per key; against a fake client and a fake clock."""

from typing import Any

import numpy as np
import pytest
from confluent_kafka import KafkaError

from producers.delivery import Failure, ProduceError
from producers.pacing import Schedule
from producers.sending import Sending, owned_blocks, sample_every
from tests.unit.messages import MakeMessage
from tests.unit.producers.fakes import FakeClient, FakeClock, NumberedDocuments

START_US = 1_700_000_000_000_000


def sending(client: FakeClient, *, rate_docs_per_s: float | None = None, **options: Any) -> Sending:
    """A sending that starts now."""
    schedule = Schedule(client.clock.now_ns, START_US, 0, rate_docs_per_s)
    return Sending(client, "books", schedule, clock=client.clock, **options)


def send_all(subject: Sending, documents: int) -> Sending:
    """Everything sent and finished."""
    dataset = NumberedDocuments(documents)
    for numbers in owned_blocks(dataset, (0, documents), 0, 1):
        subject.send(numbers, dataset.records(numbers))
    subject.finish()
    return subject


def test_every_document_is_sent_once_in_order() -> None:
    """What goes out is the dataset, nothing lost and nothing twice."""
    client = FakeClient(FakeClock())
    send_all(sending(client), 2003)
    assert [(sent.key, sent.value) for sent in client.sent] == list(
        NumberedDocuments(2003).records(np.arange(2003, dtype=np.int64))
    )


@pytest.mark.parametrize("rate", [None, 100.0, 50_000.0])
def test_produced_is_delivered_plus_failed(rate: float | None) -> None:
    """Failed deliveries and refused records are counted, each with its reason."""
    client = FakeClient(
        FakeClock(),
        fail=lambda key: KafkaError(KafkaError._MSG_TIMED_OUT) if int(key) % 7 == 0 else None,
        refuse=lambda key: KafkaError(KafkaError.MSG_SIZE_TOO_LARGE) if int(key) % 101 == 5 else None,
    )
    subject = send_all(sending(client, rate_docs_per_s=rate), 1009)
    refused = sum(number % 101 == 5 for number in range(1009))
    timed_out = sum(number % 7 == 0 and number % 101 != 5 for number in range(1009))
    assert (subject.produced, subject.failed) == (1009, refused + timed_out)
    assert subject.produced == subject.delivered + subject.failed
    assert subject.failures == (
        Failure("_MSG_TIMED_OUT", "Local: Message timed out", timed_out),
        Failure("MSG_SIZE_TOO_LARGE", "Broker: Message size too large", refused),
    )


def test_source_bytes_are_those_delivered() -> None:
    """A document that failed adds nothing to what was delivered."""
    client = FakeClient(
        FakeClock(),
        fail=lambda key: KafkaError(KafkaError._MSG_TIMED_OUT) if int(key) < 11 else None,
        refuse=lambda key: KafkaError(KafkaError.MSG_SIZE_TOO_LARGE) if int(key) > 200 else None,
    )
    subject = send_all(sending(client), 211)
    assert subject.source_bytes == sum(len(b'{"number":%d}' % number) for number in range(11, 201))


def test_documents_go_out_when_they_are_due() -> None:
    """No document is sent before its time, and with a quick client none a millisecond after it."""
    clock = FakeClock()
    client = FakeClient(clock)
    started_ns = clock.now_ns
    subject = send_all(sending(client, rate_docs_per_s=500.0), 211)
    waits_us = [(sent.at_ns - started_ns) / 1000 - number * 2000 for number, sent in enumerate(client.sent)]
    assert 0 <= min(waits_us) <= max(waits_us) < 1000
    assert [sent.intended_us for sent in client.sent] == [START_US + 2000 * number for number in range(211)]
    assert subject.late_documents == 0


def test_a_stall_omits_no_latency() -> None:
    """After a stall documents go out at once with the times that were meant, and the wait shows in their latency."""
    clock = FakeClock()
    client = FakeClient(clock, stalls={100: 1_000_000_000})
    subject = send_all(sending(client, rate_docs_per_s=1000.0, latency_sample_every=1), 2003)
    assert [sent.intended_us for sent in client.sent] == [START_US + 1000 * number for number in range(2003)]
    assert subject.late_documents == 899
    assert subject.latencies.samples == 2003
    assert 990 < subject.latencies.percentiles_ms()["max"] < 1010
    assert 790 < subject.latencies.percentiles_ms()["p90"] < 810


def test_a_schedule_that_cannot_be_met_is_seen_in_late_documents() -> None:
    """A client half as quick as the rate makes nearly all documents late."""
    client = FakeClient(FakeClock(), send_cost_ns=2_000_000)
    subject = send_all(sending(client, rate_docs_per_s=1000.0), 1009)
    assert subject.late_documents > 800


def test_as_fast_as_possible_nothing_is_late_and_no_header_is_sent() -> None:
    """A document is due when it is handed over, which the record's own timestamp says."""
    client = FakeClient(FakeClock(), send_cost_ns=1000)
    subject = send_all(sending(client), 211)
    assert subject.late_documents == 0
    assert not any(sent.headers for sent in client.sent)


def test_a_full_queue_is_waited_for() -> None:
    """Nothing is lost when the client takes no more."""
    client = FakeClient(FakeClock(), capacity=17)
    subject = send_all(sending(client), 1009)
    assert (subject.delivered, subject.failed) == (1009, 0)


def test_a_fatal_error_ends_the_sending(message: MakeMessage) -> None:
    """A client that cannot go on is no matter of counting."""
    client = FakeClient(FakeClock(), fail=lambda _: KafkaError(KafkaError._FATAL, "epoch lost", True))  # noqa: FBT003
    with pytest.raises(ProduceError) as end:
        send_all(sending(client), 5)
    assert str(end.value) == message("books")


def test_a_lost_acknowledgement_is_no_success(message: MakeMessage) -> None:
    """A client that forgets a record is found out at the end."""
    client = FakeClient(FakeClock())
    subject = sending(client)
    subject.produced += 1
    with pytest.raises(ProduceError) as end:
        send_all(subject, 5)
    assert str(end.value) == message("books", 6, 5, 0)


def test_progress_is_told_five_times_a_second_and_at_the_end() -> None:
    """Two seconds of sending are about ten words and the last."""
    told: list[int] = []
    client = FakeClient(FakeClock())
    send_all(sending(client, rate_docs_per_s=1000.0, report=lambda subject: told.append(subject.produced)), 2003)
    assert 9 <= len(told) <= 12
    assert told == sorted(told)
    assert told[-1] == 2003


@pytest.mark.parametrize(("rate", "every"), [(None, 16), (2000.0, 1), (2000.1, 16)])
def test_latencies_are_sampled_where_documents_are_many(rate: float | None, every: int) -> None:
    """At low rates every document counts."""
    assert sample_every(rate) == every


def test_sampled_latencies_are_one_of_sixteen() -> None:
    """The sample is as large as it says."""
    assert send_all(sending(FakeClient(FakeClock())), 2048).latencies.samples == 128


@pytest.mark.parametrize("processes", [1, 2, 3, 7])
@pytest.mark.parametrize("repeat_after", [None, 101])
def test_processes_share_the_documents_without_gap_or_overlap(processes: int, repeat_after: int | None) -> None:
    """Every document of the range belongs to one process."""
    dataset = NumberedDocuments(20_011, repeat_after)
    owned = [np.concatenate(list(owned_blocks(dataset, (13, 20_011), n, processes))) for n in range(processes)]
    assert sorted(np.concatenate(owned).tolist()) == list(range(13, 20_011))
    assert all((np.diff(numbers) > 0).all() for numbers in owned)


def test_documents_of_one_key_go_through_one_process() -> None:
    """No key is sent by two processes, so that its order is kept."""
    dataset = NumberedDocuments(20_011, repeat_after=101)
    keys = [
        {key for numbers in owned_blocks(dataset, (0, 20_011), n, 3) for key, _ in dataset.records(numbers)}
        for n in range(3)
    ]
    assert not (keys[0] & keys[1] | keys[0] & keys[2] | keys[1] & keys[2])
    assert len(keys[0] | keys[1] | keys[2]) == 101


@pytest.mark.parametrize(("rate", "headers"), [(None, []), (100.0, ["sluice.intended-send-time-us"])])
def test_a_routing_travels_in_a_header(rate: float | None, headers: list[str]) -> None:
    """Only with the documents that have one, beside the header that others have, too."""
    client = FakeClient(FakeClock())
    numbers = np.arange(131, dtype=np.int64)
    routings = [f"00{number}" if number % 3 else None for number in range(131)]
    subject = sending(client, rate_docs_per_s=rate)
    dataset = NumberedDocuments(131, routings=routings)
    subject.send(numbers, dataset.records(numbers), dataset.headers(numbers))
    subject.finish()
    assert [[name for name, _ in sent.headers] for sent in client.sent] == [
        headers + (["sluice.routing"] if routing else []) for routing in routings
    ]
    assert [dict(sent.headers).get("sluice.routing") for sent in client.sent] == routings
