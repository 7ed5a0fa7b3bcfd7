"""The history of a case: repeated by its seed, with the odd records that the case names."""

from itertools import chain

import pytest

from lab.prove.cases import CASES
from lab.prove.history import POISON, UNUSUAL, Sent, waves


def history(seed: int, *, deletes: bool = True, odd: tuple[str, ...] = ()) -> list[Sent]:
    """All records of a history."""
    return list(chain.from_iterable(waves(seed, deletes=deletes, odd=odd)))


def test_a_seed_repeats_the_history() -> None:
    """Odd records, too."""
    assert history(7, odd=tuple(UNUSUAL)) == history(7, odd=tuple(UNUSUAL))
    assert history(7) != history(8)


def test_there_are_tombstones_only_for_who_deletes() -> None:
    """About one record of nine."""
    assert [record for record in history(1, deletes=False) if record.value is None] == []
    assert len([record for record in history(1) if record.value is None]) > 50


def test_marks_and_numbers_are_unique() -> None:
    """A log that holds a mark names one record."""
    records = history(1, odd=tuple(POISON))
    assert len({record.mark for record in records}) == len({record.number for record in records}) == len(records)


@pytest.mark.parametrize("name", [*POISON, *UNUSUAL])
def test_an_odd_record_comes_six_times(name: str) -> None:
    """Only poison may be refused."""
    plain, odd = history(1), history(1, odd=(name,))
    assert len(odd) - len(plain) == 6
    assert len([record for record in odd if record.odd]) == (6 if name in POISON else 0)


def test_the_longest_key_that_must_be_stored_has_512_bytes() -> None:
    """Elasticsearch refuses an `_id` beyond that."""
    keys = {len(record.key or b"") for record in history(1, odd=("key-of-512-bytes",))}
    assert max(keys) == 512


def test_every_case_has_a_name_of_its_own() -> None:
    """A name repeats a case."""
    assert len({case.name for case in CASES}) == len(CASES)
