"""Accounting of topics with tombstones, of which an exact model knows what must be stored."""

import random

import numpy as np
import pytest

from lab.run.verify.accounting import Comparison, compare_deleted, hashes_of

Sent = list[tuple[str, bool]]
"""The id of each record, and whether it is a tombstone."""


def compared(sent: Sent, stored: list[str], dead: list[str]) -> Comparison:
    """What is stored against these records."""
    ids, tombstones = [name for name, _ in sent], np.array([is_one for _, is_one in sent], dtype=np.bool_)
    return compare_deleted(hashes_of(ids), hashes_of(stored), hashes_of(dead), tombstones)


def world(seed: int) -> tuple[Sent, list[str]]:
    """Records of a few ids, and the ids that a sink stores which deletes on tombstones."""
    draw = random.Random(seed)  # noqa: S311 - a test's choice
    sent = [(f"id{draw.randrange(11)}", draw.random() < 0.3) for _ in range(draw.randrange(1, 61))]
    last = dict(sent)
    return sent, [name for name, is_tombstone in last.items() if not is_tombstone]


@pytest.mark.parametrize("seed", range(31))
def test_each_record_is_indexed_replaced_or_a_tombstone(seed: int) -> None:
    """The sum is what was sent."""
    sent, stored = world(seed)
    found = compared(sent, stored, [])
    assert (len(found.missing), found.unexpected, found.indexed) == (0, 0, len(stored))
    assert found.deleted == sum(is_tombstone for _, is_tombstone in sent)
    assert found.indexed + found.already_there + found.deleted == len(sent)


@pytest.mark.parametrize("seed", range(31))
def test_a_lost_document_is_missing_and_a_deleted_one_unexpected(seed: int) -> None:
    """One of each that there can be."""
    sent, stored = world(seed)
    for name in stored:
        assert len(compared(sent, [other for other in stored if other != name], []).missing) == 1
    for name in {name for name, _ in sent} - set(stored):
        assert compared(sent, [*stored, name], []).unexpected == 1


def test_a_rejected_document_behind_a_tombstone_is_not_missing() -> None:
    """Its id was deleted before."""
    sent = [("a", False), ("a", True), ("a", False), ("b", False)]
    found = compared(sent, ["b"], ["a"])
    assert (len(found.missing), found.indexed, found.already_there, found.deleted) == (0, 1, 1, 1)
