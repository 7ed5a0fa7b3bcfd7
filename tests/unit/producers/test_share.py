"""Shares of one load: disjoint, whole, and each key's documents with one driver."""

import time
from collections import defaultdict

import numpy as np
import pytest

from producers.dataset import Dataset
from producers.delivery import ProduceError
from producers.pacing import Schedule
from producers.produce import _starting_at
from producers.registry import make_dataset
from producers.sending import owned_blocks
from producers.share import Share, stretches
from tests.unit.messages import MakeMessage

DATASETS = [
    make_dataset("aladin", books=3001),
    make_dataset("aladin", books=1009, model="flat", updates=0.25),
    make_dataset("events", documents=5003),
]


def numbers_of(dataset: Dataset, share: Share, each: int) -> list[int]:
    """The documents that a driver sends."""
    return sorted(int(n) for block in share.blocks(dataset, (0, dataset.documents), each) for n in block)


@pytest.mark.parametrize("dataset", DATASETS, ids=["nested", "updates", "events"])
@pytest.mark.parametrize(("of", "each"), [(1, 1), (2, 1), (3, 2), (5, 1)])
def test_every_document_is_in_exactly_one_share(dataset: Dataset, of: int, each: int) -> None:
    """However many processes each driver has."""
    sent = [n for number in range(1, of + 1) for n in numbers_of(dataset, Share(number, of), each)]
    assert sorted(sent) == list(range(dataset.documents))


def test_shares_send_what_the_processes_of_one_driver_would() -> None:
    """Two drivers of three processes are one driver of six: process by process the same documents."""
    dataset, bounds = DATASETS[0], (0, DATASETS[0].documents)
    alone = [np.concatenate([*owned_blocks(dataset, bounds, process, 6), np.empty(0, int)]) for process in range(6)]
    for number in (1, 2):
        own = np.concatenate(alone[3 * number - 3 : 3 * number])
        assert numbers_of(dataset, Share(number, 2), 3) == sorted(own.tolist())


def test_all_documents_of_a_key_are_in_one_share() -> None:
    """Or an older price could overwrite a newer one."""
    dataset = DATASETS[1]
    shares_of_key = defaultdict(set)
    for number in (1, 2, 3):
        for key in dataset.keys(np.array(numbers_of(dataset, Share(number, 3), 1))):
            shares_of_key[key].add(number)
    assert len(shares_of_key) < dataset.documents  # some keys come again, or this would test nothing
    assert {len(shares) for shares in shares_of_key.values()} == {1}


@pytest.mark.parametrize("dataset", DATASETS, ids=["nested", "updates", "events"])
def test_the_sizes_of_all_shares_add_up(dataset: Dataset) -> None:
    """Documents and entities: a book is counted where its own document is."""
    bounds = (0, dataset.documents)
    sizes = [Share(number, 3).size(dataset, bounds, 2) for number in (1, 2, 3)]
    assert (sum(size[0] for size in sizes), sum(size[1] for size in sizes)) == (
        dataset.documents,
        dataset.entities(*bounds),
    )


def test_numbers_are_ranges_without_gaps() -> None:
    """As entities are counted in."""
    assert list(stretches(np.array([2, 3, 4, 7, 9, 10]))) == [(2, 5), (7, 8), (9, 11)]
    assert list(stretches(np.empty(0, dtype=np.int64))) == []


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("2", ("share", 2, "2/5")),
        ("0/5", ("share", "0/5", "2/5", "1/1", "1000/1000")),
        ("6/5", ("share", "6/5", "2/5", "1/1", "1000/1000")),
        ("1/1001", ("share", "1/1001", "2/5", "1/1", "1000/1000")),
    ],
)
def test_what_is_no_share_is_refused(text: str, facts: tuple[object, ...], message: MakeMessage) -> None:
    """With what one looks like."""
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the whole message is compared
        Share.parsed(text)
    assert str(refusal.value) == message(*facts)


def test_a_start_that_is_over_sends_nothing() -> None:
    """A driver that is ready too late would send all at once what was due before; it says by how much."""
    schedule = Schedule(0, 0, 0, 100.0)
    with pytest.raises(ProduceError, match=r"^start: got 1970-01-01T00:00:01\.000Z, ready [\d.]+ s after that; "):
        _starting_at(schedule, 1.0)


def test_the_schedule_of_an_agreed_start_begins_then() -> None:
    """On the monotonic clock, to the millisecond; the header's instant is the agreed one, to the microsecond."""
    at_s = time.time() + 0.05
    schedule = _starting_at(Schedule(0, 0, 0, 100.0), at_s)
    ahead_s = (schedule.started_ns - time.monotonic_ns()) / 1e9
    assert time.time() + ahead_s == pytest.approx(at_s, abs=0.002)
    assert schedule.started_epoch_us == int(at_s * 1e6)
