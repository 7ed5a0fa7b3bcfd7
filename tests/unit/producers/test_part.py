"""Parts of a dataset: what goes into each of several topics or indices."""

import numpy as np
import pytest

from producers.dataset import Dataset
from producers.part import parts_of
from producers.registry import make_dataset
from producers.sending import owned_blocks

UPDATES = {"updates": 0.5}


def books(**options: object) -> Dataset:
    """8,009 records of used books."""
    return make_dataset("aladin", documents=8009, seed=7, **options)


@pytest.mark.parametrize("options", [{}, UPDATES])
def test_every_document_is_in_one_part(options: dict[str, object]) -> None:
    """In the order of the whole, with its own bytes."""
    whole = books(**options)
    parts = parts_of(whole, 3)
    records = sorted(record for part in parts for block in part.batches(0, part.documents) for record in block)
    assert records == sorted(record for block in whole.batches(0, whole.documents) for record in block)
    assert sum(part.documents for part in parts) == whole.documents
    assert sum(part.entities(0, part.documents) for part in parts) == whole.entities(0, whole.documents)


def test_all_documents_of_a_key_are_in_one_part() -> None:
    """And the last one of each is the same as that of the whole."""
    # Documents are made one at a time here, which takes a millisecond each.
    whole = make_dataset("aladin", documents=1009, seed=7, **UPDATES)
    parts = parts_of(whole, 3)
    keys = [{key for block in part.batches(0, part.documents) for key, _ in block} for part in parts]
    assert not keys[0] & keys[1]
    assert not keys[0] & keys[2]
    assert not keys[1] & keys[2]
    last = {part.key(number): part.document(number) for part in parts for number in part.latest().tolist()}
    assert last == {whole.key(number): whole.document(number) for number in whole.latest().tolist()}


@pytest.mark.parametrize("options", [{}, UPDATES])
def test_producers_share_the_documents_out_in_the_same_way(options: dict[str, object]) -> None:
    """Of six processes on three topics, the second and the fifth together send the second part."""
    whole = books(**options)
    sent = np.concatenate(
        [block for process in (1, 4) for block in owned_blocks(whole, (0, whole.documents), process, 6)]
    )
    part = parts_of(whole, 3)[1]
    assert {whole.key(number) for number in sent.tolist()} == {part.key(n) for n in range(part.documents)}
    assert len(sent) == part.documents


def test_one_part_is_the_dataset_itself() -> None:
    """Nothing is made anew."""
    whole = books()
    assert parts_of(whole, 1) == [whole]
