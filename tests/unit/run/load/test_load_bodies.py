"""Ready-made bulk bodies: every document once, the sink's action lines, and bounds that hold."""

import os
from pathlib import Path

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from lab.errors import StackError
from lab.run.load import bodies as bodies_module
from lab.run.load.bodies import BulkBodies, operation, prepare_bodies
from producers.dataset import Dataset, Record
from producers.registry import make_dataset

BOOKS = 1009


class Lines(Dataset):
    """Documents of chosen sizes, each with a key of its own."""

    name = "lines"
    seed = 1

    def __init__(self, *sizes: int) -> None:
        self._sizes = sizes
        self.documents = len(sizes)

    def records(self, numbers: NDArray[np.int64]) -> list[Record]:
        """A JSON string of the document's size is enough here."""
        return [(b"k%d" % number, b'{"t":"%b"}' % (b"x" * self._sizes[number])) for number in numbers]


def contents(made: BulkBodies) -> list[bytes]:
    """The bodies as they lie in the file."""
    return [os.pread(made.file.fileno(), span.length, span.offset) for span in made.spans]


def test_the_bodies_hold_every_document_with_its_key_as_id_and_its_number_as_version(tmp_path: Path) -> None:
    """What is sent directly is what the sink would send from a topic of one partition."""
    dataset = make_dataset("aladin", documents=BOOKS)
    told: list[int] = []

    made = prepare_bodies([dataset], tmp_path, batch_documents=101, bulk_size_bytes=5_000_000, on_progress=told.append)

    lines = [line for body in contents(made) for line in body.splitlines()]
    actions = [orjson.loads(line)["index"] for line in lines[::2]]
    assert actions == [
        {"_id": dataset.key(number).decode(), "version_type": "external", "version": number} for number in range(BOOKS)
    ]
    assert lines[1::2] == [dataset.document(number) for number in range(BOOKS)]
    assert [span.documents for span in made.spans] == [101] * 9 + [100]
    assert made.source_bytes == sum(len(dataset.document(number)) for number in range(BOOKS))
    assert made.body_bytes == sum(map(len, contents(made)))
    assert told == [*(101 * body for body in range(1, 10)), 1009]


def test_a_body_is_closed_before_it_would_have_too_many_bytes(tmp_path: Path) -> None:
    """A document that is too large for any body goes alone."""
    made = prepare_bodies([Lines(31, 31, 997, 31, 31)], tmp_path, batch_documents=7, bulk_size_bytes=251)

    assert [span.documents for span in made.spans] == [2, 1, 2]
    assert [span.length <= 251 for span in made.spans] == [True, False, True]


def test_bodies_of_one_shard_hold_what_others_would(tmp_path: Path) -> None:
    """Every document once, under the version that its number gives; each shard has its last body, however small."""
    dataset = make_dataset("aladin", documents=BOOKS)

    made = prepare_bodies(
        [dataset], tmp_path, batch_documents=101, bulk_size_bytes=70_000, shards_of=[lambda key: key[-1] % 3]
    )

    bodies = [[orjson.loads(line)["index"] for line in body.splitlines()[::2]] for body in contents(made)]
    assert [{ord(action["_id"][-1]) % 3 for action in body} for body in bodies] == [{span.shard} for span in made.spans]
    stored = {action["version"]: action["_id"] for body in bodies for action in body}
    assert stored == {number: dataset.key(number).decode() for number in range(BOOKS)}
    assert sum(span.documents for span in made.spans) == BOOKS
    assert max(span.documents for span in made.spans) <= 101
    assert max(span.length for span in made.spans) <= 70_000


def test_each_index_has_shards_of_its_own(tmp_path: Path) -> None:
    """Shard 0 of one index is not that of another."""
    made = prepare_bodies(
        [Lines(31, 31), Lines(31)],
        tmp_path,
        batch_documents=7,
        bulk_size_bytes=997,
        shards_of=[lambda _: 0, lambda _: 1],
    )

    assert [(span.index, span.shard, span.documents) for span in made.spans] == [(0, 0, 2), (1, 1, 1)]


def test_keys_are_quoted_and_line_feeds_within_documents_are_not_sent() -> None:
    """Either would end the line in its middle."""
    assert operation((b'say "no"', b'{"a":\n7}'), 13) == (
        b'{"index":{"_id":"say \\"no\\"","version_type":"external","version":13}}\n{"a": 7}\n'
    )


def test_nothing_is_left_of_the_file(tmp_path: Path) -> None:
    """It has no name even while it is there, so that a killed run leaves nothing behind."""
    made = prepare_bodies([Lines(31)], tmp_path, batch_documents=7, bulk_size_bytes=251)

    assert (list(tmp_path.iterdir()), made.body_bytes > 31) == ([], True)


def test_a_disk_without_room_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence says how much is there and how much is needed."""
    monkeypatch.setattr(bodies_module, "SPARE_BYTES", 10**18)

    with pytest.raises(
        StackError, match=rf"^{tmp_path}: ready-made bulk bodies: got \d+ MB free, expected 10{{12}} MB"
    ):
        prepare_bodies([Lines(31)], tmp_path, batch_documents=7, bulk_size_bytes=251)


class Routed(Lines):
    """Documents of which some have a routing."""

    is_routed = True

    def routings(self, numbers: NDArray[np.int64]) -> list[str | None]:
        """One of three, or none."""
        return [None if number % 4 == 3 else f"0{number % 4}" for number in numbers.tolist()]


def test_a_routing_stands_in_the_action_line_and_chooses_the_shard(tmp_path: Path) -> None:
    """As the sink sends it; documents without one go by their key."""
    asked: list[bytes] = []

    def shard_of(key: bytes) -> int:
        asked.append(key)
        return 0

    made = prepare_bodies([Routed(*[31] * 5)], tmp_path, batch_documents=7, bulk_size_bytes=9999, shards_of=[shard_of])

    actions = [orjson.loads(line)["index"] for body in contents(made) for line in body.splitlines()[::2]]
    assert [action.get("routing") for action in actions] == ["00", "01", "02", None, "00"]
    assert asked == [b"00", b"01", b"02", b"k3", b"00"]
